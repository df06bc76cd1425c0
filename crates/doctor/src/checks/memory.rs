//! Memory: nodes, huge pages, merging, swap.
//!
//! Sources: kernel `Documentation/admin-guide/sysctl/{kernel,vm}.rst`,
//! `Documentation/admin-guide/mm/{transhuge,hugetlbpage,ksm}.rst`, `proc_meminfo(5)`, `proc_swaps(5)`.

use crate::answer::Answer;
use crate::case::Case;
use crate::tree::{Gap, not};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_machine::words::bytes;

const NUMA_BALANCING: &str = "proc/sys/kernel/numa_balancing";
const NODES: &str = "sys/devices/system/node";
const THP: &str = "sys/kernel/mm/transparent_hugepage";
const KSM: &str = "sys/kernel/mm/ksm";
const MEMINFO: &str = "proc/meminfo";
const SWAPS: &str = "proc/swaps";
const SWAPPINESS: &str = "proc/sys/vm/swappiness";
/// Maximum share of memory for unused reserved huge pages.
const MOST_UNUSED: f64 = 0.10;
/// Maximum share of memory in swap.
const MOST_SWAPPED: f64 = 0.01;
/// The kernel's own default.
const USUAL_SWAPPINESS: i64 = 60;

/// Whether the kernel moves pages between nodes during a measurement.
pub(super) fn numa_balancing(case: &Case<'_>) -> Answer {
    let source = format!("/{NUMA_BALANCING}");
    let nodes = case.topology.numa_nodes.len();
    match (case.tree.number(NUMA_BALANCING), nodes) {
        (Ok(0), _) => Answer::ok("off", source),
        (Ok(mode @ 1..=3), 2..) => {
            let set = |value: i64| format!("sysctl -w kernel.numa_balancing={value}");
            Answer::warning(
                format!(
                    "on (mode {mode}) with {nodes} NUMA nodes: pages and threads move during measurements"
                ),
                source,
            )
            .remedied(case.changed(&set(0), Some(set(mode))))
        }
        (Ok(1..=3), 1) => Answer::ok("on, but without effect on one NUMA node", source),
        (Ok(1..=3), _) => Answer::unknown("on, and the number of NUMA nodes is unknown", source),
        (Ok(other), _) => Answer::gap(&not(&other.to_string(), "0 to 3"), NUMA_BALANCING, ""),
        (Err(Gap::Missing), 1) if case.tree.has("proc/sys/kernel") => {
            Answer::ok("not in this kernel, and there is one NUMA node", source)
        }
        (Err(gap), _) => {
            Answer::gap(&gap, NUMA_BALANCING, "the kernel does not report it; it may have no NUMA balancing")
        }
    }
}

/// Whether a package has several nodes.
pub(super) fn sub_numa(case: &Case<'_>) -> Answer {
    let source = format!("/{NODES}");
    let mut nodes: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for cpu in case.topology.logical_cpus.iter().filter(|cpu| cpu.online) {
        if let (Some(package), Some(node)) = (cpu.package, cpu.numa_node) {
            nodes.entry(package).or_default().insert(node);
        }
    }
    let most = nodes.iter().max_by_key(|(_, nodes)| nodes.len());
    match most.map(|(package, nodes)| (package, nodes.len())) {
        None => Answer::unknown("the system does not report the package or NUMA node of a logical CPU", source),
        Some((_, 1)) => Answer::ok("one NUMA node a package", source),
        Some((package, count)) => Answer::warning(
            format!("package {package} has {count} NUMA nodes: memory of the same package is not equally near"),
            source,
        )
        .remedied("restrict placements to a node (@n0), or join the nodes in the firmware (Intel: SNC off, AMD: NPS1)"),
    }
}

/// The selected word of `always [madvise] never`.
fn chosen(line: &str) -> Option<&str> {
    line.split_once('[')?.1.split_once(']').map(|(word, _)| word)
}

