//! Threadwise's schema or database in the user's server, or in a private one that all treatments share.
//!
//! It contains a table that marks it as threadwise's, one that lists the objects made, and one of the data that is
//! complete. A schema of that name without the mark is refused; at the end only listed objects are dropped, and the
//! schema itself only if nothing else is left in it. A lock of the keeper's connection keeps two studies apart; the
//! server releases it with the connection, however that ends.

use threadwise_engine::{EngineError, Keeper, Loaded};

use crate::driver::{Connection, Driver, Parameter, Value, numbers};
use crate::template::{Names, fill};
use crate::workload::Objects;

/// Table that marks a schema as threadwise's.
const MARK: &str = "threadwise_mark";
/// Objects that threadwise made.
const OBJECTS: &str = "threadwise_objects";
/// Data that is complete.
const LOADS: &str = "threadwise_loads";
/// Text of the mark.
const SAYS: &str = "made by threadwise, dropped at the end of its study";

/// Between the statements of a script.
pub(crate) const GO: &str = "\nGO\n";

/// The full name of one of its own tables.
fn table(driver: &impl Driver, name: &str) -> String {
    Names { schema: driver.schema(), suffix: "", quotes: driver.dialect().quotes }.quoted(name)
}

fn places(driver: &impl Driver, sql: &str, kind: &str, name: &str) -> String {
    fill(sql, &[("schema", driver.schema()), ("kind", kind), ("name", name), ("says", SAYS)])
}

/// Executes the parts of a script.
fn script<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    action: &str,
    sql: &str,
) -> Result<(), EngineError> {
    sql.split(GO).try_for_each(|part| control.run(action, &places(driver, part, "", "")))
}

/// Makes the schema. One with the mark, which an earlier study left, is dropped first.
///
/// # Errors
/// It exists without the mark, another study is using it, or the account may not create one.
pub fn make<D: Driver>(driver: &D, control: &mut D::Connection) -> Result<(), EngineError> {
    let (schema, sql) = (driver.schema(), &driver.dialect().schema);
    let (noun, option, place) = (sql.noun, sql.option, driver.place());
    take_lock(driver, control)?;
    if is_positive(driver, control, &format!("look for its {noun}"), sql.is_there, "")? {
        if !is_ours(driver, control)? {
            let why = format!(
                "{noun} '{schema}' exists{place} and threadwise did not make it: give another name with \
                 --engine-option {option}=NAME"
            );
            return Err(driver.failed(&format!("create its {noun}"), why));
        }
        drop_ours(driver, control)?;
    }
    let action = format!("create its {noun} '{schema}'{place} as '{}'", driver.user());
    script(driver, control, &action, sql.make)
}

fn take_lock<D: Driver>(driver: &D, control: &mut D::Connection) -> Result<(), EngineError> {
    let (schema, sql) = (driver.schema(), &driver.dialect().schema);
    let action = format!("take the lock of its {}", sql.noun);
    match numbers(control, &action, &places(driver, sql.lock, "", ""))? {
        [Some(1)] => Ok(()),
        _ => {
            let why = format!(
                "another study is using '{schema}': wait for its end, or give another name with --engine-option \
                 {}=NAME",
                sql.option
            );
            Err(driver.failed(&action, why))
        }
    }
}

/// Whether a question about a name is answered by a positive number.
fn is_positive<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    action: &str,
    sql: &str,
    name: &str,
) -> Result<bool, EngineError> {
    let [found] = numbers(control, action, &places(driver, sql, "", name))?;
    Ok(found.is_some_and(|number| number > 0))
}

fn is_ours<D: Driver>(driver: &D, control: &mut D::Connection) -> Result<bool, EngineError> {
    let sql = &driver.dialect().schema;
    let action = format!("look for the mark of its {}", sql.noun);
    if !is_positive(driver, control, &action, sql.has_table, MARK)? {
        return Ok(false);
    }
    let rows = control.rows(&action, &format!("SELECT says FROM {}", table(driver, MARK)), &[])?;
    Ok(rows.first().and_then(|row| row.first()?.text()) == Some(SAYS))
}

