//! For tests: a program that answers like a Python, and fails on request.

use crate::engine::environments;
use crate::requirements::Requirements;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A shell script in place of `python`, with a generator beside it.
pub(crate) struct Fake {
    folder: tempfile::TempDir,
    python: PathBuf,
    look: Vec<String>,
    packages: Vec<String>,
    venv: String,
    pip: String,
}

impl Fake {
    /// A suitable one that succeeds.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        let python = folder.path().join("bin/python");
        let look = [
            "version 3.12.1",
            "implementation cpython",
            "system Linux",
            "machine x86_64",
            "bits 64",
            "libc glibc 2.36",
            "gil yes",
            "venv yes",
            "ensurepip yes",
        ];
        let pins = environments().flat_map(Requirements::pins);
        let pins = pins.map(|pin| format!("version {} {}", pin.name, pin.version));
        let fake = Self {
            folder,
            python,
            look: look.map(str::to_owned).to_vec(),
            packages: pins.chain(["generator HERE/tpchgen-cli".to_owned()]).collect(),
            venv: "mkdir -p \"$4/bin\" && cp \"$0\" \"$4/bin/python\" && cp \"$here/tpchgen-cli\" \"$4/bin\""
                .to_owned(),
            pip: "echo 'Downloading duckdb-2.0.0-cp312-abi3.whl (24.4 MB)'".to_owned(),
        };
        executable(&fake.folder.path().join("bin/tpchgen-cli"), "#!/bin/sh\necho tpchgen-cli 4.0.0\n");
        fake.written()
    }

    /// With another answer about itself, such as `version 3.9.2`.
    pub(crate) fn look(mut self, line: &str) -> Self {
        replace(&mut self.look, line, 1);
        self.written()
    }

    /// With another answer about its packages: `lacks NAME`, `broken NAME WHY`, `version NAME X`,
    /// `generator` for none, `exit` for a failure.
    pub(crate) fn packages(mut self, line: &str) -> Self {
        match line.split_once(' ') {
            Some(("lacks", name)) => {
                self.packages.retain(|line| !line.starts_with(&format!("version {name} ")));
            }
            Some(("broken", _)) => self.packages.push(line.to_owned()),
            Some(_) => replace(&mut self.packages, line, 2),
            None if line == "exit" => self.packages.clear(),
            None => self.packages.retain(|kept| !kept.starts_with(line)),
        }
        self.written()
    }

    /// With another action for `-m venv`.
    pub(crate) fn venv(mut self, shell: &str) -> Self {
        self.venv = shell.to_owned();
        self.written()
    }

    /// With another action for `-m pip`.
    pub(crate) fn pip(mut self, shell: &str) -> Self {
        self.pip = shell.to_owned();
        self.written()
    }

    /// The program.
    pub(crate) fn python(&self) -> &Path {
        &self.python
    }

    /// The generator beside it.
    pub(crate) fn generator(&self) -> PathBuf {
        self.folder.path().join("bin/tpchgen-cli")
    }

    /// Puts the program elsewhere.
    pub(crate) fn put_at(&self, path: &Path) {
        executable(path, &self.script());
    }

    fn written(self) -> Self {
        executable(&self.python, &self.script());
        self
    }

    fn script(&self) -> String {
        let say = |lines: &[String]| {
            let lines = lines.iter().map(|line| format!("    echo \"{}\"\n", line.replace("HERE", "$here")));
            lines.collect::<String>()
        };
        let version = self.look[0].strip_prefix("version ").unwrap_or_default();
        let packages = match self.packages.is_empty() {
            true => "    echo Error; exit 1\n".to_owned(),
            false => say(&self.packages) + "    echo end\n",
        };
        format!(
            "#!/bin/sh\nhere=$(dirname \"$0\")\ncase \"$*\" in\n  *importlib*)\n{packages}    ;;\n  *ensurepip*)\n{}    ;;\n  \
             *'-m venv'*) {} ;;\n  *'-m pip'*) {} ;;\n  *) echo '{version}' ;;\nesac\n",
            say(&self.look),
            self.venv,
            self.pip
        )
    }
}

/// Replaces the line that begins with the same words.
fn replace(lines: &mut [String], line: &str, words: usize) {
    let head = |line: &str| line.split(' ').take(words).map(str::to_owned).collect::<Vec<_>>();
    for old in lines.iter_mut().filter(|old| head(old) == head(line)) {
        *old = line.to_owned();
    }
}

/// Makes a program by another process, so that a process which a test starts at the same moment cannot
/// inherit a descriptor open for writing: executing the program would fail (ETXTBSY).
fn executable(path: &Path, text: &str) {
    let source = path.with_extension("source");
    std::fs::write(&source, text).unwrap();
    let made = Command::new("install").args(["-m", "755"]).args([&source, path]).status().unwrap();
    assert!(made.success());
    std::fs::remove_file(&source).unwrap();
}
