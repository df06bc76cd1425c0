//! The engines `mariadb`: MariaDB servers from 10.5 on, private to a study or the user's own; and `mysql`: MySQL
//! servers of the user from 8.0 on.
//!
//! Without the option `url` a private server is made from the installed programs: one for each run
//! (`restart=run`), from a copy of a data directory that is made once, or one for the study
//! (`restart=study`). With it, threadwise makes its own database in the user's server and drops it at the end.
//!
//! Engine options: `waits` (how sessions' waits are sampled: `states`, the default,
//! `instruments` or `none`); for a private server `bin`, `restart`, `settings.NAME`; for the user's
//! `url`, `schema`. Workloads: `logical-io`, `insert`, and on the user's server `transaction`.

mod blocks;
mod connect;
mod connection;
mod dialect;
mod driver;
mod durability;
mod error;
mod managed;
mod mysql;
mod observe;
mod options;
mod place;
mod private;
mod product;
mod statements;
mod theirs;
mod thread;
mod transaction;

use std::path::Path;
use threadwise_engine::connections::Limit;
use threadwise_engine::servers::{self, Home, Process, StudyServer, TreatmentServer, identity};
use threadwise_engine::{
    Address, Engine, EngineError, Keeper, KnownBy, LoadRequest, Loaded, Point, Running, StartRequest,
    StatementSource,
};
use threadwise_engine_sql::{self as sql, Connection, Driver, SqlWorkload, Started, Treatment};
use threadwise_process::space::server_memory_bytes;
use threadwise_study::engine::Properties;
use threadwise_study::{Note, Options, Workload};

pub use connect::Server;
use connect::Target;
use driver::{Database, data_bytes};
use durability::flush_at_commit;
use managed::{Programs, Setup};
pub use mysql::Mysql;
use options::{ENVIRONMENT, Managed, Restart, SCHEMA, WORKLOADS, Waits, Which};
use place::Placing;
pub use private::{PrivateOptions, PrivateServer};
use product::MARIADB;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Mariadb;

impl Engine for Mariadb {
    fn name(&self) -> &'static str {
        MARIADB.engine()
    }

    fn version(&self, engine_options: &Options) -> Result<String, EngineError> {
        match options::parse(engine_options)? {
            Which::Managed(managed) => Ok(Programs::find(managed.bin.as_deref())?.version_text),
            Which::External(external) => theirs::version(&MARIADB, &external),
        }
    }

    fn about(&self) -> &'static str {
        "MariaDB from 10.5 on: a private server of the installed programs, or yours (mariadb://…)"
    }

    fn workloads(&self) -> &'static [Workload] {
        WORKLOADS
    }

    fn properties(&self) -> Properties {
        dialect::properties()
    }

    fn known_by(&self) -> KnownBy {
        KnownBy {
            other_names: &["mariadbd", "innodb"],
            address: Some(Address { schemes: &["mariadb"], password: Ok("MYSQL_PWD or ~/.my.cnf") }),
            servers: &["mysqld", "mariadbd"],
            started: &["mariadbd", "mysqld"],
        }
    }

    fn environment(&self) -> &'static [&'static str] {
        ENVIRONMENT
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        match options::parse(&request.engine_options)? {
            Which::External(external) => theirs::check(&MARIADB, request, &external),
            Which::Managed(_) => theirs::work(&MARIADB, request).map(drop),
        }
    }

    fn limits(&self, engine_options: &Options) -> Result<Vec<Limit>, EngineError> {
        match options::parse(engine_options)? {
            Which::Managed(_) => Ok(Vec::new()),
            Which::External(external) => theirs::limits(&MARIADB, &external),
        }
    }

    fn points(&self, engine_options: &Options) -> Result<Vec<Point>, EngineError> {
        match options::parse(engine_options)? {
            Which::Managed(_) => Ok(Vec::new()),
            Which::External(external) => theirs::points(&MARIADB, &external),
        }
    }

    fn statements(&self, engine_options: &Options) -> Result<Option<Box<dyn StatementSource>>, EngineError> {
        match options::parse(engine_options)? {
            Which::Managed(_) => {
                let why = "it names your server: give --engine mariadb://USER@HOST:3306/DATABASE".to_owned();
                Err(threadwise_engine::workloads::options::refuse("url", why))
            }
            Which::External(external) => theirs::statements(&MARIADB, &external).map(Some),
        }
    }

    fn keep(&self, request: &LoadRequest, connections: u32) -> Result<Option<Box<dyn Keeper>>, EngineError> {
        match options::parse(&request.engine_options)? {
            Which::External(external) => theirs::keep(&MARIADB, request, &external),
            Which::Managed(managed) if managed.restart == Restart::Study => {
                Ok(Some(Box::new(start_for_study(request, &managed, connections)?)))
            }
            Which::Managed(_) => Ok(None),
        }
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        let managed = match options::parse(&request.engine_options)? {
            Which::External(external) => return theirs::load(&MARIADB, request, &external),
            Which::Managed(managed) => managed,
        };
        let workload = theirs::work(&MARIADB, request)?;
        if managed.restart == Restart::Run {
            return load_template(request, &managed, &workload);
        }
        let database = study_server(&request.data_dir, managed.waits)?;
        let suffix = servers::suffix(request, workload.changes_data());
        sql::load_shared(&database, &mut database.connect("load")?, &workload, request, &suffix)
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        let load = &request.load;
        let managed = match options::parse(&load.engine_options)? {
            Which::External(external) => return theirs::start(&MARIADB, request, &external),
            Which::Managed(managed) => managed,
        };
        let workload = theirs::work(&MARIADB, load)?;
        if managed.restart == Restart::Run {
            return start_copy(request, &managed, workload);
        }
        let suffix = servers::suffix(load, workload.changes_data());
        let database = study_server(&load.data_dir, managed.waits)?;
        let notes = vec![Note::memory_placed_earlier("one server for the study (restart=study)")];
        let flush = Some(flush_at_commit(&workload).unwrap_or(1));
        let placing = Placing::new(None, false, request, flush, notes);
        let treatment = Treatment::start(database, workload, load, &suffix, false)?;
        Ok(Box::new(Started { sessions: treatment, host: placing }))
    }
}

