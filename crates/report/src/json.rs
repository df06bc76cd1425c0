//! The JSON forms for other programs: version 1, documented in docs/JSON.md.
//!
//! Fields are those of the values themselves, which derive `Serialize`; this module has the forms of whole documents,
//! and fields that are made from several values. Unknown is `null`; a number that is not finite is `null` too
//! (serde_json makes it so).

pub(crate) mod by_state;
mod card;
pub(crate) mod form;
pub(crate) mod lines;
mod machine;
mod observed;
pub mod schema;

pub use card::{card_line, card_schema, explained, read_card};
pub use form::VERSION;
pub use lines::{items_jsonl, looks_jsonl, neighbours, queries_jsonl, runs_jsonl, slices_jsonl, watched};
pub use machine::{PlacementCpus, probe, topology};
pub use observed::{observed, observed_comparison};

use crate::estimates::{Analysed, StudyEstimate};
use crate::terminal::DoctorRow;
use crate::{Document, Facts};
use form::{line, list, merged, pretty, text};
use machine::Machine;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use threadwise_analysis::compare::change::{self, Change, Changed};
use threadwise_analysis::compare::{StudyLine, side_by_side};
use threadwise_analysis::fleet::{Fleet, Judged};
use threadwise_analysis::published::{Beside, beside_any, beside_same};
use threadwise_analysis::scaling_law::SeriesLaw;
use threadwise_analysis::spins::{Cost, Counted, Kind, Samples};
use threadwise_document::{Advice, Finding, Screen};
use threadwise_headroom::{Bounds, Row};
use threadwise_machine::Pin;
use threadwise_published::Published;
use threadwise_study::{Design, Options, Quota, Role, Treatment, Workload};

/// The report of a study.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "threadwise report, version 1")]
pub struct Report<'a> {
    /// Version of this form, 1.
    version: u32,
    /// The program that measured.
    program: Program<'a>,
    /// The result file.
    source: &'a str,
    /// Start of the study (RFC 3339).
    created_utc: &'a str,
    /// Whether the figures are those of a model.
    simulated: bool,
    /// The answer on one screen.
    screen: &'a Screen,
    /// What to set, the most important first.
    advice: &'a [Advice],
    /// The study as planned.
    study: StudyPlan<'a>,
    /// The machine on which it ran, as declared.
    machine: Machine<'a>,
    /// Treatments in study order.
    treatments: Vec<PlannedTreatment<'a>>,
    /// Blocks whose baseline was usable.
    blocks: u32,
    /// Blocks that were left out, with the reason.
    excluded_blocks: &'a [String],
    /// Runs that do not count.
    #[schemars(with = "Vec<Map<String, Value>>")]
    failures: Vec<Value>,
    /// All estimates.
    estimates: Vec<StudyEstimate>,
    /// Answers, counts and texts that have no interval, by question.
    #[schemars(with = "Map<String, Value>")]
    details: Map<String, Value>,
    /// Everything that was found, in reading order.
    findings: &'a [Finding],
    /// Notes of engines and of the program.
    notes: Vec<&'a str>,
    /// The machine as measured (docs/JSON.md, Probe); `null` without a measurement.
    #[schemars(with = "Option<Map<String, Value>>")]
    probe: Option<Value>,
    /// Beside the published study of the same name, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<Beside>,
}

/// The program that measured.
#[derive(Serialize, JsonSchema)]
struct Program<'a> {
    /// `threadwise`.
    name: &'static str,
    /// Its version.
    version: &'a str,
}

/// A study as planned.
#[derive(Serialize, JsonSchema)]
struct StudyPlan<'a> {
    /// Its name.
    name: &'a str,
    /// Its heading.
    title: &'a str,
    /// Seed of everything random, as text: it has 64 bits.
    seed: String,
    /// The engine.
    engine: &'a str,
    /// Its version, as it reported it.
    engine_version: &'a str,
    /// Its options.
    #[schemars(with = "Map<String, Value>")]
    engine_options: &'a Options,
    /// The workload.
    #[schemars(with = "String")]
    workload: &'a Workload,
    /// Rounds, slices, level, margin and when it stops.
    #[schemars(with = "Map<String, Value>")]
    design: &'a Design,
    /// The CPU quota that slices are made for.
    #[schemars(with = "Option<Map<String, Value>>")]
    quota: Option<Quota>,
    /// What the machine lacks, a line each.
    left_out: &'a [String],
}

