//! `tpch` on a private PostgreSQL server: answers, degrees of parallelism, plans, and what goes wrong.
#![allow(clippy::unwrap_used, clippy::expect_used)] // Helpers of tests, not a library.

mod cold;
mod external;
mod faults;
mod place;
mod short;

use crate::support::{cpus, engine};
use place::{Study, folder, request, window, write};
use std::sync::atomic::{AtomicBool, Ordering};
use threadwise_engine::engines::sqlite::Sqlite;
use threadwise_machine::{CpuSet, pin};
use threadwise_process::proc;
use threadwise_study::without_estimates;
use threadwise_tpch::{Dialect, Reference, compare};

/// Takes a second and more on one logical CPU, and can go parallel.
const LONG: &str = "SELECT count(*), sum(a.l_quantity) FROM lineitem a, generate_series(1, 60) g \
                    WHERE a.l_extendedprice * g > 0";

#[test]
#[ignore = "laboratory: servers"]
fn all_answers_are_those_of_sqlite_and_of_every_degree_of_parallelism() {
    let theirs = folder(Dialect::Sqlite, 1);
    let load = request(theirs.path(), &[], &[], 1);
    let sqlite = Study::of(&Sqlite, theirs, &load);
    let mut reference = sqlite.start(&load, &cpus());
    let folder = folder(Dialect::Postgres, 1);
    let serial = request(folder.path(), &[("dop", "1"), ("jit", "false")], &[], 1);
    let parallel = request(folder.path(), &[("dop", "2"), ("hold_plan", "true"), ("jit", "true")], &[], 1);
    let study = Study::of(engine(), folder, &serial);
    let mut treatments = [study.start(&serial, &cpus()), study.start(&parallel, &cpus())];
    for query in 1..=22 {
        let wanted = reference.one(query);
        assert_eq!(wanted.rows as usize, wanted.answer.as_ref().unwrap().len());
        let reference =
            Reference { engine: "sqlite".into(), version: String::new(), answer: wanted.answer.unwrap() };
        for treatment in &mut treatments {
            let execution = treatment.one(query);
            compare(query, &reference, execution.answer.as_ref().unwrap()).unwrap();
            assert_eq!(execution.rows, wanted.rows, "q{query:02}");
            // Workers that are started for each row of a correlated subquery would be all that is measured.
            let plan = execution.plan.as_deref().unwrap();
            let inner = plan.find("[SubPlan]").map_or("", |at| &plan[at..]);
            assert!(query != 2 || !inner.is_empty() && !inner.contains("Gather"), "{plan}");
            assert!(execution.planning_ns.unwrap() > 0 && execution.elapsed_ns > 0);
            assert!(execution.cpu_ns.is_some() && execution.counters["buffer_hits"] > 0, "{execution:?}");
            assert_eq!(execution.counters["read_bytes"], 0, "q{query:02}: everything was read before");
        }
    }
    reference.finish();
    treatments.into_iter().for_each(place::AtWork::finish);
    sqlite.end();
    study.end();
}

#[test]
#[ignore = "laboratory: servers"]
fn a_held_plan_is_the_same_and_only_the_number_of_processes_differs() {
    let folder = folder(Dialect::Postgres, 1);
    let request_of = |dop: &str, holds: &str| {
        request(folder.path(), &[("dop", dop), ("hold_plan", holds), ("queries", "1,6,18")], &[], 1)
    };
    let (free, one, two) = (request_of("1", "false"), request_of("1", "true"), request_of("2", "true"));
    let study = Study::of(engine(), folder, &free);
    let mut treatments = [&free, &one, &two].map(|load| study.start(load, &cpus()));
    // In turn, and back: the tables are the same for all.
    for query in [6, 1, 6, 18] {
        let [free, one, two] = &mut treatments;
        let (free, one, two) = (free.one(query), one.one(query), two.one(query));
        assert_eq!((free.dop, one.dop, two.dop), (Some(1), Some(1), Some(2)), "q{query:02}");
        let bare = |plan: Option<String>| without_estimates(&plan.unwrap());
        let estimated = one.plan.clone().unwrap();
        assert!(
            estimated.lines().all(|line| line.contains(" # rows=") && line.contains(" cost=")),
            "{estimated}"
        );
        let plan = bare(one.plan);
        assert_eq!(plan, bare(two.plan), "q{query:02}");
        assert!(plan.contains("~ Gather"), "{plan}");
        assert!(!free.plan.unwrap().contains("Gather"));
    }
    let standing = treatments[1].running.standing().unwrap();
    assert!(standing.notes.iter().any(|note| note.text.starts_with("plans held")), "{:?}", standing.notes);
    treatments.into_iter().for_each(place::AtWork::finish);
    study.end();
}

#[test]
#[ignore = "laboratory: servers"]
fn a_setting_changes_the_plan_and_going_parallel_is_distinguished_from_that() {
    let folder = folder(Dialect::Postgres, 1);
    let base = [("dop", "1"), ("queries", "1,3,6,14")];
    let request_of =
        |more: &[(&str, &str)]| request(folder.path(), &[base.as_slice(), more].concat(), &[], 1);
    let (free, other) = (request_of(&[]), request_of(&[("settings.enable_hashjoin", "false")]));
    let cheap =
        [("dop", "2"), ("settings.parallel_setup_cost", "0"), ("settings.min_parallel_table_scan_size", "0")];
    let parallel = request_of(&cheap);
    let study = Study::of(engine(), folder, &free);
    let mut treatments = [&free, &other, &parallel].map(|load| study.start(load, &cpus()));
    let mut plans = |query: u8| {
        treatments.each_mut().map(|treatment| without_estimates(&treatment.one(query).plan.unwrap()))
    };
    let [free, other, _] = plans(14);
    assert!(free.contains("Hash Join") && !other.contains("Hash Join"), "{free}\n{other}");
    let [free, other, parallel] = plans(6);
    assert_eq!(free, other);
    let kept = |plan: &str| -> Vec<String> {
        plan.lines().map(str::trim).filter(|line| !line.starts_with("~ ")).map(str::to_owned).collect()
    };
    assert_ne!(free, parallel);
    assert_eq!(kept(&free), kept(&parallel));
    assert_eq!(plans(1)[0], plans(1)[0]);
    treatments.into_iter().for_each(place::AtWork::finish);
    study.end();
}

