//! The class of a packet, from its protocol, code point, ECN field, ports, addresses or flow.
//!
//! ```text
//!   a match holds a packet   iff   every list in it contains the packet's value (a list that is left out contains every value)
//!   class of a packet        =     the class of the narrowest match that holds it
//! ```
//!
//! A match is narrower than another if its packets are a proper subset of the other's packets. Two matches that share
//! packets are refused if neither is narrower than the other, because they are ambiguous. Matches that leave packets
//! without a class are refused too.
//!
//! Source: MMCN 1999 (TCP, tagged UDP, all others).   Departs: this paper does not specify how classes are configured.

use crate::Context;
use packet::{FlowTuple, PacketMeta, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Problem, ensure};

/// Maximum number of classes per queue.
const MAX_CLASSES: usize = 64;

/// Transport protocols by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// ICMP.
    Icmp,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Transport {
    const ALL: [Self; 3] = [Self::Icmp, Self::Tcp, Self::Udp];

    fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::ICMP => Self::Icmp,
            Protocol::TCP => Self::Tcp,
            _ => Self::Udp,
        }
    }
}

/// ECN fields by name.   Source: RFC 3168 §5; RFC 9331 §2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnField {
    /// Not ECN-capable.
    NotEct,
    /// ECT(1): L4S.
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl EcnField {
    /// All ECN fields, indexed by the two bits of the field.
    const ALL: [Self; 4] = [Self::NotEct, Self::Ect1, Self::Ect0, Self::Ce];

    fn of(tos: u8) -> Self {
        Self::ALL[usize::from(tos & 3)]
    }
}

/// The packets that belong to a class, or that a filter matches. Each key is a list of allowed values of one property,
/// such as the protocol. A packet matches if every list contains the packet's own value. A list that is missing or
/// empty allows every value. A packet that matches several classes belongs to the class with the narrowest match. Match
/// A is narrower than match B if B contains all packets of A, and more. Classes whose matches have packets in common
/// are refused if neither match is narrower. Filters may overlap: the first filter that matches a packet applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    /// Transport protocols: tcp, udp, icmp. In live runs, udp also matches all other protocols.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocol: Vec<Transport>,
    /// Code points (DSCPs), 0 to 63.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<u8>,
    /// ECN fields: not_ect, ect0, ect1, ce. L4S traffic is ect1 and ce (RFC 9331).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ecn: Vec<EcnField>,
    /// Source ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sport: Vec<u16>,
    /// Destination ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dport: Vec<u16>,
    /// Source addresses, as 32-bit numbers: 167772161 is 10.0.0.1. In a simulation, nodes have the addresses 10.0.0.0,
    /// 10.0.0.1 and so on, in the order of their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub src: Vec<u32>,
    /// Destination addresses, written like `src`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dst: Vec<u32>,
    /// Numbers of flows. Flows are numbered in the order in which they begin, from 0. In a simulation, a new connection
    /// may get the number of a connection that has ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<u32>,
}

/// Returns the names and matches of MMCN 1999's classes: TCP, tagged datagrams (video AF41, voice EF), all others.
pub(super) fn mmcn1999() -> [(String, Match); 3] {
    let tcp = Match { protocol: vec![Transport::Tcp], ..Match::default() };
    let datagrams = vec![Transport::Udp, Transport::Icmp];
    let tagged = Match { protocol: datagrams, dscp: vec![34, 46], ..Match::default() };
    [("tcp".into(), tcp), ("tagged".into(), tagged), ("other".into(), Match::default())]
}

/// Returns true if the list is empty or contains the value.
fn has<T: PartialEq>(list: &[T], value: T) -> bool {
    list.is_empty() || list.contains(&value)
}

/// The relation between two lists. An empty list stands for all values.
#[derive(Clone, Copy)]
struct Relation {
    /// True if every value of the first list is in the second.
    inside: bool,
    /// True if every value of the second list is in the first.
    around: bool,
    /// True if no value is in both lists.
    apart: bool,
}

