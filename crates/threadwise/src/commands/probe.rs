//! `threadwise probe`: the machine as measured.

pub mod spins;

use crate::cli::{ProbeArgs, ProbeCommand};
use crate::commands::screen;
use crate::commands::{self, topology};
use crate::engines;
use crate::error::AppError;
use crate::output;
use crate::progress::Progress;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;
use threadwise_analysis::hardware::{self, Hardware};
use threadwise_analysis::{of_document, probe_document};
use threadwise_document::numbers::{self, counted, grouped};
use threadwise_document::screen::{Trust, TrustLevel};
use threadwise_document::{Prose, prose};
use threadwise_machine::Topology;
use threadwise_probe::bench::ProbeError;
use threadwise_probe::whole::{self, Request};
use threadwise_report::{html, json, terminal};
use threadwise_runner::guard;
use threadwise_study::probe::{Probe, ProbeForm};

/// Probes, prints, and writes the page.
pub fn probe(args: &ProbeArgs) -> Result<(), AppError> {
    if let Some(ProbeCommand::Spins(args)) = &args.of {
        return spins::spins(args);
    }
    let topology = topology::live()?;
    let cpus = whole::choose(&topology, args.cpus.as_ref()).map_err(AppError::input)?;
    args.html.as_deref().map_or(Ok(()), output::check_new)?;
    let seed = args.seed.map_or_else(commands::drawn_seed, Ok)?;
    let stop = commands::stop_flag()?;
    guard::check_start(&topology, &engines::servers(), args.allow_busy, false).map_err(AppError::refused)?;
    commands::unless_stopped(&stop)?;
    let request = Request { topology: &topology, cpus: &cpus, form: form(args), seed, root: Path::new("/") };
    let probe = measure(&request, &stop, args.json)?;
    let hardware = hardware::compare(&topology, &probe);
    tell(args, &topology, &probe, &hardware)?;
    match probe.interrupted {
        true => Err(AppError::Interrupted("stopped: the results are those measured until then".to_owned())),
        false => Ok(()),
    }
}

fn form(args: &ProbeArgs) -> ProbeForm {
    match (args.short, args.full) {
        (true, _) => ProbeForm::Short,
        (_, true) => ProbeForm::Full,
        _ => ProbeForm::Standard,
    }
}

/// Probes with a progress display on stderr.
fn measure(request: &Request<'_>, stop: &Arc<AtomicBool>, quiet: bool) -> Result<Probe, AppError> {
    let progress = Progress::new(quiet);
    let mut last = None;
    let probe = whole::probe(request, stop, &mut |phase, share| {
        progress.share(share);
        if last.replace(phase) != Some(phase) {
            progress.step(&format!("measuring {}", phase.words()));
        }
    });
    progress.finish();
    probe.map_err(probe_error)
}

/// The program error for a probe's error.
pub fn probe_error(error: ProbeError) -> AppError {
    match error {
        ProbeError::Cpus(_) => AppError::input(error),
        ProbeError::Stopped => AppError::Interrupted(error.to_string()),
        _ => AppError::failed(error),
    }
}

fn tell(args: &ProbeArgs, topology: &Topology, probe: &Probe, hardware: &Hardware) -> Result<(), AppError> {
    let path = args.html.as_deref();
    let created_utc = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let mut document = probe_document(topology, probe, hardware, env!("CARGO_PKG_VERSION"), &created_utc);
    let files = prose!("everything, measured again: {}", Prose::command(screen::again("--all")));
    let next = Prose::command("threadwise watch");
    document.screen = of_document(&document, trust(probe, hardware), next, files);
    let printed = output::print(&match (args.json, args.all) {
        (true, _) => format!("{}\n", json::probe(topology, probe, hardware)),
        (_, true) => format!("{}\n", terminal::probe(topology, probe, hardware, output::style())),
        _ => screen::shown(&document, false),
    });
    output::deliver(printed, path, None, || html::render(&document).map_err(AppError::failed))?;
    output::name_page(path.filter(|_| !args.json))
}

/// How far to trust a probe: it is limited to its own seconds, and to the pairs that it could decide.
fn trust(probe: &Probe, hardware: &Hardware) -> Trust {
    if probe.interrupted {
        let stopped = "It was stopped early: these results were measured, the rest was not.";
        return Trust { level: TrustLevel::Low, reasons: vec![stopped.into()] };
    }
    let seconds = numbers::seconds(probe.duration_s);
    let when = prose!("As measured for {}; a hypervisor may move logical CPUs at any time.", seconds);
    let pairs = hardware.pairs;
    let open = pairs.all() - pairs.agree - pairs.differ;
    if open == 0 {
        return Trust { level: TrustLevel::Good, reasons: vec![when] };
    }
    let pairs = counted(pairs.all() as usize, "pair");
    let open = prose!("{} of {} could not be compared with the reported topology.", grouped(open), pairs);
    Trust { level: TrustLevel::Fair, reasons: vec![open, when] }
}
