//! Options of the workloads `insert` and `log-buffer` on this engine.

use threadwise_study::{Options, Workload};

use super::locks::LockKind;
use super::table::Index;
use crate::workloads::insert::{Insert, Table};
use crate::workloads::options::{flag, no_loop, no_workload, only, refuse, whole, word};
use crate::{EngineError, LoadRequest};

/// Workloads of this engine.
pub const WORKLOADS: [Workload; 4] =
    [Workload::Insert, Workload::LogBuffer, Workload::Index, Workload::Kernels];

/// Options of `insert` that only this engine has.
const INSERT_OPTIONS: [&str; 5] = ["index", "buckets", "stripes", "log", "log_buffer_kib"];

const LOG_BUFFER_OPTIONS: [&str; 5] = ["log", "record_bytes", "records_per_step", "log_buffer_kib", "writer"];

/// Buckets of the index: chains of about one row at the default number of rows.
const BUCKETS: u64 = 1 << 18;

const MOST_BUCKETS: u64 = 1 << 30;

const STRIPES: u64 = 16;

const MOST_STRIPES: u64 = 1 << 16;

/// Size of the ring. Half of it, at which the writer is woken, is some 10 ms of one session's records.
const RING_KIB: u64 = 8192;

/// The ring holds at least two records of the longest kind.
const LEAST_RING_KIB: u64 = 256;

const MOST_RING_KIB: u64 = 1 << 20;

/// Most bytes of a record of `log-buffer`: a row of the longest kind that common databases allow.
const MOST_RECORD_BYTES: u64 = 1 << 16;

/// Options of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOptions {
    /// How room is reserved.
    pub reserve: LockKind,
    /// Size of the ring, bytes.
    pub ring_bytes: usize,
}

/// Options of `insert` on this engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InsertSpec {
    /// Options on every engine.
    pub insert: Insert,
    /// How chains are protected.
    pub index: Index,
    /// Number of chains.
    pub buckets: usize,
    /// The log; `None` for `table=unlogged`.
    pub log: Option<LogOptions>,
}

/// Options of `log-buffer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogBufferSpec {
    /// The log.
    pub log: LogOptions,
    /// Bytes of a record's content.
    pub record_bytes: usize,
    /// Records of one step.
    pub records_per_step: u64,
    /// Whether a log writer drains the buffer.
    pub writer: bool,
}

/// A workload and its options, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spec {
    /// Sessions insert.
    Insert(InsertSpec),
    /// Sessions append to the log.
    LogBuffer(LogBufferSpec),
}

/// Checks what is common to all workloads.
///
/// # Errors
/// The first option that is unknown or impossible.
pub fn common(request: &LoadRequest) -> Result<(), EngineError> {
    if let Some(name) = request.engine_options.keys().next() {
        return Err(refuse(name, "native has no engine options: leave it out".into()));
    }
    if !(1..=u32::from(u16::MAX)).contains(&request.sessions) {
        let why = format!("{} sessions; native takes 1 to {}", request.sessions, u16::MAX);
        return Err(refuse("sessions", why));
    }
    no_loop(&request.options, "native")
}

/// Checks a whole request of `insert` or `log-buffer`.
///
/// # Errors
/// The first option that is unknown or impossible.
pub fn parse(request: &LoadRequest) -> Result<Spec, EngineError> {
    common(request)?;
    match &request.workload {
        Workload::Insert => insert_spec(&request.options).map(Spec::Insert),
        Workload::LogBuffer => log_buffer_spec(&request.options).map(Spec::LogBuffer),
        other => Err(no_workload("native", other, &WORKLOADS)),
    }
}

fn insert_spec(options: &Options) -> Result<InsertSpec, EngineError> {
    let insert = Insert::parse(options, &INSERT_OPTIONS)?;
    let stripes = power_of_two(options, "stripes", STRIPES, MOST_STRIPES)?;
    let index = match word(options, "index", &["lock-free", "locked"])? {
        0 if options.contains_key("stripes") => {
            return Err(refuse("stripes", "it needs index=locked, whose number of mutexes it is".into()));
        }
        0 => Index::LockFree,
        _ => Index::Locked(stripes),
    };
    let log = log_options(options)?;
    Ok(InsertSpec {
        insert,
        index,
        buckets: power_of_two(options, "buckets", BUCKETS, MOST_BUCKETS)?,
        log: (insert.table == Table::Durable).then_some(log),
    })
}

