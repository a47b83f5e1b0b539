//! Measures the nanoseconds per packet in the cases S1 to S4 of `benches/peers` (in S4, only with CoDel), and compares
//! them with the floor. Prints one JSON line per case and number of flows.
//!
//! CPU time is counted for this process only (user and system), so other processes matter less. Even so, quote only
//! ratios of times from one invocation. Each time is from the fastest of several runs. The floor is the
//! fixed-window dumbbell of `benches/floor`, measured in the same process right before each run.
//!
//! Instructions are counted in separate processes (under valgrind's cachegrind), in two runs, one half as long as the
//! other. In the difference of the two counts, the instructions for start-up and set-up cancel out.
//!
//! For cases with a thousand flows or more, `--memory` counts the heap to the byte, in the allocator. A sample is taken
//! about every 65 536 events, and the largest sample is used:
//!
//! ```text
//! bytes_per_flow       memory of N flows minus memory of ten flows on the same link, divided by N - 10; heap memory of the ends for
//!                      segments in flight is excluded.  The links' rings cancel out: the link holds the same packets in both runs.
//! bytes_per_segment    heap memory of the ends for segments in flight (scoreboards, ranges above holes, and spare capacity),
//!                      divided by the number of these segments;  a packet in a queue or on a link takes packet_bytes more
//! bytes_with_segments  the sum for one flow of this run:  bytes_per_flow + bytes_per_segment * segments_per_flow
//! ```
//!
//! ```text
//! speed [--case S1,S2,S3,S4] [--flows 10,100] [--runs N] [--seconds-scale X] [--no-floor]
//!       [--memory] [--count-instructions]
//! speed --one CASE FLOWS QUEUE SECONDS    one run: packets and memory (used by --memory and --count-instructions)
//! speed --fingerprint [FILE]              a hash of all results of a run, which an optimisation must not change
//! ```

mod heap;

use scenario::read::{self, Format};
use std::process::{Command, ExitCode};

#[global_allocator]
static HEAP: heap::Counting = heap::Counting;

/// A case: a dumbbell with its name, the rates of the bottleneck and of the access links (bit/s), the buffer (bytes),
/// the simulated seconds, the numbers of bulk flows, and whether there is also a gamer, an application that sends 10 KB
/// every 2 s.
struct Case {
    name: &'static str,
    rate: u64,
    access: u64,
    buffer: u64,
    seconds: f64,
    flows: &'static [u32],
    gamer: bool,
}

const CASES: [Case; 3] = [
    Case {
        name: "S1",
        rate: 5_000_000,
        access: 1_000_000_000,
        buffer: 600_000,
        seconds: 600.0,
        flows: &[10],
        gamer: true,
    },
    Case {
        name: "S2",
        rate: 100_000_000,
        access: 1_000_000_000,
        buffer: 2_500_000,
        seconds: 60.0,
        flows: &[10, 100],
        gamer: true,
    },
    Case {
        name: "S3",
        rate: 1_000_000_000,
        access: 10_000_000_000,
        buffer: 6_250_000,
        seconds: 10.0,
        flows: &[10, 100, 1000, 10_000],
        gamer: false,
    },
];

/// Returns the scenario of a case. TCP is the same in every case: SACK, delayed ACKs, windows as large as needed.
fn toml(case: &Case, flows: u32, queue: &str, seconds: f64) -> String {
    let Case { rate, access, gamer, .. } = case;
    let gamer = if *gamer {
        "[app.gamer]\nfrom = \"s\"\nto = [\"d\"]\nstart = \"2s\"\ntcp = \"bench\"\n\
         traffic.messages = { message = \"10KB\", interval = \"2s\" }\n"
    } else {
        ""
    };
    format!(
        r#"
name = "{}-{flows}"
duration = "{}ns"
[link.access]
from = "s"
to = "r1"
both_ways = true
rate = {access}
delay = "1ms"
queue.droptail = {{ limit = "1000000p" }}
[link.bottleneck]
from = "r1"
to = "r2"
rate = {rate}
delay = "23ms"
queue.{queue}
[link.back]
from = "r2"
to = "r1"
rate = {rate}
delay = "23ms"
queue.droptail = {{ limit = "1000000p" }}
[link.exit]
from = "r2"
to = "d"
both_ways = true
rate = {access}
delay = "1ms"
queue.droptail = {{ limit = "1000000p" }}
[tcp.bench]
preset = "rfc"
initial_window = {{ segments = 10 }}
receive_window = "1GB"
[app.bulk]
from = "s"
to = ["d"]
tcp = "bench"
traffic.ftp = {{ flows = {flows}, stagger = "{}ns" }}
{gamer}
[record]
links = ["bottleneck"]
apps = []
"#,
        case.name,
        (seconds * 1e9) as u64,
        1_000_000_000 / u64::from(flows),
    )
}

