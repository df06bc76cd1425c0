//! A prepared statement and the values of its parameters, which are whole numbers of the types that the server expects.

use postgres::Client;
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{ToSql, Type};
use threadwise_engine::EngineError;
use threadwise_engine::workloads::transaction::{AnswerSize, Parameter, Statement};

use crate::connect::Canceller;
use crate::error::{failed, server_message};

/// A prepared statement.
pub(super) struct Prepared {
    statement: postgres::Statement,
    /// Its parameters, `$1` first, as indexes in the file's head.
    parameters: Vec<usize>,
}

impl Prepared {
    /// Prepares a statement of the file. The server derives the type of each parameter from its place; if that is not
    /// an integer type, the parameter is a bigint, which the server then converts or refuses.
    ///
    /// # Errors
    /// An error of the server; a range that does not fit the type.
    pub(super) fn new(
        client: &mut Client,
        statement: &Statement,
        ranges: &[Parameter],
    ) -> Result<Self, EngineError> {
        // Each place has its own number, since one value may be used with several types.
        let (parameters, mut number) = (statement.parameters(), 0);
        let sql = statement.text(|_| {
            number += 1;
            format!("${number}")
        });
        let mut prepared = client.prepare(&sql).map_err(|cause| explain(statement, &cause))?;
        if prepared.params().iter().any(|one| value(one, 0).is_none()) {
            let known = |one: &Type| if value(one, 0).is_some() { one.clone() } else { Type::INT8 };
            let types: Vec<Type> = prepared.params().iter().map(known).collect();
            prepared = client.prepare_typed(&sql, &types).map_err(|cause| explain(statement, &cause))?;
        }
        for (at, kind) in parameters.iter().zip(prepared.params()) {
            let Some(Parameter { name, low, high }) = ranges.get(*at) else { continue };
            if [*low, *high].iter().any(|end| value(kind, *end).is_none()) {
                let why =
                    format!("the range {low}..{high} of its parameter :{name} does not fit the type {kind}");
                return Err(failed(action(statement), why));
            }
        }
        Ok(Self { statement: prepared, parameters })
    }

    /// Executes it and reads all of its rows, one after another; `statement` is its source.
    ///
    /// # Errors
    /// An error of the server, with the line of the statement; or its answer is too large, and it was cancelled.
    pub(super) fn execute(
        &self,
        statement: &Statement,
        (client, canceller): (&mut Client, &Canceller),
        drawn: &[i64],
    ) -> Result<(), EngineError> {
        let values = self.parameters.iter().zip(self.statement.params());
        let values: Vec<Box<dyn ToSql + Sync>> = values
            .filter_map(|(at, kind)| value(kind, drawn.get(*at).copied().unwrap_or_default()))
            .collect();
        let fail = |cause: postgres::Error| explain(statement, &cause);
        let mut rows = client.query_raw(&self.statement, values).map_err(fail)?;
        let mut size = AnswerSize::default();
        while let Some(row) = rows.next().map_err(fail)? {
            size.add_row(row.raw_size_bytes()).map_err(|why| {
                // The library reads an answer to its end before it closes the connection.
                canceller.cancel();
                failed(action(statement), why)
            })?;
        }
        Ok(())
    }
}

/// A whole number as a value of a type; `None` if the type cannot hold it.
fn value(kind: &Type, number: i64) -> Option<Box<dyn ToSql + Sync>> {
    Some(match *kind {
        Type::INT2 => Box::new(i16::try_from(number).ok()?),
        Type::INT4 => Box::new(i32::try_from(number).ok()?),
        Type::INT8 => Box::new(number),
        Type::OID => Box::new(u32::try_from(number).ok()?),
        Type::FLOAT4 => Box::new(number as f32),
        Type::FLOAT8 => Box::new(number as f64),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR => Box::new(number.to_string()),
        _ => return None,
    })
}

fn action(statement: &Statement) -> String {
    format!("execute line {}", statement.line)
}

/// An error of a statement of the file.
pub(super) fn explain(statement: &Statement, cause: &postgres::Error) -> EngineError {
    let action = action(statement);
    match cause.code() {
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
            let words = cause.as_db_error().map_or("it writes", |error| error.message());
            failed(action, format!("{words}; --may-write DATABASE lets transactions write"))
        }
        _ => failed(action, server_message(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_values_where_the_type_holds_them() {
        assert!(value(&Type::INT2, 40_000).is_none() && value(&Type::INT4, 40_000).is_some());
        assert!(value(&Type::INT4, 1 << 40).is_none() && value(&Type::INT8, 1 << 40).is_some());
        assert!(value(&Type::OID, -1).is_none() && value(&Type::TEXT, -1).is_some());
        assert!(value(&Type::NUMERIC, 1).is_none() && value(&Type::DATE, 1).is_none());
    }
}
