//! The engine `mariadb`: MariaDB servers from 10.5 on, private to a study or the user's own.
//!
//! Without the option `url` a private server is made from the installed programs: one for each run
//! (`restart=run`), from a copy of a data directory that is made once, or one for the study
//! (`restart=study`). With it, threadwise makes its own database in the user's server and drops it at the end.
//!
//! Engine options: `waits` (how sessions' waits are sampled: `states`, the default,
//! `instruments` or `none`); for a private server `bin`, `restart`, `settings.NAME`; for the user's
//! `url`, `schema`. Workloads: `logical-io`, `insert`, and on the user's server `transaction`.

mod connect;
mod error;
mod external;
mod keeper;
mod limits;
mod managed;
mod options;
mod place;
mod private;
mod running;
mod schema;
mod workload;

use std::path::Path;
use threadwise_engine::connections::Limit;
use threadwise_engine::servers::{self, Home, Process, StudyServer, TreatmentServer, identity};
use threadwise_engine::{
    Address, DELAYED_DURABILITY, DURABLE_COMMITS, Engine, EngineError, Keeper, KnownBy, LoadRequest, Loaded,
    Point, Running, StartRequest,
};
use threadwise_process::room::server_memory_bytes;
use threadwise_study::engine::Properties;
use threadwise_study::{Note, Options, Workload};

pub use connect::Server;
use connect::{Target, target};
use error::{failed, query};
use external::{find, run_external};
use keeper::KeptSchema;
use managed::{Programs, Setup};
use options::{Managed, Restart, SCHEMA, Which};
pub use private::{PrivateOptions, PrivateServer};
use running::{MariadbRunning, Under};
use workload::{Treatment, Work, transaction};

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Mariadb;

impl Engine for Mariadb {
    fn name(&self) -> &'static str {
        error::ENGINE
    }

    fn version(&self, engine_options: &Options) -> Result<String, EngineError> {
        match options::parse(engine_options)? {
            Which::Managed(managed) => Ok(Programs::find(managed.bin.as_deref())?.version_text),
            Which::External(external) => Ok(find(&external)?.0.version_text().to_owned()),
        }
    }

    fn about(&self) -> &'static str {
        "MariaDB from 10.5 on: a private server of the installed programs, or yours (mariadb://…)"
    }

    fn workloads(&self) -> &'static [Workload] {
        workload::WORKLOADS
    }

    /// A block is InnoDB's page.
    fn properties(&self) -> Properties {
        Properties { block_bytes: 16384, row_bytes: workload::ROW_BYTES, ..Properties::default() }
    }

    fn known_by(&self) -> KnownBy {
        KnownBy {
            other_names: &["mysql", "mysqld", "mariadbd", "innodb"],
            address: Some(Address { schemes: &["mariadb", "mysql"], password: Ok("MYSQL_PWD or ~/.my.cnf") }),
            servers: &["mysqld", "mariadbd"],
            started: &["mariadbd", "mysqld"],
        }
    }

    fn environment(&self) -> &'static [&'static str] {
        &["MYSQL", "MARIADB"]
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        if request.workload == Workload::Transaction {
            return transaction::check(request);
        }
        Work::parse(request)?;
        match options::parse(&request.engine_options)? {
            // A password in the URL is refused before anything is done.
            Which::External(external) => target(&external.url).map(drop),
            Which::Managed(_) => Ok(()),
        }
    }

    fn limits(&self, engine_options: &Options) -> Result<Vec<Limit>, EngineError> {
        match options::parse(engine_options)? {
            Which::Managed(_) => Ok(Vec::new()),
            Which::External(external) => limits::ask(&find(&external)?.0),
        }
    }

    fn points(&self, engine_options: &Options) -> Result<Vec<Point>, EngineError> {
        match options::parse(engine_options)? {
            Which::Managed(_) => Ok(Vec::new()),
            Which::External(external) => {
                let flush = flush_at_commit(&mut find(&external)?.0.connect()?)?;
                Ok(durability_points(flush))
            }
        }
    }

    fn keep(&self, request: &LoadRequest, connections: u32) -> Result<Option<Box<dyn Keeper>>, EngineError> {
        match options::parse(&request.engine_options)? {
            // It makes nothing that would have to be dropped.
            _ if request.workload == Workload::Transaction => Ok(None),
            Which::External(external) => Ok(Some(Box::new(KeptSchema::make(&find(&external)?.0)?))),
            Which::Managed(managed) if managed.restart == Restart::Study => {
                Ok(Some(Box::new(start_for_study(request, &managed, connections)?)))
            }
            Which::Managed(_) => Ok(None),
        }
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        if request.workload == Workload::Transaction {
            return transaction::load(request);
        }
        let workload = Work::parse(request)?;
        match options::parse(&request.engine_options)? {
            Which::Managed(managed) if managed.restart == Restart::Run => {
                load_template(request, &managed, workload)
            }
            Which::Managed(_) => load_shared(&study_server(&request.data_dir)?, request, workload),
            Which::External(external) => {
                let (server, _) = find(&external)?;
                // Checked before anything is made, since every run would fail.
                check_durability(&server, workload)?;
                load_shared(&server, request, workload)
            }
        }
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        let load = &request.load;
        if load.workload == Workload::Transaction {
            return transaction::start(request);
        }
        let workload = Work::parse(load)?;
        match options::parse(&load.engine_options)? {
            Which::Managed(managed) if managed.restart == Restart::Run => {
                start_copy(request, &managed, workload)
            }
            Which::Managed(managed) => {
                let server = study_server(&load.data_dir)?;
                let at_work = Treatment::start(
                    &server,
                    workload,
                    load,
                    &servers::suffix(load, workload.changes_data()),
                    (false, managed.waits),
                )?;
                let notes = vec![Note::memory_placed_earlier("one server for the study (restart=study)")];
                let flush = Some(workload.flush_at_commit().unwrap_or(1));
                Ok(Box::new(MariadbRunning::new(Box::new(at_work), Under::Study, request, flush, notes)))
            }
            Which::External(external) => {
                let (server, notes) = find(&external)?;
                check_durability(&server, workload)?;
                let at_work = Treatment::start(
                    &server,
                    workload,
                    load,
                    &servers::suffix(load, workload.changes_data()),
                    (false, external.waits),
                )?;
                Ok(run_external(Box::new(at_work), request, notes))
            }
        }
    }
}

