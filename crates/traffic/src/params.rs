//! The parameters of an application and the values derived from them.

use crate::{Application, Demand};
use units::{Bytes, Duration, Problem};

/// The parameters of one application.
pub trait Params {
    /// The application that these parameters configure.
    type App: Application;
    /// Checks the parameters. The error names the first invalid field.
    fn validate(&self) -> Result<(), Problem>;
    /// Builds the application in its initial state. The parameters must be valid.
    fn build(&self) -> Self::App;
    /// Returns the least number of servers that the application's `to` must name.
    fn servers(&self) -> usize {
        1
    }
    /// Returns an upper bound on the application's traffic in a run that lasts `span`. `round` is the minimum time from
    /// a request to its answer.
    fn demand(&self, span: Duration, round: Duration) -> Demand;
    /// Returns the default maximum of the random delay that the seed adds to the application's start. The caller limits
    /// this maximum to 1 s.
    ///
    /// Unless the application overrides it, it is a tenth of a second, a few round trips of a typical path. So slow
    /// starts, and the losses that end them, come at different times.
    fn start_spread(&self) -> Duration {
        Duration::from_millis(100)
    }
    /// Returns the number of rows in which the application's traffic is counted: one for each flow of `ftp`, and one
    /// for any other application.
    fn rows(&self) -> usize {
        1
    }
    /// Returns the datagram sizes that the parameters decide. Each entry holds the name of the parameter that decides a
    /// size, and the size in bytes on the wire.
    fn datagram_sizes(&self) -> Vec<(&'static str, Bytes)> {
        Vec::new()
    }
}

/// Returns the sizes of the datagrams that carry `whole` bytes, for [`Params::datagram_sizes`]: full ones of the size
/// `packet`, and a last one with the remaining bytes. `key` is the parameter that decides `whole`.
pub(crate) fn divided(key: &'static str, whole: Bytes, packet: Bytes) -> Vec<(&'static str, Bytes)> {
    let full = (whole >= packet).then_some(("packet", packet));
    let last = Bytes(whole.0 % packet.0);
    full.into_iter().chain((last.0 > 0).then_some((key, last))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_divided_into_full_datagrams_and_a_rest() {
        let of = |whole, packet| divided("bytes", Bytes(whole), Bytes(packet));
        // 4000 = 2 * 1500 + 1000
        assert_eq!(of(4000, 1500), [("packet", Bytes(1500)), ("bytes", Bytes(1000))]);
        assert_eq!(of(3000, 1500), [("packet", Bytes(1500))]);
        assert_eq!(of(30, 1500), [("bytes", Bytes(30))]);
    }
}
