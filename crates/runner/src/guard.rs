//! When not to measure: a busy machine, a running database server, too little memory or disk, and
//! other processes that wait because of the study. Decisions are pure functions of readings; `read_*` and
//! `memory_limit_bytes` take the readings.
//!
//! Source of the files: `proc_meminfo(5)`, `proc_pid_comm(5)` (at most 15 characters),
//! `proc_pid_stat(5)`.

mod limits;

pub use limits::{ProcessLimits, check_process_limits};

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadwise_machine::words::bytes;
use threadwise_machine::{CpuSet, Topology};
use threadwise_process::{proc, space};
use threadwise_study::CpuTimes;
use threadwise_telemetry::proc_stat::{self, ProcStat};

/// Share of the allowed CPUs' capacity above which other load prevents a start.
pub const MOST_OTHER_LOAD: f64 = 0.05;
/// How long other load is watched.
pub const WATCH: Duration = Duration::from_secs(1);
/// Share of the available memory that the treatments may use together.
pub const MEMORY_SHARE: f64 = 0.25;
/// Share of a block's time during which others may wait for a CPU; two blocks above it end the study.
pub const MOST_OTHERS_WAIT: f64 = 0.20;
/// Share of the allowed CPUs' capacity that others may use in a block; two blocks above it end the study.
pub const MOST_OTHERS_CPU: f64 = 0.20;

/// Why the study does not start or continue.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Other programs use the CPUs.
    #[error(
        "the machine is busy: other programs use {:.1}% of the allowed logical CPUs (limit {:.0}%); wait or stop them, or measure anyway with --allow-busy",
        share * 100.0, MOST_OTHER_LOAD * 100.0
    )]
    Busy {
        /// Share of the allowed CPUs' capacity.
        share: f64,
    },
    /// A database server is running.
    #[error(
        "a database server is running here: {name} (process {pid}); it and the study would disturb each other: stop it, or measure anyway with --allow-busy"
    )]
    DatabaseServer {
        /// Its program name.
        name: String,
        /// Its process number.
        pid: u32,
    },
    /// The treatments' data would not fit into the study's share of memory.
    #[error(
        "the study's data needs {} of memory but may use only {} ({:.0}% of the available memory): use less data or fewer sessions",
        bytes(*planned), bytes(*limit), MEMORY_SHARE * 100.0
    )]
    Memory {
        /// Bytes of all treatments together.
        planned: u64,
        /// The limit.
        limit: u64,
    },
    /// The limit of open files is too low.
    #[error(
        "a process may have {limit} open files here, but the study needs at least {needed}: raise the limit with ulimit -n {needed}, or use fewer treatments or sessions"
    )]
    Files {
        /// The least number needed.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// The limit of address space is too low.
    #[error(
        "a process may have {} of address space here, but a treatment's data alone needs {}: raise the limit with ulimit -v, or use less data or fewer sessions",
        bytes(*limit), bytes(*needed)
    )]
    AddressSpace {
        /// Bytes needed, at least.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// The disk cannot hold the data twice.
    #[error(
        "the study's data needs {} in {}, which has {} free (twice the data is required): free some space or choose another folder with --data-dir",
        bytes(*planned), folder.display(), bytes(*free)
    )]
    Disk {
        /// The data folder.
        folder: PathBuf,
        /// Bytes of data.
        planned: u64,
        /// Bytes that this user may still write there.
        free: u64,
    },
}

/// Refuses a machine on which a database server runs or others use the CPUs, unless `allow_busy`.
/// Watches for [`WATCH`]. For a study of a model nothing is checked: it neither disturbs nor is
/// disturbed. `servers` are the process names of the engines' servers. `users_server`: the study measures a running
/// server.
///
/// # Errors
/// [`Refusal::DatabaseServer`] or [`Refusal::Busy`].
pub fn check_start(
    topology: &Topology,
    servers: &[&str],
    allow_busy: bool,
    users_server: bool,
) -> Result<(), Refusal> {
    if allow_busy {
        return Ok(());
    }
    let root = Path::new("/");
    if !users_server {
        check_database_server(read_database_server(root, servers))?;
    }
    check_load(read_other_load(root, &topology.allowed()))
}

