//! Settings of the kernel: what each value means.

use super::support::{Root, check, machine, says, virtual_machine};
use threadwise_doctor::Outcome::{Ok, Problem, Unknown, Warning};
use threadwise_machine::topology::NumaNode;

const CPU: &str = "sys/devices/system/cpu";

#[test]
fn governor() {
    let policy = |number: u32, file: &str| format!("{CPU}/cpufreq/policy{number}/{file}");
    let with = |governors: [&str; 2], driver: &str| {
        let root = Root::new();
        for (number, governor) in governors.iter().enumerate() {
            let number = number as u32;
            root.put(&policy(number, "affected_cpus"), format!("{} {}\n", 2 * number, 2 * number + 1));
            root.put(&policy(number, "scaling_governor"), format!("{governor}\n"));
            root.put(&policy(number, "scaling_driver"), format!("{driver}\n"));
        }
        root.check("governor")
    };
    says(&with(["performance"; 2], "intel_pstate"), Ok, &["performance", "policy*/scaling_governor"]);
    says(
        &with(["schedutil"; 2], "acpi-cpufreq"),
        Warning,
        &["schedutil", "as root: echo performance | tee /sys", "to restore it: echo schedutil | tee /sys"],
    );
    says(&with(["powersave"; 2], "intel_pstate"), Warning, &["follows the load"]);
    says(&with(["powersave"; 2], "acpi-cpufreq"), Problem, &["lowest clock"]);
    let mixed = with(["performance", "ondemand"], "acpi-cpufreq");
    says(&mixed, Warning, &["ondemand on CPUs 2-3", "performance on CPUs 0-1"]);
    assert!(!mixed.remedy.unwrap().contains("restore it"), "there is no single value to restore");
    says(&with(["$(reboot)"; 2], "x"), Unknown, &["reads '$(reboot)', not a known governor"]);
    says(&check("governor", &[]), Unknown, &["does not control the clock"]);
}

#[test]
fn a_governor_of_others_cpus_does_not_count() {
    let root = Root::new();
    for (number, governor) in [(0, "performance"), (7, "powersave")] {
        let folder = format!("{CPU}/cpufreq/policy{number}");
        root.put(&format!("{folder}/affected_cpus"), format!("{number}\n"));
        root.put(&format!("{folder}/scaling_governor"), governor);
    }
    says(&root.check("governor"), Ok, &["performance"]);
}

#[test]
fn energy_preference() {
    let file = "sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference";
    let with = |value: &str| check("energy-preference", &[(file, value)]);
    for fast in ["performance", "balance_performance", "default", "0", "128"] {
        says(&with(fast), Ok, &[fast]);
    }
    for slow in ["balance_power", "power", "192"] {
        says(&with(slow), Warning, &[slow, "echo performance", &format!("echo {slow} | tee")]);
    }
    says(&with("banana"), Unknown, &["banana"]);
    let other = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    says(&check("energy-preference", &[(other, "ondemand")]), Ok, &["no such preference"]);
    says(&check("energy-preference", &[]), Unknown, &["does not control the clock"]);
}

#[test]
fn turbo() {
    let intel = "sys/devices/system/cpu/intel_pstate/no_turbo";
    let global = "sys/devices/system/cpu/cpufreq/boost";
    let policies =
        ["sys/devices/system/cpu/cpufreq/policy0/boost", "sys/devices/system/cpu/cpufreq/policy2/boost"];
    says(&check("turbo", &[(intel, "1\n")]), Ok, &["off"]);
    says(
        &check("turbo", &[(intel, "0\n")]),
        Warning,
        &["echo 1 | tee", "restore it: echo 0 | tee", "no_turbo"],
    );
    says(&check("turbo", &[(global, "0\n")]), Ok, &["off", "cpufreq/boost"]);
    says(&check("turbo", &[(global, "1\n")]), Warning, &["on for CPUs 0-3", "echo 0 | tee"]);
    says(&check("turbo", &[(policies[0], "0"), (policies[1], "1")]), Warning, &["on for CPU 2"]);
    says(&check("turbo", &[(policies[0], "0"), (policies[1], "0")]), Ok, &["policy*/boost"]);
    says(&check("turbo", &[(intel, "maybe")]), Unknown, &["reads 'maybe', not 0 or 1"]);
    says(&check("turbo", &[]), Unknown, &["no switch here"]);
}

