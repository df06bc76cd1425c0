//! What several studies have in common and what differs between them: machine, kernel, engine, settings, program, date;
//! and the section that marks what differs and lists the rest in one line.
//!
//! All of it is from the result files. They do not name the machine, so two of one kind look alike.

use crate::Facts;
use crate::diagnostics::neighbours::claimed_costs;
use crate::groups::{distinct, grouped};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use threadwise_document::{Block, Cell, Column, Prose, Section, Table, numbers, prose};
use threadwise_study::{Options, Role, Stopping, Study, Treatment};

/// Part of a study that an aspect belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AspectGroup {
    /// The machine: rates of two studies that differ in it are those of two machines.
    Machine,
    /// What runs below the engine and can change on the same machine: kernel, memory, SMT.
    System,
    /// The engine, its version and its options.
    Engine,
    /// What is run and how: workload, treatments, options, design.
    Study,
    /// The measuring program, and when it ran.
    Program,
}

/// A property that every study has a value of.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Aspect {
    /// Part of the study.
    pub part: AspectGroup,
    /// Its name, such as `CPU model`.
    pub name: String,
    /// Its values, in the order of the studies.
    pub values: Vec<String>,
    /// Whether the studies differ in it.
    pub differs: bool,
}

/// Text for a value that a file does not have.
const UNKNOWN: &str = "unknown";
/// Text for an option that a study does not have.
const NOT_SET: &str = "not set";

/// All aspects of several studies.
pub fn aspects(studies: &[Facts<'_>]) -> Vec<Aspect> {
    let mut all = Vec::new();
    let mut add = |part: AspectGroup, name: &str, value: &dyn Fn(&Facts<'_>) -> String| {
        let values: Vec<String> = studies.iter().map(value).collect();
        let differs = values.windows(2).any(|two| two[0] != two[1]);
        all.push(Aspect { part, name: name.to_owned(), values, differs });
    };
    let mut add_all =
        |part: AspectGroup, named: &[Named], option: &str, options: fn(&Study) -> Vec<&Options>| {
            for (name, value) in named {
                add(part, name, value);
            }
            let keys =
                studies.iter().flat_map(|facts| options(facts.study)).flat_map(|options| options.keys());
            for key in keys.collect::<BTreeSet<_>>() {
                add(part, &format!("{option} {key}"), &|facts| {
                    let values = options(facts.study).into_iter().map(|options| setting(options, key));
                    let values = distinct(values);
                    if values.is_empty() { NOT_SET.to_owned() } else { values.join(", ") }
                });
            }
        };
    add_all(AspectGroup::Machine, &MACHINE, "", |_| Vec::new());
    add_all(AspectGroup::System, &SYSTEM, "", |_| Vec::new());
    add_all(AspectGroup::Engine, &ENGINE, "engine option", |study| vec![&study.engine_options]);
    add_all(AspectGroup::Study, &STUDY, "option", |study| {
        study.treatments.iter().map(|treatment| &treatment.options).collect()
    });
    add_all(AspectGroup::Program, &PROGRAM, "", |_| Vec::new());
    all
}

/// A named value of a study.
type Named = (&'static str, fn(&Facts<'_>) -> String);

const MACHINE: [Named; 7] = [
    ("CPU model", |facts| known(facts.topology.identity.cpu_model.as_deref())),
    ("hypervisor", |facts| {
        facts.topology.identity.hypervisor.clone().unwrap_or_else(|| "none seen".to_owned())
    }),
    ("packages", |facts| facts.topology.packages.len().to_string()),
    ("cores", |facts| facts.topology.cores.len().to_string()),
    ("threads a core", |facts| threads_a_core(facts).to_string()),
    ("NUMA nodes", |facts| facts.topology.numa_nodes.len().to_string()),
    ("allowed logical CPUs", |facts| facts.topology.allowed().to_string()),
];

/// What neighbours did, which changes from hour to hour.
pub const NEIGHBOURS: &str = "neighbours";

