//! Tests that apply to every controller. They also show that a new controller with its own parameters needs only one
//! file, and one line in the list. The example is Vegas, from docs/adding-a-controller.md.

mod vegas;

use super::{Controller, control, reno, shared, stack};
use crate::params::group::Group;
use crate::params::{EcnFeedback, TcpParams};
use control::{AckSample, Congestion, Control, Window};
use declared::{CongestionControl, ControlParams};
use vegas::{Vegas, VegasParams};

/// The items that `declare!` generates if the list of controllers consists of the two lines below.
#[allow(unreachable_pub, reason = "in the crate's own list, the names are public")]
mod declared {
    use super::super::params::declare;
    use super::control::{Control, EcnNeeds, Needs};
    use super::shared::SharedParams;
    use crate::params::group::{group, no, words};
    use units::Problem;

    declare! {
        /// Reno. Its keyword is "cubic" here, because `cubic` is the default controller.
        "cubic" Cubic(reno::RenoFlow),
        /// Vegas: keeps a given number of segments in the queue.   Source: Brakmo & Peterson 1995.
        "vegas" Vegas(vegas::Vegas),
    }
}

#[test]
fn one_line_makes_the_word_and_the_keys() {
    assert!(ControlParams::keys().ends_with(&["vegas_alpha", "vegas_beta"]));
    let mut p = ControlParams::default();
    p.choose("vegas");
    assert_eq!((p.congestion_control.word(), CongestionControl::ALL.len()), ("vegas", 2));
    assert_eq!(p.needs(), control::Needs::NONE);
    assert_eq!(p.ecn(), control::EcnNeeds::USUAL);
    p.vegas.vegas_alpha = 5.0;
    let error = p.validate().unwrap_err().to_string();
    assert_eq!(error, "vegas_alpha: 5 is not valid; expected more than 0, at most vegas_beta (4)");
    let schema = schemars::schema_for!(ControlParams).to_value();
    assert_eq!(schema["properties"]["vegas_beta"]["default"], 4.0);
    assert_eq!(serde_json::to_value(&p).unwrap()["vegas_alpha"], 5.0);
}

#[test]
fn beta_is_valid_only_where_it_changes_the_window_after_a_loss() {
    use super::params::CongestionControl as Word;
    for controller in Word::ALL.iter().filter(|c| **c != Word::Python) {
        let stack = |beta| {
            TcpParams::preset("linux-6").unwrap().with(|p| {
                p.control.congestion_control = *controller;
                (p.ecn.ecn, p.ecn.ecn_feedback) = (true, EcnFeedback::Accecn);
                p.control.shared.beta = Some(beta);
            })
        };
        let after = |beta| {
            let w = Window { cwnd: 100.0, ssthresh: 50.0 };
            Controller::new(&stack(beta)).on_congestion(w, Congestion::Loss, 100.0).ssthresh
        };
        let valid = stack(0.6).validate();
        assert_eq!(valid.is_ok(), after(0.6) != after(0.9), "{controller:?}: {valid:?}");
    }
}

/// Controllers without state can be prefetched too.
#[test]
fn every_controller_can_be_prefetched() {
    use super::params::CongestionControl as Word;
    for controller in Word::ALL.iter().filter(|c| **c != Word::Python) {
        let p = TcpParams::preset("linux-6").unwrap().with(|p| p.control.congestion_control = *controller);
        Controller::new(&p).prefetch();
    }
}

#[test]
fn the_queue_holds_between_alpha_and_beta() {
    // The path holds 100 segments at an RTT of 100 ms. With a window of 100 + q, the RTT is 100 + q ms, so diff is q.
    let window = |alpha: f64, beta: f64, from: f64| {
        let own = VegasParams { vegas_alpha: alpha, vegas_beta: beta };
        let mut c = Vegas::new(&own, &stack(&TcpParams::default()));
        let mut w = Window { cwnd: from, ssthresh: from };
        let ack = |rtt_us| AckSample { round_ended: true, rtt_us: Some(rtt_us), ..AckSample::default() };
        c.on_ack(w, &ack(100_000));
        for _ in 0..100 {
            let rtt_us = 1000.0 * w.cwnd.max(100.0);
            w.follow(&c.on_ack(w, &ack(rtt_us as u32)));
        }
        w.cwnd
    };
    assert_eq!((window(2.0, 4.0, 60.0), window(2.0, 4.0, 140.0)), (102.0, 104.0));
    assert_eq!((window(8.0, 9.0, 60.0), window(8.0, 9.0, 140.0)), (108.0, 109.0));
}
