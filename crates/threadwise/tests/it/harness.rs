//! Runs the built program in a private folder and looks at what it leaves.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The length of a study whose numbers are compared with those of another.
pub const BLOCKS: &str = "--blocks=24";

/// A private folder with its own temporary folder inside, so that leftovers are seen.
pub struct Lab {
    folder: tempfile::TempDir,
}

/// What one call did.
pub struct Said {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The program that tests start: the one that THREADWISE_TEST_PROGRAM names, as in CI the one that
/// `cargo xtask dist` made, or the one that was built with the tests.
pub fn program() -> String {
    std::env::var("THREADWISE_TEST_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_threadwise").to_owned())
}

impl Lab {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tmp")).unwrap();
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn tmp(&self) -> PathBuf {
        self.path().join("tmp")
    }

    /// Where journals of masks are.
    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).current_dir(self.path()).env("TMPDIR", self.tmp()).stdin(Stdio::null());
        command.env("THREADWISE_STATE_DIR", self.state());
        command.env_remove("NO_COLOR").env("LANG", "C.UTF-8");
        command
    }

    pub fn run(&self, args: &[&str]) -> Said {
        said(self.command(args).output().unwrap())
    }

    /// Runs and insists on success.
    pub fn ok(&self, args: &[&str]) -> Said {
        let said = self.run(args);
        assert_eq!(said.code, Some(0), "{args:?}\n{}\n{}", said.stdout, said.stderr);
        said
    }

    /// Names in the folder, without `tmp` and `state`.
    pub fn files(&self) -> Vec<String> {
        names(self.path()).into_iter().filter(|name| name != "tmp" && name != "state").collect()
    }

    /// What is left in the temporary folder, and journals of masks.
    pub fn leftovers(&self) -> Vec<String> {
        let journals = if self.state().exists() { names(&self.state()) } else { Vec::new() };
        names(&self.tmp()).into_iter().chain(journals).collect()
    }

    /// A short study on the model engine, of a given number of blocks: what the default budget
    /// allows depends on the machine's speed. Eight blocks are the fewest of which a verdict makes no reservation.
    pub fn simulated(&self, output: &str, more: &[&str]) -> Said {
        let mut args =
            vec!["run", "--engine", "simulated", "--seed", "7", "--allow-busy", "--output", output];
        args.extend(more);
        if !more.iter().any(|arg| arg.starts_with("--blocks")) {
            args.push("--blocks=8");
        }
        if !more.iter().any(|arg| ["--json", "--plan", "--all"].contains(arg)) {
            args.push("--all");
        }
        self.run(&args)
    }
}

/// Whether Python is here; where it is not, says that these tests are skipped.
pub fn has_python(what: &str) -> bool {
    let is_here = Command::new("python3").arg("--version").output().is_ok();
    if !is_here {
        // Not by the macro, whose output the test program keeps back.
        let line = format!("SKIPPED: {what}: no python3 here (Debian: python3)\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    }
    is_here
}

pub fn said(output: Output) -> Said {
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Waits for the watchdog; a bound, not a measurement.
pub fn wait_until_clean(lab: &Lab) {
    let end = Instant::now() + Duration::from_secs(60);
    while !lab.leftovers().is_empty() {
        assert!(Instant::now() < end, "left behind: {:?}", lab.leftovers());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Processes whose environment names the lab's temporary folder.
pub fn living(lab: &Lab) -> Vec<String> {
    let needle = format!("TMPDIR={}", lab.tmp().display()).into_bytes();
    let ours = |pid: &str| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == needle)
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(|pid| ours(pid)).collect()
}

/// The estimates of a family in a JSON report.
pub fn estimates_of<'r>(report: &'r Value, family: &str) -> Vec<&'r Value> {
    report["estimates"].as_array().unwrap().iter().filter(|one| one["family"] == family).collect()
}

/// The value of a treatment's metric in a JSON report.
pub fn metric_of(report: &Value, treatment: &str, metric: &str) -> Option<f64> {
    let all = estimates_of(report, "treatments");
    let is_it = |one: &&&Value| one["treatment"] == treatment && one["figure"] == format!("metrics.{metric}");
    all.iter().find(is_it)?["value"].as_f64()
}
