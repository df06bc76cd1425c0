//! Parameters of every look at observations.

use threadwise_machine::Topology;
use threadwise_study::Study;
use threadwise_study::probe::Probe;

/// Parameters of figures.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub study: &'a Study,
    pub topology: Option<&'a Topology>,
    pub probe: Option<&'a Probe>,
    /// 1 − the level of intervals.
    pub alpha: f64,
}

/// Share of alpha of each look of `--until`, and of the last interval shown. Stopping on width alone costs little
/// coverage, since the mean has no influence on it; docs/METHODOLOGY.md, "Interim analyses", has the simulation.
pub const UNTIL_LEVEL_SHARE: f64 = 0.7;
