//! The sender of a media flow: the pacer's queue, the packets in flight, and the evaluation of reports.
//!
//! ```text
//!   a packet of b bytes leaves at the earliest at next_at;   then  next_at = max(next_at, now - burst_interval) + 8 b / rate
//!   the pacer's timer fires at least `burst_interval` after the last packet; then, up to one interval's data leaves at once
//!   when a frame is captured or a report arrives before that, the packets that are due leave too
//!   with a window w, a packet leaves only if in flight + b <= w, or nothing is in flight
//!   srtt += (rtt - srtt) / 8,   rtt = now - departure of the newest reported packet - time from its arrival to the report
//! ```

use super::control::PacketReport;
use super::params::HEADERS;
use super::receiver::Report;
use std::collections::VecDeque;
use units::{Duration, Time};

/// A missing packet counts as lost once a packet whose number is higher by this much has arrived. So packets that were
/// slightly reordered do not count as lost.
const REORDERING: u64 = 3;
/// Minimum time after which an unreported packet counts as lost.   Our choice.
const UNREPORTED: Duration = Duration::from_secs(1);

/// A packet that waits to leave.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Waiting {
    since: Time,
    payload: u16,
}

/// A packet that has left.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    at: Time,
    payload: u16,
    /// True until the packet is known to have arrived or to be lost.
    pending: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sender {
    waiting: VecDeque<Waiting>,
    /// Number of the next packet to leave.
    next: u64,
    /// Packets that have left, in order. The first has the number `first`, and is the oldest pending packet.
    out: VecDeque<Sent>,
    first: u64,
    /// Total size of the pending packets, in bytes on the wire.
    pub(super) in_flight: u64,
    next_at: Time,
    /// Time at which the last packet left.
    burst_at: Option<Time>,
    pub(super) srtt: Option<Duration>,
    pub(super) lost: u64,
    pub(super) acknowledged: u64,
}

impl Sender {
    /// Splits a frame of `bytes` bytes into packets and queues them. `most` is the maximum payload of a packet in
    /// bytes. Returns the number of the first packet, and the number of the last packet plus 1.
    pub(super) fn enqueue(&mut self, now: Time, bytes: u64, most: u64) -> [u64; 2] {
        let first = self.next + self.waiting.len() as u64;
        let mut left = bytes;
        // bound: MAX_PACKETS, as validated
        while left > 0 {
            let payload = left.min(most);
            self.waiting.push_back(Waiting { since: now, payload: payload as u16 });
            left -= payload;
        }
        [first, self.next + self.waiting.len() as u64]
    }

    /// Returns true if no packet waits.
    pub(super) fn idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the time for which the oldest packet has waited; zero if no packet waits.
    pub(super) fn waiting(&self, now: Time) -> Duration {
        self.waiting.front().map_or(Duration::ZERO, |w| now.since(w.since))
    }

    fn admitted(&self, window: Option<u64>) -> Option<u16> {
        let bytes = self.waiting.front()?.payload + HEADERS as u16;
        (self.in_flight == 0 || window.is_none_or(|w| self.in_flight + u64::from(bytes) <= w)).then_some(bytes)
    }

    /// Returns the size of the next packet, in bytes on the wire; `None` if no packet may leave now.
    pub(super) fn next(&self, now: Time, window: Option<u64>) -> Option<u16> {
        self.admitted(window).filter(|_| self.next_at <= now)
    }

    /// Records that the caller sends the first waiting packet now, and returns the packet's number. `rate` is the
    /// pacing rate, bit/s on the wire. The pacer makes up for delays of up to `burst`.
    pub(super) fn sent(&mut self, now: Time, rate: f64, burst: Duration) -> u64 {
        let Some(Waiting { payload, .. }) = self.waiting.pop_front() else { return self.next };
        let bytes = u64::from(payload) + HEADERS;
        let earliest = Time(now.0.saturating_sub(burst.0));
        self.next_at = self.next_at.max(earliest) + Duration::from_secs_f64(bytes as f64 * 8.0 / rate);
        self.burst_at = Some(now);
        self.in_flight += bytes;
        self.out.push_back(Sent { at: now, payload, pending: true });
        self.next += 1;
        self.next - 1
    }

    /// Returns the time at which the pacer's timer fires next, at least `burst` after the last packet left; `None` if
    /// no packet waits or the window is full.
    pub(super) fn wake_at(&self, now: Time, burst: Duration, window: Option<u64>) -> Option<Time> {
        self.admitted(window)?;
        Some(self.next_at.max(self.burst_at.map_or(now, |at| at + burst)).max(now))
    }

