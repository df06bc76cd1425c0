//! Plans from PostgreSQL's EXPLAIN (`FORMAT JSON`).

use super::{Target, hold};
use crate::random::Random;
use crate::{json, mutate};
use serde_json::{Map, Value, json};
use threadwise_engine_postgres::canonical_plan;

struct Plans;

/// The target.
pub fn make() -> Result<Box<dyn Target>, String> {
    Ok(Box::new(Plans))
}

const NODES: [&str; 12] = [
    "Seq Scan",
    "Index Scan",
    "Hash Join",
    "Nested Loop",
    "Merge Join",
    "Hash",
    "Sort",
    "Aggregate",
    "Gather",
    "Gather Merge",
    "CTE Scan",
    "SetOp",
];
const PROPERTIES: [(&str, &[&str]); 14] = [
    ("Strategy", &["Plain", "Sorted", "Hashed", "Mixed"]),
    ("Partial Mode", &["Simple", "Partial", "Finalize"]),
    ("Parent Relationship", &["Outer", "Inner", "InitPlan", "SubPlan"]),
    ("Subplan Name", &["CTE revenue", "InitPlan 1 (returns $0)"]),
    ("Join Type", &["Inner", "Left", "Semi", "Anti"]),
    ("Relation Name", &["lineitem", "orders"]),
    ("Alias", &["l1", "lineitem"]),
    ("Index Name", &["lineitem_pkey"]),
    ("CTE Name", &["revenue"]),
    ("Hash Cond", &["(orders.o_orderkey = lineitem.l_orderkey)"]),
    ("Index Cond", &["((l_orderkey = $1) AND (l_shipdate > '1995-03-15'::date) AND (l_tax < 0.05))"]),
    ("Filter", &["(p_name ~~ '%green%'::text)", "(p_size = ANY ('{1,2}'::integer[]))"]),
    ("Function Name", &["generate_series"]),
    ("Cache Key", &["part.p_partkey"]),
];

fn node(random: &mut Random, depth: usize) -> Value {
    let mut map = Map::new();
    map.insert("Node Type".to_owned(), json!(random.pick(&NODES)));
    for _ in 0..random.below(6) {
        let (name, values) = random.pick(&PROPERTIES);
        map.insert((*name).to_owned(), json!(random.pick(values)));
    }
    if random.percent(20) {
        map.insert("Workers Planned".to_owned(), json!(random.below(9)));
    }
    if random.percent(20) {
        map.insert("Group Key".to_owned(), json!(["l_returnflag", "substr(c_phone, 1, 2)"]));
    }
    let children = if depth == 0 { 0 } else { random.below(3) };
    if children > 0 {
        let children: Vec<Value> = (0..children).map(|_| node(random, depth - 1)).collect();
        map.insert("Plans".to_owned(), Value::Array(children));
    }
    Value::Object(map)
}

impl Target for Plans {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let depth = random.below(6);
        let mut whole = json!([{"Plan": node(random, depth), "Planning Time": 0.25}]);
        let times = random.times(4);
        if random.percent(85) {
            json::mutate(random, &mut whole, times, &[]);
            return whole.to_string().into_bytes();
        }
        let mut bytes = whole.to_string().into_bytes();
        mutate::text(random, &mut bytes, times, &[]);
        bytes
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(false) };
        let plan = canonical_plan(text);
        hold(plan == canonical_plan(text), || "two forms of one plan".to_owned())?;
        Ok(serde_json::from_str::<Value>(text).is_ok())
    }
}
