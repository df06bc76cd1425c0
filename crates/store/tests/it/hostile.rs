//! Files from elsewhere: every one gives data or a one-line error; none crashes or hangs.

use crate::made::{self, Random};
use crate::made_probe;
use crate::made_queries;
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use threadwise_machine::BootFacts;
use threadwise_store::{Expectation, Problem, Store, StoreError};
use threadwise_study::asked::Asked;

/// A valid file with runs of several shapes, closed.
fn valid(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("valid.tw");
    let mut store = Store::create(&path, &made::study(), &made::topology(), &made::versions()).unwrap();
    store.enter_boot(&BootFacts::default(), None, "3.50.0", "2026-01-01T00:00:00Z").unwrap();
    for block in 0..3 {
        store.block_started(block, 0, 0.0).unwrap();
        for seed in 0..3 {
            store.append_run(&made::run(seed, block, 0, 5, 2, 4)).unwrap();
        }
        store.append_run(&made_queries::query_run(9, block, 3, 2, 5)).unwrap();
        store.block_complete(block, 0, 1.0).unwrap();
    }
    store.note("note").unwrap();
    store.set_asked(&Asked { p99_ns: Some(1e6), prices: None }).unwrap();
    for seed in 0..6 {
        store.add_probe(0.5, &made_probe::probe(seed)).unwrap();
    }
    path
}

/// Everything that a reader can ask for.
fn read_all(path: &Path) -> Result<usize, StoreError> {
    let store = Store::open(path)?;
    let notes = store.notes()?.len() + store.block_boots()?.len();
    store.asked()?;
    store.next_attempt(0)?;
    store.state()?;
    store.planned_blocks()?;
    Ok(notes + store.probes()?.len() + store.runs()?.len())
}

fn one_line(error: &StoreError, path: &Path) {
    let text = error.to_string();
    assert!(!text.contains(|c: char| c.is_control()) && text.len() < 700, "{text:?}");
    assert!(text.contains(&*path.to_string_lossy()), "{text}");
}

#[test]
fn flipped_and_cut_files() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(valid(&folder)).unwrap();
    let path = folder.path().join("spoilt.tw");
    let mut random = Random(300);
    let (mut refused, mut read) = (0, 0);
    for place in 0..400 {
        let mut bytes = whole.clone();
        let at = random.below(bytes.len() as u64) as usize;
        match place % 5 {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => bytes.truncate(at),
            3 => {
                let end = bytes.len().min(at + 200);
                bytes[at..end].fill(random.next() as u8);
            }
            // A page in another's place: structure that is valid by itself.
            _ => {
                let (from, to) = (at / 4096 * 4096, random.below(whole.len() as u64 / 4096) as usize * 4096);
                bytes.copy_within(from..from + 4096, to);
            }
        }
        fs::write(&path, &bytes).unwrap();
        match read_all(&path) {
            Ok(_) => read += 1,
            Err(error) => {
                one_line(&error, &path);
                refused += 1;
            }
        }
    }
    println!("{refused} files refused, {read} read");
    // A flipped bit inside a histogram cannot be seen; a cut file always can.
    assert!(refused >= 80 && refused + read == 400);
}

#[test]
fn every_number_and_text_may_be_absurd() {
    absurd_values(5);
}

