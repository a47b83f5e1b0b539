//! Runs a target on the inputs of the corpus, on mutations of these inputs, and on fresh inputs, all from one seed. Reduces and
//! saves failing inputs.

#![allow(clippy::disallowed_methods, reason = "campaigns have a duration, and a watchdog reads the clock")]

use crate::coverage::{self, Reached};
use crate::targets::{Target, Verdict};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use units::Rng;

/// An input that takes longer than this is a finding, even on a busy machine; most inputs take milliseconds.
const HANG: Duration = Duration::from_secs(300);
/// Maximum mean duration of a campaign's rounds. On an idle machine, the inputs of a round take a minute. A campaign
/// that takes longer is cut short with a message.
const LONGEST_ROUND: Duration = Duration::from_secs(300);
/// Maximum number of attempts to reduce a failing input.
const SMALLER: u32 = 2_000;

/// Condition at which a campaign ends.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After a number of inputs.
    Count(u64),
    /// After this number of rounds. The inputs of a round take about a minute.
    Rounds(u64),
    /// After a duration.
    Time(Duration),
}

/// The results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Inputs tried, including the corpus.
    pub tried: u64,
    /// Inputs that the target accepted.
    pub accepted: u64,
    /// Inputs that the target refused.
    pub refused: u64,
    /// Inputs that were kept because they reached new edges, or edges a new number of times ([`Reached::take`]).
    pub kept: usize,
    /// Number of the program's edges that were reached; 0 in a build without counters.
    pub edges: usize,
    /// The first failure: its message, and the file with the input.
    pub finding: Option<(String, PathBuf)>,
    /// True if the rounds took too long, so that some of their inputs were not tried.
    pub cut_short: bool,
    /// The longest time that an input has taken.
    pub slowest: Duration,
}

/// The name of the current target, the current input, and the folder for failing inputs. The watchdog and the allocator
/// need them to save the input before they end the process.
static NOW: Mutex<(String, Vec<u8>, PathBuf)> = Mutex::new((String::new(), Vec::new(), PathBuf::new()));
/// Number of beginnings and ends of inputs so far, which is odd while an input is tried. The watchdog measures how long
/// the number stays at the same odd value.
static TURNS: AtomicU64 = AtomicU64::new(0);

fn now() -> MutexGuard<'static, (String, Vec<u8>, PathBuf)> {
    NOW.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Saves the current input and ends the process, because the input exceeded a limit.
pub fn give_up(why: &str) -> ! {
    let (target, input, folder) = NOW.try_lock().map(|n| n.clone()).unwrap_or_default();
    let saved = save(&folder, &input).map(|p| p.display().to_string()).unwrap_or_else(|e| e.to_string());
    #[allow(clippy::print_stderr, reason = "the process ends, so an error cannot be reported")]
    {
        eprintln!("{target}: {why}\n  input saved: {saved}");
    }
    std::process::exit(3);
}

/// Starts a watchdog that ends the process when an input takes longer than five minutes.
pub fn watch_the_clock() {
    let start = Instant::now();
    std::thread::spawn(move || {
        let mut seen = (0, start);
        loop {
            std::thread::sleep(Duration::from_millis(500));
            if hangs(&mut seen, TURNS.load(Relaxed), Instant::now()) {
                give_up(&format!("an input takes longer than {} s", HANG.as_secs()));
            }
        }
    });
}

/// Returns true if an input has been tried for longer than [`HANG`]. `seen` holds the last value of `turns`, and the
/// time of the first call during the current input (between inputs, of the last call).
fn hangs(seen: &mut (u64, Instant), turns: u64, now: Instant) -> bool {
    if turns.is_multiple_of(2) || turns != seen.0 {
        *seen = (turns, now);
    }
    now.duration_since(seen.1) > HANG
}

/// Location of the last panic.
static WHERE: Mutex<String> = Mutex::new(String::new());

/// Records the location of a panic without printing it; the message is printed when the input has been reduced.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}: ", at.file(), at.line())).unwrap_or_default();
        *WHERE.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }));
}

/// Tries one input.   Errors: the message of the panic, if the target panics.
pub fn attempt(target: &Target, input: &[u8]) -> Result<Verdict, String> {
    TURNS.fetch_add(1, Relaxed);
    let answer = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    TURNS.fetch_add(1, Relaxed);
    answer.map_err(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        let text = text.or_else(|| cause.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default();
        format!("{}{text}", WHERE.lock().unwrap_or_else(PoisonError::into_inner))
    })
}

