//! The text format of a resolved study, as the store keeps it: TOML that reads back to the same value.
//!
//! The structures mirror those of `crate::study`, so that the pure types need no serde and changes to them cannot
//! change what older stores mean.

use std::collections::BTreeMap;

use serde::Deserialize;
use threadwise_machine::placement::Service;
use threadwise_machine::{Memory, Pin, PlacementError};
use toml::{Table, Value};

use super::error::{LoadError, Source};
use super::external::{self, ExternalText};
use crate::engine::Properties;
use crate::instance::Instance;
use crate::study::MARGIN;
use crate::{
    Arm, Comparison, Design, LongWindows, OptionValue, Options, Quota, Role, Stopping, Study, Treatment,
    Workload,
};

/// Version of the text format.
const TEXT_VERSION: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyText {
    version: u32,
    name: String,
    title: String,
    /// As text, since TOML integers end at 2^63 − 1.
    seed: String,
    engine: String,
    workload: Workload,
    left_out: Vec<String>,
    engine_options: OptionsText,
    /// Absent in files of versions whose engines reported no properties.
    engine_properties: Option<PropertiesText>,
    design: DesignText,
    /// Absent without a quota.
    quota: Option<QuotaText>,
    /// Absent in a study of one boot.
    external: Option<ExternalText>,
    #[serde(rename = "treatment", default)]
    treatments: Vec<TreatmentText>,
    #[serde(rename = "comparison", default)]
    comparisons: Vec<ComparisonText>,
}

/// Differences from the default properties.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PropertiesText {
    simulated: Option<bool>,
    block_bytes: Option<u64>,
    service_threads: Option<bool>,
    dialect: Option<String>,
    reads_files: Option<bool>,
    holds_plans: Option<bool>,
    row_bytes: Option<u64>,
    row_memory_bytes: Option<u64>,
    tpch_bytes: Option<u64>,
}

type OptionsText = BTreeMap<String, ValueText>;

