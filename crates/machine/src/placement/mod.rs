//! Placement: which logical CPUs a treatment uses and which session runs on each; the grammar and its
//! pure resolver.
//!
//! The grammar is the project's own (docs/GLOSSARY.md); shapes follow the `NcNt` shorthand of the
//! published measurements, paths follow hwloc's `package:0.core:1-3.pu:0` (hwloc(7)).

mod draw;
mod fill;
mod locality;
pub(crate) mod parse;
mod paths;
mod remark;
mod resolve;
mod service;
mod view;

use crate::CpuSet;

pub use fill::{Fill, MachinePart};
pub use locality::{Localities, Locality};
pub use remark::remark;
pub use resolve::resolve;
pub use service::{Service, resolve_service};

/// A parsed placement, not yet bound to a machine. Its serde form is its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The user's text, without space around it.
    pub text: String,
    /// Its meaning.
    pub expression: Expression,
}

/// What a placement text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// Sum of shapes: `3c1t+1c2t`, `2s8c2t`, `6c1t@n0`.
    Shapes(Vec<Shape>),
    /// A name of one core or of two logical CPUs, and where: `same-l3`, `one-core@efficient`.
    Named(Name, Option<Within>),
    /// A whole part of the machine, or half of it: `all`, `package-no-smt`, `half-cores@p0`.
    Fill(Fill, MachinePart),
    /// Every allowed logical CPU but `n` (`all-but:N`).
    AllBut(u32),
    /// The first `n` logical CPUs in an order: `spread:N`, `packed:N`, `packed-cores:N`.
    First(Order, u32),
    /// A list in the order given: `0-3,8`.
    List(Vec<u32>),
    /// hwloc path: `package:0.core:1-3.pu:0`, level and index list outermost first.
    Path(Vec<(Level, Vec<u32>)>),
}

/// One term of a sum of shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Packages (1 when not written).
    pub packages: u32,
    /// Cores on each package.
    pub cores: u32,
    /// Logical CPUs on each core.
    pub threads: u32,
    /// Restriction, if any.
    pub within: Option<Within>,
}

/// One group of the machine that a restriction names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// `@p0`, `@n1`, `@llc2`, `@k1`: its number, as `threadwise topology` shows it.
    Group(Level, u32),
    /// `@performance`, `@efficient`: cores of a kind, by the word of [`KIND_WORDS`] at this index.
    Kind(usize),
}

/// Words for kinds of cores after `@`, and the name of the kind in [`crate::topology::CoreKind`].
pub const KIND_WORDS: [(&str, &str); 4] =
    [("performance", "P-core"), ("middle", "M-core"), ("efficient", "E-core"), ("low-power", "LP-E-core")];

/// The order in which logical CPUs are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As far apart as possible: packages, NUMA nodes, L3s and L2s in turn, then their cores, then siblings.
    Spread,
    /// As close as possible: a core is filled, then its L2, L3, node and package, before the next.
    Packed,
    /// The same with one logical CPU a core; siblings only after every core has one.
    PackedCores,
}

impl Order {
    /// Every order and its word.
    pub const ALL: [(Self, &str); 3] =
        [(Self::Spread, "spread"), (Self::Packed, "packed"), (Self::PackedCores, "packed-cores")];
}

/// Names of one core, and of two logical CPUs by what they share: on two cores, one logical CPU on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// 1 logical CPU.
    OneCpu,
    /// All siblings of one core.
    OneCore,
    /// 2 siblings of one core.
    SameCore,
    /// 2 cores that share an L2 cache.
    SameL2,
    /// 2 cores that share a last-level cache.
    SameL3,
    /// 2 cores of one NUMA node in two last-level caches.
    CrossL3,
    /// 2 cores of one NUMA node, in two last-level caches where it has several.
    SameNode,
    /// 2 cores of one package in two NUMA nodes.
    CrossNode,
    /// 2 cores of one package, in two last-level caches where it has several; in one NUMA node where that is possible.
    SamePackage,
    /// 1 core on each of 2 packages.
    CrossPackage,
}