/// Returns the inputs stored for `target` under `corpus`, by name.
pub fn read_corpus(corpus: &Path, target: &Target) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let folder = corpus.join(target.name);
    let mut files = match fs::read_dir(&folder) {
        Ok(entries) => entries.map(|e| e.map(|e| e.path())).collect::<io::Result<Vec<_>>>()?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(e),
    };
    files.sort();
    files.into_iter().map(|path| fs::read(&path).map(|bytes| (path, bytes))).collect()
}

/// Writes `input` into `folder`, under a name derived from its content.
fn save(folder: &Path, input: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for b in input {
        hash = (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
    }
    let path = folder.join(format!("{hash:016x}"));
    fs::write(&path, input)?;
    Ok(path)
}

/// A campaign against one target.
#[derive(Debug)]
pub struct Campaign<'a> {
    /// The target.
    pub target: &'a Target,
    /// The seed, which together with the corpus determines every input.
    pub seed: u64,
    /// Condition at which the campaign ends.
    pub until: Until,
    /// Folder of the corpora.
    pub corpus: &'a Path,
    /// Folder for the inputs that are kept ([`Report::kept`]); `None` to save none.
    pub grown: Option<&'a Path>,
}

impl Campaign<'_> {
    /// Tries inputs until one fails or the campaign ends.
    pub fn run(&self, mut look: impl FnMut(&Report)) -> io::Result<Report> {
        let mut rng = Rng::named(self.seed, self.target.name);
        let mut report = Report::default();
        let mut reached = Reached::default();
        let mut pool: Vec<Vec<u8>> = Vec::new();
        *now() = (self.target.name.to_owned(), Vec::new(), self.corpus.join(self.target.name));
        let kept = read_corpus(self.corpus, self.target)?.into_iter().map(|(_, bytes)| bytes);
        for input in kept.chain(self.target.seeds()) {
            if !self.one(&input, &mut report)? {
                return Ok(report);
            }
            reached.take();
            pool.push(input);
        }
        let start = Instant::now();
        let mut told = start;
        loop {
            match self.until {
                Until::Count(n) if report.tried >= n => break,
                Until::Rounds(n) if report.tried >= n.saturating_mul(self.target.minute) => break,
                Until::Rounds(n) if start.elapsed().as_secs() > n.saturating_mul(LONGEST_ROUND.as_secs()) => {
                    report.cut_short = true;
                    break;
                }
                Until::Time(t) if start.elapsed() >= t => break,
                _ => {}
            }
            let input = self.next(&pool, &mut rng);
            if !self.one(&input, &mut report)? {
                break;
            }
            if reached.take() {
                report.kept += 1;
                if let Some(folder) = self.grown {
                    save(&folder.join(self.target.name), &input)?;
                }
                pool.push(input);
            }
            report.edges = reached.edges();
            if told.elapsed() > Duration::from_secs(10) {
                told = Instant::now();
                look(&report);
            }
        }
        Ok(report)
    }

    /// Tries one input. If it fails, minimises the input, saves it, and returns false.
    fn one(&self, input: &[u8], report: &mut Report) -> io::Result<bool> {
        {
            let mut now = now();
            now.1.clear();
            now.1.extend_from_slice(input);
        }
        report.tried += 1;
        let begun = Instant::now();
        let answer = attempt(self.target, input);
        report.slowest = report.slowest.max(begun.elapsed());
        match answer {
            Ok(Verdict::Accepted) => report.accepted += 1,
            Ok(Verdict::Refused) => report.refused += 1,
            Err(message) => {
                let (message, small) = smaller(self.target, input.to_vec(), message);
                let saved = save(&self.corpus.join(self.target.name), &small)?;
                report.finding = Some((message, saved));
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns a fresh input, or a mutation of an input in the pool.
    fn next(&self, pool: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
        // in a build without coverage counters the pool never grows, so a larger share of the inputs is fresh
        let fresh = if coverage::is_built_in() { 0.1 } else { 0.8 };
        if pool.is_empty() || rng.chance(fresh) && !self.target.text {
            let n = 16 + rng.below(self.target.longest as u64 - 16) as usize;
            return (0..n).map(|_| rng.bits() as u8).collect();
        }
        let pick = |rng: &mut Rng| &pool[rng.below(pool.len() as u64) as usize];
        let mut input = pick(rng).clone();
        for _ in 0..1 + rng.below(4) {
            mutate(&mut input, pick(rng), self.target, rng);
        }
        input.truncate(self.target.longest);
        input
    }
}

/// Words that mutations insert into the inputs of targets that parse text.
const WORDS: &[&str] = &[
    "\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    ",",
    ".",
    "\n",
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "18446744073709551615",
    "9007199254740993",
    "true",
    "null",
    "\\u0000",
    "\u{1b}[2J",
    "\u{202e}",
    "é",
    "0s",
    "1ns",
    "292y",
    "1p",
    "0p",
    "999999999999gbit",
    "9223372036854775807",
    "link",
    "app",
    "tcp",
    "queue",
    "codel",
    "fq_codel",
    "traffic",
    "ftp",
    "duration",
    "'",
    "\"\"\"",
    "#",
    "//",
    "0x10",
    "1_000",
    "1979-05-27",
];

/// Makes one mutation: flips a bit; sets a byte to a random or extreme value; removes or copies a piece; inserts a
/// piece of another input, or random bytes; or, in text, replaces a piece with a word.
fn mutate(input: &mut Vec<u8>, other: &[u8], target: &Target, rng: &mut Rng) {
    let at = |rng: &mut Rng, n: usize| rng.below(n as u64 + 1) as usize;
    let n = input.len();
    let (a, b) = (at(rng, n), at(rng, n));
    let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 64));
    match rng.below(8) {
        0 if n > 0 => input[a.min(n - 1)] ^= 1 << rng.below(8),
        1 if n > 0 => input[a.min(n - 1)] = rng.bits() as u8,
        2 if n > 0 => input[a.min(n - 1)] = [0, 1, 0x7f, 0x80, 0xff][rng.below(5) as usize],
        3 => drop(input.drain(from..to)),
        4 => {
            let piece = input[from..to].to_vec();
            drop(input.splice(b..b, piece));
        }
        5 if !other.is_empty() => {
            let start = at(rng, other.len() - 1);
            let end = (start + 1 + at(rng, 64)).min(other.len());
            drop(input.splice(a..a, other[start..end].iter().copied()));
        }
        6 if target.text => {
            let word = WORDS[rng.below(WORDS.len() as u64) as usize];
            drop(input.splice(from..to, word.bytes()));
        }
        _ => {
            let count = 1 + at(rng, 8);
            drop(input.splice(a..a, (0..count).map(|_| rng.bits() as u8).collect::<Vec<_>>()));
        }
    }
}

