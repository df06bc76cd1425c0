//! `threadwise restore`: what killed processes and lasting switches have left changed, and putting it back.
//!
//! All that threadwise changes on a machine or a server is a row of [`CHANGES`]. Each has a journal, or a marked folder,
//! that names the process it belongs to, and a watchdog, which puts it back when that process has ended in any way
//! (`threadwise_process::watchdog`); what is found here was left by both.

use crate::commands::reload;
use crate::commands::smt;
use crate::engines;
use crate::error::AppError;
use crate::output::{self, json_string as quoted};
use clap::{Args, Subcommand};
use std::io;
use std::path::PathBuf;
use threadwise_process::{journal, state};
use threadwise_runner::workdir;
use threadwise_smt::left::{self, Holder};

/// Arguments of `restore`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise restore                       put everything back
  threadwise restore --status              only show what is left
  threadwise restore --data-dir /data      also the folders of killed studies there
  threadwise restore /srv/db               databases that a killed `reload` left, there and below

Everything is put back when a command ends, and by a watchdog if it is killed. What is left if the
watchdog is killed too is put back by this command, and most of it by the next one that measures.
It also ends what `threadwise smt off` and `on` have switched.")]
pub struct RestoreArgs {
    /// Databases and folders of databases that a killed `reload` left, or @LIST for a text file with one path a
    /// line, instead of the machine
    #[arg(value_name = "PATH|@LIST", conflicts_with = "data_dir")]
    pub paths: Vec<PathBuf>,
    /// Show what is left, and change nothing
    #[arg(long)]
    pub status: bool,
    /// Folder with data of studies besides the temporary folder; may be repeated
    #[arg(long, value_name = "DIR")]
    pub data_dir: Vec<PathBuf>,
    /// How databases are recovered
    #[command(flatten)]
    pub databases: reload::DatabasesArgs,
    /// Print JSON (docs/JSON.md)
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `watchdog`.
#[derive(Debug, Args)]
pub struct WatchdogArgs {
    /// What it watches over
    #[command(subcommand)]
    pub over: Watched,
}

/// What a watchdog puts back.
#[derive(Debug, Subcommand)]
pub enum Watched {
    /// The folder of a study, which is removed, and masks of other processes
    Folder {
        /// The folder
        folder: PathBuf,
    },
    /// SMT, logical CPUs and clocks
    Machine {
        /// The journal
        journal: PathBuf,
    },
    /// Databases of `reload`
    Databases(reload::DatabasesArgs),
}

/// Waits for the end of the process that started this one, and puts back what that has changed.
pub fn watchdog(args: &WatchdogArgs) -> Result<(), AppError> {
    let stdin = &mut io::stdin().lock();
    match &args.over {
        Watched::Folder { folder } => {
            workdir::watch(folder, &engines::started_programs(), stdin).map_err(AppError::failed)
        }
        Watched::Machine { journal } => smt::watch(journal, stdin),
        Watched::Databases(args) => reload::watch(args, stdin),
    }
}

/// Where to look.
struct Places {
    /// Folder of journals of this boot.
    state: PathBuf,
    /// Folders with data of studies.
    data: Vec<PathBuf>,
}

/// Something that is left changed.
struct Left {
    /// In words: `5 threads of process 812 (postgres)`.
    what: String,
    by: By,
}

/// Who has changed it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// A process that was killed.
    Killed,
    /// `smt off` or `on`: it lasts until it is restored.
    Kept,
    /// A living process, which puts it back.
    Living(u32),
    /// A process of another PID namespace, where alone it can be put back.
    Elsewhere,
    /// A study on a server: putting it back needs a login there.
    OnServer,
}

/// What was put back, or why something was not.
type Done = Vec<Result<String, String>>;

/// Something that threadwise changes, and puts back.
struct Change {
    name: &'static str,
    left: fn(&Places) -> Result<Vec<Left>, AppError>,
    /// Puts back what killed processes have left, and with the flag also what lasts.
    put_back: fn(&Places, bool) -> Result<Done, AppError>,
    /// Whether commands that measure put it back first, and others report it.
    is_seen_to: bool,
}

/// In the order in which they are put back: masks may need logical CPUs that are offline.
const CHANGES: [Change; 4] = [
    Change { name: "SMT and clocks", left: machine_left, put_back: put_machine_back, is_seen_to: true },
    Change { name: "processes", left: masks_left, put_back: put_masks_back, is_seen_to: true },
    // Without a login nothing can be done; the next study there does it.
    Change { name: "servers", left: servers_left, put_back: |_, _| Ok(Vec::new()), is_seen_to: true },
    // A study looks for these where its data goes.
    Change { name: "folders", left: folders_left, put_back: remove_folders, is_seen_to: false },
];

