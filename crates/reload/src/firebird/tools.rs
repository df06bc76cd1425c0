//! Firebird's programs: finding them, and running them embedded, in the item's own work folder,
//! with their lock and sort files there, as a process that ends with this one.
//!
//! Source: `gbak(1)`, `gfix(1)`, `isql-fb(1)`; Firebird 3.0's `src/yvalve` (a path without a host goes to
//! the engine library in the same process; that engine accepts the given user name without a
//! password) and `src/common/isc_file.cpp` (a path with `:` is parsed as HOST:PATH).

use crate::error::ItemError;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use threadwise_process::spawn::{self, DeathSignal, Program};
use threadwise_process::{programs, stopping};

/// Program folders of installations outside PATH.
const FOLDERS: [&str; 2] = ["/opt/firebird/bin", "/usr/lib*/firebird/bin"];
/// The advice for a missing program.
const ADVICE: &str = "install Firebird's tools and engine (Debian: firebird3.0-utils and \
                      firebird3.0-server-core) or name their folder with the option bin";
/// Interval of checks whether the user asked to stop while a program runs.
const STEP: Duration = Duration::from_millis(100);

/// Less space than Firebird's lock table needs.
const LITTLE_BYTES: u64 = 2 << 20;

/// Firebird's programs, and env(1), which sets their environment.
#[derive(Debug, Clone)]
pub(super) struct Tools {
    env: PathBuf,
    gbak: PathBuf,
    gfix: PathBuf,
    isql: PathBuf,
}

/// Which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Gbak,
    Gfix,
    Isql,
}

/// Why a program failed.
#[derive(Debug)]
pub(super) enum ToolError {
    /// The user asked to stop; the program was killed.
    Stopped,
    /// Its output, or why it could not be run, in one line.
    Failed(String),
}

impl ToolError {
    /// As the failure of an item: `what` could not be done, and why.
    pub fn of(self, what: &str) -> ItemError {
        match self {
            Self::Stopped => ItemError::Stopped,
            Self::Failed(why) => ItemError::failed(format!("{what}: {why}")),
        }
    }
}

/// Refuses unknown options, in one line.
pub(super) fn options(options: &BTreeMap<String, String>) -> Result<(), String> {
    match options.keys().find(|key| *key != "bin") {
        Some(unknown) => Err(format!("unknown option {unknown} of firebird; there is: bin=FOLDER")),
        None => Ok(()),
    }
}

impl Tools {
    /// The programs, from the folder `bin` of the options, from PATH, or from the folders of packages.
    ///
    /// # Errors
    /// The missing program, and what to do; or an unknown option.
    pub fn find(options: &BTreeMap<String, String>) -> Result<Self, String> {
        self::options(options)?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let (folders, searched): (Vec<&str>, &OsStr) = match options.get("bin") {
            Some(folder) => (vec![folder], OsStr::new("")),
            None => (FOLDERS.to_vec(), &path),
        };
        let found = |names: &[&str]| {
            programs::find(names, &folders, searched)
                .ok_or_else(|| format!("there is no {}; {ADVICE}", names.join(" or ")))
        };
        let gbak = found(&["gbak"])?;
        // A program `isql` on PATH may be unixODBC's; beside gbak it is Firebird's.
        let beside =
            gbak.parent().map(|folder| folder.join("isql")).filter(|isql| programs::is_program(isql));
        let isql = match (found(&["isql-fb"]), beside) {
            (Ok(isql), _) | (Err(_), Some(isql)) => isql,
            (Err(missing), None) => return Err(missing),
        };
        let env =
            programs::find(&["env"], &["/usr/bin", "/bin"], &path).ok_or("there is no env(1) on PATH")?;
        Ok(Self { env, gfix: found(&["gfix"])?, gbak, isql })
    }

    /// Firebird's version and the folder of its programs, in one line. Makes no file.
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn version(&self) -> Result<String, String> {
        let mut command = Command::new(&self.gbak);
        command.arg("-z").env_clear().env("LC_ALL", "C.UTF-8").current_dir("/").stdin(Stdio::null());
        command.envs(std::env::var_os("FIREBIRD").map(|root| ("FIREBIRD", root)));
        let output =
            command.output().map_err(|error| format!("cannot start {}: {error}", self.gbak.display()))?;
        // Without files gbak ends with an error, after its version.
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let version = said.split_whitespace().find(|word| word.contains("-V") || word.contains("-T"));
        let version =
            version.ok_or_else(|| format!("{} printed no version: {}", self.gbak.display(), short(&said)))?;
        Ok(format!("gbak {version} ({}), embedded, without a server", self.gbak.display()))
    }

