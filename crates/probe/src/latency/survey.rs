//! The course of a measurement: pairs in interleaved calls of both methods, the inferred pairs and their check,
//! and the report.

use super::declared::Declared;
use super::figures::{Gathered, Measured, PairState};
use super::levels::{Edge, Hierarchy, by_level, cpu_groups, majority_name};
use super::plan::{self, Effort, PairSelection, SAMPLES};
use super::types::Pair;
use super::{Latencies, LineBench, Method, Request, infer, methods_agree};
use crate::bench::ProbeError;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use threadwise_study::look::valleys::level_of;
use threadwise_study::probe::{LatencyLevel, PairLatency, ProbeForm};

/// Calls without any result after which a pair is given up.
const PATIENCE: u32 = 3;
/// Sampled pairs to check the inferred ones before all pairs are measured.
const ATTEMPTS: u32 = 3;
/// With contradictions around more logical CPUs than this share, all pairs are measured; else only
/// those logical CPUs against all others.
const MOST_SUSPECTS: f64 = 0.125;
/// Limit, seconds, of the short form's additions to its plan.
const SHORT_EXTRA_S: f64 = 5.0;
/// After this multiple of the estimated time, passes beyond the minimum are left out.
const LATENESS: f64 = 1.5;

struct Progress<'a> {
    tell: &'a mut dyn FnMut(f64),
    done: f64,
    planned: f64,
    reported: f64,
}

impl Progress<'_> {
    /// Records finished work; new work may have been added, so the share never falls.
    fn add(&mut self, done: f64) {
        self.done += done;
        self.reported = self.reported.max((self.done / self.planned).min(1.0));
        (self.tell)(self.reported);
    }
}

/// A survey of one machine.
pub(super) struct Survey<'a> {
    bench: &'a mut dyn LineBench,
    declared: &'a Declared,
    request: &'a Request<'a>,
    progress: Progress<'a>,
    found: BTreeMap<Pair, Measured>,
    /// Calls without a result of pairs that never gave one.
    silent: BTreeMap<Pair, u32>,
    gaps: Vec<String>,
}

impl<'a> Survey<'a> {
    pub(super) fn new(
        bench: &'a mut dyn LineBench,
        declared: &'a Declared,
        request: &'a Request<'a>,
        tell: &'a mut dyn FnMut(f64),
    ) -> Self {
        let progress = Progress { tell, done: 0.0, planned: 0.0, reported: 0.0 };
        let (found, silent) = (BTreeMap::new(), BTreeMap::new());
        Self { bench, declared, request, progress, found, silent, gaps: Vec::new() }
    }

    /// Measures the plan, checks the inferred pairs, and measures more if they are in doubt.
    pub(super) fn take(&mut self) -> Result<(), ProbeError> {
        match plan::selection(self.declared, self.request) {
            PairSelection::All => self.gather(&PairSelection::All),
            PairSelection::Some(pairs) => {
                let spanning: BTreeSet<Pair> = infer::spanning(self.declared).into_iter().collect();
                let drawn = pairs.iter().copied().filter(|pair| !spanning.contains(pair)).collect();
                self.gather(&PairSelection::Some(pairs))?;
                self.check(drawn)
            }
        }
    }

    /// Measures pairs and records their figures. Keeps them if the user stops it.
    fn gather(&mut self, wanted: &PairSelection) -> Result<(), ProbeError> {
        let mut gathered: BTreeMap<Pair, Gathered> = BTreeMap::new();
        let result = self.run_batches(wanted, &mut gathered);
        gathered.into_iter().for_each(|(pair, samples)| self.note(pair, samples));
        result
    }

    fn run_batches(
        &mut self,
        wanted: &PairSelection,
        gathered: &mut BTreeMap<Pair, Gathered>,
    ) -> Result<(), ProbeError> {
        let seed = self.request.seed;
        let mut batches = wanted.batches(self.declared, seed, 0);
        let effort = Effort::of(&batches, self.request.form);
        // Each pass counts with the first one's estimate.
        let planned = effort.estimated_s / f64::from(effort.passes.max(1));
        self.progress.planned += effort.estimated_s;
        let until = Instant::now() + Duration::from_secs_f64(LATENESS * effort.estimated_s);
        for pass in 0..effort.passes {
            // On a busy machine a call takes several times as long: then fewer of them.
            let last = pass + 1 == effort.passes || (pass + 1 >= effort.least && Instant::now() > until);
            if pass > 0 {
                batches = wanted.batches(self.declared, seed, pass);
            }
            // Passes pack their pairs into slightly different numbers of batches.
            let share = planned / batches.len() as f64;
            for batch in &batches {
                for repeat in 0..effort.repeats {
                    self.run_batch(batch, (pass + repeat) % 2 == 1, gathered)?;
                }
                if last {
                    let finished = batch.iter().filter_map(|pair| Some((*pair, gathered.remove(pair)?)));
                    finished.collect::<Vec<_>>().into_iter().for_each(|(pair, all)| self.note(pair, all));
                }
                self.progress.add(share);
            }
            if last {
                self.progress.add(planned * f64::from(effort.passes - pass - 1));
                break;
            }
        }
        Ok(())
    }