#[test]
#[ignore = "laboratory: servers"]
fn parallel_workers_are_where_the_sessions_are_and_their_time_is_counted() {
    let folder = folder(Dialect::Postgres, 1);
    write(folder.path(), 0, 1, LONG);
    let load = request(folder.path(), &[("dop", "2"), ("hold_plan", "true"), ("queries", "1")], &[], 1);
    let study = Study::of(engine(), folder, &load);
    let all = cpus();
    let last: CpuSet = all.iter().last().into_iter().collect();
    let mut treatments = [(study.start(&load, &all), all), (study.start(&load, &last), last)];
    for (treatment, wanted) in &mut treatments {
        let standing = treatment.running.standing().unwrap();
        let postmaster = standing.placed.iter().find(|placed| placed.name == "postmaster").unwrap().pid;
        let is_over = AtomicBool::new(false);
        let (execution, seen) = std::thread::scope(|scope| {
            let look = scope.spawn(|| {
                let mut seen = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    let is_worker =
                        |pid: &u32| proc::title(*pid).is_some_and(|title| title.contains("parallel worker"));
                    let workers = proc::children(postmaster).into_iter().filter(is_worker);
                    seen.extend(workers.filter_map(|pid| pin::thread_affinity(pid, pid).ok()));
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                seen
            });
            let execution = treatment.one(1);
            is_over.store(true, Ordering::Relaxed);
            (execution, look.join().unwrap())
        });
        assert!(!seen.is_empty() && seen.iter().all(|mask| mask == wanted), "{seen:?} instead of {wanted}");
        assert_eq!(execution.dop, Some(2));
        // Two processes worked: on one logical CPU they took turns, on two each had its own.
        let (cpu_ns, elapsed_ns) = (execution.cpu_ns.unwrap(), execution.elapsed_ns);
        assert!(
            cpu_ns > 100_000_000 && cpu_ns < elapsed_ns * wanted.len() as u64 + 60_000_000,
            "{execution:?}"
        );
        assert!(wanted.len() > 1 || cpu_ns > elapsed_ns / 10, "{execution:?}");
    }
    treatments.into_iter().for_each(|(treatment, _)| treatment.finish());
    study.end();
}

#[test]
#[ignore = "laboratory: servers"]
fn streams_work_at_the_same_time_and_share_the_cpu_time_of_the_server() {
    let folder = folder(Dialect::Postgres, 2);
    let given = [("dop", "2"), ("test", "throughput"), ("hold_plan", "true"), ("queries", "1-3,5-7")];
    let load = request(folder.path(), &given, &[], 2);
    let study = Study::of(engine(), folder, &load);
    let running = {
        let start = threadwise_engine::StartRequest {
            load: load.clone(),
            sessions: vec![cpus(), cpus()],
            service: cpus(),
            seed: 7,
            journal: None,
        };
        engine().start(&start).unwrap()
    };
    let [ready, begin, read, end] = [(); 4].map(|()| std::sync::Barrier::new(3));
    let moment = std::sync::OnceLock::new();
    let last_slices = std::sync::Mutex::new(std::collections::BTreeMap::new());
    let slices = std::thread::scope(|scope| {
        let streams = [(0_u32, [1, 7, 3, 6, 2, 5]), (1, [6, 5, 7, 1, 3, 2])].map(|(session, order)| {
            let (load, running, moment, last_slices) = (load.clone(), &running, &moment, &last_slices);
            let (ready, begin, read, end) = (&ready, &begin, &read, &end);
            scope.spawn(move || {
                let session_request =
                    threadwise_engine::SessionRequest { load, session, sessions: 2, cpus: cpus(), seed: 7 };
                let mut opened = running.open(&session_request).unwrap();
                opened.warm().unwrap();
                ready.wait();
                begin.wait();
                last_slices
                    .lock()
                    .unwrap()
                    .insert(session, opened.queries(moment.get().unwrap(), &order).unwrap());
                // Parked, and not closed, until what came of it was read.
                read.wait();
                end.wait();
            })
        });
        ready.wait();
        running.before().unwrap();
        let window = moment.get_or_init(|| window(120_000)).clone();
        begin.wait();
        running.during(&window).unwrap();
        read.wait();
        let mut slices: Vec<_> = std::mem::take(&mut *last_slices.lock().unwrap()).into_values().collect();
        running.after(&mut slices).unwrap();
        end.wait();
        streams.into_iter().for_each(|stream| stream.join().unwrap());
        slices
    });
    let order: Vec<u8> = slices[1].queries.iter().map(|one| one.query).collect();
    assert_eq!(order, [6, 5, 7, 1, 3, 2]);
    for slice in &slices {
        assert!(slice.queries.iter().all(|one| one.cpu_ns.is_none() && one.counters.is_empty()));
        assert!(slice.queries.is_sorted_by_key(|one| one.started_ns));
        assert!(slice.cpu_ns > 0 && slice.cpu_ns == slices[0].cpu_ns);
        let last = slice.queries.last().unwrap();
        assert!(slice.finished_ns.unwrap() >= last.started_ns + last.elapsed_ns);
    }
    running.finish().unwrap();
    study.end();
}
