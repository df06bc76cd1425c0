//! Whole lists: several jobs, a log, two runs at once, the end by the user, the watchdog.

use crate::reload::bench::{Bench, contents, driver, options, settings};
use rustix::process::{Pid, Signal};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use threadwise_process::watchdog::Start;
use threadwise_reload::Originals;
use threadwise_reload::item::{Outcome, Report, Stage, Step};
use threadwise_reload::list;
use threadwise_reload::recover::Recovered;
use threadwise_reload::run::{Event, Options, run};
use threadwise_reload::watch::{Watchdog, watch};

fn names(bench: &Bench, number: usize) -> Vec<PathBuf> {
    (0..number).map(|index| bench.database(&format!("{index}.db"), "delete")).collect()
}

fn go(paths: &[PathBuf], options: &Options) -> Vec<Report> {
    run(&list::read(paths).unwrap(), driver().as_ref(), options, &mut |_| ()).unwrap()
}

fn all(reports: &[Report], outcome: &Outcome) -> bool {
    reports.iter().all(|report| report.outcome == *outcome)
}

#[test]
fn several_jobs_do_every_file_once_and_tell_every_stage() {
    let bench = Bench::new();
    let paths = names(&bench, 7);
    let options = Options { item: options(Originals::Remove), jobs: 3, ..Options::default() };
    let mut seen = Vec::new();
    let entries = list::read(&paths).unwrap();
    let reports = run(&entries, driver().as_ref(), &options, &mut |event| seen.push(event.clone())).unwrap();
    assert!(all(&reports, &Outcome::Done), "{reports:?}");
    let given: Vec<_> = reports.iter().map(|report| report.path.clone()).collect();
    assert_eq!(given, paths);
    for index in 0..7 {
        let stages: Vec<_> = seen
            .iter()
            .filter_map(|event| match event {
                Event::Stage { index: at, stage } if *at == index => Some(*stage),
                _ => None,
            })
            .collect();
        assert_eq!(stages, [Stage::Hold, Stage::Backup, Stage::Restore, Stage::Check, Stage::Swap]);
    }
    assert_eq!(bench.names().len(), 7);
}

#[test]
fn a_log_leaves_out_what_is_done_and_nobody_wrote_to_since() {
    let bench = Bench::new();
    let paths = names(&bench, 3);
    let logs = tempfile::tempdir().unwrap();
    let options = Options {
        item: options(Originals::Remove),
        jobs: 2,
        log: Some(logs.path().join("log")),
        ..Options::default()
    };
    assert!(all(&go(&paths, &options), &Outcome::Done));
    assert!(all(&go(&paths, &options), &Outcome::DoneBefore));
    let writer = rusqlite::Connection::open(&paths[1]).unwrap();
    writer.execute("INSERT INTO empty VALUES (1)", []).unwrap();
    drop(writer);
    let outcomes: Vec<_> = go(&paths, &options).into_iter().map(|report| report.outcome).collect();
    assert_eq!(outcomes, [Outcome::DoneBefore, Outcome::Done, Outcome::DoneBefore]);
}

#[test]
fn two_runs_at_once_share_the_list_without_meeting() {
    let bench = Bench::new();
    let paths = names(&bench, 6);
    let before: Vec<_> = paths.iter().map(|path| contents(path)).collect();
    let options = Options { item: options(Originals::Remove), jobs: 2, ..Options::default() };
    let reports = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| go(&paths, &options)));
        both.map(|run| run.join().unwrap())
    });
    for (one, other) in reports[0].iter().zip(&reports[1]) {
        let fine = |report: &Report| matches!(report.outcome, Outcome::Done | Outcome::Skipped(_));
        assert!(fine(one) && fine(other), "{one:?} {other:?}");
        assert!(one.outcome == Outcome::Done || other.outcome == Outcome::Done, "{one:?} {other:?}");
    }
    assert_eq!(paths.iter().map(|path| contents(path)).collect::<Vec<_>>(), before);
    assert_eq!(bench.names().len(), 6);
}

