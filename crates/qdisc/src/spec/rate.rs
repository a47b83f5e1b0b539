//! The disciplines that are valid only on a link with a rate.

use super::Spec;
use crate::law::list::LawSpec;
use crate::law::pie::PieParams;
use units::Problem;

impl Spec {
    /// Returns the reason why the discipline cannot run on a link without a rate, such as a link that sends only at
    /// recorded times (`delivery`). Returns `None` if the discipline can run there.
    ///
    /// Three kinds of discipline are refused: those with a law that estimates the delay from a rate (DOCSIS-PIE uses
    /// the token buckets of its modem, and PIE can be set to use the departure rate); CBQ, whose classes have shares of
    /// the rate; and the queues of a DOCSIS 3.1 modem. All other disciplines can run there. Most of them measure how long
    /// packets wait, or count the packets or bytes that wait. The RED family and limits given as times use the link's
    /// mean rate.
    ///
    /// Source: RFC 8034 §4.2; RFC 8033 §5.2.
    pub fn needs_rate(&self) -> Option<Problem> {
        let problem = match self {
            Self::DocsisPie(_) => by_rate("docsis_pie"),
            Self::Pie(p) if p.measures_departures() => departures(p),
            Self::Cbq(_) => Problem::new(
                "",
                "its classes have shares of the link's rate, and this link has no rate; expected a fair discipline, such as \
                 \"fq_codel\"",
            ),
            _ if self.service_flows() => Problem::new(
                "",
                "its queues belong to a DOCSIS 3.1 modem (docsis31), which this link is not; expected \"dualpi2\"",
            ),
            _ => match self.fair()?.law {
                LawSpec::DocsisPie(_) => by_rate("docsis_pie").under("law"),
                LawSpec::Pie(p) if p.measures_departures() => {
                    departures(&p).under(if matches!(self, Self::FqPie(_)) { "pie" } else { "law.pie" })
                }
                _ => return None,
            },
        };
        Some(problem.under(self.name()))
    }
}

fn by_rate(name: &str) -> Problem {
    let message = format!(
        "{name} estimates the delay from the rate of its modem, and this link has no rate; expected a law that measures the \
         delay, \"pie\" or \"codel\""
    );
    Problem::new("", message)
}

fn departures(p: &PieParams) -> Problem {
    let path = if p.delay.is_some() { "delay" } else { "variant" };
    Problem::new(
        path,
        "the delay is estimated from the rate of departures, and this link has no rate; expected delay = \"timestamp\"",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_estimates_a_delay_from_a_rate() {
        let path =
            |text: &str| serde_json::from_value::<Spec>(text.parse().unwrap()).unwrap().needs_rate().map(|p| p.path);
        for (text, expected) in [
            (r#""docsis_pie""#, Some("docsis_pie")),
            (r#""sfq + docsis_pie""#, Some("sfq.law")),
            (r#"{"pie":{"variant":"draft2013"}}"#, Some("pie.variant")),
            (r#"{"pie":{"delay":"departure_rate"}}"#, Some("pie.delay")),
            (r#"{"fq_pie":{"pie":{"delay":"departure_rate"}}}"#, Some("fq_pie.pie.delay")),
            (r#"{"sfq":{"law":{"pie":{"delay":"departure_rate"}}}}"#, Some("sfq.law.pie.delay")),
            (r#"{"pie":{"variant":"draft2013","delay":"timestamp"}}"#, None),
            (r#""cbq""#, Some("cbq")),
            (r#""docsis_lld""#, Some("docsis_lld")),
            (r#""codel""#, None),
            (r#""pie""#, None),
            (r#""fq_pie""#, None),
            (r#""cake""#, None),
            (r#""dualpi2""#, None),
            (r#""red""#, None),
        ] {
            assert_eq!(path(text).as_deref(), expected, "{text}");
        }
    }
}
