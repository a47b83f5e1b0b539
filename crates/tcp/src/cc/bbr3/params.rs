//! Parameters of BBR version 3.

use crate::params::group::{group, words};

group! {
    /// Parameters of BBR version 3.
    pub(crate) struct Bbr3Params {
        /// Form of `congestion_control = "bbr3"`.
        pub bbr3_form: Bbr3Form = Bbr3Form::Draft,
    }
}

words! {
    /// Form of BBR version 3.
    pub(crate) enum Bbr3Form {
        /// The IETF's version. The pacing gain is 0.5 in the state Drain, and 0.90 in the state DOWN. ACK aggregation
        /// is measured over ten rounds. A CE mark counts as a loss, but does not end a probe for bandwidth. Source:
        /// draft-ietf-ccwg-bbr-06.
        "draft" Draft,
        /// Google's version for Linux. The pacing gain is 0.347 in the state Drain, and 0.91 in the state DOWN. ACK
        /// aggregation is measured over the last 5 to 10 rounds. If `ecn_feedback` is `dctcp` or `accecn` and the
        /// minimum round-trip time is at most 5 ms, this version responds to the share of marked bytes. Otherwise, it
        /// ignores marks. Source: google/bbr, branch v3.
        "linux" Linux,
    }
}
