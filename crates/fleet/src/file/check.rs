//! Checks the raw file: limits, names, and contradictions.

use super::raw::{RawFleet, RawKind, RawOptions, RawPrice, RawRun, Source};
use super::types::{
    EngineOptions, FleetFile, FleetKind, MOST_MACHINES, MOST_REPEATS, Machines, PlannedPrice, RunSettings,
};
use crate::{FleetError, names};
use std::collections::{BTreeMap, BTreeSet};
use toml::{Spanned, Value};

/// Maximum of any time, seconds: a year.
const MOST_S: f64 = 31_536_000.0;
/// Time beside a budget: starting, the probe, and cleaning up, seconds.
const BESIDE_S: f64 = 300.0;
/// Minimum time limit, seconds: one minute of it is for ending in order.
const LEAST_LIMIT_S: f64 = 120.0;
/// How far a study may exceed its budget before the engine ends it.
const OVER: f64 = 1.5;

/// The fleet, or the first error.
pub(super) fn checked(raw: RawFleet, source: &Source, engines: &[&str]) -> Result<FleetFile, FleetError> {
    let RawFleet { title, study, engine, engine_options, repeats, apart, budget, time_limit, seed, .. } = raw;
    if let Some(title) = &title {
        text(title, source)?;
    }
    text(&study, source)?;
    if !engines.contains(&engine.get_ref().as_str()) {
        let known = engines.join(", ");
        return Err(
            source.at(engine.span(), format!("'{}' is not an engine; engines are {known}", engine.get_ref()))
        );
    }
    if !(1..=MOST_REPEATS).contains(repeats.get_ref()) {
        return Err(source.at(repeats.span(), format!("repeats must be 1 to {MOST_REPEATS}")));
    }
    let apart_s = apart.map(|apart| seconds(&apart, 0.0, source)).transpose()?.unwrap_or(0.0);
    let budget_s = budget.map(|budget| seconds(&budget, 1.0, source)).transpose()?;
    let time_limit_s = match (time_limit, budget_s) {
        (Some(limit), budget_s) => {
            let limit_s = seconds(&limit, LEAST_LIMIT_S, source)?;
            if budget_s.is_some_and(|budget_s| limit_s < budget_s + 60.0) {
                let why =
                    "time_limit must be a minute longer than budget, or the engine ends every cell early";
                return Err(source.at(limit.span(), why));
            }
            limit_s
        }
        (None, Some(budget_s)) => budget_s * OVER + BESIDE_S,
        (None, None) => {
            let why = "give budget (time limit of a cell, such as \"5m\"), or time_limit if the study has its own end";
            return Err(source.at(0..0, why));
        }
    };
    // JSON numbers are exact below 2^53.
    if let Some(seed) = seed.as_ref().filter(|seed| *seed.get_ref() >= 1 << 53) {
        return Err(source.at(seed.span(), "seed must be below 2^53"));
    }
    Ok(FleetFile {
        title: title.map(Spanned::into_inner),
        study: study.into_inner(),
        engine: engine.into_inner(),
        engine_options: options(engine_options, source)?,
        repeats: repeats.into_inner(),
        apart_s: apart_s.ceil() as u64,
        boots: raw.boots.unwrap_or_default(),
        measures: raw.measures.unwrap_or_default(),
        budget_s,
        time_limit_s: time_limit_s.ceil() as u64,
        seed: seed.map(Spanned::into_inner),
        run: run(raw.run, source)?,
        kinds: kinds(raw.kinds, source)?,
    })
}

fn run(raw: RawRun, source: &Source) -> Result<RunSettings, FleetError> {
    let checked = |value: Option<Spanned<String>>| -> Result<Option<String>, FleetError> {
        value.map(|value| text(&value, source).map(|()| value.into_inner())).transpose()
    };
    if let Some(dir) = raw.data_dir.as_ref().filter(|dir| !dir.get_ref().starts_with('/')) {
        return Err(source.at(dir.span(), "data_dir must be an absolute path on the nodes"));
    }
    Ok(RunSettings {
        allow_busy: raw.allow_busy,
        no_probe: raw.no_probe,
        allow_commands: raw.allow_commands,
        yes: raw.yes,
        data_dir: checked(raw.data_dir)?,
        engine: checked(raw.engine)?,
    })
}

fn kinds(raw: Vec<Spanned<RawKind>>, source: &Source) -> Result<Vec<FleetKind>, FleetError> {
    if raw.is_empty() {
        return Err(source.at(0..0, "a fleet needs a [[kind]]: its name, and nodes or machines"));
    }
    let (mut kinds, mut seen, mut machines) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for kind in raw {
        let place = kind.span();
        let kind = kind.into_inner();
        name(&kind.name, source)?;
        if !seen.insert(kind.name.get_ref().clone()) {
            return Err(source.at(kind.name.span(), format!("there are two kinds '{}'", kind.name.get_ref())));
        }
        let found = match (&kind.nodes, &kind.machines) {
            (Some(nodes), None) if !nodes.get_ref().is_empty() => {
                for node in nodes.get_ref() {
                    name(node, source)?;
                }
                Machines::Named(nodes.get_ref().iter().map(|node| node.get_ref().clone()).collect())
            }
            (None, Some(count)) if (1..=MOST_MACHINES as u32).contains(count.get_ref()) => {
                Machines::Pool(*count.get_ref())
            }
            _ => {
                let why = format!(
                    "the kind '{}' needs either nodes = [\"NAME\", …] or machines = NUMBER (1 to {MOST_MACHINES})",
                    kind.name.get_ref()
                );
                return Err(source.at(place, why));
            }
        };
        for machine in found.names(kind.name.get_ref()) {
            if machines.contains(&machine) {
                return Err(source.at(place, format!("the machine '{machine}' appears twice")));
            }
            machines.insert(machine);
        }
        kinds.push(one_kind(kind, found, source)?);
    }
    match machines.len() > MOST_MACHINES {
        true => Err(source.at(0..0, format!("{} machines, more than {MOST_MACHINES}", machines.len()))),
        false => Ok(kinds),
    }
}

