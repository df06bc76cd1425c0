//! scratch
#![allow(clippy::unwrap_used)]
mod support;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;
use support::{folder, request, start_request, whole, work, text, options};
use threadwise_engine::*;
use threadwise_engine_mariadb::Mariadb;
use threadwise_study::{Counters, SessionSlice};
struct Turn { turn: Mutex<usize>, cv: Condvar, n: usize }
struct Timed { inner: Box<dyn Running>, me: usize, turn: Arc<Turn>, us: Arc<Mutex<Vec<u128>>> }
impl Running for Timed {
    fn open(&self, r: &SessionRequest) -> Result<Box<dyn Session>, EngineError> { self.inner.open(r) }
    fn standing(&self) -> Result<Standing, EngineError> { self.inner.standing() }
    fn before(&self) -> Result<(), EngineError> {
        let mut t = self.turn.turn.lock().unwrap();
        while *t != self.me { t = self.turn.cv.wait(t).unwrap(); }
        drop(t);
        let at = Instant::now();
        let r = self.inner.before();
        self.us.lock().unwrap().push(at.elapsed().as_micros());
        r
    }
    fn during(&self, w: &Window) -> Result<(), EngineError> { self.inner.during(w) }
    fn after(&self, s: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let r = self.inner.after(s);
        *self.turn.turn.lock().unwrap() = (self.me + 1) % self.turn.n;
        self.turn.cv.notify_all();
        r
    }
    fn finish(&self) -> Result<(), EngineError> { self.inner.finish() }
}
#[test]
fn cost() {
    let rounds: u64 = std::env::var("ROUNDS").map_or(50, |r| r.parse().unwrap());
    let folder = folder();
    let words = ["none", "states", "none", "instruments"];
    let turn = Arc::new(Turn { turn: Mutex::new(0), cv: Condvar::new(), n: words.len() });
    let mut threads = Vec::new();
    for (me, word) in words.into_iter().enumerate() {
        let mut load = request(folder.path(), "insert", 1, &[("seed_rows", whole(20000)), ("durability", text("relaxed"))]);
        load.engine_options = options(&[("waits", text(word))]);
        load.treatment = format!("t{me}");
        Mariadb.load(&load).unwrap();
        let start = start_request(&load);
        let turn = Arc::clone(&turn);
        let us = Arc::new(Mutex::new(Vec::new()));
        threads.push(std::thread::spawn(move || {
            let inner = Mariadb.start(&start).unwrap();
            let running = Timed { inner, me, turn, us: Arc::clone(&us) };
            let ran = work(Box::new(running), &start, rounds, 50, |_| {}).unwrap();
            ran.finished.unwrap();
            let mut us = us.lock().unwrap().clone(); us.sort();
            println!("{me} {word}: before median {} us p90 {}", us[us.len()/2], us[us.len()*9/10]);
            ran.slices.iter().map(|(s, _)| (s[0].rows as f64, s[0].cpu_ns as f64 / s[0].rows as f64)).collect::<Vec<_>>()
        }));
    }
    let all: Vec<Vec<(f64, f64)>> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    let skip = 5;
    let n = rounds as usize;
    let blocks = 15;
    let k = (n - skip) / blocks;
    let pooled = |i: usize, b: usize| { let part = &all[i][skip + b * k..skip + (b + 1) * k];
        let rows: f64 = part.iter().map(|x| x.0).sum();
        let cpu: f64 = part.iter().filter(|x| x.0 > 0.0).map(|x| x.0 * x.1).sum(); (rows.ln(), (cpu / rows).ln()) };
    let report = |what: &str, f: &dyn Fn(usize) -> f64| {
        let means: Vec<f64> = (0..blocks).map(f).collect();
        let m = means.iter().sum::<f64>() / 15.0;
        let sd = (means.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / 14.0).sqrt();
        let h = 2.145 * sd / 15f64.sqrt();
        println!("{what}: {:.3} [{:.3}, {:.3}]", m.exp(), (m - h).exp(), (m + h).exp());
    };
    for (i, name) in [(1, "states"), (3, "instruments")] {
        report(&format!("{name} cpu/row"), &|b| pooled(i, b).1 - (pooled(0, b).1 + pooled(2, b).1) / 2.0);
        report(&format!("{name} rows"), &|b| pooled(i, b).0 - (pooled(0, b).0 + pooled(2, b).0) / 2.0);
    }
    report("A/A cpu/row", &|b| pooled(2, b).1 - pooled(0, b).1);
    report("A/A rows", &|b| pooled(2, b).0 - pooled(0, b).0);
}