/// Each column has one of every `step` absurd values, the next column the ones after it.
fn absurd_values(step: usize) {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(valid(&folder)).unwrap();
    let path = folder.path().join("spoilt.tw");
    let columns: Vec<(String, String)> = {
        let plain = Connection::open(folder.path().join("valid.tw")).unwrap();
        let sql = "SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
                   WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%'";
        let mut statement = plain.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert!(columns.len() > 75, "{}", columns.len());
    let values = [
        "-1",
        "0",
        "9223372036854775807",
        "1e308",
        "9e999",
        "''",
        "'\x1b[2J'",
        "'0-65535'",
        "zeroblob(3000000)",
        "NULL",
        "'{}'",
        "'[0]'",
    ];
    let (mut refused, mut read) = (0, 0);
    for (at, (table, column)) in columns.iter().enumerate() {
        for value in values.iter().skip(at % step).step_by(step) {
            fs::write(&path, &whole).unwrap();
            let plain = Connection::open(&path).unwrap();
            plain.execute_batch("PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF").unwrap();
            // What the types of the columns or a unique index refuse cannot be in a file.
            let sql = format!("UPDATE OR IGNORE {table} SET {column} = {value}");
            let changed = plain.execute(&sql, []);
            drop(plain);
            if changed.is_ok() {
                match read_all(&path) {
                    Ok(_) => read += 1,
                    Err(error) => {
                        one_line(&error, &path);
                        refused += 1;
                    }
                }
            }
        }
    }
    println!("{refused} files refused, {read} read");
    assert!(refused > 280 / step && read > 20 / step, "{refused} {read}");
}

/// The file with some SQL run on it by another program.
fn spoilt(folder: &TempDir, sql: &str) -> PathBuf {
    let path = folder.path().join("spoilt.tw");
    fs::copy(valid(folder), &path).unwrap();
    fs::remove_file(folder.path().join("valid.tw")).unwrap();
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    path
}

#[test]
fn what_cannot_be_a_machine_or_an_observation_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(valid(&folder)).unwrap();
    let path = folder.path().join("spoilt.tw");
    for (sql, words) in [
        ("machine SET json = json_set(json, '$.cores[0].kind', 9)", "core 0 names a package or kind"),
        ("machine SET json = json_set(json, '$.logical_cpus[2].llc', 9)", "logical CPU 64 names a part"),
        ("machine SET json = json_set(json, '$.logical_cpus[1].os_id', 65536)", "a logical CPU is 65536"),
        ("machine SET json = json_set(json, '$.logical_cpus[1].os_id', 0)", "CPUs are out of order"),
        (
            "machine SET json = json_set(json, '$.logical_cpus[1].siblings', '0,0')",
            "not a list of logical CPUs",
        ),
        ("machine SET json = json_set(json, '$.limits.quota_cpus', 'x')", "invalid type: string"),
        ("machine SET json = replace(json, '9223372036854775807', '9223372036854775808')", "is not valid: "),
        ("machine SET json = json_set(json, '$.more', 0)", "unknown field `more`"),
        ("runs SET cpus = '[65536]'", "runs.cpus is not valid: the number of a logical CPU is 65536"),
        (
            "runs SET other_cpu_times = '[{\"cpu\":1,\"busy_ns\":1,\"steal_ns\":0,\"total_ns\":1125899906842624}]'",
            "a time in ns is",
        ),
        (
            "slices SET cpu_times = json_set(cpu_times, '$[1]', json(cpu_times ->> '$[0]')) WHERE cpu_times <> '[]'",
            "they are out of order",
        ),
        ("slices SET other_cpus = json_set(other_cpus, '$.cpus', 65537)", "their number is 65537"),
        ("looks SET json = json_set(json, '$.pairs[0].b', 0)", "its logical CPUs or pairs are out of order"),
        ("looks SET json = json_set(json, '$.cpus[0].chain_ns', -0.5)", "a figure is -0.5"),
        ("looks SET moment = 'later'", "looks.moment is 'later'"),
        ("looks SET slice = 900", "looks.slice is 900, but there are"),
    ] {
        fs::write(&path, &whole).unwrap();
        let plain = Connection::open(&path).unwrap();
        plain.execute_batch("PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF").unwrap();
        assert!(plain.execute(&format!("UPDATE {sql}"), []).unwrap() > 0, "{sql}");
        drop(plain);
        let error = read_all(&path).unwrap_err();
        one_line(&error, &path);
        let text = error.to_string();
        assert!(text.contains(words) || text.contains("CHECK constraint failed"), "{sql}: {error}");
    }
}

