//! What neighbours cost: the table, how it was found, and what it does not say.

use crate::diagnostics::QuestionAnswer;
use crate::diagnostics::neighbours::{
    AGREED, AT_WORST, ELSEWHERE, GAMMA, LEFT, LEFT_BY_CPU, NEIGHBOURS, ON_ONE_CORE, OVER_ONE, OVER_TWO,
    PREVALENCE, SEEN, WHOLE, estimate, groups_of, lost, share,
};
use crate::findings::smt::core_yield;
use crate::{Answer, Facts, Ratio};
use threadwise_document::chart::{RatioChart, RatioRow};
use threadwise_document::numbers;
use threadwise_document::{
    Block, Cell, Chart, Column, Figure, Mark, Prose, Says, Section, Shown, Table, prose,
};

/// Fewest groups, of all studies together, that make a profile.
const PROFILE: usize = 4;

/// What a second thread on a core yields and costs, by what sessions do: a chart of groups of treatments, of one study or
/// of several; `None` where fewer than four are known. Yields of declared siblings and what looks show are named apart.
pub fn profile(studies: &[Facts<'_>]) -> Option<Box<Figure>> {
    let label = |at: usize, facts: &Facts<'_>, group: &str| {
        let words = facts.level_words(group);
        let group = if words.is_empty() { facts.study.name.clone() } else { words };
        if studies.len() > 1 { format!("{}: {group}", at + 1) } else { group }
    };
    let mut rows: Vec<(String, &str, Ratio)> = Vec::new();
    let mut known = 0;
    for (at, facts) in studies.iter().enumerate() {
        let found = facts.analysis.found(NEIGHBOURS.name);
        for group in facts.study.groups() {
            let seen = |name: &str| estimate(found?, name, group);
            let declared = core_yield(facts, group).map(|one| &one.ratio);
            let yields = declared.map(|one| ("two threads of a core over one", one));
            let yields = yields.or_else(|| Some(("two on one core over one, observed", seen(OVER_ONE)?)));
            let left = seen(LEFT).map(|one| ("left beside a neighbour, observed", one));
            known += usize::from(yields.is_some() || left.is_some());
            let named = [yields, left].into_iter().flatten();
            rows.extend(named.map(|(what, ratio)| (label(at, facts, group), what, ratio.decisive())));
        }
    }
    let margin = 1.0 + studies.first()?.study.design.margin;
    let columns = ["", "", "ratio"].map(Column::text);
    let cells = rows.iter().map(|(label, what, ratio)| {
        vec![Cell::text(label), Cell::text(*what), Cell::Ratio(ratio.clone(), Says::Higher)]
    });
    let dots = rows
        .iter()
        .map(|(label, what, ratio)| RatioRow::new(label.clone(), (*what).to_owned(), ratio, Says::Higher));
    let dots: Vec<RatioRow> = dots.collect();
    (known >= PROFILE).then(|| {
        Box::new(Figure {
            wide: false,
            title: "What a second thread on a core yields and costs".to_owned(),
            description:
                "Above 1: what the core does for two over what it does for one. Below 1: what is left of one \
                          session while something else runs on the other thread."
                    .to_owned(),
            table: Table::new("", columns.into(), cells).shown(Shown::Page),
            chart: Chart::Ratios(RatioChart {
                group: String::new(),
                what: Some("over one session on a clear core".to_owned()),
                margin_low: margin.recip(),
                margin_high: margin,
                rows: dots,
            }),
        })
    })
}

