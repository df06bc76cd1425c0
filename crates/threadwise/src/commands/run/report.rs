//! What is said after a study: the results, the page, and how it ended.

use super::command;
use super::prepare::Job;
use crate::cli::RunArgs;
use crate::commands::screen;
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use std::path::Path;
use threadwise_analysis::Facts;
use threadwise_document::{Prose, numbers, prose};
use threadwise_report::{html, json};
use threadwise_runner::{Outcome, Reason};
use threadwise_study::transaction::written_to;

/// Prints the results and writes the report. Returns what is wrong with the study, if anything.
pub fn tell(args: &RunArgs, job: &Job) -> Result<Option<String>, AppError> {
    let opened = Opened::open(&job.output)?;
    let facts = Facts { asked: job.asked, ..opened.facts() };
    let mut document = threadwise_analysis::document(&facts);
    document.screen.files = files(&job.output, job.html.as_deref());
    let text = match args.measure.json {
        true => format!("{}\n", json::report(&facts, &document)),
        false => screen::shown(&document, args.measure.all),
    };
    let page = || html::render(&document).map_err(AppError::failed);
    let replaces = args.resume.is_some().then_some(html::REPORT);
    output::deliver(output::print(&text), job.html.as_deref(), replaces, page).map_err(
        |error| match error {
            AppError::Failed(why) => {
                AppError::Failed(format!("{why}; the study is in {}", job.output.display()))
            }
            other => other,
        },
    )?;
    if args.measure.all && !args.measure.json {
        output::print(&closing(&job.output, job.html.as_deref()))?;
    }
    Ok(opened.problem())
}

/// An invalid study is an error for scripts, though its results were printed.
pub fn valid(problem: Option<String>, job: &Job) -> Result<(), AppError> {
    let Some(problem) = problem else { return Ok(()) };
    let store = output::shell_word(&job.output);
    Err(AppError::Failed(format!(
        "the study is not valid as a whole: {problem}; its runs and their reasons: threadwise export {store}"
    )))
}

/// Where the other results are.
fn files(store: &Path, html: Option<&Path>) -> Prose {
    let again = Prose::command(format!("threadwise report {} --all", output::shell_word(store)));
    match html {
        Some(page) => prose!("page {} · everything: {}", page.display().to_string(), again),
        None => prose!("everything: {}", again),
    }
}

/// Where the results are stored.
fn closing(store: &Path, html: Option<&Path>) -> String {
    let mut text = format!("Result file: {}\n", store.display());
    if let Some(html) = html {
        text.push_str(&format!("Report:      {}\n", html.display()));
    }
    text.push_str(&format!("Again:       threadwise report {}\n", output::shell_word(store)));
    text
}

/// The command that continues a study, with everything it needs: permissions apply to one start, and the folders of
/// data and reports must be given again.
fn going_on(job: &Job, args: &RunArgs) -> String {
    let measure = &args.measure;
    let mut words = format!("threadwise run --resume {}", output::shell_word(&job.output));
    let mut flag = |is_given: bool, option: &str| words.push_str(if is_given { option } else { "" });
    flag(measure.allow_busy, " --allow-busy");
    flag(command::has_commands(&job.study), " --allow-commands");
    flag(args.yes, " --yes");
    flag(measure.no_html, " --no-html");
    flag(measure.json, " --json");
    // A limit of time was too short or is the user's choice, and is not repeated.
    let mut named = |option: &str, value: Option<String>| {
        words.extend(value.map(|value| format!(" {option} {value}")));
    };
    for database in written_to(&job.study) {
        named("--may-write", Some(output::quoted(&database)));
    }
    named("--data-dir", measure.data_dir.as_deref().map(output::shell_word));
    named("--arm", job.part.as_ref().map(|(part, _)| output::quoted(&part.arm)));
    words
}

/// An early end is an error for scripts, though its results were printed.
pub fn ended(outcome: &Outcome, job: &Job, args: &RunArgs) -> Result<(), AppError> {
    let resume = format!("continue with: {}", going_on(job, args));
    match &outcome.reason {
        Reason::PlanDone | Reason::TargetReached => Ok(()),
        Reason::BudgetOver => {
            output::tell(
                "threadwise: the budget ended before every interval reached its target; wider ones are marked",
            );
            Ok(())
        }
        Reason::Interrupted if outcome.blocks == 0 => {
            Err(AppError::Interrupted(format!("stopped before the first block was complete; {resume}")))
        }
        Reason::Interrupted => Err(AppError::Interrupted(format!(
            "stopped after {}; {resume}",
            numbers::counted(outcome.blocks as usize, "complete block")
        ))),
        Reason::OthersWaited(why) => Err(AppError::Refused(format!("stopped: {why}; {resume}"))),
        Reason::Short(short) if outcome.blocks == 0 => Err(AppError::refused(short)),
        Reason::Short(short) => Err(AppError::Refused(format!(
            "{short}; kept: {}, {resume} --budget {}",
            numbers::counted(outcome.blocks as usize, "complete block"),
            short.budget_to_go_on()
        ))),
    }
}
