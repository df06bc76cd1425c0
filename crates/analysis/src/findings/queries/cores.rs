//! CPU seconds beside physical core-seconds: an operating system counts a core twice while both of its
//! siblings are busy, so CPU seconds rise with SMT even where the cores do less.

use super::{Facts, MAX_TOLD, baseline, compared, finding, limited};
use crate::Finding;
use crate::queries::words::{judged, seconds};
use crate::queries::{CoreSeconds, Queries, TreatmentQueries};

/// Core-seconds nearer to each other than this are not told apart: they are means without an interval.
const SAME_SHARE: f64 = 0.05;

/// Stragglers are told from this share of the elapsed time on.
const STRAGGLER_SHARE: f64 = 0.01;

/// CPU against the baseline, put right by what the cores themselves did.
pub fn core_seconds(facts: &Facts<'_>, queries: &Queries) -> Option<Finding> {
    let has_siblings = |own: &TreatmentQueries| own.cores.as_ref().is_some_and(is_doubled);
    let all = compared(facts, queries);
    let is_told = |own: &&&TreatmentQueries| own.total.cpu.is_some();
    let any = all.iter().any(|own| has_siblings(own));
    let told: Vec<&TreatmentQueries> =
        all.iter().filter(is_told).filter(|own| !any || has_siblings(own)).copied().collect();
    let texts: Vec<String> = told.iter().filter_map(|own| tell(facts, queries, own)).collect();
    let text = limited(texts, MAX_TOLD)?;
    let core = match any {
        true => "",
        false => " No core of these placements has two logical CPUs, so CPU seconds are core-seconds.",
    };
    let names: Vec<&str> = told.iter().map(|own| own.treatment.as_str()).collect();
    Some(finding("core-seconds", format!("CPU against the baseline: {text}.{core}"), &names))
}

/// Whether a core has two logical CPUs in the placement, as far as bounds show it.
fn is_doubled(cores: &CoreSeconds) -> bool {
    cores.core_high_s > cores.core_low_s * (1.0 + 1e-9)
}

fn tell(facts: &Facts<'_>, queries: &Queries, own: &TreatmentQueries) -> Option<String> {
    let base = baseline(facts, queries, own)?;
    let cpu = own.total.cpu.as_ref()?;
    let mut text = format!("{} {}", own.treatment, judged(cpu));
    if let Some((was, now)) = base.total.cpu_s.as_ref().zip(own.total.cpu_s.as_ref()) {
        text += &format!(" ({} to {})", seconds(was.mean), seconds(now.mean));
    }
    let Some((was, now)) = base.cores.as_ref().zip(own.cores.as_ref()) else { return Some(text) };
    if !is_doubled(now) && !is_doubled(was) {
        return Some(text);
    }
    text += &format!(
        ", physical core-seconds {} on {} cores against {} on {}: {}",
        bounds(now),
        now.cores,
        bounds(was),
        was.cores,
        meaning(was, now)
    );
    if now.straggler_low_s > STRAGGLER_SHARE * now.elapsed_s {
        text += &format!(
            ", both threads of a core busy while another core idled for {} to {} of {}",
            seconds(now.straggler_low_s),
            seconds(now.straggler_high_s),
            seconds(now.elapsed_s)
        );
    }
    Some(text)
}

/// `1687 s to 2236 s`, or one figure where both are equal.
fn bounds(cores: &CoreSeconds) -> String {
    match is_doubled(cores) {
        true => format!("{} to {}", seconds(cores.core_low_s), seconds(cores.core_high_s)),
        false => seconds(cores.core_low_s),
    }
}

fn meaning(was: &CoreSeconds, now: &CoreSeconds) -> &'static str {
    let above = 1.0 + SAME_SHARE;
    if now.core_low_s > was.core_high_s * above {
        "the cores' own time rose"
    } else if now.core_high_s * above < was.core_low_s {
        "the cores' own time fell"
    } else if now.core_high_s <= was.core_low_s * above {
        "the cores' own time did not rise"
    } else {
        "whether the cores' own time rose cannot be told"
    }
}
