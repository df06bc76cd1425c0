//! A connection to a server.

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Row, Statement as Handle};
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
            values.add(match value(row, 0) {
                Value::Whole(number) => Some(BindValue::Whole(number)),
                Value::Text(text) => Some(BindValue::Text(text.into())),
                Value::Null => None,
            })
        })?;
        Ok(values)
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
