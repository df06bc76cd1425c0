//! Executions by block, treatment and query, of usable runs alone: the source of every figure.
//!
//! A logarithm is kept for each round, so that two treatments are compared in rounds that both have: neighbours in time
//! (docs/METHODOLOGY.md, "Queries"). In `throughput` a round's value is the mean of the logarithms over its streams.

use crate::estimate::sides::{baselines, side};
use crate::estimate::{Observed, ObservedBlock, Rule, Sides};
use crate::groups::classes;
use crate::setting::Setting;
use crate::{Direction, Interval};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_machine::Topology;
use threadwise_statistics::{geometric, mean, mean_of_known};
use threadwise_study::tpch::{self, Test};
use threadwise_study::{OptionValue, QueryExecution, Role, Run, Slice, Study, Treatment};

/// Name of the option.
const DOP: &str = "dop";

/// One logarithm per round.
type ByRound = BTreeMap<u32, f64>;

/// Treatments that differ in their DOP alone, ascending by it, each DOP once.
pub type Ladder = Vec<(u32, usize)>;

/// Quantity of an execution that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Execution time, compared as speed.
    Elapsed,
    /// CPU time.
    Cpu,
}

/// Two sides of a comparison, as indices of treatments. Several treatments of a side are averaged in every block.
#[derive(Debug, Clone)]
pub struct Pair {
    /// What is on top.
    pub top: Vec<usize>,
    /// What is below.
    pub below: Vec<usize>,
    /// Queries with different plans, if they are left out of a comparison of equal plans.
    pub changed: BTreeSet<u8>,
}

/// All usable executions of a study.
pub struct Executions<'a> {
    /// The study.
    pub study: &'a Study,
    /// The machine, if known.
    pub topology: Option<&'a Topology>,
    /// 1 − the level of intervals.
    pub alpha: f64,
    /// Whether streams were run, rather than single queries.
    pub is_throughput: bool,
    /// Queries that the study asked for, ascending.
    pub asked: Vec<u8>,
    /// Queries that were executed at all, ascending.
    pub numbers: Vec<u8>,
    /// By block in order, then by treatment; `None` if a run does not count.
    pub cells: Vec<Vec<Option<BlockRun<'a>>>>,
}

/// One treatment in one block.
pub struct BlockRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// Clock of its own logical CPUs while not idle, MHz.
    pub clock_mhz: Option<f64>,
    /// Share of the time in which a neighbour shared its cores, before and after it.
    pub neighbour_share: Option<f64>,
    /// Slices that count.
    pub slices: Vec<&'a Slice>,
    /// Executions in order.
    pub done: Vec<Done<'a>>,
    /// All queries of the study, once; `None` if one of them is missing.
    pub total: Option<Total>,
    logs: BTreeMap<(u8, Quantity), ByRound>,
}

/// One execution and its slice.
#[derive(Clone, Copy)]
pub struct Done<'a> {
    /// The slice.
    pub slice: &'a Slice,
    /// The execution.
    pub execution: &'a QueryExecution,
}

/// All queries of a study, once: means if a block has them several times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Total {
    /// Power: sum of executions; throughput: the window. Seconds.
    pub elapsed_s: f64,
    /// CPU seconds, where known.
    pub cpu_s: Option<f64>,
    /// Queries executed.
    pub queries: f64,
}

impl<'a> Executions<'a> {
    /// Parameters for judging its ratios.
    pub fn rule(&self, direction: Direction) -> Rule {
        Rule { margin: self.study.design.margin, alpha: self.alpha, direction }
    }

