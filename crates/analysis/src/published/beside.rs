//! Published ratios compared with those of a study: which comparisons are meant, what was measured, and the section
//! "Published and measured ratios".
//!
//! A published comparison is found by its name, or by its two sides. A degree of parallelism below the number of cores
//! is matched by number; others by what they were on the published machine, since 4 are all cores there and half of the
//! logical CPUs elsewhere.

use crate::compare::why_no_run;
use crate::groups::{bare, grouped};
use crate::words::{first, more};
use crate::{Facts, Ratio, kinds};
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_document::numbers::{counted, set_percent};
use threadwise_document::{Block, Cell, Column, Direction, Prose, Section, Shown, Table, prose};
use threadwise_machine::Topology;
use threadwise_published::{self as published, Dop, Published, Side, find};
use threadwise_study::{Comparison, ComparisonKind, OptionValue, Treatment};

/// Name of the option with a treatment's degree of parallelism.
const DOP: &str = "dop";

/// Longest option, with its value, that is shown.
const LONGEST: usize = 32;

/// Most names per reason in a line.
const MOST_NAMES: usize = 12;

/// Warning if a program computes what the processor does.
const EMULATED: &str = "EMULATED: a program computes what the processor does; no ratio measured here describes a real \
 machine.";

/// Published ratios and measured ones.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Beside {
    /// Name of the published study.
    pub name: String,
    /// One per published comparison of the study.
    pub rows: Vec<Row>,
    /// Published comparisons that the study does not have.
    pub only_published: Vec<String>,
    /// Comparisons of the study, without those with the baseline, that have no published figure.
    pub only_here: Vec<String>,
    /// Differences, whatever the ratios are.
    pub differs: Vec<Differs>,
    /// What no command can repeat.
    pub cannot_redo: Vec<NotRedone>,
}

/// A published ratio and a measured one; both are of rates, treatment over baseline.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Row {
    /// Name of the comparison in the study.
    pub comparison: String,
    /// What was compared in the article.
    pub what: String,
    /// Ratio with the published digits.
    pub published_text: String,
    /// The published ratio as a number.
    pub published: f64,
    /// Whether the article prints it; otherwise it was recomputed.
    pub is_printed: bool,
    /// Measured ratio with its interval; `None` if there is none.
    pub measured: Option<Ratio>,
    /// Whether the published number is in the measured interval; `None` without an interval.
    pub in_interval: Option<bool>,
    /// Why there is no measured ratio.
    pub reason: Option<String>,
}

/// One difference between the published study and this one.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Differs {
    /// `machine`, `engine`, `size`, `when`, `ratios of`.
    pub what: &'static str,
    /// Published value.
    pub published: String,
    /// Value of this study.
    pub here: String,
}

/// What no command can repeat.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct NotRedone {
    /// Name.
    pub what: String,
    /// Why.
    pub why: String,
}

/// Compares a study with the published study of the same name, as its report does; `None` if there is none, or if
/// nothing is compared in both.
pub fn beside_same(facts: &Facts<'_>) -> Option<Beside> {
    let published = find(&facts.study.name).ok()?;
    (published.workload == facts.study.workload.name())
        .then(|| beside_any(facts, &published))
        .filter(|found| !found.rows.is_empty())
}

/// Compares a published study with any other one, whatever its name.
pub fn beside_any(facts: &Facts<'_>, published: &Published) -> Beside {
    let (mut rows, mut only_published) = (Vec::new(), Vec::new());
    let mut matched: Vec<&str> = Vec::new();
    for theirs in &published.comparisons {
        let mut sides: Vec<(&str, &[String])> = Vec::new();
        for ours in facts.study.comparisons.iter().filter(|ours| is_meant(theirs, facts, ours)) {
            matched.push(&ours.name);
            // A study may have one comparison under two names.
            if !sides.contains(&(ours.treatment.as_str(), ours.baseline.as_slice())) {
                sides.push((&ours.treatment, &ours.baseline));
                rows.extend(row(facts, published, theirs, ours));
            }
        }
        if sides.is_empty() {
            // With what distinguishes it from others of the name.
            let says = theirs.says.as_ref().map_or(String::new(), |says| format!(" ({says})"));
            only_published.push(format!("{}{says}", theirs.name));
        }
    }
    let ours = facts.study.comparisons.iter();
    let ours =
        ours.filter(|one| one.kind != ComparisonKind::Baseline && !matched.contains(&one.name.as_str()));
    Beside {
        name: published.name.clone(),
        rows,
        only_published,
        only_here: ours.map(|one| one.name.clone()).collect(),
        differs: differs(facts, published),
        cannot_redo: cannot_redo(published),
    }
}

/// What no command can repeat of a published study.
pub(super) fn cannot_redo(published: &Published) -> Vec<NotRedone> {
    let all = published.cannot_redo().into_iter();
    all.map(|(what, why)| NotRedone { what, why: why.to_owned() }).collect()
}

