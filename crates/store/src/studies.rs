//! The study as its resolved TOML text, which is authoritative, and as rows for people who query the file;
//! and the program's own marks.

use crate::error::{Fault, one_line};
use crate::value::{self, COUNT_MAX, Fields, NAME_BYTES, ORDINAL_MAX, TEXT_BYTES, TOML_BYTES, all};
use crate::{EndState, Versions};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeSet;
use threadwise_machine::Pin;
use threadwise_study::plan::long::MOST_BLOCKS;
use threadwise_study::{Comparison, LongWindows, Role, Stopping, Study, Treatment, load};

const ROLES: [(&str, Role); 3] =
    [("baseline", Role::Baseline), ("baseline-twin", Role::BaselineTwin), ("compared", Role::Compared)];
const PINS: [(&str, Pin); 2] = [("each", Pin::Each), ("set", Pin::Set)];
const STATES: [(&str, EndState); 4] = [
    ("running", EndState::Running),
    ("complete", EndState::Complete),
    ("stopped", EndState::Stopped),
    ("failed", EndState::Failed),
];

fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
}

/// Stores the study; an error if it would not be read back unchanged.
pub(crate) fn write(connection: &Connection, study: &Study) -> Result<(), Fault> {
    if let Some(what) = unsound(study) {
        return Err(Fault::Unstorable(format!("the study's {what}")));
    }
    let toml = load::to_toml(study);
    value::fits(toml.len(), TOML_BYTES, "the study")?;
    if parse(&toml)? != *study {
        return Err(Fault::Unstorable("the study is not the same when it is read back".into()));
    }
    connection.execute(
        "INSERT INTO study (id, name, seed, engine, workload, toml) VALUES (1, ?, ?, ?, ?, ?)",
        params![study.name, study.seed.to_string(), study.engine, study.workload.name(), toml],
    )?;
    for (id, treatment) in study.treatments.iter().enumerate() {
        write_treatment(connection, id as i64, treatment)?;
    }
    Ok(())
}

fn write_treatment(connection: &Connection, id: i64, treatment: &Treatment) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO treatments (id, name, group_name, role, placement, sessions, pin)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            id,
            value::name(&treatment.name, "treatment name")?,
            treatment.group,
            word(&ROLES, &treatment.role),
            treatment.placement,
            value::bounded(u64::from(treatment.sessions), ORDINAL_MAX, "number of sessions")?,
            word(&PINS, &treatment.pin),
        ])?;
    let mut insert = connection
        .prepare_cached("INSERT INTO treatment_options (treatment, name, value) VALUES (?, ?, ?)")?;
    for (name, option) in &treatment.options {
        insert.execute(params![id, name, option.to_string()])?;
    }
    let mut insert = connection
        .prepare_cached("INSERT INTO treatment_factors (treatment, factor, level) VALUES (?, ?, ?)")?;
    for (factor, level) in &treatment.factors {
        insert.execute(params![id, factor, level])?;
    }
    Ok(())
}

/// A value that would make readers compute with impossible numbers or names.
fn unsound(study: &Study) -> Option<&'static str> {
    let design = &study.design;
    let number = |value: f64| value.is_finite() && value >= 0.0;
    let stopping = match design.stopping {
        Stopping::Budget { budget_s } => number(budget_s),
        Stopping::Until { half_width, budget_s } => number(half_width) && number(budget_s),
        Stopping::Blocks { blocks } => u64::from(blocks) <= ORDINAL_MAX,
    };
    let mut names = BTreeSet::new();
    let twice = study.treatments.iter().any(|treatment| !names.insert(treatment.name.as_str()));
    let known = |name: &String| names.contains(name.as_str());
    let leads_nowhere = |one: &Comparison| {
        !known(&one.treatment) || one.baseline.is_empty() || !one.baseline.iter().all(known)
    };
    let sessions = study.treatments.iter().any(|treatment| u64::from(treatment.sessions) > ORDINAL_MAX);
    [
        (!(design.level > 0.0 && design.level < 1.0), "confidence level is not between 0 and 1"),
        (!(design.margin > 0.0 && design.margin < 1.0), "margin is not between 0 and 1"),
        (u64::from(design.rounds) > ORDINAL_MAX, "number of rounds is too large"),
        (design.slice_ns.max(design.rewarm_ns.unwrap_or(0)) > COUNT_MAX, "slices are too long"),
        (design.long_windows.is_some_and(is_absurd), "long windows are out of range"),
        (!stopping, "stopping rule is out of range"),
        (sessions, "number of sessions is out of range"),
        (twice, "treatments do not have different names"),
        (study.comparisons.iter().any(leads_nowhere), "comparisons name treatments that it does not have"),
    ]
    .into_iter()
    .find_map(|(absurd, what)| absurd.then_some(what))
}

