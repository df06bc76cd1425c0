//! `threadwise compare --before … --after …`: did it change?

use super::CompareArgs;
use super::args::{FormatArg, UndecidedArg};
use super::shown::deliver;
use crate::commands::screen;
use crate::error::AppError;
use crate::opened::Opened;
use std::path::PathBuf;
use threadwise_analysis::compare::change::{self, Change, Changed, Sides};
use threadwise_analysis::{Direction, Facts, of_cautions};
use threadwise_document::Prose;
use threadwise_document::numbers::{counted, ratio, set_percent};
use threadwise_report::{ci, json};

/// Prints the answer, writes the page, and fails on a regression, or on an undecided one, if requested.
pub fn change(args: &CompareArgs) -> Result<(), AppError> {
    not_twice(args)?;
    let (before, after) = (open(&args.before)?, open(&args.after)?);
    let (before, after) = (facts(&before), facts(&after));
    let sides = Sides { before: &before, after: &after, is_paired: args.pairs };
    let change = change::change(sides, args.metric.as_deref()).map_err(AppError::input)?;
    if args.fail_on_regression {
        can_tell(&change)?;
    }
    let document = change::document(&change, env!("CARGO_PKG_VERSION"));
    let trust = of_cautions(&document, change.can_tell());
    let document = screen::with_screen(document, trust, Prose::command(screen::again("--html FILE")));
    let passes_undecided = args.undecided == UndecidedArg::Pass || !args.fail_on_regression;
    let text = match args.format {
        Some(FormatArg::Markdown) => ci::comment(&change, &document),
        Some(FormatArg::Github) => ci::github(&change),
        Some(FormatArg::Junit) => ci::junit(&change, passes_undecided).map_err(AppError::failed)?,
        Some(FormatArg::Bencher) => format!("{}\n", json::bencher(&change)),
        None if args.json => format!("{}\n", json::changed(&change)),
        None => screen::shown(&document, args.all),
    };
    let printed = deliver(args, &document, &text);
    match (printed, args.fail_on_regression) {
        // A closed output must not hide a regression.
        (Ok(()) | Err(AppError::ClosedPipe), true) => {
            regression(&change)?;
            match args.undecided {
                UndecidedArg::Fail => undecided(&change),
                UndecidedArg::Pass => Ok(()),
            }
        }
        (printed, _) => printed,
    }
}

/// Refuses a file that is given twice, under whatever name.
fn not_twice(args: &CompareArgs) -> Result<(), AppError> {
    let all: Vec<&PathBuf> = args.before.iter().chain(&args.after).collect();
    // A missing file is reported when it is opened.
    let paths: Vec<Option<PathBuf>> = all.iter().map(|file| file.canonicalize().ok()).collect();
    let is_known = |at: &usize| paths[*at].is_some() && paths[..*at].contains(&paths[*at]);
    match (0..all.len()).find(is_known) {
        Some(at) => {
            let name = all[at].display();
            Err(AppError::Input(format!("{name} is given twice: a study counts once")))
        }
        None => Ok(()),
    }
}

fn open(files: &[PathBuf]) -> Result<Vec<Opened>, AppError> {
    files.iter().map(|file| Opened::open(file)).collect()
}

fn facts(opened: &[Opened]) -> Vec<Facts<'_>> {
    opened.iter().map(Opened::facts).collect()
}

/// Refuses studies that cannot show whether something got worse.
fn can_tell(change: &Change<'_>) -> Result<(), AppError> {
    let neither = "neither direction is better in this metric: give a --metric with a better direction";
    let is_neither = change.quantity.direction == Direction::Neither;
    let reasons: Vec<&str> =
        change.obstacles.iter().map(String::as_str).chain(is_neither.then_some(neither)).collect();
    match reasons.is_empty() {
        true => Ok(()),
        false => Err(AppError::Input(format!("--fail-on-regression cannot tell: {}", reasons.join("; ")))),
    }
}

fn regression(change: &Change<'_>) -> Result<(), AppError> {
    let found = change.regressions();
    if found.is_empty() {
        return Ok(());
    }
    Err(AppError::Regression(format!(
        "regression of {} in {} by {} or more: {}",
        change.quantity.name,
        counted(found.len(), "treatment"),
        set_percent(change.margin),
        named(&found)
    )))
}

/// Fails if a treatment may have got worse by the margin or more, and the studies do not decide it, or if one that was
/// measured before cannot be compared.
fn undecided(change: &Change<'_>) -> Result<(), AppError> {
    let (open, lost) = (change.undecided(), change.lost());
    let number = open.len() + lost.len();
    if number == 0 {
        return Ok(());
    }
    let reach = change::reach_words(change, &open).map(|words| format!("; {words}"));
    let open = format!("{}{}", named(&open), reach.unwrap_or_default());
    let lost = lost
        .iter()
        .map(|one| format!("{} was measured before, and is not compared: {}", one.name, one.reason));
    let all: Vec<String> = Some(open).into_iter().filter(|open| !open.is_empty()).chain(lost).collect();
    Err(AppError::Undecided(format!(
        "undecided: whether {} of {} got worse by {} or more is not shown: {} (--undecided pass accepts it)",
        change.quantity.name,
        counted(number, "treatment"),
        set_percent(change.margin),
        all.join("; ")
    )))
}

/// Names with the deciding interval.
fn named(changes: &[&Changed<'_>]) -> String {
    let one = |changed: &&Changed<'_>| {
        let ends = [changed.ratio.adjusted_low, changed.ratio.adjusted_high].map(ratio);
        format!("{} {}x [{}, {}]", changed.name, ratio(changed.ratio.value), ends[0], ends[1])
    };
    changes.iter().map(one).collect::<Vec<_>>().join(", ")
}
