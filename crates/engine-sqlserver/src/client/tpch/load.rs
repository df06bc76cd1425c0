//! The data of `tpch`: heaps filled by bulk load from the generator, then primary keys and an index for each foreign
//! key, then statistics. A row in the table of loads, made last, marks the data as complete.
//!
//! Source: TPC-H specification, clauses 1.4 and 1.5.4 (keys and their indexes are allowed, as is an order by one
//! date); "The Data Loading Performance Guide" (load into a heap under a lock of the table, index afterwards).

use std::io::Read;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::tpch::generator::Generator;
use threadwise_engine::workloads::tpch::tables::{Kind, SHIPDATE_ORDER, TABLES, Table};
use threadwise_engine::{EngineError, LoadRequest, Loaded};
use threadwise_engine_sql::{self as sql, Objects};
use threadwise_tpch::dataset::Cluster;
use threadwise_tpch::options::TpchOptions;
use tiberius::numeric::Numeric;
use tiberius::time::Date;
use tiberius::{ColumnData, TokenRow};

use super::values::{days, hundredths};
use crate::ENGINE;
use crate::client::connect::{Connection, Fault, Server};
use crate::client::driver::Database;
use crate::client::error::query;
use crate::client::statements::{fill, one_row, run, text, whole};
use crate::failed;

/// Increased whenever the same options give other tables.
const FORMAT: u32 = 1;

/// Rows of one bulk load, each of which is a transaction.
const BATCH: u64 = 200_000;

