//! Sessions that wait for SQLite's one writer, and what another session's commit costs them.

use super::*;

/// One session at work while another connection has the write lock, until `release` says so.
fn work_against_a_writer(
    table: &str,
    window: impl Fn() -> Window,
    release: impl Fn(&Window, &waits::Waits) -> bool + Send,
) -> SessionSlice {
    let folder = tempfile::tempdir().unwrap();
    let options = [word("file", "shared"), word("table", table)];
    let request = request(folder.path(), &options, 1);
    let run = started(&request);
    let (file, tally) = run.files[0].clone();
    let mut session =
        InsertSession::open(&session_request(&request, 0), run.spec, &run.facts, &file, tally).unwrap();
    session.warm().unwrap();
    let waits = session.waits();
    let other = Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; INSERT INTO inserts VALUES (5, 0, '', 0, 0, 0)").unwrap();
    let window = window();
    let slice = thread::scope(|scope| {
        let (window, waits) = (&window, &waits);
        scope.spawn(move || {
            while !release(window, waits) {
                thread::sleep(std::time::Duration::from_millis(1));
            }
            other.execute_batch("ROLLBACK").unwrap();
        });
        session.slice(window).unwrap()
    });
    drop(session);
    run.finish().unwrap();
    slice
}

#[test]
fn a_session_that_finds_the_writer_busy_waits_and_counts_it() {
    for table in ["durable", "unlogged"] {
        let window = || {
            let start_ns = clock::monotonic_ns();
            Window { sequence: 0, start_ns, end_ns: start_ns + 1_000_000_000, piece_ns: None, arrivals: None }
        };
        // Whatever comes first, so that a machine without a CPU for us cannot hold it up.
        let release = |window: &Window, waits: &waits::Waits| {
            waits.read().0 >= 2 || clock::monotonic_ns() > window.end_ns
        };
        let mut tries = (0..20).map(|_| work_against_a_writer(table, window, release));
        let slice = tries.find(|slice| slice.steps > 0 && slice.counters["busy_waits"] >= 2).unwrap();
        // Pauses of 1 and 2 ms.
        assert!(slice.counters["busy_wait_ns"] >= 3_000_000, "{table}: {:?}", slice.counters);
    }
}

#[test]
fn a_session_without_a_turn_in_the_whole_window_has_waited_all_the_same() {
    let window = || {
        let start_ns = clock::monotonic_ns();
        Window { sequence: 0, start_ns, end_ns: start_ns + 100_000_000, piece_ns: None, arrivals: None }
    };
    let release = |window: &Window, _: &waits::Waits| clock::monotonic_ns() > window.end_ns;
    let mut tries = (0..20).map(|_| {
        let slice = work_against_a_writer("durable", window, release);
        assert_eq!(slice.steps, 0);
        assert!(slice.counters["busy_wait_ns"] <= 100_000_000, "{:?}", slice.counters);
        slice
    });
    assert!(tries.any(|slice| slice.counters["busy_waits"] > 0 && slice.counters["busy_wait_ns"] > 0));
}

#[test]
fn a_commit_of_another_session_costs_pages_of_ones_own_cache_only_in_a_shared_file() {
    for files in ["own", "shared"] {
        let folder = tempfile::tempdir().unwrap();
        let options = [word("file", files), whole("rows_per_session", 200)];
        let request = request(folder.path(), &options, 2);
        let run = started(&request);
        let slices = work(&run, &request, &hour());
        let misses: u64 = slices.iter().flatten().map(|slice| slice.counters["cache_miss_pages"]).sum();
        let waits: u64 = slices.iter().flatten().map(|slice| slice.counters["busy_waits"]).sum();
        match files {
            "own" => assert_eq!((misses, waits), (0, 0)),
            // The sessions' turns alternate at least once, whoever comes first.
            _ => assert!(misses > 0, "{misses}"),
        }
        run.finish().unwrap();
    }
}