fn machine_left(places: &Places) -> Result<Vec<Left>, AppError> {
    let what = || "SMT, logical CPUs or clocks switched".to_owned();
    let found = left::found(&places.state).map_err(AppError::failed)?;
    let here = found.into_iter().map(|found| match found.holder {
        Holder::Killed => Left { what: what(), by: By::Killed },
        Holder::Kept => Left { what: what(), by: By::Kept },
        Holder::Living(pid) => Left { what: what(), by: By::Living(pid) },
    });
    let elsewhere = left::elsewhere(&places.state).map_err(AppError::failed)?;
    let elsewhere = elsewhere.iter().map(|path| {
        let what = format!("{} (journal {})", what(), path.display());
        Left { what, by: By::Elsewhere }
    });
    Ok(here.chain(elsewhere).collect())
}

fn put_machine_back(places: &Places, with_kept: bool) -> Result<Done, AppError> {
    let found = left::found(&places.state).map_err(AppError::failed)?;
    let is_meant = |holder: Holder| holder == Holder::Killed || with_kept && holder == Holder::Kept;
    let put_back = |found: left::SmtJournal| match smt::put_back(&found.path) {
        Ok(done) if found.holder == Holder::Killed => {
            Ok(format!("{done}, left switched by a killed process"))
        }
        Ok(done) => Ok(done),
        Err(error) => Err(error.to_string()),
    };
    Ok(found.into_iter().filter(|found| is_meant(found.holder)).map(put_back).collect())
}

fn masks_left(places: &Places) -> Result<Vec<Left>, AppError> {
    let bound = journal::left(&places.state).map_err(AppError::failed)?;
    let left = (!bound.is_empty()).then(|| Left { what: format!("{bound} bound"), by: By::Killed });
    Ok(left.into_iter().collect())
}

fn put_masks_back(places: &Places, _: bool) -> Result<Done, AppError> {
    let done = journal::put_left_back(&places.state).map_err(AppError::failed)?;
    let bound = (!done.bound.is_empty()).then(|| format!("{}, left bound by a killed study", done.bound));
    Ok(bound.map(Ok).into_iter().chain(done.failed.into_iter().map(Err)).collect())
}

fn servers_left(_: &Places) -> Result<Vec<Left>, AppError> {
    // Without a folder for journals nothing was ever changed.
    let Ok(folder) = state::lasting_folder() else { return Ok(Vec::new()) };
    let servers = journal::left_lasting(&folder).map_err(AppError::failed)?;
    Ok(servers.into_iter().map(|what| Left { what, by: By::OnServer }).collect())
}

fn folders_left(places: &Places) -> Result<Vec<Left>, AppError> {
    let stale = places.data.iter().flat_map(|root| workdir::stale(root));
    Ok(stale.map(|path| Left { what: path.display().to_string(), by: By::Killed }).collect())
}

fn remove_folders(places: &Places, _: bool) -> Result<Done, AppError> {
    let programs = engines::started_programs();
    let remove = |path: PathBuf| match workdir::remove(&path, &programs) {
        Ok(_) => Ok(format!("folder {} removed, left by a killed study", path.display())),
        Err(error) => Err(error.to_string()),
    };
    let stale = places.data.iter().flat_map(|root| workdir::stale(root));
    Ok(stale.map(remove).collect())
}

/// Puts back, or only reports, what is left, on standard error. What fails is reported there too: the command that it
/// comes before may be unrelated to it.
pub fn see_to_it(is_put_back: bool) {
    // Without a state folder nothing was ever changed.
    let Ok(state) = state::folder() else { return };
    let places = Places { state, data: Vec::new() };
    for change in CHANGES.iter().filter(|change| change.is_seen_to) {
        let lines = if is_put_back { put_back_first(change, &places) } else { reported(change, &places) };
        match lines {
            Ok(lines) => lines.iter().for_each(|line| output::tell(&format!("threadwise: {line}"))),
            Err(error) => output::tell(&format!("threadwise: {error}")),
        }
    }
}

fn reported(change: &Change, places: &Places) -> Result<Vec<String>, AppError> {
    let left = (change.left)(places)?;
    let killed = left.iter().filter(|left| left.by == By::Killed);
    let killed = killed.map(|left| format!("{}; to restore: threadwise restore", left.line()));
    Ok(killed.chain(server_lines(&left)).collect())
}

/// What cannot be put back without a login is reported.
fn put_back_first(change: &Change, places: &Places) -> Result<Vec<String>, AppError> {
    let done = lines((change.put_back)(places, false)?);
    Ok([done, server_lines(&(change.left)(places)?)].concat())
}

fn server_lines(left: &[Left]) -> Vec<String> {
    left.iter().filter(|left| left.by == By::OnServer).map(Left::line).collect()
}

