//! Speech quality: the E-model for G.711, and the mean opinion score.
//!
//! ```text
//!   R   = 94.2 - 0.024 d - 0.11 (d - 177.3) H(d - 177.3) - 30 ln(1 + 15 e)        d one-way delay in ms, e loss in [0, 1]
//!   MOS = 1                                            for R < 0
//!         1 + 0.035 R + 7e-6 R (R - 60)(100 - R)       for 0 <= R <= 100
//!         4.5                                          for R > 100
//! ```
//!
//! Source: Cole & Rosenbluth 2001 as doc 001 §3.2.2 quotes it (the logarithm is the natural one: SPEC 4.2), ITU-T G.107.
//!
//! Doc 001 writes the formula with the delay but its MOS columns are those of d = 0 in every independent cell (SPEC 4.2).
//! Give both: [`r_value`] with the measured delay plus the network's 20 ms, and with [`Duration::ZERO`] to compare.
//! The cubic falls to 0.987 near R = 3.1; it is not clamped to 1 there.

use units::{Duration, math};

/// R without any impairment.
pub const R_MAX: f64 = 94.2;

/// The transmission rating of G.711 with one-way `delay` and `loss` in [0, 1]. May be negative.
pub fn r_value(delay: Duration, loss: f64) -> f64 {
    let d = delay.millis();
    R_MAX - 0.024 * d - 0.11 * (d - 177.3).max(0.0) - 30.0 * math::ln(1.0 + 15.0 * loss.clamp(0.0, 1.0))
}

/// The mean opinion score of a rating.
pub fn mos(r: f64) -> f64 {
    if r < 0.0 {
        1.0
    } else if r > 100.0 {
        4.5
    } else {
        1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loss in percent (lost + late) and the MOS printed for it.
    ///
    /// Source: doc 001. DropTail with 417 packets: Table 3 (L415-423) and Table 7 (L512-520). DropTail with 21 packets:
    /// Table 4 (L433-446) and Table 8 (L526-534). CoDel: run 1, Table 3, the same in Tables 7 and 8.
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
    fn no_delay_that_the_text_admits_gives_all_of_them() {
        // SPEC 4.2: with at least 1 ms of access and 20 ms of network, five cells are out of reach
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
        // SPEC 4.2: CoDel case 06 with run 2's loss of 11.05 % would be 3.3
        assert_eq!((mos(r_value(Duration::ZERO, 0.1105)) * 10.0).round(), 33.0);
    }

    #[test]
    fn known_points() {
        assert_eq!(r_value(Duration::ZERO, 0.0), 94.2);
        // 94.2 - 2.4; 94.2 - 7.2 - 0.11 * 122.7
        assert!((r_value(Duration::from_millis(100), 0.0) - 91.8).abs() < 1e-12);
        assert!((r_value(Duration::from_millis(300), 0.0) - 73.503).abs() < 1e-12);
        // all lost: 94.2 - 30 ln 16 = 11.02
        assert!((r_value(Duration::ZERO, 1.0) - 11.022_3).abs() < 1e-4);
        assert_eq!((mos(-1.0), mos(0.0), mos(60.0), mos(101.0)), (1.0, 1.0, 1.0 + 0.035 * 60.0, 4.5));
        assert_eq!(mos(100.0), 4.5);
    }
}