fn relate<T: PartialEq>(a: &[T], b: &[T]) -> Relation {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => Relation { inside: true, around: true, apart: false },
        (true, false) => Relation { inside: false, around: true, apart: false },
        (false, true) => Relation { inside: true, around: false, apart: false },
        (false, false) => Relation {
            inside: a.iter().all(|x| b.contains(x)),
            around: b.iter().all(|x| a.contains(x)),
            apart: a.iter().all(|x| !b.contains(x)),
        },
    }
}

impl Match {
    /// Returns true if the match holds a packet with these values. `tuple` is the 5-tuple in the packet's own direction
    /// (its source is the packet's sender), `tos` is the DSCP and ECN byte, and `slot` is the number of the packet's
    /// flow.
    pub(crate) fn holds(&self, tuple: &FlowTuple, tos: u8, slot: usize) -> bool {
        has(&self.protocol, Transport::of(tuple.protocol))
            && has(&self.dscp, tos >> 2)
            && has(&self.ecn, EcnField::of(tos))
            && has(&self.dport, tuple.dport)
            && has(&self.sport, tuple.sport)
            && has(&self.src, tuple.src)
            && has(&self.dst, tuple.dst)
            && (self.flow.is_empty() || self.flow.iter().any(|&f| f as usize == slot))
    }

    fn relations(&self, other: &Self) -> [Relation; 8] {
        [
            relate(&self.protocol, &other.protocol),
            relate(&self.dscp, &other.dscp),
            relate(&self.ecn, &other.ecn),
            relate(&self.sport, &other.sport),
            relate(&self.dport, &other.dport),
            relate(&self.src, &other.src),
            relate(&self.dst, &other.dst),
            relate(&self.flow, &other.flow),
        ]
    }

    /// Returns true if the match holds every packet with this protocol, code point and ECN field, regardless of the
    /// packet's ports, addresses and flow.
    fn holds_all_of(&self, protocol: Transport, dscp: u8, ecn: EcnField) -> bool {
        let free = self.sport.is_empty() && self.dport.is_empty() && self.src.is_empty() && self.dst.is_empty();
        free && self.flow.is_empty() && has(&self.protocol, protocol) && has(&self.dscp, dscp) && has(&self.ecn, ecn)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Classifier {
    /// The matches with the indices of their classes. A narrower match comes before every match that contains it.
    order: Vec<(u8, Match)>,
}

impl Classifier {
    /// Creates a classifier from valid matches: see [`Classifier::validate`].
    pub(crate) fn new<'a>(matches: impl Iterator<Item = &'a Match>) -> Self {
        let mut order: Vec<(u8, Match)> = Vec::new();
        for (i, m) in matches.enumerate() {
            // inserts the match in front of the first match that contains it. No earlier match contains it, and of two
            // valid matches that share packets, one contains the other. So every earlier match is narrower or shares no
            // packets with it
            let at = order.iter().position(|(_, o)| m.relations(o).iter().all(|r| r.inside)).unwrap_or(order.len());
            order.insert(at, (i as u8, m.clone()));
        }
        Self { order }
    }

    /// Returns the class of `packet`. If the matches are valid, every packet has a class. If they are not, a packet
    /// that no match holds belongs to the class of the last match in `order`.
    #[inline]
    pub(crate) fn classify(&self, packet: &PacketMeta, cx: &Context<'_>) -> u8 {
        let (tuple, slot) = (packet.tuple(cx.flows), packet.flow.slot());
        let found = self.order.iter().find(|(_, m)| m.holds(&tuple, packet.tos, slot)).or(self.order.last());
        found.map_or(0, |(class, _)| *class)
    }

    /// Checks the names and matches of classes.   Errors: no class or more than `MAX_CLASSES`, an empty or duplicate
    /// name, a code point above 63, an ambiguity, or packets without a class.
    pub(crate) fn validate<'a>(classes: impl Iterator<Item = (&'a str, &'a Match)>) -> Result<(), Problem> {
        let classes: Vec<(&str, &Match)> = classes.collect();
        let n = classes.len();
        ensure!((1..=MAX_CLASSES).contains(&n), "classes", "{n} classes are not valid; expected 1 to {MAX_CLASSES}");
        for (i, (name, m)) in classes.iter().enumerate() {
            let at = |field: &str| format!("classes.{i}.{field}");
            let own = !name.is_empty() && classes[..i].iter().all(|(other, _)| other != name);
            ensure!(own, at("name"), "\"{name}\" is not valid; expected a name of its own");
            for dscp in &m.dscp {
                ensure!(*dscp <= 63, at("match.dscp"), "{dscp} is not valid; expected 0 to 63");
            }
            for (other, o) in &classes[..i] {
                if let Some(why) = ambiguous(&m.relations(o)) {
                    let message = format!(
                        "{why} \"{other}\" and \"{name}\"; expected one to contain the other, or no packets in common"
                    );
                    return Err(Problem::new(at("match"), message));
                }
            }
        }
        covered(&classes)
    }
}

