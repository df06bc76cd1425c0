//! Differences of made-up snapshots.

use crate::*;

fn statement(key: &str, calls: u64, time_ns: u64) -> StatementCount {
    StatementCount { key: key.to_owned(), calls, time_ns, rows: calls, since: None }
}

/// The look of a second, with these statements.
fn look(second: i64, statements: Vec<StatementCount>) -> Look {
    let ns = second as u64 * 1_000_000_000;
    Look {
        unix_ms: 1_000_000 + second * 1000,
        monotonic_ns: ns,
        boottime_ns: ns,
        unanswered: 0,
        states: States { state: Some("a".to_owned()), ..States::default() },
        snapshot: Snapshot {
            started_unix_s: Some(10.0),
            reset: Some("r".to_owned()),
            evictions: Some(0),
            hidden: 0,
            statements,
        },
    }
}

fn names(interval: &Interval) -> Vec<&str> {
    interval.counts.iter().map(|count| count.statement.as_str()).collect()
}

#[test]
fn counters_that_belong_together_are_subtracted() {
    let before = look(0, vec![statement("a", 10, 1000), statement("b", 5, 50), statement("idle", 1, 1)]);
    let after = look(
        60,
        vec![
            statement("a", 13, 1300),
            statement("b", 6, 9050),
            statement("idle", 1, 1),
            statement("new", 2, 20),
        ],
    );
    let interval = difference(&before, &after, 10);
    assert_eq!((interval.gap, interval.length_ns, interval.lost), (None, 60_000_000_000, Lost::default()));
    assert_eq!(names(&interval), ["b", "a", "new"]);
    assert_eq!((interval.counts[0].calls, interval.counts[0].time_ns), (1, 9000));
    assert_eq!((interval.calls(), interval.time_ns()), (6, 9320));
    // The same beyond the first.
    let cut = difference(&before, &after, 1);
    assert_eq!(
        (names(&cut), &cut.rest),
        (vec!["b"], &Count { statement: 2, calls: 5, time_ns: 320, rows: 5 })
    );
    assert_eq!(cut.calls(), 6);
}

#[test]
fn lost_statements_have_no_number() {
    let since = |mut one: StatementCount, moment: &str| {
        one.since = Some(moment.to_owned());
        one
    };
    let before = look(
        0,
        vec![
            statement("stays", 1, 1),
            statement("gone", 9, 9),
            statement("back", 9, 9),
            statement("slower", 5, 500),
            since(statement("again", 2, 2), "1"),
        ],
    );
    let after = look(
        1,
        vec![
            statement("stays", 2, 2),
            statement("back", 3, 3),
            // More calls and less time: other counters.
            statement("slower", 6, 400),
            since(statement("again", 7, 7), "2"),
        ],
    );
    let interval = difference(&before, &after, 10);
    // What was counted again from 0 since the last look is known.
    assert_eq!(names(&interval), ["again", "stays"]);
    assert_eq!(interval.counts[0].calls, 7);
    assert_eq!((interval.gap, interval.lost), (None, Lost { evicted: 2, restarted: 2 }));
}

#[test]
fn plans_of_a_statement_are_added_up_and_one_that_is_dropped_takes_nothing_away() {
    let plan = |calls, time_ns, plan: &str| StatementCount {
        since: Some(plan.to_owned()),
        ..statement("a", calls, time_ns)
    };
    let before = look(0, vec![plan(100, 1000, "p1"), plan(10, 200, "p2")]);
    let after = look(1, vec![plan(12, 240, "p2"), plan(3, 90, "p3")]);
    let interval = difference(&before, &after, 10);
    assert_eq!(interval.counts, [Count { statement: "a".to_owned(), calls: 5, time_ns: 130, rows: 5 }]);
    assert_eq!(interval.lost, Lost { evicted: 1, restarted: 0 });
}

#[test]
fn a_key_that_is_there_twice_counts_once() {
    let before = look(0, vec![statement("a", 1, 10), statement("a", 2, 20)]);
    let after = look(1, vec![statement("a", 2, 30), statement("a", 2, 20)]);
    let interval = difference(&before, &after, 10);
    assert_eq!(interval.counts, [Count { statement: "a".to_owned(), calls: 1, time_ns: 20, rows: 1 }]);
}

#[test]
fn what_does_not_belong_together_is_a_gap_with_its_reason() {
    let statements = || vec![statement("a", 5, 50)];
    let before = look(100, statements());
    type Change = fn(&mut Look);
    let changes: [(Change, Option<Gap>); 13] = [
        (|_| (), None),
        // Whole seconds of an uptime.
        (|look| look.snapshot.started_unix_s = Some(11.0), None),
        (|look| look.snapshot.started_unix_s = Some(90.0), Some(Gap::Restart)),
        (|look| look.snapshot.reset = Some("later".to_owned()), Some(Gap::Reset)),
        (|look| look.snapshot.statements[0].calls = 1, Some(Gap::Reset)),
        (|look| look.snapshot.statements.clear(), Some(Gap::Reset)),
        (|look| look.unanswered = 2, Some(Gap::Unreachable)),
        (|look| look.unix_ms += 400, None),
        (|look| look.unix_ms += 3_600_000, Some(Gap::ClockStep)),
        (|look| look.unix_ms -= 3_600_000, Some(Gap::ClockStep)),
        (|look| look.monotonic_ns -= 30_000_000_000, Some(Gap::Suspended)),
        (|look| look.states.smt = Some("off".to_owned()), Some(Gap::StateChange)),
        (|look| look.snapshot.hidden = 2, None),
    ];
    for (at, (change, gap)) in changes.into_iter().enumerate() {
        let mut after = look(160, statements());
        after.snapshot.statements[0].calls = 6;
        change(&mut after);
        let interval = difference(&before, &after, 10);
        assert_eq!(interval.gap, gap, "{at}");
        assert_eq!(interval.counts.is_empty(), gap.is_some(), "{at}");
        assert_eq!(interval.states == States::default(), gap == Some(Gap::StateChange), "{at}");
    }
}

#[test]
fn statements_that_become_visible_are_not_of_one_interval() {
    let mut before = look(100, vec![statement("a", 5, 50)]);
    before.snapshot.hidden = 1;
    let mut after = look(160, vec![statement("a", 6, 60), statement("theirs", 1_000_000, 1_000_000)]);
    let interval = difference(&before, &after, 10);
    assert_eq!((interval.gap, interval.counts.len()), (Some(Gap::RightsChange), 0));
    after.snapshot.hidden = 2;
    assert_eq!(difference(&before, &after, 10).gap, None);
}

#[test]
fn an_idle_server_has_intervals_without_counts() {
    for statements in [vec![], vec![statement("a", 5, 50)]] {
        let interval = difference(&look(0, statements.clone()), &look(60, statements), 10);
        assert_eq!((interval.gap, interval.calls(), interval.lost), (None, 0, Lost::default()));
    }
}

#[test]
fn every_gap_has_a_word_of_its_own() {
    for gap in Gap::ALL {
        assert_eq!(Gap::of(gap.word()), Some(gap));
        assert!(!gap.words().is_empty());
    }
    assert_eq!(Gap::of("none"), None);
}
