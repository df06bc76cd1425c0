//! The engine `postgres`: PostgreSQL 11 and newer, as a private cluster or as the user's own server.
//!
//! A private cluster (`--engine postgres`) is made by the installed initdb in the study's data folder,
//! filled once for each combination of workload options, copied for every treatment, and started as a child
//! of the treatment's worker, whose logical CPUs and memory policy it inherits; or started once for the
//! study (`restart=study`), or for each query (`cache=cold`, see `cold`). The user's server (`--engine
//! postgres://…`) is used as it is: threadwise's objects are in a schema of their own; its processes are bound if
//! possible, and their masks restored, see `placing`. `driver` has what the workloads of steps need, `workload` those of
//! queries.

mod backend;
pub mod cluster;
mod cold;
pub mod connect;
mod connection;
mod dialect;
mod draft;
mod driver;
pub mod error;
pub mod numa;
mod observe;
pub mod options;
pub mod placing;
mod running;
mod statements;
mod steps;
mod transaction;
mod workload;

use std::path::Path;
use threadwise_engine::connections::Limit;
use threadwise_engine::servers::{self, Home, StudyServer, TreatmentServer};
use threadwise_engine::workloads::transaction::draft::DraftRequest;
use threadwise_engine::workloads::transaction::needs_users_data;
use threadwise_engine::{
    Address, DURABLE_COMMITS, Engine, EngineError, Keeper, KnownBy, LoadRequest, Loaded, Point, Running,
    StartRequest, StatementSource,
};
use threadwise_engine_sql::{Connection, Driver, KeptSchema, limits, make_schema};
use threadwise_process::space::server_memory_bytes;
use threadwise_study::engine::Properties;
use threadwise_study::{Options, Workload};

use cluster::{Cluster, Programs};
pub use connect::Server;
use connect::{Environment, Target};
pub use connection::PostgresConnection;
use options::{Choice, External, Managed, SCHEMA};
use statements::Statements;
pub use steps::parse as parse_steps;
pub use transaction::parse as parse_transaction;
#[doc(hidden)]
pub use workload::canonical_plan;
use workload::{load_shared, suffix};

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Postgres;

