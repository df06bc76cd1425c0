//! Work at a rate: cached reads, inserts, sweeps of sessions, and everything that no other kind takes.

use crate::choices::lines;
use crate::estimate::THROUGHPUT;
use crate::facts::runs_words;
use crate::findings::sweep::{self, Sweep};
use crate::findings::{activity, locality, scaling, smt, trust};
use crate::kind::Kind;
use crate::sections::activity::latency_gap;
use crate::sections::ratios;
use crate::sections::time::label_of;
use crate::{Estimate, Facts, Finding, FindingKind, Interval, TreatmentSummary};
use std::collections::BTreeMap;
use threadwise_document::chart::{ChartWords, RateChart, RatePoint};
use threadwise_document::numbers::{capital, counted, set_percent};
use threadwise_document::{
    Block, Cell, Chart, Column, Figure, Mark, Prose, Ratio, Row, Says, Section, Shown, Table, prose,
};
use threadwise_machine::placement::Order;
use threadwise_study::workload::Nouns;
use threadwise_study::{Comparison, ComparisonKind, Options, Role, Study, Treatment, Workload};

/// The kind.
pub struct Rates;

/// Whether a study is of this kind alone: kinds with findings of their own show these beside them, in words of rows.
fn is_own(study: &Study) -> bool {
    !matches!(study.workload, Workload::Index | Workload::ParallelScan)
}

impl Kind for Rates {
    fn scope(&self, study: &Study) -> Option<String> {
        let text = unit(study).filter(|_| is_own(study))?;
        // Only options that are the same everywhere: a factor's levels are reported as such.
        let all = |name: &str, value: &str| {
            let is_so = |options: &Options| options.get(name).is_some_and(|set| set.to_string() == value);
            !study.treatments.is_empty() && study.treatments.iter().all(|one| is_so(&one.options))
        };
        let relaxed = all("durability", "relaxed").then_some(", commits do not wait for the disk");
        let unlogged = all("table", "unlogged").then_some(", a crash may empty the table");
        Some([Some(text.as_str()), relaxed, unlogged].into_iter().flatten().collect())
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if facts.throughput().next().is_none() {
            return trust::nothing_found(facts, self);
        }
        let sweeps = sweep::sweeps(facts);
        let mut found = throughput_found(facts, &facts.study.nouns(), &sweeps);
        found.extend(activity::activity(facts));
        found.extend([trust::trust(facts), trust::scope(facts, self, &sweeps)]);
        found
    }

    fn lead(&self, facts: &Facts<'_>) -> Option<FindingKind> {
        sweep::is_the_question(facts, &sweep::sweeps(facts)).then_some(FindingKind::Sweep)
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        answers(facts, self)
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        vec![all_treatments(facts, &facts.study.nouns())]
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        let Nouns { rate, sessions, .. } = facts.study.nouns();
        let ratio = match facts.study.workload == Workload::Transaction {
            true => "ratio of transactions/s",
            false => "ratio of rows/s",
        };
        ChartWords { rate, ratio, slice: rate, sessions }
    }
}

/// What a unit of a workload's work is, and whether answers are checked, if they could be.
fn unit(study: &Study) -> Option<String> {
    let known = study.workload.known();
    let not_checked = if known.checks_answers { "" } else { ", and their answers were not checked" };
    known.unit.map(|unit| format!("{unit}{not_checked}"))
}

/// Findings of the ratios of throughput. The yield is always reported, if only to say that there is none.
fn throughput_found(facts: &Facts<'_>, nouns: &Nouns, sweeps: &[Sweep<'_>]) -> Vec<Finding> {
    let first: Vec<Finding> =
        [scaling::two_cores(facts, nouns), scaling::others(facts, sweeps)].into_iter().flatten().collect();
    let smt_yield = smt::smt_yield(facts, nouns);
    let last = [sweep::growth(facts, sweeps), scaling::asked(facts)];
    let rest: Vec<Finding> = smt::half_busy(facts)
        .into_iter()
        .chain(locality::found(facts))
        .chain(last.into_iter().flatten())
        .collect();
    let is_all = first.is_empty() && rest.is_empty() && smt_yield.kind == FindingKind::NotMeasurable;
    let one_cpu = scaling::one_cpu(facts, is_all);
    first.into_iter().chain(one_cpu).chain([smt_yield]).chain(rest).collect()
}

/// Logical reads per second, and the place of their column, after that of the rate.
const READS: &str = "logical_reads_per_s";
const READS_AT: usize = 3;

