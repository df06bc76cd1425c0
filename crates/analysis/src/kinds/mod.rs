//! One module per kind of workload: its words for its work, its findings, and the sections that show it. A new kind is
//! a folder here and a line in [`of`].

pub mod command;
pub mod indexes;
pub mod load;
pub mod queries;
pub mod rate;
pub mod scans;
pub mod worklist;

use crate::kind::Kind;
use crate::vcpus::Vcpus;
use threadwise_study::{Study, Workload};

/// The kind of a study: rates, if its workload has none of its own.
pub fn of(study: &Study) -> &'static dyn Kind {
    if study.is_at_a_rate() {
        return &load::Loads;
    }
    if study.vcpus().is_some() {
        return &Vcpus;
    }
    match study.workload {
        Workload::WorkList => &worklist::Worklists,
        Workload::Command => &command::Commands,
        Workload::Tpch => &queries::Queries,
        Workload::Index => &indexes::Indexes,
        Workload::ParallelScan => &scans::Scans,
        _ => &rate::Rates,
    }
}
