//! What was measured of the hardware.

use crate::Facts;
use threadwise_document::Section;
use threadwise_document::chart::PairChart;

/// What the probe found; `None` where there was none.
pub fn section(_facts: &Facts<'_>) -> Option<Section> {
    None
}

/// Its pairs.
pub fn chart(_facts: &Facts<'_>) -> Option<PairChart> {
    None
}