/// The sections that answer the question.
pub fn answers(facts: &Facts<'_>, kind: &dyn Kind) -> Vec<Section> {
    let nouns = facts.study.nouns();
    let mut first = vec![Block::Table(treatments(facts, &nouns, Shown::Terminal))];
    first.extend(other_ratios(facts).map(Block::Table));
    first.extend(throughput(facts, &nouns));
    first.extend(growth_blocks(facts));
    first.push(Block::Legend(legend(facts), Shown::Terminal));
    vec![
        Section::new("throughput", "Throughput against sessions", first),
        Section::new("comparison", "Placements compared", comparison(facts, kind)),
    ]
}

/// The treatments, those with a common baseline below the name of their group; all columns on the page, few on a
/// terminal.
fn treatments(facts: &Facts<'_>, nouns: &Nouns, shown: Shown) -> Table {
    let reads = if nouns.row == "row" { "reads/row" } else { "reads/query" };
    let on_page = |name: &str| Column::figure(name).shown(Shown::Page);
    // Not every engine counts them.
    let is_counted = facts.analysis.treatments.iter().any(|summary| summary.metrics.contains_key(READS));
    let mut columns = vec![
        Column::text("treatment").shorten_at(4),
        Column::figure(nouns.sessions),
        Column::figure(nouns.rate).shorten_at(1),
        Column::text(format!("ratio to {}", facts.common_baseline())).shorten_at(5),
        on_page("p50"),
        Column::figure("p99").drop_at(3),
        Column::figure(nouns.cpu).drop_at(2),
        on_page(reads),
        on_page("busy"),
        on_page("steal"),
        Column::figure("runs"),
    ];
    if is_counted {
        columns.insert(READS_AT, Column::figure("logical reads/s").drop_at(1));
    }
    let mut table = Table::new("", columns, []).shown(shown);
    for (group, members) in facts.groups() {
        let words = facts.group_words(group);
        table.rows.extend((!words.is_empty()).then_some(Row::Group(words)));
        table.rows.extend(members.into_iter().map(|summary| {
            let metric = |name: &str| Cell::mean(summary.metrics.get(name));
            let mut cells = vec![
                Cell::named(facts.label(&summary.name, group), summary.placement.as_str()),
                Cell::Count(summary.sessions.into()),
                Cell::interval(summary.metrics.get(THROUGHPUT)),
                ratio(facts, summary),
                percentile(summary, "latency_ns_p50"),
                percentile(summary, "latency_ns_p99"),
                metric("cpu_ns_per_row"),
                metric("reads_per_row"),
                metric("busy_share"),
                metric("steal_share"),
                Cell::text(runs_words(&[summary])),
            ];
            if is_counted {
                cells.insert(READS_AT, metric(READS));
            }
            Row::Cells(cells)
        }));
    }
    table
}

fn ratio(facts: &Facts<'_>, summary: &TreatmentSummary) -> Cell {
    match facts.ratio_or_role(summary) {
        Ok(ratio) => Cell::Ratio(ratio.clone(), Says::Higher),
        Err("") => Cell::none(),
        Err(role) => Cell::text(role),
    }
}

fn percentile(summary: &TreatmentSummary, name: &str) -> Cell {
    match summary.metrics.get(name) {
        Some(value) => Cell::Mean(value.clone()),
        None if summary.runs > 0 => Cell::Gap(latency_gap(summary).to_owned()),
        None => Cell::none(),
    }
}

/// Ratios that no column of the table of treatments has: the known pairs and the study's own comparisons. Steps of a
/// sweep are drawn as its line.
pub fn other_ratios(facts: &Facts<'_>) -> Option<Table> {
    let is_other = |estimate: &&Estimate| {
        ![ComparisonKind::SweepStep, ComparisonKind::BeyondCores, ComparisonKind::Baseline]
            .contains(&estimate.kind)
    };
    let rows: Vec<Vec<Cell>> = facts
        .throughput()
        .filter(is_other)
        .map(|estimate| {
            vec![
                Cell::text(&estimate.name),
                Cell::Ratio(estimate.ratio.clone(), Says::Higher),
                Cell::text(estimate.ratio.words(Says::Higher)),
            ]
        })
        .collect();
    let columns = vec![Column::text(""), Column::text(""), Column::text("").drop_at(1)];
    (!rows.is_empty()).then(|| Table::new("comparisons", columns, rows).shown(Shown::Terminal).plain())
}