const SYSTEM: [Named; 4] = [
    ("kernel", |facts| known(facts.topology.identity.kernel.as_deref())),
    ("memory", |facts| {
        facts.topology.identity.memory_bytes.map_or_else(|| UNKNOWN.to_owned(), numbers::bytes)
    }),
    ("SMT control", |facts| known(facts.topology.identity.smt_control.as_deref())),
    (NEIGHBOURS, |facts| match claimed_costs(facts).first() {
        Some(cost) => format!(
            "{} of the time, and take {} of a session's rate",
            numbers::percent(cost.prevalence.value),
            numbers::percent(1.0 - cost.left.value)
        ),
        None => "no cost shown".to_owned(),
    }),
];

const STUDY: [Named; 6] = [
    ("study", |facts| facts.study.name.clone()),
    ("workload", |facts| facts.study.workload.to_string()),
    ("treatments", |facts| {
        // Each with what decides where it runs.
        let one = |one: &Treatment| format!("{} ({} x {})", one.name, one.placement, one.sessions);
        once(facts.study).map(one).collect::<Vec<_>>().join(", ")
    }),
    ("slices", |facts| {
        let design = &facts.study.design;
        format!(
            "{} of {}",
            numbers::counted(design.rounds as usize, "round"),
            numbers::nanoseconds(design.slice_ns as f64)
        )
    }),
    ("planned", |facts| match facts.study.design.stopping {
        Stopping::Budget { budget_s } => format!("budget {}", numbers::seconds(budget_s)),
        Stopping::Until { half_width, budget_s } => {
            format!("until {} or {}", numbers::set_percent(half_width), numbers::seconds(budget_s))
        }
        Stopping::Blocks { blocks } => format!("{blocks} blocks"),
    }),
    ("margin", |facts| numbers::set_percent(facts.study.design.margin)),
];

const ENGINE: [Named; 2] = [
    ("engine", |facts| facts.study.engine.clone()),
    ("engine version", |facts| known(Some(facts.engine_version))),
];

const PROGRAM: [Named; 2] = [
    ("threadwise", |facts| known(Some(facts.program_version))),
    ("begun", |facts| known(Some(facts.created_utc))),
];

/// The treatments of a study, without the twins of baselines, which are the baseline again.
pub(crate) fn once(study: &Study) -> impl Iterator<Item = &Treatment> {
    study.treatments.iter().filter(|treatment| treatment.role != Role::BaselineTwin)
}

/// Names and values of a result file's machine and of what runs on it below the engine.
pub(crate) fn machine_traits(facts: &Facts<'_>) -> Vec<(String, String)> {
    let all = MACHINE.iter().chain(&SYSTEM).filter(|(name, _)| *name != NEIGHBOURS);
    all.map(|(name, value)| ((*name).to_owned(), value(facts))).collect()
}

/// The most allowed logical CPUs that a core has.
pub fn threads_a_core(facts: &Facts<'_>) -> usize {
    facts.topology.cores.iter().map(|core| core.cpus.len()).max().unwrap_or(0)
}

fn known(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or(UNKNOWN).to_owned()
}

fn setting(options: &Options, key: &str) -> String {
    options.get(key).map_or_else(|| NOT_SET.to_owned(), ToString::to_string)
}

/// What distinguishes two treatments of the same name, in words; empty if they do the same.
pub fn apart(one: &Treatment, other: &Treatment) -> Vec<String> {
    let pair = |name: &str, value: &dyn Fn(&Treatment) -> String| {
        let values = [value(one), value(other)];
        (values[0] != values[1]).then(|| format!("{name}: {} against {}", values[0], values[1]))
    };
    let keys: BTreeSet<&String> = one.options.keys().chain(other.options.keys()).collect();
    let options =
        keys.into_iter().map(|key| pair(&format!("the option '{key}'"), &|one| setting(&one.options, key)));
    [
        pair("the placement", &|one| one.placement.text.clone()),
        pair("the number of sessions", &|one| one.sessions.to_string()),
        pair("the memory policy", &|one| one.memory.to_string()),
        pair("the arm", &|one| one.arm.to_string()),
        pair("the binding", &|one| format!("{:?}", one.pin).to_lowercase()),
    ]
    .into_iter()
    .chain(options)
    .flatten()
    .collect()
}

