//! Size of the receive window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use units::{Bytes, ParseError, Text};

/// The receive window, which is either constant or tuned automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveWindow {
    /// Window in bytes. For `auto`, an upper bound that the window never reaches.
    bytes: Bytes,
    auto: bool,
}

impl ReceiveWindow {
    /// A window that grows with the number of bytes that the application reads in a round trip.   Source: Fisk & Feng 2001;
    /// Linux's tcp_moderate_rcvbuf.
    pub(crate) const AUTO: Self = Self { bytes: Bytes(MOST), auto: true };

    /// Returns a constant window.
    pub const fn fixed(bytes: Bytes) -> Self {
        Self { bytes, auto: false }
    }

    #[inline]
    pub(crate) const fn is_auto(self) -> bool {
        self.auto
    }

    /// Returns an upper bound on the window in bytes. The receiver discards data beyond this bound.
    #[inline]
    pub(crate) const fn bound(self) -> u64 {
        self.bytes.0
    }
}

/// The maximum window, bytes.
pub(crate) const MOST: u64 = 1 << 31;

const VALID: &str = "\"auto\", or a size such as \"6291456B\", \"600KB\" (KB: 1000 bytes) or \"64KiB\"";

impl fmt::Display for ReceiveWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.auto { f.write_str("auto") } else { self.bytes.fmt(f) }
    }
}

impl FromStr for ReceiveWindow {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "auto" => Ok(Self::AUTO),
            size => size.parse().map(Self::fixed).map_err(|_| ParseError::new(size, VALID)),
        }
    }
}

impl Text for ReceiveWindow {
    const VALID: &str = VALID;
    const WHOLE: Option<fn(u64) -> Result<Self, ParseError>> = Some(|v| Bytes::from_integer(v).map(Self::fixed));
    fn pattern() -> String {
        format!("^auto$|{}", Bytes::pattern())
    }
}
units::text_serde!(ReceiveWindow);

/// Memory of a receive buffer that grows on demand. Half of the memory holds payload. The other half is the kernel's
/// overhead (tcp_adv_win_scale 1). Linux's tcp_rmem also has a minimum, which has no key here.
///
/// Source: Linux's tcp_rmem; ip-sysctl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rmem {
    /// Initial memory. The first window is half of this memory, rounded down to whole segments, but at most 65535
    /// bytes.
    pub default: Bytes,
    /// Maximum memory.
    pub max: Bytes,
}

impl Default for Rmem {
    fn default() -> Self {
        Self { default: Bytes(131_072), max: Bytes(6_291_456) }
    }
}

impl Rmem {
    /// Returns the number of payload bytes that fit into `memory` bytes of the buffer.
    pub(crate) fn payload(memory: u64) -> u64 {
        memory / 2
    }

    /// Returns the number of bytes of memory that `payload` bytes of payload take up in the buffer.
    pub(crate) fn memory(payload: u64) -> u64 {
        payload.saturating_mul(2)
    }
}
