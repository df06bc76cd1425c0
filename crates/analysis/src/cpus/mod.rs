//! What each logical CPU did while a treatment ran: busy share, clock, instructions per cycle; and what the packages drew.
//! It is the proof that a placement was what it says, and that a clock does or does not explain a ratio.
//!
//! Each figure is a mean over blocks with a t interval (Student 1908), of the blocks in which the logical CPU was the same
//! to the treatment: blocks draw different cores. Clocks are turbostat's (`tools/power/x86/turbostat/turbostat.8`), power is
//! powercap's; both are over the samplers' own windows (docs/TELEMETRY.md).

mod clock;
mod rows;
mod types;

#[cfg(test)]
mod tests;

pub use clock::{differs, furthest};
pub use types::{ClockChange, CpuRow, Cpus, PackageRow, TreatmentCpus, Use};

use crate::estimate::Observed;
use crate::setting::Setting;
use rows::Rows;
use threadwise_study::Run;

/// What was read of logical CPUs and packages; `None` where nothing was. `runs` is the list that `observed` was made
/// from.
pub(crate) fn cpus(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Option<Cpus> {
    let treatments = setting.study.treatments.iter().enumerate().filter_map(|(at, treatment)| {
        let mut rows = Rows::default();
        let usable = observed.blocks.iter().filter(|block| observed.usable(block, at).is_some());
        for run in usable.filter_map(|block| runs.get(block.sources[at]?)) {
            rows.add(run, setting);
        }
        rows.summary(&treatment.name, setting)
    });
    let cpus = Cpus { treatments: treatments.collect(), clock: clock::changes(setting, observed) };
    (!cpus.treatments.is_empty()).then_some(cpus)
}
