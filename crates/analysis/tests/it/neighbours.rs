//! The cost of a neighbour on simulated hosts whose truth is known: a small form; the large one is in the laboratory.
#![allow(clippy::unwrap_used)]

use crate::lab_simulations::coverage::whole;
use threadwise_analysis::looks::states::{Judged, LookedAt};
use threadwise_analysis::neighbours::{
    DuringLook, Observations, PairLook, PairRow, Row, observations, pairs,
};
use threadwise_statistics::Normal;
use threadwise_study::look::follow::Share;
use threadwise_study::{
    CpuLook, Look, Moment, OptionValue, QueryExecution, Run, RunStatus, SessionSlice, Slice, Workload,
};

/// A host, its guest, and a study of it.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// Share of the time with a neighbour at each logical CPU.
    pub prevalence: f64,
    /// Mean length of its visits, seconds.
    pub visit_s: f64,
    /// Share of a session's rate that a neighbour at its own core takes.
    pub cost: f64,
    /// Share that neighbours anywhere in the package take, however many logical CPUs have one.
    pub package: f64,
    /// Share of the blocks without any neighbour.
    pub quiet_blocks: f64,
    /// Share of the looks that are wrong.
    pub wrong: f64,
    /// Blocks.
    pub blocks: u32,
}

pub const HOST: Host = Host {
    prevalence: 0.3,
    visit_s: 0.3,
    cost: 0.43,
    package: 0.0,
    quiet_blocks: 0.0,
    wrong: 0.0,
    blocks: 16,
};

const ROUNDS: usize = 10;
const TREATMENTS: usize = 5;
const WINDOW_S: f64 = 0.05;
/// From the look before a slice to its window, and from its end to the look after it.
const LEAD_S: f64 = 0.01;
const TAIL_S: f64 = 0.002;
/// Between the look after a slice and the one before the next.
const GAP_S: f64 = 0.002;
/// Scatter of a slice's rate, of a block's, and their correlation.
const SLICE_SD: f64 = 0.03;
const BLOCK_SD: f64 = 0.02;
const AR1: f64 = 0.3;

/// When a logical CPU has a neighbour.
struct Visits {
    /// Beginnings of stretches, by turns with and without, and the time with a neighbour until then.
    starts: Vec<f64>,
    with: Vec<f64>,
    is_first_with: bool,
}

impl Visits {
    fn draw(host: &Host, until_s: f64, random: &mut Normal) -> Self {
        let is_first_with = random.uniform() < host.prevalence;
        let pause_s = host.visit_s * (1.0 - host.prevalence) / host.prevalence;
        let (mut starts, mut with, mut is_with) = (vec![0.0], vec![0.0], is_first_with);
        let (mut at, mut sum) = (0.0, 0.0);
        while at < until_s {
            let length = -random.uniform().ln() * if is_with { host.visit_s } else { pause_s };
            at += length;
            sum += if is_with { length } else { 0.0 };
            is_with = !is_with;
            starts.push(at);
            with.push(sum);
        }
        Self { starts, with, is_first_with }
    }

    fn place(&self, at: f64) -> usize {
        self.starts.partition_point(|start| *start <= at) - 1
    }

    fn is_with(&self, at: f64) -> bool {
        self.place(at).is_multiple_of(2) == self.is_first_with
    }

    fn until(&self, at: f64) -> f64 {
        let place = self.place(at);
        self.with[place] + if self.is_with(at) { at - self.starts[place] } else { 0.0 }
    }

    fn share(&self, from: f64, to: f64) -> f64 {
        (self.until(to) - self.until(from)) / (to - from)
    }
}

