//! A guest whose host moves it: what its slices and the looks around them give, with a truth that is known.
//!
//! Time goes on in one line. The host puts two virtual CPUs on one core and takes them apart again,
//! neighbours come and go, host load too, each a process with exponential stays; a slice's rate is the
//! integral of its speed over all that changes while it runs.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use threadwise_analysis::looks::rows::{Amount, Row, Side};
use threadwise_analysis::looks::states::LookState;

const SLICE_S: f64 = 0.05;
/// Re-warm, looks and messages between two slices.
const BETWEEN_S: f64 = 0.006;
/// Workers of a block start.
const BETWEEN_BLOCKS_S: f64 = 3.0;

/// A process that is on or off, for exponential times.
#[derive(Debug, Clone, Copy)]
pub struct Visits {
    /// Share of the time in which it is on.
    pub share: f64,
    /// Mean of a stay, seconds.
    pub mean_s: f64,
}

/// What is wrong with the host besides noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Planted {
    /// Nothing.
    Nothing,
    /// Host load, during which both are mostly on one core, slows baselines by one factor, the treatment by another.
    Load { baseline: f64, treatment: f64 },
    /// The clock falls by this factor on one core.
    Clock(f64),
    /// On one core A′ alone is slowed by this factor.
    Twin(f64),
    /// What the treatment does in its re-warm puts it on one core, this often.
    Follows(f64),
}

/// A guest.
#[derive(Debug, Clone, Copy)]
pub struct Guest {
    pub blocks: u32,
    pub rounds: u32,
    /// Treatments: A, A′, P and so many others.
    pub others: u32,
    /// Both on one core; or near each other, with `by_distance`.
    pub same: Visits,
    /// ln of the treatment's speed on one core over that on two.
    pub effect: f64,
    /// Standard deviation of ln(rate) of a slice.
    pub noise: f64,
    /// Whether it has heavy tails (Student's t with 3 degrees of freedom) and 1% of slices at 0.3 of their rate.
    pub heavy: bool,
    /// Standard deviation over blocks of ln(noise).
    pub unequal: f64,
    /// Standard deviation per block and treatment.
    pub block: f64,
    /// Standard deviation of the drift that all share, an AR(1) over slices.
    pub drift: f64,
    /// Slices in which its correlation falls to 1/e.
    pub drift_slices: f64,
    /// Neighbour of each of both logical CPUs, and the factor by which it slows.
    pub neighbour: Visits,
    pub neighbour_factor: f64,
    /// Share of the treatment's slices during which a neighbour comes because of our load.
    pub following: f64,
    /// Standard deviation of the clock's logarithm, which drifts over blocks.
    pub clock: f64,
    /// Share of looks that have the wrong one of the states that are compared.
    pub wrong: f64,
    /// Share of looks in which a logical CPU was away.
    pub away: f64,
    pub planted: Planted,
    /// Whether looks are sorted by distance: the two are on different cores all the time, near each other or far apart.
    pub by_distance: bool,
}

/// A guest with all that is realistic, of 64 blocks of 20 rounds. Drift and noise are those of
/// docs/METHODOLOGY.md.
pub const REALISTIC: Guest = Guest {
    blocks: 64,
    rounds: 20,
    others: 1,
    same: Visits { share: 0.25, mean_s: 1.0 },
    effect: 0.0,
    noise: 0.042,
    heavy: true,
    unequal: 0.4,
    block: 0.02,
    drift: 0.142,
    drift_slices: 18.2,
    neighbour: Visits { share: 0.05, mean_s: 0.3 },
    neighbour_factor: 0.6,
    following: 0.03,
    clock: 0.02,
    wrong: 0.005,
    away: 0.02,
    planted: Planted::Nothing,
    by_distance: false,
};

/// The same without anything that is random in a rate: what it gives is the estimand.
pub fn noiseless(guest: &Guest) -> Guest {
    let neighbour = Visits { share: 0.0, mean_s: 1.0 };
    Guest {
        noise: 0.0,
        heavy: false,
        block: 0.0,
        drift: 0.0,
        clock: 0.0,
        following: 0.0,
        neighbour,
        ..*guest
    }
}