#[test]
fn idle_states() {
    let driver = "sys/devices/system/cpu/cpuidle/current_driver";
    let state = |number: u32, file: &str| format!("{CPU}/cpu0/cpuidle/state{number}/{file}");
    let root = Root::with(&[(driver, "intel_idle\n")]);
    says(&root.check("idle-states"), Ok, &["no idle states", "intel_idle"]);
    for (number, name, latency, disable) in
        [(0, "POLL", "0", "0"), (1, "C1", "2", "0"), (2, "C6", "133", "1")]
    {
        root.put(&state(number, "name"), name);
        root.put(&state(number, "latency"), latency);
        root.put(&state(number, "disable"), disable);
    }
    says(&root.check("idle-states"), Ok, &["C1", "2 µs"]);
    root.put(&state(2, "disable"), "0");
    says(&root.check("idle-states"), Ok, &["C6", "133 µs"]);
    says(&check("idle-states", &[]), Unknown, &["no choice of idle states"]);
}

#[test]
fn time_source() {
    let current = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let available = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    for fast in ["tsc", "kvm-clock", "arch_sys_counter"] {
        says(&check("time-source", &[(current, fast)]), Ok, &[fast]);
    }
    let with = |name: &str, all: &str| check("time-source", &[(current, name), (available, all)]);
    says(
        &with("hpet", "tsc hpet acpi_pm "),
        Problem,
        &["hpet", "echo tsc > /sys", "restore it: echo hpet > /sys", "tsc hpet acpi_pm"],
    );
    says(&with("acpi_pm", "hpet acpi_pm"), Problem, &["dmesg"]);
    says(&with("xen", "xen tsc"), Warning, &["echo tsc >"]);
    says(&with("sundial", "sundial"), Unknown, &["sundial"]);
    says(&check("time-source", &[]), Unknown, &["does not report"]);
}

#[test]
fn smt() {
    let control = "sys/devices/system/cpu/smt/control";
    let active = "sys/devices/system/cpu/smt/active";
    says(&check("smt", &[(control, "on"), (active, "1")]), Ok, &["up to 2 logical CPUs"]);
    says(&check("smt", &[(control, "on"), (active, "0")]), Warning, &["smt/active"]);
    says(&check("smt", &[(control, "off")]), Warning, &["echo on > /sys", "restore it: echo off >"]);
    says(&check("smt", &[(control, "forceoff")]), Warning, &["nosmt=force"]);
    says(&check("smt", &[(control, "4")]), Ok, &["4 logical CPUs a core"]);
    says(&check("smt", &[(control, "notsupported")]), Ok, &["no SMT"]);
    let root = Root::with(&[(control, "notsupported")]);
    says(&root.check_on("smt", &virtual_machine(), None), Unknown, &["hide", "threadwise probe"]);
    says(&check("smt", &[(control, "so-so")]), Unknown, &["so-so"]);
    says(&check("smt", &[]), Unknown, &["does not report"]);
}

#[test]
fn mitigations() {
    let file = |name: &str| format!("sys/devices/system/cpu/vulnerabilities/{name}");
    let root = Root::new();
    root.put(&file("meltdown"), "Not affected\n");
    root.put(&file("spectre_v1"), "Mitigation: usercopy barriers\n");
    root.put(&file("retbleed"), "Vulnerable\n");
    says(&root.check("mitigations"), Ok, &["1 of 2 weaknesses are mitigated"]);
    root.put(
        &file("spectre_v2"),
        "Mitigation: Retpolines; IBPB: conditional; STIBP: always-on; RSB filling\n",
    );
    says(&root.check("mitigations"), Ok, &["2 of 3", "STIBP"]);
    root.put(&file("l1tf"), "Mitigation: PTE Inversion; VMX: cache flushes, SMT disabled\n");
    root.put(&file("tsx_async_abort"), "Mitigation: Clear CPU buffers; SMT Host state unknown\n");
    says(&root.check("mitigations"), Ok, &["does not report whether siblings are safe from tsx_async_abort"]);
    root.put(&file("mds"), "Mitigation: Clear CPU buffers; SMT vulnerable\n");
    says(&root.check("mitigations"), Warning, &["siblings can spy on each other by mds"]);
    root.put("proc/cmdline", "quiet mitigations=off\n");
    says(&root.check("mitigations"), Warning, &["mitigations=off", "/proc/cmdline"]);
    root.put("proc/cmdline", "mitigations=off quiet mitigations=auto,nosmt xmitigations=off\n");
    root.remove(&file("mds"));
    says(&root.check("mitigations"), Ok, &[]);
    says(&check("mitigations", &[]), Unknown, &["does not list"]);
}