#[test]
fn after_a_stop_each_file_is_done_or_as_it_was() {
    let bench = Bench::new();
    let paths = names(&bench, 4);
    let begun = Arc::new(Mutex::new(BTreeSet::new()));
    for step in [Step::Folder, Step::Held, Step::Checked, Step::Linked, Step::Swapped] {
        let stop = Arc::new(AtomicBool::new(false));
        let mut item = options(Originals::Remove);
        item.stop = Arc::clone(&stop);
        item.hook = Some(Arc::new({
            let (stop, begun) = (Arc::clone(&stop), Arc::clone(&begun));
            move |at, path: &Path| {
                begun.lock().unwrap().insert(path.to_owned());
                stop.fetch_or(at == step, Ordering::Relaxed);
                true
            }
        }));
        begun.lock().unwrap().clear();
        let options = Options { item, jobs: 1, ..Options::default() };
        let reports = go(&paths, &options);
        let done = reports.iter().filter(|report| report.outcome == Outcome::Done).count();
        let stopped = reports.iter().filter(|report| report.outcome == Outcome::Stopped).count();
        let late = [Step::Linked, Step::Swapped].contains(&step);
        assert_eq!((done, stopped), if late { (1, 3) } else { (0, 4) }, "{step:?} {reports:?}");
        assert_eq!(begun.lock().unwrap().len(), 1, "{step:?}: others are not begun");
        assert_eq!(bench.names().len(), 4, "{step:?}");
    }
}

#[test]
fn the_watchdog_recovers_what_was_begun_and_not_ended() {
    let bench = Bench::new();
    let paths = names(&bench, 3);
    for (path, step) in paths.iter().zip([Step::Sealed, Step::Swapped, Step::Held]) {
        let mut options = options(Originals::Remove);
        options.hook = Some(Arc::new(move |at, _: &Path| at != step));
        assert!(crate::reload::bench::reloaded(path, &options).left_behind);
    }
    let mut lines = Vec::new();
    let mut tell = |sign: &[u8], path: &Path| {
        lines.write_all(&[sign, path.as_os_str().as_bytes(), &[0]].concat()).unwrap();
    };
    tell(b"+", &paths[0]);
    tell(b"+", &paths[1]);
    tell(b"+", &paths[2]);
    tell(b"-", &paths[2]);
    lines.extend(b"+torn record without its end");
    let done = watch(&mut lines.as_slice(), &settings());
    assert_eq!(
        done,
        [(paths[0].clone(), Ok(Recovered::PutBack)), (paths[1].clone(), Ok(Recovered::Finished))]
    );
    assert_eq!(bench.names(), [".threadwise-reload-2.db", "0.db", "1.db", "2.db"]);
    fs::remove_dir_all(bench.path().join(".threadwise-reload-2.db")).unwrap();
}

#[test]
fn a_watchdog_that_was_killed_is_started_again_and_given_everything() {
    let bench = Bench::new();
    let log = bench.path().join("log");
    let args = ["-c".into(), "exec cat >> \"$0\"".into(), log.clone().into_os_string()];
    let watchdog = Watchdog::start(Start::new("/bin/sh", args)).unwrap();
    watchdog.begin(Path::new("/first")).unwrap();
    watchdog.end(Path::new("/first"));
    watchdog.begin(Path::new("/second")).unwrap();
    let pid = watchdog.pid();
    rustix::process::kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    // Dead, and its end of the pipe is closed: state Z of proc_pid_stat(5).
    while !fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ") {
        std::thread::sleep(Duration::from_millis(1));
    }
    fs::remove_file(&log).unwrap_or_default();
    watchdog.begin(Path::new("/third")).unwrap();
    assert_ne!(watchdog.pid(), pid);
    drop(watchdog);
    assert_eq!(fs::read(&log).unwrap(), b"+/second\0+/third\0");
    let absent = Start::new("/proc/nowhere/program", [""; 0]);
    assert!(Watchdog::start(absent).unwrap_err().to_string().contains("nothing was touched"));
}
