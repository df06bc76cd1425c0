//! A connection to a server.

use bytes::BytesMut;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Row, SimpleQueryMessage};
use std::error::Error;
use std::fmt::Arguments;
use threadwise_engine::EngineError;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::transaction::{
    AnswerSize, BindValue, ColumnValues, Parameter as Declared, Statement,
};
use threadwise_engine_sql::{Connection, Parameter, Usage, Value};

use crate::Server;
use crate::backend::flush_statistics;
use crate::connect::Canceller;
use crate::error::{explain, failed, query};

/// Pending block counts of a table and its index: those accessed, and those of them that were not in the cache.
const PENDING: &str = "SELECT pg_stat_get_xact_blocks_fetched($1) + pg_stat_get_xact_blocks_fetched($2), \
     pg_stat_get_xact_blocks_fetched($1) + pg_stat_get_xact_blocks_fetched($2) \
     - pg_stat_get_xact_blocks_hit($1) - pg_stat_get_xact_blocks_hit($2)";

/// A connection.
pub struct PostgresConnection {
    /// The client library's.
    pub client: Client,
    canceller: Canceller,
    version_num: u32,
    /// The table and its index whose blocks this backend counts.
    counted: Option<(postgres::Statement, [u32; 2])>,
    /// Whether steps are counted by that: those of a client's loop, in a transaction.
    pub(crate) counts_steps: bool,
}

/// A prepared statement.
pub struct Prepared {
    statement: postgres::Statement,
    /// Parameters of the user's statement, `$1` first, as indexes in the file's head.
    places: Vec<usize>,
}

/// A parameter as a value of the type that the server expects in its place.
#[derive(Debug)]
struct Sent<'a>(Parameter<'a>);

impl ToSql for Sent<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let number = match self.0 {
            Parameter::Int(number) => i64::from(number),
            Parameter::Big(number) => number,
            Parameter::Text(text) => return text.to_sql(kind, out),
        };
        match *kind {
            Type::INT2 => i16::try_from(number)?.to_sql(kind, out),
            Type::INT4 => i32::try_from(number)?.to_sql(kind, out),
            Type::OID => u32::try_from(number)?.to_sql(kind, out),
            Type::FLOAT4 => (number as f32).to_sql(kind, out),
            Type::FLOAT8 => (number as f64).to_sql(kind, out),
            Type::TEXT | Type::VARCHAR | Type::BPCHAR => number.to_string().to_sql(kind, out),
            _ => number.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::INT2, Type::OID, Type::FLOAT4, Type::FLOAT8].contains(kind)
            || [Type::TEXT, Type::VARCHAR, Type::BPCHAR].contains(kind)
    }

    to_sql_checked!();
}

/// A value of the user's transaction. What the library cannot write in a type's own form goes as text, which the server
/// reads as it reads a constant between quotes: dates, numerics and types of the user too.
#[derive(Debug)]
struct Bound<'a>(&'a BindValue);

