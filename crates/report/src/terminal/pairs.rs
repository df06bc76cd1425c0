//! Pairs of logical CPUs: what they share and how far apart they are, as a list for two or three CPUs, as a matrix for
//! up to sixteen, by levels and groups for more.

use super::lines::{Aligned, SMALL, cut, first};
use super::{BOLD, CYAN, DIM, RED, Style, YELLOW, columns, wrap};
use crate::hardware::{SHARINGS, contradicts, latency_ns, level_name, sign, slowdown, words};
use crate::text::plain;
use threadwise_analysis::hardware::Hardware;
use threadwise_document::numbers::{counted, cpu_list, grouped, significant};
use threadwise_study::probe::{LatencyFigures, PairSharing, Probe, Sharing};

/// Most logical CPUs whose pairs are listed with all figures.
pub(super) const LISTED: usize = 3;
/// Most pairs below a matrix without a clear answer, or with one that is not declared.
const MAX_SHOWN: usize = 4;
/// Most levels of latency with a line.
const MAX_LEVELS: usize = 8;

/// All lines about pairs.
pub fn pairs(probe: &Probe, hardware: &Hardware, style: Style) -> Vec<String> {
    let cpus: Vec<u32> = probe.cpus.iter().collect();
    let mut lines = Vec::new();
    if cpus.len() < 2 {
        return lines;
    }
    if cpus.len() <= LISTED {
        return list(probe, &cpus, style);
    }
    let matrix = Matrix::new(probe, hardware, &cpus, style.unicode);
    if cpus.len() <= SMALL && matrix.width() <= style.width {
        lines.extend(matrix.lines(style));
    } else {
        lines.extend(counts(probe, hardware, style));
    }
    lines.extend(levels(probe, style));
    lines.extend(shown(probe, hardware, style));
    lines
}

/// One line per pair: the answer, slowdowns, latency by both methods.
fn list(probe: &Probe, cpus: &[u32], style: Style) -> Vec<String> {
    let headers = ["pair", "shares", "wide", "chain", "ld/st", "CAS ns", "two lines"];
    let mut rows = vec![headers.map(str::to_owned).to_vec()];
    let mut answers = Vec::new();
    for (at, &a) in cpus.iter().enumerate() {
        for &b in &cpus[at + 1..] {
            answers.push(probe.sharing(a, b));
            rows.push(figures(probe, a, b, style));
        }
    }
    let aligned = Aligned::new(rows, &[0, 1, 5, 6], style.width);
    let mut lines = Vec::new();
    for (at, cells) in aligned.rows.iter().enumerate() {
        let line = cut(cells.join(aligned.gap).trim_end(), style);
        lines.push(match at {
            0 => style.paint(BOLD, &line),
            _ => painted(&line, answers[at - 1], false, style),
        });
    }
    let text = "wide (independent adds), chain (dependent adds), ld/st: time together over alone; ns one way: least, median±spread";
    lines.extend(wrap(&plain(text, style.unicode), style.width).iter().map(|line| style.paint(DIM, line)));
    lines
}

fn figures(probe: &Probe, a: u32, b: u32, style: Style) -> Vec<String> {
    let pair = probe.pairs.iter().find(|pair| (pair.a, pair.b) == (a, b));
    let answer = match probe.sharing(a, b) {
        Some(sharing) => format!("{} {}", sign(sharing, style.unicode), words(sharing)),
        None => "not measured".to_owned(),
    };
    let slowed = |latency: fn(&PairSharing) -> Option<_>| slowdown(pair.and_then(latency));
    let latency = probe.latency(a, b);
    let nanoseconds = |latency: Option<LatencyFigures>| {
        latency.map_or_else(|| "-".to_owned(), |figures| median_and_spread(figures, style))
    };
    vec![
        format!("{a}-{b}"),
        answer,
        slowed(|pair| pair.wide),
        slowed(|pair| pair.chain),
        slowed(|pair| pair.load_store),
        nanoseconds(latency.map(|latency| latency.cas)),
        nanoseconds(latency.map(|latency| latency.two_lines)),
    ]
}

/// `52.1, 54.0±1.2`.
fn median_and_spread(figures: LatencyFigures, style: Style) -> String {
    let (least, median) = (latency_ns(figures.min_ns), latency_ns(figures.median_ns));
    plain(&format!("{least}, {median}±{}", significant(figures.spread_ns, 1)), style.unicode)
}