fn uniform(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(random)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

fn exponential(random: &mut ChaCha8Rng, mean: f64) -> f64 {
    -mean * (1.0 - uniform(random)).ln()
}

/// A process at work.
#[derive(Debug, Clone, Copy)]
struct Process {
    visits: Visits,
    on: bool,
    until_s: f64,
}

impl Process {
    fn new(visits: Visits, random: &mut ChaCha8Rng) -> Self {
        let mut process = Self { visits, on: uniform(random) < visits.share, until_s: 0.0 };
        process.stay(0.0, random);
        process
    }

    /// Draws how long it stays as it is.
    fn stay(&mut self, now_s: f64, random: &mut ChaCha8Rng) {
        let Visits { share, mean_s } = self.visits;
        let mean_s = if self.on { mean_s } else { mean_s * (1.0 - share) / share };
        self.until_s = if share > 0.0 { now_s + exponential(random, mean_s) } else { f64::INFINITY };
    }
}

/// The host at one moment.
struct Host {
    now_s: f64,
    /// On one core, host load, a neighbour of each logical CPU.
    processes: [Process; 4],
    /// On one core as long as host load lasts.
    stacked: bool,
}

impl Host {
    fn new(guest: &Guest, random: &mut ChaCha8Rng) -> Self {
        let load = match guest.planted {
            Planted::Load { .. } => Visits { share: 0.2, mean_s: guest.same.mean_s },
            _ => Visits { share: 0.0, mean_s: 1.0 },
        };
        let processes =
            [guest.same, load, guest.neighbour, guest.neighbour].map(|one| Process::new(one, random));
        Self { now_s: 0.0, processes, stacked: false }
    }

    fn is_same(&self) -> bool {
        self.processes[0].on || (self.processes[1].on && self.stacked)
    }

    /// Lets time pass; the integral of the speed over it.
    fn pass(&mut self, time_s: f64, random: &mut ChaCha8Rng, speed: impl Fn(&Self) -> f64) -> f64 {
        let end_s = self.now_s + time_s;
        let mut sum = 0.0;
        while self.now_s < end_s {
            let next =
                (0..4).min_by(|a, b| self.processes[*a].until_s.total_cmp(&self.processes[*b].until_s));
            let at = next.unwrap_or(0);
            let until_s = self.processes[at].until_s.min(end_s);
            sum += speed(self) * (until_s - self.now_s);
            self.now_s = until_s;
            if self.processes[at].until_s <= end_s {
                self.processes[at].on = !self.processes[at].on;
                self.processes[at].stay(until_s, random);
                // Most of the load's visits put both on one core.
                self.stacked = if at == 1 { uniform(random) < 0.8 } else { self.stacked };
            }
        }
        sum
    }
}

/// A study of a guest: rows in order of time.
pub fn study(guest: &Guest, seed: u64) -> Vec<Row> {
    study_with_truth(guest, seed).into_iter().map(|(row, _)| row).collect()
}

/// The same, each row with whether both were on one core when the look before it was taken.
pub fn study_with_truth(guest: &Guest, seed: u64) -> Vec<(Row, bool)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut host = Host::new(guest, &mut random);
    let mut rows = Vec::new();
    let mut clock = normal(&mut random);
    let keeps = (-1.0 / guest.drift_slices).exp();
    for block in 0..guest.blocks {
        host.pass(BETWEEN_BLOCKS_S, &mut random, |_| 0.0);
        let mut drift = normal(&mut random);
        clock = 0.9 * clock + 0.19f64.sqrt() * normal(&mut random);
        let noise = guest.noise * (guest.unequal * normal(&mut random)).exp();
        let mut order: Vec<u32> = (0..3 + guest.others).collect();
        let levels: Vec<f64> = order.iter().map(|_| guest.block * normal(&mut random)).collect();
        for round in 0..guest.rounds {
            for last in (1..order.len()).rev() {
                order.swap(last, random.next_u32() as usize % (last + 1));
            }
            for treatment in &order {
                drift = keeps * drift + (1.0 - keeps * keeps).sqrt() * normal(&mut random);
                let noise = noise * shape(guest.heavy, &mut random) + outlier(guest.heavy, &mut random);
                let slow = guest.drift * drift + guest.clock * clock;
                let log = levels[*treatment as usize] + slow + noise;
                let place = Place { block, round, side: side(*treatment), log, clock };
                rows.push(slice(guest, &mut host, &mut random, place));
            }
        }
    }
    rows
}

fn side(treatment: u32) -> Side {
    match treatment {
        0 => Side::Baseline,
        1 => Side::Twin,
        2 => Side::Treatment,
        _ => Side::Other,
    }
}

