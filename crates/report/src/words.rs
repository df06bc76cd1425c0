//! Names of metrics, as the kind of a study has them.

use threadwise_analysis::kinds;
use threadwise_study::Study;

/// A metric's name as people and programs read it.
pub fn metric_name(study: &Study, metric: &str) -> String {
    kinds::of(study).metric_name(study, metric)
}