/// Whether the kernel creates huge pages by itself, which depends on free memory.
pub(super) fn transparent_hugepages(case: &Case<'_>) -> Answer {
    let path = format!("{THP}/enabled");
    let source = format!("/{path}");
    let read = |file: &str| {
        let line = case.tree.line(&format!("{THP}/{file}"))?;
        chosen(&line).map(str::to_owned).ok_or_else(|| not(&line, "a list with one word in brackets"))
    };
    let enabled = match read("enabled") {
        Ok(enabled) => enabled,
        Err(Gap::Missing) if case.tree.has("sys/kernel/mm") => {
            return Answer::ok("the kernel has no transparent huge pages", source);
        }
        Err(gap) => return Answer::gap(&gap, &path, "the kernel does not report it"),
    };
    let set = |file: &str, value: &str| format!("echo {value} > /{THP}/{file}");
    match (enabled.as_str(), read("defrag").as_deref()) {
        ("never", _) => Answer::ok("never", source),
        ("always" | "madvise", Ok("always")) => Answer::warning(
            format!("{enabled}, and defrag is always: an allocation may stall while memory is compacted"),
            format!("/{THP}/defrag"),
        )
        .remedied(case.changed(&set("defrag", "madvise"), Some(set("defrag", "always")))),
        ("always", _) => Answer::warning(
            "always: which memory gets huge pages depends on free memory, and changes during measurements",
            source,
        )
        .remedied(case.changed(&set("enabled", "madvise"), Some(set("enabled", "always")))),
        ("madvise", _) => Answer::ok("madvise: only programs that ask for them get huge pages", source),
        (other, _) => Answer::gap(&not(other, "always, madvise or never"), &path, ""),
    }
}

/// The values of /proc/meminfo, in bytes if they have a unit.
fn meminfo(case: &Case<'_>) -> Result<BTreeMap<String, u64>, Gap> {
    let amount = |line: &str| {
        let (key, rest) = line.split_once(':')?;
        let mut words = rest.split_whitespace();
        let number: u64 = words.next()?.parse().ok()?;
        let unit = if words.next() == Some("kB") { 1024 } else { 1 };
        Some((key.to_owned(), number.checked_mul(unit)?))
    };
    let found: BTreeMap<String, u64> = case.tree.text(MEMINFO)?.lines().filter_map(amount).collect();
    match found.contains_key("MemTotal") {
        true => Ok(found),
        false => Err(Gap::Damaged("has no line MemTotal".to_owned())),
    }
}

/// Memory reserved as huge pages, which is not available for anything else.
pub(super) fn reserved_hugepages(case: &Case<'_>) -> Answer {
    let amounts = match meminfo(case) {
        Ok(amounts) => amounts,
        Err(gap) => return Answer::gap(&gap, MEMINFO, "the amounts of memory are unknown"),
    };
    let source = format!("/{MEMINFO}");
    let get = |key: &str| amounts.get(key).copied();
    let (Some(total), Some(free), Some(page)) =
        (get("HugePages_Total"), get("HugePages_Free"), get("Hugepagesize"))
    else {
        return Answer::ok("the kernel has no reserved huge pages", source);
    };
    if total == 0 {
        return Answer::ok("none reserved", source);
    }
    let unused = free.saturating_mul(page);
    let found = format!(
        "{total} huge pages of {} are reserved, {free} of them unused ({})",
        bytes(page),
        bytes(unused)
    );
    let memory = get("MemTotal").unwrap_or(0);
    match unused as f64 > MOST_UNUSED * memory as f64 {
        false => Answer::ok(found, source),
        true => {
            let set = |count: u64| format!("sysctl -w vm.nr_hugepages={count}");
            Answer::warning(format!("{found}: that memory is not available for anything else"), source)
                .remedied(case.changed(&set(total.saturating_sub(free)), Some(set(total))))
        }
    }
}

