//! The declaration of an application, and the rules that concern only the application itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::Traffic;
use units::{Duration, Problem, ensure, shown, within};

/// An application consists of a client, its servers, and the traffic between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct App {
    /// Node of the client.
    pub from: String,
    /// Nodes of the servers. The first in the list is server 1, the next is server 2, and so on. Only `web` and
    /// `bittorrent` use more than one server.
    pub to: Vec<String>,
    /// Earliest start, counted from the start of the run. The actual start is random, between `start` and `start` +
    /// `start_spread`, but before `stop`. It depends on `seed`.
    #[serde(default)]
    pub start: Duration,
    /// Width of the interval from which the start is drawn at random. Default: the scenario's `start_spread`. If the
    /// scenario has none, the value depends on the traffic. For `voip`, `ping`, `messages`, `media`, and `cbr` with
    /// `constant` arrivals and no `randomize`, it is the sending interval, but at most 1s. For `game`, `proshare` and
    /// all other `cbr`, it is 0s. For all other traffic, it is 100ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread: Option<Duration>,
    /// After this time, counted from the start of the run, the application starts nothing new. Transfers in progress
    /// may finish. Default: the end of the run. Not valid for `rpm`, nor for `ftp` without a `size`, which has the key
    /// `length` instead.
    #[serde(default)]
    pub stop: Option<Duration>,
    /// TCP stack of both ends: a preset, or the name of a stack in the table `tcp`. `bloatlab list tcp` lists the
    /// presets. A preset with the name of a congestion control, such as `reno`, is `linux-6` with that congestion
    /// control and settings that suit it.
    #[serde(default = "default_stack")]
    pub tcp: String,
    /// TCP stack of the servers; omitted: the stack of `tcp`. If the two stacks differ, the ends negotiate: a
    /// connection uses SACK only if both stacks have it, and the same holds for time stamps. No segment is larger than
    /// the MSS of the other end allows. An application over TCP is refused if one stack needs a feature that the other
    /// lacks. For example, LEDBAT needs time stamps.
    #[serde(default)]
    pub tcp_server: Option<String>,
    /// Differentiated services code point of the application's packets, 0 to 63.
    #[serde(default)]
    pub dscp: u8,
    /// ECN field of the datagrams of voip, ping, game, cbr, proshare and media; omitted: `not_ect`. L4S traffic uses
    /// `ect1`. Of these applications, only media with `control.screamv2` responds to marks. The ECN field of TCP
    /// packets depends on the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagram_ecn: Option<DatagramEcn>,
    /// The traffic of the application.
    pub traffic: Traffic,
}

/// ECN field of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DatagramEcn {
    /// Not ECN-capable: a queue drops the packet where it would mark an ECN-capable one. Exceptions are `ce_threshold`
    /// and the low-latency queue of `docsis_lld`, which let the packet pass.
    #[default]
    NotEct,
    /// ECT(0), classic.
    Ect0,
    /// ECT(1), L4S.
    Ect1,
}

impl App {
    /// Returns the ECN field of the datagrams, as in the IP header.
    pub fn datagram_ecn(&self) -> u8 {
        match self.datagram_ecn.unwrap_or_default() {
            DatagramEcn::NotEct => 0,
            DatagramEcn::Ect0 => 2,
            DatagramEcn::Ect1 => 1,
        }
    }

    /// Returns all problems of this application alone.
    pub(crate) fn validate(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (i, server) in self.to.iter().enumerate().filter(|(_, server)| **server == self.from) {
            let message = format!("\"{}\" is the application's own node; expected another one", shown(server));
            problems.push(Problem::new(format!("to.{i}"), message));
        }
        let needs = self.traffic.servers();
        if self.to.len() < needs {
            let message = format!("{} given; this traffic needs at least {needs}", self.to.len());
            problems.push(Problem::new("to", message));
        }
        problems.extend(within("dscp", self.dscp, 0, 63).err());
        if self.datagram_ecn.is_some() && !self.traffic.is_datagrams() {
            let message = format!(
                "{} does not have it; expected voip, ping, game, cbr, proshare or media (for TCP, set `ecn` of the stack)",
                self.traffic.name()
            );
            problems.push(Problem::new("datagram_ecn", message));
        }
        problems.extend(self.stop.and_then(|stop| self.validate_stop(stop).err()));
        problems.extend(self.traffic.validate().err().map(|p| p.under("traffic")));
        problems
    }

    fn validate_stop(&self, stop: Duration) -> Result<(), Problem> {
        ensure!(stop > self.start, "stop", "expected a time after the start at {}", self.start);
        match &self.traffic {
            Traffic::Ftp(p) if p.size.is_none() => Err(Problem::new(
                "stop",
                "a transfer without a size does not stop; give it a size, or `length` instead of `stop`",
            )),
            Traffic::Rpm(_) => {
                Err(Problem::new("stop", "its load never ends, so it cannot stop before the end of the run"))
            }
            _ => Ok(()),
        }
    }
}

fn default_stack() -> String {
    "linux-6".to_owned()
}
