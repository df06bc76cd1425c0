//! The machines that are built, and their placements.
//!
//! QEMU numbers logical CPUs with the threads of a core next to each other, then cores, then sockets; the placements
//! here were worked out by hand from that, not by the tested program.

use super::machine::Machine;
use super::machine::Wanted::{Cpus, Lacks};
use crate::guest::arch::AARCH64;
use crate::guest::{Guest, Node, SMALLEST};

/// 2 packages of 2 cores of 2 threads, each package a node, unequally far apart.
const TWO_NODES: [Node<'_>; 2] =
    [Node { cpus: "0-3", memory_mib: 2048 }, Node { cpus: "4-7", memory_mib: 2048 }];
/// A node with all logical CPUs, and a memory-only one, as with CXL or persistent memory.
const MEMORY_ONLY: [Node<'_>; 2] =
    [Node { cpus: "0-3", memory_mib: 384 }, Node { cpus: "", memory_mib: 128 }];
const FOUR_NODES: [Node<'_>; 4] = [
    Node { cpus: "0-1", memory_mib: 256 },
    Node { cpus: "2-3", memory_mib: 256 },
    Node { cpus: "4-5", memory_mib: 256 },
    Node { cpus: "6-7", memory_mib: 256 },
];

/// A fast, ordinary one, which others differ from.
pub const PLAIN: Machine = Machine {
    name: "",
    about: "",
    is_quick: true,
    guest: SMALLEST,
    offline: &[],
    allowed: None,
    quota_cpus: None,
    before: &[],
    checks: &[],
    placements: &[],
};

/// All of them. Some are `quick`, which CI boots; `--all` boots each.
pub static MACHINES: [Machine; 11] = [
    Machine {
        name: "two-packages-smt",
        about: "2 packages of 2 cores of 2 threads, a NUMA node each",
        guest: Guest { smp: [2, 2, 2], numa: &TWO_NODES, distances: &[[0, 1, 21], [1, 0, 21]], ..SMALLEST },
        checks: &[
            "smt",
            "smt-off",
            "logical-io",
            "log-writer",
            "insert-sqlite",
            "insert-native",
            "smt-boots",
            "kills",
        ],
        placements: &[
            ("one-cpu", Cpus("0")),
            ("same-core", Cpus("0-1")),
            ("same-package", Cpus("0,2")),
            ("cross-package", Cpus("0,4")),
            ("no-smt", Cpus("0,2,4,6")),
            ("all", Cpus("0-7")),
            ("half-cores", Cpus("0-3")),
            ("package", Cpus("0-3")),
            ("package-no-smt", Cpus("0,2")),
            ("package-half-cores", Cpus("0-1")),
            ("package-but-one", Cpus("0")),
            ("node", Cpus("0-3")),
            ("node-no-smt", Cpus("0,2")),
            ("node-half-cores", Cpus("0-1")),
            ("all@p1", Cpus("4-7")),
            ("no-smt@n1", Cpus("4,6")),
            ("half-cores@p1", Cpus("4-5")),
            ("all-but:1", Cpus("0-6")),
            ("all-but:3", Cpus("0-2,4-5")),
            ("all@p2", Lacks("2 packages")),
            ("2s2c2t", Cpus("0-7")),
            ("1c2t@p1", Cpus("4-5")),
            ("2c1t@n1", Cpus("4,6")),
            ("1c1t+1c2t", Cpus("0-2")),
            ("2s1c1t", Cpus("0,4")),
            ("spread:4", Cpus("0,2,4,6")),
            ("packed:4", Cpus("0-3")),
            ("1-7:2", Cpus("1,3,5,7")),
            ("package:1.core:0-1.pu:1", Cpus("5,7")),
            ("3c1t", Lacks("core")),
            ("3s1c1t", Lacks("package")),
            ("1c4t", Lacks("4 allowed logical CPUs")),
            ("9", Lacks("9")),
        ],
        ..PLAIN
    },
    Machine {
        name: "one-package-smt",
        about: "1 package of 2 cores of 2 threads",
        guest: Guest { smp: [1, 2, 2], ..SMALLEST },
        checks: &["smt"],
        placements: &[
            ("same-core", Cpus("0-1")),
            ("same-package", Cpus("0,2")),
            ("no-smt", Cpus("0,2")),
            ("half-cores", Cpus("0-1")),
            ("cross-package", Lacks("package")),
        ],
        ..PLAIN
    },
    Machine {
        name: "four-packages",
        about: "4 packages of 1 core of 2 threads, a NUMA node each",
        guest: Guest { smp: [4, 1, 2], numa: &FOUR_NODES, ..SMALLEST },
        checks: &["smt"],
        placements: &[
            ("cross-package", Cpus("0,2")),
            ("4s1c1t", Cpus("0,2,4,6")),
            ("half-cores", Cpus("0-3")),
            ("1c2t@n3", Cpus("6-7")),
            ("same-package", Lacks("core")),
        ],
        ..PLAIN
    },
    Machine {
        name: "no-smt",
        about: "1 package of 4 cores without SMT",
        guest: Guest { smp: [1, 4, 1], ..SMALLEST },
        placements: &[
            ("same-package", Cpus("0-1")),
            ("no-smt", Cpus("0-3")),
            ("same-core", Lacks("SMT siblings")),
            ("half-cores", Lacks("SMT siblings")),
        ],
        ..PLAIN
    },
    Machine {
        name: "one-cpu",
        about: "1 logical CPU",
        guest: SMALLEST,
        placements: &[
            ("one-cpu", Cpus("0")),
            ("all", Cpus("0")),
            ("same-core", Lacks("SMT siblings")),
            ("same-package", Lacks("core")),
            ("cross-package", Lacks("package")),
        ],
        ..PLAIN
    },
    Machine {
        name: "memory-only-node",
        about: "1 package of 2 cores of 2 threads, and a memory-only NUMA node",
        guest: Guest { smp: [1, 2, 2], numa: &MEMORY_ONLY, ..SMALLEST },
        placements: &[
            ("same-core", Cpus("0-1")),
            ("2c1t@n0", Cpus("0,2")),
            ("1c1t@n1", Lacks("the most is 0")),
        ],
        ..PLAIN
    },
    Machine {
        name: "offline-at-boot",
        about: "1 package of 4 cores of 2 threads, of which the last 3 logical CPUs are offline from the start",
        guest: Guest { smp: [1, 4, 2], kernel: "maxcpus=5", ..SMALLEST },
        offline: &[5, 6, 7],
        placements: &[
            ("all", Cpus("0-4")),
            ("no-smt", Cpus("0,2,4")),
            ("2c2t", Cpus("0-3")),
            ("3c2t", Lacks("3 cores with 2")),
            ("5", Lacks("5")),
        ],
        ..PLAIN
    },
    Machine {
        name: "cgroup2",
        about: "1 package of 4 cores of 2 threads; in a cpuset of 5 logical CPUs and a quota of 1.5 (cgroup v2)",
        guest: Guest { smp: [1, 4, 2], ..SMALLEST },
        allowed: Some("1-5"),
        quota_cpus: Some(1.5),
        before: &[
            "mount -t cgroup2 cgroup2 /sys/fs/cgroup",
            "echo '+cpu +cpuset' > /sys/fs/cgroup/cgroup.subtree_control",
            "mkdir /sys/fs/cgroup/pod",
            "echo 1-5 > /sys/fs/cgroup/pod/cpuset.cpus",
            "echo '150000 100000' > /sys/fs/cgroup/pod/cpu.max",
            "echo $$ > /sys/fs/cgroup/pod/cgroup.procs",
        ],
        placements: &[
            ("all", Cpus("1-5")),
            ("same-core", Cpus("2-3")),
            ("no-smt", Cpus("1-2,4")),
            ("0", Lacks("0")),
        ],
        ..PLAIN
    },
    Machine {
        name: "cgroup1",
        about: "1 package of 4 cores of 2 threads; in a cpuset of 5 logical CPUs and a quota of 1.5 (cgroup v1)",
        guest: Guest { smp: [1, 4, 2], ..SMALLEST },
        allowed: Some("1-5"),
        quota_cpus: Some(1.5),
        before: &[
            "mount -t tmpfs cgroup /sys/fs/cgroup",
            "mkdir /sys/fs/cgroup/cpuset /sys/fs/cgroup/cpu",
            "mount -t cgroup -o cpuset cpuset /sys/fs/cgroup/cpuset",
            "mount -t cgroup -o cpu cpu /sys/fs/cgroup/cpu",
            "mkdir /sys/fs/cgroup/cpuset/pod /sys/fs/cgroup/cpu/pod",
            "echo 1-5 > /sys/fs/cgroup/cpuset/pod/cpuset.cpus",
            "echo 0 > /sys/fs/cgroup/cpuset/pod/cpuset.mems",
            "echo $$ > /sys/fs/cgroup/cpuset/pod/tasks",
            "echo 150000 > /sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us",
            "echo $$ > /sys/fs/cgroup/cpu/pod/tasks",
        ],
        placements: &[
            ("all", Cpus("1-5")),
            ("same-core", Cpus("2-3")),
            ("no-smt", Cpus("1-2,4")),
            ("0", Lacks("0")),
        ],
        ..PLAIN
    },
    Machine {
        name: "64-cpus",
        about: "2 packages of 16 cores of 2 threads",
        is_quick: false,
        guest: Guest { smp: [2, 16, 2], memory_mib: 1024, ..SMALLEST },
        placements: &[
            ("all", Cpus("0-63")),
            ("cross-package", Cpus("0,32")),
            ("2s8c2t", Cpus("0-15,32-47")),
            ("17c1t", Lacks("core")),
        ],
        ..PLAIN
    },
    Machine {
        name: "aarch64-clusters",
        about: "aarch64: 1 package of 2 clusters of 2 cores",
        is_quick: false,
        guest: Guest { arch: &AARCH64, smp: [1, 4, 1], clusters: 2, memory_mib: 2048, ..SMALLEST },
        checks: &["run"],
        placements: &[
            ("same-package", Cpus("0-1")),
            ("no-smt", Cpus("0-3")),
            ("same-core", Lacks("SMT siblings")),
        ],
        ..PLAIN
    },
];
