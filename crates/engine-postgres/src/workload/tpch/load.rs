//! The data of `tpch`: tables filled by COPY from the generator, primary keys, indexes for foreign keys, statistics. A
//! comment on `lineitem`, made last, marks the data as complete.
//!
//! Source: TPC-H specification, clauses 1.4 and 1.5.4 (keys and their indexes are allowed, as is an order
//! by one date); PostgreSQL documentation, "Populating a Database".

use postgres::Client;
use std::error::Error as _;
use std::fmt::Write as _;
use std::io::{self, BufRead};
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::tpch::generator::Generator;
use threadwise_engine::workloads::tpch::tables::{Kind, SHIPDATE_ORDER, TABLES, Table};
use threadwise_engine::{EngineError, LoadRequest, Loaded};
use threadwise_tpch::dataset::Cluster;

use super::{Work, schema, settings};
use crate::Server;
use crate::error::{ENGINE, failed, query};
use crate::workload::sql::execute;

/// Increased whenever the same options give other tables.
const FORMAT: u32 = 1;

/// Index by which `lineitem` is ordered.
const SHIPDATE_INDEX: &str = "lineitem_shipdate";

/// Makes the data, or finds it. `suffix` is empty for threadwise's common schema.
///
/// # Errors
/// An error of the generator or the server, a table with another number of rows than it should have, or a setting that
/// the server does not accept.
pub(in super::super) fn load(
    control: &mut Client,
    server: &Server,
    load: &LoadRequest,
    workload: &Work,
    suffix: &str,
) -> Result<Loaded, EngineError> {
    let ours = !suffix.is_empty();
    let schema = schema(server, suffix);
    try_settings(server, workload, schema, ours)?;
    let found = mark_of(control, schema)?;
    let mark = mark(workload);
    let mut loaded = Loaded { notes: notes(workload, server, ours), ..Loaded::default() };
    match found {
        Some(found) if found == mark => return Ok(loaded),
        Some(other) if !ours => {
            let why = format!(
                "your own server holds one data set at a time, and it has {other} of another treatment: give \
                 all treatments the same scale and cluster, or use a private server"
            );
            return Err(refuse("scale", why));
        }
        _ => {}
    }
    let generator = Generator::find(ENGINE, &load.data_dir, workload.options.scale)?;
    clear(control, schema, ours)?;
    if ours {
        with_prewarm(control, server)?;
    }
    for table in &TABLES {
        loaded.rows_per_session += fill(control, &generator, schema, table)?;
    }
    index(control, schema, workload)?;
    settle_down(control, schema, ours)?;
    execute(
        control,
        "mark the data as complete",
        &format!("COMMENT ON TABLE {schema}.lineitem IS '{mark}'"),
    )?;
    loaded.bytes_per_session = bytes(control, schema)? / u64::from(load.sessions.max(1));
    Ok(loaded)
}

/// Refuses data that does not exist, or is not complete.
///
/// # Errors
/// It is missing or incomplete.
pub(in super::super) fn must_be_whole(
    control: &mut Client,
    schema: &str,
    workload: &Work,
) -> Result<(), EngineError> {
    let found = mark_of(control, schema)?;
    if found.as_deref() == Some(mark(workload).as_str()) {
        return Ok(());
    }
    let found = found.unwrap_or_else(|| "no complete data".into());
    Err(failed("find the loaded data", format!("schema {schema} has {found}; load it before start")))
}

/// The comment on a complete data set.
fn mark(workload: &Work) -> String {
    format!("threadwise tpch {} format {FORMAT}, whole", workload.options.key().folder_name())
}

fn mark_of(control: &mut Client, schema: &str) -> Result<Option<String>, EngineError> {
    let sql = "SELECT obj_description(to_regclass($1), 'pg_class')";
    let row = control.query_one(sql, &[&format!("{schema}.lineitem")]);
    row.and_then(|row| row.try_get(0)).map_err(|cause| query("look for the data", &cause))
}

