//! Plans from PostgreSQL's EXPLAIN (`FORMAT JSON`).

use crate::target::{Target, changed_json, hold, values};
use threadwise_engine_postgres::canonical_plan;

/// Plans with nodes and properties that are read, in any combination.
const PLANS: &str = include_str!("../../corpus/plans.jsonl");

/// The target.
pub fn make() -> Result<Target, String> {
    let plans = values(PLANS)?;
    Ok(Target::new(
        move |random| changed_json(random, &plans),
        |input| {
            let Ok(text) = std::str::from_utf8(input) else { return Ok(false) };
            let plan = canonical_plan(text);
            hold(plan == canonical_plan(text), || "two forms of one plan".to_owned())?;
            Ok(serde_json::from_str::<serde_json::Value>(text).is_ok())
        },
    ))
}
