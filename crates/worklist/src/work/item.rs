//! One job, and its work for one item: a folder, the steps of the recipe, a check of the result.

use super::error::{WorkError, at};
use super::feed::Feed;
use super::process::ChildSlot;
use crate::plan::{Plan, Span, Step};
use crate::recipe;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use threadwise_engine::clock;
use threadwise_engine::engines::command::{ended, last_words};
use threadwise_machine::text::one_line;

/// Most characters of the reason why an item failed.
const FAULT_CHARS: usize = 2000;

/// One of N jobs that take items.
#[derive(Debug)]
pub(super) struct Job<'a> {
    plan: &'a Plan,
    /// The plan's steps with the paths of their programs.
    steps: &'a [Step],
    pub number: u32,
    stop: &'a AtomicBool,
    /// Folder of the current item.
    folder: PathBuf,
    stdout: Log,
    stderr: Log,
    child: ChildSlot,
}

impl<'a> Job<'a> {
    pub fn new(
        plan: &'a Plan,
        steps: &'a [Step],
        number: u32,
        stop: &'a AtomicBool,
    ) -> Result<Self, WorkError> {
        let log = |end: &str| Log::new(plan.work.join(format!("job-{number}.{end}")));
        let (stdout, stderr) = (log("out")?, log("err")?);
        let folder = plan.work.join(format!("job-{number}"));
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| at("make the folder", &folder, error))?;
        Ok(Self { plan, steps, number, stop, folder, stdout, stderr, child: ChildSlot::default() })
    }

    /// Processes items until there are no more, or the work must stop. An interrupted item is left out.
    pub fn work(&self, feed: &Feed<'_>) -> Vec<Span> {
        let mut spans = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let Some(index) = feed.next(self.number) else { break };
            let start_ns = clock::monotonic_ns();
            let did = self.item(index);
            let end_ns = clock::monotonic_ns();
            if did.is_err() && self.stop.load(Ordering::Relaxed) {
                break;
            }
            let fault = did.err().map(|fault| one_line(&fault, FAULT_CHARS));
            spans.push(Span { index, job: self.number, start_ns, end_ns, fault });
        }
        spans
    }

    /// Kills the job's running process.
    pub fn kill(&self) {
        self.child.kill();
    }

    /// Processes one item; the error tells why it failed.
    fn item(&self, index: usize) -> Result<(), String> {
        let why = |error: io::Error| format!("its folder {}: {error}", self.folder.display());
        fresh(&self.folder).map_err(why)?;
        let did = self.recipe(index, &self.folder);
        if did.is_ok() && self.plan.keep == Some(index) {
            let kept = self.plan.work.join(format!("item-{index}"));
            return fs::rename(&self.folder, kept).map_err(why);
        }
        // The first error is the one to report.
        did.and(fresh(&self.folder).map_err(why))
    }

    fn recipe(&self, index: usize, folder: &Path) -> Result<(), String> {
        let item = &self.plan.items[index];
        let (child, job) = (index.to_string(), self.number.to_string());
        let work_folder = folder.to_str().ok_or("the path of the work folder is not UTF-8")?;
        let values = [
            ("item", item.text.as_str()),
            ("name", item.name.as_str()),
            ("index", child.as_str()),
            ("work", work_folder),
            ("job", job.as_str()),
        ];
        let at = self.plan.folder.as_deref().unwrap_or(folder);
        for step in self.steps {
            self.step(step, at, &values).map_err(|why| format!("{}: {why}", step.name))?;
        }
        let Some(result) = &self.plan.result else { return Ok(()) };
        let result = at.join(recipe::filled_text(result, &values)?);
        look_at(&result).map_err(|why| format!("its result {} {why}", result.display()))
    }

    fn step(&self, step: &Step, at: &Path, values: &[(&str, &str)]) -> Result<(), String> {
        let words = recipe::filled(&step.command, values)?;
        let (program, arguments) = words.split_first().ok_or("there is no command")?;
        let stdin = match &step.stdin {
            None => Stdio::null(),
            Some(stdin) => {
                let path = at.join(recipe::filled_text(stdin, values)?);
                let opened = File::open(&path);
                opened
                    .map_err(|error| format!("its input {} cannot be read: {error}", path.display()))?
                    .into()
            }
        };
        let logs = self.stdout.emptied().and_then(|stdout| Ok((stdout, self.stderr.emptied()?)));
        let (stdout, stderr) = logs.map_err(|error| format!("its output cannot be kept: {error}"))?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(at).stdin(stdin).stdout(stdout).stderr(stderr);
        command.envs(&self.plan.environment);
        let name = Path::new(program).file_name().unwrap_or_default().display();
        let ran = self.child.run(&mut command, self.stop);
        let status = ran.map_err(|error| format!("{name} cannot be started: {error}"))?;
        match status {
            None => Err("stopped".to_owned()),
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let said = last_words(&self.stdout.path, &self.stderr.path);
                Err(format!("{name} {}: {said}", ended(status)))
            }
        }
    }
}

/// Checks that a recipe's result exists.
fn look_at(result: &Path) -> Result<(), String> {
    match fs::metadata(result) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err("was not made".to_owned()),
        Err(error) => Err(format!("cannot be checked: {error}")),
        Ok(found) if found.is_file() && found.len() == 0 => Err("is empty".to_owned()),
        Ok(_) => Ok(()),
    }
}

/// Makes a folder, or empties it. One for all items of a job: making and removing one for each would wait for the disk
/// more than for a small process.
fn fresh(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return DirBuilder::new().mode(0o700).create(folder);
        }
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let removed = match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path()),
            false => fs::remove_file(entry.path()),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        // The owner of the work folder removes what is left in it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A file for the output of a job's processes, one after the other; removed when the job is dropped. One for all items
/// of a job: two new files for each would cost more than a small process.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    fn new(path: PathBuf) -> Result<Self, WorkError> {
        create(&path).map(|file| Self { path, file })
    }

    /// The file for the next process, emptied. Writing appends, so that the next one begins at its start.
    fn emptied(&self) -> io::Result<Stdio> {
        if self.file.metadata()?.len() > 0 {
            self.file.set_len(0)?;
        }
        self.file.try_clone().map(Stdio::from)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // As above.
        let _ = fs::remove_file(&self.path);
    }
}

/// Creates a file that must not exist.
pub(super) fn create(path: &Path) -> Result<File, WorkError> {
    let mut options = OpenOptions::new();
    let options = options.append(true).create_new(true).mode(0o600);
    options.open(path).map_err(|error| at("make the file", path, error))
}
