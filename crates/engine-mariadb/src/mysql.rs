//! The engine `mysql`: a MySQL server of the user, from 8.0 on. What differs from MariaDB is `product::MYSQL`.

use threadwise_engine::connections::Limit;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::{
    Address, Engine, EngineError, Keeper, KnownBy, LoadRequest, Loaded, Point, Running, StartRequest,
    StatementSource,
};
use threadwise_study::engine::Properties;
use threadwise_study::{Options, Workload};

use crate::dialect::properties;
use crate::options::{self, ENVIRONMENT, External, WORKLOADS, Which};
use crate::product::MYSQL;
use crate::theirs;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Mysql;

/// The server that the options name.
///
/// # Errors
/// They name none: private servers are MariaDB's.
fn external(engine_options: &Options) -> Result<External, EngineError> {
    match options::parse(engine_options)? {
        Which::External(external) => Ok(external),
        Which::Managed(_) => {
            let why = "it names your server: give --engine mysql://USER@HOST:3306/DATABASE; private servers are those \
                       of --engine mariadb";
            Err(refuse("url", why.into()))
        }
    }
}

impl Engine for Mysql {
    fn name(&self) -> &'static str {
        MYSQL.engine()
    }

    fn version(&self, engine_options: &Options) -> Result<String, EngineError> {
        theirs::version(&MYSQL, &external(engine_options)?)
    }

    fn about(&self) -> &'static str {
        "MySQL from 8.0 on: yours (mysql://…)"
    }

    fn workloads(&self) -> &'static [Workload] {
        WORKLOADS
    }

    fn properties(&self) -> Properties {
        properties()
    }

    fn known_by(&self) -> KnownBy {
        KnownBy {
            other_names: &["mysqld", "percona"],
            address: Some(Address { schemes: &["mysql"], password: Ok("MYSQL_PWD or ~/.my.cnf") }),
            servers: &["mysqld"],
            started: &[],
        }
    }

    fn environment(&self) -> &'static [&'static str] {
        ENVIRONMENT
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        theirs::check(&MYSQL, request, &external(&request.engine_options)?)
    }

    fn limits(&self, engine_options: &Options) -> Result<Vec<Limit>, EngineError> {
        theirs::limits(&MYSQL, &external(engine_options)?)
    }

    fn points(&self, engine_options: &Options) -> Result<Vec<Point>, EngineError> {
        theirs::points(&MYSQL, &external(engine_options)?)
    }

    fn statements(&self, engine_options: &Options) -> Result<Option<Box<dyn StatementSource>>, EngineError> {
        theirs::statements(&MYSQL, &external(engine_options)?).map(Some)
    }

    fn keep(&self, request: &LoadRequest, _: u32) -> Result<Option<Box<dyn Keeper>>, EngineError> {
        theirs::keep(&MYSQL, request, &external(&request.engine_options)?)
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        theirs::load(&MYSQL, request, &external(&request.engine_options)?)
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        theirs::start(&MYSQL, request, &external(&request.load.engine_options)?)
    }
}
