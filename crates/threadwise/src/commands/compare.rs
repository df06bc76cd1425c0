//! `threadwise compare`: several studies side by side, studies before and after, and published studies beside a result
//! file.

mod args;
mod change;
mod observed;
mod shown;

pub use args::CompareArgs;
use args::FormatArg;
use shown::show;

use super::{published, screen};
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use std::path::{Path, PathBuf};
use threadwise_analysis::published::{beside_any, beside_document, trust};
use threadwise_analysis::{Facts, compare, of_studies};
use threadwise_document::Prose;
use threadwise_report::json;

/// Prefix of the name of a published study; for a file of such a name, write `./published:…`.
const PUBLISHED: &str = "published:";

/// Prints the table, and writes the page.
pub fn compare(args: &CompareArgs) -> Result<(), AppError> {
    args.html.as_deref().map_or(Ok(()), output::check_new)?;
    if !args.before.is_empty() {
        return change::change(args);
    }
    if let Some(FormatArg::Github | FormatArg::Junit | FormatArg::Bencher) = args.format {
        return Err(AppError::Input(
            "--format github, junit and bencher are of studies before and after: threadwise compare --before A1 A2 A3 \
             --after B1 B2 B3 --format FORMAT"
                .to_owned(),
        ));
    }
    if args.by.is_some() || args.since.is_some() {
        return observed::observed(args);
    }
    if args.files.len() < 2 {
        return Err(AppError::Input(
            "compare needs two result files or more, or --before and --after: threadwise compare A B; one file of \
             `threadwise observe` needs --by STATE or --since TIME"
                .to_owned(),
        ));
    }
    if args.fail_on_regression {
        return Err(AppError::Input(
            "--fail-on-regression needs at least three studies per side: threadwise compare --before A1 A2 A3 --after \
             B1 B2 B3 --fail-on-regression"
                .to_owned(),
        ));
    }
    let name = |file: &PathBuf| file.to_str()?.strip_prefix(PUBLISHED).map(str::to_owned);
    let names: Vec<String> = args.files.iter().filter_map(name).collect();
    let files: Vec<&PathBuf> = args.files.iter().filter(|file| name(file).is_none()).collect();
    match (names.as_slice(), files.as_slice()) {
        ([], _) => side_by_side(args),
        ([name], [file]) => beside(args, name, file),
        _ => Err(AppError::Input(
            "a published study is compared with one result file: threadwise compare published:NAME FILE"
                .to_owned(),
        )),
    }
}

fn side_by_side(args: &CompareArgs) -> Result<(), AppError> {
    let opened: Vec<Opened> = args.files.iter().map(|file| Opened::open(file)).collect::<Result<_, _>>()?;
    let names: Vec<String> = args.files.iter().map(|file| file.display().to_string()).collect();
    let studies: Vec<Facts<'_>> =
        opened.iter().zip(&names).map(|(opened, file)| Facts { source: file, ..opened.facts() }).collect();
    let document = compare::document(&studies, env!("CARGO_PKG_VERSION"));
    let trust = of_studies(&studies, &document);
    let next = Prose::command("threadwise compare --before A1 A2 A3 --after B1 B2 B3");
    let document = screen::with_screen(document, trust, next);
    show(args, &document, || json::compare(&studies))
}

/// Published ratios beside those of a result file.
fn beside(args: &CompareArgs, name: &str, file: &Path) -> Result<(), AppError> {
    let theirs = published::named(name)?;
    let opened = Opened::open(file)?;
    let source = file.display().to_string();
    let facts = Facts { source: &source, ..opened.facts() };
    if facts.study.workload.name() != theirs.workload {
        return Err(AppError::Input(format!(
            "{source} has the workload {}, and published:{name} is of {}: repeat it with `{}`",
            facts.study.workload, theirs.workload, theirs.command
        )));
    }
    let found = beside_any(&facts, &theirs);
    if found.rows.is_empty() {
        // A study that repeats it lacks what its machine lacks, and would lack it again.
        let next = match facts.study.name == theirs.name {
            true => "its machine had no placements for them: `threadwise topology` shows what this one has"
                .to_owned(),
            false => format!("repeat it with `{}`", theirs.command),
        };
        let lacks = found.only_published.join("; ");
        return Err(AppError::Input(format!(
            "{source} has no comparison of published:{name} ({lacks}): {next}"
        )));
    }
    let document = beside_document(&facts, &theirs, env!("CARGO_PKG_VERSION"));
    let next = Prose::command(format!("threadwise published {}", theirs.name));
    let document = screen::with_screen(document, trust(), next);
    show(args, &document, || json::published_beside(&facts, &theirs))
}
