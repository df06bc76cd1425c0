//! A plan in canonical form, from `EXPLAIN (FORMAT JSON)`, with planning time and workers.
//!
//! One line an operator: its name, then properties that distinguish plans, and none that depend on the data's
//! size, estimates, or the number of workers; the estimates follow ` # `. `~ ` marks operators that only move rows
//! between processes, and the partial half of an aggregate, so that "the same plan, in parallel" is recognized;
//! `Parallel` before a scan or a hash is left out for the same reason.
//!
//! Source: PostgreSQL's `src/backend/commands/explain.c` (names of properties) and its documentation,
//! "Using EXPLAIN".

use serde_json::Value;
use threadwise_engine::workloads::tpch::plan_line;

/// A plan and its numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// Its canonical text.
    pub(super) text: String,
    /// Time that planning took, nanoseconds.
    pub(super) planning_ns: u64,
    /// Workers that its largest Gather requests; 0 without a Gather.
    pub(super) workers_planned: u32,
}

/// Parses the output of EXPLAIN.
///
/// # Errors
/// It is not output of EXPLAIN.
pub(super) fn read(json: &str) -> Result<Plan, String> {
    let all: Value = serde_json::from_str(json).map_err(|cause| format!("the plan is not JSON: {cause}"))?;
    let one = all.get(0).ok_or("EXPLAIN returned no plan")?;
    let root = one.get("Plan").ok_or("EXPLAIN returned no plan")?;
    let planning_ms =
        one.get("Planning Time").and_then(Value::as_f64).ok_or("EXPLAIN returned no planning time")?;
    let mut text = String::new();
    write_node(root, 0, &mut text);
    Ok(Plan { text, planning_ns: (planning_ms * 1e6) as u64, workers_planned: most(root, "Workers Planned") })
}

/// The largest of a number anywhere in a plan.
fn most(node: &Value, name: &str) -> u32 {
    let of_node =
        node.get(name).and_then(Value::as_u64).map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX));
    children(node).map(|child| most(child, name)).fold(of_node, u32::max)
}

fn children(node: &Value) -> impl Iterator<Item = &Value> {
    node.get("Plans").and_then(Value::as_array).into_iter().flatten()
}

fn write_node(node: &Value, depth: usize, text: &mut String) {
    let number = |name: &str| node.get(name).and_then(Value::as_f64);
    let estimates = number("Plan Rows").zip(number("Total Cost"));
    text.push_str(&plan_line(depth, &line(node), estimates));
    children(node).for_each(|child| write_node(child, depth + 1, text));
}

fn word<'a>(node: &'a Value, name: &str) -> Option<&'a str> {
    node.get(name).and_then(Value::as_str)
}

fn line(node: &Value) -> String {
    let mut line = String::new();
    let (mark, name) = operator(node);
    line.push_str(mark);
    match word(node, "Parent Relationship") {
        // Their numbers depend on those of other parameters, which differ between serial and parallel plans.
        Some("InitPlan") => line.push_str(&sub_plan(node, "InitPlan")),
        Some("SubPlan") => line.push_str(&sub_plan(node, "SubPlan")),
        _ => {}
    }
    line.push_str(&name);
    if let Some(kind) = word(node, "Join Type").filter(|kind| *kind != "Inner") {
        line.push_str(&format!(" {kind}"));
    }
    if let Some(index) = word(node, "Index Name") {
        line.push_str(&format!(" using {index}"));
    }
    let subject =
        ["Relation Name", "CTE Name", "Function Name"].into_iter().find_map(|property| word(node, property));
    if let Some(subject) = subject {
        line.push_str(&format!(" on {subject}"));
    }
    if let Some(alias) = word(node, "Alias").filter(|alias| subject.is_none_or(|subject| subject != *alias)) {
        line.push_str(&format!(" {alias}"));
    }
    for (property, shown) in [
        ("Hash Cond", ""),
        ("Merge Cond", ""),
        ("Index Cond", ""),
        ("Group Key", "by "),
        ("Sort Key", "by "),
        ("Cache Key", "key "),
        ("Grouping Sets", "sets "),
    ] {
        if let Some(what) = node.get(property) {
            line.push_str(&format!(": {shown}{}", without_constants(&flat(what))));
        }
    }
    line
}

/// The name of a CTE is its own; other subplans are named by their kind alone.
fn sub_plan(node: &Value, kind: &str) -> String {
    match word(node, "Subplan Name").and_then(|name| name.strip_prefix("CTE ")) {
        Some(cte) => format!("[CTE {cte}] "),
        None => format!("[{kind}] "),
    }
}

