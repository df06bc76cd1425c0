//! What locks cost in the engine `native`: rows per second of one variant against another,
//! with 1 session and with as many as fit on two logical CPUs.
//!
//! Both variants of a pair run in one process and take turns in slices of 50 ms, the other parked, in
//! an order drawn for each pair, so that drift hits both alike. The result is the mean over pairs of
//! ln(this / that) with its 95% t interval, printed with the sessions' counters. An argument sets the
//! number of sessions: `cargo bench --bench native -- 2`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use threadwise_engine::engines::native::Native;
use threadwise_engine::{
    Engine, EngineError, LoadRequest, Running, SessionRequest, StartRequest, Window, clock,
};
use threadwise_machine::CpuSet;
use threadwise_machine::pin::{current_affinity, pin_current_thread};
use threadwise_study::{OptionValue, Options, SessionSlice};

const PAIRS: usize = 100;
const SLICE_NS: u64 = 50_000_000;
const REWARM_NS: u64 = 5_000_000;
/// Two-sided 95% quantile of Student's t with 99 degrees of freedom.
const T_99: f64 = 1.984_217;

type Given = [(&'static str, &'static str)];

fn main() -> ExitCode {
    match compare_all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare_all() -> Result<(), Box<dyn Error>> {
    let cpus: Vec<u32> = current_affinity()?.iter().take(2).collect();
    let asked: Option<usize> = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let all = (1..=cpus.len()).filter(|sessions| asked.is_none_or(|asked| asked == *sessions));
    for sessions in all {
        let cpus = &cpus[..sessions];
        let unlogged = ("table", "unlogged");
        let relaxed = ("durability", "relaxed");
        compare("insert", cpus, &[("index", "lock-free"), unlogged], &[("index", "locked"), unlogged])?;
        for log in ["mcs", "lock-free"] {
            compare("insert", cpus, &[("log", log), relaxed], &[("log", "spin"), relaxed])?;
        }
        for log in ["mcs", "lock-free"] {
            compare("log-buffer", cpus, &[("log", log)], &[("log", "spin")])?;
            let alone = ("writer", "false");
            compare("log-buffer", cpus, &[("log", log), alone], &[("log", "spin"), alone])?;
        }
    }
    Ok(())
}

fn compare(workload: &str, cpus: &[u32], this: &Given, that: &Given) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let this_arm = Arm::start(folder.path(), workload, cpus, this)?;
    let that_arm = Arm::start(folder.path(), workload, cpus, that)?;
    let mut order = ChaCha8Rng::seed_from_u64(1);
    let (mut these, mut those) = (Vec::new(), Vec::new());
    // The first pair is not counted: it touches memory for the first time.
    for pair in 0..=PAIRS {
        let this_first = order.next_u32().is_multiple_of(2);
        let early = if this_first { this_arm.slice()? } else { that_arm.slice()? };
        let late = if this_first { that_arm.slice()? } else { this_arm.slice()? };
        let (a, b) = if this_first { (early, late) } else { (late, early) };
        if pair > 0 {
            these.push(a);
            those.push(b);
        }
    }
    println!("{workload}, {} session(s) on logical CPUs {cpus:?}: {this:?} against {that:?}", cpus.len());
    for (name, seen) in [("this", &these), ("that", &those)] {
        let total = |figure: fn(&SliceTotals) -> f64| seen.iter().map(figure).sum::<f64>();
        let rows = total(|seen| seen.rows);
        println!(
            "  {name}: {:.0} rows/s, spins/row {:.4}, contended {:.4}, index retries/row {:.5}, spinning {:.2}% of session time, {:.1} waits for a full ring and {:.2} ms of the log writer a slice",
            rows * 1e9 / (SLICE_NS as f64 * PAIRS as f64),
            total(|seen| seen.spins) / rows,
            total(|seen| seen.contended) / total(|seen| seen.acquisitions).max(1.0),
            total(|seen| seen.retries) / rows,
            100.0 * total(|seen| seen.spin_ns) / total(|seen| seen.counted_ns),
            total(|seen| seen.full_waits) / PAIRS as f64,
            total(|seen| seen.writer_cpu_ns) / 1e6 / PAIRS as f64,
        );
    }
    let [ratio, low, high] = interval(&these, &those, |seen| seen.rows);
    println!("  ratio of rows/s: {ratio:.4} (95% t interval {low:.4} to {high:.4}, {PAIRS} pairs)");
    let [ratio, low, high] = interval(&these, &those, |seen| seen.rows / seen.cpu_ns);
    println!("  ratio of rows per CPU second of sessions: {ratio:.4} ({low:.4} to {high:.4})");
    this_arm.end()?;
    that_arm.end()?;
    Ok(())
}

/// Results of one slice, all sessions together.
struct SliceTotals {
    rows: f64,
    cpu_ns: f64,
    spins: f64,
    spin_ns: f64,
    counted_ns: f64,
    acquisitions: f64,
    contended: f64,
    retries: f64,
    full_waits: f64,
    writer_cpu_ns: f64,
}

