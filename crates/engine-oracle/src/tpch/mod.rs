//! `tpch` on Oracle: parallel execution within a session, on tables in the account's schema that all treatments share.
//!
//! Queries get the prefix of the tables, and the degree of parallelism as a hint. Adaptive plans and adaptive statistics
//! are off in the sessions, since a plan must not change while it is executed, nor by having been executed (SQL Tuning
//! Guide 19c, "Query Optimizer Concepts").

mod plan;
mod stream;

use std::io::BufRead;
use std::sync::Arc;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::tpch::tables::{Kind, Table};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_engine_sql::tpch::{self as sql_tpch, QueryDriver, Setup, TpchSql};
use threadwise_engine_sql::{Connection, Opened, Template, fill};
use threadwise_study::OptionValue;
use threadwise_tpch::options::{Cache, TpchOptions};

use crate::connection::OracleConnection;
use crate::driver::Database;
use crate::error::failed;
use crate::observe::OracleObserver;
use crate::proxy::Sent;
use stream::OracleStream;

/// Bytes of tables and indexes at scale factor 1, estimated and not measured.
pub(crate) const BYTES_PER_SCALE: u64 = 1_750_000_000;

/// Rows of one call of the load, and of one transaction.
const BATCH: usize = 5000;

/// Longest value of a setting, bytes.
const LONGEST: usize = 200;

/// Options that Oracle does not follow.
const UNFOLLOWED: [(&str, &str); 7] = [
    ("storage", "Oracle keeps tables in its own files; leave it out"),
    ("batch_rows", "Oracle chooses how many rows it passes on at once; leave it out"),
    (
        "memory_limit_mb",
        "the instance's PGA_AGGREGATE_TARGET limits all sessions, and none alone; leave it out",
    ),
    ("spill_dir", "Oracle spills into its temporary tablespace; leave it out"),
    ("spill_limit_mb", "the size of the temporary tablespace is the limit; leave it out"),
    ("jit", "it has no such setting; leave it out"),
    ("hold_plan", "it has no such setting; leave it out"),
];

/// Settings of a session that have an option of their own, or that answers and measurements depend on.
const RESERVED: [(&str, &str); 7] = [
    ("current_schema", "names of tables rest on it"),
    ("time_zone", "the clock rests on it"),
    ("result_cache_mode", "answers that are kept would be measured"),
    ("optimizer_adaptive_plans", "plans would change while they are executed"),
    ("optimizer_adaptive_statistics", "an execution would change the plan of the next one"),
    ("parallel_degree_policy", "use the option dop"),
    ("nls_", "the text of answers depends on it"),
];

const SQL: TpchSql = TpchSql {
    order: include_str!("../sql/tpch_order.sql"),
    key: include_str!("../sql/tpch_key.sql"),
    index: include_str!("../sql/tpch_index.sql"),
    statistics: include_str!("../sql/blocks_settle.sql"),
    bytes: include_str!("../sql/tpch_bytes.sql"),
    read: include_str!("../sql/tpch_read.sql"),
    short: include_str!("../sql/tpch_short.sql"),
    note: "statistics by DBMS_STATS after loading",
};

/// Reads and checks the options.
///
/// # Errors
/// The first option that is unknown, impossible, or not followed.
pub(crate) fn parse(load: &LoadRequest) -> Result<TpchOptions, EngineError> {
    let options = sql_tpch::parse(&load.options, &UNFOLLOWED, "the buffer cache would be emptied")?;
    if options.cache == Cache::Cold {
        let why = "'cold' would empty the buffer cache of a server that others use; use warm";
        return Err(refuse("cache", why.into()));
    }
    for (name, value) in &options.settings {
        let (option, lower) = (format!("settings.{name}"), name.to_ascii_lowercase());
        let is_reserved =
            |(one, _): &&(&str, &str)| lower == *one || one.ends_with('_') && lower.starts_with(one);
        if let Some((_, why)) = RESERVED.iter().find(is_reserved) {
            return Err(refuse(&option, (*why).to_owned()));
        }
        setting(name, value).map_err(|why| refuse(&option, why.to_owned()))?;
    }
    Ok(options)
}

/// A setting's value as it stands in ALTER SESSION SET.
fn setting(name: &str, value: &OptionValue) -> Result<String, &'static str> {
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name(name) || !name.starts_with(|first: char| first.is_ascii_alphabetic()) || name.len() > 80 {
        return Err("that is not the name of a parameter");
    }
    let text = match value {
        OptionValue::Flag(flag) => return Ok(flag.to_string().to_uppercase()),
        OptionValue::Text(text) => text,
        number => return Ok(number.to_string()),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.,:+ -".contains(&byte);
    match text.bytes().all(plain) && (1..=LONGEST).contains(&text.len()) {
        true if is_name(text) => Ok(text.clone()),
        true => Ok(format!("'{text}'")),
        false => Err("its value has characters other than letters, digits, blanks and _.,:+-"),
    }
}

/// Sets the user's settings; errors name the option.
fn settle(connection: &mut OracleConnection, setup: &Setup) -> Result<(), EngineError> {
    let old = connection.version.starts_with("12.1.");
    let adaptive =
        if old { include_str!("../sql/adaptive_12_1.sql") } else { include_str!("../sql/adaptive.sql") };
    connection.run("turn off adaptive plans", adaptive)?;
    for (name, value) in &setup.options.settings {
        let option = format!("settings.{name}");
        let value = setting(name, value).map_err(|why| refuse(&option, why.to_owned()))?;
        let sql = fill(include_str!("../sql/session_set.sql"), &[("name", name), ("value", &value)]);
        let done = connection.attempt(&sql, &[]);
        done.map_err(|cause| refuse(&option, format!("the server refuses it: {}", cause.advice())))?;
    }
    Ok(())
}

