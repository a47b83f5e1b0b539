//! Applications as state machines without I/O, driven by events and independent of any network.
//!
//! An application has one client (`from` in a scenario) and one or more servers (`to`), and acts for both sides: for a web
//! page, the same state machine sends the client's request and the server's response. All inputs are events ([`Application`]),
//! and all effects are calls to the host ([`Host`]).
//!
//! | name | traffic | source |
//! |---|---|---|
//! | [`ftp`] | endless, repeated or bursty file transfers | CableLabs 2012 §3.2.1, ARRIS 2013 |
//! | [`messages`] | one TCP message every few seconds over one connection | ARRIS 2013 |
//! | [`game`] | a player and a server, UDP both ways | IEEE 802.11-18/2009 |
//! | [`bittorrent`] | a member of a swarm | ARRIS 2013, BEP 3 |
//! | [`video`] | adaptive-bitrate video | FESTIVE, CoNEXT 2012 |
//! | [`short`] | small transfers with random arrivals | ARRIS 2013 |
//! | [`burst`] | many bytes at once | ARRIS 2013 |
//! | [`ping`] | echo requests | RFC 792 |
//! | [`cbr`] | UDP datagrams at a constant mean rate | CableLabs 2012 §3.2.1, MMCN 1999 |
//! | [`media`] | live video with a rate controller | RFC 8867, RFC 8888 |
//! | [`proshare`] | a video conference: audio and video datagrams | MMCN 1999 |
//! | [`voip`] | a G.711 call | CableLabs 2012 §3.2.2 |
//! | [`rpm`] | round trips per minute under load | draft-ietf-ippm-responsiveness |
//! | [`endpoint`] | a transport whose code the calling program supplies | |
//! | [`web`] | a user who loads pages | CableLabs 2012 §3.2.3, Appendix A |
//!
//! Conventions: kB is 1000 bytes. A transfer is *finished* when its last byte has arrived in order at its receiver. An
//! application starts on [`Application::start`] and continues for as long as its host delivers events. The host stops
//! it by dropping all timers due at or after the application's stop time, except late ones ([`Host::late_timer`]).

mod app;
mod arrivals;
mod conns;
mod demand;
mod host;
mod params;
mod picture;
#[cfg(test)]
mod tests;
mod timers;

mod bittorrent;
mod burst;
mod cbr;
mod endpoint;
mod ftp;
mod game;
mod media;
mod messages;
mod ping;
mod proshare;
mod rpm;
mod short;
mod video;
mod voip;
mod web;

pub(crate) use demand::Demand;
pub use host::{Application, ConnId, Direction, Host, Role};
pub(crate) use host::{OnFailure, RETRY_AFTER};
pub(crate) use params::Params;
pub use timers::Timers;

pub use app::{APPS, App, Traffic};
pub use arrivals::Arrivals;
pub(crate) use cbr::Cbr;
pub use endpoint::EndpointParams;
pub use ftp::Ftp;
pub use game::LARGEST_GAME_PACKET;
pub use voip::VoipParams;
pub use web::Web;
