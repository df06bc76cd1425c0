//! Cost of the loop inside the server and of everything around it: rows inserted per second by threadwise's
//! sessions against `pgbench` calling the same procedure on the same cluster, with the same number of clients and the
//! same durability (relaxed, since waiting for a disk would hide the difference).
//!
//! pgbench does it in two ways. *One call*: each client calls the procedure once for the whole window, so
//! that the ratio shows what threadwise adds around the call (clock, counters, statistics, samples of
//! waits). *A call a transaction*: the usual way; the ratio shows the cost of round trips. Both arms of a pair
//! count rows in windows of the same length; the order in a pair is drawn. The result is exp of the mean of
//! ln(ours / pgbench) over pairs with its 95% t interval; the program fails if a lower bound is below 0.95.
//! On a busy machine it adds pairs until the half-width is small enough (a rule that looks at the width alone
//! leaves the interval valid; Chow and Robbins, Ann. Math. Statist. 36, 1965), or to the largest number of pairs.
//!
//! It prints the client's CPU time for each 1,000 rows: of the sessions' threads, and of pgbench's
//! processes from their start to their end, as wait4(2) adds them up.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod sessions;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sessions::{Member, interval, member};
use std::error::Error;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use threadwise_engine::servers::{Ending, Home};
use threadwise_engine::{LoadRequest, Window, clock};
use threadwise_engine_postgres::cluster::{self, Cluster, Programs};
use threadwise_engine_postgres::options::{Managed, SCHEMA};
use threadwise_engine_postgres::{Server, parse_steps};
use threadwise_engine_sql::{Driver, Objects, Sessions, Treatment};
use threadwise_study::{OptionValue, Options, SessionSlice};

const LOWEST_RATIO: f64 = 0.95;
/// Two-sided 95% quantile of Student's t with 19 degrees of freedom; a little wide for more.
const T_19: f64 = 2.093_024;
/// Pairs between two checks of the width.
const PAIRS: usize = 20;
/// Length of a window of one call, and the time before it in which pgbench starts and warms up.
const CALL_WINDOW: Duration = Duration::from_millis(250);
const CALL_LEAD: Duration = Duration::from_millis(250);
/// Time that pgbench runs with a call a transaction; it takes whole seconds.
const TRANSACTIONS_S: u64 = 1;
const ROWS_PER_TX: u64 = 2;
/// The superuser of private clusters.
const SUPERUSER: &str = "threadwise";
const DATA_BYTES: u64 = 2 << 30;

type Failure = Box<dyn Error>;

/// How pgbench calls the procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    OneCall,
    CallPerTransaction,
}

impl Way {
    /// Its name as an argument of this program; without arguments both ways are compared.
    fn word(self) -> &'static str {
        match self {
            Self::OneCall => "one-call",
            Self::CallPerTransaction => "call-a-transaction",
        }
    }

    /// Half-width of the interval that is enough, and the most pairs. Round trips cost so much more than 5% that a
    /// coarse interval is enough.
    fn enough(self) -> (f64, usize) {
        match self {
            Self::OneCall => (0.02, 200),
            Self::CallPerTransaction => (0.05, 40),
        }
    }
}

