//! Tests the order in which events are taken.

use super::*;
use units::Rng;

#[test]
fn equal_times_are_first_in_first_out() {
    let target = |i: u32| match i % 3 {
        0 => Target::Timer(i),
        1 => Target::App(i as u16),
        _ => Target::Link(i as u16),
    };
    let mut e = Events::new(vec![false], |_| true);
    for i in 0..50 {
        e.push(Time(7), target(i));
    }
    for i in 0..50 {
        assert_eq!(e.take(Time(7)).unwrap(), target(i));
    }
    assert_eq!(e.take(Time::NEVER), None);
}

#[test]
fn ranks_come_first() {
    let mut e = Events::new(vec![false], |_| true);
    e.push(Time(7), Target::Clock);
    e.push_ranked(Time(7), 2, Target::App(5));
    e.push_ranked(Time(7), 0, Target::Timer(3));
    let taken = std::iter::from_fn(|| e.take(Time(7)));
    assert_eq!(taken.collect::<Vec<_>>(), [Target::Timer(3), Target::App(5), Target::Clock]);
}

#[test]
fn an_arrival_with_number_0_comes_first_among_events_scheduled_at_its_time() {
    let mut e = Events::new(vec![true, true], |_| true);
    e.push(Time(9), Target::App(0));
    e.push(Time(5), Target::Clock);
    // the event is set at time 0, but must be ordered as if it were scheduled at 5
    e.set_arrival_since(Time(9), Time(5), 1);
    assert_eq!(e.take(Time(5)), Some(Target::Clock));
    e.push(Time(9), Target::App(1));
    e.set_arrival(Time(9), 0);
    assert_eq!(e.take(Time::NEVER), Some(Target::App(0)));
    assert_eq!(e.since(), Some(Time::ZERO));
    for link in [0, 1] {
        assert_eq!(e.take(Time::NEVER), Some(Target::Link(link)));
        assert_eq!(e.since(), Some(Time(5)));
        e.clear_arrival(link);
    }
    assert_eq!(e.take(Time::NEVER), Some(Target::App(1)));
    assert_eq!(e.take(Time::NEVER), None);
}

#[test]
fn an_arrival_at_the_current_time_can_be_cleared() {
    let mut e = Events::new(vec![false; 2], |_| true);
    for cleared in [0, 1] {
        e.set_arrival(Time::ZERO, 0);
        e.set_arrival(Time::ZERO, 1);
        e.clear_arrival(cleared);
        assert_eq!(e.take(Time::ZERO), Some(Target::Link(1 - cleared)));
        e.clear_arrival(1 - cleared);
        assert_eq!((e.take(Time::ZERO), e.pending()), (None, 0));
    }
}

#[test]
fn events_after_the_latest_time_never_happen() {
    let mut e = Events::new(vec![false], |_| true);
    e.push(LATEST, Target::Clock);
    e.push(Time::NEVER, Target::Clock);
    e.push(Time(LATEST.0 - 1), Target::App(0));
    assert_eq!(e.take(Time::NEVER), Some(Target::App(0)));
    assert_eq!(e.take(Time::NEVER), None);
}

#[test]
fn agrees_with_a_sorted_list() {
    // The reference is a vector of (time, order of scheduling, target), searched for its smallest element. The spans place
    // times within one slot of the wheel, across several slots, and beyond all slots.
    for (links, span) in [(1, 1000), (2, 1 << 24), (3, 1 << 34), (9, 1 << 29), (16, 1 << 24), (70, 1 << 34)] {
        let mut rng = Rng::named(3, "events");
        // with nine links, every fourth has no leaf and uses the heap
        let mut e = Events::new(vec![false; links as usize], |link| links != 9 || link % 4 != 0);
        let mut reference: Vec<(u64, usize, Target)> = Vec::new();
        let is_plain = |t: Target| matches!(t, Target::Link(l) if u64::from(l) < links);
        let is_set = |r: &[(u64, usize, Target)], t| is_plain(t) && r.iter().any(|e| e.2 == t);
        for n in 0..20_000 {
            let at = e.now().0 + rng.below(span) * rng.below(4).min(1);
            if rng.below(5) < 3 || reference.is_empty() {
                let target = match rng.below(4) {
                    0 => Target::Link((links - 1 - rng.below(links.min(9))) as u16),
                    1 => Target::Link(100 + rng.below(9) as u16),
                    2 => Target::Timer(rng.below(1 << 21) as u32),
                    _ => Target::Clock,
                };
                match target {
                    _ if is_set(&reference, target) => continue,
                    Target::Link(l) if is_plain(target) => e.set_arrival(Time(at), l),
                    _ => e.push(Time(at), target),
                }
                reference.push((at, n, target));
            } else {
                let i = (0..reference.len()).min_by_key(|&i| (reference[i].0, reference[i].1)).unwrap();
                let (at, _, target) = reference.swap_remove(i);
                assert_eq!(e.take(Time::NEVER), Some(target));
                assert_eq!(e.now(), Time(at));
                if let Target::Link(l) = target
                    && is_plain(target)
                {
                    if rng.below(2) == 0 {
                        let again = at + rng.below(span / 2) * rng.below(2);
                        e.set_arrival(Time(again), l);
                        reference.push((again, n, target));
                    } else {
                        e.clear_arrival(l);
                    }
                }
            }
            assert_eq!(e.pending(), reference.len());
        }
    }
}

#[test]
#[should_panic(expected = "in the past")]
fn the_past_is_closed() {
    let mut e = Events::new(vec![false], |_| true);
    e.push(Time(5), Target::Clock);
    e.take(Time(5));
    e.push(Time(4), Target::Clock);
}
