//! Memory policies of studies: from the file and the command line to the plan of a block.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support;

use crate::support::{default_study, file, machine, names, server, small_guest, treatment};
use threadwise_machine::{Memory, Topology};
use threadwise_study::load::{LoadError, Overrides, StudyFile, from_toml, to_toml};
use threadwise_study::{ComparisonKind, Study, plan_block};

const BOTH: &str = "[[treatment]]\nname = \"here\"\nplacement = \"2c1t\"\n\
    [[treatment]]\nname = \"away\"\nplacement = \"2c1t\"\nmemory = \"remote\"\n";

fn all(memory: Memory) -> Overrides {
    Overrides { memory: Some(memory), ..Overrides::default() }
}

fn resolved(lines: &str, topology: &Topology) -> Result<Study, LoadError> {
    file(lines).unwrap().resolve(topology, &Overrides::default())
}

/// The treatments' policies in a block, as the kernel writes them.
fn policies(study: &Study, topology: &Topology, block: u32) -> Vec<String> {
    plan_block(study, topology, block).unwrap().memories.iter().map(ToString::to_string).collect()
}

#[test]
fn a_file_compares_local_with_remote_memory() {
    let topology = server();
    let study = resolved(BOTH, &topology).unwrap();
    assert_eq!(names(&study), ["alone", "alone'", "here", "away"]);
    assert_eq!(treatment(&study, "here").memory, Memory::Local);
    let away = treatment(&study, "away");
    assert_eq!((&away.memory, away.factors["memory"].as_str()), (&Memory::Remote, "remote"));
    assert!(treatment(&study, "here").factors.is_empty());
    assert_eq!(from_toml(&to_toml(&study)), Ok(study.clone()));
    let mut nodes = Vec::new();
    for block in 0..8 {
        let plan = plan_block(&study, &topology, block).unwrap();
        assert_eq!(plan.placements[2], plan.placements[3], "memory alone differs");
        let home = topology.cpu(plan.placements[3].cpus[0]).unwrap().package.unwrap();
        let local = "default".to_owned();
        let remote = format!("bind:{}", 1 - home);
        assert_eq!(policies(&study, &topology, block), [local.clone(), local.clone(), local, remote]);
        nodes.push(home);
    }
    assert!(nodes.contains(&0) && nodes.contains(&1), "both packages are drawn: {nodes:?}");
}

#[test]
fn a_text_without_the_key_is_local_and_a_wrong_one_is_refused() {
    let study = resolved(BOTH, &server()).unwrap();
    let text = to_toml(&study);
    assert_eq!(text.matches("memory = \"remote\"").count(), 2, "the key and the factor:\n{text}");
    assert_eq!(from_toml(&text.replace("memory = \"local\"\n", "")), Ok(study));
    let damaged = text.replace("memory = \"remote\"", "memory = \"elsewhere\"");
    let error = from_toml(&damaged).unwrap_err().to_string();
    assert!(error.contains("there is no such policy"), "{error}");
}

#[test]
fn the_policy_changes_nothing_else_of_a_plan() {
    let topology = server();
    let study = default_study(&topology);
    let mut other = study.clone();
    other.treatments.iter_mut().for_each(|treatment| treatment.memory = Memory::Interleave);
    let (one, two) = (plan_block(&study, &topology, 5).unwrap(), plan_block(&other, &topology, 5).unwrap());
    assert!(one.memories.iter().all(|memory| memory.to_string() == "default"));
    assert!(two.memories.iter().all(|memory| memory.to_string() == "interleave:0-1"));
    assert_eq!(threadwise_study::BlockPlan { memories: one.memories.clone(), ..two }, one);
}

#[test]
fn what_cannot_be_had_is_refused_with_its_place() {
    let error = resolved(BOTH, &small_guest()).unwrap_err().to_string();
    assert_eq!(
        error,
        "mine.toml:11:10: memory = \"remote\" is not possible: away: this machine has 1 NUMA node with memory; `optional = true` would leave the treatment out"
    );
    let baseline = "[baseline]\nmemory = \"3\"\n[sweep]\n";
    assert_eq!(
        resolved(baseline, &small_guest()).unwrap_err().to_string(),
        "mine.toml:6:10: memory = \"3\" is not possible: there is no NUMA node 3: this machine has 1 node, counted from 0"
    );
    let optional = format!("{BOTH}optional = true\n");
    let study = resolved(&optional, &small_guest()).unwrap();
    assert_eq!(names(&study), ["alone", "alone'", "here"]);
    assert_eq!(study.left_out[0], "away: this machine has 1 NUMA node with memory");
}

#[test]
fn a_plan_says_what_another_machine_lacks() {
    let study = resolved(BOTH, &server()).unwrap();
    assert_eq!(
        plan_block(&study, &small_guest(), 0).unwrap_err().to_string(),
        "treatment 'away': placement 'memory=remote' is not possible here: this machine has 1 NUMA node with memory"
    );
}