/// Removes pieces of a failing input as long as it still fails; returns the reduced input and its message.
fn smaller(target: &Target, mut input: Vec<u8>, mut message: String) -> (String, Vec<u8>) {
    let mut left = SMALLER;
    let mut piece = input.len() / 2;
    while piece > 0 && left > 0 {
        let mut at = 0;
        while at < input.len() && left > 0 {
            let mut shorter = input.clone();
            shorter.drain(at..(at + piece).min(input.len()));
            left -= 1;
            match attempt(target, &shorter) {
                Err(m) => (input, message) = (shorter, m),
                Ok(_) => at += piece,
            }
        }
        piece /= 2;
    }
    (message, input)
}

/// Returns a one-line summary of a campaign.
pub fn line(target: &Target, seed: u64, report: &Report, took: Duration) -> String {
    let mut line = format!(
        "{:<12} seed {seed}: {} inputs in {:.0} s, {} accepted, {} refused",
        target.name,
        report.tried,
        took.as_secs_f64(),
        report.accepted,
        report.refused
    );
    if report.edges > 0 {
        let _ = write!(line, ", {} edges, {} inputs kept", report.edges, report.kept);
    }
    if report.slowest > Duration::from_secs(1) {
        let _ = write!(line, ", slowest {:.0} s", report.slowest.as_secs_f64());
    }
    if report.cut_short {
        line.push_str(", CUT SHORT: inputs for one minute took five");
    }
    match &report.finding {
        None => line.push_str(", no finding"),
        Some((message, path)) => {
            let _ = write!(line, "\n  FINDING: {message}\n  input: {}", path.display());
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_of_an_input_counts() {
        let start = Instant::now();
        let mut seen = (0, start);
        let mut hangs = |turns, s| hangs(&mut seen, turns, start + Duration::from_secs(s));
        assert!(!hangs(1, 10) && !hangs(1, 300), "290 s in an input");
        assert!(!hangs(2, 400) && !hangs(2, 900), "500 s between two inputs");
        assert!(!hangs(3, 1000) && !hangs(3, 1300) && hangs(3, 1301));
    }
}
