//! The server's own CPU affinity: set for runs, and put back whatever ends a study.

use crate::bench::{Bench, options, start};
use crate::model::{LIMIT, PASSWORD, Settings};
use crate::worker::Worker;
use crate::worker_program::{assert_ends_badly, assert_ends_well, failed, go, load_request, prepare, worker};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use threadwise_engine::protocol::{Reply, Request, VERSION, WireSession};
use threadwise_engine::{Engine, LoadRequest};
use threadwise_engine_sqlserver::Client;
use threadwise_machine::pin::current_affinity;
use threadwise_process::{journal, proc};

/// A load for a server that is bound.
pub fn load(bench: &Bench) -> LoadRequest {
    let mut load = bench.load("insert", "seed_rows=10 durability=full", 1);
    load.engine_options.extend(options("affinity=set"));
    load
}

pub fn loaded(bench: &Bench, load: &LoadRequest) -> Worker {
    let mut loader = worker(bench);
    let reply = loader.ask(&load_request(load));
    assert!(matches!(reply, Reply::Loaded { keep: true, .. }), "{reply:?}");
    loader
}

/// The logical CPU of the session of [`prepare`].
fn cpu() -> u32 {
    current_affinity().unwrap().iter().next().unwrap()
}

pub fn journals(bench: &Bench) -> Vec<PathBuf> {
    let all = fs::read_dir(bench.state_folder()).map(|all| all.flatten().map(|entry| entry.path()).collect());
    all.unwrap_or_default()
}

/// The processes that a journal names as its owners.
fn owners(bench: &Bench) -> Vec<u32> {
    let text = fs::read_to_string(&journals(bench)[0]).unwrap();
    let owner = |line: &str| line.strip_prefix("owner ")?.split(' ').nth(2)?.parse().ok();
    text.lines().filter_map(owner).collect()
}

fn watchdog(bench: &Bench, loader: &Worker) -> u32 {
    owners(bench).into_iter().find(|pid| *pid != loader.pid()).unwrap()
}

pub fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_study_binds_the_server_for_its_runs_and_puts_it_back() {
    for (first, back) in [(None, "AUTO"), (Some(vec![0, 1, 2, 3, 6]), "0 TO 3, 6")] {
        let bench = Bench::new(Settings::default());
        bench.state().affinity = first.clone();
        let load = load(&bench);
        let loader = loaded(&bench, &load);
        assert_eq!(bench.state().affinity, first, "nothing is changed before a run");
        let watchdog = watchdog(&bench, &loader);
        let arguments = fs::read_to_string(format!("/proc/{watchdog}/cmdline")).unwrap();
        let journal = fs::read_to_string(&journals(&bench)[0]).unwrap();
        assert!(!arguments.contains(PASSWORD) && !journal.contains(PASSWORD));
        for _ in 0..2 {
            let mut measuring = worker(&bench);
            let Reply::Ready { notes, .. } = measuring.ask(&prepare(&load)) else { panic!("not ready") };
            assert!(notes.iter().any(|note| note.contains("PROCESS AFFINITY")), "{notes:?}");
            assert!(!notes.iter().any(|note| note.contains("not pinned") || note.contains("other clients")));
            assert_eq!(bench.state().affinity, Some(vec![cpu()]));
            bench.state().is_warm = true;
            assert!(matches!(measuring.ask(&go(0, 1_000_000)), Reply::Slice { .. }));
            assert!(matches!(measuring.ask(&Request::Stop), Reply::Done { .. }));
            assert_ends_well(measuring);
        }
        let mut loader = loader;
        assert!(matches!(loader.ask(&Request::Stop), Reply::Done { .. }));
        assert_ends_well(loader);
        // The second run found the server as it wanted it.
        assert_eq!(bench.state().affinities, [cpu().to_string().as_str(), back]);
        assert_eq!((bench.state().affinity.clone(), journals(&bench)), (first, Vec::new()));
        assert!(proc::has_ended(watchdog));
        bench.assert_over();
        bench.assert_clean();
    }
}