/// Refuses a durability that the user's server does not have: threadwise does not change its settings.
fn check_durability(server: &Server, workload: Work) -> Result<(), EngineError> {
    let Some(wanted) = workload.flush_at_commit() else { return Ok(()) };
    let found = flush_at_commit(&mut server.connect()?)?;
    match has_durability(wanted, found) {
        true => Ok(()),
        false => Err(failed(
            "check the durability of commits",
            format!(
                "the study asks for {FLUSH}={wanted} and your server has {found}; threadwise does not change it: set it \
                 there, or measure with --set durability={}",
                if wanted == 1 { "relaxed" } else { "full" }
            ),
        )),
    }
}

/// The server's setting for when commits wait for the log (MariaDB Knowledge Base, "InnoDB System Variables").
const FLUSH: &str = "innodb_flush_log_at_trx_commit";

fn flush_at_commit(connection: &mut mysql::Conn) -> Result<u8, EngineError> {
    use mysql::prelude::Queryable;
    let found = connection.query_first(format!("SELECT @@GLOBAL.{FLUSH}"));
    Ok(found.map_err(|cause| query("read the durability of commits", &cause))?.unwrap_or_default())
}

/// Whether a server with this setting has the durability that a study needs. 2 writes the log and flushes it later:
/// relaxed, if not the cheapest form.
fn has_durability(wanted: u8, found: u8) -> bool {
    matches!((wanted, found), (1, 1) | (0, 0 | 2))
}

/// Each durability as a point: a server has one of them.
fn durability_points(found: u8) -> Vec<Point> {
    let point = |name: &str, wanted: u8, word: &str| match has_durability(wanted, found) {
        true => Point::works(name, format!("{FLUSH}={found}")),
        false => Point::lacks(
            name,
            format!("{FLUSH}={found}: SET GLOBAL {FLUSH}={wanted}, for inserts with durability={word}"),
        ),
    };
    vec![point(DURABLE_COMMITS, 1, "full"), point(DELAYED_DURABILITY, 0, "relaxed")]
}

/// The template is shared by treatments with the same data, also if they change their copy.
fn template_home(load: &LoadRequest) -> Home {
    Home::new(error::ENGINE, &load.data_dir, "template", &identity(load))
}