/// Why a load ended: an error of the server, or of the rows to send.
enum Stop {
    Fault(Fault),
    Ours(EngineError),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Makes the data, or finds it.
///
/// # Errors
/// An error of the generator or the server, or a table with another number of rows than it should have.
pub(super) fn load(
    server: &Server,
    request: &LoadRequest,
    options: &TpchOptions,
) -> Result<Loaded, EngineError> {
    let mut control = server.connect("threadwise load")?;
    let (schema, mark) = (server.schema(), mark(options));
    let database = Database { server: server.clone(), buckets: None };
    if let Some(loaded) = sql::loaded(&database, &mut control, &mark)? {
        return Ok(loaded);
    }
    if let Some(other) = mark_of(&mut control, schema)? {
        let why = format!(
            "your own server holds one data set at a time, and it has {other} of another treatment: give all \
             treatments the same scale and cluster"
        );
        return Err(refuse("scale", why));
    }
    let generator = Generator::find(ENGINE, &request.data_dir, options.scale)?;
    let names = TABLES.iter().map(|table| table.name.to_owned()).collect();
    let objects = Objects { tables: names, procedures: Vec::new() };
    sql::announce(&database, &mut control, &objects)?;
    sql::drop_left(&database, &mut control, &objects)?;
    let mut loaded = Loaded { notes: notes(options), ..Loaded::default() };
    for table in &TABLES {
        loaded.rows_per_session += fill_table(&mut control, &generator, server, table)?;
        index(&mut control, schema, table, options)?;
        let sql = format!("UPDATE STATISTICS [{schema}].[{}] WITH FULLSCAN", table.name);
        match control.run(&sql) {
            Ok(()) => {}
            // Babelfish keeps its own.
            Err(Fault::Server(_)) if server.is_babelfish() => {}
            Err(cause) => return Err(query(format!("gather statistics of table {}", table.name), &cause)),
        }
    }
    loaded.bytes_per_session = bytes(&mut control, schema) / u64::from(request.sessions.max(1));
    sql::finished(&database, &mut control, &mark, &loaded)?;
    Ok(loaded)
}

/// Refuses data that does not exist, or is not complete.
///
/// # Errors
/// It is missing or incomplete.
pub(super) fn must_be_whole(server: &Server, options: &TpchOptions) -> Result<(), EngineError> {
    let mut control = server.connect("threadwise look")?;
    let database = Database { server: server.clone(), buckets: None };
    match sql::loaded(&database, &mut control, &mark(options))? {
        Some(_) => Ok(()),
        None => {
            let why = format!("schema {} has no complete data; load it before start", server.schema());
            Err(failed("find the loaded data", why))
        }
    }
}

/// The name of a data set in the table of loads.
fn mark(options: &TpchOptions) -> String {
    format!("tpch {} format {FORMAT}", options.key().folder_name())
}

fn mark_of(control: &mut Connection, schema: &str) -> Result<Option<String>, EngineError> {
    let sql = format!("SELECT suffix FROM [{schema}].[threadwise_loads] WHERE suffix LIKE 'tpch %'");
    let rows = control.rows(&sql).map_err(|cause| query("look for the data", &cause))?;
    Ok(rows.first().and_then(|row| text(row, 0)))
}

fn notes(options: &TpchOptions) -> Vec<String> {
    let order = match options.cluster {
        Cluster::OrderKey => "each table is in the order of its primary key".to_owned(),
        Cluster::ShipDate => format!(
            "lineitem is in the order of {}, other tables in that of their primary keys",
            SHIPDATE_ORDER.join(", ")
        ),
    };
    vec![format!(
        "tables with the specification's columns, primary keys and an index for each foreign key, without foreign key \
         constraints; {order}; statistics of all rows"
    )]
}

/// The type of a column; with `floats` the type in which decimals arrive.
///
/// Babelfish 4.3 reads each decimal of a bulk load as one of 16 bytes (`TdsTypeNumericToDatum`), whatever its length;
/// doubles hold these exactly enough to become decimals of two digits afterwards.
fn type_of(kind: Kind, floats: bool) -> String {
    match kind {
        Kind::Decimal if floats => "float".into(),
        Kind::Identifier => "bigint".into(),
        Kind::Integer => "int".into(),
        Kind::Decimal => "decimal(15,2)".into(),
        Kind::Date => "date".into(),
        Kind::Char(length) => format!("char({length})"),
        Kind::Varchar(length) => format!("varchar({length})"),
    }
}

/// Makes a table and fills it. Gives the number of rows.
fn fill_table(
    control: &mut Connection,
    generator: &Generator,
    server: &Server,
    table: &Table,
) -> Result<u64, EngineError> {
    let (name, floats) = (format!("[{}].[{}]", server.schema(), table.name), server.is_babelfish());
    let action = format!("load table {name}");
    let column = |(column, kind): &(&str, Kind)| format!("{column} {} NOT NULL", type_of(*kind, floats));
    let columns: Vec<String> = table.columns.iter().map(column).collect();
    run(control, &action, &format!("CREATE TABLE {name} ({})", columns.join(", ")))?;
    let sent = generator.table(table, |text| pour(control, &name, table, floats, text))?;
    for (column, kind) in table.columns.iter().filter(|(_, kind)| floats && *kind == Kind::Decimal) {
        let sql = format!("ALTER TABLE {name} ALTER COLUMN {column} {}", type_of(*kind, false));
        run(control, &action, &sql)?;
    }
    let counted = one_row(control, &action, &format!("SELECT COUNT_BIG(*) FROM {name}"))?;
    let counted = whole(&counted, 0).and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0);
    if counted != sent {
        return Err(failed(action, format!("{counted} rows of {sent} arrived")));
    }
    if !table.may_have(counted, generator.scale()) {
        let wanted = table.rows(generator.scale());
        let wanted = wanted.map_or("1 to 7 for each order".to_owned(), |rows| rows.to_string());
        return Err(failed(action, format!("the generator gave {counted} rows instead of {wanted}")));
    }
    Ok(counted)
}

