//! What goes wrong: clear errors, and nothing half-made is taken for whole.

use super::LONG;
use super::place::{Study, folder, generator, options, request, write};
use crate::support::{cpus, engine, eventually, processes_in};
use std::os::unix::fs::PermissionsExt;
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_engine_postgres::cluster;
use threadwise_process::Signal;
use threadwise_tpch::Dialect;

#[test]
#[ignore = "laboratory: servers"]
fn a_query_is_stopped_at_the_time_limit_and_the_session_goes_on() {
    let folder = folder(Dialect::Postgres, 1);
    write(folder.path(), 0, 18, LONG);
    let load = request(folder.path(), &[("dop", "2"), ("hold_plan", "true"), ("queries", "6,18")], &[], 1);
    let study = Study::of(engine(), folder, &load);
    let mut treatment = study.start(&load, &cpus());
    let message = treatment.ask(&[18], 150).unwrap_err().to_string();
    assert!(message.contains("query q18") && message.contains("slice_ms"), "{message}");
    // It is closed with its transaction, and its statement is gone with the next session.
    drop(treatment);
    let mut again = study.start(&load, &cpus());
    assert_eq!(again.one(6).rows, 1);
    again.finish();
    study.end();
}

#[test]
#[ignore = "laboratory: servers"]
fn a_server_that_is_killed_in_mid_query_is_an_error_and_nothing_is_left() {
    let folder = folder(Dialect::Postgres, 1);
    write(folder.path(), 0, 18, LONG);
    let load = request(folder.path(), &[("dop", "1"), ("queries", "18")], &[], 1);
    let study = Study::of(engine(), folder, &load);
    let mut treatment = study.start(&load, &cpus());
    let placed = treatment.running.standing().unwrap().placed;
    let leader = placed.iter().find(|placed| placed.name == "session 0").unwrap().pid;
    let error = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            let pid = rustix::process::Pid::from_raw(leader.cast_signed()).unwrap();
            rustix::process::kill_process(pid, Signal::KILL).unwrap();
        });
        treatment.ask(&[18], 600_000).unwrap_err()
    });
    let text = error.to_string();
    assert!(error.kind() == "engine" && text.contains("q18") && !text.contains('\n'), "{text}");
    assert!(text.contains("closed") || text.contains("crash"), "{text}");
    drop(treatment);
    let path = study.folder.path().to_owned();
    drop(study);
    eventually("processes are left", || processes_in(&path).is_empty());
}

#[test]
#[ignore = "laboratory: servers"]
fn a_limit_on_what_is_spilt_is_an_error_that_names_it() {
    let folder = folder(Dialect::Postgres, 1);
    let given = [("dop", "1"), ("queries", "18"), ("settings.work_mem", "64kB")];
    let free = request(folder.path(), &given, &[], 1);
    let bounded = request(folder.path(), &[given.as_slice(), &[("spill_limit_mb", "1")]].concat(), &[], 1);
    let sort = "SELECT l_comment FROM lineitem ORDER BY l_comment, l_shipdate LIMIT 3 OFFSET 60000";
    write(folder.path(), 0, 18, sort);
    let study = Study::of(engine(), folder, &free);
    let mut treatment = study.start(&free, &cpus());
    let spilt = treatment.one(18).counters["spill_bytes"];
    assert!(spilt > 1 << 20, "{spilt}");
    treatment.finish();
    let mut treatment = study.start(&bounded, &cpus());
    let message = treatment.ask(&[18], 60_000).unwrap_err().to_string();
    assert!(message.contains("spill_limit_mb") && message.contains("q18"), "{message}");
    drop(treatment);
    study.end();
}

