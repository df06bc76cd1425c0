//! A block's permutation of the machine.
//!
//! Two rules. A larger treatment must use all that a smaller one uses, so what can serve more treatments comes
//! first: the fastest kind, then the packages with more allowed logical CPUs, then the cores with more allowed
//! siblings; only equals are permuted. And first positions are balanced over blocks as in a Latin square
//! (Montgomery, *Design and Analysis of Experiments*, ch. 4): one base permutation a study, rotated by the block
//! number; the other positions are shuffled in every block.
//!
//! Inside a package the order takes NUMA nodes, last-level caches and L2 caches in turn before it takes a second core of
//! any, so that the first N cores are always as far apart as N cores can be: what they share does not change from block
//! to block.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::locality::CoreGroups;
use super::{Draw, Level};
use crate::Topology;

/// Source of one block's randomness.
struct Turn {
    base: ChaCha8Rng,
    rest: ChaCha8Rng,
    block: usize,
}

impl Draw {
    /// The machine in the order of its ids; equals are not permuted.
    pub fn identity(topology: &Topology) -> Self {
        arrange(topology, None)
    }

    /// The permutation of one block: a pure function of its arguments.
    pub fn for_block(topology: &Topology, seed: u64, block: u32) -> Self {
        let base = ChaCha8Rng::seed_from_u64(seed);
        let mut rest = base.clone();
        // One ChaCha stream a block, other than stream 0, which gives the base permutation.
        rest.set_stream(1 << 32 | u64::from(block));
        arrange(topology, Some(Turn { base, rest, block: block as usize }))
    }
}

/// The package that a core belongs to; a machine that declares none is treated as one package.
pub(super) fn package_of(topology: &Topology, core: u32) -> u32 {
    topology.cores[core as usize].package.unwrap_or(0)
}

/// The packages that can be first in a draw: none has more allowed logical CPUs of any kind.
pub(super) fn first_packages(topology: &Topology) -> Vec<u32> {
    let packages = packages(topology);
    let alike = classes(packages, |&package| std::cmp::Reverse(capability(topology, package)));
    alike.into_iter().next().unwrap_or_default()
}