/// A study of two sessions' worth of observations: two treatments of five run one session on a logical CPU that is drawn
/// for the block.
pub fn study(host: &Host, random: &mut Normal) -> Observations {
    let slice_s = LEAD_S + WINDOW_S + TAIL_S + GAP_S;
    let block_s = (ROUNDS * TREATMENTS) as f64 * slice_s;
    let mut found = Observations::default();
    let drift = random.correlated(host.blocks as usize, AR1);
    for block in 0..host.blocks {
        let is_quiet = random.uniform() < host.quiet_blocks;
        let of_block = if is_quiet { Host { prevalence: 1e-9, ..*host } } else { *host };
        let visits = [(); 2].map(|()| Visits::draw(&of_block, block_s + 1.0, random));
        let session_cpu = usize::from(random.uniform() < 0.5);
        let mut look = |cpu: usize, at: f64| {
            let is_wrong = random.uniform() < host.wrong;
            f64::from(u8::from(visits[cpu].is_with(at) != is_wrong))
        };
        let starts: Vec<f64> = (0..ROUNDS * TREATMENTS).map(|at| 0.1 + at as f64 * slice_s).collect();
        let around: Vec<[[f64; 2]; 2]> = starts
            .iter()
            .map(|start| [0, 1].map(|cpu| [look(cpu, *start), look(cpu, start + LEAD_S + WINDOW_S + TAIL_S)]))
            .collect();
        let exposure = |at: usize, cpu: usize| {
            let far = around[at - 1][cpu][1] + around[at + 1][cpu][0];
            (around[at][cpu][0] + around[at][cpu][1] + far / 2.0) / 3.0
        };
        for round in 0..ROUNDS {
            // Which of the round's slices are the two treatments'.
            let first = (random.uniform() * TREATMENTS as f64) as usize;
            for turn in 0..TREATMENTS {
                let at = round * TREATMENTS + turn;
                if at == 0 || at + 1 == starts.len() {
                    continue;
                }
                let from = starts[at] + LEAD_S;
                if random.uniform() < 0.5 {
                    let when = from + random.uniform() * WINDOW_S;
                    for (cpu, visits) in visits.iter().enumerate() {
                        let is_wrong = random.uniform() < host.wrong;
                        let seen = f64::from(u8::from(visits.is_with(when) != is_wrong));
                        found.during.push(DuringLook {
                            block,
                            cpu: cpu as u32,
                            seen,
                            exposure: exposure(at, cpu),
                        });
                    }
                }
                let cell = match (turn + TREATMENTS - first) % TREATMENTS {
                    0 => 0,
                    1 => 1,
                    _ => continue,
                };
                let [mine, other] =
                    [session_cpu, 1 - session_cpu].map(|cpu| visits[cpu].share(from, from + WINDOW_S));
                let noise = SLICE_SD * random.draw() + BLOCK_SD * drift[block as usize];
                let rate = (1.0 - host.cost * mine)
                    * (1.0 - host.package * f64::midpoint(mine, other))
                    * noise.exp();
                let [before, after] = around[at][session_cpu];
                found.rows.push(Row {
                    block,
                    cell,
                    rate,
                    rate_by_cpu: None,
                    own: exposure(at, session_cpu),
                    share: exposure(at, session_cpu),
                    window_s: WINDOW_S,
                    more: 0.0,
                    elsewhere: Some(exposure(at, 1 - session_cpu)),
                    agreed: (before == after).then_some(before > 0.5),
                });
            }
        }
    }
    found
}

/// Queries of a block, and the times that they take without neighbours, from this on and up to 16 times as long, seconds.
const QUERIES: u8 = 22;
const SHORTEST_S: f64 = 0.06;
/// Between looks inside a query, and their time beside a query.
const EVERY_S: f64 = 0.1;

/// A look: its moment and time in seconds, and which of two logical CPUs had a neighbour.
type Seen = (Moment, f64, [bool; 2]);
/// A query and its looks.
type Taken = (Slice, Vec<Seen>);

