//! What the server says of itself, of its sessions and of its counters.

use super::{Call, Handler, NAME, now_us, numbers, rows, word};
use threadwise_tds::{Reply, Type, Value};

pub const STATEMENTS: &[(&str, Handler)] = &[
    (include_str!("../../../src/sql/now.sql"), |_| numbers([now_us()])),
    (include_str!("../../../src/sql/version.sql"), version),
    ("SET {what}", set),
    (include_str!("../../../src/sql/limits.sql"), |_| {
        let row = [
            Value::text("user connections of the server"),
            Value::Int(32_767),
            Value::Int(0),
            Value::Int(11),
        ];
        rows([NAME, Type::Int, Type::Int, Type::Int], vec![row])
    }),
    (include_str!("../../../src/sql/usage.sql"), usage),
    ("SELECT CAST(@@SPID AS int)", |call| rows([Type::Int], vec![[Value::Int(spid(call.connection))]])),
    (include_str!("../../../src/sql/may_look.sql"), |call| {
        rows([Type::Int], vec![[Value::Int(i64::from(call.settings.may_look))]])
    }),
    (
        "SELECT CAST(session_id AS int), CAST(wait_type AS nvarchar(60)) FROM sys.dm_exec_requests WHERE session_id IN \
         ({ids})",
        requests,
    ),
    (include_str!("../../../src/sql/spinlocks.sql"), spinlocks),
    (include_str!("../../../src/sql/waits.sql"), waits),
    (include_str!("../../../src/sql/latches.sql"), latches),
    (include_str!("../../../src/sql/delayed_durability.sql"), |call| word(call.settings.delayed)),
    (include_str!("../../../src/sql/memory_filegroup.sql"), |call| {
        let found = call.settings.filegroup.then(|| [Value::text("in_memory")]);
        rows([NAME], found.into_iter().collect())
    }),
    ("SELECT TOP (1) last_dop FROM sys.dm_exec_query_stats", |_| numbers([2])),
    (include_str!("../../../src/sql/statements.sql"), statements),
    (include_str!("../../../src/sql/statement_marks.sql"), |_| {
        let row = |key: &str, ours: i64| [Value::text(key), Value::text("shop"), Value::Int(ours)];
        rows([NAME, NAME, Type::Int], vec![row("0x01", 0), row("0x02", 1), row("0x03", 0)])
    }),
    (include_str!("../../../src/sql/statement_texts.sql"), |_| {
        let row = ["0x01", "shop", "(@p int)SELECT a FROM [t 1] WHERE b = @p AND c = 'secret'"];
        rows([NAME; 3], vec![row.map(Value::text)])
    }),
    ("SELECT TOP (1) data_pages FROM sys.allocation_units", |_| numbers([1])),
    ("SELECT IS_SRVROLEMEMBER('sysadmin')", |_| rows([Type::Int], vec![[Value::Int(1)]])),
    (include_str!("../../../src/sql/has_right.sql"), |_| rows([Type::Int], vec![[Value::Int(1)]])),
    ("CHECKPOINT", |_| Vec::new()),
    ("DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS", |_| Vec::new()),
    ("DBCC FREEPROCCACHE WITH NO_INFOMSGS", |_| Vec::new()),
];

/// The plan cache: a statement with two plans, and the one that reads it. Calls grow from look to look.
fn statements(call: &mut Call<'_>) -> Vec<Reply> {
    call.state.looks_at_statements += 1;
    let calls = call.state.looks_at_statements * 10;
    let start = [Value::Null, Value::Null, Value::Int(1_700_000_000), Value::Int(0), Value::Int(0)];
    let plan = |key: &str, plan: &str, calls: i64| {
        [Value::text(key), Value::text(plan), Value::Int(calls), Value::Int(calls * 500), Value::Int(calls)]
    };
    let kinds = [NAME, NAME, Type::BigInt, Type::BigInt, Type::BigInt];
    rows(kinds, vec![start, plan("0x01", "p1", calls), plan("0x01", "p2", 7), plan("0x02", "p3", 1)])
}

fn spid(connection: u64) -> i64 {
    i64::try_from(connection).unwrap() + 50
}

fn version(call: &mut Call<'_>) -> Vec<Reply> {
    let texts = [call.settings.version, call.settings.product, "shop", "DBHOST"];
    rows([NAME; 4], vec![texts.map(Value::text)])
}

fn set(call: &mut Call<'_>) -> Vec<Reply> {
    let what = call.places["what"].clone();
    let session = call.state.sessions.entry(call.connection).or_default();
    match what.as_str() {
        "SHOWPLAN_XML ON" => session.shows_plans = true,
        "SHOWPLAN_XML OFF" => session.shows_plans = false,
        "STATISTICS TIME ON" => session.is_timed = true,
        "NOCOUNT ON"
        | "XACT_ABORT ON"
        | "ANSI_WARNINGS ON"
        | "ARITHABORT ON"
        | "DEADLOCK_PRIORITY LOW"
        | "LANGUAGE us_english" => session.set.push(what),
        _ => call.state.unknown.push(format!("SET {what}")),
    }
    Vec::new()
}

fn usage(call: &mut Call<'_>) -> Vec<Reply> {
    let session = call.state.sessions.entry(call.connection).or_default();
    // What logging in cost.
    let (cpu, reads) = (session.cpu_ms + 2, session.logical_reads + 9);
    rows([Type::Int, Type::BigInt, Type::BigInt], vec![[cpu, reads, 0].map(Value::Int)])
}

/// One session waits for the log, others work.
fn requests(call: &mut Call<'_>) -> Vec<Reply> {
    let ids: Vec<i64> = call.places["ids"].split(", ").map(|id| id.parse().unwrap()).collect();
    if ids == [0] {
        return rows([Type::Int, NAME], Vec::new());
    }
    call.state.looks += 1;
    let wait = |at: usize| if at == 0 { Value::text("WRITELOG") } else { Value::Null };
    rows([Type::Int, NAME], ids.iter().enumerate().map(|(at, id)| [Value::Int(*id), wait(at)]).collect())
}

fn loops(call: &Call<'_>) -> i64 {
    i64::try_from(call.state.loops.len()).unwrap()
}

fn counted<const N: usize>(name: &str, numbers: [i64; N]) -> Vec<Value> {
    [Value::text(name)].into_iter().chain(numbers.map(Value::Int)).collect()
}

/// Each loop has 1000 spins at one lock; another lock stands still.
fn spinlocks(call: &mut Call<'_>) -> Vec<Reply> {
    let loops = loops(call);
    let columns = [NAME, Type::BigInt, Type::BigInt, Type::BigInt];
    let moving = counted("LOGCACHE_ACCESS", [5000 + 1000 * loops, 10 + 3 * loops, loops]);
    result(columns, vec![moving, counted("LOCK_HASH", [7, 7, 7])])
}

fn waits(call: &mut Call<'_>) -> Vec<Reply> {
    let loops = loops(call);
    result([NAME, Type::BigInt, Type::BigInt], vec![counted("WRITELOG", [100 + 20 * loops, 50 + 4 * loops])])
}

fn latches(call: &mut Call<'_>) -> Vec<Reply> {
    let loops = loops(call);
    result([NAME, Type::BigInt, Type::BigInt], vec![counted("BUFFER", [9 + 2 * loops, 8 + loops])])
}

fn result<const N: usize>(kinds: [Type; N], all: Vec<Vec<Value>>) -> Vec<Reply> {
    rows(kinds, all.into_iter().map(|row| row.try_into().unwrap()).collect())
}
