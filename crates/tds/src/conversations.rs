//! A fixed set of conversations, for tests with several clients.
//!
//! Source: \[MS-TDS\] 2.2.5.5.1 (types); errors 18456 and 1205 as SQL Server's documentation has them ("Database
//! engine events and errors").

use crate::bulk::Bulk;
use crate::rpc::Rpc;
use crate::script::{Change, Message, Reply, Request, Session};
use crate::types::{Column, Length, Type};
use crate::value::Value;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The only user.
pub const USER: &str = "threadwise";

/// The user's password.
pub const PASSWORD: &str = "Pass wörd 1€";

/// How many rows `SELECT many` has.
pub const MANY: i32 = 3000;

/// Characters of the text that `SELECT plan` has.
pub const PLAN_CHARACTERS: usize = 50_000;

/// How long `SELECT slowly` takes.
pub const SLOW: Duration = Duration::from_millis(300);

/// The script. It keeps the rows of a bulk load, which `SELECT * FROM bulk` returns afterwards.
pub fn script() -> impl Fn(&Session, &Request) -> Vec<Reply> + Send + Sync {
    let kept: Mutex<Option<Bulk>> = Mutex::new(None);
    move |_session, request| match request {
        Request::Login(login) if login.user == USER && login.password == PASSWORD => Vec::new(),
        Request::Login(login) => {
            let text = format!("Login failed for user '{}'.", login.user);
            vec![Reply::Error(Message::new(18456, &text).class(14))]
        }
        Request::Batch { sql } if sql == "SELECT * FROM bulk" => {
            match &*kept.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(bulk) => vec![Reply::Rows { columns: bulk.columns.clone(), rows: bulk.rows.clone() }],
                None => vec![Reply::Error(Message::new(208, "Invalid object name 'bulk'."))],
            }
        }
        Request::Batch { sql } => batch(sql),
        Request::Rpc(rpc) => call(rpc),
        Request::Bulk(bulk) => {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(bulk.clone());
            Vec::new()
        }
        Request::Attention | Request::Transaction(_) => Vec::new(),
    }
}

/// Answers to batches; unlisted ones do nothing.
fn batch(sql: &str) -> Vec<Reply> {
    match sql {
        "SELECT values" => vec![Reply::Rows { columns: columns(), rows: vec![values(), nulls()] }],
        "SELECT fixed" => {
            let columns = columns().into_iter().map(Column::not_null).collect();
            vec![Reply::Rows { columns, rows: vec![values()] }]
        }
        "SELECT several" => vec![
            numbers(0..2),
            Reply::Count(5),
            Reply::Nothing,
            Reply::Rows { columns: vec![Column::new("text", SHORT)], rows: vec![vec![Value::text("ä")]] },
            numbers(0..0),
        ],
        "SELECT many" => vec![numbers(0..MANY)],
        "SELECT plan" => {
            let rows = vec![vec![Value::Text(plan())]];
            vec![Reply::Rows { columns: vec![Column::new("plan", Type::NVarChar(Length::Max))], rows }]
        }
        "SELECT TOP 0 * FROM bulk" | "SET FMTONLY ON select * from bulk SET FMTONLY OFF" => {
            vec![Reply::Rows { columns: bulk_columns(), rows: Vec::new() }]
        }
        "SELECT then deadlock" => vec![numbers(0..2), Reply::Error(deadlock()), numbers(5..6)],
        "SELECT until deadlock" => {
            let columns = vec![Column::new("number", Type::Int).not_null()];
            vec![Reply::Broken { columns, rows: vec![vec![Value::Int(7)]], error: deadlock() }]
        }
        // The columns take 23 bytes and a row five: the connection breaks in the third row.
        "SELECT until disconnect" => vec![numbers(0..5), Reply::CloseAfterBytes(23 + 2 * 5 + 3)],
        "SELECT slowly" => vec![numbers(0..1), Reply::Wait(SLOW), numbers(1..2)],
        "SELECT for hours" => vec![numbers(0..1), Reply::Wait(Duration::from_secs(36_000)), numbers(1..2)],
        "SELECT never" => vec![Reply::Silence],
        "PRINT hello" => vec![Reply::Info(Message::new(50_000, "hello").class(0)), Reply::Nothing],
        "UPDATE seven" => vec![Reply::Count(7)],
        "USE other" => vec![Reply::Database("other".to_owned()), Reply::Nothing],
        "BEGIN TRANSACTION" => vec![Reply::Change(Change::Begun), Reply::Nothing],
        "COMMIT" => vec![Reply::Change(Change::Committed), Reply::Nothing],
        "ROLLBACK" => vec![Reply::Change(Change::RolledBack), Reply::Nothing],
        _ => vec![Reply::Nothing],
    }
}

