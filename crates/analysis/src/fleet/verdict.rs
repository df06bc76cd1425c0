//! The verdict of a fleet: problems, the answer, what to do, the rest; and its phrases.

use super::{Absence, Basis, Between, Judged, JudgedRow, OddMachine, OnKind, RECOMMENDED_MACHINES, Range};
use crate::FindingKind;
use crate::Ratio;
use crate::validity::MAX_LOST_SHARE;
use crate::words::{MAX_LISTED, answered, finding, limited, list, shortened};
use threadwise_document::numbers::{self, counted, p_value, percent, set_percent};
use threadwise_document::{Finding, Prose, prose};
use threadwise_study::ComparisonKind;

/// Name of the row of the fastest treatment of each kind.
pub(super) const FASTEST: &str = "fastest of each";

/// Most kinds with a line each.
const MAX_KINDS: usize = 4;

/// Least share of the spread that is the machines' own for repeats to be called of little use.
const MOSTLY_OWN: f64 = 0.5;

/// The findings, in reading order.
pub(super) fn verdict(judged: &Judged) -> Vec<Finding> {
    let mut lines = validity(judged);
    match judged.comparisons.first() {
        None => lines.push(finding(
            FindingKind::NotMeasurable,
            "Nothing can be said: no study has a usable comparison.",
            &[],
        )),
        Some(first) => lines.extend(answer(judged, first)),
    }
    lines.extend(judged.rates.first().and_then(|rate| per_price(judged, rate)));
    if let Some(first) = judged.comparisons.first() {
        lines.extend(first.cells.iter().filter_map(|one| narrower(judged, first, one)).take(MAX_KINDS));
    }
    let differs = |row: &&JudgedRow| row.between.iter().any(|one| one.ratio.is_different());
    lines.extend(judged.comparisons.iter().skip(1).filter(differs).map(|row| between_kinds(judged, row)));
    let rates = judged.rates.first().filter(|rate| !rate.between.is_empty());
    lines.extend(rates.map(|rate| between_kinds(judged, rate)));
    lines.extend(judged.odd_machines.iter().take(MAX_KINDS).map(odd));
    lines.extend(limits(judged));
    lines.extend(
        judged.cautions.iter().map(|line| finding(FindingKind::Caution, prose!("Mind: {}.", line), &[])),
    );
    lines
}

/// Planned studies without a result, as words for all that were planned: `3 of 20 planned studies (2 failed and 1 refused)`.
fn absent(judged: &Judged) -> String {
    let planned = judged.absent.len() + judged.kinds.iter().map(|kind| kind.studies as usize).sum::<usize>();
    let reasons = Absence::ALL.iter().filter_map(|reason| {
        let count = judged.absent.iter().filter(|absent| absent.reason == *reason).count();
        (count > 0).then(|| format!("{count} {}", reason.word()))
    });
    let reasons = list(&reasons.collect::<Vec<_>>());
    format!("{} of {planned} planned studies ({reasons})", judged.absent.len())
}

/// Problems of the fleet as a whole.
fn validity(judged: &Judged) -> Vec<Finding> {
    let mut lines = Vec::new();
    if judged.simulated {
        lines.push(finding(FindingKind::Simulated, "SIMULATED: from a model, not from a machine", &[]));
    }
    let measured: usize = judged.kinds.iter().map(|kind| kind.studies as usize).sum();
    if judged.absent.len() as f64 > MAX_LOST_SHARE * (measured + judged.absent.len()) as f64 {
        let text = prose!(
            "Validity: no result from {}, more than a tenth: missing machines may differ from the others.",
            absent(judged)
        );
        lines.push(finding(FindingKind::Validity, text, &[]));
    }
    lines
}

/// The answer by the first comparison: whether kinds differ, and the figure of each kind.
fn answer(judged: &Judged, first: &JudgedRow) -> Vec<Finding> {
    let known: Vec<(&OnKind, &Ratio, &Range)> = first
        .cells
        .iter()
        .filter_map(|one| Some((one, one.ratio.as_ref()?, one.next_machine.as_ref()?)))
        .collect();
    if known.is_empty() {
        let text = prose!(
            "Nothing can be said about a kind of machine: {}. Measure at least three machines of a kind; {} are \
             recommended.",
            shortened(&gaps(judged)),
            RECOMMENDED_MACHINES
        );
        return vec![finding(FindingKind::NotMeasurable, text, &[])];
    }
    let mut lines = Vec::new();
    // Where the first line names the comparison, the kinds' lines need not.
    let name = match known.len() > 1 {
        true => {
            lines.push(between_kinds(judged, first));
            String::new()
        }
        false => format!("{} is ", name(first)),
    };
    lines.extend(known.into_iter().take(MAX_KINDS).map(|(one, ratio, next)| {
        let text = prose!(
            "{} ({}): {}{} on average{}; the next machine will measure {}.",
            &one.kind,
            counted(one.machines.len(), "machine"),
            name.as_str(),
            ratio,
            answered(ratio),
            range(next)
        );
        finding(FindingKind::FleetKind, text, &[&first.name])
    }));
    lines
}