#[test]
fn numa_balancing() {
    let file = "proc/sys/kernel/numa_balancing";
    let mut two_nodes = machine();
    two_nodes.numa_nodes.push(NumaNode::default());
    let on_two = |value: &str| Root::with(&[(file, value)]).check_on("numa-balancing", &two_nodes, None);
    says(&on_two("0"), Ok, &["off"]);
    says(
        &on_two("2"),
        Warning,
        &[
            "2 NUMA nodes",
            "as root: sysctl -w kernel.numa_balancing=0",
            "restore it: sysctl -w kernel.numa_balancing=2",
        ],
    );
    says(&check("numa-balancing", &[(file, "1")]), Ok, &["one NUMA node"]);
    says(&on_two("9"), Unknown, &["'9'"]);
    says(&on_two("x"), Unknown, &["'x'"]);
    says(&check("numa-balancing", &[("proc/sys/kernel/osrelease", "6")]), Ok, &["not in this kernel"]);
    says(&check("numa-balancing", &[]), Unknown, &["does not report"]);
}

#[test]
fn sub_numa() {
    says(&check("sub-numa", &[]), Ok, &["one NUMA node a package"]);
    let mut split = machine();
    split.logical_cpus[2].numa_node = Some(1);
    split.logical_cpus[3].numa_node = Some(1);
    let root = Root::new();
    says(&root.check_on("sub-numa", &split, None), Warning, &["package 0 has 2 NUMA nodes", "@n0", "NPS1"]);
    split.logical_cpus.iter_mut().for_each(|cpu| cpu.package = None);
    says(&root.check_on("sub-numa", &split, None), Unknown, &["does not report"]);
}

#[test]
fn transparent_hugepages() {
    let enabled = "sys/kernel/mm/transparent_hugepage/enabled";
    let defrag = "sys/kernel/mm/transparent_hugepage/defrag";
    let with = |value: &str, sort: &str| check("transparent-hugepages", &[(enabled, value), (defrag, sort)]);
    let lazy = "always defer defer+madvise [madvise] never";
    let eager = "[always] defer defer+madvise madvise never";
    says(&with("always madvise [never]", eager), Ok, &["never"]);
    says(&with("always [madvise] never", lazy), Ok, &["madvise"]);
    says(
        &with("[always] madvise never", lazy),
        Warning,
        &["echo madvise > /sys/kernel/mm/transparent_hugepage/enabled", "restore it: echo always"],
    );
    says(&with("always [madvise] never", eager), Warning, &["defrag", "echo madvise >"]);
    says(&with("[sometimes]", lazy), Unknown, &["sometimes"]);
    says(&with("always madvise never", lazy), Unknown, &["one word in brackets"]);
    says(&check("transparent-hugepages", &[("sys/kernel/mm/other", "")]), Ok, &["has no"]);
    says(&check("transparent-hugepages", &[]), Unknown, &["does not report"]);
}

#[test]
fn reserved_hugepages() {
    let with = |total: u64, free: u64| {
        let text = format!(
            "MemTotal:       16777216 kB\nHugePages_Total:    {total}\nHugePages_Free:    {free}\nHugepagesize:       2048 kB\n"
        );
        check("reserved-hugepages", &[("proc/meminfo", &text)])
    };
    says(&with(0, 0), Ok, &["none reserved"]);
    says(&with(1024, 100), Ok, &["1024 huge pages of 2 MiB", "200 MiB"]);
    says(
        &with(1024, 1000),
        Warning,
        &["1.95 GiB", "sysctl -w vm.nr_hugepages=24", "restore it: sysctl -w vm.nr_hugepages=1024"],
    );
    says(&check("reserved-hugepages", &[("proc/meminfo", "MemTotal: 9 kB\n")]), Ok, &["no reserved"]);
    says(&check("reserved-hugepages", &[("proc/meminfo", "???\n")]), Unknown, &["no line MemTotal"]);
    says(&check("reserved-hugepages", &[]), Unknown, &["/proc/meminfo"]);
}