/// A study of queries, of which each runs once a block under each of four treatments: three are a session on logical CPU 0,
/// or 1, as drawn for the block, and the last has two threads, one on each. Queries take so many times as long as above.
pub fn query_study(host: &Host, times: f64, random: &mut Normal) -> Observations {
    let mut study = threadwise_study::Study { workload: Workload::Tpch, ..whole::study() };
    let last = study.treatments.last_mut().unwrap();
    last.options.insert("dop".to_owned(), OptionValue::Integer(2));
    let alone: Vec<f64> = (0..QUERIES)
        .map(|query| times * SHORTEST_S * 16_f64.powf(f64::from(query) / f64::from(QUERIES - 1)))
        .collect();
    let most_s = 8.0 * alone.iter().sum::<f64>() * whole::NAMES.len() as f64;
    let mut runs: Vec<(Run, Vec<Taken>)> = Vec::new();
    let (mut clock, mut sequence) = (0.0, 0_u64);
    for block in 0..host.blocks {
        let visits = [(); 2].map(|()| Visits::draw(host, most_s, random));
        let session = u32::from(random.uniform() < 0.5);
        let cpus = |name: &str| if name == whole::NAMES[3] { vec![0, 1] } else { vec![session] };
        let mut of_block: Vec<(Run, Vec<_>)> =
            whole::NAMES.iter().map(|name| (run(block, name, cpus(name)), Vec::new())).collect();
        let (mut at, level) = (0.1, (BLOCK_SD * random.draw()).exp());
        for query in 0..QUERIES {
            for (run, slices) in &mut of_block {
                let from = at + 5e-4;
                let needed_s = alone[usize::from(query)] * level * (SLICE_SD * random.draw()).exp();
                let share = |until: f64| {
                    let shares = run.cpus.iter().map(|cpu| visits[*cpu as usize].share(from, until));
                    shares.sum::<f64>() / run.cpus.len() as f64
                };
                // Time in which the work is done, by halving.
                let (mut low, mut high) = (needed_s, needed_s / (1.0 - host.cost));
                for _ in 0..50 {
                    let middle = f64::midpoint(low, high);
                    let done_s = middle * (1.0 - host.cost * share(from + middle));
                    if done_s < needed_s { low = middle } else { high = middle }
                }
                let mut look = |moment, when: f64| {
                    let seen = [0, 1].map(|cpu| {
                        let is_wrong = random.uniform() < host.wrong;
                        visits[cpu].is_with(when) != is_wrong
                    });
                    (moment, when, seen)
                };
                let mut looks = vec![look(Moment::Before, at)];
                sequence += 1;
                let phase = (sequence as f64 * 1.618_033_988_749_895).fract();
                let inside =
                    (0..).map(|count| (phase + f64::from(count)) * EVERY_S).take_while(|after| *after < low);
                looks.extend(inside.map(|after| look(Moment::During, from + after)).collect::<Vec<_>>());
                looks.push(look(Moment::After, from + low + 0.01));
                let mut slice = slice(query + 1, clock + from, low);
                slice.sequence = sequence;
                slices.push((slice, looks));
                at = from + low + 0.012;
            }
        }
        clock += most_s;
        runs.extend(of_block);
    }
    let taken = runs.iter().flat_map(|(_, slices)| slices).flat_map(|(_, seen)| seen);
    let looks: Vec<Look> = taken.map(|(_, when, _)| look_at(*when)).collect();
    let mut next = looks.iter();
    let mut slices: Vec<LookedAt<'_>> = Vec::new();
    for (run, of_run) in &runs {
        for (slice, seen) in of_run {
            let mut judged = |(moment, _, seen): &Seen| {
                let share = |has: bool| if has { Share::Neighbour } else { Share::Alone };
                let shares = (0..).zip(seen.map(share)).collect();
                Judged { moment: *moment, look: next.next().unwrap(), shares }
            };
            slices.push(LookedAt { run, slice, looks: seen.iter().map(&mut judged).collect() });
        }
    }
    slices.sort_by_key(|one| one.slice.start_ns);
    observations(&study, &slices, |_| true)
}

fn look_at(when_s: f64) -> Look {
    let seen = |cpu| CpuLook { cpu, chain_ns: None, adds_per_step: None };
    Look { start_ns: (1e9 * when_s) as u64, cpus: vec![seen(0), seen(1)], ..Look::default() }
}

fn run(block: u32, treatment: &str, cpus: Vec<u32>) -> Run {
    Run {
        id: 0,
        block,
        attempt: 0,
        treatment: treatment.to_owned(),
        cpus,
        status: RunStatus::Valid,
        slices: Vec::new(),
        started_s: 0.0,
        prepare_ns: 0,
        readings: Vec::new(),
        other_cpu_times: Vec::new(),
    }
}

