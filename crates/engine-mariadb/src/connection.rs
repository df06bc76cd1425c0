//! A connection to a server.

use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Column, Conn, Params, Row, Statement as Handle};
use std::fmt::Arguments;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::transaction::{
    AnswerSize, BindValue, ColumnValues, Parameter as Declared, Statement,
};
use threadwise_engine_sql::{Connection, Parameter, Value};

use crate::Server;
use crate::error::advice;
use crate::product::Product;

/// A connection.
pub(crate) struct MariadbConnection {
    pub conn: Conn,
    /// By which its statement is cancelled.
    pub server: Server,
}

/// A prepared statement.
pub(crate) struct Prepared {
    handle: Handle,
    /// Parameters of the user's statement, as indexes in the file's head.
    places: Vec<usize>,
}

impl MariadbConnection {
    /// The server's product.
    pub(crate) fn product(&self) -> &'static Product {
        self.server.product()
    }

    /// The error of a statement.
    fn query(&self, action: impl Into<String>, cause: &mysql::Error) -> EngineError {
        self.product().query(action, cause)
    }
}

fn positional(parameters: &[Parameter<'_>]) -> Params {
    let value = |parameter: &Parameter<'_>| match parameter {
        Parameter::Int(number) => mysql::Value::from(*number),
        Parameter::Big(number) => mysql::Value::from(*number),
        Parameter::Text(text) => mysql::Value::from(*text),
    };
    match parameters {
        [] => Params::Empty,
        all => Params::Positional(all.iter().map(value).collect()),
    }
}

fn value(row: &Row, at: usize) -> Value {
    match row.as_ref(at) {
        Some(mysql::Value::Int(number)) => Value::Whole(*number),
        Some(mysql::Value::UInt(number)) => i64::try_from(*number).map_or(Value::Null, Value::Whole),
        Some(mysql::Value::Bytes(bytes)) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        _ => Value::Null,
    }
}

/// A whole number of a row, without a copy; sums are decimals, which come as text.
fn whole(row: &Row, at: usize) -> Option<i64> {
    match row.as_ref(at)? {
        mysql::Value::Int(number) => Some(*number),
        mysql::Value::UInt(number) => i64::try_from(*number).ok(),
        mysql::Value::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
        _ => None,
    }
}

impl Connection for MariadbConnection {
    type Statement = Prepared;

    fn run(&mut self, action: &str, sql: &str) -> Result<(), EngineError> {
        self.conn.query_drop(sql).map_err(|cause| self.query(action, &cause))
    }

