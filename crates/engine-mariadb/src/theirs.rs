//! The user's server, of either product: threadwise makes its own database in it and drops it at the end; for
//! `transaction` it makes nothing.

use threadwise_engine::connections::Limit;
use threadwise_engine::servers;
use threadwise_engine::{
    EngineError, Keeper, LoadRequest, Loaded, Point, Running, StartRequest, StatementSource,
};
use threadwise_engine_sql::{self as sql, Connection, Driver, KeptSchema, SqlWorkload, Started, Treatment};
use threadwise_study::{Note, Workload};

use crate::connect::{Server, target};
use crate::driver::Database;
use crate::durability::{durability, durability_points};
use crate::options::{External, workload};
use crate::place::Placing;
use crate::product::Product;
use crate::statements::Statements;
use crate::transaction;

/// The server, and notes about how it was found.
///
/// # Errors
/// No answer, a refused login, or another product.
fn find(product: &'static Product, external: &External) -> Result<(Database, Vec<String>), EngineError> {
    let target = target(&external.url)?;
    let notes = target.notes.clone();
    let server = Server::find(product, target, &external.schema)?;
    Ok((Database { server, waits: external.waits, is_theirs: true }, notes))
}

/// The server's version as it reports it.
///
/// # Errors
/// See [`find`].
pub(crate) fn version(product: &'static Product, external: &External) -> Result<String, EngineError> {
    Ok(find(product, external)?.0.server.version_text().to_owned())
}

/// Limits of connections.
///
/// # Errors
/// See [`find`]; or an error of the server.
pub(crate) fn limits(product: &'static Product, external: &External) -> Result<Vec<Limit>, EngineError> {
    let mut control = find(product, external)?.0.connect("limits")?;
    Ok(sql::limits(&control.rows("count its connections", product.limits, &[])?))
}

/// What the server lets the account do.
///
/// # Errors
/// See [`find`]; or an error of the server.
pub(crate) fn points(product: &'static Product, external: &External) -> Result<Vec<Point>, EngineError> {
    let mut control = find(product, external)?.0.connect("points")?;
    Ok(durability_points(durability(&mut control)?))
}

/// A connection that reads the server's statistics of statements.
///
/// # Errors
/// See [`find`] and [`Statements::open`].
pub(crate) fn statements(
    product: &'static Product,
    external: &External,
) -> Result<Box<dyn StatementSource>, EngineError> {
    let (database, notes) = find(product, external)?;
    Ok(Box::new(Statements::open(product, &database, notes)?))
}

/// Makes threadwise's database; `None` for a workload that makes nothing.
///
/// # Errors
/// See [`find`] and [`KeptSchema::make`].
pub(crate) fn keep(
    product: &'static Product,
    request: &LoadRequest,
    external: &External,
) -> Result<Option<Box<dyn Keeper>>, EngineError> {
    match request.workload {
        Workload::Transaction | Workload::Burn => Ok(None),
        _ => Ok(Some(Box::new(KeptSchema::make(find(product, external)?.0)?))),
    }
}

/// Makes the data of a treatment, or finds it; tries the statements of a transaction.
///
/// # Errors
/// See [`find`] and [`sql::load`].
pub(crate) fn load(
    product: &'static Product,
    request: &LoadRequest,
    external: &External,
) -> Result<Loaded, EngineError> {
    let workload = work(product, request)?;
    let database = find(product, external)?.0;
    let mut control = database.connect("load")?;
    if request.workload.makes_nothing() {
        return sql::load(&database, &mut control, &workload, request, "");
    }
    let suffix = servers::suffix(request, workload.changes_data());
    sql::load_shared(&database, &mut control, &workload, request, &suffix)
}

/// Starts a treatment.
///
/// # Errors
/// See [`find`] and [`Treatment::start`].
pub(crate) fn start(
    product: &'static Product,
    request: &StartRequest,
    external: &External,
) -> Result<Box<dyn Running>, EngineError> {
    let workload = work(product, &request.load)?;
    let (database, notes) = find(product, external)?;
    let suffix = match request.load.workload {
        Workload::Transaction | Workload::Burn => String::new(),
        _ => servers::suffix(&request.load, workload.changes_data()),
    };
    let earlier = Note::memory_placed_earlier("the server is yours and ran before the study");
    let notes = notes.into_iter().map(Note::from).chain([earlier]).collect();
    let treatment = Treatment::start(database, workload, &request.load, &suffix, false)?;
    Ok(Box::new(Started { sessions: treatment, host: Placing::new(None, true, request, None, notes) }))
}

/// Checks a request without contacting the server: a password in its address is refused.
///
/// # Errors
/// The first option that is impossible.
pub(crate) fn check(
    product: &Product,
    request: &LoadRequest,
    external: &External,
) -> Result<(), EngineError> {
    work(product, request)?;
    target(&external.url).map(drop)
}

/// The workload of a request.
///
/// # Errors
/// The first option that is impossible.
pub(crate) fn work(product: &Product, request: &LoadRequest) -> Result<SqlWorkload, EngineError> {
    match request.workload {
        Workload::Transaction | Workload::Burn => {
            Ok(SqlWorkload::transaction(transaction::parse(product, request)?))
        }
        _ => workload(product, request),
    }
}
