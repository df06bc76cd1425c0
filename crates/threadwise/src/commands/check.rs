//! `threadwise check`: what the user's server permits its login, and whether studies of each workload run there.
//!
//! The engine is asked for the permissions. Whether studies run is tested: each is `threadwise run` with few rows and
//! few slices, as a child process whose result file is read and discarded.

use crate::engines;
use crate::error::AppError;
use crate::output;
use clap::Args;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Stdio};
use threadwise_engine::{DELAYED_DURABILITY, DURABLE_COMMITS, Engine, EngineError, Point, Trial};
use threadwise_store::Store;
use threadwise_study::engine::{AFFINITY, AFFINITY_KEEP, URL};
use threadwise_study::{OptionValue, Options, Run, RunStatus, Workload};

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  SQLCMDPASSWORD=… threadwise check --engine sqlserver://bench@db/shop
  threadwise check --engine postgres://bench@localhost/shop --look

First it reads what the login may do, and changes nothing. Then, without --look, it runs a small study of
each workload; these create and drop threadwise's own schema on the server, as every study does. Their results mean nothing.
The output has the server's address and no password, and can be mailed. The exit code is 1 if a study failed.")]
pub struct CheckArgs {
    /// Address of the server: sqlserver://USER@HOST/DATABASE, postgres://…, mariadb://…, oracle://…
    #[arg(long, value_name = "URL")]
    pub engine: String,
    /// Engine option; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = crate::input::key_value)]
    pub engine_option: Vec<(String, String)>,
    /// Only read what the login may do; run no study
    #[arg(long)]
    pub look: bool,
}

/// Trials for every engine with the workload.
const TRIALS: [Trial; 4] = [
    Trial { workload: Workload::LogicalIo, preset: "cached-reads", settings: &["data_mib=8"], needs: None },
    Trial {
        workload: Workload::Insert,
        preset: "concurrent-inserts",
        settings: &["durability=full", "seed_rows=1000"],
        needs: Some(DURABLE_COMMITS),
    },
    Trial {
        workload: Workload::Insert,
        preset: "concurrent-inserts",
        settings: &["durability=relaxed", "seed_rows=1000"],
        needs: Some(DELAYED_DURABILITY),
    },
    Trial { workload: Workload::Tpch, preset: "parallel-queries", settings: &["scale=0.01"], needs: None },
];

/// Reads permissions, runs trials, prints.
pub fn check(args: &CheckArgs) -> Result<(), AppError> {
    let (name, mut options) = engines::named(&args.engine)?;
    let value = |text: &str| OptionValue::Text(text.to_owned());
    options.extend(args.engine_option.iter().map(|(name, text)| (name.clone(), value(text))));
    let engine = engines::find(&name).filter(|_| options.contains_key(URL)).ok_or_else(|| {
        AppError::Input(format!(
            "check needs the address of your server, and '{name}' is not one: give its address, such as \
             --engine {}://USER@HOST/DATABASE",
            scheme(&name)
        ))
    })?;
    let points = look(engine, &args.engine, &options)?;
    let lacks = points.iter().filter(|point| !point.works).count();
    if args.look {
        return output::print(&format!("{} of {} points work\n", points.len() - lacks, points.len()));
    }
    output::print("\nsmall studies, whose results mean nothing\n")?;
    let folder = Folder::make()?;
    let usual = TRIALS.iter().filter(|trial| engine.workloads().contains(&trial.workload));
    let (all, left_out): (Vec<&Trial>, Vec<&Trial>) =
        usual.chain(engine.trials()).partition(|trial| lacking(trial, &points).is_none());
    let (mut failed, mut missing) = (0, 0);
    for (number, trial) in all.iter().enumerate() {
        output::tell(&format!("study {} of {}: {}", number + 1, all.len(), what(trial)));
        let result = run(trial, args, engine, &folder.0.join(format!("{number}.threadwise")));
        let (word, says) = match result {
            Outcome::Works(says) => ("works", says),
            Outcome::LeftOut(why) => ("lacks", format!("left out: {why}")),
            Outcome::Fails(why) => ("fails", why),
        };
        failed += usize::from(word == "fails");
        missing += usize::from(word == "lacks");
        output::print(&line(word, &what(trial), &says))?;
    }
    for trial in left_out {
        let needs = trial.needs.unwrap_or_default();
        output::print(&line("lacks", &what(trial), &format!("left out: {needs}, see above")))?;
    }
    output::print(&format!(
        "\n{} of {} points and {} of {} studies work\n",
        points.len() - lacks,
        points.len(),
        all.len() - failed - missing,
        all.len() - missing
    ))?;
    match failed {
        0 => Ok(()),
        failed => {
            let tried = all.len() - missing;
            Err(AppError::Failed(format!("{failed} of {tried} small studies failed, see above")))
        }
    }
}

/// URL scheme of an engine; for one without addresses, that of another.
fn scheme(engine: &str) -> &'static str {
    let mut candidates = engines::find(engine).into_iter().chain(engines::all().iter().copied());
    let address = candidates.find_map(|engine| engine.known_by().address);
    address.and_then(|address| address.schemes.first().copied()).unwrap_or_default()
}

/// The permission that a study needs and the login lacks.
fn lacking<'a>(trial: &Trial, points: &'a [Point]) -> Option<&'a Point> {
    points.iter().find(|point| !point.works && trial.needs == Some(point.name.as_str()))
}

