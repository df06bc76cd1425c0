//! The cost of a neighbour on simulated hosts whose truth is known: a small form; the large one is in the laboratory.
#![allow(clippy::unwrap_used)]

use threadwise_analysis::neighbours::{DuringLook, Observations, PairLook, PairRow, Row, pairs};
use threadwise_statistics::Normal;

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
        let own = usize::from(random.uniform() < 0.5);
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
                let [mine, other] = [own, 1 - own].map(|cpu| visits[cpu].share(from, from + WINDOW_S));
                let noise = SLICE_SD * random.draw() + BLOCK_SD * drift[block as usize];
                let rate = (1.0 - host.cost * mine)
                    * (1.0 - host.package * f64::midpoint(mine, other))
                    * noise.exp();
                let [before, after] = around[at][own];
                found.rows.push(Row {
                    block,
                    cell,
                    rate,
                    own: exposure(at, own),
                    elsewhere: Some(exposure(at, 1 - own)),
                    agreed: (before == after).then_some(before > 0.5),
                });
            }
        }
    }
    found
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
    let mut random = Normal::new(seed);
    let (mut rates, truth) = (Rates::default(), (1.0 - host.cost).ln());
    for at in 0..studies {
        let Some(found) = threadwise_analysis::neighbours::cost(&study(host, &mut random), u64::from(at))
        else {
            continue;
        };
        let Some(left) = found.left else { continue };
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
                [0, 1].map(|of| (near[0][of] + near[1][of] + (far[0][of] + far[1][of]) / 2.0) / 3.0);
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
    let still = rates(&Host { prevalence: 1e-6, ..HOST }, 5, 5);
    assert_eq!(still.estimated, 0.0, "nothing is seen");
}
