//! Writing of the file of observed statements.

use super::about::About;
use crate::error::Fault;
use crate::studies;
use crate::value::{self, NAME_BYTES};
use rusqlite::{Connection, params};
use std::collections::HashMap;
use threadwise_observed::{Interval, Neighbours, StatementText, Unseen};

/// Writes the table `meta`.
pub(super) fn about(connection: &Connection, about: &About) -> Result<(), Fault> {
    for (key, value) in [
        ("program", about.program.clone()),
        ("engine", about.engine.clone()),
        ("engine_version", about.engine_version.clone()),
        ("server", about.server.clone()),
        ("host", about.host.clone()),
        ("most", about.most.to_string()),
        ("texts", u64::from(about.has_texts).to_string()),
        ("interval_ns", about.interval_ns.to_string()),
        ("created_utc", about.created_utc.clone()),
    ] {
        studies::set_meta(connection, key, &value)?;
    }
    Ok(())
}

/// Writes an interval with the next number, and its new statements, whose ids it returns.
pub(super) fn interval(
    connection: &Connection,
    number: u64,
    interval: &Interval,
    texts: &[StatementText],
    ids: &HashMap<String, u64>,
) -> Result<Vec<(String, u64)>, Fault> {
    row(connection, number, interval)?;
    let texts: HashMap<&str, &StatementText> = texts.iter().map(|text| (text.key.as_str(), text)).collect();
    let mut new: Vec<(String, u64)> = Vec::new();
    let mut insert = connection.prepare_cached(
        "INSERT INTO counts (interval, statement, calls, time_ns, rows) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for count in &interval.counts {
        let key = count.statement.as_str();
        let id = match ids.get(key) {
            Some(id) => *id,
            None => {
                let id = (ids.len() + new.len()) as u64 + 1;
                statement(connection, id, key, texts.get(key).copied())?;
                new.push((key.to_owned(), id));
                id
            }
        };
        insert.execute(params![number, id, count.calls, count.time_ns, count.rows])?;
    }
    Ok(new)
}

fn row(connection: &Connection, number: u64, interval: &Interval) -> Result<(), Fault> {
    let (states, host, neighbours) = (&interval.states, interval.host.as_ref(), interval.neighbours);
    for text in [&states.state, &states.smt, &states.clock, &states.version].into_iter().flatten() {
        value::name(text, "a state")?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO intervals (id, start_unix_ms, end_unix_ms, length_ns, gap, state, smt, clock, cpus, version, \
         busy_share, used_low, used_high, stolen_share, busy_mhz, looks, neighbour_share, neighbour_unknown, rest, \
         rest_calls, rest_time_ns, rest_rows, evicted, restarted) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, \
         ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)",
    )?;
    insert.execute(params![
        number,
        interval.start_unix_ms,
        interval.end_unix_ms,
        interval.length_ns,
        interval.gap.map(|gap| gap.word()),
        states.state,
        states.smt,
        states.clock,
        states.cpus,
        states.version,
        host.map(|host| host.busy_share),
        host.map(|host| host.used_low_share),
        host.map(|host| host.used_high_share),
        host.map(|host| host.stolen_share),
        host.and_then(|host| host.busy_mhz),
        neighbours.map(Neighbours::looks),
        neighbours.and_then(Neighbours::share),
        neighbours.and_then(Neighbours::unknown).map(Unseen::word),
        interval.rest.statement,
        interval.rest.calls,
        interval.rest.time_ns,
        interval.rest.rows,
        interval.lost.evicted,
        interval.lost.restarted,
    ])?;
    Ok(())
}

fn statement(
    connection: &Connection,
    id: u64,
    key: &str,
    known: Option<&StatementText>,
) -> Result<(), Fault> {
    value::fits(key.len(), 2 * NAME_BYTES, "the key of a statement")?;
    let mut insert =
        connection.prepare_cached("INSERT INTO statements (id, key, is_ours) VALUES (?1, ?2, 0)")?;
    insert.execute(params![id, key])?;
    known.map_or(Ok(()), |known| description(connection, id, known))
}

/// Writes what is known of statements that are there already.
pub(super) fn describe(
    connection: &Connection,
    texts: &[StatementText],
    ids: &HashMap<String, u64>,
) -> Result<(), Fault> {
    let known = texts.iter().filter_map(|text| Some((ids.get(&text.key)?, text)));
    known.into_iter().try_for_each(|(id, text)| description(connection, *id, text))
}

fn description(connection: &Connection, id: u64, known: &StatementText) -> Result<(), Fault> {
    let mut update = connection.prepare_cached(
        "UPDATE statements SET database = ?2, user_name = ?3, text = ?4, is_ours = ?5 WHERE id = ?1",
    )?;
    let cut = |text: &Option<String>| text.as_deref().map(|text| value::message(text).to_owned());
    update.execute(params![id, cut(&known.database), cut(&known.user), cut(&known.text), known.is_ours])?;
    Ok(())
}