    /// Sorts the executions of usable runs.
    pub fn new(setting: &Setting<'a>, observed: &Observed, runs: &'a [Run]) -> Self {
        let study = setting.study;
        let options = study.treatments.first().map(|first| &first.options);
        let is_throughput = options.is_some_and(|options| tpch::test(options) == Test::Throughput);
        let asked = options.map(tpch::queries).unwrap_or_default();
        let (topology, alpha) = (setting.topology, setting.alpha);
        let mut table =
            Self { study, topology, alpha, is_throughput, asked, numbers: Vec::new(), cells: Vec::new() };
        let cell = |block: &ObservedBlock, at: usize| {
            let telemetry = &observed.usable(block, at)?.telemetry;
            let cell = table.cell(runs.get(block.sources[at]?)?);
            let (clock_mhz, neighbour_share) = (telemetry.clock_mhz, telemetry.neighbour());
            Some(BlockRun { clock_mhz, neighbour_share, ..cell })
        };
        let cells = |block| (0..study.treatments.len()).map(|at| cell(block, at)).collect();
        table.cells = observed.blocks.iter().map(cells).collect();
        let all = table.cells.iter().flatten().flatten().flat_map(|cell| cell.logs.keys());
        table.numbers = all.map(|(query, _)| *query).collect::<BTreeSet<u8>>().into_iter().collect();
        table
    }

    /// Indices of the baseline and its twin that a treatment is compared with.
    pub fn below(&self, treatment: usize) -> Vec<usize> {
        baselines(self.study, &self.study.treatments[treatment].group)
    }

    /// One treatment over another, a baseline as the mean of both of its names.
    pub fn pair(&self, top: usize, below: usize) -> Pair {
        let [top, below] = [top, below].map(|at| side(self.study, at));
        Pair { top, below, changed: BTreeSet::new() }
    }

    /// A′ over A in the group of the top; without a side if there is no A/A.
    pub fn twins(&self, pair: &Pair) -> Pair {
        let twins =
            pair.top.first().and_then(|top| Sides::twins(self.study, &self.study.treatments[*top].group));
        let (top, below) = twins.map_or_else(Default::default, |twins| (vec![twins.top], twins.below));
        Pair { top, below, changed: pair.changed.clone() }
    }

    /// Whether a treatment is not a baseline.
    pub fn is_compared(&self, treatment: usize) -> bool {
        self.study.treatments[treatment].role == Role::Compared
    }

