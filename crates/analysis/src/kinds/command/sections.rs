//! The headline, all other quantities, and the table of all treatments.

use crate::commands::{BUSY_CPUS, CPU, Commands, ELAPSED, MEMORY, Quantity};
use crate::facts::runs_words;
use crate::sections::ratios;
use crate::worklist;
use crate::{Estimate, Facts, Interval, TreatmentSummary};
use threadwise_document::chart::{ValueChart, ValueRow};
use threadwise_document::numbers::{capital, counted, percent, set_percent};
use threadwise_document::{
    Block, Cell, Chart, Column, Figure, Mark, Prose, Row, Says, Section, Shown, Table, prose,
};
use threadwise_study::command::Better;
use threadwise_study::{Comparison, ComparisonKind, Role, Treatment};

/// In place of the ratio of a baseline.
const BASELINE: &str = "baseline, twice";

/// Most quantities that a terminal shows one by one.
const MAX_QUANTITIES: usize = 12;

/// One treatment by one quantity. The baseline and its twin are one row: ratios are over both.
struct Line<'a> {
    treatment: &'a Treatment,
    label: &'a str,
    value: Option<&'a Interval>,
    ratio: Cell,
}

impl Line<'_> {
    fn is_baseline(&self) -> bool {
        self.treatment.role != Role::Compared
    }
}

/// The treatments of a group by one quantity, the baseline first.
fn lines<'a>(facts: &Facts<'a>, found: &'a Commands, group: &str, metric: &str) -> Vec<Line<'a>> {
    let of_group = facts.study.treatments.iter().filter(|treatment| treatment.group == group);
    let shown = of_group.filter(|treatment| treatment.role != Role::BaselineTwin);
    let line = |treatment: &'a Treatment| Line {
        treatment,
        label: facts.label(&treatment.name, &treatment.group),
        value: value(facts, found, treatment, metric),
        ratio: match treatment.role {
            Role::Compared => ratio(facts, found, &treatment.name, metric),
            _ => Cell::text(BASELINE),
        },
    };
    shown.map(line).collect()
}

/// The ratio of a treatment to its baseline, or the reason for the gap.
fn ratio(facts: &Facts<'_>, found: &Commands, treatment: &str, metric: &str) -> Cell {
    if let Some(estimate) = facts.ratio_of(treatment, metric) {
        return Cell::Ratio(estimate.ratio.clone(), Says::Better);
    }
    let is_its = |one: &&Comparison| one.treatment == treatment && one.kind == ComparisonKind::Baseline;
    let comparison = facts.study.comparisons.iter().find(is_its);
    let gap = comparison.and_then(|comparison| found.gap(&comparison.name, metric));
    gap.map_or_else(Cell::none, |gap| Cell::Gap(gap.reason.clone()))
}

/// A treatment's value; for the baseline that of both its runs.
pub fn value<'a>(
    facts: &Facts<'a>,
    found: &'a Commands,
    treatment: &Treatment,
    metric: &str,
) -> Option<&'a Interval> {
    match treatment.role {
        Role::Compared => facts.summary(&treatment.name)?.metrics.get(metric),
        _ => found.baseline(&treatment.group, metric),
    }
}

/// The headline's section, and that of everything else.
pub fn answers(facts: &Facts<'_>, found: &Commands) -> Vec<Section> {
    let shown: Vec<&Quantity> =
        found.quantities.iter().filter(|quantity| !worklist::says_all_of(facts.analysis, quantity)).collect();
    let Some((headline, rest)) = shown.split_first() else { return Vec::new() };
    let mut outcome: Vec<Block> =
        about(found).into_iter().map(|text| Block::Text(text, Shown::Page)).collect();
    outcome.push(Block::Table(treatments(facts, found, headline)));
    outcome.extend(comparisons(facts).map(Block::Table));
    outcome.extend(figures(facts, found, headline, Shown::Page));
    let mut each: Vec<Block> = Vec::new();
    if let gaps @ [_, ..] = found.gap_lines().as_slice() {
        let text =
            prose!("There is no ratio (it needs numbers above 0 on both sides) of: {}.", gaps.join("; "));
        each.push(Block::Text(text, Shown::Page));
    }
    let (first, more) = rest.split_at(rest.len().min(MAX_QUANTITIES));
    for (quantities, shown) in [(first, Shown::Everywhere), (more, Shown::Page)] {
        each.extend(quantities.iter().flat_map(|quantity| figures(facts, found, quantity, shown)));
    }
    if !more.is_empty() {
        let names: Vec<String> = more.iter().map(|quantity| heading(quantity)).collect();
        let text = prose!("also measured (see the HTML report or --json): {}", names.join("; "));
        each.push(Block::Text(text, Shown::Terminal));
    }
    each.push(Block::Legend(legend(facts, found), Shown::Terminal));
    vec![
        Section::new("comparison", "Outcome", outcome),
        Section::new("metrics", "Everything that was measured", each),
    ]
}