/// A treatment: what was planned, and how many of its runs count.
#[derive(Serialize, JsonSchema)]
struct PlannedTreatment<'a> {
    /// Its name.
    treatment: &'a str,
    /// Treatments of a group have a common baseline.
    group: &'a str,
    /// Its placement.
    placement: &'a str,
    /// Sessions (jobs, streams).
    sessions: u32,
    /// `baseline`, `baseline-twin` or `compared`.
    #[schemars(with = "String")]
    role: Role,
    /// `each` or `set`.
    #[schemars(with = "String")]
    pin: Pin,
    /// Options of its workload.
    #[schemars(with = "Map<String, Value>")]
    options: &'a Options,
    /// Levels of its factors.
    factors: &'a BTreeMap<String, String>,
    /// Runs that count.
    runs: u32,
    /// Runs that failed.
    failed: u32,
    /// Runs that were left out.
    excluded: u32,
}

/// The report: study, machine, treatments, estimates, findings.
pub fn report(facts: &Facts<'_>, document: &Document) -> String {
    let study = facts.study;
    let failed = facts.runs.iter().filter(|run| !run.status.is_valid());
    let Analysed { estimates, mut details } = Analysed::of(facts);
    details.remove("blocks");
    details.remove("excluded_blocks");
    let report = Report {
        version: VERSION,
        program: Program { name: "threadwise", version: facts.program_version },
        source: facts.source,
        created_utc: facts.created_utc,
        simulated: facts.is_simulated(),
        screen: &document.screen,
        advice: &document.advice,
        study: StudyPlan {
            name: &study.name,
            title: &study.title,
            seed: study.seed.to_string(),
            engine: &study.engine,
            engine_version: facts.engine_version,
            engine_options: &study.engine_options,
            workload: &study.workload,
            design: &study.design,
            quota: study.quota,
            left_out: &study.left_out,
        },
        machine: machine::machine(facts.topology),
        treatments: treatments(facts),
        blocks: facts.analysis.blocks,
        excluded_blocks: &facts.analysis.excluded_blocks,
        failures: failed.map(lines::head).collect(),
        estimates,
        details,
        findings: &document.verdict,
        notes: facts.notes.iter().map(|note| note.text.as_str()).collect(),
        probe: facts.probe.map(|probe| machine::probed(facts.topology, probe, facts.hardware)),
        published: beside_same(facts),
    };
    form::written(&report)
}

fn treatments<'a>(facts: &Facts<'a>) -> Vec<PlannedTreatment<'a>> {
    let treatment = |planned: &'a Treatment| {
        let runs = facts.summary(&planned.name).map_or([0; 3], |one| [one.runs, one.failed, one.excluded]);
        PlannedTreatment {
            treatment: &planned.name,
            group: &planned.group,
            placement: &planned.placement.text,
            sessions: planned.sessions,
            role: planned.role,
            pin: planned.pin,
            options: &planned.options,
            factors: &planned.factors,
            runs: runs[0],
            failed: runs[1],
            excluded: runs[2],
        }
    };
    facts.study.treatments.iter().map(treatment).collect()
}

/// Several studies side by side; a row's cells are in the order of the studies.
pub fn compare(studies: &[Facts<'_>]) -> String {
    pretty(side_by_side(studies))
}

/// Studies before and after.
pub fn changed(change: &Change<'_>) -> String {
    let names = |all: Vec<&Changed<'_>>| all.iter().map(|one| json!(one.name)).collect::<Value>();
    let more = json!({
        "can_tell": change.can_tell(), "regressions": names(change.regressions()), "undecided": names(change.undecided()),
    });
    pretty(json!({
        "studies": change.studies, "aspects": change.aspects, "change": merged(json!(change), more),
        "answer": change::answer(change), "cautions": change.cautions, "note": change.note,
    }))
}

/// The side of after in Bencher Metric Format (<https://bencher.dev/docs/reference/bencher-metric-format/>), by treatment:
/// the metric, and its ratio to the side of before with the interval that decides.
pub fn bencher(change: &Change<'_>) -> String {
    let measure = |value: f64, low: f64, high: f64| {
        // JSON has no infinity: ends that are not known are left out, as those of one block, 0 and infinity.
        let ends = [("value", value), ("lower_value", low), ("upper_value", high)];
        let ends = ends.into_iter().take(if high.is_finite() { 3 } else { 1 });
        ends.map(|(name, end)| (name.to_owned(), json!(end))).collect::<Map<String, Value>>()
    };
    let treatment = |one: &Changed<'_>| {
        let (after, ratio) = (&one.after, one.ratio.decisive());
        let measures = json!({
            change.quantity.metric.as_str(): measure(after.mean, after.low, after.high),
            "ratio_to_before": measure(ratio.value, ratio.low, ratio.high),
        });
        (one.name.to_owned(), measures)
    };
    // Its readers know no field beside the treatments.
    text(format!("{:#}", Value::Object(change.treatments.iter().map(treatment).collect())))
}

/// A fleet: the judgement, with the studies that it is based on. It leaves out what identifies machines, a hash of
/// their ids.
pub fn fleet(fleet: &Fleet, judged: &Judged) -> String {
    pretty(merged(json!(judged), json!(fleet)))
}

