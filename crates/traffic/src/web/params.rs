//! The parameters of [`Web`](super::Web): the content of a page, and how it is fetched.

use crate::OnFailure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Rng, math};

/// Upper bound on the number of servers.
pub(super) const MAX_SERVERS: u32 = 64;
/// Upper bound on the number of objects in one page.
pub(super) const MAX_OBJECTS: u32 = 100_000;

/// Size of Appendix A's html file in bytes.
pub(crate) const LISTED_HTML: u64 = 102_400;

/// The sizes in bytes of the 25 objects on each of the four servers.   Source: CableLabs 2012 Appendix A.
///
/// Their sum is 121 151 + 60 683 + 276 266 + 156 302 = 614 402 (Appendix A intends 614 400).
#[rustfmt::skip]
pub(crate) const LISTED: [[u32; 25]; 4] = [
    [
        2997, 3225, 7679, 22, 4742, 1763, 224, 401, 1299, 11, 1859, 533, 7432, 49238, 1685, 23627, 860, 79, 2591, 39,
        734, 8342, 459, 233, 1077,
    ],
    [
        5009, 1643, 1048, 510, 6679, 769, 961, 132, 457, 3175, 5744, 2548, 2527, 420, 235, 256, 175, 1961, 235,
        10030, 3098, 6201, 740, 901, 5229,
    ],
    [
        7105, 6683, 1017, 116, 190, 2424, 22, 828, 91289, 91, 797, 4892, 297, 1652, 547, 6169, 781, 276, 774, 147107,
        182, 249, 449, 51, 2278,
    ],
    [
        355, 3815, 9498, 645, 544, 2931, 12393, 85, 12229, 826, 28522, 1595, 41, 4019, 1062, 2457, 1144, 1127, 2662,
        8649, 51108, 2511, 186, 4380, 3518,
    ],
];

/// Content of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[serde(remote = "Self")]
#[schemars(transform = units::words::<Page>)]
pub enum Page {
    /// Objects of one size, the same number on each server (CableLabs 2012 §3.2.3).
    Uniform(Uniform),
    /// The sizes listed in Appendix A of CableLabs 2012: an HTML file of 102 400 B, and 100 objects of 614 402 B in
    /// total, on four servers.
    Listed,
    /// Random sizes with the log-normal distribution of Appendix A of CableLabs 2012.
    Lognormal(Lognormal),
}

units::word_or_table!(Page);

impl Default for Page {
    fn default() -> Self {
        Self::Uniform(Uniform::default())
    }
}

/// A page of objects of equal size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Uniform {
    /// Size of the HTML file in bytes. Default 100KB.
    pub html: Bytes,
    /// Number of objects on each server. Default 25.
    pub per_server: u32,
    /// Size of an object in bytes. Default 25KB.
    pub size: Bytes,
}

impl Default for Uniform {
    fn default() -> Self {
        Self { html: Bytes(100_000), per_server: 25, size: Bytes(25_000) }
    }
}

/// A page of objects with log-normal sizes, scaled to a total (CableLabs 2012 Appendix A).
///
/// The size of object i in bytes is `round(k 10^x_i)`, but at least 1. Here `x_i` is drawn from a normal distribution
/// with mean `log10_mean` and standard deviation `log10_sd`, and `k = total / (10^x_1 + ... + 10^x_n)`, so that the
/// sizes add up to `total`, apart from rounding. Objects are assigned to the servers in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lognormal {
    /// Size of the HTML file in bytes. Default 102400.
    pub html: Bytes,
    /// Number of objects on all servers together. Default 100.
    pub objects: u32,
    /// Mean of the decimal logarithm of the size in bytes, before scaling. Default 3.34.
    pub log10_mean: f64,
    /// Standard deviation of the decimal logarithm of the size. Default 0.84.
    pub log10_sd: f64,
    /// Sum of the sizes of all objects of a page. Default 614400.
    pub total: Bytes,
    /// Time at which the sizes are drawn: only before the first page (`once`), or again before each page (`each_page`).
    /// Appendix A lists a single set of sizes, which corresponds to `once`. Default `once`.
    pub draw: Draw,
}

impl Default for Lognormal {
    fn default() -> Self {
        Self {
            html: Bytes(LISTED_HTML),
            objects: 100,
            log10_mean: 3.34,
            log10_sd: 0.84,
            total: Bytes(614_400),
            draw: Draw::Once,
        }
    }
}

/// Time at which the sizes of a log-normal page are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Drawn once in a run, before the first page.
    #[default]
    Once,
    /// The sizes are drawn again before each page.
    EachPage,
}

