//! Checks of a study definition that need no machine: ranges, words, names.

use std::ops::Range;
use threadwise_machine::Placement;
use threadwise_machine::text::{escaped, is_deceptive};
use toml::{Spanned, Value};

use super::error::{LoadError, Source};
use super::raw::{RawDesign, RawOptions, RawStudy, RawSweep, option_value};
use super::values::{memory, pin, service, session_fault, sweep_orders, sweep_points};
use super::{dop, external, jobs};
use crate::arm::FACTORS;
use crate::instance;
use crate::plan::long;
use crate::{Arm, OptionValue, Workload, command, worklist};

/// Options of the workload `logical-io`; engines check those of other workloads.
const LOGICAL_IO: [&str; 11] = [
    "data",
    "blocks",
    "scale",
    "data_mib",
    "work_unit",
    "update_pct",
    "think_time_us",
    "hot_pct",
    "hot_blocks",
    "shared",
    "loop",
];

/// Maximum blocks of a table: 1 TiB of data.
const MAX_BLOCKS: i64 = 1 << 28;

/// Levels of the option `data`.
pub(super) const DATA_LEVELS: [&str; 3] = ["l2", "llc", "memory"];

/// Options of the workload `tpch` that are the same in a whole study: all treatments read one data set
/// and run the same queries.
const STUDY_WIDE: [&str; 5] = ["scale", "cluster", "test", "queries", "parameters"];

/// The same of the workload `parallel-scan`: all treatments read one table.
const ONE_TABLE: [&str; 1] = ["rows"];

/// The same of the workload `worklist`: all treatments process one list.
const ONE_LIST: [&str; 5] = [worklist::RECIPE, worklist::RECIPE_STORED, "list", "files", "total_mib"];

/// Default name of the baseline.
pub(super) const ALONE: &str = "alone";

pub(super) fn check(raw: &RawStudy, source: &Source) -> Result<(), LoadError> {
    words(raw, source)?;
    design(&raw.design, source)?;
    let workload = raw.workload.get_ref();
    options(&raw.options, Some(workload), source)?;
    options(&raw.engine_options, None, source)?;
    factors(raw, source)?;
    treatments(raw, source)?;
    if let Some(sweep) = &raw.sweep {
        self::sweep(sweep, raw, source)?;
    }
    dop::check(raw, source)?;
    jobs::check(raw, source)?;
    external::check(raw, source)?;
    comparisons(raw, source)?;
    let has_points = raw.sweep.is_some() || raw.dop.is_some() || raw.jobs.is_some();
    if raw.treatments.is_empty() && !has_points {
        return Err(source.at(
            0..0,
            "the baseline has nothing to be compared with: add a [[treatment]] with a placement, or a [sweep]",
        ));
    }
    Ok(())
}

fn words(raw: &RawStudy, source: &Source) -> Result<(), LoadError> {
    let words = [
        ("name", raw.name.get_ref().as_str(), raw.name.span()),
        ("engine", raw.engine.get_ref(), raw.engine.span()),
        ("workload", raw.workload.get_ref().name(), raw.workload.span()),
    ];
    for (key, word, span) in words {
        if word.trim().is_empty() {
            return Err(source.at(span, format!("'{key}' is empty")));
        }
    }
    let simple = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !raw.name.get_ref().chars().all(simple) {
        let message = format!(
            "name '{}' has characters other than letters, digits, - and _",
            raw.name.get_ref().escape_debug()
        );
        return Err(source.at(raw.name.span(), message));
    }
    Ok(())
}

