//! The macro behind the list of disciplines.

/// Generates the enum for scenarios (`Spec`), the enum at run time (`Discipline`) and the list (`QDISCS`). The macro's
/// input has one entry for each discipline.
///
/// The entries of laws come from `law/list.rs`, because each law is also a stand-alone discipline (`single::Managed`, one FIFO
/// managed by that law).
///
/// `Discipline` is an enum rather than a `Box<dyn>`, because `Spec` already lists all disciplines, the hot path can be
/// inlined behind one predictable branch, and a queue remains `Clone` and `PartialEq`.
macro_rules! disciplines {
    (
        { single { $($single:tt)* } others { $($other:tt)* } }
        law { $($law:tt)* }
        outside { $($out:tt)* }
    ) => {
        disciplines! { @list false { $($single)* } true { $($law)* } false { $($other)* } }
        disciplines! { @outside $($out)* }
        disciplines! { @enums $($single)* $($law)* $($other)* $($out)* }
    };
    (@list $($is_law:literal {
        $($name:literal $Variant:ident($Params:ty), $Kind:ident, $source:literal, $summary:literal;)+
    })+) => {
        /// All disciplines except [`OUTSIDE`]: first those of `single`, then the laws, then the others.
        pub const QDISCS: &[Info] =
            &[$($(Info::of::<$Params>($is_law, $name, Kind::$Kind, $summary, $source),)+)+];
    };
    (@outside $name:literal $Variant:ident($Params:ty), $Kind:ident, $source:literal, $summary:literal;) => {
        /// The external law. It is not part of [`QDISCS`], because its parameter `law` has no valid default.
        pub const OUTSIDE: Info = Info::of::<$Params>(true, $name, Kind::$Kind, $summary, $source);
    };
    (@enums $($name:literal $Variant:ident($Params:ty), $Kind:ident, $source:literal, $summary:literal;)+) => {
        /// A queue discipline and its parameters, as a scenario writes it: `codel = { target = "5ms" }`, or tc syntax
        /// (`"codel target 5ms"`), or the name `"codel"` for its defaults, or `"sfq_hss + codel"` for a fair discipline
        /// and the law of its queues.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(remote = "Self")]
        #[schemars(rename = "Qdisc", transform = words::of_disciplines)]
        pub enum Spec {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $Variant($Params),
            )+
        }

        impl Spec {
            /// Returns the discipline with this name, with its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$Variant(Default::default())),)+
                    _ => None,
                }
            }
            /// Returns the discipline's name in a scenario.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$Variant(_) => $name,)+ }
            }
            fn params(&self) -> &dyn Params {
                match self { $(Self::$Variant(p) => p,)+ }
            }
            /// Builds an empty discipline. The parameters must be valid: call [`Spec::validate`] first.
            pub fn build(&self) -> Discipline {
                match self { $(Self::$Variant(p) => Discipline::$Variant(Params::build(p)),)+ }
            }
            /// Replaces the law of each queue with `law`. Returns `None` if the law of this discipline cannot be chosen.
            pub fn with_law(self, law: LawSpec) -> Option<Self> {
                match self { $(Self::$Variant(p) => Params::with_law(p, law).map(Self::$Variant),)+ }
            }
        }

        /// Any discipline at run time.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Discipline {
            $(
                #[doc = $summary]
                $Variant(<$Params as Params>::Discipline),
            )+
        }

        impl QueueDiscipline for Discipline {
            #[inline]
            fn enqueue(&mut self, packet: PacketMeta, cx: &mut Context<'_>) {
                match self { $(Self::$Variant(d) => d.enqueue(packet, cx),)+ }
            }
            #[inline]
            fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta> {
                match self { $(Self::$Variant(d) => d.dequeue(cx),)+ }
            }
            fn service_flows(&self) -> Option<&dyn ServiceFlows> {
                match self { $(Self::$Variant(d) => d.service_flows(),)+ }
            }
            fn service_flows_mut(&mut self) -> Option<&mut dyn ServiceFlows> {
                match self { $(Self::$Variant(d) => d.service_flows_mut(),)+ }
            }
            #[inline]
            fn next_wake(&self) -> Option<Time> {
                match self { $(Self::$Variant(d) => d.next_wake(),)+ }
            }
            fn wake(&mut self, cx: &mut Context<'_>) {
                match self { $(Self::$Variant(d) => d.wake(cx),)+ }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self { $(Self::$Variant(d) => d.backlog(),)+ }
            }
            fn head_arrival(&self) -> Option<Time> {
                match self { $(Self::$Variant(d) => d.head_arrival(),)+ }
            }
            fn probe(&self, out: &mut Reading<'_>) {
                match self { $(Self::$Variant(d) => d.probe(out),)+ }
            }
            fn classes(&self) -> Vec<ClassProbe<'_>> {
                match self { $(Self::$Variant(d) => d.classes(),)+ }
            }
        }
    };
}