fn about(found: &Commands) -> Vec<Prose> {
    let what = match found.is_per_session {
        true => {
            "Every session is a process of its own, and all start together. Elapsed is the time from the common start \
             to the end of the last one; memory is the largest total that was seen."
        }
        false => "One process has the whole placement. Elapsed is the time from its start to its end.",
    };
    let others = if found.differs { " (the first of several; treatments differ in it)" } else { "" };
    vec![
        prose!("The command{}: {}", others, &found.command),
        prose!(
            "{} A ratio is a treatment over its baseline, which runs twice in every block; better and worse say which \
             side of 1 it is on.",
            what
        ),
    ]
}

/// The treatments with their costs, in few columns.
fn treatments(facts: &Facts<'_>, found: &Commands, headline: &Quantity) -> Table {
    let has_jobs = worklist::says_headline(facts.analysis);
    let ratio_of = if has_jobs { "s/item over" } else { "ratio to" };
    let has_elapsed = headline.metric != ELAPSED && !has_jobs;
    let row = |line: Line<'_>| {
        let other = |metric: &str| Cell::mean(value(facts, found, line.treatment, metric));
        let named = Cell::named(line.label, line.treatment.placement.text.as_str());
        let mut row = vec![(Column::text("treatment").shorten_at(1), named)];
        row.extend(processes(found, line.treatment.sessions, 3));
        row.extend(
            (!has_jobs)
                .then(|| (Column::figure(heading(headline)).shorten_at(1), Cell::interval(line.value))),
        );
        row.push((Column::text(format!("{ratio_of} {}", facts.common_baseline())), line.ratio.clone()));
        row.extend(has_elapsed.then(|| (Column::figure("elapsed").drop_at(3), other(ELAPSED))));
        row.extend(found.cpu().map(|cpu| (Column::figure(cpu_heading(cpu)).drop_at(3), other(&cpu.metric))));
        row.extend([
            (Column::figure("busy CPUs").drop_at(3), other(BUSY_CPUS)),
            (Column::figure("memory").drop_at(2), other(MEMORY)),
            (Column::figure("runs").drop_at(2), Cell::text(runs(facts, &line))),
        ]);
        row
    };
    let part =
        |group: &str| Table::headed("", lines(facts, found, group, &headline.metric).into_iter().map(row));
    by_group(facts, facts.groups().into_iter().map(|(group, _)| (group, part(group)))).shown(Shown::Terminal)
}

/// One table from that of each group, each below the group's words if there are several.
pub fn by_group<'a>(facts: &Facts<'_>, parts: impl Iterator<Item = (&'a str, Table)>) -> Table {
    let mut table = Table::default();
    for (group, part) in parts {
        let words = facts.group_words(group);
        table.rows.extend((!words.is_empty()).then_some(Row::Group(words)));
        table.columns = part.columns;
        table.rows.extend(part.rows);
    }
    table
}

/// The column of processes, if there are several.
fn processes(found: &Commands, sessions: u32, drop_at: u8) -> Option<(Column, Cell)> {
    let column = || Column::figure("processes").drop_at(drop_at);
    found.is_per_session.then(|| (column(), Cell::Count(sessions.into())))
}

/// Runs of a row; for the baseline those of both.
fn runs(facts: &Facts<'_>, line: &Line<'_>) -> String {
    let same = |summary: &&TreatmentSummary| match line.is_baseline() {
        true => {
            let role = facts.study.treatment(&summary.name).map(|(_, treatment)| treatment.role);
            summary.group == line.treatment.group && role.is_some_and(|role| role != Role::Compared)
        }
        false => summary.name == line.treatment.name,
    };
    let summaries: Vec<&TreatmentSummary> = facts.analysis.treatments.iter().filter(same).collect();
    if summaries.is_empty() { "-".to_owned() } else { runs_words(&summaries) }
}

/// Comparisons of the headline that no column of the table has; steps of a work list's jobs are in that of jobs.
fn comparisons(facts: &Facts<'_>) -> Option<Table> {
    let is_other = |estimate: &&Estimate| {
        estimate.kind != ComparisonKind::Baseline && !worklist::is_shown(facts.analysis, estimate)
    };
    let row = |estimate: &Estimate| {
        let ratio = Cell::Ratio(estimate.ratio.clone(), Says::Better);
        vec![(Column::text(""), Cell::text(&estimate.name)), (Column::text(""), ratio)]
    };
    let rows: Vec<_> = facts.throughput().filter(is_other).map(row).collect();
    (!rows.is_empty()).then(|| Table::headed("comparisons", rows).shown(Shown::Terminal).plain())
}

