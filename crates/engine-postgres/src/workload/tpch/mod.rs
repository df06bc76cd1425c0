//! `tpch` on PostgreSQL: parallel query on one server that all treatments share, since a copy of the data for each
//! would take gigabytes, and no run changes it.
//!
//! The requested degree of parallelism counts parallel workers and their leader. The postmaster starts workers for
//! every query, so they inherit *its* logical CPUs: see `running`. A query is prepared and planned first and
//! executed from that plan, see `session`.

mod cpu;
mod load;
mod plan;
mod reads;
mod session;
mod settings;
mod short;

use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::tpch::tables::TABLES;
use threadwise_engine::workloads::tpch::{read, refuse_given};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_study::tpch::Test;
use threadwise_tpch::options::{Cache, TpchOptions};

use crate::Server;
pub(super) use cpu::ServerCpu;
pub(super) use load::{load, must_be_whole};
pub(super) use reads::Reads;
pub(crate) use session::QuerySession;
pub(super) use session::Stream;
pub(super) use settings::{hold_tables, server_settings};
pub(super) use short::ShortSession;

/// Parses an answer of `EXPLAIN (FORMAT JSON)`: the canonical plan, the planning time in nanoseconds, and the workers
/// that its largest Gather requests. For tests of the reader; sessions read their own plans.
///
/// # Errors
/// It is not output of EXPLAIN; one line.
pub fn canonical_plan(json: &str) -> Result<(String, u64, u32), String> {
    plan::read(json).map(|plan| (plan.text, plan.planning_ns, plan.workers_planned))
}

/// Bytes of tables and indexes at scale factor 1: 1.83 GB were measured at 0.1 and at 1.
const BYTES_PER_SCALE: f64 = 1.85e9;

/// Limit of `max_parallel_workers_per_gather`, plus the leader.
const MAX_DOP: u32 = 1025;

/// Options that PostgreSQL does not support, and why.
const UNFOLLOWED: [(&str, &str); 4] = [
    ("storage", "PostgreSQL keeps tables in its own files; leave it out"),
    ("batch_rows", "PostgreSQL works row by row; leave it out"),
    (
        "memory_limit_mb",
        "PostgreSQL has no limit for a query, only one for each of its sorts and hash tables: settings.work_mem",
    ),
    ("spill_dir", "PostgreSQL spills into its data directory; spill_limit_mb bounds that"),
];

/// The workload with its options.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    pub(super) options: TpchOptions,
}

impl Work {
    /// Reads and checks the options.
    ///
    /// # Errors
    /// The first option that is unknown, impossible, or not supported by PostgreSQL.
    pub(super) fn parse(load: &LoadRequest) -> Result<Self, EngineError> {
        let options = read(&load.options)?;
        refuse_given(&load.options, &UNFOLLOWED)?;
        if options.cache == Cache::Cold && options.test == Test::Throughput {
            let why = "'cold' is for test=power: PostgreSQL's own cache is emptied by a restart before every query, \
                       which would stop the other streams' queries; use cache=warm";
            return Err(refuse("cache", why.into()));
        }
        if options.dop.is_some_and(|dop| dop > MAX_DOP) {
            let why =
                format!("PostgreSQL allows at most {MAX_DOP}: 1024 workers for a Gather, and the leader");
            return Err(refuse("dop", why));
        }
        settings::check(&options)?;
        Ok(Self { options })
    }

    /// Whether every query must find nothing in a cache.
    pub(super) fn is_cold(&self) -> bool {
        self.options.cache == Cache::Cold
    }

    /// How many of a treatment's sessions are streams; the short-query sessions follow them.
    pub(super) fn streams(&self, sessions: u32) -> u32 {
        sessions.saturating_sub(self.options.short)
    }

    /// Bytes of tables and indexes, about.
    pub(super) fn data_bytes(&self) -> u64 {
        (self.options.scale * BYTES_PER_SCALE) as u64
    }

    /// Tables that are made in a schema that others may use.
    pub(super) fn tables(&self) -> Vec<String> {
        TABLES.iter().map(|table| table.name.to_owned()).collect()
    }

    /// The schema of the data in a private server, where each data set has its own.
    pub(super) fn suffix(&self) -> String {
        let name = self.options.key().folder_name();
        let plain =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
        format!("tpch_{}", plain.collect::<String>())
    }
}

/// The schema with the tables: the data's own in a private server, threadwise's common one in the user's, which then
/// holds one data set at a time.
pub(super) fn schema<'a>(server: &'a Server, suffix: &'a str) -> &'a str {
    if suffix.is_empty() { server.schema() } else { suffix }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::OptionValue;

    fn parse(pairs: &[(&str, OptionValue)]) -> Result<Work, EngineError> {
        Work::parse(&LoadRequest {
            workload: "tpch".into(),
            options: pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            engine_options: threadwise_study::Options::new(),
            data_dir: "/".into(),
            treatment: "t".into(),
            sessions: 1,
            seed: 1,
        })
    }

    fn word(text: &str) -> OptionValue {
        OptionValue::Text(text.into())
    }

    #[test]
    fn what_postgres_cannot_follow_is_refused_by_name() {
        for (option, value, part) in [
            ("storage", word("memory"), "own files"),
            ("batch_rows", OptionValue::Integer(1024), "row by row"),
            ("memory_limit_mb", OptionValue::Integer(100), "work_mem"),
            ("spill_dir", word("/tmp"), "spill_limit_mb"),
            ("dop", OptionValue::Integer(1026), "1025"),
            ("settings.archive_library", word("x"), "other code"),
            ("settings.max_parallel_workers_per_gather", OptionValue::Integer(3), "dop"),
            ("settings.role", word("x"), "threadwise sets"),
            ("scale", OptionValue::Integer(0), "is allowed"),
        ] {
            let message = parse(&[(option, value)]).unwrap_err().to_string();
            assert!(message.contains(&format!("option '{option}'")) && message.contains(part), "{message}");
        }
        let cold = [("cache", word("cold")), ("test", word("throughput"))];
        let message = parse(&cold).unwrap_err().to_string();
        assert!(message.contains("option 'cache'") && message.contains("restart"), "{message}");
        assert!(parse(&cold[..1]).unwrap().is_cold() && !parse(&[]).unwrap().is_cold());
        parse(&[("cache", word("warm")), ("settings.enable_hashjoin", OptionValue::Flag(false))]).unwrap();
    }

    #[test]
    fn short_sessions_stand_behind_the_streams() {
        let short = [("test", word("throughput")), ("short", OptionValue::Integer(2))];
        assert_eq!((parse(&short).unwrap().streams(5), parse(&[]).unwrap().streams(1)), (3, 1));
    }

    #[test]
    fn each_data_set_has_a_name_that_is_an_identifier() {
        let name = |pairs: &[(&str, OptionValue)]| parse(pairs).unwrap().suffix();
        assert_eq!(name(&[]), "tpch_sf1");
        let other = [("scale", OptionValue::Number(0.01)), ("cluster", word("shipdate"))];
        assert_eq!(name(&other), "tpch_sf0_01_shipdate");
        assert_eq!(parse(&other).unwrap().data_bytes(), 18_500_000);
    }
}
