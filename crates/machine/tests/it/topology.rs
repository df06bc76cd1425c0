//! What the reader makes of machines of our own making, of each peculiarity one.

#![allow(clippy::unwrap_used)]

use crate::fixtures;

use crate::fixtures::{CPU, Root, list};
use std::path::{Path, PathBuf};
use threadwise_machine::Quota;
use threadwise_machine::topology::{Group, Topology, TopologyError};

fn read(root: &Root) -> Topology {
    Topology::read(root.path(), None).unwrap()
}

fn sets(groups: &[Group]) -> Vec<String> {
    groups.iter().map(|group| group.cpus.to_string()).collect()
}

fn cores(topology: &Topology) -> Vec<String> {
    topology.cores.iter().map(|core| core.cpus.to_string()).collect()
}

#[test]
fn server_has_every_level() {
    let topology = read(&fixtures::server());
    assert_eq!(cores(&topology), ["0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15"]);
    assert_eq!(sets(&topology.packages), ["0-3,8-11", "4-7,12-15"]);
    assert_eq!(sets(&topology.dies), sets(&topology.packages));
    assert_eq!(sets(&topology.llc_domains), sets(&topology.packages));
    assert_eq!(topology.clusters, [], "clusters that are single cores say nothing");
    // Core numbers repeat in the second package; the index does not.
    assert_eq!(topology.cores[5].os_id, Some(1));
    let cpu = topology.cpu(13).unwrap();
    assert_eq!(
        (cpu.core, cpu.package, cpu.die, cpu.numa_node, cpu.llc),
        (Some(5), Some(1), Some(1), Some(1), Some(1))
    );
    assert_eq!(cpu.siblings, list("5,13"));
    assert_eq!(topology.max_threads_per_core(), 2);
    assert_eq!(topology.numa_nodes[1].memory_bytes, Some(2 << 30));
    // Per core an L1 and an L2, per package an L3, and no instruction cache.
    let of_level = |level| topology.caches.iter().filter(|cache| cache.level == level).count();
    assert_eq!([of_level(1), of_level(2), of_level(3), topology.caches.len()], [8, 8, 2, 18]);
    assert_eq!(topology.caches[0].kind, "Data");
    assert_eq!(topology.caches[17].size_bytes, Some(16 << 20));
    assert_eq!((topology.kinds.len(), topology.kinds[0].name.as_str()), (1, "core"));
    assert_eq!(topology.limits, Default::default());
}

#[test]
fn identity_names_the_kind_of_machine() {
    let root = fixtures::server();
    let identity = read(&root).identity;
    assert_eq!(identity.cpu_model.as_deref(), Some("Model of Test"));
    assert_eq!(identity.cpu_vendor.as_deref(), Some("GenuineIntel"));
    assert_eq!(identity.smt_control.as_deref(), Some("on"));
    assert_eq!(identity.kernel.as_deref(), Some("6.1.0-test"));
    assert_eq!(identity.memory_bytes, Some(4 << 30));
    assert_eq!(identity.hypervisor, None);
    // The texts of a cloud are no hypervisor; the processor's flag is one.
    root.put("sys/devices/virtual/dmi/id/sys_vendor", "QEMU\n");
    root.link("sys/class/dmi/id", "../../devices/virtual/dmi/id");
    assert_eq!(read(&root).identity.hypervisor, None);
    root.put("proc/cpuinfo", "processor : 0\nflags : fpu hypervisor\n");
    assert_eq!(read(&root).identity.hypervisor.as_deref(), Some("QEMU/KVM"));
    root.put("sys/devices/virtual/dmi/id/sys_vendor", "Unlisted\n");
    assert_eq!(read(&root).identity.hypervisor.as_deref(), Some("unknown hypervisor"));
    root.put("sys/hypervisor/type", "xen\n");
    assert_eq!(read(&root).identity.hypervisor.as_deref(), Some("Xen"));
}

