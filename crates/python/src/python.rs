//! Python programs: finding and inspecting them.
//!
//! Every call has `-I` (no user site, no PYTHON variables, no current folder on the module path) and
//! `-B` (no files written beside sources). Sources: Python's documentation, "Command line and
//! environment"; PEP 600 for the glibc that a wheel needs; PEP 703 for builds without the global lock.

use crate::AnalyticsError;
use crate::programs;
use crate::requirements::{GLIBC_MINOR, MACHINES, PYTHON_MINOR};
use crate::run::{Cut, Ended, run};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Time limit of an inspection: the engines' modules are large, and a disk may be slow.
pub(crate) const LOOK_LIMIT: Duration = Duration::from_secs(120);

/// Describes a Python program. Runs on any Python 3, so that an old one can be named.
const LOOK: &str = r#"
import os, platform, sys, sysconfig
def libc():
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    except (AttributeError, OSError, ValueError):
        return "unknown"
def has(name):
    try:
        __import__(name)
        return "yes"
    except ImportError:
        return "no"
print("version %d.%d.%d" % sys.version_info[:3])
print("implementation " + sys.implementation.name)
print("system " + platform.system())
print("machine " + platform.machine())
print("bits " + str(64 if sys.maxsize > 2**32 else 32))
print("libc " + libc())
print("gil " + ("no" if sysconfig.get_config_var("Py_GIL_DISABLED") else "yes"))
print("venv " + has("venv"))
print("ensurepip " + has("ensurepip"))
"#;

/// Facts about a Python program, by the names that [`LOOK`] prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Look(BTreeMap<String, String>);

impl Look {
    fn parse(lines: &[String]) -> Self {
        let pairs = lines.iter().filter_map(|line| line.split_once(' '));
        Self(pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect())
    }

    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Its version, such as 3.11.7.
    pub(crate) fn version(&self) -> &str {
        self.get("version")
    }

    /// Why the pinned packages do not exist for it.
    pub(crate) fn misfit(&self) -> Option<String> {
        let (first, last) = PYTHON_MINOR;
        let minor = minor_version(self.version()).unwrap_or(0);
        if !(first..=last).contains(&minor) {
            return Some(format!("it is Python {}", self.version()));
        }
        if self.get("implementation") != "cpython" {
            return Some(format!("it is {}, not CPython", self.get("implementation")));
        }
        if self.get("gil") == "no" {
            return Some("it is a build without the global interpreter lock".to_owned());
        }
        if self.get("system") != "Linux"
            || !MACHINES.contains(&self.get("machine"))
            || self.get("bits") != "64"
        {
            return Some(format!(
                "it runs on {} {} with {} bits",
                self.get("system"),
                self.get("machine"),
                self.get("bits")
            ));
        }
        let glibc = self.get("libc").strip_prefix("glibc 2.").and_then(|minor| minor.parse::<u32>().ok());
        match glibc {
            None => Some(format!(
                "its C library is not glibc 2 (it says '{}'): musl, as in Alpine?",
                self.get("libc")
            )),
            Some(minor) if minor < GLIBC_MINOR => Some(format!("its C library is glibc 2.{minor}")),
            Some(_) => None,
        }
    }

    /// The command that installs what it needs to make virtual environments, if that is missing.
    pub(crate) fn lacks_venv(&self) -> bool {
        self.get("venv") != "yes" || self.get("ensurepip") != "yes"
    }
}

/// The Pythons for which the pinned packages exist, as text.
pub(crate) fn wanted() -> String {
    let (first, last) = PYTHON_MINOR;
    format!(
        "the pinned packages exist for CPython 3.{first} to 3.{last} with glibc 2.{GLIBC_MINOR} or newer on {}",
        MACHINES.join(" and ")
    )
}

/// The 11 of 3.11.7; `None` if the major version is not 3.
fn minor_version(version: &str) -> Option<u32> {
    version.strip_prefix("3.")?.split('.').next()?.parse().ok()
}

