//! Neighbours on the siblings of a run's logical CPUs, from the looks around its slices.

use std::collections::BTreeMap;
use threadwise_machine::CpuSet;
use threadwise_study::look::follow::Share;
use threadwise_study::{Moment, Reading, SliceLook};

/// Neighbours in the looks around the slices of a run, by moment and logical CPU.
#[derive(Debug, Default)]
pub struct Neighbours {
    seen: BTreeMap<(Moment, u32), LookCounts>,
    start_ns: Option<u64>,
    end_ns: u64,
}

/// Looks at one logical CPU: with a neighbour, and of known state.
#[derive(Debug, Default)]
struct LookCounts {
    with_one: u32,
    known: u32,
    adds_per_step: Vec<f64>,
}

impl Neighbours {
    /// Adds a look, with the share of its core that each logical CPU had.
    pub fn add(&mut self, one: &SliceLook, shares: &[Share]) {
        self.start_ns.get_or_insert(one.look.start_ns);
        self.end_ns = one.look.start_ns.saturating_add(one.look.took_ns);
        for (cpu, share) in one.look.cpus.iter().zip(shares) {
            let seen = self.seen.entry((one.moment, cpu.cpu)).or_default();
            let is_known = matches!(share, Share::Alone | Share::With(_) | Share::Neighbour);
            seen.known += u32::from(is_known);
            seen.with_one += u32::from(*share == Share::Neighbour);
            seen.adds_per_step.extend(cpu.adds_per_step);
        }
    }

    /// The results before and after slices on these logical CPUs, as readings of the sampler `neighbour`.
    pub fn readings(&self, cpus: &CpuSet) -> Vec<Reading> {
        let chosen =
            self.seen.iter().filter(|((moment, cpu), _)| *moment != Moment::During && cpus.contains(*cpu));
        chosen
            .flat_map(|((moment, cpu), seen)| {
                let reading = |metric: &str, value: Option<f64>| Reading {
                    sampler: "neighbour".to_owned(),
                    metric: format!("{}_{metric}", moment.word()),
                    cpu: Some(*cpu),
                    start_ns: self.start_ns.unwrap_or(self.end_ns),
                    end_ns: self.end_ns,
                    value,
                    gap: value.is_none().then(|| "no look shows whether it shared its core".to_owned()),
                };
                let share = (seen.known > 0).then(|| f64::from(seen.with_one) / f64::from(seen.known));
                [reading("busy_share", share), reading("adds_per_step", median(&seen.adds_per_step))]
            })
            .collect()
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::{CpuLook, Look};

    #[test]
    fn a_run_gets_the_readings_of_its_cpus_and_gaps_have_a_reason() {
        let look = |moment, start_ns, adds: [Option<f64>; 2]| {
            let cpu = |(cpu, adds_per_step)| CpuLook { cpu, chain_ns: Some(0.3), adds_per_step };
            let cpus = (0..).zip(adds).map(cpu).collect();
            SliceLook { moment, look: Look { start_ns, took_ns: 7, cpus, pairs: Vec::new(), alone: None } }
        };
        let mut neighbours = Neighbours::default();
        let free = [Some(4.5), Some(4.4)];
        neighbours.add(&look(Moment::Before, 10, free), &[Share::Alone, Share::Alone]);
        neighbours.add(&look(Moment::During, 15, free), &[Share::Neighbour, Share::Neighbour]);
        neighbours.add(&look(Moment::After, 20, [Some(2.5), None]), &[Share::Neighbour, Share::Away]);
        neighbours
            .add(&look(Moment::Before, 30, [Some(2.4), Some(4.4)]), &[Share::Neighbour, Share::With(0)]);
        let seen = |list: &str| {
            let found = neighbours.readings(&CpuSet::parse_list(list).unwrap());
            assert!(found.iter().all(|one| (one.start_ns, one.end_ns) == (10, 37)));
            found.into_iter().map(|one| (one.metric, one.value, one.gap.is_some())).collect::<Vec<_>>()
        };
        let wanted = |metric: &str, value: Option<f64>| (metric.to_owned(), value, value.is_none());
        assert_eq!(
            seen("0"),
            [
                wanted("before_busy_share", Some(0.5)),
                wanted("before_adds_per_step", Some(4.5)),
                wanted("after_busy_share", Some(1.0)),
                wanted("after_adds_per_step", Some(2.5)),
            ]
        );
        let of_1 = seen("1");
        assert_eq!(of_1[0], wanted("before_busy_share", Some(0.0)));
        assert_eq!(of_1[2..], [wanted("after_busy_share", None), wanted("after_adds_per_step", None)]);
    }
}