/// Checks settings first, so that one that the server does not accept is reported before hours of loading.
fn try_settings(server: &Server, workload: &Work, schema: &str, ours: bool) -> Result<(), EngineError> {
    let mut client = server.connect("threadwise settings")?;
    let workers = settings::Workers::of(workload.options.dop.unwrap_or(1), 1, false);
    settings::settle(
        &mut client,
        &settings::session_settings(&workload.options, schema, workers, ours),
        &workload.options,
    )?;
    settings::settle_jit(&mut client, workload.options.jit, ours).map(drop)
}

fn notes(workload: &Work, server: &Server, ours: bool) -> Vec<String> {
    let mut notes = vec![
        "tables with the specification's columns, primary keys and an index for each foreign key, without \
         foreign key constraints; statistics by VACUUM (FREEZE, ANALYZE) after loading"
            .to_owned(),
    ];
    if workload.options.cluster == Cluster::ShipDate {
        notes
            .push(format!("lineitem lies in the order of its unique index on {}", SHIPDATE_ORDER.join(", ")));
    }
    if ours && server.version_num() < 140_000 {
        notes.push(
            "PostgreSQL before 14: hash tables that workers share lie in files of the data directory, which the \
             kernel may write out"
                .to_owned(),
        );
    }
    notes
}

/// Drops what an interrupted load left, and makes the schema if it is the data's own.
fn clear(control: &mut Client, schema: &str, ours: bool) -> Result<(), EngineError> {
    let sql = match ours {
        true => format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}"),
        false => TABLES.iter().fold(String::new(), |mut sql, table| {
            // Writing to a String cannot fail.
            let _ = write!(sql, "DROP TABLE IF EXISTS {schema}.{};", table.name);
            sql
        }),
    };
    execute(control, "drop what an earlier load left", &sql)
}

/// Creates the extension `pg_prewarm` if it is installed: it is one of the server's contributed modules.
fn with_prewarm(control: &mut Client, server: &Server) -> Result<(), EngineError> {
    let action = "look for pg_prewarm";
    let sql = "SELECT count(*) > 0 FROM pg_available_extensions WHERE name = 'pg_prewarm'";
    let row = control.query_one(sql, &[]);
    let available: bool = row.and_then(|row| row.try_get(0)).map_err(|cause| query(action, &cause))?;
    match available {
        true => {
            let sql = format!("CREATE EXTENSION IF NOT EXISTS pg_prewarm SCHEMA {}", server.schema());
            execute(control, "create the extension pg_prewarm", &sql)
        }
        false => Ok(()),
    }
}

fn type_of(kind: Kind) -> String {
    match kind {
        Kind::Identifier => "bigint".into(),
        Kind::Integer => "integer".into(),
        Kind::Decimal => "numeric(15,2)".into(),
        Kind::Date => "date".into(),
        Kind::Char(length) => format!("char({length})"),
        Kind::Varchar(length) => format!("varchar({length})"),
    }
}

/// Makes a table and fills it in one transaction, which is committed only if the generator has ended without an error
/// and all rows have arrived. Gives their number.
fn fill(
    control: &mut Client,
    generator: &Generator,
    schema: &str,
    table: &Table,
) -> Result<u64, EngineError> {
    let name = format!("{schema}.{}", table.name);
    let action = format!("load table {name}");
    let fail = |cause: postgres::Error| query(action.as_str(), &cause);
    let columns: Vec<String> =
        table.columns.iter().map(|(column, kind)| format!("{column} {} NOT NULL", type_of(*kind))).collect();
    let mut transaction = control.transaction().map_err(fail)?;
    transaction.batch_execute(&format!("CREATE TABLE {name} ({})", columns.join(", "))).map_err(fail)?;
    let (copied, sent) = generator.table(table, |text| {
        // Frozen at once: no other session can see the table before it is complete.
        let sql = format!("COPY {name} FROM STDIN WITH (FORMAT csv, HEADER, FREEZE)");
        let mut into = transaction.copy_in(&sql).map_err(fail)?;
        let lines = pour(text, &mut into).map_err(|cause| stopped(&action, &cause))?;
        Ok((into.finish().map_err(fail)?, lines.saturating_sub(1)))
    })?;
    if copied != sent {
        return Err(failed(action, format!("{copied} rows of {sent} arrived")));
    }
    if !table.may_have(copied, generator.scale()) {
        let wanted =
            table.rows(generator.scale()).map_or("1 to 7 for each order".to_owned(), |rows| rows.to_string());
        return Err(failed(action, format!("the generator gave {copied} rows instead of {wanted}")));
    }
    transaction.commit().map_err(fail)?;
    Ok(copied)
}

