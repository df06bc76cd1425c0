//! The only orchestrator: loads data, starts workers, runs blocks of rounds of slices, stores runs.
//!
//! `run` drives a study; `block` one block of it; `worker_process` one worker; `guard` decides when
//! not to measure; `workdir` cleans up. Workers die with the thread that calls [`run`],
//! so that thread must live as long as the study.

mod alarm;
mod ask;
mod block;
mod clock;
mod event;
pub mod guard;
mod hardware;
mod housekeeping;
mod load;
mod looks;
mod memory;
mod neighbours;
mod outcome;
mod pace;
mod places;
mod queries;
mod run;
mod settings;
mod shortfall;
mod spawn;
mod statements;
pub mod switch;
mod warmup;
mod watch;
pub mod workdir;
mod worker_process;

pub use ask::{Also, ServerSays, hello, server};
pub use event::Event;
pub use load::{connections, known_bytes_by_device};
pub use looks::Looks;
pub use outcome::{Decision, Outcome, Reason};
pub use queries::check_options;
pub use run::run;
pub use settings::{
    Deadlines, QuerySettings, Settings, Switching, Worker, find_worker, is_program, variables,
};
pub use shortfall::Shortfall;
pub use statements::StatementWorker;
pub use workdir::{kill_workers, watch};
pub use worker_process::{Failure, Hello};

use std::path::PathBuf;

/// Why a study did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The machine is not fit for measuring now.
    #[error(transparent)]
    Refused(#[from] guard::Refusal),
    /// The private folder failed.
    #[error("folder {}: {why}", path.display())]
    Workdir {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A program could not be started.
    #[error("cannot start {}: {why}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// No such engine.
    #[error(
        "there is no engine '{engine}': built in are {known}; another one needs a program threadwise-engine-{engine} on PATH"
    )]
    NoEngine {
        /// Its name.
        engine: String,
        /// The known names.
        known: String,
    },
    /// The engine's worker sent no hello.
    #[error("the engine's worker {} does not work: {failure}", program.display())]
    Worker {
        /// The program.
        program: PathBuf,
        /// The cause.
        failure: Failure,
    },
    /// The engine does not support an option of a treatment; nothing was made.
    #[error("treatment '{treatment}': {why}")]
    Option {
        /// Treatment name.
        treatment: String,
        /// Which option, and what is wrong with it.
        why: String,
    },
    /// A treatment's data could not be made.
    #[error("the data of treatment '{treatment}' could not be made: {failure}")]
    Load {
        /// Treatment name.
        treatment: String,
        /// The cause.
        failure: Failure,
    },
    /// The data set, the texts or the answers of queries are not available.
    #[error("{why}")]
    Queries {
        /// What failed, and what to do.
        why: String,
    },
    /// A block could not be planned.
    #[error(transparent)]
    Plan(#[from] threadwise_study::PlanError),
    /// The result file failed.
    #[error(transparent)]
    Store(#[from] threadwise_store::StoreError),
    /// The baseline never works, so nothing can be compared.
    #[error(
        "the baseline '{treatment}' had no usable run in the first two blocks, so nothing can be compared: {why}"
    )]
    Baseline {
        /// Treatment name.
        treatment: String,
        /// The failure in the last one.
        why: String,
    },
    /// The engine does not work any more.
    #[error(
        "no treatment had a usable run in the last two blocks: {why}; when the engine works again, continue with threadwise run --resume FILE"
    )]
    Lost {
        /// The failure in the last run.
        why: String,
    },
    /// The machine could not be switched for the study's arms, or not be restored.
    #[error(transparent)]
    Switch(#[from] threadwise_smt::SmtError),
    /// The user stopped it before anything was measured.
    #[error("stopped before the first block; nothing was measured")]
    Stopped,
}
