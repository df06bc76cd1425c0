//! `burn` on real servers: the answer of a unit, a load at a rate, what another connection notices, and that nothing is
//! made.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support::user_server::UserServer;
use crate::support::{Ran, folder, request, run, whole};
use std::path::Path;
use threadwise_engine::workloads::burn::ANSWER;
use threadwise_engine::{Engine, EngineError, LoadRequest, latency};
use threadwise_engine_mariadb::Mariadb;
use threadwise_study::arrivals::{DUE, RATE, UNSERVED};

/// The unit as the engine has it.
const UNIT: &str = include_str!("../../../src/sql/burn.sql");

/// All databases, tables and accounts, as a number that changes with them.
const OBJECTS: &str =
    "SELECT COUNT(*) * 1000000 + SUM(CRC32(CONCAT(TABLE_SCHEMA, '.', TABLE_NAME))) % 1000000
     + (SELECT COUNT(*) FROM information_schema.SCHEMATA) * 1000000000
     + (SELECT COUNT(*) FROM mysql.global_priv) * 100000000000
     FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema')";

fn burn(folder: &Path, rate: Option<i64>) -> LoadRequest {
    let given: Vec<_> = rate.map(|rate| (RATE, whole(rate))).into_iter().collect();
    request(folder, "burn", 2, &given)
}

/// A run in which each window has units: on a busy machine one may pass without, and another run will do.
fn measured(load: &LoadRequest) -> Result<Ran, EngineError> {
    for _ in 0..20 {
        let ran = run(load, 2, 400)?;
        let units = |at: usize| ran.slices[at].0.iter().map(|slice| slice.steps).sum::<u64>();
        if (0..2).all(|at| units(at) > 1 && ran.slices[at].1.contains_key("other_connection_units")) {
            return Ok(ran);
        }
    }
    panic!("no window has units")
}

fn assert_units(ran: &Ran) {
    assert_eq!(ran.finished, Ok(()));
    for (sessions, counters) in &ran.slices {
        for slice in sessions {
            // Each answer is checked, also those of units that ended outside of the window.
            assert!(slice.rows == slice.steps && slice.answers_checked >= slice.steps, "{slice:?}");
            assert_eq!(latency::steps(&slice.latency), Ok(slice.steps));
        }
        assert!(
            counters["other_connection_units"] > 0 && counters["other_connection_ns"] > 0,
            "{counters:?}"
        );
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_unit_is_right_and_checked_on_a_private_server() {
    let folder = folder();
    let ran = measured(&burn(folder.path(), None)).unwrap();
    assert_units(&ran);
    assert!(ran.slices.iter().flat_map(|(sessions, _)| sessions).any(|slice| slice.cpu_ns > 0));
}

#[test]
#[ignore = "laboratory: servers"]
fn nothing_is_made_in_the_users_server_and_no_right_is_needed() {
    let (server, folder) = (UserServer::start(&[]), folder());
    server.administer(&["CREATE USER reader"]);
    let before = server.number(OBJECTS);
    assert_eq!(server.number(UNIT), ANSWER);
    let mut load = burn(folder.path(), None);
    load.engine_options = server.options("reader");
    assert!(Mariadb.keep(&load, 0).unwrap().is_none(), "something is kept in the user's server");
    assert_units(&measured(&load).unwrap());
    assert_eq!(server.number(OBJECTS), before);
}

#[test]
#[ignore = "laboratory: servers"]
fn units_arrive_at_a_rate() {
    let folder = folder();
    let ran = measured(&burn(folder.path(), Some(20))).unwrap();
    assert_units(&ran);
    for (sessions, counters) in &ran.slices {
        let units: u64 = sessions.iter().map(|slice| slice.steps).sum();
        assert_eq!(counters[DUE], units + counters[UNSERVED], "{counters:?} {sessions:?}");
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn options_of_other_workloads_are_refused() {
    let folder = folder();
    for (name, value) in [("blocks", 100), ("loop", 1), ("rows", 5), (RATE, 0)] {
        let load = request(folder.path(), "burn", 2, &[(name, whole(value))]);
        let refused = Mariadb.check(&load).unwrap_err().to_string();
        assert!(refused.contains(name), "{name}: {refused}");
    }
}