    /// Treatments that are not baselines.
    pub fn compared(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.study.treatments.len()).filter(|at| self.is_compared(*at))
    }

    /// The usable runs of a treatment in block order.
    pub fn of(&self, treatment: usize) -> impl Iterator<Item = &BlockRun<'a>> {
        self.cells.iter().filter_map(move |cells| cells[treatment].as_ref())
    }

    /// The usable runs of these treatments in each block in which all of them have one.
    pub fn together(&self, side: &[usize]) -> Vec<Vec<&BlockRun<'a>>> {
        self.cells.iter().filter_map(|cells| of_side(cells, side)).collect()
    }

    /// One number per block in which all sides count.
    pub fn d(
        &self,
        pair: &Pair,
        value: impl Fn(&[&BlockRun<'a>], &[&BlockRun<'a>]) -> Option<f64>,
    ) -> Vec<f64> {
        let d = self.cells.iter();
        let d = d.filter_map(|cells| value(&of_side(cells, &pair.top)?, &of_side(cells, &pair.below)?));
        d.filter(|d| d.is_finite()).collect()
    }

    /// d of one number of each run, given as a logarithm.
    pub fn number(&self, pair: &Pair, log: impl Fn(&BlockRun<'a>) -> Option<f64>) -> Vec<f64> {
        self.d(pair, |top, below| Some(mean_of(top, &log)? - mean_of(below, &log)?))
    }

    /// The mean over these queries of their d, above 0 for more CPU time and for more speed; a block without one of them
    /// is left out.
    pub fn queries(&self, pair: &Pair, queries: &[u8], quantity: Quantity) -> Vec<f64> {
        let sign = if quantity == Quantity::Elapsed { -1.0 } else { 1.0 };
        self.d(pair, |top, below| {
            let each = queries.iter().map(|query| query_difference(top, below, (*query, quantity)));
            Some(sign * mean_of_known(each)?)
        })
    }

    /// Logarithms by block; means for a side of several.
    pub fn logs(&self, side: &[usize], log: impl Fn(&BlockRun<'a>) -> Option<f64>) -> Vec<f64> {
        let all = self.together(side).into_iter().filter_map(|cells| mean_of(&cells, &log));
        all.filter(|log| log.is_finite()).collect()
    }

    /// The geometric mean of these over blocks.
    pub fn geometric(
        &self,
        side: &[usize],
        unit: &str,
        log: impl Fn(&BlockRun<'a>) -> Option<f64>,
    ) -> Option<Interval> {
        geometric(&self.logs(side, log), 1.0, unit, self.alpha)
    }

    /// The requested DOP, or else the number of logical CPUs of its placement.
    pub fn dop(&self, treatment: usize) -> Option<u32> {
        if let Some(OptionValue::Integer(dop)) = self.study.treatments[treatment].options.get(DOP) {
            return u32::try_from(*dop).ok();
        }
        self.of(treatment).next().map(|cell| cell.cpus().len() as u32)
    }

    /// Treatments by what they have in common besides their DOP. Twins are left out: a baseline and its twin are one
    /// side.
    pub fn ladders(&self) -> Vec<Ladder> {
        let parts = |at: usize| (self.study.treatments[at].sessions, &self.study.treatments[at].service);
        let differ_in_dop =
            |one: usize, other: usize| parts(one) == parts(other) && self.differ_in_parallelism(one, other);
        let is_twin = |at: usize| !self.is_compared(at) && self.below(at).first() != Some(&at);
        let all = (0..self.study.treatments.len()).filter(|at| !is_twin(*at));
        let all = all.filter_map(|at| Some((self.dop(at).filter(|dop| *dop > 0)?, at)));
        let mut ladders: Vec<Ladder> = classes(all, |one, other| differ_in_dop(one.1, other.1));
        for ladder in &mut ladders {
            ladder.sort_unstable();
            ladder.dedup_by_key(|(dop, _)| *dop);
        }
        ladders
    }

    /// Whether two treatments differ only in DOP and streams, as far as is known.
    pub fn differ_in_parallelism(&self, one: usize, other: usize) -> bool {
        let (a, b) = (&self.study.treatments[one], &self.study.treatments[other]);
        other_options(a).eq(other_options(b))
            && (&a.group, a.pin, &a.memory) == (&b.group, b.pin, &b.memory)
            && self.is_same_place(one, other)
    }

    /// The same words, or the same logical CPUs in every block that has both.
    fn is_same_place(&self, one: usize, other: usize) -> bool {
        let text = |at: usize| self.study.treatments[at].placement.text.as_str();
        let both = self.together(&[one, other]);
        text(one) == text(other)
            || !both.is_empty() && both.iter().all(|cells| cells[0].cpus() == cells[1].cpus())
    }

    fn cell(&self, run: &'a Run) -> BlockRun<'a> {
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
        let (logs, clock_mhz, neighbour_share) = (logs(&done), None, None);
        let cell = BlockRun { run, clock_mhz, neighbour_share, slices, logs, done, total: None };
        let total = if self.is_throughput { cell.streams(&self.asked) } else { cell.sum(&self.asked) };
        BlockRun { total, ..cell }
    }
}

/// The runs of one side in a block; `None` if one is missing, or without a side.
fn of_side<'t, 'a>(cells: &'t [Option<BlockRun<'a>>], side: &[usize]) -> Option<Vec<&'t BlockRun<'a>>> {
    let all: Option<Vec<&BlockRun<'a>>> = side.iter().map(|at| cells[*at].as_ref()).collect();
    all.filter(|all| !all.is_empty())
}

/// The mean over the runs of one side; `None` if one has none.
pub fn mean_of<'a>(cells: &[&BlockRun<'a>], value: impl Fn(&BlockRun<'a>) -> Option<f64>) -> Option<f64> {
    mean_of_known(cells.iter().map(|cell| value(cell)))
}

/// Options beside the DOP.
pub fn other_options(treatment: &Treatment) -> impl Iterator<Item = (&String, &OptionValue)> {
    treatment.options.iter().filter(|(name, _)| *name != DOP)
}

impl<'a> BlockRun<'a> {
    /// The logical CPUs, each once, ascending.
    pub fn cpus(&self) -> BTreeSet<u32> {
        self.run.cpus.iter().copied().collect()
    }

    /// Its executions of a query.
    pub fn executions(&self, query: u8) -> impl Iterator<Item = &'a QueryExecution> {
        self.done.iter().map(|done| done.execution).filter(move |one| one.query == query)
    }

    /// Sum over these queries of the mean of their executions; `None` if one is missing.
    pub fn sum(&self, queries: &[u8]) -> Option<Total> {
        let mut total = Total { elapsed_s: 0.0, cpu_s: Some(0.0), queries: queries.len() as f64 };
        for query in queries {
            let all = || self.executions(*query);
            let cpu_s = mean_of_known(all().map(|one| Some(one.cpu_ns? as f64 / 1e9)));
            total.elapsed_s += mean(all().map(|one| one.elapsed_ns as f64 / 1e9))?;
            total.cpu_s = total.cpu_s.zip(cpu_s).map(|(sum, cpu_s)| sum + cpu_s);
        }
        total.cpu_s = total.cpu_s.filter(|cpu_s| *cpu_s > 0.0);
        (!queries.is_empty()).then_some(total)
    }

    /// Mean window of whole streams; `None` if a stream lacks one of the queries.
    fn streams(&self, queries: &[u8]) -> Option<Total> {
        let has = |done: &[QueryExecution], query: &u8| {
            done.iter().any(|one| one.query == *query && one.elapsed_ns > 0)
        };
        let has_all = |slice: &&Slice| {
            let mut sessions = slice.sessions.iter();
            slice.window_ns > 0
                && !slice.sessions.is_empty()
                && sessions.all(|session| queries.iter().all(|query| has(&session.queries, query)))
        };
        if queries.is_empty() || !self.slices.iter().all(has_all) {
            return None;
        }
        let cpu_ns = mean(self.slices.iter().map(|slice| slice.cpu_ns() as f64))?;
        Some(Total {
            elapsed_s: mean(self.slices.iter().map(|slice| slice.window_ns as f64))? / 1e9,
            cpu_s: (cpu_ns > 0.0).then_some(cpu_ns / 1e9),
            queries: self.done.len() as f64 / self.slices.len() as f64,
        })
    }

    /// Mean logarithm of a query's nanoseconds over its rounds.
    pub fn mean_log(&self, query: u8, quantity: Quantity) -> Option<f64> {
        mean(self.logs.get(&(query, quantity))?.values().copied())
    }
}

