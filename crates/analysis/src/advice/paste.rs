//! Lines that put advice into effect, in the syntax of the measured engine and of the operating system.
//!
//! Those of engines are data (`crate::engine_lines`). Sources of the others: taskset(1); systemd.exec(5) (`CPUAffinity=`);
//! numactl(8); the kernel's Documentation/ABI/testing/sysfs-devices-system-cpu (`smt/control`); AWS "CPU options" and Google
//! Cloud "Set the number of threads per core".

use super::{locality, sessions, words};
use crate::Facts;
use crate::choices::{Axis, Candidate, Choice};
use crate::engine_lines;
use threadwise_document::Paste;
use threadwise_machine::{CpuSet, Memory};

/// The lines of a decided choice; none if nothing has to be changed.
pub fn lines(facts: &Facts<'_>, choice: &Choice) -> Vec<Paste> {
    // A bound for latency comes before throughput.
    let Some(chosen) = sessions::to_use(facts, choice).filter(|_| !facts.is_simulated()) else {
        return Vec::new();
    };
    // A line to paste would be a bound that was not measured. No more than the logical CPUs work at once, however many
    // are requested, so a degree of parallelism has a known end.
    let is_all = choice.axis == Axis::Dop && chosen.number as usize >= facts.topology.allowed().len();
    if words::is_most_tried(choice, chosen) && !is_all {
        return Vec::new();
    }
    let number = chosen.number;
    match choice.axis {
        Axis::Placement if words::binds_a_server(facts) => mask(facts, choice, chosen),
        Axis::Placement => locality::lines(facts, chosen),
        Axis::Smt if choice.candidates.first() == Some(chosen) => one_thread(facts),
        Axis::Memory if is_interleaved(facts, chosen) => {
            let settings = engine_lines::lines(words::about(Axis::Memory), &facts.study.engine).into_iter();
            let settings = settings.map(|(place, line)| Paste::new(place, line.to_owned()));
            settings.chain([Paste::new("shell", "numactl --interleave=all COMMAND".to_owned())]).collect()
        }
        axis => {
            let less = number.saturating_sub(1).to_string();
            let text = |text: &str| text.replace("{n}", &number.to_string()).replace("{less}", &less);
            let found = engine_lines::lines(words::about(axis), &engine(facts, choice.axis, chosen));
            found.into_iter().map(|(place, line)| Paste::new(place, text(line))).collect()
        }
    }
}

/// The engine whose settings are meant; for jobs the recipe.
fn engine(facts: &Facts<'_>, axis: Axis, chosen: &Candidate) -> String {
    let recipe =
        || facts.study.treatment(&chosen.treatment)?.1.options.get("recipe").map(ToString::to_string);
    match axis {
        Axis::Jobs => recipe().unwrap_or_default(),
        _ => facts.study.engine.clone(),
    }
}

/// Memory on the node of the thread that touches it first is the default of every process.
fn is_interleaved(facts: &Facts<'_>, chosen: &Candidate) -> bool {
    let found = facts.study.treatment(&chosen.treatment);
    found.is_some_and(|(_, treatment)| treatment.memory == Memory::Interleave)
}

/// The mask of a running server; none if it needs no change, or if its logical CPUs differed between blocks.
fn mask(facts: &Facts<'_>, choice: &Choice, chosen: &Candidate) -> Vec<Paste> {
    if choice.candidates.first() == Some(chosen) {
        return Vec::new();
    }
    let mut masks = facts
        .runs
        .iter()
        .filter(|run| run.treatment == chosen.treatment)
        .map(|run| run.cpus.iter().copied().collect::<CpuSet>());
    let Some(first) = masks.next().filter(|first| masks.all(|mask| mask == *first)) else {
        return Vec::new();
    };
    vec![
        Paste::new("systemd unit", format!("CPUAffinity={first}")),
        Paste::new("shell, until it is started again", format!("taskset -acp {first} PID")),
    ]
}

/// One thread of every core: by a mask, by switching SMT off, and by the instance type.
fn one_thread(facts: &Facts<'_>) -> Vec<Paste> {
    let firsts: CpuSet = facts.topology.cores.iter().filter_map(|core| core.cpus.iter().next()).collect();
    let mut all = vec![
        Paste::new("shell, a running server", format!("taskset -acp {firsts} PID")),
        Paste::new("systemd unit", format!("CPUAffinity={firsts}")),
    ];
    match &facts.topology.identity.hypervisor {
        Some(_) => all.push(Paste::new("instance", "threads_per_core=1".to_owned())),
        None => {
            all.push(Paste::new(
                "root, whole machine",
                "echo off > /sys/devices/system/cpu/smt/control".to_owned(),
            ));
        }
    }
    all
}
