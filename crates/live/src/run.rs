//! A run: sets up, moves packets until the end, and cleans up.
//!
//! ```text
//! check - namespaces - devices - [ packet thread | programs | command ] - progress ... - stop - join - end processes
//! ```
//!
//! Every resource of a run is owned by a value in this process, and is released when the value is dropped:
//! after a normal end, an error or a panic. If the process is killed, the kernel releases the resources.

use crate::app_counters::AppCounters;
use crate::bench::Bench;
use crate::clock::Clock;
use crate::command::{self, CommandLine};
use crate::congestion;
use crate::link::{LinkThread, Shared, View};
use crate::namespace::Namespace;
use crate::outcome::FinishedRun;
use crate::pcap::{self, BackgroundFile, Capture};
use crate::plan::{MEASURED, Plan, Side};
use crate::pm_qos::PmQosRequest;
use crate::programs::Programs;
use crate::tun::{self, Tun};
use measure::Outcome;
use scenario::Scenario;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::thread;
use units::{BitRate, Duration, Problem, Time};

/// Options of a run in addition to its scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The kernel's congestion control that all applications use, whatever stacks the scenario gives them. It is also
    /// the default for sockets that commands open. With `None`, the scenario's stacks choose the congestion controls.
    pub congestion: Option<String>,
    /// Highest rate that a path may have; a scenario with a faster path is refused.
    pub max_rate: BitRate,
    /// The user's command. The run ends when the command ends, or when the duration of the run is over, whichever is
    /// first.
    pub command: Option<CommandLine>,
    /// Background commands, such as a server on the other side. They are started together with `command`, and
    /// terminated when the run ends.
    pub background: Vec<CommandLine>,
    /// True if the run lasts until the command ends, whatever the scenario's duration, but at most 24 hours (or the
    /// scenario's duration if that is longer).
    pub until_command_ends: bool,
    /// Folder for `left.pcap` and `right.pcap`.
    pub captures: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            congestion: None,
            max_rate: MEASURED,
            command: None,
            background: Vec::new(),
            until_command_ends: false,
            captures: None,
        }
    }
}

/// The reason why a run has no result.
#[derive(Debug)]
pub enum Failure {
    /// The scenario or an option cannot run live.
    Refused(Problem),
    /// This machine cannot run the scenario now.
    Cannot(String),
    /// The caller cancelled the run.
    Cancelled,
    /// A thread panicked. The text contains the thread's name and the panic message.
    Bug(String),
}

impl From<Problem> for Failure {
    fn from(p: Problem) -> Self {
        Self::Refused(p)
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        Self::Cannot(e.to_string())
    }
}

/// Number of polls of 20 ms between two calls of the progress function.
const PROGRESS_POLLS: u64 = 5;

/// Maximum duration of a run that lasts until its command ends. A scenario with a longer duration raises the maximum to
/// that duration. The series have bins for the whole maximum duration.
const SHELL: Duration = Duration::from_secs(24 * 3600);

/// Default and maximum number of bins in a series, for a run that lasts until its command ends. The maximum is the same
/// as for every scenario; at this maximum, the series of a link take 64 MB during the run.
const SHELL_BINS: [u64; 2] = [100_000, 1_000_000];

/// Returns the scenario that a run with `options` uses. If the run lasts until its command ends, `record.interval` is
/// set, because its default depends on the duration, which is not known in advance.
///
/// Errors: `record.interval` is too short for the maximum duration of such a run.
pub fn as_run(scenario: &Scenario, options: &Options) -> Result<Scenario, Problem> {
    let mut scenario = scenario.clone();
    if options.until_command_ends {
        let most = longest(&scenario, options);
        let [default, least] = SHELL_BINS.map(|bins| Duration(most.0.div_ceil(bins)));
        let interval = scenario.record.interval.unwrap_or(default);
        if interval < least {
            let message = format!(
                "{interval} is too short for a run that ends with its command or after {most}; expected at least {least}, or \
                 no interval ({default})"
            );
            return Err(Problem::new("record.interval", message));
        }
        scenario.record.interval = Some(interval);
    }
    Ok(scenario)
}

/// Returns the maximum duration of a run.
fn longest(scenario: &Scenario, options: &Options) -> Duration {
    if options.until_command_ends { SHELL.max(scenario.duration) } else { scenario.duration }
}