impl Engine for Postgres {
    fn name(&self) -> &'static str {
        error::ENGINE
    }

    fn version(&self, engine_options: &Options) -> Result<String, EngineError> {
        match Choice::parse(engine_options)? {
            Choice::Managed(managed) => Ok(Programs::find(managed.bin.as_deref())?.version),
            Choice::External(external) => Ok(reach(&external)?.version().to_owned()),
        }
    }

    fn about(&self) -> &'static str {
        "PostgreSQL 11 or newer: a private cluster of the installed programs, or your server by its URL"
    }

    fn workloads(&self) -> &'static [Workload] {
        steps::WORKLOADS
    }

    /// A block is 8 KiB unless the server was built otherwise; bytes of TPC-H are those of PostgreSQL 15.
    fn properties(&self) -> Properties {
        Properties {
            block_bytes: 8192,
            dialect: Some(error::ENGINE.to_owned()),
            holds_plans: true,
            row_bytes: dialect::ROW_BYTES,
            tpch_bytes: 1_830_000_000,
            ..Properties::default()
        }
    }

    fn known_by(&self) -> KnownBy {
        KnownBy {
            other_names: &["postgresql", "pgsql", "psql", "pg"],
            address: Some(Address {
                schemes: &["postgres", "postgresql"],
                password: Ok("PGPASSWORD or ~/.pgpass"),
            }),
            servers: &["postgres", "postmaster"],
            started: &["postgres"],
        }
    }

    fn environment(&self) -> &'static [&'static str] {
        &["PG"]
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        let choice = choice(request)?;
        workload::check(request)?;
        let Choice::External(external) = choice else { return Ok(()) };
        // The address and its environment are checked before a server is asked, and so is its database.
        let target = Target::resolve(Some(&external.url), &Environment::of_process())?;
        workload::expect_database(request, &target.database)
    }

    fn limits(&self, engine_options: &Options) -> Result<Vec<Limit>, EngineError> {
        match Choice::parse(engine_options)? {
            Choice::Managed(_) => Ok(Vec::new()),
            Choice::External(external) => {
                let mut connection = Driver::connect(&reach(&external)?, "threadwise limits")?;
                let rows = connection.rows("count its connections", include_str!("sql/limits.sql"), &[])?;
                Ok(limits(&rows))
            }
        }
    }

    /// Only the server can set whether commits wait for the disk; sessions set the rest of a durability.
    fn points(&self, engine_options: &Options) -> Result<Vec<Point>, EngineError> {
        let Choice::External(external) = Choice::parse(engine_options)? else { return Ok(Vec::new()) };
        let mut client = reach(&external)?.connect("threadwise check")?;
        Ok(vec![durability(&backend::setting(&mut client, "fsync")?)])
    }

    fn statement_sources(&self) -> &'static [&'static str] {
        &[draft::SOURCE]
    }

    fn draft(&self, engine_options: &Options, request: &DraftRequest<'_>) -> Result<String, EngineError> {
        match Choice::parse(engine_options)? {
            Choice::External(external) => draft::write(&reach(&external)?, request),
            Choice::Managed(_) => {
                needs_users_data("give the address of your server, --engine postgres://USER@HOST/DATABASE")
            }
        }
    }

    fn statements(&self, engine_options: &Options) -> Result<Option<Box<dyn StatementSource>>, EngineError> {
        match Choice::parse(engine_options)? {
            Choice::Managed(_) => {
                let why = "it names your server: give --engine postgres://USER@HOST:5432/DATABASE";
                Err(error::refuse("url", why))
            }
            Choice::External(external) => Ok(Some(Box::new(Statements::open(&reach(&external)?)?))),
        }
    }

    fn keep(&self, request: &LoadRequest, connections: u32) -> Result<Option<Box<dyn Keeper>>, EngineError> {
        match choice(request)? {
            Choice::Managed(managed) if managed.study => {
                Ok(Some(Box::new(keep_study(request, &managed, connections)?)))
            }
            Choice::Managed(_) => Ok(None),
            // Statements without data of threadwise's make nothing that would have to be kept apart or dropped.
            Choice::External(_) if request.workload.makes_nothing() => Ok(None),
            Choice::External(external) => Ok(Some(Box::new(KeptSchema::make(reach(&external)?)?))),
        }
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        match choice(request)? {
            Choice::Managed(managed) if managed.study => load_study(request, &managed),
            Choice::Managed(managed) => load_template(request, &managed),
            Choice::External(external) if request.workload.makes_nothing() => {
                workload::load(&reach(&external)?, request)
            }
            Choice::External(external) => load_shared(&reach(&external)?, request, false),
        }
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        let load = &request.load;
        Ok(match choice(load)? {
            Choice::Managed(managed) if workload::is_cold(load)? => {
                let (programs, home) = (Programs::find(managed.bin.as_deref())?, study_home(load));
                expect_alike(load, &home)?;
                Box::new(cold::Cold::start(request, suffix(load, true)?, programs, home)?)
            }
            Choice::Managed(managed) if managed.study => {
                expect_alike(load, &study_home(load))?;
                let server = study_server(load)?;
                running::start(&server, request, &suffix(load, true)?, None, true)?
            }
            Choice::Managed(managed) => {
                let ours = start_copy(load, &managed)?;
                let server = ours.process.server().clone();
                running::start(&server, request, "", Some(ours), true)?
            }
            Choice::External(external) => {
                running::start(&reach(&external)?, request, &suffix(load, false)?, None, false)?
            }
        })
    }
}

/// Durable commits, by the setting `fsync`.
fn durability(fsync: &str) -> Point {
    match fsync {
        "on" => Point::works(DURABLE_COMMITS, "fsync=on"),
        other => Point::lacks(
            DURABLE_COMMITS,
            format!("fsync={other}: fsync=on in postgresql.conf, for inserts with durability=full"),
        ),
    }
}

/// The server. A workload whose data no run changes has one server for the study.
fn choice(request: &LoadRequest) -> Result<Choice, EngineError> {
    let mut choice = Choice::parse(&request.engine_options)?;
    if let Choice::Managed(_) = &choice
        && workload::needs_users(&request.workload)
    {
        return needs_users_data("name your database, --engine postgres://USER@HOST/DATABASE");
    }
    if let Choice::Managed(managed) = &mut choice
        && workload::shares_server(&request.workload)
    {
        if !managed.study && request.engine_options.contains_key("restart") {
            let why = format!(
                "{} has one server for the study, whose data all treatments read: leave it out, or give study",
                request.workload
            );
            return Err(error::refuse("restart", why));
        }
        managed.study = true;
    }
    if let Choice::External(_) = choice
        && workload::needs_ours(&request.workload)
    {
        return Err(workload::not_ours());
    }
    if let Choice::External(_) = choice
        && workload::is_cold(request)?
    {
        let why = "'cold' restarts the server before every query, and threadwise does not restart your own server: use \
                   a private server, or use cache=warm";
        return Err(error::refuse("cache", why));
    }
    Ok(choice)
}

fn reach(external: &External) -> Result<Server, EngineError> {
    let target = Target::resolve(Some(&external.url), &Environment::of_process())?;
    Server::reach(target, &external.schema)
}