    /// Runs a program in the work folder to its end, and returns its output. Its database is named
    /// `./FILE`: a name without a slash could be an alias of the installation.
    ///
    /// # Errors
    /// See [`ToolError`].
    pub fn run(
        &self,
        folder: &Path,
        tool: Tool,
        args: &[&str],
        name: &str,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<String, ToolError> {
        let failed = |why: &dyn std::fmt::Display| ToolError::Failed(why.to_string());
        let locks = folder.join("locks");
        fs::create_dir_all(&locks).map_err(|error| failed(&format!("{}: {error}", locks.display())))?;
        let log = folder.join(format!("{name}.log"));
        // The output of an earlier run of the same program must not count as this one's.
        if let Err(error) = fs::remove_file(&log)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(failed(&format!("{}: {error}", log.display())));
        }
        let args = self.arguments(folder, &locks, tool, args);
        let program = Program {
            program: &self.env,
            args: &args,
            user: None,
            folder,
            log: &log,
            death_signal: DeathSignal::Kill,
            cpus: None,
        };
        let mut child = spawn::start(&program).map_err(|error| failed(&error))?;
        let status = loop {
            match stopping::wait(&mut child, STEP) {
                Ok(Some(status)) => break status,
                Ok(None) if is_stopped() => {
                    return match stopping::kill_group(&mut child) {
                        Ok(_) => Err(ToolError::Stopped),
                        Err(error) => Err(failed(&error)),
                    };
                }
                Ok(None) => {}
                Err(error) => return Err(failed(&error)),
            }
        };
        let said =
            fs::read(&log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        if status.success() {
            return Ok(said);
        }
        Err(ToolError::Failed(match short(&said) {
            said if said.is_empty() => {
                let program = self.path(tool).display();
                format!("{program} ended with {status} and no output{}", full(status, folder))
            }
            said => said,
        }))
    }

    fn path(&self, tool: Tool) -> &Path {
        match tool {
            Tool::Gbak => &self.gbak,
            Tool::Gfix => &self.gfix,
            Tool::Isql => &self.isql,
        }
    }

    /// The environment as assignments for env(1), the program, its arguments. None of
    /// them is secret: the embedded engine asks for no password.
    fn arguments(&self, folder: &Path, locks: &Path, tool: Tool, args: &[&str]) -> Vec<OsString> {
        let set = |name: &str, value: &OsStr| {
            let mut assignment = OsString::from(name);
            assignment.push("=");
            assignment.push(value);
            assignment
        };
        let mut all = vec![
            set("FIREBIRD_LOCK", locks.as_os_str()),
            set("FIREBIRD_TMP", folder.as_os_str()),
            // In the plain C locale the engine refuses a path with a letter that is not ASCII.
            set("LC_ALL", OsStr::new("C.UTF-8")),
        ];
        all.extend(std::env::var_os("FIREBIRD").map(|root| set("FIREBIRD", &root)));
        all.push(self.path(tool).as_os_str().to_owned());
        all.extend(args.iter().map(OsString::from));
        all
    }
}

/// Whether Firebird accepts this path, and if not, why.
pub(super) fn plain_path(path: &Path) -> Result<(), String> {
    if path.to_str().is_none() {
        return Err("its path is not UTF-8, which Firebird's programs refuse".to_owned());
    }
    if path.as_os_str().as_bytes().contains(&b':') {
        return Err("its path has a colon, before which Firebird expects a host".to_owned());
    }
    Ok(())
}

/// The assumed cause of an end by SIGBUS: memory mapped from a file gives it when
/// there is no space for its pages (`mmap(2)`), and Firebird maps its lock table so.
fn full(status: ExitStatus, folder: &Path) -> String {
    let free = threadwise_process::space::free_bytes(folder);
    let by_bus = status.signal() == Some(rustix::process::Signal::BUS.as_raw());
    match free {
        Ok(free) if by_bus && free < LITTLE_BYTES => {
            format!(
                ": the disk of {} seems to be full ({free} bytes are free); free some space there",
                folder.display()
            )
        }
        _ => String::new(),
    }
}

/// Beginnings of lines that do not show the cause.
const NOISE: [&str; 3] = ["Exiting before completion", "Statement failed, SQLSTATE", "After line "];

/// The last informative lines, as one line.
fn short(said: &str) -> String {
    let line = |line: &str| {
        let line = line.trim().trim_start_matches("gbak:").trim_start();
        line.trim_start_matches("ERROR:").trim_start_matches('-').trim().to_owned()
    };
    let lines: Vec<String> = said
        .lines()
        .map(line)
        .filter(|line| !line.is_empty() && !NOISE.iter().any(|noise| line.starts_with(noise)))
        .collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_said_is_one_line() {
        let said = "gbak: ERROR:I/O error during \"lock\" operation for file \"./copy\"\n\
                    gbak: ERROR:    Database already opened with engine instance\n\
                    gbak:Exiting before completion due to errors\n";
        assert_eq!(
            short(said),
            "I/O error during \"lock\" operation for file \"./copy\"; Database already opened with engine instance"
        );
        assert_eq!(
            short(
                "\nStatement failed, SQLSTATE = 08001\nno access\n-Permission denied\nAfter line 1 in file f\n"
            ),
            "no access; Permission denied"
        );
        assert_eq!(short("gbak:Exiting before completion due to errors"), "");
    }

    /// `/proc` has no room, ever.
    #[test]
    fn a_bus_error_where_there_is_no_room_is_a_full_disk() {
        let (bus, kill) = (ExitStatus::from_raw(7), ExitStatus::from_raw(9));
        assert!(full(bus, Path::new("/proc")).contains("free some space there"));
        assert_eq!(full(kill, Path::new("/proc")), "");
        assert_eq!(full(bus, Path::new("/proc/nowhere/at/all")), "");
    }

    #[test]
    fn paths_that_firebird_would_misread_are_refused() {
        assert!(plain_path(Path::new("/data/my base's \"ü\"\n.fdb")).is_ok());
        assert!(plain_path(Path::new("/data/host:base.fdb")).unwrap_err().contains("host"));
        assert!(plain_path(Path::new(OsStr::from_bytes(b"/data/\xe9"))).unwrap_err().contains("UTF-8"));
    }

    #[test]
    fn a_missing_program_and_an_unknown_option_say_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().to_str().unwrap().to_owned();
        let missing = Tools::find(&BTreeMap::from([("bin".to_owned(), bin)])).unwrap_err();
        assert!(missing.contains("no gbak") && missing.contains("firebird3.0-utils"), "{missing}");
        let unknown = Tools::find(&BTreeMap::from([("host".to_owned(), "x".to_owned())])).unwrap_err();
        assert!(unknown.contains("host") && unknown.contains("bin=FOLDER"), "{unknown}");
    }
}
