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
        /// The IETF's: Drain at half the rate, DOWN at 0.90 of it, aggregation over ten rounds, a CE mark as a loss.
        /// Source: draft-ietf-ccwg-bbr-04.
        "draft" Draft,
        /// Google's for Linux: 0.347, 0.91, two halves of five rounds; a response by the share of marks where `ecn_feedback`
        /// counts them and the round trip is at most 5 ms.   Source: google/bbr, branch v3.
        "linux" Linux,
    }
}
