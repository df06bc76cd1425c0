//! Busy and stolen time of logical CPUs by treatment, from the /proc/stat times of valid runs.

use super::cells::share;
use super::core_time;
use crate::Facts;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::chart::{Usage, UsageRow};
use threadwise_document::numbers::percent;
use threadwise_document::{Block, Cell, Chart, Column, Figure, Section, Shown, Table, prose};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::{CpuTimes, Run};

/// The section.
pub fn section(facts: &Facts<'_>) -> Section {
    let nouns = &facts.study.nouns();
    let Some(usage) = chart(facts) else {
        let none = prose!("No readings of /proc/stat were taken.");
        return Section::new("cpus", TITLE, vec![Block::Text(none, Shown::Page)]);
    };
    let spans = match usage.span {
        0 | 1 => String::new(),
        span => format!(" Each column is the mean of {span} neighbours."),
    };
    let around = match facts.study.runs_whole() {
        // A run of half a second after a pause of one looks idle here.
        true => " It includes what is done before and after a run: pauses, checks, further commands.",
        false => "",
    };
    let roles_words = format!(
        "Mean busy share while the treatment's slices ran: of the logical CPUs that its {} used, of the idle siblings of \
         their cores, and of all others. Blocks draw different cores.{around}",
        nouns.sessions,
    );
    let busy_words = format!(
        "Mean busy share of each logical CPU while the treatment's slices ran, over all blocks.{spans}"
    );
    let figure = |chart, title, description, table: Table| {
        let title = facts.titled(title, "");
        Block::Figure(Box::new(Figure {
            chart,
            wide: true,
            title,
            description,
            table: table.shown(Shown::Page),
        }))
    };
    let mut blocks: Vec<Block> = core_time::table(facts).into_iter().collect();
    if !usage.steal {
        let none = prose!(
            "The hypervisor took less than {} of the time of every logical CPU.",
            percent(STEAL_SHARE)
        );
        blocks.push(Block::Text(none, Shown::Page));
    }
    blocks.push(figure(Chart::Roles, "Busy time by use", roles_words, roles(&usage)));
    blocks.push(figure(Chart::Busy, "Busy time by logical CPU", busy_words, by_cpu(&usage, false)));
    if usage.steal {
        let words = format!("Mean share of time that the hypervisor took from each logical CPU.{spans}");
        blocks.push(figure(Chart::Steal, "Stolen time by logical CPU", words, by_cpu(&usage, true)));
    }
    Section::new("cpus", TITLE, blocks)
}

const TITLE: &str = "Logical CPUs during each treatment";

/// Least share of any logical CPU's time from which stolen time is drawn.
const STEAL_SHARE: f64 = 0.001;

/// Busy and steal by role.
fn roles(usage: &Usage) -> Table {
    let columns = [
        "used: busy",
        "used: steal",
        "idle siblings: busy",
        "idle siblings: steal",
        "others: busy",
        "others: steal",
    ];
    let rows = usage.rows.iter().map(|row| {
        let cells = row.roles.iter().flat_map(|role| match role {
            Some((busy, steal)) => [share(*busy), share(*steal)],
            None => [Cell::none(), Cell::none()],
        });
        std::iter::once(Cell::text(&row.name)).chain(cells).collect()
    });
    let columns = std::iter::once(Column::text("treatment")).chain(columns.map(Column::figure)).collect();
    Table::new("Share of time by the role of a logical CPU for the treatment", columns, rows)
}

/// Busy or steal by CPU: one column per treatment, one row per CPU, since there may be many.
fn by_cpu(usage: &Usage, steal: bool) -> Table {
    let cell = |&(busy, stolen, _): &(f64, f64, f64)| share(if steal { stolen } else { busy });
    let rows = usage.cpus.iter().enumerate().map(|(at, cpu)| {
        let cells = usage.rows.iter().map(|row| row.cells.get(at).map_or_else(Cell::none, cell));
        std::iter::once(Cell::text(cpu)).chain(cells).collect()
    });
    let names = usage.rows.iter().map(|row| Column::figure(&row.name));
    let columns = std::iter::once(Column::text("logical CPU")).chain(names).collect();
    let caption =
        if steal { "Stolen share of time by logical CPU" } else { "Busy share of time by logical CPU" };
    Table::new(caption, columns, rows)
}

/// Most readable columns: beyond it neighbours are drawn together.
const MAX_COLUMNS: usize = 128;

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

/// Adds up all valid runs; `None` without readings.
pub fn chart(facts: &Facts<'_>) -> Option<Usage> {
    let valid = || facts.runs.iter().filter(|run| run.status.is_valid());
    let cpus: BTreeSet<u32> = valid().flat_map(times_of).map(|times| times.cpu).collect();
    let columns: BTreeMap<u32, usize> = cpus.iter().copied().zip(0..).collect();
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for run in valid() {
        let empty = || Tally { by_cpu: vec![Sums::default(); cpus.len()], by_role: Default::default() };
        add_run(tallies.entry(run.treatment.as_str()).or_insert_with(empty), run, &columns, facts.topology);
    }
    let names: Vec<u32> = cpus.into_iter().collect();
    let span = names.len().div_ceil(MAX_COLUMNS).max(1);
    let treatments = facts.study.treatments.iter();
    let rows: Vec<UsageRow> = treatments
        .filter_map(|treatment| {
            tallies.get(treatment.name.as_str()).map(|tally| row(&treatment.name, tally, span))
        })
        .collect();
    let steal = rows.iter().flat_map(|row| &row.cells).any(|(_, steal, _)| *steal >= STEAL_SHARE);
    (!rows.is_empty()).then(|| Usage { cpus: names.chunks(span).map(span_name).collect(), span, rows, steal })
}

/// All times of a run: of its logical CPUs and their siblings by slice, of others once.
fn times_of(run: &Run) -> impl Iterator<Item = &CpuTimes> {
    run.slices.iter().flat_map(|slice| &slice.cpu_times).chain(&run.other_cpu_times)
}

fn add_run(tally: &mut Tally, run: &Run, columns: &BTreeMap<u32, usize>, topology: &Topology) {
    let used: CpuSet = run.cpus.iter().copied().collect();
    let siblings = used.iter().filter_map(|cpu| topology.cpu(cpu)).flat_map(|cpu| cpu.siblings.iter());
    let left_over: CpuSet = siblings.filter(|&cpu| !used.contains(cpu)).collect();
    for times in times_of(run) {
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
