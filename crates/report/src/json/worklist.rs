//! A study of work lists: series by number of jobs, pairs, one run of each treatment item by item. And
//! items as raw lines: `threadwise export --what items --format jsonl`.

use super::{VERSION, activity, status_words};
use crate::items::Item;
use serde_json::{Value, json};
use threadwise_analysis::Interval;
use threadwise_analysis::Ratio;
use threadwise_analysis::worklist::{Computed, Pair, Point, Series, Step, Timeline, Worklist};
use threadwise_study::Run;

/// The field `worklist` of a report.
pub fn worklist(own: &Worklist) -> Value {
    json!({"worklist": {
        "recipe": own.recipe, "chain": own.recipe, "items": own.items,
        "series": own.series.iter().map(series).collect::<Value>(),
        "pairs": own.pairs.iter().map(pair).collect::<Value>(),
        "timelines": own.timelines.iter().map(timeline).collect::<Value>(),
    }})
}

fn series(own: &Series) -> Value {
    let step = |step: &Step| {
        let speed = step.speed.as_ref().map(speed);
        json!({"from_jobs": step.from, "to_jobs": step.to, "speed": speed})
    };
    json!({
        "label": own.label, "placement": own.placement,
        "points": own.points.iter().map(point).collect::<Value>(),
        "steps": own.steps.iter().map(step).collect::<Value>(),
    })
}

fn point(own: &Point) -> Value {
    let known = |own: &Option<Interval>| own.as_ref().map(activity::interval);
    let computed = |own: &Computed| {
        json!({
            "schedule": own.schedule, "total_s": activity::interval(&own.total_s),
            "ratio": activity::interval(&own.ratio),
        })
    };
    json!({
        "treatment": own.treatment, "jobs": own.jobs, "item_s": activity::interval(&own.item_s),
        "total_s": known(&own.total_s), "idle_share": known(&own.idle_share),
        "computed": own.computed.iter().map(computed).collect::<Value>(),
    })
}

fn speed(own: &Ratio) -> Value {
    json!({
        "value": own.value, "low": own.low, "high": own.high, "holm_low": own.holm_low,
        "holm_high": own.holm_high, "effect": own.effect, "mark": own.mark().words(),
    })
}

fn pair(own: &Pair) -> Value {
    json!({
        "kind": own.kind, "treatment": own.treatment, "baseline": own.baseline, "jobs": own.jobs,
        "speed": speed(&own.speed),
    })
}

fn timeline(own: &Timeline) -> Value {
    let items = own.bars.iter().map(
        |bar| json!({"name": bar.name, "job": bar.job, "start_s": bar.start_s, "elapsed_s": bar.elapsed_s}),
    );
    json!({"treatment": own.treatment, "block": own.block, "items": items.collect::<Value>()})
}

/// One item of one run.
pub(super) fn item(run: &Run, item: &Item<'_>) -> Value {
    json!({
        "version": VERSION, "run": run.id, "block": run.block, "attempt": run.attempt,
        "treatment": run.treatment, "status": status_words(&run.status).0, "index": item.index,
        "item": item.name, "job": item.job, "started_ns": item.started_ns, "elapsed_ns": item.elapsed_ns,
    })
}