/// Runs `scenario` on the wall clock, after [`as_run`] has adapted it to `options`.
///
/// Calls `progress` about ten times a second. If `progress` returns false, ends the run and returns
/// [`Failure::Cancelled`].
/// Errors: [`Failure`]. The host's network is left unchanged, whether the run succeeds or fails.
pub fn run(
    scenario: &Scenario,
    options: &Options,
    mut progress: impl FnMut(&Plan, &View) -> bool,
) -> Result<Outcome, Failure> {
    let scenario = &as_run(scenario, options)?;
    let plan = Plan::new(scenario, options.congestion.as_deref(), options.max_rate)?;
    check_congestion(&plan, options.congestion.as_deref())?;
    for line in options.background.iter().chain(&options.command) {
        let program = line.words.first().map_or("", String::as_str);
        command::find(program).map_err(|m| Problem::new("command", m))?;
    }
    tun::available().map_err(Failure::Cannot)?;
    let namespaces = make_namespaces()?;
    let inodes = [namespaces[0].inode()?, namespaces[1].inode()?];
    // the guard is also dropped when a thread of the run panics
    let guard = Guard(inodes);
    let result = inside(scenario, options, &plan, namespaces, &mut progress);
    drop(guard);
    result
}

/// Terminates the run's remaining processes when this value is dropped.
struct Guard([u64; 2]);

impl Drop for Guard {
    fn drop(&mut self) {
        command::end_all(&self.0);
    }
}

fn make_namespaces() -> Result<[Namespace; 2], Failure> {
    crate::fault::at("space")?;
    let cannot = |e: io::Error| {
        match e.raw_os_error() {
        Some(libc::EPERM) => "no permission to create a network namespace: this needs CAP_SYS_ADMIN (and CAP_NET_ADMIN for the \
                              devices); run with sudo, or with --user where the kernel lets users have namespaces of their own"
            .to_owned(),
        _ => format!("cannot create a network namespace: {e}"),
    }
    };
    let make = || Namespace::new().map_err(|e| Failure::Cannot(cannot(e)));
    Ok([make()?, make()?])
}

/// Checks that the kernel has the requested congestion control or, if none is requested, every congestion control that
/// the plan's TCP applications use.
fn check_congestion(plan: &Plan, requested: Option<&str>) -> Result<(), Problem> {
    if let Some(name) = requested {
        return congestion::check(name).map_err(|m| Problem::new("congestion", m));
    }
    for app in plan.apps.iter().filter(|a| !crate::plan::is_udp(&a.placed.declared.traffic)) {
        for (key, name) in ["tcp", "tcp_server"].into_iter().zip(&app.congestion) {
            congestion::check(name).map_err(|m| Problem::new(format!("app.{}.{key}", app.placed.name), m))?;
        }
    }
    Ok(())
}

/// Creates a device in each namespace. If `options` name a congestion control and there are commands, makes it the
/// default for the commands' sockets.
fn devices(options: &Options, plan: &Plan, namespaces: &[Namespace; 2]) -> Result<[Tun; 2], Failure> {
    let device = |side: Side| {
        let hosts: Vec<u16> = plan.hosts(side).iter().map(|n| n + 1).collect();
        Tun::create(&namespaces[side.index()], &hosts, plan.ecn())
    };
    let tuns = [device(Side::Left)?, device(Side::Right)?];
    if let Some(name) = &options.congestion
        && (options.command.is_some() || !options.background.is_empty())
    {
        for namespace in namespaces {
            congestion::make_default(namespace, name).map_err(Failure::Cannot)?;
        }
    }
    Ok(tuns)
}

