//! Other work of the kernel and its daemons on our logical CPUs.
//!
//! Sources: kernel `Documentation/admin-guide/kernel-parameters.txt` (`isolcpus`, `nohz_full`,
//! `rcu_nocbs`), `Documentation/core-api/irq/irq-affinity.rst`, `Documentation/scheduler/sched-ext.rst`,
//! `Documentation/admin-guide/lockup-watchdogs.rst`, `sched(7)` (autogroup), `irqbalance(1)`.

use crate::answer::{Answer, cpus};
use crate::case::Case;
use crate::tree::{Gap, not};
use threadwise_machine::CpuSet;

const CMDLINE: &str = "proc/cmdline";
const ISOLATED: &str = "sys/devices/system/cpu/isolated";
const POSSIBLE: &str = "sys/devices/system/cpu/possible";
const NOHZ_FULL: &str = "sys/devices/system/cpu/nohz_full";
const IRQ_DEFAULT: &str = "proc/irq/default_smp_affinity";
const SCHED_EXT: &str = "sys/kernel/sched_ext";
const AUTOGROUP: &str = "proc/sys/kernel/sched_autogroup_enabled";
const NMI_WATCHDOG: &str = "proc/sys/kernel/nmi_watchdog";

/// Whether a daemon moves interrupts between logical CPUs.
pub(super) fn irqbalance(case: &Case<'_>) -> Answer {
    const PROCESSES: &str = "/proc/PID/comm";
    let pids = case.tree.numbered("proc", "").unwrap_or_default();
    let named =
        |pid: &u32| case.tree.line(&format!("proc/{pid}/comm")).is_ok_and(|name| name == "irqbalance");
    let pid = pids.iter().find(|pid| named(pid));
    let whereto = case.tree.line(IRQ_DEFAULT).ok().and_then(|mask| CpuSet::parse_mask(&mask).ok());
    let whereto = whereto
        .filter(|set| !set.is_empty())
        .map(|set| format!("; new interrupts go to {}", cpus(&set)))
        .unwrap_or_default();
    let container = case.container().filter(|_| !case.sees_all_processes());
    match (pid, container) {
        (Some(pid), _) => Answer::warning(
            format!(
                "irqbalance is running (process {pid}) and moves interrupts during measurements{whereto}"
            ),
            PROCESSES,
        )
        .remedied(case.changed("systemctl stop irqbalance", Some("systemctl start irqbalance".to_owned()))),
        (None, _) if pids.is_empty() => Answer::unknown("no processes are listed here", PROCESSES),
        (None, Some(_)) => Answer::unknown(
            format!("not found, but a container does not show the host's processes{whereto}"),
            PROCESSES,
        ),
        (None, None) => Answer::ok(format!("irqbalance is not running{whereto}"), PROCESSES),
    }
}

/// Flags before the list of `isolcpus` (`kernel/sched/isolation.c`).
const FLAGS: [&str; 3] = ["domain", "managed_irq", "nohz"];

/// CPUs of a kernel command-line option such as `isolcpus=domain,managed_irq,2-3`; empty if it is absent or has no
/// list, `None` if its list is not understood. `last` is the CPU that `N` stands for.
fn option(command_line: &str, name: &str, last: Option<u32>) -> Option<CpuSet> {
    let value = |word: &str| word.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
    let Some(value) = command_line.split_whitespace().filter_map(value).next_back() else {
        return Some(CpuSet::new());
    };
    let parts = value.split(',').skip_while(|part| FLAGS.contains(part)).filter(|part| !part.is_empty());
    let mut found = CpuSet::new();
    for part in parts {
        found = found.union(&kernel_range(part, last)?);
    }
    Some(found)
}

