//! The client: modules that need a server.

mod affinity;
mod connect;
mod dialect;
mod driver;
mod error;
mod keeper;
mod limits;
mod observe;
mod points;
mod running;
mod statements;
mod statements_source;
mod tpch;

use std::sync::Arc;
use threadwise_engine::connections::Limit;
use threadwise_engine::server_cpus::ServerCpus;
use threadwise_engine::servers;
use threadwise_engine::{
    Engine, EngineError, Keeper, KnownBy, LoadRequest, Loaded, Point, Running, StartRequest, StatementSource,
};
use threadwise_engine_sql::tpch::{self as sql_tpch, Queries};
use threadwise_engine_sql::{Driver as _, Started, Treatment, load, load_shared};
use threadwise_machine::CpuSet;
use threadwise_study::engine::Properties;
use threadwise_study::{Options, Workload};

use crate::options::Affinity;
use crate::{Sqlserver, options, work};
use affinity::Bound;
pub use affinity::{WATCHDOG, watch};
use connect::Server;
pub use connect::hear_messages;
use driver::Database;
use keeper::Kept;
use running::Whole;
use statements_source::Statements;

/// The engine with its client.
#[derive(Debug, Clone, Copy)]
pub struct Client;

impl Engine for Client {
    fn name(&self) -> &'static str {
        Sqlserver.name()
    }

    fn version(&self, engine_options: &Options) -> Result<String, EngineError> {
        Ok(find(engine_options)?.version_text())
    }

    fn about(&self) -> &'static str {
        Sqlserver.about()
    }

    fn workloads(&self) -> &'static [Workload] {
        Sqlserver.workloads()
    }

    fn properties(&self) -> Properties {
        Sqlserver.properties()
    }

    fn known_by(&self) -> KnownBy {
        Sqlserver.known_by()
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        Sqlserver.check(request)
    }

    fn limits(&self, engine_options: &Options) -> Result<Vec<Limit>, EngineError> {
        limits::ask(&find(engine_options)?)
    }

    fn points(&self, engine_options: &Options) -> Result<Vec<Point>, EngineError> {
        points::look(&find(engine_options)?)
    }

    fn binds_whole(&self) -> bool {
        Sqlserver.binds_whole()
    }

    fn server_cpus(&self, engine_options: &Options) -> Result<Option<ServerCpus>, EngineError> {
        affinity::ask(&find(engine_options)?).map(Some)
    }

    fn statements(&self, engine_options: &Options) -> Result<Option<Box<dyn StatementSource>>, EngineError> {
        Ok(Some(Box::new(Statements::open(&find(engine_options)?)?)))
    }

    fn keep(&self, request: &LoadRequest, _: u32) -> Result<Option<Box<dyn Keeper>>, EngineError> {
        let server = find(&request.engine_options)?;
        let has_data = !request.workload.makes_nothing();
        Ok(Some(Box::new(Kept::make(Database::new(server, None), &request.engine_options, has_data)?)))
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        let server = find(&request.engine_options)?;
        if request.workload == Workload::Tpch {
            let (database, options) = (Database::new(server, None), work::parse_tpch(request)?);
            let mut control = database.connect("threadwise load")?;
            return sql_tpch::load(&database, &mut control, &options, request, database.schema());
        }
        let (workload, buckets) = work::parse(request)?;
        let database = Database::new(server, buckets);
        let mut control = database.connect("threadwise load")?;
        if request.workload.makes_nothing() {
            return load(&database, &mut control, &workload, request, "");
        }
        let suffix = servers::suffix(request, workload.changes_data());
        load_shared(&database, &mut control, &workload, request, &suffix)
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        let load = &request.load;
        let server = find(&load.engine_options)?;
        let mut bound = match server.affinity() {
            Affinity::Set => Some(Bound::to(&server, &placement(request))?),
            Affinity::Keep => None,
        };
        if load.workload == Workload::Tpch {
            let (database, options) = (Database::new(server.clone(), None), work::parse_tpch(load)?);
            let times_bound = Some(Arc::clone(&database.times_bound));
            let sessions = Queries::start(database, options, request, server.schema())?;
            return Ok(Box::new(Started { sessions, host: Whole::new(server, bound, times_bound) }));
        }
        // Before the sessions, so that they are opened on the schedulers that they will have.
        bound.as_mut().map_or(Ok(false), Bound::bind)?;
        let (workload, buckets) = work::parse(load)?;
        let suffix = servers::suffix(load, workload.changes_data());
        let database = Database::new(server.clone(), buckets);
        let sessions = Treatment::start(database, workload, load, &suffix, false)?;
        Ok(Box::new(Started { sessions, host: Whole::new(server, bound, None) }))
    }
}

/// All logical CPUs of a treatment's sessions.
fn placement(request: &StartRequest) -> CpuSet {
    request.sessions.iter().fold(CpuSet::new(), |all, cpus| all.union(cpus))
}

/// The server that the options name.
fn find(engine_options: &Options) -> Result<Server, EngineError> {
    Server::find(options::parse(engine_options)?)
}
