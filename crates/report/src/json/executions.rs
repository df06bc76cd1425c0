//! Executions of queries as raw lines: `threadwise export --what queries --format jsonl`.

use super::{VERSION, status_words};
use serde_json::{Value, json};
use threadwise_analysis::queries::plan_name;
use threadwise_study::{QueryExecution, Run, Slice};

/// One execution; its plan by the short name that the report gives it, and its text.
pub(super) fn execution(run: &Run, slice: &Slice, stream: usize, query: &QueryExecution) -> Value {
    json!({
        "version": VERSION, "run": run.id, "block": run.block, "attempt": run.attempt,
        "treatment": run.treatment, "status": status_words(&run.status).0, "sequence": slice.sequence,
        "round": slice.round, "stream": stream, "query": query.query,
        "window_start_ns": slice.start_ns, "started_ns": query.started_ns,
        "elapsed_ns": query.elapsed_ns, "planning_ns": query.planning_ns, "cpu_ns": query.cpu_ns,
        "dop": query.dop, "rows": query.rows, "counters": query.counters,
        "plan": query.plan.as_deref().and_then(plan_name), "plan_text": query.plan,
    })
}
