//! One pair of logical CPUs for each distance that the machine has, as declared.

use std::collections::BTreeMap;
use threadwise_machine::Topology;
use threadwise_machine::topology::LogicalCpu;
use threadwise_study::probe::Distance;

/// A pair that stands for all of its distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Representative {
    /// The distance.
    pub distance: Distance,
    /// The lower OS number.
    pub a: u32,
    /// The higher OS number; the same one for [`Distance::SameCpu`].
    pub b: u32,
}

/// The first pair of each distance among these logical CPUs (OS numbers, ascending), nearest first. What the system does
/// not declare (packages, nodes, caches) counts as one.
pub fn representatives(topology: &Topology, cpus: &[u32]) -> Vec<Representative> {
    let places: Vec<Place<'_>> = cpus.iter().filter_map(|cpu| Place::of(topology, *cpu)).collect();
    let mut found: BTreeMap<Distance, Representative> = BTreeMap::new();
    for (at, one) in places.iter().enumerate() {
        for other in &places[at..] {
            let distance = one.distance(other);
            let (a, b) = (one.cpu.os_id, other.cpu.os_id);
            found.entry(distance).or_insert(Representative { distance, a, b });
        }
        // The distances around one logical CPU are nearly always all that there are.
        if found.len() == Distance::ALL.len() {
            break;
        }
    }
    found.into_values().collect()
}

/// Where a logical CPU is.
struct Place<'a> {
    cpu: &'a LogicalCpu,
    /// Index of its L2 among the machine's caches, unless that is its LLC.
    l2: Option<usize>,
}

impl<'a> Place<'a> {
    fn of(topology: &'a Topology, os_id: u32) -> Option<Self> {
        let cpu = topology.cpu(os_id)?;
        let is_l2 = |at: &usize| topology.caches[*at].level == 2 && topology.caches[*at].cpus.contains(os_id);
        let llc = cpu.llc.and_then(|llc| topology.llc_domains.get(llc as usize));
        let l2 = (0..topology.caches.len()).find(is_l2);
        let l2 = l2.filter(|at| llc.is_some_and(|llc| llc.cpus != topology.caches[*at].cpus));
        Some(Self { cpu, l2 })
    }