    fn rows(
        &mut self,
        action: &str,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Vec<Value>>, EngineError> {
        let rows: mysql::Result<Vec<Row>> = match parameters {
            [] => self.conn.query(sql),
            all => self.conn.exec(sql, positional(all)),
        };
        let values = |row: &Row| (0..row.len()).map(|at| value(row, at)).collect();
        Ok(rows.map_err(|cause| self.query(action, &cause))?.iter().map(values).collect())
    }

    fn prepare(&mut self, sql: &str) -> Result<Prepared, EngineError> {
        let handle = self.conn.prep(sql).map_err(|cause| self.query("prepare a step", &cause))?;
        Ok(Prepared { handle, places: Vec::new() })
    }

    fn first(
        &mut self,
        action: Arguments<'_>,
        statement: &Prepared,
        parameters: &[Parameter<'_>],
        answer: &mut [Option<i64>],
    ) -> Result<bool, EngineError> {
        let row: Option<Row> = self
            .conn
            .exec_first(&statement.handle, positional(parameters))
            .map_err(|cause| self.query(action.to_string(), &cause))?;
        let Some(row) = row else { return Ok(false) };
        answer.iter_mut().enumerate().for_each(|(at, number)| *number = whole(&row, at));
        Ok(true)
    }

    fn change(
        &mut self,
        action: Arguments<'_>,
        statement: &Prepared,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<u64>, EngineError> {
        self.conn
            .exec_drop(&statement.handle, positional(parameters))
            .map_err(|cause| self.query(action.to_string(), &cause))?;
        Ok(Some(self.conn.affected_rows()))
    }

    fn prepare_theirs(&mut self, statement: &Statement, _: &[Declared]) -> Result<Prepared, EngineError> {
        let sql = statement.text(|_| "?".to_owned());
        let handle =
            self.conn.prep(sql).map_err(|cause| explain(self.product(), statement, &advice(&cause)))?;
        let places = statement.parameters();
        match usize::from(handle.num_params()) == places.len() {
            true => Ok(Prepared { handle, places }),
            false => Err(explain(
                self.product(),
                statement,
                "a '?' alone has no value: write :NAME, with its range in the head",
            )),
        }
    }

    fn execute_theirs(
        &mut self,
        statement: &Statement,
        prepared: &Prepared,
        values: &[BindValue],
    ) -> Result<(), EngineError> {
        let mut size = AnswerSize::default();
        self.read_theirs(statement, prepared, values, |row| size.add_row(bytes(row)))
    }

    fn column_of_theirs(
        &mut self,
        query: &Statement,
        prepared: &Prepared,
    ) -> Result<ColumnValues, EngineError> {
        let mut values = ColumnValues::default();
        self.read_theirs(query, prepared, &[], |row| {
            values.add(row.columns_ref().first().and_then(|column| listed(column, row.as_ref(0)?)))
        })?;
        Ok(values)
    }
}

/// The character set `binary`, which is no character set of text (MySQL Internals, "Character Set").
const BINARY: u16 = 63;

/// A value of a list; `None` if it is neither a whole number nor text. Bytes of a binary column would be another value as
/// text, also where they happen to be UTF-8.
fn listed(column: &Column, value: &mysql::Value) -> Option<BindValue> {
    use ColumnType::{
        MYSQL_TYPE_BIT, MYSQL_TYPE_BLOB, MYSQL_TYPE_GEOMETRY, MYSQL_TYPE_LONG_BLOB, MYSQL_TYPE_MEDIUM_BLOB,
        MYSQL_TYPE_STRING, MYSQL_TYPE_TINY_BLOB, MYSQL_TYPE_VAR_STRING, MYSQL_TYPE_VARCHAR,
    };
    // Numbers and JSON have the character set `binary` too.
    let is_binary = match column.column_type() {
        MYSQL_TYPE_BIT | MYSQL_TYPE_GEOMETRY => true,
        MYSQL_TYPE_STRING
        | MYSQL_TYPE_VAR_STRING
        | MYSQL_TYPE_VARCHAR
        | MYSQL_TYPE_TINY_BLOB
        | MYSQL_TYPE_BLOB
        | MYSQL_TYPE_MEDIUM_BLOB
        | MYSQL_TYPE_LONG_BLOB => column.character_set() == BINARY,
        _ => false,
    };
    match value {
        mysql::Value::Int(number) => Some(BindValue::Whole(*number)),
        mysql::Value::UInt(number) => i64::try_from(*number).ok().map(BindValue::Whole),
        mysql::Value::Bytes(bytes) if !is_binary => {
            std::str::from_utf8(bytes).ok().map(|text| BindValue::Text(text.into()))
        }
        _ => None,
    }
}

/// A value as the library sends it.
fn bound(value: &BindValue) -> mysql::Value {
    match value {
        BindValue::Whole(number) => mysql::Value::Int(*number),
        BindValue::Real(number) => mysql::Value::Double(*number),
        BindValue::Text(text) => mysql::Value::Bytes(text.as_bytes().to_vec()),
    }
}

impl MariadbConnection {
    /// Executes a statement of the user, and gives each row to `take`, up to its first error.
    fn read_theirs(
        &mut self,
        statement: &Statement,
        prepared: &Prepared,
        values: &[BindValue],
        mut take: impl FnMut(&Row) -> Result<(), String>,
    ) -> Result<(), EngineError> {
        let id = self.conn.connection_id();
        let value = |at: &usize| values.get(*at).map_or(mysql::Value::NULL, bound);
        let parameters = match prepared.places.as_slice() {
            [] => Params::Empty,
            places => Params::Positional(places.iter().map(value).collect()),
        };
        let product = self.product();
        let fail = |cause: mysql::Error| explain(product, statement, &advice(&cause));
        let mut answer = self.conn.exec_iter(&prepared.handle, parameters).map_err(fail)?;
        // Explicitly: when it is dropped, the library reads what is left and hides an error in it.
        while let Some(rows) = answer.iter() {
            for row in rows {
                take(&row.map_err(fail)?).map_err(|why| {
                    // The library reads an answer to its end before it does anything else.
                    self.server.cancel(id);
                    explain(product, statement, &why)
                })?;
            }
        }
        Ok(())
    }
}

/// Bytes of the values of a row; only strings can be large.
fn bytes(row: &Row) -> usize {
    let bytes = |at: usize| match row.as_ref(at) {
        Some(mysql::Value::Bytes(bytes)) => bytes.len(),
        _ => 8,
    };
    (0..row.len()).map(bytes).sum()
}

/// The error of a statement of the user.
fn explain(product: &Product, statement: &Statement, why: &str) -> EngineError {
    product.failed(format!("execute {}", statement.place), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_whole_numbers_and_texts_only() {
        let found = |kind, set, value| listed(&Column::new(kind).with_character_set(set), &value);
        let bytes = |bytes: &[u8]| mysql::Value::Bytes(bytes.to_vec());
        let text = |text: &str| Some(BindValue::Text(text.into()));
        // utf8mb4_general_ci is 45; numbers have the character set `binary`.
        assert_eq!(found(ColumnType::MYSQL_TYPE_VAR_STRING, 45, bytes("Köln".as_bytes())), text("Köln"));
        assert_eq!(found(ColumnType::MYSQL_TYPE_BLOB, 45, bytes(b"long text")), text("long text"));
        assert_eq!(found(ColumnType::MYSQL_TYPE_NEWDECIMAL, 63, bytes(b"1.50")), text("1.50"));
        assert_eq!(
            found(ColumnType::MYSQL_TYPE_LONGLONG, 63, mysql::Value::Int(-7)),
            Some(BindValue::Whole(-7))
        );
        assert_eq!(
            found(ColumnType::MYSQL_TYPE_LONGLONG, 63, mysql::Value::UInt(7)),
            Some(BindValue::Whole(7))
        );
        for (kind, set, value) in [
            // BINARY(16), VARBINARY and BLOB, also where the bytes are UTF-8.
            (ColumnType::MYSQL_TYPE_STRING, 63, bytes(b"0123456789abcdef")),
            (ColumnType::MYSQL_TYPE_VAR_STRING, 63, bytes(b"a")),
            (ColumnType::MYSQL_TYPE_BLOB, 63, bytes(b"a")),
            (ColumnType::MYSQL_TYPE_BIT, 63, bytes(b"A")),
            (ColumnType::MYSQL_TYPE_VAR_STRING, 45, bytes(b"\xff\xfe")),
            (ColumnType::MYSQL_TYPE_LONGLONG, 63, mysql::Value::UInt(u64::MAX)),
            (ColumnType::MYSQL_TYPE_DOUBLE, 63, mysql::Value::Double(1.5)),
            (ColumnType::MYSQL_TYPE_LONGLONG, 63, mysql::Value::NULL),
        ] {
            assert_eq!(found(kind, set, value.clone()), None, "{kind:?} {value:?}");
        }
    }
}