/// Whether the kernel searches for equal pages to merge, which costs CPU time and memory bandwidth.
pub(super) fn samepage_merging(case: &Case<'_>) -> Answer {
    let path = format!("{KSM}/run");
    let source = format!("/{path}");
    match case.tree.number(&path) {
        Ok(0 | 2) => Answer::ok("off", source),
        Ok(1) => {
            let pages = case.tree.number(&format!("{KSM}/pages_sharing"));
            let pages = pages.map(|pages| format!(" ({pages} pages merged)")).unwrap_or_default();
            let set = |value: u8| format!("echo {value} > {source}");
            Answer::warning(format!("on{pages}: it takes CPU time and memory bandwidth"), &source)
                .remedied(case.changed(&set(0), Some(set(1))))
        }
        Ok(other) => Answer::gap(&not(&other.to_string(), "0 to 2"), &path, ""),
        Err(Gap::Missing) if case.tree.has("sys/kernel/mm") => Answer::ok("not in this kernel", source),
        Err(gap) => Answer::gap(&gap, &path, "the kernel does not report it"),
    }
}

/// Memory in swap.
pub(super) fn swap(case: &Case<'_>) -> Answer {
    let source = format!("/{SWAPS}");
    let text = match case.tree.text(SWAPS) {
        Ok(text) => text,
        Err(gap) => return Answer::gap(&gap, SWAPS, "the kernel does not list its swap"),
    };
    // `Filename Type Size Used Priority`, in KiB.
    let area = |line: &str| {
        let mut fields = line.split_whitespace().rev().skip(1);
        let (used, size): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some((used.checked_mul(1024)?, size.checked_mul(1024)?))
    };
    let lines: Vec<&str> = text.lines().skip(1).filter(|line| !line.trim().is_empty()).collect();
    let areas: Vec<(u64, u64)> = lines.iter().filter_map(|line| area(line)).collect();
    if areas.len() < lines.len() || !text.starts_with("Filename") {
        return Answer::gap(&not(&text, "a list of swap areas"), SWAPS, "");
    }
    let used = areas.iter().fold(0_u64, |sum, (used, _)| sum.saturating_add(*used));
    let size = areas.iter().fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
    if size == 0 {
        return Answer::ok("no swap", source);
    }
    let found = format!("{} of {} swap in use", bytes(used), bytes(size));
    match meminfo(case).ok().and_then(|amounts| amounts.get("MemTotal").copied()) {
        Some(memory) if used as f64 <= MOST_SWAPPED * memory as f64 => Answer::ok(found, source),
        None if used == 0 => Answer::ok(found, source),
        _ => Answer::warning(format!("{found}: pages are read back from disk during measurements"), source)
            .remedied(format!("free some memory first, then {}", case.as_root("swapoff -a && swapon -a"))),
    }
}

/// How readily the kernel swaps programs out to keep more file pages.
pub(super) fn swappiness(case: &Case<'_>) -> Answer {
    let source = format!("/{SWAPPINESS}");
    let value = match case.tree.number(SWAPPINESS) {
        Ok(value @ 0..=200) => value,
        Ok(other) => return Answer::gap(&not(&other.to_string(), "0 to 200"), SWAPPINESS, ""),
        Err(gap) => return Answer::gap(&gap, SWAPPINESS, "the kernel does not report it"),
    };
    // The heading alone means no areas.
    let no_swap = case.tree.text(SWAPS).is_ok_and(|text| text.lines().count() <= 1);
    let back = format!("sysctl -w vm.swappiness={value}");
    match (no_swap, value > USUAL_SWAPPINESS) {
        (true, _) => Answer::ok(format!("{value}, without effect, since there is no swap"), source),
        (false, false) => Answer::ok(value.to_string(), source),
        (false, true) => Answer::warning(format!("{value}: memory of programs is swapped out early"), source)
            .remedied(case.changed("sysctl -w vm.swappiness=10", Some(back))),
    }
}
