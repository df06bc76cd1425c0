//! Plans from PostgreSQL's EXPLAIN (`FORMAT JSON`).

use crate::target::{Target, lines};
use threadwise_engine_postgres::canonical_plan;

/// Plans with nodes and properties that are read, in any combination.
const PLANS: &str = include_str!("../../corpus/plans.jsonl");

/// The target.
pub fn make() -> Target {
    Target::documents(lines(PLANS), |text| {
        assert_eq!(canonical_plan(text), canonical_plan(text), "two forms of one plan");
        serde_json::from_str::<serde_json::Value>(text).is_ok()
    })
}
