//! The user's commands inside the namespaces, and the termination of all their processes.
//!
//! Every command carries the tag `BLOATLAB_LIVE=NAMESPACE-PID-START` in its environment. The tag names the process that
//! owns the run: its PID namespace, its PID in this namespace, and its start time (so that a process that reuses the
//! PID is not mistaken for the owner). A command is killed when the thread that started it ends (PR_SET_PDEATHSIG). Its
//! child processes are found by the tag or by their network namespace, and are terminated at the end of the run. After
//! `kill -9` of the owner, [`clean`] terminates the processes whose tag names a dead owner in the caller's PID
//! namespace. If the owner is in another PID namespace (a container), its PID has no meaning for the caller, so its
//! processes are left alone.

use crate::clock::pause;
use crate::link::Shared;
use crate::namespace::Namespace;
use crate::plan::Side;
use crate::sys;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::Ordering;

/// The environment variable by which the processes of a command are recognised. Its value, the tag, names the process
/// that runs the scenario: PID namespace, PID and start time.
const TAG: &str = "BLOATLAB_LIVE";

/// Time between SIGTERM and SIGKILL, as a number of polls 20 ms apart.
const GRACE: u32 = 50;

/// A command that runs in one of the two namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// Namespace in which the command runs.
    pub side: Side,
    /// Program and arguments.
    pub words: Vec<String>,
}

fn own_tag() -> String {
    let pid = std::process::id();
    format!("{}-{pid}-{}", pid_namespace().unwrap_or(0), started(pid).unwrap_or(0))
}

/// Returns the inode of this process's PID namespace.
fn pid_namespace() -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self/ns/pid").ok().map(|m| m.ino())
}

/// Returns true if /proc shows this process's own PID namespace. In another namespace, the same PIDs belong to other
/// processes.
fn proc_is_ours() -> bool {
    std::fs::read_link("/proc/self").is_ok_and(|own| own.to_str() == Some(&std::process::id().to_string()))
}

/// Returns the start time of a process, in clock ticks since boot; `None` if it does not exist or is a zombie.
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the process's name is in parentheses and may itself contain `)` or spaces, so the search for the closing
    // parenthesis starts at the end
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    (state != "Z" && state != "X").then_some(())?;
    fields.nth(18)?.parse().ok()
}

/// Checks that a program exists, searching for it as a shell would.   Errors: the program is not found.
pub(crate) fn find(program: &str) -> Result<(), String> {
    let executable = |p: &Path| {
        use std::os::unix::fs::PermissionsExt;
        p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    let found = if program.contains('/') {
        executable(Path::new(program))
    } else {
        std::env::var_os("PATH").is_some_and(|all| std::env::split_paths(&all).any(|d| executable(&d.join(program))))
    };
    if found { Ok(()) } else { Err(format!("\"{program}\": there is no such command")) }
}

/// Runs `line` inside `namespace` until it ends or the run is stopped. Returns the exit code (128 + signal if the command was
/// killed), or `None` if the run ended first and terminated the command.
pub(crate) fn run(
    line: &CommandLine,
    namespace: &Namespace,
    environment: &BTreeMap<String, String>,
    shared: &Shared,
) -> io::Result<Option<i32>> {
    crate::fault::at("command")?;
    namespace.enter()?;
    let [program, arguments @ ..] = &line.words[..] else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(arguments).envs(environment).env(TAG, own_tag()).env("BLOATLAB_SIDE", line.side.name());
    let mut child =
        sys::spawn_bound(&mut command).map_err(|e| io::Error::new(e.kind(), format!("\"{program}\": {e}")))?;
    loop {
        if let Some(code) = ended(&mut child)? {
            return Ok(Some(code));
        }
        if shared.stop.load(Ordering::Relaxed) {
            stop(&mut child)?;
            return Ok(None);
        }
        pause();
    }
}

fn ended(child: &mut Child) -> io::Result<Option<i32>> {
    use std::os::unix::process::ExitStatusExt;
    Ok(child.try_wait()?.map(|status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))))
}

