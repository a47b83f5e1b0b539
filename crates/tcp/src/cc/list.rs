//! The list of congestion controllers: one line each. See docs/adding-a-controller.md.

/// Calls the macro `$expand!` with the list of all controllers. Each entry has a description, the keyword in a
/// scenario, a name, and a type. The additional tokens, `$first`, are passed before the list. If `$expand!` itself
/// defines a macro, it needs a `$` as an additional token.
macro_rules! controllers {
    ($expand:ident $($first:tt)*) => {
        $expand! {
            $($first)*
            /// Reno: additive increase, multiplicative decrease.   Source: RFC 5681 §3.1.
            "reno" Reno(reno::RenoFlow),
            /// CUBIC, in the form that `cubic_form` selects.   Source: RFC 9438; Linux 6.
            "cubic" Cubic(cubic::CubicForms),
            /// CUBIC 2.1 of Linux 2.6.22, as ns-2's Agent/TCP/Linux runs it.
            "cubic-2.6.22" Cubic2622(cubic_2_6_22::Cubic2622),
            /// LEDBAT, low extra delay background transport: yields to other traffic when the one-way delay grows.
            /// Needs `timestamps`. Source: RFC 6817.
            "ledbat" Ledbat(ledbat::Ledbat),
            /// LEDBAT++: like LEDBAT, but it measures round-trip times, grows as fast as Reno at long round-trip times
            /// and more slowly at short ones, and empties its queue periodically. Source:
            /// draft-irtf-iccrg-ledbat-plus-plus-01.
            "ledbat++" LedbatPp(ledbat_pp::LedbatPp),
            /// BBR version 1: paces according to a model of the path.
            /// Source: draft-cardwell-iccrg-bbr-congestion-control-00.
            "bbr" Bbr(bbr::Bbr),
            /// BBR version 3, in the form that `bbr3_form` selects: like version 1, but losses also limit the model of
            /// the path.   Source: draft-ietf-ccwg-bbr-06; google/bbr v3.
            "bbr3" Bbr3(bbr3::Bbr3),
            /// Westwood+: Reno, but a loss or mark sets the window to bandwidth times minimum RTT.
            /// Source: Grieco & Mascolo 2004.
            "westwood" Westwood(westwood::Westwood),
            /// DCTCP, in the form that `dctcp_form` selects: reduces the window in proportion to the share of packets
            /// marked. Needs `ecn`, with `ecn_feedback` `dctcp` or `accecn`.   Source: RFC 8257; Linux.
            "dctcp" Dctcp(dctcp::Dctcp),
            /// TCP Prague 0.7: a paced DCTCP for the Internet. Needs `ecn`, with `ecn_feedback = "accecn"`. Source:
            /// draft-briscoe-iccrg-prague-congestion-control; Linux (L4STeam).
            "prague" Prague(prague::Prague),
            /// A constant window. Usually, it is the initial window. If `initial_ssthresh` is set and larger, the
            /// window first grows to `initial_ssthresh` by slow start. Marks and losses do not change the window. After
            /// a timeout, the window grows by slow start from one segment more than the data in flight to
            /// `initial_ssthresh` or, if this key is not set, to the initial window. For experiments, and for programs that set the window from outside. Source:
            /// RFC 5681 §3.1 for slow start.
            "fixed" Fixed(fixed::Fixed),
            /// The class named in the table `python` (docs/adding-a-controller-in-python.md).
            "python" Python(foreign::Foreign),
        }
    };
}

pub(crate) use controllers;
