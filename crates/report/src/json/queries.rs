//! A study of queries: times, ratios, steps of DOP, plans, outliers, heat maps.

use super::activity::interval;
use serde_json::{Value, json};
use threadwise_analysis::queries::{
    Baseline, Change, CoreSeconds, DataSize, DopStep, HeatCell, HeatMap, Outlier, Plan, PlanChange, Plateau,
    Queries, QueryEstimates, StepMark, TotalEstimates, TreatmentQueries,
};
use threadwise_analysis::{Interval, Ratio};

/// The field `queries` of the report.
pub fn queries(queries: &Queries) -> Value {
    let plans = &queries.plans;
    let step_json = |step: &DopStep| step_json(step);
    json!({
        "test": if queries.is_throughput { "throughput" } else { "power" },
        "numbers": queries.numbers, "data": list(&queries.data, data_size),
        "treatments": list(&queries.treatments, |own| treatment(own, plans)),
        "baselines": list(&queries.baselines, |own| baseline(own, plans)),
        "steps": list(&queries.steps, step_json),
        "plans": list(plans, |plan| json!({"name": plan.name, "query": plan.query, "text": plan.text})),
        "plan_changes": list(&queries.changes, |change| change_json(change, plans)),
        "outliers": list(&queries.outliers, outlier), "outliers_left_out": queries.outliers_left_out,
        "heat_maps": list(&queries.heat, heat_map),
    })
}

fn data_size(size: &DataSize) -> Value {
    json!({
        "scale": size.scale, "logical_bytes": size.logical_bytes, "memory_bytes": size.memory_bytes,
        "llc_bytes": size.llc_bytes,
    })
}

fn list<T>(items: &[T], one: impl Fn(&T) -> Value) -> Value {
    items.iter().map(one).collect()
}

fn known(value: &Option<Interval>) -> Value {
    value.as_ref().map_or(Value::Null, interval)
}

fn ratio(ratio: &Option<Ratio>) -> Value {
    ratio.as_ref().map_or(Value::Null, |own| {
        json!({
            "value": own.value, "low": own.low, "high": own.high, "blocks": own.blocks,
            "effect": own.effect, "floor": own.floor, "mark": own.mark().words(),
        })
    })
}

/// Name of a plan; `null` where there is none.
fn plan_name(plans: &[Plan], at: Option<usize>) -> Option<&str> {
    at.and_then(|at| plans.get(at)).map(|plan| plan.name.as_str())
}

fn change_word(change: Change) -> &'static str {
    match change {
        Change::Unknown => "unknown",
        Change::Same => "same",
        Change::ParallelOnly => "parallel-only",
        Change::Different => "different",
    }
}

fn treatment(own: &TreatmentQueries, plans: &[Plan]) -> Value {
    let queries = own.queries.iter().map(|(number, query)| query_json(*number, query, plans));
    json!({
        "treatment": own.treatment, "placement": own.placement, "dop": own.dop, "streams": own.streams,
        "blocks": own.blocks, "total": total(&own.total),
        "core_seconds": own.cores.as_ref().map(core_seconds), "plans_changed": own.plans_changed(),
        "queries": queries.collect::<Value>(),
    })
}

/// A group's baseline: its two runs of every block together, and what they show against each other.
fn baseline(own: &Baseline, plans: &[Plan]) -> Value {
    json!({
        "group": own.group, "twin": own.twin, "both": treatment(&own.both, plans),
        "noise": ratio(&own.noise), "noise_geometric": ratio(&own.noise_geometric),
    })
}

fn query_json(number: u8, query: &QueryEstimates, plans: &[Plan]) -> Value {
    json!({
        "query": number, "elapsed_ms": interval(&query.elapsed_ms),
        "planning_ms": known(&query.planning_ms), "cpu_ms": known(&query.cpu_ms),
        "speed": ratio(&query.speed), "cpu": ratio(&query.cpu),
        "dop_min": query.dop.map(|(least, _)| least), "dop_max": query.dop.map(|(_, most)| most),
        "plan": plan_name(plans, query.plan), "plans_seen": query.plans_seen, "plan_change": change_word(query.plan_change),
        "counters": query.counters,
    })
}

fn total(total: &TotalEstimates) -> Value {
    json!({
        "elapsed_s": known(&total.elapsed_s), "cpu_s": known(&total.cpu_s),
        "queries_per_h": known(&total.queries_per_h), "speed": ratio(&total.speed),
        "geometric": ratio(&total.geometric), "cpu": ratio(&total.cpu),
        "speed_same_plans": ratio(&total.speed_same_plans),
        "geometric_same_plans": ratio(&total.geometric_same_plans),
    })
}

fn core_seconds(cores: &CoreSeconds) -> Value {
    json!({
        "cores": cores.cores, "engine_cpu_s": cores.engine_cpu_s, "core_low_s": cores.core_low_s,
        "core_high_s": cores.core_high_s, "elapsed_s": cores.elapsed_s, "logical_s": cores.logical_s,
        "slice_s": cores.slice_s, "straggler_low_s": cores.straggler_low_s,
        "straggler_high_s": cores.straggler_high_s,
    })
}

fn step_json(step: &DopStep) -> Value {
    let mark = match step.mark {
        StepMark::None => None,
        StepMark::SuperScaling => Some("super-scaling"),
        StepMark::PoorThenGood => Some("poor-then-good"),
    };
    json!({
        "placement": step.placement, "streams": step.streams, "from": step.from, "to": step.to,
        "from_dop": step.from_dop, "to_dop": step.to_dop, "query": step.query,
        "speed": ratio(&Some(step.speed.clone())), "step_mark": mark,
        "plan_change": change_word(step.plan_change),
    })
}

fn change_json(change: &PlanChange, plans: &[Plan]) -> Value {
    json!({
        "query": change.query, "baseline_plan": plan_name(plans, Some(change.baseline)),
        "other_plan": plan_name(plans, Some(change.other)), "treatments": change.treatments,
        "plan_change": change_word(change.change),
        "lines": list(&change.lines, |(own, other)| json!([own, other])),
    })
}

fn outlier(outlier: &Outlier) -> Value {
    json!({
        "query": outlier.query, "treatment": outlier.treatment, "block": outlier.block,
        "times": outlier.times, "reason": outlier.reason.word(), "text": outlier.text.to_string(),
    })
}

fn heat_map(map: &HeatMap) -> Value {
    let cell = |cell: &HeatCell| {
        json!({
            "dop": cell.dop, "streams": cell.streams, "treatment": cell.treatment,
            "queries_per_h": interval(&cell.queries_per_h),
        })
    };
    json!({
        "placement": map.placement, "variant": map.variant, "cores": map.cores, "dops": map.dops, "streams": map.streams,
        "cells": list(&map.cells, cell), "plateaus": list(&map.plateaus, plateau),
    })
}

fn plateau(plateau: &Plateau) -> Value {
    json!({
        "streams": plateau.streams, "best_dop": plateau.best_dop, "dop": plateau.dop,
        "dop_low": plateau.dop_range.0, "dop_high": plateau.dop_range.1,
        "percent_of_cores": plateau.percent_of_cores,
        "percent_low": plateau.percent_range.map(|(low, _)| low),
        "percent_high": plateau.percent_range.map(|(_, high)| high),
    })
}