/// Share of the allowed CPUs' capacity that was busy. `None` if no time passed.
pub fn busy_share(times: &[CpuTimes], allowed: &CpuSet) -> Option<f64> {
    let ours = || times.iter().filter(|times| allowed.contains(times.cpu));
    let total_ns: u64 = ours().map(|times| times.total_ns).sum();
    let busy_ns: u64 = ours().map(|times| times.busy_ns).sum();
    (total_ns > 0).then(|| busy_ns as f64 / total_ns as f64)
}

/// Refuses if others use more than [`MOST_OTHER_LOAD`].
///
/// # Errors
/// [`Refusal::Busy`].
pub fn check_load(share: Option<f64>) -> Result<(), Refusal> {
    match share {
        Some(share) if share > MOST_OTHER_LOAD => Err(Refusal::Busy { share }),
        _ => Ok(()),
    }
}

/// Watches /proc/stat for [`WATCH`] while this process idles, so that all load is others'.
/// `None` if it cannot be read.
pub fn read_other_load(root: &Path, allowed: &CpuSet) -> Option<f64> {
    let mut stat = ProcStat::open(root).ok()?;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    stat.read(&mut before).ok()?;
    std::thread::sleep(WATCH);
    stat.read(&mut after).ok()?;
    busy_share(&proc_stat::difference(&before, &after), allowed)
}

/// Whether a program name (15 characters at most) is that of a database server: one of `servers`, the engines'
/// own, or one without an engine.
pub fn is_database_server(comm: &str, servers: &[&str]) -> bool {
    const OTHERS: [&str; 11] = [
        "sqlservr",
        "mongod",
        "redis-server",
        "valkey-server",
        "clickhouse",
        "clickhouse-serv",
        "db2sysc",
        "hdbindexserver",
        "cockroach",
        "tarantool",
        "oninit",
    ];
    // Oracle names its processes PREFIX_pmon_INSTANCE, such as ora_pmon_ORCL.
    servers.contains(&comm) || OTHERS.contains(&comm) || comm.contains("_pmon_")
}

/// The first running database server, by process number, without zombies. `servers`: see [`is_database_server`].
pub fn read_database_server(root: &Path, servers: &[&str]) -> Option<(u32, String)> {
    let mut pids: Vec<u32> = fs::read_dir(root.join("proc"))
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    pids.into_iter().find_map(|pid| {
        let folder = root.join(format!("proc/{pid}"));
        let comm = fs::read_to_string(folder.join("comm")).ok()?.trim().to_owned();
        (is_database_server(&comm, servers) && !is_zombie(&folder)).then_some((pid, comm))
    })
}

fn is_zombie(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    proc::stat_field(&stat, 3) == Some("Z")
}

/// Refuses if a database server runs.
///
/// # Errors
/// [`Refusal::DatabaseServer`].
pub fn check_database_server(server: Option<(u32, String)>) -> Result<(), Refusal> {
    server.map_or(Ok(()), |(pid, name)| Err(Refusal::DatabaseServer { name, pid }))
}

/// Limit of the treatments together: [`MEMORY_SHARE`] of MemAvailable below `root`, and at
/// most that share of the cgroup's limit. `u64::MAX` if neither is known.
pub fn memory_limit_bytes(root: &Path, cgroup_limit: Option<u64>) -> u64 {
    let available = space::available_memory_bytes(root).unwrap_or(u64::MAX);
    match available.min(cgroup_limit.unwrap_or(u64::MAX)) {
        u64::MAX => u64::MAX,
        available => (available as f64 * MEMORY_SHARE) as u64,
    }
}

/// The rule behind [`memory_limit_bytes`], as text: `a quarter of the 8 GiB of memory that are available`.
pub fn memory_rule(root: &Path, cgroup_limit: Option<u64>) -> String {
    let available = space::available_memory_bytes(root).unwrap_or(u64::MAX);
    match cgroup_limit.filter(|limit| *limit < available) {
        Some(limit) => format!("a quarter of this control group's memory limit of {}", bytes(limit)),
        None => format!("a quarter of the {} of memory that are available", bytes(available)),
    }
}

/// Refuses data that is larger than the limit.
///
/// # Errors
/// [`Refusal::Memory`].
pub fn check_memory(planned: u64, limit: u64) -> Result<(), Refusal> {
    if planned > limit { Err(Refusal::Memory { planned, limit }) } else { Ok(()) }
}