fn main() -> ExitCode {
    match compare_all() {
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

/// All comparisons; gives the lowest of their lower bounds.
fn compare_all() -> Result<f64, Failure> {
    let programs = Programs::find(None)?;
    let pgbench = programs.postgres.with_file_name("pgbench");
    let folder = tempfile::tempdir()?;
    // The server may run as another user than this program.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711))?;
    let home = cluster::home(folder.path(), "bench", "");
    cluster::prepare(&home, &programs, &Managed::default(), DATA_BYTES, 8)?;
    let cluster = Cluster::start(&programs, &home)?;
    cluster.server().connect("bench")?.batch_execute(&format!(
        "CREATE SCHEMA {SCHEMA}; \
         CREATE UNLOGGED TABLE {SCHEMA}.results (steps bigint NOT NULL, in_time boolean NOT NULL)"
    ))?;
    println!("PostgreSQL {}, {ROWS_PER_TX} rows a transaction, durability relaxed", programs.version);
    let mut least = f64::INFINITY;
    // cargo itself adds an argument that begins with a dash.
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_asked = |way: &Way| asked.is_empty() || asked.iter().any(|word| word == way.word());
    for way in [Way::OneCall, Way::CallPerTransaction].into_iter().filter(is_asked) {
        for clients in [1, 2] {
            let bench = Bench { way, clients, pgbench: &pgbench, home: &home, cluster: &cluster };
            least = least.min(bench.compare(folder.path())?);
        }
    }
    cluster.stop(Ending::Discard)?;
    Ok(least)
}

/// One comparison.
struct Bench<'a> {
    way: Way,
    clients: u32,
    pgbench: &'a Path,
    home: &'a Home,
    cluster: &'a Cluster,
}

/// Result of one arm of a pair.
#[derive(Debug, Clone, Copy)]
struct Arm {
    rows_per_s: f64,
    rows: f64,
    client_cpu_s: f64,
}

impl Bench<'_> {
    /// Compares on a separate table; gives the lower bound of the ratio.
    fn compare(&self, folder: &Path) -> Result<f64, Failure> {
        let options: Options = [("durability", "relaxed"), ("key", "sequential")]
            .map(|(name, value)| (name.to_owned(), OptionValue::Text(value.to_owned())))
            .into();
        let load = LoadRequest {
            workload: "insert".into(),
            options,
            engine_options: Options::new(),
            data_dir: folder.to_owned(),
            treatment: "bench".into(),
            sessions: self.clients,
            seed: 1,
        };
        let server = self.cluster.server();
        let suffix = format!("_{:?}{}", self.way, self.clients).to_lowercase();
        let workload = parse_steps(&load)?;
        threadwise_engine_sql::load(
            server,
            &mut Driver::connect(server, "bench")?,
            &workload,
            &load,
            &suffix,
        )?;
        let objects = workload.objects(load.sessions, &suffix, &Objects::default());
        let treatment = Treatment::start(server.clone(), workload, &load, &suffix, true)?;
        let pairs = std::thread::scope(|scope| {
            let crew = (0..self.clients).map(|session| member(scope, &treatment, &load, session)).collect();
            self.pairs(&treatment, crew, &suffix)
        })?;
        drop(treatment);
        let sql = format!(
            "DROP TABLE {SCHEMA}.{}; DROP PROCEDURE {SCHEMA}.{}",
            objects.tables[0], objects.procedures[0]
        );
        server.connect("bench")?.batch_execute(&sql)?;
        Ok(self.tell(&pairs))
    }

    /// Pairs of a threadwise slice and pgbench's. A pair in which a client of pgbench came too late for the window is
    /// left out: repeating pgbench alone would choose calm moments for it.
    fn pairs(
        &self,
        treatment: &Treatment<Server>,
        crew: Vec<Member>,
        suffix: &str,
    ) -> Result<Vec<[Arm; 2]>, Failure> {
        for member in &crew {
            member.slices.recv()??;
        }
        let mut order = ChaCha8Rng::seed_from_u64(1);
        let mut pairs: Vec<[Arm; 2]> = Vec::new();
        let (half_width, most) = self.way.enough();
        for number in 0..2 * most as u64 {
            let ours_first = order.next_u32().is_multiple_of(2);
            let early = if ours_first { Some(self.ours(treatment, &crew)?) } else { None };
            let theirs = match self.way {
                Way::OneCall => self.one_call(suffix, number)?,
                Way::CallPerTransaction => Some(self.call_per_transaction(suffix, number)?),
            };
            let ours = match early {
                Some(ours) => ours,
                None => self.ours(treatment, &crew)?,
            };
            pairs.extend(theirs.map(|theirs| [ours, theirs]));
            let is_look = theirs.is_some() && pairs.len().is_multiple_of(PAIRS);
            if is_look && (pairs.len() >= most || half_width_of(&pairs) <= half_width) {
                return Ok(pairs);
            }
        }
        Err("pgbench came too late for its window in more than half of the pairs".into())
    }

    fn window(&self) -> Duration {
        match self.way {
            Way::OneCall => CALL_WINDOW,
            Way::CallPerTransaction => Duration::from_secs(TRANSACTIONS_S),
        }
    }

    /// A slice, measured as in a worker.
    fn ours(&self, treatment: &Treatment<Server>, crew: &[Member]) -> Result<Arm, Failure> {
        treatment.before()?;
        let start_ns = clock::monotonic_ns() + CALL_LEAD.as_nanos() as u64;
        let window = Window {
            sequence: 0,
            start_ns,
            end_ns: start_ns + self.window().as_nanos() as u64,
            piece_ns: None,
            arrivals: None,
        };
        for member in crew {
            member.windows.send(window.clone())?;
        }
        treatment.during(&window)?;
        let mut slices =
            crew.iter().map(|member| Ok(member.slices.recv()??)).collect::<Result<Vec<_>, Failure>>()?;
        treatment.after(&mut slices)?;
        let sum = |value: &dyn Fn(&SessionSlice) -> u64| slices.iter().map(value).sum::<u64>() as f64;
        let rows = sum(&|slice| slice.rows);
        let client_cpu_ns = sum(&|slice| slice.counters.get("client_cpu_ns").copied().unwrap_or(0));
        Ok(Arm { rows_per_s: rows / self.window().as_secs_f64(), rows, client_cpu_s: client_cpu_ns / 1e9 })
    }

    /// pgbench whose clients each call the procedure once, with a common window; `None` if a client came too late for
    /// it.
    fn one_call(&self, suffix: &str, number: u64) -> Result<Option<Arm>, Failure> {
        let script = format!(
            "SELECT clock_timestamp() < to_timestamp(:start) AS in_time \\gset\n\
             CALL {SCHEMA}.insert_rows{suffix}(100 + :client_id, (100 + :client_id) * 10000000000 + :first, 1, 1, \
             :start_us, :stop_us, 0) \\gset\n\
             INSERT INTO {SCHEMA}.results VALUES (:steps, :in_time)\n"
        );
        let mut client = self.cluster.server().connect("bench")?;
        client.batch_execute(&format!("TRUNCATE {SCHEMA}.results"))?;
        let start = SystemTime::now().duration_since(UNIX_EPOCH)? + CALL_LEAD;
        let variables = [
            ("start", format!("{:.6}", start.as_secs_f64())),
            ("start_us", start.as_micros().to_string()),
            ("stop_us", (start + CALL_WINDOW).as_micros().to_string()),
            ("first", (number * 1_000_000).to_string()),
        ];
        let client_cpu_s = self.run(&script, &variables, &["-t", "1"])?.1;
        let sql = format!("SELECT sum(steps)::bigint, bool_and(in_time), count(*) FROM {SCHEMA}.results");
        let row = client.query_one(&sql, &[])?;
        if row.get::<_, i64>(2) != i64::from(self.clients) {
            return Err("a client of pgbench left no result".into());
        }
        let rows = row.get::<_, i64>(0) as f64 * ROWS_PER_TX as f64;
        let arm = Arm { rows_per_s: rows / CALL_WINDOW.as_secs_f64(), rows, client_cpu_s };
        Ok(row.get::<_, bool>(1).then_some(arm))
    }

    /// pgbench whose clients call the procedure for each transaction.
    fn call_per_transaction(&self, suffix: &str, number: u64) -> Result<Arm, Failure> {
        let script = format!(
            "\\set n :n + {ROWS_PER_TX}\n\
             CALL {SCHEMA}.insert_rows{suffix}(100 + :client_id, (100 + :client_id) * 10000000000 + :n, 1, 1, 0, \
             9000000000000000, {ROWS_PER_TX});\n"
        );
        let variables = [("n", (number * 1_000_000).to_string())];
        let (output, client_cpu_s) = self.run(&script, &variables, &["-T", &TRANSACTIONS_S.to_string()])?;
        // The last such line leaves out the time for connecting, in all versions.
        let line = output.lines().rfind(|line| line.starts_with("tps = "));
        let tps = line.and_then(|line| line.split_ascii_whitespace().nth(2)?.parse::<f64>().ok());
        let rows_per_s = tps.ok_or("pgbench printed no line 'tps = '")? * ROWS_PER_TX as f64;
        Ok(Arm { rows_per_s, rows: rows_per_s * TRANSACTIONS_S as f64, client_cpu_s })
    }

    /// Runs pgbench; gives its output and its CPU time, seconds.
    fn run(
        &self,
        script: &str,
        variables: &[(&str, String)],
        limit: &[&str],
    ) -> Result<(String, f64), Failure> {
        let file: PathBuf = self.home.file("bench.sql");
        std::fs::write(&file, script)?;
        let clients = self.clients.to_string();
        let mut command = Command::new(self.pgbench);
        command.args(["-n", "-M", "prepared", "-c", &clients, "-j", &clients, "-f"]).arg(&file).args(limit);
        for (name, value) in variables {
            command.args(["-D", &format!("{name}={value}")]);
        }
        command.arg("-h").arg(self.home.data()).args(["-U", SUPERUSER, "postgres"]);
        command.env(
            "PGOPTIONS",
            "-c synchronous_commit=off -c timezone=UTC -c plan_cache_mode=force_generic_plan",
        );
        let before = children_cpu_s()?;
        let output = command.output()?;
        let cpu_s = children_cpu_s()? - before;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{}", String::from_utf8_lossy(&output.stderr));
        match output.status.success() && !text.contains("aborted") {
            true => Ok((text, cpu_s)),
            false => Err(format!("pgbench ended with {}: {}", output.status, text.trim()).into()),
        }
    }

    fn tell(&self, pairs: &[[Arm; 2]]) -> f64 {
        let [ratio, low, high] = ratio(pairs);
        let mean =
            |arm: usize| pairs.iter().map(|pair| pair[arm].rows_per_s).sum::<f64>() / pairs.len() as f64;
        let cpu_us = |arm: usize| {
            let sum = |value: fn(&Arm) -> f64| pairs.iter().map(|pair| value(&pair[arm])).sum::<f64>();
            sum(|arm| arm.client_cpu_s) * 1e9 / sum(|arm| arm.rows)
        };
        let way = match self.way {
            Way::OneCall => "pgbench with one call",
            Way::CallPerTransaction => "pgbench with a call a transaction",
        };
        println!("{way}, clients: {}, {} pairs", self.clients, pairs.len());
        println!("  rows/s: ours {:.0}, pgbench {:.0}", mean(0), mean(1));
        println!("  ratio: {ratio:.4} (95% t interval {low:.4} to {high:.4})");
        println!("  client CPU for 1,000 rows: ours {:.1} us, pgbench {:.1} us", cpu_us(0), cpu_us(1));
        low
    }
}

/// CPU time of all children that have ended, seconds (proc_pid_stat(5), fields 16 and 17, in ticks that
/// are 100 a second on every Linux that programs see).
fn children_cpu_s() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(')').ok_or("/proc/self/stat has no name")?.1;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<f64>().ok());
    // The first field after the name is number 3.
    Ok((ticks(13).ok_or("no field 16")? + ticks(14).ok_or("no field 17")?) / 100.0)
}

/// Half the width of the interval of ln(ours / pgbench).
fn half_width_of(pairs: &[[Arm; 2]]) -> f64 {
    let [_, low, high] = ratio(pairs);
    (high / low).ln() / 2.0
}

/// The ratio of rates with its 95% t interval, over pairs that have one.
fn ratio(pairs: &[[Arm; 2]]) -> [f64; 3] {
    let rates = pairs.iter().map(|pair| pair.each_ref().map(|arm| arm.rows_per_s));
    interval(rates.filter(|[ours, theirs]| (ours / theirs).ln().is_finite()), T_19)
}
