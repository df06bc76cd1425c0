//! Runs an engine's commands. A query has a time limit; a command that changes something has none, since after a kill
//! it would be unknown whether it was done.
//!
//! Output goes to files in memory (`memfd_create(2)`), so that nothing waits for a leftover child process that holds a
//! pipe open.

use crate::engine::Call;
use rustix::fs::MemfdFlags;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use threadwise_machine::text::one_line;
use threadwise_process::{Signal, proc, stopping};

/// Time limit of a query. It exceeds the time after which Slurm's clients give up: squeue without a controller took
/// half a minute.
pub const QUESTION: Duration = Duration::from_secs(120);
/// Maximum length of a command's error text, characters.
const MOST_WHY: usize = 300;

/// Where a command runs, and which environment variables it does not inherit.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The folder.
    pub dir: PathBuf,
    /// Variables that are removed.
    pub without: Vec<String>,
}

impl Surroundings {
    /// A folder, with the whole environment.
    pub fn folder(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), without: Vec::new() }
    }
}

/// Runs a query in a folder and returns its output.
///
/// # Errors
/// One line: it could not be started, failed, or was killed after `limit`.
pub fn ask(call: &Call, around: &Surroundings, limit: Duration) -> Result<String, String> {
    kept(call, around, Some(limit))
}

/// Runs a command in a folder without a time limit, and returns its output.
///
/// # Errors
/// One line: it could not be started, or failed.
pub fn run(call: &Call, around: &Surroundings) -> Result<String, String> {
    kept(call, around, None)
}

/// Runs a command in a folder to its end, with inherited output.
///
/// # Errors
/// One line: it could not be started, or failed.
pub fn show(call: &Call, around: &Surroundings) -> Result<(), String> {
    let status = prepared(call, around).status().map_err(|error| not_started(call, &error))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{} ended with {status}", call.program)),
    }
}

fn prepared(call: &Call, around: &Surroundings) -> Command {
    let mut command = Command::new(&call.program);
    command.args(&call.args).current_dir(&around.dir).stdin(Stdio::null());
    for name in &around.without {
        command.env_remove(name);
    }
    command
}

fn not_started(call: &Call, error: &std::io::Error) -> String {
    let hint = match error.kind() {
        ErrorKind::NotFound => ": is it installed, and on PATH?",
        _ => "",
    };
    format!("cannot start {}: {error}{hint}", call.program)
}

fn kept(call: &Call, around: &Surroundings, limit: Option<Duration>) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", call.program);
    let (mut printed, mut said) = (in_memory().map_err(failed)?, in_memory().map_err(failed)?);
    let mut command = prepared(call, around);
    command.stdout(printed.try_clone().map_err(failed)?).stderr(said.try_clone().map_err(failed)?);
    let mut child = command.spawn().map_err(|error| not_started(call, &error))?;
    let status = ended(&mut child, limit).map_err(failed)?;
    let said = one_line(&text(&mut said).map_err(failed)?, MOST_WHY);
    match status {
        Some(status) if status.success() => text(&mut printed).map_err(failed),
        Some(status) if said.is_empty() => Err(format!("{} ended with {status}", call.program)),
        Some(_) => Err(format!("{}: {said}", call.program)),
        None => {
            let said = if said.is_empty() { said } else { format!(": {said}") };
            let limit_s = limit.unwrap_or_default().as_secs();
            Err(format!(
                "{} did not answer within {limit_s} s and was killed{said}; run it by hand to see why",
                call.program
            ))
        }
    }
}

/// Waits for the end; `None` if it was killed after the limit.
fn ended(child: &mut Child, limit: Option<Duration>) -> std::io::Result<Option<ExitStatus>> {
    let Some(limit) = limit else { return child.wait().map(Some) };
    let status = stopping::wait(child, limit)?;
    if status.is_none() {
        end_with_descendants(child)?;
    }
    Ok(status)
}

/// Kills it, and then its children: a client may be a shell script around another one.
fn end_with_descendants(child: &mut Child) -> std::io::Result<()> {
    let mut found = vec![child.id()];
    let mut at = 0;
    while let Some(&pid) = found.get(at) {
        found.extend(proc::children(pid));
        at += 1;
    }
    let started = |pid: u32| proc::start_time(pid, pid);
    let below: Vec<(u32, Option<u64>)> = found[1..].iter().map(|&pid| (pid, started(pid))).collect();
    child.kill()?;
    child.wait()?;
    for (pid, start) in below {
        // A process of another user cannot be killed.
        let _ = proc::signal_if(pid, Signal::KILL, || start.is_some() && started(pid) == start);
    }
    Ok(())
}

fn in_memory() -> std::io::Result<File> {
    Ok(rustix::fs::memfd_create("threadwise-command", MemfdFlags::CLOEXEC)?.into())
}

fn text(file: &mut File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Call {
        Call::new("sh", ["-c", script])
    }

    #[test]
    fn what_is_printed_is_kept_and_a_failure_says_why() {
        let here = &Surroundings::folder(Path::new("/"));
        assert_eq!(ask(&shell("printf 'a\\nb'; echo no >&2"), here, QUESTION), Ok("a\nb".to_owned()));
        assert_eq!(run(&shell("pwd"), here), Ok("/\n".to_owned()));
        assert_eq!(
            run(&shell("echo 'no such\npartition' >&2; exit 3"), here).unwrap_err(),
            "sh: no such partition"
        );
        assert!(show(&shell("exit 3"), here).unwrap_err().starts_with("sh ended with exit status: 3"));
        let without = Surroundings { without: vec!["PATH".to_owned()], ..here.clone() };
        let printed = run(&Call::new("/usr/bin/env", [""; 0]), &without).unwrap();
        assert!(!printed.is_empty() && !printed.lines().any(|line| line.starts_with("PATH=")), "{printed}");
        let error = ask(&Call::new("no-such-program", [""; 0]), here, QUESTION).unwrap_err();
        assert!(error.contains("no-such-program") && error.contains("on PATH?"), "{error}");
    }

    #[test]
    fn a_question_that_is_never_answered_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let script = "sleep 600 & echo $! > pid; echo waiting >&2; sleep 600; exit";
        // On a busy machine it may not have come so far within two seconds.
        let begun = [2, 8, 60].into_iter().find_map(|limit_s| {
            let limit = Duration::from_secs(limit_s);
            let error = ask(&shell(script), &Surroundings::folder(folder.path()), limit).unwrap_err();
            assert!(
                error.starts_with(&format!("sh did not answer within {limit_s} s and was killed")),
                "{error}"
            );
            error.contains("killed: waiting; run it by hand to see why").then(|| folder.path().join("pid"))
        });
        let pid: u32 = std::fs::read_to_string(begun.unwrap()).unwrap().trim().parse().unwrap();
        while !proc::has_ended(pid) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
