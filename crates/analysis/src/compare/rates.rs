//! Rates of several studies side by side, and the ratio of each study to the first.
//!
//! Each study is one boot at one time, so the ratio is unpaired: Welch's t (Biometrika 34, 1947) of the means over the
//! blocks of both. It holds for these two hours. Studies of one machine differ by 1 to 3% from hour to hour more than
//! that interval says, so nothing is claimed of a change (docs/METHODOLOGY.md, "Did it change?").

use super::aspects::{Aspect, alike, machines_differ};
use super::quantity::{Quantity, alpha};
use crate::estimate::{Rule, judge};
use crate::{Facts, Interval, Ratio};
use threadwise_statistics::welch_of;
use threadwise_study::Role;

/// Rates of several studies.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates<'a> {
    /// What they are of.
    pub quantity: Quantity,
    /// One per treatment that two studies have, in the order of the first study.
    pub rows: Vec<RateRow<'a>>,
    /// What is too small to matter, as a fraction: the largest of the studies.
    pub margin: f64,
    /// Level of the intervals of the ratios.
    pub level: f64,
    /// Why there are no ratios; `None` where there are.
    pub no_ratios: Option<&'static str>,
}

/// One treatment.
#[derive(Debug, Clone, PartialEq)]
pub struct RateRow<'a> {
    /// Its name.
    pub treatment: &'a str,
    /// Its rate in each study, with the interval over that study's blocks; `None` where it has none.
    pub rates: Vec<Option<&'a Interval>>,
    /// Of each study after the first its ratio to the first; `None` where one of them has no rate, or the treatment is
    /// another.
    pub ratios: Vec<Option<Ratio>>,
}

/// The rates of studies of one engine, workload and quantity; why not otherwise.
///
/// # Errors
/// The reason, in words.
pub fn rates<'a>(
    studies: &[Facts<'a>],
    aspects: &[Aspect],
    metric: Option<&str>,
) -> Result<Rates<'a>, String> {
    let (first, rest) = studies.split_first().filter(|(_, rest)| !rest.is_empty()).ok_or("one study")?;
    let quantity = Quantity::of(first, metric).ok_or("the first study has no such metric")?;
    if rest.iter().any(|facts| Quantity::of(facts, metric).as_ref() != Some(&quantity)) {
        return Err("the studies are of different quantities".to_owned());
    }
    if rest.iter().any(|facts| facts.study.engine != first.study.engine) {
        return Err("a row of one engine is not the work of a row of another".to_owned());
    }
    if rest.iter().any(|facts| facts.study.workload != first.study.workload) {
        return Err("the workloads differ".to_owned());
    }
    let margin = studies.iter().map(|facts| facts.study.design.margin).fold(0.0, f64::max);
    let alpha = studies.iter().map(|facts| alpha(facts.study)).fold(1.0, f64::min);
    let no_ratios = match () {
        () if machines_differ(aspects) => Some("the machines differ"),
        () if studies.iter().any(|facts| facts.study.external.is_some()) => Some("a study is over boots"),
        () => None,
    };
    let rule = Rule { margin, alpha, direction: quantity.direction };
    let once = first.study.treatments.iter().filter(|treatment| treatment.role != Role::BaselineTwin);
    let rows = once.filter_map(|treatment| {
        let name = treatment.name.as_str();
        let rates: Vec<_> = studies.iter().map(|facts| quantity.interval(facts, name)).collect();
        let is_in_two = rates.iter().flatten().count() >= 2;
        let ratios = rest
            .iter()
            .map(|facts| ratio(first, facts, name, &quantity, rule).filter(|_| no_ratios.is_none()));
        is_in_two.then(|| RateRow { treatment: name, ratios: ratios.collect(), rates })
    });
    Ok(Rates { rows: rows.collect(), quantity, margin, level: 1.0 - alpha, no_ratios })
}

/// The ratio of a treatment of a study to that of the first, from the blocks of both.
fn ratio(first: &Facts<'_>, other: &Facts<'_>, name: &str, quantity: &Quantity, rule: Rule) -> Option<Ratio> {
    let is_alike = alike(first.study.treatment(name)?.1, other.study.treatment(name)?.1);
    let (below, top) = (quantity.mean(first, name)?, quantity.mean(other, name)?);
    judge(&[(welch_of(&top, &below), None)], rule).pop().filter(|_| is_alike)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse_on;
    use crate::compare::aspects::aspects;
    use crate::fixtures::{machine, run, study};
    use threadwise_statistics::welch;
    use threadwise_study::Run;

    /// Blocks of A and P, which wobble by 1%.
    fn runs(rate: f64) -> Vec<Run> {
        let of_block = |block: u32| {
            let wobble = 1.0 + 0.01 * f64::from(block * 5 % 8);
            ["A", "A'", "P"].map(|name| run(block, name, &[(rate * wobble) as u64]))
        };
        (0..8).flat_map(of_block).collect()
    }

    #[test]
    fn two_studies_have_an_unpaired_ratio_from_the_blocks_of_both() {
        let (topology, study) = (machine(1, 2, 1), study(&[""], &["P same-package 2"]));
        let (first, second) =
            (analyse_on(&study, None, &runs(1e6), 1.0), analyse_on(&study, None, &runs(9e5), 1.0));
        let studies = [&first, &second].map(|analysis| Facts::new(&study, &topology, analysis));
        let found = rates(&studies, &aspects(&studies), None).unwrap();
        let names: Vec<&str> = found.rows.iter().map(|row| row.treatment).collect();
        assert_eq!((names, found.no_ratios, found.margin), (vec!["A", "P"], None, 0.03));
        let ratio = found.rows[0].ratios[0].as_ref().unwrap();
        let logs = |rate: f64| -> Vec<f64> {
            (0..8u32).map(|block| (rate * (1.0 + 0.01 * f64::from(block * 5 % 8))).floor().ln()).collect()
        };
        let (low, high) = welch(&logs(9e5), &logs(1e6)).unwrap().interval(0.05);
        assert!((ratio.low.ln() - low).abs() < 1e-9 && (ratio.high.ln() - high).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.value - 0.9).abs() < 1e-5);
    }

    #[test]
    fn rates_of_other_machines_have_no_ratio_and_those_of_other_work_are_not_shown() {
        let (small, large) = (machine(1, 2, 1), machine(1, 4, 1));
        let one = study(&[""], &["P same-package 2"]);
        let mut two = one.clone();
        let analysis = analyse_on(&one, None, &runs(1e6), 1.0);
        let of_machines = [Facts::new(&one, &small, &analysis), Facts::new(&two, &large, &analysis)];
        let found = rates(&of_machines, &aspects(&of_machines), None).unwrap();
        assert_eq!((found.no_ratios, &found.rows[0].ratios), (Some("the machines differ"), &vec![None]));
        assert!(found.rows[0].rates.iter().all(Option::is_some));
        // A treatment that does something else has no ratio either.
        two.treatments[2].sessions = 3;
        let of_settings = [Facts::new(&one, &small, &analysis), Facts::new(&two, &small, &analysis)];
        let found = rates(&of_settings, &aspects(&of_settings), None).unwrap();
        assert!(found.rows[0].ratios[0].is_some() && found.rows[1].ratios[0].is_none());
        two.engine = "other".to_owned();
        let of_engines = [Facts::new(&one, &small, &analysis), Facts::new(&two, &small, &analysis)];
        let why = rates(&of_engines, &aspects(&of_engines), None).unwrap_err();
        assert_eq!(why, "a row of one engine is not the work of a row of another");
        assert_eq!(rates(&of_engines[..1], &[], None).unwrap_err(), "one study");
    }
}
