//! Whether a worker's reply is the requested slice, with plausible numbers.

use crate::clock::Clock;
use crate::worker_process::Failure;
use threadwise_engine::protocol::{Reply, WireSessionSlice};
use threadwise_study::{QueryExecution, SessionSlice, Slice};

/// Largest count or duration that the result file holds; more is damage.
const MOST_COUNT: u64 = (1 << 50) - 1;

/// Checks that a reply is the requested slice and that its numbers are plausible.
///
/// `scripts` are the queries that each session had to execute.
pub(super) fn slice(
    reply: Reply,
    (asked, round): (u64, u32),
    count: usize,
    scripts: &[Vec<u8>],
    clock: Clock,
) -> Result<Slice, Failure> {
    let refuse = |why: String| Failure::new("protocol", format!("slice {asked}: {why}"));
    let Reply::Slice { sequence, start_ns, window_ns, sessions, counters } = reply else {
        return Err(refuse("no slice".to_owned()));
    };
    if sequence != asked {
        return Err(refuse(format!("the worker answered with slice {sequence}")));
    }
    if sessions.len() != count {
        return Err(refuse(format!("{} sessions instead of {count}", sessions.len())));
    }
    if window_ns == 0 || window_ns > MOST_COUNT {
        return Err(refuse(format!("a window of {window_ns} ns")));
    }
    let sessions = sessions
        .into_iter()
        .map(|session| {
            check_counts(&session)?;
            SessionSlice::try_from(session).map_err(|error| error.to_string())
        })
        .collect::<Result<Vec<_>, _>>()
        .map_err(refuse)?;
    if let Some(why) = other_queries(&sessions, scripts) {
        return Err(refuse(why));
    }
    let start_ns = clock.at_ns(start_ns).min(MOST_COUNT);
    if let Some(count) = counters.values().find(|count| **count > MOST_COUNT) {
        return Err(refuse(format!("a count of {count} cannot be true")));
    }
    Ok(Slice {
        sequence,
        round,
        start_ns,
        window_ns,
        sessions,
        counters,
        cpu_times: Vec::new(),
        other_cpus: Default::default(),
        looks: Vec::new(),
    })
}

/// The queries that a session executed instead of the requested ones.
fn other_queries(sessions: &[SessionSlice], scripts: &[Vec<u8>]) -> Option<String> {
    sessions.iter().enumerate().find_map(|(number, session)| {
        let done: Vec<u8> = session.queries.iter().map(|execution| execution.query).collect();
        let asked = scripts.get(number).map_or(&[][..], Vec::as_slice);
        (done != asked)
            .then(|| format!("session {number} executed the queries {done:?} instead of {asked:?}"))
    })
}

fn check_query(query: &QueryExecution) -> Result<(), String> {
    let counts = [
        query.started_ns,
        query.elapsed_ns,
        query.planning_ns.unwrap_or(0),
        query.cpu_ns.unwrap_or(0),
        query.rows,
    ];
    match counts.iter().chain(query.counters.values()).find(|count| **count > MOST_COUNT) {
        Some(count) => Err(format!("query {}: a count of {count} cannot be true", query.query)),
        None if query.elapsed_ns == 0 => Err(format!("query {} took no time", query.query)),
        None => Ok(()),
    }
}

fn check_counts(session: &WireSessionSlice) -> Result<(), String> {
    session.queries.iter().try_for_each(check_query)?;
    let of_pieces = session.rows_by_piece.iter().fold(0_u64, |sum, rows| sum.saturating_add(*rows));
    if of_pieces > session.rows {
        return Err(format!("{of_pieces} rows in pieces of a window with {}", session.rows));
    }
    let counts = [
        session.steps,
        session.rows,
        session.answers_checked,
        session.answers_wrong,
        session.cpu_ns,
        session.voluntary_switches,
        session.involuntary_switches,
        session.run_queue_wait_ns.unwrap_or(0),
        session.finished_ns.unwrap_or(0),
    ];
    match counts.iter().chain(session.counters.values()).find(|count| **count > MOST_COUNT) {
        Some(count) => Err(format!("a count of {count} cannot be true")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn reply(sequence: u64, window_ns: u64, sessions: Vec<WireSessionSlice>) -> Reply {
        Reply::Slice { sequence, start_ns: 1000, window_ns, sessions, counters: BTreeMap::new() }
    }

    fn refused(reply: Reply) -> String {
        slice(reply, (7, 0), 1, &[], Clock { zero_ns: 0 }).unwrap_err().message
    }

    #[test]
    fn a_slice_must_be_the_one_that_was_asked_for_and_possible() {
        let session = WireSessionSlice::default;
        let slice = slice(reply(7, 50, vec![session()]), (7, 3), 1, &[], Clock { zero_ns: 400 }).unwrap();
        assert_eq!((slice.sequence, slice.round, slice.start_ns, slice.window_ns), (7, 3, 600, 50));
        assert!(refused(reply(8, 50, vec![session()])).contains("slice 8"));
        assert!(refused(reply(7, 50, vec![])).contains("0 sessions instead of 1"));
        assert!(refused(reply(7, 0, vec![session()])).contains("window of 0 ns"));
        assert!(refused(reply(7, u64::MAX, vec![session()])).contains("window"));
        let huge = WireSessionSlice { rows: u64::MAX, ..session() };
        assert!(refused(reply(7, 50, vec![huge])).contains("cannot be true"));
        let pieces = WireSessionSlice { rows: 3, rows_by_piece: vec![2, u64::MAX], ..session() };
        assert!(refused(reply(7, 50, vec![pieces])).contains("in pieces of a window with 3"));
        let counters = BTreeMap::from([("logical_reads".to_owned(), 1 << 50)]);
        assert!(
            refused(reply(7, 50, vec![WireSessionSlice { counters, ..session() }])).contains("cannot be")
        );
        let damaged = WireSessionSlice { latency: "*".into(), ..session() };
        assert!(refused(reply(7, 50, vec![damaged])).contains("base64"));
        assert!(refused(Reply::Done { memory: threadwise_study::Counters::new() }).contains("no slice"));
    }

    #[test]
    fn the_queries_must_be_those_that_were_asked_for() {
        let query = |query| QueryExecution { query, elapsed_ns: 1, ..QueryExecution::default() };
        let with = |queries| reply(7, 50, vec![WireSessionSlice { queries, ..WireSessionSlice::default() }]);
        let clock = Clock { zero_ns: 0 };
        let accept = |reply, scripts: &[Vec<u8>]| {
            slice(reply, (7, 0), 1, scripts, clock).map_err(|failure| failure.message)
        };
        let found = accept(with(vec![query(6), query(2)]), &[vec![6, 2]]).unwrap();
        assert_eq!(found.sessions[0].queries.len(), 2);
        let why = accept(with(vec![query(6)]), &[vec![5]]).unwrap_err();
        assert!(why.contains("[6] instead of [5]"), "{why}");
        assert!(accept(with(vec![query(6)]), &[]).is_err());
        assert!(accept(with(vec![]), &[vec![1]]).is_err());
        let never = QueryExecution { elapsed_ns: 0, ..query(6) };
        assert!(accept(with(vec![never]), &[vec![6]]).unwrap_err().contains("no time"));
    }
}
