//! Neighbours: what something else on the other thread of its core costs a session, on machines whose host hides siblings.
//!
//! One family for all groups of treatments; the method is in `neighbours::cost` and docs/METHODOLOGY.md, "Neighbours".

use super::answer::QuestionAnswer;
use crate::estimate::{Rule, judge, together};
use crate::looks::states::LookedAt;
use crate::neighbours::{self, Observations, PairFound, cost, observations, pairs};
use crate::question::{Case, Question};
use crate::words::finding;
use crate::{Answer, Direction, Estimate, Facts, Finding, FindingKind, Interval, Ratio};
use threadwise_document::{Prose, prose};
use threadwise_statistics::MeanEstimate;

pub(crate) const NEIGHBOURS: Question = Question {
    ask,
    findings: |facts| facts.of_question("neighbours", cost_finding).into_iter().collect(),
    method: |facts| facts.of_question("neighbours", paragraph),
    ..Question::new("neighbours")
};

/// Names of estimates: what is left of a session's rate beside a neighbour, and likewise of the whole.
pub(crate) const LEFT: &str = "left beside a neighbour";
/// The same as slices show it whose looks say what was there all the time.
pub(crate) const SEEN: &str = "left, as seen";
pub(crate) const LEFT_BY_CPU: &str = "left, by CPU time";
pub(crate) const AGREED: &str = "left where both looks agree";
pub(crate) const WHOLE: &str = "left of the machine";
pub(crate) const ELSEWHERE: &str = "idle logical CPU elsewhere";
pub(crate) const PREVALENCE: &str = "share of the time";
pub(crate) const GAMMA: &str = "exposure inside slices";
/// Of two sessions that the host ran on one core.
pub(crate) const OVER_TWO: &str = "two on one core over two on clear cores";
pub(crate) const OVER_ONE: &str = "two on one core over one";
pub(crate) const ON_ONE_CORE: &str = "share of the time on one core";
/// The most that is left in any group, if repeated looks that disagree were wrong.
pub(crate) const AT_WORST: &str = "left_if_looks_are_wrong";

/// A group of treatments with a cost.
struct Group {
    name: String,
    agreed: Option<MeanEstimate>,
    found: neighbours::NeighbourCost,
    by_cpu: Option<neighbours::NeighbourCost>,
}