    /// Applies a report. Without a report, only looks for packets that are so old that they count as lost. Returns the
    /// packets that are now known to have arrived or to be lost.
    pub(super) fn feedback(&mut self, now: Time, report: Option<&Report>) -> Vec<PacketReport> {
        let limit = UNREPORTED.max(self.srtt.unwrap_or_default() * 4);
        let end = report.map_or(0, |r| r.begin + r.arrivals.len() as u64);
        let mut packets = Vec::new();
        for i in 0..self.out.len() {
            let Sent { at, payload, pending } = self.out[i];
            let number = self.first + i as u64;
            let aged = now.since(at) > limit;
            if number >= end && !aged {
                break; // later packets are neither reported nor old enough
            }
            if !pending {
                continue;
            }
            let arrival = report.and_then(|r| {
                let j = number.checked_sub(r.begin)?;
                *r.arrivals.get(j as usize)?
            });
            let passed = report.is_some_and(|r| number < r.begin);
            if arrival.is_none() && !passed && !aged && number + REORDERING >= end {
                continue;
            }
            self.out[i].pending = false;
            let bytes = u32::from(payload) + HEADERS as u32;
            self.in_flight -= u64::from(bytes);
            if arrival.is_some() {
                self.acknowledged += 1
            } else {
                self.lost += 1
            }
            let ce = arrival.is_some_and(|a| a.ce);
            packets.push(PacketReport { sent: at, arrived: arrival.map(|a| a.at), bytes, ce });
        }
        while self.out.pop_front_if(|sent| !sent.pending).is_some() {
            self.first += 1;
        }
        if let (Some(report), Some(newest)) = (report, packets.iter().rfind(|p| p.arrived.is_some())) {
            let held = report.sent.since(newest.arrived.unwrap_or(report.sent));
            let rtt = now.since(newest.sent).saturating_sub(held);
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
        }
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::super::receiver::Arrival;
    use super::*;

    fn ms(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    fn sender(packets: u64) -> Sender {
        let mut sender = Sender::default();
        sender.enqueue(Time::ZERO, 960 * packets, 960);
        (0..packets).for_each(|n| assert_eq!(sender.sent(ms(n), 1e6, Duration::ZERO), n));
        sender
    }

    fn report(begin: u64, sent: Time, arrived: &[Option<u64>]) -> Report {
        let arrivals = arrived.iter().map(|at| at.map(|at| Arrival { at: ms(at), ce: false })).collect();
        Report { begin, arrivals, sent }
    }

    #[test]
    fn pacing_spaces_packets_and_bursts() {
        let mut sender = Sender::default();
        assert_eq!(sender.enqueue(Time::ZERO, 2000, 960), [0, 3]);
        assert_eq!(sender.next(ms(0), None), Some(1000));
        // 1000 B at 1 Mbit/s take 8 ms
        let burst = Duration::from_millis(10);
        sender.sent(ms(0), 1e6, burst);
        assert_eq!((sender.next(ms(7), None), sender.wake_at(ms(0), Duration::ZERO, None)), (None, Some(ms(8))));
        assert_eq!(sender.wake_at(ms(0), burst, None), Some(ms(10)));
        // the second packet was due at 8 ms, but leaves at 10 ms. The third packet is due at 8 + 8 = 16 ms, not at 10 +
        // 8 ms, because the pacer makes up for delays of up to 10 ms (`burst`)
        sender.sent(ms(10), 1e6, burst);
        assert_eq!((sender.in_flight, sender.next(ms(15), None), sender.next(ms(16), None)), (2000, None, Some(120)));
        // until a report arrives, another 120 B do not fit into a window of 2100 B
        assert_eq!((sender.next(ms(18), Some(2100)), sender.wake_at(ms(18), Duration::ZERO, Some(2100))), (None, None));
        sender.feedback(ms(50), Some(&report(0, ms(40), &[Some(30)])));
        assert_eq!(sender.next(ms(50), Some(2100)), Some(120));
    }

    #[test]
    fn reports_reveal_arrivals_and_losses() {
        let mut sender = sender(8);
        // packet 1 is missing. The report ends with packet 3, so packet 1 may still arrive
        let first = sender.feedback(ms(100), Some(&report(0, ms(60), &[Some(50), None, Some(52), Some(53)])));
        assert_eq!(first.iter().map(|p| p.arrived).collect::<Vec<_>>(), [50, 52, 53].map(|at| Some(ms(at))));
        // the newest packet left at 3 ms and arrived at 53 ms, and the report left at 60 ms, so srtt = 100 - 3 - (60 - 53) = 90
        // ms
        assert_eq!(sender.srtt, Some(Duration::from_millis(90)));
        // the next report ends with packet 5. Since 5 is at least 1 + 3 (`REORDERING`), packet 1 now counts as lost
        let second = sender
            .feedback(ms(110), Some(&report(0, ms(70), &[Some(50), None, Some(52), Some(53), Some(54), Some(55)])));
        assert_eq!(second.iter().map(|p| p.arrived).collect::<Vec<_>>(), [None, Some(ms(54)), Some(ms(55))]);
        assert_eq!((sender.lost, sender.acknowledged, sender.in_flight), (1, 5, 2000));
        // no packet is returned twice
        assert!(sender.feedback(ms(111), Some(&report(0, ms(70), &[None; 6]))).is_empty());
        // packet 6 left at 6 ms; without reports it is lost after 1 s
        assert!(sender.feedback(ms(1006), None).is_empty());
        assert_eq!(sender.feedback(ms(1007), None).len(), 1);
        assert_eq!(sender.feedback(ms(1008), None).len(), 1);
        assert_eq!(sender.in_flight, 0);
    }

    #[test]
    fn a_packet_that_reports_have_passed_is_lost() {
        let mut sender = sender(4);
        let revealed = sender.feedback(ms(100), Some(&report(2, ms(60), &[Some(50), Some(51)])));
        assert_eq!(revealed.iter().map(|p| p.arrived.is_some()).collect::<Vec<_>>(), [false, false, true, true]);
    }
}