/// The published studies, each with the command that repeats it.
pub fn published_list(all: &[Published]) -> String {
    let line = |one: &Published| json!({"name": one.name, "section": one.section, "about": one.about, "command": one.command});
    pretty(json!({"published": all.iter().map(line).collect::<Value>()}))
}

/// One published study; each figure with its number, its value derived from others, and the command that repeats it.
pub fn published(one: &Published) -> String {
    let figures = list(&one.figures, |figure| {
        let redo = one.redo_figure(figure);
        json!({
            "number": figure.number(), "computed": one.computed(&figure.id), "printed": figure.is_printed(),
            "slip": one.slip(&figure.id).map(|slip| &slip.text), "command": redo.ok(), "missing": redo.err(),
        })
    });
    pretty(merged(json!(one), json!({"figures": figures})))
}

/// A published study compared with a result file.
pub fn published_beside(facts: &Facts<'_>, one: &Published) -> String {
    pretty(json!({"study": StudyLine::of(facts), "beside": beside_any(facts, one)}))
}

/// Laws of all series of a file.
pub fn fitted(source: &str, is_simulated: bool, laws: &[SeriesLaw]) -> String {
    pretty(json!({"source": source, "simulated": is_simulated, "series": laws}))
}

/// Possible cost of counted spins: counts and derived figures, as one object.
pub fn spins_counted(counted: &Counted, cost: &Cost) -> String {
    line(merged(json!(counted), json!(cost))) + "\n"
}

/// Samples of the spins of a running server.
pub fn spins_sampled(pid: u32, seconds: u64, samples: &Samples) -> String {
    let functions = samples.by_function.iter();
    let functions = functions.map(
        |((kind, function), count)| json!({"kind": kind.word(), "function": function, "samples": count}),
    );
    let value = json!({
        "pid": pid, "seconds": seconds, "samples": samples.total(), "unnamed_samples": samples.unnamed,
        "spinning": samples.share(Kind::Spin), "locking": samples.share(Kind::Wait),
        "functions": functions.collect::<Value>(),
    });
    line(value) + "\n"
}

/// An entry of the list: something that can be run, or a placement that this machine supports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListEntry {
    /// `question`, `preset`, `engine`, `workload`, `recipe`, `parser`, `placement`.
    pub kind: String,
    /// Name as the command line takes it.
    pub name: String,
    /// One line.
    pub about: String,
}

/// An engine outside the program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct EngineEntry {
    /// Its name.
    pub name: String,
    /// `environment` (a Python environment that threadwise manages) or `program` (on PATH).
    pub kind: String,
    /// `ready`, `not installed`, `incomplete`, `outdated`, `foreign`.
    pub state: String,
    /// Why it is in that state, in one line.
    pub why: Option<String>,
    /// The command that makes it ready.
    pub remedy: Option<String>,
    /// Version of the engine.
    #[serde(rename = "engine_version")]
    pub version: Option<String>,
    /// Version of Python.
    pub python: Option<String>,
    /// Versions of all packages by name.
    pub packages: BTreeMap<String, String>,
    /// Folder of the environment, or the program.
    pub path: String,
    /// Disk space of the environment, which both engines share.
    pub size_bytes: Option<u64>,
}

/// A window of headroom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeadroomWindow<'a> {
    /// Its end (RFC 3339); `None` for a recorded one.
    pub utc: Option<&'a str>,
    /// Its length.
    pub window_ns: u64,
    /// The SMT yield used for capacity.
    pub smt_yield: Bounds,
    /// Its source: `given`, `study`, `published`.
    pub yield_source: &'static str,
    /// Clock now over that with all busy; `None` if it is not counted.
    pub clock_ratio: Option<f64>,
    /// Counts of the machine and of its parts.
    pub rows: &'a [Row],
}

/// The entries of `threadwise list --json`.
pub fn listing(entries: &[ListEntry]) -> String {
    pretty(json!({"entries": entries}))
}

/// The entries of `threadwise engine list --json`, in their order.
pub fn engines(entries: &[EngineEntry]) -> String {
    pretty(json!({"engines": entries}))
}

/// A window of `threadwise headroom --json`, as one line without its end.
pub fn headroom(window: &HeadroomWindow<'_>) -> String {
    line(window)
}

/// The doctor's checks in their order, and the number of each outcome.
pub fn doctor(rows: &[DoctorRow<'_>]) -> String {
    let mut counts = json!({});
    for word in ["ok", "unknown", "warning", "problem"] {
        counts[word] = rows.iter().filter(|row| row.outcome_word == word).count().into();
    }
    pretty(json!({"counts": counts, "checks": rows}))
}

#[cfg(test)]
mod tests;
