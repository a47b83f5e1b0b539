//! A bound on the processors' wake-up latency during a run.
//!
//! An idle processor halts and is woken by the next interrupt: within some microseconds on a physical machine, but on a
//! virtual one only when its host schedules it. There a thread that sleeps until 60 us before a deadline wakes a
//! millisecond late, whatever its priority, because its processor is not running (figures: docs/live.md). So a run
//! holds a PM QoS request for a wake-up latency of 0 us: idle processors then poll instead of halting.
//!
//! The request lasts as long as the descriptor is open: the kernel drops it after a normal end, an error, a panic and
//! `kill -9` alike. The descriptor is closed on exec, so that no command of the user prolongs it.
//!
//! Source: Linux Documentation/power/pm_qos_interface.rst, "PM QoS framework".

use std::fs::{File, OpenOptions};
use std::io::Write;

const PATH: &str = "/dev/cpu_dma_latency";

/// Longest wake-up latency, as the device expects it: us, 32 bits, in native byte order.
const LATENCY_US: i32 = 0;

/// The request, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct PmQosRequest(Option<File>);

impl PmQosRequest {
    /// Makes the request. Without the device or the right to open it, the run goes on without the request.
    pub(crate) fn make() -> Self {
        let asked = OpenOptions::new().write(true).open(PATH).and_then(|mut device| {
            device.write_all(&LATENCY_US.to_ne_bytes())?;
            Ok(device)
        });
        Self(asked.ok())
    }

    /// Whether the kernel accepted the request.
    pub(crate) fn granted(&self) -> bool {
        self.0.is_some()
    }
}
