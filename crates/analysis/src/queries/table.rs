//! Executions by block, treatment and query, of usable runs alone: what every figure is made from.
//!
//! A logarithm is kept for each round, so that two treatments are compared in rounds that both have:
//! neighbours in time (docs/METHODOLOGY.md, "Queries"). In `throughput` a round's value is the mean of
//! the logarithms over its streams.

use std::collections::{BTreeMap, BTreeSet};

use threadwise_machine::Topology;
use threadwise_study::tpch::{self, Test};
use threadwise_study::{OptionValue, QueryExecution, Role, Run, Slice, Study, Treatment};

use super::family::negated;
use crate::Direction;
use crate::estimate::{Observed, Rule};
use crate::setting::Setting;

/// Name of the option.
const DOP: &str = "dop";

/// One logarithm a round.
type ByRound = BTreeMap<u32, f64>;

/// What of an execution is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Execution time.
    Elapsed,
    /// CPU time.
    Cpu,
}

/// All usable executions of a study.
pub struct Table<'a> {
    /// What was asked.
    pub study: &'a Study,
    /// Where, if it is known.
    pub topology: Option<&'a Topology>,
    /// 1 − the level of intervals.
    pub alpha: f64,
    /// Whether streams were run, and not query by query.
    pub is_throughput: bool,
    /// Queries that the study asked for, ascending.
    pub asked: Vec<u8>,
    /// By block in order, then by treatment; `None` where a run does not count.
    pub cells: Vec<Vec<Option<Cell<'a>>>>,
    /// For each treatment its group's baseline and twin.
    below: Vec<Vec<usize>>,
}

/// One treatment in one block.
pub struct Cell<'a> {
    /// Block number.
    pub block: u32,
    /// The run.
    pub run: &'a Run,
    /// Clock of its own logical CPUs while not idle, MHz.
    pub clock_mhz: Option<f64>,
    /// Share of the time in which a co-runner shared its cores, before and after it.
    pub co_runner_share: Option<f64>,
    /// Slices that count.
    pub slices: Vec<&'a Slice>,
    /// Executions in order.
    pub done: Vec<Done<'a>>,
    /// All queries of the study, once; `None` where one of them is missing.
    pub total: Option<Total>,
    queries: BTreeMap<u8, Logs>,
}

/// One execution and where it was.
#[derive(Clone, Copy)]
pub struct Done<'a> {
    /// The slice.
    pub slice: &'a Slice,
    /// The execution.
    pub execution: &'a QueryExecution,
}

/// All queries of a study, once: means where a block has them several times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Total {
    /// Power: sum of executions; throughput: the window. Seconds.
    pub elapsed_s: f64,
    /// CPU seconds, where known.
    pub cpu_s: Option<f64>,
    /// Queries executed.
    pub queries: f64,
}

#[derive(Default)]
struct Logs {
    elapsed: ByRound,
    cpu: ByRound,
}

impl<'a> Table<'a> {
    /// How its ratios are judged.
    pub fn rule(&self, direction: Direction) -> Rule {
        Rule { margin: self.study.design.margin, alpha: self.alpha, direction }
    }

    /// Sorts the executions of usable runs.
    pub fn new(setting: &Setting<'a>, observed: &Observed, runs: &'a [Run]) -> Self {
        let study = setting.study;
        let options = study.treatments.first().map(|first| &first.options);
        let is_throughput = options.is_some_and(|options| tpch::test(options) == Test::Throughput);
        let asked = options.map(tpch::queries).unwrap_or_default();
        let mut table = Self {
            study,
            topology: setting.topology,
            alpha: setting.alpha,
            is_throughput,
            asked,
            cells: Vec::new(),
            below: study.treatments.iter().map(|treatment| baselines(study, treatment)).collect(),
        };
        for block in &observed.blocks {
            let cell = |at: usize| {
                let digest = observed.usable(block, at)?;
                let mut cell = table.cell(runs.get(block.sources[at]?)?);
                cell.clock_mhz = digest.telemetry.clock_mhz;
                cell.co_runner_share = digest.telemetry.co_runner();
                Some(cell)
            };
            let cells = (0..study.treatments.len()).map(cell).collect();
            table.cells.push(cells);
        }
        table
    }

