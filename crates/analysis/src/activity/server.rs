//! Spinlocks, waits and latches by the server's own statistics: the names with the most spins and the most time.
//!
//! The statistics cover the whole server, including its other clients while a slice ran. Published studies of log
//! buffers list the five spinlocks with the most spins, spins per commit, spins per backoff, and cycles per spin by the
//! arithmetic of [`super::locks`].

use super::locks::{self, clocks, cycles_per_spin_bound};
use super::sums::{Sums, over_blocks};
use super::types::{ServerLock, ServerLocks, ServerWait};
use crate::setting::Setting;
use std::collections::BTreeMap;
use threadwise_statistics::{mean, per};
use threadwise_study::{OptionValue, Study, Treatment, Workload};

/// Most names of a kind in a report.
pub const MAX_SERVER_NAMES: usize = 5;

const SPINLOCK: &str = "spinlock/";
/// Prefix of counters of time.
const WAITS: [&str; 2] = ["server_wait/", "latch/"];
const WAIT_MS: &str = "/wait_ms";
const NS_PER_MS: f64 = 1e6;

/// The names that a study shows, the largest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Names {
    locks: Vec<String>,
    /// Waits and latches, with the prefix of their counters.
    waits: Vec<String>,
}

impl Names {
    /// Those with the most spins and those with the most time, over all runs of all treatments.
    pub(super) fn of(runs: &[Vec<&Sums>]) -> Self {
        let is_lock = |name: &str| Some(lock_name(name)?.to_owned());
        let is_wait = |name: &str| {
            WAITS.iter().any(|prefix| name.starts_with(prefix)).then_some(())?;
            Some(name.strip_suffix(WAIT_MS)?.to_owned())
        };
        Self { locks: largest(runs, is_lock), waits: largest(runs, is_wait) }
    }