#[test]
fn a_study_that_is_killed_is_cleared_up_by_its_watchdog() {
    let bench = Bench::new(Settings::default());
    let load = load(&bench);
    let loader = loaded(&bench, &load);
    let watchdog = watchdog(&bench, &loader);
    let mut measuring = worker(&bench);
    assert!(matches!(measuring.ask(&prepare(&load)), Reply::Ready { .. }));
    // The first try fails, as on a server that is starting.
    bench.state().affinity_fails = 1;
    assert_eq!(loader.kill().signal(), Some(9));
    wait_until("the watchdog ends", || proc::has_ended(watchdog));
    assert_eq!((bench.state().affinity.clone(), journals(&bench)), (None, Vec::new()));
    // What was measured meanwhile is of no use, and nothing is bound any more.
    bench.state().is_warm = true;
    let message = failed(measuring.ask(&go(0, 1_000_000)), "lost-pin");
    assert!(message.contains("is now bound to AUTO"), "{message}");
    assert_ends_badly(measuring, &message);
    let mut late = worker(&bench);
    let message = failed(late.ask(&prepare(&load)), "engine");
    assert!(message.contains("it would not be restored"), "{message}");
    assert_ends_badly(late, &message);
    assert_eq!(bench.state().affinity, None);
    bench.assert_over();
}

#[test]
fn a_change_that_the_server_still_makes_for_a_killed_study_is_put_back() {
    let bench = Bench::new(Settings { change: Duration::from_millis(500), ..Settings::default() });
    let load = load(&bench);
    let loader = loaded(&bench, &load);
    let watchdog = watchdog(&bench, &loader);
    let mut measuring = worker(&bench);
    measuring.send(&prepare(&load));
    bench.model.wait_until(|state| state.changes == 1);
    measuring.kill();
    loader.kill();
    wait_until("the watchdog ends", || proc::has_ended(watchdog));
    bench.model.wait_until(|state| state.affinities.len() == state.changes);
    assert_eq!(bench.state().affinities, [cpu().to_string().as_str(), "AUTO"]);
    assert_eq!((bench.state().affinity.clone(), journals(&bench)), (None, Vec::new()));
    bench.assert_over();
}

#[test]
fn killed_at_a_few_moments_the_affinity_is_the_first_one() {
    crate::lab_kills::killed(4);
}

