//! A server of the user's: our database in it, its threads' masks, and what is refused.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support::user_server::UserServer;
use crate::support::{folder, options, request, start_request, text, whole, work};
use std::fs;
use std::process::Command;
use threadwise_engine::{Engine, EngineError, LoadRequest};
use threadwise_engine_mariadb::Mariadb;
use threadwise_machine::pin::thread_affinity;
use threadwise_process::journal;

const DATABASES: &str = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'threadwise'";

fn load_request(folder: &std::path::Path, server: &UserServer, user: &str, workload: &str) -> LoadRequest {
    let pairs = match workload {
        "insert" => vec![("seed_rows", whole(1500)), ("key", text("random"))],
        _ => vec![("blocks", whole(300)), ("work_unit", whole(8))],
    };
    let mut load = request(folder, workload, 2, &pairs);
    load.engine_options = server.options(user);
    load
}

/// A folder as journals want it.
fn private() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    folder
}

fn refusal<T>(result: Result<T, EngineError>) -> String {
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn limits_of_the_server_and_the_account_are_told_with_what_is_in_use() {
    let server = UserServer::start(&["--max-connections=30"]);
    server.administer(&[
        "CREATE USER ada@localhost WITH MAX_USER_CONNECTIONS 6",
        "GRANT PROCESS ON *.* TO ada@localhost",
    ]);
    let limits = |user: &str| Mariadb.limits(&server.options(user)).unwrap();
    let root = limits("root");
    assert_eq!(root.len(), 1, "{root:?}");
    let ada = limits("ada");
    let names: Vec<(&str, u32, u32)> =
        ada.iter().map(|limit| (limit.name.as_str(), limit.most, limit.set_aside)).collect();
    let wanted = [("max_connections of the server", 30, 0), ("max_user_connections of account 'ada'", 6, 0)];
    assert_eq!(names, wanted);
    let held: Vec<_> = (0..2).map(|_| server.connect("ada")).collect();
    let in_use: Vec<u32> = limits("ada").iter().map(|limit| limit.in_use).collect();
    assert!(in_use.iter().all(|number| *number >= held.len() as u32), "{in_use:?}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_study_leaves_the_users_server_as_it_was() {
    let (server, folder, private) = (UserServer::start(&["--performance-schema=ON"]), folder(), private());
    let blocks = load_request(folder.path(), &server, "root", "logical-io");
    let keeper = Mariadb.keep(&blocks, 0).unwrap().unwrap();
    for load in [&blocks, &load_request(folder.path(), &server, "root", "insert")] {
        Mariadb.load(load).unwrap();
        assert_eq!(Mariadb.load(load), Mariadb.load(load), "found again");
        let mut start = start_request(load);
        let unpinned = work(Mariadb.start(&start).unwrap(), &start, 1, 50, |_| {}).unwrap();
        assert!(unpinned.placed.is_empty());
        assert!(
            unpinned.notes.iter().any(|note| note.starts_with("server not pinned: ")),
            "{:?}",
            unpinned.notes
        );
        assert_eq!(unpinned.finished, Ok(()));
        let book = private.path().join("masks");
        start.journal = Some(book.clone());
        let running = Mariadb.start(&start).unwrap();
        let mut masks_seen = false;
        let pinned = work(running, &start, 2, 50, |_| {
            masks_seen |= fs::read_to_string(&book)
                .is_ok_and(|text| text.lines().filter(|line| line.starts_with("v1 ")).count() > 4);
        })
        .unwrap();
        assert!(masks_seen, "masks are written down before they are changed");
        assert_eq!(pinned.finished, Ok(()));
        assert!(pinned.placed.iter().any(|placed| placed.name == "session 1"), "{:?}", pinned.placed);
        let main = pinned.placed.iter().find(|placed| placed.pid == placed.tid).unwrap();
        assert_eq!(thread_affinity(main.pid, main.tid).unwrap(), start.service);
        let restored = journal::restore(&book).unwrap();
        assert!(restored.put_back > 3 && restored.failed.is_empty(), "{restored:?}");
        let cpus = threadwise_machine::pin::current_affinity().unwrap();
        assert_eq!(thread_affinity(main.pid, main.tid).unwrap(), cpus);
    }
    assert_eq!(server.number("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'threadwise' AND TABLE_NAME LIKE 'inserted%'"), 1);
    keeper.end().unwrap();
    assert_eq!(server.number(DATABASES), 0);
}

#[test]
#[ignore = "laboratory: servers"]
fn only_a_database_of_ours_is_used_and_dropped() {
    let (server, folder) = (UserServer::start(&[]), folder());
    let load = load_request(folder.path(), &server, "root", "insert");
    server.administer(&["CREATE DATABASE threadwise", "CREATE TABLE threadwise.mine (x INT)"]);
    let error = refusal(Mariadb.keep(&load, 0).map(drop));
    assert!(error.contains("threadwise did not make it") && error.contains("schema=NAME"), "{error}");
    assert_eq!(server.number("SELECT COUNT(*) FROM threadwise.mine"), 0);
    let mut other = load.clone();
    other.engine_options.extend(options(&[("schema", text("tw2"))]));
    let keeper = Mariadb.keep(&other, 0).unwrap().unwrap();
    let error = refusal(Mariadb.keep(&other, 0).map(drop));
    assert!(error.contains("another study is using 'tw2'"), "{error}");
    Mariadb.load(&other).unwrap();
    server.administer(&["CREATE TABLE tw2.precious (x INT)", "INSERT INTO tw2.precious VALUES (5)"]);
    const OURS: &str = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'tw2'";
    let before = server.number(OURS);
    let error = refusal(keeper.end());
    assert!(error.contains("precious") && error.contains("did not make"), "{error}");
    assert!(error.contains("schema=NAME"), "{error}");
    assert_eq!(server.number("SELECT x FROM tw2.precious"), 5);
    assert_eq!(server.number(OURS), before, "it is looked at first, and nothing was dropped");
    let error = refusal(Mariadb.keep(&other, 0).map(drop));
    assert!(error.contains("precious"), "{error}");
    assert_eq!(server.number(OURS), before, "nor by the next study");
    // What a killed study left is ours: dropped and made again, when nothing else lies there.
    server.administer(&["DROP TABLE tw2.precious"]);
    let keeper = Mariadb.keep(&other, 0).unwrap().unwrap();
    Mariadb.load(&other).unwrap();
    std::mem::forget(keeper);
    let holder = server.number("SELECT IS_USED_LOCK('threadwise:tw2')");
    server.administer(&[&format!("KILL {holder}")]);
    while server.number("SELECT COALESCE(IS_USED_LOCK('threadwise:tw2'), 0)") != 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    Mariadb.keep(&other, 0).unwrap().unwrap().end().unwrap();
    assert_eq!(
        server.number("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'tw2'"),
        0
    );
}

#[test]
#[ignore = "laboratory: servers"]
fn accounts_that_cannot_work_are_refused_with_the_reason() {
    let (server, folder) = (UserServer::start(&[]), folder());
    server.administer(&["CREATE USER reader", "CREATE USER writer", "GRANT ALL ON threadwise.* TO writer"]);
    let keep = |user: &str| Mariadb.keep(&load_request(folder.path(), &server, user, "insert"), 0);
    let error = refusal(keep("reader").map(drop));
    assert!(error.contains("as 'reader'") && error.contains("lacks the right"), "{error}");
    server.administer(&["SET GLOBAL read_only = 1"]);
    let error = refusal(keep("writer").map(drop));
    assert!(error.contains("read-only"), "{error}");
    server.administer(&["SET GLOBAL read_only = 0", "SET GLOBAL innodb_flush_log_at_trx_commit = 2"]);
    let keeper = keep("writer").unwrap().unwrap();
    let load = load_request(folder.path(), &server, "writer", "insert");
    let error = refusal(Mariadb.load(&load));
    assert!(
        error.contains(
            "innodb_flush_log_at_trx_commit=1 and your server has innodb_flush_log_at_trx_commit=2"
        ),
        "{error}"
    );
    assert!(error.contains("--set durability=relaxed"), "{error}");
    // Without the right PROCESS nor mysql.innodb_index_stats: weaker proof, threads left alone.
    let blocks = load_request(folder.path(), &server, "writer", "logical-io");
    let loaded = Mariadb.load(&blocks).unwrap();
    assert!(loaded.notes[0].contains("this account may not read"), "{:?}", loaded.notes);
    let private = private();
    let mut start = start_request(&blocks);
    start.journal = Some(private.path().join("masks"));
    let ran = work(Mariadb.start(&start).unwrap(), &start, 1, 50, |_| {}).unwrap();
    assert!(ran.notes.iter().any(|note| note.contains("lacks the right PROCESS")), "{:?}", ran.notes);
    keeper.end().unwrap();
    assert_eq!(server.number(DATABASES), 0);
}

/// In a process of its own, since the environment decides: says what the engine says of a server.
#[test]
#[ignore = "laboratory: servers"]
fn inner_version() {
    let Ok(url) = std::env::var("THREADWISE_TEST_URL") else { return };
    match Mariadb.version(&options(&[("url", text(&url))])) {
        Ok(version) => println!("VERSION {version}"),
        Err(error) => println!("ERROR {error}"),
    }
}

fn version(url: &str, home: &std::path::Path, password: Option<&str>) -> String {
    let mut inner = Command::new(std::env::current_exe().unwrap());
    inner.args(["--exact", "lab_servers::external::inner_version", "--include-ignored", "--nocapture"]);
    inner.env_remove("MYSQL_HOST").env("HOME", home).env("THREADWISE_TEST_URL", url);
    match password {
        Some(password) => inner.env("MYSQL_PWD", password),
        None => inner.env_remove("MYSQL_PWD"),
    };
    let output = inner.output().unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

#[test]
#[ignore = "laboratory: servers"]
fn passwords_come_from_the_environment_or_the_file_and_appear_nowhere() {
    let (server, home) = (UserServer::start(&[]), tempfile::tempdir().unwrap());
    server.administer(&[
        "CREATE USER guarded IDENTIFIED BY 'hush-hush'",
        "CREATE USER local IDENTIFIED VIA unix_socket",
    ]);
    let socket = server.socket().to_string_lossy().replace('/', "%2F");
    let url = |user: &str| format!("mariadb://{user}@{socket}/");
    let none = version(&url("guarded"), home.path(), None);
    assert!(
        none.contains("ERROR") && none.contains("needs a password") && none.contains("MYSQL_PWD"),
        "{none}"
    );
    let wrong = version(&url("guarded"), home.path(), Some("wrong-word"));
    assert!(wrong.contains("password is wrong") && wrong.contains("'guarded'"), "{wrong}");
    assert!(!wrong.contains("wrong-word"), "{wrong}");
    let right = version(&url("guarded"), home.path(), Some("hush-hush"));
    assert!(right.contains("VERSION") && right.contains("MariaDB") && !right.contains("hush"), "{right}");
    fs::write(home.path().join(".my.cnf"), "[client]\npassword = \"hush-hush\"\n").unwrap();
    assert!(version(&url("guarded"), home.path(), None).contains("VERSION"));
    let plugin = version(&url("local"), home.path(), None);
    assert!(plugin.contains("unix_socket") && plugin.contains("IDENTIFIED BY"), "{plugin}");
    let log = fs::read_to_string(server.folder.path().join("log")).unwrap();
    assert!(!log.contains("hush") && !log.contains("wrong-word"));
}
