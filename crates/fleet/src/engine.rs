//! The trait of engines, which place the cells of a plan on machines. An engine is a pure function: it returns files
//! and commands, and parses a command's output. It starts nothing itself; `drive` does, in the same way for all.

use crate::FleetError;
use crate::cell::CellId;
use crate::plan::Plan;
use crate::quote;
use std::path::Path;

/// Placeholder in the arguments of a [`Batch`] for the previous batch's job id; without such a job, the whole argument
/// is left out.
pub const PREVIOUS_JOB: &str = "{previous-job}";

/// Location of the fleet's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetLocation {
    /// The absolute path, in UTF-8 without control characters. On engines with a shared folder it is the same on every
    /// node.
    pub dir: String,
}

impl FleetLocation {
    /// A location, if its path can be written into scripts.
    ///
    /// # Errors
    /// It is not absolute, not UTF-8, or has control characters.
    pub fn new(dir: &Path) -> Result<Self, FleetError> {
        let text = dir.to_str().filter(|_| dir.is_absolute());
        match text.filter(|text| !text.chars().any(threadwise_machine::text::is_deceptive)) {
            Some(text) => Ok(Self { dir: text.trim_end_matches('/').to_owned() }),
            None => Err(FleetError::broken(
                dir,
                "its path has characters that a script cannot contain: use a folder with a plain name",
            )),
        }
    }

    /// A file in the folder, as text.
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.dir)
    }

    /// The program that measures; the plan has its SHA-256, which a cell checks.
    pub fn binary(&self) -> String {
        self.file(crate::paths::BINARY)
    }
}

/// A file that an engine writes into the fleet's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Path below the fleet's folder, such as `slurm/tw1.sh`; folders are created.
    pub path: String,
    /// Content.
    pub text: String,
    /// Permissions, such as 0o644.
    pub mode: u32,
}

/// A command that runs in the fleet's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The program, on PATH.
    pub program: String,
    /// Its arguments; no shell interprets them.
    pub args: Vec<String>,
}

impl Call {
    /// A command.
    pub fn new(program: &str, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { program: program.to_owned(), args: args.into_iter().map(Into::into).collect() }
    }

    /// The command as a person would type it.
    pub fn shown(&self) -> String {
        quote::command(std::iter::once(self.program.as_str()).chain(self.args.iter().map(String::as_str)))
    }
}

/// Cells submitted by one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Display name: a machine, or all of them.
    pub label: String,
    /// Its cells.
    pub cells: Vec<CellId>,
    /// Files that the commands need, written (and replaced) before they run.
    pub files: Vec<GeneratedFile>,
    /// Checks whether the engine would accept it, and starts nothing; exit code 0 means yes.
    pub check: Option<Call>,
    /// Submits it. With [`Batch::waits`] it ends when the cells have ended.
    pub start: Call,
    /// Whether `start` runs the cells itself: its output goes to the terminal, its exit code is that of the cells, and
    /// none of them is left running when it ends.
    pub waits: bool,
}

/// A cell in the engine's own list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCell {
    /// The cell.
    pub cell: CellId,
    /// Whether it runs; otherwise it waits.
    pub is_running: bool,
    /// The engine's job id.
    pub job: String,
    /// The engine's remark, such as the reason why it waits.
    pub remark: String,
}

/// Facts from the engine on the node at the start of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OnNode {
    /// The engine's job id.
    pub job: Option<String>,
    /// The engine's name of the node; `None` if unknown, and the host name is used.
    pub node: Option<String>,
    /// Evidence that the cell has the machine to itself, one line each.
    pub evidence: Vec<String>,
    /// Evidence against it, in one line that says what to do.
    pub against: Option<String>,
}

/// What an engine can query on the node.
pub struct Ask<'a> {
    /// An environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// A command's output, if it ran and succeeded.
    pub printed: &'a dyn Fn(&Call) -> Option<String>,
    /// Number of online logical CPUs, if known.
    pub online_cpus: Option<usize>,
}

/// An engine that places cells.
pub trait FleetEngine: Sync {
    /// Its name in fleet.toml.
    fn name(&self) -> &'static str;

    /// One line: how it places cells.
    fn about(&self) -> &'static str;

    /// Whether the folder is shared, so that results are in it when a cell ends. Otherwise [`FleetEngine::collection`]
    /// fetches them.
    fn has_shared_folder(&self) -> bool;

    /// Refuses a plan that it cannot express; the error names the option, selector or setting.
    ///
    /// # Errors
    /// [`FleetError::Engine`] for the first of them.
    fn check(&self, plan: &Plan, location: &FleetLocation) -> Result<(), FleetError>;

    /// The files of the plan, which `plan` writes for review. The same plan and location give the same files.
    ///
    /// # Errors
    /// As [`FleetEngine::check`].
    fn files(&self, plan: &Plan, location: &FleetLocation) -> Result<Vec<GeneratedFile>, FleetError>;

    /// The batches that submit these cells, in order. `attempt` counts the submissions of this plan from 1, for engines
    /// whose jobs need unique names.
    ///
    /// # Errors
    /// As [`FleetEngine::check`].
    fn batches(
        &self,
        plan: &Plan,
        location: &FleetLocation,
        missing: &[CellId],
        attempt: u32,
    ) -> Result<Vec<Batch>, FleetError>;

    /// The job id in the output of [`Batch::start`], if it has one.
    fn job_id(&self, printed: &str) -> Option<String>;

    /// The command that lists this plan's running and waiting cells; `None` if nothing outlives [`Batch::start`].
    fn running(&self, plan: &Plan, location: &FleetLocation) -> Option<Call>;

    /// Parses that command's output. Cells of other plans are skipped.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the output is invalid.
    fn read_running(&self, plan: &Plan, printed: &str) -> Result<Vec<ListedCell>, FleetError>;

    /// Commands that fetch results of these cells into `cells/` below the folder; each may fail by itself. Empty with a
    /// shared folder.
    fn collection(&self, plan: &Plan, location: &FleetLocation, missing: &[CellId]) -> Vec<Call>;

    /// Whether an environment variable overrides something that the plan decides, such as where cells are submitted or
    /// what a list shows. The engine's commands do not inherit it.
    fn overrides(&self, _variable: &str) -> bool {
        false
    }

    /// The command that shows which cluster the engine's commands use, if that depends on a setting that others change.
    fn target(&self, _plan: &Plan) -> Option<Call> {
        None
    }

    /// Facts from the engine on the node: the job, and whether the cell has the machine to itself. Allowed and online
    /// CPUs are compared for all engines; `fleet cell --job` overrides the job id.
    fn on_node(&self, _: &Ask<'_>) -> OnNode {
        OnNode::default()
    }
}