#[test]
fn what_a_killed_study_and_watchdog_left_is_said_and_put_back_by_the_next_study() {
    let bench = Bench::new(Settings::default());
    bench.state().affinity = Some(vec![2, 3]);
    let load = load(&bench);
    let loader = loaded(&bench, &load);
    let mut measuring = worker(&bench);
    assert!(matches!(measuring.ask(&prepare(&load)), Reply::Ready { .. }));
    let watchdog = watchdog(&bench, &loader);
    kill(watchdog);
    wait_until("the watchdog ends", || proc::has_ended(watchdog));
    assert_eq!(journal::left_lasting(&bench.state_folder()).unwrap(), [""; 0], "the loader lives");
    loader.kill();
    measuring.kill();
    let said = journal::left_lasting(&bench.state_folder()).unwrap();
    let part = format!("at 127.0.0.1:{} still has the CPU affinity", bench.responder.address().port());
    assert!(said.len() == 1 && said[0].contains(&part) && said[0].contains("CPU = 2 TO 3"), "{said:?}");
    assert_eq!(bench.state().affinity, Some(vec![cpu()]));
    // A study that binds nothing puts it back, too: it would measure a bound server.
    let mut plain = load.clone();
    plain.engine_options.extend(options("affinity=keep"));
    let mut next = loaded(&bench, &plain);
    assert_eq!((bench.state().affinity.clone(), journals(&bench)), (Some(vec![2, 3]), Vec::new()));
    assert!(matches!(next.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(next);
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_half_made_journal_and_that_of_a_server_with_a_longer_name_stand_in_no_way() {
    let bench = Bench::new(Settings::default());
    let load = load(&bench);
    let first = loaded(&bench, &load);
    let watchdog = watchdog(&bench, &first);
    kill(watchdog);
    wait_until("the watchdog ends", || proc::has_ended(watchdog));
    first.kill();
    let half = journals(&bench).remove(0);
    let name = half.file_name().unwrap().to_str().unwrap().replace("server-dbhost_a.", "server-dbhost_ab.");
    let other = half.with_file_name(name);
    let text = fs::read_to_string(&half).unwrap();
    let of_other = text.replace("server DBHOST\\A\n", "server DBHOST\\AB\n") + "set 7\n";
    assert!(of_other.contains("AB"), "{of_other}");
    // As it is right after it was made.
    fs::write(&half, text.lines().next().unwrap().to_owned() + "\n").unwrap();
    fs::copy(&half, &other).unwrap();
    fs::write(&other, &of_other).unwrap();
    let mut loader = loaded(&bench, &load);
    let mut measuring = worker(&bench);
    assert!(matches!(measuring.ask(&prepare(&load)), Reply::Ready { .. }));
    assert_eq!(bench.state().affinity, Some(vec![cpu()]));
    assert_eq!((half.exists(), fs::read_to_string(&other).unwrap()), (false, of_other.clone()));
    for mut worker in [measuring, std::mem::replace(&mut loader, self::worker(&bench))] {
        assert!(matches!(worker.ask(&Request::Stop), Reply::Done { .. }));
        assert_ends_well(worker);
    }
    assert!(matches!(loader.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(loader);
    assert_eq!((bench.state().affinity.clone(), journals(&bench)), (None, vec![other]));
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn an_affinity_that_something_else_has_changed_is_left() {
    let bench = Bench::new(Settings::default());
    let load = load(&bench);
    let mut loader = loaded(&bench, &load);
    let mut measuring = worker(&bench);
    assert!(matches!(measuring.ask(&prepare(&load)), Reply::Ready { .. }));
    bench.state().affinity = Some(vec![5]);
    assert!(matches!(measuring.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(measuring);
    assert!(matches!(loader.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(loader);
    assert_eq!((bench.state().affinity.clone(), journals(&bench)), (Some(vec![5]), Vec::new()));
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_second_study_and_a_login_without_the_right_are_refused_and_change_nothing() {
    let bench = Bench::new(Settings::default());
    let load = load(&bench);
    let mut loader = loaded(&bench, &load);
    let mut other = load.clone();
    other.engine_options.extend(options("schema=second"));
    let mut second = worker(&bench);
    let message = failed(second.ask(&load_request(&other)), "engine");
    assert!(message.contains("has bound it for another study"), "{message}");
    assert_ends_badly(second, &message);
    assert!(matches!(loader.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(loader);
    bench.assert_over();
    bench.assert_clean();

    let bench = Bench::new(Settings { may_bind: false, ..Settings::default() });
    let load = self::load(&bench);
    let mut first = worker(&bench);
    let message = failed(first.ask(&load_request(&load)), "engine");
    assert!(message.contains("GRANT ALTER SETTINGS"), "{message}");
    assert_ends_badly(first, &message);
    assert_eq!((bench.state().affinities.len(), journals(&bench)), (0, Vec::new()));
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn the_server_says_which_logical_cpus_it_has_and_who_uses_it() {
    let ask = |bench: &Bench| {
        let mut worker = worker(bench);
        let mut engine_options = bench.engine_options("");
        engine_options.remove("password_file");
        let request = Request::Server { protocol: VERSION, engine_options, points: false, cpus: true };
        let Reply::Server { cpus, .. } = worker.ask(&request) else { panic!("no reply") };
        assert!(matches!(worker.ask(&Request::Stop), Reply::Done { .. }));
        assert_ends_well(worker);
        bench.assert_over();
        cpus.unwrap()
    };
    let bench = Bench::new(Settings::default());
    bench.state().connected = vec![("ann", "shop"); 5];
    bench.state().affinity = Some(vec![1, 2]);
    let cpus = ask(&bench);
    assert_eq!((cpus.cpus.len(), cpus.cpus[4], cpus.online.as_str()), (8, (4, 1), "1-2"));
    assert_eq!((cpus.is_auto, cpus.why_not, cpus.others), (false, None, 5));
    assert_eq!(cpus.who, ["'ann' by 'shop'"; 3]);
    let blind = ask(&Bench::new(Settings { may_look: false, ..Settings::default() }));
    assert!(blind.why_not.unwrap().contains("VIEW SERVER STATE"));
    let weak = ask(&Bench::new(Settings { may_bind: false, ..Settings::default() }));
    assert!(weak.why_not.unwrap().contains("ALTER SETTINGS"));
}

#[test]
fn others_that_come_while_the_server_is_bound_are_noted() {
    let bench = Bench::new(Settings::default());
    let load = load(&bench);
    let mut loader = loaded(&bench, &load);
    bench.state().connected.push(("ann", "shop"));
    let mut measuring = worker(&bench);
    let Reply::Ready { notes, .. } = measuring.ask(&prepare(&load)) else { panic!("not ready") };
    assert!(notes.iter().any(|note| note.contains("other clients were connected")), "{notes:?}");
    for mut worker in [std::mem::replace(&mut measuring, self::worker(&bench)), measuring] {
        assert!(matches!(worker.ask(&Request::Stop), Reply::Done { .. }));
        assert_ends_well(worker);
    }
    assert!(matches!(loader.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(loader);
    bench.assert_over();
}

#[test]
fn a_treatment_that_nobody_would_put_back_is_not_started() {
    let bench = Bench::new(Settings::default());
    let load = load(&bench);
    let message = Client.start(&start(&load)).err().unwrap().to_string();
    assert!(message.contains("it would not be restored"), "{message}");
    assert_eq!(bench.state().affinities, [""; 0]);
    bench.assert_over();
}

#[test]
fn queries_are_bound_one_by_one_on_connections_that_are_opened_after_it() {
    let bench = Bench::new(Settings::default());
    let mut load = bench.load("tpch", "scale=0.01 queries=3 dop=1", 1);
    load.engine_options.extend(options("affinity=set"));
    // What holds the schema and the affinity loads something else: the data of a query is pretended.
    let mut loader = loaded(&bench, &self::load(&bench));
    crate::tpch::pretend_loaded(&bench);
    let cpus: Vec<u32> = current_affinity().unwrap().iter().take(2).collect();
    let mut lanes: Vec<Worker> = cpus
        .iter()
        .map(|cpu| {
            let mut lane = worker(&bench);
            let Request::Prepare { protocol, load, seed, .. } = prepare(&load) else { unreachable!() };
            let sessions = vec![WireSession { cpus: cpu.to_string() }];
            let request = Request::Prepare { protocol, load, sessions, seed, service: None, journal: None };
            let reply = lane.ask(&request);
            assert!(matches!(reply, Reply::Ready { .. }), "{reply:?}");
            lane
        })
        .collect();
    assert_eq!(bench.state().affinities, [""; 0]);
    for sequence in 0..2 {
        for (lane, cpu) in lanes.iter_mut().zip(&cpus) {
            let before = bench.responder.connections();
            let queries = vec![vec![3]];
            let window_ns = 60_000_000_000;
            let go = Request::Go { sequence, warmup_ns: 0, window_ns, queries, piece_ns: None };
            let reply = lane.ask(&go);
            let Reply::Slice { sessions, .. } = reply else { panic!("{reply:?}") };
            assert_eq!(sessions[0].queries.len(), 1);
            assert_eq!(bench.state().affinity, Some(vec![*cpu]));
            assert_eq!(bench.responder.connections(), before + 1, "a connection for the query");
        }
    }
    for mut lane in lanes {
        assert!(matches!(lane.ask(&Request::Stop), Reply::Done { .. }));
        assert_ends_well(lane);
    }
    assert!(matches!(loader.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(loader);
    assert_eq!(bench.state().affinity, None);
    bench.assert_over();
    bench.assert_clean();
}
