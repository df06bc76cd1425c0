//! Effects of a CPU quota on a study: slices of whole periods, fewer rounds, and the same sessions on whole CPUs beside
//! each treatment that exceeds it.

use threadwise_machine::{Draw, Placement, Topology, placement};

use super::candidate::{Candidate, Group};
use super::overrides::Overrides;
use super::source::StudyFile;
use super::timing;
use crate::engine::{Properties, URL};
use crate::{Comparison, ComparisonKind, Options, Quota, Role, Study, Workload};

/// The quota, and what it limits, if the largest treatment reaches it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reached<'a> {
    /// The quota.
    pub quota: Quota,
    workload: &'a Workload,
    topology: &'a Topology,
    /// Busy logical CPUs of the smallest treatment that exceeds it.
    least_beyond: usize,
}

/// The quota of this process, which its engine inherits; the user's server may have its own.
pub(super) fn of_engine(overrides: &Overrides, engine_options: &Options) -> Option<Quota> {
    overrides.quota.filter(|_| !engine_options.contains_key(URL))
}

impl<'a> Reached<'a> {
    /// The quota, if a treatment reaches it; sliced studies get the same sessions on whole CPUs. Models have no quota.
    pub fn prepare(
        groups: &mut [Group],
        quota: Quota,
        file: &'a StudyFile,
        topology: &'a Topology,
        engine: &Properties,
    ) -> Option<Self> {
        let workload = file.workload();
        let mut reached = Self { quota, workload, topology, least_beyond: 0 };
        let candidates = groups.iter().flat_map(|group| &group.candidates);
        let busy = candidates.filter_map(|candidate| Some(reached.cpus(candidate)?.1));
        reached.least_beyond =
            busy.filter(|&busy| quota.is_beyond(busy)).min().filter(|_| !engine.simulated)?;
        if workload.is_sliced() {
            groups.iter_mut().for_each(|group| reached.add_whole(group));
        }
        Some(reached)
    }

    /// Logical CPUs of a treatment, and how many it keeps busy; `None` if it cannot be placed.
    fn cpus(&self, candidate: &Candidate) -> Option<(usize, usize)> {
        let Candidate { placement, sessions, pin, .. } = candidate;
        let draw = Draw::identity(self.topology);
        let placed = placement::resolve(placement, self.topology, &draw, *sessions, *pin).ok()?;
        let cpus = placed.set().len();
        Some((cpus, self.workload.busy_cpus(*sessions, cpus)))
    }

    fn is_beyond(&self, candidate: &Candidate) -> bool {
        self.cpus(candidate).is_some_and(|(_, busy)| self.quota.is_beyond(busy))
    }

    /// Whether a treatment has exactly the quota's whole CPUs, and so needs no counterpart.
    fn is_on_whole(&self, candidate: &Candidate) -> bool {
        let whole = self.quota.whole_cpus() as usize;
        self.cpus(candidate).is_some_and(|(cpus, _)| cpus == whole)
    }

    /// Adds, beside each treatment that exceeds the quota, the same sessions on the quota's number of whole CPUs.
    fn add_whole(&self, group: &mut Group) {
        let whole = self.quota.whole_cpus();
        let text = if whole == 1 { "one-cpu".to_owned() } else { format!("spread:{whole}") };
        // There is no placement of 0 logical CPUs.
        let Ok(placement) = text.parse::<Placement>() else { return };
        for candidate in group.candidates.clone() {
            let is_there = self.on_whole(group, &candidate).is_some();
            if candidate.role == Role::Compared && self.is_beyond(&candidate) && !is_there {
                let name = format!("whole-{whole} {}", candidate.name);
                group.candidates.push(Candidate { name, placement: placement.clone(), ..candidate });
            }
        }
    }

    /// The treatment of a group that differs from a candidate by whole CPUs only.
    fn on_whole<'g>(&self, group: &'g Group, candidate: &Candidate) -> Option<&'g Candidate> {
        let is_alike = |other: &&Candidate| {
            (other.sessions, &other.memory, &other.service, &other.set)
                == (candidate.sessions, &candidate.memory, &candidate.service, &candidate.set)
        };
        group.compared().filter(is_alike).find(|other| self.is_on_whole(other))
    }

    /// Compares each treatment that exceeds the quota with the same sessions on whole CPUs.
    pub fn comparisons(&self, group: &Group) -> Vec<Comparison> {
        let beyond = group.compared().filter(|one| self.is_beyond(one) && !self.is_on_whole(one));
        let pair = |candidate: &Candidate| {
            let below = self.on_whole(group, candidate)?;
            let name = format!("quota {} : {}", group.whole(&candidate.name), below.name);
            Some(group.ratio(name, &candidate.name, group, &below.name, ComparisonKind::Quota))
        };
        beyond.filter_map(pair).collect()
    }

    /// Makes slices multiples of the period, and reduces rounds to fit the budget.
    pub fn fit(&self, study: &mut Study, overrides: &Overrides) {
        study.quota = Some(self.quota);
        if study.is_fixed_work() {
            return;
        }
        let before_ns = self.quota.rewarm_ns(self.least_beyond);
        study.design.slice_ns = self.quota.slice_ns(study.design.slice_ns);
        let shortest_ns = (timing::FIXED_REWARM_MS * 1e6) as u64;
        study.design.rewarm_ns = Some(study.design.rewarm_ns.unwrap_or(shortest_ns).max(before_ns));
        let asked = study.design.rounds;
        study.design.rounds = 1;
        let held = timing::rounds_held(study);
        study.design.rounds = overrides.rounds.unwrap_or(asked.min(held));
    }
}