#[derive(Deserialize)]
#[serde(untagged)]
enum ValueText {
    Flag(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DesignText {
    rounds: u32,
    slice_ns: u64,
    /// Absent if it is measured.
    #[serde(default)]
    rewarm_ns: Option<u64>,
    level: f64,
    /// Absent in studies older than margins.
    #[serde(default)]
    margin: Option<f64>,
    /// What studies had before margins; no longer used.
    #[serde(default, rename = "target_half_width")]
    _target_half_width: Option<f64>,
    stopping: StoppingText,
    /// Absent in a study without.
    #[serde(default)]
    long_windows: Option<LongWindowsText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongWindowsText {
    blocks: u32,
    window_ns: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotaText {
    cpus: f64,
    period_ns: u64,
    burst_ns: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum StoppingText {
    Budget { budget_s: f64 },
    Until { half_width: f64, budget_s: f64 },
    Blocks { blocks: u32 },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TreatmentText {
    name: String,
    group: String,
    role: RoleText,
    placement: String,
    sessions: u32,
    pin: PinText,
    /// Absent if it is `local`, as in older texts.
    #[serde(default)]
    memory: MemoryText,
    /// Absent if service threads are not placed.
    service: Option<ServiceText>,
    options: OptionsText,
    factors: BTreeMap<String, String>,
    /// Absent if nothing is switched.
    #[serde(default)]
    arm: BTreeMap<String, String>,
    /// Absent if the engine is the study's own.
    #[serde(default)]
    engine_options: OptionsText,
    /// Absent if the data is in the study's own folder.
    device: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RoleText {
    Baseline,
    BaselineTwin,
    Compared,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PinText {
    Each,
    Set,
}

#[derive(Deserialize, Default)]
#[serde(try_from = "String")]
struct MemoryText(Memory);

impl TryFrom<String> for MemoryText {
    type Error = PlacementError;

    fn try_from(text: String) -> Result<Self, PlacementError> {
        text.parse().map(Self)
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct ServiceText(Service);

impl TryFrom<String> for ServiceText {
    type Error = PlacementError;

    fn try_from(text: String) -> Result<Self, PlacementError> {
        text.parse().map(Self)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComparisonText {
    name: String,
    treatment: String,
    baseline: Vec<String>,
    kind: String,
}

/// A resolved study as text; [`from_toml`] reads it back (durations up to 2^63 − 1 ns, which is 292 years).
pub fn to_toml(study: &Study) -> String {
    let list = |lines: &[String]| Value::Array(lines.iter().map(|line| text(line)).collect());
    let comparison = |one: &Comparison| {
        Value::Table(table([
            ("name", text(&one.name)),
            ("treatment", text(&one.treatment)),
            ("baseline", list(&one.baseline)),
            ("kind", text(&one.kind)),
        ]))
    };
    let mut written = table([
        ("version", Value::Integer(i64::from(TEXT_VERSION))),
        ("name", text(&study.name)),
        ("title", text(&study.title)),
        ("seed", Value::String(study.seed.to_string())),
        ("engine", text(&study.engine)),
        ("workload", text(study.workload.name())),
        ("left_out", list(&study.left_out)),
        ("engine_options", options_table(&study.engine_options)),
        ("design", design_table(&study.design)),
        ("treatment", Value::Array(study.treatments.iter().map(treatment_table).collect())),
        ("comparison", Value::Array(study.comparisons.iter().map(comparison).collect())),
    ]);
    if let Some(properties) = &study.engine_properties {
        written.insert("engine_properties".to_owned(), properties_table(properties));
    }
    if let Some(Quota { cpus, period_ns, burst_ns }) = study.quota {
        let parts =
            [("cpus", Value::Float(cpus)), ("period_ns", whole(period_ns)), ("burst_ns", whole(burst_ns))];
        written.insert("quota".to_owned(), Value::Table(table(parts)));
    }
    if let Some(arms) = &study.external {
        written.insert("external".to_owned(), external::to_table(arms));
    }
    written.to_string()
}

fn properties_table(properties: &Properties) -> Value {
    let usual = Properties::default();
    let flag = |name, value: bool, usual| (name, (value != usual).then_some(Value::Boolean(value)));
    let bytes = |name, value: u64, usual| (name, (value != usual).then(|| whole(value)));
    let entries = [
        flag("simulated", properties.simulated, usual.simulated),
        bytes("block_bytes", properties.block_bytes, usual.block_bytes),
        flag("service_threads", properties.service_threads, usual.service_threads),
        ("dialect", properties.dialect.as_deref().map(text)),
        flag("reads_files", properties.reads_files, usual.reads_files),
        flag("holds_plans", properties.holds_plans, usual.holds_plans),
        bytes("row_bytes", properties.row_bytes, usual.row_bytes),
        bytes("row_memory_bytes", properties.row_memory_bytes, usual.row_memory_bytes),
        bytes("tpch_bytes", properties.tpch_bytes, usual.tpch_bytes),
    ];
    Value::Table(entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn text(words: &str) -> Value {
    Value::String(words.to_owned())
}

fn whole(count: u64) -> Value {
    Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

fn options_table(options: &Options) -> Value {
    let value = |value: &OptionValue| match value {
        OptionValue::Flag(flag) => Value::Boolean(*flag),
        OptionValue::Integer(whole) => Value::Integer(*whole),
        OptionValue::Number(number) => Value::Float(*number),
        OptionValue::Text(words) => text(words),
    };
    Value::Table(options.iter().map(|(key, option)| (key.clone(), value(option))).collect())
}

fn design_table(design: &Design) -> Value {
    let (rule, parts) = match design.stopping {
        Stopping::Budget { budget_s } => ("budget", table([("budget_s", Value::Float(budget_s))])),
        Stopping::Until { half_width, budget_s } => {
            let parts = [("half_width", Value::Float(half_width)), ("budget_s", Value::Float(budget_s))];
            ("until", table(parts))
        }
        Stopping::Blocks { blocks } => ("blocks", table([("blocks", whole(u64::from(blocks)))])),
    };
    let mut table_of = table([
        ("rounds", whole(u64::from(design.rounds))),
        ("slice_ns", whole(design.slice_ns)),
        ("level", Value::Float(design.level)),
        ("margin", Value::Float(design.margin)),
        ("stopping", Value::Table(table([(rule, Value::Table(parts))]))),
    ]);
    table_of.extend(design.rewarm_ns.map(|ns| ("rewarm_ns".to_owned(), whole(ns))));
    table_of.extend(design.long_windows.map(|LongWindows { blocks, window_ns }| {
        let parts = [("blocks", whole(u64::from(blocks))), ("window_ns", whole(window_ns))];
        ("long_windows".to_owned(), Value::Table(table(parts)))
    }));
    Value::Table(table_of)
}

fn treatment_table(treatment: &Treatment) -> Value {
    let role = match treatment.role {
        Role::Baseline => "baseline",
        Role::BaselineTwin => "baseline-twin",
        Role::Compared => "compared",
    };
    let pin = match treatment.pin {
        Pin::Each => "each",
        Pin::Set => "set",
    };
    let factors = treatment.factors.iter().map(|(factor, level)| (factor.clone(), text(level)));
    let mut table = table([
        ("name", text(&treatment.name)),
        ("group", text(&treatment.group)),
        ("role", text(role)),
        ("placement", text(&treatment.placement)),
        ("sessions", whole(u64::from(treatment.sessions))),
        ("pin", text(pin)),
        ("options", options_table(&treatment.options)),
        ("factors", Value::Table(factors.collect())),
    ]);
    if treatment.memory != Memory::Local {
        table.insert("memory".to_owned(), Value::String(treatment.memory.to_string()));
    }
    if let Some(service) = &treatment.service {
        table.insert("service".to_owned(), Value::String(service.to_string()));
    }
    let arm: Table =
        treatment.arm.levels().map(|(factor, level)| (factor.to_owned(), Value::String(level))).collect();
    if !arm.is_empty() {
        table.insert("arm".to_owned(), Value::Table(arm));
    }
    if !treatment.instance.options.is_empty() {
        table.insert("engine_options".to_owned(), options_table(&treatment.instance.options));
    }
    if let Some(device) = &treatment.instance.device {
        table.insert("device".to_owned(), Value::String(device.clone()));
    }
    Value::Table(table)
}

/// Reads a text that [`to_toml`] wrote.
///
/// # Errors
/// A text of another version or format, with its position.
pub fn from_toml(text: &str) -> Result<Study, LoadError> {
    let source = Source { name: "stored study".to_owned(), text: text.to_owned() };
    let located = |error: toml::de::Error| source.at(error.span().unwrap_or(0..0), error.message());
    let read: StudyText = toml::from_str(text).map_err(located)?;
    if read.version != TEXT_VERSION {
        let message = format!("version is {}, but this program reads version {TEXT_VERSION}", read.version);
        return Err(source.at(0..0, message));
    }
    let seed =
        read.seed.parse().map_err(|_| source.at(0..0, format!("seed '{}' is not a number", read.seed)))?;
    let engine_properties = read.engine_properties.map(Properties::from);
    if let Some(fault) = engine_properties.as_ref().and_then(Properties::fault) {
        return Err(source.at(0..0, format!("engine_properties: {fault}")));
    }
    let arms = read.external.map(|text| external::from_text(text, read.treatments.len()));
    let external = arms.transpose().map_err(|why| source.at(0..0, why))?;
    Ok(Study {
        name: read.name,
        title: read.title,
        seed,
        engine: read.engine,
        engine_properties,
        engine_options: options(read.engine_options),
        workload: read.workload,
        treatments: read
            .treatments
            .into_iter()
            .map(|text| treatment(text, &source))
            .collect::<Result<_, _>>()?,
        comparisons: read.comparisons.into_iter().map(Comparison::from).collect(),
        design: read.design.into(),
        quota: quota(read.quota, &source)?,
        external,
        left_out: read.left_out,
    })
}

/// Rejects a quota or a period of 0, which would be a divisor.
fn quota(read: Option<QuotaText>, source: &Source) -> Result<Option<Quota>, LoadError> {
    let Some(QuotaText { cpus, period_ns, burst_ns }) = read else { return Ok(None) };
    match cpus.is_finite() && cpus > 0.0 && period_ns > 0 {
        true => Ok(Some(Quota { cpus, period_ns, burst_ns })),
        false => Err(source.at(0..0, format!("quota: {cpus} CPUs in {period_ns} ns is invalid"))),
    }
}

fn options(read: OptionsText) -> Options {
    let value = |value| match value {
        ValueText::Flag(flag) => OptionValue::Flag(flag),
        ValueText::Integer(whole) => OptionValue::Integer(whole),
        ValueText::Number(number) => OptionValue::Number(number),
        ValueText::Text(text) => OptionValue::Text(text),
    };
    read.into_iter().map(|(key, text)| (key, value(text))).collect()
}

impl From<PropertiesText> for Properties {
    fn from(text: PropertiesText) -> Self {
        let usual = Self::default();
        Self {
            simulated: text.simulated.unwrap_or(usual.simulated),
            block_bytes: text.block_bytes.unwrap_or(usual.block_bytes),
            service_threads: text.service_threads.unwrap_or(usual.service_threads),
            dialect: text.dialect,
            reads_files: text.reads_files.unwrap_or(usual.reads_files),
            holds_plans: text.holds_plans.unwrap_or(usual.holds_plans),
            row_bytes: text.row_bytes.unwrap_or(usual.row_bytes),
            row_memory_bytes: text.row_memory_bytes.unwrap_or(usual.row_memory_bytes),
            tpch_bytes: text.tpch_bytes.unwrap_or(usual.tpch_bytes),
        }
    }
}

impl From<DesignText> for Design {
    fn from(text: DesignText) -> Self {
        let DesignText { rounds, slice_ns, rewarm_ns, level, margin, stopping, long_windows, .. } = text;
        let long_windows =
            long_windows.map(|LongWindowsText { blocks, window_ns }| LongWindows { blocks, window_ns });
        let stopping = match stopping {
            StoppingText::Budget { budget_s } => Stopping::Budget { budget_s },
            StoppingText::Until { half_width, budget_s } => Stopping::Until { half_width, budget_s },
            StoppingText::Blocks { blocks } => Stopping::Blocks { blocks },
        };
        Self { rounds, slice_ns, rewarm_ns, stopping, level, margin: margin.unwrap_or(MARGIN), long_windows }
    }
}

/// An unknown arm comes from a newer program.
fn arm(levels: &BTreeMap<String, String>, source: &Source) -> Result<Arm, LoadError> {
    let mut arm = Arm::default();
    for (factor, level) in levels {
        arm.set(factor, level).map_err(|why| source.at(0..0, why))?;
    }
    Ok(arm)
}

fn treatment(text: TreatmentText, source: &Source) -> Result<Treatment, LoadError> {
    Ok(Treatment {
        name: text.name,
        group: text.group,
        role: match text.role {
            RoleText::Baseline => Role::Baseline,
            RoleText::BaselineTwin => Role::BaselineTwin,
            RoleText::Compared => Role::Compared,
        },
        placement: text.placement,
        sessions: text.sessions,
        pin: match text.pin {
            PinText::Each => Pin::Each,
            PinText::Set => Pin::Set,
        },
        memory: text.memory.0,
        service: text.service.map(|service| service.0),
        arm: arm(&text.arm, source)?,
        instance: Instance { options: options(text.engine_options), device: text.device },
        options: options(text.options),
        factors: text.factors,
    })
}

impl From<ComparisonText> for Comparison {
    fn from(text: ComparisonText) -> Self {
        let ComparisonText { name, treatment, baseline, kind } = text;
        Self { name, treatment, baseline, kind }
    }
}
