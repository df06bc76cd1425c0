//! Whole studies of `tpch`: data by bulk load from a generator, a query with its times, degree of parallelism, plan and
//! answer.

use crate::bench::{Bench, LONG_NS, assert_clear, queries, queries_beside};
use crate::model::{COMPILE_MS, CPU_MS, Plans, Settings};
use std::fmt::Write as _;
use std::time::Duration;
use threadwise_engine::workloads::tpch::tables::{Kind, TABLES};
use threadwise_engine::{Engine, LoadRequest, latency};
use threadwise_engine_sqlserver::Client;
use threadwise_tds::{Message, Reply};
use threadwise_tpch::{Dialect, Parameters, sql};

const OPTIONS: &str = "scale=0.01 queries=3 dop=2";

/// Puts a generator, its text of each table and query 3 into the folder.
fn generate(bench: &Bench) {
    let folder = bench.path();
    for table in &TABLES {
        let rows = table.rows(0.01).unwrap_or(30_000);
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let mut text = names.join(",") + "\n";
        for row in 1..=rows {
            let field = |(at, (_, kind)): (usize, &(&str, Kind))| match kind {
                Kind::Identifier | Kind::Integer => (row + at as u64).to_string(),
                Kind::Decimal => format!("{row}.25"),
                Kind::Date => "1995-03-15".to_owned(),
                Kind::Char(1) => "N".to_owned(),
                Kind::Char(_) | Kind::Varchar(_) => "\"some, text\"".to_owned(),
            };
            let fields: Vec<String> = table.columns.iter().enumerate().map(field).collect();
            writeln!(text, "{}", fields.join(",")).unwrap();
        }
        std::fs::write(folder.join(format!("{}.csv", table.name)), text).unwrap();
    }
    let program = folder.join("generator");
    let text = format!("#!/bin/sh\nexec /bin/cat {}/$5.csv\n", folder.display());
    threadwise_process::programs::write(&program, &text).unwrap();
    let text = sql(Dialect::SqlServer, 3, &Parameters::validation(3, 1.0).unwrap()).unwrap();
    std::fs::create_dir_all(folder.join("queries/0")).unwrap();
    std::fs::write(folder.join("queries/0/q03.sql"), text).unwrap();
}

/// Data of the smallest allowed size would take half of a second in every test: the others have tables without rows,
/// and say that they are whole.
fn pretend(bench: &Bench, load: &LoadRequest) -> Box<dyn threadwise_engine::Keeper> {
    let keeper = Client.keep(load, 0).unwrap().unwrap();
    pretend_loaded(bench);
    keeper
}

/// Puts what a load leaves into a schema that is there.
pub fn pretend_loaded(bench: &Bench) {
    generate_query(bench);
    let mut state = bench.state();
    for table in &TABLES {
        let name = format!("[threadwise].[{}]", table.name);
        state.log.push(format!("CREATE TABLE {name}"));
        state.tables.insert(name, crate::model::table::Table::default());
        let row = ["table", table.name].map(threadwise_tds::Value::text).to_vec();
        state.tables.get_mut("[threadwise].[threadwise_objects]").unwrap().rows.push(row);
    }
    let row = vec![
        threadwise_tds::Value::text("tpch sf0.01 format 1"),
        threadwise_tds::Value::Int(1),
        threadwise_tds::Value::Int(1),
        threadwise_tds::Value::text(""),
    ];
    state.tables.get_mut("[threadwise].[threadwise_loads]").unwrap().rows.push(row);
}

fn generate_query(bench: &Bench) {
    std::fs::create_dir_all(bench.path().join("queries/0")).unwrap();
    std::fs::write(bench.path().join("queries/0/q03.sql"), "SELECT 1 FROM lineitem, orders;\n").unwrap();
}

