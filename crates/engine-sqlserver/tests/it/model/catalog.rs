//! Schemas, tables and what is in them: made, listed and dropped.

use super::table::{Table, int, text};
use super::{Call, Handler, NAME, numbers, rows};
use std::collections::BTreeSet;
use threadwise_tds::{Column, Length, Message, Reply, Type, Value};

const OURS: [&str; 3] = ["threadwise_mark", "threadwise_objects", "threadwise_loads"];

pub const STATEMENTS: &[(&str, Handler)] = &[
    (include_str!("../../../src/sql/lock.sql"), |call| {
        rows([Type::Int], vec![[Value::Int(i64::from(call.settings.lock >= 0))]])
    }),
    ("SELECT SCHEMA_ID(N'{name}')", schema_id),
    ("SELECT OBJECT_ID(N'{name}')", object_id),
    (include_str!("../../../src/sql/schema.sql"), schema),
    ("SELECT says FROM {table}", |call| columns_of(call, &["says"])),
    ("SELECT kind, name FROM {table}", |call| columns_of(call, &["kind", "name"])),
    (include_str!("../../../src/sql/objects.sql"), objects),
    (include_str!("../../../src/sql/announce.sql"), announce),
    ("IF OBJECT_ID(N'{object}') IS NOT NULL DROP {kind} {object}", drop_if_there),
    ("DROP {kind} {object}", drop_object),
    (include_str!("../../../src/sql/drop_schema.sql"), drop_schema),
    ("SELECT bytes, counted, notes FROM {table} WHERE suffix = @P1", loaded),
    ("INSERT INTO {table} (suffix, bytes, counted, notes) VALUES (@P1, @P2, @P3, @P4)", finished),
    ("SELECT suffix FROM {table} WHERE suffix LIKE 'tpch %'", data_sets),
    ("SELECT TOP 0 {columns} FROM {table}", top_0),
    ("INSERT BULK {table} ({columns})", insert_bulk),
    (include_str!("../../../src/sql/seed_rows.sql"), seed_rows),
    (include_str!("../../../src/sql/blocks_copy.sql"), copy),
    (include_str!("../../../src/sql/blocks_index.sql"), |call| index(call, "by_k")),
    ("ALTER TABLE {table} ADD CONSTRAINT {name} PRIMARY KEY CLUSTERED ({key})", |call| index(call, "")),
    ("CREATE NONCLUSTERED INDEX {name} ON {table} ({key})", |call| index(call, "")),
    (include_str!("../../../src/sql/blocks_pages.sql"), pages),
    (include_str!("../../../src/sql/blocks_whole.sql"), whole),
    (include_str!("../../../src/sql/rows_held.sql"), held),
    (include_str!("../../../src/sql/rows_put_back.sql"), put_back),
    ("CREATE TABLE {table} ({definition}", create_table),
];

fn failed(number: i32, text: &str) -> Vec<Reply> {
    vec![Reply::Error(Message::new(number, text))]
}

fn schema_id(call: &mut Call<'_>) -> Vec<Reply> {
    let found = call.state.schemas.iter().position(|name| *name == call.places["name"]);
    let id = found.map_or(Value::Null, |at| Value::Int(i64::try_from(at).unwrap() + 5));
    rows([Type::Int], vec![[id]])
}

fn object_id(call: &mut Call<'_>) -> Vec<Reply> {
    let id = if is_there(call, &call.places["name"]) { Value::Int(4711) } else { Value::Null };
    rows([Type::Int], vec![[id]])
}

fn is_there(call: &Call<'_>, name: &str) -> bool {
    let state = &call.state;
    state.tables.contains_key(name)
        || state.procedures.contains_key(name)
        || state.others.iter().any(|other| other == name)
}

/// The schema and the three tables that make it ours.
fn schema(call: &mut Call<'_>) -> Vec<Reply> {
    let (schema, says) = (call.places["schema"].clone(), call.places["says"].clone());
    call.state.log.push(format!("CREATE SCHEMA [{schema}]"));
    call.state.schemas.push(schema.clone());
    let definitions = [
        "(says varchar(100) NOT NULL)",
        "(kind varchar(9) NOT NULL, name varchar(120) NOT NULL)",
        "(suffix varchar(64) NOT NULL, bytes bigint NOT NULL, counted bigint NOT NULL, notes nvarchar(max) NOT NULL)",
    ];
    for (name, definition) in OURS.iter().zip(definitions) {
        add_table(call, format!("[{schema}].[{name}]"), Table::new(definition));
    }
    let mark = call.state.tables.get_mut(&format!("[{schema}].[{}]", OURS[0])).unwrap();
    mark.rows.push(vec![Value::Text(says)]);
    Vec::new()
}

