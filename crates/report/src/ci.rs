//! Whether something changed, in the forms that services of continuous integration read.
//!
//! Sources: GitHub Docs, "Workflow commands for GitHub Actions" (annotations, and what has to be escaped in them); the
//! JUnit XML that Jenkins, GitLab and others read, which has no standard
//! (<https://github.com/testmoapp/junitxml> lists what is common).

use crate::html::filled;
use crate::markdown::{self, escaped};
use crate::text::plain;
use crate::{Document, ReportError};
use minijinja::Value;
use threadwise_analysis::Direction;
use threadwise_analysis::compare::change::{self, Change, Changed, LeftOut};
use threadwise_document::Prose;

const JUNIT: &str = include_str!("../templates/junit.xml");

/// First line of a comment's text, by which a script finds the comment that it replaces.
pub const MARK: &str = "<!-- threadwise-compare -->";

/// What a test of a treatment comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Worse by the margin or more.
    Regression,
    /// Neither shown nor excluded.
    Undecided,
    Passed,
}

impl Outcome {
    fn of(change: &Change<'_>, one: &Changed<'_>) -> Self {
        // Where neither direction is better nothing is a regression, and nothing is shown to be none.
        let is_judged = change.can_tell() && one.ratio.direction != Direction::Neither;
        match (one.is_regression, !is_judged || change::may_be_regression(&one.ratio)) {
            (true, _) => Self::Regression,
            (false, true) => Self::Undecided,
            (false, false) => Self::Passed,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Undecided => "undecided",
            Self::Passed => "passed",
        }
    }
}

/// `0.81x [0.79, 0.84]`, after over before, with the interval that decides.
fn ratio(one: &Changed<'_>) -> String {
    Prose::from(&one.ratio.decisive()).to_string()
}

/// `two-cores: 0.81x [0.79, 0.84] of rows/s before`.
fn figure(change: &Change<'_>, one: &Changed<'_>) -> String {
    plain(&format!("{}: {} of {} before", one.name, ratio(one), change.quantity.name), true)
}

/// What comes before the answer of studies of a model.
fn simulated(change: &Change<'_>) -> &'static str {
    if change.studies.iter().any(|study| study.simulated) { "SIMULATED: " } else { "" }
}

/// Annotations of a GitHub workflow: an error for each regression, a warning for each treatment that may be one, and
/// the answer as a notice.
pub fn github(change: &Change<'_>) -> String {
    let line = |level: &str, title: &str, text: &str| {
        let property = data(title).replace(':', "%3A").replace(',', "%2C");
        format!("::{level} title={property}::{}\n", data(text))
    };
    let of_treatment = |one: &Changed<'_>| match Outcome::of(change, one) {
        Outcome::Regression => line("error", "threadwise: regression", &figure(change, one)),
        Outcome::Undecided => line("warning", "threadwise: undecided", &figure(change, one)),
        Outcome::Passed => String::new(),
    };
    let answer: Vec<String> =
        change::answer(change).iter().map(|finding| plain(&finding.line.to_string(), true)).collect();
    let treatments: String = change.treatments.iter().map(of_treatment).collect();
    let of_left_out =
        |one: &LeftOut| line("warning", "threadwise: not compared", &format!("{}: {}", one.name, one.reason));
    let left_out: String = change.left_out.iter().map(of_left_out).collect();
    let answer = format!("{}{}", simulated(change), answer.join(" "));
    format!("{treatments}{left_out}{}", line("notice", "threadwise", &answer))
}

/// Data of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// JUnit XML: a case for each treatment. A regression is a failure; one that is undecided is a failure, too, or with
/// `passes_undecided` skipped; one that is not compared is skipped, but for one that was measured before, which is
/// undecided.
///
/// # Errors
/// [`ReportError::Template`], a fault of the program.
pub fn junit(change: &Change<'_>, passes_undecided: bool) -> Result<String, ReportError> {
    let outcomes: Vec<Outcome> = change.treatments.iter().map(|one| Outcome::of(change, one)).collect();
    let element = |outcome: Outcome| match outcome {
        Outcome::Regression => "failure",
        Outcome::Undecided if passes_undecided => "skipped",
        Outcome::Undecided => "failure",
        Outcome::Passed => "",
    };
    let case = |(one, outcome): (&Changed<'_>, &Outcome)| {
        let ratio = [one.ratio.value, one.ratio.adjusted_low, one.ratio.adjusted_high];
        let known = if one.ratio.has_ends() { &ratio[..] } else { &ratio[..1] };
        Value::from_pairs([
            ("name", Value::from(one.name)),
            ("element", Value::from(element(*outcome))),
            ("kind", Value::from(outcome.words())),
            ("message", Value::from(figure(change, one))),
            ("ratio", Value::from(known.to_vec())),
        ])
    };
    let lost = change.lost();
    let left_out_element =
        |one: &LeftOut| if lost.contains(&one) { element(Outcome::Undecided) } else { "skipped" };
    let left_out = change.left_out.iter().map(|one| {
        let texts = [
            ("name", &*one.name),
            ("element", left_out_element(one)),
            ("kind", "not compared"),
            ("message", &*one.reason),
        ];
        Value::from_pairs(texts.map(|(name, text)| (name, Value::from(text))))
    });
    let cases: Vec<Value> = change.treatments.iter().zip(&outcomes).map(case).chain(left_out).collect();
    let elements =
        outcomes.iter().map(|outcome| element(*outcome)).chain(change.left_out.iter().map(left_out_element));
    let elements: Vec<&str> = elements.collect();
    let count = |name: &str| elements.iter().filter(|element| **element == name).count();
    let values = Value::from_pairs([
        ("about", Value::from(format!("{}{}", simulated(change), change.quantity.name))),
        ("failures", Value::from(count("failure"))),
        ("skipped", Value::from(count("skipped"))),
        ("obstacles", Value::from(change.obstacles.clone())),
        ("cases", Value::from(cases)),
    ]);
    Ok(filled(JUNIT, values)? + "\n")
}

/// The text of a comment or of a job's summary: the answer, and a row a treatment.
pub fn comment(change: &Change<'_>, document: &Document) -> String {
    let row = |one: &Changed<'_>| {
        let outcome = Outcome::of(change, one).words();
        format!("| {} | {} | {outcome} |\n", escaped(one.name), escaped(&ratio(one)))
    };
    let left_out =
        |one: &LeftOut| format!("| {} | {} | not compared |\n", escaped(&one.name), escaped(&one.reason));
    let rows: String =
        change.treatments.iter().map(row).chain(change.left_out.iter().map(left_out)).collect();
    let metric = escaped(&change.quantity.name);
    let heading = format!("| treatment | {metric}, after over before | |\n|---|---|---|");
    let (head, footer) = (markdown::head(document), plain(&document.footer, true));
    format!("{MARK}\n{head}\n{heading}\n{rows}\n{footer}\n")
}