#[test]
fn samepage_merging() {
    let run = "sys/kernel/mm/ksm/run";
    for off in ["0", "2"] {
        says(&check("samepage-merging", &[(run, off)]), Ok, &["off"]);
    }
    let on = [(run, "1\n"), ("sys/kernel/mm/ksm/pages_sharing", "4711\n")];
    says(&check("samepage-merging", &on), Warning, &["4711 pages", "echo 0 > /sys", "restore it: echo 1 >"]);
    says(&check("samepage-merging", &[(run, "7")]), Unknown, &["'7'"]);
    says(&check("samepage-merging", &[("sys/kernel/mm/other", "")]), Ok, &["not in this kernel"]);
    says(&check("samepage-merging", &[]), Unknown, &["does not report"]);
}

#[test]
fn swap_and_swappiness() {
    let head = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
    let memory = ("proc/meminfo", "MemTotal:       16777216 kB\n");
    let with = |areas: &str| check("swap", &[("proc/swaps", &format!("{head}{areas}")), memory]);
    says(&with(""), Ok, &["no swap"]);
    says(&with("/dev/sda2 partition 8388608 1024 -2\n"), Ok, &["1 MiB of 8 GiB"]);
    let odd = "/swap\\040file(deleted) file 4194304 1048576 -2\n/dev/zram0 partition 4194304 0 100\n";
    says(&with(odd), Warning, &["1 GiB of 8 GiB", "swapoff -a && swapon -a"]);
    says(&with("/dev/sda2 partition many none -2\n"), Unknown, &["list of swap areas"]);
    says(&check("swap", &[]), Unknown, &["does not list"]);

    let with = |value: &str, areas: &str| {
        check("swappiness", &[("proc/sys/vm/swappiness", value), ("proc/swaps", &format!("{head}{areas}"))])
    };
    let area = "/dev/sda2 partition 8388608 0 -2\n";
    says(&with("60", area), Ok, &["60"]);
    says(&with("100", area), Warning, &["vm.swappiness=10", "restore it: sysctl -w vm.swappiness=100"]);
    says(&with("100", ""), Ok, &["there is no swap"]);
    says(&with("9999", area), Unknown, &["9999"]);
    says(&check("swappiness", &[]), Unknown, &["does not report"]);
}

#[test]
fn isolated_cpus() {
    let isolated = "sys/devices/system/cpu/isolated";
    let cmdline = "proc/cmdline";
    let with = |line: &str, list: &str| check("isolated-cpus", &[(cmdline, line), (isolated, list)]);
    says(&with("quiet", "\n"), Ok, &["none of the allowed"]);
    says(&with("quiet", "(null)\n"), Ok, &["none of the allowed"]);
    says(&with("isolcpus=2-3", "2-3\n"), Warning, &["does not use CPUs 2-3", "taskset"]);
    says(
        &with("nohz_full=3 rcu_nocbs=0-3", ""),
        Warning,
        &["no timer tick on CPU 3", "no RCU callbacks on CPUs 0-3"],
    );
    says(&with("nohz_full=0-3", ""), Ok, &["all allowed ones"]);
    says(&with("isolcpus=9", "9"), Ok, &["none of the allowed"]);
    says(&check("isolated-cpus", &[]), Unknown, &["unknown"]);
}

#[test]
fn irqbalance() {
    let names = [("proc/1/comm", "init\n"), ("proc/2/comm", "kthreadd\n"), ("proc/17/comm", "irqbalance\n")];
    let affinity = ("proc/irq/default_smp_affinity", "3\n");
    says(
        &check("irqbalance", &[names[0], names[1], affinity]),
        Ok,
        &["not running", "interrupts go to CPUs 0-1"],
    );
    says(
        &check("irqbalance", &names),
        Warning,
        &["process 17", "systemctl stop irqbalance", "restore it: systemctl start irqbalance"],
    );
    says(&check("irqbalance", &[names[0], (".dockerenv", "")]), Unknown, &["container"]);
    let whole = [(".dockerenv", ""), ("proc/2/comm", "kthreadd\n")];
    says(&check("irqbalance", &whole), Ok, &["not running"]);
    says(&check("irqbalance", &[]), Unknown, &["no processes"]);
}

