//! From the evidence of a pair to an answer.
//!
//! *Same core* needs, on each of the two CPUs, a sign test against "different cores, and arbitrary
//! neighbours": within a round the windows alone and together were drawn in random
//! order, so under that null a window at full width and a slowed one are as likely to be the one
//! alone as the one together, whatever the neighbours' time scale. [`CHANCE`] is the bound for one
//! look. There are at most 50 looks, so all together stay below 1e-6. The null excludes neighbours that
//! follow our windows, such as a scheduler that moves them onto idle CPUs; against
//! these: two wide kernels on one core share exactly its width, both never have it at once,
//! and the latency-limited kernel does not notice.
//!
//! *Different cores* needs joint windows in which one had the width of a free core while the other
//! ran too: more than flukes of [`FLUKE`] would give, and in both halves of the time.

use super::evidence::{Evidence, TURNS};
use super::figures::binomial_tail;
use threadwise_study::probe::{PairSharing, Sharing};

/// Largest probability of the observations under what an answer denies; for one look.
const CHANCE: f64 = 1e-8;

/// Below this the other answer is no longer given.
const SUSPICION: f64 = 1e-4;

/// Probability of a window that shows a free core by mistake; far above what noise gives.
const FLUKE: f64 = 0.02;

/// Share of windows against an answer that still counts as flukes.
const FEW: f64 = 0.03;

/// Rounds in a row that prove an episode: 3^-16 each start with different cores, since of three
/// windows in random order the joint one must be the slowed one.
const SAME_RUN: u32 = 16;

/// Windows in a row that prove an episode: 0.02^5 each start.
const APART_RUN: u32 = 5;

/// Rounds in a row that prove an episode of taking turns.
const TURNS_RUN: u32 = 24;

/// Fewest rounds for "same core".
const SAME_ROUNDS: u32 = 60;

/// Share of these that must be usable.
const USABLE: f64 = 0.15;

/// Longest stretch of rounds that other work may hide, as a share of all: the hidden rounds might
/// differ from the seen ones.
const HIDDEN: f64 = 0.25;

/// With fewer rounds the probe was stopped too early to answer.
const FEW_ROUNDS: u32 = 16;

/// On one core: smallest slowdown of the wide kernel, largest of the latency-limited one.
const WIDE_SLOWED: f64 = 1.4;
const CHAIN_KEPT: f64 = 1.1;

/// Two that share a core have one core's width: slowed 2 times. Below this, the cause was other work.
const WIDTH_SHARED: f64 = 1.6;

/// A pair that takes turns is not slowed while it runs.
const NOT_SLOWED: f64 = 1.15;

/// Two that were on a CPU at the same time in this share of the windows do not take turns.
const MOSTLY: f64 = 0.85;

/// If a smaller share of joint windows is whole, the interrupted ones may hide the answer.
const JOINT: f64 = 0.25;

/// Share of rounds with both at full width alone, below which neighbours hid the answer.
const RARELY_FREE: f64 = 0.1;

/// An answer, and whether more rounds could change it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judgement {
    pub sharing: Sharing,
    pub decided: bool,
    why: String,
}

/// The tests of both kinds.
struct Tests {
    /// Chance of the slowed joint windows with different cores, the larger of the two CPUs'.
    slowed: f64,
    /// The smaller of the two: one CPU that is slowed whenever the other runs is evidence against different
    /// cores.
    slowed_one: f64,
    /// Chance of the joint windows at full width by flukes.
    apart: f64,
    /// Chance of the interruptions of joint windows by other work, larger and smaller.
    turns: f64,
    turns_one: f64,
}

/// Judges a pair.
pub(super) fn judge(seen: &Evidence, free: Option<f64>) -> Judgement {
    let tests = Tests::of(seen);
    let spread = seen.apart[0] > 0 && seen.apart[1] > 0;
    let apart = tests.apart < CHANCE && spread;
    let ever_apart = tests.apart < CHANCE || seen.apart_run >= APART_RUN;
    let ever_same = tests.slowed_one < CHANCE || seen.same_run >= SAME_RUN;
    let decided = |sharing, why| Judgement { sharing, decided: true, why };
    if ever_apart && (ever_same || seen.turns.run >= TURNS_RUN) {
        return decided(Sharing::Moving, why_moving(seen));
    }
    if takes_turns(seen, &tests) {
        return decided(Sharing::SameCpu, why_same_cpu(seen));
    }
    if tests.slowed < CHANCE && shares_width(seen) {
        return decided(Sharing::SameCore, why_same_core(seen));
    }
    let overlapping = f64::from(seen.turns.overlapping) >= MOSTLY * f64::from(seen.turns.joint);
    let often_joint = f64::from(seen.joint) >= JOINT * f64::from(seen.rounds);
    // If the width of a free core is unknown, flickering neighbours on a shared core could look like
    // two cores that are free at times.
    let often_apart = free.is_some() || 2 * (seen.apart[0] + seen.apart[1]) >= seen.joint;
    if apart
        && often_joint
        && often_apart
        && tests.slowed_one > SUSPICION
        && (tests.turns_one > SUSPICION || overlapping)
    {
        return decided(Sharing::DifferentCores, why_different(seen));
    }
    undecided(seen, free)
}

