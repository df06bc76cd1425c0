//! Studies by machine and boot, and the one number that a machine is.

use super::judged::{MachineValue, Range};
use super::types::{Fleet, FleetStudy};
use threadwise_statistics::{MeanEstimate, mean};

/// A machine with its studies.
#[derive(Debug, Clone)]
pub(super) struct Machine<'a> {
    /// Its name for people.
    pub node: &'a str,
    key: &'a str,
    /// Its studies, in the fleet's order.
    pub studies: Vec<&'a FleetStudy>,
}

/// The machines of a kind that have a study, by name.
pub(super) fn machines<'a>(fleet: &'a Fleet, kind: &str) -> Vec<Machine<'a>> {
    let mut all: Vec<Machine<'a>> = Vec::new();
    for study in fleet.studies.iter().filter(|study| study.kind == kind) {
        match all.iter_mut().find(|machine| machine.key == study.machine) {
            Some(machine) => machine.studies.push(study),
            None => all.push(Machine { node: &study.node, key: &study.machine, studies: vec![study] }),
        }
    }
    all.sort_by(|one, other| (one.node, one.key).cmp(&(other.node, other.key)));
    all
}

impl Machine<'_> {
    /// A figure of its studies, by boot; studies without it are left out.
    pub(super) fn by_boot(&self, value: impl Fn(&FleetStudy) -> Option<f64>) -> Vec<Vec<f64>> {
        let mut boots: Vec<(&str, Vec<f64>)> = Vec::new();
        for study in &self.studies {
            let Some(value) = value(study) else { continue };
            match boots.iter_mut().find(|(boot, _)| *boot == study.boot) {
                Some((_, values)) => values.push(value),
                None => boots.push((&study.boot, vec![value])),
            }
        }
        boots.into_iter().map(|(_, values)| values).collect()
    }
}

/// A figure, in logarithms, on all machines of a kind that have it.
#[derive(Debug, Clone, Default)]
pub(super) struct Series {
    /// Names of the machines.
    pub nodes: Vec<String>,
    /// Logarithms by machine and boot.
    pub values: Vec<Vec<Vec<f64>>>,
}

impl Series {
    /// Of the machines that have the figure.
    pub(super) fn of(machines: &[Machine<'_>], value: impl Fn(&FleetStudy) -> Option<f64>) -> Self {
        let mut series = Self::default();
        for machine in machines {
            let boots = machine.by_boot(&value);
            if !boots.is_empty() {
                series.nodes.push(machine.node.to_owned());
                series.values.push(boots);
            }
        }
        series
    }

    /// One number a machine: the mean over its boots of the mean of each boot.
    pub(super) fn means(&self) -> Vec<f64> {
        self.values.iter().filter_map(|boots| machine_mean(boots)).collect()
    }

    /// The mean over machines with Student's t over them; `None` without a machine.
    pub(super) fn mean(&self) -> Option<MeanEstimate> {
        MeanEstimate::correlated(&self.means(), 0.0)
    }

    /// The same times a known factor, given as a logarithm.
    pub(super) fn shifted(mut self, by: f64) -> Self {
        self.values.iter_mut().flatten().flatten().for_each(|value| *value += by);
        self
    }

    /// Each machine's figure.
    pub(super) fn by_machine(&self) -> Vec<MachineValue> {
        let each = self.nodes.iter().zip(&self.values).zip(self.means());
        each.map(|((node, boots), mean)| MachineValue {
            node: node.clone(),
            boots: boots.len() as u32,
            studies: boots.iter().map(Vec::len).sum::<usize>() as u32,
            value: mean.exp(),
        })
        .collect()
    }
}

/// The one number that a machine is: the mean over boots of the mean of each boot's values. `None` without one.
pub fn machine_mean(boots: &[Vec<f64>]) -> Option<f64> {
    mean(boots.iter().filter_map(|values| mean(values.iter().copied())))
}

/// What the next machine will measure with as many boots and repeats, at level 1 − `alpha`: mean ± t · s · √(1 + 1/k),
/// for k machines, as a ratio (Hahn, Meeker, *Statistical Intervals*, 1991, chapter 4). `None` for one machine.
pub fn next_machine(mean: &MeanEstimate, alpha: f64) -> Option<Range> {
    // s / √k is the standard error.
    let half = mean.half_width(alpha) * ((mean.n + 1) as f64).sqrt();
    half.is_finite().then(|| Range { low: (mean.mean - half).exp(), high: (mean.mean + half).exp() })
}