fn legend(facts: &Facts<'_>) -> Vec<Prose> {
    let level = set_percent(facts.level());
    let blocks = counted(facts.analysis.blocks as usize, "block");
    let mut parts = vec![prose!(
        "±, [low, high]: {} interval over {}, of each figure for itself; findings have intervals for all ratios together.",
        level,
        blocks
    )];
    parts.extend(Mark::ALL.map(Prose::sign));
    parts
}

/// One chart per group.
pub fn throughput(facts: &Facts<'_>, nouns: &Nouns) -> Vec<Block> {
    let level = set_percent(facts.level());
    let charts: Vec<RateChart> =
        facts.groups().into_iter().map(|(group, members)| rate_chart(facts, group, &members)).collect();
    let wide = charts.len() == 1;
    let figure = |chart: RateChart| {
        Block::Figure(Box::new(Figure {
            wide,
            title: facts.titled("Throughput", &chart.group),
            description: format!(
                "{} of all {} together, with {level} intervals over blocks.",
                nouns.rate_in_full, nouns.sessions
            ),
            table: rates(facts, nouns, &chart.group).shown(Shown::Page),
            chart: Chart::Throughput(chart),
        }))
    };
    charts.into_iter().map(figure).collect()
}

fn rate_chart(facts: &Facts<'_>, group: &str, members: &[&TreatmentSummary]) -> RateChart {
    let (mut points, mut names) = (Vec::new(), Vec::new());
    for summary in members {
        let known = summary.metrics.get(THROUGHPUT).zip(label_of(facts, &summary.name));
        let Some((rate, label)) = known else { continue };
        names.push(summary.name.as_str());
        points.push(RatePoint {
            label,
            placement: summary.placement.clone(),
            sessions: summary.sessions,
            mean: rate.mean,
            low: rate.low,
            high: rate.high,
        });
    }
    let steps = steps(facts, group, &points, &names);
    let lines = if steps.is_empty() { sweeps(&points) } else { steps };
    RateChart { group: group.to_owned(), lines, points }
}

/// Throughput of a group.
fn rates(facts: &Facts<'_>, nouns: &Nouns, group: &str) -> Table {
    let all = facts.analysis.treatments.iter().filter(|summary| summary.group == group);
    let rows = all.filter_map(|summary| {
        let rate = summary.metrics.get(THROUGHPUT)?;
        Some(vec![
            Cell::text(facts.label(&summary.name, group)),
            Cell::text(summary.placement.as_str()),
            Cell::Count(summary.sessions.into()),
            Cell::Interval(rate.clone()),
        ])
    });
    let columns = vec![
        Column::text("treatment"),
        Column::text("placement"),
        Column::figure(nouns.sessions),
        Column::figure(nouns.rate),
    ];
    Table::new(format!("Throughput, {}", nouns.rate.replace("/s", " per second")), columns, rows)
}

/// Ratios of throughput, one figure per group.
pub fn comparison(facts: &Facts<'_>, kind: &dyn Kind) -> Vec<Block> {
    let level = set_percent(facts.level());
    let axis = kind.chart_words(facts).ratio;
    let (title, what) = match axis.starts_with("geometric") {
        true => ("Geometric mean of speeds", "Geometric mean of the queries' speeds".to_owned()),
        false => ("Ratio of throughput", format!("{} as a ratio", facts.study.nouns().rate_in_full)),
    };
    let words = || ratios::Words {
        title: title.to_owned(),
        description: format!("{what}, with {level} intervals. {}", ratios::signs(facts)),
        axis: None,
        caption: capital(&axis.replace("/s", " per second")),
        says: Says::Higher,
    };
    let groups = facts.groups().into_iter();
    let figures: Vec<Figure> =
        groups.filter_map(|(group, _)| ratios::figure(facts, group, THROUGHPUT, words())).collect();
    let wide = figures.len() == 1;
    figures.into_iter().map(|figure| Block::Figure(Box::new(Figure { wide, ..figure }))).collect()
}

/// Every figure of every treatment.
pub fn all_treatments(facts: &Facts<'_>, nouns: &Nouns) -> Section {
    Section::new("table", "All treatments", vec![Block::Table(treatments(facts, nouns, Shown::Page))])
}

