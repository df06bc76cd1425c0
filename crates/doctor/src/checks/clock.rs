//! The processor's clock, its idle states, and the kernel's time source.
//!
//! Sources: kernel `Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate,cpuidle}.rst`,
//! `Documentation/timers/timekeeping.rst`, `drivers/clocksource/`, `arch/x86/kernel/{tsc,hpet}.c`.

use crate::answer::{Answer, cpus, plain};
use crate::case::Case;
use crate::tree::{Gap, not};
use std::collections::BTreeMap;
use threadwise_machine::CpuSet;

const POLICIES: &str = "sys/devices/system/cpu/cpufreq";
const NO_TURBO: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "sys/devices/system/cpu/cpufreq/boost";
const IDLE: &str = "sys/devices/system/cpu/cpuidle";
const TIME_SOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
const TIME_SOURCES: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";
const NO_CPUFREQ: &str = "the kernel does not control the clock here; firmware does, or the host";

/// Values of a file in all clock policies, with the allowed CPUs that have each.
type Values = BTreeMap<String, CpuSet>;

/// Reads one file of all policies that have an allowed CPU.
fn values(case: &Case<'_>, file: &str) -> Result<Values, Gap> {
    let (mut values, mut first_gap) = (Values::new(), None);
    for number in case.tree.numbered(POLICIES, "policy")? {
        let folder = format!("{POLICIES}/policy{number}");
        let members = members(case, &folder, number);
        if members.is_empty() {
            continue;
        }
        match case.tree.line(&format!("{folder}/{file}")) {
            Ok(value) => members.iter().for_each(|cpu| values.entry(value.clone()).or_default().insert(cpu)),
            Err(gap) => first_gap = first_gap.or(Some(gap)),
        }
    }
    match values.is_empty() {
        true => Err(first_gap.unwrap_or(Gap::Missing)),
        false => Ok(values),
    }
}

/// The allowed CPUs of a policy; `affected_cpus` separates numbers by blanks.
fn members(case: &Case<'_>, folder: &str, number: u32) -> CpuSet {
    let text = case.tree.text(&format!("{folder}/affected_cpus")).unwrap_or_else(|_| number.to_string());
    let all: CpuSet = text.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect();
    all.intersection(&case.allowed)
}

/// `performance on CPUs 0-3, powersave on CPU 4`; without CPUs if there is one value.
fn listed(values: &Values) -> String {
    match values.len() {
        1 => values.keys().cloned().collect(),
        _ => {
            let one = |(value, set): (&String, &CpuSet)| format!("{value} on {}", cpus(set));
            values.iter().map(one).collect::<Vec<_>>().join(", ")
        }
    }
}

/// The command that restores the old value everywhere; `None` if there were several values.
fn put_back(values: &Values, path: &str) -> Option<String> {
    let value = plain(values.keys().next()?)?;
    (values.len() == 1).then(|| format!("echo {value} | tee {path}"))
}

/// The clock governor.
pub(super) fn governor(case: &Case<'_>) -> Answer {
    let path = format!("/{POLICIES}/policy*/scaling_governor");
    let values = match values(case, "scaling_governor") {
        Ok(values) => values,
        Err(gap) => return Answer::gap(&gap, path.trim_start_matches('/'), NO_CPUFREQ),
    };
    let known = ["performance", "powersave", "schedutil", "ondemand", "conservative", "userspace"];
    if let Some(odd) = values.keys().find(|value| !known.contains(&value.as_str())) {
        return Answer::gap(&not(odd, "a known governor"), path.trim_start_matches('/'), "");
    }
    if values.keys().all(|value| value == "performance") {
        return Answer::ok("performance: the clock stays as high as heat and power allow", path);
    }
    let driver = case.tree.line(&format!("{POLICIES}/policy{}/scaling_driver", first_policy(case)));
    // In these drivers' active mode "powersave" lets the processor choose, elsewhere it is the lowest
    // clock.
    let chooses =
        driver.as_deref().is_ok_and(|driver| driver == "intel_pstate" || driver == "amd-pstate-epp");
    let crawls = values.contains_key("powersave") && !chooses;
    let found = match crawls {
        true => format!("{}: powersave holds the lowest clock", listed(&values)),
        false => {
            format!("{}: the clock follows the load, so the same work differs in speed", listed(&values))
        }
    };
    let remedy = case.changed(&format!("echo performance | tee {path}"), put_back(&values, &path));
    let answer = if crawls { Answer::problem(found, path) } else { Answer::warning(found, path) };
    answer.remedied(remedy)
}

fn first_policy(case: &Case<'_>) -> u32 {
    let numbers = case.tree.numbered(POLICIES, "policy").unwrap_or_default();
    let ours = |number: &u32| !members(case, &format!("{POLICIES}/policy{number}"), *number).is_empty();
    numbers.into_iter().find(ours).unwrap_or(0)
}

