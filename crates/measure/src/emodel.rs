//! Speech quality: the E-model, and the mean opinion score.
//!
//! ```text
//!   R   = 94.2 - 0.024 d - 0.11 (d - 177.3) H(d - 177.3) - 30 ln(1 + 15 e)        d one-way delay in ms, e loss in [0, 1]
//!
//!   R   = 93.2 - Idd - Ie,eff                                                       G.107 with its other defaults
//!   Idd = 25 ((1 + X^6)^(1/6) - 3 (1 + (X/3)^6)^(1/6) + 2),  X = log2(d / 100)      0 up to 100 ms
//!   Ie,eff = Ie + (95 - Ie) Ppl / (Ppl / BurstR + Bpl)                              Ppl loss in percent
//!
//!   MOS = 1                                            for R < 6.515
//!         1 + 0.035 R + 7e-6 R (R - 60)(100 - R)       for 6.515 <= R <= 100
//!         4.5                                          for R > 100
//! ```
//!
//! Source: the first formula is from Cole & Rosenbluth 2001, for G.711, as quoted in CableLabs 2012 §3.2.2 (with the natural
//! logarithm). The other formulas are from ITU-T G.107 (03/2005) §3.4, §3.5, Annex B; Ie and Bpl are from G.113 Appendix I.
//!
//! The formula in CableLabs 2012 includes the delay d, but every MOS in its tables (apart from cells that repeat the MOS
//! of another run) matches d = 0. So two ratings by this formula are reported: [`r_value`] of the mean measured delay plus
//! the network delay (20 ms by default), and [`r_value`] of [`Duration::ZERO`] for comparison.
//!
//! Departs: G.107's cubic is below 1 for 0 < R < 6.515 (0.989 at R = 3.1), outside the scale from 1 to 5. Its Appendix
//! I excludes this range (R from MOS: 6.5 <= R); here, MOS is 1 in this range. The delay impairment Id includes only
//! Idd: echo (Idte, Idle) depends on telephones, not on queues, and is negligible with a good canceller.

use units::{Duration, math};

/// R without any impairment, as in CableLabs 2012.
const R_MAX: f64 = 94.2;

/// R of G.107 with every parameter at its default.
const R_DEFAULT: f64 = 93.2;

/// The effect of a codec on speech quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Codec {
    /// Equipment impairment factor Ie.
    pub ie: f64,
    /// Packet-loss robustness factor Bpl; a higher factor means a more robust codec.
    pub bpl: f64,
}