    /// One call for each method, in alternating order.
    fn run_batch(
        &mut self,
        batch: &[Pair],
        reversed: bool,
        gathered: &mut BTreeMap<Pair, Gathered>,
    ) -> Result<(), ProbeError> {
        let patient = |pair: &&Pair| self.silent.get(*pair).is_none_or(|calls| *calls < PATIENCE);
        let pairs: Vec<Pair> = batch.iter().filter(patient).copied().collect();
        if pairs.is_empty() {
            return Ok(());
        }
        let cpus: Vec<(u32, u32)> = pairs.iter().map(|pair| self.declared.os(*pair)).collect();
        let mut methods = [Method::Cas, Method::TwoLines];
        if reversed {
            methods.reverse();
        }
        for method in methods {
            let answers = self.bench.run(method, &cpus, SAMPLES)?;
            for (pair, samples) in pairs.iter().zip(answers) {
                let both = gathered.entry(*pair).or_default();
                let series = match method {
                    Method::Cas => &mut both.cas,
                    Method::TwoLines => &mut both.two_lines,
                };
                series.add(&samples);
                if both.cas.is_empty() && both.two_lines.is_empty() {
                    *self.silent.entry(*pair).or_default() += 1;
                } else {
                    self.silent.remove(pair);
                }
            }
        }
        Ok(())
    }

    /// Keeps a pair's figures; of two measurements the faster one, since other work only adds time.
    fn note(&mut self, pair: Pair, gathered: Gathered) {
        let Some(new) = gathered.finish() else {
            self.silent.entry(pair).or_default();
            return;
        };
        self.silent.remove(&pair);
        let old = self.found.get(&pair);
        if old.is_none_or(|old| new.typical_ns < old.typical_ns) {
            self.found.insert(pair, new);
        }
    }

    /// Compares sampled pairs with the inferred levels, and measures more if they differ.
    fn check(&mut self, mut drawn: BTreeSet<Pair>) -> Result<(), ProbeError> {
        for attempt in 0..=ATTEMPTS {
            // A seeming contradiction is measured again first.
            self.gather(&PairSelection::Some(self.doubtful(&drawn, attempt == 0)))?;
            let doubtful = self.doubtful(&drawn, attempt == 0);
            if doubtful.is_empty() {
                return Ok(());
            }
            let suspects = infer::suspects(&doubtful);
            let known: BTreeSet<Pair> = self.found.keys().copied().collect();
            let unknown = infer::unknown(self.declared.len(), &known);
            let all =
                attempt == ATTEMPTS || suspects.len() as f64 > MOST_SUSPECTS * self.declared.len() as f64;
            let more: Vec<Pair> =
                unknown.filter(|(a, b)| all || suspects.contains(a) || suspects.contains(b)).collect();
            if !self.affordable(&more, doubtful.len(), drawn.len()) {
                return Ok(());
            }
            self.gather(&PairSelection::Some(more))?;
            if all {
                return Ok(());
            }
            let more = infer::beside(self.declared, &self.edges(), &doubtful);
            if !self.affordable(&more, doubtful.len(), drawn.len()) {
                return Ok(());
            }
            self.gather(&PairSelection::Some(more))?;
            let known: BTreeSet<Pair> = self.found.keys().copied().collect();
            let next = infer::sample(self.declared.len(), &known, self.request.seed, attempt + 1);
            drawn = next.iter().copied().collect();
            self.gather(&PairSelection::Some(next))?;
        }
        Ok(())
    }

    /// Pairs that contradict the inferred levels, and on the first check the declaration.
    fn doubtful(&self, drawn: &BTreeSet<Pair>, first: bool) -> Vec<Pair> {
        let edges = self.edges();
        let mut doubtful: BTreeSet<Pair> =
            infer::contradictions(self.declared, &edges, drawn).into_iter().collect();
        if first {
            doubtful.extend(infer::misfits(self.declared, &edges));
        }
        doubtful.into_iter().collect()
    }