/// The energy preference of a processor that chooses its clock itself.
pub(super) fn energy_preference(case: &Case<'_>) -> Answer {
    let path = format!("/{POLICIES}/policy*/energy_performance_preference");
    let values = match values(case, "energy_performance_preference") {
        Ok(values) => values,
        Err(Gap::Missing) if case.tree.numbered(POLICIES, "policy").is_ok_and(|all| !all.is_empty()) => {
            return Answer::ok("this clock driver has no such preference", path);
        }
        Err(gap) => return Answer::gap(&gap, path.trim_start_matches('/'), NO_CPUFREQ),
    };
    // 0 is performance, 128 balance_performance, 255 power (intel_pstate.rst).
    let fast = |value: &String| match value.parse::<u32>() {
        Ok(number) => number <= 128,
        Err(_) => matches!(value.as_str(), "performance" | "balance_performance" | "default"),
    };
    let known = |value: &String| {
        fast(value) || value.parse::<u8>().is_ok() || matches!(value.as_str(), "balance_power" | "power")
    };
    if let Some(odd) = values.keys().find(|value| !known(value)) {
        return Answer::gap(&not(odd, "a known preference"), path.trim_start_matches('/'), "");
    }
    match values.keys().all(fast) {
        true => Answer::ok(listed(&values), path),
        false => {
            let remedy = case.changed(&format!("echo performance | tee {path}"), put_back(&values, &path));
            Answer::warning(
                format!("{}: the processor saves energy at the cost of speed", listed(&values)),
                path,
            )
            .remedied(remedy)
        }
    }
}

/// Whether one busy core may have a higher clock than all busy cores.
pub(super) fn turbo(case: &Case<'_>) -> Answer {
    let per_policy = format!("{POLICIES}/policy*/boost");
    let switch = |path: &str| case.tree.line(path).map(|value| Values::from([(value, case.allowed.clone())]));
    // The values for "on" and for "off".
    let (read, path, on, off) = match switch(NO_TURBO) {
        Err(Gap::Missing) => match switch(BOOST) {
            Err(Gap::Missing) => (values(case, "boost"), per_policy.as_str(), "1", "0"),
            read => (read, BOOST, "1", "0"),
        },
        read => (read, NO_TURBO, "0", "1"),
    };
    let values = match read {
        Ok(values) => values,
        Err(gap) => {
            return Answer::gap(
                &gap,
                path,
                "no switch here; threadwise probe measures the clock of one busy core and of all",
            );
        }
    };
    let source = format!("/{path}");
    if let Some(odd) = values.keys().find(|value| *value != on && *value != off) {
        return Answer::gap(&not(odd, "0 or 1"), path, "");
    }
    match values.get(on) {
        None => Answer::ok("off: one busy core has no higher clock than all", source),
        Some(set) => Answer::warning(
            format!(
                "on for {}: one busy core has a higher clock than all, which looks like contention",
                cpus(set)
            ),
            source,
        )
        .remedied(format!(
            "{}; or leave it as in production and note the clock beside each result",
            case.changed(&format!("echo {off} | tee /{path}"), Some(format!("echo {on} | tee /{path}")))
        )),
    }
}

/// Wake-up time of the deepest idle state. Informational: workers are warmed before each slice.
pub(super) fn idle_states(case: &Case<'_>) -> Answer {
    let source = format!("/{IDLE}");
    let path = format!("{IDLE}/current_driver");
    let driver = case.tree.line(&path).and_then(|driver| match plain(&driver) {
        Some(_) => Ok(driver),
        None => Err(not(&driver, "the name of a driver")),
    });
    let driver = match driver {
        Ok(driver) => driver,
        Err(gap) => return Answer::gap(&gap, &path, "the kernel has no choice of idle states here"),
    };
    // All CPUs of a kind have the same states.
    let folder = format!("sys/devices/system/cpu/cpu{}/cpuidle", case.allowed.first().unwrap_or(0));
    let state = |number: u32| {
        let read = |file: &str| case.tree.line(&format!("{folder}/state{number}/{file}"));
        // A number above 0 encodes who disabled it.
        let is_off = read("disable").is_ok_and(|disable| disable != "0");
        let latency_us: u64 = read("latency").ok()?.parse().ok()?;
        (!is_off).then(|| (latency_us, read("name").unwrap_or_else(|_| format!("state {number}"))))
    };
    let numbers = case.tree.numbered(&folder, "state").unwrap_or_default();
    match numbers.into_iter().filter_map(state).max() {
        Some((latency_us, name)) => Answer::ok(
            format!(
                "waking from the deepest idle state, {name}, takes up to {latency_us} µs (driver {driver})"
            ),
            source,
        ),
        None => Answer::ok(format!("no idle states to choose from (driver {driver})"), source),
    }
}

/// The kernel's time source: with a slow one every time stamp costs microseconds.
pub(super) fn time_source(case: &Case<'_>) -> Answer {
    let source = format!("/{TIME_SOURCE}");
    let current = match case.tree.line(TIME_SOURCE) {
        Ok(current) => current,
        Err(gap) => {
            return Answer::gap(&gap, TIME_SOURCE, "the kernel does not report its time source");
        }
    };
    let available = case.tree.line(TIME_SOURCES).unwrap_or_default();
    let fast = [
        "tsc",
        "arch_sys_counter",
        "kvm-clock",
        "hyperv_clocksource_tsc_page",
        "timebase",
        "tod",
        "riscv_clocksource",
    ];
    let slow = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
    let remedy = || match available.split_whitespace().any(|name| name == "tsc") {
        true => case.changed(
            &format!("echo tsc > /{TIME_SOURCE}"),
            plain(&current).map(|current| format!("echo {current} > /{TIME_SOURCE}")),
        ),
        false => "dmesg | grep -i -e tsc -e clocksource shows why no better one is available".to_owned(),
    };
    match current.as_str() {
        name if fast.contains(&name) => {
            Answer::ok(format!("{name}: a time stamp needs no system call"), source)
        }
        name if slow.contains(&name) => Answer::problem(
            format!("{name}: every time stamp is a slow system call (available: {available})"),
            source,
        )
        .remedied(remedy()),
        "xen" => Answer::warning(
            format!("xen: a time stamp is a system call on many kernels (available: {available})"),
            source,
        )
        .remedied(remedy()),
        name => Answer::unknown(format!("{name} is not a known time source"), source),
    }
}
