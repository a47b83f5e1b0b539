//! Finds the subqueue in which each packet waits. The probe of a discipline with several queues reports each queue as a
//! subqueue.
//!
//! The subqueues of a link are read after each event of the link. A packet that has just entered the queue waits in the
//! subqueue that has grown since the last reading. If no subqueue has grown, for example because another packet left
//! the same subqueue in the same event, the packet is assumed to be in the subqueue of the previous packet of its flow.
//! The same assumption is made if several subqueues have grown.

use super::table::NO_SUBQUEUE;
use packet::{Item, Reading, Unit, Value};
use record::Probed;
use units::Time;

/// The subqueues of one link's queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Subqueues {
    pub names: Vec<String>,
    /// Packets in each subqueue at the last reading.
    backlog: Vec<u32>,
    /// Packets in each subqueue in the current reading.
    now: Vec<u32>,
    /// Last known subqueue of each flow and direction, by row number; `NO_SUBQUEUE` if it is unknown.
    of_flow: Vec<u16>,
    /// True after the first reading.
    known: bool,
}

impl Subqueues {
    /// Reads the subqueues. Returns the only subqueue that has grown since the last reading; `None` if none or several have
    /// grown, and at the first reading.
    pub(super) fn read(&mut self, now: Time, state: &dyn Probed) -> Option<u16> {
        let Self { names, now: counts, .. } = self;
        counts.fill(0);
        let mut subqueue = None;
        let mut take = |item: Item<'_>| match item {
            Item::Queue(name) => subqueue = Some(number(names, counts, name)),
            Item::Value("backlog", Unit::Packets, Value::Number(Some(packets))) => {
                if let Some(subqueue) = subqueue {
                    counts[subqueue] = packets as u32;
                }
            }
            Item::Value(..) => {}
        };
        state.own(&mut Reading::new(now, true, &mut take));
        self.backlog.resize(counts.len(), 0);
        let mut grown = (0..counts.len()).filter(|i| counts[*i] > self.backlog[*i]);
        let only = grown.next().filter(|_| grown.next().is_none() && self.known);
        std::mem::swap(&mut self.backlog, &mut self.now);
        self.known = true;
        only.map(|subqueue| subqueue as u16)
    }

    /// Stores `subqueue` as the last known subqueue of a flow in one direction. `flow` is the row number of this flow and
    /// direction (`Life::flow`).
    pub(super) fn learn(&mut self, flow: u32, subqueue: u16) {
        let at = flow as usize;
        if self.of_flow.len() <= at {
            self.of_flow.resize(at + 1, NO_SUBQUEUE);
        }
        self.of_flow[at] = subqueue;
    }

    /// Returns the last known subqueue of the flow and direction with the row number `flow`; `None` if it is unknown.
    pub(super) fn of(&self, flow: u32) -> Option<u16> {
        self.of_flow.get(flow as usize).copied().filter(|subqueue| *subqueue != NO_SUBQUEUE)
    }
}

/// Returns the number of the subqueue with this name; adds the name if it is new.
fn number(names: &mut Vec<String>, counts: &mut Vec<u32>, name: &str) -> usize {
    names.iter().position(|n| n == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        counts.resize(names.len(), 0);
        names.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A discipline with several queues: the name of each queue, and the number of packets in it.
    struct Queues(Vec<(&'static str, u64)>);

    impl Probed for Queues {
        fn own(&self, out: &mut Reading<'_>) {
            out.packets("backlog", 99);
            for (name, packets) in &self.0 {
                out.queue(name);
                out.packets("backlog", *packets);
                out.bytes("backlog", 1500 * packets);
            }
        }
    }

    #[test]
    fn a_packet_waits_in_the_line_that_has_grown() {
        let mut subqueues = Subqueues::default();
        let mut read = |of: &[(&'static str, u64)]| subqueues.read(Time(1), &Queues(of.to_vec()));
        assert_eq!(read(&[("7", 2)]), None, "nothing to compare with");
        assert_eq!(read(&[("7", 2), ("9", 1)]), Some(1));
        assert_eq!(read(&[("9", 2)]), Some(1), "subqueue 7 is empty");
        assert_eq!(read(&[("9", 2)]), None);
        assert_eq!(read(&[("7", 1), ("9", 3)]), None, "two have grown");
        assert_eq!(subqueues.names, ["7", "9"]);
    }
}