#[test]
fn container_of_version_2_has_cpuset_quota_and_memory_limit() {
    let root = fixtures::container();
    let topology = read(&root);
    assert_eq!(topology.allowed(), list("0-1,8"));
    assert_eq!(cores(&topology), ["0,8", "1"]);
    assert_eq!(topology.packages.len(), 1);
    assert_eq!(topology.limits.cpuset, Some(list("0-1,8")));
    assert_eq!(topology.limits.quota_cpus, Some(1.5), "the tightest of 4 and 1.5");
    let source = PathBuf::from("sys/fs/cgroup/kubepods/pod-4711-of-alice/cpu.max");
    assert_eq!(topology.limits.quota_source, Some(source));
    let quota = Quota::read(root.path()).unwrap().unwrap();
    assert_eq!(quota, Quota { cpus: 1.5, period_ns: 50_000_000, burst_ns: 0 });
    root.put("sys/fs/cgroup/kubepods/pod-4711-of-alice/cpu.max.burst", "50000\n");
    assert_eq!(Quota::read(root.path()).unwrap().unwrap().burst_ns, 50_000_000);
    assert_eq!(topology.limits.memory_bytes, Some(1 << 30));
    // The sibling of 1 is not allowed, and still its sibling; it is in a package that counts.
    assert_eq!(topology.cpu(1).unwrap().siblings, list("1,9"));
    let left_over = topology.cpu(9).unwrap();
    assert_eq!(
        (left_over.core, left_over.package, left_over.allowed, left_over.online),
        (None, Some(0), false, true)
    );
    assert_eq!(topology.cpu(4).unwrap().package, None, "no package of an allowed CPU");
    assert_eq!(topology.logical_cpus.len(), 16);
}

#[test]
fn quota_of_version_1_is_found_though_the_paths_are_the_hosts() {
    let topology = read(&fixtures::quota_v1());
    assert_eq!(topology.limits.quota_cpus, Some(2.5));
    let source = PathBuf::from("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us");
    assert_eq!(topology.limits.quota_source, Some(source));
    assert_eq!(topology.limits.cpuset, Some(list("0-7")));
    assert_eq!(topology.limits.memory_bytes, None, "the largest number means no limit");
    let root = fixtures::quota_v1();
    root.put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_burst_us", "70000\n");
    let quota = Quota::read(root.path()).unwrap().unwrap();
    assert_eq!((quota.cpus, quota.burst_ns), (2.5, 70_000_000));
    root.put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    assert_eq!(Quota::read(root.path()).unwrap(), None);
    assert_eq!(read(&root).limits.quota_cpus, None);
}

#[test]
fn old_cpuset_file_system_limits_cpus_and_nodes() {
    let root = fixtures::server();
    root.put("proc/mounts", "none /dev/cpuset cpuset rw 0 0\n");
    root.put("proc/self/cpuset", "/job one\n");
    root.put("dev/cpuset/job one/cpus", "2-5\n");
    root.put("dev/cpuset/job one/mems", "1\n");
    let topology = read(&root);
    assert_eq!(topology.allowed(), list("2-5"));
    assert_eq!(topology.numa_nodes.len(), 1);
    assert_eq!(topology.numa_nodes[0].cpus, list("4-5"));
    assert_eq!((topology.cpu(2).unwrap().numa_node, topology.cpu(4).unwrap().numa_node), (None, Some(0)));
    // With CPUs in the first package and memory in the second, both count.
    root.put("dev/cpuset/job one/cpus", "0-2\n");
    let topology = read(&root);
    assert_eq!(sets(&topology.packages), ["0-2", ""]);
    assert_eq!(topology.packages[1].os_id, Some(1));
    // A cpuset that leaves all memory open picks out none.
    root.put("dev/cpuset/job one/mems", "0-1\n");
    assert_eq!(sets(&read(&root).packages), ["0-2"]);
}

#[test]
fn affinity_is_an_argument_and_narrows_the_cpuset() {
    let root = fixtures::container();
    let topology = Topology::read(root.path(), Some(&list("1-5"))).unwrap();
    assert_eq!(topology.allowed(), list("1"));
    assert_eq!(topology.limits.affinity, Some(list("1-5")));
    let nothing = Topology::read(root.path(), Some(&list("4")));
    assert!(matches!(nothing, Err(TopologyError::NoCpu { .. })), "{nothing:?}");
}

