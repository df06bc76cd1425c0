//! Workers that do wrong: each fault is recorded as such, the others' runs go on.

#![allow(clippy::unwrap_used)]

use crate::common;

use crate::common::{Bench, GOOD, floating, is_running, run_of, study};
use std::time::Duration;
use threadwise_runner::{RunnerError, hello};
use threadwise_store::EndState;
use threadwise_study::RunStatus;
use threadwise_study::engine::Properties;

/// Runs one block with a treatment that goes wrong in the way that its name says, and gives kind
/// and message of its run, having checked that the baselines' runs are whole.
fn one_fault(bench: &Bench, study: &threadwise_study::Study, fault: &str) -> (String, String, usize) {
    let mut store = bench.create(study);
    bench.run(&mut store).unwrap();
    let runs = store.runs().unwrap();
    for name in ["alone", "alone again"] {
        let run = run_of(&runs, name);
        assert_eq!((&run.status, run.slices.len()), (&RunStatus::Valid, 3), "{name} beside {fault}");
    }
    assert!(bench.left_behind().is_empty());
    assert!(bench.pids().into_iter().all(|pid| !is_running(pid)));
    let run = run_of(&runs, fault);
    match &run.status {
        RunStatus::Failed { kind, message } => (format!("failed {kind}"), message.clone(), run.slices.len()),
        RunStatus::Invalid { kind, message } => {
            (format!("invalid {kind}"), message.clone(), run.slices.len())
        }
        other => (format!("{other:?}"), String::new(), run.slices.len()),
    }
}

fn fault(name: &str) -> (String, String, usize) {
    one_fault(&Bench::new(GOOD), &study(&[name], 1), name)
}

#[test]
fn a_crash_is_recorded_with_its_signal_and_last_words() {
    if !common::has_python() {
        return;
    }
    let (kind, message, slices) = fault("segfault");
    assert_eq!((kind.as_str(), slices), ("failed crash", 0));
    assert!(message.contains("signal 11 (SIGSEGV)") && message.contains("about to fall over"), "{message}");
}

#[test]
fn an_exit_before_the_answer_is_a_crash_with_its_code() {
    if !common::has_python() {
        return;
    }
    let (kind, message, _) = fault("exit");
    assert_eq!(kind, "failed crash");
    assert!(message.contains("exit code 3"), "{message}");
}

#[test]
fn a_hanging_worker_is_killed_with_its_children() {
    if !common::has_python() {
        return;
    }
    let mut bench = Bench::new(GOOD);
    bench.settings.deadlines.slice = Duration::from_millis(700);
    let (kind, message, _) = one_fault(&bench, &study(&["hang"], 1), "hang");
    assert_eq!(kind, "failed timeout");
    assert!(message.contains("did not finish 'slice'") && message.contains("killed"), "{message}");
    let grandchild = std::fs::read_to_string(bench.folder.path().join("grandchild")).unwrap();
    assert!(!is_running(grandchild.parse().unwrap()));
}

#[test]
fn garbage_is_a_protocol_failure_that_quotes_it() {
    if !common::has_python() {
        return;
    }
    let (kind, message, _) = fault("garbage");
    assert_eq!(kind, "failed protocol");
    assert!(message.contains("Segmentation fault? no."), "{message}");
}

#[test]
fn what_the_worker_says_of_itself_is_kept_on_one_line() {
    if !common::has_python() {
        return;
    }
    let (kind, message, _) = fault("engine");
    assert_eq!((kind.as_str(), message.as_str()), ("failed engine", "no such table at all"));
}

#[test]
fn last_words_count_though_the_worker_is_gone_when_they_are_read() {
    if !common::has_python() {
        return;
    }
    // Line and end of the pipe come together in some of the blocks and apart in others.
    let study = study(&["farewell"], 24);
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&study);
    bench.run(&mut store).unwrap();
    let runs = store.runs().unwrap();
    let said: Vec<_> = runs.iter().filter(|run| run.treatment == "farewell").map(|run| &run.status).collect();
    let expected = RunStatus::Failed { kind: "engine".into(), message: "gone at once".into() };
    assert_eq!(said, vec![&expected; 24]);
}

#[test]
fn a_wrong_answer_ends_the_run() {
    if !common::has_python() {
        return;
    }
    let (kind, message, slices) = fault("wrong");
    assert_eq!((kind.as_str(), slices), ("failed wrong-answer", 1));
    assert!(message.contains("2 wrong answers of 10"), "{message}");
}

#[test]
fn reads_from_the_disk_make_the_run_invalid() {
    if !common::has_python() {
        return;
    }
    let (kind, message, slices) = fault("disk");
    assert_eq!((kind.as_str(), slices), ("invalid not-cached", 3));
    assert!(message.contains("120 physical reads to 3900"), "{message}");
}

#[test]
fn a_thread_too_many_is_a_protocol_failure() {
    if !common::has_python() {
        return;
    }
    assert_eq!(fault("threads").0, "failed protocol");
}

