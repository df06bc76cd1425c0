//! A server that is killed while it works, and one that is slow.

use crate::bench::{Bench, LONG_NS, assert_clear, session, slice, window};
use crate::model::Settings;
use std::time::Duration;
use threadwise_tds::Reply;

/// A loop that would last for hours.
fn hours() -> Settings {
    Settings { before_loop: vec![Reply::Wait(Duration::from_secs(36_000))], ..Settings::default() }
}

#[test]
fn a_server_that_is_killed_in_a_slice_is_an_error_and_no_wait() {
    for (workload, options) in [
        ("logical-io", "blocks=100 work_unit=4"),
        ("insert", "seed_rows=10"),
        ("insert", "seed_rows=10 rows_per_session=10"),
    ] {
        let bench = Bench::new(hours());
        let load = bench.load(workload, options, 1);
        let (keeper, _, running) = bench.begin(&load);
        let slices = std::thread::scope(|scope| {
            scope.spawn(|| {
                bench.model.wait_until(|state| state.slices > 0);
                bench.responder.kill();
            });
            slice(&bench, running.as_ref(), &load, LONG_NS)
        });
        let message = slices.error().to_string();
        assert_clear(&message);
        assert!(message.contains("the connection broke") && message.contains("server's log"), "{message}");
        if let Err(watched) = slices.watched {
            assert_clear(&watched.to_string());
        }
        let finished = running.finish();
        assert_eq!(finished.is_err(), workload == "insert", "{finished:?}");
        drop(running);
        let message = keeper.end().unwrap_err().to_string();
        assert_clear(&message);
        assert!(message.contains("the connection broke"), "{message}");
        bench.assert_over();
    }
}

#[test]
fn a_server_that_is_killed_before_a_session_is_opened_is_an_error() {
    let bench = Bench::new(Settings::default());
    let load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
    let (keeper, _, running) = bench.begin(&load);
    bench.responder.kill();
    let message = running.open(&session(&load, 0)).err().unwrap().to_string();
    assert_clear(&message);
    assert!(message.contains("is the server running"), "{message}");
    // Counters that cannot be read are gaps.
    running.before().unwrap();
    assert!(running.after(&mut []).unwrap().is_empty());
    drop((running, keeper));
    bench.assert_over();
}

#[test]
fn an_answer_that_comes_late_is_waited_for() {
    let late = vec![Reply::Wait(Duration::from_millis(300))];
    let bench = Bench::new(Settings { before_loop: late, ..Settings::default() });
    let load = bench.load("insert", "seed_rows=10", 1);
    let (keeper, _, running) = bench.begin(&load);
    let mut open = running.open(&session(&load, 0)).unwrap();
    bench.state().is_warm = true;
    // The window is long over by then.
    let slice = open.slice(&window(0, 1_000_000)).unwrap();
    assert_eq!((slice.steps, slice.rows), (30, 60));
    drop(open);
    running.finish().unwrap();
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn work_that_is_not_done_at_the_end_of_its_time_fails() {
    let late = vec![Reply::Wait(Duration::from_millis(50))];
    let bench = Bench::new(Settings { before_loop: late, ..Settings::default() });
    let load = bench.load("insert", "seed_rows=10 rows_per_session=20", 1);
    let (keeper, _, running) = bench.begin(&load);
    let mut open = running.open(&session(&load, 0)).unwrap();
    bench.state().is_warm = true;
    let message = open.slice(&window(0, 1000)).unwrap_err().to_string();
    assert_clear(&message);
    assert!(message.contains("when the time was up"), "{message}");
    drop(open);
    running.finish().unwrap();
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_connection_that_breaks_in_the_middle_of_an_answer_is_an_error() {
    for bytes in [0, 1, 20, 40] {
        let cut = vec![Reply::CloseAfterBytes(bytes)];
        let bench =
            Bench::new(Settings { before_query: Vec::new(), before_loop: cut, ..Settings::default() });
        let load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
        let (keeper, _, running) = bench.begin(&load);
        let message = slice(&bench, running.as_ref(), &load, LONG_NS).error().to_string();
        assert_clear(&message);
        assert!(message.contains("run its loop"), "{message}");
        drop(running);
        keeper.end().unwrap();
        bench.assert_over();
        bench.assert_clean();
    }
}