struct Run {
    cpu_ns: f64,
    packets: u64,
    drops: u64,
    events: u64,
}

fn run(text: &str) -> Result<Run, String> {
    let scenario = parse(text, Format::Toml)?;
    let start = floor::cpu_ns();
    let mut world: sim::World = sim::World::build(&scenario).map_err(|p| p.to_string())?;
    world.run(|_| true);
    let cpu_ns = (floor::cpu_ns() - start) as f64;
    let summary = world.outcome(&scenario).summary;
    let link = &summary["links"]["bottleneck"];
    let count = |key: &str| link[key].as_u64().unwrap_or(0);
    Ok(Run { cpu_ns, packets: count("delivered_packets"), drops: count("dropped_packets"), events: world.events() })
}

/// Returns a hash (FNV-1a) of a run's tables and summary, without the number of events. An optimisation must not change
/// the hash.
fn fingerprint(text: &str, format: Format) -> Result<u64, String> {
    let scenario = parse(text, format)?;
    let mut world: sim::World = sim::World::build(&scenario).map_err(|p| p.to_string())?;
    world.run(|_| true);
    let mut outcome = world.outcome(&scenario);
    if let Some(summary) = outcome.summary.as_object_mut() {
        summary.remove("events");
    }
    let all = format!("{}{:?}", outcome.summary, outcome.tables);
    Ok(all.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)))
}

/// Prints the fingerprint of the scenario in `file`. Without a file, prints the fingerprints of some of the benchmark's
/// cases, which are run for a shorter time.
fn fingerprints(file: Option<&str>) -> Result<(), String> {
    if let Some(file) = file {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        let format = if file.ends_with(".json") { Format::Json } else { Format::Toml };
        println!("{file} {:016x}", fingerprint(&text, format)?);
        return Ok(());
    }
    for (case, flows, seconds) in [(0, 10, 60.0), (1, 100, 5.0), (2, 1000, 1.0), (2, 10_000, 1.0)] {
        let case = &CASES[case];
        for queue in [droptail(case), codel(case)] {
            let print = fingerprint(&toml(case, flows, &queue, seconds), Format::Toml)?;
            println!("{} {flows} {} {print:016x}", case.name, queue.split(' ').next().unwrap_or_default());
        }
    }
    Ok(())
}