/// One variant, running, with a thread for each session as in a worker.
struct Arm {
    running: Arc<dyn Running>,
    orders: Vec<Sender<Window>>,
    handed: Receiver<Result<SessionSlice, EngineError>>,
    threads: Vec<JoinHandle<()>>,
}

impl Arm {
    fn start(
        folder: &std::path::Path,
        workload: &str,
        cpus: &[u32],
        given: &Given,
    ) -> Result<Self, Box<dyn Error>> {
        let options: Options = given
            .iter()
            .map(|(name, value)| {
                let flag = value.parse().map(OptionValue::Flag);
                ((*name).to_owned(), flag.unwrap_or_else(|_| OptionValue::Text((*value).to_owned())))
            })
            .collect();
        let load = LoadRequest {
            workload: workload.into(),
            options,
            engine_options: Options::new(),
            data_dir: folder.to_owned(),
            treatment: "one".into(),
            sessions: cpus.len() as u32,
            seed: 1,
        };
        let sessions: Vec<CpuSet> = cpus.iter().map(|cpu| [*cpu].into_iter().collect()).collect();
        let service = cpus.iter().copied().collect();
        let start =
            StartRequest { load: load.clone(), sessions: sessions.clone(), service, seed: 2, journal: None };
        let running: Arc<dyn Running> = Arc::from(Native.start(&start)?);
        let (results, handed) = channel();
        let mut arm = Self { running, orders: Vec::new(), handed, threads: Vec::new() };
        for (index, cpus) in sessions.into_iter().enumerate() {
            let (orders, windows) = channel();
            arm.orders.push(orders);
            let (running, results) = (Arc::clone(&arm.running), results.clone());
            let (session, sessions) = (index as u32, load.sessions);
            let request = SessionRequest { load: load.clone(), session, sessions, cpus, seed: 2 };
            arm.threads.push(thread::spawn(move || live(&*running, &request, &windows, &results)));
        }
        for _ in cpus {
            arm.handed.recv()??;
        }
        arm.running.standing()?;
        Ok(arm)
    }

    fn slice(&self) -> Result<SliceTotals, Box<dyn Error>> {
        let start_ns = clock::monotonic_ns() + REWARM_NS;
        let window =
            Window { sequence: 0, start_ns, end_ns: start_ns + SLICE_NS, piece_ns: None, arrivals: None };
        for orders in &self.orders {
            orders.send(window.clone())?;
        }
        let mut slices: Vec<SessionSlice> =
            self.orders.iter().map(|_| self.handed.recv()).collect::<Result<Result<_, _>, _>>()??;
        let counters = self.running.after(&mut slices)?;
        let sum = |value: &dyn Fn(&SessionSlice) -> u64| slices.iter().map(value).sum::<u64>() as f64;
        let counter = |name: &str| sum(&|slice| slice.counters.get(name).copied().unwrap_or(0));
        Ok(SliceTotals {
            rows: sum(&|slice| slice.rows),
            cpu_ns: sum(&|slice| slice.cpu_ns),
            spins: counter("spins"),
            spin_ns: counter("spin_ns"),
            counted_ns: counter("counted_ns"),
            acquisitions: counter("lock_acquisitions"),
            contended: counter("lock_contended"),
            retries: counter("index_retries"),
            full_waits: counter("log_full_waits"),
            writer_cpu_ns: counters.get("log_writer_cpu_ns").copied().unwrap_or(0) as f64,
        })
    }

    fn end(self) -> Result<(), Box<dyn Error>> {
        drop(self.orders);
        for thread in self.threads {
            thread.join().map_err(|_| "a session's thread panicked")?;
        }
        Ok(self.running.finish()?)
    }
}

/// A session's thread: an empty slice once it is warm, then one for every window.
fn live(
    running: &dyn Running,
    request: &SessionRequest,
    windows: &Receiver<Window>,
    results: &Sender<Result<SessionSlice, EngineError>>,
) {
    let opened = pin_current_thread(&request.cpus)
        .map_err(|cause| EngineError::WrongAnswer(cause.to_string()))
        .and_then(|()| running.open(request))
        .and_then(|mut session| session.warm().map(|()| session));
    let mut session = match opened {
        Ok(session) => session,
        Err(error) => {
            // If nothing receives, the bench has ended.
            let _ = results.send(Err(error));
            return;
        }
    };
    let mut result = Ok(SessionSlice::default());
    while results.send(result).is_ok() {
        let Ok(window) = windows.recv() else { return };
        result = session.slice(&window);
    }
}

/// exp of the mean of ln(this / that), with its 95% t interval over pairs.
fn interval(these: &[SliceTotals], those: &[SliceTotals], figure: impl Fn(&SliceTotals) -> f64) -> [f64; 3] {
    let ratios = these.iter().zip(those).map(|(a, b)| figure(a) / figure(b));
    let logs: Vec<f64> = ratios.map(f64::ln).filter(|log| log.is_finite()).collect();
    let count = logs.len() as f64;
    let centre = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - centre).powi(2)).sum();
    let half = T_99 * (squares / (count - 1.0) / count).sqrt();
    [centre, centre - half, centre + half].map(f64::exp)
}