/// The points of the study's own session sweep, one line for each order of it, the baseline first. A point of it may be
/// a named placement: two sessions on a machine of two cores are `same-package`.
fn steps(facts: &Facts<'_>, group: &str, points: &[RatePoint], names: &[&str]) -> Vec<Vec<usize>> {
    let steps =
        || facts.study.comparisons.iter().filter(|comparison| comparison.kind == ComparisonKind::SweepStep);
    let in_a_step = |name: &str| {
        let one_of =
            |step: &Comparison| step.treatment == name || step.baseline.iter().any(|below| below == name);
        steps().any(one_of)
    };
    let orders = lines(facts.study, group);
    let ordered = orders.iter().map(|line| {
        line.iter().filter_map(|name| names.iter().position(|known| known == name)).collect::<Vec<usize>>()
    });
    let all = || vec![(0..points.len()).filter(|&at| in_a_step(names[at])).collect()];
    let found: Vec<Vec<usize>> = if orders.is_empty() { all() } else { ordered.collect() };
    let with_baseline = |mut line: Vec<usize>| {
        line.insert(0, 0);
        line.sort_by_key(|&at| points[at].sessions);
        line.dedup_by_key(|at| points[*at].sessions);
        line
    };
    found.into_iter().filter(|line| !line.is_empty()).map(with_baseline).collect()
}

/// Points that belong on one line: the same family of placements with different numbers of sessions, starting at the
/// baseline, which is the sweep's first point if it has fewer sessions.
fn sweeps(points: &[RatePoint]) -> Vec<Vec<usize>> {
    let mut families: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, point) in points.iter().enumerate() {
        families.entry(family(&point.placement)).or_default().push(at);
    }
    let mut lines = Vec::new();
    for mut line in families.into_values() {
        line.sort_by_key(|&at| points[at].sessions);
        line.dedup_by_key(|at| points[*at].sessions);
        if line.len() < 2 {
            continue;
        }
        if points.first().is_some_and(|baseline| baseline.sessions < points[line[0]].sessions) {
            line.insert(0, 0);
        }
        lines.push(line);
    }
    lines
}

/// A placement without its numbers of cores and packages: `spread:4` and `spread:8` are one family, as are `4c1t` and
/// `8c1t`; `4c2t` is another.
fn family(placement: &str) -> String {
    let mut family = String::new();
    let mut digits = String::new();
    for c in placement.chars() {
        match c {
            '0'..='9' => digits.push(c),
            'c' | 's' if !digits.is_empty() => {
                family.push(c);
                digits.clear();
            }
            c => {
                family.push_str(&digits);
                digits.clear();
                family.push(c);
            }
        }
    }
    // A number at the end is the size of a sweep; in a list or a path it is an identity.
    let is_order = |word: &str| family.strip_suffix(':') == Some(word);
    if !Order::ALL.into_iter().any(|(_, word)| is_order(word)) {
        family.push_str(&digits);
    }
    family
}

/// The table of slopes and the note on run queues, if they are not empty.
fn growth_blocks(facts: &Facts<'_>) -> Vec<Block> {
    let table = slopes(facts).map(Block::Table);
    let queue = run_queue(facts).map(|text| Block::Text(text, Shown::Everywhere));
    table.into_iter().chain(queue).collect()
}

fn slopes(facts: &Facts<'_>) -> Option<Table> {
    let cores = u32::try_from(facts.topology.cores.len()).ok()?;
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for group in facts.study.groups() {
        for (below, beyond) in at_the_cores(facts, group, cores) {
            let name = facts.label(&below.name, group);
            let before = facts.against_alone(below, THROUGHPUT).and_then(|alone| up_to(facts, alone, below));
            let words = facts.group_words(group);
            let place = if words.is_empty() { String::new() } else { format!(" {words}") };
            let mut row = |range: String, slope: Option<Interval>| {
                rows.extend(slope.map(|slope| vec![Cell::text(range), Cell::Share(slope)]));
            };
            row(format!("up to {name}{place}"), before);
            let (last, sessions) = (facts.label(&beyond.treatment, group), below.sessions);
            let top = facts.study.treatment(&beyond.treatment).map_or(sessions, |(_, top)| top.sessions);
            let behind = slope(&beyond.ratio, top.checked_sub(sessions)?, |ratio| ratio - 1.0);
            row(format!("from {name} to {last}{place}"), behind);
        }
    }
    let columns = vec![
        Column::text("sessions"),
        Column::figure(format!("each adds, as a share of the rate at {}", counted(cores as usize, "core"))),
    ];
    (!rows.is_empty())
        .then(|| Table::new("What a session adds, up to the number of cores and beyond it", columns, rows))
}