fn slice(query: u8, start_s: f64, elapsed_s: f64) -> Slice {
    let elapsed_ns = (1e9 * elapsed_s) as u64;
    let execution =
        QueryExecution { query, elapsed_ns, cpu_ns: Some(elapsed_ns), ..QueryExecution::default() };
    Slice {
        sequence: 0,
        round: query.into(),
        start_ns: (1e9 * start_s) as u64,
        window_ns: elapsed_ns,
        sessions: vec![SessionSlice { queries: vec![execution], ..SessionSlice::default() }],
        counters: Default::default(),
        cpu_times: Vec::new(),
        other_cpus: Default::default(),
        looks: Vec::new(),
    }
}

/// How often studies of a host find a cost, cover the truth, and what they find on average.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rates {
    /// Share with an estimate that is corrected.
    pub estimated: f64,
    /// Of these, share whose interval holds the truth.
    pub covered: f64,
    /// Share in which a cost is claimed.
    pub claimed: f64,
    /// Share whose interval holds what is left of the whole.
    pub whole: f64,
    /// Mean of what is left, and of the same as slices show it.
    pub left: f64,
    pub seen: f64,
}

/// Of so many studies.
pub fn rates(host: &Host, studies: u32, seed: u64) -> Rates {
    rates_of(host, studies, seed, study)
}

/// Of so many studies that are made like this.
pub fn rates_of(
    host: &Host,
    studies: u32,
    seed: u64,
    study: impl Fn(&Host, &mut Normal) -> Observations,
) -> Rates {
    let mut random = Normal::new(seed);
    let (mut rates, truth) = (Rates::default(), (1.0 - host.cost).ln());
    for at in 0..studies {
        let Some(found) = threadwise_analysis::neighbours::cost(&study(host, &mut random), u64::from(at))
        else {
            continue;
        };
        let Some(left) = found.remaining else { continue };
        let (low, high) = left.interval(0.05);
        rates.estimated += 1.0;
        rates.covered += f64::from(u8::from(low <= truth && truth <= high));
        let of_all = 1.0 - host.prevalence * (1.0 - host.quiet_blocks) * host.cost;
        let whole = found.whole.map(|whole| whole.interval(0.05));
        rates.whole +=
            f64::from(u8::from(whole.is_some_and(|(low, high)| low <= of_all.ln() && of_all.ln() <= high)));
        rates.claimed += f64::from(u8::from(found.is_claimed(high.exp(), 0.05)));
        rates.left += left.mean.exp();
        rates.seen += found.seen.mean.exp();
    }
    let count = rates.estimated.max(1.0);
    Rates {
        estimated: rates.estimated / f64::from(studies),
        covered: rates.covered / count,
        whole: rates.whole / count,
        claimed: rates.claimed / f64::from(studies),
        left: rates.left / count,
        seen: rates.seen / count,
    }
}

/// Share of the rate of two on clear cores that is left on one.
const ON_ONE_CORE: f64 = 0.6;
/// Rate of two on clear cores over that of one.
const TWO: f64 = 1.95;