/// An element of a CPU list in kernel parameters: `7`, `2-N`, `all`, `0-63:2/8` (the first 2 of each 8)
/// (`Documentation/admin-guide/kernel-parameters.rst`, "cpu lists").
fn kernel_range(part: &str, last: Option<u32>) -> Option<CpuSet> {
    if part.eq_ignore_ascii_case("all") {
        return Some((0..=last?).collect());
    }
    let number = |text: &str| if text.eq_ignore_ascii_case("n") { last } else { text.parse().ok() };
    let (range, pattern) =
        part.split_once(':').map_or((part, None), |(range, pattern)| (range, Some(pattern)));
    let (low, high) = range.split_once('-').unwrap_or((range, range));
    let (low, high): (u32, u32) = (number(low)?, number(high)?);
    let (used, group): (u32, u32) = match pattern {
        None => (1, 1),
        Some(pattern) => {
            let (used, group) = pattern.split_once('/')?;
            (used.parse().ok()?, group.parse().ok()?)
        }
    };
    let is_valid = low <= high && high < MOST && used > 0 && group > 0 && used <= group;
    is_valid.then(|| (low..=high).filter(|cpu| (cpu - low) % group < used).collect())
}

/// Maximum logical CPUs of any kernel (`CONFIG_NR_CPUS`).
const MOST: u32 = 8192;

/// CPUs that the scheduler ignores or that have no timer tick differ from their neighbours.
pub(super) fn isolated_cpus(case: &Case<'_>) -> Answer {
    let command_line = case.tree.text(CMDLINE);
    let possible = case.tree.line(POSSIBLE).ok().and_then(|line| CpuSet::parse_list(&line).ok());
    let last = possible.and_then(|cpus| cpus.iter().last());
    let option = |name: &str| option(command_line.as_deref().unwrap_or_default(), name, last);
    // `(null)` and an empty file both mean none.
    let listed = |path: &str| match case.tree.line(path) {
        Ok(line) => CpuSet::parse_list(&line).ok(),
        Err(_) => None,
    };
    if let (Err(gap), false) = (&command_line, case.tree.has(ISOLATED)) {
        return Answer::gap(gap, CMDLINE, "the kernel's command line is unknown");
    }
    let source = format!("/{CMDLINE} and /{ISOLATED}");
    let isolated = listed(ISOLATED).or_else(|| option("isolcpus"));
    let tickless = listed(NOHZ_FULL).or_else(|| option("nohz_full"));
    let (Some(isolated), Some(tickless), Some(callbacks)) = (isolated, tickless, option("rcu_nocbs")) else {
        let why = "a list of isolcpus, nohz_full or rcu_nocbs on the kernel's command line is not understood";
        return Answer::unknown(why, source);
    };
    let (mut parts, mut differs) = (Vec::new(), false);
    for (set, what) in [
        (&isolated, "the scheduler does not use"),
        (&tickless, "no timer tick on"),
        (&callbacks, "no RCU callbacks on"),
    ] {
        let ours = set.intersection(&case.allowed);
        if !ours.is_empty() {
            parts.push(format!("{what} {}", cpus(&ours)));
            differs |= ours != case.allowed;
        }
    }
    match (parts.is_empty(), differs) {
        (true, _) => Answer::ok("none of the allowed logical CPUs is isolated", source),
        (false, false) => Answer::ok(format!("{} (all allowed ones)", parts.join(", ")), source),
        (false, true) => Answer::warning(
            format!("{}: results differ between these and the other logical CPUs", parts.join(", ")),
            source,
        )
        .remedied("let threadwise use one kind only: taskset -c LIST threadwise run; and use pin=each, since threads do not spread over isolated ones"),
    }
}