/// Sends the generator's text, a batch of rows at a time. Gives the number of rows.
fn pour(
    control: &mut Connection,
    name: &str,
    table: &Table,
    floats: bool,
    text: &mut impl Read,
) -> Result<u64, EngineError> {
    let action = format!("load table {name}");
    let mut lines = csv::Reader::from_reader(text).into_records();
    let columns: Vec<&str> = table.columns.iter().map(|(column, _)| *column).collect();
    let mut all = 0;
    loop {
        let mut left = BATCH;
        let mut next = || {
            if left == 0 {
                return Ok(None);
            }
            left -= 1;
            let Some(line) = lines.next() else { return Ok(None) };
            let line = line.map_err(|cause| Stop::Ours(failed(&action, cause)))?;
            row(table, floats, &line).map(Some).ok_or_else(|| {
                let place = line.position().map_or(0, csv::Position::line);
                Stop::Ours(failed(
                    &action,
                    format!("line {place} of the generator's text is not a row of it"),
                ))
            })
        };
        let sent = control.bulk(name, &columns, &mut next).map_err(|stop| match stop {
            Stop::Fault(cause) => query(&action, &cause),
            Stop::Ours(error) => error,
        })?;
        all += sent;
        if sent < BATCH {
            return Ok(all);
        }
    }
}

/// A line as the row of its table; `None` if it is not one.
fn row(table: &Table, floats: bool, line: &csv::StringRecord) -> Option<TokenRow<'static>> {
    if line.len() != table.columns.len() {
        return None;
    }
    let mut row = TokenRow::new();
    for ((_, kind), field) in table.columns.iter().zip(line) {
        row.push(match kind {
            Kind::Identifier => ColumnData::I64(Some(field.parse().ok()?)),
            Kind::Integer => ColumnData::I32(Some(field.parse().ok()?)),
            Kind::Decimal if floats => ColumnData::F64(Some(field.parse().ok()?)),
            Kind::Decimal => ColumnData::Numeric(Some(Numeric::new_with_scale(hundredths(field)?, 2))),
            Kind::Date => ColumnData::Date(Some(Date::new(days(field)?))),
            // Padded here, since not every server does so in a bulk load.
            Kind::Char(width) => {
                ColumnData::String(Some(format!("{field:<width$}", width = *width as usize).into()))
            }
            Kind::Varchar(_) => ColumnData::String(Some(field.to_owned().into())),
        });
    }
    Some(row)
}

fn index(
    control: &mut Connection,
    schema: &str,
    table: &Table,
    options: &TpchOptions,
) -> Result<(), EngineError> {
    let name = format!("[{schema}].[{}]", table.name);
    let action = format!("create the indexes of table {name}");
    let by_date = table.name == "lineitem" && options.cluster == Cluster::ShipDate;
    if by_date {
        let order = SHIPDATE_ORDER.join(", ");
        run(control, &action, &format!("CREATE UNIQUE CLUSTERED INDEX by_shipdate ON {name} ({order})"))?;
    }
    let clustered = if by_date { "NONCLUSTERED" } else { "CLUSTERED" };
    let key = table.key.join(", ");
    run(
        control,
        &action,
        &format!("ALTER TABLE {name} ADD CONSTRAINT primary_{} PRIMARY KEY {clustered} ({key})", table.name),
    )?;
    for (number, columns) in table.indexes.iter().enumerate() {
        let columns = columns.join(", ");
        run(control, &action, &format!("CREATE NONCLUSTERED INDEX foreign_{number} ON {name} ({columns})"))?;
    }
    Ok(())
}

/// Bytes of all tables and indexes; 0 if the server does not report them.
fn bytes(control: &mut Connection, schema: &str) -> u64 {
    let sql = fill(include_str!("../../sql/tpch_bytes.sql"), &[("schema", schema)]);
    let rows = control.rows(&sql).unwrap_or_default();
    rows.first().and_then(|row| whole(row, 0)).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_rows_of_their_table() {
        let nation = &TABLES[1];
        let line = csv::StringRecord::from(vec!["7", "GERMANY", "3", "a, \"b\""]);
        let found: Vec<ColumnData<'static>> = row(nation, false, &line).unwrap().into_iter().collect();
        assert_eq!(found[0], ColumnData::I64(Some(7)));
        assert_eq!(found[1], ColumnData::String(Some(format!("GERMANY{}", " ".repeat(18)).into())));
        assert_eq!(found[3], ColumnData::String(Some("a, \"b\"".into())));
        for bad in [vec!["x", "G", "3", "c"], vec!["7", "G", "3"]] {
            assert!(row(nation, false, &csv::StringRecord::from(bad)).is_none());
        }
    }
}
