//! Pairs of a large machine that need no measurement: their level follows from others.
//!
//! Caches and packages nest, so latencies are nearly an ultrametric: two logical CPUs are as far apart
//! as the farthest step on the best way between them (Jardine and Sibson, *Mathematical Taxonomy*,
//! 1971). Pairs that span every declared group are measured; a random sample of the inferred pairs
//! checks them. With m sampled pairs and no contradiction, at most 3/m of the inferred pairs are wrong at
//! 95% (the rule of three; Hanley and Lippman-Hand, JAMA 1983).

use super::declared::Declared;
use super::levels::{Edge, Hierarchy};
use super::types::Pair;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_study::look::valleys::level_of;

/// Most LLC domains that have a representative each.
const MOST_DOMAINS: usize = 64;
/// Fewest sampled pairs.
const LEAST_SAMPLE: usize = 256;

/// Pairs that connect everything: siblings of a core with each other, each logical CPU with two
/// representatives of its LLC domain (so that a misplaced one does no harm), and representatives of
/// domains with each other.
pub(super) fn spanning(declared: &Declared) -> Vec<Pair> {
    let mut pairs = BTreeSet::new();
    let mut add = |a: usize, b: usize| {
        if a != b {
            pairs.insert((a.min(b), a.max(b)));
        }
    };
    let domains = declared.by_domain(MOST_DOMAINS);
    // Not the first, which takes most interrupts in the domain of CPU 0.
    let representatives: Vec<usize> = domains.iter().map(|members| members[members.len() / 2]).collect();
    let seconds = domains.iter().map(|members| members[members.len() / 4]);
    for group in declared.by_core().iter().chain([&representatives]) {
        for (at, &a) in group.iter().enumerate() {
            group[..at].iter().for_each(|&b| add(a, b));
        }
    }
    for ((members, &first), second) in domains.iter().zip(&representatives).zip(seconds) {
        members.iter().for_each(|&member| add(first, member));
        members.iter().for_each(|&member| add(second, member));
    }
    pairs.into_iter().collect()
}

/// Samples unmeasured pairs: two for each logical CPU, if there are enough.
pub(super) fn sample(len: usize, known: &BTreeSet<Pair>, seed: u64, attempt: u32) -> Vec<Pair> {
    let left = (len * len.saturating_sub(1) / 2).saturating_sub(known.len());
    let wanted = (2 * len).max(LEAST_SAMPLE).min(left);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(2 << 32 | u64::from(attempt));
    if wanted * 2 > left {
        // Random sampling would take long to find the last ones.
        return unknown(len, known).collect();
    }
    let mut drawn = BTreeSet::new();
    while drawn.len() < wanted {
        let mut position = || (random.next_u64() % len as u64) as usize;
        let (a, b) = (position(), position());
        let pair = (a.min(b), a.max(b));
        if a != b && !known.contains(&pair) {
            drawn.insert(pair);
        }
    }
    drawn.into_iter().collect()
}

/// Every unmeasured pair.
pub(super) fn unknown(len: usize, known: &BTreeSet<Pair>) -> impl Iterator<Item = Pair> {
    let all = (0..len).flat_map(move |a| (a + 1..len).map(move |b| (a, b)));
    all.filter(move |pair| !known.contains(pair))
}

/// Sampled pairs whose own latency is on another level than the inferred one.
pub(super) fn contradictions(declared: &Declared, edges: &[Edge], drawn: &BTreeSet<Pair>) -> Vec<Pair> {
    let cuts = Hierarchy::find(declared, edges).cuts;
    let (drawn, others): (Vec<Edge>, Vec<Edge>) =
        edges.iter().partition(|edge| drawn.contains(&(edge.a, edge.b)));
    let inferred = Hierarchy::with_cuts(declared.len(), &others, cuts);
    let differs = |edge: &&Edge| {
        let expected = inferred.level_between(edge.a, edge.b);
        expected.is_some_and(|expected| expected != level_of(&inferred.cuts, edge.ns))
    };
    drawn.iter().filter(differs).map(|edge| (edge.a, edge.b)).collect()
}

