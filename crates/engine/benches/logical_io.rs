//! What the harness costs: logical reads per second of one session in the closed loop against a
//! plain loop over the same prepared statement, same connection, same process.
//!
//! 100 pairs of 50 ms slices, the order inside each pair drawn at random, so that drift hits both
//! alike. The result is the mean of ln(closed / plain) over pairs with its 95% t interval; the
//! program fails when the lower bound of the ratio is below 0.95. On a busy machine 100 pairs may not
//! suffice: it adds 100 more until the half-width is 2% (a rule that looks at the width alone leaves
//! the interval valid; Chow and Robbins, Ann. Math. Statist. 36, 1965) or 1,000 pairs are done. The
//! ratio per CPU second, which other load disturbs less, is printed too.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::error::Error;
use std::process::ExitCode;
use threadwise_engine::engines::sqlite::{READ_SQL, Sqlite, SqliteSession, take_cache_counters};
use threadwise_engine::workloads::logical_io::{LogicalIo, Steps};
use threadwise_engine::{Engine, LoadRequest, Session, SessionRequest, Window, clock};
use threadwise_machine::pin::{current_affinity, pin_current_thread};
use threadwise_study::Options;

const PAIRS: usize = 100;
const MOST_PAIRS: usize = 1000;
const HALF_WIDTH: f64 = 0.02;
const SLICE_NS: u64 = 50_000_000;
const REWARM_NS: u64 = 5_000_000;
/// Steps of the plain loop between two clock readings.
const BATCH: u32 = 4;
const LOWEST_RATIO: f64 = 0.95;
/// Two-sided 95% quantile of Student's t with 99 degrees of freedom; a little wide for more.
const T_99: f64 = 1.984_217;

fn main() -> ExitCode {
    match compare() {
        Ok(low) if low >= LOWEST_RATIO => ExitCode::SUCCESS,
        Ok(low) => {
            eprintln!("the lower bound {low:.4} is below {LOWEST_RATIO}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare() -> Result<f64, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let allowed = current_affinity()?;
    let cpus: threadwise_machine::CpuSet = allowed.iter().last().into_iter().collect();
    pin_current_thread(&cpus)?;
    let load = LoadRequest {
        workload: "logical-io".into(),
        options: Options::new(),
        engine_options: Options::new(),
        data_dir: folder.path().to_owned(),
        treatment: "alone".into(),
        sessions: 1,
        seed: 1,
    };
    Sqlite.load(&load)?;
    let spec = LogicalIo::parse(&load.options)?;
    let mut session = SqliteSession::open(&SessionRequest { load, session: 0, sessions: 1, cpus, seed: 1 })?;
    session.warm()?;
    let mut plain_steps = Steps::new(spec, 1, 1);
    let mut order = ChaCha8Rng::seed_from_u64(1);
    let (mut closed, mut plain) = (Vec::new(), Vec::new());
    loop {
        for _ in 0..PAIRS {
            let closed_first = order.next_u32().is_multiple_of(2);
            if closed_first {
                closed.push(closed_slice(&mut session)?);
            }
            plain.push(plain_slice(&session, &spec, &mut plain_steps)?);
            if !closed_first {
                closed.push(closed_slice(&mut session)?);
            }
        }
        let [ratio, low, high] = interval(&closed, &plain, |rates| rates.per_s);
        if (high / low).ln() / 2.0 > HALF_WIDTH && closed.len() < MOST_PAIRS {
            continue;
        }
        let mean = |all: &[Rates]| all.iter().map(|rates| rates.per_s).sum::<f64>() / all.len() as f64;
        let cpu = interval(&closed, &plain, |rates| rates.per_cpu_s);
        println!("closed loop: {:.0} logical reads/s", mean(&closed));
        println!("plain loop:  {:.0} logical reads/s", mean(&plain));
        println!("ratio:       {ratio:.4} (95% t interval {low:.4} to {high:.4}, {} pairs)", closed.len());
        println!("per CPU s:   {:.4} (95% t interval {:.4} to {:.4})", cpu[0], cpu[1], cpu[2]);
        return Ok(low);
    }
}

/// Logical reads of one slice, by two clocks.
struct Rates {
    per_s: f64,
    per_cpu_s: f64,
}

/// Logical reads per second as a study counts them.
fn closed_slice(session: &mut SqliteSession) -> Result<Rates, Box<dyn Error>> {
    let start_ns = clock::monotonic_ns() + REWARM_NS;
    let window =
        Window { sequence: 0, start_ns, end_ns: start_ns + SLICE_NS, piece_ns: None, arrivals: None };
    let slice = session.slice(&window)?;
    let reads = slice.counters.get("logical_reads").copied().unwrap_or(0) as f64;
    Ok(Rates { per_s: reads * 1e9 / SLICE_NS as f64, per_cpu_s: reads * 1e9 / slice.cpu_ns.max(1) as f64 })
}

/// Logical reads per second of the statement alone. The clock is read once a batch, and batches
/// count by where they end in a window fixed beforehand, as steps do in the closed loop: a span that
/// begins or ends wherever this thread happens to have a CPU would favour itself on a busy machine.
fn plain_slice(
    session: &SqliteSession,
    spec: &LogicalIo,
    steps: &mut Steps,
) -> Result<Rates, Box<dyn Error>> {
    let mut read = session.connection().prepare_cached(READ_SQL)?;
    let status = |code: i32| format!("cache counters: result code {code}");
    take_cache_counters(session.connection()).map_err(status)?;
    let cpu_ns = clock::thread_cpu_ns();
    let start_ns = clock::monotonic_ns() + REWARM_NS;
    let (mut batches, mut inside, mut sum) = (0_u64, 0_u64, 0_i64);
    loop {
        for _ in 0..BATCH {
            let first = steps.draw().first as i64;
            let range = [first, first + spec.work_unit as i64 - 1];
            sum ^= read.query_row(range, |row| Ok(row.get::<_, i64>(0)? ^ row.get::<_, i64>(1)?))?;
        }
        batches += 1;
        let now_ns = clock::monotonic_ns();
        if now_ns > start_ns + SLICE_NS {
            break;
        }
        inside += u64::from(now_ns > start_ns);
    }
    let cpu_ns = clock::thread_cpu_ns() - cpu_ns;
    std::hint::black_box(sum);
    let counters = take_cache_counters(session.connection()).map_err(status)?;
    let reads = (counters.hits + counters.misses) as f64;
    let reads_inside = reads * inside as f64 / batches as f64;
    Ok(Rates { per_s: reads_inside * 1e9 / SLICE_NS as f64, per_cpu_s: reads * 1e9 / cpu_ns.max(1) as f64 })
}

/// exp of the mean of ln(closed / plain), with its 95% t interval over pairs. Pairs in which either
/// got no CPU at all have no ratio and are left out.
fn interval(closed: &[Rates], plain: &[Rates], rate: impl Fn(&Rates) -> f64) -> [f64; 3] {
    let ratios = closed.iter().zip(plain).map(|(a, b)| rate(a) / rate(b));
    let logs: Vec<f64> = ratios.map(f64::ln).filter(|log| log.is_finite()).collect();
    let count = logs.len() as f64;
    let centre = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - centre).powi(2)).sum();
    let half = T_99 * (squares / (count - 1.0) / count).sqrt();
    [centre, centre - half, centre + half].map(f64::exp)
}
