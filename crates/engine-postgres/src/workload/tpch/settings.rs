//! Settings for `tpch`: of a private server, and of every session.
//!
//! Source: PostgreSQL documentation, "Server Configuration" (Resource Consumption, Query Planning) and
//! "Parallel Query"; `compute_parallel_worker` in `optimizer/path/allpaths.c` for the limits on a scan's workers.

use postgres::Client;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::tpch::tables::TABLES;
use threadwise_engine_sql::tpch::Setup;
use threadwise_engine_sql::{Connection, Parameter, Value};
use threadwise_machine::CpuSet;
use threadwise_tpch::options::TpchOptions;

use crate::Server;
use crate::connection::PostgresConnection;
use crate::error::{query, server_message};
use crate::options::checked;

const MIB: u64 = 1 << 20;

/// `work_mem` at scale factor 1, and its minimum.
const WORK_MEM_PER_SCALE: u64 = 256 * MIB;
const LEAST_WORK_MEM: u64 = 64 * MIB;

/// Part of the machine's memory that one sort or hash table may use at most.
const WORK_MEM_PART: u64 = 64;

/// `parallel_setup_cost` of a held plan: a tenth of the default. With 0 a correlated subquery starts workers
/// for each of its rows (q02 at scale factor 1 then took 26 s of CPU time instead of 0.3 s); a subquery's
/// whole cost is below this, and that of the smallest scan worth holding, `lineitem` at 0.01, is 2000.
const HELD_SETUP_COST: &str = "100";

/// Limit of `max_parallel_workers`.
const MOST_WORKERS: u32 = 1024;

/// First version that compiles expressions by default.
const JIT_BY_DEFAULT: u32 = 120_000;

/// Connections, and parallel workers, that a private server has room for.
const PLACES: u32 = 1024;

/// Session settings that another option controls, by their prefixes, and which option.
const DECIDED: [(&str, &str); 18] = [
    ("auto_explain.", "threadwise sets it: the executed plan is read through it"),
    ("client_", "threadwise sets it"),
    ("datestyle", "threadwise sets it: answers are read as text"),
    ("debug_parallel_query", "use hold_plan"),
    ("default_transaction_", "threadwise sets it: the data is read-only"),
    ("extra_float_digits", "threadwise sets it: answers are read as text"),
    ("force_parallel_mode", "use hold_plan"),
    ("jit", "use the option jit"),
    ("max_parallel_workers", "use dop"),
    ("parallel_leader_participation", "threadwise sets it: dop counts the leader"),
    ("plan_cache_mode", "threadwise sets it: a plan is used once"),
    ("role", "threadwise sets it"),
    ("search_path", "threadwise sets it"),
    ("session_", "threadwise sets it"),
    ("standard_conforming_strings", "threadwise sets it"),
    ("statement_timeout", "use slice_ms"),
    ("temp_file_limit", "use spill_limit_mb"),
    ("timezone", "threadwise sets it"),
];

/// Refuses settings that threadwise sets, or that would run other code. `jit_above_cost` and the like are free.
///
/// # Errors
/// The first such setting.
pub(super) fn check(options: &TpchOptions) -> Result<(), EngineError> {
    for (name, value) in &options.settings {
        let option = format!("settings.{name}");
        checked(&option, name, value)?;
        let lower = name.to_ascii_lowercase();
        let is_decided = |beginning: &str| match beginning.ends_with(['_', '.']) {
            true => lower.starts_with(beginning),
            false if beginning == "max_parallel_workers" => lower.starts_with(beginning),
            false => lower == beginning,
        };
        if let Some((_, why)) = DECIDED.iter().find(|(beginning, _)| is_decided(beginning)) {
            return Err(refuse(&option, (*why).to_owned()));
        }
    }
    Ok(())
}

/// Settings of a private server besides those of all private clusters, unless the user gave them. `memory_bytes` is the
/// memory available without swapping.
pub(in super::super) fn server_settings(
    data_bytes: u64,
    memory_bytes: u64,
    major: u32,
) -> Vec<(&'static str, String)> {
    // All data and a quarter more; if that would be too much, a quarter of the memory, and the kernel caches the rest
    // ("shared_buffers" in the documentation).
    let wanted = data_bytes + data_bytes / 4 + 64 * MIB;
    let buffers = if wanted <= memory_bytes / 3 { wanted } else { memory_bytes / 4 }.max(128 * MIB);
    let mut settings = vec![
        ("shared_buffers", megabytes(buffers)),
        // The other treatments are not known yet. An unused place costs some kilobytes.
        ("max_connections", PLACES.to_string()),
        ("max_worker_processes", PLACES.to_string()),
        ("max_parallel_workers", PLACES.to_string()),
        ("maintenance_work_mem", megabytes((memory_bytes / 16).clamp(64 * MIB, 1024 * MIB))),
        // Tables that are filled in the transaction that creates them then need no log.
        ("wal_level", "minimal".to_owned()),
        ("max_wal_senders", "0".to_owned()),
        // Everything is synced once, after loading; after a power failure a study starts again.
        ("fsync", "off".to_owned()),
    ];
    if major >= 14 {
        // Hash tables that workers share are in this memory, not in files of the data directory. Unused memory is never
        // allocated.
        let shared = (data_bytes / 2).clamp(64 * MIB, (memory_bytes / 8).max(64 * MIB));
        settings.push(("min_dynamic_shared_memory", megabytes(shared)));
    }
    settings
}

