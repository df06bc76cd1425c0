//! Servers that all treatments share: the user's, and a private one for a study.

use super::{SMALL, kill};
use crate::support::theirs::{PASSWORD, Theirs};
use crate::support::{cpus, engine, folder, load, processes_in, programs, session, start, window};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use threadwise_engine::{LoadRequest, Running, StartRequest};
use threadwise_engine_sql::Driver;
use threadwise_machine::{CpuSet, pin};
use threadwise_process::{journal, proc};

/// A password file for every user of the server, and a URL that names it.
fn url(theirs: &Theirs, user: &str) -> String {
    let file = theirs.folder().join("pgpass");
    std::fs::write(&file, format!("*:*:*:*:{PASSWORD}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    format!("{}?passfile={}", theirs.tcp_url(user), file.display())
}

fn schemas(theirs: &Theirs) -> Vec<String> {
    let sql = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'threadwise%' ORDER BY 1";
    theirs.superuser().query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

fn keep_error(request: &LoadRequest) -> String {
    let error = engine().keep(request, 0).map(|kept| kept.is_some()).unwrap_err();
    let text = error.to_string();
    assert!(error.kind() == "engine" && !text.contains('\n') && !text.contains(PASSWORD), "{text}");
    text
}

fn drop_error(theirs: &Theirs) -> String {
    let server = theirs.superuser_server("threadwise").unwrap();
    let mut control = Driver::connect(&server, "owner").unwrap();
    threadwise_engine_sql::drop_ours(&server, &mut control).unwrap_err().to_string()
}

#[test]
#[ignore = "laboratory: servers"]
fn users_that_may_not_write_learn_what_they_need() {
    let programs = programs();
    let theirs = Theirs::start(&programs);
    let request = |user: &str| load(theirs.folder(), "logical-io", &SMALL, &[("url", &url(&theirs, user))]);
    let text = keep_error(&request("reader"));
    assert!(text.contains("42501") && text.contains("GRANT CREATE ON DATABASE"), "{text}");
    let text = keep_error(&request("standby"));
    assert!(text.contains("25006") && text.contains("read-only"), "{text}");
    assert!(schemas(&theirs).is_empty());
    // The version is asked before anything is made.
    let version = engine().version(&request("reader").engine_options).unwrap();
    assert_eq!(version, programs.version);
}

#[test]
#[ignore = "laboratory: servers"]
fn limits_of_the_server_the_role_and_the_database_are_told_with_what_is_in_use() {
    let theirs = Theirs::start(&programs());
    let limits = |user: &str| {
        let options =
            load(theirs.folder(), "logical-io", &SMALL, &[("url", &url(&theirs, user))]).engine_options;
        let limits = engine().limits(&options).unwrap();
        limits.into_iter().map(|limit| (limit.name, limit.most, limit.set_aside)).collect::<Vec<_>>()
    };
    let server = ("max_connections of the server".to_owned(), 20, 3);
    assert_eq!(limits("ada"), std::slice::from_ref(&server));
    let sql = "ALTER ROLE ada CONNECTION LIMIT 7; ALTER DATABASE postgres CONNECTION LIMIT 9";
    theirs.superuser().batch_execute(sql).unwrap();
    let role = ("the CONNECTION LIMIT of role 'ada'".to_owned(), 7, 0);
    let database = ("the CONNECTION LIMIT of database 'postgres'".to_owned(), 9, 0);
    assert_eq!(limits("ada"), [server, role, database]);
    let mut held: Vec<postgres::Client> = (0..3).map(|_| theirs.superuser()).collect();
    let options =
        load(theirs.folder(), "logical-io", &SMALL, &[("url", &url(&theirs, "ada"))]).engine_options;
    let in_use: Vec<u32> = engine().limits(&options).unwrap().iter().map(|limit| limit.in_use).collect();
    assert!(in_use[0] >= 3 && in_use[1] == 0 && in_use[2] >= 3, "{in_use:?}");
    held.iter_mut().for_each(|client| client.batch_execute("SELECT 1").unwrap());
}

#[test]
#[ignore = "laboratory: servers"]
fn a_schema_that_is_not_ours_is_never_touched() {
    let programs = programs();
    let theirs = Theirs::start(&programs);
    let url = url(&theirs, "ada");
    let request = load(theirs.folder(), "logical-io", &SMALL, &[("url", &url)]);
    let mut superuser = theirs.superuser();
    let not_ours = "and threadwise did not make it: give another name with --engine-option schema=NAME";
    for make in [
        "CREATE SCHEMA threadwise",
        "COMMENT ON SCHEMA threadwise IS 'made by threadwise, dropped at the end of its study'",
        "CREATE TABLE threadwise.threadwise_mark (says text)",
        "INSERT INTO threadwise.threadwise_mark VALUES ('ours')",
    ] {
        superuser.batch_execute(make).unwrap();
        superuser.batch_execute("GRANT ALL ON SCHEMA threadwise TO ada").unwrap();
        let _ = superuser.batch_execute("GRANT ALL ON ALL TABLES IN SCHEMA threadwise TO ada");
        let text = keep_error(&request);
        assert!(text.contains("schema 'threadwise' exists in database") && text.contains(not_ours), "{text}");
        assert_eq!(schemas(&theirs), ["threadwise"]);
    }
    // Another name is fine beside it, and goes at the end.
    let other = load(theirs.folder(), "logical-io", &SMALL, &[("url", &url), ("schema", "threadwise2")]);
    let kept = engine().keep(&other, 0).unwrap().unwrap();
    assert_eq!(schemas(&theirs), ["threadwise", "threadwise2"]);
    kept.end().unwrap();
    assert_eq!(schemas(&theirs), ["threadwise"]);
}

#[test]
#[ignore = "laboratory: servers"]
fn only_what_we_made_is_dropped_and_only_one_study_uses_a_schema() {
    let programs = programs();
    let theirs = Theirs::start(&programs);
    let request = load(theirs.folder(), "logical-io", &SMALL, &[("url", &url(&theirs, "ada"))]);
    let kept = engine().keep(&request, 0).unwrap().unwrap();
    engine().load(&request).unwrap();
    let text = keep_error(&request);
    assert!(text.contains("another study is using 'threadwise'"), "{text}");

    let mut superuser = theirs.superuser();
    for (make, remove, named) in [
        ("CREATE TABLE threadwise.precious (a int)", "DROP TABLE threadwise.precious", "precious"),
        ("CREATE VIEW threadwise.v AS SELECT 1 AS a", "DROP VIEW threadwise.v", "threadwise.v"),
        ("CREATE SEQUENCE threadwise.s", "DROP SEQUENCE threadwise.s", "threadwise.s"),
        ("CREATE TYPE threadwise.ty AS ENUM ('a')", "DROP TYPE threadwise.ty", "threadwise.ty"),
        (
            "CREATE FUNCTION threadwise.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "DROP FUNCTION threadwise.f",
            "threadwise.f()",
        ),
    ] {
        superuser.batch_execute(make).unwrap();
        let kept = engine().keep(&LoadRequest { ..request.clone() }, 0).map(|kept| kept.is_some());
        assert!(kept.is_err(), "still in use");
        let text = drop_error(&theirs);
        assert!(text.contains(&format!("objects that threadwise did not make: {named};")), "{text}");
        superuser.batch_execute(remove).unwrap();
    }
    // Something elsewhere that needs our table: nothing is dropped, not even in part.
    let table: String = superuser
        .query_one("SELECT min(name) FROM threadwise.threadwise_objects WHERE kind = 'table'", &[])
        .unwrap()
        .get(0);
    superuser.batch_execute(&format!("CREATE VIEW public.v AS SELECT * FROM threadwise.{table}")).unwrap();
    let text = kept.end().unwrap_err().to_string();
    assert!(text.contains("2BP01"), "{text}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'threadwise'";
    assert!(superuser.query_one(tables, &[]).unwrap().get::<_, i64>(0) >= 3);
    superuser.batch_execute("DROP VIEW public.v").unwrap();

    // What a killed study left is dropped by the next.
    let kept = engine().keep(&request, 0).unwrap().unwrap();
    assert_eq!(superuser.query_one(tables, &[]).unwrap().get::<_, i64>(0), 3, "our own");
    kept.end().unwrap();
    assert!(schemas(&theirs).is_empty());
}

#[test]
#[ignore = "laboratory: servers"]
fn a_keeper_whose_process_ends_gives_its_schema_to_the_next() {
    let programs = programs();
    let theirs = Theirs::start(&programs);
    let request = load(theirs.folder(), "logical-io", &SMALL, &[("url", &url(&theirs, "ada"))]);
    let kept = engine().keep(&request, 0).unwrap().unwrap();
    engine().load(&request).unwrap();
    drop(kept);
    assert!(schemas(&theirs).is_empty(), "dropped, it ends as well as it can");
    // Killed: its connection ends without a word.
    let kept = engine().keep(&request, 0).unwrap().unwrap();
    let sql =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'threadwise study'";
    theirs.superuser().query(sql, &[]).unwrap();
    assert!(kept.end().is_err());
    assert_eq!(schemas(&theirs), ["threadwise"]);
    engine().keep(&request, 0).unwrap().unwrap().end().unwrap();
    assert!(schemas(&theirs).is_empty());
}

fn run_once(running: &dyn Running, start: &StartRequest) {
    let mut session = running.open(&session(start, 0)).unwrap();
    session.warm().unwrap();
    running.before().unwrap();
    let mut slices = vec![session.slice(&window(50)).unwrap()];
    running.after(&mut slices).unwrap();
    assert!(slices[0].rows > 0);
}

#[test]
#[ignore = "laboratory: servers"]
fn a_foreign_server_is_placed_by_the_journal_and_put_back() {
    let programs = programs();
    let theirs = Theirs::start(&programs);
    let mut request = load(theirs.folder(), "logical-io", &SMALL, &[("url", &url(&theirs, "ada"))]);
    request.sessions = 1;
    let kept = engine().keep(&request, 0).unwrap().unwrap();
    engine().load(&request).unwrap();
    let all = cpus();
    let children = || proc::children(theirs.postmaster());
    let mask = |pid: u32| pin::thread_affinity(pid, pid).unwrap();
    // One that has ended meanwhile (a connection's, a worker's) has no mask.
    let is_still =
        |(pid, cpus): &(u32, CpuSet)| pin::thread_affinity(*pid, *pid).map_or(true, |now| now == *cpus);
    let before: Vec<(u32, CpuSet)> =
        children().into_iter().filter_map(|pid| Some((pid, pin::thread_affinity(pid, pid).ok()?))).collect();

    // Without a journal nothing is changed, and the report says so.
    let mut plain = start(&request);
    let running = engine().start(&plain).unwrap();
    run_once(&*running, &plain);
    let standing = running.standing();
    drop(standing.map(|standing| {
        assert!(standing.placed.is_empty());
        assert!(
            standing.notes.iter().any(|note| note.text.starts_with("server not pinned: ")),
            "{:?}",
            standing.notes
        );
        assert!(standing.notes.iter().any(|note| note.text.starts_with("memory placed earlier")));
    }));
    running.finish().unwrap();
    assert!(before.iter().all(is_still));

    let folder = tempfile::tempdir().unwrap();
    let path = private(folder.path()).join("journal");
    plain.journal = Some(path.clone());
    plain.service = [all.iter().last().unwrap()].into_iter().collect();
    let running = engine().start(&plain).unwrap();
    let opened = running.open(&session(&plain, 0)).unwrap();
    let standing = running.standing().unwrap();
    assert_eq!(standing.placed[0].name, "session 0");
    assert_eq!(mask(standing.placed[0].pid), plain.sessions[0]);
    let writer = standing.placed.iter().find(|placed| placed.name == "walwriter").unwrap();
    // Other treatments' workers begin at the same time: what is shared is bound for slices only.
    assert_eq!(mask(writer.pid), all);
    running.before().unwrap();
    assert_eq!(mask(writer.pid), plain.service);
    assert!(standing.placed.iter().all(|placed| placed.name != "postmaster"));
    assert_eq!(mask(theirs.postmaster()), all, "new sessions of others inherit its mask");
    // Another treatment moved them; ours puts them where it wants them.
    let first: CpuSet = all.first().into_iter().collect();
    threadwise_process::masks::set_thread(writer.pid, &first).unwrap();
    running.before().unwrap();
    assert_eq!(mask(writer.pid), plain.service);
    drop(opened);
    running.finish().unwrap();

    let restored = journal::restore(&path).unwrap();
    assert!(restored.failed.is_empty() && restored.put_back >= 3, "{restored:?}");
    assert!(before.iter().all(is_still));
    kept.end().unwrap();
    no_password_in(&theirs, &[&path]);
}

fn private(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("journals");
    std::fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
    path
}

/// The password is in no command line, no log, and none of our files.
fn no_password_in(theirs: &Theirs, files: &[&Path]) {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    for entry in processes.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()) {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains(PASSWORD), "{:?}", entry.path());
    }
    let log = theirs.data.parent().unwrap().join("log");
    for file in files.iter().copied().chain([log.as_path()]) {
        let text = std::fs::read_to_string(file).unwrap();
        // The test made the roles, not the program; that statement did not fail and is in no log.
        assert!(!text.contains(PASSWORD), "{}", file.display());
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn one_server_for_a_study_serves_every_treatment() {
    let folder = folder();
    let mut request = load(folder.path(), "logical-io", &SMALL, &[("restart", "study")]);
    request.sessions = 1;
    let kept = engine().keep(&request, 0).unwrap().unwrap();
    let mut other = load(folder.path(), "insert", &[("seed_rows", "1000")], &[("restart", "study")]);
    (other.sessions, other.treatment) = (1, "u".into());
    let loaded = engine().load(&request).unwrap();
    assert_eq!(engine().load(&request).unwrap().rows_per_session, loaded.rows_per_session);
    engine().load(&other).unwrap();
    let all: Vec<u32> = cpus().iter().collect();
    let (mut here, mut there) = (start(&request), start(&other));
    here.service = [all[0]].into_iter().collect();
    there.service = [*all.last().unwrap()].into_iter().collect();
    let first = engine().start(&here).unwrap();
    let second = engine().start(&there).unwrap();
    let mut opened = first.open(&session(&here, 0)).unwrap();
    let standing = first.standing().unwrap();
    assert!(standing.notes.iter().any(|note| note.text.contains("restart=study")), "{:?}", standing.notes);
    let writer = standing.placed.iter().find(|placed| placed.name == "walwriter").unwrap().pid;
    run_once(&*second, &there);
    assert_eq!(pin::thread_affinity(writer, writer).unwrap(), there.service);
    first.before().unwrap();
    assert_eq!(pin::thread_affinity(writer, writer).unwrap(), here.service);
    opened.warm().unwrap();
    assert!(opened.slice(&window(30)).unwrap().rows > 0);
    drop(opened);
    first.finish().unwrap();
    second.finish().unwrap();
    assert!(!processes_in(folder.path()).is_empty(), "the server stays for the study");
    kept.end().unwrap();
    assert!(processes_in(folder.path()).is_empty());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
#[ignore = "laboratory: servers"]
fn a_killed_server_of_a_study_is_an_engine_error() {
    let folder = folder();
    let mut request = load(folder.path(), "logical-io", &SMALL, &[("restart", "study")]);
    request.sessions = 1;
    let kept = engine().keep(&request, 0).unwrap().unwrap();
    engine().load(&request).unwrap();
    let server = threadwise_engine_postgres::cluster::connect(
        &std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path().join("data"),
    );
    let threadwise_engine_postgres::connect::Locality::Here { postmaster } = *server.unwrap().locality()
    else {
        panic!("not here")
    };
    kill(postmaster);
    threadwise_process::folder_processes::end_in_folder(folder.path(), std::time::Duration::from_secs(10))
        .unwrap();
    let error = engine().start(&start(&request)).map(drop).unwrap_err();
    assert_eq!(error.kind(), "engine");
    let text = kept.end().unwrap_err().to_string();
    assert!(text.contains("had ended before"), "{text}");
    assert!(processes_in(folder.path()).is_empty());
}
