//! Making the data of a treatment, or finding it.

use threadwise_engine::{EngineError, LoadRequest, Loaded};

use crate::driver::Driver;
use crate::schema::{announce, drop_left, finished, loaded};
use crate::template::Names;
use crate::texts::Rows;
use crate::workload::{Spec, SqlWorkload};
use crate::{insert, logical_io, transaction};

/// Makes the data of one treatment in threadwise's schema, which exists already; for `transaction` none, but each
/// statement is tried.
///
/// # Errors
/// An error of the server, or data that is not as required.
pub fn load<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    workload: &SqlWorkload,
    request: &LoadRequest,
    suffix: &str,
) -> Result<Loaded, EngineError> {
    let names = Names { schema: driver.schema(), suffix, quotes: driver.dialect().quotes };
    match &workload.spec {
        Spec::LogicalIo(spec) => logical_io::load(driver, control, &names, spec, request),
        Spec::Insert(spec) => insert::load(driver, control, &Rows { names, spec }, request),
        Spec::Transaction(spec) => transaction::try_out(driver, workload, spec, request),
    }
}

/// Makes the data of a treatment beside that of others, or finds it.
///
/// # Errors
/// An error of the server, or data that is not as required.
pub fn load_shared<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    workload: &SqlWorkload,
    request: &LoadRequest,
    suffix: &str,
) -> Result<Loaded, EngineError> {
    // Checked before anything is made, since every run would fail.
    driver.check(control, workload)?;
    if let Some(loaded) = loaded(driver, control, suffix)? {
        return Ok(loaded);
    }
    let objects = workload.objects(request.sessions, suffix, &driver.insert_objects());
    announce(driver, control, &objects)?;
    drop_left(driver, control, &objects)?;
    let loaded = load(driver, control, workload, request, suffix)?;
    finished(driver, control, suffix, &loaded)?;
    Ok(loaded)
}
