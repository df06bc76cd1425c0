//! Queries of `tpch`: an answer of every type, plans, times, degrees of parallelism.

use super::catalog::long_text;
use super::table::int;
use super::{Call, Handler, Plans, numbers};
use threadwise_tds::{Column, Message, Reply, Type, Value};

pub const STATEMENTS: &[(&str, Handler)] = &[
    ("SELECT 1 AS one", |_| numbers([1])),
    ("/* {comment} */ {query} OPTION (MAXDOP {dop})", query),
    (include_str!("../../../src/sql/last_dop.sql"), last_dop),
    (include_str!("../../../src/sql/tpch_bytes.sql"), |_| numbers([12 * 8192])),
    // Every order is there.
    ("SELECT o_orderkey, o_totalprice FROM {table} WHERE o_orderkey = @P1", |call| {
        numbers([int(&call.values[0]), 1])
    }),
    ("SELECT COUNT_BIG(*) FROM {table} WITH (INDEX(0))", count),
    ("SELECT COUNT_BIG(*) FROM {table}", count),
    ("UPDATE STATISTICS {table} WITH FULLSCAN", |_| Vec::new()),
];

/// Times of a query, milliseconds.
pub const COMPILE_MS: u64 = 4;
pub const CPU_MS: u64 = 1531;

/// The plan of every text.
const PLAN: &str = r#"<ShowPlanXML xmlns="http://schemas.microsoft.com/sqlserver/2004/07/showplan" Version="1.5">
<BatchSequence><Batch><Statements><StmtSimple><QueryPlan>
<RelOp NodeId="0" PhysicalOp="Parallelism" LogicalOp="Gather Streams" EstimateRows="2" EstimatedTotalSubtreeCost="1.5">
<Parallelism><RelOp NodeId="1" PhysicalOp="Clustered Index Scan" LogicalOp="Clustered Index Scan" EstimateRows="60000"
 EstimatedTotalSubtreeCost="1"><IndexScan><Object Table="[lineitem]" Index="[primary_lineitem]"/></IndexScan></RelOp>
</Parallelism></RelOp></QueryPlan></StmtSimple></Statements></Batch></BatchSequence></ShowPlanXML>"#;

/// A row of each type that answers have.
fn query(call: &mut Call<'_>) -> Vec<Reply> {
    let text = format!("/* {} */ {}", call.places["comment"], call.places["query"]);
    call.state.executed.push((text, call.places["dop"].parse().unwrap()));
    let columns = [
        ("l_orderkey", Type::BigInt),
        ("revenue", Type::Decimal { precision: 38, scale: 4 }),
        ("o_orderdate", Type::Date),
        ("o_shippriority", Type::Int),
        ("l_returnflag", Type::Char(1)),
        ("nothing", Type::Float),
    ];
    let row = vec![
        Value::Int(492_164),
        Value::Decimal { unscaled: 3_900_580_500, scale: 4 },
        Value::date(1995, 2, 19),
        Value::Int(0),
        Value::text("N"),
        Value::Null,
    ];
    let columns = columns.into_iter().map(|(name, kind)| Column::new(name, kind)).collect();
    let mut replies = call.settings.before_query.clone();
    replies.push(Reply::Rows { columns, rows: vec![row] });
    replies
}

fn last_dop(call: &mut Call<'_>) -> Vec<Reply> {
    let begins = &call.places["begins"];
    let found = call.state.executed.iter().rev().find(|(text, _)| text.starts_with(begins));
    let dop = found.map(|(_, dop)| vec![Value::Int(*dop)]);
    vec![Reply::Rows { columns: vec![Column::new("", Type::BigInt)], rows: dop.into_iter().collect() }]
}

fn count(call: &mut Call<'_>) -> Vec<Reply> {
    match call.state.tables.get(&call.places["table"]) {
        Some(table) => numbers([i64::try_from(table.rows.len()).unwrap()]),
        None => vec![Reply::Error(Message::new(208, "Invalid object name."))],
    }
}

/// What SET SHOWPLAN_XML gives in the place of an answer.
pub fn plan(plans: Plans, sql: &str) -> Vec<Reply> {
    if plans == Plans::None || (plans == Plans::WithoutTables && sql.contains(" FROM ")) {
        let text = "SHOWPLAN permission denied in database 'shop'.";
        return vec![Reply::Error(Message::new(262, text).class(14))];
    }
    let columns = vec![long_text("Microsoft SQL Server 2005 XML Showplan")];
    vec![Reply::Rows { columns, rows: vec![vec![Value::text(PLAN)]] }]
}

/// Times before and after an answer, as SET STATISTICS TIME has them.
pub fn timed(sql: &str, replies: Vec<Reply>) -> Vec<Reply> {
    let (compile_ms, cpu_ms) = if sql.starts_with("/*") { (COMPILE_MS, CPU_MS) } else { (0, 0) };
    let say = |number, text: String| Reply::Info(Message::new(number, &text).class(0));
    let compile = format!(
        "SQL Server parse and compile time: \n   CPU time = {compile_ms} ms, elapsed time = {compile_ms} ms."
    );
    let execution =
        format!("\n SQL Server Execution Times:\n   CPU time = {cpu_ms} ms,  elapsed time = 7 ms.");
    [vec![say(3613, compile)], replies, vec![say(3612, execution)]].concat()
}