fn parse(text: &str, format: Format) -> Result<scenario::Scenario, String> {
    read::scenario(text, format, &[]).map_err(|p| p.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

fn droptail(case: &Case) -> String {
    format!("droptail = {{ limit = \"{}B\" }}", case.buffer)
}

fn codel(case: &Case) -> String {
    format!("codel = {{ limit = \"{}p\" }}", case.buffer / 1500)
}

/// The memory sample with the most heap bytes in a run. `live` is the number of heap bytes that have been allocated
/// since the run began, and not freed. `in_flight` holds the number of segments in flight, and the bytes that they use.
#[derive(Clone, Copy, Default)]
struct Fullest {
    live: usize,
    in_flight: sim::InFlight,
}

/// Performs one run in this process. Prints the number of packets that the bottleneck delivered, and the largest memory
/// sample (see [`Fullest`]).
fn one(args: &[String]) -> Result<(), String> {
    let [case, flows, queue, seconds] = args else { return Err("--one needs CASE FLOWS QUEUE SECONDS".into()) };
    let case = CASES.iter().find(|c| c.name == case).ok_or("--one: no such case")?;
    let flows = flows.parse().map_err(|_| "--one: FLOWS is not a number")?;
    let seconds = seconds.parse().map_err(|_| "--one: SECONDS is not a number")?;
    let queue = match queue.as_str() {
        "droptail" => droptail(case),
        "codel" => codel(case),
        other => format!("{other} = {{}}"),
    };
    let scenario = parse(&toml(case, flows, &queue, seconds), Format::Toml)?;
    let before = heap::live();
    let mut world: sim::World = sim::World::build(&scenario).map_err(|p| p.to_string())?;
    let mut fullest = Fullest::default();
    world.run_observed(|world| {
        let live = heap::live() - before;
        if live > fullest.live {
            fullest = Fullest { live, in_flight: world.in_flight() };
        }
        true
    });
    let Fullest { live, in_flight } = fullest;
    let packets = &world.outcome(&scenario).summary["links"]["bottleneck"]["delivered_packets"];
    println!(
        "{}",
        serde_json::json!({
            "packets": packets, "live_bytes": live, "segments": in_flight.segments, "segment_bytes": in_flight.bytes,
        })
    );
    Ok(())
}

/// Runs [`one`] in a separate process, under the command `tool` unless `tool` is empty. Returns the JSON that the run
/// prints, and the standard error of the run and of the tool.
fn start(
    tool: &[&str],
    case: &Case,
    flows: u32,
    queue: &str,
    seconds: f64,
) -> Result<(serde_json::Value, String), String> {
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = match tool {
        [program, args @ ..] => {
            let mut c = Command::new(program);
            c.args(args).arg(me);
            c
        }
        [] => Command::new(me),
    };
    let run = command.args(["--one", case.name, &flows.to_string(), queue, &seconds.to_string()]);
    let out = run.output().map_err(|e| format!("{:?}: {e}", run.get_program()))?;
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    let printed = serde_json::from_slice(&out.stdout).map_err(|e| format!("--one: {e}: {said}"))?;
    Ok((printed, said))
}

/// Measures the instructions per packet in the second half of a run of `seconds` of simulated time. The error says why
/// the instructions cannot be measured.
fn instructions(case: &Case, flows: u32, queue: &str, seconds: f64) -> Result<f64, String> {
    let count = |seconds: f64| -> Result<(f64, f64), String> {
        let tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"];
        let (printed, said) = start(&tool, case, flows, queue, seconds)?;
        let refs = said.lines().find_map(|l| l.split_once("I refs:").or_else(|| l.split_once("I   refs:")));
        let digits: String = refs.map_or("", |(_, n)| n).chars().filter(char::is_ascii_digit).collect();
        let instructions = digits.parse().map_err(|_| format!("valgrind said: {said}"))?;
        Ok((instructions, printed["packets"].as_f64().unwrap_or(0.0)))
    };
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("valgrind is not installed".into());
    }
    let ((less, few), (more, many)) = (count(seconds / 2.0)?, count(seconds)?);
    Ok((more - less) / (many - few))
}

/// Measures how much memory a flow and a segment in flight take. The text at the top of this file defines the figures
/// that are returned.
fn memory(case: &Case, flows: u32, queue: &str, seconds: f64) -> Result<serde_json::Value, String> {
    let run = |flows| -> Result<[f64; 3], String> {
        let (printed, _) = start(&[], case, flows, queue, seconds)?;
        Ok(["live_bytes", "segments", "segment_bytes"].map(|key| printed[key].as_f64().unwrap_or(0.0)))
    };
    let ([few_live, _, few_bytes], [live, segments, bytes]) = (run(10)?, run(flows)?);
    let per_flow = ((live - bytes) - (few_live - few_bytes)) / f64::from(flows - 10);
    let (per_segment, segments) = (bytes / segments, segments / f64::from(flows));
    Ok(serde_json::json!({
        "bytes_per_flow": per_flow.round(), "bytes_per_segment": round(per_segment), "segments_per_flow": round(segments),
        "bytes_with_segments": (per_flow + per_segment * segments).round(),
        "connection_bytes": sim::CONNECTION_BYTES, "packet_bytes": size_of::<packet::PacketMeta>(),
    }))
}

/// Returns the smallest of several measurements. The smallest is the best estimate, because other processes can only
/// slow a run down.
fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Returns the window per flow, in packets, with which `flows` flows keep the bottleneck busy when the floor is
/// measured. Together, the windows hold the bandwidth-delay product of the bottleneck at the base RTT of 50 ms, plus
/// half the buffer. A window is at least 2.
fn floor_window(case: &Case, flows: u32) -> u32 {
    let bdp = case.rate as f64 * 0.05 / 8.0 / 1500.0;
    ((bdp + case.buffer as f64 / 3000.0) / f64::from(flows)).ceil().max(2.0) as u32
}

struct Options {
    cases: Vec<String>,
    flows: Vec<u32>,
    runs: usize,
    scale: f64,
    floor: bool,
    memory: bool,
    instructions: bool,
}

fn options() -> Result<Options, String> {
    let mut o = Options {
        cases: ["S1", "S2", "S3", "S4"].map(str::to_owned).to_vec(),
        flows: vec![],
        runs: 3,
        scale: 1.0,
        floor: true,
        memory: false,
        instructions: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--no-floor" => o.floor = false,
            "--memory" => o.memory = true,
            "--count-instructions" => o.instructions = true,
            _ => {}
        }
        if ["--no-floor", "--memory", "--count-instructions"].contains(&arg.as_str()) {
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        let bad = |_| format!("{arg}: \"{value}\" is not a number");
        match arg.as_str() {
            "--case" => o.cases = value.split(',').map(str::to_owned).collect(),
            "--flows" => {
                o.flows = value
                    .split(',')
                    .map(str::parse)
                    .collect::<Result<_, _>>()
                    .map_err(|_| format!("{arg}: \"{value}\" is not a list of numbers"))?
            }
            "--runs" => o.runs = value.parse::<usize>().map_err(bad)?.max(1),
            "--seconds-scale" => o.scale = value.parse().map_err(|_| format!("{arg}: \"{value}\" is not a number"))?,
            _ => {
                let valid = "--case --flows --runs --seconds-scale --no-floor --memory --count-instructions";
                return Err(format!("unknown option {arg} (valid: {valid})"));
            }
        }
    }
    Ok(o)
}

fn measure(case: &Case, label: &str, flows: u32, queue: &str, o: &Options) -> Result<(), String> {
    let seconds = case.seconds * o.scale;
    let text = toml(case, flows, queue, seconds);
    let mut ns = Vec::new();
    let mut floors = Vec::new();
    let mut last = None;
    for _ in 0..o.runs {
        if o.floor {
            let f = floor::dumbbell(case.rate, case.access, flows, floor_window(case, flows), seconds);
            floors.push(f.cpu_ns as f64 / f.bottleneck_packets as f64);
        }
        let r = run(&text)?;
        ns.push(r.cpu_ns / r.packets as f64);
        last = Some(r);
    }
    let r = last.ok_or("no run")?;
    let per_packet = least(&ns);
    let mut line = serde_json::json!({
        "peer": "bloatlab", "scenario": label, "base": case.name, "n": flows, "queue": queue.split(' ').next(),
        "sim_s": seconds, "runs": o.runs, "cpu_ns_per_pkt": round(per_packet), "cpu_s": round(per_packet * r.packets as f64 * 1e-6) * 1e-3,
        "bneck_pkts": r.packets, "bneck_drops": r.drops, "events_per_pkt": round(r.events as f64 / r.packets as f64),
        "sim_s_per_cpu_s": round(seconds / (per_packet * r.packets as f64 * 1e-9)),
    });
    if o.floor {
        let floor = least(&floors);
        line["floor_ns_per_pkt"] = round(floor).into();
        line["ratio_to_floor"] = round(per_packet / floor).into();
    }
    let discipline = queue.split(' ').next().unwrap_or_default();
    if o.memory && flows >= 1000 {
        let serde_json::Value::Object(mut memory) = memory(case, flows, discipline, seconds)? else {
            return Err("no memory".into());
        };
        line.as_object_mut().ok_or("no line")?.append(&mut memory);
    }
    if o.instructions {
        // a fifth of the case's duration is long enough for the flows to leave slow start, and short enough for
        // valgrind, under which a run is fifty times slower
        line["instructions_per_pkt"] = match instructions(case, flows, discipline, seconds.min(case.seconds / 5.0)) {
            Ok(n) => n.round().into(),
            Err(why) => why.into(),
        };
    }
    println!("{line}");
    Ok(())
}

fn round(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

fn bench() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == "--fingerprint") {
        return fingerprints(args.get(1).map(String::as_str));
    }
    if args.first().is_some_and(|a| a == "--one") {
        return one(&args[1..]);
    }
    let o = options()?;
    let wanted = |flows: &u32| o.flows.is_empty() || o.flows.contains(flows);
    for case in CASES.iter().filter(|c| o.cases.iter().any(|n| n == c.name)) {
        for flows in case.flows.iter().filter(|f| wanted(f)) {
            measure(case, case.name, *flows, &droptail(case), &o)?;
        }
    }
    if o.cases.iter().any(|n| n == "S4") {
        for case in &CASES[..2] {
            measure(case, "S4", 10, &codel(case), &o)?;
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("speed: {message}");
            ExitCode::from(2)
        }
    }
}
