//! `tpch` on PostgreSQL: parallel query on one server that all treatments share, since a copy of the data for each
//! would take gigabytes, and no run changes it. In a private server each data set has a schema of its own.
//!
//! The requested degree of parallelism counts parallel workers and their leader. The postmaster starts workers for
//! every query, so they inherit *its* logical CPUs: see `running`.
//!
//! Source: PostgreSQL documentation, "Populating a Database".

mod plan;
mod session;
mod settings;

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::tpch::tables::Table;
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_engine_sql::tpch::{QueryDriver, Setup, TpchSql};
use threadwise_engine_sql::{Connection, Driver, Opened};
use threadwise_tpch::options::TpchOptions;

use super::cpu::ServerCpu;
use crate::Server;
use crate::backend::{PLAN_CACHE_MODE, opened};
use crate::connection::PostgresConnection;
use crate::error::{copy_failed, query};
use crate::observe::PostgresObserver;
pub(crate) use session::PostgresStream;
use settings::Workers;
pub(super) use settings::server_settings;

/// Parses an answer of `EXPLAIN (FORMAT JSON)`: the canonical plan, the planning time in nanoseconds, and the workers
/// that its largest Gather requests. For tests of the reader; sessions read their own plans.
///
/// # Errors
/// It is not output of EXPLAIN; one line.
pub fn canonical_plan(json: &str) -> Result<(String, u64, u32), String> {
    plan::read(json).map(|plan| (plan.text, plan.planning_ns, plan.workers_planned))
}

/// Bytes of tables and indexes at scale factor 1: 1.83 GB were measured at 0.1 and at 1.
const BYTES_PER_SCALE: f64 = 1.85e9;

/// Limit of `max_parallel_workers_per_gather`, plus the leader.
pub(super) const MAX_DOP: u32 = 1025;

/// Options that PostgreSQL does not support, and why.
const UNFOLLOWED: [(&str, &str); 4] = [
    ("storage", "PostgreSQL keeps tables in its own files; leave it out"),
    ("batch_rows", "PostgreSQL works row by row; leave it out"),
    (
        "memory_limit_mb",
        "PostgreSQL has no limit for a query, only one for each of its sorts and hash tables: settings.work_mem",
    ),
    ("spill_dir", "PostgreSQL spills into its data directory; spill_limit_mb bounds that"),
];

const SQL: TpchSql = TpchSql {
    order: "CREATE UNIQUE INDEX lineitem_shipdate ON {table} ({columns})\nGO\nCLUSTER {table} USING lineitem_shipdate",
    key: "ALTER TABLE {table} ADD PRIMARY KEY ({columns})",
    index: "CREATE INDEX ON {table} ({columns})",
    statistics: "VACUUM (FREEZE, ANALYZE) {table}",
    bytes: "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class \
            WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'threadwise\\_%'",
    read: "SELECT count(*) FROM {table}",
    short: "SELECT o_orderkey, o_totalprice FROM {table} WHERE o_orderkey = {key}",
    note: "statistics by VACUUM (FREEZE, ANALYZE) after loading",
};

/// Reads and checks the options.
///
/// # Errors
/// The first option that is unknown, impossible, or not supported by PostgreSQL.
pub(crate) fn parse(load: &LoadRequest) -> Result<TpchOptions, EngineError> {
    let cold = "PostgreSQL's own cache is emptied by a restart";
    let options = threadwise_engine_sql::tpch::parse(&load.options, &UNFOLLOWED, cold)?;
    if options.dop.is_some_and(|dop| dop > MAX_DOP) {
        let why = format!("PostgreSQL allows at most {MAX_DOP}: 1024 workers for a Gather, and the leader");
        return Err(refuse("dop", why));
    }
    settings::check(&options)?;
    Ok(options)
}

/// Bytes of tables and indexes, about.
pub(super) fn data_bytes(options: &TpchOptions) -> u64 {
    (options.scale * BYTES_PER_SCALE) as u64
}

/// The schema of the data in a private server, where each data set has its own.
pub(super) fn schema_name(options: &TpchOptions) -> String {
    let name = options.key().folder_name();
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    format!("tpch_{}", plain.collect::<String>())
}

/// Copies text and counts its lines; values in TPC-H text contain no line breaks.
fn pour(from: &mut dyn BufRead, into: &mut impl Write) -> io::Result<u64> {
    let mut lines = 0;
    loop {
        let part = from.fill_buf()?;
        if part.is_empty() {
            return Ok(lines);
        }
        lines += part.iter().filter(|&&byte| byte == b'\n').count() as u64;
        into.write_all(part)?;
        let length = part.len();
        from.consume(length);
    }
}

impl QueryDriver for Server {
    type Stream = PostgresStream;

