//! A study of commands: what was measured, its noise floors, and why a ratio is missing.

use super::{activity, metric_name, noise_floor};
use crate::Facts;
use serde_json::{Map, Value, json};
use threadwise_analysis::commands::{Commands, Quantity, direction};
use threadwise_study::Run;

/// The field `commands` of a report.
pub fn commands(facts: &Facts<'_>, own: &Commands) -> Value {
    let study = facts.study;
    let quantity = |quantity: &Quantity| {
        json!({
            "metric": metric_name(study, &quantity.metric), "name": quantity.name, "unit": quantity.unit,
            "direction": direction(quantity.better), "from_output": quantity.is_said,
        })
    };
    let baseline = |(group, metrics): &(String, _)| {
        let metrics: &std::collections::BTreeMap<_, _> = metrics;
        let metrics: Map<String, Value> = metrics
            .iter()
            .map(|(name, own): (&String, _)| (metric_name(study, name), activity::interval(own)))
            .collect();
        json!({"group": group, "metrics": metrics})
    };
    let gap = |gap: &threadwise_analysis::commands::Gap| {
        json!({
            "name": gap.comparison, "treatment": gap.treatment, "metric": metric_name(study, &gap.metric),
            "reason": gap.reason,
        })
    };
    json!({"commands": {
        "command": own.command, "differs": own.differs, "process_per_session": own.is_per_session,
        "headline": own.headline().map(|headline| metric_name(study, &headline.metric)),
        "quantities": own.quantities.iter().map(quantity).collect::<Value>(),
        "baselines": own.baselines.iter().map(baseline).collect::<Value>(),
        "noise_floors": own.floors.iter().map(|floor| noise_floor(floor, study)).collect::<Value>(),
        "gaps": own.gaps.iter().map(gap).collect::<Value>(),
    }})
}

/// What a run's output said, by name; nothing where the workload is another.
pub fn said(facts: &Facts<'_>, run: &Run) -> Value {
    if !facts.study.runs_whole() {
        return json!({});
    }
    let metrics: Map<String, Value> =
        crate::items::said(run).map(|(name, value)| (name.to_owned(), json!(value))).collect();
    json!({"metrics": metrics})
}
