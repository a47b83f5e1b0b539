//! A bound on the processors' wake-up latency during a run.
//!
//! An idle processor halts until an interrupt wakes it. On a physical machine, waking takes a few microseconds. On a
//! virtual machine, the time depends on when the host schedules the processor: a thread that sleeps until 60 us before
//! a deadline may wake a millisecond late, whatever its priority, because its processor is not running (figures:
//! docs/live.md). So a run holds a PM QoS request for a wake-up latency of 0 us: idle processors then poll instead of
//! halting.
//!
//! The request lasts as long as the descriptor is open: the kernel drops it after a normal end, an error, a panic or `kill -9`.
//! The descriptor is closed on exec, so that a command of the user cannot prolong the request.
//!
//! Source: Linux Documentation/power/pm_qos_interface.rst, "PM QoS framework".

use std::fs::{File, OpenOptions};
use std::io::Write;

const PATH: &str = "/dev/cpu_dma_latency";

/// The maximum wake-up latency that is requested, in us. `/dev/cpu_dma_latency` expects 32 bits in native byte order.
const LATENCY_US: i32 = 0;

/// A request to the kernel to limit the wake-up latency until this value is dropped; `None` if the request failed.
#[derive(Debug)]
pub(crate) struct PmQosRequest(Option<File>);

impl PmQosRequest {
    /// Makes the request. If the device is missing or cannot be opened, the run continues without a request.
    pub(crate) fn make() -> Self {
        let asked = OpenOptions::new().write(true).open(PATH).and_then(|mut device| {
            device.write_all(&LATENCY_US.to_ne_bytes())?;
            Ok(device)
        });
        Self(asked.ok())
    }

    pub(crate) fn granted(&self) -> bool {
        self.0.is_some()
    }
}