/// Whether a loaded scheduler replaces the kernel's own.
pub(super) fn scheduler(case: &Case<'_>) -> Answer {
    let path = format!("{SCHED_EXT}/state");
    let source = format!("/{path}");
    match case.tree.line(&path).as_deref() {
        Ok("disabled") => Answer::ok("the kernel's own", source),
        Ok(state @ ("enabled" | "enabling" | "disabling")) => {
            let name =
                case.tree.line(&format!("{SCHED_EXT}/root/ops")).unwrap_or_else(|_| "unnamed".to_owned());
            Answer::warning(format!("the loaded scheduler '{name}' places threads ({state})"), source)
                .remedied(
                    case.changed("systemctl stop scx", Some("systemctl start scx".to_owned()))
                        + " (or end the program that loaded it)",
                )
        }
        Ok(other) => Answer::gap(&not(other, "a known state"), &path, ""),
        Err(Gap::Missing) if case.tree.has("sys/kernel/mm") => {
            Answer::ok("the kernel's own (it cannot load another)", source)
        }
        Err(gap) => Answer::gap(gap, &path, "the kernel does not report it"),
    }
}

/// Whether CPU time is shared between terminal sessions. Informational: it matters only if others compete for our
/// logical CPUs.
pub(super) fn autogroup(case: &Case<'_>) -> Answer {
    let source = format!("/{AUTOGROUP}");
    match case.tree.number(AUTOGROUP) {
        Ok(0) => Answer::ok("off", source),
        Ok(1) => {
            Answer::ok("on: if others compete with us, time is shared between terminal sessions", source)
        }
        Ok(other) => Answer::gap(&not(&other.to_string(), "0 or 1"), AUTOGROUP, ""),
        Err(Gap::Missing) if case.tree.has("proc/sys/kernel") => Answer::ok("not in this kernel", source),
        Err(gap) => Answer::gap(&gap, AUTOGROUP, "the kernel does not report it"),
    }
}

/// Whether the kernel's watchdog uses a hardware counter of every logical CPU.
pub(super) fn nmi_watchdog(case: &Case<'_>) -> Answer {
    let source = format!("/{NMI_WATCHDOG}");
    match case.tree.number(NMI_WATCHDOG) {
        Ok(0) => Answer::ok("off", source),
        Ok(1) => {
            let set = |value: u8| format!("sysctl -w kernel.nmi_watchdog={value}");
            Answer::warning("on: it uses a hardware counter and interrupts every logical CPU", source)
                .remedied(case.changed(&set(0), Some(set(1))))
        }
        Ok(other) => Answer::gap(&not(&other.to_string(), "0 or 1"), NMI_WATCHDOG, ""),
        Err(Gap::Missing) if case.tree.has("proc/sys/kernel") => Answer::ok("not in this kernel", source),
        Err(gap) => Answer::gap(&gap, NMI_WATCHDOG, "the kernel does not report it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_command_line_are_taken_apart() {
        let line = "quiet isolcpus=domain,managed_irq,2-3,5 nohz_full=1 isolcpusx=9 nohz_full=2-3\n";
        let set = |text: &str| CpuSet::parse_list(text).unwrap();
        let option = |line: &str, name: &str| option(line, name, Some(7));
        assert_eq!(option(line, "isolcpus"), Some(set("2-3,5")));
        assert_eq!(option(line, "nohz_full"), Some(set("2-3")), "the last one counts");
        for line in ["", "isolcpus", "isolcpus=", "isolcpus=domain", "isolcpus=domain,managed_irq"] {
            assert_eq!(option(line, "isolcpus"), Some(CpuSet::new()), "{line}");
        }
        for (list, want) in [
            ("all", Some("0-7")),
            ("1-N", Some("1-7")),
            ("N", Some("7")),
            ("0,n", Some("0,7")),
            ("0-7:1/2", Some("0,2,4,6")),
            ("0-N:2/4", Some("0-1,4-5")),
            ("nohz,domain,3", Some("3")),
            ("9-1", None),
            ("1-x", None),
            ("0-7:2", None),
            ("0-7:0/2", None),
            ("0-4000000000", None),
            ("some,1", None),
        ] {
            let found = option(&format!("quiet isolcpus={list}"), "isolcpus");
            assert_eq!(found, want.map(set), "{list}");
        }
        assert_eq!(super::option("rcu_nocbs=all", "rcu_nocbs", None), None, "the last one is not known");
    }
}
