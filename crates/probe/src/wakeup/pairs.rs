//! One pair of logical CPUs for each distance that the machine has, as declared.

use std::collections::BTreeMap;
use threadwise_machine::Topology;
use threadwise_machine::placement::{Localities, Locality};

/// A pair that stands for all of its distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Representative {
    /// The distance.
    pub distance: Locality,
    /// The lower OS number.
    pub a: u32,
    /// The higher OS number; the same one for [`Locality::SameCpu`].
    pub b: u32,
}

/// The first pair of each distance among these logical CPUs (OS numbers, ascending), nearest first. What the system does
/// not declare (packages, nodes, caches) counts as one.
pub fn representatives(topology: &Topology, cpus: &[u32]) -> Vec<Representative> {
    let localities = Localities::of(topology);
    let mut found: BTreeMap<Locality, Representative> = BTreeMap::new();
    for (at, &a) in cpus.iter().enumerate() {
        for &b in &cpus[at..] {
            if let Some(distance) = localities.between(a, b) {
                found.entry(distance).or_insert(Representative { distance, a, b });
            }
        }
        // The distances around one logical CPU are nearly always all that there are.
        if found.len() == Locality::ALL.len() {
            break;
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::CpuSet;
    use threadwise_machine::topology::{Cache, Core, Group, LogicalCpu};

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

    /// Cores by their siblings.
    fn with_cores(topology: &Topology) -> Topology {
        let mut made = topology.clone();
        for cpu in &mut made.logical_cpus {
            let known = made.cores.iter().position(|core| core.cpus == cpu.siblings);
            cpu.core = Some(known.unwrap_or(made.cores.len()) as u32);
            if known.is_none() {
                made.cores.push(Core {
                    os_id: None,
                    cpus: cpu.siblings.clone(),
                    package: cpu.package,
                    kind: 0,
                });
            }
        }
        made
    }

    fn found(topology: &Topology, cpus: &[u32]) -> Vec<(Locality, u32, u32)> {
        representatives(&with_cores(topology), cpus).iter().map(|one| (one.distance, one.a, one.b)).collect()
    }

    fn all(topology: &Topology) -> Vec<u32> {
        topology.logical_cpus.iter().map(|cpu| cpu.os_id).collect()
    }

    #[test]
    fn every_distance_of_a_machine_has_exactly_its_pair() {
        let topology = Shape { threads: 2, l2: 2, llc: 2, node: 2, package: 2, packages: 2 }.topology();
        let expected = [
            (Locality::SameCpu, 0, 0),
            (Locality::SameCore, 0, 1),
            (Locality::SameL2, 0, 2),
            (Locality::SameLlc, 0, 4),
            (Locality::SameNode, 0, 8),
            (Locality::SamePackage, 0, 16),
            (Locality::OtherPackage, 0, 32),
        ];
        assert_eq!(found(&topology, &all(&topology)), expected);
        // Of a part of it, the distances that the part has.
        let part = [(Locality::SameCpu, 3, 3), (Locality::SameLlc, 3, 4), (Locality::OtherPackage, 3, 40)];
        assert_eq!(found(&topology, &[3, 4, 40]), part);
    }

    #[test]
    fn a_large_machine_has_no_more_pairs_than_a_small_one() {
        let topology = Shape { threads: 2, l2: 1, llc: 8, node: 8, package: 4, packages: 2 }.topology();
        let distances: Vec<Locality> = found(&topology, &all(&topology)).iter().map(|one| one.0).collect();
        assert_eq!(all(&topology).len(), 1024);
        let without_l2 = Locality::ALL.into_iter().filter(|one| *one != Locality::SameL2);
        assert_eq!(distances, without_l2.collect::<Vec<_>>(), "each core has an L2 of its own");
    }

    #[test]
    fn an_l2_that_is_the_last_level_is_an_llc() {
        let topology = Shape { threads: 1, l2: 4, llc: 1, node: 1, package: 1, packages: 1 }.topology();
        assert_eq!(found(&topology, &all(&topology)), [(Locality::SameCpu, 0, 0), (Locality::SameLlc, 0, 1)]);
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
            (Locality::SameCpu, 0, 0),
            (Locality::SameCore, 0, 1),
            (Locality::SameL2, 4, 5),
            (Locality::SameLlc, 0, 2),
        ];
        assert_eq!(found(&topology, &all(&topology)), expected);
    }

    #[test]
    fn what_is_not_declared_counts_as_one() {
        let bare =
            |os_id| LogicalCpu { os_id, siblings: [os_id].into_iter().collect(), ..LogicalCpu::default() };
        let topology = Topology { logical_cpus: vec![bare(0), bare(1)], ..Topology::default() };
        assert_eq!(found(&topology, &[0, 1]), [(Locality::SameCpu, 0, 0), (Locality::SameNode, 0, 1)]);
        assert_eq!(found(&topology, &[1]), [(Locality::SameCpu, 1, 1)]);
        assert_eq!(found(&topology, &[]), []);
    }
}
