//! Effects of a CPU quota on a study: slices of whole periods, fewer rounds, and the same sessions on whole CPUs beside
//! each treatment that exceeds it.

use threadwise_machine::{Draw, Placement, Topology, placement};

use super::budget;
use super::file::StudyFile;
use super::overrides::Overrides;
use super::seat::{Group, Seat};
use crate::engine::{Properties, URL};
use crate::{Comparison, Options, Quota, Role, Study, Workload};

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

/// The quota, if a treatment reaches it; sliced studies get the same sessions on whole CPUs. Models have no quota.
pub(super) fn prepare<'a>(
    groups: &mut [Group],
    quota: Quota,
    file: &'a StudyFile,
    (topology, engine): (&'a Topology, &Properties),
) -> Option<Reached<'a>> {
    let workload = file.workload();
    let mut reached = Reached { quota, workload, topology, least_beyond: 0 };
    let seats = groups.iter().flat_map(|group| &group.seats);
    let busy = seats.filter_map(|seat| Some(reached.cpus(seat)?.1));
    reached.least_beyond = busy.filter(|&busy| quota.is_beyond(busy)).min().filter(|_| !engine.simulated)?;
    if workload.is_sliced() {
        add_whole(groups, &reached);
    }
    Some(reached)
}

impl Reached<'_> {
    /// Logical CPUs of a treatment, and how many it keeps busy; `None` if it cannot be placed.
    fn cpus(&self, seat: &Seat) -> Option<(usize, usize)> {
        let parsed: Placement = seat.placement.parse().ok()?;
        let draw = Draw::identity(self.topology);
        let placed = placement::resolve(&parsed, self.topology, &draw, seat.sessions, seat.pin).ok()?;
        let cpus = placed.set().len();
        Some((cpus, self.workload.busy_cpus(seat.sessions, cpus)))
    }

    fn is_beyond(&self, seat: &Seat) -> bool {
        self.cpus(seat).is_some_and(|(_, busy)| self.quota.is_beyond(busy))
    }

    /// Whether a treatment has exactly the quota's whole CPUs, and so needs no counterpart.
    fn is_on_whole(&self, seat: &Seat) -> bool {
        let whole = self.quota.whole_cpus() as usize;
        self.cpus(seat).is_some_and(|(cpus, _)| cpus == whole)
    }
}

/// Adds, beside each treatment that exceeds the quota, the same sessions on the quota's number of whole CPUs.
fn add_whole(groups: &mut [Group], reached: &Reached<'_>) {
    let whole = reached.quota.whole_cpus();
    if whole == 0 {
        return;
    }
    for group in groups {
        for seat in group.seats.clone() {
            let is_there = on_whole(group, &seat, reached).is_some();
            if seat.role == Role::Compared && reached.is_beyond(&seat) && !is_there {
                let placement = if whole == 1 { "one-cpu".to_owned() } else { format!("spread:{whole}") };
                let name = format!("whole-{whole} {}", seat.name);
                group.seats.push(Seat { name, placement, ..seat });
            }
        }
    }
}

/// The treatment of a group that differs from `seat` by whole CPUs only.
fn on_whole<'a>(group: &'a Group, seat: &Seat, reached: &Reached<'_>) -> Option<&'a Seat> {
    let is_alike = |other: &&Seat| {
        (other.sessions, &other.memory, &other.service, &other.set)
            == (seat.sessions, &seat.memory, &seat.service, &seat.set)
    };
    let mut others = group.seats.iter().filter(|other| other.role == Role::Compared).filter(is_alike);
    others.find(|other| reached.is_on_whole(other))
}

/// Compares each treatment that exceeds the quota with the same sessions on whole CPUs.
pub(super) fn comparisons(reached: &Reached<'_>, group: &Group, suffix: &str) -> Vec<Comparison> {
    let compared = group.seats.iter().filter(|seat| seat.role == Role::Compared);
    let beyond = compared.filter(|seat| reached.is_beyond(seat) && !reached.is_on_whole(seat));
    let pair = |seat: &Seat| {
        let below = on_whole(group, seat, reached)?;
        Some(Comparison {
            name: format!("quota {}{suffix} : {}", seat.name, below.name),
            treatment: format!("{}{suffix}", seat.name),
            baseline: vec![format!("{}{suffix}", below.name)],
            kind: "quota".to_owned(),
        })
    };
    beyond.filter_map(pair).collect()
}

/// Makes slices multiples of the period, and reduces rounds to fit the budget.
pub(super) fn fit(study: &mut Study, reached: &Reached<'_>, overrides: &Overrides) {
    study.quota = Some(reached.quota);
    if study.is_fixed_work() {
        return;
    }
    let before_ns = reached.quota.rewarm_ns(reached.least_beyond);
    study.design.slice_ns = reached.quota.slice_ns(study.design.slice_ns);
    let shortest_ns = (budget::FIXED_REWARM_MS * 1e6) as u64;
    study.design.rewarm_ns = Some(study.design.rewarm_ns.unwrap_or(shortest_ns).max(before_ns));
    let asked = study.design.rounds;
    study.design.rounds = 1;
    let held = budget::rounds_held(study);
    study.design.rounds = overrides.rounds.unwrap_or(asked.min(held));
}