/// Answers to calls: `SELECT echo` returns its parameters, `add_up` adds after a row,
/// `add_only` without one, `fails` fails.
fn call(rpc: &Rpc) -> Vec<Reply> {
    match (rpc.procedure.as_str(), rpc.statement()) {
        (_, Some(sql)) if sql.starts_with("SELECT echo") => {
            let echoed = rpc.parameters.get(2..).unwrap_or_default();
            let columns = echoed.iter().map(|parameter| match parameter.kind {
                Type::Null => Column::new(&parameter.name, Type::Int),
                kind => Column::new(&parameter.name, kind),
            });
            let rows = vec![echoed.iter().map(|parameter| parameter.value.clone()).collect()];
            vec![Reply::Rows { columns: columns.collect(), rows }]
        }
        (_, Some(sql)) => batch(sql),
        ("add_up" | "add_only", None) => {
            let sum = ["@a", "@b"].iter().enumerate().map(|(place, name)| match rpc.parameter(name, place) {
                Some(parameter) => match parameter.value {
                    Value::Int(number) => number,
                    _ => 0,
                },
                None => 0,
            });
            let sum = Value::Int(sum.sum());
            let name = rpc.parameters.get(2).map_or_else(String::new, |parameter| parameter.name.clone());
            let output = Reply::Output { name, kind: Type::Int, value: sum };
            let rows = (rpc.procedure == "add_up").then(|| numbers(0..1));
            rows.into_iter().chain([Reply::Status(42), output]).collect()
        }
        ("fails", None) => vec![Reply::Error(Message { procedure: "fails".to_owned(), ..deadlock() })],
        _ => vec![Reply::Error(Message::new(2812, "Could not find stored procedure."))],
    }
}

/// `nvarchar(40)`.
const SHORT: Type = Type::NVarChar(Length::Limit(40));

/// A column of each type.
pub fn columns() -> Vec<Column> {
    let types = [
        ("tinyint", Type::TinyInt),
        ("smallint", Type::SmallInt),
        ("int", Type::Int),
        ("bigint", Type::BigInt),
        ("bit", Type::Bit),
        ("real", Type::Real),
        ("float", Type::Float),
        ("decimal", Type::Decimal { precision: 20, scale: 4 }),
        ("nvarchar", SHORT),
        ("varchar", Type::VarChar(Length::Limit(40))),
        ("text", Type::NVarChar(Length::Max)),
        ("varbinary", Type::VarBinary(Length::Limit(40))),
        ("bytes", Type::VarBinary(Length::Max)),
        ("date", Type::Date),
        ("time", Type::Time(3)),
        ("datetime2", Type::DateTime2(7)),
        ("datetime", Type::DateTime),
        ("guid", Type::Guid),
    ];
    types.into_iter().map(|(name, kind)| Column::new(name, kind)).collect()
}

/// A value of each type.
pub fn values() -> Vec<Value> {
    vec![
        Value::Int(255),
        Value::Int(-32_768),
        Value::Int(-2_147_483_648),
        Value::Int(9_223_372_036_854_775_807),
        Value::Bool(true),
        Value::Float(-1.5),
        Value::Float(0.1),
        Value::Decimal { unscaled: -12_345_678_901_234_567, scale: 4 },
        Value::text("Grüße, 日本 𝄞"),
        Value::text("Grüße, 5 €"),
        Value::text(""),
        Value::Bytes(vec![0, 1, 254, 255]),
        Value::Bytes((0..=255).cycle().take(9000).collect()),
        Value::date(2024, 2, 29),
        Value::Time(45_296_789_000_000),
        Value::date_time(2024, 12, 31, 86_399_999_999_900),
        Value::date_time(1999, 12, 31, 43_200_500_000_000),
        Value::Guid([0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0, 1, 2, 3, 4, 5, 6, 7]),
    ]
}

/// Null of each type.
fn nulls() -> Vec<Value> {
    vec![Value::Null; columns().len()]
}

/// Columns of the table for bulk loads.
pub fn bulk_columns() -> Vec<Column> {
    vec![
        Column::new("id", Type::Int).not_null(),
        Column::new("number", Type::BigInt),
        Column::new("half", Type::Float),
        Column::new("name", SHORT),
        Column::new("day", Type::Date),
        Column::new("line", Type::BigInt).identity(),
    ]
}

/// A text as long as a plan.
pub fn plan() -> String {
    "<RelOp NodeId=\"1\"/>€".chars().cycle().take(PLAN_CHARACTERS).collect()
}

/// The error of a deadlock's victim.
fn deadlock() -> Message {
    let text = "Transaction (Process ID 51) was deadlocked on lock resources with another process and has been \
                chosen as the deadlock victim. Rerun the transaction.";
    Message { state: 51, line: 3, ..Message::new(1205, text).class(13) }
}

/// A result with a column of numbers, never null.
fn numbers(range: std::ops::Range<i32>) -> Reply {
    let rows = range.map(|number| vec![Value::Int(i64::from(number))]).collect();
    Reply::Rows { columns: vec![Column::new("number", Type::Int).not_null()], rows }
}