impl ToSql for Bound<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self.0, self.encode_format(kind)) {
            (BindValue::Whole(number), Format::Binary) => Sent(Parameter::Big(*number)).to_sql(kind, out),
            (BindValue::Real(number), Format::Binary) if *kind == Type::FLOAT4 => {
                (*number as f32).to_sql(kind, out)
            }
            (BindValue::Real(number), Format::Binary) => number.to_sql(kind, out),
            (BindValue::Whole(number), Format::Text) => number.to_string().to_sql(&Type::TEXT, out),
            (BindValue::Real(number), Format::Text) => number.to_string().to_sql(&Type::TEXT, out),
            (BindValue::Text(text), _) => (&**text).to_sql(&Type::TEXT, out),
        }
    }

    fn encode_format(&self, kind: &Type) -> Format {
        let is_known = match self.0 {
            BindValue::Whole(_) => Sent::accepts(kind),
            BindValue::Real(_) => [Type::FLOAT4, Type::FLOAT8].contains(kind),
            BindValue::Text(_) => false,
        };
        if is_known { Format::Binary } else { Format::Text }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A column of a row as a whole number.
fn whole(row: &Row, at: usize) -> Option<i64> {
    match *row.columns().get(at)?.type_() {
        Type::INT8 => row.try_get(at).ok()?,
        Type::INT4 => row.try_get::<_, Option<i32>>(at).ok()?.map(i64::from),
        Type::INT2 => row.try_get::<_, Option<i16>>(at).ok()?.map(i64::from),
        _ => None,
    }
}

impl PostgresConnection {
    /// A connection to a server.
    pub(crate) fn new(server: &Server, client: Client) -> Self {
        let canceller = server.canceller(&client);
        Self { client, canceller, version_num: server.version_num(), counted: None, counts_steps: false }
    }

    /// From now on this backend's blocks of a table and its index are counted.
    ///
    /// This backend counts them itself, in counts that it has not yet flushed to the statistics
    /// (`pg_stat_get_xact_blocks_fetched`): exact for a table that others read too, and available at once. A backend
    /// flushes only when it is idle outside of a transaction (`pgstat_report_stat` in `PostgresMain`), so that the counts
    /// only grow inside one call, and inside one transaction of a client.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn count_blocks(&mut self, table: &str, index: &str) -> Result<(), EngineError> {
        let action = "find its table and index";
        let sql = format!("SELECT '{table}'::regclass::oid, '{index}'::regclass::oid");
        let row = self.client.query_one(&sql, &[]).map_err(|cause| query(action, &cause))?;
        let read = |column: usize| row.try_get(column).map_err(|cause| query(action, &cause));
        let statement = self.client.prepare(PENDING).map_err(|cause| query("prepare a statement", &cause))?;
        self.counted = Some((statement, [read(0)?, read(1)?]));
        Ok(())
    }

    /// Blocks accessed in this transaction, and those of them that were not in the cache.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn blocks(&mut self) -> Result<Option<[u64; 2]>, EngineError> {
        let Some((statement, [table, index])) = &self.counted else { return Ok(None) };
        let row = self.client.query_one(statement, &[table, index]);
        let row = row.map_err(|cause| query("read its block counts", &cause))?;
        Ok(whole(&row, 0)
            .zip(whole(&row, 1))
            .map(|(all, missed)| [all, missed].map(|count| count.max(0) as u64)))
    }
}

