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
