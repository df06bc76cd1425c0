//! Placement: which logical CPUs a treatment uses and which session runs on each; the grammar and its
//! pure resolver.
//!
//! The grammar is the project's own (docs/GLOSSARY.md); shapes follow the `NcNt` shorthand of the
//! published measurements, paths follow hwloc's `package:0.core:1-3.pu:0` (hwloc(7)).

mod draw;
mod fill;
pub(crate) mod parse;
mod paths;
mod resolve;
mod service;
mod view;

use crate::CpuSet;

pub use fill::{Fill, Part, remark};
pub use resolve::resolve;
pub use service::{Service, resolve_service};

/// A parsed placement, not yet bound to a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The user's text.
    pub text: String,
    /// Its meaning.
    pub expression: Expression,
}

/// What a placement text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// Sum of shapes: `3c1t+1c2t`, `2s8c2t`, `6c1t@n0`.
    Shapes(Vec<Shape>),
    /// A name of one or two logical CPUs.
    Named(Name),
    /// A whole part of the machine, or half of it: `all`, `package-no-smt`, `half-cores@p0`.
    Fill(Fill, Part),
    /// Every allowed logical CPU but `n` (`all-but:N`).
    AllBut(u32),
    /// The first `n` logical CPUs, cores first over all packages (`spread:N`).
    Spread(u32),
    /// The first `n` logical CPUs, siblings first, one package after the other (`packed:N`).
    Packed(u32),
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
    pub within: Option<(Level, u32)>,
}

/// Names of one or two logical CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// 1 logical CPU.
    OneCpu,
    /// 2 siblings of one core.
    SameCore,
    /// 2 cores of one package, one logical CPU on each.
    SamePackage,
    /// 1 core on each of 2 packages.
    CrossPackage,
}

/// All names without a number or a restriction, from few logical CPUs to many.
pub const NAMES: [&str; 14] = [
    "one-cpu",
    "same-core",
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
    /// LLC domain (`@l`, `l3:`).
    Llc,
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

impl Resolved {
    /// The logical CPUs that sessions use.
    pub fn set(&self) -> CpuSet {
        self.cpus.iter().copied().collect()
    }
}