/// Whether kinds differ in a comparison, or in a rate.
fn between_kinds(judged: &Judged, row: &JudgedRow) -> Finding {
    let differ = pairs(&row.between);
    let is_same = row.between.iter().all(|one| one.ratio.is_same());
    let margin = set_percent(judged.margin);
    if row.is_rate() {
        let what = if row.name.is_empty() { FASTEST } else { &row.name };
        let named = format!("({}, {what})", row.unit);
        let text = match (differ, is_same) {
            (Some(differ), _) => prose!("Rates {}: {}.", named, differ),
            (None, true) => prose!("Rates {} are the same within {}.", named, margin),
            (None, false) => prose!("No difference between kinds is shown in rates {}.", named),
        };
        return finding(FindingKind::FleetRate, text, &[]);
    }
    let name = name(row);
    let text = match (differ, is_same) {
        (Some(differ), _) => prose!("{} differs between kinds: {}.", name, differ),
        (None, true) => prose!("{} is the same on all kinds within {}.", name, margin),
        (None, false) => prose!("No difference between kinds is shown in {}.", name),
    };
    finding(FindingKind::FleetBetween, text, &[&row.name])
}

/// Pairs of kinds that are shown to differ, the largest difference first; `None` without any.
fn pairs(between: &[Between]) -> Option<Prose> {
    let mut shown: Vec<&Between> = between.iter().filter(|one| one.ratio.is_different()).collect();
    let size = |one: &Between| one.ratio.value.ln().abs();
    shown.sort_by(|one, other| size(other).total_cmp(&size(one)));
    limited(shown.into_iter().map(|one| larger(one, true)), MAX_KINDS)
}

/// `c7i over m6a is 1.14x [1.09, 1.19]`: the larger of two kinds over the other, with the interval that decides, and
/// its judgement.
fn larger(between: &Between, is_judged: bool) -> Prose {
    let kind = if between.ratio.value < 1.0 { &between.other } else { &between.kind };
    let (other, ratio) = over(between, kind);
    let judgement = if is_judged { answered(&ratio) } else { String::new() };
    prose!("{} over {} is {}{}", kind, other, &ratio, judgement)
}

/// The other kind, and one over it with the interval that decides.
fn over<'a>(between: &'a Between, kind: &str) -> (&'a str, Ratio) {
    match between.kind == kind {
        true => (&between.other, between.ratio.decisive()),
        false => (&between.kind, between.ratio.inverse().decisive()),
    }
}

/// The kind with the most work per price, if it is shown against all others.
fn per_price(judged: &Judged, rate: &JudgedRow) -> Option<Finding> {
    let between = &rate.between_per_price;
    let currency = &judged.kinds.iter().find_map(|kind| kind.price.as_ref())?.currency;
    let counted = rate.unit.strip_suffix("/s").unwrap_or(&rate.unit);
    let wins = |one: &OnKind| {
        let pairs = between.iter().filter(|two| [&two.kind, &two.other].contains(&&one.kind));
        let ratios = pairs.map(|two| {
            let (other, ratio) = over(two, &one.kind);
            (ratio.low > 1.0).then(|| prose!("{} of {}", &ratio, other))
        });
        let ratios = ratios.collect::<Option<Vec<Prose>>>().filter(|ratios| !ratios.is_empty())?;
        let ratios = Prose::join(ratios, ", ");
        Some(prose!("{} does most {} per {}: {}.", &one.kind, counted, currency, ratios))
    };
    let open = || {
        let all = Prose::join(between.iter().take(MAX_KINDS).map(|one| larger(one, false)), "; ");
        prose!("Which kind does most {} per {} is not decided: {}.", counted, currency, all)
    };
    let best = rate.cells.iter().find_map(wins);
    best.or_else(|| (!between.is_empty()).then(open)).map(|text| finding(FindingKind::Advice, text, &[]))
}