    fn distance(&self, other: &Self) -> Distance {
        let (one, two) = (self.cpu, other.cpu);
        match () {
            () if one.os_id == two.os_id => Distance::SameCpu,
            () if one.siblings.contains(two.os_id) => Distance::SameCore,
            () if self.l2.is_some() && self.l2 == other.l2 => Distance::SameL2,
            () if one.llc.is_some() && one.llc == two.llc => Distance::SameLlc,
            () if one.package != two.package => Distance::OtherPackage,
            () if one.numa_node != two.numa_node => Distance::SamePackage,
            () => Distance::SameNode,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::CpuSet;
    use threadwise_machine::topology::{Cache, Group};

    /// Logical CPUs of cores of `threads`, with so many cores in an L2, L2s in an LLC, LLCs in a node, nodes in a package.
    struct Shape {
        threads: u32,
        l2: u32,
        llc: u32,
        node: u32,
        package: u32,
        packages: u32,
    }

    impl Shape {
        fn topology(&self) -> Topology {
            let of_l2 = self.threads * self.l2;
            let (of_llc, all) =
                (of_l2 * self.llc, of_l2 * self.llc * self.node * self.package * self.packages);
            let of_node = of_llc * self.node;
            let of_package = of_node * self.package;
            let range = |size: u32, at: u32| -> CpuSet { (at * size..(at + 1) * size).collect() };
            let cpu = |os_id: u32| LogicalCpu {
                os_id,
                core: Some(os_id / self.threads),
                package: Some(os_id / of_package),
                numa_node: Some(os_id / of_node),
                llc: Some(os_id / of_llc),
                siblings: range(self.threads, os_id / self.threads),
                allowed: true,
                online: true,
                ..LogicalCpu::default()
            };
            let l2 =
                |at| Cache { level: 2, kind: "Unified".to_owned(), size_bytes: None, cpus: range(of_l2, at) };
            Topology {
                logical_cpus: (0..all).map(cpu).collect(),
                llc_domains: (0..all / of_llc)
                    .map(|at| Group { os_id: None, cpus: range(of_llc, at) })
                    .collect(),
                caches: (0..all / of_l2).map(l2).collect(),
                ..Topology::default()
            }
        }
    }

    fn found(topology: &Topology, cpus: &[u32]) -> Vec<(Distance, u32, u32)> {
        representatives(topology, cpus).iter().map(|one| (one.distance, one.a, one.b)).collect()
    }

    fn all(topology: &Topology) -> Vec<u32> {
        topology.logical_cpus.iter().map(|cpu| cpu.os_id).collect()
    }

    #[test]
    fn every_distance_of_a_machine_has_exactly_its_pair() {
        let topology = Shape { threads: 2, l2: 2, llc: 2, node: 2, package: 2, packages: 2 }.topology();
        let expected = [
            (Distance::SameCpu, 0, 0),
            (Distance::SameCore, 0, 1),
            (Distance::SameL2, 0, 2),
            (Distance::SameLlc, 0, 4),
            (Distance::SameNode, 0, 8),
            (Distance::SamePackage, 0, 16),
            (Distance::OtherPackage, 0, 32),
        ];
        assert_eq!(found(&topology, &all(&topology)), expected);
        // Of a part of it, the distances that the part has.
        let part = [(Distance::SameCpu, 3, 3), (Distance::SameLlc, 3, 4), (Distance::OtherPackage, 3, 40)];
        assert_eq!(found(&topology, &[3, 4, 40]), part);
    }

    #[test]
    fn a_large_machine_has_no_more_pairs_than_a_small_one() {
        let topology = Shape { threads: 2, l2: 1, llc: 8, node: 8, package: 4, packages: 2 }.topology();
        let distances: Vec<Distance> = found(&topology, &all(&topology)).iter().map(|one| one.0).collect();
        assert_eq!(all(&topology).len(), 1024);
        let without_l2 = Distance::ALL.into_iter().filter(|one| *one != Distance::SameL2);
        assert_eq!(distances, without_l2.collect::<Vec<_>>(), "each core has an L2 of its own");
    }

    #[test]
    fn an_l2_that_is_the_last_level_is_an_llc() {
        let topology = Shape { threads: 1, l2: 4, llc: 1, node: 1, package: 1, packages: 1 }.topology();
        assert_eq!(found(&topology, &all(&topology)), [(Distance::SameCpu, 0, 0), (Distance::SameLlc, 0, 1)]);
    }

    #[test]
    fn pairs_away_from_the_first_logical_cpu_are_found() {
        // Cores with siblings, and cores that share an L2, as on hybrid processors.
        let mut topology = Shape { threads: 2, l2: 1, llc: 4, node: 1, package: 1, packages: 1 }.topology();
        topology.caches.retain(|cache| cache.cpus.first() < Some(4));
        topology.caches.push(Cache { level: 2, cpus: (4..8).collect(), ..topology.caches[0].clone() });
        for cpu in 4..8 {
            topology.logical_cpus[cpu].siblings = [cpu as u32].into_iter().collect();
        }
        let expected = [
            (Distance::SameCpu, 0, 0),
            (Distance::SameCore, 0, 1),
            (Distance::SameL2, 4, 5),
            (Distance::SameLlc, 0, 2),
        ];
        assert_eq!(found(&topology, &all(&topology)), expected);
    }

    #[test]
    fn what_is_not_declared_counts_as_one() {
        let bare =
            |os_id| LogicalCpu { os_id, siblings: [os_id].into_iter().collect(), ..LogicalCpu::default() };
        let topology = Topology { logical_cpus: vec![bare(0), bare(1)], ..Topology::default() };
        assert_eq!(found(&topology, &[0, 1]), [(Distance::SameCpu, 0, 0), (Distance::SameNode, 0, 1)]);
        assert_eq!(found(&topology, &[1]), [(Distance::SameCpu, 1, 1)]);
        assert_eq!(found(&topology, &[]), []);
    }
}
