//! One flow's measures, fed by records.

use crate::{Channel, Counters, Histogram, Series};
use packet::FlowId;
use record::{Mask, Record, Sink};
use units::{Duration, Problem, Time};

/// What a [`FlowMeter`] is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowMeterParams {
    /// The flow that it listens to; records of others are ignored.
    pub flow: FlowId,
    /// Start of the run.
    pub start: Time,
    /// Length of the run.
    pub duration: Duration,
    /// Width of the bins of its series.
    pub bin: Duration,
}

/// Delay, bytes, drops and the sender's state of one flow.
///
/// Made for the few flows that a study watches (a gamer, one upload): a thousand of them are 20 MB and more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowMeter {
    flow: FlowId,
    /// One-way delay of the packets that travelled forward (from the flow's initiator).
    pub delay: Histogram,
    /// One-way delay of the packets that travelled back.
    pub reverse_delay: Histogram,
    /// Packets delivered forward, drops and marks in either direction.
    pub counters: Counters,
    /// Packets delivered back.
    pub reverse_counters: Counters,
    /// Bytes on the wire delivered forward in each bin.
    pub bytes_series: Series,
    /// Greatest forward delay in each bin, ns.
    pub delay_max_series: Series,
    /// Mean congestion window over time in each bin, bytes.
    pub cwnd_series: Series,
    /// Last slow start threshold in each bin, bytes; `u32::MAX` while it was never set.
    pub ssthresh_series: Series,
    /// Last smoothed round trip time in each bin, us.
    pub srtt_series: Series,
}

impl FlowMeter {
    /// Errors: a bin width that [`Series`] refuses.
    pub fn new(p: FlowMeterParams) -> Result<Self, Problem> {
        let series = |channel| Series::new(channel, p.start, p.bin, p.duration).map_err(|e| e.under("bin"));
        Ok(Self {
            flow: p.flow,
            delay: Histogram::default(),
            reverse_delay: Histogram::default(),
            counters: Counters::default(),
            reverse_counters: Counters::default(),
            bytes_series: series(Channel::Sum)?,
            delay_max_series: series(Channel::Max)?,
            cwnd_series: series(Channel::TimeMean)?,
            ssthresh_series: series(Channel::Last)?,
            srtt_series: series(Channel::Last)?,
        })
    }

    /// The run is over.
    pub fn finish(&mut self, now: Time) {
        self.cwnd_series.advance(now);
    }
}

impl Sink for FlowMeter {
    #[inline]
    fn mask(&self) -> Mask {
        Mask::DROPPED.with(Mask::MARKED).with(Mask::DELIVERED).with(Mask::SENDER)
    }

    #[inline]
    fn put(&mut self, now: Time, record: Record) {
        match record {
            Record::Delivered { flow, size, reverse, delay } if flow == self.flow => {
                if reverse {
                    self.reverse_delay.record(delay);
                    self.reverse_counters.packet(size);
                } else {
                    self.delay.record(delay);
                    self.counters.packet(size);
                    self.bytes_series.put(now, u64::from(size));
                    self.delay_max_series.put(now, delay.0);
                }
            }
            Record::Sender { flow, cwnd, ssthresh, srtt_us } if flow == self.flow => {
                self.cwnd_series.put(now, u64::from(cwnd));
                self.ssthresh_series.put(now, u64::from(ssthresh));
                self.srtt_series.put(now, u64::from(srtt_us));
            }
            Record::Dropped { flow, size, reason, .. } if flow == self.flow => self.counters.drop(size, reason),
            Record::Marked { flow, reason, .. } if flow == self.flow => self.counters.mark(reason),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::{DropReason, Point};
    use record::LinkId;

    #[test]
    fn listens_to_its_own_flow() {
        let s = Duration::from_secs(1);
        let p = FlowMeterParams { flow: FlowId(3), start: Time::ZERO, duration: s * 2, bin: s };
        let mut m = FlowMeter::new(p).unwrap();
        let at = |ms: u64| Time(ms * 1_000_000);
        let delay = Duration::from_millis(30);
        for (flow, reverse, size) in [(3, false, 1500), (3, true, 52), (4, false, 1500)] {
            m.put(at(100), Record::Delivered { flow: FlowId(flow), size, reverse, delay });
        }
        m.put(at(500), Record::Sender { flow: FlowId(3), cwnd: 3000, ssthresh: u32::MAX, srtt_us: 50_000 });
        m.put(at(1500), Record::Sender { flow: FlowId(3), cwnd: 1500, ssthresh: 3000, srtt_us: 60_000 });
        let reason = DropReason::TailFull;
        m.put(
            at(1600),
            Record::Dropped { link: LinkId(9), flow: FlowId(3), size: 1500, reason, point: Point::Enqueue },
        );
        m.finish(at(2000));
        assert_eq!((m.counters.packets, m.reverse_counters.packets, m.counters.dropped()), (1, 1, 1));
        assert_eq!((m.delay.max(), m.delay.count()), (Some(delay), 1));
        // 0 for half a second, then 3000; 3000 for half a second, then 1500
        assert_eq!(m.cwnd_series.column(), [1500.0, 2250.0]);
        assert_eq!(m.srtt_series.column(), [50_000.0, 60_000.0]);
        assert_eq!(m.ssthresh_series.column(), [f64::from(u32::MAX), 3000.0]);
        assert_eq!(m.bytes_series.column(), [1500.0, 0.0]);
    }
}