/// All names without a number or a restriction, from few logical CPUs to many.
pub const NAMES: [&str; 20] = [
    "one-cpu",
    "one-core",
    "same-core",
    "same-l2",
    "same-l3",
    "cross-l3",
    "same-node",
    "cross-node",
    "same-package",
    "cross-package",
    "all",
    "no-smt",
    "half-cores",
    "package",
    "package-no-smt",
    "package-half-cores",
    "package-but-one",
    "node",
    "node-no-smt",
    "node-half-cores",
];

/// Levels of the machine that a restriction or a path can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Package (`@p`, `package:`).
    Package,
    /// NUMA node (`@n`, `numanode:`).
    Node,
    /// LLC domain (`@llc`, `l3:`).
    Llc,
    /// L2 cache (`l2:`, paths only).
    L2,
    /// Core kind (`@k`).
    Kind,
    /// Core (`core:`, paths only).
    Core,
    /// Logical CPU (`pu:`, paths only).
    Pu,
}

impl Level {
    /// Its name in messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Node => "NUMA node",
            Self::Llc => "LLC domain",
            Self::L2 => "L2 cache",
            Self::Kind => "core kind",
            Self::Core => "core",
            Self::Pu => "logical CPU",
        }
    }
}

/// How sessions are bound inside a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pin {
    /// Session i on its own logical CPU, round robin.
    #[default]
    Each,
    /// Every session floats inside the whole set.
    Set,
}

/// One block's permutation of the machine. Every treatment takes a prefix, so that it and its baseline share cores.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draw {
    /// Indices into `Topology::packages` (or a single 0 where the machine declares none), in order.
    pub packages: Vec<u32>,
    /// Indices into `Topology::cores`, in order, all packages mixed; a package's order is the
    /// order of its cores here.
    pub cores: Vec<u32>,
    /// For each core (by index), its allowed logical CPUs in order.
    pub siblings: Vec<Vec<u32>>,
}

/// A placement bound to a machine and a draw.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolved {
    /// Logical CPUs in the order in which sessions take them.
    pub cpus: Vec<u32>,
    /// For each session the logical CPUs that it may use (one for `Pin::Each`).
    pub sessions: Vec<CpuSet>,
    /// Online siblings of the used cores that no session uses: no thread of threadwise runs there.
    pub left_over: CpuSet,
}

/// Why a placement cannot be read or is not possible on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// The text is not a placement.
    #[error(
        "'{text}' is not a placement: {why}; examples: same-core, 2s8c2t, 3c1t+1c2t, 6c1t@n0, 0-3,8, package:0.core:1-3.pu:0"
    )]
    Grammar {
        /// The text.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// The text of a placement's part (`memory`, `service`) has no meaning.
    #[error("{part} is '{text}': {why}; allowed are {allowed}")]
    Part {
        /// The part, such as `memory`.
        part: &'static str,
        /// The text.
        text: String,
        /// What is wrong.
        why: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// The machine lacks what the placement, or a part of it such as `memory=remote`, needs.
    #[error("placement '{text}' is not possible here: {lacks}")]
    Lacking {
        /// The text.
        text: String,
        /// What the machine lacks, as text (`this machine has 1 package`).
        lacks: String,
    },
    /// No session was requested.
    #[error("placement '{text}' with 0 sessions: at least 1 session is needed")]
    NoSessions {
        /// The text.
        text: String,
    },
}

impl Placement {
    /// Whether it is the name of two logical CPUs by what they share.
    pub fn is_pair(&self) -> bool {
        matches!(self.expression, Expression::Named(name, _) if !matches!(name, Name::OneCpu | Name::OneCore))
    }
}

impl Resolved {
    /// The logical CPUs that sessions use.
    pub fn set(&self) -> CpuSet {
        self.cpus.iter().copied().collect()
    }
}
