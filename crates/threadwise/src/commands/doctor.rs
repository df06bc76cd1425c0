//! `threadwise doctor`: what would spoil a measurement here.

use crate::cli::DoctorArgs;
use crate::commands::{self, topology};
use crate::engines;
use crate::error::AppError;
use crate::output;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use threadwise_doctor::watch::Snapshot;
use threadwise_doctor::{Facts, Live, PerfAccess, ProcessName, examine};
use threadwise_machine::{CpuSet, Topology, hypervisor};
use threadwise_probe::bench::ProbeError;
use threadwise_probe::live::LiveBench;
use threadwise_probe::neighbour::{self, Watch};
use threadwise_probe::whole;
use threadwise_report::json;
use threadwise_report::terminal::{self, DoctorRow};
use threadwise_runner::guard;
use threadwise_study::probe::{Neighbour, ProbeForm};
use threadwise_telemetry::samplers::counters::Counters;
use threadwise_telemetry::{Sampler, Status};

/// Watches for a moment, examines, prints.
pub fn doctor(args: &DoctorArgs) -> Result<(), AppError> {
    let topology = topology::live()?;
    let stop = commands::stop_flag()?;
    if !args.json {
        output::tell("watching this machine for about 2 s");
    }
    let live = watch(Path::new("/"), &topology, &stop)?;
    let checks = examine(&Facts { root: Path::new("/"), topology: &topology, live: Some(&live) });
    let rows: Vec<DoctorRow<'_>> = checks
        .iter()
        .map(|check| DoctorRow {
            name: check.name,
            outcome_word: check.outcome.word(),
            found: &check.found,
            source: &check.source,
            remedy: check.remedy.as_deref(),
        })
        .collect();
    output::print(&match args.json {
        true => format!("{}\n", json::doctor(&rows)),
        false => format!("{}\n", terminal::doctor(&rows, output::style())),
    })
}

/// Measurements over time: an idle second, then a short look for neighbours.
fn watch(root: &Path, topology: &Topology, stop: &Arc<AtomicBool>) -> Result<Live, AppError> {
    let before = Snapshot::before(root);
    std::thread::sleep(guard::WATCH);
    // Without /proc/stat the checks that need it report that nothing was measured.
    let times = before.and_then(|before| {
        let after = Snapshot::after(root)?;
        Ok((before.cpu_times(&after), before.process_loads(&after, std::process::id())))
    });
    let (cpu_times, processes) = times.unwrap_or_default();
    Ok(Live {
        cpu_times,
        processes,
        database_server_sought: true,
        database_server: guard::read_database_server(root, &engines::servers())
            .map(|(pid, name)| ProcessName { pid, name }),
        neighbours: neighbours(topology, stop)?,
        is_root: rustix::process::geteuid().is_root(),
        hypervisor: hypervisor::live().map(str::to_owned),
        perf: perf(root),
        core_cookie: None,
    })
}

/// One logical CPU at a time, since shared cores are not known; empty if the CPUs cannot be used, which the check then
/// reports.
fn neighbours(topology: &Topology, stop: &Arc<AtomicBool>) -> Result<Vec<Neighbour>, AppError> {
    const MOST_CPUS: usize = 4;
    let Ok(cpus) = whole::choose(topology, None) else { return Ok(Vec::new()) };
    let few: CpuSet = cpus.into_iter().take(MOST_CPUS).collect();
    let Ok(mut bench) = LiveBench::new(&few, Arc::clone(stop)) else { return Ok(Vec::new()) };
    let (cores, kinds) = ([few.clone()], whole::kinds(topology));
    let watch = Watch { kinds: &kinds, ..Watch::of(ProbeForm::Short, &cores) };
    match neighbour::watch(&mut bench, &few.iter().collect::<Vec<u32>>(), &watch) {
        Err(ProbeError::Stopped) => Err(AppError::Interrupted("stopped".to_owned())),
        found => Ok(found.unwrap_or_default()),
    }
}

fn perf(root: &Path) -> PerfAccess {
    match Counters::new(root).status() {
        Status::Ready => PerfAccess::Open,
        Status::Denied { why, .. } => PerfAccess::Denied { why },
        Status::Unsupported { why } => PerfAccess::Unsupported { why },
    }
}
