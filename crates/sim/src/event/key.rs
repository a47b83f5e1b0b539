//! The key of an event: one integer of 128 bits, whose order is the order of events.
//!
//! | bits | field |
//! |---|---|
//! | 52 | time of the event, nanoseconds |
//! | 38 | how long in advance it was scheduled: the largest value for 0 ns, one less for each nanosecond |
//! | 14 | its number among the events scheduled at the same moment |
//! | 24 | its target |
//!
//! An event that the scenario fixes in advance (the end of a bin, a change, the end of the warm-up, the start of an
//! application) has a rank instead of the second and third fields. Every rank is less than the value of these two
//! fields in a key without a rank. So an event with a rank precedes all events without a rank at the same time.

use units::Time;

/// An event's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A packet arrives at the far end of this link.
    Link(u16),
    /// The port of this link has work to do.
    Port(u16),
    /// The timer of one end of a connection. Its number is `2 * slot + side`, and the initiator's side is 0.
    Timer(u32),
    /// An application's timer.
    App(u16),
    /// A packet that counts towards the limit of its socket (TCP small queues) has left its host's device.
    Left,
    /// The world's own clock. It makes scheduled changes, ends the warm-up and samples the series. It also lets idle
    /// links count the delivery opportunities that they missed.
    Clock,
}

const KIND_SHIFT: u32 = 21;
const INDEX_MASK: u32 = (1 << KIND_SHIFT) - 1;
/// Bit position of the event's time.
pub(super) const TIME_SHIFT: u32 = 76;
/// Bit position of the second field: how long in advance the event was scheduled.
const AGE_SHIFT: u32 = 38;
/// Bit position of the third field, the event's number. A rank, which replaces the second and third fields, also begins
/// at this bit.
const NUMBER_SHIFT: u32 = 24;
/// Largest event number that fits into the third field of a key.
pub(super) const MAX_NUMBER: u64 = (1 << (AGE_SHIFT - NUMBER_SHIFT)) - 1;
/// Value of the second field for an event that is scheduled 0 ns in advance. It is the largest value that the field can
/// hold.
const NOW: u64 = (1 << (TIME_SHIFT - AGE_SHIFT)) - 1;
/// Smallest value of the second field in the key of an event without a rank. In a key with a rank, these bits hold a
/// smaller value.
const OLDEST: u64 = 1 << 3;
/// The largest rank.
pub(super) const MAX_RANK: usize = (OLDEST << (AGE_SHIFT - NUMBER_SHIFT)) as usize - 1;

/// Upper bound (exclusive) on the time of an event: 52 days.
pub(super) const LATEST: Time = Time((1 << (128 - TIME_SHIFT)) - 1);

/// Returns the key of an event that takes place at the time `at` and was scheduled at the time `since`. `since` must
/// not be later than `at`.
#[inline]
pub(super) fn key(at: Time, since: Time, number: u64, target: Target) -> u128 {
    let scheduled = NOW - (at.0 - since.0).min(NOW - OLDEST);
    join(at, u128::from(scheduled) << AGE_SHIFT | u128::from(number << NUMBER_SHIFT), target)
}

/// Returns the key of an event with a rank.
#[inline]
pub(super) fn ranked(at: Time, rank: usize, target: Target) -> u128 {
    join(at, (rank as u128) << NUMBER_SHIFT, target)
}

#[inline]
fn join(at: Time, order: u128, target: Target) -> u128 {
    u128::from(at.min(LATEST).0) << TIME_SHIFT | order | u128::from(target.pack())
}

#[inline]
pub(super) fn time_of(key: u128) -> Time {
    Time((key >> TIME_SHIFT) as u64)
}

/// Returns the time at which the event was scheduled; a later time if the event was scheduled more than 4 minutes
/// ahead. Returns `None` for an event with a rank, because its key does not contain this time.
pub(super) fn since(key: u128) -> Option<Time> {
    let scheduled = (key >> AGE_SHIFT) as u64 & NOW;
    (scheduled >= OLDEST).then(|| Time(time_of(key).0.saturating_sub(NOW - scheduled)))
}

impl Target {
    #[inline]
    fn pack(self) -> u32 {
        match self {
            Self::Link(i) => u32::from(i),
            Self::Timer(i) => 1 << KIND_SHIFT | i,
            Self::App(i) => 2 << KIND_SHIFT | u32::from(i),
            Self::Clock => 3 << KIND_SHIFT,
            Self::Port(i) => 4 << KIND_SHIFT | u32::from(i),
            Self::Left => 5 << KIND_SHIFT,
        }
    }

    #[inline]
    pub(super) fn of(key: u128) -> Self {
        let index = key as u32 & INDEX_MASK;
        let kind = key as u32 >> KIND_SHIFT & 7;
        // most events belong to links
        if kind == 0 {
            return Self::Link(index as u16);
        }
        match kind {
            1 => Self::Timer(index),
            2 => Self::App(index as u16),
            3 => Self::Clock,
            4 => Self::Port(index as u16),
            _ => Self::Left,
        }
    }
}
