//! Generated scenarios, which are read from text, resolved, built and run for a short time.
//!
//! A scenario that is refused has clear messages. The canonical text of an accepted scenario is a fixed point, and the
//! build allocates at most `MOST_TO_BUILD` bytes. In a run, time advances, and the packet counters of every link
//! balance throughout. If the run reaches its end, its tables are complete.

use super::text::{clear, fixed_point};
use super::{Target, Verdict};
use crate::bounds;
use crate::schema::Range;
use crate::source::Source;
use crate::world;
use scenario::Scenario;
use scenario::read::{self, Format};
use sim::{Column, Outcome, World};

pub(crate) const VALID: Target = Target {
    name: "scenario",
    minute: 10_000,
    about: "valid scenarios: canonical text is a fixed point, bounded memory to build, a short run with balanced books",
    longest: 1024,
    text: false,
    run: |bytes| short_run(bytes, Range::Usual, 30_000),
    start: Vec::new,
};

pub(crate) const WILD: Target = Target {
    name: "wild",
    minute: 15_000,
    about: "scenarios of the right form with any values: refused with clear messages, or as above",
    longest: 1024,
    text: false,
    run: |bytes| short_run(bytes, Range::Wild, 10_000),
    start: Vec::new,
};

pub(crate) const BUILD: Target = Target {
    name: "build",
    minute: 40_000,
    about: "valid scenarios: resolved and built",
    longest: 1024,
    text: false,
    run: |bytes| short_run(bytes, Range::Usual, 0),
    start: Vec::new,
};

/// Maximum number of events at one time. The scenarios are so small that more events mean that time does not advance.
const MOST_AT_ONCE: u64 = 2_000_000;
/// Number of events between two consistency checks of the links' packet counters.
const AUDIT: u64 = 32;

/// Generates the text of a scenario from the choices that `bytes` encode. Returns the text and what was read from it.
pub(crate) fn read_scenario(bytes: &[u8], range: Range) -> (String, Result<Scenario, Vec<units::Problem>>) {
    let text = world::text(&mut Source::new(bytes), range);
    let answer = read::scenario(&text, Format::Json, &[]);
    (text, answer)
}

fn short_run(bytes: &[u8], range: Range, events: u64) -> Verdict {
    let (text, answer) = read_scenario(bytes, range);
    let scenario = match answer {
        Ok(scenario) => scenario,
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a reason");
            problems.iter().for_each(|p| clear(&p.to_string(), &text));
            return Verdict::Refused;
        }
    };
    fixed_point(&scenario);
    // a valid scenario may name external laws, external controllers and trace files, but the fuzzer cannot supply
    // these, so such a scenario is refused here
    let brought = |link: &scenario::Link| link.queue.ready().and(link.service.delivery().map_or(Ok(()), |d| d.ready()));
    let missing = scenario.link.values().find_map(|link| brought(link).err());
    if let Some(problem) = missing.or_else(|| scenario.tcp.values().find_map(|stack| stack.ready().err())) {
        clear(&problem.to_string(), &text);
        return Verdict::Refused;
    }
    let mark = bounds::mark();
    let mut world = match World::build(&scenario) {
        Ok(world) => world,
        Err(problem) => panic!("valid, and refused by the build: {problem}"),
    };
    let took = bounds::peak_above(mark) as u64;
    assert!(took <= MOST_TO_BUILD, "the build took {took} bytes");
    if events > 0 {
        // a run that reached its end has complete results
        if run(&mut world, events) {
            whole(&world.outcome(&scenario));
        }
    }
    Verdict::Accepted
}

/// Maximum number of bytes that building a world may allocate.
const MOST_TO_BUILD: u64 = 1_200_000_000;

/// Runs the world to its end, or until it has processed about `events` events, or until about `2 * events` packets have
/// been offered to its links. Returns true if the run reached its end.
fn run(world: &mut World, events: u64) -> bool {
    let (mut now, mut at_once) = (world.now(), 0);
    for k in 0.. {
        if !world.step() {
            // finishes the run, which brings the counters up to date
            world.run(|_| true);
            balance(world);
            return true;
        }
        at_once = if world.now() > now { 0 } else { at_once + 1 };
        assert!(at_once < MOST_AT_ONCE, "time does not advance beyond {now}");
        now = world.now();
        // one event may deliver thousands of packets to a host, so the number of packets is limited as well
        let packets = if k % AUDIT == 0 { balance(world) } else { 0 };
        // the loop ends only if time has just advanced. If it ended after exactly `events` events, it could miss an
        // endless sequence of events at one time
        if (k >= events || packets >= 2 * events) && at_once == 0 {
            break;
        }
    }
    balance(world);
    false
}

/// Checks that the packet counters of every link balance; returns the number of packets offered to all links.
pub(super) fn balance(world: &World) -> u64 {
    let mut offered = 0;
    for (i, b) in world.books().enumerate() {
        let sum = b.delivered + b.dropped + b.queued + b.in_flight;
        offered += b.offered;
        assert_eq!(b.offered, sum, "the books of link {i} do not balance at {}: {b:?}", world.now());
    }
    offered
}

/// Checks that tables are rectangular, and that no number in them is infinite.
fn whole(outcome: &Outcome) {
    for table in &outcome.tables {
        let len = |c: &Column| match c {
            Column::U64(v) => v.len(),
            Column::F64(v) => v.len(),
            Column::Text(v) => v.len(),
            Column::Unknown(n) => *n,
        };
        let rows = table.columns.first().map_or(0, |c| len(&c.1));
        for (name, column) in &table.columns {
            assert_eq!(len(column), rows, "{}.{name} has a different length", table.name);
            if let Column::F64(v) = column {
                assert!(!v.iter().any(|x| x.is_infinite()), "{}.{name} is infinite", table.name);
            }
        }
    }
}
