//! Tests of the frame with a shell script in place of a server.

use super::*;
use crate::LoadRequest;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;
use threadwise_process::spawn::DeathSignal;
use threadwise_process::{Signal, User, folder_processes, stopping};
use threadwise_study::{OptionValue, Options, Workload};

/// Runs until it is ended in order, with a helper that has a session of its own.
const SERVER: &str = "setsid sleep 1000 & helper=$!
    trap 'kill $helper; wait; rm up; exit 0' TERM
    touch up
    while :; do sleep 0.05 & wait $!; done";

/// A server that is a shell script; it is reached by its data directory.
#[derive(Debug, Clone)]
struct Script(&'static str);

impl Launch for Script {
    type Server = PathBuf;

    const START_LIMIT: Duration = Duration::from_secs(60);
    const DEATH_SIGNAL: DeathSignal = DeathSignal::Kill;

    fn user(&self) -> Option<User> {
        None
    }

    fn command(&self, _: &Home) -> (PathBuf, Vec<OsString>) {
        (PathBuf::from("/bin/sh"), vec!["-c".into(), self.0.into()])
    }

    fn connect(&self, home: &Home) -> Result<PathBuf, EngineError> {
        match home.data().join("up").exists() {
            true => Ok(home.data()),
            false => Err(home.failed("connect", "it is not up")),
        }
    }

    fn stop(&self, _: &PathBuf, child: &mut Child, home: &Home, _: Ending) -> Result<(), EngineError> {
        let stopped = stopping::stop(child, &[(Signal::TERM, Duration::from_secs(60))]).unwrap();
        match stopped.status.success() {
            true => Ok(()),
            false => Err(home.failed("stop the server", stopped.status)),
        }
    }
}

fn install(home: &Home) -> Result<(), EngineError> {
    home.make(None)?;
    home.make_private(&home.data(), None)
}

/// A template with the file `rows`, and the home of a run.
fn homes(folder: &Path) -> (Home, Home) {
    let home = |kind| Home::new("test", folder, kind, "data");
    let fill = |server: &PathBuf| {
        fs::write(server.join("rows"), "loaded").unwrap();
        Ok(Loaded { bytes_per_session: 6, ..Loaded::default() })
    };
    let loaded = load_template(&Script(SERVER), &home("template"), install, fill).unwrap();
    assert_eq!(loaded.bytes_per_session, 6);
    (home("template"), home("run"))
}

fn living(home: &Home) -> Vec<u32> {
    folder_processes::in_folder(home.folder()).unwrap()
}

#[test]
fn a_server_that_does_not_start_says_why_and_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new("test", folder.path(), "run", "data");
    install(&home).unwrap();
    fs::write(home.log(), "of an earlier start\n").unwrap();
    let broken = Script("setsid sleep 1000 & echo no memory; exit 3");
    let message = Process::start(&broken, &home).unwrap_err().to_string();
    assert!(message.contains("exit status: 3") && message.contains("no memory"), "{message}");
    assert_eq!(living(&home), Vec::<u32>::new());
}

#[test]
fn a_template_is_filled_once_and_its_server_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let (template, _) = homes(folder.path());
    assert_eq!(living(&template), Vec::<u32>::new());
    assert!(template.data().join("rows").exists() && !template.data().join("up").exists());
    let again = |_: &PathBuf| Err(template.failed("fill it", "it is full"));
    let loaded = load_template(&Script(SERVER), &template, install, again).unwrap();
    assert_eq!(loaded.bytes_per_session, 6);
}

#[test]
fn a_copy_is_used_again_only_after_a_stop_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let (template, home) = homes(folder.path());
    let start = |discard| TreatmentServer::start(&Script(SERVER), &template, &home, discard).unwrap();
    let rows = || fs::read_to_string(home.data().join("rows")).unwrap();
    let first = start(false);
    assert!(living(&home).contains(&first.process.pid()));
    fs::write(home.data().join("rows"), "changed").unwrap();
    first.finish().unwrap();
    assert_eq!(living(&home), Vec::<u32>::new());
    let second = start(false);
    assert_eq!(rows(), "changed");
    drop(second);
    assert_eq!(living(&home), Vec::<u32>::new(), "the helper has gone, too");
    let third = start(true);
    assert_eq!(rows(), "loaded");
    third.finish().unwrap();
    assert!(!home.folder().exists() && template.loaded().is_some());
}

#[test]
fn a_kept_server_goes_with_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new("test", folder.path(), "study", "");
    let keep = || {
        install(&home).unwrap();
        StudyServer::new(Process::start(&Script(SERVER), &home).unwrap())
    };
    let ends: [fn(StudyServer<Script>); 2] = [drop, |kept| Box::new(kept).end().unwrap()];
    for end in ends {
        let kept = keep();
        assert!(!living(&home).is_empty());
        end(kept);
        assert!(living(&home).is_empty() && !home.folder().exists());
    }
    let resting = keep().rest().unwrap();
    assert!(living(&home).is_empty() && home.is_clean() && home.data().exists());
    // A worker that was killed may have left its server.
    std::mem::forget(Process::start(&Script(SERVER), &home).unwrap());
    Box::new(resting).end().unwrap();
    assert!(living(&home).is_empty() && !home.folder().exists());
}

#[test]
fn names_are_the_same_in_every_build() {
    // The beginning of SHA-256 of "abc" (FIPS 180-4, examples).
    assert_eq!(digest("abc"), "ba7816bf8f01cfea");
}

#[test]
fn equal_data_has_one_identity() {
    let load = |seed, value: &str| LoadRequest {
        workload: Workload::Insert,
        options: [("key".to_owned(), OptionValue::Text(value.to_owned()))].into(),
        engine_options: Options::new(),
        data_dir: PathBuf::new(),
        treatment: "a".to_owned(),
        sessions: 1,
        seed,
    };
    let (first, other) = (load(1, "x"), load(1, "x\" y=\"z"));
    let renamed = LoadRequest { treatment: "b".to_owned(), ..first.clone() };
    assert_eq!(identity(&first), identity(&renamed));
    assert_ne!(identity(&first), identity(&load(2, "x")));
    assert_ne!(identity(&first), identity(&other));
    assert_eq!(suffix(&first, false), suffix(&renamed, false));
    assert_ne!(suffix(&first, true), suffix(&renamed, true));
}
