#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, dead_code)]
#[path = "tpch/place.rs"]
mod place;
mod support;
use std::time::Instant;
use threadwise_engine::Engine;
use threadwise_engine::engines::sqlite::Sqlite;
use threadwise_tpch::{Dialect, Parameters, Reference, compare, sql};
fn fill(folder: &std::path::Path, dialect: Dialect, scale: f64) {
    for query in 1..=22 {
        let p = Parameters::validation(query, scale).unwrap();
        place::write(folder, 0, query, &sql(dialect, query, &p).unwrap());
    }
}
#[test]
fn measure() {
    let scale = std::env::var("SF").unwrap();
    let sf: f64 = scale.parse().unwrap();
    let mut wanted = Vec::new();
    if std::env::var("SQLITE").is_ok() {
        let folder = place::folder(Dialect::Sqlite, 1);
        fill(folder.path(), Dialect::Sqlite, sf);
        let load = place::request(folder.path(), &[("scale", &scale)], &[], 1);
        let began = Instant::now();
        let loaded = Sqlite.load(&load).unwrap();
        println!("sqlite load {:.1} s {} bytes", began.elapsed().as_secs_f64(), loaded.bytes_per_session);
        let study = place::Study::of(&Sqlite, folder, &load);
        let mut t = study.start(&load, &support::cpus());
        let mut all = Vec::new();
        for q in 1..=22 { let e = t.one(q); all.push(e.elapsed_ns as f64 / 1e9); wanted.push(e.answer.unwrap()); }
        println!("sqlite sum {:.2} s {all:.2?}", all.iter().sum::<f64>());
    }
    let folder = place::folder(Dialect::Postgres, 1);
    fill(folder.path(), Dialect::Postgres, sf);
    let of = |dop: &str, more: &[(&str, &str)]| place::request(folder.path(), &[&[("scale", scale.as_str()), ("dop", dop)], more].concat(), &[], 1);
    let loads = match std::env::var("HOLD") { Ok(_) => vec![of("1", &[("hold_plan", "true")]), of("2", &[("hold_plan", "true")])], _ => vec![of("1", &[]), of("2", &[])] };
    let began = Instant::now();
    let study = place::Study::of(support::engine(), folder, &loads[0]);
    println!("postgres init + load {:.1} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let mut ts: Vec<_> = loads.iter().map(|load| study.start(load, &support::cpus())).collect();
    println!("start and warm of 6 {:.1} s; {:?}", began.elapsed().as_secs_f64(), ts[0].running.standing().unwrap().notes);
    let mut sums = vec![[0.0; 3]; ts.len()];
    if std::env::var("PLANS").is_ok() { for q in [2_u8, 18] { for t in &mut ts { let e = t.one(q); println!("q{q} {:.0} ms cpu {:.0} dop {:?}\n{}", e.elapsed_ns as f64/1e6, e.cpu_ns.unwrap() as f64/1e6, e.dop, e.plan.unwrap()); } } std::thread::sleep(std::time::Duration::from_secs(std::env::var("PLANS").unwrap().parse().unwrap())); return; }
    for q in 1..=22_u8 {
        let mut line = format!("q{q:02}");
        for (t, sum) in ts.iter_mut().zip(&mut sums) {
            let e = t.one(q);
            if let Some(w) = wanted.get(usize::from(q) - 1) {
                let r = Reference { engine: "sqlite".into(), version: String::new(), answer: w.clone() };
                if let Err(m) = compare(q, &r, e.answer.as_ref().unwrap()) { line += &format!(" WRONG {m}"); }
            }
            if e.plan.as_deref().is_some_and(|p| !p.contains("Gather")) { line += " serial"; }
            if let Some(i) = e.plan.as_deref().and_then(|p| p.find("[SubPlan]").map(|i| p[i..].contains("Gather"))) { line += &format!(" gather-in-subplan {i}"); }
            sum[0] += e.elapsed_ns as f64 / 1e9; sum[1] += e.cpu_ns.unwrap() as f64 / 1e9; sum[2] += e.planning_ns.unwrap() as f64 / 1e9;
            line += &format!(" | {:7.1} ms cpu {:7.1} plan {:4.1} dop {} rd {} sp {}", e.elapsed_ns as f64 / 1e6, e.cpu_ns.unwrap() as f64 / 1e6, e.planning_ns.unwrap() as f64 / 1e6, e.dop.unwrap(), e.counters["read_bytes"] >> 20, e.counters["spill_bytes"] >> 20);
        }
        println!("{line}");
    }
    println!("sums elapsed, cpu, planning {sums:.2?}");
    ts.into_iter().for_each(|t| t.finish());
    study.end();
}
