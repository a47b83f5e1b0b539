//! Which congestion controls this kernel has, asked before anything is made; and what a namespace's sockets begin with.
//!
//! `/proc/sys/net/ipv4/tcp_available_congestion_control` lists those that are loaded; a name that is not among them may be
//! a module that the kernel loads for a socket that asks for it, so a socket asks. What a namespace's own root may use is
//! decided in the namespace: there every one that is loaded is allowed.

use crate::space::Space;
use rustix::net::{AddressFamily, SocketType, socket, sockopt};

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// What a new socket has, each namespace for itself.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Refuses a congestion control that the kernel does not have, with those that it has and the nearest name.
pub(crate) fn check(name: &str) -> Result<(), String> {
    let listed = std::fs::read_to_string(AVAILABLE).unwrap_or_default();
    let known: Vec<&str> = listed.split_whitespace().collect();
    if known.contains(&name) {
        return Ok(());
    }
    let asked =
        socket(AddressFamily::INET, SocketType::STREAM, None).and_then(|s| sockopt::set_tcp_congestion(&s, name));
    match asked {
        Ok(()) => Ok(()),
        Err(_) => Err(unknown(name, &known)),
    }
}

/// Gives every new socket in `space` this congestion control: programs of the user do not ask for one.
///
/// Errors: the kernel does not let this namespace choose (a read-only `/proc/sys`, in some containers).
pub(crate) fn make_default(space: &Space, name: &str) -> Result<(), String> {
    let written = space.inside(|| std::fs::write(DEFAULT, name));
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
    fn the_kernel_is_asked() {
        // every Linux has it: it is what others fall back to
        assert_eq!(check("reno"), Ok(()));
        let said = check("no-such-control").unwrap_err();
        assert!(said.contains("\"no-such-control\"") && said.contains("reno"), "{said}");
        assert_eq!(
            unknown("cubik", &["reno", "cubic"]),
            "this kernel has no TCP congestion control \"cubik\"; did you mean \"cubic\"? (it has reno, cubic)"
        );
    }
}
