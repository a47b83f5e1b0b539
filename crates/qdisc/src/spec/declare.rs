//! The macro behind the list of disciplines: what each line of it becomes.

/// Declares every discipline once: the scenario's enum, the running enum and the list come from the same lines.
///
/// A line under `law` makes two things: the stand-alone discipline (one FIFO under that law, `single::Managed`) and a
/// variant of `LawSpec` and `AnyLaw`, which every fair discipline can host.
///
/// The running `Discipline` is a closed enum rather than a `Box<dyn>`: the set is closed by `Spec` anyway, the hot path
/// inlines behind one predictable branch, and a queue stays `Clone` and `PartialEq` (rule 4).
macro_rules! disciplines {
    (
        single { $($s:tt)* }
        law { $($law:literal $Law:ident($LawParams:ty), $LawKind:ident, $lsource:literal, $lsummary:literal;)+ }
        others { $($o:tt)* }
        outside { $out:literal $Out:ident($OutParams:ty), $OutKind:ident, $osource:literal, $osummary:literal; }
    ) => {
        disciplines! { @all
            { $($s)* }
            { $($law $Law($LawParams), $LawKind, $lsource, $lsummary;)+ }
            { $($o)* }
            outside { $out $Out($OutParams), $OutKind, $osource, $osummary; }
        }

        #[derive(Deserialize, JsonSchema)]
        #[allow(missing_docs)]
        enum LawTable {
            $(
                #[doc = $lsummary]
                #[serde(rename = $law)]
                $Law($LawParams),
            )+
            #[doc = $osummary]
            #[serde(rename = $out)]
            $Out($OutParams),
        }

        /// The law of each queue of a fair discipline, as a scenario writes it: `law = { codel = { target = "5ms" } }`, or
        /// `law = "codel"` for the defaults, or `law = "none"`.
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub enum LawSpec {
            /// No early drops.
            #[default]
            #[serde(rename = "none")]
            None,
            $(
                #[doc = $lsummary]
                #[serde(rename = $law)]
                $Law($LawParams),
            )+
            #[doc = $osummary]
            #[serde(rename = $out)]
            $Out($OutParams),
        }

        impl From<LawTable> for LawSpec {
            fn from(table: LawTable) -> Self {
                match table { $(LawTable::$Law(p) => Self::$Law(p),)+ LawTable::$Out(p) => Self::$Out(p) }
            }
        }

        impl LawSpec {
            /// The names there are, apart from the law from outside, which has no defaults.
            pub const NAMES: &'static [&'static str] = &["none", $($law,)+];

            /// The law of this name, with its defaults.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    "none" => Some(Self::None),
                    $($law => Some(Self::$Law(Default::default())),)+
                    $out => Some(Self::$Out(Default::default())),
                    _ => None,
                }
            }
            /// Name in a scenario.
            pub fn name(&self) -> &'static str {
                match self { Self::None => "none", $(Self::$Law(_) => $law,)+ Self::$Out(_) => $out }
            }
            /// The first thing that is wrong, with its path (`codel.target`); the law's own `limit`, if set, included.
            pub fn validate(&self) -> Result<(), Problem> {
                let problem = match self {
                    Self::None => Ok(()),
                    $(Self::$Law(p) => LawParams::validate(p),)+
                    Self::$Out(p) => LawParams::validate(p),
                };
                problem.and_then(|()| self.limit().map_or(Ok(()), |l| crate::Room::validate(l, false)))
                    .map_err(|p| p.under(self.name()))
            }
            /// A law that has seen nothing. Only valid parameters are built.
            pub fn law(&self) -> AnyLaw {
                match self {
                    Self::None => AnyLaw::None,
                    $(Self::$Law(p) => AnyLaw::$Law(LawParams::law(p)),)+
                    Self::$Out(p) => AnyLaw::$Out(LawParams::law(p)),
                }
            }
            /// Limit of each queue of its own; `None`: only what all share.
            pub fn limit(&self) -> Option<Limit> {
                match self { Self::None => None, $(Self::$Law(p) => LawParams::limit(p),)+ Self::$Out(p) => LawParams::limit(p) }
            }
        }

        /// Any law at run time, with its state: one per queue.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyLaw {
            /// No early drops.
            None,
            $(
                #[doc = $lsummary]
                $Law(<$LawParams as LawParams>::Law),
            )+
            #[doc = $osummary]
            $Out(<$OutParams as LawParams>::Law),
        }

        impl Law for AnyLaw {
            #[inline]
            fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
                match self { Self::None => Verdict::Pass, $(Self::$Law(l) => l.arrive(packet, view, rng),)+ Self::$Out(l) => l.arrive(packet, view, rng) }
            }
            #[inline]
            fn head(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
                match self { Self::None => Verdict::Pass, $(Self::$Law(l) => l.head(packet, view, rng),)+ Self::$Out(l) => l.head(packet, view, rng) }
            }
            #[inline]
            fn left(&mut self, packet: &PacketMeta, view: &View<'_>) {
                match self { Self::None => {} $(Self::$Law(l) => l.left(packet, view),)+ Self::$Out(l) => l.left(packet, view) }
            }
            #[inline]
            fn empty(&mut self, now: Time) {
                match self { Self::None => {} $(Self::$Law(l) => l.empty(now),)+ Self::$Out(l) => l.empty(now) }
            }
            #[inline]
            fn at_rest(&mut self, now: Time) -> bool {
                match self { Self::None => true, $(Self::$Law(l) => l.at_rest(now),)+ Self::$Out(l) => l.at_rest(now) }
            }
            #[inline]
            fn overflow(&mut self, now: Time) {
                match self { Self::None => {} $(Self::$Law(l) => l.overflow(now),)+ Self::$Out(l) => l.overflow(now) }
            }
            #[inline]
            fn next_tick(&self) -> Option<Time> {
                match self { Self::None => None, $(Self::$Law(l) => l.next_tick(),)+ Self::$Out(l) => l.next_tick() }
            }
            #[inline]
            fn tick(&mut self, view: &View<'_>) {
                match self { Self::None => {} $(Self::$Law(l) => l.tick(view),)+ Self::$Out(l) => l.tick(view) }
            }
            fn probe(&self, out: &mut Reading<'_>) {
                match self { Self::None => {} $(Self::$Law(l) => l.probe(out),)+ Self::$Out(l) => l.probe(out) }
            }
        }
    };
    (
        @all $({ $($name:literal $Variant:ident($Params:ty), $Kind:ident, $source:literal, $summary:literal;)* })+
        outside { $out:literal $Out:ident($OutParams:ty), $OutKind:ident, $osource:literal, $osummary:literal; }
    ) => {
        #[derive(Deserialize, JsonSchema)]
        #[allow(missing_docs)]
        enum SpecTable {
            $($(
                #[doc = $summary]
                #[serde(rename = $name)]
                $Variant($Params),
            )*)+
            #[doc = $osummary]
            #[serde(rename = $out)]
            $Out($OutParams),
        }

        /// A queue discipline and its parameters, as a scenario writes it: `codel = { target = "5ms" }`; or the word
        /// `"codel"` for its defaults; or `"sfq_hss + codel"`, a fair discipline and the law of its queues.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub enum Spec {
            $($(
                #[doc = $summary]
                #[serde(rename = $name)]
                $Variant($Params),
            )*)+
            #[doc = $osummary]
            #[serde(rename = $out)]
            $Out($OutParams),
        }

        impl From<SpecTable> for Spec {
            fn from(table: SpecTable) -> Self {
                match table { $($(SpecTable::$Variant(p) => Self::$Variant(p),)*)+ SpecTable::$Out(p) => Self::$Out(p) }
            }
        }

        impl Spec {
            const NAMES: &'static [&'static str] = &[$($($name,)*)+];

            /// The discipline of this name, with its defaults.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($($name => Some(Self::$Variant(Default::default())),)*)+
                    $out => Some(Self::$Out(Default::default())),
                    _ => None,
                }
            }
            /// Name in a scenario.
            pub fn name(&self) -> &'static str {
                match self { $($(Self::$Variant(_) => $name,)*)+ Self::$Out(_) => $out }
            }
            /// The first thing that is wrong, with its path (`codel.target`).
            pub fn validate(&self) -> Result<(), Problem> {
                match self { $($(Self::$Variant(p) => Params::validate(p),)*)+ Self::$Out(p) => Params::validate(p) }
                    .map_err(|p| p.under(self.name()))
            }
            /// Refuses what does not fit this sustained rate: a limit in time under which nothing could wait, a shaper that is
            /// faster. [`Spec::validate`] does the rest.
            pub fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
                match self { $($(Self::$Variant(p) => Params::validate_at(p, rate),)*)+ Self::$Out(p) => Params::validate_at(p, rate) }
                    .map_err(|p| p.under(self.name()))
            }
            /// The rate that the discipline itself keeps to; `None` for all that send as fast as they are asked.
            pub fn shapes(&self) -> Option<BitRate> {
                match self { $($(Self::$Variant(p) => Params::shapes(p),)*)+ Self::$Out(p) => Params::shapes(p) }
            }
            /// The discipline, empty. Call [`Spec::validate`] first: only valid parameters are built.
            pub fn build(&self) -> Discipline {
                match self {
                    $($(Self::$Variant(p) => Discipline::$Variant(Params::build(p)),)*)+
                    Self::$Out(p) => Discipline::$Out(Params::build(p)),
                }
            }
            /// The four parts of a fair discipline; `None` for any other.
            pub fn fair(&self) -> Option<fair::FairParams> {
                match self { $($(Self::$Variant(p) => Params::fair(p),)*)+ Self::$Out(p) => Params::fair(p) }
            }
            /// The same with `law` in each queue; `None` unless the discipline leaves its law open.
            pub fn with_law(self, law: LawSpec) -> Option<Self> {
                match self {
                    $($(Self::$Variant(p) => Params::with_law(p, law).map(Self::$Variant),)*)+
                    Self::$Out(p) => Params::with_law(p, law).map(Self::$Out),
                }
            }
            /// How much may wait in all; `None` where nothing bounds it.
            pub fn limit(&self) -> Option<Limit> {
                match self { $($(Self::$Variant(p) => Params::limit(p),)*)+ Self::$Out(p) => Params::limit(p) }
            }
        }

        /// Every discipline at run time.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Discipline {
            $($(
                #[doc = $summary]
                $Variant(<$Params as Params>::Discipline),
            )*)+
            #[doc = $osummary]
            $Out(<$OutParams as Params>::Discipline),
        }

        impl QueueDiscipline for Discipline {
            #[inline]
            fn enqueue(&mut self, packet: PacketMeta, cx: &mut Cx<'_>) {
                match self { $($(Self::$Variant(d) => d.enqueue(packet, cx),)*)+ Self::$Out(d) => d.enqueue(packet, cx) }
            }
            #[inline]
            fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<PacketMeta> {
                match self { $($(Self::$Variant(d) => d.dequeue(cx),)*)+ Self::$Out(d) => d.dequeue(cx) }
            }
            #[inline]
            fn next_wake(&self) -> Option<Time> {
                match self { $($(Self::$Variant(d) => d.next_wake(),)*)+ Self::$Out(d) => d.next_wake() }
            }
            fn wake(&mut self, cx: &mut Cx<'_>) {
                match self { $($(Self::$Variant(d) => d.wake(cx),)*)+ Self::$Out(d) => d.wake(cx) }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self { $($(Self::$Variant(d) => d.backlog(),)*)+ Self::$Out(d) => d.backlog() }
            }
            fn probe(&self, out: &mut Reading<'_>) {
                match self { $($(Self::$Variant(d) => d.probe(out),)*)+ Self::$Out(d) => d.probe(out) }
            }
            fn classes(&self) -> Vec<ClassProbe<'_>> {
                match self { $($(Self::$Variant(d) => d.classes(),)*)+ Self::$Out(d) => d.classes() }
            }
        }

        /// Every discipline there is, in the order of the list below.
        pub const QDISCS: &[Info] = &[
            $($(Info {
                name: $name,
                kind: Kind::$Kind,
                law: is_law($name),
                summary: $summary,
                source: $source,
                params: || schemars::schema_for!($Params),
            },)*)+
        ];

        /// The law that a user brings: no part of [`QDISCS`], as it has no defaults.
        pub const OUTSIDE: Info = Info {
            name: $out,
            kind: Kind::$OutKind,
            law: true,
            summary: $osummary,
            source: $osource,
            params: || schemars::schema_for!($OutParams),
        };
    };
}
