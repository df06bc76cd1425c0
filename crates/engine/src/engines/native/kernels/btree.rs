//! A B-tree that only is searched: sorted keys in nodes of one cache line, level by level, without pointers.
//!
//! Source: Khuong, Morin, "Array layouts for comparison-based searching", J. Experimental Algorithmics 22 (2017), B-tree
//! layout; Graefe, "B-tree indexes, interpolation search, and skew" (DaMoN 2006) for searching a node without branches.

/// Keys of a node: a cache line of 64 bytes.
const KEYS: usize = 8;

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Node([u64; KEYS]);

/// The tree. The key at place n is 2 n + 1, so that what is found can be checked.
pub struct Tree {
    /// Nodes by level, the root first; the last level holds all keys in order.
    levels: Vec<Vec<Node>>,
    len: usize,
}

impl Tree {
    /// With so many keys, at least one.
    pub fn new(len: usize) -> Self {
        let len = len.max(1);
        let mut keys: Vec<u64> = (0..len).map(Self::key).collect();
        let mut levels = Vec::new();
        loop {
            let nodes: Vec<Node> = keys
                .chunks(KEYS)
                .map(|keys| Node(std::array::from_fn(|at| keys.get(at).copied().unwrap_or(u64::MAX))))
                .collect();
            // Above, the largest key of each node: the first that is not less leads to its child.
            keys = keys.chunks(KEYS).filter_map(|keys| keys.last().copied()).collect();
            let is_root = nodes.len() == 1;
            levels.push(nodes);
            if is_root {
                break;
            }
        }
        levels.reverse();
        Self { levels, len }
    }

    /// The key at a place.
    pub fn key(place: usize) -> u64 {
        2 * place as u64 + 1
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Place of the first key that is not less; beyond the last one if there is none.
    #[inline]
    pub fn find(&self, key: u64) -> usize {
        self.levels.iter().fold(0, |at, nodes| descend(nodes, at, key))
    }

    /// The same of several keys, level by level, so that their cache misses overlap.
    #[inline]
    pub fn find_all<const N: usize>(&self, keys: &[u64; N]) -> [usize; N] {
        let mut places = [0; N];
        for nodes in &self.levels {
            for (place, key) in places.iter_mut().zip(keys) {
                *place = descend(nodes, *place, *key);
            }
        }
        places
    }
}

/// The child, or in the last level the place, that a node leads to.
#[inline]
fn descend(nodes: &[Node], at: usize, key: u64) -> usize {
    let Some(node) = nodes.get(at) else { return at * KEYS };
    at * KEYS + node.0.iter().map(|one| usize::from(*one < key)).sum::<usize>()
}
