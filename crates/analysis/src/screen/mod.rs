//! The answer on one screen: the selection and wording of a study's findings, advice and figures.
//!
//! Nothing is estimated here. A kind with sentences and a table of its own for a screen has them in a file here; the
//! others show the first sentences of their findings and the first rows of their table. One ratio has one interval in
//! one place: the one adjusted for all comparisons of the study, and the table has it only if the answer does not.

pub(crate) mod rates;
pub mod subject;
mod table;
mod trust;

use crate::changed_with::{self, ChangedWith};
use crate::findings::looks::shows_hidden_siblings;
use crate::findings::sweep::{is_the_question, sweeps};
use crate::findings::trust::next;
use crate::{Facts, Finding, FindingKind};
use threadwise_document::screen::{Screen, Trust, TrustLevel, answer_fitting, cut};
use threadwise_document::{Advice, Class, Document, Prose, Section, Span, prose};
use threadwise_machine::text::shell_word;

/// The screen of a study, from its document.
pub(crate) fn screen(
    facts: &Facts<'_>,
    verdict: &[Finding],
    advice: &[Advice],
    sections: &[Section],
) -> Screen {
    let trust = trust::trust(facts, verdict);
    let answer = answer_fitting(answer(facts, verdict, advice, &trust));
    let table = match trust.level {
        TrustLevel::None => None,
        _ => rates::table(facts, &answer).or_else(|| {
            match facts.study.is_at_a_rate() || facts.study.vcpus().is_some() {
                true => table::leading(sections, &answer),
                false => table::first(sections, &answer),
            }
        }),
    };
    let set = set(advice, &trust);
    Screen {
        subject: subject::subject(facts),
        answer,
        table,
        set,
        why: why(facts),
        next: next(facts, &sweeps(facts)).map_or_else(|| otherwise(facts, &trust), Prose::capital),
        files: prose!("everything: {}", report_of(facts, "--all")),
        trust,
    }
    .fitted()
}

/// What to do if the study leaves nothing open: check what spoilt it, or what is on the cores now, or read on.
fn otherwise(facts: &Facts<'_>, trust: &Trust) -> Prose {
    if trust.level == TrustLevel::Low {
        return prose!("`threadwise doctor`, then the same again.");
    }
    match facts.analysis.looks.as_ref().is_some_and(shows_hidden_siblings) {
        true => prose!("`threadwise neighbours --watch`: is it always like this?"),
        false => report_of(facts, "--html FILE"),
    }
}

/// The command that shows a study again in another form.
fn report_of(facts: &Facts<'_>, option: &str) -> Prose {
    Prose::command(format!("threadwise report {} {option}", shell_word(facts.source)))
}

/// The answer: the sentences of its kind, else those of its findings, and of its advice if a number was requested. If
/// nothing was found, that, and why.
fn answer(facts: &Facts<'_>, verdict: &[Finding], advice: &[Advice], trust: &Trust) -> Vec<Prose> {
    let of_kind = if trust.level == TrustLevel::None { Vec::new() } else { rates::answer(facts) };
    let advised = advice.iter().flat_map(|advice| plain(&advice.line).sentences());
    // A bound for latency is a question, however few numbers of sessions were measured.
    let is_bounded = facts.asked.p99_ns.is_some() && advice.iter().any(|one| one.about == "sessions");
    let is_asked = is_the_question(facts, &sweeps(facts)) || is_bounded;
    let sentences: Vec<Prose> = match of_kind.is_empty() || is_asked {
        true => without_repeats(advised.chain(sentences_of(verdict, FindingKind::is_answer))),
        false => {
            let more = sentences_of(verdict, |kind| matches!(kind, FindingKind::Sweep | FindingKind::Asked));
            // A sweep repeats what a kind's own sentences say of two sessions.
            let known: Vec<String> = of_kind.iter().flat_map(ratios).collect();
            let is_new = |sentence: &Prose| !ratios(sentence).iter().any(|ratio| known.contains(ratio));
            let more: Vec<Prose> = more.into_iter().filter(is_new).collect();
            without_repeats(of_kind.into_iter().chain(more))
        }
    };
    match sentences.is_empty() {
        true => {
            sentences_of(verdict, |kind| matches!(kind, FindingKind::Nothing | FindingKind::NotMeasurable))
        }
        false => sentences,
    }
}