/// Whether a comparison of the study is the published one: no side has a different value of an option of the published
/// study, and it has the name, or sides that are alike.
fn is_meant(theirs: &published::Comparison, facts: &Facts<'_>, ours: &Comparison) -> bool {
    let treatment = |name: &String| Some(facts.study.treatment(name)?.1);
    let sides = treatment(&ours.treatment).zip(ours.baseline.first().and_then(treatment));
    let Some((top, below)) = sides else { return false };
    let fits = |side: &Option<Side>, treatment: &Treatment| {
        side.as_ref().is_some_and(|side| is_side(side, treatment, facts.topology))
    };
    let agrees = |side: &Treatment| {
        let mut options = theirs.options.iter();
        options.all(|(name, value)| side.options.get(name).is_none_or(|given| given.to_string() == *value))
    };
    let is_alike = || fits(&theirs.treatment, top) && fits(&theirs.baseline, below);
    agrees(top) && agrees(below) && (bare(&ours.name) == theirs.name || is_alike())
}

fn is_side(side: &Side, treatment: &Treatment, topology: &Topology) -> bool {
    let cores = topology.cores.len() as i64;
    let has_dop = |dop: Dop| match (treatment.options.get(DOP), dop) {
        (Some(OptionValue::Integer(given)), Dop::Cores) => *given == cores,
        (Some(OptionValue::Integer(given)), Dop::LogicalCpus) => *given == topology.allowed().len() as i64,
        (Some(OptionValue::Integer(given)), Dop::Number(number)) => {
            *given == i64::from(number) && *given < cores
        }
        _ => false,
    };
    treatment.placement.text == side.placement
        && side.sessions.is_none_or(|sessions| sessions == treatment.sessions)
        && side.dop.is_none_or(has_dop)
}

fn row(
    facts: &Facts<'_>,
    published: &Published,
    theirs: &published::Comparison,
    ours: &Comparison,
) -> Option<Row> {
    let figure = published.figure(&theirs.figure)?;
    let number = figure.number()?;
    let measured = measured(facts, ours);
    let ends = measured.as_ref().ok().filter(|ratio| ratio.has_ends());
    Some(Row {
        comparison: ours.name.clone(),
        what: figure.what.clone(),
        published_text: figure.text(),
        published: number,
        is_printed: figure.is_printed(),
        in_interval: ends.map(|ratio| (ratio.low..=ratio.high).contains(&number)),
        reason: measured.as_ref().err().cloned(),
        measured: measured.ok(),
    })
}

/// The ratio of rates of a comparison, or why there is none.
fn measured(facts: &Facts<'_>, ours: &Comparison) -> Result<Ratio, String> {
    let headline = facts.analysis.headline();
    let mut all = facts.analysis.estimates.iter();
    let found = all.find(|estimate| estimate.metric == headline && estimate.name == ours.name);
    let ratio = &found.ok_or_else(|| why_no_run(facts, ours))?.ratio;
    match ratio.direction {
        Direction::HigherIsBetter => Ok(ratio.clone()),
        Direction::LowerIsBetter => Ok(ratio.inverse()),
        Direction::Neither => Err("the study's headline is neither a rate nor a time".to_owned()),
    }
}

/// `2 packages × 8 cores × 2 threads`.
pub(super) fn counts(packages: usize, cores: usize, threads: usize) -> String {
    [counted(packages, "package"), counted(cores, "core"), counted(threads, "thread")].join(" × ")
}

/// The same for a published machine.
pub(super) fn counts_of(machine: &published::Machine) -> String {
    let [packages, cores, threads] =
        [machine.packages, machine.cores_per_package, machine.threads_per_core].map(|count| count as usize);
    counts(packages, cores, threads)
}

fn differs(facts: &Facts<'_>, published: &Published) -> Vec<Differs> {
    let study = facts.study;
    let kind = kinds::of(study);
    let list = || {
        let list = facts.analysis.worklist.as_ref()?;
        let items = counted(list.items? as usize, "item");
        Some(if list.recipe.is_empty() { items } else { format!("{items}, recipe {}", list.recipe) })
    };
    let size = kind.about(facts).or_else(list).filter(|size| !size.is_empty());
    let year = published.source.year.map_or("year not stated".to_owned(), |year| format!("in {year}"));
    // RFC 3339: the date.
    let date = facts.created_utc.get(..10).map_or("date unknown".to_owned(), |date| format!("on {date}"));
    let engine = format!("{} {}", study.engine, facts.engine_version);
    let one = |what, published: String, here: String| Differs { what, published, here };
    vec![
        one(
            "machine",
            format!("{}, {}", counts_of(&published.machine), published.machine.model),
            machine(facts.topology),
        ),
        one("engine", published.engine.name.clone(), engine.trim().to_owned()),
        one("size", published.size.about.clone(), size.unwrap_or_else(|| options(facts))),
        one("when", year, date),
        one("ratios of", published.ratios_of.clone(), kind.metric_name(study, facts.analysis.headline())),
    ]
}

