//! One module per kind of workload: its words for its work, its findings, and the sections that show it. A new kind is
//! a folder here and a line in [`KINDS`].

pub mod command;
pub mod indexes;
pub mod queries;
pub mod rate;
pub mod scans;
pub mod worklist;

use crate::kind::Kind;
use threadwise_study::Study;

/// All kinds; the last one takes studies of no other kind.
pub const KINDS: [&dyn Kind; 6] = [
    &worklist::Worklists,
    &command::Commands,
    &queries::Queries,
    &indexes::Indexes,
    &scans::Scans,
    &rate::Rates,
];

/// The kind of a study.
pub fn of(study: &Study) -> &'static dyn Kind {
    KINDS.into_iter().find(|kind| kind.is(study)).unwrap_or(&rate::Rates)
}
