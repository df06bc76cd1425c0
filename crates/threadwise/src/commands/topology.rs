//! `threadwise topology`: the machine as the system reports it.

use crate::cli::TopologyArgs;
use crate::error::AppError;
use crate::output;
use std::path::Path;
use threadwise_machine::topology::TopologyError;
use threadwise_machine::{
    Draw, Pin, Placement, PlacementError, Topology, hypervisor, pin, placement, topology,
};
use threadwise_report::json::PlacementHere;

/// Prints the machine, or records it.
pub fn topology(args: &TopologyArgs) -> Result<(), AppError> {
    if let Some(to) = &args.capture {
        output::check_new(to)?;
        let summary = topology::capture(&args.root, to).map_err(AppError::input)?;
        return output::print(&format!(
            "{} files recorded in {}: review them before you send them\n",
            summary.files,
            to.display()
        ));
    }
    let asked: Vec<Placement> = args
        .placement
        .iter()
        .map(|text| {
            text.parse::<Placement>().map_err(|error| AppError::Input(format!("--placement: {error}")))
        })
        .collect::<Result<_, _>>()?;
    let topology = if args.root == Path::new("/") { live()? } else { recorded(&args.root)? };
    let placements = asked.iter().map(|one| here(one, &topology)).collect::<Result<Vec<_>, _>>()?;
    if args.json {
        return output::print(&format!("{}\n", threadwise_report::json::topology(&topology, &placements)));
    }
    let style = output::style();
    let mut text = format!(
        "{}\n\n{}\n",
        threadwise_report::terminal::topology_line(&topology),
        threadwise_report::terminal::drawing(&topology, style)
    );
    if !placements.is_empty() {
        text.push_str("\nplacements, unless a block draws other cores\n");
    }
    for (PlacementHere { placement, cpus }, parsed) in placements.iter().zip(&asked) {
        let remark = placement::remark(parsed, &topology).filter(|_| cpus.is_ok());
        let remark = remark.map_or(String::new(), |remark| format!("; {remark}"));
        let cpus = cpus
            .as_ref()
            .map_or_else(|lacks| format!("not here: {lacks}"), |cpus| format!("logical CPUs {cpus}"));
        text.push_str(&format!("  {placement:<18} {cpus}{remark}\n"));
    }
    output::print(&text)
}

/// The logical CPUs of a placement without a draw, or why this machine lacks it.
pub fn here(asked: &Placement, topology: &Topology) -> Result<PlacementHere, AppError> {
    let cpus = match placement::resolve(asked, topology, &Draw::identity(topology), 2, Pin::Each) {
        Ok(resolved) => Ok(resolved.set()),
        Err(PlacementError::Lacking { lacks, .. }) => Err(lacks),
        Err(error) => return Err(AppError::Input(error.to_string())),
    };
    Ok(PlacementHere { placement: asked.text.clone(), cpus })
}

/// This machine, with the limits of this process.
pub fn live() -> Result<Topology, AppError> {
    let affinity = pin::current_affinity()
        .map_err(|error| AppError::Failed(format!("cannot read this process's CPU affinity: {error}")))?;
    let mut topology = Topology::read(Path::new("/"), Some(&affinity)).map_err(|error| match error {
        TopologyError::NoSys { .. } => AppError::Failed(
            "/sys/devices/system/cpu does not exist: mount sysfs (mount -t sysfs sysfs /sys), or run outside the chroot".to_owned(),
        ),
        error => AppError::failed(error),
    })?;
    // sysfs shows that there is a hypervisor and often not which; the processor knows.
    if topology.identity.hypervisor.is_some()
        && let Some(name) = hypervisor::live()
    {
        topology.identity.hypervisor = Some(name.to_owned());
    }
    Ok(topology)
}

fn recorded(root: &Path) -> Result<Topology, AppError> {
    Topology::read(root, None).map_err(AppError::input)
}
