//! Study, plan and run: pure data, and its seeded expansion.
//!
//! Terms are those of the design of experiments (Montgomery, *Design and Analysis of Experiments*): factor, level,
//! treatment, block. Others: docs/GLOSSARY.md.

pub mod arm;
pub mod arm_study;
pub mod arrivals;
pub mod asked;
pub mod boot;
pub mod command;
mod comparison;
pub mod engine;
pub mod external;
pub mod index;
pub mod insert;
pub mod instance;
pub mod kernels;
pub mod load;
pub mod look;
pub mod note;
pub mod observation;
mod option;
pub mod pages;
pub mod parallel;
pub mod plan;
pub mod presets;
pub mod probe;
pub mod study;
pub mod time;
pub mod tpch;
pub mod transaction;
pub mod vcpus;
pub mod version;
pub mod warmup;
pub mod worklist;
pub mod workload;

pub use arm::{Arm, SmtWay};
pub use boot::Boot;
pub use comparison::ComparisonKind;
pub use external::External;
pub use instance::Instance;
pub use look::{Alone, CpuLook, Look, Moment, PairLook, SliceLook};
pub use note::{Note, NoteCode};
pub use observation::{
    Answer, Counters, CpuTimes, CpuTimesSum, ItemSpan, QueryExecution, Reading, Run, RunStatus, SessionSlice,
    Slice, main_sessions, operator_and_estimates, without_estimates,
};
pub use option::{OptionValue, Options};
pub use plan::{
    BlockPlan, DuringLook, Phase, PlanError, looked_at, looks_during, plan_block, plan_long_block,
};
pub use study::{Comparison, Design, FIXED_WORK, LongWindows, Role, Stopping, Study, Treatment};
pub use threadwise_machine::Quota;
pub use workload::Workload;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
