//! The schema: what other users made is refused by name and left as it is.

use crate::bench::{Bench, assert_clear};
use crate::model::Settings;
use crate::model::table::Table;
use threadwise_engine::{Engine, LoadRequest};
use threadwise_engine_sqlserver::Client;

fn load(bench: &Bench) -> LoadRequest {
    bench.load("logical-io", "blocks=100 work_unit=4", 1)
}

#[test]
fn a_schema_that_we_did_not_make_is_refused_and_left() {
    let bench = Bench::new(Settings::default());
    bench.state().schemas.push("threadwise".into());
    bench.state().tables.insert("[threadwise].[salaries]".into(), Table::new("(id int NOT NULL)"));
    let message = Client.keep(&load(&bench), 0).err().unwrap().to_string();
    assert_clear(&message);
    for part in ["'threadwise'", "'shop'", "did not make it", "schema=NAME"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(bench.state().log, [""; 0]);
    assert!(bench.state().tables.contains_key("[threadwise].[salaries]"));
    bench.assert_over();
}

#[test]
fn what_others_put_into_our_schema_is_named_and_nothing_is_dropped() {
    let foreign = "[threadwise].[salaries]";
    for kind in ["table", "procedure", "other"] {
        let bench = Bench::new(Settings::default());
        let keeper = Client.keep(&load(&bench), 0).unwrap().unwrap();
        Client.load(&load(&bench)).unwrap();
        let before = {
            let mut state = bench.state();
            let procedure = state.procedures.values().next().unwrap().clone();
            match kind {
                "table" => drop(state.tables.insert(foreign.into(), Table::new("(id int NOT NULL)"))),
                "procedure" => drop(state.procedures.insert(foreign.into(), procedure)),
                _ => state.others.push(foreign.into()),
            }
            (state.log.clone(), state.tables.len(), state.procedures.len())
        };
        let message = keeper.end().unwrap_err().to_string();
        assert_clear(&message);
        assert!(message.contains("salaries") && message.contains("did not make"), "{message}");
        {
            let state = bench.state();
            assert_eq!((state.log.clone(), state.tables.len(), state.procedures.len()), before);
        }
        // The next study is refused as well, and touches nothing.
        let message = Client.keep(&load(&bench), 0).err().unwrap().to_string();
        assert!(message.contains("salaries"), "{message}");
        assert_eq!(bench.state().log, before.0);
        // Once it is gone, ours is dropped and made again.
        {
            let mut state = bench.state();
            state.tables.remove(foreign);
            state.procedures.remove(foreign);
            state.others.clear();
        }
        Client.keep(&load(&bench), 0).unwrap().unwrap().end().unwrap();
        bench.assert_over();
        bench.assert_clean();
    }
}

#[test]
fn a_schema_that_another_study_uses_is_refused() {
    for lock in [-1, -3, -999] {
        let bench = Bench::new(Settings { lock, ..Settings::default() });
        let message = Client.keep(&load(&bench), 0).err().unwrap().to_string();
        assert_clear(&message);
        assert!(message.contains("another study is using 'threadwise'"), "{message}");
        assert_eq!(bench.state().log, [""; 0]);
        bench.assert_over();
    }
}

#[test]
fn what_a_killed_study_left_is_dropped_before_the_next_one() {
    let bench = Bench::new(Settings::default());
    let keeper = Client.keep(&load(&bench), 0).unwrap().unwrap();
    Client.load(&load(&bench)).unwrap();
    // The keeper never ends: its process was killed.
    std::mem::forget(keeper);
    let made = bench.state().log.clone();
    let again = Client.keep(&load(&bench), 0).unwrap().unwrap();
    let log = bench.state().log.clone();
    assert!(log.starts_with(&made) && log[made.len()].starts_with("DROP PROCEDURE"), "{log:?}");
    assert_eq!(bench.state().tables.len(), 4, "customers and our three");
    again.end().unwrap();
    bench.assert_clean();
    assert_eq!(bench.responder.errors(), []);
    assert_eq!(bench.state().unknown, [""; 0]);
}

#[test]
fn a_keeper_that_is_dropped_drops_what_it_kept() {
    let bench = Bench::new(Settings::default());
    let keeper = Client.keep(&load(&bench), 0).unwrap().unwrap();
    Client.load(&load(&bench)).unwrap();
    drop(keeper);
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_schema_of_another_name_is_used_where_it_is_asked_for() {
    let bench = Bench::new(Settings::default());
    let mut load = load(&bench);
    load.engine_options = bench.engine_options("schema=Bench_2");
    let (keeper, _, running) = bench.begin(&load);
    let log = bench.state().log.clone();
    assert!(log.iter().all(|line| line.contains("[Bench_2]")), "{log:?}");
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}
