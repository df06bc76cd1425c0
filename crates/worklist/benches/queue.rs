//! Cost of the queue: items a second for each job if an item's process does nothing, and throughput
//! against `xargs -P N -n 1` with the same command on the same list.
//! `cargo bench -p threadwise-worklist --bench queue`
//!
//! Both arms of a pair are whole processes, from start to end: threadwise's is this program again, which
//! executes a plan as `threadwise worklist-run` does. It gives each item an empty folder, keeps the output, and
//! writes spans; xargs does none of that, and its output goes to /dev/null. Both get the program's path, so
//! that neither searches for it. The order in a pair is drawn. The result is exp of the mean of
//! ln(ours / xargs) over pairs with its 95% t interval; the program fails if a lower bound is below 0.95. On
//! a busy machine it adds pairs until the half-width is small enough (a rule that looks at the width alone leaves
//! the interval valid; Chow and Robbins, Ann. Math. Statist. 36, 1965), or to the largest number of pairs.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use threadwise_process::programs;
use threadwise_worklist::plan::{self, Feed, Item, Plan, Step};
use threadwise_worklist::work;

const LOWEST_RATIO: f64 = 0.95;
/// Two-sided 95% quantile of Student's t with 19 degrees of freedom; a little wide for more.
const T_19: f64 = 2.093_024;
/// Rounds and pairs between two checks of the width.
const ROUNDS: usize = 20;
const MOST_PAIRS: usize = 100;
const HALF_WIDTH: f64 = 0.02;
/// Items of a list: about half a second of either command.
const SMALL_ITEMS: usize = 500;
const LARGE_ITEMS: usize = 30;
/// How long an item of the heavier command takes alone.
const LARGE_S: f64 = 0.02;
/// First argument with which this program executes a plan.
const DO: &str = "do-plan";

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let did = match arguments.as_slice() {
        [word, plan] if word == DO => do_plan(Path::new(plan)).map(|()| f64::INFINITY),
        _ => measure_all(),
    };
    match did {
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

/// Executes a plan as `threadwise worklist-run` does.
fn do_plan(path: &Path) -> Result<(), Failure> {
    let plan = work::read(path)?;
    let done = work::run(&plan, &AtomicBool::new(false))?;
    println!("{}", plan::line(&done.summary)?);
    work::failures(&plan, &done.spans).map_or(Ok(()), |failed| Err(failed.into()))
}

/// All measurements; gives the lowest of the lower bounds.
fn measure_all() -> Result<f64, Failure> {
    let folder = tempfile::tempdir()?;
    let at = std::env::var_os("PATH").unwrap_or_default();
    let small = Bench::new(folder.path(), program("true", &at)?, vec!["item".to_owned(); SMALL_ITEMS])?;
    for jobs in [1, 2] {
        small.slots(jobs)?;
    }
    let file = folder.path().join("data");
    let sum = program("sha256sum", &at)?;
    sized(&sum, &file)?;
    let large = Bench::new(folder.path(), sum, vec![file.display().to_string(); LARGE_ITEMS])?;
    let mut least = f64::INFINITY;
    for bench in [&small, &large] {
        for jobs in [1, 2, 4] {
            least = least.min(bench.compare(jobs)?);
        }
    }
    Ok(least)
}

fn program(name: &str, path: &OsStr) -> Result<PathBuf, Failure> {
    programs::find(&[name], &[], path).ok_or_else(|| format!("there is no program '{name}' on PATH").into())
}

/// Makes a file for which the program takes about [`LARGE_S`].
fn sized(program: &Path, file: &Path) -> Result<(), Failure> {
    const FIRST_BYTES: u64 = 16 << 20;
    fs::write(file, vec![b'x'; FIRST_BYTES as usize])?;
    let mut shortest_s = f64::INFINITY;
    for _ in 0..5 {
        let begun = Instant::now();
        succeed(Command::new(program).arg(file).stdout(Stdio::null()))?;
        shortest_s = shortest_s.min(begun.elapsed().as_secs_f64());
    }
    let bytes = (FIRST_BYTES as f64 * LARGE_S / shortest_s) as u64;
    fs::write(file, vec![b'x'; bytes.min(1 << 30) as usize])?;
    Ok(())
}

fn succeed(command: &mut Command) -> Result<(), Failure> {
    let status = command.status()?;
    status.success().then_some(()).ok_or_else(|| format!("{command:?} ended with {status}").into())
}

/// One command on one list.
struct Bench<'a> {
    folder: &'a Path,
    program: PathBuf,
    items: Vec<String>,
    xargs: PathBuf,
    list: PathBuf,
}