fn megabytes(bytes: u64) -> String {
    format!("{}MB", bytes.div_ceil(MIB))
}

/// Logical CPUs of the machine, whatever the mask of this process; at least one.
fn online() -> CpuSet {
    let read = std::fs::read_to_string("/sys/devices/system/cpu/online").ok();
    let set = read.and_then(|list| CpuSet::parse_list(list.trim()).ok()).filter(|set| !set.is_empty());
    set.unwrap_or_else(|| [0].into_iter().collect())
}

/// Memory of the machine (proc_meminfo(5), `MemTotal`), bytes: unlike free memory, the same in every treatment and
/// block.
fn machine_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map_or(1 << 30, |kib| kib * 1024)
}

/// Workers that a session plans with and may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Workers {
    /// Workers planned for a Gather.
    pub(super) planned: u32,
    /// Most workers of all sessions together.
    pub(super) most: u32,
}

impl Workers {
    /// For a degree of parallelism and number of streams. A held plan is planned for the whole machine whatever the
    /// degree, and only the number of launched workers differs; with several streams, of which one could then take
    /// another's workers, it is planned for its own degree.
    pub(super) fn of(dop: u32, streams: u32, holds: bool) -> Self {
        let most = dop.saturating_sub(1).saturating_mul(streams);
        let machine = u32::try_from(online().len()).unwrap_or(u32::MAX);
        match holds {
            true if streams == 1 => {
                Self { planned: machine.max(dop).saturating_sub(1).clamp(1, MOST_WORKERS), most }
            }
            _ => Self { planned: dop.saturating_sub(1), most },
        }
    }
}

/// Settings of a session, in order. `ours` means a private server, which is set up for the workload.
fn session_settings(setup: &Setup, workers: Workers, ours: Option<&Server>) -> Vec<(String, String)> {
    let options = &setup.options;
    let mut settings = Vec::new();
    let mut set = |name: &str, value: &str| settings.push((name.to_owned(), value.to_owned()));
    set("search_path", &setup.schema);
    set("timezone", "UTC");
    set("datestyle", "ISO, YMD");
    set("extra_float_digits", "1");
    set("default_transaction_read_only", "on");
    set("parallel_leader_participation", "on");
    set("max_parallel_workers_per_gather", &workers.planned.to_string());
    set("max_parallel_workers", &workers.most.min(MOST_WORKERS).to_string());
    if ours.is_some() {
        let work_mem = (options.scale * WORK_MEM_PER_SCALE as f64) as u64;
        let work_mem = work_mem.min(machine_bytes() / WORK_MEM_PART).max(LEAST_WORK_MEM);
        set("work_mem", &megabytes(work_mem));
        set("effective_cache_size", &megabytes(machine_bytes() / 2));
    }
    // As requested, else PostgreSQL's default, since private clusters have it off for other workloads.
    if let Some(jit) = options.jit.or(ours.map(|server| server.version_num() >= JIT_BY_DEFAULT)) {
        set("jit", if jit { "on" } else { "off" });
    }
    if options.hold_plan == Some(true) {
        set("parallel_setup_cost", HELD_SETUP_COST);
        set("parallel_tuple_cost", "0");
        set("min_parallel_table_scan_size", "0");
        set("min_parallel_index_scan_size", "0");
    }
    if let Some(limit_mb) = options.spill_limit_mb {
        set("temp_file_limit", &limit_mb.saturating_mul(1024).min(i32::MAX as u64).to_string());
    }
    options.settings.iter().for_each(|(name, value)| set(name, &value.to_string()));
    settings
}

/// Whether the data has a schema of its own: in a server that threadwise started and set up for the workload.
pub(super) fn is_ours(server: &Server, setup: &Setup) -> bool {
    setup.schema != server.schema()
}