/// Moves packets, and runs the applications and commands, until the duration is over, the command ends, or `progress`
/// returns false.
fn inside(
    scenario: &Scenario,
    options: &Options,
    plan: &Plan,
    namespaces: [Namespace; 2],
    progress: &mut impl FnMut(&Plan, &View) -> bool,
) -> Result<Outcome, Failure> {
    let duration = longest(scenario, options);
    let tuns = devices(options, plan, &namespaces)?;
    let bench = Bench::build(scenario, plan, duration, ())?;
    let captures = captures(options)?;
    let (claims, claimed) = channel();
    let end = Time(duration.0);
    let shared = Shared::default();
    let environment = environment(plan);
    let app_counters = AppCounters::new(crate::app_counters::tally(scenario, plan, duration)?);
    let mut link = LinkThread::new(bench, tuns, app_counters, captures);
    let awake = PmQosRequest::make();
    // the closure owns `stop`, so `stop` is dropped even if the closure returns an error. This signals the threads to
    // stop, before the scope waits for them
    let stop = StopOnDrop(&shared);
    let (programs, code) = thread::scope(|scope| -> Result<_, Failure> {
        let stop = stop;
        let clock = Clock::start();
        let packets = builder("bloatlab-link").spawn_scoped(scope, {
            let (link, shared) = (&mut link, &shared);
            move || {
                crate::fault::at("link")?;
                link.run(clock, end, shared, &claimed)
            }
        })?;
        let handles = [namespaces[0].try_clone()?, namespaces[1].try_clone()?];
        let programs = builder("bloatlab-programs").spawn_scoped(scope, {
            let shared = &shared;
            move || {
                let mut programs = Programs::new(scenario, plan, handles, clock, duration, claims)?;
                programs.run(end, shared)?;
                Ok::<_, io::Error>(programs)
            }
        })?;
        let spawn = |line| {
            let line: &CommandLine = line;
            let (namespace, environment, shared) = (&namespaces[line.side.index()], &environment, &shared);
            builder("bloatlab-command").spawn_scoped(scope, move || command::run(line, namespace, environment, shared))
        };
        for line in &options.background {
            // the exit code of a background command is ignored, because the end of the run terminates the command
            spawn(line)?;
        }
        let command = options.command.as_ref().map(spawn).transpose()?;
        let go_on = watch(
            &shared,
            |view| progress(plan, view),
            || packets.is_finished() || programs.is_finished() || command.as_ref().is_some_and(|c| c.is_finished()),
        );
        crate::fault::at("end")?;
        drop(stop);
        let code = command.map(|c| joined(c.join(), "command")).transpose()?.flatten();
        joined(packets.join(), "packet")?;
        let programs = joined(programs.join(), "program")?;
        if go_on { Ok((programs, code)) } else { Err(Failure::Cancelled) }
    })?;
    for capture in std::mem::take(&mut link.exits.pcaps).into_iter().flatten() {
        capture.finish().and_then(BackgroundFile::finish)?;
    }
    Ok(crate::outcome::outcome(FinishedRun { scenario, plan, link, programs, code, awake: awake.granted() }))
}

/// Calls `progress` regularly until `over` returns true; returns false if `progress` cancelled the run.
fn watch(shared: &Shared, mut progress: impl FnMut(&View) -> bool, over: impl Fn() -> bool) -> bool {
    let (mut go_on, mut turn) = (true, 0u64);
    while go_on && !over() {
        crate::clock::pause();
        turn += 1;
        if turn % PROGRESS_POLLS == 0 {
            let view = shared.view.lock().map(|v| v.clone()).unwrap_or_default();
            go_on = progress(&view);
        }
    }
    go_on
}

/// Signals the run's threads to stop when this value is dropped.
struct StopOnDrop<'a>(&'a Shared);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

fn builder(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_owned())
}

/// Returns the result of one of the run's threads; a panic becomes [`Failure::Bug`].
fn joined<T>(answer: thread::Result<io::Result<T>>, what: &str) -> Result<T, Failure> {
    match answer {
        Ok(answer) => Ok(answer?),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Err(Failure::Bug(format!("the {what} thread panicked: {}", text.unwrap_or("no message"))))
        }
    }
}

fn captures(options: &Options) -> Result<[Option<Capture>; 2], Failure> {
    let Some(folder) = &options.captures else { return Ok([None, None]) };
    let create = |side: Side| {
        let path = folder.join(format!("{}.pcap", side.name()));
        pcap::create(&path).map(Some).map_err(|e| Failure::Cannot(format!("{}: {e}", path.display())))
    };
    Ok([create(Side::Left)?, create(Side::Right)?])
}

/// Returns environment variables for commands: the IPv4 and IPv6 addresses of the first host on each side
/// (`BLOATLAB_LEFT` and `BLOATLAB_LEFT6` on the left).
fn environment(plan: &Plan) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for side in Side::BOTH {
        if let Some(first) = plan.hosts(side).first() {
            let name = format!("BLOATLAB_{}", side.name().to_uppercase());
            all.insert(format!("{name}6"), tun::v6(first + 1).to_string());
            all.insert(name, tun::v4(first + 1).to_string());
        }
    }
    all
}