    fn tpch_sql(&self) -> &'static TpchSql {
        &SQL
    }

    fn try_settings(&self, setup: &Setup) -> Result<(), EngineError> {
        let mut client = self.connect("threadwise settings")?;
        settings::settle(&mut client, self, setup, Workers::of(setup.dop, 1, false)).map(drop)
    }

    /// With the extension `pg_prewarm`, one of the server's contributed modules, if it is installed.
    fn make_schema(&self, control: &mut PostgresConnection, schema: &str) -> Result<(), EngineError> {
        let sql = format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}");
        control.run("drop what an earlier load left", &sql)?;
        let sql = "SELECT 1 FROM pg_available_extensions WHERE name = 'pg_prewarm'";
        if control.rows("look for pg_prewarm", sql, &[])?.is_empty() {
            return Ok(());
        }
        let sql = format!("CREATE EXTENSION IF NOT EXISTS pg_prewarm SCHEMA {}", Driver::schema(self));
        control.run("create the extension pg_prewarm", &sql)
    }

    /// In one transaction: no other session can see the table before it is filled, so that its rows are frozen at once.
    fn fill_table(
        &self,
        control: &mut PostgresConnection,
        _: &Table,
        name: &str,
        create: &str,
        text: &mut dyn BufRead,
    ) -> Result<u64, EngineError> {
        let action = format!("load table {name}");
        let fail = |cause: postgres::Error| query(action.as_str(), &cause);
        let mut transaction = control.client.transaction().map_err(fail)?;
        transaction.batch_execute(create).map_err(fail)?;
        let sql = format!("COPY {name} FROM STDIN WITH (FORMAT csv, HEADER, FREEZE)");
        let mut into = transaction.copy_in(&sql).map_err(fail)?;
        let lines = pour(text, &mut into).map_err(|cause| copy_failed(&action, &cause))?;
        into.finish().map_err(fail)?;
        transaction.commit().map_err(fail)?;
        Ok(lines.saturating_sub(1))
    }

    fn observe_queries(
        &self,
        control: &mut PostgresConnection,
        setup: &Setup,
    ) -> Result<(PostgresObserver, Vec<String>), EngineError> {
        PostgresObserver::start(&mut control.client, self, Some(&setup.schema))
    }

    fn open_stream(&self, setup: &Arc<Setup>, number: u32) -> Result<Opened<PostgresStream>, EngineError> {
        PostgresStream::open(self, setup, number)
    }

    fn open_short(&self, setup: &Setup, number: u32) -> Result<Opened<PostgresConnection>, EngineError> {
        let mut client = Self::connect(self, &format!("threadwise session {number}"))?;
        settings::settle(&mut client, self, setup, Workers { planned: 0, most: 0 })?;
        if self.version_num() >= PLAN_CACHE_MODE {
            let generic = "SET plan_cache_mode = force_generic_plan";
            client.batch_execute(generic).map_err(|cause| query("keep the plan of short queries", &cause))?;
        }
        Ok(opened(self, client)?.map(|client| PostgresConnection::new(self, client)))
    }

    fn before_slice(&self, control: &mut PostgresConnection, setup: &Setup) -> Result<(), EngineError> {
        settings::hold_tables(control, setup)
    }

    fn cpu_ns(&self, threads: &[Thread], setup: &Setup) -> Option<u64> {
        let leaders: Vec<u32> = threads.iter().map(|(pid, _)| *pid).collect();
        ServerCpu::of_server(self, setup.dop > 1)?.read_ns(&leaders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::OptionValue;

    fn parse(pairs: &[(&str, OptionValue)]) -> Result<TpchOptions, EngineError> {
        super::parse(&LoadRequest {
            workload: "tpch".into(),
            options: pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            engine_options: threadwise_study::Options::new(),
            data_dir: "/".into(),
            treatment: "t".into(),
            sessions: 1,
            seed: 1,
        })
    }

    fn word(text: &str) -> OptionValue {
        OptionValue::Text(text.into())
    }

    #[test]
    fn what_postgres_cannot_follow_is_refused_by_name() {
        for (option, value, part) in [
            ("storage", word("memory"), "own files"),
            ("memory_limit_mb", OptionValue::Integer(100), "work_mem"),
            ("dop", OptionValue::Integer(1026), "1025"),
            ("settings.archive_library", word("x"), "other code"),
            ("settings.max_parallel_workers_per_gather", OptionValue::Integer(3), "dop"),
            ("settings.role", word("x"), "threadwise sets"),
        ] {
            let message = parse(&[(option, value)]).unwrap_err().to_string();
            assert!(message.contains(&format!("option '{option}'")) && message.contains(part), "{message}");
        }
        parse(&[("cache", word("cold")), ("settings.enable_hashjoin", OptionValue::Flag(false))]).unwrap();
    }

    #[test]
    fn each_data_set_has_a_name_that_is_an_identifier() {
        assert_eq!(schema_name(&parse(&[]).unwrap()), "tpch_sf1");
        let other = parse(&[("scale", OptionValue::Number(0.01)), ("cluster", word("shipdate"))]).unwrap();
        assert_eq!((schema_name(&other).as_str(), data_bytes(&other)), ("tpch_sf0_01_shipdate", 18_500_000));
    }

    #[test]
    fn lines_are_counted_as_they_are_poured() {
        let mut into = Vec::new();
        let lines = pour(&mut "a\nb\nc\n".as_bytes(), &mut into).unwrap();
        assert_eq!((lines, into.as_slice()), (3, "a\nb\nc\n".as_bytes()));
    }
}