fn design(design: &RawDesign, source: &Source) -> Result<(), LoadError> {
    type Range = (&'static str, f64, f64);
    let within =
        |value: &Option<Spanned<f64>>, (key, low, high): Range| match value {
            Some(found) if !(low..=high).contains(found.get_ref()) => Err(source
                .at(found.span(), format!("{key} is {}, and {low} to {high} is allowed", found.get_ref()))),
            _ => Ok(()),
        };
    within(&design.slice_ms, ("slice_ms", 1.0, 3_600_000.0))?;
    within(&design.rewarm_ms, ("rewarm_ms", 0.0, 60_000.0))?;
    within(&design.level, ("level", 0.5, 0.9999))?;
    within(&design.margin, ("margin", 0.0001, 0.5))?;
    within(&design.budget_s, ("budget_s", 0.1, 31_536_000.0))?;
    within(&design.until, ("until", 0.0001, 0.9))?;
    within(&design.long_window_s, ("long_window_s", 0.01, 600.0))?;
    if let Some(count) = &design.long_windows
        && *count.get_ref() > long::MOST_BLOCKS
    {
        let message =
            format!("long_windows is {}, and 0 to {} is allowed", count.get_ref(), long::MOST_BLOCKS);
        return Err(source.at(count.span(), message));
    }
    for (key, count) in [("rounds", &design.rounds), ("blocks", &design.blocks)] {
        if let Some(count) = count
            && !(1..=100_000).contains(count.get_ref())
        {
            return Err(
                source.at(count.span(), format!("{key} is {}, and 1 to 100000 is allowed", count.get_ref()))
            );
        }
    }
    if let Some(blocks) = &design.blocks
        && (design.budget_s.is_some() || design.until.is_some())
    {
        return Err(
            source.at(blocks.span(), "blocks is given together with budget_s or until; keep one of them")
        );
    }
    Ok(())
}

/// The error of a workload option, if any.
pub(super) fn option_fault(workload: &Workload, key: &str, value: &OptionValue) -> Option<String> {
    let of_engine = |why: String| format!("{key}: {why}");
    match workload {
        Workload::LogicalIo => logical_io_fault(key, value),
        Workload::Command => command::option_fault(key, value).map(of_engine),
        Workload::WorkList => worklist::option_fault(key, value).map(of_engine),
        _ => None,
    }
}

fn logical_io_fault(key: &str, value: &OptionValue) -> Option<String> {
    if !LOGICAL_IO.contains(&key) {
        return Some(format!("logical-io has no option '{key}'; its options are {}", LOGICAL_IO.join(", ")));
    }
    let is_whole = matches!(value, OptionValue::Integer(1..=MAX_BLOCKS));
    let is_size =
        is_whole || matches!(value, OptionValue::Number(mib) if *mib > 0.0 && *mib < MAX_BLOCKS as f64);
    match (key, value) {
        ("data", OptionValue::Text(level)) if DATA_LEVELS.contains(&level.as_str()) => None,
        ("data", other) => Some(format!("data is '{other}'; its levels are {}", DATA_LEVELS.join(", "))),
        ("blocks" | "scale" | "work_unit", other) if !is_whole => {
            Some(format!("{key} is '{other}', not a whole number from 1 to {MAX_BLOCKS}"))
        }
        ("data_mib", other) if !is_size => {
            Some(format!("data_mib is '{other}', not a number of MiB above 0"))
        }
        _ => None,
    }
}

/// The error of a factor level, if any.
pub(super) fn level_fault(workload: &Workload, factor: &str, level: &OptionValue) -> Option<String> {
    match factor {
        _ if FACTORS.contains(&factor) => Arm::default().set(factor, &level.to_string()).err(),
        _ if instance::is_factor(factor) => instance::check(factor, level).err(),
        _ => option_fault(workload, factor, level),
    }
}

fn options(options: &RawOptions, workload: Option<&Workload>, source: &Source) -> Result<(), LoadError> {
    for (key, value) in options {
        let converted = scalar(key, value, source)?;
        if let Some(fault) = workload.and_then(|workload| option_fault(workload, key, &converted)) {
            return Err(source.at(value.span(), fault));
        }
    }
    Ok(())
}

fn scalar(key: &str, value: &Spanned<Value>, source: &Source) -> Result<OptionValue, LoadError> {
    option_value(value.get_ref()).ok_or_else(|| {
        source.at(value.span(), format!("'{key}' is neither text nor a number nor true or false"))
    })
}

fn factors(raw: &RawStudy, source: &Source) -> Result<(), LoadError> {
    for (factor, levels) in &raw.factors {
        if levels.get_ref().is_empty() {
            return Err(source.at(levels.span(), format!("factor '{factor}' has no levels")));
        }
        if raw.options.contains_key(factor) {
            return Err(source
                .at(levels.span(), format!("'{factor}' is both a factor and an option; keep one of them")));
        }
        expect_no_study_wide(raw, factor, levels.span(), source)?;
        let mut seen: Vec<OptionValue> = Vec::new();
        for level in levels.get_ref() {
            let value = scalar(factor, level, source)?;
            if let Some(fault) = level_fault(raw.workload.get_ref(), factor, &value) {
                return Err(source.at(level.span(), fault));
            }
            if seen.contains(&value) {
                return Err(
                    source.at(level.span(), format!("level '{value}' of factor '{factor}' appears twice"))
                );
            }
            seen.push(value);
        }
    }
    Ok(())
}

fn expect_no_study_wide(
    raw: &RawStudy,
    key: &str,
    span: Range<usize>,
    source: &Source,
) -> Result<(), LoadError> {
    study_wide(raw, key).map_or(Ok(()), |why| Err(source.at(span, why)))
}

/// The error if an option may not differ between treatments.
pub(super) fn study_wide(raw: &RawStudy, key: &str) -> Option<String> {
    let wide: &[&str] = match raw.workload.get_ref() {
        Workload::Tpch => &STUDY_WIDE,
        Workload::ParallelScan => &ONE_TABLE,
        Workload::WorkList => &ONE_LIST,
        _ => &[],
    };
    let shown = if key == worklist::RECIPE_STORED { worklist::RECIPE } else { key };
    wide.contains(&key)
        .then(|| format!("'{shown}' is the same for all treatments of a study; move it to [options]"))
}

/// Options of one treatment.
fn set(set: &RawOptions, raw: &RawStudy, source: &Source) -> Result<(), LoadError> {
    for (key, value) in set {
        expect_no_study_wide(raw, key, value.span(), source)?;
        if raw.factors.contains_key(key) {
            let message = format!("'{key}' is a factor, and is also set for one treatment; keep one of them");
            return Err(source.at(value.span(), message));
        }
    }
    options(set, Some(raw.workload.get_ref()), source)
}

fn treatments(raw: &RawStudy, source: &Source) -> Result<(), LoadError> {
    let baseline = &raw.baseline;
    set(&baseline.set, raw, source)?;
    placement(baseline.placement.as_ref(), source)?;
    sessions(baseline.sessions.as_ref(), source)?;
    pin(baseline.pin.as_ref(), raw.workload.get_ref(), source)?;
    memory(baseline.memory.as_ref(), source)?;
    service(baseline.service.as_ref(), source)?;
    let alone = baseline.name.as_ref().map_or(ALONE, |name| name.get_ref());
    let mut names = vec![alone.to_owned(), format!("{alone}'")];
    name(baseline.name.as_ref(), source)?;
    for treatment in &raw.treatments {
        set(&treatment.set, raw, source)?;
        placement(Some(&treatment.placement), source)?;
        sessions(treatment.sessions.as_ref(), source)?;
        pin(treatment.pin.as_ref(), raw.workload.get_ref(), source)?;
        memory(treatment.memory.as_ref(), source)?;
        service(treatment.service.as_ref(), source)?;
        name(treatment.name.as_ref(), source)?;
        let name = treatment.name.as_ref().unwrap_or(&treatment.placement);
        if names.contains(name.get_ref()) {
            return Err(source.at(name.span(), format!("treatment '{}' appears twice", name.get_ref())));
        }
        names.push(name.get_ref().clone());
    }
    Ok(())
}

fn name(name: Option<&Spanned<String>>, source: &Source) -> Result<(), LoadError> {
    let Some(name) = name else { return Ok(()) };
    let text = name.get_ref();
    if text.contains(is_deceptive) {
        let message = format!("name '{}' has a control or format character", escaped(text));
        return Err(source.at(name.span(), message));
    }
    let bad = |c: char| matches!(c, '/' | '\'');
    if text.trim().is_empty() || text.chars().count() > 60 || text.contains(bad) {
        let message = format!("name '{text}' is empty, over 60 characters, or contains / or '");
        return Err(source.at(name.span(), message));
    }
    Ok(())
}

fn placement(text: Option<&Spanned<String>>, source: &Source) -> Result<(), LoadError> {
    let Some(text) = text else { return Ok(()) };
    match text.get_ref().parse::<Placement>() {
        Ok(_) => Ok(()),
        Err(error) => Err(source.at(text.span(), error.to_string())),
    }
}

fn sessions(count: Option<&Spanned<u32>>, source: &Source) -> Result<(), LoadError> {
    let Some(count) = count else { return Ok(()) };
    session_fault(*count.get_ref()).map_or(Ok(()), |fault| Err(source.at(count.span(), fault)))
}

/// The error for placing service threads of an engine without any.
pub(super) fn no_service_threads(engine: &str) -> String {
    format!("engine {engine} has no service threads to place; leave out service")
}

/// Refuses the first key `service` with this error: a key without effect would mislead.
pub(super) fn no_service(raw: &RawStudy, source: &Source, fault: &str) -> Result<(), LoadError> {
    let keys = raw.treatments.iter().map(|treatment| &treatment.service);
    let first = std::iter::once(&raw.baseline.service).chain(keys).flatten().next();
    first.map_or(Ok(()), |text| Err(source.at(text.span(), fault)))
}

fn sweep(sweep: &RawSweep, raw: &RawStudy, source: &Source) -> Result<(), LoadError> {
    sweep_orders(sweep, source)?;
    if let Some(past) = &sweep.past
        && !(1.0..=16.0).contains(past.get_ref())
    {
        return Err(source.at(past.span(), format!("past is {}, and 1 to 16 is allowed", past.get_ref())));
    }
    pin(sweep.pin.as_ref(), raw.workload.get_ref(), source)?;
    sweep_points(sweep, source)?;
    for (factor, level) in &sweep.only {
        let Some(levels) = raw.factors.get(factor) else {
            let known: Vec<&str> = raw.factors.keys().map(String::as_str).collect();
            let message = format!("there is no factor '{factor}' in [factors]; it has {}", listed(&known));
            return Err(source.at(level.span(), message));
        };
        let wanted = scalar(factor, level, source)?;
        let known: Vec<OptionValue> =
            levels.get_ref().iter().filter_map(|level| option_value(level.get_ref())).collect();
        if !known.contains(&wanted) {
            let known: Vec<String> = known.iter().map(ToString::to_string).collect();
            let message =
                format!("factor '{factor}' has no level '{wanted}'; its levels are {}", known.join(", "));
            return Err(source.at(level.span(), message));
        }
    }
    Ok(())
}

fn comparisons(raw: &RawStudy, source: &Source) -> Result<(), LoadError> {
    let mut known: Vec<&str> = vec![raw.baseline.name.as_ref().map_or(ALONE, |name| name.get_ref())];
    known.extend(
        raw.treatments.iter().map(|one| one.name.as_ref().unwrap_or(&one.placement).get_ref().as_str()),
    );
    for (index, comparison) in raw.comparisons.iter().enumerate() {
        for side in [&comparison.treatment, &comparison.baseline] {
            if !known.contains(&side.get_ref().as_str()) {
                let message =
                    format!("there is no treatment '{}'; treatments are {}", side.get_ref(), listed(&known));
                return Err(source.at(side.span(), message));
            }
        }
        if comparison.treatment.get_ref() == comparison.baseline.get_ref() {
            return Err(source.at(comparison.baseline.span(), "treatment and baseline are the same"));
        }
        name(Some(&comparison.name), source)?;
        let earlier = &raw.comparisons[..index];
        if earlier.iter().any(|other| other.name.get_ref() == comparison.name.get_ref()) {
            let message = format!("comparison '{}' appears twice", comparison.name.get_ref());
            return Err(source.at(comparison.name.span(), message));
        }
    }
    Ok(())
}

fn listed(words: &[&str]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}