impl Total {
    /// Queries per hour.
    pub fn per_h(&self) -> f64 {
        3600.0 * self.queries / self.elapsed_s
    }
}

/// Mean logarithms by query and round; a round with an execution without CPU time has none.
fn logs(done: &[Done<'_>]) -> BTreeMap<(u8, Quantity), ByRound> {
    let mut all: BTreeMap<(u8, Quantity, u32), Vec<Option<f64>>> = BTreeMap::new();
    for Done { slice, execution } in done {
        let cpu_ns = execution.cpu_ns.filter(|ns| *ns > 0);
        for (quantity, ns) in [(Quantity::Elapsed, Some(execution.elapsed_ns)), (Quantity::Cpu, cpu_ns)] {
            let of_round = all.entry((execution.query, quantity, slice.round)).or_default();
            of_round.push(ns.map(|ns| (ns as f64).ln()));
        }
    }
    let mut logs: BTreeMap<(u8, Quantity), ByRound> = BTreeMap::new();
    for ((query, quantity, round), all) in all {
        let log = mean_of_known(all.into_iter());
        logs.entry((query, quantity)).or_default().extend(log.map(|log| (round, log)));
    }
    logs
}

/// d of a query in a block: ln of the top less ln of the bottom, the mean over the rounds that all sides have.
fn query_difference(top: &[&BlockRun<'_>], below: &[&BlockRun<'_>], what: (u8, Quantity)) -> Option<f64> {
    let log = |cells: &[&BlockRun<'_>], round: &u32| {
        mean_of(cells, |cell| cell.logs.get(&what)?.get(round).copied())
    };
    let all = top.first()?.logs.get(&what)?.keys();
    mean(all.filter_map(|round| Some(log(top, round)? - log(below, round)?)))
}