fn sent<'a>(parameters: &'a [Parameter<'a>]) -> impl ExactSizeIterator<Item = Sent<'a>> {
    parameters.iter().copied().map(Sent)
}

/// As the library takes them.
fn references<'a>(sent: &'a [Sent<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    sent.iter().map(|one| one as &(dyn ToSql + Sync)).collect()
}

impl Connection for PostgresConnection {
    type Statement = Prepared;

    fn run(&mut self, action: &str, sql: &str) -> Result<(), EngineError> {
        self.client.batch_execute(sql).map_err(|cause| query(action, &cause))
    }

    fn rows(
        &mut self,
        action: &str,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Vec<Value>>, EngineError> {
        let fail = |cause: postgres::Error| query(action, &cause);
        if parameters.is_empty() {
            let messages = self.client.simple_query(sql).map_err(fail)?;
            let row = |message: &SimpleQueryMessage| match message {
                SimpleQueryMessage::Row(row) => {
                    let value = |at| row.get(at).map_or(Value::Null, |text| Value::Text(text.to_owned()));
                    Some((0..row.len()).map(value).collect())
                }
                _ => None,
            };
            return Ok(messages.iter().filter_map(row).collect());
        }
        let statement = self.client.prepare(sql).map_err(fail)?;
        let rows = self.client.query_raw(&statement, sent(parameters)).map_err(fail)?;
        let rows: Vec<Row> = rows.collect().map_err(fail)?;
        let value = |row: &Row, at: usize| match whole(row, at) {
            Some(number) => Value::Whole(number),
            None => row.try_get(at).map_or(Value::Null, Value::Text),
        };
        Ok(rows.iter().map(|row| (0..row.len()).map(|at| value(row, at)).collect()).collect())
    }

    fn prepare(&mut self, sql: &str) -> Result<Prepared, EngineError> {
        let statement = self.client.prepare(sql).map_err(|cause| query("prepare a statement", &cause))?;
        Ok(Prepared { statement, places: Vec::new() })
    }

    fn first(
        &mut self,
        action: Arguments<'_>,
        statement: &Prepared,
        parameters: &[Parameter<'_>],
        answer: &mut [Option<i64>],
    ) -> Result<bool, EngineError> {
        let sent: Vec<Sent<'_>> = sent(parameters).collect();
        // At once: the library's iterator over rows enters its event loop again for each of them.
        let row = self.client.query_opt(&statement.statement, &references(&sent));
        let Some(row) = row.map_err(|cause| query(action.to_string(), &cause))? else { return Ok(false) };
        answer.iter_mut().enumerate().for_each(|(at, number)| *number = whole(&row, at));
        Ok(true)
    }

    fn change(
        &mut self,
        action: Arguments<'_>,
        statement: &Prepared,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<u64>, EngineError> {
        let sent: Vec<Sent<'_>> = sent(parameters).collect();
        let changed = self.client.execute(&statement.statement, &references(&sent));
        changed.map(Some).map_err(|cause| query(action.to_string(), &cause))
    }

    fn usage(&mut self, backend: Option<Thread>) -> Result<Usage, EngineError> {
        let reads = if self.counts_steps { self.blocks()? } else { None };
        Ok(Usage { reads, ..Usage::of_thread(backend) })
    }

    fn rest(&mut self) -> Result<(), EngineError> {
        flush_statistics(&mut self.client, self.version_num)
    }

    /// The server derives the type of each parameter from its place; where that is not an integer type, a parameter with
    /// a range is a bigint, which the server then converts or refuses.
    fn prepare_theirs(
        &mut self,
        statement: &Statement,
        parameters: &[Declared],
    ) -> Result<Prepared, EngineError> {
        // Each place has its own number, since one value may be used with several types.
        let (places, mut number) = (statement.parameters(), 0);
        let sql = statement.text(|_| {
            number += 1;
            format!("${number}")
        });
        let fail = |cause: postgres::Error| explain(statement, &cause);
        let mut prepared = self.client.prepare(&sql).map_err(fail)?;
        let declared = |at: &usize| parameters.get(*at).and_then(|one| Some((one, one.range()?)));
        let typed = places.iter().zip(prepared.params()).map(|(at, kind)| {
            if Sent::accepts(kind) || declared(at).is_none() { kind.clone() } else { Type::INT8 }
        });
        let types: Vec<Type> = typed.collect();
        if types != prepared.params() {
            prepared = self.client.prepare_typed(&sql, &types).map_err(fail)?;
        }
        for (at, kind) in places.iter().zip(prepared.params()) {
            let Some((Declared { name, .. }, range)) = declared(at) else { continue };
            if !range.iter().all(|end| fits(kind, *end)) {
                let [low, high] = range;
                let why =
                    format!("the range {low}..{high} of its parameter :{name} does not fit the type {kind}");
                return Err(failed(format!("execute {}", statement.place), why));
            }
        }
        Ok(Prepared { statement: prepared, places })
    }

    fn execute_theirs(
        &mut self,
        statement: &Statement,
        prepared: &Prepared,
        values: &[BindValue],
    ) -> Result<(), EngineError> {
        let mut size = AnswerSize::default();
        self.read_theirs(statement, prepared, values, |row| size.add_row(row.raw_size_bytes()))
    }

    fn column_of_theirs(
        &mut self,
        query: &Statement,
        prepared: &Prepared,
    ) -> Result<ColumnValues, EngineError> {
        let mut values = ColumnValues::default();
        self.read_theirs(query, prepared, &[], |row| {
            let text = || Some(BindValue::Text(row.try_get::<_, &str>(0).ok()?.into()));
            values.add(whole(row, 0).map(BindValue::Whole).or_else(text))
        })?;
        Ok(values)
    }
}

impl PostgresConnection {
    /// Executes a statement of the user, and gives each row to `take`, up to its first error.
    fn read_theirs(
        &mut self,
        statement: &Statement,
        prepared: &Prepared,
        values: &[BindValue],
        mut take: impl FnMut(&Row) -> Result<(), String>,
    ) -> Result<(), EngineError> {
        let none = BindValue::default();
        let value = |at: &usize| Bound(values.get(*at).unwrap_or(&none));
        let fail = |cause: postgres::Error| explain(statement, &cause);
        let places = prepared.places.iter().map(value);
        let mut rows = self.client.query_raw(&prepared.statement, places).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            take(&row).map_err(|why| {
                // The library reads an answer to its end before it closes the connection.
                self.canceller.cancel();
                failed(format!("execute {}", statement.place), why)
            })?;
        }
        Ok(())
    }
}

/// Whether a type can hold a whole number.
fn fits(kind: &Type, number: i64) -> bool {
    match *kind {
        Type::INT2 => i16::try_from(number).is_ok(),
        Type::INT4 => i32::try_from(number).is_ok(),
        Type::OID => u32::try_from(number).is_ok(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_values_where_the_type_holds_them() {
        assert!(!fits(&Type::INT2, 40_000) && fits(&Type::INT4, 40_000));
        assert!(!fits(&Type::INT4, 1 << 40) && fits(&Type::INT8, 1 << 40));
        assert!(!fits(&Type::OID, -1) && fits(&Type::TEXT, -1));
        assert!(!Sent::accepts(&Type::NUMERIC) && !Sent::accepts(&Type::DATE));
    }
}
