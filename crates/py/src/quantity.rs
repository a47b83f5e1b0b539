//! Parses quantities: numbers with a unit, written as text.

use pyo3::prelude::*;
use units::Amount;

/// The value of a parsed quantity. The value of a share is a fraction; every other kind of quantity has an integer
/// value.
#[derive(Debug, IntoPyObject)]
pub(crate) enum Number {
    Whole(u64),
    Share(f64),
}

/// Parses a number with a unit. Returns its kind and its value (ns, bit/s, bytes, packets, or a fraction), or `None` if the text
/// is not valid or has no unit.
#[pyfunction]
pub(crate) fn quantity(text: &str) -> Option<(&'static str, Number)> {
    Some(match Amount::read(text)? {
        Amount::Duration(time) => ("duration", Number::Whole(time.0)),
        Amount::Rate(rate) => ("rate", Number::Whole(rate.0)),
        Amount::Size(size) => ("size", Number::Whole(size.0)),
        Amount::Packets(n) => ("packets", Number::Whole(n.into())),
        Amount::Share(share) => ("share", Number::Share(share.get())),
    })
}
