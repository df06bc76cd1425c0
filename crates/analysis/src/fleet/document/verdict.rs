//! The verdict of a fleet: what is wrong with it, the answer, what to do, the rest.

use super::machines::{differs_in, odd_in};
use super::rates;
use super::words::{self, judged as judged_ratio, range};
use crate::fleet::judged::{
    Basis, Between, Judged, JudgedComparison, JudgedRate, KindRatio, RECOMMENDED_MACHINES,
};
use crate::validity::MAX_LOST_SHARE;
use crate::words::{finding, list, shortened};
use threadwise_document::numbers::{self, counted, p_value, percent, set_percent};
use threadwise_document::{Finding, Prose, prose};

/// Most kinds of which a line each is said.
const MAX_KINDS: usize = 4;

/// What a machine's own share of the spread has to be, at the least, for repeats to be called of little use.
const MOSTLY_OWN: f64 = 0.5;

/// The findings, in the order in which they are read.
pub(super) fn verdict(judged: &Judged) -> Vec<Finding> {
    let mut lines = validity(judged);
    match judged.comparisons.first() {
        None => lines.push(finding(
            "not-measurable",
            "Nothing can be said: no study has a usable comparison.",
            &[],
        )),
        Some(first) => lines.extend(answer(judged, first)),
    }
    lines.extend(advice(judged));
    lines.extend(judged.comparisons.iter().skip(1).filter_map(other_comparison));
    lines.extend(judged.rates.first().into_iter().flat_map(|rate| rates_of(judged, rate)));
    lines.extend(odd(judged));
    lines.extend(limits(judged));
    lines.extend(judged.cautions.iter().map(|line| finding("caution", prose!("Mind: {}.", line), &[])));
    lines
}

/// Studies that are absent, and how many.
fn absent(judged: &Judged) -> Option<(usize, usize, String)> {
    let absent: usize = judged.absent.iter().map(|group| group.cells.len()).sum();
    let measured: usize = judged.kinds.iter().map(|kind| kind.studies as usize).sum();
    let reasons = crate::fleet::Absence::ALL.map(|reason| {
        let groups = judged.absent.iter().filter(|group| group.reason == reason);
        (groups.map(|group| group.cells.len()).sum::<usize>(), reason.word())
    });
    let reasons = reasons.into_iter().filter(|(count, _)| *count > 0);
    let reasons: Vec<String> = reasons.map(|(count, word)| format!("{count} {word}")).collect();
    (absent > 0).then(|| (absent, absent + measured, list(&reasons)))
}

/// What is wrong with the fleet as a whole.
fn validity(judged: &Judged) -> Vec<Finding> {
    let mut lines = Vec::new();
    if judged.simulated {
        lines.push(finding("simulated", "SIMULATED: from a model, not from a machine", &[]));
    }
    if let Some((absent, planned, reasons)) =
        absent(judged).filter(|(absent, planned, _)| *absent as f64 > MAX_LOST_SHARE * *planned as f64)
    {
        let text = prose!(
            "Validity: no result from {} of {} planned studies ({}), more than a tenth: machines that are missing may differ \
             from those that are not.",
            absent,
            planned,
            reasons
        );
        lines.push(finding("validity", text, &[]));
    }
    lines
}

/// The answer by the first comparison: whether kinds differ, and what each kind has.
fn answer(judged: &Judged, first: &JudgedComparison) -> Vec<Finding> {
    let known: Vec<&KindRatio> = first.cells.iter().filter(|cell| cell.mean.is_some()).collect();
    let mut lines = Vec::new();
    if known.is_empty() {
        let text = prose!(
            "Nothing can be said of a kind of machine: {}. Measure three machines of a kind or more, {} are recommended.",
            shortened(&gaps(judged)),
            RECOMMENDED_MACHINES
        );
        return vec![finding("not-measurable", text, &[])];
    }
    if known.len() > 1 {
        lines.push(between_line(first));
    }
    // Where the line before names the comparison, the kinds' lines need not.
    let name = if known.len() > 1 { None } else { Some(words::name(first)) };
    lines.extend(known.iter().take(MAX_KINDS).filter_map(|cell| of_kind(first, name.as_deref(), cell)));
    lines
}

