//! The machine as text: one line, and a drawing of packages, NUMA nodes, LLC domains, cores and logical CPUs that grows
//! coarser until it fits on a screen.

use crate::layout::{Bare, BareNode, CoreBox, CpuState, Layout, LlcBox, NodeBox, PackageBox, in_state};
use crate::terminal::Style;
use crate::text::plain;
use threadwise_document::numbers::{bytes, counted, cpu_list, significant};
use threadwise_machine::{CpuSet, Topology};

/// Most lines of a drawing, which is made coarser until it fits.
pub const MAX_LINES: usize = 40;

/// The machine in one line: hypervisor, model, packages, cores, threads per core, NUMA nodes, LLC, allowed of present
/// logical CPUs, quota.
pub fn topology_line(topology: &Topology) -> String {
    let identity = &topology.identity;
    let kind = match identity.hypervisor.as_deref() {
        Some(name) if name.starts_with("unknown") => "virtual machine".to_owned(),
        Some(name) => format!("{name} guest"),
        None => "no hypervisor seen".to_owned(),
    };
    let mut parts = vec![kind];
    parts.extend(
        identity.cpu_model.as_ref().map(|model| model.split_whitespace().collect::<Vec<_>>().join(" ")),
    );
    parts.push(match topology.packages.len() {
        0 => "packages not declared".to_owned(),
        count => counted(count, "package"),
    });
    parts.push(cores_and_threads(topology));
    if topology.kinds.len() > 1 {
        let kinds = topology.kinds.iter().map(|kind| format!("{} {}", kind.name, cpu_list(&kind.cpus)));
        parts.push(kinds.collect::<Vec<_>>().join(" and "));
    }
    if !topology.numa_nodes.is_empty() {
        parts.push(counted(topology.numa_nodes.len(), "NUMA node"));
    }
    parts.push(llc_words(topology));
    let present = topology.logical_cpus.len();
    parts.push(format!("{} of {} allowed", topology.allowed().len(), counted(present, "logical CPU")));
    parts.push(match topology.limits.quota_cpus {
        Some(quota) => format!("CPU quota {}", significant(quota, 3)),
        None if topology.limits.is_quota_hidden() => "CPU quota unknown".to_owned(),
        None => "no CPU quota".to_owned(),
    });
    plain(&parts.join(", "), true)
}

fn cores_and_threads(topology: &Topology) -> String {
    let threads = topology.max_threads_per_core();
    let uniform = topology.cores.iter().all(|core| core.cpus.len() == threads);
    let up_to = if uniform { "" } else { "up to " };
    format!("{} x {up_to}{}", counted(topology.cores.len(), "core"), counted(threads, "thread"))
}

fn llc_words(topology: &Topology) -> String {
    let domains = topology.llc_domains.len();
    if domains == 0 {
        return "LLC not declared".to_owned();
    }
    let layout = Layout::new(topology);
    let nodes = layout.packages.iter().flat_map(|package| &package.nodes);
    let mut sizes: Vec<Option<u64>> = nodes.flat_map(|node| &node.llcs).map(|llc| llc.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    match sizes.as_slice() {
        [Some(size)] => format!("{} of {}", counted(domains, "LLC domain"), bytes(*size)),
        _ => counted(domains, "LLC domain"),
    }
}

/// Draws the machine in at most about [`MAX_LINES`] lines of the style's width, with its limits below. `-` marks an
/// offline logical CPU, `x` one that is not allowed.
pub fn drawing(topology: &Topology, style: Style) -> String {
    let layout = Layout::new(topology);
    let pen = Pen { topology, width: style.width.max(40), unicode: style.unicode };
    let below = pen.below(&layout);
    let room = MAX_LINES.saturating_sub(below.len()).max(8);
    let mut lines = Vec::new();
    for detail in [Detail::Cores, Detail::Llcs, Detail::Nodes, Detail::Packages] {
        lines = pen.packages(&layout, detail);
        if lines.len() <= room {
            break;
        }
    }
    if lines.len() > room {
        let more = lines.len() - room + 1;
        lines.truncate(room - 1);
        lines.push(format!(
            "{} and {} more; `topology --json` lists all",
            pen.ellipsis(),
            counted(more, "line")
        ));
    }
    lines.extend(below);
    lines.join("\n")
}

/// The finest level with a line of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    Cores,
    Llcs,
    Nodes,
    Packages,
}

struct Pen<'a> {
    topology: &'a Topology,
    width: usize,
    unicode: bool,
}

