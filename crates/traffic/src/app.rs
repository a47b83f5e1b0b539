//! Declares the applications: the enum of their parameters in a scenario, the enum of their states, and the list of
//! their descriptions.

use crate::{
    Application, ConnId, Demand, Host, Params, Role, bittorrent, burst, cbr, endpoint, ftp, game, media, messages,
    ping, proshare, rpm, short, video, voip, web,
};
use packet::{Ecn, Measure, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Problem, Time};

/// An entry in the list of applications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AppInfo {
    /// The key in a scenario.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Transport: `tcp`, `udp` (datagrams of any kind), or `tcp or udp`.
    pub transport: &'static str,
    /// Source of the model.
    pub source: &'static str,
    /// A short example of the application's parameters, as JSON.
    pub example: &'static str,
    /// Declarations of the values that the application adds to the summary.
    pub measures: &'static [&'static [Measure]],
}

/// Declares every application once. From these declarations, the macro generates the scenario's enum, the enum of the
/// applications' states, and the list of applications. `endpoint` is not in the list.
macro_rules! applications {
    ($($name:literal $Variant:ident($Params:ty), $transport:literal, $source:literal, $summary:literal, $example:literal;)+) => {
        /// The traffic of an application: one key, the application's name, with its parameters; or the name alone, for the
        /// default parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(remote = "Self")]
        #[schemars(transform = units::words::<Traffic>)]
        pub enum Traffic {
            $(
                #[doc = concat!($summary, ".")]
                #[serde(rename = $name)]
                $Variant($Params),
            )+
            /// A transport whose code the calling program supplies. It is not in any list or schema, because a scenario file
            /// alone cannot run it.
            #[serde(rename = "endpoint")]
            #[schemars(skip)]
            Endpoint(endpoint::EndpointParams),
        }

        units::word_or_table!(Traffic);

        impl Traffic {
            /// Returns the application's name, which is the key of its parameters.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$Variant(_) => $name,)+ Self::Endpoint(_) => "endpoint" }
            }
            /// Checks the parameters.   Errors: a field is invalid. The error's path starts with the
            /// application's name.
            pub fn validate(&self) -> Result<(), Problem> {
                match self { $(Self::$Variant(p) => p.validate(),)+ Self::Endpoint(p) => p.validate() }.map_err(|e| e.under(self.name()))
            }
            /// Checks that the program has supplied the application's code, if the application needs such code.
            pub fn ready(&self) -> Result<(), Problem> {
                match self {
                    Self::Endpoint(p) if !p.supplied => {
                        Err(Problem::new("endpoint", "is code that only a program can supply, with the crate bloatlab-net"))
                    }
                    _ => Ok(()),
                }
            }
            /// Returns the least number of servers that the application's `to` must name.
            pub fn servers(&self) -> usize {
                match self { $(Self::$Variant(p) => p.servers(),)+ Self::Endpoint(p) => p.servers() }
            }
            /// Returns an upper bound on the application's demand in a run that lasts `span`. The bound assumes that no
            /// request is answered in less than `round`, the shortest RTT of the application's paths.
            pub fn demand(&self, span: Duration, round: Duration) -> Demand {
                match self { $(Self::$Variant(p) => p.demand(span, round),)+ Self::Endpoint(p) => p.demand(span, round) }
            }
            /// Returns the default maximum of the random delay that the seed adds to the application's start. This
            /// maximum is no more than 1 s. A `start_spread` of the application or of the scenario replaces the
            /// default.
            pub fn start_spread(&self) -> Duration {
                match self { $(Self::$Variant(p) => p.start_spread(),)+ Self::Endpoint(p) => p.start_spread() }.min(Duration::from_secs(1))
            }
            /// Returns true if only the network limits the rate of each flow.
            pub fn greedy(&self) -> bool {
                matches!(self, Self::Ftp(p) if p.greedy())
            }
            /// Returns true if the application never uses TCP. `burst` is not included, because its transport is a
            /// parameter.
            pub fn is_datagrams(&self) -> bool {
                matches!(self, Self::Voip(_) | Self::Ping(_) | Self::Game(_) | Self::Cbr(_) | Self::Proshare(_) | Self::Media(_) | Self::Endpoint(_))
            }
            /// Returns true if the application sets the ECN field of its datagrams itself, regardless of the scenario's
            /// stacks.
            pub fn has_own_ecn(&self) -> bool {
                matches!(self, Self::Endpoint(_))
            }
            /// Returns the number of rows in which the application's traffic is counted: one for each parallel transfer
            /// if the number of transfers is fixed, otherwise one in total.
            pub fn rows(&self) -> usize {
                match self { $(Self::$Variant(p) => p.rows(),)+ Self::Endpoint(p) => p.rows() }
            }
            /// Returns the datagram sizes that the parameters decide. Each entry holds the name of the parameter that
            /// decides a size, and the size in bytes on the wire.
            pub fn datagram_sizes(&self) -> Vec<(&'static str, Bytes)> {
                match self { $(Self::$Variant(p) => p.datagram_sizes(),)+ Self::Endpoint(p) => p.datagram_sizes() }
            }
            /// Builds the application in its initial state. The parameters must be valid.
            pub fn build(&self) -> App {
                match self { $(Self::$Variant(p) => App::$Variant(p.build()),)+ Self::Endpoint(p) => App::Endpoint(p.build()) }
            }
        }

        /// The state of any application.
        #[derive(Clone, Debug, PartialEq)]
        pub enum App {
            $(
                #[doc = concat!($summary, ".")]
                $Variant(<$Params as Params>::App),
            )+
            /// A transport whose code the calling program supplies.
            Endpoint(endpoint::Endpoint),
        }

        impl Application for App {
            fn start<H: Host>(&mut self, host: &mut H) {
                match self { $(Self::$Variant(a) => a.start(host),)+ Self::Endpoint(a) => a.start(host) }
            }
            fn timer<H: Host>(&mut self, token: u64, host: &mut H) {
                match self { $(Self::$Variant(a) => a.timer(token, host),)+ Self::Endpoint(a) => a.timer(token, host) }
            }
            fn connected<H: Host>(&mut self, conn: ConnId, role: Role, host: &mut H) {
                match self { $(Self::$Variant(a) => a.connected(conn, role, host),)+ Self::Endpoint(a) => a.connected(conn, role, host) }
            }
            #[inline]
            fn received<H: Host>(&mut self, conn: ConnId, role: Role, bytes: u64, host: &mut H) {
                match self { $(Self::$Variant(a) => a.received(conn, role, bytes, host),)+ Self::Endpoint(a) => a.received(conn, role, bytes, host) }
            }
            fn datagram_received<H: Host>(&mut self, role: Role, number: u64, ecn: Ecn, host: &mut H) {
                match self { $(Self::$Variant(a) => a.datagram_received(role, number, ecn, host),)+ Self::Endpoint(a) => a.datagram_received(role, number, ecn, host) }
            }
            fn closed<H: Host>(&mut self, conn: ConnId, host: &mut H) {
                match self { $(Self::$Variant(a) => a.closed(conn, host),)+ Self::Endpoint(a) => a.closed(conn, host) }
            }
            fn counts(&self) -> bool {
                match self { $(Self::$Variant(a) => a.counts(),)+ Self::Endpoint(a) => a.counts() }
            }
            fn controller(&self) -> Option<Role> {
                match self { $(Self::$Variant(a) => a.controller(),)+ Self::Endpoint(a) => a.controller() }
            }
            fn read_controller(&self, out: &mut Reading<'_>) {
                match self { $(Self::$Variant(a) => a.read_controller(out),)+ Self::Endpoint(a) => a.read_controller(out) }
            }
            fn figures(&self, now: Time, stop: Time) -> Vec<(&'static str, f64)> {
                match self { $(Self::$Variant(a) => a.figures(now, stop),)+ Self::Endpoint(a) => a.figures(now, stop) }
            }
            fn words(&self) -> Vec<(&'static str, &'static str)> {
                match self { $(Self::$Variant(a) => a.words(),)+ Self::Endpoint(a) => a.words() }
            }
            fn columns(&self) -> Vec<(&'static str, Vec<f64>)> {
                match self { $(Self::$Variant(a) => a.columns(),)+ Self::Endpoint(a) => a.columns() }
            }
        }

        /// All applications except `endpoint`, in the order of their declaration.
        pub const APPS: &[AppInfo] = &[
            $(AppInfo {
                name: $name,
                summary: $summary,
                transport: $transport,
                source: $source,
                example: $example,
                measures: <$Params as Params>::App::MEASURES,
            },)+
        ];
    };
}

