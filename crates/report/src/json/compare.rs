//! Several studies side by side.

use super::form::{VERSION, merged, pretty};
use super::noise_floor;
use serde_json::{Value, json};
use threadwise_analysis::compare::{self, Cell};
use threadwise_analysis::{Facts, kinds};

/// `{"version", "studies", "rows", "cautions", "note"}`; a row's cells are in the order of the studies.
pub fn compare(documents: &[Facts<'_>]) -> String {
    let table = compare::made(documents);
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
        "rows": rows.collect::<Value>(),
        "cautions": table.cautions,
        "note": compare::foot(documents),
    }))
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
