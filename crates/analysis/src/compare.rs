//! Several studies side by side: one row per comparison, one column per study.
//!
//! Only ratios are compared. A row is a different amount of work in each engine, so rows per second of two engines
//! cannot be compared; the ratio of an engine to itself can.

pub mod aspects;
pub mod change;
pub mod rates;

use crate::FindingKind;
use crate::estimate::first_reason;
use crate::groups::bare;
use crate::kind::COMPARABLE;
use crate::sections::neighbours;
use crate::words::finding;
use crate::{Answer, Estimate, Facts, NoiseFloor, Ratio, kinds};
use aspects::{Aspect, aspects, machines_differ};
use rates::{Rates, rates};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use threadwise_document::{Block, Cell, Column, Document, Finding, Mark, Prose, Says, Section, Shown, Table};
use threadwise_document::{numbers, prose};
use threadwise_study::{Comparison, Treatment};

/// Marks a ratio whose baseline's A/A is an alarm.
const ALARM: &str = "~";

/// What one study per side cannot show.
const CANNOT_TELL: &str = "One study per side cannot show whether anything changed: studies of one machine differ \
     from hour to hour by 1 to 3% more than their intervals say. Three per side can.";

/// A study in a list of several.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct StudyLine<'a> {
    /// Name of its result file.
    pub file: &'a str,
    /// Name of the study.
    pub name: &'a str,
    /// Engine.
    pub engine: &'a str,
    /// Its version; empty where it is not known.
    pub engine_version: &'a str,
    /// Workload.
    pub workload: &'a str,
    /// When it began, RFC 3339 in UTC.
    pub created_utc: &'a str,
    /// Whether a model gave the figures.
    pub simulated: bool,
    /// Blocks whose baseline was usable.
    pub blocks: u32,
    /// Level of the intervals.
    pub level: f64,
    /// The widest of all groups, its metric with the name that reports use.
    pub noise_floor: Option<NoiseFloor>,
    /// `before` or `after`, for two sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<&'static str>,
}

impl<'a> StudyLine<'a> {
    /// The entry of a study.
    pub fn of(facts: &Facts<'a>) -> Self {
        let study = facts.study;
        let metric = |floor: &NoiseFloor| kinds::of(study).metric_name(study, &floor.metric);
        Self {
            file: facts.source,
            name: &study.name,
            engine: &study.engine,
            engine_version: facts.engine_version,
            workload: study.workload.name(),
            created_utc: facts.created_utc,
            simulated: facts.is_simulated(),
            blocks: facts.analysis.blocks,
            level: facts.level(),
            noise_floor: facts
                .widest_floor()
                .map(|floor| NoiseFloor { metric: metric(floor), ..floor.clone() }),
            side: None,
        }
    }
}

/// The studies by number, with these columns, each named by its heading.
fn studies_section(studies: &[StudyLine<'_>], headings: &[&str]) -> Section {
    let floor = |study: &StudyLine<'_>| {
        let floor = study.noise_floor.as_ref().map(|floor| floor.floor.exp_m1());
        let floor = floor.filter(|floor| floor.is_finite());
        floor.map_or("unknown".to_owned(), |floor| format!("±{}", numbers::percent(floor)))
    };
    let row = |(number, study): (u64, &StudyLine<'_>)| {
        let cell = |heading: &&str| match *heading {
            "" => Cell::Count(number),
            "side" => Cell::text(study.side.unwrap_or_default()),
            "engine" => {
                let simulated = if study.simulated { "SIMULATED, " } else { "" };
                Cell::text(format!("{simulated}{} {}", study.engine, study.engine_version).trim())
            }
            "workload" => Cell::text(study.workload),
            "result file" => Cell::text(study.file),
            "begun" => Cell::text(study.created_utc),
            "blocks" => Cell::Count(study.blocks.into()),
            _ => Cell::Text(floor(study)),
        };
        headings.iter().map(cell).collect()
    };
    let column = |heading: &&str| match *heading {
        "blocks" | "noise floor" => Column::figure(*heading),
        _ => Column::text(*heading),
    };
    let table = Table::new("", headings.iter().map(column).collect(), (1..).zip(studies).map(row));
    Section::new("studies", "Studies", vec![Block::Table(table)])
}

