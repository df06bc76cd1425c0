//! `threadwise run work-list`: recipe and list from the command line, and how a work list is shown before it starts.

use super::command;
use crate::cli::RunArgs;
use crate::error::AppError;
use crate::suggest;
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadwise_machine::text::escaped;
use threadwise_machine::words::bytes;
use threadwise_runner::Deadlines;
use threadwise_study::worklist::{Feed, Order, RECIPE, RECIPE_STORED, WorklistOptions};
use threadwise_study::{OptionValue, Options, Study, Workload};
use threadwise_worklist::{ENGINE, recipe};

/// Default preset if a list or numbers of jobs are given.
pub const PRESET: &str = "work-list";

/// Minimum bytes per second of generating a list: gives the time to wait for it.
const MADE_BYTES_PER_S: u64 = 5 << 20;

/// Time limit for copying the user's own list: its size is not known yet.
const COPY: Duration = Duration::from_secs(6 * 3600);

/// Time around a run: removing the last one's files, `sync`, checking one item, dropping databases.
const AROUND: Duration = Duration::from_secs(900);

/// Refuses numbers of jobs without a study: the default study has none, and another one must be requested.
///
/// # Errors
/// There are some, and neither a study nor a list.
pub fn is_named(args: &RunArgs) -> Result<(), AppError> {
    match &args.jobs {
        Some(jobs) if args.study.is_none() && args.list.is_none() => {
            let jobs: Vec<String> = jobs.iter().map(ToString::to_string).collect();
            Err(AppError::Input(format!(
                "--jobs is for work lists: threadwise run {PRESET} --jobs {0}; for sessions of \
                 the default study: threadwise run --sessions {0}",
                jobs.join(",")
            )))
        }
        _ => Ok(()),
    }
}

/// Whether the arguments are for a work list.
pub fn is_asked_for(args: &RunArgs) -> bool {
    args.list.is_some()
}

/// Workload options that `--engine` and `--list` give to a work list: its engine is always the same, and `--engine` is
/// its recipe.
///
/// # Errors
/// There is no such recipe or list, or the study has another workload.
pub fn options(args: &RunArgs, workload: &Workload) -> Result<Options, AppError> {
    let mut options = Options::new();
    if *workload != Workload::WorkList {
        return match &args.list {
            Some(_) => Err(AppError::Input(format!(
                "--list is for work lists, and this study's workload is {workload}: threadwise run {PRESET} \
                 --list FILE"
            ))),
            None => Ok(options),
        };
    }
    if let Some(name) = args.engine.as_deref().filter(|name| *name != ENGINE) {
        if name.contains("://") {
            let why = "a work list has a private server; give the recipe's name, such as postgres or mariadb";
            return Err(AppError::Input(format!("--engine: {why}")));
        }
        let recipe = recipe::find(name).map_err(|error| {
            let meant = suggest::nearest(name, &recipe::names());
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
            AppError::Input(format!("--engine: {error}{meant}"))
        })?;
        options.insert(RECIPE_STORED.to_owned(), OptionValue::Text(recipe.name));
    }
    if let Some(list) = &args.list {
        options.insert("list".to_owned(), OptionValue::Text(path(list)?));
    }
    Ok(options)
}

/// An option of `--set` with its stored name.
pub fn stored((key, value): (String, OptionValue), workload: &Workload) -> (String, OptionValue) {
    match key == RECIPE && *workload == Workload::WorkList {
        true => (RECIPE_STORED.to_owned(), value),
        false => (key, value),
    }
}

/// A list's absolute path.
fn path(list: &Path) -> Result<String, AppError> {
    let refused = |why: String| AppError::Input(format!("--list {}: {why}", list.display()));
    let found = list.metadata().map_err(|error| refused(error.to_string()))?;
    if !found.is_file() {
        return Err(refused("it is not a file: give a text file with one item a line".to_owned()));
    }
    let full: PathBuf = std::path::absolute(list).map_err(|error| refused(error.to_string()))?;
    full.to_str().map(str::to_owned).ok_or_else(|| refused("its name is not UTF-8".to_owned()))
}

/// Refuses contradicting options of a work list before its programs are looked for.
///
/// # Errors
/// The first contradiction.
pub fn check(study: &Study) -> Result<(), AppError> {
    let mut treatments = study.treatments.iter().filter(|_| study.workload == Workload::WorkList);
    treatments.try_for_each(|treatment| read(&treatment.options).map(|_| ()))
}

fn read(options: &Options) -> Result<WorklistOptions, AppError> {
    WorklistOptions::read(options).map_err(AppError::input)
}

/// The list, the recipe and its schedule, as text; empty for another workload.
pub fn shown(study: &Study) -> String {
    if study.workload != Workload::WorkList {
        return String::new();
    }
    let mut text = "Work list:\n".to_owned();
    for line_of in [items, chain_words, schedule] {
        let lines = |options: &Options| read(options).ok().map(|read| line_of(&read)).into_iter().collect();
        for (line, names) in command::distinct(study, lines) {
            let whose = command::whose(study, &names);
            text.push_str(&format!("  {}{}\n", escaped(&line), escaped(&whose)));
        }
    }
    // The commands' own empty line separates what follows.
    if command::has_commands(study) { text } else { text + "\n" }
}

