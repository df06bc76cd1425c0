//! From observations to estimates and findings. Pure: no I/O, no engine, no clock.
//!
//! Methods and their sources: docs/METHODOLOGY.md.

pub mod activity;
pub mod advice;
mod analyse;
mod analysis;
pub mod answers;
mod arms;
mod by_state;
pub mod card;
pub mod changed_with;
pub mod choices;
pub mod commands;
pub mod compare;
pub mod cost;
pub mod cpus;
pub mod diagnostics;
mod document;
pub mod drift;
mod engine_lines;
pub mod estimate;
pub mod external_arms;
mod facts;
pub mod findings;
pub mod fleet;
mod groups;
pub mod hardware;
pub mod kind;
pub mod kinds;
pub mod load;
pub mod long_windows;
pub mod looks;
pub mod neighbours;
pub mod observed;
pub mod published;
pub mod queries;
mod question;
mod questions;
mod quota;
pub mod round_trips;
pub mod scaling_law;
mod screen;
mod sections;
mod setting;
mod shape;
pub mod spins;
pub mod validity;
mod vcpus;
pub mod warmups;
mod words;
pub mod worklist;

#[cfg(test)]
mod fixtures;

pub use activity::Activity;
pub use analyse::{analyse, analyse_on, analyse_probed, reached};
pub use analysis::Analysis;
pub use document::document;
pub use estimate::{BlockCovariates, Covariates, Estimate, NoiseFloor, TreatmentSummary, Unflagged};
pub use facts::Facts;
pub use findings::measured_yields::{MeasuredYield, YieldClocks, measured_yields};
pub use questions::{plain_verdict, verdict};
pub use screen::{of_cautions, of_document, of_studies, subject::machine as machine_words};
pub use sections::core_time::{CoreTime, core_times};
pub use sections::hardware::probe_document;
pub use sections::logical_cpus::{Gap, gaps as logical_cpu_gaps};
pub use sections::scaling_law::{UNNAMED, Words as LawWords, law_document};
pub use setting::UNTIL_LEVEL_SHARE;
pub use threadwise_document::{Answer, Direction, Finding, FindingKind, Interval, Ratio};
pub use threadwise_study::asked;
