//! Measurements of the hardware on one screen: verdict, cores, pairs, wake-ups, neighbours and clocks, gaps. Small machines are
//! reported CPU by CPU, large ones in ranges and groups.

use super::lines::{cut, first, numbered};
use super::{BOLD, DIM, RED, Style, YELLOW, columns, cpus, pairs, wakeups, wrap};
use crate::drawing::topology_line;
use crate::text::plain;
use threadwise_analysis::hardware::Hardware;
use threadwise_analysis::{Finding, FindingKind};
use threadwise_document as document;
use threadwise_document::numbers::{counted, cpu_list, significant};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::probe::Probe;

/// Most lines of a screen, however large the machine is.
pub const MAX_LINES: usize = 60;
/// Lines of a traditional terminal; two or three logical CPUs fit.
const SCREEN: usize = 24;
/// Most lines of the verdict.
const MAX_VERDICT: usize = 24;
/// Most lines of one side of declared against measured.
const MAX_CORES: usize = 3;
/// Most reasons and gaps in the list; the rest is counted.
const MAX_GAPS: usize = 6;

/// The screen of one probe.
pub fn probe(topology: &Topology, probe: &Probe, hardware: &Hardware, style: Style) -> String {
    let mut lines = title(probe, style);
    let mut rest = first(verdict(hardware, style), MAX_VERDICT, "line", style);
    rest.extend(cores(hardware, style));
    rest.extend(pairs::pairs(probe, hardware, style));
    rest.extend(wakeups::wakeups(probe, style));
    rest.extend(cpus::cpus(probe, &hardware.verdict, style));
    let mut machine = machine(topology, style);
    let mut gaps = gaps(probe, style);
    if probe.cpus.len() <= pairs::LISTED
        && [&lines, &rest, &machine, &gaps].map(Vec::len).iter().sum::<usize>() > SCREEN
    {
        machine.truncate(1);
        let room = SCREEN.saturating_sub(lines.len() + rest.len() + machine.len()).max(1);
        gaps = first(gaps, room, "line", style);
    }
    lines.extend(machine.iter().map(|line| style.paint(DIM, line)));
    lines.extend(rest);
    lines.extend(gaps);
    first(lines, MAX_LINES, "line", style).join("\n")
}

fn title(probe: &Probe, style: Style) -> Vec<String> {
    let cpus = format!("{} ({})", counted(probe.cpus.len(), "logical CPU"), cpu_list(&probe.cpus));
    let form = probe.form.word();
    let title = format!("Probe of {cpus}, {form} form, {} s", significant(probe.duration_s, 3));
    let mut lines = vec![style.paint(BOLD, &cut(&title, style))];
    if probe.interrupted {
        let words = "Stopped before its end: only what it measured is shown.";
        lines.extend(wrap(words, style.width).iter().map(|line| style.paint(YELLOW, line)));
    }
    lines
}

/// The machine on two lines; the rest of a long line is cut, since `topology` shows it.
fn machine(topology: &Topology, style: Style) -> Vec<String> {
    let mut lines = wrap(&plain(&topology_line(topology), style.unicode), style.width).into_iter();
    let head = lines.next();
    let rest = lines.collect::<Vec<_>>().join(" ");
    head.into_iter().chain((!rest.is_empty()).then(|| cut(&rest, style))).collect()
}

/// The verdict; gaps have lines of their own below.
fn verdict(hardware: &Hardware, style: Style) -> Vec<String> {
    let all = hardware.verdict.iter().filter(|finding| finding.kind != FindingKind::ProbeGap);
    numbered(&all.cloned().collect::<Vec<Finding>>(), style)
}

/// Declared cores above measured ones; one line if they are equal.
fn cores(hardware: &Hardware, style: Style) -> Vec<String> {
    let document::Cores { declared, measured, .. } = crate::hardware::cores(hardware);
    let differ = declared.iter().chain(&measured).any(|(_, differs)| *differs);
    let alike = hardware.undecided.is_empty() && hardware.declared_cores == hardware.measured_cores;
    let mut lines = side(if alike { "cores" } else { "declared" }, &declared, style);
    if alike {
        add_at_end(&mut lines, "measured as declared", style);
    } else if measured.is_empty() {
        lines.push("measured   no core decided".to_owned());
    } else {
        lines.extend(side("measured", &measured, style));
    }
    if differ {
        add_at_end(&mut lines, "! declared and measured differ", style);
    }
    if !hardware.undecided.is_empty() {
        lines.push(cut(&format!("undecided  {}", cpu_list(&hardware.undecided)), style));
    }
    lines
}

