//! The engine `oracle`: an Oracle Database of the user, from 12.1 on. The project has not yet run it against a server.
//!
//! Its driver is python-oracledb in thin mode, in an environment that `threadwise engine add` makes: each connection is a
//! process of Python that passes statements and rows on, and does nothing else (`proxy`). Objects lie in the account's own
//! schema, with a prefix, and are dropped at the end.
//!
//! Engine options: `url`, `password_file`, `prefix`, `waits` (`states` or `none`), `python`. Workloads: `logical-io`,
//! `insert`, `transaction`, `tpch`.
//!
//! Facts that it relies on, with their sources:
//!
//! - A COMMIT in PL/SQL does not wait for the log before the whole call ends (Database Advanced Application Developer's
//!   Guide, "COMMIT … WRITE"): `durability=full` is COMMIT WRITE IMMEDIATE WAIT, `relaxed` is COMMIT WRITE BATCH NOWAIT.
//! - Sessions are DEDICATED, so that each has a process of its own.
//! - CPU time is DB CPU of V$SESS_TIME_MODEL; statistics in hundredths of a second are not used.
//! - Names have at most 30 bytes, for 12.1.

mod connection;
mod dialect;
mod driver;
mod error;
mod meter;
mod observe;
mod options;
mod place;
mod points;
mod proxy;
mod tpch;
mod transaction;

use threadwise_engine::connections::Limit;
use threadwise_engine::servers;
use threadwise_engine::workloads::insert::Table;
use threadwise_engine::workloads::logical_io::LogicalIo;
use threadwise_engine::workloads::options::{Loop, refuse};
use threadwise_engine::{
    Address, Engine, EngineError, Keeper, KnownBy, LoadRequest, Loaded, Point, Running, StartRequest,
};
use threadwise_engine_sql::tpch::Queries;
use threadwise_engine_sql::{self as sql, Driver, KeptSchema, Spec, SqlWorkload, Started, Treatment};
use threadwise_study::engine::{Properties, URL};
use threadwise_study::{Options, Workload};

use connection::{OracleConnection, Purpose, Server};
use dialect::{BLOCK_BYTES, ROW_BYTES};
use driver::Database;
use error::ENGINE;
use place::Placing;

/// Workloads of this engine.
const WORKLOADS: &[Workload] =
    &[Workload::LogicalIo, Workload::Insert, Workload::Transaction, Workload::Burn, Workload::Tpch];

/// Most sessions of a treatment: names of tables end with their numbers.
const MAX_SESSIONS: u32 = 1000;

/// What a pause in PL/SQL is a whole number of (PL/SQL Packages and Types Reference 19c, "DBMS_SESSION.SLEEP").
const PAUSE_US: u64 = 10_000;

/// Bytes of the part of names that keeps treatments apart, with its underscore: the longest name, a prefix of 7 with
/// `read_blocks` and a session's number, has 30 bytes.
const SUFFIX_BYTES: usize = 8;

/// Digits of that part.
const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Oracle;

impl Engine for Oracle {
    fn name(&self) -> &'static str {
        ENGINE
    }

    fn version(&self, engine_options: &Options) -> Result<String, EngineError> {
        if !engine_options.contains_key(URL) {
            // Without a server, whether its driver is installed.
            return connection::program(None).map(|_| "ready".to_owned());
        }
        Ok(connect(engine_options)?.version.clone())
    }

    fn about(&self) -> &'static str {
        "Oracle Database from 12.1 on: yours (oracle://…), through the driver oracledb in thin mode"
    }

    fn workloads(&self) -> &'static [Workload] {
        WORKLOADS
    }

    /// A block is the usual one. Bytes of a row and of a data set are estimates.
    fn properties(&self) -> Properties {
        Properties {
            block_bytes: BLOCK_BYTES,
            row_bytes: ROW_BYTES,
            dialect: Some(ENGINE.to_owned()),
            tpch_bytes: tpch::BYTES_PER_SCALE,
            ..Properties::default()
        }
    }

    fn known_by(&self) -> KnownBy {
        KnownBy {
            other_names: &["oracledb", "ora"],
            address: Some(Address {
                schemes: &options::SCHEMES,
                password: Ok("ORACLE_PASSWORD or --engine-option password_file=/path"),
            }),
            // Processes are named after their instance (ora_pmon_NAME), which is unknown here.
            servers: &[],
            started: &[],
        }
    }

    fn environment(&self) -> &'static [&'static str] {
        &["ORACLE"]
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        match request.workload {
            Workload::Tpch => tpch::parse(request).map(drop)?,
            _ => parse(request).map(drop)?,
        }
        options::parse(&request.engine_options).map(drop)
    }

    fn limits(&self, engine_options: &Options) -> Result<Vec<Limit>, EngineError> {
        points::limits(&mut connect(engine_options)?)
    }

    fn points(&self, engine_options: &Options) -> Result<Vec<Point>, EngineError> {
        points::points(&mut connect(engine_options)?)
    }

    fn keep(&self, request: &LoadRequest, _: u32) -> Result<Option<Box<dyn Keeper>>, EngineError> {
        if request.workload.makes_nothing() {
            return Ok(None);
        }
        let database = Database::new(Server::find(&request.engine_options)?);
        Ok(Some(Box::new(KeptSchema::make(database)?)))
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        if request.workload == Workload::Tpch {
            let options = tpch::parse(request)?;
            let database = Database::new(Server::find(&request.engine_options)?);
            let mut control = database.connect("load")?;
            return sql::tpch::load(&database, &mut control, &options, request, database.schema());
        }
        let workload = parse(request)?;
        let database = Database::new(Server::find(&request.engine_options)?);
        let mut control = database.connect("load")?;
        match &workload.spec {
            Spec::Transaction(_) => sql::load(&database, &mut control, &workload, request, ""),
            Spec::LogicalIo(_) | Spec::Insert(_) => {
                let suffix = suffix(request, &workload);
                sql::load_shared(&database, &mut control, &workload, request, &suffix)
            }
        }
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        let load = &request.load;
        if load.workload == Workload::Tpch {
            let options = tpch::parse(load)?;
            let database = Database::new(Server::find(&load.engine_options)?);
            let schema = database.schema().to_owned();
            let sessions = Queries::start(database, options, request, &schema)?;
            let host = Placing::new(request, sessions.is_parallel());
            return Ok(Box::new(Started { sessions, host }));
        }
        let workload = parse(load)?;
        let database = Database::new(Server::find(&load.engine_options)?);
        let suffix = suffix(load, &workload);
        let sessions = Treatment::start(database, workload, load, &suffix, false)?;
        Ok(Box::new(Started { sessions, host: Placing::new(request, false) }))
    }
}

