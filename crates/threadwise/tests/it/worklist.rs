//! Studies of work lists with the real programs of each recipe: what they leave, what they compare, and what
//! happens where an item is damaged, a program is missing, or everything is killed.

use crate::harness::living;
use crate::harness::{Lab, Said, said};
use rusqlite::Connection;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// One and two jobs on one logical CPU, two blocks.
pub fn study(recipe: &str, options: &str) -> String {
    format!(
        "version = 1\nname = \"short\"\nengine = \"worklist\"\nworkload = \"worklist\"\n\n\
         [options]\nrecipe = \"{recipe}\"\nsettle_s = 0\n{options}\n\n[design]\nblocks = 2\n\n\
         [baseline]\nplacement = \"1c1t\"\nsessions = 1\n\n\
         [[treatment]]\nname = \"two\"\nplacement = \"1c1t\"\nsessions = 2\n"
    )
}

/// A lab in which another user may reach the temporary folder, as a server that root starts has to.
pub fn lab() -> Lab {
    let lab = Lab::new();
    for folder in [lab.path(), &lab.tmp()] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o711)).unwrap();
    }
    lab
}

pub const ARGS: [&str; 9] =
    ["run", "short.toml", "--allow-busy", "--no-probe", "--no-html", "--seed", "5", "-o", "s.threadwise"];

pub fn run(lab: &Lab, text: &str, more: &[&str]) -> Said {
    std::fs::write(lab.path().join("short.toml"), text).unwrap();
    said(lab.command(&[&ARGS[..], more].concat()).output().unwrap())
}

pub fn rows(lab: &Lab, sql: &str) -> Vec<(String, f64)> {
    let store = Connection::open(lab.path().join("s.threadwise")).unwrap();
    let mut statement = store.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

pub fn runs(lab: &Lab) -> Vec<Value> {
    let runs = lab.ok(&["export", "s.threadwise", "--format", "jsonl"]).stdout;
    runs.lines().map(|run| serde_json::from_str(run).unwrap()).collect()
}

pub fn nothing_is_left(lab: &Lab) {
    assert!(lab.leftovers().is_empty() && living(lab).is_empty(), "{:?} {:?}", lab.leftovers(), living(lab));
}

pub fn databases(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    let make = |(number, name): (usize, &&str)| {
        let path = folder.join(name);
        let made = Connection::open(&path).unwrap();
        made.execute_batch(
            "create table t (x integer primary key, y text);
             with recursive n (i) as (select 1 union all select i + 1 from n where i < 2000)
             insert into t select i, hex(randomblob(40)) from n; create index ty on t (y);",
        )
        .unwrap();
        made.execute("insert into t (y) values (?1)", [number as i64]).unwrap();
        path
    };
    names.iter().enumerate().map(make).collect()
}

/// A list of drawn databases is done with one and two jobs, and nothing is left.
pub fn does_its_list(recipe: &str) {
    let lab = lab();
    let metric = "\"metric.item_s\" = \"s/item lower json:/item_s\"";
    let done = run(&lab, &study(recipe, &format!("files = 6\ntotal_mib = 3\n{metric}")), &[]);
    assert_eq!(done.code, Some(0), "{}: {}\n{}", recipe, done.stderr, done.stdout);
    for run in runs(&lab) {
        assert_eq!(run["status"], "valid", "{} {}: {}", recipe, run["kind"], run["message"]);
    }
    let checked =
        rows(&lab, "select 'run ' || slice, sum(answers_checked) from session_slices group by slice");
    assert!(checked.len() >= 4 && checked.iter().all(|(_, checked)| *checked == 1.0), "{checked:?}");
    let items = rows(
        &lab,
        "select metric, count(*) from readings
         where sampler = 'item' group by 1 order by 1",
    );
    assert_eq!(items.len(), 6, "{}: {items:?}", recipe);
    assert!(items.iter().all(|(_, runs)| *runs == checked.len() as f64), "{items:?}");
    assert!(items[0].0.starts_with("00000 base"), "{items:?}");
    let jobs = rows(
        &lab,
        "select 'most', max(value) from readings
         where sampler = 'item'",
    );
    assert_eq!(jobs[0].1, 1.0, "two jobs, from 0");
    let notes = rows(&lab, "select text, 0.0 from notes");
    for begin in ["work list: 6 items", "cold: before every run", "work list: sizes were drawn"] {
        assert!(notes.iter().any(|(note, _)| note.contains(begin)), "{}: {begin}: {notes:?}", recipe);
    }
    let is_server = ["postgres", "mariadb"].contains(&recipe);
    assert_eq!(notes.iter().any(|(note, _)| note.contains("one private server")), is_server);
    nothing_is_left(&lab);
}

#[test]
fn the_recipe_of_sqlite_does_its_list_with_one_and_two_jobs_and_leaves_nothing() {
    does_its_list("sqlite");
}

#[test]
fn a_list_of_odd_names_is_done_and_its_files_stay_as_they_are() {
    let lab = lab();
    let folder = lab.path().join("my data");
    std::fs::create_dir(&folder).unwrap();
    let odd = ["it's \"one\".db", "new\nline.db", "spa ce {item}.db", "-dash.db", "ä%s:$x.db"];
    let paths = databases(&folder, &odd);
    let before: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let list: String = paths.iter().map(|path| format!("{}\0", path.display())).collect();
    std::fs::write(lab.path().join("list"), list).unwrap();
    let options = format!("list = \"{}\"", lab.path().join("list").display());
    let done = run(&lab, &study("sqlite", &options), &[]);
    assert_eq!(done.code, Some(0), "{}\n{}", done.stderr, done.stdout);
    for (path, bytes) in paths.iter().zip(&before) {
        assert_eq!(&std::fs::read(path).unwrap(), bytes, "{}", path.display());
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), odd.len(), "no side file is left");
    let names = rows(
        &lab,
        "select distinct metric, 0.0 from readings
         where sampler = 'item' order by 1",
    );
    let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), odd.len());
    assert_eq!((names[0], names[1]), ("00000 it's \"one\".db", "00001 new\u{fffd}line.db"));
    nothing_is_left(&lab);
}

