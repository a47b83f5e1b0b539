//! How segments leave: paced, in bursts, or as packets of several segments.

use super::group::{group, no, require, words};
use units::Problem;

group! {
    /// How segments leave.
    pub struct PacingParams {
        /// Paces segments even if the controller sets no pacing rate, as with the queue discipline fq or with TCP's own
        /// pacing. The rate is then two windows per round trip while the window is below half of ssthresh, and 1.2
        /// windows per round trip otherwise. If the controller sets a rate, this rate is used instead. Source: Linux's
        /// tcp_pacing_ss_ratio, tcp_pacing_ca_ratio.
        pub paced: bool = false,
        /// How a pacing sender spaces its bursts. A sender paces if its controller sets a pacing rate, or with `paced`.
        pub pacing: Pacing = Pacing::LinuxInternal,
        /// Maximum number of segments in a burst, which a host passes to its device in one piece. 1: single segments.
        /// Linux: 65535. If above 1, a burst has the size of Linux's TSO autosizing, up to this maximum: the data of
        /// 1/1024 s at the pacing rate (more at round-trip times below 5 ms), but at least two segments and at most 64
        /// kB. If the windows have no room for a whole burst, a sender usually waits for the next ACK instead of
        /// sending a smaller burst. Source: ip-link(8), gso_max_segs.
        pub gso_max_segs: u32 = 1,
        /// Segmentation offload: a burst leaves as one packet, which queues treat as a whole until it is split.
        /// Contiguous retransmissions also leave as one packet. Receivers acknowledge a packet once (GRO). The size
        /// of a packet includes the headers of all segments, and is at most 65535 bytes: 43 segments of 1448 bytes.
        /// (Linux counts one header, which allows 45.) Needs `gso_max_segs` above 1.
        pub tso: bool = false,
        /// TCP small queues: limits the data that each connection may have in the first link of its host, queued or in
        /// transmission. The limit is two bursts or the data of 1/1024 s at the pacing rate, whichever is more; for
        /// retransmissions, it is twice as high. All other data waits in the socket. Use it if the bottleneck's queue
        /// is in the sender's own host. Source: Linux's tcp_small_queue_check, tcp_limit_output_bytes (4 MB).
        pub tsq: bool = false,
    }

    fn validate(&self) -> Result<(), Problem> {
        let most = self.gso_max_segs;
        require("gso_max_segs", most, (1..=65_535).contains(&most), "1 to 65535 segments")?;
        if self.tso && most == 1 {
            let why = "bursts would be single segments; expected gso_max_segs = 65535, as in Linux";
            return no("tso", format!("true is not valid with gso_max_segs = 1: {why}"));
        }
        Ok(())
    }
}

words! {
    /// How a pacing sender keeps its rate. A sender paces if its controller needs pacing, or with `paced`.
    pub enum Pacing {
        /// After a burst, the next one is delayed by the time that the burst's payload takes at the pacing rate.
        /// Source: draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1.
        "exact" Exact,
        /// Linux's internal pacing, without the queue discipline fq. A burst may leave late, because it waited for the
        /// window or an ACK. The wait for the next burst is then shorter by this delay, but at most by half. The first
        /// ten segments are not paced. Source: Linux tcp_output.c.
        "linux-internal" LinuxInternal,
    }
}
