//! A server of the user's: our tables in our schema, gone at the end; its postmaster stays where it is.

use super::place::{Study, folder, options, request};
use crate::support::programs;
use crate::support::theirs::{PASSWORD, Theirs};
use crate::support::{cpus, engine};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use threadwise_engine::StartRequest;
use threadwise_machine::{CpuSet, pin};
use threadwise_tpch::Dialect;

#[test]
#[ignore = "laboratory: servers"]
fn a_server_of_the_users_has_one_data_set_for_a_while_and_its_own_workers_places() {
    let programs = programs();
    let theirs = Theirs::start(&programs);
    let file = theirs.folder().join("pgpass");
    std::fs::write(&file, format!("*:*:*:*:{PASSWORD}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let url = format!("{}?passfile={}", theirs.tcp_url("ada"), file.display());
    let folder = folder(Dialect::Postgres, 1);
    let path = folder.path().to_owned();
    let request_of = |dop: &str| request(&path, &[("dop", dop), ("queries", "1,6")], &[("url", &url)], 1);
    let serial = request_of("1");
    let study = Study::of(engine(), folder, &serial);
    let mut treatment = study.start(&serial, &cpus());
    let execution = treatment.one(6);
    assert_eq!((execution.rows, execution.dop), (1, Some(1)));
    assert!(execution.cpu_ns.is_some_and(|cpu_ns| cpu_ns > 0), "{execution:?}");
    let notes = treatment.running.standing().unwrap().notes;
    assert!(notes.iter().any(|note| note.text.contains("auto_explain cannot be loaded")), "{notes:?}");
    treatment.finish();
    // Workers would be where the postmaster is.
    let before = pin::thread_affinity(theirs.postmaster(), theirs.postmaster()).unwrap();
    let private = path.join("journals");
    std::fs::DirBuilder::new().mode(0o700).create(&private).unwrap();
    let journal = Some(private.join("journal"));
    let start = |cpus: CpuSet| {
        let (sessions, service, load) = (vec![cpus.clone()], cpus, request_of("2"));
        engine().start(&StartRequest { load, sessions, service, seed: 1, journal: journal.clone() })
    };
    let few: CpuSet = cpus().iter().take(1).collect();
    if few != before {
        let message = start(few).err().unwrap().to_string();
        assert!(message.contains("option 'dop'") && message.contains("postmaster"), "{message}");
    }
    start(before.clone()).unwrap().finish().unwrap();
    assert_eq!(pin::thread_affinity(theirs.postmaster(), theirs.postmaster()).unwrap(), before);
    // One data set at a time.
    let mut other = serial.clone();
    other.options.extend(options(&[("cluster", "shipdate")]));
    let message = engine().load(&other).unwrap_err().to_string();
    assert!(message.contains("one data set"), "{message}");
    study.end();
    let sql = "SELECT count(*) FROM pg_class WHERE relname = 'lineitem'";
    let left: i64 = theirs.superuser().query_one(sql, &[]).unwrap().get(0);
    assert_eq!(left, 0);
}