fn add_table(call: &mut Call<'_>, name: String, table: Table) {
    call.state.log.push(format!("CREATE TABLE {name}"));
    call.state.tables.insert(name, table);
}

fn create_table(call: &mut Call<'_>) -> Vec<Reply> {
    let (name, definition) = (call.places["table"].clone(), format!("({}", call.places["definition"]));
    if is_there(call, &name) {
        return failed(2714, &format!("There is already an object named '{name}' in the database."));
    }
    add_table(call, name, Table::new(&definition));
    Vec::new()
}

fn table<'a>(call: &'a mut Call<'_>) -> Result<&'a mut Table, Vec<Reply>> {
    let name = &call.places["table"];
    let missing = || failed(208, &format!("Invalid object name '{name}'."));
    call.state.tables.get_mut(name).ok_or_else(missing)
}

/// All rows of these columns.
fn columns_of(call: &mut Call<'_>, names: &[&str]) -> Vec<Reply> {
    let table = match table(call) {
        Ok(table) => table,
        Err(failed) => return failed,
    };
    let places: Vec<usize> = names.iter().map(|name| table.at(name)).collect();
    let columns = places.iter().map(|at| table.columns[*at].clone()).collect();
    let rows = table.rows.iter().map(|row| places.iter().map(|at| row[*at].clone()).collect()).collect();
    vec![Reply::Rows { columns, rows }]
}

/// Kind and name of what is in a schema but our own tables.
fn objects(call: &mut Call<'_>) -> Vec<Reply> {
    let prefix = format!("[{}].[", call.places["schema"]);
    let state = &call.state;
    let tables = state.tables.keys().map(|name| ("table    ", name));
    let all = tables.chain(state.procedures.keys().map(|name| ("procedure", name)));
    let all = all.chain(state.others.iter().map(|name| ("other    ", name)));
    let inside = all.filter_map(|(kind, name)| Some((kind, name.strip_prefix(&prefix)?.strip_suffix(']')?)));
    let found = inside.filter(|(_, name)| !OURS.contains(name));
    rows([NAME; 2], found.map(|(kind, name)| [kind, name].map(Value::text)).collect())
}

fn announce(call: &mut Call<'_>) -> Vec<Reply> {
    let name = format!("[{}].[{}]", call.places["schema"], OURS[1]);
    let row = ["kind", "name"].map(|place| Value::Text(call.places[place].clone())).to_vec();
    let Some(table) = call.state.tables.get_mut(&name) else {
        return failed(208, &format!("Invalid object name '{name}'."));
    };
    if !table.rows.contains(&row) {
        table.rows.push(row);
    }
    Vec::new()
}

fn drop_if_there(call: &mut Call<'_>) -> Vec<Reply> {
    if is_there(call, &call.places["object"]) { drop_object(call) } else { Vec::new() }
}

/// Drops a schema with our own tables, or nothing if it has other objects.
fn drop_schema(call: &mut Call<'_>) -> Vec<Reply> {
    let schema = call.places["schema"].clone();
    let ours = OURS.map(|name| format!("[{schema}].[{name}]"));
    let state = &mut *call.state;
    let mut all = state.tables.keys().chain(state.procedures.keys()).chain(&state.others);
    if all.any(|object| object.starts_with(&format!("[{schema}].")) && !ours.contains(object)) {
        return failed(3729, &format!("Cannot drop '[{schema}]' because it is being referenced."));
    }
    for name in ours.iter().rev().filter(|name| state.tables.remove(*name).is_some()) {
        state.log.push(format!("DROP TABLE {name}"));
    }
    state.log.push(format!("DROP SCHEMA [{schema}]"));
    state.schemas.retain(|one| *one != schema);
    Vec::new()
}

/// Drops something, unless it is needed or not there.
fn drop_object(call: &mut Call<'_>) -> Vec<Reply> {
    let (kind, name) = (call.places["kind"].to_uppercase(), call.places["object"].clone());
    let state = &mut *call.state;
    let missing = failed(3701, &format!("Cannot drop '{name}', because it does not exist."));
    let needed = failed(3729, &format!("Cannot drop '{name}' because it is being referenced."));
    match kind.as_str() {
        "TABLE" => {
            if state.procedures.values().any(|procedure| procedure.is_bound_to(&name)) {
                return needed;
            }
            if state.tables.remove(&name).is_none() {
                return missing;
            }
        }
        "PROCEDURE" => {
            if state.procedures.remove(&name).is_none() {
                return missing;
            }
        }
        _ => return failed(102, "Incorrect syntax"),
    }
    state.log.push(format!("DROP {kind} {name}"));
    Vec::new()
}