/// Whether kinds differ in a comparison.
fn between_line(comparison: &JudgedComparison) -> Finding {
    let name = words::name(comparison);
    let shown = shown_pairs(&comparison.between);
    let is_same = comparison.between.iter().all(|one| one.ratio.is_same());
    let margin = comparison.between.first().map_or(0.0, |one| one.ratio.margin);
    let text = match (shown.is_empty(), is_same) {
        (false, _) => prose!("{} differs between kinds: {}.", name, Prose::join(shown, "; ")),
        (true, true) => prose!("{} is the same on all kinds within {}.", name, set_percent(margin)),
        (true, false) => prose!("No difference between kinds is shown in {}.", name),
    };
    finding("fleet-between", text, &[&comparison.name])
}

/// Pairs of kinds that are shown to differ, the largest difference first.
fn shown_pairs(between: &[Between]) -> Vec<Prose> {
    let mut shown: Vec<&Between> = between.iter().filter(|one| one.ratio.is_different()).collect();
    let size = |one: &Between| one.ratio.value.ln().abs();
    shown.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let more = shown.len().saturating_sub(MAX_KINDS);
    let mut parts: Vec<Prose> = shown.into_iter().take(MAX_KINDS).map(words::larger).collect();
    parts.extend((more > 0).then(|| prose!("{} more in the table", more)));
    parts
}

/// One kind: its mean and the next machine.
fn of_kind(comparison: &JudgedComparison, name: Option<&str>, cell: &KindRatio) -> Option<Finding> {
    let (mean, next) = (cell.mean.as_ref()?, cell.next_machine.as_ref()?);
    let name = name.map_or(String::new(), |name| format!("{name} is "));
    let text = prose!(
        "{} ({}): {}{} on average; the next machine will measure {}.",
        &cell.kind,
        counted(cell.machines.len(), "machine"),
        name,
        judged_ratio(mean),
        range(next, "ratio")
    );
    Some(finding("fleet-kind", text, &[&comparison.name]))
}

/// Differences between kinds in another comparison; `None` where none is shown.
fn other_comparison(comparison: &JudgedComparison) -> Option<Finding> {
    let is_any = comparison.between.iter().any(|one| one.ratio.is_different());
    is_any.then(|| between_line(comparison))
}

/// What to do: the kind that does most for the money, and where more measuring would help.
fn advice(judged: &Judged) -> Vec<Finding> {
    let mut lines = Vec::new();
    lines.extend(judged.rates.first().and_then(|rate| per_price(judged, rate)));
    if let Some(first) = judged.comparisons.first() {
        lines.extend(first.cells.iter().filter_map(|cell| narrower(judged, first, cell)).take(MAX_KINDS));
    }
    lines
}

/// The kind that does most for the money, where that is shown against all others.
fn per_price(judged: &Judged, rate: &JudgedRate) -> Option<Finding> {
    let priced: Vec<&str> = rate
        .cells
        .iter()
        .filter(|cell| {
            rate.between_per_price.iter().any(|one| one.kind == cell.kind || one.other == cell.kind)
        })
        .map(|cell| cell.kind.as_str())
        .collect();
    let currency = judged.kinds.iter().find_map(|kind| kind.price.as_ref()).map(|price| &price.currency)?;
    let counted = rate.unit.strip_suffix("/s").unwrap_or(&rate.unit);
    let over = |kind: &str, other: &str| {
        let found = rate.between_per_price.iter().find_map(|one| match (&one.kind, &one.other) {
            (top, below) if top == kind && below == other => Some(one.ratio.clone()),
            (top, below) if top == other && below == kind => Some(one.ratio.inverse()),
            _ => None,
        });
        found.filter(|ratio| ratio.holm_low > 1.0)
    };
    let best = priced.iter().find_map(|kind| {
        let others = priced.iter().filter(|other| other != &kind);
        let ratios: Option<Vec<Prose>> =
            others.map(|other| Some(prose!("{} of {}", &over(kind, other)?.decisive(), *other))).collect();
        Some((*kind, ratios.filter(|ratios| !ratios.is_empty())?))
    });
    match best {
        Some((kind, ratios)) => {
            let text =
                prose!("{} does most {} per {}: {}.", kind, counted, currency, Prose::join(ratios, ", "));
            Some(finding("advice", text, &[]))
        }
        None if priced.len() > 1 => {
            let all = rate.between_per_price.iter().take(MAX_KINDS).map(words::larger_alone);
            let text = prose!(
                "Which kind does most {} per {} is not decided: {}.",
                counted,
                currency,
                Prose::join(all, "; ")
            );
            Some(finding("advice", text, &[]))
        }
        None => None,
    }
}