#[test]
fn a_query_is_told_with_its_times_its_plan_and_its_answer() {
    // Longer than it took to compile, which is taken off.
    let before_query = vec![Reply::Wait(Duration::from_millis(8))];
    let bench = Bench::new(Settings { before_query, ..Settings::default() });
    generate(&bench);
    let load = bench.load("tpch", OPTIONS, 1);
    let (keeper, notes, running) = bench.begin(&load);
    assert!(notes[0].contains("order of its primary key"), "{notes:?}");
    {
        let state = bench.state();
        let lineitem = &state.tables["[threadwise].[lineitem]"];
        assert_eq!((lineitem.rows.len(), lineitem.indexes.len()), (30_000, 3));
        assert_eq!(lineitem.rows[0][5], threadwise_tds::Value::Decimal { unscaled: 125, scale: 2 });
        assert_eq!(lineitem.rows[0][10], threadwise_tds::Value::date(1995, 3, 15));
        assert_eq!(lineitem.rows[0][14], threadwise_tds::Value::text("some, text"));
    }
    let slices = queries(&bench, running.as_ref(), &load, &[3], LONG_NS);
    let standing = slices.notes.clone();
    let [slice] = &slices.done()[..] else { panic!("one stream") };
    let [query] = &slice.queries[..] else { panic!("{slice:?}") };
    assert_eq!((query.query, query.dop, query.rows), (3, Some(2), 1));
    assert_eq!(query.planning_ns, Some(COMPILE_MS * 1_000_000));
    assert_eq!((query.cpu_ns, slice.cpu_ns), (Some(CPU_MS * 1_000_000), CPU_MS * 1_000_000));
    assert!(query.elapsed_ns >= 4_000_000, "{query:?}");
    assert_eq!(
        query.plan.as_deref(),
        Some(
            "~ Parallelism (Gather Streams) # rows=2 cost=1.5\n  Clustered Index Scan on \
             lineitem.primary_lineitem # rows=60000 cost=1\n"
        )
    );
    let answer = ["492164", "390058.0500", "1995-02-19", "0", "N"].map(|text| Some(text.to_owned()));
    assert_eq!(query.answer, Some(vec![answer.into_iter().chain([None]).collect()]));
    let (text, dop) = bench.state().executed.last().unwrap().clone();
    assert_eq!(dop, 2);
    assert!(text.contains("[threadwise].lineitem") && text.contains("[threadwise].customer"), "{text}");
    assert!(!standing.iter().any(|note| note.contains("unknown")), "{standing:?}");
    running.finish().unwrap();
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_server_that_shows_no_plans_is_measured_without_them() {
    for plans in [Plans::None, Plans::WithoutTables] {
        let bench = Bench::new(Settings { plans, ..Settings::default() });
        let load = bench.load("tpch", OPTIONS, 1);
        let keeper = pretend(&bench, &load);
        let running = Client.start(&crate::bench::start(&load)).unwrap();
        let slices = queries(&bench, running.as_ref(), &load, &[3, 3], LONG_NS);
        let notes = slices.notes.clone();
        let slices = slices.done();
        for query in &slices[0].queries {
            assert_eq!((&query.plan, query.dop, query.rows), (&None, Some(2), 1));
        }
        let note = notes.iter().find(|note| note.starts_with("plans are unknown")).unwrap();
        assert!(note.contains("SHOWPLAN permission denied") && note.contains("GRANT"), "{note}");
        drop(running);
        keeper.end().unwrap();
        bench.assert_over();
        bench.assert_clean();
    }
}

#[test]
fn a_server_that_says_nothing_of_queries_is_measured_by_the_clients_clock() {
    let denied = Message::new(300, "VIEW SERVER STATE permission was denied on object 'server'.").class(14);
    let fails = vec![("SELECT TOP (1) CAST(s.last_dop", denied)];
    let bench = Bench::new(Settings { fails, times: false, ..Settings::default() });
    let load = bench.load("tpch", &format!("{OPTIONS} cache=cold"), 1);
    let keeper = pretend(&bench, &load);
    let running = Client.start(&crate::bench::start(&load)).unwrap();
    let slices = queries(&bench, running.as_ref(), &load, &[3], LONG_NS);
    let notes = slices.notes.clone();
    let slices = slices.done();
    let query = &slices[0].queries[0];
    assert_eq!((query.dop, query.planning_ns, query.cpu_ns, query.rows), (None, None, None, 1));
    assert!(notes.iter().any(|note| note.contains("SET STATISTICS TIME")), "{notes:?}");
    let note = notes.iter().find(|note| note.contains("degree of parallelism unknown")).unwrap();
    assert!(note.contains("GRANT") && !note.contains('\n'), "{note}");
    assert!(notes.iter().any(|note| note.contains("DROPCLEANBUFFERS")), "{notes:?}");
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
}

#[test]
fn a_query_that_takes_longer_than_it_may_is_ended_and_its_connection_with_it() {
    let bench = Bench::new(Settings { before_query: vec![Reply::Silence], ..Settings::default() });
    let load = bench.load("tpch", OPTIONS, 1);
    let keeper = pretend(&bench, &load);
    let running = Client.start(&crate::bench::start(&load)).unwrap();
    let message = queries(&bench, running.as_ref(), &load, &[3], 300_000_000).error().to_string();
    assert_clear(&message);
    assert!(message.contains("query q03") && message.contains("slice_ms"), "{message}");
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_second_size_of_data_and_a_load_that_never_came_are_refused() {
    let bench = Bench::new(Settings::default());
    let load = bench.load("tpch", OPTIONS, 1);
    let keeper = Client.keep(&load, 0).unwrap().unwrap();
    let message = Client.start(&crate::bench::start(&load)).err().unwrap().to_string();
    assert!(message.contains("load it before start"), "{message}");
    keeper.end().unwrap();
    let keeper = pretend(&bench, &load);
    let other = bench.load("tpch", "scale=1 queries=3", 1);
    let message = Client.load(&other).unwrap_err().to_string();
    assert_clear(&message);
    assert!(message.contains("option 'scale'") && message.contains("tpch sf0.01"), "{message}");
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn short_queries_run_beside_a_stream_until_it_is_done_and_waits_are_sampled() {
    let before_query = vec![Reply::Wait(Duration::from_millis(200))];
    let bench = Bench::new(Settings { before_query, ..Settings::default() });
    let load = bench.load("tpch", &format!("{OPTIONS} test=throughput short=1"), 2);
    let keeper = pretend(&bench, &load);
    let running = Client.start(&crate::bench::start(&load)).unwrap();
    let slices = queries_beside(&bench, running.as_ref(), &load, &[3]);
    let [stream, short] = &slices.done()[..] else { panic!("two sessions") };
    assert_eq!((stream.queries.len(), short.queries.len()), (1, 0));
    assert!(short.steps > 0 && short.finished_ns.unwrap() < LONG_NS, "{short:?}");
    assert_eq!((short.answers_checked, short.answers_wrong), (short.steps, 0));
    assert_eq!(latency::steps(&short.latency), Ok(short.steps));
    assert!(slices.counters["waits_sampled"] > 0, "{:?}", slices.counters);
    running.finish().unwrap();
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}
