//! Machines that people reported since tools misread them, in a few files each.
#![allow(clippy::unwrap_used)]

use crate::fixtures::{CPU, Form, Root, list};
use threadwise_machine::topology::{Group, capture};
use threadwise_machine::{CpuSet, Topology};

fn read(root: &Root) -> Topology {
    Topology::read(root.path(), None).unwrap()
}

fn sets(groups: &[Group]) -> Vec<String> {
    groups.iter().map(|group| group.cpus.to_string()).collect()
}

fn cores(topology: &Topology) -> Vec<String> {
    topology.cores.iter().map(|core| core.cpus.to_string()).collect()
}

/// A container of a cpuset, in which lxcfs shows a list of online CPUs that is counted from 0 (lxc/lxcfs#731).
fn container(present: &str, online: &str, effective: &str) -> Root {
    let root = Root::new();
    root.counts(present, online);
    for cpu in list(present).iter() {
        root.companions(&cpu.to_string(), "core_cpus", Form::List);
    }
    root.put("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n");
    root.put("proc/self/cgroup", "0::/\n");
    root.put("sys/fs/cgroup/cpuset.cpus.effective", &format!("{effective}\n"));
    root
}

#[test]
fn what_an_effective_cpuset_holds_is_online_whatever_the_list_says() {
    assert_eq!(read(&container("0-3", "0", "2")).allowed(), list("2"));
    assert_eq!(read(&container("0-3", "0-1", "1,3")).allowed(), list("1,3"));
    let quota = container("0-7", "0-1", "0-3");
    quota.put("sys/fs/cgroup/cpu.max", "200000 100000\n");
    let topology = read(&quota);
    assert_eq!((topology.allowed(), topology.limits.quota_cpus), (list("0-3"), Some(2.0)));
    let siblings = container("0-31", "0-1", "1,17");
    siblings.companions("1,17", "core_cpus", Form::List);
    assert_eq!(cores(&read(&siblings)), ["1,17"]);
    // The same by the mask of a live process, and by the names of version 1.
    let masked = container("0-3", "0", "0-3");
    let topology = Topology::read(masked.path(), Some(&list("1"))).unwrap();
    assert_eq!(topology.allowed(), list("1"));
    let old = container("0-3", "0", "");
    old.put("proc/mounts", "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n");
    old.put("proc/self/cgroup", "3:cpuset:/\n");
    old.put("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "3\n");
    assert_eq!(read(&old).allowed(), list("3"));
}

#[test]
fn what_the_folders_say_is_offline_stays_so() {
    let root = container("0-3", "0-1", "2-3");
    root.put(&format!("{CPU}/cpu1/online"), "0\n");
    let topology = read(&root);
    assert!(!topology.cpu(1).unwrap().online && topology.cpu(0).unwrap().online);
    // A configured set may hold CPUs that are offline: it is no evidence.
    let root = container("0-3", "0-1", "0-1");
    root.remove("sys/fs/cgroup/cpuset.cpus.effective");
    root.put("sys/fs/cgroup/cpuset.cpus", "1-3\n");
    assert_eq!(read(&root).allowed(), list("1"));
}

/// Two groups of four logical CPUs with these numbers, sets of cores and sets of packages.
fn packages(ids: [i64; 2], core_sets: &[&str], package_sets: &[&str]) -> Root {
    let root = Root::new();
    root.counts("0-7", "0-7");
    for (set, id) in ["0-3", "4-7"].into_iter().zip(ids) {
        root.each(set, "topology/physical_package_id", id);
    }
    for (number, set) in core_sets.iter().enumerate() {
        root.companions(set, "core_cpus", Form::List);
        root.each(set, "topology/core_id", number as i64);
    }
    for set in package_sets {
        root.companions(set, "package_cpus", Form::List);
    }
    root
}

const SINGLE: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
const PAIRS: [&str; 4] = ["0-1", "2-3", "4-5", "6-7"];

#[test]
fn packages_are_those_of_their_numbers_where_sets_say_less() {
    // util-linux#3902, #698: a set of one CPU, or of one core, beside the same number.
    for sets_said in [SINGLE.as_slice(), PAIRS.as_slice()] {
        assert_eq!(sets(&read(&packages([0, 0], &PAIRS, sets_said)).packages), ["0-7"]);
        assert_eq!(sets(&read(&packages([0, 1], &PAIRS, sets_said)).packages), ["0-3", "4-7"]);
    }
    assert_eq!(sets(&read(&packages([0, 1], &SINGLE, &[])).packages), ["0-3", "4-7"], "no sets");
    // Sets of several cores are believed though their numbers repeat: these are numbers within something larger.
    assert_eq!(sets(&read(&packages([0, 0], &PAIRS, &["0-3", "4-7"])).packages), ["0-3", "4-7"]);
}

#[test]
fn numbers_within_a_book_are_those_of_the_book() {
    let root = packages([0, 0], &SINGLE, &SINGLE);
    root.each("0-3", "topology/book_id", 0);
    root.each("4-7", "topology/book_id", 1);
    assert_eq!(sets(&read(&root).packages), ["0-3", "4-7"]);
}

#[test]
fn sets_of_a_core_without_a_number_declare_no_package() {
    for sets_said in [SINGLE.as_slice(), PAIRS.as_slice()] {
        assert_eq!(sets(&read(&packages([-1, -1], &PAIRS, sets_said)).packages), Vec::<String>::new());
    }
    assert_eq!(sets(&read(&packages([-1, -1], &PAIRS, &["0-3", "4-7"])).packages), ["0-3", "4-7"]);
}

#[test]
fn sets_that_were_read_while_cpus_came_are_completed() {
    // util-linux#3265: of the first package and its first core, CPU 0 tells of itself alone.
    let root = packages([0, 1], &PAIRS, &["0-3", "4-7"]);
    root.put(&format!("{CPU}/cpu0/topology/core_cpus_list"), "0\n");
    root.put(&format!("{CPU}/cpu0/topology/package_cpus_list"), "0\n");
    let topology = read(&root);
    assert_eq!(sets(&topology.packages), ["0-3", "4-7"]);
    assert_eq!(cores(&topology), PAIRS);
}

#[test]
fn equal_core_numbers_on_two_dies_are_no_siblings() {
    // Each die of an Opteron 6100 counts its cores from 0, and older kernels have no die_id.
    let root = packages([0, 0], &SINGLE, &["0-7"]);
    root.each("4", "topology/core_id", 0);
    assert_eq!(cores(&read(&root)), SINGLE);
}

/// Groups of a container in a tree, with /proc/self/mountinfo.
fn mounted(lines: &[&str], group: &str, files: &[(&str, &str)]) -> Topology {
    let root = Root::new();
    root.counts("0-7", "0-7");
    for cpu in SINGLE {
        root.companions(cpu, "core_cpus", Form::List);
    }
    root.put("proc/self/mountinfo", &lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    root.put("proc/self/cgroup", &format!("{group}\n"));
    for (file, text) in files {
        root.put(file, &format!("{text}\n"));
    }
    let topology = read(&root);
    let copy = Root::new();
    capture(root.path(), copy.path()).unwrap();
    let again = read(&copy);
    assert_eq!(
        (again.allowed(), &again.limits.quota_cpus, again.limits.is_quota_hidden()),
        (topology.allowed(), &topology.limits.quota_cpus, topology.limits.is_quota_hidden())
    );
    topology
}

const HOSTS: &str = "22 20 0:26 /../../.. /rootfs/sys/fs/cgroup ro,relatime master:5 - cgroup2 cgroup2 rw";
const OWN: &str = "35 30 0:26 / /sys/fs/cgroup ro,nosuid,relatime - cgroup2 cgroup rw";
const FILES: [(&str, &str); 4] = [
    ("rootfs/sys/fs/cgroup/cpuset.cpus.effective", "0-7"),
    ("sys/fs/cgroup/cpuset.cpus.effective", "0-3"),
    ("sys/fs/cgroup/cpu.max", "150000 100000"),
    ("sys/fs/cgroup/memory.max", "2147483648"),
];

fn bounds(topology: &Topology) -> (CpuSet, Option<f64>, Option<u64>) {
    (topology.allowed(), topology.limits.quota_cpus, topology.limits.memory_bytes)
}

#[test]
fn a_quota_of_a_group_that_no_mount_shows_is_not_known() {
    for (lines, group) in [
        (&[HOSTS][..], "0::/"),
        (&[], "0::/"),
        (&[OWN], "0::/../elsewhere"),
        (&["35 30 0:26 /a /sys/fs/cgroup ro - cgroup2 cgroup rw"], "0::/ab"),
        (&["35 30 0:26 / /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset"], "2:cpu,cpuacct:/k"),
        // CPU time has a hierarchy of its own, and only the unified one is shown.
        (&[OWN], "2:cpu,cpuacct:/k\n0::/"),
    ] {
        let topology = mounted(lines, group, &FILES);
        assert_eq!(topology.limits.quota_cpus, None, "{lines:?}");
        assert!(topology.limits.is_quota_hidden(), "{lines:?} {group}");
    }
    // A group that is shown and has none, and a kernel whose groups know nothing of CPU time.
    let none = [("sys/fs/cgroup/cpu.max", "max 100000")];
    assert!(!mounted(&[OWN], "0::/", &none).limits.is_quota_hidden());
    assert!(!mounted(&[], "1:name=systemd:/", &[]).limits.is_quota_hidden());
    assert!(!mounted(&[OWN], "0::/", &FILES).limits.is_quota_hidden());
}

#[test]
fn of_several_mounts_the_one_counts_that_shows_the_own_group() {
    // JDK-8293472: the host's hierarchy is mounted too, before the own one or after it.
    for lines in [[HOSTS, OWN], [OWN, HOSTS]] {
        let found = bounds(&mounted(&lines, "0::/", &FILES));
        assert_eq!(found, (list("0-3"), Some(1.5), Some(2 << 30)));
    }
    let only_hosts = mounted(&[HOSTS], "0::/", &FILES);
    assert_eq!((bounds(&only_hosts), &only_hosts.limits.cpuset), ((list("0-7"), None, None), &None));
}

#[test]
fn the_root_of_a_mount_says_where_the_group_lies_and_no_name_is_guessed() {
    // Without a name space of its own; inside of the group is one of the same name.
    let own = "35 30 0:26 /docker/app /sys/fs/cgroup ro,relatime - cgroup2 cgroup rw";
    let files = [
        ("sys/fs/cgroup/cpu.max", "400000 100000"),
        ("sys/fs/cgroup/cpuset.cpus.effective", "0-7"),
        ("sys/fs/cgroup/app/cpu.max", "50000 100000"),
        ("sys/fs/cgroup/app/cpuset.cpus.effective", "0-1"),
    ];
    assert_eq!(bounds(&mounted(&[own], "0::/docker/app", &files)), (list("0-7"), Some(4.0), None));
    // Below the mount's group, and moved out of what the process may see.
    assert_eq!(bounds(&mounted(&[own], "0::/docker/app/app", &files)), (list("0-1"), Some(0.5), None));
    assert_eq!(bounds(&mounted(&[own], "0::/docker/other", &files)), (list("0-7"), None, None));
    assert_eq!(bounds(&mounted(&[OWN], "0::/../other", &FILES)), (list("0-7"), None, None));
    // The whole hierarchy shows the limits of the groups above, too.
    let whole = "36 30 0:26 / /host/cgroup ro,relatime - cgroup2 cgroup rw";
    let above = [files.as_slice(), &[("host/cgroup/docker/cpu.max", "100000 100000")]].concat();
    assert_eq!(bounds(&mounted(&[own, whole], "0::/docker/app", &above)).1, Some(1.0));
}

#[test]
fn control_groups_of_lxcfs_count_as_those_that_they_imitate() {
    let groups = "3:cpuset:/lxc/c1\n2:cpu,cpuacct:/lxc/c1";
    let files = [
        ("sys/fs/cgroup/cpuset/lxc/c1/cpuset.cpus", "1-2"),
        ("sys/fs/cgroup/cpu,cpuacct/lxc/c1/cpu.cfs_quota_us", "50000"),
        ("sys/fs/cgroup/cpu,cpuacct/lxc/c1/cpu.cfs_period_us", "100000"),
    ];
    let lines = ["cpuset", "cpu,cpuacct"]
        .map(|name| format!("40 30 0:50 / /sys/fs/cgroup/{name} rw - fuse.lxcfs lxcfs rw,user_id=0"));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(bounds(&mounted(&lines, groups, &files)), (list("1-2"), Some(0.5), None));
}

/// A kernel without topology folders, with a record for each logical CPU.
fn by_cpuinfo(records: &[(i64, i64)], counts: Option<(u32, u32)>) -> Topology {
    let root = Root::new();
    let all = format!("0-{}", records.len() - 1);
    root.counts(&all, &all);
    let mut text = String::new();
    for (cpu, (package, core)) in records.iter().enumerate() {
        root.put(&format!("{CPU}/cpu{cpu}/crash_notes"), "0\n");
        text.push_str(&format!("processor\t: {cpu}\nphysical id\t: {package}\n"));
        if let Some((siblings, cores)) = counts {
            text.push_str(&format!("siblings\t: {siblings}\ncore id\t\t: {core}\ncpu cores\t: {cores}\n\n"));
        } else {
            text.push_str(&format!("core id\t\t: {core}\n\n"));
        }
    }
    root.put("proc/cpuinfo", &text);
    read(&root)
}

#[test]
fn no_siblings_are_invented_from_numbers_that_repeat() {
    let two_dies: Vec<(i64, i64)> = (0..12).map(|cpu| (0, cpu % 6)).collect();
    assert_eq!(by_cpuinfo(&two_dies, Some((12, 12))).cores.len(), 12, "one thread a core, by its own count");
    assert_eq!(by_cpuinfo(&[(0, 0); 4], Some((1, 1))).cores.len(), 4, "a guest");
    assert_eq!(cores(&by_cpuinfo(&[(0, 0), (0, 1), (0, 0), (0, 1)], Some((4, 2)))), ["0,2", "1,3"]);
    // Four CPUs of one number and two threads a core: which share one is not known.
    let repeated = [(0, 0), (0, 0), (0, 0), (0, 0)];
    assert_eq!(by_cpuinfo(&repeated, Some((8, 4))).cores.len(), 4);
    assert_eq!(cores(&by_cpuinfo(&[(0, 0), (0, 1), (0, 0), (0, 1)], None)), ["0,2", "1,3"]);
}

#[test]
fn low_power_cores_are_a_kind_of_their_own() {
    let kinds = |with_l3: bool, slow_khz: i64| {
        let root = Root::new();
        root.counts("0-21", "0-21");
        root.put("sys/devices/cpu_core/cpus", "0-11\n");
        root.put("sys/devices/cpu_atom/cpus", "12-21\n");
        for cpu in 0..22 {
            root.companions(&cpu.to_string(), "core_cpus", Form::List);
        }
        root.cache(if with_l3 { "0-21" } else { "0-19" }, 3, 3, "Unified", "24M");
        for (set, khz) in [("0-11", 4_800_000), ("12-19", 3_800_000), ("20-21", slow_khz)] {
            root.each(set, "cpufreq/cpuinfo_max_freq", khz);
        }
        let kinds = read(&root).kinds;
        kinds.iter().map(|kind| format!("{} {}", kind.name, kind.cpus)).collect::<Vec<String>>()
    };
    let three = ["P-core 0-11", "E-core 12-19", "LP-E-core 20-21"];
    assert_eq!(kinds(false, 2_500_000), three);
    assert_eq!(kinds(true, 2_500_000), three, "by frequency alone");
    assert_eq!(kinds(false, 3_800_000), three, "by the cache alone");
    assert_eq!(kinds(true, 3_700_000), ["P-core 0-11", "E-core 12-21"]);
}

#[test]
fn guests_without_the_flag_of_x86_are_guests() {
    let hypervisor = |files: &[(&str, &str)]| {
        let root = Root::new();
        root.counts("0", "0");
        root.put("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n");
        for (file, text) in files {
            root.put(file, text);
        }
        let found = read(&root).identity.hypervisor;
        let copy = Root::new();
        capture(root.path(), copy.path()).unwrap();
        assert_eq!(read(&copy).identity.hypervisor, found, "{files:?} recorded");
        found
    };
    let tree = |name: &str| format!("proc/device-tree/{name}");
    let compatible = |text: &str| hypervisor(&[(&tree("compatible"), text)]);
    let by_node = |text: &str| hypervisor(&[(&tree("hypervisor/compatible"), text)]);
    let unknown = Some("unknown hypervisor".to_owned());
    assert_eq!(compatible("linux,dummy-virt\0"), unknown);
    assert_eq!(hypervisor(&[("sys/firmware/devicetree/base/compatible", "linux,dummy-virt\0")]), unknown);
    assert_eq!(compatible("qemu,pseries\0").as_deref(), Some("QEMU/KVM"));
    assert_eq!(by_node("linux,kvm\0").as_deref(), Some("KVM"));
    assert_eq!(by_node("xen,xen-4.17\0xen,xen\0").as_deref(), Some("Xen"));
    assert_eq!(by_node("acme,visor\0").as_deref(), Some("acme,visor"), "by its own name");
    assert_eq!(compatible("raspberrypi,4-model-b\0brcm,bcm2711\0"), None, "a board");
    assert_eq!(compatible("IBM,8335-GTH\0ibm,powernv\0"), None, "bare metal");
    assert_eq!(hypervisor(&[(&tree("ibm,partition-name"), "db1\0")]).as_deref(), Some("PowerVM"));
    let sysinfo = |program: &str| {
        let text =
            format!("Manufacturer:         IBM\nLPAR Name:            A\nVM00 Control Program: {program}\n");
        hypervisor(&[("proc/sysinfo", &text)])
    };
    assert_eq!(sysinfo("KVM/Linux").as_deref(), Some("KVM"));
    assert_eq!(sysinfo("z/VM    7.2.0").as_deref(), Some("z/VM"));
    let product = "sys/class/dmi/id/product_name";
    let apple = hypervisor(&[(product, "Apple Virtualization Generic Platform\n")]);
    assert_eq!(apple.as_deref(), Some("Apple Virtualization"));
    assert_eq!(hypervisor(&[]), None);
}
