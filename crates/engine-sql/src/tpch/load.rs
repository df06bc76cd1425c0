//! The data: tables filled from the generator's text, primary keys, an index for each foreign key, statistics. A row in
//! the table of loads, made last, marks the data as complete.
//!
//! Source: TPC-H specification, clauses 1.4 and 1.5.4 (keys and their indexes are allowed, as is an order by one date).

use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::tpch::generator::Generator;
use threadwise_engine::workloads::tpch::tables::{SHIPDATE_ORDER, TABLES, Table};
use threadwise_engine::{EngineError, LoadRequest, Loaded};
use threadwise_tpch::dataset::Cluster;
use threadwise_tpch::options::TpchOptions;

use super::driver::{Notes, QueryDriver, Setup, objects};
use crate::driver::{Connection, Driver, numbers};
use crate::schema::{GO, announce, drop_left, finished, loaded, other_load};
use crate::template::{Template, fill};

/// Increased whenever the same options give other tables.
const FORMAT: u32 = 1;

/// Beginning of the names of data sets in the table of loads.
const MARK: &str = "tpch ";

/// The name of a data set in the table of loads.
fn mark(options: &TpchOptions) -> String {
    format!("{MARK}{} format {FORMAT}", options.key().folder_name())
}

/// Makes the data, or finds it. Threadwise's schema holds one data set at a time; another schema is the data's own.
///
/// # Errors
/// An error of the generator or the server, a table with another number of rows than it should have, or a setting that
/// the server does not accept.
pub fn load<D: QueryDriver>(
    driver: &D,
    control: &mut D::Connection,
    options: &TpchOptions,
    request: &LoadRequest,
    schema: &str,
) -> Result<Loaded, EngineError> {
    let (options, schema) = (options.clone(), schema.to_owned());
    let dop = options.dop.unwrap_or(1);
    let setup = Setup { options, schema, dop, sessions: 1, notes: Notes::default() };
    driver.try_settings(&setup)?;
    let mark = mark(&setup.options);
    if let Some(found) = loaded(driver, control, &mark)? {
        // Its room is counted once.
        return Ok(Loaded { bytes_per_session: 0, ..found });
    }
    let is_own = setup.schema != Driver::schema(driver);
    if !is_own && let Some(other) = other_load(driver, control, MARK)? {
        let why = format!(
            "your own server holds one data set at a time, and it has {other} of another treatment: give all treatments \
             the same scale and cluster"
        );
        return Err(refuse("scale", why));
    }
    let generator = Generator::find(driver.dialect().engine, &request.data_dir, setup.options.scale)?;
    match is_own {
        true => driver.make_schema(control, &setup.schema)?,
        false => {
            announce(driver, control, &objects())?;
            drop_left(driver, control, &objects())?;
        }
    }
    let mut made = Loaded { notes: notes(driver, &setup), ..Loaded::default() };
    for table in &TABLES {
        let name = driver.table(&setup.schema, table.name);
        made.rows_per_session += fill_table(driver, control, &generator, table, &name)?;
        index(driver, control, &setup, table, &name)?;
        let gather = fill(driver.tpch_sql().statistics, &[("table", &name)]);
        let gathered = control.run(&format!("gather statistics of table {name}"), &gather);
        gathered.or_else(|cause| if driver.keeps_statistics() { Ok(()) } else { Err(cause) })?;
    }
    let sql = fill(driver.tpch_sql().bytes, &[("schema", &setup.schema)]);
    // Unknown where the account may not see it.
    let [bytes] = numbers(control, "measure the data", &sql).unwrap_or_default();
    made.bytes_per_session = bytes.map_or(0, i64::unsigned_abs) / u64::from(request.sessions.max(1));
    finished(driver, control, &mark, &made)?;
    Ok(made)
}

/// Refuses data that does not exist, or is not complete.
///
/// # Errors
/// It is missing or incomplete.
pub(super) fn must_be_whole<D: QueryDriver>(
    driver: &D,
    control: &mut D::Connection,
    setup: &Setup,
) -> Result<(), EngineError> {
    match loaded(driver, control, &mark(&setup.options))? {
        Some(_) => Ok(()),
        None => {
            let why = format!("schema {} has no complete data; load it before start", setup.schema);
            Err(driver.failed("find the loaded data", why))
        }
    }
}

fn notes<D: QueryDriver>(driver: &D, setup: &Setup) -> Vec<String> {
    let tables = "tables with the specification's columns, primary keys and an index for each foreign key, without foreign \
                  key constraints";
    let ordered = format!("lineitem is in the order of {}", SHIPDATE_ORDER.join(", "));
    let is_ordered = setup.options.cluster == Cluster::ShipDate;
    let first = format!("{tables}; {}", driver.tpch_sql().note);
    [Some(first), is_ordered.then_some(ordered)].into_iter().flatten().collect()
}

/// Makes a table and fills it. Gives the number of rows.
fn fill_table<D: QueryDriver>(
    driver: &D,
    control: &mut D::Connection,
    generator: &Generator,
    table: &Table,
    name: &str,
) -> Result<u64, EngineError> {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|(column, kind)| format!("{column} {} NOT NULL", driver.type_of(*kind)))
        .collect();
    let create = format!("CREATE TABLE {name} ({})", columns.join(", "));
    let sent = generator.table(table, |text| driver.fill_table(control, table, name, &create, text))?;
    let action = format!("load table {name}");
    let [arrived] = numbers(control, &action, &fill(driver.tpch_sql().read, &[("table", name)]))?;
    let arrived = arrived.map_or(0, i64::unsigned_abs);
    if arrived != sent {
        return Err(driver.failed(&action, format!("{arrived} rows of {sent} arrived")));
    }
    if !table.may_have(arrived, generator.scale()) {
        let wanted = table.rows(generator.scale());
        let wanted = wanted.map_or("1 to 7 for each order".to_owned(), |rows| rows.to_string());
        return Err(driver.failed(&action, format!("the generator gave {arrived} rows instead of {wanted}")));
    }
    Ok(arrived)
}

fn index<D: QueryDriver>(
    driver: &D,
    control: &mut D::Connection,
    setup: &Setup,
    table: &Table,
    name: &str,
) -> Result<(), EngineError> {
    let sql = driver.tpch_sql();
    let is_ordered = table.name == "lineitem" && setup.options.cluster == Cluster::ShipDate;
    let template = |columns: &[&str]| {
        let places = Template::default().with("table", name).with("name", table.name);
        places.with("schema", &setup.schema).with("columns", columns.join(", ")).flag("ordered", is_ordered)
    };
    if is_ordered {
        let order = template(&SHIPDATE_ORDER);
        sql.order
            .split(GO)
            .try_for_each(|part| control.run(&format!("order table {name}"), &order.fill(part)))?;
    }
    let action = format!("create the indexes of table {name}");
    control.run(&action, &template(table.key).fill(sql.key))?;
    table.indexes.iter().enumerate().try_for_each(|(number, columns)| {
        control.run(&action, &template(columns).with("number", number).fill(sql.index))
    })
}
