//! JSON of `threadwise fit`.

use super::form::pretty;
use serde_json::json;
use threadwise_analysis::scaling_law::SeriesLaw;

/// Laws of all series of a file.
pub fn fitted(source: &str, is_simulated: bool, laws: &[SeriesLaw]) -> String {
    pretty(&json!({"version": super::VERSION, "source": source, "simulated": is_simulated, "series": laws}))
}
