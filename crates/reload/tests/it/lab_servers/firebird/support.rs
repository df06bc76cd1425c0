//! Databases for tests, and questions to them as any user of Firebird asks.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use threadwise_reload::driver::{Driver, Settings};
use threadwise_reload::item::{ItemOptions, Outcome, Report, reload};

/// A folder of databases, with a lock folder that all of the test's own Firebird processes share.
pub struct Place {
    folder: TempDir,
    locks: TempDir,
}

pub fn place() -> Place {
    Place { folder: tempfile::tempdir().unwrap(), locks: tempfile::tempdir().unwrap() }
}

/// Longer than a program needs from `fork` to `exec`: so long it has the locks of the whole test program.
const WAIT: Duration = Duration::from_millis(300);

pub fn settings() -> Settings {
    Settings { wait: WAIT, ..Settings::default() }
}

pub fn driver(settings: &Settings) -> Box<dyn Driver> {
    threadwise_reload::driver("firebird", settings).unwrap()
}

/// Reloads a file as the command does.
pub fn reloaded(path: &Path, options: &ItemOptions) -> Report {
    reload(path, driver(&options.settings).as_ref(), options, &|_| {})
}

pub fn options() -> ItemOptions {
    ItemOptions { settings: settings(), ..ItemOptions::default() }
}

impl Place {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// A program of Firebird in this folder.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("FIREBIRD_LOCK", self.locks.path())
            .env("LC_ALL", "C.UTF-8")
            .env_remove("ISC_USER")
            .env_remove("ISC_PASSWORD")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, program: &str, args: &[S]) -> Output {
        self.command(program).args(args).output().unwrap()
    }

    /// Runs a tool that has to end well.
    pub fn tool<S: AsRef<OsStr> + std::fmt::Debug>(&self, program: &str, args: &[S]) {
        let output = self.run(program, args);
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
    }

    /// Makes a database of a user by a script.
    pub fn create(&self, name: &str, owner: &str, clauses: &str, script: &str) -> PathBuf {
        let path = self.path(name);
        let text = format!("create database '{}' {clauses};\n{script}", path.display());
        let file = self.path("create.sql");
        std::fs::write(&file, text).unwrap();
        self.tool("isql-fb", &["-q", "-b", "-nod", "-ch", "UTF8", "-user", owner, "-i", "create.sql"]);
        std::fs::remove_file(file).unwrap();
        path
    }

    /// The table `items` with so many numbered rows.
    pub fn numbered(&self, name: &str, rows: u32) -> PathBuf {
        let inserts: String = (1..=rows).map(|n| format!("insert into items values ({n});\n")).collect();
        let script =
            format!("create table items (n integer not null primary key); commit;\n{inserts}commit;\n");
        self.create(name, "SYSDBA", "page_size 4096", &script)
    }

    /// What a script prints, in lines; or what Firebird said against it.
    pub fn sql(&self, database: &Path, script: &str) -> Result<Vec<String>, String> {
        let file = tempfile::NamedTempFile::new_in(self.folder.path()).unwrap();
        std::fs::write(file.path(), format!("set heading off;\n{script}\n")).unwrap();
        let mut command = self.command("isql-fb");
        command.args(["-q", "-b", "-nod", "-ch", "UTF8", "-user", "SYSDBA", "-i"]);
        let output = command.arg(file.path()).arg(database).output().unwrap();
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// The rows of the table `items`.
    pub fn rows(&self, database: &Path) -> Result<Vec<u32>, String> {
        let lines = self.sql(database, "select n from items order by n;")?;
        Ok(lines.iter().map(|line| line.parse().unwrap()).collect())
    }

    /// Names of all files in the folder.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub fn kept(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".before-reload");
    name.into()
}

/// The reason of a skip.
pub fn reason(report: &Report) -> &str {
    match &report.outcome {
        Outcome::Skipped(reason) => reason,
        other => panic!("not skipped but {other:?}"),
    }
}

pub fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}
