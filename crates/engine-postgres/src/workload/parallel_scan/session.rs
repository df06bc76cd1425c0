//! The session of `parallel-scan`: the leader's connection, one scan a step.

use postgres::types::ToSql;
use postgres::{Client, Statement};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use threadwise_engine::worker::{StepResult, fixed_work, step_loop};
use threadwise_engine::workloads::parallel_scan::{ParallelScan, term_sql};
use threadwise_engine::{EngineError, Session, SessionRequest, Window, clock};
use threadwise_engine_sql::clock::ServerClock;
use threadwise_engine_sql::{Call, Usage, fill};
use threadwise_study::SessionSlice;

use super::TABLE;
use super::processes::{Process, Scan};
use crate::Server;
use crate::backend::{backend_pid, flush_statistics, lock};
use crate::error::{failed, query};
use crate::workload::cpu::ServerCpu;

/// Scans before the first slice: the first brings the table into the buffer pool, the second finds it there.
const WARM_SCANS: u32 = 2;

/// What the session and its treatment know of each other.
pub(super) struct Shared {
    /// The server's clock.
    pub clock: Mutex<ServerClock>,
    /// Scans of the slice.
    pub scans: Mutex<Vec<Scan>>,
    /// Process of the leader; 0 before the session is open.
    pub leader: AtomicU32,
    /// Process of the leader while it works for a slice, else 0.
    pub at_work: AtomicU32,
}

/// Marks the session as done with a slice when it is dropped.
struct Resting<'a>(&'a Shared);

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        self.0.at_work.store(0, Ordering::Relaxed);
    }
}

/// The connection and its scan.
pub(super) struct ScanSession {
    client: Client,
    statement: Statement,
    scan: ParallelScan,
    leader: u32,
    version_num: u32,
    /// Where CPU time can be read.
    cpu: Option<ServerCpu>,
    shared: Arc<Shared>,
}

impl ScanSession {
    /// Connects, sets the parameters of planning, and checks the plan.
    ///
    /// # Errors
    /// An error of the server, or a plan with another number of workers than requested.
    pub(super) fn open(
        server: &Server,
        request: &SessionRequest,
        scan: ParallelScan,
        schema: &str,
        dop: u32,
        shared: Arc<Shared>,
    ) -> Result<Self, EngineError> {
        let mut client = server.connect(&format!("threadwise session {}", request.session))?;
        let workers = dop.saturating_sub(1);
        settle(&mut client, workers)?;
        let sql =
            fill(include_str!("scan.sql"), &[("schema", schema), ("table", TABLE), ("term", &term_sql())]);
        expect_workers(&mut client, &sql, workers)?;
        let leader = backend_pid(&mut client)?;
        shared.leader.store(leader, Ordering::Relaxed);
        let statement = client.prepare(&sql).map_err(|cause| query("prepare a statement", &cause))?;
        let (version_num, cpu) = (server.version_num(), ServerCpu::of_server(server, dop > 1));
        Ok(Self { client, statement, scan, leader, version_num, cpu, shared })
    }

    fn used(&self) -> Usage {
        let used = Usage::of_thread(Some((self.leader, self.leader)));
        let cpu_ns = self.cpu.and_then(|cpu| cpu.read_ns(&[self.leader]));
        Usage { cpu_ns: cpu_ns.unwrap_or(used.cpu_ns), ..used }
    }
}