fn ask(case: &Case<'_>) -> Option<QuestionAnswer> {
    let study = case.study();
    if case.slices.iter().all(|slice| slice.looks.is_empty()) {
        return None;
    }
    let mut two: Vec<(String, PairFound)> = Vec::new();
    let of_group = |group: &str| {
        let is_of = |name: &str| study.treatment(name).is_some_and(|(_, one)| one.group == group);
        let seen = observations(study, case.slices, is_of);
        two.extend(pairs(&seen.pair_rows, &seen.pair_looks).map(|found| (group.to_owned(), found)));
        let found = cost(&seen, study.seed)?;
        let by_cpu = cost(&seen.by_cpu_time(), study.seed);
        Some(Group { name: group.to_owned(), agreed: agreed(&seen), found, by_cpu })
    };
    let groups: Vec<Group> = study.groups().into_iter().filter_map(of_group).collect();
    if groups.is_empty() && two.is_empty() {
        let gap = "too few blocks have looks both with a neighbour and without one".to_owned();
        return is_looked_at(case.slices)
            .then(|| QuestionAnswer { gap: Some(gap), ..QuestionAnswer::default() });
    }
    let rule = Rule { direction: Direction::HigherIsBetter, ..case.rule() };
    type Value<'v, T> = &'v dyn Fn(&T) -> Option<MeanEstimate>;
    let of_groups = |name: &'static str, value: Value<'_, Group>, shown: &dyn Fn(Ratio, &Group) -> Ratio| {
        let judged = together(&groups.iter().map(value).collect::<Vec<_>>(), 1.0, rule);
        let named = groups.iter().zip(judged).filter_map(|(group, ratio)| {
            Some(Estimate::of(NEIGHBOURS.name, name, &group.name, "", shown(ratio?, group)))
        });
        named.collect::<Vec<_>>()
    };
    let of_two = |name: &'static str, value: Value<'_, PairFound>, shown: &dyn Fn(Ratio) -> Ratio| {
        let judged = together(&two.iter().map(|(_, found)| value(found)).collect::<Vec<_>>(), 1.0, rule);
        let named = two.iter().zip(judged).filter_map(|((group, _), ratio)| {
            Some(Estimate::of(NEIGHBOURS.name, name, group, "", shown(ratio?)))
        });
        named.collect::<Vec<_>>()
    };
    let checked = |ratio: Ratio, group: &Group| claimed(ratio.exp(), &group.found, rule.alpha);
    let by_cpu = |ratio: Ratio, group: &Group| {
        group
            .by_cpu
            .as_ref()
            .map_or_else(|| ratio.clone().exp(), |found| claimed(ratio.clone().exp(), found, rule.alpha))
    };
    let exp = |ratio: Ratio, _: &Group| ratio.exp();
    let share = |ratio: Ratio| Ratio { unit: "share", ..ratio };
    let shares = |ratio: Ratio, _: &Group| share(ratio);
    let agreed = groups.iter().filter_map(|group| {
        let ratio = judge(&[(group.agreed?, None)], rule).remove(0);
        Some(Estimate::of(NEIGHBOURS.name, AGREED, &group.name, "", ratio))
    });
    let estimates = [
        of_two(OVER_TWO, &|found| Some(found.over_two), &Ratio::exp),
        of_two(OVER_ONE, &|found| found.over_one, &Ratio::exp),
        of_two(ON_ONE_CORE, &|found| Some(found.prevalence), &share),
        of_groups(LEFT, &|group| group.found.remaining, &checked),
        of_groups(SEEN, &|group| Some(group.found.seen), &checked),
        agreed.collect(),
        of_groups(LEFT_BY_CPU, &|group| group.by_cpu.as_ref()?.remaining, &by_cpu),
        of_groups(WHOLE, &|group| group.found.whole, &exp),
        of_groups(ELSEWHERE, &|group| group.found.elsewhere, &shares),
        of_groups(PREVALENCE, &|group| Some(group.found.prevalence), &shares),
        of_groups(GAMMA, &|group| group.found.gamma, &shares),
    ]
    .concat();
    let worst = groups.iter().filter_map(|group| group.found.remaining_at_worst).reduce(f64::max);
    let numbers = worst.map(|left| (AT_WORST, left)).into_iter().collect();
    Some(QuestionAnswer { estimates, numbers, ..QuestionAnswer::default() })
}

fn is_looked_at(slices: &[LookedAt<'_>]) -> bool {
    use threadwise_study::look::follow::Share;
    let known = |share| matches!(share, Share::Neighbour | Share::Alone);
    slices.iter().flat_map(|one| &one.looks).any(|look| look.shares.iter().any(|(_, share)| known(share)))
}

/// Slices whose looks before and after saw a neighbour over those whose looks saw none, within blocks and cells.
fn agreed(seen: &Observations) -> Option<MeanEstimate> {
    use crate::looks::contrast::{Unit, by_block, pooled};
    use crate::looks::rows::Amount;
    let unit = |row: &neighbours::Row| {
        Some(Unit {
            block: row.block,
            stratum: u8::try_from(row.cell).ok()?,
            is_same: row.agreed?,
            top: Amount::rate(row.rate),
            below: [None, None],
        })
    };
    let blocks = by_block(seen.rows.iter().filter_map(unit), 2);
    (blocks.len() as f64 >= neighbours::LEAST_BLOCKS).then(|| pooled(&blocks)).flatten()
}

/// An estimate that is undecided where its checks do not stand.
fn claimed(ratio: Ratio, found: &neighbours::NeighbourCost, alpha: f64) -> Ratio {
    match found.is_claimed(ratio.adjusted_high, alpha) {
        true => ratio,
        false => Ratio { answer: Answer::Undecided, ..ratio },
    }
}

/// What is known of a group: what is left of a rate, whether that is corrected for states that change inside slices, how
/// often neighbours were there, and what is left of the whole.
pub(crate) struct Cost<'f> {
    pub group: &'f str,
    pub left: &'f Ratio,
    pub is_corrected: bool,
    pub prevalence: &'f Ratio,
    pub whole: Option<&'f Ratio>,
    pub has_elsewhere: bool,
}

