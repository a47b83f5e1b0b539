//! Tests of the wire's impairments against closed forms.

use crate::common::{Bench, ms, read};
use units::Time;

/// Returns a link with no rate and 10 ms of delay, so that only the wire determines when a packet arrives.
fn link(impairments: &str) -> Bench {
    Bench::new(&format!(
        "delay = '10ms'\nqueue = {{ droptail = {{ limit = '100000p' }} }}\n[impairments]\n{impairments}"
    ))
}

/// Sends `n` packets of 1000 bytes, one every millisecond.
fn send(b: &mut Bench, n: u64) {
    for i in 0..n {
        b.run(Time(i * 1_000_000));
        b.burst(Time(i * 1_000_000), 1, 1000);
    }
    b.run(Time(1 << 60));
}

/// Returns whether each packet was lost, in sending order.
fn lost(b: &Bench) -> Vec<bool> {
    let mut lost = vec![false; b.seq as usize];
    b.fates.0.iter().for_each(|(seq, _)| lost[*seq as usize] = true);
    lost
}

#[test]
fn a_policer_lets_through_its_burst_and_its_rate() {
    // packets arrive at 8 Mbit/s. The policer passes an initial burst of 10 packets, and 2 Mbit/s in the long run
    let mut b = link("policer = { rate = '2mbit', burst = '10KB' }");
    send(&mut b, 1001);
    // in 1 s, tokens for 250 kB arrive, so 10 + 250 packets pass, or one packet fewer if the last tokens do not suffice
    // for a whole packet
    assert!((259..=260).contains(&b.out.len()), "{}", b.out.len());
    // from one packet to the next, the bucket loses 1000 bytes and gains 250. So 13 packets pass before the first drop:
    // 10 with the initial tokens, and 3 more with the tokens that arrive meanwhile
    assert_eq!(lost(&b).iter().position(|lost| *lost), Some(13));
    // after that, one packet in four passes
    let later: Vec<u64> = b.out.iter().map(|p| p.seq).filter(|seq| *seq > 20).collect();
    assert!(later.windows(2).all(|w| w[1] - w[0] == 4), "{later:?}");
    assert!(b.out.iter().all(|p| p.stamp.0 == p.seq * 1_000_000 + 10_000_000), "a policer delays nothing");
}

#[test]
fn a_policer_drops_what_is_larger_than_its_bucket() {
    let mut b = link("policer = { rate = '1gbit', burst = '999B' }");
    send(&mut b, 3);
    assert_eq!(lost(&b), [true; 3]);
}

#[test]
fn losses_in_bursts_have_their_share_and_length() {
    let n = 200_000;
    let mut b = link("burst_loss = { p = 0.01, r = 0.2 }");
    send(&mut b, n);
    let lost = lost(&b);
    let losses = lost.iter().filter(|l| **l).count() as f64;
    let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
    // the expected loss ratio is p / (p + r) = 1/21. The losses of successive packets have a correlation of
    // 1 - p - r = 0.79, which multiplies the variance by 1.79 / 0.21. So the standard deviation is
    // sqrt(1/21 * 20/21 * 8.52 / 200000) = 0.00139
    assert!((losses / n as f64 - 1.0 / 21.0).abs() < 5.0 * 0.00139, "{losses}");
    // the length of a burst is geometric with mean 1 / r = 5 and standard deviation sqrt(0.8) / 0.2 = 4.47; there are about
    // 1900 bursts
    assert!((losses / bursts - 5.0).abs() < 5.0 * 4.47 / bursts.sqrt(), "{losses} {bursts}");
}

#[test]
fn both_states_lose_with_their_own_probability() {
    let n = 200_000;
    let mut b = link("burst_loss = { p = 0.5, r = 0.5, bad_loss = 0.6, good_loss = 0.2 }");
    send(&mut b, n);
    let share = b.fates.0.len() as f64 / n as f64;
    // with p = r = 1/2 the state is drawn independently for each packet, so packets are lost independently with probability 0.4
    assert!((share - 0.4).abs() < 5.0 * (0.4 * 0.6 / n as f64).sqrt(), "{share}");
}

#[test]
fn retransmissions_delay_geometrically_and_give_up() {
    let n = 100_000;
    let mut b = link("retransmission = { failure = 0.3, delay = '100us', attempts = 3 }");
    send(&mut b, n);
    let late = |times: u64| {
        let at = 10_000_000 + times * 100_000;
        b.out.iter().filter(|p| p.stamp.0 - p.seq * 1_000_000 == at).count() as f64 / n as f64
    };
    // packets are 1 ms apart, so no packet waits for another. A packet fails k times with probability 0.3^k * 0.7, and is lost
    // after three failures
    let close = |found: f64, p: f64| (found - p).abs() < 5.0 * (p * (1.0 - p) / n as f64).sqrt();
    assert!(
        close(late(0), 0.7) && close(late(1), 0.21) && close(late(2), 0.063),
        "{} {} {}",
        late(0),
        late(1),
        late(2)
    );
    assert!(close(b.fates.0.len() as f64 / n as f64, 0.027), "{}", b.fates.0.len());
}