/// Bytes that this user may still write into a folder; `None` if unknown.
pub fn read_free_bytes(folder: &Path) -> Option<u64> {
    space::free_bytes(folder).ok()
}

/// Refuses if less than twice the data is free.
///
/// # Errors
/// [`Refusal::Disk`].
pub fn check_disk(folder: &Path, planned: u64, free: Option<u64>) -> Result<(), Refusal> {
    match free {
        Some(free) if free < planned.saturating_mul(2) => {
            Err(Refusal::Disk { folder: folder.to_owned(), planned, free })
        }
        _ => Ok(()),
    }
}

/// Readings around the rounds of a block; `None` if unknown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlockUse {
    /// Time during which some task of the system waited for a CPU (PSI).
    pub some_ns: Option<u64>,
    /// Time of every logical CPU, in ticks of 10 ms and therefore not taken slice by slice.
    pub cpu_times: Vec<CpuTimes>,
    /// Run-queue wait and CPU time of all threads of the study together.
    pub ours: ThreadTimes,
    /// Duration of the rounds.
    pub block_ns: u64,
}

/// The scheduler's times of threads, summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadTimes {
    /// On a CPU.
    pub cpu_ns: u64,
    /// On a run queue, waiting for a CPU.
    pub wait_ns: u64,
}

impl BlockUse {
    /// The sum of two stretches of a block. Logical CPUs that were offline in one have the other's times.
    pub fn and(mut self, later: &Self) -> Self {
        for times in &later.cpu_times {
            match self.cpu_times.iter_mut().find(|one| one.cpu == times.cpu) {
                Some(sum) => {
                    sum.busy_ns += times.busy_ns;
                    sum.steal_ns += times.steal_ns;
                    sum.total_ns += times.total_ns;
                }
                None => self.cpu_times.push(times.clone()),
            }
        }
        Self {
            some_ns: self.some_ns.zip(later.some_ns).map(|(one, other)| one + other),
            cpu_times: self.cpu_times,
            ours: ThreadTimes {
                cpu_ns: self.ours.cpu_ns + later.ours.cpu_ns,
                wait_ns: self.ours.wait_ns + later.ours.wait_ns,
            },
            block_ns: self.block_ns + later.block_ns,
        }
    }

    /// Lower bound of the share of the block during which others waited: PSI counts time with any
    /// waiter once, the study's waits are added thread by thread, so the difference is never too high.
    /// It is 0 if the study waits as much as others do, which does not affect [`Self::others_cpu_share`].
    pub fn others_wait_share(&self) -> f64 {
        match (self.some_ns, self.block_ns) {
            (None, _) | (_, 0) => 0.0,
            (Some(some_ns), block_ns) => some_ns.saturating_sub(self.ours.wait_ns) as f64 / block_ns as f64,
        }
    }

    /// Share of the allowed CPUs' capacity that others used: the busy time less the study's CPU time.
    pub fn others_cpu_share(&self, allowed: &CpuSet) -> f64 {
        let capacity_ns: u64 = self
            .cpu_times
            .iter()
            .filter(|times| allowed.contains(times.cpu))
            .map(|times| times.total_ns)
            .sum();
        let ours = self.ours.cpu_ns as f64 / capacity_ns.max(1) as f64;
        busy_share(&self.cpu_times, allowed).map_or(0.0, |busy| (busy - ours).max(0.0))
    }
}

/// Watches from block to block whether others need the CPUs.
#[derive(Debug, Default)]
pub struct OthersWatch {
    previous_was_high: bool,
}