/// Sets a session up, by parameters of a statement, never as part of its text. Gives a note about its settings.
///
/// # Errors
/// The first setting that the server does not accept, the user's own by its option; no compiler for a requested `jit`; a
/// degree of parallelism for which the server has too few processes.
pub(super) fn settle(
    client: &mut Client,
    server: &Server,
    setup: &Setup,
    workers: Workers,
) -> Result<String, EngineError> {
    for (name, value) in session_settings(setup, workers, Some(server).filter(|_| is_ours(server, setup))) {
        let set = client.query_one("SELECT set_config($1, $2, false)", &[&name, &value]);
        set.map_err(|cause| match setup.options.settings.contains_key(&name) {
            true => refuse(
                &format!("settings.{name}"),
                format!("the server does not accept '{value}': {}", server_message(&cause)),
            ),
            false => query(format!("set {name}={value}"), &cause),
        })?;
    }
    let sql = "SELECT current_setting('max_worker_processes')::bigint, pg_jit_available(), \
               format('shared_buffers %s, effective_cache_size %s, work_mem %s', current_setting('shared_buffers'), \
               current_setting('effective_cache_size'), current_setting('work_mem'))";
    let row = client.query_one(sql, &[]);
    let (available, jit, memory): (i64, bool, String) = row
        .and_then(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))
        .map_err(|cause| query("read its settings", &cause))?;
    let available = available.min(i64::from(MOST_WORKERS));
    if i64::from(workers.most) > available {
        let why = format!(
            "it needs {} parallel workers and the server has room for {available}: raise max_worker_processes, or use a \
             lower dop or fewer streams",
            workers.most
        );
        return Err(refuse("dop", why));
    }
    if setup.options.jit == Some(true) && !jit {
        let why = "the server has no just-in-time compilation: install it (Red Hat: postgresql-llvmjit), or set \
                   jit=false";
        return Err(refuse("jit", why.into()));
    }
    let jit = if jit { "on" } else { "off" };
    Ok(format!("{memory} for each sort and hash table of each process; jit {jit}"))
}

/// Sets the number of workers of a scan, for all tables: a held plan uses its planned number, others leave it to
/// PostgreSQL, which counts a table's pages. It is a property of the tables, which treatments share and set in turn.
///
/// # Errors
/// An error of the server.
pub(super) fn hold_tables(control: &mut PostgresConnection, setup: &Setup) -> Result<(), EngineError> {
    let (action, schema) = ("hold the plans", setup.schema.as_str());
    let holds = setup.options.hold_plan == Some(true);
    let planned = || Workers::of(setup.dop, setup.streams(), true).planned;
    let wanted = holds.then(|| format!("parallel_workers={}", planned()));
    let sql = "SELECT relname::text, (SELECT o FROM unnest(reloptions) AS o WHERE o LIKE 'parallel_workers=%') \
               FROM pg_class WHERE relnamespace = $1::text::regnamespace AND relkind = 'r'";
    for row in control.rows(action, sql, &[Parameter::Text(schema)])? {
        let mut columns = row.iter().map(Value::text);
        let (Some(Some(table)), Some(found)) = (columns.next(), columns.next()) else { continue };
        if found == wanted.as_deref() || TABLES.iter().all(|other| other.name != table) {
            continue;
        }
        let sql = match &wanted {
            Some(option) => format!("ALTER TABLE {schema}.{table} SET ({option})"),
            None => format!("ALTER TABLE {schema}.{table} RESET (parallel_workers)"),
        };
        control.run(action, &sql)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_held_plan_is_the_same_for_every_degree_and_a_stream_never_has_more_than_its_own() {
        let machine = online().len() as u32;
        let held: Vec<_> = (1..=machine).map(|dop| Workers::of(dop, 1, true)).collect();
        assert!(held.iter().all(|workers| workers.planned == (machine - 1).max(1)), "{held:?}");
        assert_eq!(held[0].most, 0);
        assert_eq!(Workers::of(3, 1, false), Workers { planned: 2, most: 2 });
        assert_eq!(Workers::of(3, 4, true), Workers { planned: 2, most: 8 });
        assert_eq!(Workers::of(1, 4, false), Workers { planned: 0, most: 0 });
    }

    #[test]
    fn the_buffers_hold_the_data_where_memory_allows() {
        let gib = 1024 * MIB;
        let settings =
            |data, memory| server_settings(data, memory, 15).into_iter().collect::<BTreeMap<_, _>>();
        assert_eq!(settings(2 * gib, 32 * gib)["shared_buffers"], "2624MB");
        assert_eq!(settings(20 * gib, 32 * gib)["shared_buffers"], "8192MB");
        assert_eq!(settings(0, gib)["shared_buffers"], "128MB");
        assert_eq!(settings(20 * gib, 32 * gib)["min_dynamic_shared_memory"], "4096MB");
        assert!(server_settings(0, gib, 13).iter().all(|(name, _)| *name != "min_dynamic_shared_memory"));
    }
}