#[test]
fn later_packets_wait_for_a_retransmission() {
    let mut b = link("retransmission = { failure = 0.3, delay = '5ms' }");
    send(&mut b, 10_000);
    assert!(b.out.windows(2).all(|w| w[0].seq < w[1].seq));
    let behind = b.out.windows(2).filter(|w| w[0].stamp == w[1].stamp).count();
    // a packet whose first transmission fails is at least 5 ms late. Packets are sent 1 ms apart, so the next four
    // packets wait for it, and they and the fifth arrive at the same time, unless they are late themselves
    assert!(behind > 3000, "{behind}");
}

#[test]
fn later_packets_also_wait_for_a_packet_that_is_given_up() {
    let mut b = link("retransmission = { failure = 0.5, delay = '100ms', attempts = 3 }");
    send(&mut b, 10_000);
    let lost = lost(&b);
    // a lost packet occupies the link until its third attempt, 200 ms after the first. The next packet arrives no
    // earlier than this attempt would have arrived
    let stamp: std::collections::BTreeMap<u64, u64> = b.out.iter().map(|p| (p.seq, p.stamp.0)).collect();
    let mut pairs = 0;
    for seq in (0..lost.len() as u64 - 1).filter(|seq| lost[*seq as usize]) {
        let Some(next) = stamp.get(&(seq + 1)) else { continue };
        assert!(*next >= seq * 1_000_000 + 210_000_000, "{seq}");
        pairs += 1;
    }
    assert!(pairs > 1000, "{pairs}");
}

#[test]
fn a_packet_that_is_held_back_is_overtaken_by_a_bound() {
    let n = 10_000;
    let mut b = link("reordering = { chance = '10%', by = '2500us' }");
    send(&mut b, n);
    let held: Vec<u64> = b.out.iter().filter(|p| p.stamp.0 != p.seq * 1_000_000 + 10_000_000).map(|p| p.seq).collect();
    assert!((held.len() as f64 - 1000.0).abs() < 5.0 * 30.0, "{}", held.len());
    for (place, p) in b.out.iter().enumerate().filter(|(_, p)| held.contains(&p.seq)) {
        assert_eq!(p.stamp.0, p.seq * 1_000_000 + 12_500_000);
        // the next two packets leave within 2.5 ms and overtake the held packet, unless they are held back themselves
        let overtook = b.out[..place].iter().filter(|q| q.seq > p.seq).count();
        let may = [1, 2].iter().filter(|k| p.seq + **k < n && !held.contains(&(p.seq + **k))).count();
        assert_eq!(overtook, may);
    }
    assert!(b.out.windows(2).all(|w| w[0].stamp <= w[1].stamp));
}

#[test]
fn batches_arrive_at_multiples() {
    let mut b = link("batches = '4ms'");
    send(&mut b, 101);
    let expected: Vec<u64> = (0..101u64).map(|i| (i + 10).div_ceil(4) * 4_000_000).collect();
    assert_eq!(b.out.iter().map(|p| p.stamp.0).collect::<Vec<_>>(), expected);
}

#[test]
fn each_kind_draws_from_its_own_stream() {
    let lost_with = |more: &str| {
        let mut b = link(&format!("burst_loss = {{ p = 0.02, r = 0.3 }}\n{more}"));
        send(&mut b, 2000);
        lost(&b)
    };
    let alone = lost_with("");
    let others =
        "retransmission = { failure = 0.2, delay = '1ms', attempts = 100 }\nreordering = { chance = 0.1, by = '3ms' }";
    assert_eq!(lost_with(others), alone);
    assert!(alone.iter().any(|l| *l));
}

#[test]
fn without_effect_the_wire_is_as_before() {
    let run = |impairments: &str| {
        let mut b = Bench::new(&format!(
            "rate = '10mbit'\nloss = 0.1\njitter = '3ms'\nqueue = {{ codel = {{}} }}\n{impairments}"
        ));
        b.saturate(ms(0.0), ms(2000.0), 20);
        (b.out, b.fates.0)
    };
    let none = "[impairments]\npolicer = { rate = '1gbit', burst = '1MB' }\nburst_loss = { p = 0, r = 1 }\n\
                retransmission = { failure = 0, delay = '1s' }\nreordering = { chance = 0, by = '1s' }\nbatches = '1ns'";
    assert_eq!(run(none), run(""));
}

#[test]
fn invalid_values_are_named() {
    let problem = |impairments: &str| {
        let text = format!("queue = {{ droptail = {{}} }}\n[impairments]\n{impairments}");
        read(&text).unwrap().validate().unwrap_err().to_string()
    };
    for (text, expected) in [
        (
            "policer = { rate = '0bit', burst = '1KB' }",
            "impairments.policer.rate: 0bit is not valid; expected more than 0bit",
        ),
        (
            "burst_loss = { p = 0.1, r = 0 }",
            "impairments.burst_loss.r: 0 is not valid; expected more than 0: with 0, the wire would never leave the bad state",
        ),
        (
            "retransmission = { failure = 0.1, delay = '1ms', attempts = 0 }",
            "impairments.retransmission.attempts: 0 is not valid; expected more than 0",
        ),
        (
            "reordering = { chance = 0.1, by = '0s' }",
            "impairments.reordering.by: 0s is not valid; expected more than 0s",
        ),
        ("batches = '0s'", "impairments.batches: 0s is not valid; expected more than 0s, or no batches"),
    ] {
        assert_eq!(problem(text), expected);
    }
}
