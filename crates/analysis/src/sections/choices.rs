//! Every choice that a study has, with all of its candidates; and the chart of the first one.

use crate::Facts;
use crate::advice::{to_use, words};
use crate::choices::{Candidate, Choice};
use threadwise_document::chart::{ChoiceChart, ChoicePoint};
use threadwise_document::numbers::{self, percent, set_percent};
use threadwise_document::{
    Block, Cell, Chart, Column, Figure, Interval, Prose, Row, Section, Shown, Table, prose,
};

/// The section; `None` for a study without a choice.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let choices = &facts.analysis.choices;
    let margin = Prose::figure(set_percent(facts.study.design.margin));
    let how = prose!(
        "Each choice is the first setting that is shown to be within {} of the best one, whichever that is. If none \
         is shown to be, the data are not enough, and the guess is the setting that most likely is within {} of the \
         best. Its loss is the mean if it is not.",
        margin.clone(),
        margin
    );
    let table = table(facts, &choices.iter().collect::<Vec<_>>());
    let blocks = vec![Block::Text(how, Shown::Page), Block::Table(table.shown(Shown::Page))];
    (!choices.is_empty()).then(|| Section::new("choices", "Which setting", blocks))
}

/// The candidates of some choices.
fn table(facts: &Facts<'_>, choices: &[&Choice]) -> Table {
    let mut rows = Vec::new();
    for choice in choices {
        let place = words::place(facts, choice).to_string();
        let about = words::heading(facts, choice.axis);
        rows.push(Row::Group(if place.is_empty() { about } else { format!("{about}, {place}") }));
        rows.extend(choice.candidates.iter().map(|candidate| Row::Cells(cells(facts, choice, candidate))));
    }
    let columns = ["setting", "treatment"].map(Column::text).into_iter();
    let columns = columns.chain([Column::figure("speed over the first")]);
    let columns = columns.chain([Column::text("within the margin"), Column::text("")]);
    let mut table = Table::new("", columns.collect(), Vec::<Vec<Cell>>::new());
    table.rows = rows;
    table
}

fn cells(facts: &Facts<'_>, choice: &Choice, candidate: &Candidate) -> Vec<Cell> {
    let speed = candidate.speed.clone().map_or_else(Cell::none, Cell::Interval);
    let within = if candidate.within_margin { "shown" } else { "not shown" };
    vec![
        Cell::Text(words::value(facts, choice, candidate).to_string()),
        Cell::text(&candidate.treatment),
        speed,
        Cell::text(within),
        Cell::Text(mark(facts, choice, candidate)),
    ]
}

/// Result for a candidate.
fn mark(facts: &Facts<'_>, choice: &Choice, candidate: &Candidate) -> String {
    if to_use(facts, choice) == Some(candidate) {
        return "chosen".to_owned();
    }
    if choice.chosen.as_deref() == Some(&candidate.treatment) {
        return "has the highest throughput, but is not shown to keep the latency bound".to_owned();
    }
    let guess = choice.guess.as_ref().filter(|guess| guess.treatment == candidate.treatment);
    guess.map_or_else(String::new, |guess| {
        let loss = match guess.loss_share {
            loss if loss > 0.0 => format!("; if not, {} less", percent(loss)),
            _ => String::new(),
        };
        format!("best guess: probability {} to be within it{loss}", percent(guess.probability))
    })
}

/// The chart of the choice that the first advice is about; `None` for a study without a choice.
pub fn picture(facts: &Facts<'_>) -> Option<Box<Figure>> {
    if facts.study.external.is_some() {
        return None;
    }
    let about = words::first(facts)?;
    let choice = facts.analysis.choices.iter().find(|choice| choice.axis == about)?;
    let first = choice.candidates.first()?;
    let first_name = words::value(facts, choice, first).to_string();
    let point = |candidate: &Candidate| {
        let finite = |end: f64| Some(end).filter(|end| end.is_finite() && *end > 0.0);
        let speed = candidate.speed.as_ref();
        let known = |pick: fn(&Interval) -> f64| speed.and_then(|speed| finite(pick(speed)));
        let is_guess = choice.guess.as_ref().is_some_and(|guess| guess.treatment == candidate.treatment);
        ChoicePoint {
            name: words::tick(facts, choice, candidate),
            speed: speed.map_or(1.0, |speed| speed.mean),
            low: known(|speed| speed.low),
            high: known(|speed| speed.high),
            chosen: match to_use(facts, choice) == Some(candidate) {
                true => Some(true),
                false => is_guess.then_some(false),
            },
            within_margin: candidate.within_margin,
        }
    };
    let place = words::place(facts, choice).to_string();
    let axis = words::axis(facts, choice);
    let title = if place.is_empty() { axis.clone() } else { format!("{axis}, {place}") };
    Some(Box::new(Figure {
        title: facts.titled(&numbers::capital(&title), ""),
        description:
            "Speed of each setting with its interval. Filled: chosen. The band is the margin below the best."
                .to_owned(),
        wide: false,
        table: table(facts, &[choice]).shown(Shown::Page),
        chart: Chart::Choice(ChoiceChart {
            axis,
            speed: format!("speed over {first_name}"),
            candidates: choice.candidates.iter().map(point).collect(),
            margin: facts.study.design.margin,
        }),
    }))
}
