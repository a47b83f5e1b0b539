//! A run that its caller drives step by step and can fork.

use scenario::read::{self, Format};
use scenario::{Change, Scenario, unknown};
use serde_json::Value;
use sim::{Ended, LinkState, Outcome, Sent, Steer, TcpState, World};
use units::{Duration, Problem, Time, shown};

/// Maximum congestion window or slow start threshold that can be set, bytes.
const MOST_BYTES: u64 = 1 << 30;
/// Maximum pacing rate that can be set, bit/s.
const MOST_RATE: u64 = 1_000_000_000_000;

/// A run in progress. A clone is a fork of the run: if it is driven in the same way, its result is the same, byte for
/// byte. The clone shares no state with the original.
#[derive(Clone, Debug)]
pub struct Driven {
    scenario: Scenario,
    /// Names of all directed links, indexed by link number.
    links: Vec<String>,
    world: World,
    now: Time,
    over: bool,
}

impl Driven {
    /// Builds a run at time 0.   Errors: the scenario exceeds a limit.
    pub fn new(scenario: Scenario) -> Result<Self, Problem> {
        let world = World::build_driven(&scenario)?;
        let links = scenario.directed_links().into_iter().map(|(name, _)| name).collect();
        Ok(Self { scenario, links, world, now: Time::ZERO, over: false })
    }

    /// Returns the time that the run has reached: all earlier events have happened, and no later ones. An event at exactly this
    /// time has happened only if `observe` stopped the run.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the scenario, with the link changes made so far.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns true once [`Driven::finish`] has run to the end.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Returns an error if the run has ended.
    fn going(&self) -> Result<(), Problem> {
        let message =
            || format!("the run ended at {}; fork it earlier, restore a snapshot, or open it again", self.now);
        if self.over { Err(Problem::new("", message())) } else { Ok(()) }
    }

    /// Handles all events before `at`. At least once per 65 536 events, calls `observe` with the fraction of the run
    /// that is done. If `observe` returns false, the function returns early.
    ///
    /// Errors: `at` is before now or after the end; the run has ended.
    pub fn run_until(&mut self, at: Time, mut observe: impl FnMut(f64) -> bool) -> Result<Ended, Problem> {
        self.going()?;
        let (now, end) = (self.now, self.world.end());
        if at < now || at > end {
            return Err(Problem::new(
                "",
                format!("run_until: {at} is not valid; expected {now} (now) to {end} (the end)"),
            ));
        }
        let ended = self.world.run_unrecorded_before(at, &mut |world| observe(world.now().secs() / end.secs()));
        self.now = if ended == Ended::Finished { at } else { self.world.now().max(now) };
        Ok(ended)
    }

    /// Runs to the end; `observe` is called as in [`Driven::run_until`]. Does nothing after the end.
    pub fn finish(&mut self, mut observe: impl FnMut(f64) -> bool) -> Ended {
        if self.over {
            return Ended::Finished;
        }
        let ended = self.world.run_unrecorded(&mut observe);
        self.over = ended == Ended::Finished;
        self.now = if self.over { self.world.end() } else { self.world.now().max(self.now) };
        ended
    }

    /// Returns the outcome of the run so far.
    pub fn outcome(&self) -> Outcome {
        self.world.outcome(&self.scenario)
    }

    fn link_number(&self, name: &str) -> Result<u16, Problem> {
        let known: Vec<&str> = self.links.iter().map(String::as_str).collect();
        let found = known.iter().position(|link| *link == name);
        found.map(|i| i as u16).ok_or_else(|| Problem::new("", unknown("link", name, &known)))
    }

    /// Returns a link's state.   Errors: an unknown link.
    pub fn link(&mut self, name: &str) -> Result<LinkState, Problem> {
        let i = self.link_number(name)?;
        Ok(self.world.link(i, self.now))
    }

    /// Changes a link at the current time. If the link is declared with `both_ways`, both directions change. `change`
    /// is JSON with the same keys as an entry of the link's `changes`, but without `at`.
    ///
    /// Errors: the run has ended; the link or a key is unknown; a value is invalid; `name` is a reverse link (`~up`);
    /// the link cannot make this change.
    pub fn set_link(&mut self, name: &str, change: &str) -> Result<(), Problem> {
        self.going()?;
        self.link_number(name)?;
        let at = format!("link.{name}");
        if let Some(both) = name.strip_prefix('~') {
            let both = shown(both);
            let message = format!("this is the reverse of \"{both}\"; set that link, which changes both directions");
            return Err(Problem::new(at, message));
        }
        let change = self.read_change(change).map_err(|p| p.under(&at))?;
        let mut scenario = self.scenario.clone();
        let link = scenario.link.get_mut(name).ok_or_else(|| Problem::new(&at, "the link is gone"))?;
        let both = if link.both_ways { vec![name.to_owned(), format!("~{name}")] } else { vec![name.to_owned()] };
        let made = link.schedule(change).map_err(|p| p.under(&at))?;
        for direction in both {
            self.world.change(self.now, self.link_number(&direction)?, made, &self.scenario)?;
        }
        self.scenario = scenario;
        Ok(())
    }