#[test]
fn scheduler_autogroup_and_watchdog() {
    let state = "sys/kernel/sched_ext/state";
    says(&check("scheduler", &[(state, "disabled\n")]), Ok, &["own"]);
    let loaded = [(state, "enabled\n"), ("sys/kernel/sched_ext/root/ops", "lavd_1.0\n")];
    says(&check("scheduler", &loaded), Warning, &["lavd_1.0", "systemctl stop scx"]);
    says(&check("scheduler", &[(state, "dancing")]), Unknown, &["dancing"]);
    says(&check("scheduler", &[("sys/kernel/mm/other", "")]), Ok, &["cannot load"]);
    says(&check("scheduler", &[]), Unknown, &["does not report"]);

    let autogroup = "proc/sys/kernel/sched_autogroup_enabled";
    says(&check("autogroup", &[(autogroup, "0")]), Ok, &["off"]);
    says(&check("autogroup", &[(autogroup, "1")]), Ok, &["on"]);
    says(&check("autogroup", &[(autogroup, "x")]), Unknown, &["'x'"]);
    says(&check("autogroup", &[]), Unknown, &["does not report"]);

    let watchdog = "proc/sys/kernel/nmi_watchdog";
    says(&check("nmi-watchdog", &[(watchdog, "0")]), Ok, &["off"]);
    says(&check("nmi-watchdog", &[(watchdog, "1")]), Warning, &["nmi_watchdog=0", "restore it"]);
    says(&check("nmi-watchdog", &[(watchdog, "2")]), Unknown, &["'2'"]);
    says(&check("nmi-watchdog", &[(autogroup, "1")]), Ok, &["not in this kernel"]);
    says(&check("nmi-watchdog", &[]), Unknown, &["does not report"]);
}

#[test]
fn thermal() {
    let zone = |file: &str| format!("sys/class/thermal/thermal_zone0/{file}");
    let count = |cpu: u32| format!("{CPU}/cpu{cpu}/thermal_throttle/core_throttle_count");
    let root = Root::new();
    says(&root.check("thermal"), Unknown, &["virtual machine"]);
    root.put(&count(0), "0\n");
    root.put(&count(9), "5\n");
    says(&root.check("thermal"), Ok, &["has not slowed"]);
    root.put(&count(2), "12\n");
    says(&root.check("thermal"), Warning, &["CPU 2", "12 times", "thermal_throttle"]);
    root.remove(&count(2));
    for (number, kind, limit) in
        [(0, "active", "40000"), (1, "passive", "95000"), (2, "critical", "105000"), (3, "hot", "-274000")]
    {
        root.put(&zone(&format!("trip_point_{number}_type")), kind);
        root.put(&zone(&format!("trip_point_{number}_temp")), limit);
    }
    root.put(&zone("type"), "x86_pkg_temp\n");
    for (now, outcome) in [("60000", Ok), ("91000", Warning), ("95000", Problem), ("-5000", Ok)] {
        root.put(&zone("temp"), now);
        says(&root.check("thermal"), outcome, &["x86_pkg_temp", "of 95 °C"]);
    }
    root.put(&zone("temp"), "hot");
    says(&root.check("thermal"), Ok, &["has not slowed"]);
}

#[test]
fn battery() {
    let file = |supply: &str, file: &str| format!("sys/class/power_supply/{supply}/{file}");
    let root = Root::new();
    says(&root.check("battery"), Unknown, &["does not list"]);
    std::fs::create_dir_all(root.path().join("sys/class/power_supply")).unwrap();
    says(&root.check("battery"), Ok, &["no battery"]);
    root.put(&file("AC", "type"), "Mains");
    root.put(&file("AC", "online"), "0");
    says(&root.check("battery"), Ok, &["no battery"]);
    root.put(&file("mouse", "type"), "Battery");
    root.put(&file("mouse", "scope"), "Device");
    root.put(&file("mouse", "status"), "Discharging");
    says(&root.check("battery"), Ok, &["no battery"]);
    root.put(&file("BAT0", "type"), "Battery");
    root.put(&file("BAT0", "status"), "Not charging");
    says(&root.check("battery"), Warning, &["no mains supply"]);
    root.put(&file("AC", "online"), "1");
    says(&root.check("battery"), Ok, &["1 battery"]);
    root.put(&file("BAT0", "status"), "Discharging");
    root.put(&file("BAT0", "capacity"), "81");
    says(&root.check("battery"), Problem, &["81% left", "plug it in"]);
}