/// The points at the number of cores, each with a later one that is compared to it: the last without a run queue if the
/// study compares that one.
fn at_the_cores<'a>(facts: &Facts<'a>, group: &str, cores: u32) -> Vec<(&'a Treatment, &'a Estimate)> {
    let mut found: Vec<(&Treatment, &Estimate)> = Vec::new();
    // The furthest comes first.
    for kind in [ComparisonKind::BeyondCores, ComparisonKind::SweepStep] {
        for estimate in facts.throughput().filter(|estimate| estimate.kind == kind) {
            let Some((_, below)) = facts.study.treatment(&estimate.baseline) else { continue };
            let is_point = below.group == group && below.sessions == cores && below.role == Role::Compared;
            if is_point && !found.iter().any(|(other, _)| other.name == below.name) {
                found.push((below, estimate));
            }
        }
    }
    found
}

/// What each session adds between the baseline and a point.
fn up_to(facts: &Facts<'_>, alone: &Estimate, point: &Treatment) -> Option<Interval> {
    let mut all = facts.study.treatments.iter();
    let baseline = all.find(|other| other.group == point.group && other.role == Role::Baseline)?;
    slope(&alone.ratio, point.sessions.checked_sub(baseline.sessions)?, |ratio| 1.0 - 1.0 / ratio)
}

/// A slope by a function that grows with the ratio; none over no session, or without an interval.
fn slope(ratio: &Ratio, sessions: u32, share: impl Fn(f64) -> f64) -> Option<Interval> {
    let each = |ratio: f64| share(ratio) / f64::from(sessions);
    let is_known = sessions > 0 && ratio.low > 0.0 && ratio.high.is_finite();
    is_known.then(|| Interval {
        mean: each(ratio.value),
        low: each(ratio.low),
        high: each(ratio.high),
        unit: "share".to_owned(),
    })
}

/// Points with more sessions than the machine has logical CPUs for them.
fn run_queue(facts: &Facts<'_>) -> Option<Prose> {
    let allowed = facts.topology.allowed().len();
    let is_queued = |treatment: &&Treatment| {
        treatment.role == Role::Compared && allowed > 0 && treatment.sessions as usize > allowed
    };
    let mut names: Vec<&str> = facts
        .study
        .treatments
        .iter()
        .filter(is_queued)
        .map(|treatment| facts.label(&treatment.name, &treatment.group))
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    (!names.is_empty()).then(|| {
        prose!(
            "More sessions than logical CPUs (run queue), {} here: {}.",
            counted(allowed, "logical CPU"),
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ratio;

    #[test]
    fn sweeps_are_lines_and_single_placements_are_not() {
        assert_eq!(family("spread:4"), family("spread:16"));
        assert_eq!(family("4c1t"), family("12c1t"));
        assert_ne!(family("4c1t"), family("4c2t"));
        assert_ne!(family("0-3"), family("0-7"));
        let point = |placement: &str, sessions| RatePoint {
            label: 0,
            placement: placement.to_owned(),
            sessions,
            mean: 1.0,
            low: 1.0,
            high: 1.0,
        };
        let points = [
            point("one-cpu", 1),
            point("one-cpu", 1),
            point("same-core", 2),
            point("spread:4", 4),
            point("spread:2", 2),
        ];
        assert_eq!(sweeps(&points), [vec![0, 4, 3]]);
    }

    #[test]
    fn slopes_are_those_of_the_points() {
        // 100 rows/s of one session, 750 to 850 of eight on eight cores: 7 more sessions add 650 to 750.
        let before = slope(&ratio(8.0, 7.5, 8.5), 7, |ratio| 1.0 - 1.0 / ratio).unwrap();
        for (slope, rate) in [(before.low, 750.0), (before.mean, 800.0), (before.high, 850.0)] {
            assert!((slope - (rate - 100.0) / 7.0 / rate).abs() < 1e-12);
        }
        let behind = slope(&ratio(1.2, 0.96, 1.4), 8, |ratio| ratio - 1.0).unwrap();
        assert!((behind.mean - 0.025).abs() < 1e-12 && behind.low < 0.0 && behind.low < behind.high);
        assert_eq!(slope(&ratio(1.2, 0.0, f64::INFINITY), 8, |ratio| ratio - 1.0), None, "one block");
        assert_eq!(slope(&ratio(1.2, 1.1, 1.3), 0, |ratio| ratio - 1.0), None);
    }
}
