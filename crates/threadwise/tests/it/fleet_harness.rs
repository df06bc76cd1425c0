//! Fleets for tests: a study on the model engine with planted effects, fleet.toml, and the cells of a folder.

use crate::harness::{Lab, Said, said};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use threadwise_store::Store;

/// The study: one session and two. `rounds` decides how long a block of it takes.
pub fn study(rounds: u32, blocks: u32) -> String {
    format!(
        "version = 1\nname = \"two-sessions\"\ntitle = \"One session and two\"\nengine = \"simulated\"\n\
         workload = \"logical-io\"\n[engine_options]\nnoise_sd = 0.01\n[options]\nblocks = 500\n\
         [design]\nrounds = {rounds}\nslice_ms = 5\nrewarm_ms = 1\nblocks = {blocks}\n\
         [baseline]\nplacement = \"one-cpu\"\n\
         [[treatment]]\nname = \"two\"\nplacement = \"one-cpu\"\nsessions = 2\n"
    )
}

/// The head of a fleet.toml of that study.
pub fn head(repeats: u32, more: &str) -> String {
    format!(
        "version = 1\ntitle = \"Test fleet\"\nstudy = \"study.toml\"\nengine = \"slurm\"\nrepeats = {repeats}\n\
         time_limit = \"5m\"\nseed = 7\n{more}\n[run]\nno_probe = true\n"
    )
}

/// One machine, which is enough where nothing is placed.
pub const ONE: &str = "[[kind]]\nname = \"k\"\nnodes = [\"n1\"]\n";

/// A folder with a study and a fleet.toml.
pub struct FleetLab {
    pub lab: Lab,
}

impl FleetLab {
    /// A lab with a study and a fleet that is not planned yet.
    pub fn new(study: &str, fleet: &str) -> Self {
        let lab = Lab::new();
        std::fs::write(lab.path().join("study.toml"), study).unwrap();
        std::fs::write(lab.path().join("fleet.toml"), fleet).unwrap();
        Self { lab }
    }

    /// A lab with a planned fleet in the folder `f`.
    pub fn planned(study: &str, fleet: &str) -> Self {
        let lab = Self::new(study, fleet);
        lab.lab.ok(&["fleet", "plan", "fleet.toml", "-o", "f"]);
        lab
    }

    pub fn dir(&self) -> PathBuf {
        self.lab.path().join("f")
    }

    pub fn cell_folder(&self, cell: &str) -> PathBuf {
        self.dir().join("cells").join(cell)
    }

    /// The command of a cell, by the program of the folder. No job is around it.
    pub fn cell_command(&self, cell: &str) -> Command {
        let mut command = Command::new(self.dir().join("threadwise"));
        command.args(["fleet", "cell", "--dir", "f", "--cell", cell]).current_dir(self.lab.path());
        command.env("TMPDIR", self.lab.tmp()).env("THREADWISE_STATE_DIR", self.lab.state());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SLURM")) {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn cell(&self, cell: &str) -> Said {
        said(self.cell_command(cell).output().unwrap())
    }

    /// The record of a cell.
    pub fn record(&self, cell: &str) -> Value {
        let path = self.cell_folder(cell).join("cell.json");
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()
    }

    /// Exit code in a cell's folder.
    pub fn exit(&self, cell: &str) -> String {
        std::fs::read_to_string(self.cell_folder(cell).join("exit")).unwrap().trim().to_owned()
    }

    /// Names in `cells/`, sorted; those of attempts that lie aside without their last part.
    pub fn cells(&self) -> Vec<String> {
        names(&self.dir().join("cells"))
            .into_iter()
            .map(|name| match name.starts_with('.') {
                true => name.rsplit_once('.').unwrap().0.to_owned(),
                false => name,
            })
            .collect()
    }

    /// The attempt of a cell that lies aside.
    pub fn aside(&self, cell: &str) -> Option<PathBuf> {
        let cells = self.dir().join("cells");
        let name = names(&cells).into_iter().find(|name| name.starts_with(&format!(".{cell}.")))?;
        Some(cells.join(name))
    }
}

/// Complete blocks of the study in a folder of an attempt. What is being written is read from a copy, since no other
/// process may open it; 0 where there is no study, or its copy was cut in the middle of something.
pub fn blocks(folder: Option<PathBuf>) -> usize {
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("study");
    let copied = folder.map(|folder| std::fs::copy(folder.join("study.threadwise"), &copy));
    let store = copied.and_then(Result::ok).and_then(|_| Store::open(&copy).ok());
    store.and_then(|store| store.complete_blocks().ok()).map_or(0, |blocks| blocks.len())
}

/// Names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Waits until something holds, two minutes at most; what is asked is looked at every twentieth of a second.
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2400 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("waited two minutes for: {what}");
}
