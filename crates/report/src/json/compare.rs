//! Several studies side by side, studies before and after, and cards.

use super::form::{VERSION, merged, pretty};
use super::noise_floor;
use serde_json::{Value, json};
use threadwise_analysis::compare::aspects::{Aspect, aspects};
use threadwise_analysis::compare::card;
use threadwise_analysis::compare::change::{self, Change, Changed, Sides};
use threadwise_analysis::compare::quantity::Quantity;
use threadwise_analysis::compare::rates::{RateRow, rates};
use threadwise_analysis::compare::{self, Cell};
use threadwise_analysis::{Facts, Interval, Ratio, kinds};
use threadwise_machine::text::escaped_json;

/// `{"version", "studies", "aspects", "rates", "rows", "cautions", "note"}`; a row's cells are in the order of the studies.
pub fn compare(documents: &[Facts<'_>]) -> String {
    let table = compare::made(documents);
    let aspects = aspects(documents);
    let commands = documents.iter().any(|facts| facts.study.runs_whole());
    let rows = table.rows.iter().map(|row| {
        let cells =
            row.cells.iter().map(|compared| if commands { with_meaning(compared) } else { cell(compared) });
        let line = json!({"name": row.name, "cells": cells.collect::<Value>()});
        // Rows of commands are told apart by what they are of.
        if commands { merged(line, json!({"metric": name_of(documents, row.metric)})) } else { line }
    });
    pretty(&json!({
        "version": VERSION,
        "studies": documents.iter().map(study).collect::<Value>(),
        "aspects": list(&aspects),
        "rates": side_by_side_rates(documents, &aspects),
        "rows": rows.collect::<Value>(),
        "cautions": table.cautions,
        "note": compare::foot(documents),
    }))
}

/// `{"version", "studies", "aspects", "change", "cautions", "note"}`: studies before and after.
pub fn changed(sides: Sides<'_, '_>, change: &Change<'_>) -> String {
    let of_side = |documents: &[Facts<'_>], side: &str| -> Vec<Value> {
        documents.iter().map(|facts| merged(study(facts), json!({"side": side}))).collect()
    };
    let studies = [of_side(sides.before, "before"), of_side(sides.after, "after")].concat();
    let regressions: Vec<&str> = change.regressions().iter().map(|changed| changed.name).collect();
    let undecided: Vec<&str> = change.undecided().iter().map(|changed| changed.name).collect();
    let changes =
        |all: &[Changed<'_>]| all.iter().map(|one| one_change(one, change.can_tell())).collect::<Value>();
    let left_out = change.left_out.iter().map(|(name, reason)| json!({"name": name, "reason": reason}));
    let answer = change::answer(change);
    pretty(&json!({
        "version": VERSION,
        "studies": studies,
        "aspects": list(&change.aspects),
        "change": {
            "quantity": quantity(&change.quantity), "studies_before": change.studies[0],
            "studies_after": change.studies[1], "paired": change.is_paired, "level": change.level,
            "margin": change.margin, "can_tell": change.can_tell(), "obstacles": change.obstacles,
            "treatments": changes(&change.treatments), "comparisons": changes(&change.comparisons),
            "left_out": left_out.collect::<Value>(), "regressions": regressions,
            "undecided": undecided,
        },
        "answer": answer,
        "cautions": change.cautions,
        "note": compare::foot(&sides.all()),
    }))
}

/// A line of JSON: what a study says of second threads.
pub fn card_line(facts: &Facts<'_>) -> String {
    escaped_json(&json!(card::card(facts)).to_string()).into_owned()
}

fn list(aspects: &[Aspect]) -> Value {
    super::form::list(aspects, |aspect| json!({"differs": aspect.differs()}))
}

fn quantity(quantity: &Quantity) -> Value {
    json!({"metric": quantity.metric, "name": quantity.name, "direction": quantity.direction})
}

/// A change; without an answer where none may be given.
fn one_change(changed: &Changed<'_>, can_tell: bool) -> Value {
    let ratio = &changed.ratio;
    json!({
        "name": changed.name, "before": changed.before, "after": changed.after, "value": ratio.value, "low": ratio.low,
        "high": ratio.high, "holm_low": ratio.holm_low, "holm_high": ratio.holm_high,
        "answer": can_tell.then_some(ratio.answer), "said": can_tell.then(|| changed.said()),
        "regression": can_tell.then(|| changed.is_regression()),
        "smallest_shown": changed.reach.map(|reach| reach.smallest),
        "studies_for_margin": changed.reach.and_then(|reach| reach.studies),
    })
}

/// Rates of studies of one engine and workload, or why there are none.
fn side_by_side_rates(documents: &[Facts<'_>], aspects: &[Aspect]) -> Value {
    let found = match rates(documents, aspects, None) {
        Ok(found) => found,
        Err(reason) => return json!({"rows": [], "reason": reason}),
    };
    let rate = |interval: &Option<&Interval>| json!(interval);
    let ratio = |ratio: &Option<Ratio>| {
        json!(ratio.as_ref().map(|ratio| json!({"value": ratio.value, "low": ratio.low, "high": ratio.high})))
    };
    let row = |row: &RateRow<'_>| {
        json!({
            "treatment": row.treatment, "rates": row.rates.iter().map(rate).collect::<Value>(),
            "ratios_to_first": row.ratios.iter().map(ratio).collect::<Value>(),
        })
    };
    json!({
        "quantity": quantity(&found.quantity), "level": found.level, "margin": found.margin, "paired": false,
        "rows": found.rows.iter().map(row).collect::<Value>(), "no_ratios": found.no_ratios, "reason": null,
    })
}

fn study(facts: &Facts<'_>) -> Value {
    json!({
        "file": facts.source, "name": facts.study.name, "engine": facts.study.engine,
        "engine_version": facts.engine_version, "workload": facts.study.workload,
        "created_utc": facts.created_utc, "simulated": facts.is_simulated(),
        "blocks": facts.analysis.blocks, "level": facts.level(),
        "noise_floor": facts.widest_floor().map(|floor| noise_floor(floor, facts.study)),
    })
}

/// A metric as the reports of the studies name it.
fn name_of(documents: &[Facts<'_>], metric: &str) -> String {
    let with_commands = documents.iter().find(|facts| facts.study.runs_whole());
    with_commands
        .map_or_else(|| metric.to_owned(), |facts| kinds::of(facts.study).metric_name(facts.study, metric))
}

/// A cell that says which side of 1 is better.
fn with_meaning(compared: &Cell<'_>) -> Value {
    let meaning = match compared {
        Cell::Ratio { estimate, .. } if estimate.ratio.is_different() => Some(estimate.ratio.meaning()),
        _ => None,
    };
    merged(cell(compared), json!({"meaning": meaning}))
}

fn cell(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::Ratio { estimate, alarm } => {
            json!({
                "value": estimate.ratio.value, "low": estimate.ratio.low, "high": estimate.ratio.high,
                "blocks": estimate.ratio.blocks, "margin": estimate.ratio.margin, "answer": estimate.ratio.answer,
                "mark": estimate.ratio.mark().words(), "a_a_alarm": alarm, "reason": null,
            })
        }
        Cell::Lacks(reason) => json!({"value": null, "reason": reason}),
    }
}
