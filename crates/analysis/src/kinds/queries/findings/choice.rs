//! Which treatments a verdict names, and ratios as text: differences that are shown first, those
//! that are not together, with the words said once.

use crate::Facts;
use crate::queries::{Baseline, Queries, TreatmentQueries};
use crate::words::list;
use crate::{Estimate, Ratio};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use threadwise_document::numbers::{counted, ratio};
use threadwise_document::{Prose, prose};
use threadwise_study::{Role, Treatment};

/// Most queries that a list names.
pub const MAX_QUERIES: usize = 6;

/// Most treatments that one finding names.
pub const MAX_SHOWN: usize = 3;

/// The treatments that are named, and those that are left to the table.
pub struct Choice<'a> {
    /// At most [`MAX_SHOWN`], in study order: all where there are no more, else each placement's highest DOP, and of a
    /// single placement the next one. Never by their speeds: intervals of those that were chosen by them would be too short.
    pub named: Vec<&'a TreatmentQueries>,
    /// The others in study order.
    pub rest: Vec<&'a TreatmentQueries>,
}

impl<'a> Choice<'a> {
    /// From the compared treatments that were measured.
    pub fn of(facts: &Facts<'_>, queries: &'a Queries) -> Self {
        let all = facts.study.treatments.iter().zip(&queries.treatments);
        let is_compared = |(treatment, measured): &(&Treatment, &TreatmentQueries)| {
            treatment.role == Role::Compared && measured.blocks > 0
        };
        let compared: Vec<(&Treatment, &TreatmentQueries)> = all.filter(is_compared).collect();
        let chosen =
            if compared.len() > MAX_SHOWN { relevant(&compared) } else { (0..compared.len()).collect() };
        let (named, rest): (Vec<_>, Vec<_>) = compared
            .iter()
            .enumerate()
            .partition(|(at, _)| chosen.iter().take(MAX_SHOWN).any(|index| index == at));
        let only = |part: Vec<(usize, &(&Treatment, &'a TreatmentQueries))>| {
            part.into_iter().map(|(_, (_, measured))| *measured).collect()
        };
        Self { named: only(named), rest: only(rest) }
    }

    /// All of them, those that are named first.
    pub fn all(&self) -> impl Iterator<Item = &'a TreatmentQueries> + '_ {
        self.named.iter().chain(&self.rest).copied()
    }

    /// `; 9 more in the table (7 with a difference shown)`, or nothing where none is left.
    pub fn more(&self, ratio_of: impl Fn(&TreatmentQueries) -> Option<&Ratio>) -> String {
        let known: Vec<&Ratio> = self.rest.iter().filter_map(|measured| ratio_of(measured)).collect();
        let shown = known.iter().filter(|ratio| ratio.is_different()).count();
        match (known.len(), shown) {
            (0, _) => String::new(),
            (more, 0) => format!("; {more} more in the table"),
            (more, shown) => format!("; {more} more in the table ({shown} with a difference shown)"),
        }
    }
}

/// Fewest treatments that one finding names, where there are so many.
const MIN_SHOWN: usize = 2;

/// Indices by relevance: each placement's highest DOP, the highest first, and of a single placement the next one.
fn relevant(compared: &[(&Treatment, &TreatmentQueries)]) -> Vec<usize> {
    let size = |at: &usize| (compared[*at].1.dop, compared[*at].1.streams);
    let mut highest: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (at, (treatment, _)) in compared.iter().enumerate() {
        let known = highest.entry((treatment.group.as_str(), treatment.placement.trim())).or_insert(at);
        if size(&at) > size(known) {
            *known = at;
        }
    }
    let is_highest = |at: &usize| highest.values().any(|known| known == at);
    let mut all: Vec<usize> = (0..compared.len()).collect();
    all.sort_by_key(|at| (!is_highest(at), Reverse(size(at)), *at));
    all.truncate(highest.len().max(MIN_SHOWN));
    all
}

/// The baseline of a treatment, its two runs in every block together.
pub fn baseline<'a>(
    facts: &Facts<'_>,
    queries: &'a Queries,
    measured: &TreatmentQueries,
) -> Option<&'a TreatmentQueries> {
    let (_, treatment) = facts.study.treatment(&measured.treatment)?;
    queries.baseline(&treatment.group).map(|baseline| &baseline.both)
}

