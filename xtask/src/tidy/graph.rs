//! Circles of a graph: nodes that reach each other.

use std::collections::{BTreeMap, BTreeSet};

/// Each node with those that it has an arrow to.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// Sets of two nodes or more that all reach each other, and nodes with an arrow to themselves; sorted. The graphs
/// have some hundred nodes, so a search from each of them is fast enough.
pub fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|node| (node.as_str(), reachable(graph, node))).collect();
    let mut found = BTreeSet::new();
    for (node, to) in reached.iter().filter(|(node, to)| to.contains(*node)) {
        let back = |other: &&&str| reached.get(**other).is_some_and(|others| others.contains(node));
        found.insert(to.iter().filter(back).map(|other| (*other).to_owned()).collect::<BTreeSet<String>>());
    }
    found.into_iter().collect()
}

/// Nodes at the end of a path of one arrow or more.
fn reachable<'g>(graph: &'g Graph, from: &str) -> BTreeSet<&'g str> {
    let mut found = BTreeSet::new();
    let mut left: Vec<&str> = vec![from];
    while let Some(node) = left.pop() {
        for to in graph.get(node).into_iter().flatten() {
            if found.insert(to.as_str()) {
                left.push(to);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(arrows: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::new();
        for (from, to) in arrows {
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        graph
    }

    fn found(arrows: &[(&str, &str)]) -> Vec<String> {
        circles(&graph(arrows)).into_iter().map(|set| set.into_iter().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn ways_without_return_are_no_circles() {
        assert!(found(&[]).is_empty());
        assert!(found(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]).is_empty());
    }

    #[test]
    fn each_circle_is_found_once_without_what_hangs_on_it() {
        let arrows = [("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "y"), ("y", "z"), ("z", "y")];
        assert_eq!(found(&arrows), ["a b c", "y z"]);
        assert_eq!(found(&[("a", "a"), ("a", "b")]), ["a"]);
    }
}