impl Pen<'_> {
    fn ellipsis(&self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    fn packages(&self, layout: &Layout, detail: Detail) -> Vec<String> {
        let mut lines = Vec::new();
        for run in alike(&layout.packages, detail >= Detail::Packages, package_shape) {
            let ids = run.iter().map(|package| package.id);
            let name = match ids.clone().next().flatten() {
                Some(_) => numbered("package", ids),
                None => "machine (no package declared)".to_owned(),
            };
            if detail >= Detail::Packages {
                let cpus = marks(run.iter().flat_map(|package| &package.nodes).flat_map(node_cores));
                let shape = format!("{}{}{}", each(run.len()), package_shape(&run[0]), on_nodes(run));
                lines.push(self.fit(&format!("{name}: {shape}"), &cpus));
                continue;
            }
            lines.push(self.cut(name));
            for package in run {
                self.nodes(package, detail, &mut lines);
            }
        }
        lines
    }

    fn nodes(&self, package: &PackageBox, detail: Detail, lines: &mut Vec<String>) {
        let indent = "  ";
        for run in alike(&package.nodes, detail >= Detail::Nodes, node_shape) {
            let name = match run[0].id {
                Some(_) => numbered("NUMA node", run.iter().map(|node| node.id)),
                None => "no NUMA node".to_owned(),
            };
            let memory = run[0].memory_bytes.filter(|_| run.len() == 1);
            let memory = memory.map(|size| format!(", {}", bytes(size))).unwrap_or_default();
            if detail >= Detail::Nodes {
                let cpus = marks(run.iter().flat_map(node_cores));
                let words = format!("{indent}{name}{memory}: {}{}", each(run.len()), node_shape(&run[0]));
                lines.push(self.fit(&words, &cpus));
                continue;
            }
            lines.push(self.cut(format!("{indent}{name}{memory}")));
            for llc in &run[0].llcs {
                self.llc(llc, &indent.repeat(2), detail, lines);
            }
        }
    }

    fn llc(&self, llc: &LlcBox, indent: &str, detail: Detail, lines: &mut Vec<String>) {
        let name = format!("{indent}{}", llc_name(llc));
        if detail >= Detail::Llcs {
            lines.push(self.fit(&format!("{name}: {}", cores_shape(&llc.cores)), &marks(llc.cores.iter())));
            return;
        }
        let mut line = format!("{name}:");
        let mut kind = None;
        for core in &llc.cores {
            let mut word = core_words(core);
            if self.topology.kinds.len() > 1 && kind != Some(core.kind) {
                kind = Some(core.kind);
                let name = self.topology.kinds.get(core.kind as usize).map_or("other", |kind| &kind.name);
                word = format!("{} {word}", plain(name, self.unicode));
            }
            if line.chars().count() + 1 + word.chars().count() > self.width {
                lines.push(line);
                line = format!("{indent}   ");
            }
            line.push(' ');
            line.push_str(&word);
        }
        lines.push(line);
    }

    /// Lines below the boxes: memory nodes, CPUs outside, limits, legend.
    fn below(&self, layout: &Layout) -> Vec<String> {
        let mut lines = Vec::new();
        for why in [Bare::NotAllowed, Bare::Unknown, Bare::MemoryOnly] {
            lines.extend(bare_line(layout, why).map(|line| self.cut(line)));
        }
        let offline = in_state(self.topology, CpuState::Offline);
        let barred = in_state(self.topology, CpuState::NotAllowed);
        if !offline.is_empty() {
            lines.push(self.fit(&format!("- {} offline", counted(offline.len(), "logical CPU")), &offline));
        }
        if !barred.is_empty() {
            let words = format!("x {} not allowed{}", counted(barred.len(), "logical CPU"), self.barrier());
            lines.push(self.fit(&words, &barred));
        }
        let limits = &self.topology.limits;
        if let Some(quota) = limits.quota_cpus {
            let from =
                limits.quota_source.as_ref().map(|path| format!(" ({})", path.display())).unwrap_or_default();
            let line = format!("CPU quota: {} CPUs{from}", significant(quota, 3));
            lines.push(self.cut(plain(&line, self.unicode)));
        }
        if let Some(memory) = limits.memory_bytes {
            lines.push(format!("memory limit: {}", bytes(memory)));
        }
        lines
    }

    /// What keeps the process from the CPUs that it may not use.
    fn barrier(&self) -> &'static str {
        let limits = &self.topology.limits;
        let all = self.topology.logical_cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.os_id);
        let online: CpuSet = all.collect();
        let bars = |set: &Option<CpuSet>| set.as_ref().is_some_and(|set| !online.is_subset(set));
        match (bars(&limits.cpuset), bars(&limits.affinity)) {
            (true, true) => " (cpuset and affinity mask)",
            (true, false) => " (cpuset)",
            (false, true) => " (affinity mask)",
            (false, false) => "",
        }
    }

    /// Words and a CPU list on one line, the list cut if it does not fit.
    fn fit(&self, words: &str, cpus: &CpuSet) -> String {
        self.cut(format!("{words}: {}", cpu_list(cpus)))
    }

    fn cut(&self, line: String) -> String {
        if line.chars().count() <= self.width {
            return line;
        }
        let keep = self.width - self.ellipsis().chars().count();
        let head: String = line.chars().take(keep).collect();
        format!("{head}{}", self.ellipsis())
    }
}