/// Copies text and counts its lines; values in TPC-H text contain no line breaks.
fn pour(from: &mut impl BufRead, into: &mut impl io::Write) -> io::Result<u64> {
    let mut lines = 0;
    loop {
        let part = from.fill_buf()?;
        if part.is_empty() {
            return Ok(lines);
        }
        lines += part.iter().filter(|&&byte| byte == b'\n').count() as u64;
        into.write_all(part)?;
        let length = part.len();
        from.consume(length);
    }
}

/// The server's message, from inside an I/O error.
fn stopped(action: &str, cause: &io::Error) -> EngineError {
    let inner = cause.get_ref().and_then(|inner| inner.downcast_ref::<postgres::Error>());
    match inner {
        Some(inner) => query(action, inner),
        None => failed(action, cause.source().map_or_else(|| cause.to_string(), ToString::to_string)),
    }
}

fn index(control: &mut Client, schema: &str, workload: &Work) -> Result<(), EngineError> {
    for table in &TABLES {
        let name = format!("{schema}.{}", table.name);
        if table.name == "lineitem" && workload.options.cluster == Cluster::ShipDate {
            let sql = format!(
                "CREATE UNIQUE INDEX {SHIPDATE_INDEX} ON {name} ({}); CLUSTER {name} USING {SHIPDATE_INDEX}",
                SHIPDATE_ORDER.join(", ")
            );
            execute(control, &format!("order table {name}"), &sql)?;
        }
        let mut sql = format!("ALTER TABLE {name} ADD PRIMARY KEY ({});", table.key.join(", "));
        for columns in table.indexes {
            // Writing to a String cannot fail.
            let _ = write!(sql, "CREATE INDEX ON {name} ({});", columns.join(", "));
        }
        execute(control, &format!("create the indexes of table {name}"), &sql)?;
    }
    Ok(())
}

/// Updates statistics, and writes everything to the disk, so that nothing is written while queries are measured.
fn settle_down(control: &mut Client, schema: &str, ours: bool) -> Result<(), EngineError> {
    for table in &TABLES {
        let name = format!("{schema}.{}", table.name);
        execute(control, &format!("analyze table {name}"), &format!("VACUUM (FREEZE, ANALYZE) {name}"))?;
    }
    match ours {
        true => execute(control, "write the data to the disk", "CHECKPOINT"),
        false => Ok(()),
    }
}

fn bytes(control: &mut Client, schema: &str) -> Result<u64, EngineError> {
    let sql = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class \
               WHERE relnamespace = $1::text::regnamespace AND relname::text = ANY($2)";
    let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    let row = control.query_one(sql, &[&schema, &names]);
    let bytes: i64 = row.and_then(|row| row.try_get(0)).map_err(|cause| query("measure the data", &cause))?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_they_are_poured() {
        let mut into = Vec::new();
        let lines = pour(&mut "a\nb\nc\n".as_bytes(), &mut into).unwrap();
        assert_eq!((lines, into.as_slice()), (3, "a\nb\nc\n".as_bytes()));
    }

    #[test]
    fn what_the_operating_system_says_stands_alone() {
        let message = stopped("load table x", &io::Error::other("no room")).to_string();
        assert_eq!(message, "postgres could not load table x: no room");
    }
}
