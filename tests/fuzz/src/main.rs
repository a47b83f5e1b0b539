//! Runs one target, or all targets: `fuzz TARGET|all [--time SECONDS | --count N | --rounds N] [--seed N] [--corpus DIR]
//! [--grown DIR] [--jobs N]`. `fuzz list` lists the targets, and `fuzz show TARGET FILE` shows the meaning of an input.
#![allow(clippy::disallowed_methods, reason = "the program prints its run time")]

use fuzz::engine::{self, Campaign, Until};
use fuzz::{TARGETS, Target, bounds};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: bounds::Counting = bounds::Counting;

fn main() -> ExitCode {
    match start(std::env::args().skip(1).collect()) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("fuzz: {message}");
            ExitCode::from(2)
        }
    }
}

struct Options {
    words: Vec<String>,
    until: Until,
    seed: u64,
    corpus: PathBuf,
    grown: Option<PathBuf>,
    jobs: usize,
}

fn start(args: Vec<String>) -> Result<ExitCode, String> {
    let options = read(args)?;
    let words: Vec<&str> = options.words.iter().map(String::as_str).collect();
    match words[..] {
        ["list"] => {
            TARGETS.iter().for_each(|t| println!("{:<12} {}", t.name, t.about));
            Ok(ExitCode::SUCCESS)
        }
        ["show", name, file] => show(target(name)?, file),
        ["all"] => all(options.jobs),
        [name] => campaign(target(name)?, &options),
        _ => Err("expected a target, `all`, `list`, or `show TARGET FILE`".into()),
    }
}

fn target(name: &str) -> Result<&'static Target, String> {
    let names = || TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
    Target::named(name).ok_or_else(|| format!("\"{name}\" is not a target (known: {})", names()))
}

fn read(args: Vec<String>) -> Result<Options, String> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let until = Until::Time(Duration::from_secs(60));
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options { words: Vec::new(), until, seed: 1, corpus: here, grown: None, jobs };
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if !arg.starts_with("--") {
            options.words.push(arg);
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{arg} {value}: expected a whole number"));
        match arg.as_str() {
            "--time" => options.until = Until::Time(Duration::from_secs(number()?)),
            "--count" => options.until = Until::Count(number()?),
            "--rounds" => options.until = Until::Rounds(number()?),
            "--seed" => options.seed = number()?,
            "--corpus" => options.corpus = value.into(),
            "--grown" => options.grown = Some(value.into()),
            "--jobs" => options.jobs = number()?.max(1) as usize,
            _ => return Err(format!("{arg}: expected --time, --count, --rounds, --seed, --corpus, --grown or --jobs")),
        }
    }
    Ok(options)
}

fn campaign(target: &Target, options: &Options) -> Result<ExitCode, String> {
    engine::quiet_panics();
    engine::watch_the_clock();
    let start = Instant::now();
    let campaign = Campaign {
        target,
        seed: options.seed,
        until: options.until,
        corpus: &options.corpus,
        grown: options.grown.as_deref(),
    };
    let report = campaign
        .run(|report| eprintln!("{}", engine::line(target, options.seed, report, start.elapsed())))
        .map_err(|e| e.to_string())?;
    println!("{}", engine::line(target, options.seed, &report, start.elapsed()));
    Ok(if report.finding.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs each target in its own process with the same arguments, up to `jobs` at a time.
fn all(jobs: usize) -> Result<ExitCode, String> {
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "all").collect();
    let mut failed = false;
    for some in TARGETS.chunks(jobs) {
        let begun: Vec<_> = some.iter().map(|t| Command::new(&me).arg(t.name).args(&args).spawn()).collect();
        for child in begun {
            let status = child.and_then(|mut child| child.wait()).map_err(|e| e.to_string())?;
            failed |= !status.success();
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn show(target: &Target, file: &str) -> Result<ExitCode, String> {
    let bytes = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    engine::quiet_panics();
    println!("{}", fuzz::targets::meaning(target, &bytes));
    match engine::attempt(target, &bytes) {
        Ok(verdict) => println!("{verdict:?}"),
        Err(message) => println!("FINDING: {message}"),
    }
    Ok(ExitCode::SUCCESS)
}
