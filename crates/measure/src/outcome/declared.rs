//! The declarations of the summary's keys, collected from the lists that produce the keys.

use super::{apps, graded, links, summary};
use packet::{Better, Kind, Measure, Unit};

/// The declaration of a summary key, or of all summary keys that match one path with `*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Path of the key, such as `links.*.sojourn_ms.p99`; `*` stands for any name.
    pub path: String,
    /// Human-readable name without the unit. A `*` in the name stands for the text that the second `*` of `path`
    /// matches.
    pub words: String,
    /// Unit of the values.
    pub unit: Unit,
    /// The direction in which values improve.
    pub better: Better,
    /// Minimum difference that matters.
    pub least: f64,
    /// Rank of this measure among those that users notice most (1 is the first); `None` if the measure has no rank.
    pub rank: Option<u8>,
    /// Description; an empty string for a statistic that its name already describes.
    pub doc: &'static str,
    /// The keys nested under this key. Only keys without parts have a value of their own.
    pub parts: Vec<Declared>,
}

/// The measures in the summary, by place, except those declared in [`traffic::APPS`]. Each entry has the path under which
/// its measures appear, a prefix for their human-readable names, and one or more lists of these measures.
const PLACES: &[(&str, &str, &[&[Measure]])] = &[
    ("", "", &[summary::RUN]),
    (
        "latency.",
        "",
        &[graded::LATENCY, graded::HIGH_PERCENTILE, graded::PER_MINUTE, graded::SCALE, graded::BACKGROUND],
    ),
    ("links.*.", "", &[links::LINK, links::RECORDED]),
    ("links.*.classes.*.", "classes, *, ", &[links::CLASS, links::MARKING_CLASS]),
    ("links.*.grants.*.", "grants, *, ", &[links::GRANTS]),
    ("links.*.delivery.", "", &[links::DELIVERY]),
    ("apps.*.", "", &[apps::APP, apps::MARKED, apps::SEVERAL]),
    ("apps.*.flow_goodput_mbit.each.", "flow goodput, each, ", &[apps::EACH_FLOW]),
    ("apps.*.", "", &[apps::DATAGRAMS]),
    ("apps.*.files.", "", &[apps::FILES]),
    ("apps.*.voip.", "", &[apps::VOIP]),
    ("apps.*.voip_reverse.", "voip back, ", &[apps::VOIP]),
    ("apps.*.game.up.", "up, ", &[apps::GAME]),
    ("apps.*.game.down.", "down, ", &[apps::GAME]),
    ("apps.*.ping.", "", &[apps::PING, apps::ONE_BY_ONE]),
    ("apps.*.rpm.", "", &[apps::RPM_CLASS]),
    ("apps.*.web.", "", &[apps::WEB]),
    ("live.", "", &[summary::LIVE]),
];

/// Returns the declared keys of the summary: all of its keys, except some of `live`, such as `live.kernel`.
pub fn declared() -> Vec<Declared> {
    let machines = traffic::APPS.iter().map(|app| (format!("apps.*.{}.", app.name), "", app.measures));
    let places = PLACES.iter().map(|(path, words, lists)| ((*path).to_owned(), *words, *lists));
    let lists = places.chain(machines).flat_map(|(path, words, lists)| {
        lists.iter().copied().flatten().map(move |m| (format!("{path}{}", m.key), format!("{words}{}", m.words), m))
    });
    lists.map(|(path, words, m)| declare(path, words, m, Kind::ONE)).collect()
}

/// Declares a measure and its statistics. `above` is the kind of the parent measure. If a measure's own kind does not
/// state a unit or the direction in which values improve, the measure inherits it from `above`.
fn declare(path: String, words: String, m: &Measure, above: Kind) -> Declared {
    let unit = m.kind.unit.or(above.unit).unwrap_or(Unit::One);
    let better = m.kind.better.or(above.better).unwrap_or(Better::Neither);
    let kind = Kind { unit: Some(unit), better: Some(better), ..m.kind };
    let part = |p: &Measure| declare(format!("{path}.{}", p.key), format!("{words}, {}", p.words), p, kind);
    Declared {
        unit,
        better,
        least: m.kind.least.unwrap_or(unit.least()),
        rank: match (m.kind.rank, above.rank) {
            (Some((place, "")), _) => Some(place),
            (_, Some((place, statistic))) if statistic == m.key => Some(place),
            _ => None,
        },
        doc: m.doc,
        parts: m.parts.iter().map(part).collect(),
        path,
        words,
    }
}