/// Whether some of these studies are from different machines, by their files.
pub fn machines_differ(aspects: &[Aspect]) -> bool {
    aspects.iter().any(|aspect| aspect.part == AspectGroup::Machine && aspect.differs)
}

/// Marks the name of what differs.
const MARK: &str = "≠";
/// Longest value in a cell, in characters; JSON has the whole value.
const MOST: usize = 60;

/// The section; each column has its heading and the numbers of its studies, from 0.
pub fn section(aspects: &[Aspect], columns: &[(String, Vec<usize>)]) -> Section {
    let (differing, same): (Vec<&Aspect>, Vec<&Aspect>) = aspects.iter().partition(|aspect| aspect.differs);
    let mut blocks = Vec::new();
    if !differing.is_empty() {
        let row = |aspect: &&Aspect| {
            let values = columns.iter().map(|(_, studies)| Cell::Text(value(aspect, studies)));
            std::iter::once(Cell::Text(format!("{MARK} {}", aspect.name))).chain(values).collect()
        };
        let headings = columns.iter().map(|(heading, _)| Column::text(heading));
        let columns = std::iter::once(Column::text("what differs")).chain(headings).collect();
        blocks.push(Block::Table(Table::new("", columns, differing.iter().map(row))));
    }
    if !same.is_empty() {
        let one = |aspect: &&Aspect| {
            let value = aspect.values.first().map_or("", String::as_str);
            Prose::from(format!("{} {}", aspect.name, shortened(value)))
        };
        blocks.push(Block::text(prose!("The same: {}.", Prose::join(same.iter().map(one), "; "))));
    }
    Section::new("differs", "What differs and what is the same", blocks)
}

/// The value that some studies have, or each of several with the numbers of its studies.
fn value(aspect: &Aspect, studies: &[usize]) -> String {
    let short: Vec<String> =
        aspect.values.iter().map(|value| without_common(value, &aspect.values)).collect();
    let value = |at: &usize| short.get(*at).map_or("", String::as_str);
    let values = grouped(studies.iter().map(|at| (value(at), (at + 1).to_string())));
    if let [(one, _)] = values.as_slice() {
        return shortened(one);
    }
    let with_numbers =
        values.iter().map(|(one, numbers)| format!("{} ({})", shortened(one), numbers.join(", ")));
    with_numbers.collect::<Vec<_>>().join(", ")
}

/// A value; of a list too long for a cell only the part that not all values have.
fn without_common(value: &str, all: &[String]) -> String {
    if value.chars().count() <= MOST {
        return value.to_owned();
    }
    let is_in_all = |item: &&str| all.iter().all(|other| other.split(", ").any(|one| one == *item));
    let (same, others): (Vec<&str>, Vec<&str>) = value.split(", ").partition(is_in_all);
    match (same.is_empty(), others.is_empty()) {
        (true, _) => value.to_owned(),
        (false, true) => "only those of all".to_owned(),
        (false, false) => format!("also {}", others.join(", ")),
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_shown_by_what_differs() {
        let common: Vec<String> = (0..20).map(|at| format!("treatment-{at}")).collect();
        let common = common.join(", ");
        let values = vec![format!("{common}, x"), common.clone(), "y".to_owned() + ", " + &common];
        let aspect =
            Aspect { part: AspectGroup::Study, name: "treatments".to_owned(), values, differs: true };
        assert_eq!(value(&aspect, &[0]), "also x");
        assert_eq!(value(&aspect, &[1]), "only those of all");
        assert_eq!(value(&aspect, &[0, 2]), "also x (1), also y (3)");
        assert_eq!(shortened(&common).chars().count(), MOST);
        let short = Aspect { values: vec!["6.1".to_owned(), "6.2".to_owned()], ..aspect };
        assert_eq!((value(&short, &[0]), value(&short, &[1])), ("6.1".to_owned(), "6.2".to_owned()));
    }
}
