//! Limits of the process, containers, virtual machines, counters.

use super::support::{GIB, Root, machine, says, virtual_machine};
use std::path::PathBuf;
use threadwise_doctor::Outcome::{Ok, Problem, Unknown, Warning};
use threadwise_doctor::{Live, PerfAccess};
use threadwise_machine::CpuSet;

#[test]
fn cpu_quota() {
    let root = Root::new();
    says(&root.check("cpu-quota"), Unknown, &["/proc/self/cgroup"]);
    root.put("proc/self/cgroup", "0::/\n");
    says(&root.check("cpu-quota"), Ok, &["no CPU quota"]);
    root.put("run/.containerenv", "");
    says(&root.check("cpu-quota"), Ok, &["cannot be seen from here"]);
    let mut topology = machine();
    topology.limits.quota_source = Some(PathBuf::from("proc/self/cgroup"));
    says(&root.check_on("cpu-quota", &topology, None), Unknown, &["unknown", "no mount shows"]);
    topology.limits.quota_cpus = Some(1.5);
    topology.limits.quota_source = Some(PathBuf::from("sys/fs/cgroup/a b/cpu.max"));
    root.put("sys/fs/cgroup/a b/cpu.max", "150000 100000\n");
    says(
        &root.check_on("cpu-quota", &topology, None),
        Problem,
        &[
            "1.50 CPUs, 4 logical CPUs",
            "/sys/fs/cgroup/a b/cpu.max",
            "as root: echo max > '/sys/fs/cgroup/a b/cpu.max'",
            "to restore it: echo 150000 100000 > ",
        ],
    );
    topology.limits.quota_source = Some(PathBuf::from("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us"));
    root.put("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "$(reboot) 3\n");
    let check = root.check_on("cpu-quota", &topology, None);
    says(&check, Problem, &["echo -1 > /sys/fs/cgroup/cpu/x/cpu.cfs_quota_us"]);
    assert!(!check.remedy.unwrap().contains("reboot"), "what is no plain value comes into no command");
    topology.limits.quota_source = Some(PathBuf::from("sys/fs/cgroup/a\u{1b}[2Jb/cpu.max"));
    let check = root.check_on("cpu-quota", &topology, None);
    assert_eq!(check.remedy.as_deref(), Some("start the container without a CPU limit"));
    topology.limits.quota_cpus = Some(4.0);
    says(&root.check_on("cpu-quota", &topology, None), Ok, &["never stops threads"]);
}

#[test]
fn allowed_cpus() {
    let root = Root::new();
    says(&root.check("allowed-cpus"), Ok, &["all 4 online"]);
    let set = |text: &str| Some(CpuSet::parse_list(text).unwrap());
    let mut topology = machine();
    topology.logical_cpus[2].allowed = false;
    topology.logical_cpus[3].allowed = false;
    topology.limits.cpuset = set("0-1");
    let check = root.check_on("allowed-cpus", &topology, None);
    says(&check, Warning, &["2 of 4", "CPUs 0-1", "cpuset"]);
    assert!(!check.found.contains("share our cores"));
    topology.logical_cpus[1].allowed = false;
    topology.limits = Default::default();
    topology.limits.affinity = set("0");
    says(
        &root.check_on("allowed-cpus", &topology, None),
        Warning,
        &["1 of 4", "CPU 1, which share our cores", "affinity"],
    );
    topology.logical_cpus.clear();
    says(&root.check_on("allowed-cpus", &topology, None), Unknown, &["the online logical CPUs are unknown"]);
}

#[test]
fn memory_limit() {
    let root = Root::new();
    says(&root.check("memory-limit"), Ok, &["none", "16 GiB"]);
    let mut topology = machine();
    topology.limits.memory_bytes = Some(2 * GIB);
    says(&root.check_on("memory-limit", &topology, None), Warning, &["2 GiB of 16 GiB", "--memory"]);
    topology.limits.memory_bytes = Some(64 * GIB);
    says(&root.check_on("memory-limit", &topology, None), Ok, &["64 GiB"]);
    topology.limits.memory_bytes = None;
    topology.identity.memory_bytes = None;
    says(&root.check_on("memory-limit", &topology, None), Unknown, &["unknown"]);
}

#[test]
fn containers_without_a_name_show_themselves() {
    const GROUPS: (&str, &str) = ("proc/self/cgroup", "0::/\n");
    let found = |files: &[(&str, &str)]| Root::with(&[&[GROUPS], files].concat()).check("container");
    // As runc 1.1 mounts them without and with a name space of control groups, and crun below Podman.
    let mount = |root: &str, kind: &str, options: &str| {
        format!("410 400 0:29 {root} /sys/fs/cgroup ro,nosuid - {kind} cgroup {options}\n")
    };
    let host =
        "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n".to_owned() + &mount("/", "cgroup2", "rw");
    let kernel = [("proc/1/comm", "systemd\n"), ("proc/2/comm", "kthreadd\n")];
    let none = found(&[&kernel[..], &[("proc/self/mountinfo", &host)]].concat());
    says(&none, Ok, &["no sign of a container"]);
    let below = mount("/bundle-7", "cgroup2", "rw");
    says(&found(&[("proc/self/mountinfo", &below)]), Ok, &["a container", "root of their own"]);
    let pod = mount("/kubepods/pod1/7", "cgroup", "rw,memory");
    says(&found(&[("proc/self/mountinfo", &pod)]), Ok, &["Kubernetes"]);
    let layers = "400 1 0:52 / / rw - overlay overlay rw,lowerdir=/var/lib/containers/storage/overlay/l/A\n";
    says(&found(&[("proc/self/mountinfo", layers)]), Ok, &["Podman"]);
    // A live medium: an overlay, and the kernel's processes.
    let live = "400 1 0:52 / / rw - overlay overlay rw,lowerdir=/run/live/rootfs\n";
    says(&found(&[&kernel[..], &[("proc/self/mountinfo", live)]].concat()), Ok, &["no sign of a container"]);
    let apart = [("proc/1/comm", "sleep\n"), ("proc/2/comm", "sh\n")];
    says(&found(&apart), Ok, &["a container", "process 1 is sleep"]);
    says(&found(&apart[..1]), Ok, &["process 1 is sleep"]);
    let environment = [("proc/self/environ", "HOME=/root\0KUBERNETES_SERVICE_HOST=10.0.0.1\0")];
    says(&found(&environment), Ok, &["Kubernetes"]);
    let other = [("proc/self/environ", "X=KUBERNETES_SERVICE_HOST=1\0")];
    says(&found(&other), Ok, &["no sign of a container"]);
}

#[test]
fn container() {
    let named = |files: &[(&str, &str)]| Root::with(files).check("container");
    says(&named(&[]), Unknown, &["unknown"]);
    says(&named(&[("proc/self/cgroup", "0::/user.slice\n")]), Ok, &["no sign of a container"]);
    says(&named(&[(".dockerenv", "")]), Ok, &["Docker", "/.dockerenv", "are not visible"]);
    says(&named(&[(".dockerenv", ""), ("proc/2/comm", "kthreadd\n")]), Ok, &["processes are visible"]);
    says(&named(&[("run/.containerenv", "")]), Ok, &["Podman"]);
    says(&named(&[("run/systemd/container", "lxc\n")]), Ok, &["lxc"]);
    says(&named(&[("proc/self/cgroup", "0::/kubepods/x\n")]), Ok, &["Kubernetes", "/proc/self/cgroup"]);
}

#[test]
fn virtual_machines() {
    let root = Root::new();
    says(&root.check("virtual-machine"), Ok, &["no hypervisor", "Model X"]);
    says(&root.check_on("virtual-machine", &virtual_machine(), None), Warning, &["KVM", "threadwise probe"]);
    let live = Live { hypervisor: Some("Hyper-V".to_owned()), ..Live::default() };
    says(&root.check_on("virtual-machine", &machine(), Some(&live)), Warning, &["Hyper-V", "CPUID"]);
    let nothing = threadwise_machine::Topology::default();
    says(&root.check_on("virtual-machine", &nothing, None), Unknown, &["the kind of machine is unknown"]);
}

#[test]
fn perf() {
    let paranoid = "proc/sys/kernel/perf_event_paranoid";
    let counters = "sys/bus/event_source/devices/cpu/type";
    let software = "sys/bus/event_source/devices/software/type";
    let root = Root::new();
    says(&root.check("perf"), Unknown, &["no performance events"]);
    root.put(paranoid, "2\n");
    says(&root.check("perf"), Unknown, &["lists no counters"]);
    root.put(software, "1\n");
    says(&root.check("perf"), Warning, &["no hardware counters"]);
    root.put(counters, "4\n");
    says(
        &root.check("perf"),
        Unknown,
        &[
            "level 2",
            "as root: sysctl -w kernel.perf_event_paranoid=0",
            "restore it: sysctl -w kernel.perf_event_paranoid=2",
        ],
    );
    let tried = |perf: PerfAccess| {
        let live = Live { perf, is_root: true, ..Live::default() };
        root.check_on("perf", &machine(), Some(&live))
    };
    says(&tried(PerfAccess::Open), Ok, &["can be read"]);
    let denied = tried(PerfAccess::Denied { why: "EACCES".to_owned() });
    says(&denied, Warning, &["EACCES", "sysctl -w"]);
    assert!(!denied.remedy.unwrap().contains("as root"), "who is root needs no word about it");
    says(&tried(PerfAccess::Unsupported { why: "ENOENT".to_owned() }), Warning, &["ENOENT", "dmesg"]);
    root.put(paranoid, "-1\n");
    says(&root.check("perf"), Ok, &["all users may read"]);
    root.put(paranoid, "low\n");
    says(&root.check("perf"), Unknown, &["'low', not a number"]);
}