/// Costs that are claimed, one a group.
pub(crate) fn costs(found: &QuestionAnswer) -> Vec<Cost<'_>> {
    let ratio = |name: &str, group: &str| estimate(found, name, group);
    let cost = |group| {
        let corrected = ratio(LEFT, group).filter(|ratio| ratio.answer == Answer::Smaller);
        let left =
            corrected.or_else(|| ratio(SEEN, group).filter(|ratio| ratio.answer == Answer::Smaller))?;
        Some(Cost {
            group,
            left,
            is_corrected: corrected.is_some(),
            prevalence: ratio(PREVALENCE, group)?,
            whole: ratio(WHOLE, group).filter(|_| corrected.is_some()),
            has_elsewhere: ratio(ELSEWHERE, group).is_some(),
        })
    };
    groups_of(found, SEEN).into_iter().filter_map(cost).collect()
}

/// Whether it is known what a core did for two sessions.
pub(crate) fn has_yield(facts: &Facts<'_>) -> bool {
    facts.analysis.found(NEIGHBOURS.name).is_some_and(|found| !groups_of(found, OVER_ONE).is_empty())
}

/// The costs that a study claims.
pub(crate) fn claimed_costs<'f>(facts: &'f Facts<'_>) -> Vec<Cost<'f>> {
    facts.analysis.found(NEIGHBOURS.name).map(costs).unwrap_or_default()
}

/// What is lost where this is left, such as `44% [40, 48]`.
pub(crate) fn lost(left: &Ratio) -> Interval {
    let Interval { mean, low, high, unit } = share(left);
    Interval { mean: 1.0 - mean, low: 1.0 - high, high: 1.0 - low, unit }
}

/// A share with the interval that decides.
pub(crate) fn share(ratio: &Ratio) -> Interval {
    let Ratio { value, adjusted_low, adjusted_high, .. } = ratio;
    let [mean, low, high] = [value, adjusted_low, adjusted_high].map(|one| one.clamp(0.0, 1.0));
    Interval { mean, low, high, unit: "share".to_owned() }
}

/// An estimate of a group.
pub(crate) fn estimate<'f>(found: &'f QuestionAnswer, name: &str, group: &str) -> Option<&'f Ratio> {
    let mut all = found.estimates.iter();
    all.find(|one| one.name == name && one.treatment == group).map(|one| &one.ratio)
}

/// The groups of which something of a name is estimated, in the study's order.
pub(crate) fn groups_of<'f>(found: &'f QuestionAnswer, name: &str) -> Vec<&'f str> {
    found.estimates.iter().filter(|one| one.name == name).map(|one| one.treatment.as_str()).collect()
}

fn cost_finding(facts: &Facts<'_>, found: &QuestionAnswer) -> Option<Finding> {
    let sentences: Vec<Prose> =
        cost_sentence(facts, found).into_iter().chain(pair_sentence(facts, found)).collect();
    (!sentences.is_empty()).then(|| finding(FindingKind::Neighbours, Prose::join(sentences, " "), &[]))
}

/// What a core did that the host gave to two sessions.
fn pair_sentence(facts: &Facts<'_>, found: &QuestionAnswer) -> Option<Prose> {
    let clause = |group: &&str| {
        let ratio = estimate(found, OVER_ONE, group)?.decisive();
        let place = facts.group_words(group);
        Some(prose!("{}{}{}", &ratio, if place.is_empty() { "" } else { " " }, place))
    };
    let groups = groups_of(found, OVER_ONE);
    let often = estimate(found, ON_ONE_CORE, groups.first()?)?;
    Some(prose!(
        "While this host ran two sessions on one core ({} of the time) the core did {} of what one session does on it \
         (observational).",
        &share(often),
        Prose::join(groups.iter().filter_map(clause), ", ")
    ))
}

fn cost_sentence(facts: &Facts<'_>, found: &QuestionAnswer) -> Option<Prose> {
    let costs = costs(found);
    let first = costs.first()?;
    let clause = |cost: &Cost<'_>| {
        let place = facts.group_words(cost.group);
        let least = if cost.is_corrected { "" } else { "at most " };
        prose!("{}{}{}{}", least, &cost.left.decisive(), if place.is_empty() { "" } else { " " }, place)
    };
    Some(prose!(
        "While something else ran on the other thread of its core, a session did {} of what it does without \
         (observational){}.",
        Prose::join(costs.iter().map(clause), ", "),
        if first.has_elsewhere { "" } else { "; what others did to the rest of the package is not excluded" }
    ))
}

fn paragraph(_: &Facts<'_>, found: &QuestionAnswer) -> Option<Prose> {
    let gap = found.gap.as_deref()?;
    Some(prose!("The cost of neighbours is not estimated: {}.", gap))
}
