//! The trait of engines: what places the cells of a plan on machines. An engine is a pure function: it gives files and
//! commands, and reads what a command printed. It starts nothing itself; `drive` does, the same way for all.

use crate::FleetError;
use crate::cell::CellId;
use crate::plan::Plan;
use crate::quote;
use std::path::Path;

/// Stands in the arguments of a [`Batch`] for the job's id of the batch before it, where that was started; the whole
/// argument is left out where it was not.
pub const PREVIOUS_JOB: &str = "{previous-job}";

/// Where the fleet's folder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder as an absolute path, in UTF-8 without control characters. On engines with a shared folder every node
    /// has it at this path.
    pub dir: String,
}

impl Place {
    /// A place, if the path can be written into scripts.
    ///
    /// # Errors
    /// It is not absolute, no UTF-8, or has control characters.
    pub fn new(dir: &Path) -> Result<Self, FleetError> {
        let text = dir.to_str().filter(|_| dir.is_absolute());
        match text.filter(|text| !text.chars().any(threadwise_machine::text::is_deceptive)) {
            Some(text) => Ok(Self { dir: text.trim_end_matches('/').to_owned() }),
            None => Err(FleetError::broken(
                dir,
                "its path has characters that cannot stand in a script: take a folder with a plain name",
            )),
        }
    }

    /// A file in the folder, as text.
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.dir)
    }

    /// The program that measures: the plan has its SHA-256, and a cell checks it.
    pub fn binary(&self) -> String {
        self.file(crate::paths::BINARY)
    }
}

/// A file that an engine has written into the fleet's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Path below the fleet's folder, such as `slurm/tw1.sh`; folders are made.
    pub path: String,
    /// All of its text.
    pub text: String,
    /// Permissions, such as 0o644.
    pub mode: u32,
}

/// A command to be started in the fleet's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The program, found on PATH.
    pub program: String,
    /// Its arguments, one by one: no shell reads them.
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

/// Cells that are submitted by one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// What it is, for people: a machine, or all of them.
    pub label: String,
    /// Its cells.
    pub cells: Vec<CellId>,
    /// Files that the commands need, written (and replaced) before they are started.
    pub files: Vec<GeneratedFile>,
    /// Says before whether the engine would take it, and starts nothing; exit code 0 is yes.
    pub check: Option<Call>,
    /// Submits it. With [`Batch::waits`] it ends when the cells have ended.
    pub start: Call,
    /// Whether `start` runs the cells itself, so that its output goes to the terminal and its exit code is that of the
    /// cells, and none of them is left running when it has ended.
    pub waits: bool,
}

/// What the engine's own list says of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The cell.
    pub cell: CellId,
    /// Whether it runs; otherwise it waits.
    pub is_running: bool,
    /// The engine's id of its job.
    pub job: String,
    /// The engine's words for people, such as the reason why it waits.
    pub remark: String,
}

/// What an engine says on the node, where a cell begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OnNode {
    /// The engine's id of the job.
    pub job: Option<String>,
    /// The engine's name of the node; `None` where it does not say, and the host's name stands in.
    pub node: Option<String>,
    /// What speaks for the machine being the cell's alone, one line each.
    pub evidence: Vec<String>,
    /// What speaks against it, in one line that says what to do.
    pub against: Option<String>,
}

/// What an engine can ask on the node.
pub struct Ask<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// What a command printed, if it could be run and ended well.
    pub printed: &'a dyn Fn(&Call) -> Option<String>,
    /// Number of online logical CPUs, if that is known.
    pub online_cpus: Option<usize>,
}

/// An engine that places cells.
pub trait FleetEngine: Sync {
    /// Its name in fleet.toml.
    fn name(&self) -> &'static str;

    /// One line for people: how it places cells.
    fn about(&self) -> &'static str;

    /// Whether the folder is shared, so that results are in it as soon as a cell has ended. Otherwise
    /// [`FleetEngine::collection`] brings them.
    fn has_shared_folder(&self) -> bool;

    /// Refuses a plan that it cannot express: an option, selector or setting is named in the error.
    ///
    /// # Errors
    /// [`FleetError::Engine`] with the first of them.
    fn check(&self, plan: &Plan, place: &Place) -> Result<(), FleetError>;

    /// The files of the plan, for `plan` to write and for people to read. The same plan and place give the same files.
    ///
    /// # Errors
    /// As [`FleetEngine::check`].
    fn files(&self, plan: &Plan, place: &Place) -> Result<Vec<GeneratedFile>, FleetError>;

    /// Who submits these cells, in the order of submission. `attempt` counts the submissions of this plan from 1, for
    /// engines whose jobs need a name of their own each time.
    ///
    /// # Errors
    /// As [`FleetEngine::check`].
    fn batches(
        &self,
        plan: &Plan,
        place: &Place,
        missing: &[CellId],
        attempt: u32,
    ) -> Result<Vec<Batch>, FleetError>;

    /// The job's id in what [`Batch::start`] printed, if it has one.
    fn job_id(&self, printed: &str) -> Option<String>;

    /// The command that lists what of this plan runs or waits; `None` where nothing outlives [`Batch::start`].
    fn running(&self, plan: &Plan, place: &Place) -> Option<Call>;

    /// Reads what that command printed. What is not of this plan is passed over.
    ///
    /// # Errors
    /// [`FleetError::Engine`] where it is not what the command prints.
    fn read_running(&self, plan: &Plan, printed: &str) -> Result<Vec<Seen>, FleetError>;

    /// Commands that bring results of these cells into `cells/` below the folder, each of which may fail by itself;
    /// empty with a shared folder.
    fn collection(&self, plan: &Plan, place: &Place, missing: &[CellId]) -> Vec<Call>;

    /// Whether a variable of the environment decides over something that the plan decides, such as who is submitted where
    /// or what a list shows. The engine's commands do not get it.
    fn overrides(&self, _variable: &str) -> bool {
        false
    }

    /// The command that says to where the engine's commands go, where that depends on a setting that others change; `None`
    /// where it does not.
    fn target(&self, _plan: &Plan) -> Option<Call> {
        None
    }

    /// What it says, on the node, of a job and of whether the machine is its alone. That allowed and online CPUs are the
    /// same is looked at for all engines; a job that was started with `fleet cell --job` has its id from there.
    fn on_node(&self, _: &Ask<'_>) -> OnNode {
        OnNode::default()
    }
}
