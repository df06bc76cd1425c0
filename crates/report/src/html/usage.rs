//! Busy and stolen time of logical CPUs by treatment, from the /proc/stat times of valid runs.

use super::data::{Usage, UsageRow};
use crate::Document;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::{CpuTimes, Run};

/// More columns than this are not readable: neighbours are drawn together.
pub const MAX_COLUMNS: usize = 128;

/// Sums of one CPU, span or role.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    busy_ns: u64,
    steal_ns: u64,
    total_ns: u64,
    /// The part of `total_ns` in which a session of the treatment was bound there.
    used_ns: u64,
}

impl Sums {
    fn add(&mut self, times: &CpuTimes, used: bool) {
        self.busy_ns += times.busy_ns;
        self.steal_ns += times.steal_ns;
        self.total_ns += times.total_ns;
        self.used_ns += if used { times.total_ns } else { 0 };
    }

    fn merge(mut self, other: Self) -> Self {
        self.busy_ns += other.busy_ns;
        self.steal_ns += other.steal_ns;
        self.total_ns += other.total_ns;
        self.used_ns += other.used_ns;
        self
    }

    fn share(&self, part: u64) -> f64 {
        // Three decimals are what a cell can show, and keep the file small.
        (part as f64 / (self.total_ns.max(1)) as f64 * 1000.0).round() / 1000.0
    }
}

/// A treatment's sums by CPU (index into `cpus`) and by role.
struct Tally {
    by_cpu: Vec<Sums>,
    by_role: [Sums; 3],
}

const USED: usize = 0;
const LEFT_OVER: usize = 1;
const OTHERS: usize = 2;

/// Adds up all valid runs.
pub fn usage(document: &Document) -> Usage {
    let valid = || document.runs.iter().filter(|run| run.status.is_valid());
    let slices = valid().flat_map(|run| &run.slices);
    let cpus: BTreeSet<u32> = slices.flat_map(|slice| &slice.cpu_times).map(|times| times.cpu).collect();
    let columns: BTreeMap<u32, usize> = cpus.iter().copied().zip(0..).collect();
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for run in valid() {
        let empty = || Tally { by_cpu: vec![Sums::default(); cpus.len()], by_role: Default::default() };
        add_run(
            tallies.entry(run.treatment.as_str()).or_insert_with(empty),
            run,
            &columns,
            document.topology,
        );
    }
    let names: Vec<u32> = cpus.into_iter().collect();
    let span = names.len().div_ceil(MAX_COLUMNS).max(1);
    let treatments = document.study.treatments.iter();
    let rows: Vec<UsageRow> = treatments
        .filter_map(|treatment| {
            tallies.get(treatment.name.as_str()).map(|tally| row(&treatment.name, tally, span))
        })
        .collect();
    let steal = rows.iter().flat_map(|row| &row.cells).any(|(_, steal, _)| *steal >= 0.001);
    Usage { cpus: names.chunks(span).map(span_name).collect(), span, rows, steal }
}

fn add_run(tally: &mut Tally, run: &Run, columns: &BTreeMap<u32, usize>, topology: &Topology) {
    let used: CpuSet = run.cpus.iter().copied().collect();
    let siblings = used.iter().filter_map(|cpu| topology.cpu(cpu)).flat_map(|cpu| cpu.siblings.iter());
    let left_over: CpuSet = siblings.filter(|&cpu| !used.contains(cpu)).collect();
    for times in run.slices.iter().flat_map(|slice| &slice.cpu_times) {
        let role = match times.cpu {
            cpu if used.contains(cpu) => USED,
            cpu if left_over.contains(cpu) => LEFT_OVER,
            _ => OTHERS,
        };
        tally.by_role[role].add(times, role == USED);
        if let Some(&column) = columns.get(&times.cpu) {
            tally.by_cpu[column].add(times, role == USED);
        }
    }
}

fn row(name: &str, tally: &Tally, span: usize) -> UsageRow {
    let roles = tally
        .by_role
        .map(|sums| (sums.total_ns > 0).then(|| (sums.share(sums.busy_ns), sums.share(sums.steal_ns))));
    let spans = tally.by_cpu.chunks(span).map(|cpus| cpus.iter().copied().fold(Sums::default(), Sums::merge));
    let cells = spans.map(|s| (s.share(s.busy_ns), s.share(s.steal_ns), s.share(s.used_ns)));
    UsageRow { name: name.to_owned(), roles, cells: cells.collect() }
}

fn span_name(cpus: &[u32]) -> String {
    match cpus {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    }
}
