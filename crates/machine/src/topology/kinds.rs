//! Core kinds of a hybrid machine, with the evidence for them.
//!
//! Sources: the kernel's performance-counter devices `cpu_core`, `cpu_atom` and `cpu_lowpower`
//! (`arch/x86/events/intel/core.c`), `cpu_capacity` (`drivers/base/arch_topology.c`), and
//! `cpufreq/cpuinfo_max_freq` (`Documentation/admin-guide/pm/cpufreq.rst`).

use super::cpus::Cpus;
use super::sets::{SetForm, and, and_not};
use super::tree::Tree;
use super::{CoreKind, TopologyError};
use crate::CpuSet;

/// The counter devices of hybrid Intel processors, fastest cores first.
const COUNTERS: [(&str, &str); 3] =
    [("cpu_core", "P-core"), ("cpu_atom", "E-core"), ("cpu_lowpower", "LP-E-core")];

/// Two adjacent values belong to the same kind if the lower one is at least this part of the higher one.
/// Favoured cores of one kind differ by some percent (5.2 and 5.0 GHz), kinds by a fifth and more (5.0 and 3.9 GHz).
const SAME_KIND: f64 = 0.9;

/// The kinds of allowed CPUs, and the online CPUs of each in the same order.
pub(super) struct Kinds {
    pub(super) kinds: Vec<CoreKind>,
    pub(super) online: Vec<CpuSet>,
}

/// Cores whose value of the evidence is about the same.
struct Step {
    cpus: CpuSet,
    low: i64,
    high: i64,
}

/// `cores` are the online siblings of every core, `allowed` is not empty.
pub(super) fn read(
    tree: &Tree,
    cpus: &Cpus<'_>,
    cores: &[CpuSet],
    allowed: &CpuSet,
) -> Result<Kinds, TopologyError> {
    let frequency = |cpu| match cpus.dir(cpu).and_then(|dir| dir.sub("cpufreq")) {
        Some(folder) => folder.number("cpuinfo_max_freq"),
        None => Ok(None),
    };
    let mut all = low_power_apart(by_counters(tree, &cpus.online)?, cpus, cores, frequency)?;
    if all.len() < 2 {
        let capacity = |cpu| cpus.dir(cpu).map_or(Ok(None), |dir| dir.number("cpu_capacity"));
        all = named(steps(cores, capacity)?, |low, high| format!("cpu_capacity {}", range(low, high)));
    }
    if all.len() < 2 {
        all = named(steps(cores, frequency)?, |low, high| {
            format!("highest frequency {} MHz", range(low / 1000, high / 1000))
        });
    }
    if all.len() < 2 {
        let evidence = "no counter device, capacity or frequency distinguishes cores".to_owned();
        all = vec![CoreKind { name: "core".to_owned(), evidence, cpus: cpus.online.clone() }];
    }
    let mut found = Kinds { kinds: Vec::new(), online: Vec::new() };
    for kind in all {
        let usable = and(&kind.cpus, allowed);
        if !usable.is_empty() {
            found.online.push(kind.cpus);
            found.kinds.push(CoreKind { cpus: usable, ..kind });
        }
    }
    Ok(found)
}

/// By the counter devices, if they cover every online CPU.
fn by_counters(tree: &Tree, online: &CpuSet) -> Result<Vec<CoreKind>, TopologyError> {
    let mut left = online.clone();
    let mut kinds = Vec::new();
    for (device, name) in COUNTERS {
        let Some(dir) = tree.dir(&format!("sys/devices/{device}")) else { continue };
        let cpus = and(&dir.set(&[("cpus", SetForm::List)])?.unwrap_or_default(), &left);
        left = and_not(&left, &cpus);
        if !cpus.is_empty() {
            kinds.push(CoreKind {
                name: name.to_owned(),
                evidence: format!("counter device {device}"),
                cpus,
            });
        }
    }
    Ok(if left.is_empty() { kinds } else { Vec::new() })
}

/// Splits low-power cores from the E-cores that share a counter device with them: on Meteor Lake (Intel, "Performance
/// hybrid architecture") those of the SoC tile have no L3 cache, and reach lower frequencies.
fn low_power_apart(
    mut kinds: Vec<CoreKind>,
    cpus: &Cpus<'_>,
    cores: &[CpuSet],
    frequency: impl Fn(u32) -> Result<Option<i64>, TopologyError>,
) -> Result<Vec<CoreKind>, TopologyError> {
    let [_, (_, efficient), (_, low_power)] = COUNTERS;
    let at = kinds.iter().position(|kind| kind.name == efficient);
    let Some(at) = at.filter(|_| kinds.iter().all(|kind| kind.name != low_power)) else { return Ok(kinds) };
    let of_kind: Vec<CpuSet> = cores
        .iter()
        .filter(|core| core.first().is_some_and(|cpu| kinds[at].cpus.contains(cpu)))
        .cloned()
        .collect();
    let mut slow = CpuSet::new();
    let mut why = "no L3 cache".to_owned();
    for core in &of_kind {
        if let Some(cpu) = core.first()
            && !cpus.has_cache_level(cpu, 3)?
        {
            slow = slow.union(core);
        }
    }
    if slow.is_empty() || slow == kinds[at].cpus {
        slow = CpuSet::new();
        for step in steps(&of_kind, frequency)?.iter().skip(1) {
            why = format!("highest frequency {} MHz", step.high / 1000);
            slow = slow.union(&step.cpus);
        }
    }
    if !slow.is_empty() {
        let evidence = format!("{}, {why}", kinds[at].evidence);
        kinds[at].cpus = and_not(&kinds[at].cpus, &slow);
        kinds.insert(at + 1, CoreKind { name: low_power.to_owned(), evidence, cpus: slow });
    }
    Ok(kinds)
}

/// Sorts the cores by a value and splits them where it drops; fastest first. Empty if a core lacks the value, which
/// then is not evidence.
fn steps(
    cores: &[CpuSet],
    value_of: impl Fn(u32) -> Result<Option<i64>, TopologyError>,
) -> Result<Vec<Step>, TopologyError> {
    let mut values = Vec::with_capacity(cores.len());
    for core in cores {
        let value = core.first().map_or(Ok(None), &value_of)?;
        let Some(value) = value.filter(|&value| value > 0) else { return Ok(Vec::new()) };
        values.push((value, core));
    }
    values.sort_by_key(|(value, _)| std::cmp::Reverse(*value));
    let mut steps: Vec<Step> = Vec::new();
    for (value, core) in values {
        match steps.last_mut() {
            Some(step) if value as f64 >= SAME_KIND * step.low as f64 => {
                core.iter().for_each(|cpu| step.cpus.insert(cpu));
                step.low = value;
            }
            _ => steps.push(Step { cpus: core.clone(), low: value, high: value }),
        }
    }
    Ok(steps)
}

/// Names by rank: P-core, E-core; with three and more, M-cores between them.
fn named(steps: Vec<Step>, evidence: impl Fn(i64, i64) -> String) -> Vec<CoreKind> {
    let count = steps.len();
    let name = |rank: usize| match rank {
        0 => "P-core".to_owned(),
        last if last + 1 == count => "E-core".to_owned(),
        _ if count == 3 => "M-core".to_owned(),
        middle => format!("M{middle}-core"),
    };
    let kind = |(rank, step): (usize, Step)| CoreKind {
        name: name(rank),
        evidence: evidence(step.low, step.high),
        cpus: step.cpus,
    };
    steps.into_iter().enumerate().map(kind).collect()
}

fn range(low: i64, high: i64) -> String {
    if low == high { low.to_string() } else { format!("{low} to {high}") }
}