/// Loads into the study's one server, and writes new data to the disk before anything is measured.
fn load_study(request: &LoadRequest, managed: &Managed) -> Result<Loaded, EngineError> {
    expect_alike(request, &study_home(request))?;
    if workload::is_cold(request)? {
        return cold::load(&study_home(request), &Programs::find(managed.bin.as_deref())?, request);
    }
    let server = study_server(request)?;
    let loaded = load_shared(&server, request, true)?;
    if loaded.bytes_per_session > 0 && workload::shares_server(&request.workload) {
        Driver::connect(&server, "threadwise loader")?.run("write the data to the disk", "CHECKPOINT")?;
        servers::sync(&study_home(request).data());
    }
    Ok(loaded)
}

/// The home of the study's one server: one for each study, since the data folder is the study's.
fn study_home(request: &LoadRequest) -> Home {
    cluster::home(&request.data_dir, "study", "")
}

/// Refuses a mixture: treatments share a server that either runs all the time or never between queries.
fn expect_alike(request: &LoadRequest, home: &Home) -> Result<(), EngineError> {
    if !home.data().exists() || cluster::is_resting(home) == workload::is_cold(request)? {
        return Ok(());
    }
    let why = "the treatments of a study on PostgreSQL share one server, which 'cold' restarts before every query: \
               give all of them warm, or all of them cold";
    Err(error::refuse("cache", why))
}

fn study_server(request: &LoadRequest) -> Result<Server, EngineError> {
    cluster::connect(&study_home(request).data())
}

fn keep_study(
    request: &LoadRequest,
    managed: &Managed,
    connections: u32,
) -> Result<StudyServer<Programs>, EngineError> {
    let programs = Programs::find(managed.bin.as_deref())?;
    let home = study_home(request);
    let is_cold = workload::is_cold(request)?;
    if is_cold {
        cold::expect_storage(&request.data_dir)?;
    }
    // The other treatments are not known yet. Unused buffer pool memory is never touched and costs nothing, so there is
    // room for many of them.
    let data_bytes = workload::data_bytes(request)?
        .saturating_mul(STUDY_TREATMENTS)
        .min(server_memory_bytes(Path::new("/")) / 3);
    let mut managed = managed.clone();
    for (name, value) in
        workload::server_settings(request, server_memory_bytes(Path::new("/")), programs.major)?
    {
        managed.settings.entry(name.to_owned()).or_insert(value);
    }
    cluster::prepare(&home, &programs, &managed, data_bytes, connections.max(request.sessions))?;
    let cluster = Cluster::start(&programs, &home)?;
    let server = cluster.server().clone();
    let kept = StudyServer::new(cluster);
    make_schema(&server, &mut Driver::connect(&server, "threadwise keeper")?)?;
    if !is_cold {
        return Ok(kept);
    }
    cluster::rest(&home)?;
    kept.rest()
}

/// Number of treatments that the buffer pool of a study's server has room for.
const STUDY_TREATMENTS: u64 = 16;

/// What is equal for the clusters of two treatments, except for changes that they make to their data.
fn identity(request: &LoadRequest, managed: &Managed, programs: &Programs) -> String {
    let (settings, program, version) = (&managed.settings, &programs.postgres, &programs.version);
    format!("{} {settings:?} {program:?} {version}", servers::identity(request))
}

fn template_home(request: &LoadRequest, managed: &Managed, programs: &Programs) -> Home {
    cluster::home(&request.data_dir, "template", &identity(request, managed, programs))
}

/// Makes a stopped, filled cluster that treatments copy, or finds it.
fn load_template(request: &LoadRequest, managed: &Managed) -> Result<Loaded, EngineError> {
    let programs = Programs::find(managed.bin.as_deref())?;
    let template = template_home(request, managed, &programs);
    let install = |home: &Home| {
        // Beyond half of the memory the kernel's cache serves better, and a server might not start.
        let data_bytes = workload::data_bytes(request)?.min(server_memory_bytes(Path::new("/")) / 2);
        cluster::prepare(home, &programs, managed, data_bytes, request.sessions)
    };
    servers::load_template(&programs, &template, install, |server| {
        let mut client = server.connect("threadwise loader")?;
        let sql = format!("CREATE SCHEMA {SCHEMA}");
        client.batch_execute(&sql).map_err(|cause| error::query("create its schema", &cause))?;
        drop(client);
        workload::load(server, request)
    })
}

/// A server for one treatment, on its own copy of the template. The copy stays for the next block if runs leave it
/// unchanged.
fn start_copy(request: &LoadRequest, managed: &Managed) -> Result<TreatmentServer<Programs>, EngineError> {
    let programs = Programs::find(managed.bin.as_deref())?;
    let template = template_home(request, managed, &programs);
    let identity = format!("{} {}", identity(request, managed, &programs), request.treatment);
    let home = cluster::home(&request.data_dir, "run", &identity);
    TreatmentServer::start(&programs, &template, &home, workload::needs_fresh_copy(request)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_durable_where_the_server_waits_for_the_disk() {
        assert!(durability("on").works);
        let off = durability("off");
        assert!(!off.works && off.name == DURABLE_COMMITS && off.says.contains("fsync=on"), "{off:?}");
    }
}
