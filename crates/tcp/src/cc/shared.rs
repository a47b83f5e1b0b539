//! Parameters shared by several controllers.

use crate::params::group::{group, require, words};
use units::Problem;

group! {
    /// Parameters shared by several controllers.
    pub struct SharedParams {
        /// Share of the window that the controller keeps after a loss (multiplicative decrease). Only the controllers
        /// for which a default is listed accept this key. Default: 0.5 for reno, dctcp, ledbat and ledbat++, 0.7 for
        /// cubic (717/1024 in Linux's form), 819/1024 for cubic-2.6.22.
        pub beta: Option<f64> = None,
        /// Share of the window that reno and cubic keep after a CE mark outside slow start. Alternative Backoff with
        /// ECN (RFC 8511) recommends 0.8 for reno and 0.85 for cubic. Default: as after a loss. Source: RFC 8511 §3.
        pub beta_ecn: Option<f64> = None,
        /// CUBIC's constant C, in segments/s^3.   Source: RFC 9438 §4.1.
        pub cubic_c: f64 = 0.4,
        /// CUBIC's fast convergence: if a loss occurs before the window has returned to its size at the last loss
        /// (W_max), CUBIC aims for a smaller window than at this loss, so that other flows gain bandwidth sooner.
        /// Source: RFC 9438 §4.7.
        pub fast_convergence: bool = true,
        /// If true, CUBIC's window keeps up with an estimate of the window that Reno would have. Source: RFC 9438 §4.3.
        pub tcp_friendliness: bool = true,
        /// How slow start ends with cubic or reno. With reno, the value `hystart` has the same effect as `off`. Other
        /// controllers ignore this key.
        pub hystart: HyStart = HyStart::Hystart,
    }

    fn validate(&self) -> Result<(), Problem> {
        let share = 0.05..=0.99;
        if let Some(b) = self.beta {
            require("beta", b, share.contains(&b), "0.05 to 0.99")?;
        }
        if let Some(b) = self.beta_ecn {
            let expected = "0.05 to 0.99, such as 0.8 for reno or 0.85 for cubic";
            require("beta_ecn", b, share.contains(&b), expected)?;
        }
        let c = self.cubic_c;
        require("cubic_c", c, c > 0.0 && c <= 100.0, "more than 0, at most 100")
    }
}

group! {
    /// The empty group, for controllers that use only shared parameters.
    pub(crate) struct NoParams {}
}

words! {
    /// How slow start ends. CUBIC supports all values. With Reno, the value `hystart` has the same effect as `off`. Other
    /// controllers ignore this key.
    pub enum HyStart {
        /// Slow start ends only at a loss, at a CE mark, or when the window reaches ssthresh.
        "off" Off,
        /// Slow start also ends when the round-trip time grows, or when closely spaced ACKs arrive for a long enough
        /// time, as in Linux. Source: Ha & Rhee 2008.
        "hystart" Hystart,
        /// HyStart++, only in the first slow start. When the round-trip time grows, the window grows more slowly. If
        /// the round-trip time falls again, slow start resumes. Otherwise, slow start ends after five rounds.   Source:
        /// RFC 9406.
        "rfc9406" Rfc9406,
        /// SEARCH, only in the first slow start. Slow start ends when the bytes delivered no longer double from one
        /// round trip to the next. The congestion window then shrinks by the data delivered in about two round trips.
        /// Source: draft-chung-ccwg-search (3.0).
        "search" Search,
        /// Rapid Start, only in the first slow start. The window triples per round trip while no queue grows. During
        /// the first recovery, the window shrinks by a fraction of the data that arrives, and by a larger fraction of
        /// the data that is lost. Source: draft-kazuho-ccwg-rapid-start-02.
        "rapid-start" RapidStart,
    }
}
