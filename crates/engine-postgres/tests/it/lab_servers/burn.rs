//! `burn` on real servers: the answer of a unit, a load at a rate, what another connection notices, and that nothing is
//! made.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support;

use crate::support::theirs::Theirs;
use crate::support::{engine, folder, programs, session, start, window};
use std::path::Path;
use std::sync::{Arc, Barrier, OnceLock};
use threadwise_engine::worker::arrivals::Arrivals;
use threadwise_engine::workloads::burn::ANSWER;
use threadwise_engine::workloads::rate;
use threadwise_engine::{EngineError, LoadRequest, Window, latency};
use threadwise_study::arrivals::{DUE, RATE, UNSERVED};
use threadwise_study::{Counters, SessionSlice};

/// The unit as the engine has it.
const UNIT: &str = include_str!("../../../src/sql/burn.sql");

/// All relations, functions, schemas, databases and roles, as a text that changes with them.
const OBJECTS: &str = "SELECT concat_ws('/',
    (SELECT count(*) || ' ' || sum(oid::bigint) FROM pg_class), (SELECT count(*) FROM pg_proc),
    (SELECT count(*) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'), (SELECT count(*) FROM pg_database),
    (SELECT count(*) FROM pg_roles))";

fn request(folder: &Path, url: Option<&str>, rate: Option<&str>) -> LoadRequest {
    let given: Vec<_> = rate.map(|rate| (RATE, rate)).into_iter().collect();
    let server: Vec<_> = url.map(|url| ("url", url)).into_iter().collect();
    support::load(folder, "burn", &given, &server)
}

/// A window, with the requests of the load's rate if it has one.
fn burn_window(load: &LoadRequest) -> Window {
    let mut window = window(400);
    let arrivals = |rate| Arrivals::new(rate, 5, window.start_ns, [window.start_ns, window.end_ns]);
    window.arrivals = rate::of(&load.options).unwrap().map(arrivals).map(Arc::new);
    window
}

/// What two sessions do in a window, with the slice's counters and those of its requests.
fn measure(load: &LoadRequest) -> Result<(Vec<SessionSlice>, Counters), EngineError> {
    engine().check(load)?;
    engine().load(load)?;
    let start = start(load);
    let running = engine().start(&start)?;
    let (ready, go, chosen) = (Barrier::new(3), Barrier::new(3), OnceLock::new());
    let (running_ref, start_ref) = (running.as_ref(), &start);
    let (window, slices, watched) = std::thread::scope(|scope| {
        let one = |number: u32| {
            let (ready, go, chosen) = (&ready, &go, &chosen);
            scope.spawn(move || -> Result<SessionSlice, EngineError> {
                let opened = running_ref.open(&session(start_ref, number));
                let opened = opened.and_then(|mut session| session.warm().map(|()| session));
                ready.wait();
                go.wait();
                opened?.slice(chosen.get().unwrap())
            })
        };
        let threads = [one(0), one(1)];
        ready.wait();
        let begun = running.standing().and_then(|_| running.before());
        let window = chosen.get_or_init(|| burn_window(load));
        go.wait();
        let watched = begun.and_then(|()| running.during(window));
        let slices = threads.map(|thread| thread.join().unwrap());
        (window.clone(), slices, watched)
    });
    watched?;
    let mut slices = slices.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut counters = running.after(&mut slices)?;
    counters.extend(window.arrivals.iter().filter_map(|arrivals| arrivals.counters()).flatten());
    running.finish()?;
    Ok((slices, counters))
}

/// The same in a window that has units: on a busy machine one may pass without, and another one will do.
fn measured(load: &LoadRequest) -> (Vec<SessionSlice>, Counters) {
    let mut tries = (0..20).map(|_| measure(load).unwrap());
    let units = |slices: &[SessionSlice]| slices.iter().map(|slice| slice.steps).sum::<u64>();
    let has_units = |(slices, counters): &(Vec<SessionSlice>, Counters)| {
        units(slices) > 1 && counters.contains_key("other_connection_units")
    };
    tries.find(has_units).unwrap()
}

fn assert_units(slices: &[SessionSlice], counters: &Counters) {
    for slice in slices {
        // Each answer is checked, also those of units that ended outside of the window.
        assert!(slice.rows == slice.steps && slice.answers_checked >= slice.steps, "{slice:?}");
        assert_eq!(latency::steps(&slice.latency), Ok(slice.steps));
    }
    let [others, others_ns] = ["units", "ns"].map(|name| counters[&format!("other_connection_{name}")]);
    assert!(others > 0 && others_ns > 0, "{counters:?}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_unit_is_right_and_checked_on_a_private_server() {
    let folder = folder();
    let (slices, counters) = measured(&request(folder.path(), None, None));
    assert_units(&slices, &counters);
    assert!(slices.iter().any(|slice| slice.cpu_ns > 0), "{slices:?}");
}

#[test]
#[ignore = "laboratory: servers"]
fn nothing_is_made_in_the_users_server_and_no_right_is_needed() {
    let (theirs, folder) = (Theirs::start(&programs()), folder());
    let mut admin = theirs.superuser();
    admin.batch_execute("CREATE ROLE plain_account LOGIN").unwrap();
    let hba = theirs.data.join("pg_hba.conf");
    let rules = std::fs::read_to_string(&hba).unwrap();
    std::fs::write(&hba, format!("local all plain_account trust\n{rules}")).unwrap();
    admin.batch_execute("SELECT pg_reload_conf()").unwrap();
    let objects = |admin: &mut postgres::Client| -> String { admin.query_one(OBJECTS, &[]).unwrap().get(0) };
    let before = objects(&mut admin);
    let found: i64 = admin.query_one(UNIT, &[]).unwrap().get(0);
    assert_eq!(found, ANSWER);

    // The server reads its rules when it gets to the signal.
    let url = theirs.socket_url("plain_account");
    support::eventually("the account cannot connect", || {
        engine().version(&support::options(&[("url", &url)])).is_ok()
    });
    let load = request(folder.path(), Some(&url), None);
    assert!(engine().keep(&load, 0).unwrap().is_none(), "something is kept in the user's server");
    let (slices, counters) = measured(&load);
    assert_units(&slices, &counters);
    assert_eq!(objects(&mut admin), before);
}

#[test]
#[ignore = "laboratory: servers"]
fn units_arrive_at_a_rate() {
    let folder = folder();
    let (slices, counters) = measured(&request(folder.path(), None, Some("20")));
    assert_units(&slices, &counters);
    let units: u64 = slices.iter().map(|slice| slice.steps).sum();
    assert_eq!(counters[DUE], units + counters[UNSERVED], "{counters:?} {slices:?}");
}

#[test]
#[ignore = "laboratory: servers"]
fn options_of_other_workloads_are_refused() {
    let folder = folder();
    for (name, value) in [("blocks", "100"), ("loop", "server"), ("sql", "SELECT 1"), (RATE, "0")] {
        let load = support::load(folder.path(), "burn", &[(name, value)], &[]);
        let refused = engine().check(&load).unwrap_err().to_string();
        assert!(refused.contains(name), "{name}: {refused}");
    }
}