/// The figures of a sentence that have an interval, with the interval.
fn ratios(sentence: &Prose) -> Vec<String> {
    let spans = sentence.spans();
    (0..spans.len()).filter_map(|at| ratio_at(spans, at)).collect()
}

/// The figure before an interval, with it: `1.87x [1.83, 1.91]`.
fn ratio_at(spans: &[Span], at: usize) -> Option<String> {
    let interval = spans.get(at).filter(|span| span.class == Class::Interval)?;
    let figure = spans[..at].iter().rev().find(|span| span.class == Class::Figure)?;
    Some(format!("{} {}", figure.text, interval.text))
}

/// The sentences without intervals that an earlier sentence has: a ratio has one, in one place.
fn without_repeats(sentences: impl Iterator<Item = Prose>) -> Vec<Prose> {
    let mut known: Vec<String> = Vec::new();
    let once = |sentence: Prose| {
        let mut shorter = Prose::default();
        let spans = sentence.spans();
        let is_known = |at: usize| ratio_at(spans, at).is_some_and(|ratio| known.contains(&ratio));
        for (at, Span { class, text, .. }) in spans.iter().enumerate().filter(|(at, _)| !is_known(*at)) {
            let text = if is_known(at + 1) { text.trim_end() } else { text };
            shorter.push(Prose::of(*class, text));
        }
        known.extend(ratios(&sentence));
        shorter
    };
    sentences.map(once).collect()
}

/// The sentences of findings of some kinds, in their order.
fn sentences_of(verdict: &[Finding], is_meant: fn(FindingKind) -> bool) -> Vec<Prose> {
    let found = verdict.iter().filter(|finding| is_meant(finding.kind));
    found.flat_map(|finding| plain(&finding.line).sentences()).collect()
}

/// The screen of a document that is not of one study: its findings, its trust, its first table. `next` is what to do
/// then, `files` where the rest is.
pub fn of_document(document: &Document, trust: Trust, next: Prose, files: Prose) -> Screen {
    let simulated = if document.simulated { "SIMULATED: " } else { "" };
    let mut answer = sentences_of(&document.verdict, |kind| {
        // The subject says SIMULATED.
        !matches!(kind, FindingKind::Caution | FindingKind::Simulated)
    });
    if answer.is_empty() {
        answer.extend(document.about.iter().map(|line| prose!("{}.", line)));
    }
    if answer.is_empty() {
        answer.push("The figures are below.".into());
    }
    let answer = answer_fitting(answer);
    Screen {
        subject: cut(&format!("{simulated}{}", document.title)),
        table: table::first(&document.sections, &answer),
        answer,
        trust,
        set: Vec::new(),
        why: Vec::new(),
        next,
        files,
    }
    .fitted()
}

/// Trust in the result of several studies together: LOW if they are too few or simulated, FAIR if a caution applies.
pub fn of_cautions(document: &Document, can_tell: bool) -> Trust {
    let simulated = document.simulated.then(|| trust::SIMULATED.into());
    let few = (!can_tell).then(|| "Too few studies.".into());
    let low: Vec<Prose> = simulated.into_iter().chain(few).collect();
    let fair = cautions(document);
    match (low.is_empty(), fair.is_empty()) {
        (false, _) => Trust { level: TrustLevel::Low, reasons: [low, fair].concat() },
        (true, false) => Trust { level: TrustLevel::Fair, reasons: fair },
        (true, true) => Trust { level: TrustLevel::Good, reasons: vec!["No caution applies.".into()] },
    }
}

fn cautions(document: &Document) -> Vec<Prose> {
    let found = document.verdict.iter().filter(|finding| finding.kind == FindingKind::Caution);
    found.map(|finding| finding.line.clone().without_start("Mind: ").capital()).collect()
}

/// Trust in several studies side by side: no more than in the least of them.
pub fn of_studies(studies: &[Facts<'_>], document: &Document) -> Trust {
    let mut reasons = Vec::new();
    let mut level = TrustLevel::Fair;
    for (at, facts) in studies.iter().enumerate() {
        let trust = trust::trust(facts, &crate::verdict(facts));
        let is_same = |other: &&Facts<'_>| {
            (other.study.seed, other.created_utc) == (facts.study.seed, facts.created_utc)
        };
        if let Some(first) = studies[..at].iter().position(|other| is_same(&other)) {
            reasons.push(prose!(
                "Studies {} and {} are one and the same.",
                (first + 1).to_string(),
                (at + 1).to_string()
            ));
        }
        if trust.level > TrustLevel::Fair {
            level = TrustLevel::Low;
            let why = trust.reasons.into_iter().next().unwrap_or_else(|| "nothing can be compared.".into());
            reasons.push(prose!("Study {} is {}: {}", (at + 1).to_string(), trust.level.to_string(), why));
        }
    }
    reasons.extend(cautions(document));
    if reasons.is_empty() {
        reasons.push("Each ratio holds within its interval; whether two differ is not tested.".into());
    }
    Trust { level, reasons }
}

