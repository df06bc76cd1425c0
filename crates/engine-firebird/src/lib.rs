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

mod error;
mod home;
mod isql;
mod options;
mod programs;
mod workload;

use threadwise_engine::{Address, Engine, EngineError, KnownBy, LoadRequest, Loaded, Running, StartRequest};
use threadwise_study::engine::Properties;
use threadwise_study::{Options, Workload};

use home::Home;
use options::Own;
use programs::Programs;
use workload::{Treatment, Work, transaction};

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
        workload::WORKLOADS
    }

    /// A block is a page of the databases that it makes.
    fn properties(&self) -> Properties {
        Properties { block_bytes: home::PAGE_BYTES, row_bytes: workload::ROW_BYTES, ..Properties::default() }
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
        Work::parse(request)?;
        transaction::no_database(&options::parse(&request.engine_options)?)
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        if request.workload == Workload::Transaction {
            return transaction::load(request);
        }
        let workload = Work::parse(request)?;
        let options = options::parse(&request.engine_options)?;
        let template = home::template_of(request);
        if let Some(loaded) = template.loaded() {
            return Ok(loaded);
        }
        home::check_path(template.folder())?;
        let programs = Programs::find(options.bin.as_deref())?;
        template.make_template(|part| {
            let home = Home(part.clone());
            home.make(&programs, cache_pages(&options, workload, request.sessions), None)?;
            part.make_private(&part.data(), None)?;
            workload::load(&home, &programs, &workload, request)
        })
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        let load = &request.load;
        if load.workload == Workload::Transaction {
            return transaction::start(request);
        }
        let workload = Work::parse(load)?;
        let options = options::parse(&load.engine_options)?;
        let (template, home) = (home::template_of(load), home::copy_of(load));
        template.expect_loaded()?;
        let programs = Programs::find(options.bin.as_deref())?;
        let make = |_: &_| home.make(&programs, cache_pages(&options, workload, load.sessions), None);
        home.0.copy_of(&template, workload.changes_data(), None, make)?;
        Ok(Box::new(Treatment::start(home, programs, workload, request)?))
    }
}

fn cache_pages(options: &Own, workload: Work, sessions: u32) -> u64 {
    options.cache_pages.unwrap_or_else(|| workload.cache_pages(sessions))
}