fn painted(text: &str, sharing: Option<Sharing>, contradicts: bool, style: Style) -> String {
    match sharing {
        _ if contradicts => style.paint(RED, text),
        Some(Sharing::SameCpu) => style.paint(RED, text),
        Some(Sharing::SameCore) => style.paint(CYAN, text),
        Some(Sharing::Masked | Sharing::Moving | Sharing::Unclear) => style.paint(YELLOW, text),
        Some(Sharing::DifferentCores) | None => text.to_owned(),
    }
}

/// A cell of the matrix.
struct Cell {
    text: String,
    sharing: Option<Sharing>,
    contradicts: bool,
}

/// The lower triangle: each pair once.
struct Matrix<'a> {
    cpus: &'a [u32],
    /// By row; row `i` is that of `cpus[i + 1]` and has `i + 1` cells.
    rows: Vec<Vec<Cell>>,
    cell_width: usize,
    name_width: usize,
}

impl<'a> Matrix<'a> {
    fn new(probe: &Probe, hardware: &Hardware, cpus: &'a [u32], unicode: bool) -> Self {
        let cpus = if cpus.len() <= SMALL { cpus } else { &cpus[..0] };
        let rows: Vec<Vec<Cell>> = (1..cpus.len())
            .map(|row| {
                let cells = cpus[..row].iter();
                cells.map(|&a| cell(probe, hardware, a, cpus[row], unicode)).collect()
            })
            .collect();
        let width = |cpu: &u32| cpu.to_string().len();
        let name_width = cpus.iter().map(width).max().unwrap_or(1);
        let widest = rows.iter().flatten().map(|cell| columns(&cell.text)).max().unwrap_or(1);
        Self { cpus, rows, cell_width: widest.max(name_width), name_width }
    }

    fn width(&self) -> usize {
        self.name_width + self.rows.len() * (self.cell_width + 1)
    }

    fn lines(&self, style: Style) -> Vec<String> {
        let width = self.cell_width;
        let names = self.cpus[..self.rows.len()].iter().map(|cpu| format!(" {cpu:>width$}"));
        let head = format!("{:1$}{2}", "", self.name_width, names.collect::<String>());
        let mut lines = vec![style.paint(BOLD, &head)];
        for (cpu, row) in self.cpus[1..].iter().zip(&self.rows) {
            let name = style.paint(BOLD, &format!("{cpu:>0$}", self.name_width));
            let cells = row.iter().map(|cell| {
                let padded = format!("{:>width$}", cell.text);
                format!(" {}", painted(&padded, cell.sharing, cell.contradicts, style))
            });
            lines.push(format!("{name}{}", cells.collect::<String>()));
        }
        let all = || self.rows.iter().flatten();
        let occurs = |sharing: &Sharing| all().any(|cell| cell.sharing == Some(*sharing));
        let mut legend: Vec<String> = SHARINGS
            .into_iter()
            .filter(occurs)
            .map(|sharing| format!("{} {}", sign(sharing, style.unicode), words(sharing)))
            .collect();
        legend.extend(all().any(|cell| cell.contradicts).then(|| "! declared differently".to_owned()));
        let unknown = all().any(|cell| cell.sharing.is_none());
        legend.extend(unknown.then(|| "no sign: not measured".to_owned()));
        legend.push("figures: least ns one way, by compare-and-swap".to_owned());
        let legend = super::flow(&legend, style.width);
        lines.extend(legend.iter().map(|line| style.paint(DIM, line)));
        lines
    }
}

/// `≠104`, `=8.31!`: the sign of the answer, the least latency, and a mark if it is declared differently.
fn cell(probe: &Probe, hardware: &Hardware, a: u32, b: u32, unicode: bool) -> Cell {
    let sharing = probe.sharing(a, b);
    let contradicts = sharing.is_some_and(|sharing| contradicts(hardware, a, b, sharing));
    let sign = sharing.map_or(' ', |sharing| sign(sharing, unicode));
    let latency = probe.latency(a, b).map(|latency| latency.cas.min_ns);
    let latency = latency.map_or_else(String::new, |value| significant(value, 2));
    let mark = if contradicts { "!" } else { "" };
    Cell { text: format!("{sign}{latency}{mark}"), sharing, contradicts }
}