#[test]
fn crafted_schemas_are_not_ours() {
    let replace = |table: &str, by: &str| {
        format!("PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON; DROP TABLE {table}; {by}")
    };
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'x' AS text FROM n";
    for (sql, words) in [
        (replace("notes", &format!("CREATE VIEW notes AS {endless}")), "view notes"),
        ("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END".into(), "trigger t is unknown"),
        (
            replace(
                "notes",
                "CREATE TABLE notes (id INTEGER PRIMARY KEY, code TEXT, text TEXT AS (printf('%.*c', 999999, 'x')))",
            ),
            "table notes differs",
        ),
        ("CREATE TABLE \"a\x1b[2Jb\" (x)".into(), "table a [2Jb is unknown"),
        ("ALTER TABLE runs ADD COLUMN extra ANY".into(), "table runs differs"),
        ("CREATE INDEX i ON runs (abs(id))".into(), "index i"),
        ("DROP INDEX slices_of_run".into(), "lacks the index slices_of_run"),
        ("CREATE VIRTUAL TABLE f USING fts5(x)".into(), "is unknown"),
        ("ANALYZE".into(), "sqlite_stat"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = spoilt(&folder, &sql);
        let error = Store::open(&path).unwrap_err();
        one_line(&error, &path);
        assert!(matches!(error.problem, Problem::NotOurs(_)), "{sql}: {error}");
        assert!(error.to_string().contains(words), "{sql}: {error}");
    }
}

#[test]
fn other_kinds_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |path: &Path| {
        let error = Store::open(path).unwrap_err();
        one_line(&error, path);
        error
    };
    let newer = refusal(&spoilt(&folder, "PRAGMA user_version = 9"));
    assert!(
        newer
            .to_string()
            .ends_with("was written by a newer threadwise (schema 9, this one reads 8): update threadwise"),
        "{newer}"
    );
    let older = refusal(&spoilt(&folder, "PRAGMA user_version = 7"));
    assert!(
        older.to_string().contains("a development version of threadwise (schema 7, this one reads 8)"),
        "{older}"
    );
    assert!(matches!(refusal(&spoilt(&folder, "PRAGMA user_version = -1")).problem, Problem::Damaged(_)));
    assert!(matches!(refusal(&spoilt(&folder, "PRAGMA application_id = 5")).problem, Problem::Foreign(_)));
    let path = folder.path().join("other");
    assert!(matches!(refusal(&path).problem, Problem::Missing));
    assert!(matches!(refusal(folder.path()).problem, Problem::NotAFile(_)));
    assert!(matches!(refusal(Path::new("/dev/null")).problem, Problem::NotAFile(_)));
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    assert!(matches!(refusal(&path).problem, Problem::Foreign(0)));
    for (bytes, empty) in [("", true), ("name = 'x'\n", false), ("SQLite format 3\0", false)] {
        fs::write(&path, bytes).unwrap();
        let error = refusal(&path);
        assert_eq!(matches!(error.problem, Problem::Empty), empty, "{error}");
    }
    let whole = fs::read(valid(&folder)).unwrap();
    fs::write(&path, &whole[..whole.len() - 4096]).unwrap();
    assert!(refusal(&path).to_string().contains("bytes"), "{}", refusal(&path));
}

#[test]
fn a_file_in_wal_mode_gets_no_side_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = spoilt(&folder, "PRAGMA journal_mode = WAL");
    let error = Store::open(&path).unwrap_err();
    assert!(error.to_string().contains("journal_mode=DELETE"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A journal beside a mailed file must not be carried out when the file is only read, and never
/// when it names another file to delete (super-journal).
#[test]
fn journals_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = valid(&folder);
    let before = fs::read(&path).unwrap();
    let journal = folder.path().join("valid.tw-journal");
    // Header of a rollback journal: magic, 0 records, nonce, pages of the file before, sector, page.
    let mut bytes = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for word in [0_u32, 1, 1, 512, 4096] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.resize(512, 0);
    fs::write(&journal, &bytes).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error.problem, Problem::Interrupted), "{error}");
    assert!(error.to_string().contains("--resume"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);

    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let name = victim.to_str().unwrap().as_bytes();
    bytes.extend((0x4000_0000_u32 / 4096 + 1).to_be_bytes());
    bytes.extend(name);
    bytes.extend((name.len() as u32).to_be_bytes());
    bytes.extend(name.iter().map(|&byte| u32::from(byte)).sum::<u32>().to_be_bytes());
    bytes.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    fs::write(&journal, &bytes).unwrap();
    let (topology, versions) = (made::topology(), made::versions());
    let expected = Expectation {
        topology: &topology,
        program: &versions.program,
        engine: &versions.engine,
        engine_version: &versions.engine_version,
        study: None,
    };
    let error = Store::resume(&path, &expected).unwrap_err();
    assert!(error.to_string().contains("names other files to delete"), "{error}");
    assert_eq!((fs::read(&victim).unwrap(), fs::read(&path).unwrap()), (b"precious".to_vec(), before));
}

/// A b-tree whose inner page names the same child many times would give rows without end.
#[test]
fn pages_linked_in_a_circle() {
    let folder = tempfile::tempdir().unwrap();
    let path = valid(&folder);
    let root: u32 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'session_slices'", [], |row| row.get(0))
        .unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let at = (root as usize - 1) * 4096;
    assert_eq!(bytes[at], 5, "an inner page of a table");
    let cells = usize::from(bytes[at + 3]) << 8 | usize::from(bytes[at + 4]);
    assert!(cells > 1);
    let cell = |number: usize| {
        at + (usize::from(bytes[at + 12 + 2 * number]) << 8 | usize::from(bytes[at + 13 + 2 * number]))
    };
    let (first, all): (usize, Vec<usize>) = (cell(0), (1..cells).map(cell).collect());
    for other in all {
        bytes.copy_within(first..first + 4, other);
    }
    fs::write(&path, &bytes).unwrap();
    let error = read_all(&path).unwrap_err();
    assert!(matches!(error.problem, Problem::Damaged(_)), "{error}");
}

mod lab_kills {
    use super::*;

    #[test]
    #[ignore = "laboratory: kills"]
    fn every_number_and_text_may_be_any_absurd_one() {
        absurd_values(1);
    }
}