fn log_buffer_spec(options: &Options) -> Result<LogBufferSpec, EngineError> {
    only(options, Workload::LogBuffer, &LOG_BUFFER_OPTIONS)?;
    Ok(LogBufferSpec {
        log: log_options(options)?,
        record_bytes: whole(options, "record_bytes", 8, MOST_RECORD_BYTES)?.unwrap_or(200) as usize,
        records_per_step: whole(options, "records_per_step", 1, 100_000)?.unwrap_or(16),
        writer: !options.contains_key("writer") || flag(options, "writer")?,
    })
}

fn log_options(options: &Options) -> Result<LogOptions, EngineError> {
    let reserve = LockKind::ALL[word(options, "log", &LockKind::WORDS)?];
    let kib = power_of_two(options, "log_buffer_kib", RING_KIB, MOST_RING_KIB)?;
    if (kib as u64) < LEAST_RING_KIB {
        return Err(refuse("log_buffer_kib", format!("{kib} is less than {LEAST_RING_KIB}")));
    }
    Ok(LogOptions { reserve, ring_bytes: kib << 10 })
}

fn power_of_two(options: &Options, name: &str, usual: u64, most: u64) -> Result<usize, EngineError> {
    let value = whole(options, name, 1, most)?.unwrap_or(usual);
    match value.is_power_of_two() {
        true => Ok(value as usize),
        false => {
            let (below, above) = (value.next_power_of_two() / 2, value.next_power_of_two());
            Err(refuse(name, format!("{value} is not a power of two; near it are {below} and {above}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use threadwise_study::OptionValue;

    fn request(workload: &str, options: &[(&str, OptionValue)]) -> LoadRequest {
        LoadRequest {
            workload: workload.into(),
            options: options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            engine_options: Options::new(),
            data_dir: PathBuf::new(),
            treatment: "x".into(),
            sessions: 2,
            seed: 1,
        }
    }

    fn text(value: &str) -> OptionValue {
        OptionValue::Text(value.to_owned())
    }

    #[test]
    fn absent_options_have_their_defaults() {
        let Ok(Spec::Insert(spec)) = parse(&request("insert", &[])) else { panic!("no insert") };
        assert_eq!((spec.index, spec.buckets), (Index::LockFree, 1 << 18));
        assert_eq!(spec.log, Some(LogOptions { reserve: LockKind::Spin, ring_bytes: 8 << 20 }));
        let Ok(Spec::LogBuffer(spec)) = parse(&request("log-buffer", &[])) else { panic!("no log-buffer") };
        assert_eq!((spec.record_bytes, spec.records_per_step, spec.writer), (200, 16, true));
    }

    #[test]
    fn given_options_are_taken() {
        let options = [("index", text("locked")), ("stripes", OptionValue::Integer(4)), ("log", text("mcs"))];
        let Ok(Spec::Insert(spec)) = parse(&request("insert", &options)) else { panic!("no insert") };
        assert_eq!((spec.index, spec.log.unwrap().reserve), (Index::Locked(4), LockKind::Mcs));
        let Ok(Spec::Insert(spec)) = parse(&request("insert", &[("table", text("unlogged"))])) else {
            panic!("no insert")
        };
        assert_eq!(spec.log, None);
        let options = [("writer", OptionValue::Flag(false)), ("log", text("lock-free"))];
        let Ok(Spec::LogBuffer(spec)) = parse(&request("log-buffer", &options)) else { panic!("none") };
        assert_eq!((spec.writer, spec.log.reserve), (false, LockKind::LockFree));
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let whole = OptionValue::Integer;
        let cases = [
            ("insert", "buckets", whole(1000), "near it are 512 and 1024"),
            ("insert", "index", text("btree"), "lock-free, locked"),
            ("insert", "stripes", whole(16), "index=locked"),
            ("insert", "log", text("futex"), "spin, mcs, lock-free"),
            ("insert", "loop", text("client"), "inside the worker"),
            ("insert", "record_bytes", whole(8), "allowed: key,"),
            ("log-buffer", "log_buffer_kib", whole(64), "less than 256"),
            ("log-buffer", "record_bytes", whole(4), "from 8 to 65536"),
            ("log-buffer", "writer", text("no"), "neither true nor false"),
            ("log-buffer", "seed_rows", whole(8), "allowed: log,"),
            ("logical-io", "workload", whole(8), "it has: insert, log-buffer, index"),
        ];
        for (workload, name, value, part) in cases {
            let message = parse(&request(workload, &[(name, value)])).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(part), "{message}");
        }
        let mut bad = request("insert", &[]);
        bad.engine_options.insert("dir".into(), text("/"));
        assert!(parse(&bad).unwrap_err().to_string().contains("no engine options"));
        bad = request("insert", &[]);
        bad.sessions = 0;
        assert!(parse(&bad).unwrap_err().to_string().contains("1 to 65535"));
    }
}
