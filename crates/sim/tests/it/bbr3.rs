//! Tests whole connections with BBR version 3 through a bottleneck. The expected results follow from the rules of
//! version 3; under random loss, version 1 is run for comparison.

use crate::common::{column, number, run, series};
use sim::Column;

/// Returns a scenario with a link of 24 Mbit/s (2000 segments of 1500 bytes per second) and an RTT of 40 ms, so the BDP is 80
/// segments.
fn path(buffer: u32, loss: f64, seconds: u32, apps: &[&str]) -> String {
    let mut toml = format!(
        "duration = \"{seconds}s\"\n[record]\nwarm_up = \"5s\"\ninterval = \"20ms\"\n\
         [link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"24mbit\"\ndelay = \"20ms\"\nloss = {loss}\n\
         queue = {{ droptail = {{ limit = \"{buffer}p\" }} }}\n\
         [link.down]\nfrom = \"b\"\nto = \"a\"\nrate = \"1gbit\"\ndelay = \"20ms\"\n"
    );
    for tcp in apps {
        let name = tcp.replace('-', "_");
        toml += &format!("[app.{name}]\nfrom = \"a\"\nto = [\"b\"]\ntcp = \"{tcp}\"\ntraffic.ftp = {{}}\n");
    }
    toml
}

const FORMS: [&str; 2] = ["bbr3-draft", "bbr3-linux"];

#[test]
fn startup_fills_two_bdp_and_drain_empties_them() {
    for form in FORMS {
        let out = run(&path(1000, 0.0, 20, &[form]));
        let of = |column| series(&out, "queue_series", column, "link", "up");
        let (t, queue) = (of("t_s"), of("queue_packets"));
        // in Startup two BDPs are in flight, so one BDP (80 packets) waits in the queue. Paired ACKs and bursts add at most a
        // fifth, so at most 96 packets wait
        let most = queue.iter().fold(0.0f64, |a, b| a.max(*b));
        assert!((40.0..=96.0).contains(&most), "{form}: {most}");
        // Startup and Drain are over within a second. After that, only the phase ProbeBW_UP builds a queue, of at most a quarter of
        // a BDP (20 packets)
        let after: Vec<f64> = t.iter().zip(&queue).filter(|(t, _)| (1.5..2.0).contains(*t)).map(|(_, q)| *q).collect();
        assert!(!after.is_empty() && after.iter().all(|q| *q <= 20.0), "{form}: {after:?}");
        assert_eq!(number(&out, "links.up.dropped_packets"), 0.0, "{form}");
        assert!(number(&out, "links.up.utilisation") > 0.93, "{form}: {}", number(&out, "links.up.utilisation"));
    }
}

#[test]
fn one_percent_of_random_loss_leaves_the_model_whole_and_five_percent_does_not() {
    // payload rate of a full link: 1448 of a packet's 1500 bytes are payload
    let truth = 24e6 * 1448.0 / 1500.0;
    let both = |tcp: &str, loss| {
        let out = run(&path(200, loss, 60, &[tcp]));
        let of = |column| series(&out, "model_series", column, "app", &tcp.replace('-', "_"));
        let mut bw: Vec<f64> =
            of("t_s").iter().zip(of("btl_bw_bps")).filter(|(t, _)| **t > 5.0).map(|(_, bw)| bw).collect();
        bw.sort_by(f64::total_cmp);
        (bw[bw.len() / 2] / truth, number(&out, "links.up.utilisation"))
    };
    for form in FORMS {
        let ((model, one), (_, five)) = (both(form, 0.01), both(form, 0.05));
        assert!((0.95..1.05).contains(&model), "{form}: {model}");
        // each probe finds the full rate. The next probe follows after 2 to 3 s or, if that is earlier, after as many
        // rounds as the BDP has segments (at most 63). Between probes, every round reduces the rate, and with it the
        // BDP, by the fraction that was lost (draft §5.3.3.5.2), here 1 % on average. So over n rounds, the mean is
        // (1 - 0.99^n) / (0.01 n) of the full rate. n is about 50, because after 49 rounds the BDP has shrunk from 80
        // segments to 80 x 0.99^49 = 49. The mean for n = 50 is 0.79
        assert!((0.75..1.0).contains(&one), "{form}: {one}");
        // with 5 % of loss, every probe exceeds the loss threshold, so the long-term bound decreases
        assert!(five < 0.6 * one, "{form}: {five} {one}");
    }
    // version 1 ignores losses, except for its policer detection, which begins at 20 %
    let (_, five) = both("bbr", 0.05);
    assert!(five > 0.85, "{five}");
}

#[test]
fn a_buffer_of_half_a_bdp_bounds_the_losses() {
    for form in FORMS {
        let out = run(&path(40, 0.0, 60, &[form]));
        let share = number(&out, "links.up.dropped_packets") / number(&out, "links.up.offered_packets");
        // a probe for bandwidth begins every 2 to 3 s, so at least 4000 segments are sent between the beginnings of two
        // probes. A probe loses at most 2 % of the data in flight, plus up to a quarter of a BDP (20 segments) in the
        // round before BBR reacts. In total, about 23 of 4000 segments are lost, or 0.6 %
        assert!(share < 0.01, "{form}: {share}");
        assert!(number(&out, "links.up.utilisation") > 0.85, "{form}: {}", number(&out, "links.up.utilisation"));
    }
}

#[test]
fn half_a_bdp_every_five_seconds() {
    // the buffer is large enough to avoid losses. CUBIC's standing queue keeps round trips long, so no new minimum postpones
    // ProbeRTT
    let out = run(&path(300, 0.0, 60, &["bbr3", "cubic"]));
    let t = series(&out, "model_series", "t_s", "app", "bbr3");
    let Column::Text(mode) = column(&out, "model_series", "mode") else { panic!("a mode is a word") };
    assert_eq!(t.len(), mode.len());
    let begins: Vec<f64> = t
        .iter()
        .zip(mode.iter())
        .zip(mode.iter().skip(1))
        .zip(t.iter().skip(1))
        .filter(|(((_, was), is), _)| *was != "probe_rtt" && *is == "probe_rtt")
        .map(|(_, at)| *at)
        .collect();
    let gaps: Vec<f64> = begins.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(gaps.len() >= 5, "{begins:?}");
    // a ProbeRTT begins 5 s after the last new minimum RTT, or 5 s after the previous ProbeRTT. It takes at least 200
    // ms and a round
    assert!(gaps.iter().all(|g| *g >= 5.0) && gaps.iter().filter(|g| **g < 6.5).count() >= 3, "{gaps:?}");
}

#[test]
fn beside_cubic_at_one_bdp_neither_starves() {
    for form in FORMS {
        let out = run(&path(80, 0.0, 120, &[form, "cubic"]));
        let app = form.replace('-', "_");
        let (bbr, cubic) =
            (number(&out, &format!("apps.{app}.goodput_bytes")), number(&out, "apps.cubic.goodput_bytes"));
        let share = bbr / (bbr + cubic);
        assert!((0.1..0.9).contains(&share), "{form}: {share}");
    }
}
