//! What was run, on what, in one line.

use crate::Facts;
use crate::findings::machine::{declares_siblings, guest, has_allowed_siblings};
use crate::kinds;
use threadwise_document::numbers::counted;
use threadwise_document::screen::{WIDTH, cut};
use threadwise_machine::Topology;
use threadwise_study::version;

/// `Cached reads of two sessions on sqlite 3.54.1: KVM guest, AMD EPYC, 2 logical CPUs, siblings hidden`. If the line
/// would be too long, the title loses the part after its colon, unless that says what two versions are, and the machine its
/// processor; at last the line is cut.
pub fn subject(facts: &Facts<'_>) -> String {
    let title = kinds::of(facts.study).title(facts.study);
    let short = title.split_once(": ").map_or(title.as_str(), |(short, _)| short);
    let whose = if facts.study.is_users_server() { "your " } else { "" };
    let engine = format!("{whose}{} {}", facts.study.engine, facts.engine_version);
    let engine = engine.trim();
    let simulated = if facts.is_simulated() { "SIMULATED: " } else { "" };
    // A command is an engine of its own.
    let on = if facts.study.runs_whole() { String::new() } else { format!(" on {engine}") };
    let (whole, bare) = (machine(facts.topology, true), machine(facts.topology, false));
    // What two versions are is in their title alone.
    let short = if version::are_compared(facts.study) { title.as_str() } else { short };
    let lines = [
        format!("{simulated}{title}{on}: {whole}"),
        format!("{simulated}{short}{on}: {whole}"),
        format!("{simulated}{short}{on}: {bare}"),
        format!("{simulated}{short} on {}: {bare}", facts.study.engine),
        format!("{simulated}{short}{on}"),
        format!("{simulated}{short}"),
    ];
    let fits = |line: &&String| line.chars().count() <= WIDTH;
    match lines.iter().find(fits) {
        Some(line) => line.clone(),
        None => cut(&lines[lines.len() - 1]),
    }
}

/// The machine in a few words, with or without its processor.
pub fn machine(topology: &Topology, with_processor: bool) -> String {
    let identity = &topology.identity;
    let mut parts: Vec<String> = identity.hypervisor.iter().map(|name| guest(name)).collect();
    parts.extend(identity.cpu_model.clone().filter(|_| with_processor));
    let (cpus, cores) = (topology.allowed().len(), topology.cores.len());
    parts.push(counted(cpus, "logical CPU"));
    parts.push(match () {
        () if has_allowed_siblings(topology) => format!("{} with SMT", counted(cores, "core")),
        () if declares_siblings(topology) => "one thread of each core".to_owned(),
        () if identity.hypervisor.is_some() => "siblings hidden".to_owned(),
        () => "no SMT".to_owned(),
    });
    parts.join(", ")
}
