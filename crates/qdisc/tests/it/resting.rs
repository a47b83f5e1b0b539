//! Tests a fair discipline with DRR++ and COBALT after one of its queues has become empty. The emptied queue counts as
//! new again either at once or, with `holds_queue`, only when COBALT's count and drop probability have returned to 0.

use packet::{DropReason, FateSink, FlowId, FlowTable, FlowTuple, LinkView, MarkReason, PacketMeta, Point};
use qdisc::fair::Fair;
use qdisc::{Context, Params, Queue, Spec};
use units::{BitRate, Rng, Time};

struct NoFates;

impl FateSink for NoFates {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, _: Point) {
        panic!("{packet:?} was dropped: {reason:?}");
    }
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}

struct Bench {
    queue: Queue<Fair>,
    rng: Rng,
    flows: FlowTable,
    link: LinkView,
}

impl Bench {
    fn new(holds_queue: bool) -> Self {
        let spec = format!(
            r#"{{"fair": {{"classifier": {{"isolated": {{}}}}, "scheduler": {{"drr_plus_plus": {{"quantum": "1000B"}}}},
                "law": {{"cobalt": {{"target": "1ms", "holds_queue": {holds_queue}, "first_interval": true}}}}}}}}"#
        );
        let spec: Spec = serde_json::from_value(spec.parse().unwrap()).unwrap();
        let mut flows = FlowTable::default();
        for i in 0..2u16 {
            let tuple = FlowTuple { src: 1, dst: 2, sport: 1000 + i, dport: 80, ..Default::default() };
            flows.set(FlowId(u32::from(i)), tuple);
        }
        let queue = Queue::new(Params::build(&spec.fair().unwrap()));
        Self { queue, rng: Rng::named(1, "resting"), flows, link: LinkView::plain(BitRate(5_000_000)) }
    }

    fn offer(&mut self, ms: u64, flow: u32, size: u16) {
        let packet = PacketMeta { flow: FlowId(flow), size, ..Default::default() };
        let (now, fate) = (Time(ms * 1_000_000), &mut NoFates);
        self.queue
            .enqueue(packet, &mut Context { now, rng: &mut self.rng, link: &self.link, flows: &self.flows, fate });
    }

    fn take(&mut self, ms: u64) -> Option<u32> {
        let (now, fate) = (Time(ms * 1_000_000), &mut NoFates);
        let cx = &mut Context { now, rng: &mut self.rng, link: &self.link, flows: &self.flows, fate };
        self.queue.dequeue(cx).map(|p| p.flow.0)
    }
}

/// Returns the flow that is served after this script. Flow 0 sends two packets: the first leaves at once, and the
/// second waits from 1 ms to 11 ms, which is longer than COBALT's target. So the count of flow 0's COBALT becomes 1 at
/// 11 ms, and returns to 0 an interval later, at 111 ms. At the time `ms`, flow 0 sends a third packet, while flow 1 is
/// an old flow in the middle of its turn.
fn first_after(holds_queue: bool, ms: u64) -> u32 {
    let mut b = Bench::new(holds_queue);
    b.offer(0, 0, 1000);
    assert_eq!(b.take(0), Some(0));
    b.offer(1, 0, 1000);
    assert_eq!((b.take(11), b.take(11)), (Some(0), None));
    // three packets use up flow 1's first turn. The fourth packet is sent in the flow's second turn, which leaves
    // credit for a fifth packet
    (0..5).for_each(|_| b.offer(ms, 1, 400));
    (0..4).for_each(|_| assert_eq!(b.take(ms), Some(1)));
    b.offer(ms, 0, 1000);
    b.take(ms).unwrap()
}

#[test]
fn an_emptied_queue_is_new_again_when_its_law_is_at_rest() {
    // RFC 8290: a queue that has become empty is new again at once, so flow 0 is served before flow 1
    assert_eq!((first_after(false, 20), first_after(false, 500)), (0, 0));
    // CAKE: flow 0 stays old until 111 ms, and is new from then on
    assert_eq!((first_after(true, 20), first_after(true, 110)), (1, 1));
    assert_eq!((first_after(true, 111), first_after(true, 500)), (0, 0));
}