fn is_absurd(long: LongWindows) -> bool {
    long.blocks > MOST_BLOCKS || !(1..=COUNT_MAX).contains(&long.window_ns)
}

fn parse(toml: &str) -> Result<Study, Fault> {
    load::from_toml(toml)
        .map_err(|error| Fault::Damaged(format!("its study text: {}", one_line(&error.to_string()))))
}

/// Reads the study from its text; an error if the rows beside it name other treatments.
pub(crate) fn read(connection: &Connection) -> Result<Study, Fault> {
    let sql = "SELECT name, seed, toml FROM study WHERE id = 1";
    let mut studies = all(connection, "study", sql, |row, _| {
        let study = parse(row.text(2, TOML_BYTES)?)?;
        let same =
            row.text(0, TEXT_BYTES)? == study.name && row.text(1, NAME_BYTES)? == study.seed.to_string();
        if same { Ok(study) } else { Err(Fault::Damaged("its study text is another study's".into())) }
    })?;
    let Some(study) = studies.pop() else { return Err(Fault::Damaged("the study is missing".into())) };
    if let Some(what) = unsound(&study) {
        return Err(Fault::Damaged(format!("its study's {what}")));
    }
    let names =
        all(connection, "treatments", "SELECT id, name, sessions FROM treatments ORDER BY id", |row, id| {
            row.next_id(0, id)?;
            Ok((row.text(1, NAME_BYTES)?.to_owned(), row.ordinal(2)?))
        })?;
    let planned = study.treatments.iter().map(|treatment| (treatment.name.as_str(), treatment.sessions));
    if !names.iter().map(|(name, sessions)| (name.as_str(), *sessions)).eq(planned) {
        return Err(Fault::Damaged("its treatments are not those of its study text".into()));
    }
    Ok(study)
}

/// Sets one of the marks.
pub(crate) fn set_meta(connection: &Connection, key: &str, value: &str) -> Result<(), Fault> {
    value::fits(value.len(), TEXT_BYTES, key)?;
    connection
        .prepare_cached(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
        )?
        .execute([key, value])?;
    Ok(())
}

/// One of the marks; `None` if it is not set.
pub(crate) fn meta(connection: &Connection, key: &str) -> Result<Option<String>, Fault> {
    let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = ?")?;
    let text =
        |row: &rusqlite::Row<'_>| Ok(Fields { row, table: "meta" }.text(0, TEXT_BYTES).map(str::to_owned));
    statement.query_row([key], text).optional()?.transpose()
}

fn required(connection: &Connection, key: &str) -> Result<String, Fault> {
    meta(connection, key)?.ok_or_else(|| Fault::Damaged(format!("meta lacks '{key}'")))
}

/// Stores the programs that measured.
pub(crate) fn write_versions(connection: &Connection, versions: &Versions) -> Result<(), Fault> {
    set_meta(connection, "program", &versions.program)?;
    set_meta(connection, "engine", &versions.engine)?;
    set_meta(connection, "engine_version", &versions.engine_version)?;
    set_meta(connection, "created_utc", &versions.created_utc)
}

/// Reads the programs that measured.
pub(crate) fn read_versions(connection: &Connection) -> Result<Versions, Fault> {
    Ok(Versions {
        program: required(connection, "program")?,
        engine: required(connection, "engine")?,
        engine_version: required(connection, "engine_version")?,
        created_utc: required(connection, "created_utc")?,
    })
}

/// Stores how the study ended.
pub(crate) fn write_state(connection: &Connection, state: EndState) -> Result<(), Fault> {
    set_meta(connection, "state", word(&STATES, &state))
}

/// Reads how the study ended.
pub(crate) fn read_state(connection: &Connection) -> Result<EndState, Fault> {
    let text = required(connection, "state")?;
    let state = STATES.iter().find(|(word, _)| *word == text).map(|(_, state)| *state);
    state.ok_or_else(|| Fault::Damaged(format!("meta.state is '{}'", one_line(&text))))
}

/// Reads the planned number of blocks, once it is decided.
pub(crate) fn read_planned_blocks(connection: &Connection) -> Result<Option<u32>, Fault> {
    let Some(text) = meta(connection, "planned_blocks")? else { return Ok(None) };
    match text.parse::<u32>() {
        Ok(blocks) if u64::from(blocks) <= ORDINAL_MAX => Ok(Some(blocks)),
        _ => Err(Fault::Damaged(format!("meta.planned_blocks is '{}'", one_line(&text)))),
    }
}
