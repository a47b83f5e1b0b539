//! A flow: its counters in each direction, and its rates and windows over time.

use super::counts::Counts;
use crate::{Channel, Series};
use packet::{FlowId, PathModel};
use units::{Duration, Problem, Time};

/// The state of a sender at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderState {
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Slow-start threshold, bytes; `u64::MAX` while it is infinite.
    pub ssthresh_bytes: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// The controller's model of the path, if it has one and has measured a rate.
    pub path: Option<PathModel>,
}

/// One direction of a flow.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// Counts over the whole run.
    pub total: Counts,
    /// Counts at the end of the warm-up; `None` stands for 0. Always `None` during the warm-up.
    pub before: Option<Box<Counts>>,
    /// Rates and windows over time.
    pub series: Option<Box<RowSeries>>,
}

impl Direction {
    /// Returns the counts since the end of the warm-up.
    pub(crate) fn counts(&self) -> Counts {
        self.before.as_deref().map_or(self.total, |before| self.total.since(before))
    }
}

/// Series of one direction.
#[derive(Clone, Debug)]
pub struct RowSeries {
    /// Bytes on the wire that arrived in each bin.
    pub wire: Series,
    /// Payload bytes that arrived in order in each bin.
    pub goodput: Series,
    /// The sender's congestion window at the end of each bin, bytes.
    pub cwnd: Series,
    /// The sender's slow-start threshold, bytes.
    pub ssthresh: Series,
    /// The sender's smoothed round-trip time, ns.
    pub srtt: Series,
    /// Mean one-way delay of the packets with payload that arrived in each bin, ns.
    pub delay: Series,
    /// Maximum one-way delay of the packets with payload that arrived in each bin, ns.
    pub delay_max: Series,
    /// Packets dropped on the way in each bin.
    pub dropped: Series,
    /// The controller's model of the path; created at its first sample.
    pub path: Option<Box<PathSeries>>,
    /// Duration of the run and width of a bin, with which `path` is created.
    span: (Duration, Duration),
}

/// A controller's model of the path at the end of each bin.
#[derive(Clone, Debug)]
pub struct PathSeries {
    /// The controller's phase, as an index into `modes`.
    pub mode: Series,
    /// Names of the phases that the controller has reported so far.
    modes: Vec<&'static str>,
    /// Pacing rate, payload bits per second.
    pub pacing: Series,
    /// Estimated bottleneck bandwidth, payload bits per second.
    pub btl_bw: Series,
    /// Estimated round-trip propagation time, ns.
    pub rt_prop: Series,
}

impl PathSeries {
    fn new((duration, bin): (Duration, Duration)) -> Option<Box<Self>> {
        let series = || Series::new(Channel::Last, Time::ZERO, bin, duration).ok();
        let (mode, pacing, btl_bw, rt_prop) = (series()?, series()?, series()?, series()?);
        Some(Box::new(Self { mode, modes: Vec::new(), pacing, btl_bw, rt_prop }))
    }

    fn sample(&mut self, within: Time, model: PathModel) {
        let mode = self.modes.iter().position(|mode| *mode == model.mode).unwrap_or_else(|| {
            self.modes.push(model.mode);
            self.modes.len() - 1
        });
        self.mode.put(within, mode as u64);
        self.pacing.put(within, model.pacing_rate.0);
        self.btl_bw.put(within, model.btl_bw.0);
        self.rt_prop.put(within, model.rt_prop.0);
    }

    /// Returns the name of the phase that the controller was in at the end of bin `bin`. The bin must contain a sample.
    pub(crate) fn mode_at(&self, bin: usize) -> &'static str {
        self.modes[self.mode.get(bin) as usize]
    }
}

/// One of an application's parallel transfers if their number is fixed, otherwise all traffic of the application.
#[derive(Clone, Debug)]
pub struct Row {
    /// Index of the application in `Tally::apps`.
    pub app: u16,
    /// The latest connection that has used the row; it may have closed. The live bench does not set this field.
    pub latest: FlowId,
    /// The forward and the reverse direction.
    pub directions: [Direction; 2],
}

impl RowSeries {
    pub(super) fn new(duration: Duration, bin: Duration) -> Result<Self, Problem> {
        let series = |channel| Series::new(channel, Time::ZERO, bin, duration);
        Ok(Self {
            wire: series(Channel::Sum)?,
            goodput: series(Channel::Sum)?,
            cwnd: series(Channel::Last)?,
            ssthresh: series(Channel::Last)?,
            srtt: series(Channel::Last)?,
            delay: series(Channel::Mean)?,
            delay_max: series(Channel::Max)?,
            dropped: series(Channel::Sum)?,
            path: None,
            span: (duration, bin),
        })
    }

    /// Records the sender's state in the bin that contains the time `within`.
    pub(super) fn sample(&mut self, within: Time, state: SenderState) {
        self.cwnd.put(within, state.cwnd_bytes);
        self.ssthresh.put(within, state.ssthresh_bytes);
        if !state.srtt.is_zero() {
            self.srtt.put(within, state.srtt.0);
        }
        let Some(model) = state.path else { return };
        if self.path.is_none() {
            self.path = PathSeries::new(self.span);
        }
        if let Some(path) = &mut self.path {
            path.sample(within, model);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::{Reading, Sample};
    use units::BitRate;

    /// Imitates a controller that has its own phase names: reports a phase and a model of the path.
    fn probe(mode: &'static str, btl_bw: u64, out: &mut Reading<'_>) {
        out.word("my_phase", mode);
        let (pacing_rate, btl_bw) = (BitRate(2 * btl_bw), BitRate(btl_bw));
        out.sample(Sample::Path(PathModel { mode, pacing_rate, btl_bw, rt_prop: Duration::from_millis(40) }));
    }

    #[test]
    fn a_controller_with_a_model_is_known_by_its_samples_only() {
        let mut series = RowSeries::new(Duration::from_secs(3), Duration::from_secs(1)).unwrap();
        for (ms, mode, btl_bw) in [(999, "climb", 5_000_000), (1999, "cruise", 6_000_000), (2999, "climb", 7_000_000)] {
            let now = Time(ms * 1_000_000);
            let mut path = None;
            let mut take = |sample: Sample| {
                if let Sample::Path(model) = sample {
                    path = Some(model);
                }
            };
            probe(mode, btl_bw, &mut Reading::samples(now, &mut take));
            series.sample(now, SenderState { path, ..SenderState::default() });
        }
        let path = series.path.unwrap();
        assert_eq!([0, 1, 2].map(|bin| path.mode_at(bin)), ["climb", "cruise", "climb"]);
        assert_eq!((path.btl_bw.column(), path.pacing.get(1)), (vec![5e6, 6e6, 7e6], 12e6));
        assert_eq!(path.rt_prop.get(0), 40e6);
    }
}
