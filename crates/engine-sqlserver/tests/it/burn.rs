//! `burn`: one statement, whose answer is checked, and no transaction; and how many vCPUs a server has.

use crate::bench::{Bench, slice, start};
use crate::model::Settings;
use threadwise_engine::workloads::burn::ANSWER;
use threadwise_engine::{Engine, EngineError};
use threadwise_engine_sqlserver::Client;
use threadwise_tds::Message;

#[test]
fn units_are_checked_and_no_transaction_is_begun() {
    let bench = Bench::new(Settings::default());
    let load = bench.load("burn", "", 2);
    let (keeper, notes, running) = bench.begin(&load);
    assert!(notes.is_empty(), "{notes:?}");
    // On a busy machine a window may pass without a step: another one will do.
    let mut tries = (0..20).map(|_| slice(&bench, running.as_ref(), &load, 200_000_000));
    let slices = tries.find(|slices| slices.done().iter().any(|one| one.steps > 0)).unwrap();
    let sessions = slices.done();
    for one in &sessions {
        assert!(one.rows == one.steps && one.answers_checked >= one.steps, "{one:?}");
    }
    let counters = &slices.counters;
    assert!(counters["other_connection_units"] > 0 && counters["other_connection_ns"] > 0, "{counters:?}");
    running.finish().unwrap();
    drop(running);
    keeper.end().unwrap();
    {
        let state = bench.state();
        assert!(state.ended.is_empty() && state.transactions.is_empty(), "{:?}", state.ended);
        assert_eq!(state.log, [""; 0], "something was made");
    }
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_wrong_answer_fails_before_anything_is_measured() {
    let bench = Bench::new(Settings { unit: ANSWER - 1, ..Settings::default() });
    let load = bench.load("burn", "", 1);
    let wrong = |found: Result<(), EngineError>| {
        let Err(EngineError::WrongAnswer(why)) = found else { panic!("{found:?}") };
        assert!(why.contains(&format!("{} instead of {ANSWER}", ANSWER - 1)), "{why}");
    };
    wrong(Client.load(&load).map(drop));
    let running = Client.start(&start(&load)).unwrap();
    wrong(running.standing().map(drop));
    drop(running);
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn the_server_says_how_many_vcpus_it_has() {
    let bench = Bench::new(Settings::default());
    let options = bench.engine_options("");
    assert_eq!(Client.vcpus(&options).unwrap(), Some(8));
    bench.state().affinity = Some(vec![0, 1, 2]);
    assert_eq!(Client.vcpus(&options).unwrap(), Some(3), "those that it is bound to");
    let server = Client.server_cpus(&options).unwrap().unwrap();
    assert_eq!((server.cpus.len(), server.online.to_string()), (8, "0-2".to_owned()));
    bench.assert_over();

    let silent = Bench::new(Settings { may_look: false, ..Settings::default() });
    assert_eq!(Client.vcpus(&silent.engine_options("")).unwrap(), None, "the right is missing");
    silent.assert_over();
    let refused = Message::new(18456, "Login failed for user 'measurer'.").class(14);
    let closed = Bench::new(Settings { refused: Some(refused), ..Settings::default() });
    let why = Client.vcpus(&closed.engine_options("")).unwrap_err().to_string();
    crate::bench::assert_clear(&why);
}