/// Noise of one slice, of variance 1.
fn shape(heavy: bool, random: &mut ChaCha8Rng) -> f64 {
    let z = normal(random);
    if !heavy {
        return z;
    }
    let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    // Student's t with 3 degrees of freedom has variance 3.
    z / (squares / 3.0).sqrt() / 3f64.sqrt()
}

fn outlier(heavy: bool, random: &mut ChaCha8Rng) -> f64 {
    if heavy && uniform(random) < 0.01 { 0.3f64.ln() } else { 0.0 }
}

struct Place {
    block: u32,
    round: u32,
    side: Side,
    /// ln of the rate but for what the host does.
    log: f64,
    clock: f64,
}

fn slice(guest: &Guest, host: &mut Host, random: &mut ChaCha8Rng, place: Place) -> (Row, bool) {
    let Place { block, round, side, log, clock } = place;
    if let (Planted::Follows(share), Side::Treatment) = (guest.planted, side)
        && uniform(random) < share
        && !host.processes[0].on
    {
        host.processes[0].on = true;
        let now_s = host.now_s;
        host.processes[0].stay(now_s, random);
    }
    host.pass(BETWEEN_S, random, |_| 0.0);
    let before = look(guest, host, random, false);
    let was_same = host.is_same();
    let start_ns = (host.now_s * 1e9) as u64;
    let follows = side == Side::Treatment && uniform(random) < guest.following;
    let done = host.pass(SLICE_S, random, |host| speed(guest, host, side, follows));
    let after = look(guest, host, random, follows);
    let chain = guest.clock * clock + clock_of(guest, host) + 0.004 * normal(random);
    let known = |value: f64| (after != LookState::Away).then_some(value);
    let adds = width(guest, host, follows).ln() + chain + 0.02 * normal(random);
    let row = Row {
        block,
        round,
        side,
        start_ns,
        before: Some(before),
        after: Some(after),
        amount: Amount { done: done * log.exp(), time_ns: SLICE_S },
        chain_per_ns: known(chain.exp()),
        adds_per_ns: known(adds.exp()),
    };
    (row, was_same)
}

fn clock_of(guest: &Guest, host: &Host) -> f64 {
    match guest.planted {
        Planted::Clock(factor) if host.is_same() => factor.ln(),
        _ => 0.0,
    }
}

/// What each logical CPU gets of its core, by neighbours.
fn shares(guest: &Guest, host: &Host, follows: bool) -> [f64; 2] {
    let share = |is_there: bool| if is_there { guest.neighbour_factor } else { 1.0 };
    [share(host.processes[2].on), share(host.processes[3].on || follows)]
}

fn speed(guest: &Guest, host: &Host, side: Side, follows: bool) -> f64 {
    let [first, second] = shares(guest, host, follows);
    let of_side = match side {
        Side::Treatment if host.is_same() => guest.effect.exp() * (first + second) / 2.0,
        Side::Treatment => (first + second) / 2.0,
        _ => first,
    };
    let planted = match guest.planted {
        Planted::Load { treatment, .. } if host.processes[1].on && side == Side::Treatment => treatment,
        Planted::Load { baseline, .. } if host.processes[1].on => baseline,
        Planted::Twin(factor) if host.is_same() && side == Side::Twin => factor,
        _ => 1.0,
    };
    of_side * planted * clock_of(guest, host).exp()
}

/// Adds of a pair of WIDE.
fn width(guest: &Guest, host: &Host, follows: bool) -> f64 {
    let [first, second] = shares(guest, host, follows);
    (first + second) * if host.is_same() && !guest.by_distance { 1.0 / 1.8 } else { 1.0 }
}

/// What a look says.
fn look(guest: &Guest, host: &Host, random: &mut ChaCha8Rng, follows: bool) -> LookState {
    let is_wrong = uniform(random) < guest.wrong;
    if uniform(random) < guest.away {
        return LookState::Away;
    }
    let neighbour = shares(guest, host, follows).iter().any(|share| *share < 1.0);
    match (host.is_same(), neighbour) {
        (true, _) => {
            if is_wrong {
                LookState::Clear
            } else {
                LookState::SameCore
            }
        }
        (false, _) if is_wrong => LookState::SameCore,
        (false, true) if !guest.by_distance => LookState::Neighbour,
        (false, true) => LookState::Clear,
        (false, false) => LookState::Clear,
    }
}
