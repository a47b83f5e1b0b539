//! The applications as one closed type, and their list.

use crate::{
    Application, Cbr, CbrParams, ConnId, Ftp, FtpParams, Game, GameParams, Host, Side, VoipParams, Web, WebParams,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Problem;

/// What an application does: one key, the application's name, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Traffic {
    /// File transfers over TCP: endless, repeated or bursty.
    Ftp(FtpParams),
    /// An on-line game: a TCP message at a fixed interval.
    Game(GameParams),
    /// UDP datagrams at a constant rate.
    Cbr(CbrParams),
    /// A G.711 call.
    Voip(VoipParams),
    /// A user who loads web pages.
    Web(WebParams),
}

impl Traffic {
    /// The application's name: the key of its parameters.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ftp(_) => "ftp",
            Self::Game(_) => "game",
            Self::Cbr(_) => "cbr",
            Self::Voip(_) => "voip",
            Self::Web(_) => "web",
        }
    }

    /// Refuses what cannot run; the path starts with the application's name.
    pub fn validate(&self) -> Result<(), Problem> {
        match self {
            Self::Ftp(p) => p.validate(),
            Self::Game(p) => p.validate(),
            Self::Cbr(p) => p.validate(),
            Self::Voip(p) => p.validate(),
            Self::Web(p) => p.validate(),
        }
        .map_err(|e| e.under(self.name()))
    }

    /// How many servers the application's `to` must name.
    pub const fn servers(&self) -> usize {
        match self {
            Self::Web(p) => p.servers as usize,
            _ => 1,
        }
    }

    /// Whether it sends datagrams (and no TCP).
    pub const fn is_udp(&self) -> bool {
        matches!(self, Self::Cbr(_) | Self::Voip(_))
    }

    /// The machine in its first state. The parameters must be valid.
    pub fn build(&self) -> App {
        match self {
            Self::Ftp(p) => App::Ftp(p.build()),
            Self::Game(p) => App::Game(p.build()),
            Self::Cbr(p) => App::Cbr(p.build()),
            Self::Voip(p) => App::Cbr(p.build()),
            Self::Web(p) => App::Web(p.build()),
        }
    }
}

/// Any application's machine. A call and a constant bit rate are the same machine.
#[derive(Clone, Debug, PartialEq)]
pub enum App {
    /// [`Ftp`].
    Ftp(Ftp),
    /// [`Game`].
    Game(Game),
    /// [`Cbr`] (and [`crate::Voip`]).
    Cbr(Cbr),
    /// [`Web`].
    Web(Web),
}

/// `$body` for the machine inside, whichever it is.
macro_rules! each {
    ($self:expr, $app:ident => $body:expr) => {
        match $self {
            App::Ftp($app) => $body,
            App::Game($app) => $body,
            App::Cbr($app) => $body,
            App::Web($app) => $body,
        }
    };
}

impl Application for App {
    fn start<H: Host>(&mut self, host: &mut H) {
        each!(self, a => a.start(host));
    }
    fn timer<H: Host>(&mut self, token: u64, host: &mut H) {
        each!(self, a => a.timer(token, host));
    }
    fn connected<H: Host>(&mut self, conn: ConnId, side: Side, host: &mut H) {
        each!(self, a => a.connected(conn, side, host));
    }
    #[inline]
    fn received<H: Host>(&mut self, conn: ConnId, side: Side, bytes: u64, host: &mut H) {
        each!(self, a => a.received(conn, side, bytes, host));
    }
    fn closed<H: Host>(&mut self, conn: ConnId, host: &mut H) {
        each!(self, a => a.closed(conn, host));
    }
    fn counts_bytes(&self) -> bool {
        each!(self, a => a.counts_bytes())
    }
}

/// One line of the list of applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppInfo {
    /// The key in a scenario.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What its transport is: `tcp` or `udp`.
    pub transport: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// A minimal example: the JSON of its parameters.
    pub example: &'static str,
}

