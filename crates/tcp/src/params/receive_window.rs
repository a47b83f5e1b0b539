//! Size of the receive window.

use schemars::JsonSchema;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use units::Bytes;

/// The receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveWindow {
    /// Window in bytes; for `auto`, an upper bound that is never reached.
    bytes: Bytes,
    auto: bool,
}

impl ReceiveWindow {
    /// A window that grows with the bytes that the application reads in a round trip.   Source: Fisk & Feng 2001; Linux'
    /// tcp_moderate_rcvbuf.
    pub const AUTO: Self = Self { bytes: Bytes(MOST), auto: true };

    /// A constant window.
    pub const fn fixed(bytes: Bytes) -> Self {
        Self { bytes, auto: false }
    }

    /// Returns true if the window is tuned.
    #[inline]
    pub const fn is_auto(self) -> bool {
        self.auto
    }

    /// Upper bound of the window in bytes: data beyond it was never permitted.
    #[inline]
    pub(crate) const fn bound(self) -> u64 {
        self.bytes.0
    }
}

/// The largest window, bytes.
pub(crate) const MOST: u64 = 1 << 31;

const VALID: &str = "\"auto\", or a size such as \"6291456B\", \"600KB\" (1000 bytes each) or \"64KiB\"";

impl Serialize for ReceiveWindow {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.auto { s.serialize_str("auto") } else { self.bytes.serialize(s) }
    }
}

impl<'de> Deserialize<'de> for ReceiveWindow {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl V {
            fn bytes<E: de::Error>(bytes: impl de::IntoDeserializer<'static, E>) -> Result<ReceiveWindow, E> {
                Bytes::deserialize(bytes.into_deserializer()).map(ReceiveWindow::fixed)
            }
        }
        impl Visitor<'_> for V {
            type Value = ReceiveWindow;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(VALID)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ReceiveWindow, E> {
                if text == "auto" {
                    return Ok(ReceiveWindow::AUTO);
                }
                let valid = |_| E::custom(format!("\"{}\" is not valid; expected {VALID}", units::shown(text)));
                text.parse().map(ReceiveWindow::fixed).map_err(valid)
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<ReceiveWindow, E> {
                Self::bytes(v)
            }
            fn visit_u64<E: de::Error>(self, v: u64) -> Result<ReceiveWindow, E> {
                Self::bytes(v)
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> Result<ReceiveWindow, E> {
                Self::bytes(v)
            }
        }
        d.deserialize_any(V)
    }
}

impl JsonSchema for ReceiveWindow {
    fn schema_name() -> Cow<'static, str> {
        "ReceiveWindow".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": VALID,
            "anyOf": [
                { "type": "string", "pattern": "^(auto|[0-9.]+ ?([kKmMgG]?[bB]?|[KMG]iB))$" },
                { "type": "integer", "minimum": 0 },
            ]
        })
    }
}

/// Memory of a tuned receive buffer. Half of it is payload, the rest overhead of the system (tcp_adv_win_scale 1).
///
/// Source: Linux' tcp_rmem; ip-sysctl.   Departs: its minimum, which only memory pressure needs, is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rmem {
    /// Initial memory: half of it, but at most 65535 bytes, is the first window.
    pub default: Bytes,
    /// Largest memory.
    pub max: Bytes,
}

impl Default for Rmem {
    fn default() -> Self {
        Self { default: Bytes(131_072), max: Bytes(6_291_456) }
    }
}

impl Rmem {
    /// Payload that fits in `memory` bytes.
    pub(crate) fn payload(memory: u64) -> u64 {
        memory / 2
    }

    /// Memory that `payload` bytes take.
    pub(crate) fn memory(payload: u64) -> u64 {
        payload.saturating_mul(2)
    }
}