fn stop(child: &mut Child) -> io::Result<()> {
    if let Some(pid) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process(pid, Signal::TERM);
    }
    for _ in 0..GRACE {
        if ended(child)?.is_some() {
            return Ok(());
        }
        pause();
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// A process that may belong to a run.
struct Tagged {
    pid: u32,
    tag: Option<String>,
    namespace: Option<u64>,
}

/// Lists all processes except this one. The list is empty if /proc belongs to another PID namespace.
fn processes() -> Vec<Tagged> {
    use std::os::unix::fs::MetadataExt;
    if !proc_is_ours() {
        return Vec::new();
    }
    let own = std::process::id();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own)
        .map(|pid: u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let prefix = format!("{TAG}=");
            let tag = environment
                .split(|b| *b == 0)
                .find_map(|word| word.strip_prefix(prefix.as_bytes()))
                .map(|tag| String::from_utf8_lossy(tag).into_owned());
            let namespace = std::fs::metadata(format!("/proc/{pid}/ns/net")).ok().map(|m| m.ino());
            Tagged { pid, tag, namespace }
        })
        .collect()
}

/// Terminates the remaining processes of this run, identified by the run's tag or namespaces: SIGTERM first, SIGKILL a
/// second later.
pub(crate) fn end_all(namespaces: &[u64]) {
    let tag = own_tag();
    end(|p| p.tag.as_ref() == Some(&tag) || p.namespace.is_some_and(|s| namespaces.contains(&s)));
}

/// Terminates the processes whose tag names a dead owner in this PID namespace; returns their number.
///
/// Namespaces and devices need no cleanup: the kernel removes them when the last process that uses them ends.
pub fn clean() -> usize {
    let Some(here) = pid_namespace() else { return 0 };
    end(|p| p.tag.as_deref().is_some_and(|tag| owner_is_dead(tag, here)))
}

/// Returns true if a tag names an owner in the PID namespace `here` that has ended. Returns false for an invalid tag,
/// and for a tag from another PID namespace, whose processes cannot be seen.
fn owner_is_dead(tag: &str, here: u64) -> bool {
    let numbers: Option<Vec<u64>> = tag.split('-').map(|n| n.parse().ok()).collect();
    match numbers.as_deref() {
        Some([namespace, pid, start]) if *namespace == here => {
            u32::try_from(*pid).is_ok_and(|pid| started(pid) != Some(*start))
        }
        _ => false,
    }
}

/// Terminates the processes that `wanted` selects; returns their number.
fn end(wanted: impl Fn(&Tagged) -> bool) -> usize {
    let mut first = None;
    // bound: 101 turns of 20 ms. The first turn sends SIGTERM, and the turn one second later sends SIGKILL to the
    // processes that are left. On a busy machine, they may take some time to end
    for turn in 0..=2 * GRACE {
        let left: Vec<u32> = processes().into_iter().filter(&wanted).map(|p| p.pid).collect();
        let count = *first.get_or_insert(left.len());
        let signal = match turn {
            0 => Some(Signal::TERM),
            GRACE => Some(Signal::KILL),
            _ => None,
        };
        if left.is_empty() {
            return count;
        }
        for pid in left.iter().filter_map(|pid| Pid::from_raw(*pid as i32)) {
            if let Some(signal) = signal {
                let _ = kill_process(pid, signal);
            }
        }
        pause();
    }
    first.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_pid_is_not_the_owner() {
        let own = own_tag();
        let here = pid_namespace().unwrap();
        assert!(proc_is_ours() && !owner_is_dead(&own, here));
        let numbers: Vec<u64> = own.split('-').map(|n| n.parse().unwrap()).collect();
        let [namespace, pid, start] = numbers[..] else { panic!("{own}") };
        assert_eq!(namespace, here);
        assert!(owner_is_dead(&format!("{here}-{pid}-{}", start + 1), here), "the PID was reused");
        assert!(owner_is_dead(&format!("{here}-4194304-1"), here), "above the highest PID");
        // the tag names another PID namespace, in which the owner may still be running
        assert!(!owner_is_dead(&format!("{}-{pid}-{}", here + 1, start + 1), here));
        // a string that is not a tag does not name an owner, so no owner is reported as dead
        assert!(!["", "x-1", "12", "1-x", "1-2", "1-2-x", "1-2-3-4"].iter().any(|t| owner_is_dead(t, here)));
    }

    #[test]
    fn commands_are_found_as_a_shell_finds_them() {
        assert!(find("sh").is_ok() && find("/bin/sh").is_ok());
        assert!(find("no-such-command").unwrap_err().contains("no-such-command"));
        assert!(find("/etc/passwd").is_err());
    }
}