/// Splits into runs of neighbours with the same shape, or into single things.
fn alike<T>(things: &[T], merge: bool, shape: fn(&T) -> String) -> Vec<&[T]> {
    let shapes: Vec<String> = if merge { things.iter().map(shape).collect() } else { Vec::new() };
    let mut runs = Vec::new();
    let mut start = 0;
    for at in 1..=things.len() {
        if at == things.len() || !merge || shapes[at] != shapes[start] {
            runs.push(&things[start..at]);
            start = at;
        }
    }
    runs
}

/// `NUMA nodes without allowed CPUs: 2 (16 GiB) and 3 more`.
fn bare_line(layout: &Layout, why: Bare) -> Option<String> {
    let nodes: Vec<&BareNode> = layout.bare_nodes.iter().filter(|node| node.why == why).collect();
    let (first, rest) = nodes.split_first()?;
    let memory = first.memory_bytes.map(|size| format!(" ({})", bytes(size))).unwrap_or_default();
    let (s, more) = match rest.len() {
        0 => ("", String::new()),
        more => ("s", format!(" and {more} more")),
    };
    Some(format!("NUMA node{s} {}: {}{memory}{more}", why.words(), first.number))
}

/// ` on 8 NUMA nodes`, if the packages' shape does not show them: each has a part of one.
fn on_nodes(packages: &[PackageBox]) -> String {
    if packages.iter().any(|package| package.nodes.len() != 1) {
        return String::new();
    }
    let nodes: CpuSet =
        packages.iter().flat_map(|package| &package.nodes).filter_map(|node| node.id).collect();
    if nodes.is_empty() { String::new() } else { format!(" on {}", counted(nodes.len(), "NUMA node")) }
}

fn numbered(noun: &str, ids: impl Iterator<Item = Option<u32>>) -> String {
    let ids: CpuSet = ids.flatten().collect();
    format!("{noun}{} {ids}", if ids.len() == 1 { "" } else { "s" })
}

fn each(count: usize) -> &'static str {
    if count > 1 { "each " } else { "" }
}

fn package_shape(package: &PackageBox) -> String {
    repeated(package.nodes.iter().map(node_shape), "NUMA node")
}

fn node_shape(node: &NodeBox) -> String {
    repeated(node.llcs.iter().map(llc_shape), "LLC")
}

/// `2 NUMA nodes of (…)`, or the one shape alone, or the different ones joined.
fn repeated(shapes: impl Iterator<Item = String>, noun: &str) -> String {
    let shapes: Vec<String> = shapes.collect();
    let same = shapes.iter().all(|shape| Some(shape) == shapes.first());
    match shapes.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [one, ..] if same => format!("{} of ({one})", counted(shapes.len(), noun)),
        _ => shapes.join(" + "),
    }
}

fn llc_shape(llc: &LlcBox) -> String {
    format!("{}, {}", llc_name_without_id(llc), cores_shape(&llc.cores))
}

fn llc_name_without_id(llc: &LlcBox) -> String {
    let level = llc.level.map_or("LLC".to_owned(), |level| format!("L{level}"));
    match (llc.id, llc.size_bytes) {
        (None, _) => "no LLC".to_owned(),
        (_, Some(size)) => format!("{level} {}", bytes(size)),
        (_, None) => level,
    }
}

fn llc_name(llc: &LlcBox) -> String {
    match llc.id {
        Some(id) => format!("LLC {id} ({})", llc_name_without_id(llc)),
        None => llc_name_without_id(llc),
    }
}

/// `8 cores x 2`, `1 core x 1 + 4 cores x 2`.
fn cores_shape(cores: &[CoreBox]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for core in cores {
        match runs.last_mut().filter(|(threads, _)| *threads == core.cpus.len()) {
            Some((_, count)) => *count += 1,
            None => runs.push((core.cpus.len(), 1)),
        }
    }
    let words = runs.iter().map(|(threads, count)| format!("{} x {threads}", counted(*count, "core")));
    words.collect::<Vec<_>>().join(" + ")
}

fn core_words(core: &CoreBox) -> String {
    let mark = |state| match state {
        CpuState::Allowed => "",
        CpuState::NotAllowed => "x",
        CpuState::Offline => "-",
    };
    let cpus = core.cpus.iter().map(|cpu| format!("{}{}", cpu.cpu, mark(cpu.state)));
    format!("[{}]", cpus.collect::<Vec<_>>().join(" "))
}

fn node_cores(node: &NodeBox) -> impl Iterator<Item = &CoreBox> {
    node.llcs.iter().flat_map(|llc| &llc.cores)
}

fn marks<'a>(cores: impl Iterator<Item = &'a CoreBox>) -> CpuSet {
    cores.flat_map(|core| &core.cpus).map(|mark| mark.cpu).collect()
}
