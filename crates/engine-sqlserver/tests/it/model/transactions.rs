//! Transactions of the user's statements on the customers: each is kept as the list of what was executed in it.

use super::{Call, Handler, numbers, word};
use threadwise_tds::{Message, Reply, Value};

pub const STATEMENTS: &[(&str, Handler)] = &[
    ("BEGIN TRANSACTION", |call| begin(call)),
    ("ROLLBACK TRANSACTION", |call| end(call, "ROLLBACK")),
    ("COMMIT TRANSACTION", |call| end(call, "COMMIT")),
    ("SELECT name FROM sys.databases UNION SELECT name FROM sys.servers WHERE is_linked = 1", databases),
    ("SELECT name FROM customers WHERE id = {value}", |call| execute(call, "SELECT")),
    ("SELECT city FROM customers", |_| {
        vec![["Ulm", "Bonn"].into_iter().flat_map(word).reduce(joined).unwrap()]
    }),
    ("SELECT big FROM customers", |_| {
        vec![[5, 1 << 40].into_iter().flat_map(|one| numbers([one])).reduce(joined).unwrap()]
    }),
    ("SELECT n FROM customers WHERE city = {city} AND big = {big}", |call| execute(call, "FIND")),
    (include_str!("../../../src/sql/burn.sql"), |call| numbers([call.settings.unit])),
    ("UPDATE customers SET name = 'x' WHERE id = {value}", |call| execute(call, "UPDATE")),
];

fn databases(_: &mut Call<'_>) -> Vec<Reply> {
    ["master", "shop", "other"].into_iter().flat_map(word).reduce(joined).into_iter().collect()
}

/// Two results as one.
fn joined(one: Reply, other: Reply) -> Reply {
    match (one, other) {
        (Reply::Rows { columns, rows }, Reply::Rows { rows: more, .. }) => {
            Reply::Rows { columns, rows: [rows, more].concat() }
        }
        (one, _) => one,
    }
}

fn begin(call: &mut Call<'_>) -> Vec<Reply> {
    match call.state.transactions.insert(call.connection, Vec::new()) {
        None => Vec::new(),
        Some(_) => vec![Reply::Error(Message::new(50_000, "a transaction in a transaction"))],
    }
}

fn execute(call: &mut Call<'_>, word: &str) -> Vec<Reply> {
    let Some(transaction) = call.state.transactions.get_mut(&call.connection) else {
        return vec![Reply::Error(Message::new(50_000, "no transaction was begun"))];
    };
    let value = |value: &Value| match value {
        Value::Int(number) => number.to_string(),
        Value::Text(text) => text.to_string(),
        other => panic!("{other:?}"),
    };
    transaction.push(format!("{word} {}", call.values.iter().map(value).collect::<Vec<_>>().join(" ")));
    numbers([1])
}

fn end(call: &mut Call<'_>, word: &str) -> Vec<Reply> {
    let Some(mut transaction) = call.state.transactions.remove(&call.connection) else {
        return vec![Reply::Error(Message::new(3902, "it has no corresponding BEGIN TRANSACTION."))];
    };
    transaction.push(word.to_owned());
    call.state.ended.push(transaction.join(", "));
    Vec::new()
}