    fn read_change(&self, change: &str) -> Result<Change, Problem> {
        let mut tree = read::parse(change, Format::Json)?;
        if let Some(keys) = tree.as_object_mut() {
            if keys.contains_key("at") {
                return Err(Problem::new("at", "not valid here; run_until that time, then set"));
            }
            keys.insert("at".into(), Value::String(Duration(self.now.0).to_string()));
        }
        read::change(tree)
    }

    fn app_number(&self, name: &str) -> Result<usize, Problem> {
        let known: Vec<&str> = self.scenario.app.keys().map(String::as_str).collect();
        let found = known.iter().position(|app| *app == name);
        found.ok_or_else(|| Problem::new("", unknown("application", name, &known)))
    }

    /// Returns the number of flows of an application.   Errors: an unknown application, or an application that sends
    /// only datagrams.
    pub fn flows(&self, app: &str) -> Result<usize, Problem> {
        self.app_number(app)?;
        let traffic = &self.scenario.app[app].traffic;
        if traffic.is_datagrams() {
            let message = format!("{} sends datagrams, without a TCP sender", traffic.name());
            return Err(Problem::new(format!("app.{app}"), message));
        }
        Ok(traffic.rows())
    }

    /// Returns the numbers of a flow's connections over which payload may still arrive.
    ///
    /// Errors: those of [`Driven::flows`]; the application has no such flow.
    pub fn active(&self, app: &str, flow: usize) -> Result<Vec<u32>, Problem> {
        Ok(self.world.active(self.flow_of(app, flow)?, flow))
    }

    /// Returns the state of a flow's sender, on the flow's latest open connection: the server's sender if only the server
    /// has written data, otherwise the client's.
    ///
    /// Errors: those of [`Driven::flows`]; the application has no such flow; the flow has no open connection.
    pub fn sender(&self, app: &str, flow: usize) -> Result<TcpState, Problem> {
        let sender = self.world.sender(self.flow_of(app, flow)?, flow);
        let message = || format!("flow {flow} has no open connection at {}", self.now);
        sender.ok_or_else(|| Problem::new(format!("app.{app}"), message()))
    }

    /// Returns the data that a flow's clients have sent over all its connections or, if `reverse`, that its servers have sent.
    ///
    /// Errors: those of [`Driven::flows`]; the application has no such flow.
    pub fn sent(&self, app: &str, flow: usize, reverse: bool) -> Result<Sent, Problem> {
        Ok(self.world.sent(self.flow_of(app, flow)?, flow, reverse))
    }

    /// Checks that an application has the flow, and returns the application's index.
    ///
    /// Errors: those of [`Driven::flows`]; the application has no such flow.
    fn flow_of(&self, app: &str, flow: usize) -> Result<usize, Problem> {
        let flows = self.flows(app)?;
        if flow >= flows {
            let valid = if flows == 1 { "0, its only flow".to_owned() } else { format!("0 to {}", flows - 1) };
            return Err(Problem::new(format!("app.{app}"), format!("flow {flow} is not valid; expected {valid}")));
        }
        self.app_number(app)
    }

    /// Sets `key` of the sender that [`Driven::sender`] returns: "cwnd" or "ssthresh" in bytes, or "pacing_rate" in bit/s
    /// of payload. The value `None` makes "ssthresh" infinite, turns pacing off for "pacing_rate", and is not valid for
    /// "cwnd".
    ///
    /// Errors: those of [`Driven::sender`]; the run has ended; the key is unknown; the value is out of range; the
    /// sender sets its own pacing rate.
    pub fn set_sender(&mut self, app: &str, flow: usize, key: &str, value: Option<u64>) -> Result<(), Problem> {
        self.going()?;
        let can = self.sender(app, flow)?.can;
        let wrong = |message: String| Problem::new(format!("app.{app}.{key}"), message);
        let mss = u64::from(can.mss);
        let bytes = |given: u64| {
            let valid = (mss..=MOST_BYTES).contains(&given);
            let message = || format!("{given} is not valid; expected {mss} (a segment) to {MOST_BYTES} bytes");
            if valid { Ok(given) } else { Err(wrong(message())) }
        };
        let set = match (key, value) {
            ("cwnd", Some(given)) => Steer::Cwnd(bytes(given)?),
            ("ssthresh", given) => Steer::Ssthresh(given.map(bytes).transpose()?),
            ("pacing_rate", _) if !can.pacing_rate => {
                let message =
                    "this sender sets its own pacing rate with every ACK; set cwnd, or use a stack that does not pace";
                return Err(wrong(message.into()));
            }
            ("pacing_rate", Some(rate)) if !(1..=MOST_RATE).contains(&rate) => {
                return Err(wrong(format!("{rate} is not valid; expected 1 to {MOST_RATE} bit/s, or None")));
            }
            ("pacing_rate", given) => Steer::PacingRate(given.map(|rate| rate as f64 / 8.0)),
            _ => return Err(wrong("expected cwnd, ssthresh or pacing_rate, with a value".into())),
        };
        self.world.steer(self.now, self.app_number(app)?, flow, set);
        Ok(())
    }
}