/// What the login may do.
fn look(engine: &dyn Engine, address: &str, options: &Options) -> Result<Vec<Point>, AppError> {
    let refused = |error: EngineError| AppError::engine(&error);
    let version = engine.version(options).map_err(refused)?;
    let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
    output::print(&format!(
        "threadwise {}, {now}\n{address}\n{} {version}\n\nwhat the login may do\n",
        env!("CARGO_PKG_VERSION"),
        engine.name()
    ))?;
    let points = engine.points(options).map_err(refused)?;
    for limit in engine.limits(options).map_err(refused)? {
        let says = format!("at most {}, {} in use", limit.most, limit.in_use);
        output::print(&line("works", &limit.name, &says))?;
    }
    for point in &points {
        output::print(&line(if point.works { "works" } else { "lacks" }, &point.name, &point.says))?;
    }
    if points.is_empty() {
        output::print("  this engine does not list permissions\n")?;
    }
    Ok(points)
}

fn line(word: &str, name: &str, says: &str) -> String {
    format!("  {word}  {name}: {says}\n")
}

/// `insert (durability=full, seed_rows=1000)`.
fn what(trial: &Trial) -> String {
    match trial.settings {
        [] => trial.workload.to_string(),
        settings => format!("{} ({})", trial.workload, settings.join(", ")),
    }
}

/// Result of a small study, one line.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Number of its runs.
    Works(String),
    /// An engine that it needs is not installed here; the server is not at fault.
    LeftOut(String),
    /// The reason.
    Fails(String),
}

/// Runs a small study.
fn run(trial: &Trial, args: &CheckArgs, engine: &dyn Engine, file: &Path) -> Outcome {
    let this = match std::env::current_exe() {
        Ok(this) => this,
        Err(error) => return Outcome::Fails(format!("cannot find the threadwise program: {error}")),
    };
    let mut command = Command::new(this);
    command.args(["run", trial.preset, "--engine", &args.engine, "--blocks", "2", "--rounds", "4"]);
    command.args(["--no-probe", "--allow-busy", "--output"]).arg(file);
    // Permission to bind a server is checked above; trials do not bind it.
    let kept = (AFFINITY.to_owned(), AFFINITY_KEEP.to_owned());
    let options = args.engine_option.iter().filter(|(name, _)| name != AFFINITY);
    for (name, value) in options.chain(engine.binds_whole().then_some(&kept)) {
        command.args(["--engine-option", &format!("{name}={value}")]);
    }
    for setting in trial.settings {
        command.args(["--set", setting]);
    }
    let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => return Outcome::Fails(format!("cannot start: {error}")),
    };
    // The reason of a failed run is more specific than the exit message.
    let runs = Store::open(file).and_then(|store| store.runs()).unwrap_or_default();
    outcome(ended.status.code(), &String::from_utf8_lossy(&ended.stderr), &runs)
}

/// The outcome by exit code, messages and runs.
fn outcome(code: Option<i32>, said: &str, runs: &[Run]) -> Outcome {
    let last = said.lines().rev().find_map(|line| line.strip_prefix("threadwise: "));
    let refused = AppError::Refused(String::new()).exit_code();
    match (first_failure(runs), last) {
        (None, _) if code == Some(0) => Outcome::Works(format!("{} runs", runs.len())),
        (Some(why), _) => Outcome::Fails(why),
        (None, Some(why)) if code == Some(refused.into()) && why.contains(" is not installed here") => {
            Outcome::LeftOut(why.to_owned())
        }
        (None, why) => Outcome::Fails(why.unwrap_or("it ended without a message").to_owned()),
    }
}

/// Why the first unusable run is unusable.
fn first_failure(runs: &[Run]) -> Option<String> {
    runs.iter().find_map(|run| match &run.status {
        RunStatus::Valid | RunStatus::Superseded => None,
        RunStatus::Failed { message, .. } | RunStatus::Invalid { message, .. } => Some(message.clone()),
    })
}

/// A temporary folder for the result files, removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn make() -> Result<Self, AppError> {
        let folder = std::env::temp_dir().join(format!("threadwise-check-{}", std::process::id()));
        // An existing folder belongs to another process.
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| AppError::Failed(format!("cannot make {}: {error}", folder.display())))?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A failed removal leaves it in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_durability_that_the_server_lacks_is_left_out_and_no_failure() {
        let lacks = |name: &str| vec![Point::lacks(name, "set to the other")];
        for (name, durability) in [(DURABLE_COMMITS, "full"), (DELAYED_DURABILITY, "relaxed")] {
            let points = lacks(name);
            let left_out: Vec<_> = TRIALS.iter().filter(|trial| lacking(trial, &points).is_some()).collect();
            assert_eq!(left_out.len(), 1, "{name}");
            assert!(what(left_out[0]).contains(&format!("durability={durability}")), "{}", what(left_out[0]));
        }
        // An engine that is asked nothing has every study tried.
        assert!(TRIALS.iter().all(|trial| lacking(trial, &[]).is_none()));
    }

    #[test]
    fn a_study_whose_engine_is_not_installed_is_left_out_and_any_other_that_ends_badly_fails() {
        let said =
            "something\nthreadwise: engine duckdb is not installed here: threadwise engine add duckdb\n";
        let why = "engine duckdb is not installed here: threadwise engine add duckdb".to_owned();
        assert_eq!(outcome(Some(3), said, &[]), Outcome::LeftOut(why.clone()));
        assert_eq!(outcome(Some(1), said, &[]), Outcome::Fails(why));
        let busy = "threadwise: the machine is busy\n";
        assert_eq!(outcome(Some(3), busy, &[]), Outcome::Fails("the machine is busy".into()));
        assert_eq!(outcome(None, "", &[]), Outcome::Fails("it ended without a message".into()));
        assert_eq!(outcome(Some(0), "", &[]), Outcome::Works("0 runs".into()));
    }
}
