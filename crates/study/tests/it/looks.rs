//! The judge of looks against models of a host whose truth is known.
//!
//! Two logical CPUs are moved between one core and two; neighbours come and go; lines and widths have the
//! spread that was measured (docs/PROBE.md, "Looks"), some are disturbed, and some looks are not met in time.
//! `cargo test -p threadwise-study --test it looks -- --nocapture` prints the figures.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use threadwise_study::look::follow::{Share, judge_all};
use threadwise_study::{Alone, CpuLook, Look, PairLook};

/// Looks of a study of 8 blocks: two at each of 1,440 slices.
const LOOKS: usize = 2_880;
/// Between two looks, seconds.
const EVERY_S: f64 = 0.03;
/// Of a look, seconds; the host may move us in the midst of it.
const LOOK_S: f64 = 0.0001;

/// A kind of machine: one move of a line between siblings, near and far cores, nanoseconds; adds per step
/// of a free core, and with a busy sibling.
struct Kind {
    name: &'static str,
    siblings_ns: f64,
    near_ns: f64,
    far_ns: f64,
    free: f64,
    shared: f64,
    /// Of one on the other's core, while that one stands still: waiting takes width on some processors.
    waited_for: f64,
    /// Whether one is seen without the other in every look, as in result files from version 4 on.
    is_tested: bool,
}

const fn kind(name: &'static str, [siblings_ns, near_ns, far_ns]: [f64; 3], is_tested: bool) -> Kind {
    Kind { name, siblings_ns, near_ns, far_ns, free: 5.25, shared: 2.75, waited_for: 5.25, is_tested }
}

const KINDS: [Kind; 6] = [
    Kind { free: 4.4, shared: 2.45, waited_for: 4.4, ..kind("one cache, no test", [7.2, 61.0, 61.0], false) },
    kind("two caches, no test", [8.5, 30.5, 127.0], false),
    kind("narrow gap, no test", [11.5, 21.0, 95.0], false),
    Kind { free: 4.4, shared: 2.45, waited_for: 4.4, ..kind("one cache", [7.2, 61.0, 61.0], true) },
    // The guest of an AMD EPYC server (Zen 5) on which standing still took nearly half of a core, as measured.
    Kind {
        free: 3.93,
        shared: 2.03,
        waited_for: 2.41,
        ..kind("waiting takes width", [12.5, 28.5, 119.0], true)
    },
    // AMD Zen 5, as measured.
    kind("siblings no nearer", [27.2, 29.7, 125.0], true),
];

/// In so many looks a neighbour goes away before one is seen without the other.
const GONE: f64 = 0.05;

/// The host at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Host {
    is_one_core: bool,
    is_far: bool,
    neighbours: [bool; 2],
}

/// A two-state process that is on for a share of the time, in visits of this mean length.
fn step(is_on: bool, share: f64, visit_s: f64, random: &mut impl Rng) -> bool {
    let leave = EVERY_S / visit_s;
    let rate = if is_on { leave } else { leave * share / (1.0 - share) };
    is_on ^ (random.random::<f64>() < 1.0 - (-rate).exp())
}

fn noise(spread: f64, random: &mut impl Rng) -> f64 {
    let normal: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    (spread * normal).exp()
}

