//! Which treatments are compared with which: by the study's comparisons, by its groups, and A′ with A.

use threadwise_study::{Comparison, Role, Study};

/// A treatment and those that it is compared with, by their indexes in the study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides {
    /// The treatment.
    pub top: usize,
    /// Its baselines.
    pub below: Vec<usize>,
}

impl Sides {
    /// The sides of a comparison; `None` if the study does not have one of them.
    pub fn of(study: &Study, comparison: &Comparison) -> Option<Self> {
        let index = |name: &String| study.treatment(name).map(|(at, _)| at);
        let below: Option<Vec<usize>> = comparison.baseline.iter().map(index).collect();
        Some(Self { top: index(&comparison.treatment)?, below: below.filter(|below| !below.is_empty())? })
    }

    /// Every compared treatment of a group over the group's baseline and its twin.
    pub fn of_group(study: &Study, group: &str) -> Vec<Self> {
        let below = baselines(study, group);
        let compared = members(study, group, Role::Compared).into_iter();
        compared
            .map(|top| Self { top, below: below.clone() })
            .filter(|sides| !sides.below.is_empty())
            .collect()
    }

    /// A′ over A of a group, in which nothing differs.
    pub fn twins(study: &Study, group: &str) -> Option<Self> {
        let first = |role| members(study, group, role).into_iter().next();
        Some(Self { top: first(Role::BaselineTwin)?, below: vec![first(Role::Baseline)?] })
    }

    /// A′ over A of all groups that have both.
    pub fn all_twins(study: &Study) -> Vec<Self> {
        study.groups().into_iter().filter_map(|group| Self::twins(study, group)).collect()
    }
}

/// Indexes of the baseline of a group and of its twin.
pub fn baselines(study: &Study, group: &str) -> Vec<usize> {
    [members(study, group, Role::Baseline), members(study, group, Role::BaselineTwin)].concat()
}

/// A treatment as one side of a comparison: a baseline is the mean of both of its names.
pub fn side(study: &Study, at: usize) -> Vec<usize> {
    let treatment = &study.treatments[at];
    if treatment.role == Role::Compared { vec![at] } else { baselines(study, &treatment.group) }
}

/// Indexes of a group's treatments with a role.
pub fn members(study: &Study, group: &str, role: Role) -> Vec<usize> {
    let all = study.treatments.iter().enumerate();
    all.filter(|(_, one)| one.group == group && one.role == role).map(|(at, _)| at).collect()
}