/// Drops the listed objects, and the schema if it contains nothing else; otherwise nothing.
///
/// # Errors
/// It contains objects that threadwise did not make, which the error names; or an error of the server.
pub fn drop_ours<D: Driver>(driver: &D, control: &mut D::Connection) -> Result<(), EngineError> {
    let sql = &driver.dialect().schema;
    let action = format!("drop its {} '{}'", sql.noun, driver.schema());
    let [begin, commit, rollback] = sql.transaction;
    if begin.is_empty() {
        return drop_all(driver, control, &action);
    }
    control.run(&action, begin)?;
    let dropped = drop_all(driver, control, &action).and_then(|()| control.run(&action, commit));
    if dropped.is_err() {
        // The first error is reported.
        let _ = control.run(&action, rollback);
    }
    dropped
}

fn drop_all<D: Driver>(driver: &D, control: &mut D::Connection, action: &str) -> Result<(), EngineError> {
    let sql = &driver.dialect().schema;
    let mut listed = match is_positive(driver, control, action, sql.has_table, OBJECTS)? {
        true => pairs(control, action, &format!("SELECT kind, name FROM {}", table(driver, OBJECTS)))?,
        // Killed while it was being made.
        false => Vec::new(),
    };
    // Procedures first: some of them hold their tables.
    listed.sort_by(|(one, _), (other, _)| one.cmp(other));
    // Checked first: a refused study leaves the schema unchanged.
    expect_only(driver, control, action, &listed)?;
    for (kind, name) in &listed {
        // Others may write to the table with the list: only plain names are taken from it.
        if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            let kind = if kind == "procedure" { "procedure" } else { "table" };
            control.run(action, &places(driver, sql.drop, kind, name))?;
        }
    }
    // What drops a schema may drop everything in it, so objects made in the meantime need a second check.
    expect_only(driver, control, action, &[])?;
    script(driver, control, action, sql.drop_schema)
}

/// Refuses a schema with objects that are not in a list of kinds and names.
fn expect_only<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    action: &str,
    listed: &[(String, String)],
) -> Result<(), EngineError> {
    let there = pairs(control, action, &places(driver, driver.dialect().schema.objects, "", ""))?;
    let others = foreign(&there, listed);
    if others.is_empty() {
        return Ok(());
    }
    let why = format!(
        "it contains objects that threadwise did not make: {}; move them elsewhere, or give another name with \
         --engine-option {}=NAME",
        others.join(", "),
        driver.dialect().schema.option
    );
    Err(driver.failed(action, why))
}

/// Names of the objects in a schema that are not in a list of kinds and names.
fn foreign(there: &[(String, String)], listed: &[(String, String)]) -> Vec<String> {
    there.iter().filter(|object| !listed.contains(object)).map(|(_, name)| name.clone()).collect()
}

/// Rows of two texts.
fn pairs(
    control: &mut impl Connection,
    action: &str,
    sql: &str,
) -> Result<Vec<(String, String)>, EngineError> {
    let text = |value: &Value| value.text().map(str::to_owned);
    let rows = control.rows(action, sql, &[])?;
    Ok(rows.iter().filter_map(|row| Some((text(row.first()?)?, text(row.get(1)?)?))).collect())
}

/// Lists objects before they are made.
///
/// # Errors
/// An error of the server, or the schema is not threadwise's.
pub fn announce<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    objects: &Objects,
) -> Result<(), EngineError> {
    for_each(driver, control, objects, "list the objects to be made", driver.dialect().schema.announce)
}

/// Drops what an interrupted load left of these objects.
///
/// # Errors
/// An error of the server.
pub fn drop_left<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    objects: &Objects,
) -> Result<(), EngineError> {
    for_each(driver, control, objects, "drop what an interrupted load left", driver.dialect().schema.drop)
}

fn for_each<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    objects: &Objects,
    action: &str,
    sql: &str,
) -> Result<(), EngineError> {
    for (kind, names) in [("procedure", &objects.procedures), ("table", &objects.tables)] {
        for name in names {
            control.run(action, &places(driver, sql, kind, name))?;
        }
    }
    Ok(())
}