/// Several studies with what they allow to say.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct SideBySide<'a> {
    /// The studies, in the order of all cells and values.
    pub studies: Vec<StudyLine<'a>>,
    /// What is the same and what differs.
    pub aspects: Vec<Aspect>,
    /// Rates by treatment; `None` if studies have none in common.
    pub rates: Option<Rates<'a>>,
    /// Why there are no rates; `None` if there are.
    pub no_rates: Option<String>,
    /// Comparisons by name, in order of first appearance.
    pub rows: Vec<Row<'a>>,
    /// Differences between the studies that matter, one per line.
    pub cautions: Vec<String>,
    /// What may be compared, and what may not.
    pub note: &'static str,
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Row<'a> {
    /// Its name, the same in every study that has it.
    pub name: &'a str,
    /// Quantity of its ratios: throughput, or a quantity of commands, with the name that reports use.
    pub metric: String,
    /// The quantity in words, if studies of commands have several.
    #[serde(skip)]
    pub quantity: &'a str,
    /// One per study, in their order.
    pub cells: Vec<Compared<'a>>,
}

/// One study's result of a comparison.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Compared<'a> {
    /// Its ratio.
    Ratio {
        /// The ratio.
        #[serde(flatten)]
        ratio: &'a Ratio,
        /// Margin, as a fraction.
        margin: f64,
        /// `better` or `worse`, or if neither is, `higher` or `lower`; `None` without a difference.
        meaning: Option<&'static str>,
        /// Whether A/A of its group is an alarm.
        a_a_alarm: bool,
    },
    /// No ratio, with the reason.
    Lacks {
        /// Why.
        reason: String,
    },
}

/// Puts the ratios of throughput of several studies side by side; for commands those of every quantity.
pub fn side_by_side<'a>(studies: &[Facts<'a>]) -> SideBySide<'a> {
    let aspects = aspects(studies);
    let (rates, no_rates) = match rates(studies, &aspects) {
        Ok(rates) => (Some(rates), None),
        Err(why) => (None, Some(why)),
    };
    SideBySide {
        studies: studies.iter().map(StudyLine::of).collect(),
        rates,
        no_rates,
        rows: rows(studies),
        cautions: cautions(studies, &aspects),
        note: note(studies),
        aspects,
    }
}

/// What may be compared, and what may not: what all kinds have in common.
fn note(studies: &[Facts<'_>]) -> &'static str {
    let mut all: Vec<&str> = studies.iter().map(|facts| kinds::of(facts.study).comparable()).collect();
    all.dedup();
    if let [same] = all.as_slice() { same } else { COMPARABLE }
}

fn rows<'a>(studies: &[Facts<'a>]) -> Vec<Row<'a>> {
    // A comparison with its metric; its treatment explains why another study lacks it.
    let mut all: Vec<(&'a Comparison, &'a str)> = Vec::new();
    // Headlines first: studies may have different ones.
    let most = studies.iter().map(|facts| metrics(facts).len()).max().unwrap_or(0);
    for rank in 0..most {
        for facts in studies {
            let Some(&metric) = metrics(facts).get(rank) else { continue };
            for comparison in &facts.study.comparisons {
                let is_known = |(known, its_metric): &(&Comparison, &str)| {
                    known.name == comparison.name && *its_metric == metric
                };
                if !all.iter().any(is_known) {
                    all.push((comparison, metric));
                }
            }
        }
    }
    let with_commands = studies.iter().find(|facts| facts.study.runs_whole()).map(|facts| facts.study);
    let commands = studies.iter().filter_map(|facts| facts.analysis.commands.as_ref());
    let row = |(comparison, metric): (&'a Comparison, &'a str)| Row {
        name: &comparison.name,
        metric: with_commands
            .map_or_else(|| metric.to_owned(), |study| kinds::of(study).metric_name(study, metric)),
        quantity: commands.clone().find_map(|all| all.quantity(metric)).map_or("throughput", |one| &one.name),
        cells: studies.iter().map(|facts| cell(facts, comparison, metric)).collect(),
    };
    all.into_iter().map(row).collect()
}

