//! Grading of the delay added under load: `[grade]`.
//!
//! ```text
//! [grade]
//! scale = "waveform"
//!
//! [grade]
//! scale = [{ grade = "play", below = "30ms" }, { grade = "talk", below = "150ms" }, { grade = "wait" }]
//! ```
//!
//! [`measure::SCALES`] lists the scales that have a name, with the grades and the graded quantity of each.

use crate::nearest::unknown;
use measure::{SCALES, Scale};
use schemars::JsonSchema;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use units::{Duration, Problem, shown};

/// Maximum number of grades in a scale.
const MOST: usize = 26;
/// Maximum number of characters in a grade, so that it fits a column of a table.
const LONGEST: usize = 24;

/// How to grade the delay that the traffic adds. Without this table, the scale is `p99`. The scale changes the grades
/// and the measures of this delay, but not the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grade {
    /// The scale: the name of a scale below, or your own list of grades, best first.
    pub scale: Choice,
}

/// A scale by name, or a user-defined scale.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// One of [`measure::SCALES`].
    Named(&'static Scale),
    /// A list of grades, best first.
    Own(Vec<OwnGrade>),
}

/// A grade of your own scale. Your scale grades the added delay: the mean round trip after the warm-up minus the
/// minimum round trip of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnGrade {
    /// Name of the grade: a letter or a word.
    pub grade: String,
    /// The grade applies to added delays below this limit. Every grade except the last needs a limit. The last grade
    /// covers all other delays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Duration>,
}

const CHOICE: &str =
    "the name of a scale, or a list of grades such as [{ grade = \"good\", below = \"50ms\" }, { grade = \"bad\" }]";

impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(scale) => s.serialize_str(scale.name),
            Self::Own(grades) => grades.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Choice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(CHOICE)
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Choice, E> {
                let known: Vec<&str> = SCALES.iter().map(|scale| scale.name).collect();
                Scale::named(name).map(Choice::Named).ok_or_else(|| E::custom(unknown("scale", name, &known)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Choice, A::Error> {
                let mut grades = Vec::new();
                while let Some(grade) = list.next_element()? {
                    grades.push(grade);
                }
                Ok(Choice::Own(grades))
            }
        }
        d.deserialize_any(V)
    }
}

impl JsonSchema for Choice {
    fn schema_name() -> Cow<'static, str> {
        "Scale".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names = SCALES
            .iter()
            .map(|scale| serde_json::json!({ "type": "string", "const": scale.name, "description": scale.words }));
        let own = serde_json::json!({
            "type": "array", "description": "grades of your own", "items": generator.subschema_for::<OwnGrade>(),
        });
        schemars::json_schema!({ "description": CHOICE, "oneOf": names.chain([own]).collect::<Vec<_>>() })
    }
}

impl Grade {
    pub(crate) fn scale(&self) -> Scale {
        let band = |own: &OwnGrade| measure::Band {
            grade: own.grade.clone().into(),
            below: own.below.map_or(f64::INFINITY, Duration::millis),
        };
        match &self.scale {
            Choice::Named(scale) => (*scale).clone(),
            Choice::Own(grades) => Scale::own(grades.iter().map(band).collect()),
        }
    }

    /// Checks a user-defined scale. Adds a problem if the number of grades is invalid, otherwise the first problem of
    /// each grade.
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        let Choice::Own(grades) = &self.scale else { return };
        if grades.is_empty() || grades.len() > MOST {
            let n = if grades.is_empty() { "an empty list".to_owned() } else { format!("a list of {}", grades.len()) };
            let message = format!("{n} is not valid; expected 1 to {MOST} grades, or the name of a scale");
            problems.push(Problem::new("grade.scale", message));
            return;
        }
        let mut least = Duration::ZERO;
        for (i, own) in grades.iter().enumerate() {
            let last = i + 1 == grades.len();
            let wrong = if own.grade.is_empty()
                || own.grade.chars().count() > LONGEST
                || own.grade.chars().any(char::is_control)
            {
                let message = format!("\"{}\" is not valid; expected 1 to {LONGEST} characters", shown(&own.grade));
                Some(("grade", message))
            } else if grades[..i].iter().any(|other| other.grade == own.grade) {
                Some(("grade", format!("\"{}\" is listed twice", shown(&own.grade))))
            } else {
                match own.below {
                    None if !last => Some(("below", "is missing; only the last grade has no limit".to_owned())),
                    Some(below) if last => Some((
                        "below",
                        format!("{below} is not valid; the last grade has no limit, because it covers the rest"),
                    )),
                    Some(below) if below <= least => {
                        let more =
                            if i == 0 { "0s".to_owned() } else { format!("{least}, the limit of the previous grade") };
                        Some(("below", format!("{below} is not valid; expected more than {more}")))
                    }
                    _ => None,
                }
            };
            least = own.below.unwrap_or(least);
            problems.extend(wrong.map(|(key, message)| Problem::new(format!("grade.scale.{i}.{key}"), message)));
        }
    }
}
