//! How segments leave: paced, in bursts, as packets of several.

use super::group::{group, no, require, words};
use units::Problem;

group! {
    /// How segments leave.
    pub struct PacingParams {
        /// Segments are paced with every controller, by the queue discipline fq or by TCP itself: twice the window in a round
        /// trip below half of ssthresh, 1.2 times it from there on. Controllers with a rate of their own keep theirs.
        /// Source: Linux' tcp_pacing_ss_ratio, tcp_pacing_ca_ratio.
        pub paced: bool = false,
        /// How the pacing rate is kept.
        pub pacing: Pacing = Pacing::LinuxInternal,
        /// Most segments that a host passes to its device at once, for its offload engine to split. Above 1 their number follows
        /// the pacing rate (TSO autosizing: 1/1024 s of it, at least two, at most 64 kB), and a sender waits for an ACK rather
        /// than send fewer.
        /// 1: single segments; Linux: 65535.   Source: ip-link(8), gso_max_segs.
        pub gso_max_segs: u32 = 1,
        /// Segmentation offload: a burst leaves as one packet, which queues treat as a whole until it is split. It counts the
        /// headers of each segment, and has at most 65535 bytes with them (43 segments of 1448; Linux: 45, which count one
        /// header). Contiguous retransmissions leave as one packet, too. Receivers acknowledge it once (GRO). Needs
        /// `gso_max_segs` above 1.
        pub tso: bool = false,
        /// TCP small queues: the sender's host is the bottleneck, as where a queue discipline and the program run on one machine.
        /// Each connection has at most two bursts, or 1/1024 s of the pacing rate if that is more, in the first link of its node
        /// (queue and transmission); twice that to repair losses. The rest waits in the socket. Off: the sender is behind another
        /// host.
        /// Source: Linux' tcp_small_queue_check, tcp_limit_output_bytes (4 MB).
        pub tsq: bool = false,
    }

    fn validate(&self) -> Result<(), Problem> {
        let most = self.gso_max_segs;
        require("gso_max_segs", most, (1..=65_535).contains(&most), "1 to 65535 segments")?;
        if self.tso && most == 1 {
            let why = "bursts would be single segments; expected gso_max_segs = 65535, as Linux has it";
            return no("tso", format!("true is not valid with gso_max_segs = 1: {why}"));
        }
        Ok(())
    }
}

words! {
    /// How a pacing sender keeps its rate; a sender paces if its controller needs it, or with `paced`.
    pub enum Pacing {
        /// Each segment costs its payload at the pacing rate, from the time it is sent.   Source:
        /// draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1.
        "exact" Exact,
        /// Linux' own, without the queue discipline fq: a burst that leaves late, because it waited for window or an ACK, is
        /// credited with its lateness, up to half its cost. The first ten segments are not paced.   Source: Linux tcp_output.c.
        "linux-internal" LinuxInternal,
    }
}