/// What would narrow a kind's interval, as far as that is known.
fn narrower(judged: &Judged, comparison: &JudgedComparison, cell: &KindRatio) -> Option<Finding> {
    let spread = cell.spread.as_ref().filter(|spread| spread.half_width > judged.margin)?;
    let needed = spread.machines_for_margin.map(|needed| {
        prose!(
            "about {} machines ({} to {}) would narrow it to {}",
            needed.about,
            needed.least,
            needed.most,
            Prose::figure(format!("±{}", set_percent(judged.margin)))
        )
    });
    let mostly_own = spread.own_share.filter(|share| share.low > MOSTLY_OWN).map(|share| {
        prose!(
            "over half of the spread is the machines' own, so no number of repeats on the same ones narrows it by more than \
             {}",
            percent(1.0 - share.low.sqrt())
        )
    });
    let parts: Vec<Prose> = needed.into_iter().chain(mostly_own).collect();
    let text = prose!(
        "{}: {} is known to {}; {}.",
        &cell.kind,
        comparison.name.as_str(),
        words::half(spread.half_width),
        Prose::join(parts.clone(), "; ")
    );
    (!parts.is_empty()).then(|| finding("fleet-advice", text, &[&comparison.name]))
}

/// Rates of the first row between kinds.
fn rates_of(judged: &Judged, rate: &JudgedRate) -> Option<Finding> {
    if rate.between.is_empty() {
        return None;
    }
    let what = if rate.is_fastest() { rates::FASTEST.to_owned() } else { rate.treatment.clone() };
    let shown = shown_pairs(&rate.between);
    let is_same = rate.between.iter().all(|one| one.ratio.is_same());
    let text = match (shown.is_empty(), is_same) {
        (false, _) => prose!("Rates ({}, {}): {}.", &rate.unit, what, Prose::join(shown, "; ")),
        (true, true) => {
            prose!("Rates ({}, {}) are the same within {}.", &rate.unit, what, set_percent(judged.margin))
        }
        (true, false) => {
            prose!("No difference between kinds is shown in rates ({}, {}).", &rate.unit, what)
        }
    };
    Some(finding("fleet-rate", text, &[]))
}

fn odd(judged: &Judged) -> Vec<Finding> {
    let line = |odd: &crate::fleet::OddMachine| {
        let differs = match differs_in(odd) {
            none if none.is_empty() => "nothing that is known sets it apart".to_owned(),
            some => format!("it differs in {some}"),
        };
        let text = prose!(
            "Odd machine: {} of {} has {} of the others' {} (p {}); {}. It stays in all figures.",
            &odd.node,
            &odd.kind,
            Prose::figure(numbers::value(odd.over_others, "ratio")),
            odd_in(odd),
            p_value(odd.adjusted_p),
            differs
        );
        finding("fleet-machine", text, &[])
    };
    judged.odd_machines.iter().take(MAX_KINDS).map(line).collect()
}

/// Kinds of which nothing can be said, with the reason.
fn gaps(judged: &Judged) -> Vec<String> {
    let all = judged.kinds.iter().filter_map(|kind| Some(format!("{}: {}", kind.name, kind.basis.gap()?)));
    all.collect()
}

/// What cannot be said, and what is absent.
fn limits(judged: &Judged) -> Vec<Finding> {
    let mut lines = Vec::new();
    let gaps = gaps(judged);
    if !gaps.is_empty() && judged.kinds.iter().any(|kind| kind.basis == Basis::Intervals) {
        lines.push(finding("not-measurable", prose!("No verdict on {}.", shortened(&gaps)), &[]));
    }
    lines.extend(rates::gap(judged).map(|text| finding("fleet-rate", text, &[])));
    if let Some((absent, planned, reasons)) = absent(judged) {
        let text = prose!("Absent: {} of {} planned studies ({}).", absent, planned, reasons);
        lines.push(finding("absent", text, &[]));
    }
    lines
}
