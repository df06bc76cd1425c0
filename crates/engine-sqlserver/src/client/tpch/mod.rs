//! `tpch`: the 22 queries on tables in threadwise's schema, which all treatments share. Tables are heaps filled by bulk
//! load, then ordered and indexed.
//!
//! Source: "The Data Loading Performance Guide" (load into a heap under a lock of the table, index afterwards).

mod plan;
mod session;
mod text;
mod values;

use std::io::BufRead;
use std::sync::Arc;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::tpch::tables::{Kind, Table};
use threadwise_engine_sql::Opened;
use threadwise_engine_sql::tpch::{QueryDriver, Setup, TpchSql, standard_type};

use crate::client::connect::{Connection, Fault};
use crate::client::driver::Database;
use crate::client::error::query;
use crate::client::observe::SqlserverObserver;
use crate::client::statements::run;
use session::SqlserverStream;

/// Rows of one bulk load, each of which is a transaction.
const BATCH: usize = 200_000;

const SQL: TpchSql = TpchSql {
    order: "CREATE UNIQUE CLUSTERED INDEX by_shipdate ON {table} ({columns})",
    key: "?!ordered ALTER TABLE {table} ADD CONSTRAINT primary_{name} PRIMARY KEY CLUSTERED ({columns})\n\
          ?ordered ALTER TABLE {table} ADD CONSTRAINT primary_{name} PRIMARY KEY NONCLUSTERED ({columns})",
    index: "CREATE NONCLUSTERED INDEX foreign_{number} ON {table} ({columns})",
    statistics: "UPDATE STATISTICS {table} WITH FULLSCAN",
    bytes: include_str!("../../sql/tpch_bytes.sql"),
    read: "SELECT COUNT_BIG(*) FROM {table} WITH (INDEX(0))",
    short: "SELECT o_orderkey, o_totalprice FROM {table} WHERE o_orderkey = {key}",
    note: "a table is in the order of its primary key where no other is named; statistics of all rows",
};

impl QueryDriver for Database {
    type Stream = SqlserverStream;

    fn tpch_sql(&self) -> &'static TpchSql {
        &SQL
    }

    /// Babelfish 4.3 reads each decimal of a bulk load as one of 16 bytes (`TdsTypeNumericToDatum`), whatever its length;
    /// doubles hold these exactly enough to become decimals of two digits afterwards.
    fn type_of(&self, kind: Kind) -> String {
        match kind {
            Kind::Decimal if self.server.is_babelfish() => "float".into(),
            _ => standard_type(kind),
        }
    }

    fn fill_table(
        &self,
        control: &mut Connection,
        table: &Table,
        name: &str,
        create: &str,
        text: &mut dyn BufRead,
    ) -> Result<u64, EngineError> {
        let (action, floats) = (format!("load table {name}"), self.server.is_babelfish());
        run(control, &action, create)?;
        let sent = pour(control, name, table, floats, text)?;
        for (column, kind) in table.columns.iter().filter(|(_, kind)| floats && *kind == Kind::Decimal) {
            let sql = format!("ALTER TABLE {name} ALTER COLUMN {column} {}", standard_type(*kind));
            run(control, &action, &sql)?;
        }
        Ok(sent)
    }

    fn keeps_statistics(&self) -> bool {
        self.server.is_babelfish()
    }

    fn observe_queries(
        &self,
        control: &mut Connection,
        _: &Setup,
    ) -> Result<(SqlserverObserver, Vec<String>), EngineError> {
        Ok(SqlserverObserver::start(control, true))
    }

    fn open_stream(&self, setup: &Arc<Setup>, number: u32) -> Result<Opened<SqlserverStream>, EngineError> {
        SqlserverStream::open(self, setup, number)
    }

    fn open_short(&self, _: &Setup, number: u32) -> Result<Opened<Connection>, EngineError> {
        self.open_session(number)
    }
}

/// Sends the generator's text, a batch of rows at a time. Gives the number of rows.
fn pour(
    control: &mut Connection,
    name: &str,
    table: &Table,
    floats: bool,
    text: &mut dyn BufRead,
) -> Result<u64, EngineError> {
    let columns: Vec<&str> = table.columns.iter().map(|(column, _)| *column).collect();
    let mut lines = csv::Reader::from_reader(text).into_records();
    let mut all = 0;
    loop {
        let batch = lines.by_ref().take(BATCH).map(|line| {
            let line = line.map_err(|cause| Fault::BulkInput(cause.to_string().into()))?;
            let place = line.position().map_or(0, csv::Position::line);
            let bad = || {
                Fault::BulkInput(format!("line {place} of the generator's text is not a row of it").into())
            };
            values::row(table, floats, &line).ok_or_else(bad)
        });
        let sent = control.bulk(name, &columns, batch);
        let sent = sent.map_err(|cause| query(format!("load table {name}"), &cause))?;
        all += sent;
        if sent < BATCH as u64 {
            return Ok(all);
        }
    }
}
