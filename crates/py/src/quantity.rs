//! Texts with a unit, as the core reads them.

use pyo3::prelude::*;
use units::Amount;

/// The number of a quantity: a share is a fraction, all others are whole.
#[derive(Debug, IntoPyObject)]
pub(crate) enum Number {
    Whole(u64),
    Share(f64),
}

/// What a text with a unit says, and the number: a duration in ns, a rate in bit/s, a size in bytes, packets, a share of one;
/// `None` for any other text.
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