fn items(options: &WorklistOptions) -> String {
    match (&options.list, options.command()) {
        (Some(list), Some(_)) => format!("items: the lines of {}", list.display()),
        (Some(list), None) => {
            format!("items: copies of those in {}; the originals are left alone", list.display())
        }
        (None, _) => {
            format!(
                "items: {} generated for the study, {} together",
                options.files,
                bytes(options.total_bytes)
            )
        }
    }
}

fn chain_words(options: &WorklistOptions) -> String {
    let about =
        recipe::find(&options.recipe).map_or_else(|_| "your own command".to_owned(), |found| found.about);
    format!("recipe {}: {about}", options.recipe)
}

fn schedule(options: &WorklistOptions) -> String {
    let order = match options.order {
        Order::Given => "in the order of the list",
        Order::Largest => "the largest first",
        Order::Shuffled => "in an order drawn for each block",
    };
    let feed = match options.feed {
        Feed::Queue => "from one queue",
        Feed::Split => "in fixed parts, one for each job",
    };
    let cold = if options.cold {
        "dropped from the page cache before each run"
    } else {
        "cached as the previous run left them"
    };
    format!(
        "{order}, {feed}; {cold}; pause {} s; at most {} s a run",
        options.settle_s, options.run.timeout_s
    )
}

/// Time limit of workers of work lists: as long as a list may take, and to generate or copy it once.
pub fn deadlines(study: &Study, deadlines: &mut Deadlines) {
    if study.workload != Workload::WorkList {
        return;
    }
    for options in study.treatments.iter().filter_map(|treatment| read(&treatment.options).ok()) {
        let run = Duration::from_secs(options.run.timeout_s);
        let load = match options.list {
            Some(_) => COPY,
            None => Duration::from_secs(options.total_bytes / MADE_BYTES_PER_S) + AROUND,
        };
        deadlines.load = deadlines.load.max(load);
        deadlines.prepare = deadlines.prepare.max(AROUND);
        // The engine ends a run after its limit; work before and after it may take as long again.
        deadlines.slice = deadlines.slice.max(run * 2 + Duration::from_secs(options.settle_s) + AROUND);
        deadlines.stop = deadlines.stop.max(Duration::from_secs(120));
        deadlines.interrupt = Deadlines::CLEAN_UP;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn args(engine: Option<&str>, list: Option<&Path>) -> RunArgs {
        RunArgs { engine: engine.map(str::to_owned), list: list.map(Path::to_owned), ..RunArgs::default() }
    }

    #[test]
    fn an_engine_is_the_recipe_of_a_work_list_and_a_list_has_its_full_path() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("a list");
        std::fs::write(&list, "x\n").unwrap();
        let found = options(&args(Some("firebird"), Some(&list)), &Workload::WorkList).unwrap();
        let text = |text: &str| OptionValue::Text(text.to_owned());
        let expected = [(RECIPE_STORED, text("firebird")), ("list", text(list.to_str().unwrap()))];
        assert_eq!(found, BTreeMap::from(expected.map(|(key, value)| (key.to_owned(), value))));
        assert_eq!(options(&args(Some(ENGINE), None), &Workload::WorkList).unwrap(), Options::new());
        assert_eq!(options(&args(Some("postgres"), None), &Workload::Insert).unwrap(), Options::new());
    }

    #[test]
    fn a_recipe_has_one_stored_name_in_work_lists_and_none_elsewhere() {
        let noop = || OptionValue::Text("noop".to_owned());
        for name in ["recipe", "chain"] {
            assert_eq!(stored((name.to_owned(), noop()), &Workload::WorkList), ("chain".to_owned(), noop()));
        }
        assert_eq!(stored(("recipe".to_owned(), noop()), &Workload::Insert).0, "recipe");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let why = |engine: Option<&str>, list: Option<&Path>, workload: &Workload| {
            options(&args(engine, list), workload).unwrap_err().to_string()
        };
        assert!(why(Some("oracle"), None, &Workload::WorkList).contains("recipes are sqlite, firebird"));
        assert!(why(Some("postgres://me@db/x"), None, &Workload::WorkList).contains("private server"));
        assert!(
            why(None, Some(Path::new("/proc/no/such/list")), &Workload::WorkList)
                .contains("--list /proc/no/such/list: ")
        );
        assert!(why(None, Some(folder.path()), &Workload::WorkList).contains("not a file"));
        assert!(
            why(None, Some(folder.path()), &Workload::Insert)
                .contains("threadwise run work-list --list FILE")
        );
    }

    #[test]
    fn deadlines_are_as_long_as_a_list_may_be() {
        let file = threadwise_study::load::StudyFile::preset(PRESET).unwrap();
        let topology = crate::commands::topology::live().unwrap();
        let mut study = file.resolve(&topology, &Default::default()).unwrap();
        for treatment in &mut study.treatments {
            treatment.options.insert("timeout_s".to_owned(), OptionValue::Integer(100));
            treatment.options.insert("total_mib".to_owned(), OptionValue::Integer(100 << 10));
        }
        let mut limits = Deadlines::default();
        deadlines(&study, &mut limits);
        assert_eq!(limits.slice, Duration::from_secs(200 + 1 + 900));
        assert_eq!(limits.load, Duration::from_secs(20 * 1024 + 900), "100 GiB at 5 MiB/s");
        study.workload = Workload::Insert;
        let mut other = Deadlines::default();
        deadlines(&study, &mut other);
        assert_eq!(other, Deadlines::default());
    }
}