/// Mark and name of an operator, as in the text form of EXPLAIN.
fn operator(node: &Value) -> (&'static str, String) {
    let kind = word(node, "Node Type").unwrap_or("?");
    let name = match (kind, word(node, "Strategy")) {
        ("Aggregate", Some("Sorted")) => "GroupAggregate",
        ("Aggregate", Some("Hashed")) => "HashAggregate",
        ("Aggregate", Some("Mixed")) => "MixedAggregate",
        ("SetOp", Some("Hashed")) => "HashSetOp",
        _ => kind,
    };
    match (kind, word(node, "Partial Mode")) {
        ("Gather" | "Gather Merge", _) => ("~ ", name.to_owned()),
        (_, Some("Partial")) => ("~ ", format!("Partial {name}")),
        _ => ("", name.to_owned()),
    }
}

fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(flat).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Constants as `?`: they depend on the query's parameters and the scale. Numbers of parameters (`$1`) differ between
/// serial and parallel plans and are replaced too. Digits of names stay.
fn without_constants(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_name = false;
    while let Some(next) = chars.next() {
        if next == '\'' {
            // A doubled quote inside begins another literal, with the same result.
            while chars.next_if(|&inside| inside != '\'').is_some() {}
            chars.next();
            if !plain.ends_with('?') {
                plain.push('?');
            }
        } else if next.is_ascii_digit() && !in_name {
            while chars.next_if(|&inside| inside.is_ascii_digit() || inside == '.').is_some() {}
            plain.push('?');
        } else {
            plain.push(next);
            in_name = next.is_alphanumeric() || next == '_';
        }
    }
    plain
}

/// Workers that the largest Gather of an executed plan got, from `auto_explain`'s text form: `Workers
/// Launched: 3`. 0 without a Gather.
pub(super) fn workers_launched(text: &str) -> u32 {
    let after = text.lines().filter_map(|line| line.trim().strip_prefix("Workers Launched:"));
    after.filter_map(|number| number.trim().parse().ok()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARALLEL: &str = r#"[{"Plan": {"Node Type": "Aggregate", "Strategy": "Sorted", "Partial Mode": "Finalize",
      "Parallel Aware": false, "Total Cost": 7.5, "Plan Rows": 3, "Group Key": ["l_returnflag"], "Plans": [
      {"Node Type": "Gather Merge", "Parent Relationship": "Outer", "Workers Planned": 3, "Plans": [
      {"Node Type": "Aggregate", "Strategy": "Hashed", "Partial Mode": "Partial", "Group Key": ["l_returnflag"], "Plans": [
      {"Node Type": "Hash Join", "Join Type": "Semi", "Hash Cond": "(orders.o_orderkey = lineitem.l_orderkey)", "Plans": [
      {"Node Type": "Seq Scan", "Parallel Aware": true, "Relation Name": "orders", "Alias": "orders",
       "Filter": "(o_orderdate < '1995-03-15'::date)"},
      {"Node Type": "Index Scan", "Relation Name": "lineitem", "Alias": "l1", "Index Name": "lineitem_pkey",
       "Index Cond": "((l_orderkey = $1) AND (l_shipdate > '1995-03-15'::date) AND (l_tax < 0.05))"}]}]}]},
      {"Node Type": "CTE Scan", "Parent Relationship": "InitPlan", "Subplan Name": "InitPlan 2 (returns $3)",
       "CTE Name": "revenue", "Alias": "revenue_1"}]},
      "Planning Time": 1.25}]"#;

    #[test]
    fn what_follows_size_and_workers_is_left_out() {
        let plan = read(PARALLEL).unwrap();
        assert_eq!((plan.planning_ns, plan.workers_planned), (1_250_000, 3));
        let wanted = "GroupAggregate: by l_returnflag # rows=3 cost=7.5\n  ~ Gather Merge\n    ~ Partial HashAggregate: by l_returnflag\n      \
                      Hash Join Semi: (orders.o_orderkey = lineitem.l_orderkey)\n        Seq Scan on orders\n        \
                      Index Scan using lineitem_pkey on lineitem l1: ((l_orderkey = $?) AND (l_shipdate > ?::date) AND \
                      (l_tax < ?))\n  [InitPlan] CTE Scan on revenue revenue_1\n";
        assert_eq!(plan.text, wanted);
    }

    #[test]
    fn damage_is_an_error() {
        for bad in ["", "[]", "{}", "[{\"Plan\": {}}]", "[{\"Planning Time\": 1}]"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn constants_become_question_marks_and_names_stay() {
        let plain = without_constants("(c1.p_size2 = ANY ('{1,2}'::integer[])) AND x > 10 AND y = 'it''s'");
        assert_eq!(plain, "(c1.p_size2 = ANY (?::integer[])) AND x > ? AND y = ?");
    }

    #[test]
    fn the_largest_gather_counts() {
        let text =
            "Gather\n  Workers Planned: 3\n  Workers Launched: 2\n  ->  Gather\n      Workers Launched: 3\n";
        assert_eq!((workers_launched(text), workers_launched("Seq Scan")), (3, 0));
    }
}