/// Counts and model of this machine; cores of all packages together if packages differ.
fn machine(topology: &Topology) -> String {
    let (packages, cores) = (topology.packages.len().max(1), topology.cores.len());
    let threads = topology.max_threads_per_core();
    let words = match cores.is_multiple_of(packages) {
        true => counts(packages, cores / packages, threads),
        false => format!(
            "{} with {} in total × {}",
            counted(packages, "package"),
            counted(cores, "core"),
            counted(threads, "thread")
        ),
    };
    let model = topology.identity.cpu_model.as_deref().unwrap_or("processor unknown");
    format!("{words}, {}", model.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Options of the workload that all treatments share, except long ones.
fn options(facts: &Facts<'_>) -> String {
    let Some((first, rest)) = facts.study.treatments.split_first() else { return String::new() };
    let is_shared = |name: &String, value| rest.iter().all(|one| one.options.get(name) == Some(value));
    let shared = first.options.iter().filter(|(name, value)| is_shared(name, value));
    let parts = shared.map(|(name, value)| format!("{name}={value}"));
    let short: Vec<String> = parts.filter(|part| part.len() <= LONGEST).collect();
    match short.is_empty() {
        true => format!("defaults of {}", facts.study.workload),
        false => short.join(", "),
    }
}

/// The section of a study that repeats a published one.
pub fn section(facts: &Facts<'_>, beside: &Beside) -> Section {
    let emulated = facts.topology.identity.is_emulated();
    let mut blocks = vec![Block::Table(ratios(facts, &beside.rows))];
    blocks.extend(emulated.then(|| Block::text(EMULATED)));
    blocks.extend([Block::text(foot(facts, beside)), differences(beside)]);
    blocks.extend(unmatched(beside));
    blocks.extend(cannot(&beside.cannot_redo));
    Section::new("theirs", "Published and measured ratios", blocks)
}

fn ratios(facts: &Facts<'_>, rows: &[Row]) -> Table {
    let measured = |row: &&Row| match &row.measured {
        Some(ratio) => Cell::BareRatio(ratio.clone()),
        None => Cell::Gap(row.reason.clone().unwrap_or_default()),
    };
    Table::of(
        facts.titled("Published and measured ratios of rates", ""),
        rows,
        &[
            (Column::text("comparison"), &|row| Cell::text(&row.comparison)),
            (Column::text("what was published").drop_at(1), &|row| Cell::text(&row.what)),
            (Column::figure("published"), &|row| Cell::text(&row.published_text)),
            (Column::text("measured here").shorten_at(2), &measured),
            (Column::text("in interval"), &|row| match row.in_interval {
                Some(is_in) => Cell::text(if is_in { "yes" } else { "no" }),
                None => Cell::none(),
            }),
        ],
    )
}

fn foot(facts: &Facts<'_>, beside: &Beside) -> Prose {
    let level = facts.level();
    prose!(
        "Published ratios have no interval. A measured interval, at a level of {}, excludes an equal ratio by chance \
         in {} of studies. Whether a published number is in it does not show why: all of the following differs at \
         once. All figures: `threadwise published {}`.",
        set_percent(level),
        set_percent(1.0 - level),
        &beside.name
    )
}

fn differences(beside: &Beside) -> Block {
    let line = |one: &Differs| prose!("{}: published {}; here {}.", one.what, &one.published, &one.here);
    Block::List(beside.differs.iter().map(line).collect(), Shown::Everywhere)
}

fn unmatched(beside: &Beside) -> Vec<Block> {
    let all = [
        ("Published, but not compared in this study", &beside.only_published),
        ("Compared in this study, but not published as a figure", &beside.only_here),
    ];
    let line = |head: &str, names: &[String]| {
        prose!("{}: {}.", head, first(names.iter().cloned(), MOST_NAMES, more).join("; "))
    };
    let known = all.into_iter().filter(|(_, names)| !names.is_empty());
    known.map(|(head, names)| Block::text(line(head, names))).collect()
}

/// What no command can repeat, one line per reason.
pub(super) fn cannot(all: &[NotRedone]) -> Vec<Block> {
    let line = |(why, names): (&String, Vec<&str>)| prose!("{} ({}).", names.join("; "), why);
    let reasons = grouped(all.iter().map(|one| (&one.why, one.what.trim_end_matches('.'))));
    match reasons.is_empty() {
        true => Vec::new(),
        false => vec![
            Block::text("No command can repeat yet:"),
            Block::List(reasons.into_iter().map(line).collect(), Shown::Everywhere),
        ],
    }
}
