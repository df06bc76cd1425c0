//! Looks around slices: stored with their slice, in whole thousandths.

use crate::error::Fault;
use crate::schema::Version;
use crate::value::{Ascending, COUNT_MAX, Fields, MOMENT_MAX, all, bounded, logical_cpu, measure};
use rusqlite::{Connection, params};
use threadwise_study::{Alone, CpuLook, Look, Moment, PairLook, Run, Slice, SliceLook};

/// Unit of stored numbers.
const UNIT: f64 = 1000.0;

const MOMENTS: [Moment; 3] = [Moment::Before, Moment::During, Moment::After];

/// Estimated bytes of a run's looks in the file.
pub(crate) fn bytes_of(run: &Run) -> usize {
    let looks = run.slices.iter().flat_map(|slice| &slice.looks);
    looks.map(|one| 30 + 14 * (one.look.cpus.len() + one.look.pairs.len())).sum()
}

/// Stores the looks of a slice.
pub(crate) fn insert(connection: &Connection, slice: i64, looks: &[SliceLook]) -> Result<(), Fault> {
    for SliceLook { moment, look } in looks {
        connection
            .prepare_cached("INSERT INTO looks (slice, moment, start_ns, took_ns) VALUES (?, ?, ?, ?)")?
            .execute(params![
                slice,
                moment.word(),
                bounded(look.start_ns, MOMENT_MAX, "start_ns of a look")?,
                bounded(look.took_ns, COUNT_MAX, "took_ns of a look")?,
            ])?;
        let id = connection.last_insert_rowid();
        insert_cpus(connection, id, &look.cpus)?;
        insert_pairs(connection, id, &look.pairs)?;
        if let Some(alone) = look.alone {
            insert_test(connection, id, alone)?;
        }
    }
    Ok(())
}

fn insert_cpus(connection: &Connection, look: i64, cpus: &[CpuLook]) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO look_cpus (look, cpu, chain_ps, adds_per_1000_steps) VALUES (?, ?, ?, ?)",
    )?;
    let mut order = Ascending::default();
    for seen in cpus {
        let cpu = logical_cpu(seen.cpu)?;
        order.next("logical CPUs of a look", 1, cpu as usize).map_err(unstorable)?;
        insert.execute(params![
            look,
            cpu,
            stored(seen.chain_ns, "chain_ns")?,
            stored(seen.adds_per_step, "adds_per_step")?
        ])?;
    }
    Ok(())
}

fn insert_pairs(connection: &Connection, look: i64, pairs: &[PairLook]) -> Result<(), Fault> {
    let mut insert =
        connection.prepare_cached("INSERT INTO look_pairs (look, a, b, line_ps) VALUES (?, ?, ?, ?)")?;
    let mut order = Ascending::default();
    for &PairLook { a, b, line_ns } in pairs {
        order.next("pairs of a look", 1, logical_cpu(a)? as usize).map_err(unstorable)?;
        if a >= logical_cpu(b)? {
            return Err(Fault::Unstorable(format!("the pair {a} and {b} of a look is out of order")));
        }
        insert.execute(params![look, a, b, stored(line_ns, "line_ns")?])?;
    }
    Ok(())
}

fn insert_test(connection: &Connection, look: i64, alone: Alone) -> Result<(), Fault> {
    let Alone { a, b, a_adds_per_step, b_adds_per_step } = alone;
    if logical_cpu(a)? >= logical_cpu(b)? {
        return Err(Fault::Unstorable(format!("the tested pair {a} and {b} of a look is out of order")));
    }
    let adds = |adds_per_step: f64| stored(Some(adds_per_step), "adds_per_step");
    connection.prepare_cached("INSERT INTO look_tests VALUES (?, ?, ?, ?, ?)")?.execute(params![
        look,
        a,
        b,
        adds(a_adds_per_step)?,
        adds(b_adds_per_step)?
    ])?;
    Ok(())
}

fn unstorable(fault: Fault) -> Fault {
    match fault {
        Fault::Damaged(why) => Fault::Unstorable(why),
        other => other,
    }
}

fn stored(value: Option<f64>, what: &str) -> Result<Option<i64>, Fault> {
    value.map(|value| Ok(measure(value * UNIT, what)?.round() as i64)).transpose()
}

fn read(row: &Fields<'_, '_>, at: usize) -> Result<Option<f64>, Fault> {
    Ok(row.optional(at, COUNT_MAX)?.map(|value| value as f64 / UNIT))
}

/// Adds the looks to the slices, which are in the order of their numbers.
pub(crate) fn add(
    connection: &Connection,
    slices: &mut [(usize, Slice)],
    version: Version,
) -> Result<(), Fault> {
    let sql = "SELECT id, slice, moment, start_ns, took_ns FROM looks ORDER BY id";
    let mut looks = all(connection, "looks", sql, |row, at| {
        row.next_id(0, at + 1)?;
        let moment = row.word(2, &MOMENTS.map(|moment| (moment.word(), moment)))?;
        let look = Look { start_ns: row.number(3, MOMENT_MAX)?, took_ns: row.count(4)?, ..Look::default() };
        Ok((row.index(1, 1, slices.len())?, SliceLook { moment, look }))
    })?;
    let sql = "SELECT look, cpu, chain_ps, adds_per_1000_steps FROM look_cpus ORDER BY look, cpu";
    let mut rows = Ascending::default();
    all(connection, "look_cpus", sql, |row, _| {
        let (look, cpu) = (row.index(0, 1, looks.len())?, row.logical_cpu(1)?);
        rows.next("look_cpus", look, cpu as usize)?;
        let seen = CpuLook { cpu, chain_ns: read(row, 2)?, adds_per_step: read(row, 3)? };
        looks[look].1.look.cpus.push(seen);
        Ok(())
    })?;
    let sql = "SELECT look, a, b, line_ps FROM look_pairs ORDER BY look, a";
    let mut rows = Ascending::default();
    all(connection, "look_pairs", sql, |row, _| {
        let (look, a, b) = (row.index(0, 1, looks.len())?, row.logical_cpu(1)?, row.logical_cpu(2)?);
        rows.next("look_pairs", look, a as usize)?;
        if a >= b {
            return Err(Fault::Damaged(format!("look_pairs has the pair {a} and {b}")));
        }
        looks[look].1.look.pairs.push(PairLook { a, b, line_ns: read(row, 3)? });
        Ok(())
    })?;
    if version >= Version::Four {
        add_tests(connection, &mut looks)?;
    }
    for (slice, look) in looks {
        slices[slice].1.looks.push(look);
    }
    Ok(())
}

fn add_tests(connection: &Connection, looks: &mut [(usize, SliceLook)]) -> Result<(), Fault> {
    let sql = "SELECT look, a, b, a_adds_per_1000_steps, b_adds_per_1000_steps FROM look_tests ORDER BY look";
    let count = looks.len();
    all(connection, "look_tests", sql, |row, _| {
        let (look, a, b) = (row.index(0, 1, count)?, row.logical_cpu(1)?, row.logical_cpu(2)?);
        if a >= b {
            return Err(Fault::Damaged(format!("look_tests has the pair {a} and {b}")));
        }
        let adds = |at: usize| Ok::<f64, Fault>(row.number(at, COUNT_MAX)? as f64 / UNIT);
        let alone = Alone { a, b, a_adds_per_step: adds(3)?, b_adds_per_step: adds(4)? };
        looks[look].1.look.alone = Some(alone);
        Ok(())
    })?;
    Ok(())
}