impl Left {
    fn line(&self) -> String {
        let what = &self.what;
        match self.by {
            By::Killed => format!("{what}, left by a killed process"),
            By::Kept => format!("{what} by threadwise smt, until threadwise restore"),
            By::Living(pid) => format!("{what} by process {pid}, which puts it back when it ends"),
            By::Elsewhere => {
                format!("{what} in another PID namespace: run threadwise restore in that container")
            }
            By::OnServer => what.clone(),
        }
    }
}

/// Most failures of one kind that are shown.
const SHOWN: usize = 3;

/// What was done, and some of what was not.
fn lines(done: Done) -> Vec<String> {
    let (done, failed): (Vec<_>, Vec<_>) = done.into_iter().partition(Result::is_ok);
    let more = failed.len().saturating_sub(SHOWN);
    let done = done.into_iter().flatten().map(|what| format!("restored: {what}"));
    let failed = failed.into_iter().filter_map(Result::err).take(SHOWN);
    let failed = failed.map(|why| format!("not restored: {why}"));
    done.chain(failed).chain((more > 0).then(|| format!("not restored: {more} more"))).collect()
}

/// The subcommand.
///
/// # Errors
/// Something could not be put back.
pub fn restore(args: &RestoreArgs) -> Result<(), AppError> {
    if !args.paths.is_empty() {
        let way = reload::Way { is_status: args.status, is_json: args.json };
        return reload::recover(&args.paths, &args.databases, &way);
    }
    if !args.databases.engine_option.is_empty() {
        return Err(AppError::Input("--engine-option is for databases: give their paths, too".to_owned()));
    }
    let state = state::folder().map_err(AppError::Input)?;
    if let Some(absent) = args.data_dir.iter().find(|folder| !folder.is_dir()) {
        return Err(AppError::Input(format!("--data-dir {}: no such folder", absent.display())));
    }
    let temporary = std::iter::once(std::env::temp_dir());
    let places = Places { state, data: temporary.chain(args.data_dir.iter().cloned()).collect() };
    let mut done = Vec::new();
    if !args.status {
        for change in &CHANGES {
            // One that fails as a whole keeps no other from being put back.
            done.extend(
                (change.put_back)(&places, true).unwrap_or_else(|error| vec![Err(error.to_string())]),
            );
        }
    }
    let left = status(&places, &mut done);
    let failed: Vec<String> = done.iter().filter_map(|one| one.as_ref().err()).cloned().collect();
    output::print(&match args.json {
        true => json_of(&done, &left),
        false => text_of(done, &left, args.status),
    })?;
    match failed.is_empty() {
        true => Ok(()),
        false => Err(AppError::Failed(format!("not everything is restored: {}", failed.join("; ")))),
    }
}

/// What is left, each with the name of its kind; why something is not known is added to what was done.
fn status(places: &Places, done: &mut Done) -> Vec<(&'static str, Left)> {
    let mut all = Vec::new();
    for change in &CHANGES {
        match (change.left)(places) {
            Ok(left) => all.extend(left.into_iter().map(|left| (change.name, left))),
            Err(error) => {
                let why = Err(error.to_string());
                // What kept it from being put back keeps it from being seen, too.
                if !done.contains(&why) {
                    done.push(why);
                }
            }
        }
    }
    all
}

fn text_of(done: Done, left: &[(&str, Left)], is_status: bool) -> String {
    let done = lines(done);
    if done.is_empty() && left.is_empty() {
        return "Nothing is left changed.\n".to_owned();
    }
    let can_be_restored = left.iter().any(|(_, left)| matches!(left.by, By::Killed | By::Kept));
    let next = (is_status && can_be_restored).then(|| "\nto put it back: threadwise restore".to_owned());
    let left = left.iter().map(|(name, left)| format!("{name:<16}{}", left.line()));
    let all: Vec<String> = done.into_iter().chain(left).chain(next).collect();
    format!("{}\n", all.join("\n"))
}

fn json_of(done: &Done, left: &[(&str, Left)]) -> String {
    let texts =
        |texts: Vec<&String>| texts.into_iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ");
    let left = left.iter().map(|(name, left)| {
        let (by, pid) = match left.by {
            By::Killed => ("killed", None),
            By::Kept => ("kept", None),
            By::Living(pid) => ("process", Some(pid)),
            By::Elsewhere => ("elsewhere", None),
            By::OnServer => ("server", None),
        };
        let pid = pid.map_or("null".to_owned(), |pid| pid.to_string());
        let (name, what, by) = (quoted(name), quoted(&left.what), quoted(by));
        format!("{{\"kind\": {name}, \"what\": {what}, \"by\": {by}, \"pid\": {pid}}}")
    });
    format!(
        "{{\"version\": 1, \"restored\": [{}], \"failed\": [{}], \"left\": [{}]}}\n",
        texts(done.iter().flatten().collect()),
        texts(done.iter().filter_map(|one| one.as_ref().err()).collect()),
        left.collect::<Vec<_>>().join(", ")
    )
}
