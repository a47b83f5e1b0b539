//! A run can be stopped, and tells its progress, whatever simulated time does.

use scenario::Scenario;
use scenario::read::{self, Format};
use sim::{Ended, WORK_PER_LOOK, World};

fn scenario(text: &str) -> Scenario {
    read::scenario(text, Format::Toml, &[]).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Without a rate whole windows arrive together: one event each 10 us, and thousands of packets in it.
#[test]
fn packets_that_arrive_together_count() {
    let run = scenario(
        "duration = '20s'\n[link.a]\nfrom = 'x'\nto = 'y'\nboth_ways = true\ndelay = '10us'\n\
         [app.f]\nfrom = 'x'\nto = ['y']\nstart_spread = '0s'\ntraffic.ftp = { flows = 4 }\n",
    );
    let mut world = World::build(&run).unwrap();
    let (mut looks, mut before) = (0, 0);
    let ended = world.run_watched(|world| {
        let delivered: u64 = world.books().map(|books| books.delivered).sum();
        // 4 windows of 6 291 456 B in segments of 1448 B arrive at once, at most, and overshoot the count
        let most = u64::from(WORK_PER_LOOK) + 4 * 6_291_456 / 1448;
        assert!(delivered - before <= most, "{} packets without a look", delivered - before);
        before = delivered;
        looks += 1;
        looks < 100
    });
    assert_eq!(ended, Ended::Cancelled);
    assert!(world.events() < 100 * u64::from(WORK_PER_LOOK) / 2, "packets came one by one: this shows nothing");
}

/// An idle link with opportunities counts them when somebody asks: not all of a day at once.
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
    // the transfer is over after a second; a look each ten seconds from then on
    assert_eq!(looks, 20);
    assert!(last < 210.0 / 86_400.0, "{last}");
}