    /// Whether the form has time for more pairs; a gap reports it if not.
    fn affordable(&mut self, more: &[Pair], contradictions: usize, drawn: usize) -> bool {
        let batches = PairSelection::Some(more.to_vec()).batches(self.declared, self.request.seed, 0);
        let effort = Effort::of(&batches, self.request.form);
        if self.request.form != ProbeForm::Short || effort.estimated_s <= SHORT_EXTRA_S {
            return true;
        }
        self.gaps.push(format!(
            "the inferred latency levels are in doubt: {contradictions} pairs do not fit the declared groups ({drawn} were sampled to check them), and the short form has no time for {} more pairs; run `threadwise probe`",
            more.len()
        ));
        false
    }

    fn edges(&self) -> Vec<Edge> {
        self.found.iter().map(|(&(a, b), pair)| Edge { a, b, ns: pair.typical_ns }).collect()
    }

    /// Levels, figures and gaps.
    pub(super) fn conclude(mut self, interrupted: bool) -> Latencies {
        let edges = self.edges();
        let hierarchy = Hierarchy::find(self.declared, &edges);
        let pairs: Vec<PairLatency> = self
            .found
            .iter()
            .map(|(&pair, measured)| {
                let (a, b) = self.declared.os(pair);
                let level = Some(level_of(&hierarchy.cuts, measured.typical_ns) as u32);
                PairLatency { a, b, cas: measured.cas, two_lines: measured.two_lines, level }
            })
            .collect();
        let levels = if edges.is_empty() { Vec::new() } else { self.levels(&hierarchy, &edges) };
        self.gap_silent();
        self.gap_moved();
        self.gaps.extend(methods_agree(&pairs).and_then(|agreement| agreement.doubt()));
        Latencies { pairs, levels, gaps: self.gaps, interrupted }
    }

    fn levels(&self, hierarchy: &Hierarchy, edges: &[Edge]) -> Vec<LatencyLevel> {
        let split = by_level(&hierarchy.cuts, edges);
        let level = |(members, groups): (&Vec<&Edge>, &Vec<usize>)| {
            let minima = || members.iter().map(|edge| self.found[&(edge.a, edge.b)].min_ns());
            LatencyLevel {
                name: majority_name(self.declared, members).map(str::to_owned),
                low_ns: minima().fold(f64::INFINITY, f64::min),
                high_ns: minima().fold(0.0, f64::max),
                groups: cpu_groups(&self.declared.cpus, groups),
            }
        };
        split.iter().zip(&hierarchy.groups).map(level).collect()
    }

    fn gap_silent(&mut self) {
        let silent: Vec<Pair> =
            self.silent.keys().filter(|pair| !self.found.contains_key(pair)).copied().collect();
        if let Some(first) = silent.first() {
            let (a, b) = self.declared.os(*first);
            self.gaps.push(format!(
                "no cache-line latency for {} (first: logical CPUs {a} and {b}): the two hardly ran at the same time: they take turns on one CPU, or other work keeps one of them busy",
                count(silent.len())
            ));
        }
    }

    fn gap_moved(&mut self) {
        let moved: Vec<&Pair> =
            self.found.iter().filter(|(_, pair)| pair.moved()).map(|(pair, _)| pair).collect();
        if let Some(first) = moved.first() {
            let (a, b) = self.declared.os(**first);
            self.gaps.push(format!(
                "the latency of {} changed while it was measured: the hypervisor moves the threads, or other work disturbs them; figures are of the state that most calls saw (first: logical CPUs {a} and {b}, {})",
                count(moved.len()),
                mixture(&self.found[*first].states)
            ));
        }
    }
}

/// `8.0 ns in 2 of 40 calls, 61.0 ns in 38`.
fn mixture(states: &[PairState]) -> String {
    let all: usize = states.iter().map(|state| state.calls).sum();
    let total = |at: usize| if at == 0 { format!(" of {all} calls") } else { String::new() };
    let shown = states
        .iter()
        .enumerate()
        .map(|(at, state)| format!("{:.1} ns in {}{}", state.ns, state.calls, total(at)));
    shown.collect::<Vec<String>>().join(", ")
}

fn count(pairs: usize) -> String {
    if pairs == 1 { "1 pair".to_owned() } else { format!("{pairs} pairs") }
}