/// A look during which the host was in one state while lines were passed, and in one when widths were seen.
fn look(lines: Host, host: Host, kind: &Kind, random: &mut impl Rng) -> Look {
    let cpu = |cpu: u32, random: &mut ChaCha8Rng| {
        let is_shared = host.is_one_core || host.neighbours[cpu as usize];
        let width = if is_shared { kind.shared } else { kind.free };
        // An interrupt that hits most pieces of a kernel.
        let disturbed = if random.random::<f64>() < 0.005 { random.random_range(0.3..0.95) } else { 1.0 };
        let is_away = random.random::<f64>() < 0.03;
        let adds = (!is_away).then(|| width * disturbed * noise(0.012, random));
        CpuLook { cpu, chain_ns: (!is_away).then_some(0.278), adds_per_step: adds }
    };
    let mut seeded = ChaCha8Rng::seed_from_u64(random.next_u64());
    let cpus = vec![cpu(0, &mut seeded), cpu(1, &mut seeded)];
    let level = match (lines.is_one_core, lines.is_far) {
        (true, _) => kind.siblings_ns,
        (false, false) => kind.near_ns,
        (false, true) => kind.far_ns,
    };
    let disturbed = if random.random::<f64>() < 0.003 { random.random_range(1.2..6.0) } else { 1.0 };
    let met = cpus.iter().all(|seen| seen.chain_ns.is_some());
    let line_ns = met.then(|| level * disturbed * noise(0.05, random));
    let mut alone = |cpu: usize| {
        // A core has two logical CPUs: where ours are both on it, no neighbour is.
        let is_shared = !host.is_one_core && host.neighbours[cpu] && random.random::<f64>() >= GONE;
        let width = match (host.is_one_core, is_shared) {
            (true, _) => kind.waited_for,
            (false, true) => kind.shared,
            (false, false) => kind.free,
        };
        let disturbed = if random.random::<f64>() < 0.005 { random.random_range(0.3..0.95) } else { 1.0 };
        width * disturbed * noise(0.012, random)
    };
    let (a_adds_per_step, b_adds_per_step) = (alone(0), alone(1));
    let alone = (kind.is_tested && met).then_some(Alone { a: 0, b: 1, a_adds_per_step, b_adds_per_step });
    Look { start_ns: 0, took_ns: 60_000, cpus, pairs: vec![PairLook { a: 0, b: 1, line_ns }], alone }
}

/// What became of the looks of some studies: [right, wrong, not said] of those on one core and of the others.
#[derive(Debug, Default, Clone, Copy)]
struct Score {
    one_core: [u32; 3],
    others: [u32; 3],
}

fn study(kind: &Kind, prevalence: f64, visit_s: f64, seed: u64) -> Score {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut host = Host { is_one_core: false, is_far: false, neighbours: [false; 2] };
    let mut truth = Vec::new();
    let mut looks = Vec::new();
    for _ in 0..LOOKS {
        host.is_one_core = step(host.is_one_core, prevalence, visit_s, &mut random);
        host.is_far = step(host.is_far, 0.3, 2.0, &mut random);
        for neighbour in &mut host.neighbours {
            *neighbour = step(*neighbour, 0.1, 0.05, &mut random);
        }
        truth.push(host);
        let came = if host.is_one_core { 1.0 } else { prevalence / (1.0 - prevalence) } / visit_s;
        let is_split = prevalence > 0.0 && random.random::<f64>() < LOOK_S * came;
        let lines = Host { is_one_core: host.is_one_core ^ is_split, ..host };
        looks.push(look(lines, host, kind, &mut random));
    }
    let judged = judge_all(&looks.iter().collect::<Vec<_>>());
    let mut score = Score::default();
    for (host, shares) in truth.iter().zip(judged) {
        let says_one = shares == [Share::With(1), Share::With(0)];
        let says_two =
            shares.iter().all(|share| [Share::Alone, Share::Neighbour, Share::Apart].contains(share));
        let (row, right) = match host.is_one_core {
            true => (&mut score.one_core, says_one),
            false => (&mut score.others, says_two),
        };
        row[if right { 0 } else { usize::from(!(says_one || says_two)) + 1 }] += 1;
    }
    score
}

fn all(kind: &Kind, prevalence: f64, visit_s: f64, studies: u64) -> Score {
    (0..studies).map(|seed| study(kind, prevalence, visit_s, seed)).fold(Score::default(), |mut sum, one| {
        for at in 0..3 {
            sum.one_core[at] += one.one_core[at];
            sum.others[at] += one.others[at];
        }
        sum
    })
}

#[test]
fn one_core_is_hardly_ever_said_where_there_were_two() {
    one_core_is_right_at(&[0.06, 0.5]);
}