/// Quantities of a study's ratios, the headline first.
fn metrics<'a>(facts: &Facts<'a>) -> Vec<&'a str> {
    match &facts.analysis.commands {
        Some(commands) => commands.quantities.iter().map(|quantity| quantity.metric.as_str()).collect(),
        None => vec![facts.analysis.headline()],
    }
}

fn cell<'a>(facts: &Facts<'a>, comparison: &Comparison, metric: &str) -> Compared<'a> {
    let mut estimates = facts.analysis.estimates.iter().filter(|estimate| estimate.metric == metric);
    match estimates.find(|estimate| estimate.name == comparison.name) {
        Some(estimate) => Compared::Ratio {
            ratio: &estimate.ratio,
            margin: estimate.ratio.margin,
            meaning: estimate.ratio.is_different().then(|| estimate.ratio.meaning()),
            a_a_alarm: has_alarm(facts, estimate),
        },
        None => Compared::Lacks { reason: why_not(facts, comparison, metric) },
    }
}

/// Whether A/A of an estimate's group is an alarm.
fn has_alarm(facts: &Facts<'_>, estimate: &Estimate) -> bool {
    let floor = facts.analysis.floor(facts.group_of(&estimate.treatment), &estimate.metric);
    floor.is_some_and(|floor| floor.alarm.is_some())
}

/// Why a study has no such ratio: it lacks the metric, its machine lacks something, its runs do not count, or it was
/// not asked for it.
fn why_not(facts: &Facts<'_>, comparison: &Comparison, metric: &str) -> String {
    if !metrics(facts).contains(&metric) {
        return "not measured".to_owned();
    }
    if let Some(gap) = facts.analysis.commands.as_ref().and_then(|all| all.gap(&comparison.name, metric)) {
        return format!("no ratio: {}", gap.reason);
    }
    if let Some(same) = facts.study.comparisons.iter().find(|other| other.name == comparison.name) {
        return why_no_run(facts, same);
    }
    let treatment = comparison.treatment.as_str();
    let lines = facts.study.left_out.iter().filter_map(|line| line.split_once(':'));
    let mut reasons = lines.filter(|(what, _)| [treatment, bare(treatment)].contains(what));
    reasons.next().map_or_else(|| "not asked".to_owned(), |(_, why)| why.trim().to_owned())
}

/// Why no run of a comparison of the study is usable.
pub(crate) fn why_no_run(facts: &Facts<'_>, comparison: &Comparison) -> String {
    let mut sides = std::iter::once(&comparison.treatment).chain(&comparison.baseline);
    let excluded = &facts.analysis.excluded_blocks;
    let reason = sides.find_map(|side| first_reason(excluded, side, facts.group_of(side)));
    reason.unwrap_or("no usable run").to_owned()
}

/// Differences to know before comparing two columns.
fn cautions(studies: &[Facts<'_>], aspects: &[Aspect]) -> Vec<String> {
    let Some((first, rest)) = studies.split_first() else { return Vec::new() };
    let both: Vec<(&Treatment, &Treatment)> = rest
        .iter()
        .flat_map(|facts| {
            let known = first.study.treatments.iter();
            known.filter_map(|one| Some((one, facts.study.treatment(&one.name)?.1)))
        })
        .collect();
    let placed = |one: &Treatment| (one.placement.clone(), one.sessions, one.pin);
    let unlike = both.iter().flat_map(|(one, other)| {
        let names = one.options.keys().chain(other.options.keys());
        names.filter(|name| one.options.get(*name) != other.options.get(*name)).map(String::as_str)
    });
    let options = unlike.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ");
    let options = format!("treatments of the same name have other values of {options}");
    let lines = [
        (studies.iter().any(Facts::is_simulated), "some figures are from a model, not from a machine"),
        (
            rest.iter().any(|facts| facts.study.workload != first.study.workload),
            "the workloads differ: a ratio belongs to its own",
        ),
        (machines_differ(aspects), "the machines differ, or the logical CPUs that were allowed"),
        (
            both.iter().any(|(one, other)| placed(one) != placed(other)),
            "treatments of the same name have different placements or sessions",
        ),
        (both.iter().any(|(one, other)| one.options != other.options), &options),
    ];
    lines.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text.to_owned()).collect()
}

