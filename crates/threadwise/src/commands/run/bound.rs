//! Servers that are bound as a whole: whether that is possible here, decided before anything is changed.
//!
//! Such a server has one machine-wide setting for all its threads, so it is changed only if its logical CPUs are surely
//! this machine's, and nothing else uses it.

use crate::engines;
use crate::error::AppError;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_engine::Engine;
use threadwise_engine::server_cpus::ServerCpus;
use threadwise_machine::pin::thread_affinity;
use threadwise_machine::{CpuSet, Topology};
use threadwise_process::proc;
use threadwise_study::engine::{AFFINITY, AFFINITY_KEEP, AFFINITY_SET};
use threadwise_study::{OptionValue, Study, plan_block};

/// Number of blocks whose placements are checked.
const BLOCKS: u32 = 8;

/// The decision for a study.
pub struct Decided {
    /// Value of the engine option [`AFFINITY`].
    pub word: &'static str,
    /// The plan's line about it.
    pub remark: Option<String>,
}

/// Whether the server must be asked for its logical CPUs.
pub fn is_asked(study: &Study) -> bool {
    engine(study).is_some()
}

/// The engine of the user's server that is bound as a whole.
fn engine(study: &Study) -> Option<&'static dyn Engine> {
    engines::find(&study.engine).filter(|engine| engine.binds_whole() && study.is_users_server())
}

/// Whether a new study binds its server; `None` if its engine cannot.
///
/// # Errors
/// It was requested and is not possible; other sessions use the server; or it cannot be asked.
pub fn decide(study: &Study, topology: &Topology, allow_busy: bool) -> Result<Option<Decided>, AppError> {
    let Some(engine) = engine(study) else { return Ok(None) };
    let asked = match study.engine_options.get(AFFINITY) {
        Some(OptionValue::Text(word)) => word.as_str(),
        _ => "auto",
    };
    let keep = |remark| Ok(Some(Decided { word: AFFINITY_KEEP, remark }));
    if asked == AFFINITY_KEEP || (asked != AFFINITY_SET && is_everywhere(study, topology)?) {
        return keep(None);
    }
    let server = ask(engine, study)?;
    match (fits(&server, topology, engine), asked) {
        (Ok(()), _) => {}
        (Err(why), AFFINITY_SET) => {
            return Err(AppError::Refused(format!("the server cannot be bound to placements: {why}")));
        }
        (Err(why), _) => return keep(Some(format!("Server: not placed: {why}"))),
    }
    alone(&server, allow_busy)?;
    let now = if server.is_auto { "automatic".to_owned() } else { server.online.to_string() };
    let remark = format!(
        "Server: its own CPU affinity, now {now}, is set to each treatment's logical CPUs for the treatment's runs and \
         restored at the end; other clients are limited to them meanwhile (--engine-option {AFFINITY}=keep leaves it)"
    );
    Ok(Some(Decided { word: AFFINITY_SET, remark: Some(remark) }))
}

/// Checks again before a study that binds its server continues.
///
/// # Errors
/// It cannot be bound now, or other sessions use it.
pub fn again(study: &Study, topology: &Topology, allow_busy: bool) -> Result<(), AppError> {
    let Some(engine) = engine(study).filter(|_| study.binds_server()) else { return Ok(()) };
    let server = ask(engine, study)?;
    fits(&server, topology, engine)
        .map_err(|why| AppError::Refused(format!("the server cannot be bound to placements: {why}")))?;
    alone(&server, allow_busy)
}

fn ask(engine: &dyn Engine, study: &Study) -> Result<ServerCpus, AppError> {
    let server = engine.server_cpus(&study.engine_options).map_err(|error| AppError::engine(&error))?;
    server.ok_or_else(|| AppError::Failed(format!("{} does not report its logical CPUs", study.engine)))
}