/// Whether a treatment has as many streams as its baseline: beside others every query takes longer.
pub fn is_as_many_streams(facts: &Facts<'_>, queries: &Queries, measured: &TreatmentQueries) -> bool {
    baseline(facts, queries, measured).is_some_and(|base| base.streams == measured.streams)
}

/// The name of the baseline, or that each group has its own.
pub fn baseline_name(queries: &Queries) -> &str {
    match queries.baselines.as_slice() {
        [one] => &one.both.treatment,
        _ => "the baseline of its group",
    }
}

/// What the baseline is called where a study has one: by name, with what its name does not say and
/// one of its figures; `None` where each group has its own.
pub fn one_baseline(queries: &Queries, figure: impl Fn(&TreatmentQueries) -> Option<Prose>) -> Option<Prose> {
    let [Baseline { both: one, .. }] = queries.baselines.as_slice() else { return None };
    let (name, placement) = (&one.treatment, one.placement.trim());
    let dop = one.dop.filter(|dop| !name.contains(&format!("d{dop}")));
    let dop = dop.map_or_else(String::new, |dop| format!("DOP {dop} "));
    let is_reported = dop.is_empty() && name.contains(placement);
    let place = (!is_reported).then(|| format!("{dop}on {placement}"));
    let streams = queries.is_throughput.then(|| counted(one.streams as usize, "stream"));
    let words = [place.map(Prose::from), streams.map(Prose::from), figure(one)].into_iter().flatten();
    let words = Prose::join(words, ", ");
    Some(if words.is_empty() { name.into() } else { prose!("{} ({})", name, words) })
}

/// A ratio with its name, as a finding lists it.
pub struct NamedRatio {
    name: String,
    ratio: Ratio,
    /// What stands behind it in brackets; may be empty.
    more: Prose,
}

impl NamedRatio {
    /// Of a treatment or a query.
    pub fn of(name: &str, ratio: &Ratio, more: impl Into<Prose>) -> Self {
        Self { name: name.to_owned(), ratio: ratio.clone(), more: more.into() }
    }

    /// Of a comparison.
    pub fn of_estimate(estimate: &Estimate) -> Self {
        Self::of(&estimate.name, &estimate.ratio, "")
    }

    /// `d2 1.80x [1.75, 1.85] (6.11 s)`; the reason is left out where it is given for all.
    fn text(&self, with_why: bool) -> Prose {
        let why = self.ratio.why_not_shown().filter(|_| with_why).unwrap_or_default();
        // That there is no interval is a reason, and given as such.
        let figures = match self.ratio.has_ends() {
            true => Prose::from(&self.ratio),
            false => Prose::figure(format!("{}x", ratio(self.ratio.value))),
        };
        let parts = [self.more.clone(), why.into()].into_iter().filter(|part| !part.is_empty());
        let brackets = Prose::join(parts, ", ");
        match brackets.is_empty() {
            true => prose!("{} {}", &self.name, figures),
            false => prose!("{} {} ({})", &self.name, figures, brackets),
        }
    }
}

/// `a 1.80x [1.75, 1.85]; no difference shown: b 1.02x [0.97, 1.07], c 1.01x [0.96, 1.06]`: what is
/// shown first. `None` without a ratio.
pub fn judged(ratios: &[NamedRatio]) -> Option<Prose> {
    let (shown, not): (Vec<&NamedRatio>, Vec<&NamedRatio>) =
        ratios.iter().partition(|one| one.ratio.is_different());
    let joined =
        |part: &[&NamedRatio], with_why: bool| Prose::join(part.iter().map(|one| one.text(with_why)), ", ");
    let mut parts = Vec::new();
    if !shown.is_empty() {
        parts.push(joined(&shown, false));
    }
    if let [first, rest @ ..] = not.as_slice() {
        // One reason of all of them is given once.
        let why = first.ratio.why_not_shown();
        let same = why.filter(|_| rest.iter().all(|one| one.ratio.why_not_shown() == why));
        let reason = same.map_or_else(String::new, |why| format!(" ({why})"));
        parts.push(prose!("no difference shown{}: {}", reason, joined(&not, same.is_none())));
    }
    (!parts.is_empty()).then(|| Prose::join(parts, "; "))
}

/// `Q2, Q11 and Q13`, so many of them.
pub fn query_list(numbers: &[u8], most: usize) -> String {
    let mut names: Vec<String> = numbers.iter().take(most).map(|number| format!("Q{number}")).collect();
    let more = numbers.len().saturating_sub(most);
    names.extend((more > 0).then(|| format!("{more} more")));
    list(&names)
}