/// The template is shared by treatments with the same data, also if they change their copy.
fn template_home(load: &LoadRequest) -> Home {
    Home::new(MARIADB.engine(), &load.data_dir, "template", &identity(load))
}

/// Makes the data directory that runs are copied from, or finds it.
fn load_template(
    request: &LoadRequest,
    managed: &Managed,
    workload: &SqlWorkload,
) -> Result<Loaded, EngineError> {
    let setup = Setup::find(managed, data_bytes(workload, request.sessions), request.sessions, 0)?;
    let install = |home: &Home| setup.install(home);
    servers::load_template(&setup, &template_home(request), install, |server| {
        let database = Database { server: server.clone(), waits: managed.waits, is_theirs: false };
        let mut control = database.connect("load")?;
        control.run("create its database", &format!("CREATE DATABASE `{SCHEMA}`"))?;
        let mut loaded = sql::load(&database, &mut control, workload, request, "")?;
        loaded
            .notes
            .push("the server's binary log is off; sessions, not service threads, write the redo log".into());
        Ok(loaded)
    })
}

fn study_home(data_dir: &Path) -> Home {
    Home::new(MARIADB.engine(), data_dir, "study", "")
}

fn study_server(data_dir: &Path, waits: Waits) -> Result<Database, EngineError> {
    let server = Server::find(&MARIADB, Target::own(managed::socket(&study_home(data_dir))), SCHEMA)?;
    Ok(Database { server, waits, is_theirs: false })
}

/// Starts the server that all treatments share. The size of all data is not known yet, so its buffer pool has room
/// for 16 times that of the first treatment, and for at most half of the free memory; a treatment whose data is not
/// cached reports an error (`settings.innodb_buffer_pool_size`).
fn start_for_study(
    request: &LoadRequest,
    managed: &Managed,
    connections: u32,
) -> Result<StudyServer<Setup>, EngineError> {
    let workload = theirs::work(&MARIADB, request)?;
    let data_bytes =
        (16 * data_bytes(&workload, request.sessions)).min(server_memory_bytes(Path::new("/")) / 3);
    let setup = Setup::find(managed, data_bytes, connections.max(request.sessions), 1)?;
    let home = study_home(&request.data_dir);
    setup.install(&home)?;
    let process = Process::start(&setup, &home)?;
    let database = Database { server: process.server().clone(), waits: managed.waits, is_theirs: false };
    let kept = StudyServer::new(process);
    sql::make_schema(&database, &mut database.connect("study")?)?;
    Ok(kept)
}

/// The server of one run, on a copy of its template.
fn start_copy(
    request: &StartRequest,
    managed: &Managed,
    workload: SqlWorkload,
) -> Result<Box<dyn Running>, EngineError> {
    let load = &request.load;
    let flush = flush_at_commit(&workload).unwrap_or(1);
    let setup = Setup::find(managed, data_bytes(&workload, load.sessions), load.sessions, flush)?;
    let identity = format!("{} {}", identity(load), load.treatment);
    let home = Home::new(MARIADB.engine(), &load.data_dir, "run", &identity);
    let ours = TreatmentServer::start(&setup, &template_home(load), &home, workload.changes_data())?;
    let server = ours.process.server().clone();
    let database = Database { server, waits: managed.waits, is_theirs: false };
    let treatment = Treatment::start(database, workload, load, "", true)?;
    let placing = Placing::new(Some(Box::new(ours)), false, request, None, Vec::new());
    Ok(Box::new(Started { sessions: treatment, host: placing }))
}
