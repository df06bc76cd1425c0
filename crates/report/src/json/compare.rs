//! Several studies side by side.

use super::{VERSION, noise_floor, pretty};
use crate::Mark;
use crate::compare::{Named, foot};
use serde_json::{Value, json};
use threadwise_analysis::compare::{Cell, SideBySide};

/// `{"version", "studies", "rows", "cautions", "note"}`; a row's cells are in the order of the studies.
pub fn compare(documents: &[Named<'_>], table: &SideBySide<'_>) -> String {
    let rows = table
        .rows
        .iter()
        .map(|row| json!({"name": row.name, "cells": row.cells.iter().map(cell).collect::<Value>()}));
    pretty(&json!({
        "version": VERSION,
        "studies": documents.iter().map(study).collect::<Value>(),
        "rows": rows.collect::<Value>(),
        "cautions": table.cautions,
        "note": foot(documents),
    }))
}

fn study(named: &Named<'_>) -> Value {
    let document = named.document;
    json!({
        "file": named.file, "name": document.study.name, "engine": document.study.engine,
        "engine_version": document.engine_version, "workload": document.study.workload,
        "created_utc": document.created_utc, "simulated": document.is_simulated(),
        "blocks": document.analysis.blocks, "level": document.level(),
        "noise_floor": document.widest_floor().map(|floor| noise_floor(floor, &document.study.workload)),
    })
}

fn cell(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::Ratio { estimate, below_floor } => {
            json!({
                "value": estimate.value, "low": estimate.low, "high": estimate.high,
                "blocks": estimate.blocks, "conclusive": estimate.conclusive, "effect": estimate.effect,
                "mark": Mark::of(estimate).words(), "within_noise_floor": below_floor, "reason": null,
            })
        }
        Cell::Lacks(reason) => json!({"value": null, "reason": reason}),
    }
}