/// Pairs that contradict the declaration: siblings and members of an LLC domain that are farther apart
/// than most of their kind, and all declared siblings if they are no nearer than others of their
/// LLC domain. The inferred pairs depend on those groups.
pub(super) fn misfits(declared: &Declared, edges: &[Edge]) -> Vec<Pair> {
    let cuts = Hierarchy::find(declared, edges).cuts;
    let mut levels: BTreeMap<&str, Vec<(usize, Pair)>> = BTreeMap::new();
    for edge in edges {
        if let Some(name) = declared.name(edge.a, edge.b) {
            levels.entry(name).or_default().push((level_of(&cuts, edge.ns), (edge.a, edge.b)));
        }
    }
    let usual: BTreeMap<&str, usize> =
        levels.iter().map(|(name, pairs)| (*name, most_common(pairs))).collect();
    let beyond = ["same LLC", "same package"].iter().find_map(|name| usual.get(name));
    let invented = usual.get("same core").zip(beyond).is_some_and(|(core, beyond)| core >= beyond);
    let odd = |name: &&str, level: usize| match *name {
        "same core" => invented || level > usual[name],
        "same LLC" => level > usual[name],
        _ => false,
    };
    let all = levels.iter().flat_map(|(name, pairs)| pairs.iter().map(move |pair| (name, pair)));
    all.filter(|(name, (level, _))| odd(name, *level)).map(|(_, (_, pair))| *pair).collect()
}

fn most_common(pairs: &[(usize, Pair)]) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    pairs.iter().for_each(|(level, _)| *counts.entry(*level).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map_or(0, |(level, _)| level)
}

/// The logical CPUs that explain doubtful pairs: repeatedly the one that is in most of the remaining
/// pairs, and both if none is in more than one.
pub(super) fn suspects(doubtful: &[Pair]) -> BTreeSet<usize> {
    let mut left = doubtful.to_vec();
    let mut suspects = BTreeSet::new();
    while !left.is_empty() {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        left.iter().flat_map(|(a, b)| [*a, *b]).for_each(|at| *counts.entry(at).or_default() += 1);
        let most = counts.values().copied().max().unwrap_or(0);
        let chosen = counts.into_iter().filter(|(_, count)| *count == most).map(|(at, _)| at);
        let chosen: Vec<usize> = chosen.take(if most > 1 { 1 } else { usize::MAX }).collect();
        left.retain(|(a, b)| !chosen.contains(a) && !chosen.contains(b));
        suspects.extend(chosen);
    }
    suspects
}

/// Where doubtful pairs showed an undeclared level (siblings that a hypervisor hides, for example),
/// some logical CPUs have found their companions at that level, and others may have companions that were not
/// measured: the pairs, inside the groups of the next level, of those that the level did not join.
pub(super) fn beside(declared: &Declared, edges: &[Edge], doubtful: &[Pair]) -> Vec<Pair> {
    let found = Hierarchy::find(declared, edges);
    let measured: BTreeMap<Pair, f64> = edges.iter().map(|edge| ((edge.a, edge.b), edge.ns)).collect();
    let shown: BTreeSet<usize> = doubtful
        .iter()
        .filter_map(|pair| measured.get(pair))
        .map(|ns| level_of(&found.cuts, *ns))
        .filter(|level| level + 1 < found.groups.len())
        .collect();
    let mut pairs = BTreeSet::new();
    for level in shown {
        let alone = found.not_joined(level);
        let known: BTreeSet<Pair> = measured.keys().copied().collect();
        let near = |(a, b): &Pair| {
            (alone[*a] || alone[*b]) && found.groups[level + 1][*a] == found.groups[level + 1][*b]
        };
        pairs.extend(unknown(declared.len(), &known).filter(near));
    }
    pairs.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_drawn_from_the_unknown_and_repeat_with_the_seed() {
        let known: BTreeSet<Pair> = (1..100).map(|b| (0, b)).collect();
        let drawn = sample(100, &known, 3, 0);
        assert_eq!(drawn.len(), LEAST_SAMPLE);
        assert!(drawn.iter().all(|pair| pair.0 < pair.1 && !known.contains(pair)));
        assert_eq!(drawn, sample(100, &known, 3, 0));
        assert_ne!(drawn, sample(100, &known, 3, 1));
        assert_ne!(drawn, sample(100, &known, 4, 0));
    }

    #[test]
    fn the_one_in_many_doubtful_pairs_is_suspected_alone() {
        assert_eq!(suspects(&[(0, 5), (1, 5), (2, 5), (3, 4)]), BTreeSet::from([3, 4, 5]));
        assert_eq!(suspects(&[]), BTreeSet::new());
    }

    #[test]
    fn where_few_are_unknown_all_of_them_are_taken() {
        let known: BTreeSet<Pair> = BTreeSet::from([(0, 1)]);
        assert_eq!(sample(4, &known, 3, 0), [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(sample(2, &known, 3, 0), []);
    }
}
