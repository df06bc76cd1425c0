//! Procedures with the loops of sessions: a second reading of what their texts say.
//!
//! Source: `src/sql/blocks_loop.sql`, `rows_loop.sql`, `rows_batch.sql`, `rows_few.sql`, with what the engine fills in.

use super::table::{Table, int};
use super::template::places;
use super::{Call, Handler, Settings, State, now_us, numbers};
use threadwise_tds::{Message, Reply, Type, Value};

pub const STATEMENTS: &[(&str, Handler)] = &[
    ("CREATE PROCEDURE {procedure} @{body}", create),
    ("EXEC {procedure} @P1, @P2, @P3", blocks),
    ("EXEC {procedure} @P1, @P2, @P3, @P4, @P5, @P6, @P7", rows),
    (include_str!("../../../src/sql/blocks_read.sql"), read),
    (include_str!("../../../src/sql/blocks_update.sql"), update),
    ("INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES {values}", insert),
    ("BEGIN TRANSACTION;\n{insert}\n; COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON)", insert_delayed),
];

const X: i64 = 2_147_483_647;
const Y: i64 = 2_147_483_399;

/// What a procedure does.
#[derive(Debug, Clone, PartialEq)]
pub struct Procedure {
    /// Its text.
    pub text: String,
    loops_over: Loop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loop {
    Blocks,
    Rows,
    /// Compiled to machine code, and bound to its table.
    Batch,
    /// No loop.
    Few,
}

/// A loop that was called.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// The connection.
    pub connection: u64,
    /// The procedure.
    pub procedure: String,
    /// Its parameters.
    pub values: Vec<i64>,
}

impl Procedure {
    /// Whether a table cannot be dropped while it is there.
    pub fn is_bound_to(&self, table: &str) -> bool {
        self.text.contains("SCHEMABINDING") && self.text.contains(&format!("INTO {table} "))
    }
}

fn create(call: &mut Call<'_>) -> Vec<Reply> {
    let name = call.places["procedure"].clone();
    let text = format!("CREATE PROCEDURE {name} @{}", call.places["body"]);
    let has = |part: &str| text.contains(part);
    assert!(!has("{") && !has("[[") && !text.lines().any(|line| line.starts_with('?')), "{text}");
    let loops_over = match (has("@wrong"), has("WHILE @calls < @rows_wanted"), has("WHILE @more = 1")) {
        (true, false, false) => Loop::Blocks,
        (false, true, false) => Loop::Batch,
        (false, false, true) => Loop::Rows,
        (false, false, false) if has("BEGIN ATOMIC") => Loop::Few,
        _ => {
            call.state.unknown.push(text);
            return vec![Reply::Error(Message::new(102, "Incorrect syntax"))];
        }
    };
    let procedure = Procedure { text, loops_over };
    call.state.log.push(format!("CREATE PROCEDURE {name}"));
    call.state.procedures.insert(name, procedure);
    Vec::new()
}

/// Notes that a loop begins.
pub fn note(state: &mut State, connection: u64, sql: &str, values: &[Value]) {
    let procedure = sql.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let values = values.iter().map(int).collect();
    state.loops.push(Called { connection, procedure, values });
    state.slices += usize::from(state.is_warm);
}

