//! `threadwise pool --transaction FILE.sql`: the user's own statements on a database file of the user's.

use crate::harness::Lab;
use rusqlite::Connection;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use threadwise_store::Store;

/// A laboratory with a database of 1,000 rows and a file of SQL.
fn shop(sql: &str) -> (Lab, PathBuf) {
    let lab = Lab::new();
    let file = lab.path().join("shop.db");
    let rows = "CREATE TABLE c(id INTEGER PRIMARY KEY, n INTEGER);
                WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 1000)
                INSERT INTO c SELECT x, 0 FROM i";
    Connection::open(&file).unwrap().execute_batch(rows).unwrap();
    std::fs::write(lab.path().join("page.sql"), sql).unwrap();
    (lab, file)
}

fn pool<'a>(database: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let first = ["pool", "--all", "--transaction", "page.sql", "--engine-option", database];
    let quiet = ["--allow-busy", "--no-probe", "--no-html", "--sessions", "1,2", "--seed", "3"];
    // A slice is longer than what else runs on this machine may keep a commit from its disk.
    let long = ["--slice", "500ms", "--rounds", "2"];
    [&first[..], &quiet[..], &long[..], more].concat()
}

fn sum(file: &PathBuf) -> i64 {
    Connection::open(file).unwrap().query_row("SELECT sum(n) FROM c", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_pool_is_sized_by_the_users_own_transactions() {
    let (lab, file) =
        shop("-- :id 1..1000\nSELECT n FROM c WHERE id = :id;\nSELECT count(*) FROM c WHERE id < :id");
    let database = format!("database={}", file.display());
    let before = std::fs::read(&file).unwrap();
    let plan = lab.ok(&pool(&database, &["--plan", "--blocks", "1"])).stdout;
    assert!(plan.contains("Transactions are read-only; their answers are not checked"), "{plan}");
    let said = lab.ok(&pool(&database, &["--blocks", "2", "-o", "p.threadwise", "--json"]));
    let report: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let choices = &report["details"]["choices"];
    let choice = choices.as_array().unwrap().iter().find(|one| one["axis"] == "sessions").unwrap();
    assert_eq!(choice["candidates"].as_array().unwrap().len(), 2, "{choice}");
    let shown =
        lab.ok(&["report", "--all", "p.threadwise"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["transactions/s", "p99", "their answers were not checked"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn transactions_write_only_to_the_database_that_each_start_names() {
    let (lab, file) = shop("-- :id 1..1000\nUPDATE c SET n = n + 1 WHERE id = :id");
    let (database, path) = (format!("database={}", file.display()), file.display().to_string());
    let refused = |args: &[&str], says: &str| {
        let said = lab.run(args);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(says), "{args:?}: {}", said.stderr);
    };
    refused(&pool(&database, &["--blocks", "1"]), "--transaction page.sql: line 2: UPDATE writes");
    refused(
        &pool(&database, &["--blocks", "1", "--may-write", "/other"]),
        "not '/other': nothing was written",
    );
    // A definition of others cannot give itself leave.
    let definition = format!(
        "version = 1\nname = \"x\"\nengine = \"sqlite\"\nworkload = \"transaction\"\n\
         engine_options = {{ database = \"{path}\" }}\n[options]\nmay_write = \"{path}\"\n\
         sql = \"UPDATE c SET n = 1\"\n[baseline]\nplacement = \"1c1t\"\nsessions = 1\n\
         [[treatment]]\nplacement = \"2c1t\"\n"
    );
    std::fs::write(lab.path().join("x.toml"), definition).unwrap();
    refused(&["run", "x.toml", "--blocks", "1", "--allow-busy"], "allow them with --may-write");
    assert_eq!(sum(&file), 0);

    let write = pool(&database, &["--blocks", "1", "-o", "w.threadwise", "--may-write", &path]);
    // A disk that is busy may leave no transaction in a slice: then the study is not valid, and has written all the same.
    let said = lab.run(&write);
    assert!(matches!(said.code, Some(0 | 1)), "{}", said.stderr);
    assert!(said.stdout.contains("Transactions WRITE to the database"), "{}", said.stdout);
    assert!(sum(&file) > 0);
}

#[test]
fn files_that_cannot_be_transactions_are_refused_with_their_line() {
    let (lab, file) = shop("SELECT 1;\nDROP TABLE c");
    let database = format!("database={}", file.display());
    let refused = |args: &[&str], says: &str| {
        let said = lab.run(args);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(says), "{args:?}: {}", said.stderr);
    };
    refused(&pool(&database, &[]), "--transaction page.sql: line 2: a statement begins with 'DROP'");
    refused(&["pool", "--all", "--transaction", "none.sql"], "none.sql: cannot be read");
    refused(&["pool", "--all", "--transaction", "shop.db"], "is not text in UTF-8");
    std::fs::write(lab.path().join("page.sql"), "SELECT 1").unwrap();
    refused(&["pool", "--all", "--transaction", "page.sql"], "--engine-option database=");
    refused(
        &["pool", "--all", "--transaction", "page.sql", "--engine", "postgres"],
        "postgres://USER@HOST/DATABASE",
    );
    refused(&["run", "--all", "placement", "--transaction", "page.sql"], "workload is logical-io");
    refused(&["run", "--all", "transaction", "--engine-option", &database], "--transaction FILE.sql");
    assert_eq!(lab.files(), ["page.sql", "shop.db"]);
}

#[test]
fn a_database_that_the_address_does_not_name_is_refused_before_a_server_is_asked() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("t.sql"), "UPDATE t SET a = 1;\n").unwrap();
    // Nothing listens there.
    for (address, variables) in [
        ("postgres://app@127.0.0.1:1/shop", &[][..]),
        ("postgres://app@127.0.0.1:1/?dbname=shop", &[]),
        ("postgres://app@127.0.0.1:1", &[("PGDATABASE", "shop")]),
        ("postgres://shop@127.0.0.1:1", &[]),
        ("mariadb://app@127.0.0.1:1/shop", &[]),
    ] {
        let args =
            ["run", "transaction", "--transaction", "t.sql", "--engine", address, "--plan", "--may-write"];
        let said = |name: &str| {
            let mut command = lab.command(&[&args[..], &[name]].concat());
            crate::harness::said(command.envs(variables.iter().copied()).output().unwrap())
        };
        let wrong = said("shopp");
        assert_eq!(wrong.code, Some(2), "{address}: {}", wrong.stderr);
        assert!(wrong.stderr.contains("the database is 'shop', not 'shopp'"), "{address}: {}", wrong.stderr);
        assert!(!said("shop").stderr.contains("the database is"), "{address}");
    }
}

fn refused(lab: &Lab, args: &[&str], says: &str) {
    let said = lab.run(args);
    assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
    assert!(said.stderr.contains(says) && said.stderr.lines().count() == 1, "{args:?}: {}", said.stderr);
}

#[test]
fn files_with_weights_are_a_mix_whose_values_come_from_a_pinned_file() {
    let (lab, file) = shop("-- :id in ids.csv column id zipf 1.2\nSELECT n FROM c WHERE id = :id");
    let write = |name: &str, text: &str| std::fs::write(lab.path().join(name), text).unwrap();
    write("ids.csv", "id,x\n5,a\n7,b\n");
    write(
        "bench.sql",
        "-- as pgbench has it\n\\set id random(1, 100 * :scale)\nSELECT n FROM c WHERE id = :id;\n",
    );
    write("two.sql", "-- :transaction look weight 2\nSELECT 1;\n-- :transaction more\nSELECT 2");
    let database = format!("database={}", file.display());
    let before = std::fs::read(&file).unwrap();
    let mix = ["--transaction", "bench.sql@3", "--transaction", "two.sql"];
    let run = |more: &[&'static str]| {
        let args = pool(&database, &[&mix[..], more].concat()).iter().map(|arg| (*arg).to_owned()).collect();
        let args: Vec<String> = args;
        args
    };
    let define = ["--define", "scale=10"];
    let args = run(&[&define[..], &["--blocks", "1", "-o", "m.threadwise"]].concat());
    // A window may pass without CPU time on a busy machine: then the study is not valid, and is stored all the same.
    let said = lab.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(matches!(said.code, Some(0 | 1)), "{}", said.stderr);
    let runs = Store::open(&lab.path().join("m.threadwise")).unwrap().runs().unwrap();
    let sessions = runs.iter().flat_map(|run| &run.slices).flat_map(|slice| &slice.sessions);
    for session in sessions.filter(|session| session.steps > 0) {
        let names = ["page", "bench", "look", "more"].map(|name| format!("script/{name}"));
        let counted: u64 = names.iter().map(|name| session.counters[name]).sum();
        assert_eq!(counted, session.steps, "{:?}", session.counters);
    }
    let sql = format!("{}/ids.csv column \"id\" zipf 1.2 (2 values, sha256 ", lab.path().display());
    assert!(stored_sql(&lab, "m.threadwise").contains(&sql), "{}", stored_sql(&lab, "m.threadwise"));
    assert_eq!(std::fs::read(&file).unwrap(), before);

    let plan = |more: &[&'static str]| run(&[more, &["--plan"]].concat());
    let refuse = |more: &[&'static str], says: &str| {
        let args = plan(more);
        refused(&lab, &args.iter().map(String::as_str).collect::<Vec<_>>(), says);
    };
    refuse(
        &[],
        "--transaction: bench.sql line 2: the variable :scale has no value: give it one with --define scale=",
    );
    refuse(&["--define", "scale=x"], "--define scale=x is not a name and a number");
    refuse(
        &["--define", "scale=1", "--transaction", "two.sql@5"],
        "two.sql line 1: its transactions have weights",
    );
    refuse(&["--define", "scale=1", "--transaction", "two.sql@0"], "'0' is not a weight");
    write("ids.csv", "name\n");
    refuse(&["--define", "scale=1"], "--transaction page.sql: line 1: ");
}

/// The text of the transactions in a result file.
fn stored_sql(lab: &Lab, file: &str) -> String {
    let store = Store::open(&lab.path().join(file)).unwrap();
    store.study().treatments[0].options["sql"].to_string()
}

#[test]
fn a_study_whose_values_have_changed_is_not_continued() {
    let (lab, file) = shop("");
    let write = |values: &str| std::fs::write(lab.path().join("ids.csv"), values).unwrap();
    write("5\n7\n");
    // Blocks of more than a second, so that it can be interrupted before the last one, also by a test that gets no CPU.
    let definition = format!(
        "version = 1\nname = \"x\"\nengine = \"sqlite\"\nworkload = \"transaction\"\n\
         engine_options = {{ database = \"{}\" }}\n[options]\n\
         sql = \"-- :id in ids.csv column 1\\nSELECT n FROM c WHERE id = :id\"\n\
         [design]\nblocks = 8\nrounds = 1\nslice_ms = 500\nrewarm_ms = 1\n[baseline]\nplacement = \"1c1t\"\n\
         [[treatment]]\nname = \"two\"\nplacement = \"one-cpu\"\nsessions = 2\n",
        file.display()
    );
    std::fs::write(lab.path().join("x.toml"), definition).unwrap();
    let begin = ["run", "x.toml", "--allow-busy", "--no-html", "--no-probe", "-o", "s.threadwise"];
    let mut child = lab.command(&begin).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    // Printed when the blocks begin.
    assert!(lines.any(|line| line.contains("telemetry runs on logical CPU")));
    let stop = ["-c", "kill -INT $0", &child.id().to_string()];
    assert!(Command::new("sh").args(stop).status().unwrap().success());
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(stored_sql(&lab, "s.threadwise").contains("(2 values, sha256 "));

    let again = ["run", "--resume", "s.threadwise", "--allow-busy", "--no-html"];
    let before = std::fs::read(lab.path().join("s.threadwise")).unwrap();
    write("5\n8\n");
    refused(&lab, &again, "ids.csv has changed since the study was made: put the file back");
    assert_eq!(std::fs::read(lab.path().join("s.threadwise")).unwrap(), before);
    write("5\n7\n");
    let said = lab.run(&again);
    assert!(matches!(said.code, Some(0 | 1)), "{}", said.stderr);
}

#[test]
fn a_draft_is_of_a_server_that_has_statistics() {
    let lab = Lab::new();
    for (more, says) in [
        (&[][..], "give --engine URL"),
        (&["--engine", "sqlite"], "it is not a source of sqlite; there is pg_stat_statements of postgres"),
        (&["--engine", "mariadb://me@127.0.0.1:1/shop"], "it is not a source of mariadb"),
        (&["--engine", "postgres"], "--engine postgres://USER@HOST/DATABASE"),
    ] {
        refused(&lab, &[&["run", "--transactions-from", "pg_stat_statements"], more].concat(), says);
    }
    let other =
        ["run", "--transactions-from", "sys.statements", "--engine", "postgres://me@127.0.0.1:1/shop"];
    refused(&lab, &other, "there is pg_stat_statements of postgres");
    let gone = lab.run(&[&other[..1], &["--transactions-from", "pg_stat_statements"], &other[3..]].concat());
    assert_eq!(gone.code, Some(1), "{}", gone.stderr);
    assert!(lab.files().is_empty(), "{:?}", lab.files());
}

#[test]
fn an_unfilled_draft_is_refused_with_its_line() {
    let (lab, file) = shop("-- :transaction statement-1 weight 5\n-- :p1 FILL IN (bigint)\nSELECT :p1;\n");
    let database = format!("database={}", file.display());
    refused(
        &lab,
        &pool(&database, &["--plan"]),
        "--transaction page.sql: line 2: the values of :p1 (bigint) are not",
    );
}
