//! Checks before a run that the kernel has a congestion control, and makes a congestion control the default of new
//! sockets in a namespace.
//!
//! `/proc/sys/net/ipv4/tcp_available_congestion_control` lists the congestion controls that are loaded. If a name is
//! not in this list, the check sets the name on a socket. With CAP_NET_ADMIN, this makes the kernel load the module of
//! this name, if there is one. Inside our own namespaces, sockets may use every loaded congestion control.

use crate::namespace::Namespace;
use rustix::net::{AddressFamily, SocketType, socket, sockopt};

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// The default congestion control of new sockets; each namespace has its own.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Checks that the kernel offers the congestion control `name`.
///
/// Errors: the kernel does not offer it; the message lists the available names and suggests the one nearest to `name`.
pub(crate) fn check(name: &str) -> Result<(), String> {
    let listed = std::fs::read_to_string(AVAILABLE).unwrap_or_default();
    let known: Vec<&str> = listed.split_whitespace().collect();
    if known.contains(&name) {
        return Ok(());
    }
    let accepted =
        socket(AddressFamily::INET, SocketType::STREAM, None).and_then(|s| sockopt::set_tcp_congestion(&s, name));
    accepted.map_err(|_| unknown(name, &known))
}

/// Makes a congestion control the default of new sockets in `namespace`, for the user's programs.
///
/// Errors: the default cannot be set. In some containers, `/proc/sys` is read-only. Outside the host's namespace, the
/// kernel refuses a default that is not in `tcp_allowed_congestion_control`.
pub(crate) fn make_default(namespace: &Namespace, name: &str) -> Result<(), String> {
    let written = namespace.inside(|| std::fs::write(DEFAULT, name));
    written.map_err(|e| format!("cannot make {name} the congestion control of the command's sockets: {DEFAULT}: {e}"))
}

fn unknown(name: &str, known: &[&str]) -> String {
    let hint = scenario::nearest(name, known).map(|n| format!("; did you mean \"{n}\"?")).unwrap_or_default();
    format!("this kernel has no TCP congestion control \"{name}\"{hint} (it has {})", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused() {
        // every Linux kernel has reno as a fallback
        assert_eq!(check("reno"), Ok(()));
        let message = check("no-such-control").unwrap_err();
        assert!(message.contains("\"no-such-control\"") && message.contains("reno"), "{message}");
        assert_eq!(
            unknown("cubik", &["reno", "cubic"]),
            "this kernel has no TCP congestion control \"cubik\"; did you mean \"cubic\"? (it has reno, cubic)"
        );
    }
}