/// A loop of inserts that fails has inserted something, each row a transaction before the one that failed.
pub fn begun(settings: &Settings, state: &mut State, sql: &str, values: &[Value]) {
    if let Some(places) = places("EXEC {procedure} @P1, @P2, @P3, @P4, @P5, @P6, @P7", sql) {
        let mut call = Call { settings, state, connection: 0, places, values: values.to_vec() };
        rows(&mut call);
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no '{before}' in {text}"));
    rest.split_once(after).unwrap_or_else(|| panic!("no '{after}' in {rest}")).0
}

fn number(text: &str) -> i64 {
    text.trim().parse().unwrap_or_else(|_| panic!("'{text}' is no number"))
}

/// Reads or changes ranges of keys as the procedure says, and counts those that are not as it expects.
fn blocks(call: &mut Call<'_>) -> Vec<Reply> {
    let [start, end, mut x] = call.values.iter().map(int).collect::<Vec<_>>().try_into().unwrap();
    assert!(start < end && (1..X).contains(&x), "{:?}", call.values);
    let Some(procedure) = call.state.procedures.get(&call.places["procedure"]).cloned() else {
        return vec![Reply::Error(Message::new(2812, "Could not find stored procedure."))];
    };
    assert_eq!(procedure.loops_over, Loop::Blocks);
    let text = procedure.text.as_str();
    let unit = number(between(text, "IF @n <> ", " OR @s <> "));
    let (times, plus) = between(text, " OR @s <> ", " SET @wrong").split_once(" * @first + ").unwrap();
    let (times, plus) = (number(times), number(plus));
    let starts = number(between(text, "SET @first = (@x * ", ") / 2147483647;"));
    let updates = match text.contains("UPDATE ") {
        true => between(text, "IF @x * 100e0 < ", " * 2147483647e0").parse::<f64>().unwrap(),
        false => 0.0,
    };
    let table = between(text, " FROM ", " WITH (INDEX(by_k))").to_owned();
    let table = call.state.tables.get_mut(&table).unwrap();
    let mut wrong = 0;
    for _ in 0..call.settings.calls {
        x = x * 48_271 % X;
        let first = x * starts / X;
        let is_update = updates > 0.0 && {
            x = x * 48_271 % X;
            (x as f64) * 100.0 < updates * X as f64
        };
        let right = match is_update {
            true => change(table, first, first + unit - 1) == unit,
            false => range(table, first, first + unit - 1) == (unit, times * first + plus),
        };
        wrong += i64::from(!right);
    }
    let (calls, steps) = (call.settings.calls, call.settings.steps);
    use_up(call, calls, calls * unit * 3);
    answered(call, numbers([steps, calls, wrong]))
}

/// The answer, after what comes before that of a slice.
fn answered(call: &Call<'_>, answer: Vec<Reply>) -> Vec<Reply> {
    let mut replies = if call.state.is_warm { call.settings.before_loop.clone() } else { Vec::new() };
    replies.extend(answer);
    replies
}

/// A step is a millisecond of CPU time.
fn use_up(call: &mut Call<'_>, cpu_ms: i64, reads: i64) {
    let session = call.state.sessions.entry(call.connection).or_default();
    session.cpu_ms += cpu_ms;
    session.logical_reads += reads;
}

/// Rows of a range of keys, and the sum of their numbers.
fn range(table: &Table, first: i64, last: i64) -> (i64, i64) {
    let [k, value, twin] = ["k", "value", "twin"].map(|name| table.at(name));
    let inside = table.rows.iter().filter(|row| (first..=last).contains(&int(&row[k])));
    inside.fold((0, 0), |(rows, sum), row| (rows + 1, sum + int(&row[value]) + int(&row[twin])))
}

fn change(table: &mut Table, first: i64, last: i64) -> i64 {
    let [k, value, twin] = ["k", "value", "twin"].map(|name| table.at(name));
    let mut changed = 0;
    for row in table.rows.iter_mut().filter(|row| (first..=last).contains(&int(&row[k]))) {
        (row[value], row[twin]) = (Value::Int(int(&row[value]) + 1), Value::Int(int(&row[twin]) - 1));
        changed += 1;
    }
    changed
}

/// Inserts as the procedure says.
fn rows(call: &mut Call<'_>) -> Vec<Reply> {
    let values: Vec<i64> = call.values.iter().map(int).collect();
    let [owner, mut next_key, mut x, mut y, start, end, wanted] = values.try_into().unwrap();
    assert!(start < end && (1..X).contains(&x) && (1..Y).contains(&y) && owner > 0, "{:?}", call.values);
    let procedure = call.state.procedures[&call.places["procedure"]].clone();
    let per_tx = match procedure.loops_over {
        Loop::Batch => 1,
        _ => number(between(&procedure.text, "SET @next_key = @next_key + ", ";")),
    };
    let calls = if wanted > 0 { wanted / per_tx } else { call.settings.calls };
    let steps = if wanted > 0 { calls } else { call.settings.steps };
    let table = inserted_into(call, &procedure);
    let is_random = procedure.text.contains("40692");
    let mut key_sum = 0;
    let table = call.state.tables.get_mut(&table).unwrap();
    for _ in 0..calls {
        for row in 0..per_tx {
            let mut key = next_key + row;
            if is_random {
                (x, y) = (x * 48_271 % X, y * 40_692 % Y);
                key = x * 2_147_483_648 + y;
            }
            key_sum += key % 1_000_000_007;
            let now = Value::date_time(2026, 1, 1, 0);
            table.rows.push(vec![
                Value::Int(key),
                now,
                Value::Text("x".repeat(111)),
                Value::Int(owner),
                Value::Int(row),
                Value::Int(key),
            ]);
        }
        next_key += per_tx;
    }
    let lost = if call.state.is_warm { call.settings.lost } else { 0 };
    table.rows.truncate(table.rows.len() - lost);
    use_up(call, calls, calls * per_tx * 4);
    answered(call, numbers([steps, calls, key_sum, x, y, now_us()]))
}

/// The table that a procedure inserts into, which another one may do for it.
fn inserted_into(call: &Call<'_>, procedure: &Procedure) -> String {
    let text = match procedure.text.split_once("EXEC ") {
        Some((_, other)) => &call.state.procedures[other.split(' ').next().unwrap()].text,
        None => &procedure.text,
    };
    between(text, "INSERT INTO ", " (c1").to_owned()
}

/// A step of the client's loop.
fn read(call: &mut Call<'_>) -> Vec<Reply> {
    let [first, last] = [0, 1].map(|at| int(&call.values[at]));
    let (rows, sum) = range(&call.state.tables[&call.places["table"]], first, last);
    use_up(call, 1, 3 * rows);
    super::rows([Type::Int, Type::BigInt], vec![[rows, sum].map(Value::Int)])
}

fn update(call: &mut Call<'_>) -> Vec<Reply> {
    let [first, last] = [0, 1].map(|at| int(&call.values[at]));
    let changed = change(call.state.tables.get_mut(&call.places["table"]).unwrap(), first, last);
    use_up(call, 1, 3 * changed);
    super::rows([Type::Int], vec![[Value::Int(changed)]])
}

/// Keys as parameters, the owner first.
fn insert(call: &mut Call<'_>) -> Vec<Reply> {
    let (owner, keys) = call.values.split_first().unwrap();
    let (owner, keys) = (owner.clone(), keys.to_vec());
    assert_eq!(call.places["values"].matches("(@P").count(), keys.len());
    let table = call.state.tables.get_mut(&call.places["table"]).unwrap();
    for (row, key) in keys.iter().enumerate() {
        let (now, row) = (Value::date_time(2026, 1, 1, 0), Value::Int(i64::try_from(row).unwrap()));
        let text = Value::Text("x".repeat(111));
        table.rows.push(vec![key.clone(), now, text, owner.clone(), row, key.clone()]);
    }
    use_up(call, 1, 4 * i64::try_from(keys.len()).unwrap());
    Vec::new()
}

fn insert_delayed(call: &mut Call<'_>) -> Vec<Reply> {
    call.places = places(STATEMENTS[5].0, &call.places["insert"]).unwrap();
    insert(call)
}
