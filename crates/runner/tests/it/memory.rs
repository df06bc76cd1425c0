//! Memory policies of real workers: set, read back, lost. Node 0 is on every machine.

#![allow(clippy::unwrap_used)]

use crate::common;

use crate::common::{Bench, GOOD, is_running, run_of, study, treatment};
use threadwise_machine::{Memory, pin};
use threadwise_store::Store;
use threadwise_study::{Role, RunStatus, Study};

/// A baseline and one treatment with a policy.
fn with_policy(name: &str, memory: Memory) -> Study {
    let cpu = pin::current_affinity().unwrap().first().unwrap();
    let mut study = study(&[], 1);
    study.treatments.push(bound(name, memory, cpu));
    study
}

fn bound(name: &str, memory: Memory, cpu: u32) -> threadwise_study::Treatment {
    threadwise_study::Treatment { memory, ..treatment(name, Role::Compared, &cpu.to_string()) }
}

fn stored(bench: &Bench, study: &Study) -> Store {
    let mut store = bench.create(study);
    bench.run(&mut store).unwrap();
    assert!(bench.left_behind().is_empty());
    assert!(bench.pids().into_iter().all(|pid| !is_running(pid)));
    store
}

/// The kernel's text for a policy on node 0 of this machine (its number need not be 0).
fn on_first_node(bench: &Bench, mode: &str) -> String {
    format!("{mode}:{}", bench.topology.numa_nodes[0].os_id.unwrap())
}

/// Where a seccomp filter forbids policies (containers), the run must say so; `true` elsewhere.
fn is_allowed(status: &RunStatus) -> bool {
    match status {
        RunStatus::Failed { kind, message } if kind == "memory-policy" => {
            assert!(message.contains("set_mempolicy(2)") && message.contains("SYS_NICE"), "{message}");
            false
        }
        _ => true,
    }
}

#[test]
fn a_worker_starts_under_its_policy_and_others_do_not() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut study = with_policy("policy nodes", Memory::Nodes(vec![0]));
    let cpu = pin::current_affinity().unwrap().first().unwrap();
    study.treatments.push(bound("policy interleave", Memory::Interleave, cpu));
    study.treatments.push(bound("policy local", Memory::Local, cpu));
    let runs = stored(&bench, &study).runs().unwrap();
    let seen = |name: &str| std::fs::read_to_string(bench.folder.path().join(name)).unwrap();
    for name in ["alone", "alone again", "policy local"] {
        assert_eq!(run_of(&runs, name).status, RunStatus::Valid, "{name}");
    }
    assert_eq!(seen("policy local"), "default");
    let wanted = |mode: &str| match bench.topology.numa_nodes.len() {
        1 => on_first_node(&bench, mode),
        _ => format!("{mode}:"),
    };
    for (name, wanted) in
        [("policy nodes", on_first_node(&bench, "bind")), ("policy interleave", wanted("interleave"))]
    {
        let run = run_of(&runs, name);
        if is_allowed(&run.status) {
            assert_eq!((&run.status, run.slices.len()), (&RunStatus::Valid, 3), "{name}");
            assert!(seen(name).starts_with(&wanted), "{} and not {wanted}", seen(name));
        }
    }
}

#[test]
fn a_policy_that_is_lost_before_the_first_slice_is_found() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let runs = stored(&bench, &with_policy("policy forgotten", Memory::Nodes(vec![0]))).runs().unwrap();
    let run = run_of(&runs, "policy forgotten");
    if is_allowed(&run.status) {
        let RunStatus::Invalid { kind, message } = &run.status else { panic!("{:?}", run.status) };
        assert_eq!((kind.as_str(), run.slices.len()), ("lost-memory-policy", 0));
        let wanted = format!("has the memory policy default instead of {}", on_first_node(&bench, "bind"));
        assert!(message.ends_with(&wanted), "{message}");
    }
    assert!(run_of(&runs, "alone").status.is_valid());
}

#[test]
fn a_policy_that_is_lost_later_is_found_at_the_end() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let runs = stored(&bench, &with_policy("policy forgotten later", Memory::Interleave)).runs().unwrap();
    let run = run_of(&runs, "policy forgotten later");
    if is_allowed(&run.status) {
        let RunStatus::Invalid { kind, .. } = &run.status else { panic!("{:?}", run.status) };
        assert_eq!((kind.as_str(), run.slices.len()), ("lost-memory-policy", 3));
    }
}