#[test]
fn offline_sibling_leaves_the_core() {
    let topology = read(&fixtures::offline_sibling());
    assert_eq!((topology.cores.len(), topology.allowed().len()), (8, 15));
    assert_eq!(topology.cores[0].cpus, list("0"));
    let off = topology.cpu(8).unwrap();
    assert_eq!((off.online, off.allowed, off.core, off.siblings.len()), (false, false, None, 0));
    assert_eq!(topology.cpu(0).unwrap().siblings, list("0"));
    assert_eq!(topology.packages[0].cpus, list("0-3,9-11"), "stale sets are cut to what is online");
}

#[test]
fn hybrid_kinds_by_counter_devices() {
    let root = fixtures::hybrid();
    let topology = read(&root);
    let kinds: Vec<_> =
        topology.kinds.iter().map(|kind| (kind.name.as_str(), kind.cpus.to_string())).collect();
    assert_eq!(kinds, [("P-core", "0-3".to_owned()), ("E-core", "4-7".to_owned())]);
    assert!(topology.kinds[1].evidence.contains("cpu_atom"));
    assert_eq!(sets(&topology.clusters), ["0-1", "2-3", "4-7"]);
    assert_eq!(topology.cores.iter().map(|core| core.kind).collect::<Vec<_>>(), [0, 0, 1, 1, 1, 1]);
    // With E-cores alone to run on there is one kind, and it keeps its name.
    let narrowed = Topology::read(root.path(), Some(&list("5-7"))).unwrap();
    assert_eq!((narrowed.kinds.len(), narrowed.kinds[0].name.as_str()), (1, "E-core"));
    assert_eq!(narrowed.cores[0].kind, 0);
}

#[test]
fn kinds_by_capacity_and_caches_that_differ_by_kind() {
    let topology = read(&fixtures::three_capacities());
    let kinds: Vec<_> =
        topology.kinds.iter().map(|kind| (kind.name.as_str(), kind.cpus.to_string())).collect();
    let expected = [("P-core", "7"), ("M-core", "4-6"), ("E-core", "0-3")];
    assert_eq!(kinds, expected.map(|(name, cpus)| (name, cpus.to_owned())));
    assert_eq!(topology.kinds[1].evidence, "cpu_capacity 871");
    assert_eq!(topology.identity.cpu_model.as_deref(), Some("Arm part 0xd4b"));
    let caches: Vec<_> = topology.caches.iter().map(|cache| (cache.level, cache.cpus.to_string())).collect();
    let expected = [(2, "4"), (2, "5"), (2, "6"), (2, "7"), (3, "0-7")];
    assert_eq!(caches, expected.map(|(level, cpus)| (level, cpus.to_owned())));
    assert_eq!(sets(&topology.llc_domains), ["0-7"]);
}

#[test]
fn kinds_by_frequency_with_a_tolerance() {
    let topology = read(&fixtures::frequencies());
    let kinds: Vec<_> = topology.kinds.iter().map(|kind| kind.cpus.to_string()).collect();
    assert_eq!(kinds, ["0-5", "6-7"], "favoured cores are no kind of their own");
    assert_eq!(topology.kinds[0].evidence, "highest frequency 5000 to 5200 MHz");
}

#[test]
fn power_cores_of_four_and_eight_siblings() {
    for threads in [4, 8] {
        let topology = read(&fixtures::power(threads));
        assert_eq!((topology.cores.len(), topology.max_threads_per_core()), (4, threads as usize));
        // The set declares the package, though the kernel has no number for it.
        assert_eq!(topology.packages.len(), 2);
        assert_eq!(topology.packages[0].os_id, None);
        assert_eq!(topology.numa_nodes[1].os_id, Some(8));
        assert_eq!(topology.identity.cpu_model.as_deref(), Some("POWER test"));
        assert_eq!(topology.llc_domains, [], "no cache is declared");
    }
}

