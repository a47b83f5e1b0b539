//! Parameters shared by several controllers.

use crate::params::group::{group, require, words};
use units::Problem;

group! {
    /// Parameters shared by several controllers.
    pub struct SharedParams {
        /// Multiplicative decrease: the share of the window kept after a loss. Only the controllers for which a default
        /// is listed accept this key. Default: 0.5 for reno, dctcp, ledbat and ledbat++, 0.7 for cubic (717/1024 in
        /// Linux's form), 819/1024 for cubic-2.6.22.
        pub beta: Option<f64> = None,
        /// Share of the window that reno and cubic keep after a CE mark outside slow start. Alternative Backoff with ECN
        /// recommends 0.8 for reno and 0.85 for cubic. Default: as after a loss. Source: RFC 8511 §3.
        pub beta_ecn: Option<f64> = None,
        /// CUBIC's C, segments/s^3.   Source: RFC 9438 §4.1.
        pub cubic_c: f64 = 0.4,
        /// CUBIC's fast convergence.   Source: RFC 9438 §4.7.
        pub fast_convergence: bool = true,
        /// If true, CUBIC never grows more slowly than Reno would.   Source: RFC 9438 §4.3.
        pub tcp_friendliness: bool = true,
        /// How slow start ends with cubic or reno. With reno, `hystart` has the same effect as `off`. Other controllers
        /// ignore this key.
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
        /// Slow start ends only at a loss, at a CE mark or at ssthresh.
        "off" Off,
        /// Slow start also ends when a train of closely spaced ACKs lasts long enough or the delay grows, as in Linux.
        /// Source: Ha & Rhee 2008.
        "hystart" Hystart,
        /// HyStart++, only in the first slow start: when the delay grows, the window grows more slowly. If the delay
        /// falls again, slow start resumes; otherwise it ends after five rounds.   Source: RFC 9406.
        "rfc9406" Rfc9406,
        /// SEARCH, only in the first slow start: slow start ends when deliveries no longer double from one round trip to the next.
        /// The congestion window returns to its value of two round trips earlier.   Source: draft-chung-ccwg-search (3.0).
        "search" Search,
        /// Rapid Start: the window triples per round trip while no queue grows. During the first recovery, the window
        /// shrinks by a fraction of the data that arrives and a larger fraction of the data that is lost. Source:
        /// draft-kazuho-ccwg-rapid-start-02.
        "rapid-start" RapidStart,
    }
}
