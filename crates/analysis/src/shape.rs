//! Shape of a treatment, by its placement and number of sessions; the study is free in its names.

use threadwise_study::{Role, Treatment};

/// Shape of a treatment, as far as verdict and advice need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The group's baseline: one session alone, unless the study says otherwise.
    Alone,
    /// Two sessions on one logical CPU.
    OneCpu,
    /// Two sessions on two siblings of one core.
    SameCore,
    /// Two sessions on two cores of one package.
    SamePackage,
    /// Two sessions on two cores that share an L2 cache.
    SameL2,
    /// Two sessions on two cores that share a last-level cache.
    SameL3,
    /// Two sessions on cores of two NUMA nodes.
    CrossNode,
    /// Two sessions on cores of two packages.
    CrossPackage,
    /// A point of a session sweep that spreads over cores first.
    Spread,
    /// Anything else.
    Other,
}

impl Shape {
    /// The shape of a treatment.
    pub fn of(treatment: &Treatment) -> Self {
        if treatment.role != Role::Compared {
            return Self::Alone;
        }
        match (treatment.placement.text.as_str(), treatment.sessions) {
            ("one-cpu", 2) => Self::OneCpu,
            ("same-core", 2) => Self::SameCore,
            ("same-package", 2) => Self::SamePackage,
            ("same-l2", 2) => Self::SameL2,
            ("same-l3", 2) => Self::SameL3,
            ("cross-node", 2) => Self::CrossNode,
            ("cross-package", 2) => Self::CrossPackage,
            ("all" | "no-smt", _) => Self::Spread,
            (text, _) if text.starts_with("spread:") => Self::Spread,
            _ => Self::Other,
        }
    }
}
