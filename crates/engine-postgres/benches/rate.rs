//! Requests at a rate beside `pgbench --rate`, in turns, on one private cluster: both read one account of pgbench's
//! table in a transaction of its own, with Poisson arrivals and the same number of connections, and both count a latency
//! from the moment at which the request was due.
//!
//! It prints rates, mean latencies and 99th percentiles side by side, with the mean of ln(ours / pgbench) over pairs and
//! its 95% t interval. It does not fail: the two clients are not the same program, and part of a latency is the
//! client's.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod sessions;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use sessions::{Member, interval, member};
use std::error::Error;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use threadwise_engine::servers::{Ending, Home};
use threadwise_engine::worker::arrivals::{Arrivals, Rate};
use threadwise_engine::{LoadRequest, Window, clock};
use threadwise_engine_postgres::cluster::{self, Cluster, Programs};
use threadwise_engine_postgres::options::Managed;
use threadwise_engine_postgres::parse_transaction;
use threadwise_engine_sql::{SqlWorkload, Treatment};
use threadwise_study::{OptionValue, Options};

const CLIENTS: u32 = 2;
const PAIRS: u64 = 10;
const WINDOW_S: u64 = 5;
const RATES_PER_S: [u32; 3] = [100, 400, 800];
/// Two-sided 95% quantile of Student's t with 9 degrees of freedom.
const T_9: f64 = 2.262_157;
const DATA_BYTES: u64 = 1 << 30;
const SUPERUSER: &str = "threadwise";

const OURS: &str = "-- :aid 1..100000\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
const THEIRS: &str = "\\set aid random(1, 100000)\nBEGIN TRANSACTION READ ONLY;\n\
                      SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\nROLLBACK;\n";

type Failure = Box<dyn Error>;

/// A figure of an arm.
type Value = fn(&Arm) -> f64;

/// One arm of a pair.
#[derive(Debug, Clone, Copy)]
struct Arm {
    rate_per_s: f64,
    mean_us: f64,
    p99_us: f64,
}

fn main() -> Result<(), Failure> {
    let programs = Programs::find(None)?;
    let folder = tempfile::tempdir()?;
    // The server may run as another user than this program.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711))?;
    let home = cluster::home(folder.path(), "bench", "");
    cluster::prepare(&home, &programs, &Managed::default(), DATA_BYTES, 8)?;
    let cluster = Cluster::start(&programs, &home)?;
    let bench =
        Bench { pgbench: programs.postgres.with_file_name("pgbench"), home: &home, cluster: &cluster };
    bench.pgbench(&["-i", "-q", "-s", "1"], folder.path())?;
    println!("PostgreSQL {}, {CLIENTS} connections, {PAIRS} pairs of {WINDOW_S} s each", programs.version);
    for rate in RATES_PER_S {
        bench.compare(rate, folder.path())?;
    }
    cluster.stop(Ending::Discard)?;
    Ok(())
}

struct Bench<'a> {
    pgbench: std::path::PathBuf,
    home: &'a Home,
    cluster: &'a Cluster,
}