#[test]
fn the_command_line_sets_treatments_without_a_policy_of_their_own() {
    let topology = server();
    let preset = StudyFile::preset("placement").unwrap();
    let study = preset.resolve(&topology, &all(Memory::Nodes(vec![1]))).unwrap();
    assert!(study.treatments.iter().all(|treatment| treatment.memory == Memory::Nodes(vec![1])));
    assert!(study.title.ends_with("(memory=1)"), "{}", study.title);
    assert_eq!(study.treatments.len(), default_study(&topology).treatments.len());
    assert_eq!(study.comparisons, default_study(&topology).comparisons);
    let some = file(BOTH).unwrap().resolve(&topology, &all(Memory::Interleave)).unwrap();
    assert_eq!(treatment(&some, "here").memory, Memory::Interleave);
    assert_eq!(treatment(&some, "away").memory, Memory::Remote, "what it is named after");
    assert!(!some.title.contains("memory="), "not all alike: {}", some.title);
    let error = file(BOTH).unwrap().resolve(&small_guest(), &all(Memory::Nodes(vec![0]))).unwrap_err();
    assert!(error.to_string().starts_with("mine.toml:11:10: memory = \"remote\" is not possible"), "{error}");
    let error = preset.resolve(&small_guest(), &all(Memory::Remote)).unwrap_err().to_string();
    assert_eq!(error, "--memory remote: this machine has 1 NUMA node with memory");
    let everywhere = Overrides { placements: Some(vec!["all".into()]), ..all(Memory::Remote) };
    let error = preset.resolve(&topology, &everywhere).unwrap_err().to_string();
    assert_eq!(
        error,
        "--memory remote: all: each of the 2 NUMA nodes with memory has logical CPUs of the placement"
    );
}

#[test]
fn sweep_points_without_remote_memory_are_left_out() {
    // 2 packages: one logical CPU leaves a node free, two spread ones do not.
    let topology = machine(2, 2, 1, Some(support::MIB), Some(support::MIB));
    let why = "each of the 2 NUMA nodes with memory has logical CPUs of the placement";
    let sweep = StudyFile::preset("session-sweep").unwrap();
    let error = sweep.resolve(&topology, &all(Memory::Remote)).unwrap_err().to_string();
    assert!(error.contains("nothing to compare"), "{error}");
    assert!(error.contains(&format!("left out here: sessions-2: {why}; sessions-4: ")), "{error}");
    let packed =
        resolved("[baseline]\nmemory = \"remote\"\n[sweep]\norder = \"packed\"\n", &topology).unwrap();
    assert_eq!(treatment(&packed, "sessions-2").memory, Memory::Remote, "as the baseline");
    assert!(packed.treatment("sessions-4").is_none());
    let lines: Vec<&String> = packed.left_out.iter().filter(|line| line.starts_with("sessions-")).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(*lines[0], format!("sessions-4: {why}"));
}

#[test]
fn pairs_of_placements_share_their_memory_policy() {
    let lines = "[[treatment]]\nplacement = \"same-core\"\n\
        [[treatment]]\nplacement = \"one-cpu\"\nmemory = \"interleave\"\n";
    let kinds = |study: &Study| -> Vec<String> {
        study.comparisons.iter().map(|comparison| comparison.kind.to_string()).collect()
    };
    assert_eq!(kinds(&resolved(lines, &server()).unwrap()), ["baseline", "baseline"]);
    let alike = lines.replace("memory = \"interleave\"\n", "");
    assert_eq!(kinds(&resolved(&alike, &server()).unwrap()), ["baseline", "baseline", "smt-yield"]);
}

#[test]
fn several_policies_are_measured_on_every_placement() {
    let overrides = Overrides {
        more_memory: vec![Memory::Remote],
        placements: Some(vec!["same-package".into()]),
        ..all(Memory::Local)
    };
    let study = StudyFile::preset("cached-reads").unwrap().resolve(&server(), &overrides).unwrap();
    assert_eq!(names(&study), ["alone", "alone'", "same-package", "alone remote", "same-package remote"]);
    let of_memory: Vec<(&str, &str)> = study
        .comparisons
        .iter()
        .filter(|one| one.kind == ComparisonKind::Memory)
        .map(|one| (one.treatment.as_str(), one.baseline[0].as_str()))
        .collect();
    assert_eq!(of_memory, [("same-package remote", "same-package")]);
    assert_eq!(treatment(&study, "alone remote").memory, Memory::Remote);
    // Sessions on both packages leave no node for remote memory.
    let whole = Overrides { more_memory: vec![Memory::Remote], ..all(Memory::Local) };
    let study = default_study_of(&whole);
    assert!(study.treatment("same-package remote/l2").is_some());
    assert!(study.treatment("cross-package remote/l2").is_none());
    let lacks = study.left_out.iter().filter(|line| line.starts_with("cross-package remote: "));
    assert_eq!(lacks.count(), 1, "{:?}", study.left_out);
    let twice = Overrides { more_memory: vec![Memory::Local], ..all(Memory::Local) };
    let error = StudyFile::preset("cached-reads").unwrap().resolve(&server(), &twice).unwrap_err();
    assert!(error.to_string().contains("--memory local: it appears twice"), "{error}");
    let lacking = Overrides { more_memory: vec![Memory::Remote], ..all(Memory::Local) };
    let error = StudyFile::preset("cached-reads").unwrap().resolve(&small_guest(), &lacking).unwrap_err();
    assert!(error.to_string().contains("--memory remote"), "{error}");
}

fn default_study_of(overrides: &Overrides) -> Study {
    StudyFile::preset("placement").unwrap().resolve(&server(), overrides).unwrap()
}