/// Values and ratios of one quantity, side by side for each group; `shown` decides whether a terminal shows the values'
/// table.
fn figures(facts: &Facts<'_>, found: &Commands, quantity: &Quantity, shown: Shown) -> Vec<Block> {
    let level = set_percent(facts.level());
    let mut blocks = Vec::new();
    for (group, _) in facts.groups() {
        let all = lines(facts, found, group, &quantity.metric);
        let known: Vec<(&Line<'_>, &Interval)> =
            all.iter().filter_map(|line| Some((line, line.value?))).collect();
        if known.is_empty() {
            continue;
        }
        let name = format!("Ratio of {}", quantity.name);
        let words = ratios::Words {
            title: name.clone(),
            description: format!(
                "With {level} intervals. {} {}.",
                ratios::signs(facts),
                capital(&floor_words(facts, group, &quantity.metric))
            ),
            axis: Some(format!("ratio of {}", quantity.name)),
            caption: name,
            says: Says::Better,
        };
        let ratios = ratios::figure(facts, group, &quantity.metric, words);
        let better = better(quantity);
        let direction = if better.is_empty() { String::new() } else { format!(" {}.", capital(better)) };
        blocks.push(Block::Figure(Box::new(Figure {
            chart: Chart::Values(value_chart(quantity, &known)),
            wide: ratios.is_none(),
            title: facts.titled(&title(quantity), group),
            description: format!("Means over blocks with {level} intervals.{direction}"),
            table: value_table(facts, quantity, group, &all).shown(shown),
        })));
        blocks.extend(ratios.map(|figure| Block::Figure(Box::new(figure))));
    }
    blocks
}

/// Value and ratio of every treatment by one quantity.
fn value_table(facts: &Facts<'_>, quantity: &Quantity, group: &str, all: &[Line<'_>]) -> Table {
    let floor = floor_words(facts, group, &quantity.metric);
    let about: Vec<&str> = [better(quantity), &floor].into_iter().filter(|part| !part.is_empty()).collect();
    let caption = prose!("{}{} ({})", heading(quantity), place(facts, group), about.join(", "));
    let row = |line: &Line<'_>| {
        let placement = Cell::text(line.treatment.placement.text.as_str());
        vec![
            (Column::text("treatment"), Cell::text(line.label)),
            (Column::text("placement").shown(Shown::Page), placement),
            (Column::figure(&quantity.name).shorten_at(1), Cell::interval(line.value)),
            (Column::text("ratio").shorten_at(2), line.ratio.clone()),
        ]
    };
    Table::headed(caption, all.iter().map(row)).plain()
}