fn one_kind(raw: RawKind, machines: Machines, source: &Source) -> Result<FleetKind, FleetError> {
    let known = machines.names(raw.name.get_ref());
    let mut selector = BTreeMap::new();
    for (key, value) in raw.selector {
        text(&key, source)?;
        text(&value, source)?;
        selector.insert(key.into_inner(), value.into_inner());
    }
    let mut planted = BTreeMap::new();
    for (machine, options) in raw.machine_study_engine_options {
        if !known.contains(machine.get_ref()) {
            let why = format!("the kind has no machine '{}'; it has {}", machine.get_ref(), known.join(", "));
            return Err(source.at(machine.span(), why));
        }
        planted.insert(machine.into_inner(), scalars(options, source)?);
    }
    Ok(FleetKind {
        name: raw.name.into_inner(),
        machines,
        selector,
        price: raw.price.map(|price| checked_price(price, source)).transpose()?,
        engine_options: options(raw.engine_options, source)?,
        study_engine_options: scalars(raw.study_engine_options, source)?,
        machine_study_engine_options: planted,
    })
}

fn checked_price(raw: RawPrice, source: &Source) -> Result<PlannedPrice, FleetError> {
    let amount = *raw.amount.get_ref();
    if !(amount.is_finite() && amount > 0.0) {
        return Err(
            source.at(raw.amount.span(), "amount must be the price of an hour of one machine, above 0")
        );
    }
    for part in [&raw.currency, &raw.date, &raw.source] {
        text(part, source)?;
        if part.get_ref().trim().is_empty() {
            return Err(source.at(part.span(), "it must not be empty: a price needs a date and a source"));
        }
    }
    let (currency, date) = (raw.currency.into_inner(), raw.date.into_inner());
    Ok(PlannedPrice { amount, currency, date, source: raw.source.into_inner() })
}

fn name(value: &Spanned<String>, source: &Source) -> Result<(), FleetError> {
    names::fault(value.get_ref()).map_or(Ok(()), |why| Err(source.at(value.span(), why)))
}

fn text(value: &Spanned<String>, source: &Source) -> Result<(), FleetError> {
    names::text_fault(value.get_ref()).map_or(Ok(()), |why| Err(source.at(value.span(), why)))
}

fn seconds(value: &Spanned<String>, least_s: f64, source: &Source) -> Result<f64, FleetError> {
    let found = humantime::parse_duration(value.get_ref()).map(|time| time.as_secs_f64());
    match found {
        Ok(time_s) if (least_s..=MOST_S).contains(&time_s) => Ok(time_s),
        Ok(_) => {
            Err(source.at(value.span(), format!("'{}' is outside {least_s} s to a year", value.get_ref())))
        }
        Err(error) => Err(source
            .at(value.span(), format!("'{}' is not a time: {error}; write 90s, 5m or 1h", value.get_ref()))),
    }
}

/// Options of the fleet's engine: any value except dates, which JSON does not have.
fn options(raw: RawOptions, source: &Source) -> Result<EngineOptions, FleetError> {
    let one = |(key, value): (Spanned<String>, Spanned<Value>)| {
        text(&key, source)?;
        let place = value.span();
        let value = serde_json::to_value(value.into_inner())
            .ok()
            .filter(|value| !value.is_null())
            .ok_or_else(|| source.at(place.clone(), "this value cannot be passed on: give it as a text"))?;
        check_texts(&value).map_err(|why| source.at(place, why))?;
        Ok((key.into_inner(), value))
    };
    raw.into_iter().map(one).collect()
}

fn check_texts(value: &serde_json::Value) -> Result<(), String> {
    match value {
        serde_json::Value::String(text) => names::text_fault(text).map_or(Ok(()), Err),
        serde_json::Value::Array(items) => items.iter().try_for_each(check_texts),
        serde_json::Value::Object(entries) => entries.iter().try_for_each(|(key, value)| {
            names::text_fault(key).map_or(Ok(()), Err).and_then(|()| check_texts(value))
        }),
        _ => Ok(()),
    }
}

/// Options of the study's engine, as the command line takes them.
fn scalars(raw: RawOptions, source: &Source) -> Result<BTreeMap<String, String>, FleetError> {
    let one = |(key, value): (Spanned<String>, Spanned<Value>)| {
        text(&key, source)?;
        let place = value.span();
        let value = match value.into_inner() {
            Value::String(text) => text,
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(flag) => flag.to_string(),
            _ => {
                return Err(source
                    .at(place, "an option of the study's engine must be a text, a number, true or false"));
            }
        };
        names::text_fault(&value).map_or(Ok(()), |why| Err(source.at(place, why)))?;
        Ok((key.into_inner(), value))
    };
    raw.into_iter().map(one).collect()
}
