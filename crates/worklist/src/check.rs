//! Comparing a recipe's result for one item with the item itself.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::plan::Item;
use crate::programs;
use crate::recipe::{self, Kind};
use crate::servers::{RESTORED, Server};

/// Compares one item with its result: every value for SQLite; settings, objects, rows and sums over their contents for
/// Firebird; rows, checksum and indices for a server. Gives whether there was anything to compare.
///
/// # Errors
/// The difference, or an error of reading; one line.
pub(crate) fn compare(
    kind: Kind,
    (index, item): (usize, &Item),
    result: Option<&Path>,
    server: Option<&Server>,
    bin: Option<&Path>,
) -> Result<bool, String> {
    match (kind, result, server) {
        (Kind::Sqlite, Some(result), _) => {
            let checked = threadwise_reload::sqlite::same_rows(Path::new(&item.text), result);
            checked.map(|_| true).map_err(|error| error.to_string())
        }
        (Kind::Firebird, Some(result), _) => firebird(Path::new(&item.text), result, bin).map(|()| true),
        (Kind::Postgres | Kind::Mariadb, _, Some(server)) => {
            let before = server.digest(&item.text)?;
            let after = server.digest(&format!("{RESTORED}{index}"))?;
            match before == after {
                true => Ok(true),
                false => Err(format!("rows, checksum and indices were {before} and are {after}")),
            }
        }
        _ => Ok(false),
    }
}

/// Runs the user's command that checks one item after the list.
///
/// # Errors
/// It cannot be started, or ended with another exit code than 0; one line.
pub(crate) fn by_command(
    words: &[String],
    values: &[(&str, &str)],
    folder: Option<&Path>,
) -> Result<(), String> {
    let words = recipe::filled(words, values)?;
    let (program, arguments) = words.split_first().ok_or("there is no command")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    folder.map(|folder| command.current_dir(folder));
    let output = command.output().map_err(|error| format!("check: {program}: {error}"))?;
    programs::answer(Path::new(program), &output).map(drop).map_err(|why| format!("check: {why}"))
}

/// Firebird's tools work in one folder, which gets a copy of the item and a second name of the result.
fn firebird(item: &Path, result: &Path, bin: Option<&Path>) -> Result<(), String> {
    let said = |error: std::io::Error| format!("a folder for the comparison: {error}");
    let folder = result.with_extension("check");
    DirBuilder::new().mode(0o700).create(&folder).map_err(said)?;
    // A Firebird program writes into what it opens, and the next run must find the item unchanged.
    fs::copy(item, folder.join("old")).map_err(said)?;
    fs::hard_link(result, folder.join("new")).map_err(said)?;
    let options: BTreeMap<String, String> =
        bin.into_iter().map(|bin| ("bin".to_owned(), bin.display().to_string())).collect();
    let checked = threadwise_reload::firebird::same_rows(&folder, "old", "new", &options);
    let cleared = fs::remove_dir_all(&folder).map_err(said);
    checked.map_err(|error| error.to_string()).and(cleared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn a_copy_of_sqlite_is_the_same_until_a_value_differs() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["old", "new"] {
            let made = Connection::open(at(name)).unwrap();
            made.execute_batch("create table t (x); insert into t values (1), (2.5), ('a')").unwrap();
        }
        let item =
            Item { name: "old".into(), text: at("old").display().to_string(), size_bytes: 1, earlier: 0 };
        let same = || compare(Kind::Sqlite, (0, &item), Some(&at("new")), None, None);
        assert_eq!(same(), Ok(true));
        Connection::open(at("new")).unwrap().execute_batch("update t set x = 2 where x = 1").unwrap();
        assert!(same().unwrap_err().contains("row 1 of table t"));
        fs::remove_file(at("new")).unwrap();
        assert!(same().unwrap_err().contains("cannot be opened"));
        assert_eq!(compare(Kind::Text, (0, &item), None, None, None), Ok(false));
    }

    #[test]
    fn a_command_says_whether_an_item_is_as_it_should_be() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("patched"), "1").unwrap();
        let ask = |line: &str, item: &str| {
            let words = ["sh", "-c", line, "sh", "{item}"].map(str::to_owned);
            by_command(&words, &[("item", item)], Some(folder.path()))
        };
        assert_eq!(ask("test -s \"$1\"", "patched"), Ok(()));
        let said = ask("echo \"no $1\" >&2; test -s \"$1\"", "a b").unwrap_err();
        assert!(said.starts_with("check: sh ended with") && said.ends_with("no a b"), "{said}");
        let words = ["/no/such/program".to_owned()];
        assert!(by_command(&words, &[], None).unwrap_err().contains("/no/such/program"));
    }
}