/// Two sessions that a host runs on one core for 15% of the time in visits of 0.3 s, else with neighbours as of `host`.
pub fn pair_study(host: &Host, random: &mut Normal) -> (Vec<PairRow>, Vec<PairLook>) {
    let slice_s = LEAD_S + WINDOW_S + TAIL_S + GAP_S;
    let block_s = (ROUNDS * TREATMENTS) as f64 * slice_s;
    let (mut rows, mut looks) = (Vec::new(), Vec::new());
    for block in 0..host.blocks {
        let shared = Visits::draw(&Host { prevalence: 0.15, ..*host }, block_s + 1.0, random);
        let visits = [(); 2].map(|()| Visits::draw(host, block_s + 1.0, random));
        // Steps of 1 ms: shares of a time on one core, and with neighbours elsewhere.
        let states = |from: f64, to: f64, cpus: &[usize]| {
            let steps = ((to - from) / 1e-3).ceil().max(1.0) as usize;
            let mut sum = [0.0, 0.0];
            for step in 0..steps {
                let at = from + (to - from) * (step as f64 + 0.5) / steps as f64;
                match cpus.len() == 2 && shared.is_with(at) {
                    true => sum[0] += 1.0,
                    false => {
                        sum[1] += cpus.iter().filter(|cpu| visits[**cpu].is_with(at)).count() as f64
                            / cpus.len() as f64;
                    }
                }
            }
            sum.map(|sum| sum / steps as f64)
        };
        let starts: Vec<f64> = (0..ROUNDS * TREATMENTS).map(|at| 0.1 + at as f64 * slice_s).collect();
        for at in 1..starts.len() - 1 {
            let (cell, cpus): (u32, &[usize]) = match at % TREATMENTS {
                0 => (0, &[0]),
                1 => (1, &[0, 1]),
                _ => continue,
            };
            let look = |when: f64| states(when, when, cpus);
            let end = |at: usize| starts[at] + LEAD_S + WINDOW_S + TAIL_S;
            let near = [look(starts[at]), look(end(at))];
            let far = [look(end(at - 1)), look(starts[at + 1])];
            let exposures =
                [0, 1].map(|cpu| (near[0][cpu] + near[1][cpu] + (far[0][cpu] + far[1][cpu]) / 2.0) / 3.0);
            let from = starts[at] + LEAD_S;
            let shares = states(from, from + WINDOW_S, cpus);
            let left = 1.0 - (1.0 - ON_ONE_CORE) * shares[0] - host.cost * shares[1];
            let of_two = if cpus.len() == 2 { TWO } else { 1.0 };
            let rate = of_two * left * (SLICE_SD * random.draw()).exp();
            rows.push(PairRow { block, cell, is_pair: cpus.len() == 2, rate, exposures });
            if cpus.len() == 2 || random.uniform() < 0.5 {
                let seen = look(from + random.uniform() * WINDOW_S);
                looks.push(PairLook { block, seen, exposures });
            }
        }
    }
    (rows, looks)
}