    /// Whether a counter is shown as one of these.
    pub(super) fn has(&self, counter: &str) -> bool {
        let of_name = counter.rsplit_once('/').map_or("", |(of_name, _)| of_name);
        let is_lock = of_name.strip_prefix(SPINLOCK).is_some_and(|name| has(&self.locks, name));
        is_lock || has(&self.waits, of_name)
    }
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

/// The spinlock whose spins a counter counts.
fn lock_name(counter: &str) -> Option<&str> {
    counter.strip_prefix(SPINLOCK)?.strip_suffix("/spins")
}

/// Names by the sum of their counter over all runs, the largest first; names without a count are left out.
fn largest(runs: &[Vec<&Sums>], name_of: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (counter, value) in runs.iter().flatten().flat_map(|sums| &sums.counters) {
        if let Some(name) = name_of(counter) {
            *sums.entry(name).or_default() += value;
        }
    }
    let mut ranked: Vec<(String, f64)> = sums.into_iter().filter(|(_, sum)| *sum > 0.0).collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    ranked.into_iter().take(MAX_SERVER_NAMES).map(|(name, _)| name).collect()
}

/// Spins of all spinlocks in a run; `None` where none was read.
fn all_spins(sums: &Sums) -> Option<f64> {
    let known: Vec<f64> =
        sums.counters.iter().filter(|(name, _)| lock_name(name).is_some()).map(|(_, spins)| *spins).collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

/// Rows per transaction of `insert`; `None` if unknown, or if the commits are not of rows.
fn rows_per_commit(study: &Study, treatment: &Treatment) -> Option<f64> {
    let whole = |name: &str| match treatment.options.get(name) {
        Some(OptionValue::Integer(rows)) if *rows > 0 => Some(*rows as f64),
        _ => None,
    };
    let is_one_batch = treatment.options.get("rows_per_tx") == Some(&OptionValue::Integer(0));
    let rows = if is_one_batch { whole("rows_per_session") } else { whole("rows_per_tx") };
    rows.filter(|_| study.workload == Workload::Insert)
}

/// The spinlocks of one treatment; `None` if its server reports none.
pub(super) fn locks(
    runs: &[&Sums],
    treatment: &Treatment,
    setting: &Setting<'_>,
    names: &Names,
) -> Option<ServerLocks> {
    let counted: Vec<&Sums> = runs.iter().copied().filter(|sums| all_spins(sums).is_some()).collect();
    if counted.is_empty() || names.locks.is_empty() {
        return None;
    }
    let rows_per_commit = rows_per_commit(setting.study, treatment);
    let (clocks, clock) = clocks(&counted, treatment, setting);
    let lock = |name: &String| {
        // A name that is not among those kept of a slice added next to nothing.
        let counter =
            |sums: &Sums, what: &str| sums.counter(&format!("{SPINLOCK}{name}/{what}")).unwrap_or(0.0);
        let spins = |sums: &Sums| counter(sums, "spins");
        let each = |value: &dyn Fn(&Sums) -> Option<f64>, unit: &str| {
            over_blocks(counted.iter().map(|sums| value(sums)), unit, setting.alpha)
        };
        let bounds = counted.iter().enumerate().map(|(at, sums)| {
            let hz = clocks.as_ref()?.get(at)? * 1e6;
            cycles_per_spin_bound(sums.window_s, busy_cores(sums, treatment, setting), hz, spins(sums))
        });
        ServerLock {
            name: name.clone(),
            spins: counted.iter().map(|sums| spins(sums)).sum(),
            spins_per_s: each(&|sums| per(spins(sums), sums.window_s), "1/s"),
            share: each(&|sums| per(spins(sums), all_spins(sums)?), "share"),
            spins_per_row: each(&|sums| per(spins(sums), sums.rows), "1"),
            spins_per_commit: rows_per_commit
                .and_then(|rows| each(&|sums| per(spins(sums) * rows, sums.rows), "1")),
            spins_per_collision: each(&|sums| per(spins(sums), counter(sums, "collisions")), "1"),
            spins_per_backoff: each(&|sums| per(spins(sums), counter(sums, "backoffs")), "1"),
            cycles_per_spin_bound: over_blocks(bounds, "cycles", setting.alpha),
        }
    };
    Some(ServerLocks {
        locks: names.locks.iter().map(lock).collect(),
        clock_mhz: clocks.as_ref().and_then(|clocks| mean(clocks.iter().copied())),
        clock,
    })
}

/// Most cores that a treatment's sessions keep busy: those of the placement that the server is bound to, else one core
/// for each session, wherever the server runs them. If the machine is unknown, as many as sessions.
fn busy_cores(sums: &Sums, treatment: &Treatment, setting: &Setting<'_>) -> f64 {
    if setting.study.binds_server() {
        return locks::busy_cores(&sums.cpus, treatment, setting.topology) as f64;
    }
    let sessions = treatment.sessions as usize;
    let cores = setting.topology.map_or(sessions, |topology| topology.cores.len());
    sessions.min(cores.max(1)) as f64
}

/// The waits and latches of one treatment; empty if its server reports none.
pub(super) fn waits(runs: &[&Sums], names: &Names, alpha: f64) -> Vec<ServerWait> {
    let is_counted = |sums: &&Sums| sums.counters.keys().any(|name| name.ends_with(WAIT_MS));
    let counted: Vec<&Sums> = runs.iter().copied().filter(is_counted).collect();
    let wait = |name: &String| {
        let counter = |sums: &Sums, what: &str| sums.counter(&format!("{name}{what}")).unwrap_or(0.0);
        let ns = |sums: &Sums| NS_PER_MS * counter(sums, WAIT_MS);
        let each = |value: &dyn Fn(&Sums) -> Option<f64>, unit: &str| {
            over_blocks(counted.iter().map(|sums| value(sums)), unit, alpha)
        };
        let (kind, short) = name.split_once('/').unwrap_or(("", name));
        ServerWait {
            kind: kind.to_owned(),
            name: short.to_owned(),
            wait_ns_per_row: each(&|sums| per(ns(sums), sums.rows), "ns"),
            waits_per_row: each(&|sums| per(counter(sums, "/waits"), sums.rows), "1"),
            ns_per_wait: each(&|sums| per(ns(sums), counter(sums, "/waits")), "ns"),
        }
    };
    if counted.is_empty() { Vec::new() } else { names.waits.iter().map(wait).collect() }
}

#[cfg(test)]
mod tests {
    use crate::activity::{Activity, ServerLock};
    use crate::fixtures::{machine, run, study};
    use crate::{Facts, analyse_probed, document};
    use threadwise_document::Block;
    use threadwise_study::probe::{ClockReading, ClockSource, Probe};
    use threadwise_study::{OptionValue, Run, Study, Workload};

    /// Inserts, two rows a transaction where it is known, by one session and by ten.
    fn inserts(rows_per_tx: Option<i64>) -> Study {
        let mut study = study(&[""], &["T one-cpu 10"]);
        study.workload = Workload::Insert;
        for treatment in &mut study.treatments {
            treatment
                .options
                .extend(rows_per_tx.map(|rows| ("rows_per_tx".to_owned(), OptionValue::Integer(rows))));
        }
        study
    }

    /// Two blocks of 1 s and 1,000 rows; `LOG` spins 100 times a row in A and ten times as much in T.
    fn runs() -> Vec<Run> {
        let counted = |block: u32, name: &str| {
            let mut run = run(block, name, &[1000]);
            let times = if name == "T" { 10 } else { 1 };
            let counters = &mut run.slices[0].counters;
            let mut count = |name: &str, value: u64| counters.insert(name.to_owned(), value);
            count("spinlock/LOG/spins", 100_000 * times);
            count("spinlock/LOG/collisions", 2_000 * times);
            count("spinlock/LOG/backoffs", 50 * times);
            for (at, lock) in ["B", "C", "D", "E", "F"].into_iter().enumerate() {
                count(&format!("spinlock/{lock}/spins"), 1_000 - 100 * at as u64);
                count(&format!("spinlock/{lock}/backoffs"), 0);
            }
            count("server_wait/WRITELOG/wait_ms", 40);
            count("server_wait/WRITELOG/waits", 80);
            count("latch/BUFFER/wait_ms", 2);
            count("latch/BUFFER/waits", 1);
            count("log_bytes", 7);
            run
        };
        (0..2).flat_map(|block| ["A", "A'", "T"].map(|name| counted(block, name))).collect()
    }

    fn activities(study: &Study, probe: Option<&Probe>, runs: &[Run]) -> Vec<Activity> {
        let topology = machine(1, 4, 2);
        let analysis = analyse_probed(study, Some(&topology), probe, runs, 1.0);
        analysis.treatments.into_iter().map(|summary| summary.activity).collect()
    }

    fn probe(mhz: f64) -> Probe {
        let clock = ClockReading {
            cpu: 0,
            busy_cpus: 1,
            source: ClockSource::Chain,
            avg_mhz: None,
            busy_pct: None,
            bzy_mhz: Some(mhz),
            tsc_mhz: None,
        };
        Probe { clocks: vec![clock], ..Probe::default() }
    }

    #[test]
    fn five_spinlocks_worked_by_hand() {
        let all = activities(&inserts(Some(2)), Some(&probe(3000.0)), &runs());
        let [a, _, t] = [0, 1, 2].map(|at| all[at].server_locks.clone().unwrap());
        let names: Vec<&str> = a.locks.iter().map(|lock| lock.name.as_str()).collect();
        assert_eq!(names, ["LOG", "B", "C", "D", "E"], "the sixth is not shown");
        let mean = |figure: &Option<crate::Interval>| figure.as_ref().unwrap().mean;
        let ServerLock { spins, spins_per_s, share, spins_per_row, spins_per_commit, .. } = &a.locks[0];
        assert_eq!((*spins, mean(spins_per_s), mean(spins_per_row)), (200_000.0, 100_000.0, 100.0));
        assert_eq!(mean(spins_per_commit), 200.0, "two rows a transaction");
        // Of all six: 100,000 + 1,000 + 900 + 800 + 700 + 600.
        assert!((mean(share) - 100_000.0 / 104_000.0).abs() < 1e-12);
        assert_eq!(
            (mean(&a.locks[0].spins_per_collision), mean(&a.locks[0].spins_per_backoff)),
            (50.0, 2000.0)
        );
        assert_eq!(a.locks[1].spins_per_backoff, None, "it never backed off");
        // One session is one core for 1 s at 3 GHz; ten sessions are the machine's four cores.
        assert_eq!(mean(&a.locks[0].cycles_per_spin_bound), 3e9 / 1e5);
        assert_eq!(mean(&t.locks[0].cycles_per_spin_bound), 4.0 * 3e9 / 1e6);
        assert_eq!((a.clock_mhz, a.clock.as_str()), (Some(3000.0), "the probe's chain of adds"));
    }

    #[test]
    fn a_server_that_is_bound_has_the_cores_of_the_placement() {
        let mut study = inserts(Some(2));
        study.engine_options.insert("affinity".to_owned(), OptionValue::Text("set".to_owned()));
        let all = activities(&study, Some(&probe(3000.0)), &runs());
        let lock = &all[2].server_locks.as_ref().unwrap().locks[0];
        // Ten sessions on the logical CPUs of the runs, which are one core's.
        assert_eq!(lock.cycles_per_spin_bound.as_ref().unwrap().mean, 3e9 / 1e6);
    }

    #[test]
    fn waits_and_latches_by_time_and_the_rest_as_before() {
        let all = activities(&inserts(None), None, &runs());
        let waits: Vec<(&str, &str)> =
            all[0].server_waits.iter().map(|wait| (wait.kind.as_str(), wait.name.as_str())).collect();
        assert_eq!(waits, [("server_wait", "WRITELOG"), ("latch", "BUFFER")]);
        let wait = &all[0].server_waits[0];
        let [per_row, waits, each] = [&wait.wait_ns_per_row, &wait.waits_per_row, &wait.ns_per_wait]
            .map(|figure| figure.clone().unwrap());
        assert_eq!((per_row.mean, per_row.unit.as_str(), waits.mean, each.mean), (40_000.0, "ns", 0.08, 5e5));
        let counters: Vec<&str> = all[0].counters.iter().map(|counter| counter.name.as_str()).collect();
        assert_eq!(
            counters,
            ["log_bytes", "spinlock/F/backoffs", "spinlock/F/spins"],
            "no figure stands twice"
        );
        let locks = all[0].server_locks.as_ref().unwrap();
        assert!(
            locks
                .locks
                .iter()
                .all(|lock| lock.spins_per_commit.is_none() && lock.cycles_per_spin_bound.is_none())
        );
        assert_eq!(locks.clock, "the clock was not measured: the study has no probe");
    }

    #[test]
    fn one_batch_a_session_is_one_commit() {
        let mut study = inserts(Some(0));
        for treatment in &mut study.treatments {
            treatment.options.insert("rows_per_session".to_owned(), OptionValue::Integer(500));
        }
        let all = activities(&study, None, &runs());
        let lock = &all[0].server_locks.as_ref().unwrap().locks[0];
        assert_eq!(lock.spins_per_commit.as_ref().unwrap().mean, 50_000.0);
        study.workload = Workload::LogicalIo;
        let all = activities(&study, None, &runs());
        assert_eq!(all[0].server_locks.as_ref().unwrap().locks[0].spins_per_commit, None);
    }

    /// Headings of the tables of a report's section of the server's locks.
    fn headings(study: &Study, runs: &[Run]) -> Option<Vec<Vec<String>>> {
        let topology = machine(1, 4, 2);
        let analysis = analyse_probed(study, Some(&topology), None, runs, 1.0);
        let made = document(&Facts::new(study, &topology, &analysis));
        let tables = made.section("server-locks")?.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table.columns.iter().map(|column| column.name.clone()).collect()),
            _ => None,
        });
        Some(tables.collect())
    }

    #[test]
    fn the_report_names_what_spins_are_counted_by() {
        let [commits, rows] =
            [Some(2), None].map(|rows_per_tx| headings(&inserts(rows_per_tx), &runs()).unwrap());
        assert_eq!(
            (commits.len(), commits[0][4].as_str(), rows[0][4].as_str()),
            (2, "spins/commit", "spins/row")
        );
        let without: Vec<Run> = ["A", "A'", "T"].map(|name| run(0, name, &[1000])).to_vec();
        assert_eq!(headings(&inserts(Some(2)), &without), None, "a study without has no table");
    }
}