/// Whether every treatment has all logical CPUs, so that there is nothing to bind.
fn is_everywhere(study: &Study, topology: &Topology) -> Result<bool, AppError> {
    let allowed = topology.allowed();
    for block in 0..BLOCKS {
        let plan = plan_block(study, topology, block).map_err(AppError::refused)?;
        if plan.placements.iter().any(|placed| placed.set() != allowed) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Refuses if other sessions would lose logical CPUs.
fn alone(server: &ServerCpus, allow_busy: bool) -> Result<(), AppError> {
    if server.others == 0 || allow_busy {
        return Ok(());
    }
    let (are, more) = if server.others == 1 { ("is", "") } else { ("are", "s") };
    let who = server.who.join(", ");
    let and = if server.others as usize > server.who.len() { ", …" } else { "" };
    Err(AppError::Refused(format!(
        "{} other session{more} {are} connected to the server, which would be bound for all of them: {who}{and}; wait \
         until it is free, or give --engine-option {AFFINITY}=keep, or --allow-busy",
        server.others
    )))
}

/// Checks that the server's logical CPUs are this machine's, as far as it and the system show.
fn fits(server: &ServerCpus, topology: &Topology, engine: &dyn Engine) -> Result<(), String> {
    if let Some(why) = &server.why_not {
        return Err(why.clone());
    }
    is_this_machine(server, topology)?;
    let servers = engine.known_by().servers;
    let is_server = |pid: &u32| {
        !proc::has_ended(*pid) && proc::comm(*pid).is_some_and(|comm| servers.contains(&comm.as_str()))
    };
    let masks: Vec<CpuSet> = proc::processes()
        .into_iter()
        .filter(is_server)
        .filter_map(|pid| thread_affinity(pid, pid).ok())
        .collect();
    let all = masks.iter().fold(CpuSet::new(), |all, mask| all.union(mask));
    let cpus: CpuSet = server.cpus.iter().map(|one| one.cpu).collect();
    match () {
        () if masks.is_empty() => Err(format!("this machine has no process {}", servers.join(" or "))),
        // In a container it may count its logical CPUs from 0.
        () if server.is_auto && !cpus.is_subset(&all) => Err(format!(
            "its process may run on logical CPUs {all}, but it reports {cpus}, so that its numbers are not this \
             machine's"
        )),
        () => Ok(()),
    }
}

/// Checks that its logical CPUs and memory nodes match this machine's.
fn is_this_machine(server: &ServerCpus, topology: &Topology) -> Result<(), String> {
    let cpus: CpuSet = server.cpus.iter().map(|one| one.cpu).collect();
    let allowed = topology.allowed();
    if !allowed.is_subset(&cpus) {
        let missing = allowed.difference(&cpus);
        return Err(format!(
            "it can use logical CPUs {cpus}, but {missing} of those allowed here are not among them; bind \
             threadwise with taskset to those that both have"
        ));
    }
    let node_of: BTreeMap<u32, Option<u32>> =
        topology.logical_cpus.iter().map(|cpu| (cpu.os_id, cpu.numa_node)).collect();
    let pairs: BTreeSet<(u32, u32)> = server
        .cpus
        .iter()
        .filter_map(|one| Some((one.node, node_of.get(&one.cpu).copied().flatten()?)))
        .collect();
    let theirs: BTreeSet<u32> = pairs.iter().map(|(theirs, _)| *theirs).collect();
    let ours: BTreeSet<u32> = pairs.iter().map(|(_, ours)| *ours).collect();
    match pairs.len() == theirs.len() && pairs.len() == ours.len() {
        true => Ok(()),
        false => Err(format!(
            "it reports that its logical CPUs are on {} memory nodes, and here they are on {}, divided otherwise, so that it \
             seems to run on another machine",
            theirs.len(),
            ours.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_engine::server_cpus::ServerCpu;
    use threadwise_machine::topology::LogicalCpu;

    /// Logical CPUs with their nodes.
    fn machine(nodes: &[(u32, u32)]) -> Topology {
        let cpu = |&(os_id, node): &(u32, u32)| LogicalCpu {
            os_id,
            numa_node: Some(node),
            allowed: true,
            online: true,
            ..LogicalCpu::default()
        };
        Topology { logical_cpus: nodes.iter().map(cpu).collect(), ..Topology::default() }
    }

    fn server(nodes: &[(u32, u32)]) -> ServerCpus {
        ServerCpus {
            cpus: nodes.iter().map(|&(cpu, node)| ServerCpu { cpu, node }).collect(),
            online: nodes.iter().map(|(cpu, _)| *cpu).collect(),
            is_auto: true,
            why_not: None,
            others: 0,
            who: Vec::new(),
        }
    }

    #[test]
    fn logical_cpus_of_another_machine_are_known_by_their_numbers_and_nodes() {
        let ours = machine(&[(0, 0), (1, 1), (2, 0), (3, 1)]);
        // Whatever numbers its nodes have.
        assert_eq!(is_this_machine(&server(&[(0, 7), (1, 0), (2, 7), (3, 0)]), &ours), Ok(()));
        // It may have more than are allowed here.
        assert_eq!(is_this_machine(&server(&[(0, 0), (1, 1), (2, 0), (3, 1), (4, 0)]), &ours), Ok(()));
        let why = |nodes: &[(u32, u32)]| is_this_machine(&server(nodes), &ours).unwrap_err();
        assert!(why(&[(0, 0), (1, 1), (2, 0)]).contains("but 3 of those"), "{}", why(&[(0, 0)]));
        assert!(why(&[(0, 0), (1, 0), (2, 1), (3, 1)]).contains("another machine"));
        assert!(why(&[(0, 0), (1, 0), (2, 0), (3, 0)]).contains("on 1 memory nodes"));
    }

    #[test]
    fn sessions_of_others_are_named_and_may_be_allowed() {
        let busy = ServerCpus { others: 4, who: vec!["'ann' by 'shop'".into()], ..server(&[(0, 0)]) };
        let message = alone(&busy, false).unwrap_err().to_string();
        for part in ["4 other sessions are", "'ann' by 'shop', …", "affinity=keep", "--allow-busy"] {
            assert!(message.contains(part), "{message}");
        }
        assert!(alone(&busy, true).is_ok() && alone(&server(&[(0, 0)]), false).is_ok());
    }
}