fn refusal(result: Result<impl Sized, EngineError>) -> String {
    match result.err() {
        Some(error @ EngineError::Option { .. }) => error.to_string(),
        other => panic!("{other:?} instead of a refused option"),
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_generator_that_fails_leaves_nothing_that_looks_whole_and_settings_are_tried_before() {
    let folder = folder(Dialect::Postgres, 1);
    let path = folder.path().to_owned();
    let load = request(&path, &[("dop", "1"), ("queries", "6")], &[], 1);
    let kept = engine().keep(&load, 0).unwrap().unwrap();
    let link = path.join("generator");
    std::fs::remove_file(&link).unwrap();
    let message = engine().load(&load).unwrap_err().to_string();
    assert!(message.contains("generator") && message.contains("engine add"), "{message}");
    // It ends well for all but the largest table, of which it gives a part.
    let part = format!(
        "#!/bin/sh\ncase \"$*\" in *lineitem*) {0} \"$@\" | head -20000; echo no room >&2; exit 7;; *) exec {0} \"$@\";; esac\n",
        generator().display()
    );
    std::fs::write(&link, &part).unwrap();
    std::fs::set_permissions(&link, std::fs::Permissions::from_mode(0o755)).unwrap();
    let message = engine().load(&load).unwrap_err().to_string();
    assert!(message.contains("no room") && message.contains("lineitem"), "{message}");
    // It lies: a part, and all is well.
    std::fs::write(&link, part.replace("exit 7", "exit 0").replace("20000", "3")).unwrap();
    let message = engine().load(&load).unwrap_err().to_string();
    assert!(message.contains("2 rows instead of 1 to 7 for each order"), "{message}");
    let start = |load: &LoadRequest| {
        let (sessions, service) = (vec![cpus()], cpus());
        let load = load.clone();
        engine().start(&threadwise_engine::StartRequest { load, sessions, service, seed: 1, journal: None })
    };
    let message = start(&load).err().unwrap().to_string();
    assert!(message.contains("load it before start"), "{message}");
    // A setting that is wrong is found before anything is loaded.
    for (name, value) in [("settings.no_such_setting", "1"), ("settings.work_mem", "much")] {
        let bad = request(&path, &[("dop", "1"), (name, value)], &[], 1);
        engine().check(&bad).unwrap();
        let message = refusal(engine().load(&bad));
        assert!(message.contains(&format!("option '{name}'")), "{message}");
    }
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(generator(), &link).unwrap();
    let loaded = engine().load(&load).unwrap();
    assert!(loaded.bytes_per_session > 10_000_000 && loaded.rows_per_session > 80_000, "{loaded:?}");
    // Found, and not counted again.
    assert_eq!(engine().load(&load).unwrap().bytes_per_session, 0);
    start(&load).unwrap().finish().unwrap();
    kept.end().unwrap();
}

#[test]
#[ignore = "laboratory: servers"]
fn a_copy_for_each_run_is_refused_and_a_missing_query_is_named() {
    let folder = folder(Dialect::Postgres, 1);
    let load = request(folder.path(), &[("queries", "6")], &[("restart", "run")], 1);
    assert!(refusal(engine().check(&load)).contains("give study"));
    let load = request(folder.path(), &[("queries", "6")], &[("restart", "study")], 1);
    let study = Study::of(engine(), folder, &load);
    std::fs::remove_file(study.folder.path().join("queries/0/q06.sql")).unwrap();
    let message = study.try_start(&load, &cpus()).err().unwrap().to_string();
    assert!(message.contains("q06"), "{message}");
    // More workers than the server has room for.
    let mut wide = request(study.folder.path(), &[("queries", "1"), ("dop", "1000")], &[], 1);
    wide.sessions = 4;
    assert!(refusal(study.try_start(&wide, &cpus())).contains("max_worker_processes"));
    study.end();
}

#[test]
#[ignore = "laboratory: servers"]
fn two_data_sets_lie_side_by_side_and_one_is_in_the_order_of_dates() {
    let folder = folder(Dialect::Postgres, 1);
    let given = [("dop", "1"), ("queries", "6")];
    let plain = request(folder.path(), &given, &[], 1);
    let mut ordered = plain.clone();
    ordered.options.extend(options(&[("cluster", "shipdate")]));
    let study = Study::of(engine(), folder, &plain);
    let loaded = engine().load(&ordered).unwrap();
    assert!(loaded.notes.iter().any(|note| note.contains("l_shipdate")), "{:?}", loaded.notes);
    let (mut first, mut second) = (study.start(&plain, &cpus()), study.start(&ordered, &cpus()));
    assert_eq!(first.one(6).answer, second.one(6).answer);
    let home = std::fs::read_dir(study.folder.path()).unwrap().flatten().map(|entry| entry.path());
    let home = home.into_iter().find(|path| path.join("data/PG_VERSION").exists()).unwrap();
    let mut client = cluster::connect(&home.join("data")).unwrap().connect("test").unwrap();
    let steps = "SELECT count(*) FROM (SELECT l_shipdate < lag(l_shipdate) OVER (ORDER BY ctid) AS back \
                 FROM {}.lineitem) AS s WHERE back";
    let mut back =
        |schema: &str| -> i64 { client.query_one(&steps.replace("{}", schema), &[]).unwrap().get(0) };
    assert_eq!(back("tpch_sf0_01_shipdate"), 0);
    assert!(back("tpch_sf0_01") > 1000);
    drop(client);
    first.finish();
    second.finish();
    study.end();
}
