//! The receiver of a media flow, which reports arrival times to the sender.
//!
//! A report leaves when the last packet of a frame has arrived, when 16 packets are unreported, or `feedback_interval`
//! after the first unreported packet. A report covers all packets that were new in the previous report, and all newer
//! packets. So a packet is normally in two successive reports. If one is lost, the other usually still reports the
//! arrival.
//!
//! ```text
//!   size of a report of n packets = 28 (IPv4, UDP) + 20 (RTCP header, two SSRCs, first number and count, time)
//!                                  + 2 n, rounded up to a multiple of 4
//! ```
//!
//! Source: RFC 8888 §3.1 (format). Departs: times are exact; the format has steps of 1/1024 s.

use std::collections::VecDeque;
use units::{Duration, Time};

/// Number of unreported packets that triggers a report.   Source: draft-ietf-ccwg-rfc8298bis-screamv2 §5.
const MOST_UNREPORTED: u64 = 16;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arrival {
    pub(super) at: Time,
    /// True if the packet was CE-marked.
    pub(super) ce: bool,
}

/// A report in flight.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Report {
    /// Number of the first packet that the report covers.
    pub(super) begin: u64,
    /// Arrivals of the packets from `begin` on; `None` for a packet that has not arrived.
    pub(super) arrivals: Vec<Option<Arrival>>,
    /// Time at which the report left.
    pub(super) sent: Time,
}

impl Report {
    /// Returns the report's size on the wire, in bytes. If hundreds of packets are lost in a row, a report may cover
    /// more than 726 packets. A real receiver would send such a report in several datagrams; here, the bytes after the
    /// first 1500 are left out.
    pub(super) fn size(&self) -> u16 {
        (48 + (2 * self.arrivals.len()).next_multiple_of(4)).min(1500) as u16
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Receiver {
    /// Number of the first packet in `arrivals`.
    begin: u64,
    arrivals: VecDeque<Option<Arrival>>,
    /// Number of the first packet that no report covers.
    reported: u64,
    /// Time by which the next report must leave; [`Time::NEVER`] if there is nothing to report.
    pub(super) deadline: Time,
    interval: Duration,
}

impl Receiver {
    pub(super) fn new(interval: Duration) -> Self {
        Self { begin: 0, arrivals: VecDeque::new(), reported: 0, deadline: Time::NEVER, interval }
    }

    /// Adds an arrival. `frame_end` is true for the last packet of a frame. Returns true if a report must leave at once.
    pub(super) fn arrived(&mut self, number: u64, arrival: Arrival, frame_end: bool) -> bool {
        // two reports have already covered this packet, so no later report covers it
        let Some(i) = number.checked_sub(self.begin).map(|i| i as usize) else { return false };
        if self.arrivals.len() <= i {
            self.arrivals.resize(i + 1, None);
        }
        self.arrivals[i].get_or_insert(arrival);
        if self.deadline == Time::NEVER {
            self.deadline = arrival.at + self.interval;
        }
        frame_end || self.begin + self.arrivals.len() as u64 - self.reported >= MOST_UNREPORTED
    }

    /// Returns the report that leaves at `now`.
    pub(super) fn report(&mut self, now: Time) -> Report {
        let report = Report { begin: self.begin, arrivals: self.arrivals.iter().copied().collect(), sent: now };
        // the next report begins with the first packet that is new in this report, so every packet is in two reports
        self.arrivals.drain(..(self.reported - self.begin) as usize);
        self.begin = self.reported;
        self.reported = self.begin + self.arrivals.len() as u64;
        self.deadline = Time::NEVER;
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Arrival {
        Arrival { at: Time(ms * 1_000_000), ce: false }
    }

    #[test]
    fn every_packet_is_in_two_reports() {
        let mut receiver = Receiver::new(Duration::from_millis(40));
        assert!(!receiver.arrived(0, at(1), false));
        assert_eq!(receiver.deadline, Time(41_000_000));
        // packet 1 is missing; packet 2 is the last of its frame
        assert!(receiver.arrived(2, at(3), true));
        let first = receiver.report(Time(3_000_000));
        assert_eq!((first.begin, &first.arrivals[..]), (0, &[Some(at(1)), None, Some(at(3))][..]));
        // the report has 48 B plus 2 B for each of three packets, rounded up from 6 to 8 B: 56 B
        assert_eq!((first.size(), receiver.deadline), (56, Time::NEVER));
        // packet 1 was reordered and arrives late
        receiver.arrived(1, at(5), false);
        receiver.arrived(3, at(6), true);
        let second = receiver.report(Time(6_000_000));
        assert_eq!((second.begin, &second.arrivals[..]), (0, &[at(1), at(5), at(3), at(6)].map(Some)[..]));
        assert!(receiver.arrived(4, at(7), true));
        let third = receiver.report(Time(7_000_000));
        assert_eq!((third.begin, &third.arrivals[..]), (3, &[at(6), at(7)].map(Some)[..]));
        // packet 2 is too old to be in a later report
        assert!(!receiver.arrived(2, at(8), true));
    }

    #[test]
    fn sixteen_packets_are_reported_at_once() {
        let mut receiver = Receiver::new(Duration::from_millis(40));
        let due: Vec<bool> = (0..16).map(|n| receiver.arrived(n, at(n), false)).collect();
        assert!(due[15] && due[..15].iter().all(|due| !due));
        receiver.report(Time(15_000_000));
        let due: Vec<bool> = (16..32).map(|n| receiver.arrived(n, at(n), false)).collect();
        assert!(due[15] && due[..15].iter().all(|due| !due));
    }
}
