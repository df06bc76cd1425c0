//! What several studies have in common and what differs between them: machine, kernel, engine, settings, program, date.
//!
//! All of it is from the result files. They name no machine, so that two of one kind look alike.

use crate::Facts;
use crate::groups::distinct;
use serde::Serialize;
use std::collections::BTreeSet;
use threadwise_document::numbers;
use threadwise_study::{Options, Role, Stopping, Study};

/// What an aspect is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The machine: what makes rates of two studies those of two machines.
    Machine,
    /// What runs on it below the engine, and can be changed without another machine: kernel, memory, SMT.
    System,
    /// The engine, its version and its options.
    Engine,
    /// What is run and how: workload, treatments, options, design.
    Study,
    /// The program that measured, and when.
    Program,
}

/// Something that every study has a value of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Aspect {
    /// What it is of.
    pub part: Part,
    /// Its name, such as `CPU model`.
    pub name: String,
    /// Its values, in the order of the studies.
    pub values: Vec<String>,
}

impl Aspect {
    /// Whether the studies differ in it.
    pub fn differs(&self) -> bool {
        self.values.windows(2).any(|two| two[0] != two[1])
    }
}

/// What is said of a value that a file does not have.
const UNKNOWN: &str = "unknown";
/// What is said of an option that a study does not have.
const NOT_SET: &str = "not set";

/// All aspects of several studies.
pub fn aspects(studies: &[Facts<'_>]) -> Vec<Aspect> {
    let mut all = Vec::new();
    let mut add = |part: Part, name: &str, value: &dyn Fn(&Facts<'_>) -> String| {
        all.push(Aspect { part, name: name.to_owned(), values: studies.iter().map(value).collect() });
    };
    for (name, value) in MACHINE {
        add(Part::Machine, name, &|facts| value(facts));
    }
    for (name, value) in SYSTEM {
        add(Part::System, name, &|facts| value(facts));
    }
    add(Part::Engine, "engine", &|facts| facts.study.engine.clone());
    add(Part::Engine, "engine version", &|facts| known(Some(facts.engine_version)));
    for key in keys(studies, |study| vec![&study.engine_options]) {
        add(Part::Engine, &format!("engine option {key}"), &|facts| {
            setting(&key, &[&facts.study.engine_options])
        });
    }
    for (name, value) in STUDY {
        add(Part::Study, name, &|facts| value(facts));
    }
    for key in keys(studies, workload_options) {
        add(Part::Study, &format!("option {key}"), &|facts| setting(&key, &workload_options(facts.study)));
    }
    add(Part::Program, "threadwise", &|facts| known(Some(facts.program_version)));
    add(Part::Program, "begun", &|facts| known(Some(facts.created_utc)));
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

const SYSTEM: [Named; 3] = [
    ("kernel", |facts| known(facts.topology.identity.kernel.as_deref())),
    ("memory", |facts| {
        facts.topology.identity.memory_bytes.map_or_else(|| UNKNOWN.to_owned(), numbers::bytes)
    }),
    ("SMT control", |facts| known(facts.topology.identity.smt_control.as_deref())),
];

const STUDY: [Named; 6] = [
    ("study", |facts| facts.study.name.clone()),
    ("workload", |facts| facts.study.workload.clone()),
    ("treatments", |facts| treatments(facts.study)),
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

/// What a result file says of its machine and of what runs on it below the engine: names and values.
pub(crate) fn machine_traits(facts: &Facts<'_>) -> Vec<(String, String)> {
    let all = MACHINE.iter().chain(&SYSTEM);
    all.map(|(name, value)| ((*name).to_owned(), value(facts))).collect()
}

/// The most allowed logical CPUs that a core has.
pub fn threads_a_core(facts: &Facts<'_>) -> usize {
    facts.topology.cores.iter().map(|core| core.cpus.len()).max().unwrap_or(0)
}

fn known(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or(UNKNOWN).to_owned()
}

/// Its treatments, each with what decides where it runs.
fn treatments(study: &Study) -> String {
    let once = study.treatments.iter().filter(|treatment| treatment.role != Role::BaselineTwin);
    let one = |treatment: &threadwise_study::Treatment| {
        format!("{} ({} x {})", treatment.name, treatment.placement, treatment.sessions)
    };
    once.map(one).collect::<Vec<_>>().join(", ")
}

/// Options of the workload, treatment by treatment.
fn workload_options(study: &Study) -> Vec<&Options> {
    study.treatments.iter().map(|treatment| &treatment.options).collect()
}

/// Names of all options that any study has.
fn keys<'a>(studies: &[Facts<'a>], options: impl Fn(&'a Study) -> Vec<&'a Options>) -> BTreeSet<String> {
    let all = studies.iter().flat_map(|facts| options(facts.study));
    all.flat_map(|options| options.keys().cloned()).collect()
}

/// The values that an option has in a study.
fn setting(key: &str, options: &[&Options]) -> String {
    let values = options.iter().map(|options| options.get(key).map(ToString::to_string));
    let values: Vec<String> =
        distinct(values).into_iter().map(|value| value.unwrap_or_else(|| NOT_SET.to_owned())).collect();
    if values.is_empty() { NOT_SET.to_owned() } else { values.join(", ") }
}

/// Whether two treatments of the same name do the same: placement, sessions, binding, memory, arm and options.
pub fn alike(one: &threadwise_study::Treatment, other: &threadwise_study::Treatment) -> bool {
    (&one.placement, one.sessions, one.pin, one.memory.clone(), &one.arm, &one.options)
        == (&other.placement, other.sessions, other.pin, other.memory.clone(), &other.arm, &other.options)
}

/// What tells two treatments of the same name apart, in words; nothing of those that are [`alike`].
pub fn apart(one: &threadwise_study::Treatment, other: &threadwise_study::Treatment) -> Vec<String> {
    let pair = |name: &str, values: [String; 2]| {
        (values[0] != values[1]).then(|| format!("{name}: {} against {}", values[0], values[1]))
    };
    let both = |value: &dyn Fn(&threadwise_study::Treatment) -> String| [value(one), value(other)];
    let option = |key: &String| {
        let value =
            |options: &Options| options.get(key).map_or_else(|| NOT_SET.to_owned(), ToString::to_string);
        pair(&format!("the option '{key}'"), [value(&one.options), value(&other.options)])
    };
    let keys: BTreeSet<&String> = one.options.keys().chain(other.options.keys()).collect();
    [
        pair("the placement", both(&|one| one.placement.trim().to_owned())),
        pair("the number of sessions", both(&|one| one.sessions.to_string())),
        pair("the memory policy", both(&|one| one.memory.to_string())),
        pair("the arm", both(&|one| one.arm.to_string())),
        pair("the binding", both(&|one| format!("{:?}", one.pin).to_lowercase())),
    ]
    .into_iter()
    .chain(keys.into_iter().map(option))
    .flatten()
    .collect()
}

/// Whether some of these studies are those of different machines, as far as the files say.
pub fn machines_differ(aspects: &[Aspect]) -> bool {
    aspects.iter().any(|aspect| aspect.part == Part::Machine && aspect.differs())
}