/// Of looks that say one core hardly any was on two, and most that were on one say so, at each prevalence of one core.
pub fn one_core_is_right_at(prevalences: &[f64]) {
    for kind in &KINDS {
        for &prevalence in prevalences {
            for visit_s in [0.02, 1.0] {
                let score = all(kind, prevalence, visit_s, if prevalence < 0.01 { 100 } else { 10 });
                let said = f64::from(score.one_core[0] + score.others[1]);
                let on_one = f64::from(score.one_core.iter().sum::<u32>());
                let not_said = f64::from(score.one_core[2] + score.others[2]);
                let total = f64::from(score.others.iter().sum::<u32>()) + on_one;
                let ppv = f64::from(score.one_core[0]) / said;
                let found = f64::from(score.one_core[0]) / on_one;
                println!(
                    "{}, one core {:.2}% of the time in visits of {visit_s} s: PPV {:.3}%, found {:.1}%, \
                     said to be two {:.2}% of one core, not said {:.1}% of all",
                    kind.name,
                    100.0 * prevalence,
                    100.0 * ppv,
                    100.0 * found,
                    100.0 * f64::from(score.one_core[1]) / on_one,
                    100.0 * not_said / total
                );
                // Lines that say nothing leave tests alone, in which two neighbours at once may go away.
                let least = if kind.near_ns < 1.5 * kind.siblings_ns { 0.95 } else { 0.98 };
                assert!(said == 0.0 || ppv > least, "{ppv}");
                // Where siblings are hardly nearer than others, studies may leave no gap, and nothing is said.
                let is_shown = kind.is_tested || kind.near_ns >= 2.0 * kind.siblings_ns;
                assert!(found > 0.9 || !is_shown, "{found}");
                assert!(f64::from(score.one_core[1]) < 0.02 * on_one);
            }
        }
    }
}

#[test]
fn without_any_time_on_one_core_none_is_seen() {
    for kind in &KINDS {
        let score = all(kind, 0.0, 1.0, 20);
        assert_eq!(score.one_core, [0, 0, 0]);
        let most = if kind.near_ns < 1.5 * kind.siblings_ns { 15 } else { 5 };
        assert!(score.others[1] <= most, "{}: {:?} of 57,600", kind.name, score.others);
    }
}

/// A guest whose host had put both logical CPUs on one core in a seventh of these looks; standing still takes width
/// there. What a look shows by itself: lines of 10.5 to 15.4 ns or of 21 ns and more.
#[test]
fn a_real_guest_s_own_pair_on_one_core_is_no_neighbour() {
    let thousandth = |field: &str| Some(field.parse::<f64>().ok()? / 1000.0);
    let lines = include_str!("../data/own-pair.csv").lines().filter(|line| !line.starts_with('#'));
    let looks: Vec<Look> = lines
        .map(|line| {
            let fields: Vec<Option<f64>> = line.split(',').map(thousandth).collect();
            let &[first, second, line_ns, without_b, without_a] = fields.as_slice() else { panic!("{line}") };
            let cpu = |cpu, adds_per_step: Option<f64>| CpuLook {
                cpu,
                chain_ns: adds_per_step.map(|_| 0.3),
                adds_per_step,
            };
            let alone = without_b.zip(without_a);
            Look {
                start_ns: 0,
                took_ns: 1,
                cpus: vec![cpu(0, first), cpu(1, second)],
                pairs: vec![PairLook { a: 0, b: 1, line_ns }],
                alone: alone.map(|(a_adds_per_step, b_adds_per_step)| Alone {
                    a: 0,
                    b: 1,
                    a_adds_per_step,
                    b_adds_per_step,
                }),
            }
        })
        .collect();
    let judged = judge_all(&looks.iter().collect::<Vec<&Look>>());
    let with = [Share::With(1), Share::With(0)];
    let (mut near, mut far) = (0, 0);
    for (look, shares) in looks.iter().zip(judged) {
        match look.pairs[0].line_ns {
            Some(line_ns) if line_ns <= 16.0 => {
                near += 1;
                assert_eq!(shares, with, "{look:?}");
            }
            Some(_) => {
                far += 1;
                assert_ne!(shares, with, "{look:?}");
            }
            None => {}
        }
    }
    assert_eq!((near, looks.len()), (120, 800));
    assert!(far > 500, "{far}");
}