/// Result of an earlier load of the same data, if it was finished.
///
/// # Errors
/// An error of the server: the schema does not exist.
pub fn loaded<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    suffix: &str,
) -> Result<Option<Loaded>, EngineError> {
    let (loads, mark) = (table(driver, LOADS), driver.dialect().mark(1));
    let sql = format!("SELECT bytes, counted, notes FROM {loads} WHERE suffix = {mark}");
    let rows = control.rows("look for its data", &sql, &[Parameter::Text(suffix)])?;
    let number = |value: &Value| value.whole().and_then(|number| u64::try_from(number).ok());
    Ok(rows.first().and_then(|row| {
        Some(Loaded {
            bytes_per_session: number(row.first()?)?,
            rows_per_session: number(row.get(1)?)?,
            // An empty text is NULL in some databases.
            notes: row.get(2)?.text().unwrap_or_default().lines().map(str::to_owned).collect(),
        })
    }))
}

/// The data that was loaded under a name with this beginning, if any.
///
/// # Errors
/// An error of the server: the schema does not exist.
pub(crate) fn other_load<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    begins: &str,
) -> Result<Option<String>, EngineError> {
    let sql = format!("SELECT suffix FROM {} WHERE suffix LIKE '{begins}%'", table(driver, LOADS));
    let rows = control.rows("look for the data", &sql, &[])?;
    Ok(rows.first().and_then(|row| row.first()?.text()).map(str::to_owned))
}

/// Records that data is complete.
///
/// # Errors
/// An error of the server.
pub fn finished<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    suffix: &str,
    loaded: &Loaded,
) -> Result<(), EngineError> {
    let (loads, dialect) = (table(driver, LOADS), driver.dialect());
    let marks = [1, 2, 3, 4].map(|number| dialect.mark(number)).join(", ");
    let sql = format!("INSERT INTO {loads} (suffix, bytes, counted, notes) VALUES ({marks})");
    let number = |number: u64| Parameter::Big(i64::try_from(number).unwrap_or(i64::MAX));
    let (bytes, rows) = (number(loaded.bytes_per_session), number(loaded.rows_per_session));
    let notes = loaded.notes.join("\n");
    let values = [Parameter::Text(suffix), bytes, rows, Parameter::Text(&notes)];
    control.rows("record that its data is complete", &sql, &values).map(drop)
}

/// Threadwise's schema in the user's server, as long as a study. The connection holds the lock.
pub struct KeptSchema<D: Driver> {
    driver: D,
    control: Option<D::Connection>,
}

impl<D: Driver> KeptSchema<D> {
    /// Makes the schema.
    ///
    /// # Errors
    /// See [`make`].
    pub fn make(driver: D) -> Result<Self, EngineError> {
        let mut control = driver.connect("threadwise study")?;
        make(&driver, &mut control)?;
        Ok(Self { driver, control: Some(control) })
    }

    /// Drops it, if that was not done.
    ///
    /// # Errors
    /// See [`drop_ours`].
    pub fn end(&mut self) -> Result<(), EngineError> {
        self.control.take().map_or(Ok(()), |mut control| drop_ours(&self.driver, &mut control))
    }
}

impl<D: Driver> Keeper for KeptSchema<D> {
    fn end(mut self: Box<Self>) -> Result<(), EngineError> {
        Self::end(&mut self)
    }
}

impl<D: Driver> Drop for KeptSchema<D> {
    fn drop(&mut self) {
        // The error has no reader; the next study finds the mark and drops the schema.
        let _ = Self::end(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_objects_of_the_same_kind_are_ours() {
        let all = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned())).collect()
        };
        let listed = all(&[("table", "blocks_0"), ("procedure", "read_0")]);
        assert!(foreign(&listed, &listed).is_empty());
        let there = all(&[
            ("view", "blocks_0"),
            ("table", "read_0"),
            ("procedure", "read_0"),
            ("table", "Blocks_0"),
            ("trigger", "watch"),
        ]);
        assert_eq!(foreign(&there, &listed), ["blocks_0", "read_0", "Blocks_0", "watch"]);
    }
}