/// Makes the data directory that runs are copied from, or finds it.
fn load_template(request: &LoadRequest, managed: &Managed, workload: Work) -> Result<Loaded, EngineError> {
    let setup = Setup::find(managed, workload.data_bytes(request.sessions), request.sessions, 0)?;
    let install = |home: &Home| setup.install(home);
    servers::load_template(&setup, &template_home(request), install, |server| {
        load_new(server, request, workload)
    })
}

/// Makes the data in a server that holds no other.
fn load_new(server: &Server, request: &LoadRequest, workload: Work) -> Result<Loaded, EngineError> {
    use mysql::prelude::Queryable;
    let mut control = server.connect()?;
    control
        .query_drop(format!("CREATE DATABASE `{SCHEMA}`"))
        .map_err(|cause| query("create its database", &cause))?;
    let mut loaded = workload::load(&mut control, server, &workload, request, "")?;
    loaded
        .notes
        .push("the server's binary log is off; sessions, not service threads, write the redo log".into());
    Ok(loaded)
}

/// Makes the data of one treatment beside that of others.
fn load_shared(server: &Server, request: &LoadRequest, workload: Work) -> Result<Loaded, EngineError> {
    let mut control = server.connect()?;
    let suffix = servers::suffix(request, workload.changes_data());
    if let Some(loaded) = schema::loaded(&mut control, server.schema(), &suffix)? {
        return Ok(loaded);
    }
    let objects = workload::objects(&workload, request.sessions, &suffix);
    schema::announce(&mut control, server, &objects)?;
    let loaded = workload::load(&mut control, server, &workload, request, &suffix)?;
    schema::finished(&mut control, server.schema(), &suffix, &loaded)?;
    Ok(loaded)
}

fn study_home(data_dir: &Path) -> Home {
    Home::new(error::ENGINE, data_dir, "study", "")
}

fn study_server(data_dir: &Path) -> Result<Server, EngineError> {
    Server::find(Target::own(managed::socket(&study_home(data_dir))), SCHEMA)
}

/// Starts the server that all treatments share. The size of all data is not known yet, so its buffer pool has room
/// for 16 times that of the first treatment, and for at most half of the free memory; a treatment whose data is not
/// cached reports an error (`settings.innodb_buffer_pool_size`).
fn start_for_study(
    request: &LoadRequest,
    managed: &Managed,
    connections: u32,
) -> Result<StudyServer<Setup>, EngineError> {
    let workload = Work::parse(request)?;
    let data_bytes =
        (16 * workload.data_bytes(request.sessions)).min(server_memory_bytes(Path::new("/")) / 3);
    let setup = Setup::find(managed, data_bytes, connections.max(request.sessions), 1)?;
    let home = study_home(&request.data_dir);
    setup.install(&home)?;
    let process = Process::start(&setup, &home)?;
    let server = process.server().clone();
    let kept = StudyServer::new(process);
    schema::make(&mut server.connect()?, &server)?;
    Ok(kept)
}

/// The server of one run, on a copy of its template.
fn start_copy(
    request: &StartRequest,
    managed: &Managed,
    workload: Work,
) -> Result<Box<dyn Running>, EngineError> {
    let load = &request.load;
    let flush_at_commit = workload.flush_at_commit().unwrap_or(1);
    let setup = Setup::find(managed, workload.data_bytes(load.sessions), load.sessions, flush_at_commit)?;
    let identity = format!("{} {}", identity(load), load.treatment);
    let home = Home::new(error::ENGINE, &load.data_dir, "run", &identity);
    let ours = TreatmentServer::start(&setup, &template_home(load), &home, workload.changes_data())?;
    let treatment = Treatment::start(ours.process.server(), workload, load, "", (true, managed.waits))?;
    let under = Under::Treatment(Box::new(ours));
    Ok(Box::new(MariadbRunning::new(Box::new(treatment), under, request, None, Vec::new())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_one_durability_and_lacks_the_other() {
        let works = |found: u8| durability_points(found).into_iter().map(|point| (point.name, point.works));
        for (found, full) in [(1, true), (0, false), (2, false)] {
            let expected = [(DURABLE_COMMITS.to_owned(), full), (DELAYED_DURABILITY.to_owned(), !full)];
            assert_eq!(works(found).collect::<Vec<_>>(), expected, "{found}");
        }
        assert!(durability_points(1)[1].says.contains("SET GLOBAL innodb_flush_log_at_trx_commit=0"));
    }
}