/// The cautions as lines of a verdict.
fn mind(cautions: &[String]) -> impl Iterator<Item = Finding> {
    cautions.iter().map(|line| finding(FindingKind::Caution, prose!("Mind: {}.", line), &[]))
}

/// The report of several studies, each with its file as [`Facts::source`].
pub fn document(studies: &[Facts<'_>], program_version: &str) -> Document {
    let made = side_by_side(studies);
    let mut verdict: Vec<Finding> = mind(&made.cautions).collect();
    verdict
        .extend(agreement(&made.rows, studies.len()).map(|line| finding(FindingKind::Agreement, line, &[])));
    let rates = made.rates.as_ref().filter(|rates| !rates.rows.is_empty());
    if rates.is_some_and(|rates| rates.no_ratios.is_none()) {
        verdict.push(finding(FindingKind::Change, CANNOT_TELL, &[]));
    }
    let mut ratios = match made.rows.is_empty() {
        true => vec![Block::text("No comparison in any of them.")],
        false => [vec![Block::Table(ratios(studies, &made.rows))], legend()].concat(),
    };
    ratios.push(Block::text(made.note));
    let headings = ["", "engine", "workload", "result file", "blocks", "noise floor"];
    let columns: Vec<_> = (0..studies.len()).map(|at| ((at + 1).to_string(), vec![at])).collect();
    let sections = [
        Some(studies_section(&made.studies, &headings)),
        (studies.len() > 1).then(|| aspects::section(&made.aspects, &columns)),
        rates.map(rates::section),
        Some(Section::new("ratios", "Ratios", ratios)),
        neighbours::profile(studies)
            .map(|figure| Section::new("neighbours", "Second threads", vec![Block::Figure(figure)])),
    ];
    Document {
        title: format!("Ratios of {} side by side", unit(studies)),
        simulated: studies.iter().any(Facts::is_simulated),
        verdict,
        sections: sections.into_iter().flatten().collect(),
        footer: format!("threadwise {program_version}"),
        ..Document::default()
    }
}

/// How many comparisons of all studies agree, and which point in opposite directions.
fn agreement(rows: &[Row<'_>], studies: usize) -> Option<Prose> {
    let answer = |found: &Compared<'_>| match found {
        Compared::Ratio { ratio, .. } => Some(ratio.answer),
        Compared::Lacks { .. } => None,
    };
    let answers = |row: &Row<'_>| row.cells.iter().map(answer).collect::<Option<Vec<Answer>>>();
    let common: Vec<(&str, Vec<Answer>)> =
        rows.iter().filter_map(|row| Some((row.name, answers(row)?))).collect();
    if studies < 2 || common.is_empty() {
        return None;
    }
    let same = common.iter().filter(|(_, all)| all.windows(2).all(|two| two[0] == two[1]));
    let is_opposite = |all: &[Answer]| [Answer::Larger, Answer::Smaller].iter().all(|one| all.contains(one));
    let opposite: Vec<&str> =
        common.iter().filter(|(_, all)| is_opposite(all)).map(|(name, _)| *name).collect();
    let opposite = match opposite.len() {
        0 => "none points in opposite directions".to_owned(),
        count => format!("{count} in opposite directions ({})", opposite.join(", ")),
    };
    let count = numbers::counted(common.len(), "common comparison");
    Some(prose!("Of {} the same sign in all studies: {}; {}.", count, same.count().to_string(), opposite))
}

/// Quantity of the ratios: the unit that all studies have in common.
fn unit(studies: &[Facts<'_>]) -> &'static str {
    if !studies.is_empty() && studies.iter().all(|facts| facts.study.runs_whole()) {
        return "commands";
    }
    let one = |facts: &Facts<'_>| match facts.study.is_at_a_rate() {
        true => "mean latency",
        false => facts.study.nouns().rate,
    };
    let mut units: Vec<&str> = studies.iter().map(one).collect();
    units.dedup();
    match units.as_slice() {
        [] => "rows/s",
        [one] => one,
        _ => "throughput",
    }
}

/// One row per comparison, one column per study. If any study is of commands, rows name their quantity.
fn ratios(studies: &[Facts<'_>], rows: &[Row<'_>]) -> Table {
    let any_runs = studies.iter().any(|facts| facts.study.runs_whole());
    let says = if any_runs { Says::Better } else { Says::Higher };
    let cell = |found: &Compared<'_>| match found {
        Compared::Lacks { reason } => Cell::Gap(reason.clone()),
        Compared::Ratio { ratio, a_a_alarm, .. } => match Cell::Ratio((*ratio).clone(), says) {
            cell if *a_a_alarm => Cell::Both(Box::new(cell), Box::new(Cell::text(ALARM))),
            cell => cell,
        },
    };
    let lines = rows.iter().map(|row| {
        let name = match any_runs {
            true => format!("{} ({})", row.name, row.quantity),
            false => row.name.to_owned(),
        };
        std::iter::once(Cell::Text(name)).chain(row.cells.iter().map(cell)).collect()
    });
    let numbers = (1..=studies.len()).map(|number| Column::text(number.to_string()).shorten_at(1));
    let columns = std::iter::once(Column::text("comparison")).chain(numbers).collect();
    Table::new("", columns, lines)
}

/// What the signs mean; the page explains those of ratios.
fn legend() -> Vec<Block> {
    let sign: Prose =
        format!("{ALARM} the same, run twice, differed, or agrees only within more than the margin").into();
    let signs = Mark::ALL.into_iter().map(Prose::sign).chain([sign.clone()]);
    vec![Block::Legend(signs.collect(), Shown::Terminal), Block::Legend(vec![sign], Shown::Page)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse_on;
    use crate::fixtures::{machine, run, study};
    use threadwise_study::engine::Properties;
    use threadwise_study::{OptionValue, Run, RunStatus};

    fn runs(ratios: &[(&str, u64)]) -> Vec<Run> {
        let one = |block: u32| {
            let all = [("A", 100_000), ("A'", 100_000)].into_iter().chain(ratios.iter().copied());
            // Each wobbles on its own.
            all.zip(0u32..).map(move |((name, rows), at)| {
                let rows = rows + u64::from((block * 7 + at * 5) % 9) * rows / 2000;
                run(block, name, &[rows])
            })
        };
        (0..8).flat_map(|block| one(block).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn rows_are_matched_by_name_and_gaps_have_reasons() {
        let topology = machine(1, 2, 1);
        let one = study(&[""], &["P same-package 2", "O one-cpu 2"]);
        let mut two = study(&[""], &["O one-cpu 2", "X cross-package 2"]);
        two.left_out = vec!["P: no second core".to_owned()];
        let first = analyse_on(&one, None, &runs(&[("P", 190_000), ("O", 100_010)]), 1.0);
        let mut failed = runs(&[("O", 50_000), ("X", 1)]);
        for run in failed.iter_mut().filter(|run| run.treatment == "X") {
            run.status = RunStatus::Failed { kind: "crash".to_owned(), message: "gone".to_owned() };
        }
        let mut second = analyse_on(&two, None, &failed, 1.0);
        second.noise_floors[0].alarm = Some(crate::estimate::Alarm::Wide);
        let studies = [Facts::new(&one, &topology, &first), Facts::new(&two, &topology, &second)];
        let table = side_by_side(&studies);
        let names: Vec<&str> = table.rows.iter().map(|row| row.name).collect();
        assert_eq!(names, ["P : A+A'", "O : A+A'", "X : A+A'"]);
        let ratio = |row: usize, column: usize| match &table.rows[row].cells[column] {
            Compared::Ratio { ratio, a_a_alarm, .. } => (format!("{:.2}", ratio.value), *a_a_alarm),
            Compared::Lacks { reason } => (reason.clone(), false),
        };
        assert_eq!(ratio(0, 0), ("1.90".to_owned(), false));
        assert_eq!(ratio(0, 1), ("no second core".to_owned(), false));
        assert_eq!(ratio(1, 0), ("1.00".to_owned(), false));
        assert_eq!(ratio(1, 1), ("0.50".to_owned(), true));
        assert_eq!(ratio(2, 0), ("not asked".to_owned(), false));
        assert_eq!(ratio(2, 1), ("crash: gone".to_owned(), false));
        assert_eq!(table.cautions, Vec::<String>::new());
    }

    #[test]
    fn what_differs_is_said() {
        let (small, large) = (machine(1, 2, 1), machine(1, 4, 1));
        let one = study(&[""], &["P same-package 2"]);
        let mut two = one.clone();
        (two.workload, two.engine) = ("insert".into(), "simulated".to_owned());
        two.engine_properties = Some(Properties { simulated: true, ..Properties::default() });
        two.treatments[2].sessions = 3;
        two.treatments[0].options.insert("loop".to_owned(), OptionValue::Text("server".to_owned()));
        let analysis = analyse_on(&one, None, &[], 1.0);
        let studies = [Facts::new(&one, &small, &analysis), Facts::new(&two, &large, &analysis)];
        let table = side_by_side(&studies);
        let lacks = || Compared::Lacks { reason: "no usable run".to_owned() };
        assert_eq!(table.rows[0].cells, [lacks(), lacks()]);
        assert_eq!(table.cautions.len(), 5, "{:?}", table.cautions);
        assert!(table.cautions[4].ends_with("other values of loop"));
        assert_eq!(side_by_side(&[]).rows, []);
    }

    #[test]
    fn a_document_has_a_column_a_study_and_a_reason_for_each_gap() {
        let topology = machine(1, 2, 1);
        let one = study(&[""], &["P same-package 2", "O one-cpu 2"]);
        let mut two = one.clone();
        two.workload = "insert".into();
        let mut measured = analyse_on(&one, None, &runs(&[("P", 190_000), ("O", 100_010)]), 1.0);
        measured.noise_floors[0].alarm = Some(crate::estimate::Alarm::Different);
        let nothing = analyse_on(&two, None, &[], 1.0);
        let facts = [Facts::new(&one, &topology, &measured), Facts::new(&two, &topology, &nothing)];
        let made = document(&facts, "1.0");
        assert_eq!(made.title, "Ratios of rows/s side by side");
        let cautions: Vec<String> = made.verdict.iter().map(Finding::text).collect();
        assert_eq!(cautions, ["Mind: the workloads differ: a ratio belongs to its own."]);
        let Block::Table(table) = &made.section("ratios").unwrap().blocks[0] else { panic!("no table") };
        let rows: Vec<&Vec<Cell>> = table.cells().collect();
        assert_eq!((rows.len(), &rows[0][0]), (2, &Cell::text("P : A+A'")));
        let is_ratio = |cell: &Cell| matches!(cell, Cell::Ratio(ratio, _) if ratio.value > 1.8);
        let Cell::Both(ratio, alarm) = &rows[0][1] else { panic!("{:?}", rows[0]) };
        assert!(is_ratio(ratio) && **alarm == Cell::text("~"), "{:?}", rows[0]);
        assert_eq!(rows[0][2], Cell::Gap("no usable run".to_owned()));
        assert_eq!(
            document(&[], "1.0").section("ratios").unwrap().blocks.len(),
            2,
            "that there is none, and the foot"
        );
    }
}