/// The section; `None` where nothing was estimated.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let none = QuestionAnswer::default();
    let found = facts.analysis.found(NEIGHBOURS.name).unwrap_or(&none);
    let seen = |name: &str, group: &str| estimate(found, name, group);
    let groups = groups_of(found, SEEN);
    let columns = vec![
        Column::text(""),
        Column::figure("neighbour there").shorten_at(1),
        Column::figure("left beside it"),
        Column::figure("lost of the whole"),
        Column::figure("as slices show it").drop_at(1),
        Column::figure("where both looks agree").drop_at(2),
        Column::figure("by CPU time").drop_at(2),
        Column::figure("neighbour elsewhere").drop_at(3),
    ];
    let ratio =
        |ratio: Option<&Ratio>| ratio.map_or_else(Cell::none, |one| Cell::Ratio(one.clone(), Says::Higher));
    let rows = groups.iter().map(|group| {
        let place = facts.group_words(group);
        vec![
            Cell::text(if place.is_empty() { "sessions" } else { place.as_str() }),
            seen(PREVALENCE, group).map_or_else(Cell::none, |one| Cell::Share(share(one))),
            ratio(seen(LEFT, group)),
            seen(WHOLE, group).map_or_else(Cell::none, |whole| Cell::Share(lost(whole))),
            ratio(seen(SEEN, group)),
            ratio(seen(AGREED, group)),
            ratio(seen(LEFT_BY_CPU, group)),
            seen(ELSEWHERE, group)
                .map_or_else(Cell::none, |slope| Cell::Ratio(elsewhere(slope), Says::Higher)),
        ]
    });
    let table = Table::new("Rate beside a neighbour over the rate without one", columns, rows);
    let mut lines = vec![about()];
    let is_refused = |ratio: &Ratio| ratio.answer == Answer::Undecided && ratio.adjusted_high < 1.0;
    lines.extend(groups.iter().filter_map(|group| seen(LEFT, group)).any(is_refused).then(not_claimed));
    lines.extend(groups.first().and_then(|group| seen(GAMMA, group)).map(gamma));
    lines
        .extend(groups.iter().find_map(|group| seen(LEFT, group)).filter(|one| one.is_different()).map(both));
    lines.extend(found.numbers.get(AT_WORST).map(|left| {
        prose!(
            "Looks may be wrong: if all of those were that disagree with one right after them, no more than {} would be left.",
            Prose::figure(format!("{}x", numbers::ratio(*left)))
        )
    }));
    let mut blocks: Vec<Block> =
        profile(std::slice::from_ref(facts)).map(Block::Figure).into_iter().collect();
    if !groups.is_empty() {
        blocks.extend([Block::Table(table), Block::List(lines, Shown::Page)]);
    }
    blocks.extend(on_one_core(facts, found));
    (!blocks.is_empty()).then(|| Section::new("neighbours", "Neighbours", blocks))
}

/// Two sessions that the host ran on one core.
fn on_one_core(facts: &Facts<'_>, found: &QuestionAnswer) -> Option<Block> {
    let groups = groups_of(found, OVER_TWO);
    let columns = vec![
        Column::text(""),
        Column::figure("on one core").shorten_at(1),
        Column::figure("over one session"),
        Column::figure("over two on clear cores").drop_at(1),
    ];
    let ratio = |name: &str, group: &str| {
        estimate(found, name, group).map_or_else(Cell::none, |one| Cell::Ratio(one.clone(), Says::Higher))
    };
    let rows = groups.iter().map(|group| {
        let place = facts.group_words(group);
        vec![
            Cell::text(if place.is_empty() { "two sessions" } else { place.as_str() }),
            estimate(found, ON_ONE_CORE, group).map_or_else(Cell::none, |one| Cell::Share(share(one))),
            ratio(OVER_ONE, group),
            ratio(OVER_TWO, group),
        ]
    });
    let title = "Two sessions while this host ran them on one core, observational";
    (!groups.is_empty()).then(|| Block::Table(Table::new(title, columns, rows)))
}

/// A slope of rates as what is left of one.
fn elsewhere(slope: &Ratio) -> Ratio {
    let mut ratio = Ratio { unit: threadwise_document::estimate::RATIO, ..slope.clone() };
    for value in
        [&mut ratio.value, &mut ratio.low, &mut ratio.high, &mut ratio.adjusted_low, &mut ratio.adjusted_high]
    {
        *value += 1.0;
    }
    let answer = Answer::by_interval(ratio.adjusted_low, ratio.adjusted_high, ratio.margin);
    Ratio { answer, ..ratio }
}

/// Why a ratio whose interval excludes 1 is not claimed.
fn not_claimed() -> Prose {
    prose!(
        "{}: not claimed, since a neighbour at an idle logical CPU elsewhere cost as much, or rates that are shifted against \
         the looks.",
        Prose::sign(Mark::Undecided)
    )
}

fn about() -> Prose {
    "A neighbour is whatever ran on the other thread of a session's core: another guest, another program, or the host. \
     Slices of one treatment in one block are compared by how much of the looks around them saw one. It is \
     observational: the host moved guests as it liked. A cost is claimed where a neighbour at the session's own core \
     costs more than one at an idle logical CPU elsewhere, and where exposures that are shifted against the rates do not \
     cost as much."
        .into()
}

/// How much the looks around a slice tell of what happens inside it.
fn gamma(gamma: &Ratio) -> Prose {
    prose!(
        "Looks during slices follow the looks around them by {}: the slope as slices show it is divided by that, since \
         neighbours come and go inside of slices.",
        &share(gamma)
    )
}

/// What two threads would do.
fn both(left: &Ratio) -> Prose {
    let twice = Ratio {
        value: 2.0 * left.value,
        adjusted_low: 2.0 * left.adjusted_low,
        adjusted_high: 2.0 * left.adjusted_high,
        ..left.clone()
    };
    prose!(
        "If neighbours did work like that of the sessions, both threads of a core would do {} of what one does alone. What \
         they did is not known.",
        &twice.decisive()
    )
}
