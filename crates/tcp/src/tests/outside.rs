//! Tests of an external congestion controller (one implemented outside this crate) in a complete TCP stack.

use super::names::*;
use super::net::{Fate, Net};
use super::preset;
use crate::cc::foreign::ForeignNeeds;
use crate::cc::foreign::tests::{Renos, with};
use units::{Rng, Time};

/// Returns the log of a transfer over a path that loses every twentieth data segment.
fn transfer(p: &TcpParams) -> Vec<(Time, usize, u64, u32)> {
    let lose = |from: usize, n: usize, s: &Segment| {
        if from == 0 && s.len > 0 && n % 20 == 7 { Fate::Drop } else { Fate::Pass }
    };
    let mut net = Net::new(p, 25, lose);
    net.ends[0].introduce(&Origin { stream: &|| Rng::named(1, "flow"), name: &|| "flow 1".to_owned() });
    net.connect(300_000, true);
    net.run(60.0);
    assert_eq!(net.received[1], 300_000);
    net.log.iter().map(|(at, from, s)| (*at, *from, s.seq, s.len)).collect()
}

#[test]
fn reno_from_outside_sends_the_very_segments_of_reno() {
    let plain = preset("reno");
    let factory = Renos { needs: ForeignNeeds { timer: true, ..ForeignNeeds::default() }, ..Renos::default() };
    assert_eq!(transfer(&with(plain.clone(), factory.clone())), transfer(&plain));
    let calls = factory.calls.lock().unwrap();
    assert!(calls.iter().any(|call| call.starts_with("introduce flow 1")), "{calls:?}");
    // a congestion event is stamped with the time of the ACK or the timeout. The handshake and the first flight take an
    // RTT of 50 ms each, so no event is stamped before 100 ms
    let at = |call: &String| call.split(" at ").nth(1).and_then(|at| at.parse::<u64>().ok());
    let losses: Vec<u64> = calls.iter().filter(|call| call.starts_with("Loss")).filter_map(at).collect();
    assert!(losses.len() > 3 && losses.iter().all(|at| *at >= 100_000_000) && losses.is_sorted(), "{calls:?}");
    // the controller's timer expires every 100 ms, from 200 to 400 ms
    let timers: Vec<u64> = calls.iter().filter(|call| call.starts_with("timer")).filter_map(at).collect();
    for at in [200_000_000, 300_000_000, 400_000_000] {
        assert!(timers.contains(&at), "{timers:?}");
    }
}

#[test]
fn after_an_idle_period_the_pacing_rate_is_that_before_it() {
    // Three messages of 60 segments. The connection is idle before the second message for less than an RTO, and before
    // the third for more. The segments that leave at the same time are a burst. With prague, a burst is what the pacing
    // rate sends in 1/4096 s, here at most two segments; with the external controller, it is one segment. The first
    // message is exempt, because the first ten segments of a connection are not paced, as in Linux
    let prague = preset("prague");
    let needs = ForeignNeeds { rates: true, ..ForeignNeeds::default() };
    let outside = with(preset("linux-6"), Renos { needs, rate: Some(1e6), ..Renos::default() });
    for (p, most) in [(prague, 2), (outside, 1)] {
        let mut net = Net::new(&p, 10, |_, _, _| Fate::Pass);
        net.connect(0, false);
        for from in [1.0, 1.2, 9.0] {
            net.run(from);
            assert_eq!(net.ends[0].probe(&p).in_flight, 0);
            let first = net.log.len();
            net.write(0, 60 * 1448, false);
            net.run(from + 0.19);
            let data = net.log[first..].iter().filter(|l| l.1 == 0 && l.2.len > 0);
            let times: Vec<Time> = data.map(|l| l.0).collect();
            assert!(
                times.len() >= 60 && times[0] == Time((from * 1e9) as u64),
                "{} segments, {:?}",
                times.len(),
                times[0]
            );
            let burst = times.chunk_by(|a, b| a == b).map(<[Time]>::len).max().unwrap();
            assert!(from == 1.0 || burst <= most, "{burst} segments leave at the same time, {from} s");
        }
    }
}

#[test]
fn after_a_timeout_losses_are_reported_with_the_window_before_it() {
    // the whole first flight, the tail loss probe and the first retransmission are lost
    let needs = ForeignNeeds { rates: true, ..ForeignNeeds::default() };
    let factory = Renos { needs, ..Renos::default() };
    let p = with(preset("linux-6"), factory.clone());
    let mut net = Net::new(&p, 25, |from, n, s| if from == 0 && s.len > 0 && n < 13 { Fate::Drop } else { Fate::Pass });
    net.connect(30_000, true);
    net.run(60.0);
    assert_eq!(net.received[1], 30_000);
    let calls = factory.calls.lock().unwrap();
    let rto = calls.iter().position(|call| call.starts_with("rto")).expect("a timeout");
    let lost: Vec<&String> = calls[rto + 1..].iter().take_while(|call| call.starts_with("lost")).collect();
    assert!(!lost.is_empty() && calls[rto] != "rto with 1", "{calls:?}");
    assert!(lost.iter().all(|call| call[4..] == calls[rto][3..]), "{calls:?}");
}