/// A time of the server on CLOCK_MONOTONIC.
fn monotonic_ns(clock: ServerClock, time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    clock.monotonic_ns_of(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// One scan: its result and its processes.
fn scan(
    client: &mut Client,
    statement: &Statement,
    shared: &Shared,
    leader: u32,
) -> Result<(Scan, u64, u64), EngineError> {
    let fail = |cause: postgres::Error| query("scan the table", &cause);
    let nothing: [&(dyn ToSql + Sync); 0] = [];
    let answer = client.query(statement, &nothing).map_err(fail)?;
    let server_clock = *lock(&shared.clock);
    let (mut processes, mut rows, mut sum) = (Vec::new(), 0_u64, 0_u64);
    for row in &answer {
        let (pid, count): (i32, i64) = (row.try_get(0).map_err(fail)?, row.try_get(1).map_err(fail)?);
        let part: i64 = row.try_get(2).map_err(fail)?;
        let times: [Option<SystemTime>; 2] = [row.try_get(3).map_err(fail)?, row.try_get(4).map_err(fail)?];
        let at_ns = times.map(|time| time.map_or(0, |time| monotonic_ns(server_clock, time)));
        rows += count.unsigned_abs();
        sum += part.unsigned_abs();
        let pid =
            u32::try_from(pid).map_err(|cause| failed("read the processes that scanned the table", cause))?;
        processes.push(Process { pid, rows: count.unsigned_abs(), start_ns: at_ns[0], end_ns: at_ns[1] });
    }
    // Workers are started in the order of their numbers, except where process numbers wrap around.
    processes.sort_by_key(|process| (process.pid != leader, process.pid));
    Ok((Scan(processes), rows, sum))
}

impl Session for ScanSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        for _ in 0..WARM_SCANS {
            let (_, rows, sum) = scan(&mut self.client, &self.statement, &self.shared, self.leader)?;
            let wanted = (self.scan.rows, self.scan.sum());
            if (rows, sum) != wanted {
                let why = format!("{rows} rows with the sum {sum} instead of {} with {}", wanted.0, wanted.1);
                return Err(EngineError::WrongAnswer(why));
            }
        }
        flush_statistics(&mut self.client, self.version_num)
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let shared = Arc::clone(&self.shared);
        let _resting = Resting(&shared);
        let (client_ns, before) = (clock::thread_cpu_ns(), self.used());
        let (wanted, leader) = ((self.scan.rows, self.scan.sum()), self.leader);
        let Self { client, statement, .. } = self;
        let step = || {
            let (scan, rows, sum) = scan(client, statement, &shared, leader)?;
            lock(&shared.scans).push(scan);
            Ok(StepResult { rows, checked: 1, wrong: u64::from((rows, sum) != wanted), think_ns: 0 })
        };
        let none = || Ok([]);
        let mut slice = match self.scan.rows_per_session {
            Some(rows) => fixed_work(window, rows, step, none)?,
            None => step_loop(window, step, none)?,
        };
        let client_cpu_ns = clock::thread_cpu_ns().saturating_sub(client_ns);
        Call { client_cpu_ns, ..Call::new(1, 1, 1, [before, self.used()]) }.give_to(&mut slice);
        flush_statistics(&mut self.client, self.version_num)?;
        Ok(slice)
    }
}

/// Settings for equal plans in every session of a degree of parallelism.
fn settle(client: &mut Client, workers: u32) -> Result<(), EngineError> {
    let workers = workers.to_string();
    let settings = [
        ("search_path", "pg_catalog"),
        ("timezone", "UTC"),
        ("jit", "off"),
        ("parallel_leader_participation", "on"),
        ("max_parallel_workers_per_gather", &workers),
        ("max_parallel_workers", &workers),
        ("parallel_setup_cost", "0"),
        // With 0 the workers would pass every row to the leader, which would aggregate all of them.
        ("parallel_tuple_cost", "0.1"),
        ("min_parallel_table_scan_size", "0"),
        // A scan that begins at the position of another one would share its buffers.
        ("synchronize_seqscans", "off"),
    ];
    for (name, value) in settings {
        client
            .query_one("SELECT set_config($1, $2, false)", &[&name, &value])
            .map_err(|cause| query(format!("set {name}={value}"), &cause))?;
    }
    Ok(())
}

/// Refuses a plan with another number of workers, or in which they do not aggregate their own rows.
fn expect_workers(client: &mut Client, sql: &str, workers: u32) -> Result<(), EngineError> {
    let action = "plan the scan";
    let lines = client.query(&format!("EXPLAIN {sql}"), &[]).map_err(|cause| query(action, &cause))?;
    let lines: Vec<String> = lines
        .iter()
        .map(|line| line.try_get(0))
        .collect::<Result<_, _>>()
        .map_err(|cause| query(action, &cause))?;
    let planned = lines.iter().find_map(|line| line.trim().strip_prefix("Workers Planned: ")?.parse().ok());
    let is_divided = workers == 0 || lines.iter().any(|line| line.contains("Partial "));
    match planned.unwrap_or(0) == workers && is_divided {
        true => Ok(()),
        false => Err(failed(
            action,
            format!("{workers} workers were requested, and the plan is: {}", lines.join("; ")),
        )),
    }
}