/// Returns the delay impairment Idd of G.107, for a one-way delay from mouth to ear.
fn idd(delay: Duration) -> f64 {
    let ta = delay.millis();
    if ta <= 100.0 {
        return 0.0;
    }
    let x = math::ln(ta / 100.0) / math::ln(2.0);
    let root = |x: f64| math::pow(1.0 + math::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// Returns the effective equipment impairment Ie,eff of G.107. `loss` is the fraction of lost packets, in [0, 1].
/// `burst_ratio` is the mean length of the bursts of losses, divided by the mean length that random losses would have.
fn ie_eff(codec: Codec, loss: f64, burst_ratio: f64) -> f64 {
    let ppl = 100.0 * loss.clamp(0.0, 1.0);
    codec.ie + (95.0 - codec.ie) * ppl / (ppl / burst_ratio + codec.bpl)
}

/// Returns the transmission rating of G.107 with all other parameters at their defaults. It may be negative.
pub(crate) fn r_g107(delay: Duration, codec: Codec, loss: f64, burst_ratio: f64) -> f64 {
    R_DEFAULT - idd(delay) - ie_eff(codec, loss, burst_ratio)
}

/// Returns the transmission rating of G.711 by Cole and Rosenbluth's formula. `delay` is the one-way delay, and `loss`
/// the fraction of packets lost. The rating may be negative.
pub fn r_value(delay: Duration, loss: f64) -> f64 {
    let d = delay.millis();
    R_MAX - 0.024 * d - 0.11 * (d - 177.3).max(0.0) - 30.0 * math::ln(1.0 + 15.0 * loss.clamp(0.0, 1.0))
}

/// Returns the mean opinion score of a rating, from 1 to 4.5.
pub fn mos(r: f64) -> f64 {
    if r < 0.0 {
        1.0
    } else if r > 100.0 {
        4.5
    } else {
        (1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name of the case, its loss in percent (lost and late packets), and the MOS that the paper prints for the case.
    ///
    /// Source: CableLabs 2012. DropTail with 417 packets: Tables 3 and 7. DropTail with 21 packets: Tables 4 and 8. CoDel:
    /// run 1 in Table 3, which is the same in Tables 7 and 8.
    const PUBLISHED: [(&str, f64, f64); 27] = [
        ("D01/417", 0.10, 4.4),
        ("D02/417", 99.87, 1.1),
        ("D03/417", 97.32, 1.1),
        ("D04/417", 99.93, 1.0),
        ("D05/417", 99.92, 1.0),
        ("D06/417", 99.93, 1.0),
        ("D07/417", 99.90, 1.0),
        ("D08/417", 86.60, 1.1),
        ("D09/417", 20.81, 2.7),
        ("C01", 0.10, 4.4),
        ("C02", 0.78, 4.4),
        ("C03", 1.64, 4.3),
        ("C04", 9.11, 3.5),
        ("C05", 2.68, 4.2),
        ("C06", 10.90, 3.4),
        ("C07", 4.06, 4.0),
        ("C08", 1.41, 4.3),
        ("C09", 0.88, 4.4),
        ("D01/21", 0.00, 4.4),
        ("D02/21", 1.15, 4.3),
        ("D03/21", 0.60, 4.4),
        ("D04/21", 11.41, 3.3),
        ("D05/21", 1.00, 4.3),
        ("D06/21", 8.51, 3.6),
        ("D07/21", 2.99, 4.1),
        ("D08/21", 0.91, 4.3),
        ("D09/21", 0.14, 4.4),
    ];

    #[test]
    fn the_published_scores_follow_from_loss_alone() {
        for (case, loss, printed) in PUBLISHED {
            let score = mos(r_value(Duration::ZERO, loss / 100.0));
            assert_eq!((score * 10.0).round(), printed * 10.0, "{case}: {score} is not {printed}");
        }
    }

    #[test]
    fn no_valid_delay_gives_all_printed_values() {
        // a valid delay is at least 21 ms: 1 ms of access and 20 ms of network. Five of the printed values cannot be
        // obtained from the formula with any delay from 21 ms to 2 s
        let missed: Vec<&str> = PUBLISHED
            .iter()
            .filter(|(_, loss, printed)| {
                (21..2000)
                    .all(|d| (mos(r_value(Duration::from_millis(d), loss / 100.0)) * 10.0).round() != printed * 10.0)
            })
            .map(|c| c.0)
            .collect();
        assert_eq!(missed, ["D02/417", "D09/417", "C02", "C06", "C09"]);
    }

    #[test]
    fn the_second_run_would_print_another_score() {
        // in run 2 of CoDel's case 06, the loss is 11.05 %, which gives an MOS of 3.3 instead of the printed 3.4
        assert_eq!((mos(r_value(Duration::ZERO, 0.1105)) * 10.0).round(), 33.0);
    }

    #[test]
    fn known_points() {
        assert_eq!(r_value(Duration::ZERO, 0.0), 94.2);
        // at 100 ms, the formula gives R = 94.2 - 2.4; at 300 ms, R = 94.2 - 7.2 - 0.11 * 122.7
        assert!((r_value(Duration::from_millis(100), 0.0) - 91.8).abs() < 1e-12);
        assert!((r_value(Duration::from_millis(300), 0.0) - 73.503).abs() < 1e-12);
        // with all packets lost, R = 94.2 - 30 ln 16 = 11.02
        assert!((r_value(Duration::ZERO, 1.0) - 11.022_3).abs() < 1e-4);
        assert_eq!((mos(-1.0), mos(0.0), mos(60.0), mos(101.0)), (1.0, 1.0, 1.0 + 0.035 * 60.0, 4.5));
        assert_eq!(mos(100.0), 4.5);
    }

    #[test]
    fn no_score_lies_below_one() {
        for r in -2000..2000 {
            let score = mos(f64::from(r) / 10.0);
            assert!((1.0..=4.5).contains(&score), "{r}: {score}");
        }
        // the formula gives a score of 1 where (R - 60)(100 - R) = -5000, at R = 80 - sqrt(5400) = 6.515. Lower ratings
        // also score 1
        assert_eq!((mos(3.1), mos(6.51)), (1.0, 1.0));
        assert!(mos(6.53) > 1.0 && mos(6.53) < 1.001);
        assert_eq!(mos(f64::NEG_INFINITY), 1.0);
    }

    #[test]
    fn g107_by_its_closed_forms_and_published_values() {
        let ms = Duration::from_millis;
        // Idd is 0 up to 100 ms. At 200 ms, X = 1 and Idd = 25 (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2). At 800 ms, X = 3
        assert_eq!((idd(ms(0)), idd(ms(100))), (0.0, 0.0));
        let sixth = |x: f64| math::cbrt(x.sqrt());
        let at_200 = 25.0 * (sixth(2.0) - 3.0 * sixth(730.0 / 729.0) + 2.0);
        let at_800 = 25.0 * (sixth(730.0) - 3.0 * sixth(2.0) + 2.0);
        assert!((idd(ms(200)) - at_200).abs() < 1e-9 && (at_200 - 3.04).abs() < 0.01, "{at_200}");
        assert!((idd(ms(800)) - at_800).abs() < 1e-9 && (at_800 - 40.83).abs() < 0.01, "{at_800}");
        // for very long delays, Idd approaches 50
        assert!((idd(Duration::from_secs(100_000)) - 50.0).abs() < 0.01);
        // with all parameters at G.107's defaults, R = 93.2 and MOS = 4.41
        let g711 = Codec { ie: 0.0, bpl: 4.3 };
        let best = r_g107(ms(0), g711, 0.0, 1.0);
        assert_eq!(best, 93.2);
        assert_eq!((mos(best) * 100.0).round(), 441.0);
        // By G.113 Appendix I, G.729A has Ie = 11 and Bpl = 19. At a loss of 2 %, Ie,eff is thus 11 + 84 * 2 / 21 = 19
        // if the losses are random, and 11 + 84 * 2 / 20 = 19.4 if the bursts of losses are twice as long
        let g729a = Codec { ie: 11.0, bpl: 19.0 };
        assert!((ie_eff(g729a, 0.02, 1.0) - 19.0).abs() < 1e-12);
        assert!((ie_eff(g729a, 0.02, 2.0) - 19.4).abs() < 1e-12);
        assert_eq!(ie_eff(g729a, 0.0, 1.0), 11.0);
        // if the loss in percent equals Bpl, the loss adds half of 95 - Ie to the impairment. For G.711, Ie is 0, so
        // the loss adds 95 / 2
        assert!((ie_eff(g711, 0.043, 1.0) - 47.5).abs() < 1e-9);
    }
}
