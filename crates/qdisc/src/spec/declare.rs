//! The macro behind the list of disciplines.

/// Declares every discipline once: the scenario's enum, the running enum and the list are generated from the same lines.
///
/// The lines of laws come from `law/list.rs`: each law is also a stand-alone discipline (one FIFO under that law,
/// `single::Managed`).
///
/// The running `Discipline` is a closed enum rather than a `Box<dyn>`: the set is closed by `Spec` anyway, the hot path
/// inlines behind one predictable branch, and a queue stays `Clone` and `PartialEq`.
macro_rules! disciplines {
    (
        { single { $($s:tt)* } others { $($o:tt)* } }
        law { $($l:tt)* }
        outside { $($out:tt)* }
    ) => {
        disciplines! { @all
            { $($s)* }
            { $($l)* }
            { $($o)* }
            outside { $($out)* }
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
            /// Checks the parameters.   Errors: the first invalid one, with its path (`codel.target`).
            pub fn validate(&self) -> Result<(), Problem> {
                match self { $($(Self::$Variant(p) => Params::validate(p),)*)+ Self::$Out(p) => Params::validate(p) }
                    .map_err(|p| p.under(self.name()))
            }
            /// Refuses parameters that do not fit this sustained rate: a limit in time under which nothing could wait, or a
            /// faster shaper. [`Spec::validate`] checks the rest.
            pub fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
                match self { $($(Self::$Variant(p) => Params::validate_at(p, rate),)*)+ Self::$Out(p) => Params::validate_at(p, rate) }
                    .map_err(|p| p.under(self.name()))
            }
            /// The rate of the discipline's own shaper; `None` without one.
            pub fn shapes(&self) -> Option<BitRate> {
                match self { $($(Self::$Variant(p) => Params::shapes(p),)*)+ Self::$Out(p) => Params::shapes(p) }
            }
            /// Returns true if it has a queue for each of the two service flows of a Low Latency modem.
            pub fn service_flows(&self) -> bool {
                match self { $($(Self::$Variant(p) => Params::service_flows(p),)*)+ Self::$Out(p) => Params::service_flows(p) }
            }
            /// Returns true if packets of several segments are split on arrival. Its host does that, as it has their contents.
            pub fn split_gso(&self) -> bool {
                match self { $($(Self::$Variant(p) => Params::split_gso(p),)*)+ Self::$Out(p) => Params::split_gso(p) }
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
            /// This discipline with `law` in each queue; `None` unless it lets its law be chosen.
            pub fn with_law(self, law: LawSpec) -> Option<Self> {
                match self {
                    $($(Self::$Variant(p) => Params::with_law(p, law).map(Self::$Variant),)*)+
                    Self::$Out(p) => Params::with_law(p, law).map(Self::$Out),
                }
            }
            /// The limit of all that waits; `None` for no limit.
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
            fn service_flows(&self) -> Option<&dyn ServiceFlows> {
                match self { $($(Self::$Variant(d) => d.service_flows(),)*)+ Self::$Out(d) => d.service_flows() }
            }
            fn service_flows_mut(&mut self) -> Option<&mut dyn ServiceFlows> {
                match self { $($(Self::$Variant(d) => d.service_flows_mut(),)*)+ Self::$Out(d) => d.service_flows_mut() }
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

        /// All disciplines, in the order of the list.
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

        /// The external law: not part of [`QDISCS`], as it has no defaults.
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