    /// Indices of the baseline and its twin that a treatment is compared with.
    pub fn below(&self, treatment: usize) -> &[usize] {
        &self.below[treatment]
    }

    /// What is below in a comparison with a treatment: a baseline is the mean of both of its names.
    pub fn sides(&self, treatment: usize) -> Vec<usize> {
        match self.is_compared(treatment) {
            true => vec![treatment],
            false => self.below[treatment].clone(),
        }
    }

    /// Whether a treatment is no baseline.
    pub fn is_compared(&self, treatment: usize) -> bool {
        self.study.treatments[treatment].role == Role::Compared
    }

    /// The usable runs of a treatment in block order.
    pub fn of(&self, treatment: usize) -> impl Iterator<Item = &Cell<'a>> {
        self.cells.iter().filter_map(move |cells| cells[treatment].as_ref())
    }

    /// The usable runs of these treatments in each block in which all of them have one.
    pub fn together(&self, sides: &[usize]) -> Vec<Vec<&Cell<'a>>> {
        let all = |cells: &Vec<Option<Cell<'a>>>| sides.iter().all(|at| cells[*at].is_some());
        let blocks = self.cells.iter().filter(|cells| !sides.is_empty() && all(cells));
        blocks.map(|cells| sides.iter().filter_map(|at| cells[*at].as_ref()).collect()).collect()
    }

    /// d of one treatment over another, made by `d` of the one on top and those below. A baseline on
    /// either side is the mean of both of its names.
    pub fn over(&self, top: usize, below: usize, d: impl Fn(usize, &[usize]) -> Vec<f64>) -> Vec<f64> {
        match self.is_compared(top) {
            true => d(top, &self.sides(below)),
            false => negated(d(below, &self.sides(top))),
        }
    }

    /// Queries that were executed at all, ascending.
    pub fn numbers(&self) -> Vec<u8> {
        let all = self.cells.iter().flatten().flatten().flat_map(|cell| cell.queries.keys().copied());
        all.collect::<BTreeSet<u8>>().into_iter().collect()
    }

    /// The requested DOP, or else the number of logical CPUs of its placement.
    pub fn dop(&self, treatment: usize) -> Option<u32> {
        if let Some(OptionValue::Integer(dop)) = self.study.treatments[treatment].options.get(DOP) {
            return u32::try_from(*dop).ok();
        }
        self.of(treatment).next().map(|cell| cell.cpus().len() as u32)
    }

    /// Whether two treatments differ in their DOP alone, as far as is known.
    pub fn differ_in_dop(&self, one: usize, other: usize) -> bool {
        let (a, b) = (&self.study.treatments[one], &self.study.treatments[other]);
        let same_options = || {
            let rest = |treatment: &'a Treatment| treatment.options.iter().filter(|(name, _)| *name != DOP);
            rest(a).eq(rest(b))
        };
        a.group == b.group
            && a.sessions == b.sessions
            && (a.pin, &a.memory, &a.service) == (b.pin, &b.memory, &b.service)
            && same_options()
            && self.is_same_place(one, other)
    }

    /// The same words, or the same logical CPUs in every block that has both.
    pub fn is_same_place(&self, one: usize, other: usize) -> bool {
        let text = |at: usize| self.study.treatments[at].placement.trim();
        if text(one) == text(other) {
            return true;
        }
        let mut both = self
            .cells
            .iter()
            .filter_map(|cells| cells[one].as_ref().zip(cells[other].as_ref()))
            .map(|(one, other)| one.cpus() == other.cpus())
            .peekable();
        both.peek().is_some() && both.all(|same| same)
    }

    /// d of a query by block: ln of the treatment's less the mean of ln of what is below.
    pub fn query(&self, top: usize, below: &[usize], query: u8, quantity: Quantity) -> Vec<f64> {
        self.blocks(top, below, |top, below| query_difference(top, below, query, quantity))
    }

    /// The mean over these queries of their d of execution times; a block without one of them counts
    /// for nothing.
    pub fn geometric(&self, top: usize, below: &[usize], queries: &[u8]) -> Vec<f64> {
        self.blocks(top, below, |top, below| {
            let each = queries.iter().map(|query| query_difference(top, below, *query, Quantity::Elapsed));
            let each: Vec<f64> = each.collect::<Option<_>>()?;
            (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
        })
    }

    /// d of one number of each run.
    pub fn number(&self, top: usize, below: &[usize], value: impl Fn(&Cell<'a>) -> Option<f64>) -> Vec<f64> {
        self.over_other(top, below, &value, &value)
    }

    /// The same where the number of what is below is another one.
    pub fn over_other(
        &self,
        top: usize,
        below: &[usize],
        of_top: impl Fn(&Cell<'a>) -> Option<f64>,
        of_below: impl Fn(&Cell<'a>) -> Option<f64>,
    ) -> Vec<f64> {
        self.blocks(top, below, |top, below| {
            let logs: Option<Vec<f64>> = below.iter().map(|cell| Some(of_below(cell)?.ln())).collect();
            let logs = logs?;
            Some(of_top(top)?.ln() - logs.iter().sum::<f64>() / logs.len() as f64)
        })
    }

    /// One number per block in which all sides count.
    fn blocks(
        &self,
        top: usize,
        below: &[usize],
        value: impl Fn(&Cell<'a>, &[&Cell<'a>]) -> Option<f64>,
    ) -> Vec<f64> {
        let d = self.cells.iter().filter_map(|cells| {
            let below: Option<Vec<&Cell<'a>>> = below.iter().map(|at| cells[*at].as_ref()).collect();
            value(cells[top].as_ref()?, below.filter(|below| !below.is_empty())?.as_slice())
        });
        d.filter(|d| d.is_finite()).collect()
    }

    fn cell(&self, run: &'a Run) -> Cell<'a> {
        // A round beyond the design is damage, as in the rest of the analysis.
        let slices: Vec<&Slice> =
            run.slices.iter().filter(|slice| slice.round < self.study.design.rounds).collect();
        let executions = slices.iter().flat_map(|slice| {
            let each = slice.sessions.iter().flat_map(|session| &session.queries);
            each.map(|execution| Done { slice, execution })
        });
        let is_sound = |done: &Done<'_>| {
            done.execution.elapsed_ns > 0 && self.asked.binary_search(&done.execution.query).is_ok()
        };
        let done: Vec<Done<'a>> = executions.filter(is_sound).collect();
        let mut cell = Cell {
            block: run.block,
            run,
            clock_mhz: None,
            co_runner_share: None,
            slices,
            queries: logs(&done),
            done,
            total: None,
        };
        cell.total = if self.is_throughput { cell.streams(&self.asked) } else { cell.sum(&self.asked) };
        cell
    }
}

impl<'a> Cell<'a> {
    /// The logical CPUs, each once, ascending.
    pub fn cpus(&self) -> Vec<u32> {
        self.run.cpus.iter().copied().collect::<BTreeSet<u32>>().into_iter().collect()
    }

    /// Its executions of a query.
    pub fn executions(&self, query: u8) -> impl Iterator<Item = &Done<'a>> {
        self.done.iter().filter(move |done| done.execution.query == query)
    }

    /// Times that all queries of the study were executed: 1 unless a block has more rounds.
    pub fn passes(&self, total: &Total) -> f64 {
        self.done.len() as f64 / total.queries
    }

    /// Of each of these queries the mean of its executions, added up; `None` where one is missing.
    pub fn sum(&self, queries: &[u8]) -> Option<Total> {
        let mut total = Total { elapsed_s: 0.0, cpu_s: Some(0.0), queries: queries.len() as f64 };
        for query in queries {
            let (mut count, mut elapsed, mut cpu) = (0.0, 0.0, Some(0.0));
            for done in self.executions(*query) {
                count += 1.0;
                elapsed += done.execution.elapsed_ns as f64 / 1e9;
                cpu = cpu.zip(done.execution.cpu_ns).map(|(sum, ns)| sum + ns as f64 / 1e9);
            }
            if count == 0.0 {
                return None;
            }
            total.elapsed_s += elapsed / count;
            total.cpu_s = total.cpu_s.zip(cpu).map(|(sum, cpu)| sum + cpu / count);
        }
        total.cpu_s = total.cpu_s.filter(|cpu_s| *cpu_s > 0.0);
        (!queries.is_empty()).then_some(total)
    }

    /// The windows of whole streams, their mean; `None` where a stream lacks one of the queries.
    fn streams(&self, queries: &[u8]) -> Option<Total> {
        let has_all = |slice: &&Slice| {
            let has = |done: &[QueryExecution], query: &u8| {
                done.iter().any(|one| one.query == *query && one.elapsed_ns > 0)
            };
            !slice.sessions.is_empty()
                && slice.window_ns > 0
                && slice
                    .sessions
                    .iter()
                    .all(|session| queries.iter().all(|query| has(&session.queries, query)))
        };
        if self.slices.is_empty() || queries.is_empty() || !self.slices.iter().all(has_all) {
            return None;
        }
        let count = self.slices.len() as f64;
        let window_ns: f64 = self.slices.iter().map(|slice| slice.window_ns as f64).sum();
        let cpu_ns: f64 = self.slices.iter().map(|slice| slice.cpu_ns() as f64).sum();
        Some(Total {
            elapsed_s: window_ns / count / 1e9,
            cpu_s: (cpu_ns > 0.0).then(|| cpu_ns / count / 1e9),
            queries: self.done.len() as f64 / count,
        })
    }

    /// Mean logarithm of a query's nanoseconds over its rounds.
    pub fn mean_log(&self, query: u8, quantity: Quantity) -> Option<f64> {
        let logs = self.queries.get(&query)?.of(quantity);
        (!logs.is_empty()).then(|| logs.values().sum::<f64>() / logs.len() as f64)
    }
}

impl Logs {
    fn of(&self, quantity: Quantity) -> &ByRound {
        match quantity {
            Quantity::Elapsed => &self.elapsed,
            Quantity::Cpu => &self.cpu,
        }
    }
}

impl Total {
    /// Queries per hour.
    pub fn per_h(&self) -> f64 {
        3600.0 * self.queries / self.elapsed_s
    }
}

/// The baseline of a treatment's group, and its twin.
fn baselines(study: &Study, treatment: &Treatment) -> Vec<usize> {
    let of_group = study.treatments.iter().enumerate().filter(|(_, other)| other.group == treatment.group);
    of_group.filter(|(_, other)| other.role != Role::Compared).map(|(at, _)| at).collect()
}

/// Mean logarithms by query and round; a round in which one execution lacks its CPU time has none.
fn logs(done: &[Done<'_>]) -> BTreeMap<u8, Logs> {
    let mut sums: BTreeMap<(u8, u32), (f64, f64, Option<f64>)> = BTreeMap::new();
    for Done { slice, execution } in done {
        let (count, elapsed, cpu) =
            sums.entry((execution.query, slice.round)).or_insert((0.0, 0.0, Some(0.0)));
        *count += 1.0;
        *elapsed += (execution.elapsed_ns as f64).ln();
        let known = execution.cpu_ns.filter(|ns| *ns > 0);
        *cpu = cpu.zip(known).map(|(sum, ns)| sum + (ns as f64).ln());
    }
    let mut queries: BTreeMap<u8, Logs> = BTreeMap::new();
    for ((query, round), (count, elapsed, cpu)) in sums {
        let logs = queries.entry(query).or_default();
        logs.elapsed.insert(round, elapsed / count);
        if let Some(cpu) = cpu {
            logs.cpu.insert(round, cpu / count);
        }
    }
    queries
}

/// d of a query in a block: the mean over the rounds that all sides have.
fn query_difference(top: &Cell<'_>, below: &[&Cell<'_>], query: u8, quantity: Quantity) -> Option<f64> {
    let rounds = top.queries.get(&query)?.of(quantity);
    let below: Option<Vec<&ByRound>> =
        below.iter().map(|cell| Some(cell.queries.get(&query)?.of(quantity))).collect();
    let below = below?;
    let (mut count, mut sum) = (0.0, 0.0);
    for (round, log) in rounds {
        let logs: Option<Vec<f64>> = below.iter().map(|side| side.get(round).copied()).collect();
        if let Some(logs) = logs {
            count += 1.0;
            sum += log - logs.iter().sum::<f64>() / logs.len() as f64;
        }
    }
    (count > 0.0).then(|| sum / count)
}
