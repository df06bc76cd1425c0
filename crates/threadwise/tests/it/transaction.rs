//! `threadwise pool --transaction FILE.sql`: the user's own statements on a database file of the user's.

use crate::harness::Lab;
use rusqlite::Connection;
use std::path::PathBuf;

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