/// Every application, in the order in which they are listed.
pub const APPS: [AppInfo; 5] = [
    AppInfo {
        name: "ftp",
        summary: "file transfers: endless, repeated, or bursty with pauses",
        transport: "tcp",
        source: "doc 001 3.2.1, doc 000",
        example: r#"{ "flows": 5, "direction": "up", "size": "10MB", "pause": "300ms" }"#,
    },
    AppInfo {
        name: "game",
        summary: "an on-line game: one message every few seconds over one connection",
        transport: "tcp",
        source: "doc 000",
        example: r#"{ "message": "10KB", "interval": "2s" }"#,
    },
    AppInfo {
        name: "cbr",
        summary: "datagrams at a constant rate",
        transport: "udp",
        source: "doc 001 3.2.1, doc 003",
        example: r#"{ "rate": "1mbit", "size": 1000 }"#,
    },
    AppInfo {
        name: "voip",
        summary: "a G.711 call: 218-byte frames every 20 ms",
        transport: "udp",
        source: "doc 001 3.2.2",
        example: r#"{ "late_after": "60ms", "network_delay": "20ms" }"#,
    },
    AppInfo {
        name: "web",
        summary: "a user who loads pages of 100 objects from four servers",
        transport: "tcp",
        source: "doc 001 3.2.3, Appendix A",
        example: r#"{ "page": "listed", "think": "5s" }"#,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use units::Time;

    #[test]
    fn the_list_is_complete_and_its_examples_are_valid() {
        for info in APPS {
            let text = format!(r#"{{ "{}": {} }}"#, info.name, info.example);
            let traffic: Traffic = serde_json::from_str(&text).unwrap();
            traffic.validate().unwrap();
            assert_eq!(traffic.name(), info.name);
            assert_eq!(traffic.is_udp(), info.transport == "udp");
            // what is written reads back
            let again = serde_json::to_string(&traffic).unwrap();
            assert_eq!(serde_json::from_str::<Traffic>(&again).unwrap(), traffic);
        }
        // the schema knows as many applications as the list
        let schema = serde_json::to_value(schemars::schema_for!(Traffic)).unwrap();
        assert_eq!(schema["oneOf"].as_array().unwrap().len(), APPS.len());
    }

    /// Connections break at random moments; the fake host asserts that nothing is written or closed twice or after an end.
    #[test]
    fn every_application_survives_breaking_connections() {
        let cases = [
            r#"{ "ftp": { "flows": 7, "size": "30KB", "pause": "50ms", "pause_spread": "10ms" } }"#,
            r#"{ "ftp": { "flows": 3, "size": "30KB", "new_connection": false, "direction": "down" } }"#,
            r#"{ "ftp": { "size": "1KB", "on_failure": "give_up" } }"#,
            r#"{ "ftp": { "flows": 4 } }"#,
            r#"{ "game": { "interval": "20ms" } }"#,
            r#"{ "game": { "interval": "2s", "on_failure": "give_up" } }"#,
            r#"{ "cbr": { "rate": "1mbit" } }"#,
            r#"{ "web": { "think": "100ms" } }"#,
            r#"{ "web": { "think": "0s", "persistent": true, "page": "listed" } }"#,
            r#"{ "web": { "think": "1ms", "persistent": true, "on_failure": "give_up" } }"#,
            r#"{ "web": { "think": "1ms", "on_failure": "give_up", "page": { "lognormal": {} } } }"#,
        ];
        for text in cases {
            for p in [0.02, 0.5, 1.0] {
                let traffic: Traffic = serde_json::from_str(text).unwrap();
                let mut fake = Fake::new(&[20_000_000, 30_000_000, 50_000_000, 100_000_000]).breaking(p, 400_000_000);
                (fake.piece, fake.gap) = (1460, 100_000);
                let mut app = traffic.build();
                fake.run(&mut app, Time(60_000_000_000));
                // nobody hoards connections: those that are open are in use (or finish closing within a round trip)
                assert!(fake.open_now() <= 48, "{text}: {} open", fake.open_now());
                match &app {
                    App::Web(w) => {
                        let (whole, partial) = (w.objects_per_page(), text.contains("give_up"));
                        assert!(fake.pages.len() > 1, "{text} at {p}");
                        assert!(fake.pages.iter().all(|p| p.2 <= whole && (p.2 == whole || partial)));
                    }
                    App::Ftp(f) => assert_eq!(f.files_done(), fake.files.len() as u64),
                    App::Game(_) => assert!(!fake.files.is_empty() || text.contains("give_up")),
                    App::Cbr(_) => assert_eq!(fake.datagrams.len(), 7500),
                }
                // the same run again is the same
                let mut again = Fake::new(&[20_000_000, 30_000_000, 50_000_000, 100_000_000]).breaking(p, 400_000_000);
                (again.piece, again.gap) = (1460, 100_000);
                again.run(&mut traffic.build(), Time(60_000_000_000));
                assert_eq!((&again.pages, &again.files), (&fake.pages, &fake.files));
            }
        }
    }

    #[test]
    fn problems_carry_the_path() {
        let t: Traffic = serde_json::from_str(r#"{ "ftp": { "flows": 0 } }"#).unwrap();
        assert!(t.validate().unwrap_err().to_string().starts_with("ftp.flows: 0 is not valid"));
        assert!(serde_json::from_str::<Traffic>(r#"{ "ftp": { "flow": 1 } }"#).is_err());
        assert!(serde_json::from_str::<Traffic>(r#"{ "gopher": {} }"#).is_err());
        assert_eq!((t.servers(), Traffic::Web(WebParams::default()).servers()), (1, 4));
    }
}