/// As QEMU's machine `virt` declares them, without a level that cores share.
#[test]
fn a_cache_of_level_1_is_no_domain() {
    let root = fixtures::frequencies();
    (0..8).for_each(|cpu: u32| root.cache(&cpu.to_string(), 0, 1, "Data", "32K"));
    let topology = read(&root);
    assert_eq!((topology.caches.len(), topology.llc_domains.len()), (8, 0));
    assert!(topology.logical_cpus.iter().all(|cpu| cpu.llc.is_none()));
}

#[test]
fn more_than_a_thousand_cpus_by_masks() {
    let topology = read(&fixtures::large());
    assert_eq!((topology.cores.len(), topology.allowed().len(), topology.packages.len()), (768, 1536, 2));
    assert_eq!(topology.cpu(1535).unwrap().siblings, list("767,1535"));
    assert_eq!(topology.cpu(1535).unwrap().package, Some(1));
}

#[test]
fn package_id_minus_one_with_lone_sets_is_no_package() {
    let topology = read(&fixtures::no_package());
    assert_eq!((topology.packages.len(), topology.cores.len()), (0, 4));
    assert!(topology.logical_cpus.iter().all(|cpu| cpu.package.is_none()));
    assert_eq!(topology.numa_nodes.len(), 1, "a kernel without NUMA has one node");
}

#[test]
fn without_topology_folders_each_cpu_is_a_core() {
    let topology = read(&fixtures::bare());
    assert_eq!(cores(&topology), ["0", "1", "2"]);
    assert_eq!((topology.packages.len(), topology.logical_cpus.len()), (0, 4));
    assert!(!topology.cpu(3).unwrap().online);
    let named = read(&fixtures::bare_cpuinfo());
    assert_eq!(cores(&named), ["0,2", "1,3"]);
    assert_eq!(sets(&named.packages), ["0,2", "1,3"]);
    assert_eq!((named.cores[1].os_id, named.packages[1].os_id), (Some(7), Some(1)));
}

#[test]
fn masks_that_end_in_nul() {
    let topology = read(&fixtures::nul_masks());
    assert_eq!(cores(&topology), ["0,2", "1,3"]);
    assert_eq!((sets(&topology.packages), topology.packages[0].os_id), (vec!["0-3".to_owned()], Some(3)));
}

#[test]
fn sparse_and_memory_only_nodes() {
    let topology = read(&fixtures::memory_only());
    let nodes: Vec<_> =
        topology.numa_nodes.iter().map(|node| (node.os_id.unwrap(), node.cpus.to_string())).collect();
    let expected = [(0, "0-3,8-11"), (4, "4-7,12-15"), (9, "")];
    assert_eq!(nodes, expected.map(|(id, cpus)| (id, cpus.to_owned())));
    assert_eq!(topology.numa_nodes[2].memory_bytes, Some(8 << 30));
    assert_eq!(topology.cpu(15).unwrap().numa_node, Some(1));
}

#[test]
fn numbers_do_where_there_are_no_sets() {
    let topology = read(&fixtures::numbers_alone());
    assert_eq!(cores(&topology), ["0,2", "1,3", "4,6", "5,7"]);
    assert_eq!(sets(&topology.packages), ["0-3", "4-7"]);
}

#[test]
fn family_15h_pairs_are_two_cores() {
    let topology = read(&fixtures::module_pairs());
    assert_eq!(cores(&topology), ["0", "1", "2", "3"]);
    assert_eq!(topology.cpu(1).unwrap().siblings, list("1"));
    assert_eq!(sets(&topology.llc_domains), ["0-1", "2-3"]);
}

#[test]
fn a_root_without_cpus_is_named() {
    let root = Root::new();
    let error = Topology::read(root.path(), None).unwrap_err();
    assert!(matches!(&error, TopologyError::NoSys { .. }), "{error}");
    let error = Topology::read(Path::new("/no such folder"), None).unwrap_err();
    assert!(error.to_string().contains("/no such folder"), "{error}");
    root.put(&format!("{CPU}/kernel_max"), "7\n");
    let error = Topology::read(root.path(), None).unwrap_err().to_string();
    assert!(error.contains("cpu/online"), "{error}");
}
