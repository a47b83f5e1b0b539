//! Processors that stay awake while a run lasts.
//!
//! A processor with nothing to do halts, and is woken by the next interrupt: on a machine of one's own within some
//! microseconds, on a virtual one when the host gets round to it. There a thread that sleeps until 60 us before a
//! deadline comes a millisecond late, whatever its priority, because the processor that should run it was not there
//! (figures: docs/live.md). So a run holds the kernel's request that no processor take longer than 0 us to wake up:
//! idle processors then poll instead of halting.
//!
//! The request lives as long as the descriptor is open: after a normal end, an error, a panic and `kill -9` alike the
//! kernel forgets it. The descriptor is closed on exec, so no command of the user prolongs it.
//!
//! Source: Linux Documentation/power/pm_qos_interface.rst, "PM QoS framework".

use std::fs::{File, OpenOptions};
use std::io::Write;

const PATH: &str = "/dev/cpu_dma_latency";

/// The most that a processor may take to wake up, as the device wants it: us, 32 bits, in the machine's order.
const LATENCY_US: i32 = 0;

/// The request; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Awake(Option<File>);

impl Awake {
    /// Asks. Where the kernel has no such device or the caller no right to it, the run goes on without.
    pub(crate) fn ask() -> Self {
        let asked = OpenOptions::new().write(true).open(PATH).and_then(|mut device| {
            device.write_all(&LATENCY_US.to_ne_bytes())?;
            Ok(device)
        });
        Self(asked.ok())
    }

    /// Whether the request stands.
    pub(crate) fn granted(&self) -> bool {
        self.0.is_some()
    }
}
