//! The engine `firebird`: embedded Firebird from 3.0 on: the installed engine inside a separate program for each
//! session.
//!
//! For each set of options a database is made once. Each treatment works on a copy of it. Each session is the
//! program `isql` with the engine library inside, started by the session's own thread, so that it inherits the
//! session's logical CPUs and memory policy. Sessions share the database as those of a Classic server do, through
//! its file and a lock table, each with its own page cache. There is no server, no port and no password. A
//! running server of the user is not measured.
//!
//! Engine options: `bin` (folder of the programs), `cache_pages` (each session's page cache), `database` (the user's
//! file, of which `transaction` measures a copy). Workloads: `logical-io`, `insert`, `transaction`.

mod counters;
mod dialect;
mod driver;
mod error;
mod home;
mod isql;
mod options;
mod place;
mod programs;
mod transaction;
mod work;

use threadwise_engine::{Address, Engine, EngineError, KnownBy, LoadRequest, Loaded, Running, StartRequest};
use threadwise_engine_sql::{self as sql, Driver, SqlWorkload, Started, Treatment};
use threadwise_machine::CpuSet;
use threadwise_study::engine::Properties;
use threadwise_study::{Options, Workload};

use dialect::{PAGE_BYTES, ROW_BYTES};
use driver::{Database, forced_writes};
use home::{DATABASE, Home};
use isql::Isql;
use options::Own;
use place::PlacedHome;
use programs::Programs;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Firebird;

impl Engine for Firebird {
    fn name(&self) -> &'static str {
        error::ENGINE
    }

    fn version(&self, engine_options: &Options) -> Result<String, EngineError> {
        let options = options::parse(engine_options)?;
        Programs::find(options.bin.as_deref())?.version()
    }

    fn about(&self) -> &'static str {
        "Firebird from 3.0 on, embedded: the installed engine inside a program for each session"
    }

    fn workloads(&self) -> &'static [Workload] {
        work::WORKLOADS
    }

    /// A block is a page of the databases that it makes.
    fn properties(&self) -> Properties {
        Properties { block_bytes: PAGE_BYTES, row_bytes: ROW_BYTES, ..Properties::default() }
    }

    /// Sessions end with their pipes.
    fn known_by(&self) -> KnownBy {
        KnownBy {
            other_names: &["interbase", "fb", "isql"],
            address: Some(Address {
                schemes: &["firebird"],
                password: Err(
                    "a running Firebird server is not measured; --engine firebird runs the engine in its sessions",
                ),
            }),
            servers: &["firebird", "fbserver", "fb_inet_server"],
            started: &[],
        }
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        if request.workload == Workload::Transaction {
            return transaction::check(request);
        }
        work::parse(request)?;
        transaction::no_database(&options::parse(&request.engine_options)?)
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        if request.workload == Workload::Transaction {
            return transaction::load(request);
        }
        let workload = work::parse(request)?;
        let options = options::parse(&request.engine_options)?;
        let template = home::template_of(request);
        if let Some(loaded) = template.loaded() {
            return Ok(loaded);
        }
        home::check_path(template.folder())?;
        let programs = Programs::find(options.bin.as_deref())?;
        template.make_template(|part| {
            let home = Home(part.clone());
            home.make(&programs, cache_pages(&options, &workload, request.sessions), None)?;
            part.make_private(&part.data(), None)?;
            let create = format!("create database '{DATABASE}' page_size {PAGE_BYTES}");
            Isql::start(&home, &programs.isql, &[])?.run("create a database", &create)?;
            home.set_forced_writes(&programs, false)?;
            let database = Database { home, programs: programs.clone(), service: CpuSet::new() };
            let mut control = database.connect("load")?;
            sql::load(&database, &mut control, &workload, request, "")
        })
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        let load = &request.load;
        if load.workload == Workload::Transaction {
            return transaction::start(request);
        }
        let workload = work::parse(load)?;
        let options = options::parse(&load.engine_options)?;
        let (template, home) = (home::template_of(load), home::copy_of(load));
        template.expect_loaded()?;
        let programs = Programs::find(options.bin.as_deref())?;
        let make = |_: &_| home.make(&programs, cache_pages(&options, &workload, load.sessions), None);
        home.0.copy_of(&template, workload.changes_data(), None, make)?;
        home.set_forced_writes(&programs, forced_writes(&workload))?;
        let (sessions, service) = (request.sessions.clone(), request.service.clone());
        let host = PlacedHome {
            home: home.clone(),
            sessions,
            service: service.clone(),
            discard: workload.changes_data(),
        };
        let database = Database { home, programs, service };
        Ok(Box::new(Started { sessions: Treatment::start(database, workload, load, "", true)?, host }))
    }
}

fn cache_pages(options: &Own, workload: &SqlWorkload, sessions: u32) -> u64 {
    options.cache_pages.unwrap_or_else(|| work::cache_pages(workload, sessions))
}
