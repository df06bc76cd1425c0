//! Reading of the file of observed statements. Every value is held to its bounds.

use super::about::About;
use crate::error::Fault;
use crate::studies;
use crate::value::{BYTES_MAX, Fields, MOMENT_MAX, NAME_BYTES, TEXT_BYTES, all, first};
use rusqlite::Connection;
use threadwise_observed::{Count, Gap, Host, Interval, Lost, Neighbours, StatementText, States, Unseen};

/// Reads the table `meta`.
pub(super) fn about(connection: &Connection) -> Result<About, Fault> {
    let value = |key: &str| studies::required(connection, key);
    let number = |key: &str| -> Result<u64, Fault> {
        let text = value(key)?;
        text.parse().map_err(|_| studies::damaged(key, &text))
    };
    Ok(About {
        program: value("program")?,
        engine: value("engine")?,
        engine_version: value("engine_version")?,
        server: value("server")?,
        host: value("host")?,
        most: number("most")?,
        has_texts: number("texts")? == 1,
        interval_ns: number("interval_ns")?,
        created_utc: value("created_utc")?,
    })
}

/// Number of intervals.
pub(super) fn count(connection: &Connection) -> Result<u64, Fault> {
    let sql = "SELECT max(id) FROM intervals";
    let found = first(connection, "intervals", sql, [], |fields| fields.optional(0, BYTES_MAX))?;
    Ok(found.flatten().unwrap_or_default())
}

/// Statements in the order of their ids.
pub(super) fn statements(connection: &Connection) -> Result<Vec<StatementText>, Fault> {
    let sql = "SELECT id, key, database, user_name, text, is_ours FROM statements ORDER BY id";
    all(connection, "statements", sql, |fields, before| {
        fields.next_id(0, before + 1)?;
        let text = |at| Ok::<_, Fault>(fields.optional_text(at, TEXT_BYTES)?.map(str::to_owned));
        Ok(StatementText {
            key: fields.text(1, 2 * NAME_BYTES)?.to_owned(),
            database: text(2)?,
            user: text(3)?,
            text: text(4)?,
            is_ours: fields.flag(5)?,
        })
    })
}

/// Intervals in order, without their counts.
pub(super) fn intervals(connection: &Connection) -> Result<Vec<Interval<u32>>, Fault> {
    let sql = "SELECT id, start_unix_ms, end_unix_ms, length_ns, gap, state, smt, clock, cpus, version, busy_share, \
               used_low, used_high, stolen_share, busy_mhz, rest, rest_calls, rest_time_ns, rest_rows, evicted, \
               restarted, looks, neighbour_share, neighbour_unknown FROM intervals ORDER BY id";
    all(connection, "intervals", sql, |fields, before| {
        fields.next_id(0, before + 1)?;
        let moment = |at| Ok::<_, Fault>(fields.number(at, MOMENT_MAX)? as i64);
        let name = |at| Ok::<_, Fault>(fields.optional_text(at, NAME_BYTES)?.map(str::to_owned));
        let number = |at| fields.number(at, MOMENT_MAX);
        let gap = match fields.optional_text(4, NAME_BYTES)? {
            None => None,
            Some(word) => Some(Gap::of(word).ok_or_else(|| fields.damaged(4, &format!("is '{word}'")))?),
        };
        Ok(Interval {
            start_unix_ms: moment(1)?,
            end_unix_ms: moment(2)?,
            length_ns: number(3)?,
            gap,
            states: States {
                state: name(5)?,
                smt: name(6)?,
                clock: name(7)?,
                cpus: fields.optional(8, 1 << 16)?.map(|cpus| cpus as u32),
                version: name(9)?,
            },
            host: host(fields)?,
            neighbours: neighbours(fields)?,
            counts: Vec::new(),
            rest: Count {
                statement: number(15)?,
                calls: number(16)?,
                time_ns: number(17)?,
                rows: number(18)?,
            },
            lost: Lost { evicted: number(19)?, restarted: number(20)? },
        })
    })
}

fn host(fields: &Fields<'_, '_>) -> Result<Option<Host>, Fault> {
    let Some(busy_share) = fields.optional_real(10)? else { return Ok(None) };
    Ok(Some(Host {
        busy_share,
        used_low_share: fields.real(11)?,
        used_high_share: fields.real(12)?,
        stolen_share: fields.real(13)?,
        busy_mhz: fields.optional_real(14)?,
    }))
}

fn neighbours(fields: &Fields<'_, '_>) -> Result<Option<Neighbours>, Fault> {
    let unknown = fields.optional_text(23, NAME_BYTES)?;
    match (fields.optional(21, MOMENT_MAX)?, fields.optional_real(22)?, unknown) {
        (None, None, None) => Ok(None),
        (Some(looks), Some(share), None) if looks > 0 && (0.0..=1.0).contains(&share) => {
            Ok(Some(Neighbours::Seen { looks, share }))
        }
        (Some(0), None, Some(word)) => match Unseen::of(word) {
            Some(unseen) => Ok(Some(Neighbours::Unknown(unseen))),
            None => Err(fields.damaged(23, &format!("is '{word}'"))),
        },
        _ => Err(fields.damaged(21, "does not fit neighbour_share and neighbour_unknown")),
    }
}

/// Gives each count with the index of its interval, in their order. Those of intervals beyond are left out.
pub(super) fn counts(
    connection: &Connection,
    intervals: usize,
    statements: usize,
    mut take: impl FnMut(usize, &Count<u32>),
) -> Result<(), Fault> {
    let sql = "SELECT interval, statement, calls, time_ns, rows FROM counts ORDER BY interval, statement";
    let mut prepared = connection.prepare(sql)?;
    let mut rows = prepared.query([])?;
    let mut last = (0, 0);
    let mut is_first = true;
    while let Some(row) = rows.next()? {
        let fields = Fields { row, table: "counts" };
        let at = (fields.index(0, 1, intervals)?, fields.index(1, 1, statements)?);
        // A file whose pages form a loop would give rows without end.
        if !is_first && at <= last {
            return Err(fields.damaged(0, "is out of order"));
        }
        (last, is_first) = (at, false);
        let count = Count {
            statement: at.1 as u32,
            calls: fields.positive(2, MOMENT_MAX)?,
            time_ns: fields.number(3, MOMENT_MAX)?,
            rows: fields.number(4, MOMENT_MAX)?,
        };
        take(at.0, &count);
    }
    Ok(())
}
