//! Which logical CPUs may be busy at once without slowing each other, by measurement and
//! not by declaration.

use threadwise_machine::CpuSet;
use threadwise_study::probe::{Probe, Sharing};

/// The probed logical CPUs in groups: two are in different groups only if they were measured to be
/// on different cores. Without a clear measurement they stay together.
pub fn groups(probe: &Probe) -> Vec<CpuSet> {
    let mut groups: Vec<CpuSet> = Vec::new();
    for cpu in probe.cpus.iter() {
        let apart = |group: &CpuSet| {
            group.iter().all(|other| probe.sharing(cpu, other) == Some(Sharing::DifferentCores))
        };
        let (mut rest, joined): (Vec<_>, Vec<_>) = groups.into_iter().partition(apart);
        let new: CpuSet = [cpu].into_iter().collect();
        rest.push(joined.iter().fold(new, |all, group| all.union(group)));
        groups = rest;
    }
    groups.sort();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::probe::{PairSharing, SetTest};

    fn set(text: &str) -> CpuSet {
        CpuSet::parse_list(text).unwrap()
    }

    fn pair(a: u32, b: u32, sharing: Sharing) -> PairSharing {
        PairSharing {
            a,
            b,
            sharing,
            wide: None,
            chain: None,
            load_store: None,
            on_cpu_share: None,
            rounds_used: 0,
            rounds: 0,
            why: String::new(),
        }
    }

    #[test]
    fn only_what_was_measured_apart_is_apart() {
        let sets = vec![SetTest { ran: set("0-3"), at_full_width: set("0-3") }];
        let apart = Probe { cpus: set("0-3"), sets, ..Probe::default() };
        assert_eq!(groups(&apart).len(), 4);
        let siblings = Probe { pairs: vec![pair(0, 2, Sharing::SameCore)], ..apart.clone() };
        let mut found = groups(&siblings);
        found.sort_by_key(|group| group.first());
        assert_eq!(found, [set("0,2"), set("1"), set("3")]);
        let unknown = Probe { cpus: set("0-1"), ..Probe::default() };
        assert_eq!(groups(&unknown), [set("0-1")]);
        let masked = Probe { pairs: vec![pair(0, 1, Sharing::Masked)], ..unknown };
        assert_eq!(groups(&masked), [set("0-1")]);
    }

    #[test]
    fn groups_that_meet_in_one_cpu_become_one() {
        let pairs = vec![
            pair(0, 1, Sharing::DifferentCores),
            pair(0, 2, Sharing::Unclear),
            pair(1, 2, Sharing::SameCore),
        ];
        assert_eq!(groups(&Probe { cpus: set("0-2"), pairs, ..Probe::default() }), [set("0-2")]);
    }
}