/// Number of pairs by answer.
fn counts(probe: &Probe, hardware: &Hardware, style: Style) -> Vec<String> {
    let counts = hardware.pairs;
    let named = [
        (counts.agree, "as declared"),
        (counts.differ, "not as declared"),
        (counts.masked, "masked by a neighbour"),
        (counts.moving, "moving"),
        (counts.unclear, "unclear"),
        (counts.unknown, "unknown"),
    ];
    let parts: Vec<String> = named
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{} {words}", grouped(*count)))
        .collect();
    let pairs = counted(probe.pairs.len(), "pair");
    let sets = counted(probe.sets.len(), "set");
    let line = format!("pairs      {}; {pairs} measured alone, the rest by {sets}", parts.join(", "));
    hanging(&line, 11, style)
}

/// A line broken at spaces, its further lines indented by `indent`.
pub(super) fn hanging(line: &str, indent: usize, style: Style) -> Vec<String> {
    let (head, rest) = line.split_at(line.char_indices().nth(indent).map_or(line.len(), |(at, _)| at));
    let parts = wrap(rest, style.width.saturating_sub(indent).max(20));
    let heads = std::iter::once(head.to_owned()).chain(std::iter::repeat(" ".repeat(indent)));
    heads.zip(parts).map(|(head, part)| format!("{head}{part}")).collect()
}

/// The levels that latencies fall into, with their groups.
fn levels(probe: &Probe, style: Style) -> Vec<String> {
    if probe.levels.is_empty() {
        return vec![];
    }
    let names: Vec<String> =
        (0..probe.levels.len()).map(|at| plain(&level_name(probe, at), style.unicode)).collect();
    let width = names.iter().map(|name| columns(name)).max().unwrap_or(0).min(24);
    let lines = probe.levels.iter().zip(&names).enumerate().map(|(at, (level, name))| {
        let pairs = probe.latencies.iter().filter(|pair| pair.level == Some(at as u32)).count();
        let range = match [level.low_ns, level.high_ns].map(latency_ns) {
            [low, high] if low == high => format!("{low} ns"),
            [low, high] => format!("{low}-{high} ns"),
        };
        let groups: Vec<String> = level.groups.iter().map(cpu_list).collect();
        let groups = match groups.len() {
            0 => String::new(),
            1 => groups[0].clone(),
            count => format!("{}: {}", counted(count, "group"), groups.join(" ")),
        };
        let head = if at == 0 { "latency" } else { "" };
        let pairs = counted(pairs, "pair");
        cut(format!("{head:10} {name:width$}  {range:>15}  {pairs}  {groups}").trim_end(), style)
    });
    first(lines.collect(), MAX_LEVELS, "level", style)
}

/// Pairs whose answer is not clear, or not the declared one, with their figures.
fn shown(probe: &Probe, hardware: &Hardware, style: Style) -> Vec<String> {
    let clear = |sharing| matches!(sharing, Sharing::SameCpu | Sharing::SameCore | Sharing::DifferentCores);
    let wanted =
        |pair: &&PairSharing| !clear(pair.sharing) || contradicts(hardware, pair.a, pair.b, pair.sharing);
    let mut shown: Vec<&PairSharing> = probe.pairs.iter().filter(wanted).collect();
    shown.sort_by_key(|pair| (!clear(pair.sharing), pair.a, pair.b));
    let more = shown.len().saturating_sub(MAX_SHOWN);
    let mut lines = Vec::new();
    for pair in shown.iter().take(MAX_SHOWN) {
        let why = plain(&pair.why, style.unicode);
        let figures = format!(
            "wide {}, chain {}, ld/st {}",
            slowdown(pair.wide),
            slowdown(pair.chain),
            slowdown(pair.load_store)
        );
        let line = format!("{}-{} {}: {figures}; {why}", pair.a, pair.b, words(pair.sharing));
        lines.extend(first(hanging(&line, 2, style), 2, "line", style));
    }
    lines.extend((more > 0).then(|| format!("and {} like these", counted(more, "more pair"))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_lines_hang() {
        let style = Style { color: false, unicode: true, width: 30 };
        let lines = hanging("pairs      one two three four five", 11, style);
        assert_eq!(lines, ["pairs      one two three four", "           five"]);
    }
}
