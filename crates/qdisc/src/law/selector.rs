//! The packets to which a CE threshold applies, as a value and a mask of the DSCP and ECN byte.
//!
//! ```text
//! chosen   iff   dsfield & mask = value          0x1/0x3: ECT(1);  0x0/0x0: every packet
//! ```
//!
//! Source: tc-fq_codel(8), `ce_threshold_selector VALUE/MASK`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use units::shown;

/// A value and a mask in tc's notation: `0x1/0x3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector {
    value: u8,
    mask: u8,
}

impl Selector {
    /// Packets with ECT(1), the L4S identifier.
    pub const ECT1: Self = Self { value: 1, mask: 3 };

    /// Returns true if this selector chooses packets with the DSCP and ECN byte `tos`.
    #[inline]
    pub(crate) fn has(self, tos: u8) -> bool {
        tos & self.mask == self.value
    }
}

/// Parses a byte in decimal, or in hexadecimal after 0x.
fn byte(text: &str) -> Option<u8> {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => u8::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

impl FromStr for Selector {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (value, mask) = text.split_once('/')?;
            Some(Self { value: byte(value)?, mask: byte(mask)? })
        };
        match read() {
            None => Err(format!(
                "\"{}\" is not valid; expected VALUE/MASK, each a byte, such as 0x1/0x3 for ECT(1)",
                shown(text)
            )),
            Some(Self { value, mask }) if value & !mask != 0 => {
                Err(format!("\"{}\" chooses nothing: the value has bits that are not in the mask", shown(text)))
            }
            Some(selector) => Ok(selector),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}/{:#x}", self.value, self.mask)
    }
}

impl Serialize for Selector {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Selector {
    fn schema_name() -> Cow<'static, str> {
        "Selector".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^(0[xX][0-9a-fA-F]{1,2}|[0-9]{1,3})/(0[xX][0-9a-fA-F]{1,2}|[0-9]{1,3})$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_said_and_applied() {
        let read = |text: &str| text.parse::<Selector>();
        assert_eq!(read("0x1/0x3"), Ok(Selector::ECT1));
        assert_eq!((read("1/3"), read("0X01/0x03")), (Ok(Selector::ECT1), Ok(Selector::ECT1)));
        assert_eq!(Selector::ECT1.to_string(), "0x1/0x3");
        for bad in ["", "1", "1/", "/3", "256/255", "0x/3", "1/0x100", "-1/3", "1/3/3"] {
            assert!(read(bad).unwrap_err().contains("VALUE/MASK"), "{bad}");
        }
        assert!(read("4/3").unwrap_err().contains("chooses nothing"));
        // the TOS byte 1 is ECT(1); 0xb4 is DSCP 45 with Not-ECT, and 0xb5 is DSCP 45 with ECT(1)
        let chosen = |text: &str| [0, 1, 2, 3, 0xb4, 0xb5].map(|tos| read(text).unwrap().has(tos));
        assert_eq!(chosen("0x1/0x3"), [false, true, false, false, false, true]);
        assert_eq!(chosen("0xb4/0xfc"), [false, false, false, false, true, true]);
        assert_eq!(chosen("0/0"), [true; 6]);
    }
}
