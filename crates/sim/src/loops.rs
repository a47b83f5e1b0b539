//! Event loops for two kinds of world: worlds without a sink, and worlds with all sinks of a run.
//!
//! Rust compiles a generic function in each crate that calls it. Except for [`Steps::of_sink`], the functions below are
//! not generic, so the event loop is compiled in this crate, and the crates that call them need not be optimised.

use crate::capture::Capture;
use crate::lives::Lives;
use crate::trace::Trace;
use crate::world::{Ended, World};
use packet::Ecn;
use record::Sink;
use record::trace::Chunk;
use scenario::Scenario;
use std::fs::File;
use std::io::BufWriter;
use units::{Problem, Time};

/// The function that receives a trace's chunks.
pub type Chunks<'a> = Box<dyn FnMut(Chunk) + Send + 'a>;

/// All sinks of a run; each may be absent. The crates `face` and `py` use this type for every run with sinks, so that
/// the loop is compiled only once.
pub type Sinks<'a> = (Option<Lives>, (Option<Trace<Chunks<'a>>>, Option<Capture<BufWriter<File>>>));

impl World {
    /// Does the same as [`World::run`].
    #[inline(never)]
    pub fn run_unrecorded(&mut self, progress: &mut dyn FnMut(f64) -> bool) -> Ended {
        self.run(progress)
    }

    /// Does the same as [`World::run_before`].
    #[inline(never)]
    pub fn run_unrecorded_before(&mut self, until: Time, observe: &mut dyn FnMut(&Self) -> bool) -> Ended {
        self.run_before(until, observe)
    }
}

impl<'a> World<Sinks<'a>> {
    /// Does the same as [`World::with_sink`].
    #[inline(never)]
    pub fn recorded(scenario: &Scenario, sinks: Sinks<'a>) -> Result<Self, Problem> {
        Self::with_sink(scenario, sinks)
    }

    /// Does the same as [`World::run`].
    #[inline(never)]
    pub fn run_recorded(&mut self, progress: &mut dyn FnMut(f64) -> bool) -> Ended {
        self.run(progress)
    }
}

/// The type of [`World::send_bytes`].
pub type SendBytes<S> = fn(&mut World<S>, u16, usize, (u16, u16), Ecn, u16, Vec<u8>);

/// Pointers to the [`World`] functions that run a network with foreign transports, which are protocol stacks outside
/// the simulator. Some of these functions are called for every packet. All are compiled in the crate that creates this
/// value.
pub struct Steps<S: Sink> {
    /// [`World::with_sink`]
    pub build: fn(&Scenario, S) -> Result<World<S>, Problem>,
    /// [`World::run_to_wake`]
    pub run_to_wake: fn(&mut World<S>, Time) -> bool,
    /// [`World::wake_at`]
    pub wake_at: fn(&mut World<S>, u16, Time),
    /// [`World::send_bytes`]
    pub send_bytes: SendBytes<S>,
    /// [`World::stop`]
    pub stop: fn(&mut World<S>),
    /// [`World::finish_if_done`]
    pub finish_if_done: fn(&mut World<S>) -> bool,
}

impl<S: Sink> Clone for Steps<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Sink> Copy for Steps<S> {}

impl<S: Sink> Steps<S> {
    /// Returns pointers to the functions of a world with a sink of type `S`.
    pub fn of_sink() -> Self {
        Self {
            build: World::with_sink,
            run_to_wake: World::run_to_wake,
            wake_at: World::wake_at,
            send_bytes: World::send_bytes,
            stop: World::stop,
            finish_if_done: World::finish_if_done,
        }
    }
}

impl Steps<()> {
    /// Returns the functions for a world without a sink.
    #[inline(never)]
    pub fn unrecorded() -> Self {
        Self::of_sink()
    }
}

impl<'a> Steps<Sinks<'a>> {
    /// Returns the functions for a world with every sink of a run.
    #[inline(never)]
    pub fn recorded() -> Self {
        Self::of_sink()
    }
}
