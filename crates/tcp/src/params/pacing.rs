//! How segments leave: paced, in bursts, or as packets of several segments.

use super::group::{group, no, require, words};
use units::Problem;

group! {
    /// How segments leave.
    pub struct PacingParams {
        /// If true, the stack paces segments even if the controller sets no pacing rate. The stack's pacing rate is two
        /// windows per round trip while the window is below half of ssthresh, and otherwise 1.2 windows per round trip.
        /// A rate that the controller sets takes precedence. Source: Linux's tcp_pacing_ss_ratio, tcp_pacing_ca_ratio.
        pub paced: bool = false,
        /// How a sender spaces its bursts, if it paces. A sender paces if its controller sets a pacing rate, or if
        /// `paced` is true.
        pub pacing: Pacing = Pacing::LinuxInternal,
        /// Largest number of segments in a burst. A host passes a burst to its device in one piece. With 1, segments
        /// leave one by one. Linux has 65535. With more than 1, Linux's TSO autosizing sets the size of a burst: the
        /// data of 1/1024 s at the pacing rate (more if the round-trip time is a few milliseconds or less), but usually
        /// at least two segments, and at most 64 KiB. If the windows have no room for a whole burst, the sender usually
        /// waits for the next ACK instead of sending a smaller burst. Source: ip-link(8), gso_max_segs.
        pub gso_max_segs: u32 = 1,
        /// Segmentation offload: a burst leaves as one packet. A modem, a token bucket other than HTB, a link with
        /// `delivery` and some disciplines split this packet before it enters the queue. All other queues treat it as
        /// a whole. Contiguous retransmissions also leave as one packet. A receiver sends one ACK for the whole packet (GRO). The size of
        /// the packet includes the headers of all its segments, and is at most 65535 bytes: 43 segments of 1448 bytes.
        /// (Linux counts only one header, so it allows 45 segments.) Needs `gso_max_segs` above 1.
        pub tso: bool = false,
        /// TCP small queues: limits the data of each connection that is queued or in transmission at the first link of
        /// its host. The limit is two bursts or the data of 1/1024 s at the pacing rate, whichever is more, but at most
        /// 4 MiB unless `paced` is true. For retransmissions, the limit is twice as high. All other data waits in the
        /// socket. Set this key if the bottleneck's queue is in the sender's own host. Source: Linux's
        /// tcp_small_queue_check, tcp_limit_output_bytes.
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
        /// The time from one burst to the next is at least the time that the payload of the first burst takes at the
        /// pacing rate. Source: draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1.
        "exact" Exact,
        /// Linux's internal pacing, without the queue discipline fq. If a burst leaves late, because it had to wait for
        /// room in the window or for an ACK, the wait for the next burst becomes shorter by this delay, but at most by
        /// half. The first ten segments are not paced. Source: Linux tcp_output.c.
        "linux-internal" LinuxInternal,
    }
}
