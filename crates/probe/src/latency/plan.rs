//! Which pairs are measured, and which at the same time.
//!
//! All pairs are a round-robin tournament by the circle method (Kirkman 1847; one player stays, the
//! others turn by one seat a round), so that every round is disjoint. On large machines a spanning set
//! of pairs is measured instead, with a random sample that checks what is inferred from it.
//!
//! The number of pairs at once is limited for three reasons: a busy sibling slows a core's loop, many
//! busy cores lower each other's clock, and lines in flight share an interconnect. So no declared core
//! takes part in two pairs at once, at most half of the cores are busy, and at most [`MOST_AT_ONCE`] pairs run:
//! at one line per 100 ns each, 16 pairs move about 10 GB/s, below the capacity of one link between packages today.
//! The limit is reasoned, not measured.

use super::declared::Declared;
use super::types::Pair;
use super::{Request, infer};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use threadwise_study::probe::ProbeForm;

/// Most pairs that run at the same time.
pub const MOST_AT_ONCE: usize = 16;
/// Up to this many logical CPUs every form measures all pairs.
pub const ALL_PAIRS_UP_TO: usize = 32;
/// Samples of one call for one pair.
pub const SAMPLES: u32 = 20;
/// Above this many pairs, a pair's calls follow each other instead of being spread over the probe:
/// samples of unfinished pairs are kept in memory.
const MOST_SPREAD: usize = 20_000;
/// Most calls for one pair and method.
const MOST_REPEATS: f64 = 1000.0;
/// Batches that are examined for a place for a pair; bounds the time of planning.
const OPEN_BATCHES: usize = 256;

/// The planned measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Disjoint pairs of logical CPUs that run at the same time.
    pub rounds: Vec<Vec<(u32, u32)>>,
    /// Pairs that are measured.
    pub pairs: usize,
    /// Pairs whose level is inferred from those.
    pub inferred: usize,
    /// How often each pair runs with each method, interleaved.
    pub repeats: u32,
    /// Estimated time in seconds, if nothing contradicts the inferred pairs.
    pub estimated_s: f64,
}

/// Plans a request; pairs that contradict the inferred ones are measured in addition.
pub fn plan(request: &Request<'_>) -> Plan {
    let declared = Declared::new(request);
    let all = declared.len() * declared.len().saturating_sub(1) / 2;
    let wanted = selection(&declared, request);
    let rounds = wanted.batches(&declared, request.seed, 0);
    let pairs = rounds.iter().map(Vec::len).sum();
    let effort = Effort::of(&rounds, request.form);
    Plan {
        pairs,
        inferred: all - pairs,
        repeats: effort.passes * effort.repeats,
        estimated_s: effort.estimated_s,
        rounds: rounds.iter().map(|round| round.iter().map(|pair| declared.os(*pair)).collect()).collect(),
    }
}

/// Pairs of the first part of a request.
pub(super) fn selection(declared: &Declared, request: &Request<'_>) -> PairSelection {
    if request.form == ProbeForm::Full || declared.len() <= ALL_PAIRS_UP_TO {
        return PairSelection::All;
    }
    let mut pairs = infer::spanning(declared);
    let known = pairs.iter().copied().collect();
    pairs.extend(infer::sample(declared.len(), &known, request.seed, 0));
    PairSelection::Some(pairs)
}

/// Pairs to be measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PairSelection {
    /// Every pair.
    All,
    /// These.
    Some(Vec<Pair>),
}

impl PairSelection {
    /// Disjoint batches, in an order and with a grouping that differ from pass to pass, so that pairs
    /// that disturb each other (undeclared siblings) do not always run together.
    pub(super) fn batches(&self, declared: &Declared, seed: u64, pass: u32) -> Vec<Vec<Pair>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(1 << 32 | u64::from(pass));
        let mut batches = match self {
            Self::All => {
                let mut seats: Vec<usize> = (0..declared.len()).collect();
                seats.shuffle(&mut random);
                let seated = |(a, b): Pair| (seats[a].min(seats[b]), seats[a].max(seats[b]));
                let rounds = tournament(declared.len()).into_iter();
                rounds.flat_map(|round| pack(declared, round.into_iter().map(seated))).collect()
            }
            Self::Some(pairs) => {
                let mut pairs = pairs.clone();
                pairs.shuffle(&mut random);
                pack(declared, pairs.into_iter())
            }
        };
        batches.shuffle(&mut random);
        batches
    }
}