#[test]
fn a_damaged_item_fails_the_run_by_its_name() {
    let lab = lab();
    let paths = databases(lab.path(), &["a.db", "bad.db", "c.db"]);
    let mut bytes = std::fs::read(&paths[1]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle - 8192..middle + 8192].fill(0xa5);
    std::fs::write(&paths[1], &bytes).unwrap();
    std::fs::write(lab.path().join("list"), "a.db\nbad.db\nc.db\n").unwrap();
    let options = format!("list = \"{}\"", lab.path().join("list").display());
    let done = run(&lab, &study("sqlite", &options), &[]);
    assert_ne!(done.code, Some(0), "{}", done.stdout);
    let runs = runs(&lab);
    assert!(!runs.is_empty());
    for run in runs {
        assert_eq!((&run["status"], &run["kind"]), (&"failed".into(), &"item".into()), "{run}");
        let message = run["message"].as_str().unwrap();
        assert!(message.starts_with("1 of 3 items failed: bad.db: vacuum-into"), "{message}");
    }
    assert_eq!(std::fs::read(&paths[1]).unwrap(), bytes);
    nothing_is_left(&lab);
}

#[test]
fn what_cannot_be_done_is_refused_in_one_line_and_nothing_is_made() {
    let lab = lab();
    std::fs::write(lab.path().join("text"), "no database").unwrap();
    let list = |text: &str| {
        std::fs::write(lab.path().join("list"), text).unwrap();
        format!("list = \"{}\"", lab.path().join("list").display())
    };
    let bin = format!("bin={}", lab.tmp().display());
    let cases = [
        (study("firebird", ""), vec!["--engine-option", bin.as_str()], "gbak"),
        (study("oracle", ""), vec![], "sqlite, firebird"),
        (study("sqlite", &list("text\n")), vec![], "is not a database of SQLite"),
        (study("sqlite", "page_size = 8192"), vec![], "page_size"),
        (study("sqlite", "salvage = true"), vec![], "leave it out"),
        (
            study("sqlite", "check = \"no-such-program-here {item}\""),
            vec!["--allow-commands"],
            "no-such-program-here",
        ),
        (study("sqlite", "check = \"true {job}\""), vec!["--allow-commands"], "{job} is not a placeholder"),
        (study("sqlite", "check = \"true {item}\""), vec![], "--allow-commands"),
        (study("sqlite", "list = \"/proc/no/such/list\""), vec![], "/proc/no/such/list"),
    ];
    for (text, more, word) in cases {
        let said = run(&lab, &text, &more);
        assert!(
            said.code != Some(0) && said.stderr.contains(word),
            "{word}: {:?} {}",
            said.code,
            said.stderr
        );
        assert!(!lab.path().join("s.threadwise").exists(), "{word}");
        nothing_is_left(&lab);
    }
}

/// A patch that every run does again, and a query that looks at one drawn file after it.
#[test]
fn a_patch_is_checked_by_a_command_that_looks_at_one_item() {
    let lab = lab();
    std::fs::write(lab.path().join("names"), "a\nb\na\n").unwrap();
    let list = lab.path().join("names");
    let list = list.to_str().unwrap();
    let measured = |name: &str, check: &str, patch: &str| {
        let quiet =
            ["--allow-busy", "--no-probe", "--no-html", "--blocks", "2", "--jobs", "1,2", "--seed", "5"];
        let what = [
            "run",
            "--all",
            "work-list",
            "--list",
            list,
            "--set",
            "settle_s=0",
            "--check",
            check,
            "-o",
            name,
        ];
        let words = ["--", "sh", "-c", patch, "sh", "{name}"];
        lab.run(&[&what[..], &quiet[..], &words[..]].concat())
    };
    let patch = "echo patched > \"$1.done\"";
    let check = "sh -c 'grep -qx patched \"$1.done\"' sh {name}";
    let done = measured("good.threadwise", check, patch);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let done = measured("bad.threadwise", check, "echo half > \"$1.done\"");
    assert_ne!(done.code, Some(0), "{}", done.stdout);
    let runs = lab.ok(&["export", "bad.threadwise", "--format", "jsonl"]).stdout;
    for run in runs.lines().map(|run| serde_json::from_str::<Value>(run).unwrap()) {
        assert_eq!((&run["status"], &run["kind"]), (&"failed".into(), &"wrong-answer".into()), "{run}");
        assert!(run["message"].as_str().unwrap().contains("check: sh ended with"), "{run}");
    }
    nothing_is_left(&lab);
}
