//! The SMT yield for `headroom`: given, measured by a study, or published.

use super::args::YieldArgs;
use crate::error::AppError;
use crate::opened::Opened;
use std::path::Path;
use threadwise_analysis::{MeasuredYield, YieldClocks, measured_yields};
use threadwise_document::numbers;
use threadwise_headroom::{SmtYield, smt_yield};

/// A yield and its source.
pub struct Chosen {
    /// As measured, changes of the clock included.
    pub smt_yield: SmtYield,
    /// `given`, `study`, `published`.
    pub source: &'static str,
    /// The source in words, to follow the number.
    pub words: String,
    /// The yield per cycle, and the clock with all busy in MHz, if the study has clocks.
    pub by_cycle: Option<(SmtYield, f64)>,
    /// Why clocks cannot be counted, as far as the yield decides.
    pub no_clock: &'static str,
    /// Remarks on the study.
    pub remarks: Vec<String>,
}

const NO_STUDY: &str = "--from FILE has the clocks of a study";

/// The yield that the arguments select.
///
/// # Errors
/// The file cannot be read or has no yield.
pub fn choose(args: &YieldArgs) -> Result<Chosen, AppError> {
    let simple = |smt_yield, source, words: &str| Chosen {
        smt_yield,
        source,
        words: words.to_owned(),
        by_cycle: None,
        no_clock: NO_STUDY,
        remarks: Vec::new(),
    };
    match (&args.smt_yield, &args.from) {
        (Some(smt_yield), _) => Ok(simple(*smt_yield, "given", "as given by --yield")),
        (None, Some(file)) => of_study(file),
        (None, None) => {
            let all = threadwise_published::smt_yields().map_err(AppError::failed)?;
            let low = all.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
            let high = all.iter().map(|(_, value)| *value).fold(0.0, f64::max);
            let smt_yield = SmtYield::new(low, high).map_err(AppError::failed)?;
            let words = "the range of published ones (`threadwise published`); measure this machine's with \
                         `threadwise run` and give --from FILE, or --yield";
            Ok(simple(smt_yield, "published", words))
        }
    }
}

fn of_study(path: &Path) -> Result<Chosen, AppError> {
    let opened = Opened::open(path)?;
    let facts = opened.facts();
    let file = path.display();
    let found = measured_yields(&facts).map_err(|why| {
        AppError::Input(format!(
            "{file} has no SMT yield: {} Give a study of `threadwise run` from a machine with SMT, or --yield 1.27",
            why.trim_start_matches("SMT yield: ")
        ))
    })?;
    let all = |scale: &dyn Fn(&MeasuredYield) -> f64| merged(&found, scale).ok_or_else(|| nonsense(path));
    let smt_yield = all(&|_| 1.0)?;
    let by_cycle = match found.iter().map(|one| one.clocks).collect::<Option<Vec<YieldClocks>>>() {
        Some(clocks) => {
            let mhz = clocks.iter().map(|one| one.all_busy_mhz).sum::<f64>() / clocks.len() as f64;
            // Work per cycle: the clock's loss is counted with the clock.
            let scale = |one: &MeasuredYield| {
                one.clocks.map_or(1.0, |clocks| clocks.one_sibling_mhz / clocks.both_siblings_mhz)
            };
            Some((all(&scale)?, mhz))
        }
        None => None,
    };
    let mut remarks: Vec<String> = opened.problem().into_iter().collect();
    if facts.is_simulated() {
        remarks.push(format!("{file} is simulated: its yield is not a machine's"));
    }
    let scope = if found.iter().all(|one| one.is_whole_machine) { "all cores together" } else { "a core" };
    let model = facts.topology.identity.cpu_model.as_deref();
    let on = model.map_or_else(String::new, |model| format!(" on {model}"));
    let groups = match found.len() {
        1 => String::new(),
        count => format!(", the range of {}", numbers::counted(count, "group")),
    };
    Ok(Chosen {
        smt_yield,
        source: "study",
        words: format!("measured on {scope} in {file}{on}{groups}"),
        by_cycle,
        no_clock: "the study has no clocks of its treatments",
        remarks,
    })
}

/// From the lowest end to the highest, scaled and limited to possible yields; `None` if all are impossible.
fn merged(found: &[MeasuredYield], scale: &dyn Fn(&MeasuredYield) -> f64) -> Option<SmtYield> {
    let is_yield =
        |one: &MeasuredYield| (smt_yield::LEAST..=smt_yield::MOST).contains(&(one.ratio.mean * scale(one)));
    let kept = |value: f64| value.clamp(smt_yield::LEAST, smt_yield::MOST);
    let all = || found.iter().filter(|one| is_yield(one));
    let low = all().map(|one| kept(one.ratio.low * scale(one))).reduce(f64::min)?;
    let high = all().map(|one| kept(one.ratio.high * scale(one))).reduce(f64::max)?;
    SmtYield::new(low, high).ok()
}

fn nonsense(path: &Path) -> AppError {
    AppError::Input(format!(
        "{}: two siblings did less than 0.5 or more than 2 times what one did, which is not an SMT yield (see `threadwise report`): give --yield",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_analysis::Interval;

    fn measured(mean: f64, low: f64, high: f64) -> MeasuredYield {
        let ratio = Interval { mean, low, high, unit: "ratio".to_owned() };
        MeasuredYield { group: String::new(), is_whole_machine: false, ratio, clocks: None }
    }

    #[test]
    fn groups_make_one_range_and_ends_stay_possible() {
        let both = [measured(1.2, 1.1, 1.3), measured(1.9, 1.7, 2.4)];
        assert_eq!(merged(&both, &|_| 1.0), SmtYield::new(1.1, 2.0).ok());
        assert_eq!(merged(&[measured(3.0, 2.0, 4.0)], &|_| 1.0), None);
        assert_eq!(merged(&both[..1], &|_| 1.5), SmtYield::new(1.1 * 1.5, 1.3 * 1.5).ok());
    }
}