applications! {
    "ftp" Ftp(ftp::FtpParams), "tcp", "CableLabs 2012 §3.2.1, ARRIS 2013",
        "File transfers: endless, back to back, or with pauses",
        r#"{ "flows": 5, "direction": "up", "size": "10MB", "pause": "300ms" }"#;
    "game" Game(game::GameParams), "udp", "IEEE 802.11-18/2009r6 §4.1.4",
        "An online game: a player's updates and the server's snapshots",
        r#"{ "late_after": "50ms" }"#;
    "messages" Messages(messages::MessagesParams), "tcp", "ARRIS 2013",
        "One message every few seconds over one connection",
        r#"{ "message": "10KB", "interval": "2s" }"#;
    "bittorrent" Bittorrent(bittorrent::BittorrentParams), "tcp", "ARRIS 2013; BEP 3",
        "A member of a swarm: fifty peers, of which ten may request blocks",
        r#"{ "peers": 50, "active": 10 }"#;
    "video" Video(video::VideoParams), "tcp", "FESTIVE, CoNEXT 2012",
        "Adaptive-bitrate video: segments, a buffer, stalls",
        r#"{ "segment": "4s", "buffer": "30s" }"#;
    "short" Short(short::ShortParams), "tcp", "ARRIS 2013, short-lived flows",
        "Small transfers with Poisson arrivals, each on its own connection",
        r#"{ "interval": "100ms", "size": { "fixed": "14KB" } }"#;
    "burst" Burst(burst::BurstParams), "tcp or udp", "ARRIS 2013, single large bursts",
        "One large burst, or one per interval, over TCP or UDP",
        r#"{ "bytes": "1MB", "transport": "udp" }"#;
    "ping" Ping(ping::PingParams), "udp", "RFC 792, RFC 2681",
        "Echo requests and replies: round-trip times and losses",
        r#"{ "interval": "100ms" }"#;
    "cbr" Cbr(cbr::CbrParams), "udp", "CableLabs 2012 §3.2.1, MMCN 1999",
        "Datagrams at a constant mean rate",
        r#"{ "rate": "1mbit", "size": 1000 }"#;
    "proshare" Proshare(proshare::ProshareParams), "udp", "MMCN 1999",
        "A video conference of 210 kbit/s: audio and video datagrams",
        r#"{ "packet": 700 }"#;
    "media" Media(media::MediaParams), "udp", "RFC 8867, RFC 8888",
        "Live video whose encoder follows a rate controller",
        r#"{ "control": "gcc", "max_rate": "2500kbit" }"#;
    "voip" Voip(voip::VoipParams), "udp", "CableLabs 2012 §3.2.2",
        "A G.711 call: 218-byte frames every 20 ms",
        r#"{ "late_after": "60ms", "network_delay": "20ms" }"#;
    "rpm" Rpm(rpm::RpmParams), "tcp", "draft-ietf-ippm-responsiveness-09",
        "Round trips per minute (RPM) under load: responsiveness",
        r#"{ "direction": "down" }"#;
    "web" Web(web::WebParams), "tcp", "CableLabs 2012 §3.2.3, Appendix A",
        "A user who loads pages of 100 objects from four servers",
        r#"{ "page": "listed", "think": "5s" }"#;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::Fake;
    use web::WebParams;

    #[test]
    fn the_list_is_complete_and_its_examples_are_valid() {
        for info in APPS {
            let text = format!(r#"{{ "{}": {} }}"#, info.name, info.example);
            let traffic: Traffic = serde_json::from_str(&text).unwrap();
            traffic.validate().unwrap();
            assert_eq!(traffic.name(), info.name);
            let again = serde_json::to_string(&traffic).unwrap();
            assert_eq!(serde_json::from_str::<Traffic>(&again).unwrap(), traffic);
        }
        // the schema has one object type for each application
        let schema = serde_json::to_value(schemars::schema_for!(Traffic)).unwrap();
        let tables = schema["oneOf"].as_array().unwrap().iter().filter(|choice| choice["type"] == "object");
        assert_eq!(tables.count(), APPS.len());
    }

    /// Breaks connections at random times. The fake host asserts that no application closes the same side of a
    /// connection twice, or writes to a side that it has closed.
    #[test]
    fn every_application_survives_breaking_connections() {
        let cases = [
            r#"{ "ftp": { "flows": 7, "size": "30KB", "pause": "50ms", "pause_spread": "10ms" } }"#,
            r#"{ "ftp": { "flows": 3, "size": "30KB", "new_connection": false, "direction": "down" } }"#,
            r#"{ "ftp": { "size": "1KB", "on_failure": "give_up" } }"#,
            r#"{ "ftp": { "flows": 4 } }"#,
            r#"{ "messages": { "interval": "20ms" } }"#,
            r#"{ "game": {} }"#,
            r#"{ "messages": { "interval": "2s", "on_failure": "give_up" } }"#,
            r#"{ "cbr": { "rate": "1mbit" } }"#,
            r#"{ "short": { "interval": "20ms", "max_open": 40 } }"#,
            r#"{ "short": { "interval": "20ms", "direction": "up", "size": { "pareto": {} }, "max_open": 40 } }"#,
            r#"{ "video": { "segment": "1s", "startup": "1s" } }"#,
            r#"{ "bittorrent": { "peers": 8, "active": 3, "round": "1s", "download": true } }"#,
            r#"{ "burst": { "bytes": "30KB", "interval": "100ms" } }"#,
            r#"{ "proshare": {} }"#,
            r#"{ "media": { "control": "gcc", "key_interval": "1s" } }"#,
            r#"{ "media": { "control": "screamv2" } }"#,
            r#"{ "rpm": { "probes_per_second": 20 } }"#,
            r#"{ "rpm": { "probes_per_second": 20, "direction": "up", "tls": false } }"#,
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
                // the application does not leak connections: every open connection is in use, or will close within a
                // round trip
                assert!(fake.open_now() <= 48, "{text}: {} open", fake.open_now());
                match &app {
                    App::Web(w) => {
                        let (whole, partial) = (w.objects_per_page(), text.contains("give_up"));
                        assert!(fake.pages.len() > 1, "{text} at {p}");
                        assert!(fake.pages.iter().all(|p| p.2 <= whole && (p.2 == whole || partial)));
                    }
                    App::Ftp(f) => assert_eq!(f.files_done(), fake.files.len() as u64),
                    App::Game(_) => assert!(fake.datagrams.len() > 6800),
                    App::Messages(_) => assert!(!fake.files.is_empty() || text.contains("give_up")),
                    App::Short(_) | App::Burst(_) => assert!(!fake.files.is_empty()),
                    App::Video(_) => assert!(!fake.files.is_empty()),
                    App::Bittorrent(b) => assert!(b.figures(Time::ZERO, Time::NEVER)[2].1 > 0.0),
                    App::Rpm(r) => assert!(r.figures(Time::ZERO, Time::NEVER)[1].1 > 0.0 || p == 1.0, "{text} at {p}"),
                    App::Ping(_) => assert_eq!(fake.probes.len(), 2 * 60),
                    App::Proshare(_) => assert!(fake.datagrams.len() > 2900),
                    App::Media(m) => assert!(m.figures(Time::ZERO, Time::NEVER)[2].1 > 1700.0),
                    App::Cbr(_) | App::Voip(_) => assert_eq!(fake.datagrams.len(), 7500),
                    App::Endpoint(_) => unreachable!("it is in no list of applications"),
                }
                // a second run gives the same results
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