/// What would narrow a kind's interval, if known.
fn narrower(judged: &Judged, comparison: &JudgedRow, one: &OnKind) -> Option<Finding> {
    let spread = one.spread.as_ref().filter(|spread| spread.half_width > judged.margin)?;
    let needed = spread.machines_for_margin.map(|needed| {
        prose!(
            "about {} machines ({} to {}) would narrow that to {}",
            needed.about,
            needed.least,
            needed.most,
            Prose::figure(format!("±{}", set_percent(judged.margin)))
        )
    });
    let mostly_own = spread.own_share.filter(|share| share.low > MOSTLY_OWN).map(|share| {
        prose!(
            "over half of the spread is the machines' own, so no number of repeats on the same machines narrows it by \
             more than {}",
            percent(1.0 - share.low.sqrt())
        )
    });
    let parts: Vec<Prose> = needed.into_iter().chain(mostly_own).collect();
    let text = prose!(
        "{}: {} is uncertain by {}; {}.",
        &one.kind,
        comparison.name.as_str(),
        half(spread.half_width),
        Prose::join(parts.clone(), "; ")
    );
    (!parts.is_empty()).then(|| finding(FindingKind::FleetAdvice, text, &[&comparison.name]))
}

fn odd(odd: &OddMachine) -> Finding {
    let differs = match differs_in(odd) {
        None => "no known trait distinguishes it".to_owned(),
        Some(some) => format!("it differs in {some}"),
    };
    let text = prose!(
        "Odd machine: {} of {} has {} of the others' {} (p {}); {}. It is kept in all figures.",
        &odd.node,
        &odd.kind,
        Prose::figure(numbers::value(odd.over_others, "ratio")),
        odd_in(odd),
        p_value(odd.adjusted_p),
        differs
    );
    finding(FindingKind::FleetMachine, text, &[])
}

/// Kinds without a verdict, with the reason.
fn gaps(judged: &Judged) -> Vec<String> {
    let all = judged.kinds.iter().filter_map(|kind| Some(format!("{}: {}", kind.name, kind.basis.gap()?)));
    all.collect()
}

/// Kinds without a verdict, and absent studies.
fn limits(judged: &Judged) -> Vec<Finding> {
    let mut lines = Vec::new();
    let gaps = gaps(judged);
    if !gaps.is_empty() && judged.kinds.iter().any(|kind| kind.basis == Basis::Intervals) {
        lines.push(finding(FindingKind::NotMeasurable, prose!("No verdict on {}.", shortened(&gaps)), &[]));
    }
    lines.extend(other_work(judged).map(|text| finding(FindingKind::FleetRate, text, &[])));
    if !judged.absent.is_empty() {
        lines.push(finding(FindingKind::Absent, prose!("Absent: {}.", absent(judged)), &[]));
    }
    lines
}

/// Why studies are left out of rates.
pub(super) fn other_work(judged: &Judged) -> Option<Prose> {
    let other = judged.studies_of_other_work as usize;
    let are = if other == 1 { "takes" } else { "take" };
    (other > 0).then(|| {
        prose!(
            "Rates are compared among studies of the same plan, engine version and data: {} {} no part, because their \
             work differs or is unknown.",
            studies(other),
            are
        )
    })
}

/// `1 study`, `12 studies`.
pub(super) fn studies(count: usize) -> String {
    if count == 1 { "1 study".to_owned() } else { format!("{count} studies") }
}

/// Name of a comparison in a sentence: SMT yield in words.
fn name(comparison: &JudgedRow) -> String {
    match (&comparison.kind, comparison.name.split_once('/')) {
        (ComparisonKind::SmtYield, None) => "SMT yield (both threads of a core over one)".to_owned(),
        (ComparisonKind::SmtYield, Some((_, group))) => {
            format!("SMT yield with {group} (both threads of a core over one)")
        }
        _ => comparison.name.clone(),
    }
}

/// The figure in which an odd machine is odd.
pub(super) fn odd_in(odd: &OddMachine) -> &str {
    if odd.comparison.is_empty() { "rate over all treatments" } else { &odd.comparison }
}

/// `microcode 0x2c (others 0x2b)`; `None` if no trait is known.
pub(super) fn differs_in(odd: &OddMachine) -> Option<String> {
    let shown = odd.differs_in.iter().take(MAX_LISTED);
    let parts = shown.map(|one| format!("{} {} (others {})", one.name, one.value, one.others));
    (!odd.differs_in.is_empty()).then(|| parts.collect::<Vec<_>>().join(", "))
}

/// `1.18x to 1.37x`.
pub(super) fn range(range: &Range) -> Prose {
    let [low, high] = [range.low, range.high].map(|end| Prose::figure(numbers::value(end, "ratio")));
    prose!("{} to {}", low, high)
}

/// `±6.1%`, a half-width.
pub(super) fn half(half_width: f64) -> Prose {
    Prose::figure(format!("±{}", percent(half_width)))
}