/// The program named by `text`: a path, or a name on `path`. Links are kept, since a
/// virtual environment is identified by the path of its `python`.
pub(crate) fn resolve(text: &OsStr, path: &OsStr) -> Result<PathBuf, AnalyticsError> {
    let lacks = |why: &str| AnalyticsError::Input(format!("python '{}': {why}", text.display()));
    let found = if text.as_encoded_bytes().contains(&b'/') {
        std::path::absolute(text).ok()
    } else {
        programs::on_path(text, path)
    };
    let found = found.ok_or_else(|| lacks("there is no such program on PATH"))?;
    match programs::is_program(&found) {
        true => Ok(found),
        false => Err(lacks("that is not a program: name one, such as /usr/bin/python3")),
    }
}

/// Inspects a Python program by running it once.
pub(crate) fn look(python: &Path, stop: &AtomicBool) -> Result<Look, String> {
    let ended = call(python, LOOK, &[], stop).map_err(|cut| cut.words(&python.display().to_string()))?;
    let look = Look::parse(&ended.output);
    match ended.status.success() && !look.version().is_empty() {
        true => Ok(look),
        false => Err(format!("{} is not a working Python 3 ({})", python.display(), reason(&ended))),
    }
}

/// The version of the Python of an environment, read in the quickest way.
pub(crate) fn version(python: &Path) -> Result<String, String> {
    let mut command = Command::new(python);
    command.args(["-I", "-B", "-S", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"]);
    let never = AtomicBool::new(false);
    let ended = run(&mut command, Some(LOOK_LIMIT), &never, &mut |_| {})
        .map_err(|cut| cut.words(&python.display().to_string()))?;
    match (ended.status.success(), ended.output.as_slice()) {
        (true, [version]) => Ok(version.clone()),
        _ => Err(format!("{} does not run ({})", python.display(), reason(&ended))),
    }
}

/// Runs a text of Python.
pub(crate) fn call(python: &Path, text: &str, args: &[&str], stop: &AtomicBool) -> Result<Ended, Cut> {
    let mut command = Command::new(python);
    command.args(["-I", "-B", "-c", text]).args(args);
    run(&mut command, Some(LOOK_LIMIT), stop, &mut |_| {})
}

/// The line in which a failed program explains itself: the last one of a Python traceback, else the first;
/// its exit status if it printed nothing or was killed.
pub(crate) fn reason(ended: &Ended) -> String {
    let is_traceback = ended.all.iter().any(|line| line.starts_with("Traceback"));
    let line = if is_traceback { ended.all.last() } else { ended.all.first() };
    match (line, ended.status.code()) {
        (Some(line), Some(_)) => line.trim().to_owned(),
        _ => ended.status.to_string(),
    }
}

/// A Python that can make an environment for the pinned packages: the named one, else the
/// first suitable one of `python3` and `python3.MINOR` on `path`.
///
/// # Errors
/// None is suitable; the message explains why the named one, or `python3`, is not.
pub(crate) fn find(
    named: Option<&OsStr>,
    path: &OsStr,
    stop: &AtomicBool,
) -> Result<(PathBuf, Look), AnalyticsError> {
    if let Some(named) = named {
        let python = resolve(named, path)?;
        return fitting(&python, stop).map(|look| (python, look));
    }
    let (first, last) = PYTHON_MINOR;
    let names = std::iter::once("python3".to_owned())
        .chain((first..=last).rev().map(|minor| format!("python3.{minor}")));
    let mut first_error = None;
    for python in names.filter_map(|name| programs::on_path(OsStr::new(&name), path)) {
        match fitting(&python, stop) {
            Ok(look) => return Ok((python, look)),
            Err(AnalyticsError::Stopped) => return Err(AnalyticsError::Stopped),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| {
        AnalyticsError::Lacks(format!(
            "there is no python3 on PATH: install it (Debian: apt-get install python3 python3-venv), or choose \
             one with --python; {}",
            wanted()
        ))
    }))
}

fn fitting(python: &Path, stop: &AtomicBool) -> Result<Look, AnalyticsError> {
    let looked = look(python, stop);
    if stop.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(AnalyticsError::Stopped);
    }
    let look = looked.map_err(AnalyticsError::Lacks)?;
    if let Some(why) = look.misfit() {
        let next = "choose another one with --python";
        return Err(AnalyticsError::Lacks(format!(
            "{} does not fit: {why}; {}; {next}",
            python.display(),
            wanted()
        )));
    }
    if look.lacks_venv() {
        return Err(AnalyticsError::Lacks(format!(
            "{} cannot make virtual environments (its modules venv and ensurepip are not installed): \
             apt-get install python3-venv, or choose another one with --python",
            python.display()
        )));
    }
    Ok(look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    const FIT: [(&str, &str); 9] = [
        ("version", "3.12.1"),
        ("implementation", "cpython"),
        ("system", "Linux"),
        ("machine", "x86_64"),
        ("bits", "64"),
        ("libc", "glibc 2.36"),
        ("gil", "yes"),
        ("venv", "yes"),
        ("ensurepip", "yes"),
    ];

    fn look_with(name: &str, value: &str) -> Look {
        let mut lines: Vec<String> = FIT.iter().map(|(name, value)| format!("{name} {value}")).collect();
        lines.retain(|line| !line.starts_with(name));
        lines.push(format!("{name} {value}"));
        Look::parse(&lines)
    }

    #[test]
    fn what_has_no_wheels_is_named() {
        assert_eq!(look_with("bits", "64").misfit(), None);
        for (name, value, word) in [
            ("version", "3.10.13", "Python 3.10.13"),
            ("version", "3.15.0", "Python 3.15.0"),
            ("version", "2.7.18", "Python 2.7.18"),
            ("implementation", "pypy", "pypy"),
            ("machine", "riscv64", "riscv64"),
            ("bits", "32", "32 bits"),
            ("system", "Darwin", "Darwin"),
            ("libc", "unknown", "musl"),
            ("libc", "glibc 2.17", "glibc 2.17"),
            ("gil", "no", "global interpreter lock"),
        ] {
            let why = look_with(name, value).misfit().unwrap_or_default();
            assert!(why.contains(word), "{name} {value}: {why}");
        }
    }

    #[test]
    fn a_python_without_venv_is_refused_with_the_package() {
        let fake = Fake::new().look("ensurepip no");
        let error = find(Some(fake.python().as_os_str()), OsStr::new(""), &AtomicBool::new(false));
        let message = error.unwrap_err().to_string();
        assert!(message.contains("apt-get install python3-venv"), "{message}");
    }

    #[test]
    fn a_program_that_is_no_python_is_distinguished_from_an_unfit_one() {
        let never = AtomicBool::new(false);
        let message = |python: &str| {
            find(Some(OsStr::new(python)), OsStr::new("/usr/bin:/bin"), &never).unwrap_err().to_string()
        };
        assert!(message("/bin/false").contains("not a working Python 3"), "{}", message("/bin/false"));
        assert!(message("no-such-python").contains("no such program on PATH"));
        assert!(message("/etc/passwd").contains("that is not a program"));
        assert!(
            find(None, OsStr::new("/proc/nowhere"), &never).unwrap_err().to_string().contains("--python")
        );
    }

    #[test]
    fn the_first_that_fits_is_taken() {
        let old = Fake::new().look("version 3.9.2");
        let new = Fake::new().look("version 3.13.5");
        std::fs::rename(new.python(), new.python().with_file_name("python3.13")).unwrap();
        std::fs::rename(old.python(), old.python().with_file_name("python3")).unwrap();
        let folder = |fake: &Fake| fake.python().parent().unwrap().to_owned();
        let never = AtomicBool::new(false);
        let path = std::env::join_paths([folder(&old), folder(&new), "/usr/bin".into(), "/bin".into()]);
        let (python, look) = find(None, &path.unwrap(), &never).unwrap();
        assert!(python.ends_with("python3.13") && look.version() == "3.13.5", "{}", python.display());
        let only_old = std::env::join_paths([folder(&old)]).unwrap();
        let message = find(None, &only_old, &never).unwrap_err().to_string();
        assert!(message.contains("Python 3.9.2") && message.contains("3.11 to 3.14"), "{message}");
    }
}