#[test]
fn what_the_study_file_cannot_hold_costs_only_its_own_run() {
    if !common::has_python() {
        return;
    }
    let (kind, message, slices) = fault("name");
    assert_eq!((kind.as_str(), slices), ("failed protocol", 0));
    assert!(message.contains("256"), "{message}");
}

#[test]
fn a_wrong_mask_is_found_before_the_first_slice() {
    if !common::has_python() {
        return;
    }
    let mut study = study(&[], 1);
    study.treatments.push(floating("mask"));
    let (kind, message, slices) = one_fault(&Bench::new(GOOD), &study, "mask");
    assert_eq!((kind.as_str(), slices), ("invalid lost-pin", 0));
    assert!(message.contains("instead of"), "{message}");
}

#[test]
fn a_mask_that_changes_is_found_at_the_end() {
    if !common::has_python() {
        return;
    }
    let mut study = study(&[], 1);
    study.treatments.push(floating("late-mask"));
    // With an even number of treatments some slice of each has an odd number, in any order.
    study.design.rounds = 4;
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&study);
    bench.run(&mut store).unwrap();
    let runs = store.runs().unwrap();
    let run = run_of(&runs, "late-mask");
    let odd = run.slices.iter().any(|slice| slice.sequence % 2 == 1);
    assert!(odd, "the seed must give it an odd slice");
    assert!(matches!(&run.status, RunStatus::Invalid { kind, .. } if kind == "lost-pin"), "{:?}", run.status);
    assert_eq!(run.slices.len(), 4);
}

#[test]
fn a_worker_that_does_not_stop_is_killed_and_its_slices_stay() {
    if !common::has_python() {
        return;
    }
    let mut bench = Bench::new(GOOD);
    bench.settings.deadlines.stop = Duration::from_millis(300);
    let (status, _, slices) = one_fault(&bench, &study(&["stubborn"], 1), "stubborn");
    assert_eq!((status.as_str(), slices), ("Valid", 3));
}

#[test]
fn another_protocol_version_is_refused() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new("version");
    let mut store = bench.create(&study(&[], 1));
    let error = bench.run(&mut store).unwrap_err();
    assert!(error.to_string().contains("protocol 99"), "{error}");
    assert!(matches!(error, RunnerError::Load { .. }));
    assert_eq!(store.state().unwrap(), EndState::Failed);
    assert!(bench.left_behind().is_empty());
}

#[test]
fn a_worker_without_hello_is_not_waited_for_for_ever() {
    if !common::has_python() {
        return;
    }
    let mut bench = Bench::new("silent");
    bench.settings.deadlines.hello = Duration::from_millis(300);
    let error = hello(&bench.settings).unwrap_err().to_string();
    assert!(error.contains("'hello' within 0.3 s"), "{error}");
    let good = Bench::new(GOOD);
    let said = hello(&good.settings).unwrap();
    assert_eq!((said.version.as_str(), said.properties), ("1.2", Properties::default()));
    assert!(good.left_behind().is_empty());
}

#[test]
fn a_worker_says_what_its_engine_is_like() {
    if !common::has_python() {
        return;
    }
    let said = |text: &str| hello(&Bench::new(text).settings);
    let some = said(r#"{"block_bytes":8192,"service_threads":false,"of_a_later_version":1}"#).unwrap();
    let expected = Properties { block_bytes: 8192, service_threads: false, ..Properties::default() };
    assert_eq!(some.properties, expected);
    let absurd = said(r#"{"block_bytes":0}"#).unwrap_err().to_string();
    assert!(absurd.contains("properties of hello: block_bytes is 0"), "{absurd}");
    assert!(said(r#"{"block_bytes":"8 KiB"}"#).unwrap_err().to_string().contains("hello"));
}

#[test]
fn a_program_that_is_not_there_is_named() {
    if !common::has_python() {
        return;
    }
    let mut bench = Bench::new(GOOD);
    bench.settings.worker.program = "/proc/nowhere/threadwise-engine-x".into();
    let error = bench.run(&mut bench.create(&study(&[], 1))).unwrap_err().to_string();
    assert!(error.contains("/proc/nowhere/threadwise-engine-x cannot be started"), "{error}");
}

#[test]
fn data_that_does_not_fit_into_memory_is_refused() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new("full");
    let error = bench.run(&mut bench.create(&study(&[], 1))).unwrap_err();
    assert!(matches!(error, RunnerError::Refused(_)), "{error}");
    assert!(error.to_string().contains("fewer sessions"), "{error}");
    assert!(bench.left_behind().is_empty());
}

#[test]
fn a_baseline_that_never_works_ends_the_study_under_either_name() {
    if !common::has_python() {
        return;
    }
    for at in [0, 1] {
        let bench = Bench::new(GOOD);
        let mut study = study(&["other"], 8);
        study.treatments[at].name = "exit".into();
        let mut store = bench.create(&study);
        let error = bench.run(&mut store).unwrap_err().to_string();
        assert!(error.contains("baseline 'exit'") && error.contains("exit code 3"), "{error}");
        assert_eq!(store.complete_blocks().unwrap(), [0, 1], "what was measured stays");
        assert_eq!(store.state().unwrap(), EndState::Failed);
    }
}