impl Bench<'_> {
    fn compare(&self, rate: u32, folder: &Path) -> Result<(), Failure> {
        let options = Options::from([("sql".to_owned(), OptionValue::Text(OURS.to_owned()))]);
        let load = LoadRequest {
            workload: "transaction".into(),
            options,
            engine_options: Options::new(),
            data_dir: folder.to_owned(),
            treatment: "bench".into(),
            sessions: CLIENTS,
            seed: 1,
        };
        let workload = SqlWorkload::transaction(parse_transaction(&load)?);
        let arrivals = Rate::new(f64::from(rate), true);
        let treatment = Treatment::start(self.cluster.server().clone(), workload, &load, "", true)?;
        let pairs = std::thread::scope(|scope| -> Result<Vec<[Arm; 2]>, Failure> {
            let crew: Vec<Member> =
                (0..CLIENTS).map(|session| member(scope, &treatment, &load, session)).collect();
            for member in &crew {
                member.slices.recv()??;
            }
            let pair = |number: u64| -> Result<[Arm; 2], Failure> {
                let early =
                    if number.is_multiple_of(2) { Some(ours(&crew, arrivals, number)?) } else { None };
                let theirs = self.theirs(rate, number, folder)?;
                let ours = early.map_or_else(|| ours(&crew, arrivals, number), Ok)?;
                Ok([ours, theirs])
            };
            (0..PAIRS).map(pair).collect()
        })?;
        println!("{rate} a second");
        let shown: [(&str, Value); 3] = [
            ("requests/s", |arm| arm.rate_per_s),
            ("mean latency, us", |arm| arm.mean_us),
            ("99th percentile, us", |arm| arm.p99_us),
        ];
        for (name, value) in shown {
            let mean =
                |arm: usize| pairs.iter().map(|pair| value(&pair[arm])).sum::<f64>() / pairs.len() as f64;
            let [ratio, low, high] = interval(pairs.iter().map(|pair| pair.each_ref().map(value)), T_9);
            println!(
                "  {name:<20} ours {:>8.1}  pgbench {:>8.1}  ratio {ratio:.3} ({low:.3} to {high:.3})",
                mean(0),
                mean(1)
            );
        }
        Ok(())
    }

    /// pgbench at the rate; each transaction's latency is in its log.
    fn theirs(&self, rate: u32, number: u64, folder: &Path) -> Result<Arm, Failure> {
        let script = self.home.file("rate.sql");
        std::fs::write(&script, THEIRS)?;
        let logs = tempfile::tempdir_in(folder)?;
        let (clients, rate, seconds) = (CLIENTS.to_string(), rate.to_string(), (WINDOW_S + 1).to_string());
        let file = script.to_string_lossy().into_owned();
        let seed = format!("--random-seed={number}");
        self.pgbench(
            &[
                "-n", "-M", "prepared", "-c", &clients, "-j", &clients, "-T", &seconds, "-R", &rate, "-l",
                &seed, "-f", &file,
            ],
            logs.path(),
        )?;
        // client, transaction, latency in us from the scheduled start, script, second, microsecond, lag (pgbench's
        // documentation, "Per-Transaction Logging").
        let mut all: Vec<(f64, f64)> = Vec::new();
        for entry in std::fs::read_dir(logs.path())? {
            for line in std::fs::read_to_string(entry?.path())?.lines() {
                let fields: Vec<f64> =
                    line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
                if let [_, _, latency, _, second, microsecond, ..] = fields[..] {
                    all.push((second + microsecond / 1e6, latency));
                }
            }
        }
        let end = all.iter().map(|(at, _)| *at).fold(0.0, f64::max);
        // As ours, without the first second.
        let mut latencies: Vec<f64> =
            all.iter().filter(|(at, _)| *at > end - WINDOW_S as f64).map(|(_, latency)| *latency).collect();
        latencies.sort_by(f64::total_cmp);
        let p99 = latencies.get(latencies.len() * 99 / 100).ok_or("pgbench logged nothing")?;
        Ok(Arm {
            rate_per_s: latencies.len() as f64 / WINDOW_S as f64,
            mean_us: latencies.iter().sum::<f64>() / latencies.len() as f64,
            p99_us: *p99,
        })
    }

    fn pgbench(&self, arguments: &[&str], folder: &Path) -> Result<(), Failure> {
        let mut command = Command::new(&self.pgbench);
        command.args(arguments).arg("-h").arg(self.home.data()).args(["-U", SUPERUSER, "postgres"]);
        let output = command.current_dir(folder).output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("pgbench: {}", String::from_utf8_lossy(&output.stderr).trim()).into()),
        }
    }
}

/// A slice at the rate.
fn ours(crew: &[Member], rate: Rate, number: u64) -> Result<Arm, Failure> {
    let from_ns = clock::monotonic_ns() + 1_000_000;
    let start_ns = from_ns + 1_000_000_000;
    let end_ns = start_ns + WINDOW_S * 1_000_000_000;
    let arrivals = Some(Arc::new(Arrivals::new(rate, number, from_ns, [start_ns, end_ns])));
    let window = Window { sequence: number, start_ns, end_ns, piece_ns: None, arrivals };
    for member in crew {
        member.windows.send(window.clone())?;
    }
    let slices = crew.iter().map(|member| Ok(member.slices.recv()??)).collect::<Result<Vec<_>, Failure>>()?;
    let mut all: Histogram<u64> = Histogram::new(3)?;
    for slice in slices.iter().filter(|slice| !slice.latency.is_empty()) {
        let one: Histogram<u64> = Deserializer::new().deserialize(&mut &slice.latency[..])?;
        all.add(one)?;
    }
    Ok(Arm {
        rate_per_s: all.len() as f64 / WINDOW_S as f64,
        mean_us: all.mean() / 1e3,
        p99_us: all.value_at_quantile(0.99) as f64 / 1e3,
    })
}
