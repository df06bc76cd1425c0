//! Commands that end by a clock: a load for so many seconds, a loop until a deadline. Pure.
//!
//! Their duration is what they were told, so it says nothing of where they ran; what says something is how much they did
//! meanwhile, which their output has to tell. Durations of real work are alike to a per mille in every treatment only by
//! chance, and then a ratio of them would say that there is no difference, which nobody has measured.

use super::figures::Table;
use super::types::{ELAPSED, FixedTime, Quantity};
use threadwise_document::{Prose, prose};
use threadwise_statistics::median;
use threadwise_study::{Study, command};

/// Treatments whose median durations differ by no more than this share take the same time.
const ALIKE_SHARE: f64 = 0.001;

/// Why there is no ratio of durations, in a few words.
pub const WHY: &str = "the same in every treatment";

/// Whether a study would be judged by durations that are the same in every treatment; `None` where its user asked for
/// them, or for something else.
pub fn fixed_time(study: &Study, table: &Table<'_>, headline: Option<&Quantity>) -> Option<FixedTime> {
    let is_asked = study.treatments.iter().any(|treatment| treatment.options.contains_key("headline"));
    let is_by_duration = headline.is_some_and(|headline| headline.metric == ELAPSED);
    if study.workload != command::WORKLOAD || !is_by_duration || is_asked || study.comparisons.is_empty() {
        return None;
    }
    let median_of = |at: usize| {
        let runs = table.blocks.iter().filter_map(|(_, row)| row[at].as_ref()?.get(ELAPSED).copied());
        median(runs)
    };
    let medians: Vec<f64> = (0..study.treatments.len()).filter_map(median_of).collect();
    let [least, most] = [f64::min, f64::max].map(|end| medians.iter().copied().reduce(end));
    let spread_share = most? / least? - 1.0;
    let elapsed_ns = median(medians.iter().copied())?;
    (medians.len() > 1 && spread_share <= ALIKE_SHARE).then_some(FixedTime { elapsed_ns, spread_share })
}

/// What to do about a command that always takes the same time.
pub fn instead() -> Prose {
    prose!(
        "name what it does in that time (`--metric NAME='UNIT BETTER KIND:PATTERN'` or `--parse TOOL`), or have it do a fixed \
         amount of work; `--headline elapsed` compares durations all the same"
    )
}
