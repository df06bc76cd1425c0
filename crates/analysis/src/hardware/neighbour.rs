//! Neighbours on the siblings of the probed logical CPUs, in one line.

use super::words::{cpus_text, from_to, sentence_part};
use crate::Finding;
use crate::words::{MAX_LISTED, finding, share};
use threadwise_document::{Prose, numbers, prose};
use threadwise_machine::CpuSet;
use threadwise_study::probe::{Neighbour, Probe};

/// Share from which a logical CPU is named.
pub(super) const NAMED_SHARE: f64 = 0.05;

/// Below this share there was no neighbour: hardly a window of the probe.
const HARDLY_SHARE: f64 = 0.0005;

/// Share from which it is reported that the probe was kept off a CPU.
const OFF_CPU_SHARE: f64 = 0.05;

/// Neighbours seen; `None` if they were not watched.
pub fn neighbour(probe: &Probe) -> Option<Finding> {
    if probe.neighbours.is_empty() {
        return None;
    }
    let mut known: Vec<(&Neighbour, f64)> =
        probe.neighbours.iter().filter_map(|neighbour| Some((neighbour, neighbour.busy_share?))).collect();
    known.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let split = known.partition_point(|(_, share)| *share >= NAMED_SHARE);
    let (busy, quiet) = known.split_at(split);
    let mut parts: Vec<Prose> = Vec::new();
    parts.extend(busy_text(busy));
    parts.extend(quiet_text(quiet, busy.is_empty()));
    parts.extend(unknown_text(probe, parts.is_empty()));
    parts.extend(off_cpu_text(probe));
    Some(finding("probe-neighbour", prose!("{}.", Prose::join(parts, "; ")), &[]))
}

/// The others together, with the largest share.
fn quiet_text(quiet: &[(&Neighbour, f64)], alone: bool) -> Option<Prose> {
    let (_, most) = quiet.first()?;
    let cpus: CpuSet = quiet.iter().map(|(neighbour, _)| neighbour.cpu).collect();
    let siblings = if cpus.len() == 1 { "the sibling" } else { "the siblings" };
    let siblings_of = format!("{siblings} of {}", cpus_text(&cpus));
    let none = *most < HARDLY_SHARE;
    let most = share(*most);
    Some(match (none, alone) {
        (true, true) => prose!("No neighbour was seen on {}", siblings_of),
        (true, false) => prose!("none was seen on {}", siblings_of),
        (false, true) => {
            prose!("A neighbour was busy on {} during at most {} of the probe", siblings_of, most)
        }
        (false, false) => prose!("on {} during at most {}", siblings_of, most),
    })
}

/// The busiest by name, the rest by number.
fn busy_text(busy: &[(&Neighbour, f64)]) -> Option<Prose> {
    let (first, rest) = busy.split_first()?;
    let named = |(neighbour, busy): &(&Neighbour, f64)| {
        prose!("that of CPU {} during {}", neighbour.cpu, share(*busy))
    };
    let mut parts = vec![prose!("the sibling of CPU {} during {} of the probe", first.0.cpu, share(first.1))];
    parts.extend(rest.iter().take(MAX_LISTED - 1).map(named));
    if let [next, .., last] | [next @ last] = rest.get(MAX_LISTED - 1..).unwrap_or_default() {
        let count = numbers::counted(rest.len() - (MAX_LISTED - 1), "CPU");
        parts.push(prose!("those of {} more during {}", count, from_to(share(last.1), share(next.1))));
    }
    Some(prose!("A neighbour was busy on {}", Prose::list(parts)))
}

fn unknown_text(probe: &Probe, alone: bool) -> Option<Prose> {
    let unknown: Vec<&Neighbour> = probe.neighbours.iter().filter(|one| one.busy_share.is_none()).collect();
    let why = sentence_part(&unknown.first()?.why);
    let cpus: CpuSet = unknown.iter().map(|neighbour| neighbour.cpu).collect();
    let cpus = cpus_text(&cpus);
    Some(match alone {
        true => prose!("Whether a neighbour was busy on the sibling of {} is unknown: {}", cpus, why),
        false => prose!("unknown for {}: {}", cpus, why),
    })
}

fn off_cpu_text(probe: &Probe) -> Option<Prose> {
    let most =
        probe.neighbours.iter().max_by(|one, other| one.off_cpu_share.total_cmp(&other.off_cpu_share))?;
    (most.off_cpu_share >= OFF_CPU_SHARE).then(|| {
        prose!(
            "the probe was kept off CPU {} for {} of the time of its windows",
            most.cpu,
            share(most.off_cpu_share)
        )
    })
}