/// The packages that have cores, in the order of their ids.
fn packages(topology: &Topology) -> Vec<u32> {
    let cores = 0..topology.cores.len() as u32;
    let mut packages: Vec<u32> = cores.map(|core| package_of(topology, core)).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn arrange(topology: &Topology, mut turn: Option<Turn>) -> Draw {
    let all: Vec<u32> = (0..topology.cores.len() as u32).collect();
    let packages = packages(topology);
    let mut draw = Draw { siblings: vec![Vec::new(); all.len()], ..Draw::default() };
    let groups = CoreGroups::of(topology);
    let mut by_package: Vec<(u32, Vec<u32>)> = Vec::new();
    for peers in classes(packages, |&package| std::cmp::Reverse(capability(topology, package))) {
        let order = permute(peers.clone(), 1, &mut turn);
        for package in peers {
            let cores = all.iter().copied().filter(|&core| package_of(topology, core) == package).collect();
            let order = permute_cores(topology, &groups, cores, order.len(), &mut turn, &mut draw.siblings);
            by_package.push((package, order));
        }
        draw.packages.extend(order);
    }
    draw.cores = interleave(topology, &draw.packages, &by_package);
    draw
}

/// The cores of one package in order; stores the order of their siblings.
fn permute_cores(
    topology: &Topology,
    groups: &CoreGroups,
    cores: Vec<u32>,
    package_peers: usize,
    turn: &mut Option<Turn>,
    siblings: &mut [Vec<u32>],
) -> Vec<u32> {
    let core_of = |index: u32| &topology.cores[index as usize];
    let rank = |&index: &u32| (core_of(index).kind, std::cmp::Reverse(core_of(index).cpus.len()));
    let mut order = Vec::with_capacity(cores.len());
    for peers in classes(cores, rank) {
        // The class's first core recurs after this many blocks.
        let core_period = package_peers * firsts(&peers, &TURNS, groups);
        for &core in &peers {
            siblings[core as usize] = permute(core_of(core).cpus.iter().collect(), core_period, turn);
        }
        order.extend(in_turn(peers, &TURNS, groups, package_peers, turn));
    }
    order
}

/// The groups of a package that an order takes in turn.
const TURNS: [Level; 3] = [Level::Node, Level::Llc, Level::L2];

/// The cores of each group of a level, the groups with most cores first: these serve more treatments.
fn split(cores: Vec<u32>, level: Level, groups: &CoreGroups) -> Vec<Vec<Vec<u32>>> {
    let mut by_group: Vec<Vec<u32>> = classes(cores, |&core| groups.group(level, core));
    by_group.sort_by_key(|cores| std::cmp::Reverse(cores.len()));
    by_group.chunk_by(|one, other| one.len() == other.len()).map(<[Vec<u32>]>::to_vec).collect()
}

/// How many cores of equals can be the first.
fn firsts(cores: &[u32], levels: &[Level], groups: &CoreGroups) -> usize {
    let Some((level, inner)) = levels.split_first() else { return cores.len() };
    let alike = split(cores.to_vec(), *level, groups);
    let first = alike.first().and_then(|alike| Some(alike.len() * firsts(alike.first()?, inner, groups)));
    first.unwrap_or(1)
}

/// Equal cores in an order that takes the groups of each level in turn.
fn in_turn(
    cores: Vec<u32>,
    levels: &[Level],
    groups: &CoreGroups,
    outer: usize,
    turn: &mut Option<Turn>,
) -> Vec<u32> {
    let Some((level, inner)) = levels.split_first() else { return permute(cores, outer, turn) };
    let mut columns: Vec<Vec<u32>> = Vec::new();
    for alike in split(cores, *level, groups) {
        let places = permute((0..alike.len() as u32).collect(), outer, turn);
        let mut inside: Vec<Vec<u32>> = Vec::new();
        for cores in alike {
            inside.push(in_turn(cores, inner, groups, outer * places.len(), turn));
        }
        columns.extend(places.into_iter().map(|at| std::mem::take(&mut inside[at as usize])));
    }
    by_turns(&columns)
}

/// The first of every column, then the second of every one, and so on.
fn by_turns(columns: &[Vec<u32>]) -> Vec<u32> {
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    (0..rows).flat_map(|row| columns.iter().filter_map(move |column| column.get(row).copied())).collect()
}

/// Allowed logical CPUs of each kind on a package, with its cores' counts, most first: packages
/// with equal values are interchangeable.
fn capability(topology: &Topology, package: u32) -> Vec<(usize, Vec<usize>)> {
    let of_kind = |kind: usize| {
        let mut counts: Vec<usize> = (0..topology.cores.len() as u32)
            .filter(|&core| package_of(topology, core) == package)
            .map(|core| &topology.cores[core as usize])
            .filter(|core| core.kind as usize == kind)
            .map(|core| core.cpus.len())
            .collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        (counts.iter().sum(), counts)
    };
    let kinds = topology.cores.iter().map(|core| core.kind as usize + 1).max().unwrap_or(0);
    (0..kinds).map(of_kind).collect()
}

/// Groups items with equal keys, lowest key first, otherwise in the given order.
fn classes<K: Ord>(items: Vec<u32>, key: impl Fn(&u32) -> K) -> Vec<Vec<u32>> {
    let mut keyed: Vec<(K, u32)> = items.into_iter().map(|item| (key(&item), item)).collect();
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    let same_key = keyed.chunk_by(|a, b| a.0 == b.0);
    same_key.map(|class| class.iter().map(|(_, item)| *item).collect()).collect()
}

/// Base permutation, rotated so that each item is first equally often; the rest is shuffled.
fn permute(mut items: Vec<u32>, outer: usize, turn: &mut Option<Turn>) -> Vec<u32> {
    if let Some(turn) = turn
        && !items.is_empty()
    {
        items.shuffle(&mut turn.base);
        let first = rotation(turn.block, outer, items.len());
        items.rotate_left(first);
        items[1..].shuffle(&mut turn.rest);
    }
    items
}

/// Which of `inner` items is first in this block, when its container is first in every `outer`-th block: over
/// `outer * inner` blocks each pair occurs once (the Chinese remainder theorem gives the pairs of one period; a
/// step of one after each period gives the others).
fn rotation(block: usize, outer: usize, inner: usize) -> usize {
    let within = block % (outer * inner);
    (within + within / lcm(outer, inner)) % inner
}

fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

/// One core of each package in turn, kind after kind.
fn interleave(topology: &Topology, packages: &[u32], by_package: &[(u32, Vec<u32>)]) -> Vec<u32> {
    let kinds = topology.cores.iter().map(|core| core.kind + 1).max().unwrap_or(0);
    let mut flat = Vec::with_capacity(topology.cores.len());
    for kind in 0..kinds {
        let columns: Vec<Vec<u32>> = packages
            .iter()
            .filter_map(|package| by_package.iter().find(|(id, _)| id == package))
            .map(|(_, cores)| {
                cores.iter().copied().filter(|&core| topology.cores[core as usize].kind == kind).collect()
            })
            .collect();
        flat.extend(by_turns(&columns));
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_is_first_once_in_a_period() {
        for outer in 1..7 {
            for inner in 1..9 {
                let mut seen = vec![0; outer * inner];
                for block in 0..outer * inner {
                    seen[block % outer * inner + rotation(block, outer, inner)] += 1;
                }
                assert!(seen.iter().all(|&times| times == 1), "{outer} x {inner}: {seen:?}");
            }
        }
    }

    #[test]
    fn classes_keep_the_given_order_among_equals() {
        assert_eq!(classes(vec![5, 2, 7, 4, 1], |item| item % 2), [vec![2, 4], vec![5, 7, 1]]);
    }
}
