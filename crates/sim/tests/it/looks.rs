//! Tests that a run reports its progress and can be stopped, even if simulated time does not advance.

use scenario::Scenario;
use scenario::read::{self, Format};
use sim::{Ended, WORK_PER_SLICE, World};

fn scenario(text: &str) -> Scenario {
    read::scenario(text, Format::Toml, &[]).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// A slice of a run is limited not only in events, but also in packets: on links without a rate, the packets of a whole
/// window arrive together. Here, one event brings thousands of packets every 10 us.
#[test]
fn packets_that_arrive_together_count() {
    let run = scenario(
        "duration = '20s'\n[link.a]\nfrom = 'x'\nto = 'y'\nboth_ways = true\ndelay = '10us'\n\
         [app.f]\nfrom = 'x'\nto = ['y']\nstart_spread = '0s'\ntraffic.ftp = { flows = 4 }\n",
    );
    let mut world = World::build(&run).unwrap();
    let (mut looks, mut before) = (0, 0);
    let ended = world.run_observed(|world| {
        let delivered: u64 = world.books().map(|books| books.delivered).sum();
        // a slice may exceed its limit by the number of packets that arrive together: at most 4 windows of 6 291 456 B,
        // in segments of 1448 B
        let most = u64::from(WORK_PER_SLICE) + 4 * 6_291_456 / 1448;
        assert!(delivered - before <= most, "{} packets without a look", delivered - before);
        before = delivered;
        looks += 1;
        looks < 100
    });
    assert_eq!(ended, Ended::Cancelled);
    assert!(world.events() < 100 * u64::from(WORK_PER_SLICE) / 2, "no packets arrived together, so nothing was tested");
}

/// An idle link counts its missed delivery opportunities in slices of ten seconds, and not for a whole day at once.
#[test]
fn idle_opportunities_are_counted_in_slices() {
    let run = scenario(
        "duration = '24h'\nrecord.interval = '24h'\n[link.a]\nfrom = 'x'\nto = 'y'\nboth_ways = true\ndelay = '10ms'\n\
         delivery.lte = {}\n[app.f]\nfrom = 'x'\nto = ['y']\ntraffic.ftp = { size = '10kB', count = 1 }\n",
    );
    let mut looks = 0;
    let mut last = 0.0;
    World::build(&run).unwrap().run(|done| {
        looks += 1;
        last = done;
        looks < 20
    });
    // the transfer ends within a second; after that there is a slice every ten seconds
    assert_eq!(looks, 20);
    assert!(last < 210.0 / 86_400.0, "{last}");
}
