//! The status of SMT, logical CPUs and clocks as text and as JSON.

use crate::output::json_string as quoted;
use std::collections::BTreeMap;
use std::fmt::Write;
use threadwise_machine::CpuSet;
use threadwise_machine::text::escaped;
use threadwise_smt::left::Holder;
use threadwise_smt::status::OfflineBy;
use threadwise_smt::{Abilities, Status};

/// The process that switched something.
fn holder(holder: Holder) -> String {
    match holder {
        Holder::Living(pid) => format!("by process {pid}, which restores it when it ends"),
        Holder::Killed => "by a killed process; to restore it: threadwise restore".to_owned(),
        Holder::Kept => "by threadwise smt, until threadwise restore".to_owned(),
    }
}

/// The abilities with their names.
fn named(abilities: &Abilities) -> [(&'static str, &'static str, &Result<(), String>); 4] {
    let Abilities { system, offline, turbo, governor } = abilities;
    [
        ("system", "smt off", system),
        ("offline", "smt off --offline", offline),
        ("turbo", "turbo", turbo),
        ("governor", "governor", governor),
    ]
}

/// Cores by how many logical CPUs they have online: `4 cores of 2 logical CPUs: 0,4 1,5 …`.
fn cores(cores: &[CpuSet]) -> String {
    const SHOWN: usize = 8;
    let mut by_size: BTreeMap<usize, Vec<&CpuSet>> = BTreeMap::new();
    for core in cores {
        by_size.entry(core.len()).or_default().push(core);
    }
    let line = |(size, cores): (usize, Vec<&CpuSet>)| {
        let shown: Vec<String> = cores.iter().take(SHOWN).map(ToString::to_string).collect();
        let more = if cores.len() > SHOWN { " …" } else { "" };
        let plural = |number: usize| if number == 1 { "" } else { "s" };
        format!(
            "{} core{} of {size} logical CPU{}: {}{more}",
            cores.len(),
            plural(cores.len()),
            plural(size),
            shown.join(" ")
        )
    };
    by_size.into_iter().rev().map(line).collect::<Vec<_>>().join("; ")
}

pub fn text(status: &Status) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<18} {}", escaped(value));
    };
    let active = match status.is_active {
        Some(true) => ", active",
        Some(false) => ", not active: no core has two logical CPUs online",
        None => "",
    };
    let control = status.control.as_deref().unwrap_or("not supported by this kernel");
    line("smt/control", &format!("{control}{active}"));
    line("cores", &cores(&status.cores));
    let mut by: BTreeMap<&str, CpuSet> = BTreeMap::new();
    for (&cpu, offline) in &status.offline {
        by.entry(offline.text()).or_default().insert(cpu);
    }
    let offline: Vec<String> = by.iter().map(|(by, cpus)| format!("{cpus} {by}")).collect();
    line("offline", if offline.is_empty() { "none".to_owned() } else { offline.join("; ") }.as_str());
    if let Some(turbo) = &status.turbo {
        line("turbo", &format!("{} ({})", if turbo.is_on { "on" } else { "off" }, turbo.file));
    }
    if !status.governors.is_empty() {
        let policies = |(name, policies): (&String, &CpuSet)| format!("{name} (policies {policies})");
        line("governor", &status.governors.iter().map(policies).collect::<Vec<_>>().join("; "));
    }
    if let Some(switched) = status.holder {
        line("switched", &holder(switched));
    }
    text.push_str("\nwhat can be switched here\n");
    for (_, name, ability) in named(&status.abilities) {
        let said = match ability {
            Ok(()) => "yes",
            Err(why) => why,
        };
        let _ = writeln!(text, "{name:<18} {}", escaped(said));
    }
    text
}

/// The same as JSON.
pub fn json(status: &Status) -> String {
    let (kind, pid) = match status.holder {
        None => ("null".to_owned(), None),
        Some(Holder::Living(pid)) => (quoted("process"), Some(pid)),
        Some(Holder::Killed) => (quoted("killed"), None),
        Some(Holder::Kept) => (quoted("kept"), None),
    };
    let offline =
        |(cpu, by): (&u32, &OfflineBy)| format!("{{\"os_id\": {cpu}, \"by\": {}}}", quoted(by.word()));
    let governor = |(name, policies): (&String, &CpuSet)| {
        format!("{{\"name\": {}, \"policies\": {}}}", quoted(name), quoted(&policies.to_string()))
    };
    let ability = |(name, _, ability): (&str, &str, &Result<(), String>)| {
        let why = ability.as_ref().err().map_or("null".to_owned(), |why| quoted(why));
        format!("{}: {{\"possible\": {}, \"why\": {why}}}", quoted(name), ability.is_ok())
    };
    let turbo = status.turbo.as_ref().map_or("null".to_owned(), |turbo| {
        format!("{{\"on\": {}, \"file\": {}}}", turbo.is_on, quoted(turbo.file))
    });
    let list = |items: Vec<String>| items.join(", ");
    format!(
        "{{\"version\": 1, \"control\": {}, \"active\": {}, \"cores\": [{}], \"offline\": [{}], \"turbo\": {turbo}, \
         \"governors\": [{}], \"switched_by\": {kind}, \"switched_by_pid\": {}, \"can\": {{{}}}}}\n",
        status.control.as_deref().map_or("null".to_owned(), quoted),
        status.is_active.map_or("null".to_owned(), |active| active.to_string()),
        list(status.cores.iter().map(|core| quoted(&core.to_string())).collect()),
        list(status.offline.iter().map(offline).collect()),
        list(status.governors.iter().map(governor).collect()),
        pid.map_or("null".to_owned(), |pid| pid.to_string()),
        list(named(&status.abilities).into_iter().map(ability).collect()),
    )
}