/// The answer so far.
pub(super) fn answer(cpus: [u32; 2], seen: &Evidence, judgement: Judgement) -> PairSharing {
    PairSharing {
        a: cpus[0],
        b: cpus[1],
        sharing: judgement.sharing,
        wide: seen.wide,
        chain: seen.chain,
        load_store: seen.load_store,
        on_cpu_share: seen.on_cpu_share,
        rounds_used: seen.used,
        rounds: seen.rounds,
        why: judgement.why,
    }
}

impl Tests {
    fn of(seen: &Evidence) -> Self {
        let sign = |for_it: [u32; 2], against: [u32; 2]| {
            let side = |side: usize| binomial_tail(for_it[side] + against[side], for_it[side], 0.5);
            (side(0).max(side(1)), side(0).min(side(1)))
        };
        let (slowed, slowed_one) = sign(seen.slower_together, seen.slower_alone);
        let (turns, turns_one) = sign(seen.turns.off_together, seen.turns.off_alone);
        let apart = binomial_tail(seen.joint, seen.apart[0] + seen.apart[1], FLUKE);
        Self { slowed, slowed_one, apart, turns, turns_one }
    }
}

fn takes_turns(seen: &Evidence, tests: &Tests) -> bool {
    let few = FEW * f64::from(seen.turns.joint);
    tests.turns < CHANCE
        && seen.rounds >= SAME_ROUNDS
        && f64::from(seen.turns.overlapping) <= few
        && seen.turns.sum.is_some_and(|sum| sum <= TURNS)
        && seen.wide_sides.iter().flatten().all(|slowed| *slowed <= NOT_SLOWED)
        && seen.chain.is_none_or(|chain| chain.median <= NOT_SLOWED)
}

fn shares_width(seen: &Evidence) -> bool {
    // Flukes are counted against the rounds that could have shown different cores.
    let few = FEW * f64::from(seen.used);
    seen.rounds >= SAME_ROUNDS
        && f64::from(seen.used) >= USABLE * f64::from(seen.rounds)
        && f64::from(seen.hidden_run) <= HIDDEN * f64::from(seen.rounds)
        && f64::from(seen.full_together) <= few
        && seen.wide.is_some_and(|wide| wide.median >= WIDTH_SHARED)
        && seen.wide_sides.iter().all(|side| side.is_some_and(|slowed| slowed >= WIDE_SLOWED))
        && seen.chain.is_some_and(|chain| chain.median <= CHAIN_KEPT)
}

fn undecided(seen: &Evidence, free: Option<f64>) -> Judgement {
    let open = |sharing, why| Judgement { sharing, decided: false, why };
    let below = |best: Option<f64>| free.filter(|free| best.is_none_or(|best| best < *free));
    if let (Some(free), Some(_)) = (below(seen.best[0]), below(seen.best[1])) {
        let best = |side: usize| seen.best[side].map_or("nothing".to_owned(), |best| format!("{best:.1}"));
        let why = format!(
            "neither had its core to itself: {} and {} adds per chain step at best, but a free core gives {free:.1} or more",
            best(0),
            best(1)
        );
        return open(Sharing::Masked, why);
    }
    if f64::from(seen.full_alone) < RARELY_FREE * f64::from(seen.rounds) {
        let why = format!(
            "both had their cores to themselves in only {} of {} rounds; other work hides the answer",
            seen.full_alone, seen.rounds
        );
        return open(Sharing::Masked, why);
    }
    if seen.rounds < FEW_ROUNDS {
        return open(Sharing::Unclear, format!("{} rounds are too few to decide", seen.rounds));
    }
    let why = format!(
        "{}; together at full width in {} of {} windows: neither one core nor two",
        slowdowns(seen),
        seen.full_together,
        seen.joint
    );
    open(Sharing::Unclear, why)
}

fn why_same_core(seen: &Evidence) -> String {
    format!(
        "{}; at full width together in {} of {} windows; by chance on different cores: below 1e-6",
        slowdowns(seen),
        seen.full_together,
        seen.joint
    )
}

fn why_same_cpu(seen: &Evidence) -> String {
    format!(
        "they take turns: on a CPU {:.0}% of the time together, both at once in {} of {} windows, and while on it not slowed",
        100.0 * seen.on_cpu_share.unwrap_or_default(),
        seen.turns.overlapping,
        seen.turns.joint
    )
}

fn why_different(seen: &Evidence) -> String {
    let best = seen.best.iter().flatten().copied().fold(0.0, f64::max);
    format!(
        "one had a core's full width ({best:.1} adds per chain step) while the other ran too, in {} of {} windows",
        seen.apart[0] + seen.apart[1],
        seen.joint
    )
}

fn why_moving(seen: &Evidence) -> String {
    format!(
        "both answers were seen for a while: full width together in {} of {} windows, {} rounds in a row on one core, {} taking turns",
        seen.full_together, seen.joint, seen.same_run, seen.turns.run
    )
}

fn slowdowns(seen: &Evidence) -> String {
    match (seen.wide, seen.chain) {
        (Some(wide), Some(chain)) => {
            format!(
                "together independent adds (WIDE) {:.2}x and dependent adds (CHAIN) {:.2}x slower",
                wide.median, chain.median
            )
        }
        _ => "no round could be compared".to_owned(),
    }
}