impl OthersWatch {
    /// Adds a block (`None` if unknown) and returns why to stop, if so: in two
    /// consecutive blocks, others waited for a CPU more than [`MOST_OTHERS_WAIT`] of the
    /// time or used more than [`MOST_OTHERS_CPU`] of the allowed CPUs.
    pub fn block(&mut self, block: Option<&BlockUse>, allowed: &CpuSet) -> Option<String> {
        let wait = block.map_or(0.0, BlockUse::others_wait_share);
        let cpu = block.map_or(0.0, |block| block.others_cpu_share(allowed));
        let is_high = wait > MOST_OTHERS_WAIT || cpu > MOST_OTHERS_CPU;
        let stop = is_high && self.previous_was_high;
        self.previous_was_high = is_high;
        let what = match wait > MOST_OTHERS_WAIT {
            true => format!(
                "other programs waited for a CPU during {:.0}% of the last block (limit {:.0}%)",
                wait * 100.0,
                MOST_OTHERS_WAIT * 100.0
            ),
            false => format!(
                "other programs used {:.0}% of the allowed logical CPUs in the last block (limit {:.0}%)",
                cpu * 100.0,
                MOST_OTHERS_CPU * 100.0
            ),
        };
        stop.then(|| {
            format!(
                "{what}, and also exceeded the limit in the block before; the results so far are kept: continue when the machine is free, or with --allow-busy"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(cpu: u32, busy_ns: u64, total_ns: u64) -> CpuTimes {
        CpuTimes { cpu, busy_ns, steal_ns: 0, total_ns }
    }

    #[test]
    fn load_is_a_share_of_the_allowed_cpus() {
        let allowed = CpuSet::parse_list("0-1").unwrap();
        let times = [times(0, 10, 100), times(1, 0, 100), times(2, 100, 100)];
        assert_eq!(busy_share(&times, &allowed), Some(0.05));
        assert!(check_load(Some(0.05)).is_ok());
        let refusal = check_load(Some(0.051)).unwrap_err();
        assert!(refusal.to_string().starts_with("the machine is busy"), "{refusal}");
        assert!(refusal.to_string().contains("--allow-busy"));
        assert_eq!(busy_share(&[], &allowed), None);
        assert!(check_load(None).is_ok());
    }

    const SERVERS: [&str; 3] = ["postgres", "mysqld", "mariadbd"];

    #[test]
    fn database_servers_are_known_by_name() {
        for name in ["postgres", "mysqld", "mariadbd", "ora_pmon_ORCL", "sqlservr", "clickhouse-serv"] {
            assert!(is_database_server(name, &SERVERS), "{name}");
        }
        for name in ["bash", "postgres_export", "mysql", "psql", ""] {
            assert!(!is_database_server(name, &SERVERS), "{name}");
        }
        assert!(!is_database_server("postgres", &[]));
    }

    #[test]
    fn a_running_server_is_named_with_its_pid_and_a_dead_one_is_not() {
        let root = tempfile::tempdir().unwrap();
        let process = |pid: u32, comm: &str, state: &str| {
            let folder = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
            fs::write(folder.join("stat"), format!("{pid} ({comm}) {state} 1 1")).unwrap();
        };
        process(5, "mysqld", "Z");
        process(7, "bash", "S");
        assert_eq!(read_database_server(root.path(), &SERVERS), None);
        process(40, "postgres", "S");
        process(300, "postgres", "S");
        let refusal = check_database_server(read_database_server(root.path(), &SERVERS)).unwrap_err();
        assert!(refusal.to_string().contains("postgres (process 40)"), "{refusal}");
        assert_eq!(read_database_server(&root.path().join("missing"), &SERVERS), None);
    }

    #[test]
    fn memory_is_capped_by_what_is_available_and_by_the_cgroup() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(memory_limit_bytes(root.path(), None), u64::MAX);
        fs::create_dir(root.path().join("proc")).unwrap();
        fs::write(root.path().join("proc/meminfo"), "MemTotal: 9999 kB\nMemAvailable:    400 kB\n").unwrap();
        assert_eq!(memory_limit_bytes(root.path(), None), 100 * 1024);
        assert_eq!(memory_limit_bytes(root.path(), Some(40 * 1024)), 10 * 1024);
        assert_eq!(
            memory_rule(root.path(), Some(40 * 1024)),
            "a quarter of this control group's memory limit of 40 KiB"
        );
        // A limit above what is there is none.
        assert_eq!(
            memory_rule(root.path(), Some(1 << 40)),
            "a quarter of the 400 KiB of memory that are available"
        );
        assert!(check_memory(100, 100).is_ok());
        let refusal = check_memory(3 << 30, 1 << 30).unwrap_err().to_string();
        assert!(refusal.contains("3 GiB") && refusal.contains("1 GiB"), "{refusal}");
    }

    #[test]
    fn the_disk_must_hold_the_data_twice() {
        let folder = Path::new("/tmp");
        assert!(check_disk(folder, 50, Some(100)).is_ok());
        assert!(check_disk(folder, u64::MAX, None).is_ok());
        let refusal = check_disk(folder, 51 << 20, Some(100 << 20)).unwrap_err().to_string();
        assert!(refusal.contains("51 MiB in /tmp, which has 100 MiB free"), "{refusal}");
        assert!(read_free_bytes(folder).unwrap() > 0);
        assert_eq!(read_free_bytes(Path::new("/proc/nowhere/at/all")), None);
    }

    /// A block of one second on two logical CPUs, of which `busy_ns` were busy.
    fn block(busy_ns: [u64; 2], ours: (u64, u64), some_ns: Option<u64>) -> BlockUse {
        let cpu_times = vec![times(0, busy_ns[0], SECOND), times(1, busy_ns[1], SECOND)];
        let ours = ThreadTimes { cpu_ns: ours.0, wait_ns: ours.1 };
        BlockUse { some_ns, cpu_times, ours, block_ns: SECOND }
    }

    const SECOND: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    /// What two such blocks, one after the other, lead to.
    fn twice(block: &BlockUse) -> Option<String> {
        let allowed = CpuSet::parse_list("0-1").unwrap();
        let mut watch = OthersWatch::default();
        assert_eq!(watch.block(Some(block), &allowed), None);
        watch.block(Some(block), &allowed)
    }

    #[test]
    fn four_loops_of_others_are_seen_though_we_wait_as_much_as_they() {
        // 1 session and 4 loops on 2 CPUs: always a waiter, and we wait for longer than PSI counts.
        let why = twice(&block([SECOND; 2], (450 * MS, 1100 * MS), Some(SECOND))).unwrap();
        assert!(why.contains("used 78% of the allowed logical CPUs") && why.contains("kept"), "{why}");
        let why = twice(&block([SECOND; 2], (450 * MS, 1100 * MS), None)).unwrap();
        assert!(why.contains("78%"), "{why}");
    }

    #[test]
    fn our_own_treatments_are_not_others() {
        // Two sessions on one CPU: one of them always waits.
        assert_eq!(twice(&block([SECOND, 20 * MS], (990 * MS, SECOND), Some(SECOND))), None);
        // Three sessions on both.
        assert_eq!(twice(&block([SECOND; 2], (1980 * MS, SECOND), Some(SECOND))), None);
        // Our clock may run ahead of the ticks.
        assert_eq!(twice(&block([940 * MS, 0], (SECOND, 0), Some(0))), None);
        assert_eq!(twice(&block([900 * MS, 50 * MS], (890 * MS, 0), Some(10 * MS))), None);
        assert_eq!(twice(&BlockUse::default()), None);
    }

    #[test]
    fn only_the_allowed_cpus_count() {
        let mut busy = block([SECOND, 0], (SECOND, 0), None);
        busy.cpu_times.push(times(2, SECOND, SECOND));
        assert_eq!(twice(&busy), None);
    }

    #[test]
    fn it_takes_two_blocks_one_after_the_other() {
        let allowed = CpuSet::parse_list("0-1").unwrap();
        let wait = |some_ms: u64, ours_ms: u64| block([0; 2], (0, ours_ms * MS), Some(some_ms * MS));
        let mut watch = OthersWatch::default();
        assert!(watch.block(Some(&wait(900, 50)), &allowed).is_none());
        assert!(watch.block(Some(&wait(900, 800)), &allowed).is_none());
        assert!(watch.block(Some(&wait(300, 90)), &allowed).is_none());
        assert!(watch.block(None, &allowed).is_none());
        assert!(watch.block(Some(&wait(300, 0)), &allowed).is_none());
        let why = watch.block(Some(&wait(400, 0)), &allowed).unwrap();
        assert!(why.contains("waited for a CPU during 40%") && why.contains("kept"), "{why}");
        // One rule in one block and the other in the next.
        let used = block([SECOND, 0], (0, 0), Some(0));
        assert!(watch.block(Some(&used), &allowed).unwrap().contains("used 50%"));
    }
}