/// A round-robin tournament: every two of `players` meet in exactly one round, and each plays at most once
/// in a round. With an odd number one rests in each round.
pub fn tournament(players: usize) -> Vec<Vec<(usize, usize)>> {
    if players < 2 {
        return Vec::new();
    }
    let seats = players + players % 2;
    let turning = seats - 1;
    let round = |turn: usize| {
        let player = |seat: usize| if seat == 0 { 0 } else { (seat - 1 + turn) % turning + 1 };
        let meet = |seat: usize| (player(seat), player(seats - 1 - seat));
        let present = |(a, b): &(usize, usize)| *a < players && *b < players;
        (0..seats / 2).map(meet).filter(present).collect()
    };
    (0..turning).map(round).collect()
}

/// Packs pairs into batches: no core twice, and not more at once than [`at_once`].
fn pack(declared: &Declared, pairs: impl Iterator<Item = Pair>) -> Vec<Vec<Pair>> {
    let limit = at_once(declared.cores());
    let mut full: Vec<Vec<Pair>> = Vec::new();
    let mut open: Vec<(BTreeSet<u32>, Vec<Pair>)> = Vec::new();
    for (a, b) in pairs {
        let cores = [declared.core[a], declared.core[b]];
        let free = open.iter().position(|(busy, _)| cores.iter().all(|core| !busy.contains(core)));
        let at = free.unwrap_or(open.len());
        if free.is_none() {
            open.push((BTreeSet::new(), Vec::new()));
        }
        open[at].0.extend(cores);
        open[at].1.push((a, b));
        if open[at].1.len() >= limit {
            full.push(open.remove(at).1);
        } else if open.len() > OPEN_BATCHES {
            full.push(open.remove(0).1);
        }
    }
    full.extend(open.into_iter().map(|(_, batch)| batch));
    full
}

/// Number of pairs that run at once on so many cores.
fn at_once(cores: usize) -> usize {
    (cores / 4).clamp(1, MOST_AT_ONCE)
}

/// How often the pairs of a plan run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Effort {
    /// Passes over all batches.
    pub(super) passes: u32,
    /// Passes that are made regardless of the time.
    pub(super) least: u32,
    /// Calls for each method in a batch of a pass.
    pub(super) repeats: u32,
    /// Estimated time in seconds.
    pub(super) estimated_s: f64,
}

impl Effort {
    /// As often as the form's time allows, but at least as often as a median over calls needs.
    pub(super) fn of(batches: &[Vec<Pair>], form: ProbeForm) -> Self {
        let (time_s, least) = match form {
            ProbeForm::Short => (1.0, 3.0),
            ProbeForm::Standard | ProbeForm::Full => (3.0, 5.0),
        };
        let both_s: f64 = batches.iter().map(|batch| 2.0 * call_s(batch.len())).sum();
        let calls = if both_s > 0.0 { (time_s / both_s).clamp(least, MOST_REPEATS) as u32 } else { 0 };
        let pairs: usize = batches.iter().map(Vec::len).sum();
        let (passes, repeats) = if pairs <= MOST_SPREAD { (calls, 1) } else { (1, calls) };
        Self { passes, least: least as u32, repeats, estimated_s: f64::from(calls) * both_s }
    }
}

