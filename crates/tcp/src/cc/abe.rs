//! Alternative Backoff with ECN (ABE): a mark may reduce the window less than a loss does.
//!
//! An AQM marks packets while the queue is still short. If a mark halved the window, the queue would run empty. In slow
//! start, a mark has the same effect as a loss.
//!
//! Source: RFC 8511 §3; it recommends 0.8 for Reno, 0.85 for CUBIC.

use super::control::{Congestion, Window};
use super::shared::SharedParams;

/// Share of the window kept after congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Backoff {
    /// The share of the window kept after a loss.
    pub(super) beta: f64,
    beta_ecn: Option<f64>,
}

impl Backoff {
    /// Takes `beta` and `beta_ecn` from the parameters; `usual` is the default of `beta`.
    pub(super) fn new(p: &SharedParams, usual: f64) -> Self {
        Self { beta: p.beta.unwrap_or(usual), beta_ecn: p.beta_ecn }
    }

    /// Returns the share of window `w` that is kept after congestion of this kind.
    pub(super) fn left(&self, w: Window, kind: Congestion) -> f64 {
        match self.beta_ecn {
            Some(beta_ecn) if kind == Congestion::Ecn && !w.slow_start() => beta_ecn,
            _ => self.beta,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::cc::Controller;
    use crate::cc::control::{Congestion, Window};
    use crate::cc::cubic::CubicForm;
    use crate::params::TcpParams;

    /// Returns ssthresh after a mark and after a loss, for a window of 100 segments.
    fn cut(p: &TcpParams, ssthresh: f64) -> [f64; 2] {
        [Congestion::Ecn, Congestion::Loss].map(|kind| {
            let w = Window { cwnd: 100.0, ssthresh };
            Controller::new(p).on_congestion(w, kind, 100.0).ssthresh
        })
    }

    #[test]
    fn a_mark_takes_less_than_a_loss() {
        let reno = TcpParams::preset("reno").unwrap().with(|p| p.control.shared.beta_ecn = Some(0.8));
        assert_eq!(cut(&reno, 50.0), [80.0, 50.0]);
        // a mark counts as a loss in slow start, and in every state if there is no beta_ecn
        assert_eq!(cut(&reno, f64::INFINITY), [50.0, 50.0]);
        assert_eq!(cut(&reno.with(|p| p.control.shared.beta_ecn = None), 50.0), [50.0, 50.0]);
        // both forms of CUBIC keep 0.7 after a loss. In Linux's arithmetic, 100 * 717 / 1024 = 70.02 is rounded down to
        // whole segments
        for (cubic_form, loss) in [(CubicForm::Rfc9438, 70.0), (CubicForm::Linux, 70.0)] {
            let p = TcpParams::default().with(|p| {
                p.control.shared.beta_ecn = Some(0.85);
                p.control.cubic.cubic_form = cubic_form;
            });
            assert_eq!(cut(&p, 50.0), [85.0, loss]);
        }
    }

    /// If a share p of the segments is marked and a share b of the window is kept, the mean window is sqrt((1 + b) / (2
    /// (1 - b)) / p). (1 + b) / (1 - b) is 3 for b = 0.5 and 9 for b = 0.8, so the window with b = 0.8 is sqrt(9 / 3) =
    /// 1.732 times the window with b = 0.5.
    #[test]
    fn the_window_gains_what_the_law_says() {
        let mean = |beta_ecn| {
            let p = TcpParams::preset("reno").unwrap().with(|p| {
                p.control.shared.beta_ecn = beta_ecn;
                p.quirks.whole_segments = false;
            });
            let (mut c, mut w) = (Controller::new(&p), Window { cwnd: 20.0, ssthresh: 10.0 });
            let (mut segments, mut rounds, mut next) = (0.0, 0.0, 0.0);
            while rounds < 20_000.0 {
                // each pass of this loop is one round trip. Every 500th segment is marked
                segments += w.cwnd;
                rounds += 1.0;
                w.cwnd += 1.0;
                if segments > next {
                    next += 500.0;
                    w.ssthresh = c.on_congestion(w, Congestion::Ecn, w.cwnd).ssthresh;
                    w.cwnd = w.ssthresh;
                }
            }
            segments / rounds
        };
        let (half, abe) = (mean(None), mean(Some(0.8)));
        assert!((abe / half / 1.732 - 1.0).abs() < 0.03, "{half} {abe}");
    }
}