/// Shares of studies with an estimate whose intervals hold what is left of two, and of one; and their means.
pub fn pair_rates(host: &Host, studies: u32, seed: u64) -> [f64; 5] {
    let mut random = Normal::new(seed);
    let mut sums = [0.0; 5];
    for _ in 0..studies {
        let (rows, looks) = pair_study(host, &mut random);
        let Some(found) = pairs(&rows, &looks) else { continue };
        let over_one = found.over_one.unwrap();
        let covers = |estimate: &threadwise_statistics::MeanEstimate, truth: f64| {
            let (low, high) = estimate.interval(0.05);
            f64::from(u8::from(low <= truth.ln() && truth.ln() <= high))
        };
        let values = [
            1.0,
            covers(&found.over_two, ON_ONE_CORE),
            covers(&over_one, ON_ONE_CORE * TWO),
            found.over_two.mean.exp(),
            over_one.mean.exp(),
        ];
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    let count = f64::max(sums[0], 1.0);
    [sums[0] / f64::from(studies), sums[1] / count, sums[2] / count, sums[3] / count, sums[4] / count]
}

/// Looks of `threadwise neighbours` every 20 ms at two logical CPUs. A visit leaves 0.5 to 0.8 of the width, drawn for each; `wrong` looks have 0.6 of it without one, in stretches of five.
pub fn watch(host: &Host, time_s: f64, random: &mut Normal) -> Vec<(Look, Vec<Share>)> {
    let visits = [(); 2].map(|()| Visits::draw(host, time_s + 1.0, random));
    let mut left = [(usize::MAX, 1.0); 2];
    let mut wrong_until = [0; 2];
    let looks = (0..(time_s / 0.02) as u32).map(|at| {
        let when = f64::from(at) * 0.02;
        let of_cpu = [0, 1].map(|cpu| {
            if random.uniform() < host.wrong / 5.0 {
                wrong_until[cpu] = at + 5;
            }
            let place = visits[cpu].place(when);
            if left[cpu].0 != place {
                left[cpu] = (place, 0.5 + 0.3 * random.uniform());
            }
            let width = match (visits[cpu].is_with(when), at < wrong_until[cpu]) {
                (true, _) => left[cpu].1,
                (false, true) => 0.6,
                (false, false) => 1.0 + 0.002 * random.draw(),
            };
            let share = if width < 0.98 { Share::Neighbour } else { Share::Alone };
            (CpuLook { cpu: cpu as u32, chain_ns: Some(0.3), adds_per_step: Some(3.93 * width) }, share)
        });
        let (cpus, shares) = of_cpu.into_iter().unzip();
        (Look { cpus, ..look_at(when) }, shares)
    });
    looks.collect()
}

/// Of so many watches: shares that say there are neighbours, whose intervals hold the share of the time, that tell what is
/// left, and of these whose intervals hold that.
pub fn watch_rates(host: &Host, time_s: f64, watches: u32, seed: u64) -> [f64; 4] {
    let mut random = Normal::new(seed);
    let mut sums = [0.0; 4];
    for _ in 0..watches {
        let found = threadwise_analysis::neighbours::watched(&watch(host, time_s, &mut random), 0.05);
        let holds = |interval: &Option<threadwise_analysis::Interval>, truth: f64| {
            interval.as_ref().is_some_and(|one| one.low <= truth && truth <= one.high)
        };
        let all = [
            found.shows_neighbours(),
            holds(&found.prevalence, host.prevalence),
            found.width_left.is_some(),
            holds(&found.width_left, 0.65),
        ];
        sums.iter_mut().zip(all).for_each(|(sum, is_so)| *sum += f64::from(u8::from(is_so)));
    }
    let [shown, prevalence, has_width, left] = sums;
    let all = f64::from(watches);
    [shown / all, prevalence / all, has_width / all, left / has_width.max(1.0)]
}

#[test]
fn neighbours_are_shown_by_looks_alone_and_none_where_there_is_none() {
    let none = Host { prevalence: 1e-9, wrong: 0.002, ..HOST };
    assert_eq!(watch_rates(&none, 60.0, 20, 1)[0], 0.0);
    assert!(watch_rates(&none, 2.0, 100, 2)[0] <= 0.05);
    let [shown, prevalence, has_width, left] = watch_rates(&HOST, 60.0, 20, 3);
    assert!(shown == 1.0 && has_width == 1.0 && prevalence >= 0.8 && left >= 0.8, "{prevalence} {left}");
}

#[test]
fn what_a_core_does_for_two_sessions_is_found() {
    let [estimated, over_two, over_one, two, one] = pair_rates(&Host { blocks: 32, ..HOST }, 30, 11);
    assert!(estimated == 1.0 && over_two >= 0.8 && over_one >= 0.8, "{estimated} {over_two} {over_one}");
    assert!((two - 0.6).abs() < 0.03 && (one - 1.17).abs() < 0.05, "{two} {one}");
}

#[test]
fn a_neighbours_cost_is_found_and_none_is_claimed_where_there_is_none() {
    let found = rates(&HOST, 40, 1);
    assert!(found.estimated == 1.0 && found.covered >= 0.8 && found.claimed > 0.9, "{found:?}");
    assert!((found.left - 0.57).abs() < 0.02, "{found:?}");
    let short = rates(&Host { visit_s: 0.05, ..HOST }, 40, 2);
    assert!((short.left - 0.57).abs() < 0.03 && short.seen > 0.6, "inside slices: {short:?}");
    let package = rates(&Host { cost: 0.0, package: 0.3, ..HOST }, 40, 3);
    assert!(package.claimed <= 0.1, "the package slows, not the sibling: {package:?}");
    let nothing = rates(&Host { cost: 0.0, ..HOST }, 40, 4);
    assert!(nothing.claimed <= 0.1, "{nothing:?}");
    let queries = rates_of(&Host { blocks: 8, ..HOST }, 20, 6, |host, random| query_study(host, 1.0, random));
    assert!(queries.estimated == 1.0 && queries.covered >= 0.75, "{queries:?}");
    assert!((queries.left - 0.57).abs() < 0.03, "{queries:?}");
    let still = rates(&Host { prevalence: 1e-6, ..HOST }, 5, 5);
    assert_eq!(still.estimated, 0.0, "nothing is seen");
}