/// Time of one call in seconds: 23 batches of 208 round trips, of two moves or of four, at 150 ns each
/// (between the nearest packages and the farthest cores), and the start of two threads. Every further
/// pair wakes two more.
fn call_s(pairs: usize) -> f64 {
    0.002_7 + 0.000_05 * pairs as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use threadwise_machine::CpuSet;

    /// Cores of `smt` logical CPUs as Linux numbers them: all first siblings, then all second.
    fn groups(cores: u32, smt: u32, cores_per_group: u32) -> Vec<CpuSet> {
        let members = |group: u32| {
            let cores_of_group = (group * cores_per_group)..((group + 1) * cores_per_group);
            cores_of_group.flat_map(move |core| (0..smt).map(move |thread| thread * cores + core)).collect()
        };
        (0..cores / cores_per_group).map(members).collect()
    }

    fn planned(cores: u32, smt: u32, llc: u32, package: u32, form: ProbeForm) -> (Plan, Declared) {
        let cpus: Vec<u32> = (0..cores * smt).collect();
        let (by_core, llcs, packages) =
            (groups(cores, smt, 1), groups(cores, smt, llc), groups(cores, smt, package));
        let request =
            Request { cpus: &cpus, cores: &by_core, llcs: &llcs, packages: &packages, form, seed: 7 };
        (plan(&request), Declared::new(&request))
    }

    fn check_disjoint(plan: &Plan, declared: &Declared) {
        let mut seen = BTreeSet::new();
        for round in &plan.rounds {
            let mut cores = BTreeSet::new();
            assert!(!round.is_empty() && round.len() <= at_once(declared.cores()));
            for &(a, b) in round {
                assert!(a < b && seen.insert((a, b)), "{a} {b} twice");
                // Without gaps the position is the OS number.
                let ends = BTreeSet::from([declared.core[a as usize], declared.core[b as usize]]);
                for core in ends {
                    assert!(cores.insert(core), "core {core} twice in a round");
                }
            }
        }
        assert_eq!(seen.len(), plan.pairs);
    }

    #[test]
    fn the_plan_for_768_logical_cpus_takes_minutes() {
        let (inferred, declared) = planned(384, 2, 16, 192, ProbeForm::Standard);
        check_disjoint(&inferred, &declared);
        // 384 pairs of siblings; in each of 24 domains of 32 two representatives against the 30 that are
        // not their sibling, less the pair of the two, which counts once; 24 * 23 / 2 representatives;
        // 2 * 768 drawn ones.
        assert_eq!(inferred.pairs, 384 + 24 * 59 + 276 + 1536);
        assert_eq!(inferred.inferred, 768 * 767 / 2 - inferred.pairs);
        assert_eq!((inferred.rounds.len(), inferred.repeats), (227, 5));
        assert!(inferred.estimated_s < 10.0, "{}", inferred.estimated_s);

        let (full, declared) = planned(384, 2, 16, 192, ProbeForm::Full);
        check_disjoint(&full, &declared);
        assert_eq!((full.pairs, full.inferred, full.repeats), (294_528, 0, 5));
        assert!((18_408..=20_000).contains(&full.rounds.len()), "{}", full.rounds.len());
        assert!(full.estimated_s / 60.0 < 12.0, "{} min", full.estimated_s / 60.0);
    }

    #[test]
    fn small_machines_are_measured_in_full_within_their_time() {
        let (short, _) = planned(2, 1, 2, 2, ProbeForm::Short);
        assert_eq!((short.rounds.clone(), short.pairs, short.inferred), (vec![vec![(0, 1)]], 1, 0));
        assert!(short.estimated_s > 0.9 && short.estimated_s <= 1.0, "{}", short.estimated_s);
        let (standard, _) = planned(2, 1, 2, 2, ProbeForm::Standard);
        assert!(standard.estimated_s > 2.7 && standard.estimated_s <= 3.0, "{}", standard.estimated_s);
        let (full, declared) = planned(16, 2, 16, 16, ProbeForm::Short);
        assert_eq!((full.pairs, full.inferred), (496, 0));
        check_disjoint(&full, &declared);
    }

    #[test]
    fn one_logical_cpu_has_no_plan() {
        let (none, _) = planned(1, 1, 1, 1, ProbeForm::Full);
        assert_eq!((none.rounds.len(), none.repeats, none.estimated_s), (0, 0, 0.0));
    }

    #[test]
    fn private_last_levels_do_not_make_every_pair_a_representative() {
        let (plan, declared) = planned(192, 1, 1, 96, ProbeForm::Standard);
        check_disjoint(&plan, &declared);
        assert_eq!(plan.pairs, 2 * (95 + 94) + 1 + 384);
    }

    #[test]
    fn passes_put_pairs_into_other_company() {
        let (_, declared) = planned(16, 1, 16, 16, ProbeForm::Full);
        let one = PairSelection::All.batches(&declared, 7, 0);
        assert_ne!(one, PairSelection::All.batches(&declared, 7, 1));
        assert_eq!(one, PairSelection::All.batches(&declared, 7, 0));
    }

    proptest! {
        #[test]
        fn everybody_meets_everybody_once(players in 0_usize..130) {
            let rounds = tournament(players);
            let mut met = BTreeSet::new();
            for round in &rounds {
                let mut playing = BTreeSet::new();
                for &(a, b) in round {
                    prop_assert!(a < players && b < players && a != b);
                    prop_assert!(playing.insert(a) && playing.insert(b));
                    prop_assert!(met.insert((a.min(b), a.max(b))));
                }
            }
            prop_assert_eq!(met.len(), players * players.saturating_sub(1) / 2);
            let least = if players < 2 { 0 } else { players - 1 + players % 2 };
            prop_assert_eq!(rounds.len(), least);
        }
    }
}