impl<'a> Bench<'a> {
    fn new(folder: &'a Path, program: PathBuf, items: Vec<String>) -> Result<Self, Failure> {
        let xargs = self::program("xargs", &std::env::var_os("PATH").unwrap_or_default())?;
        let list = folder.join(format!("list-{}", items.len()));
        fs::write(&list, items.iter().map(|item| format!("{item}\n")).collect::<String>())?;
        Ok(Self { folder, program, items, xargs, list })
    }

    fn plan(&self, jobs: u32) -> Plan {
        let item = |text: &String| Item { name: text.clone(), text: text.clone(), size_bytes: 0, earlier: 0 };
        Plan {
            items: self.items.iter().map(item).collect(),
            order: (0..self.items.len()).collect(),
            feed: Feed::Queue,
            jobs,
            steps: vec![Step {
                name: "do".into(),
                command: vec![self.program.display().to_string(), "{item}".into()],
                stdin: None,
            }],
            result: None,
            keep: None,
            work: self.folder.join("work"),
            folder: None,
            environment: BTreeMap::new(),
            spans: self.folder.join("spans"),
        }
    }

    /// Items a second of threadwise's queue.
    fn ours(&self, jobs: u32) -> Result<f64, Failure> {
        let plan = self.folder.join("plan.json");
        fs::write(&plan, plan::line(&self.plan(jobs))?)?;
        let mut command = Command::new(std::env::current_exe()?);
        let rate = self.rate(command.arg(DO).arg(&plan).stdin(Stdio::null()))?;
        fs::remove_file(self.folder.join("spans"))?;
        Ok(rate)
    }

    /// Items a second of xargs.
    fn theirs(&self, jobs: u32) -> Result<f64, Failure> {
        let mut command = Command::new(&self.xargs);
        command.args(["-d", "\n", "-n", "1", "-P", &jobs.to_string()]).arg(&self.program);
        self.rate(command.stdin(File::open(&self.list)?))
    }

    fn rate(&self, command: &mut Command) -> Result<f64, Failure> {
        let begun = Instant::now();
        succeed(command.stdout(Stdio::null()))?;
        Ok(self.items.len() as f64 / begun.elapsed().as_secs_f64())
    }

    /// Prints how many items a second a job does.
    fn slots(&self, jobs: u32) -> Result<(), Failure> {
        let rate = |_| self.ours(jobs).map(|rate| (rate / f64::from(jobs)).ln());
        let logs = (0..=ROUNDS).map(rate).collect::<Result<Vec<_>, Failure>>()?;
        // The first round fills the page cache.
        let [rate, low, high] = interval(&logs[1..]);
        let name = self.program.display();
        println!(
            "{name}, jobs: {jobs}, {ROUNDS} rounds of {} items\n  items/s per job: {rate:.0} (95% t interval {low:.0} to {high:.0})",
            self.items.len()
        );
        Ok(())
    }

    /// Compares with xargs; gives the lower bound of the ratio.
    fn compare(&self, jobs: u32) -> Result<f64, Failure> {
        let mut order = ChaCha8Rng::seed_from_u64(u64::from(jobs));
        let (mut logs, mut sums) = (Vec::new(), [0.0; 2]);
        loop {
            let (ours, theirs) = if order.next_u32().is_multiple_of(2) {
                let ours = self.ours(jobs)?;
                (ours, self.theirs(jobs)?)
            } else {
                let theirs = self.theirs(jobs)?;
                (self.ours(jobs)?, theirs)
            };
            logs.push((ours / theirs).ln());
            sums = [sums[0] + ours, sums[1] + theirs];
            if !logs.len().is_multiple_of(ROUNDS) {
                continue;
            }
            let [ratio, low, high] = interval(&logs);
            if (high / low).ln() / 2.0 > HALF_WIDTH && logs.len() < MOST_PAIRS {
                continue;
            }
            let (name, pairs) = (self.program.display(), logs.len() as f64);
            println!("{name} against xargs, jobs: {jobs}, {pairs} pairs of {} items", self.items.len());
            println!("  items/s: ours {:.1}, xargs {:.1}", sums[0] / pairs, sums[1] / pairs);
            println!("  ratio: {ratio:.4} (95% t interval {low:.4} to {high:.4})");
            return Ok(low);
        }
    }
}

/// exp of the mean of logarithms, with its 95% t interval.
fn interval(logs: &[f64]) -> [f64; 3] {
    let count = logs.len() as f64;
    let centre = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - centre).powi(2)).sum();
    let half = T_19 * (squares / (count - 1.0) / count).sqrt();
    [centre, centre - half, centre + half].map(f64::exp)
}