/// Order in which the client opens the first connections for a page's objects. All of them open at the same time, when
/// the html is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpenOrder {
    /// One connection to each server opens first, then a second one to each server, and so on. If a full queue drops
    /// the last SYNs, these losses are spread over the servers.
    #[default]
    Interleaved,
    /// All connections to server 1 open first, then all to server 2, and so on. If a full queue drops the last SYNs,
    /// these losses affect only the last servers.
    ByServer,
}

/// Start of the measured time of a page load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeasureFrom {
    /// The user's click, when the connection for the HTML file is opened.
    #[default]
    Open,
    /// The time when the client's connection for the HTML file is established and the GET leaves.
    Connected,
}

/// Interpretation of "until 25 objects have been retrieved from each server" (CableLabs 2012).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quota {
    /// The client requests each object once, and again after a failure with `retry`. The page is complete when no
    /// transfer is in progress or waiting for a retry.
    #[default]
    Asked,
    /// The page is complete when the client has received n objects from each server with n objects. When every object
    /// of a server has been requested, idle connections request the objects again, starting with the first. The
    /// repeated objects count, too. So if one connection is stuck in its handshake, the server's other connections
    /// complete the page. Transfers that are still in progress when the page is complete do not count towards it.
    Retrieved,
}

/// Web browsing: one user, one page at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebParams {
    /// Objects of a page: `{ uniform = {...} }`, `"listed"` or `{ lognormal = {...} }`. Default `uniform`.
    pub page: Page,
    /// Number of servers. The application's `to` must name at least as many. Default 4.
    pub servers: u32,
    /// Number of the server that has the HTML file, counted from 1. Default 1.
    pub html_server: u32,
    /// Number of parallel connections to each server. Each connection fetches one object at a time. Default 6.
    pub connections_per_server: u32,
    /// Size of a GET in bytes of payload. CableLabs 2012 does not state this size. Default 250.
    pub request: Bytes,
    /// Mean pause between the end of a page load and the start of the next page. Default 5s.
    pub think: Duration,
    /// Largest deviation of a pause from `think`. Each pause is drawn uniformly from `think` ± `think_spread`. Default:
    /// a fifth of `think`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_spread: Option<Duration>,
    /// Number of pages; omitted: until the end of the run.
    pub pages: Option<u64>,
    /// If true, each parallel connection stays open for the whole page, and fetches one object after another. If false,
    /// each object has its own connection. With `false`, results are closer to those of CableLabs 2012 (see the study
    /// `cablelabs2012`). Default false.
    pub persistent: bool,
    /// Determines when the client stops requesting objects from a server with n objects: after n requests (`asked`), or
    /// when n objects have arrived (`retrieved`). CableLabs 2012 says "until 25 objects have been retrieved from each
    /// server". Both readings are possible. Default `asked`.
    pub quota: Quota,
    /// Order in which the connections open: `interleaved` or `by_server`. Default `interleaved`.
    pub open_order: OpenOrder,
    /// Start of the page load time: the connection for the HTML file is opened (`open`), or it is established
    /// (`connected`). Default `open`.
    pub measure_from: MeasureFrom,
    /// Response to a connection that fails: `retry` or `give_up`. Default `retry`.
    pub on_failure: OnFailure,
}

impl Default for WebParams {
    fn default() -> Self {
        Self {
            page: Page::default(),
            servers: 4,
            html_server: 1,
            connections_per_server: 6,
            request: Bytes(250),
            think: Duration::from_secs(5),
            think_spread: None,
            pages: None,
            persistent: false,
            quota: Quota::default(),
            open_order: OpenOrder::default(),
            measure_from: MeasureFrom::default(),
            on_failure: OnFailure::default(),
        }
    }
}

impl WebParams {
    /// Returns the number of objects in a whole page, excluding the html. [`Host::page_loaded`](crate::Host::page_loaded) reports
    /// this number for a loaded page.
    pub fn objects_per_page(&self) -> u32 {
        match &self.page {
            Page::Uniform(u) => u.per_server * self.servers,
            Page::Listed => 100,
            Page::Lognormal(l) => l.objects,
        }
    }

    /// Returns the maximum deviation of a pause from `think`.
    pub(super) fn spread(&self) -> Duration {
        self.think_spread.unwrap_or(Duration(self.think.0 / 5))
    }
}

impl Lognormal {
    /// Draws the object sizes of one page, by server.
    pub(super) fn draw(&self, servers: usize, rng: &mut Rng) -> Vec<Vec<u64>> {
        let raw: Vec<f64> =
            (0..self.objects).map(|_| math::pow(10.0, math::normal(rng, self.log10_mean, self.log10_sd))).collect();
        let k = self.total.0 as f64 / raw.iter().sum::<f64>();
        let mut sizes = vec![Vec::new(); servers];
        for (i, x) in raw.iter().enumerate() {
            sizes[i % servers].push(((k * x + 0.5) as u64).max(1));
        }
        sizes
    }
}