/// Words at the end of the last line if they fit, else on a line of their own.
fn add_at_end(lines: &mut Vec<String>, words: &str, style: Style) {
    // Escapes (from `\u{1b}` to `m`) take no columns.
    let bare = |line: &str| line.split('\u{1b}').map(columns).sum::<usize>();
    let escapes = |line: &str| {
        let inside = |part: &str| part.find('m').map_or(0, |at| at + 1);
        line.split('\u{1b}').skip(1).map(inside).sum::<usize>()
    };
    match lines.last_mut() {
        Some(last) if bare(last) - escapes(last) + 3 + columns(words) <= style.width => {
            last.push_str(&format!("   {words}"));
        }
        _ => lines.push(format!("{:11}{words}", "")),
    }
}

/// One side: the cores themselves if they fit, else those that differ and their number.
fn side(name: &str, cores: &[(CpuSet, bool)], style: Style) -> Vec<String> {
    let room = style.width.saturating_sub(11).max(20);
    let all: Vec<&(CpuSet, bool)> = cores.iter().collect();
    let mut lines = flowing(&all, room, style);
    if lines.len() > MAX_CORES {
        let differing: Vec<&(CpuSet, bool)> = cores.iter().filter(|(_, differs)| *differs).collect();
        lines = flowing(&differing, room, style);
        if lines.len() > MAX_CORES {
            lines.truncate(MAX_CORES);
            lines.push((format!("{} differ in all", counted(differing.len(), "core")), String::new()));
        }
        lines.insert(0, (sizes(cores), String::new()));
    }
    let name_of = |at: usize| if at == 0 { name } else { "" };
    let painted = lines.iter().enumerate().map(|(at, (bare, colored))| {
        let text = if colored.is_empty() { bare } else { colored };
        format!("{:11}{text}", name_of(at))
    });
    painted.collect()
}

/// Cores on lines of at most `room` columns, without and with colours.
fn flowing(cores: &[&(CpuSet, bool)], room: usize, style: Style) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for (cpus, differs) in cores {
        let word = format!("[{}]{}", members(cpus), if *differs { "!" } else { "" });
        let colored = if *differs { style.paint(RED, &word) } else { word.clone() };
        match lines.last_mut().filter(|(bare, _)| columns(bare) + 1 + columns(&word) <= room) {
            Some((bare, shown)) => {
                bare.push_str(&format!(" {word}"));
                shown.push_str(&format!(" {colored}"));
            }
            None => lines.push((word, colored)),
        }
    }
    lines
}

/// `0 8`, as in the drawing of the machine; a long list is folded.
fn members(cpus: &CpuSet) -> String {
    match cpus.len() {
        0..=8 => cpus.iter().map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(" "),
        _ => cpu_list(cpus),
    }
}

/// `384 cores: 380 of 2 and 4 of 1`.
fn sizes(cores: &[(CpuSet, bool)]) -> String {
    let mut counts: Vec<(usize, usize)> = Vec::new();
    for (cpus, _) in cores {
        match counts.iter_mut().find(|(size, _)| *size == cpus.len()) {
            Some((_, count)) => *count += 1,
            None => counts.push((cpus.len(), 1)),
        }
    }
    counts.sort_by(|a, b| b.cmp(a));
    let words: Vec<String> =
        counts.iter().take(4).map(|(size, count)| format!("{count} of {size}")).collect();
    format!("{}: {}", counted(cores.len(), "core"), words.join(", "))
}

fn gaps(probe: &Probe, style: Style) -> Vec<String> {
    let texts = probe.gaps.iter().map(|gap| plain(gap, style.unicode));
    let mut lines = Vec::new();
    for text in texts.take(MAX_GAPS) {
        let room = style.width.saturating_sub(5).max(20);
        let parts = wrap(&text, room);
        let heads = std::iter::once("gap: ").chain(std::iter::repeat("     "));
        lines.extend(heads.zip(&parts).map(|(head, part)| format!("{head}{part}")));
    }
    let more = probe.gaps.len().saturating_sub(MAX_GAPS);
    lines.extend((more > 0).then(|| format!("and {}; `probe --json` lists all", counted(more, "more gap"))));
    lines
}
