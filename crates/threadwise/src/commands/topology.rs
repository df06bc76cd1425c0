//! `threadwise topology`: the machine as the system reports it.

use crate::cli::TopologyArgs;
use crate::error::AppError;
use crate::output;
use std::path::Path;
use threadwise_machine::topology::TopologyError;
use threadwise_machine::{
    Draw, Pin, Placement, PlacementError, Resolved, Topology, hypervisor, pin, placement, topology,
};
use threadwise_report::json::PlacementCpus;
use threadwise_report::picture::Sessions;
use threadwise_report::{html, terminal};
use threadwise_study::load::default_sessions;

/// Prints the machine, draws it, or records it.
pub fn topology(args: &TopologyArgs) -> Result<(), AppError> {
    args.svg.as_deref().map_or(Ok(()), output::check_new)?;
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
    let resolved =
        if args.draw || args.svg.is_some() { drawn(&asked, args.sessions, &topology)? } else { None };
    let sessions = resolved.as_ref().zip(asked.first());
    let sessions = sessions.map(|(resolved, asked)| Sessions { placement: &asked.text, resolved });
    let text = match args.draw {
        true => format!("{}\n", terminal::boxes(&topology, sessions.as_ref(), output::style())),
        false => described(args, &asked, &topology)?,
    };
    let path = args.svg.as_deref();
    output::deliver(output::print(&text), path, None, || {
        html::picture(&topology, sessions.as_ref()).map_err(AppError::failed)
    })?;
    let path = path.filter(|_| !args.json);
    path.map_or(Ok(()), |path| output::print(&format!("Picture: {}\n", path.display())))
}

/// The machine as text or JSON, with the logical CPUs of placements.
fn described(args: &TopologyArgs, asked: &[Placement], topology: &Topology) -> Result<String, AppError> {
    let placements = asked.iter().map(|one| placement_cpus(one, topology)).collect::<Result<Vec<_>, _>>()?;
    if args.json {
        return Ok(format!("{}\n", threadwise_report::json::topology(topology, &placements)));
    }
    let drawing = terminal::drawing(topology, output::style());
    let mut text = format!("{}\n\n{drawing}\n", terminal::topology_line(topology));
    if !placements.is_empty() {
        text.push_str("\nplacements, unless a block draws other cores\n");
    }
    for (PlacementCpus { placement, cpus }, parsed) in placements.iter().zip(asked) {
        let remark = placement::remark(parsed, topology).filter(|_| cpus.is_ok());
        let remark = remark.map_or(String::new(), |remark| format!("; {remark}"));
        let cpus = cpus
            .as_ref()
            .map_or_else(|lacks| format!("not here: {lacks}"), |cpus| format!("logical CPUs {cpus}"));
        text.push_str(&format!("  {placement:<18} {cpus}{remark}\n"));
    }
    Ok(text)
}

/// The placement of a picture on this machine, if there is one.
fn drawn(
    asked: &[Placement],
    sessions: Option<u32>,
    topology: &Topology,
) -> Result<Option<Resolved>, AppError> {
    let placement = match asked {
        [] => return Ok(None),
        [placement] => placement,
        _ => return Err(AppError::Input("a drawing shows one placement: give --placement once".to_owned())),
    };
    let sessions = sessions.map_or_else(|| default_sessions(placement, topology), Ok);
    let resolved = sessions.and_then(|sessions| {
        placement::resolve(placement, topology, &Draw::identity(topology), sessions, Pin::Each)
    });
    resolved.map(Some).map_err(AppError::input)
}

/// The logical CPUs of a placement without a draw, or why this machine lacks it.
pub fn placement_cpus(asked: &Placement, topology: &Topology) -> Result<PlacementCpus, AppError> {
    let cpus = match placement::resolve(asked, topology, &Draw::identity(topology), 2, Pin::Each) {
        Ok(resolved) => Ok(resolved.set()),
        Err(PlacementError::Lacking { lacks, .. }) => Err(lacks),
        Err(error) => return Err(AppError::Input(error.to_string())),
    };
    Ok(PlacementCpus { placement: asked.text.clone(), cpus })
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