/// Lines that put the advice into effect, if it may be followed.
fn set(advice: &[Advice], trust: &Trust) -> Vec<Prose> {
    let mut lines: Vec<Prose> = Vec::new();
    for paste in advice.iter().filter(|advice| advice.is_decided).flat_map(|advice| &advice.paste) {
        lines.push(prose!("{} ({})", Prose::command(&paste.text), &paste.place));
    }
    match (trust.level.allows_setting(), lines.is_empty()) {
        (true, _) | (_, true) => lines,
        (false, false) => {
            vec![prose!("nothing yet: see TRUST. It would be {}", Prose::join(lines, "; "))]
        }
    }
}

/// What moves with the ratios, from block to block.
fn why(facts: &Facts<'_>) -> Vec<Prose> {
    let changed = facts.analysis.get::<ChangedWith>();
    changed
        .into_iter()
        .flat_map(changed_with::moved)
        .map(|clause| prose!("From block to block {}.", clause))
        .collect()
}

/// The sentence without what only a statistician needs: the figures stay, and ratios have the intervals that decide.
fn plain(line: &Prose) -> Prose {
    let mut shorter = Prose::default();
    for Span { class, text, .. } in line.clone().decisive().spans() {
        match class {
            Class::Text => shorter.push(Prose::of(Class::Text, plain_text(text))),
            class => shorter.push(Prose::of(*class, text)),
        }
    }
    shorter
}

fn plain_text(text: &str) -> String {
    const LEFT_OUT: [&str; 5] = [
        " after adjusting for all comparisons and for correlation",
        " after adjusting for all comparisons",
        " (not)",
        " Intervals here are adjusted for all comparisons.",
        " Intervals of steps are adjusted for all comparisons.",
    ];
    let shorter = LEFT_OUT.iter().fold(text.to_owned(), |text, words| text.replace(words, ""));
    shorter.replace("undecided (not)", "undecided").replace(", undecided", ", which is not decided")
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_document::{Paste, prose};

    #[test]
    fn words_of_statistics_are_left_out_and_figures_are_not() {
        let line = prose!(
            "Two do {}, undecided (not after adjusting for all comparisons and for correlation).",
            Prose::figure("1.85x")
        );
        assert_eq!(plain(&line).to_string(), "Two do 1.85x, which is not decided.");
    }

    #[test]
    fn an_interval_stands_once() {
        let interval = || Prose::of(Class::Interval, "[1.83, 1.91]");
        let ratio = || prose!("{} {}", Prose::figure("1.87x"), interval());
        let shown = without_repeats(
            [prose!("Two do {} of one.", ratio()), prose!("Both do {}, which pays.", ratio())].into_iter(),
        );
        let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["Two do 1.87x [1.83, 1.91] of one.", "Both do 1.87x, which pays."]);
        let other = prose!("{} {}", Prose::figure("1.86x"), interval());
        let both = without_repeats([ratio(), other.clone()].into_iter());
        assert_eq!(both, [ratio(), other], "another figure with the same ends keeps them");
    }

    #[test]
    fn nothing_is_to_be_set_by_what_is_not_to_be_trusted() {
        let paste =
            vec![Paste { place: "pgbouncer.ini".to_owned(), text: "default_pool_size = 4".to_owned() }];
        let advice = |is_decided| Advice {
            about: "sessions",
            line: "Four.".into(),
            is_decided,
            paste: paste.clone(),
            evidence: Vec::new(),
        };
        let lines_at = |level, is_decided| {
            let lines = set(&[advice(is_decided)], &Trust { level, reasons: Vec::new() });
            lines.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(lines_at(TrustLevel::Fair, true), ["`default_pool_size = 4` (pgbouncer.ini)"]);
        assert!(lines_at(TrustLevel::Fair, false).is_empty());
        assert!(
            lines_at(TrustLevel::Low, true)[0].starts_with("nothing yet: see TRUST. It would be `default")
        );
    }
}