fn value_chart(quantity: &Quantity, known: &[(&Line<'_>, &Interval)]) -> ValueChart {
    let most = known.iter().map(|(_, interval)| interval.mean.abs()).fold(0.0, f64::max);
    let (scale, unit) = scale(quantity, most);
    let row = |(line, interval): &(&Line<'_>, &Interval)| {
        let end = |end: f64| interval.has_ends().then_some(end / scale);
        ValueRow {
            label: line.label.to_owned(),
            against: if line.is_baseline() { BASELINE } else { &line.treatment.placement.text }.to_owned(),
            mean: interval.mean / scale,
            low: end(interval.low),
            high: end(interval.high),
            figures: Prose::from(*interval).to_string(),
        }
    };
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    ValueChart { what: format!("{}{unit}", quantity.name), rows: known.iter().map(row).collect() }
}

/// The divisor of values on the axis, and the unit that they then have.
fn scale(quantity: &Quantity, most: f64) -> (f64, &str) {
    const MIB: f64 = 1024.0 * 1024.0;
    match quantity.unit.as_str() {
        "1" => (1.0, ""),
        _ if quantity.is_said => (1.0, &quantity.unit),
        "ns" if most >= 1e9 => (1e9, "s"),
        "ns" => (1e6, "ms"),
        "bytes" if most >= 1024.0 * MIB => (1024.0 * MIB, "GiB"),
        "bytes" => (MIB, "MiB"),
        unit => (1.0, unit),
    }
}

/// `noise floor ±1.2%`, or that it is unknown.
fn floor_words(facts: &Facts<'_>, group: &str, metric: &str) -> String {
    let floor = facts.analysis.floor(group, metric).map(|floor| floor.floor.exp_m1());
    match floor.filter(|floor| floor.is_finite()) {
        Some(floor) => format!("noise floor ±{}", percent(floor)),
        None => "noise floor unknown".to_owned(),
    }
}

/// The full tables: times and costs, then every metric; the baseline and its twin one by one.
pub fn all_treatments(facts: &Facts<'_>, found: &Commands) -> Section {
    let of_output: Vec<&Quantity> = found.quantities.iter().filter(|quantity| quantity.is_said).collect();
    let tables = facts.groups().into_iter().flat_map(|(group, members)| {
        let table = |what: &str, rows: Vec<Vec<(Column, Cell)>>| {
            Table::headed(format!("{what} {}", facts.group_words(group)).trim_end(), rows)
        };
        let label = |summary: &'_ TreatmentSummary| Cell::text(facts.label(&summary.name, group));
        let costs = members.iter().map(|summary| costs(found, label(summary), summary)).collect();
        let metric = |quantity: &Quantity, summary: &TreatmentSummary| {
            vec![
                (Column::text("metric"), Cell::text(&quantity.name)),
                (Column::text("treatment"), label(summary)),
                (Column::text("unit"), Cell::text(&quantity.unit)),
                (Column::text("direction"), Cell::text(better(quantity))),
                (Column::figure("mean"), Cell::interval(summary.metrics.get(&quantity.metric))),
                (Column::figure("ratio"), ratio(facts, found, &summary.name, &quantity.metric)),
            ]
        };
        let metrics = of_output.iter().flat_map(|one| members.iter().map(|summary| metric(one, summary)));
        let metrics = (!of_output.is_empty()).then(|| table("Metrics of the output", metrics.collect()));
        let costs = table("Treatments", costs);
        std::iter::once(costs).chain(metrics).map(|table| Block::Table(table.shown(Shown::Page)))
    });
    Section::new("table", "All treatments", tables.collect())
}

fn costs(found: &Commands, label: Cell, summary: &TreatmentSummary) -> Vec<(Column, Cell)> {
    let metric = |name: &str| Cell::interval(summary.metrics.get(name));
    let mut row = vec![
        (Column::text("treatment"), label),
        (Column::text("placement"), Cell::text(summary.placement.as_str())),
    ];
    row.extend(processes(found, summary.sessions, 0));
    row.push((Column::figure("elapsed"), metric(ELAPSED)));
    row.extend(found.cpu().map(|cpu| (Column::figure(cpu_heading(cpu)), metric(&cpu.metric))));
    row.extend([
        (Column::figure("busy CPUs"), metric(BUSY_CPUS)),
        (Column::figure("peak memory"), metric(MEMORY)),
        (Column::figure("steal"), Cell::mean(summary.metrics.get("steal_share"))),
        (Column::figure("runs"), Cell::text(runs_words(&[summary]))),
    ]);
    row
}

/// A quantity with its unit, as a heading: `elapsed`, `tps, tx/s`.
pub fn heading(quantity: &Quantity) -> String {
    match quantity.is_said && quantity.unit != "1" {
        true => format!("{}, {}", quantity.name, quantity.unit),
        false => quantity.name.clone(),
    }
}

/// The quantity at the start of a heading; a metric's name stays as its user wrote it.
fn title(quantity: &Quantity) -> String {
    if quantity.is_said { heading(quantity) } else { capital(&heading(quantity)) }
}

/// CPU time as the heading of a column: `CPU/run`, `CPU/tx`.
fn cpu_heading(cpu: &Quantity) -> String {
    let name = cpu.name.split(',').next().unwrap_or_default();
    name.replacen("CPU per ", "CPU/", 1)
}

/// ` inside L2`, or empty if there is one group.
pub fn place(facts: &Facts<'_>, group: &str) -> String {
    match facts.group_words(group) {
        words if words.is_empty() => words,
        words => format!(" {words}"),
    }
}

/// Which direction is better, in words; empty if neither is.
pub fn better(quantity: &Quantity) -> &'static str {
    match quantity.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
        Better::None => "",
    }
}

fn legend(facts: &Facts<'_>, found: &Commands) -> Vec<Prose> {
    let level = set_percent(facts.level());
    let blocks = counted(facts.analysis.blocks as usize, "block");
    let what = if facts.analysis.worklist.is_some() { "list" } else { "command" };
    let cpu = found.cpu().map(|cpu| match cpu.metric.as_str() {
        CPU => format!("CPU/run: CPU time of one run of the {what}; "),
        _ => format!("{}: busy CPUs over the rate in the output; ", cpu_heading(cpu)),
    });
    let server = if found.has_server { "; the bound server's CPU time is included" } else { "" };
    let mut parts = vec![
        prose!("±, [low, high]: {} interval over {}, a run of each treatment in each.", level, blocks),
        prose!("{}busy CPUs: CPU time over elapsed time{}.", cpu.unwrap_or_default(), server),
    ];
    parts.extend(Mark::ALL.map(Prose::sign));
    parts.push(prose!("better and worse: by the direction in each quantity's heading."));
    parts
}