fn loaded(call: &mut Call<'_>) -> Vec<Reply> {
    let wanted = call.values.clone();
    let replies = columns_of(call, &["bytes", "counted", "notes", "suffix"]);
    let Some(Reply::Rows { mut columns, rows }) = replies.first().cloned() else { return replies };
    columns.truncate(3);
    let rows = rows.into_iter().filter(|row| row[3..] == wanted).map(|row| row[..3].to_vec()).collect();
    vec![Reply::Rows { columns, rows }]
}

fn finished(call: &mut Call<'_>) -> Vec<Reply> {
    let values = call.values.clone();
    table(call).unwrap().rows.push(values);
    Vec::new()
}

fn data_sets(call: &mut Call<'_>) -> Vec<Reply> {
    let replies = columns_of(call, &["suffix"]);
    let Some(Reply::Rows { columns, mut rows }) = replies.first().cloned() else { return replies };
    rows.retain(|row| text(&row[0]).starts_with("tpch "));
    vec![Reply::Rows { columns, rows }]
}

fn top_0(call: &mut Call<'_>) -> Vec<Reply> {
    let list = call.places["columns"].clone();
    match table(call) {
        Ok(table) => vec![Reply::Rows { columns: table.named(&list), rows: Vec::new() }],
        Err(failed) => failed,
    }
}

fn insert_bulk(call: &mut Call<'_>) -> Vec<Reply> {
    let name = call.places["table"].clone();
    call.state.sessions.entry(call.connection).or_default().bulk = name;
    table(call).map_or_else(|failed| failed, |_| Vec::new())
}

/// Keys go from one table into another in the order of their numbers.
fn seed_rows(call: &mut Call<'_>) -> Vec<Reply> {
    let between = ["first", "last"].map(|place| call.places[place].parse::<i64>().unwrap());
    let staging = &call.state.tables[&call.places["staging"]];
    let (n, k) = (staging.at("n"), staging.at("k"));
    let keys: Vec<Value> = staging
        .rows
        .iter()
        .filter(|row| (between[0]..=between[1]).contains(&int(&row[n])))
        .map(|row| row[k].clone())
        .collect();
    let text = Value::Text(call.places["text"].clone());
    let table = table(call).unwrap();
    for key in keys {
        let now = Value::date_time(2026, 1, 1, 0);
        table.rows.push(vec![key.clone(), now, text.clone(), Value::Int(0), Value::Int(0), key]);
    }
    Vec::new()
}

fn copy(call: &mut Call<'_>) -> Vec<Reply> {
    let from = call.state.tables[&call.places["from"]].rows.clone();
    table(call).unwrap().rows = from;
    Vec::new()
}

fn index(call: &mut Call<'_>, name: &str) -> Vec<Reply> {
    let name = call.places.get("name").cloned().unwrap_or_else(|| name.to_owned());
    match table(call) {
        Ok(table) => {
            table.indexes.push(name);
            Vec::new()
        }
        Err(failed) => failed,
    }
}

/// A row a page.
fn pages(call: &mut Call<'_>) -> Vec<Reply> {
    let rows = table(call).unwrap().rows.len();
    numbers([i64::try_from(rows).unwrap()])
}

fn whole(call: &mut Call<'_>) -> Vec<Reply> {
    let table = match table(call) {
        Ok(table) => table,
        Err(failed) => return failed,
    };
    let distinct: BTreeSet<i64> = table.numbers("k").collect();
    let sum = table.numbers("value").sum::<i64>() + table.numbers("twin").sum::<i64>();
    numbers([i64::try_from(table.rows.len()).unwrap(), i64::try_from(distinct.len()).unwrap(), sum])
}

fn held(call: &mut Call<'_>) -> Vec<Reply> {
    let modulus: i64 = call.places["modulus"].parse().unwrap();
    let table = match table(call) {
        Ok(table) => table,
        Err(failed) => return failed,
    };
    let sum = table.numbers("c1").map(|key| key % modulus).sum();
    numbers([i64::try_from(table.rows.len()).unwrap(), sum])
}

fn put_back(call: &mut Call<'_>) -> Vec<Reply> {
    let table = table(call).unwrap();
    let owner = table.at("c4");
    table.rows.retain(|row| int(&row[owner]) == 0);
    Vec::new()
}

/// A column of text of any length.
pub fn long_text(name: &str) -> Column {
    Column::new(name, Type::NVarChar(Length::Max))
}