impl QueryDriver for Database {
    type Stream = OracleStream;

    fn tpch_sql(&self) -> &'static TpchSql {
        &SQL
    }

    /// Lengths of texts are in characters.
    fn type_of(&self, kind: Kind) -> String {
        match kind {
            Kind::Identifier => "NUMBER(19)".to_owned(),
            Kind::Integer => "NUMBER(10)".to_owned(),
            Kind::Decimal => "NUMBER(15,2)".to_owned(),
            Kind::Date => "DATE".to_owned(),
            Kind::Char(length) => format!("CHAR({length} CHAR)"),
            Kind::Varchar(length) => format!("VARCHAR2({length} CHAR)"),
        }
    }

    fn try_settings(&self, setup: &Setup) -> Result<(), EngineError> {
        settle(&mut self.open_session(setup.sessions)?.connection, setup)
    }

    /// Values are sent as text, which the session's settings let the server read as numbers and days.
    fn fill_table(
        &self,
        control: &mut OracleConnection,
        table: &Table,
        name: &str,
        create: &str,
        text: &mut dyn BufRead,
    ) -> Result<u64, EngineError> {
        let action = format!("load table {name}");
        control.run(&action, &fill(include_str!("../sql/tpch_create.sql"), &[("create", create)]))?;
        let columns: Vec<&str> = table.columns.iter().map(|(column, _)| *column).collect();
        let values: Vec<String> = (1..=columns.len()).map(|at| format!(":p{at}")).collect();
        let sql = Template::default().with("table", name).with("columns", columns.join(", "));
        let sql = sql.with("values", values.join(", ")).fill(include_str!("../sql/tpch_fill.sql"));
        let mut reader = csv::Reader::from_reader(text);
        let head = reader.headers().map_err(|cause| failed(&action, cause))?;
        // Without a head there is no text: the generator's own error says why.
        if !head.is_empty() && *head != columns[..] {
            let found = head.iter().collect::<Vec<_>>().join(",");
            return Err(failed(action, format!("the generator's columns are {found}")));
        }
        let (mut sent, mut lines) = (0, reader.into_records());
        loop {
            let batch = lines.by_ref().take(BATCH).collect::<Result<Vec<_>, _>>();
            let batch = batch.map_err(|cause| failed(&action, cause))?;
            if batch.is_empty() {
                return Ok(sent);
            }
            let rows: Vec<Vec<Sent<'_>>> =
                batch.iter().map(|line| line.iter().map(Sent::Text).collect()).collect();
            control.insert(&action, &sql, rows)?;
            sent += batch.len() as u64;
        }
    }

    fn observe_queries(
        &self,
        control: &mut OracleConnection,
        _: &Setup,
    ) -> Result<(OracleObserver, Vec<String>), EngineError> {
        let (observer, mut notes) = self.observer(control, false)?;
        notes.push(
            "plans are in the library cache from the warm-up on, so planning is not separated; adaptive plans and \
             adaptive statistics are off"
                .to_owned(),
        );
        Ok((observer, notes))
    }

    fn open_stream(&self, setup: &Arc<Setup>, number: u32) -> Result<Opened<OracleStream>, EngineError> {
        let mut opened = self.open_session(number)?;
        settle(&mut opened.connection, setup)?;
        let parallel = match setup.dop {
            1 => include_str!("../sql/session_serial.sql"),
            _ => include_str!("../sql/session_parallel.sql"),
        };
        opened.connection.run("choose parallel execution", parallel)?;
        Ok(OracleStream::new(opened, setup, number))
    }

    fn open_short(&self, _: &Setup, number: u32) -> Result<Opened<OracleConnection>, EngineError> {
        let mut opened = self.open_session(number)?;
        opened.connection.run("choose serial execution", include_str!("../sql/session_serial.sql"))?;
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::{Options, Workload};

    #[test]
    fn what_oracle_cannot_follow_is_refused_by_name() {
        let word = |text: &str| OptionValue::Text(text.into());
        let parse = |name: &str, value: OptionValue| {
            parse(&LoadRequest {
                workload: Workload::Tpch,
                options: Options::from([(name.to_owned(), value)]),
                engine_options: Options::new(),
                data_dir: "/".into(),
                treatment: "t".into(),
                sessions: 1,
                seed: 1,
            })
        };
        for (option, value, part) in [
            ("storage", word("memory"), "own files"),
            ("memory_limit_mb", OptionValue::Integer(100), "PGA"),
            ("cache", word("cold"), "buffer cache"),
            ("settings.nls_sort", word("x"), "text of answers"),
            ("settings.Time_Zone", word("x"), "clock"),
            ("settings.a", word("x'; --"), "characters"),
            ("settings.a.b", word("x"), "name of a parameter"),
        ] {
            let message = parse(option, value).unwrap_err().to_string();
            assert!(message.contains(&format!("option '{option}'")) && message.contains(part), "{message}");
        }
        parse("settings.optimizer_mode", word("ALL_ROWS")).unwrap();
        assert_eq!(setting("a", &word("x y")), Ok("'x y'".to_owned()));
        assert_eq!(setting("a", &OptionValue::Flag(true)), Ok("TRUE".to_owned()));
    }
}