fn ambiguous(relations: &[Relation]) -> Option<&'static str> {
    let (inside, around) = (relations.iter().all(|r| r.inside), relations.iter().all(|r| r.around));
    if inside && around {
        Some("the same packets belong to")
    } else if inside || around || relations.iter().any(|r| r.apart) {
        None
    } else {
        Some("some packets belong to both")
    }
}

/// Checks that every packet has a class. A match that lists ports, addresses or flows is ignored in this check, even if
/// its lists name every value.
fn covered(classes: &[(&str, &Match)]) -> Result<(), Problem> {
    for protocol in Transport::ALL {
        for (dscp, ecn) in (0..64).flat_map(|dscp| EcnField::ALL.map(|ecn| (dscp, ecn))) {
            let found = classes.iter().any(|(_, m)| m.holds_all_of(protocol, dscp, ecn));
            ensure!(
                found,
                "classes",
                "a {} packet with code point {dscp} may have no class; add a class with match = {{}} for all others",
                format!("{protocol:?}").to_lowercase()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(texts: &[&str]) -> Vec<(String, Match)> {
        texts.iter().enumerate().map(|(i, t)| (format!("c{i}"), serde_json::from_str(t).unwrap())).collect()
    }

    fn check(texts: &[&str]) -> Result<(), Problem> {
        Classifier::validate(named(texts).iter().map(|(n, m)| (n.as_str(), m)))
    }

    fn class_of(texts: &[&str], tuple: FlowTuple, dscp: u8, slot: usize) -> u8 {
        let classes = named(texts);
        let c = Classifier::new(classes.iter().map(|(_, m)| m));
        c.order.iter().find(|(_, m)| m.holds(&tuple, dscp << 2, slot)).unwrap().0
    }

    const MMCN_1999: [&str; 3] = [r#"{"protocol":["tcp"]}"#, r#"{"protocol":["udp","icmp"],"dscp":[34,46]}"#, "{}"];

    #[test]
    fn the_three_classes_of_mmcn_1999() {
        check(&MMCN_1999).unwrap();
        let tcp = FlowTuple::default();
        let udp = FlowTuple { protocol: Protocol::UDP, ..tcp };
        assert_eq!(class_of(&MMCN_1999, tcp, 0, 0), 0);
        // the code point 46 (EF) does not make a TCP packet a tagged datagram
        assert_eq!(class_of(&MMCN_1999, tcp, 46, 0), 0);
        assert_eq!(class_of(&MMCN_1999, udp, 34, 0), 1);
        assert_eq!(class_of(&MMCN_1999, udp, 0, 0), 2);
    }

    #[test]
    fn ecn_fields_choose_a_class() {
        // the first class is L4S: ECT(1) and CE
        let texts = [r#"{"ecn":["ect1","ce"]}"#, r#"{"protocol":["udp"],"dscp":[45],"ecn":["not_ect","ect0"]}"#, "{}"];
        check(&texts).unwrap();
        let classes = named(&texts);
        let c = Classifier::new(classes.iter().map(|(_, m)| m));
        let udp = FlowTuple { protocol: Protocol::UDP, ..FlowTuple::default() };
        let class = |tos| c.order.iter().find(|(_, m)| m.holds(&udp, tos, 0)).unwrap().0;
        // the ECN field takes the values 0 to 3, which are Not-ECT, ECT(1), ECT(0) and CE; the DSCP is 0 in the first
        // assertion and 45 in the second
        assert_eq!([0, 1, 2, 3].map(class), [2, 0, 2, 0]);
        assert_eq!([0, 1, 2, 3].map(|ecn| class(45 << 2 | ecn)), [1, 0, 1, 0]);
        // refused, because an ECT(0) packet would have no class
        assert_eq!(check(&[r#"{"ecn":["ect1","ce","not_ect"]}"#]).unwrap_err().path, "classes");
        check(&[r#"{"ecn":["ect1","ce"]}"#, r#"{"ecn":["ect0","not_ect"]}"#]).unwrap();
        assert!(serde_json::from_str::<Match>(r#"{"ecn":["ect2"]}"#).unwrap_err().to_string().contains("ect1"));
    }

    #[test]
    fn the_most_specific_match_wins_in_any_order() {
        let texts = [
            "{}",
            r#"{"dport":[5004]}"#,
            r#"{"protocol":["udp"],"dport":[5004]}"#,
            r#"{"dport":[5004],"flow":[7],"protocol":["udp"]}"#,
        ];
        let tuple = |protocol, dport| FlowTuple { protocol, dport, ..FlowTuple::default() };
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
            let shuffled = order.map(|i| texts[i]);
            check(&shuffled).unwrap();
            let got = |t, slot| order[usize::from(class_of(&shuffled, t, 0, slot))];
            assert_eq!(got(tuple(Protocol::UDP, 80), 7), 0);
            assert_eq!(got(tuple(Protocol::TCP, 5004), 7), 1);
            assert_eq!(got(tuple(Protocol::UDP, 5004), 1), 2);
            assert_eq!(got(tuple(Protocol::UDP, 5004), 7), 3);
        }
    }

    #[test]
    fn what_is_ambiguous_or_leaves_a_gap_is_refused() {
        // a TCP packet with code point 46 would belong to the first two classes
        let p = check(&[r#"{"protocol":["tcp"]}"#, r#"{"dscp":[46]}"#, "{}"]).unwrap_err();
        assert_eq!(p.path, "classes.1.match");
        assert!(p.message.contains("both \"c0\" and \"c1\""), "{p}");
        assert!(check(&["{}", "{}"]).unwrap_err().message.contains("the same packets"));
        // both classes match code point 6, and neither contains the other
        assert!(check(&[r#"{"dscp":[5,6]}"#, r#"{"dscp":[6,7]}"#, "{}"]).is_err());
        let p = check(&[r#"{"protocol":["tcp"]}"#, r#"{"protocol":["udp"]}"#]).unwrap_err();
        assert!(p.message.contains("icmp") && p.message.contains("match = {}"), "{p}");
        assert!(check(&[r#"{"protocol":["tcp","udp","icmp"],"dport":[80]}"#]).is_err());
        // these two classes cover all protocols, so every packet has a class
        check(&[r#"{"protocol":["tcp"]}"#, r#"{"protocol":["udp","icmp"]}"#]).unwrap();
        assert_eq!(check(&[r#"{"dscp":[64]}"#, "{}"]).unwrap_err().path, "classes.0.match.dscp");
        assert_eq!(check(&[]).unwrap_err().path, "classes");
        assert_eq!(check(&["{}"; 65]).unwrap_err().path, "classes");
        assert!(serde_json::from_str::<Match>(r#"{"prot":["tcp"]}"#).unwrap_err().to_string().contains("prot"));
    }
}