/// A connection for questions.
fn connect(engine_options: &Options) -> Result<OracleConnection, EngineError> {
    Server::find(engine_options)?.connect(Purpose::own("check"))
}

/// Reads and checks a request's options of the workload.
fn parse(request: &LoadRequest) -> Result<SqlWorkload, EngineError> {
    if request.sessions > MAX_SESSIONS {
        let why = format!("{} is more than {MAX_SESSIONS}", request.sessions);
        return Err(refuse("sessions", why));
    }
    if request.workload.makes_nothing() {
        return transaction::parse(request).map(SqlWorkload::transaction);
    }
    let workload = SqlWorkload::parse(ENGINE, request, WORKLOADS, &[])?;
    match &workload.spec {
        Spec::LogicalIo(spec) if workload.place == Loop::Server => check_pause(spec)?,
        Spec::Insert(spec) => {
            spec.no_single_batch(ENGINE)?;
            if spec.table == Table::Unlogged {
                let why = "'unlogged' is not available with oracle, which logs every row of INSERT … VALUES (NOLOGGING \
                           applies to direct loads alone); use durable";
                return Err(refuse("table", why.into()));
            }
        }
        Spec::LogicalIo(_) | Spec::Transaction(_) => {}
    }
    Ok(workload)
}

fn check_pause(spec: &LogicalIo) -> Result<(), EngineError> {
    match spec.think_time_us % PAUSE_US {
        0 => Ok(()),
        _ => Err(refuse(
            "think_time_us",
            format!(
                "{} is not a multiple of {PAUSE_US}: pauses in PL/SQL have hundredths of a second; use loop=client, which \
                 has microseconds",
                spec.think_time_us
            ),
        )),
    }
}

/// The part of names that keeps treatments apart: 35 bits of the one that other engines have.
fn suffix(load: &LoadRequest, workload: &SqlWorkload) -> String {
    let long = servers::suffix(load, workload.changes_data());
    let bits = u64::from_str_radix(long.trim_start_matches('_'), 16).unwrap_or_default();
    let digit = |at: usize| char::from(DIGITS[(bits >> (5 * at)) as usize % DIGITS.len()]);
    std::iter::once('_').chain((1..SUFFIX_BYTES).map(digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_engine_sql::Names;
    use threadwise_study::OptionValue;

    fn request(workload: Workload, pairs: &[(&str, OptionValue)]) -> LoadRequest {
        LoadRequest {
            workload,
            options: pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            engine_options: [("url".to_owned(), OptionValue::Text("oracle://me@db/SHOP".into()))].into(),
            data_dir: "/nowhere".into(),
            treatment: "t".into(),
            sessions: MAX_SESSIONS,
            seed: 1,
        }
    }

    #[test]
    fn names_have_at_most_thirty_bytes() {
        let request = request(Workload::LogicalIo, &[]);
        let suffix = suffix(&request, &parse(&request).unwrap());
        let names = Names { schema: "ABCDEFG", suffix: &suffix, quotes: ["", ""] };
        let last = MAX_SESSIONS - 1;
        let index = format!("{}_k", names.blocks(last));
        for name in [names.read_blocks(last), index, names.insert_rows(), names.quoted("threadwise_objects")]
        {
            assert!(name.len() <= 30 && name.starts_with("ABCDEFG"), "{name}");
        }
        assert_eq!(suffix.len(), SUFFIX_BYTES);
    }

    #[test]
    fn what_the_server_cannot_do_is_refused() {
        let (whole, text) = (OptionValue::Integer, |text: &str| OptionValue::Text(text.into()));
        let refused = |workload, pairs: &[(&str, OptionValue)]| {
            Oracle.check(&request(workload, pairs)).map_err(|cause| cause.to_string())
        };
        for (workload, pairs, part) in [
            (Workload::LogicalIo, vec![("think_time_us", whole(70))], "loop=client"),
            (Workload::Insert, vec![("table", text("unlogged"))], "logs every row"),
            (Workload::Insert, vec![("rows_per_tx", whole(0)), ("rows_per_session", whole(8))], "oracle"),
            (Workload::ParallelScan, vec![], "oracle has no"),
        ] {
            let message = refused(workload, &pairs).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
        let think = [("think_time_us", whole(70)), ("loop", text("client"))];
        assert_eq!(refused(Workload::LogicalIo, &think), Ok(()));
        let mut many = request(Workload::Insert, &[]);
        many.sessions += 1;
        assert!(Oracle.check(&many).unwrap_err().to_string().contains("more than 1000"));
        assert_eq!(Oracle.properties().fault(), None);
    }
}
