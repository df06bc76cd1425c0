//! `threadwise published`: published figures, and the command that repeats each study.

use crate::cli::PublishedArgs;
use crate::commands::screen;
use crate::error::AppError;
use crate::{output, suggest};
use threadwise_analysis::published::{document, list_document};
use threadwise_published::{Published, PublishedError, all, find_plain, names};
use threadwise_report::{Document, html, json, terminal};

/// Prints the list, or one study with its page.
pub fn published(args: &PublishedArgs) -> Result<(), AppError> {
    args.html.as_deref().map_or(Ok(()), output::check_new)?;
    let (document, json) = match &args.name {
        None => {
            let all = all().map_err(AppError::failed)?;
            (list_document(&all), json::published_list(&all))
        }
        Some(name) => {
            let one = named(name)?;
            (document(&one, env!("CARGO_PKG_VERSION"), &screen::again("--all")), json::published(&one))
        }
    };
    let text = match (args.json, &args.name) {
        (true, _) => format!("{json}\n"),
        (false, Some(_)) if !args.all => screen::shown(&document, false),
        _ => text(&document),
    };
    let path = args.html.as_deref();
    output::deliver(output::print(&text), path, None, || html::render(&document).map_err(AppError::failed))?;
    output::name_page(path.filter(|_| !args.json))
}

/// The published study of a name.
///
/// # Errors
/// It does not exist; the error suggests the nearest name.
pub fn named(name: &str) -> Result<Published, AppError> {
    find_plain(name).map_err(|error| match (&error, suggest::nearest(name, &names())) {
        (PublishedError::Unknown { .. }, Some(meant)) => {
            AppError::Input(format!("there is no published study '{name}': did you mean {meant}?"))
        }
        (PublishedError::Unknown { .. } | PublishedError::Several { .. }, _) => AppError::input(error),
        (PublishedError::Broken { .. }, _) => AppError::failed(error),
    })
}

/// A document without a verdict.
fn text(document: &Document) -> String {
    let style = output::style();
    let about = match document.about.is_empty() {
        true => String::new(),
        false => format!("{}\n", document.about.join(" · ")),
    };
    format!("{}\n{about}\n{}\n", terminal::verdict(document, style), terminal::sections(document, style))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use threadwise_machine::Placement;
    use threadwise_study::load::StudyFile;

    #[test]
    fn every_command_that_redoes_something_can_be_typed() {
        let mut count = 0;
        for published in all().unwrap() {
            let arms = published.arms.iter().map(|arm| published.redo_arm(arm));
            let figures = published.figures.iter().map(|figure| published.redo_figure(figure));
            let said = published.statements.iter().map(|said| published.redo_statement(said));
            let commands = arms.chain(figures).chain(said).filter_map(Result::ok);
            for command in commands.chain([published.command.as_str()]) {
                let words = command.split(' ').map(|word| if word == "PID" { "4711" } else { word });
                let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{command}: {error}"));
                count += 1;
                let Command::Run(args) = cli.command else {
                    assert!(matches!(cli.command, Command::Probe(_)), "{command}");
                    continue;
                };
                StudyFile::preset(args.study.as_deref().unwrap()).unwrap();
                args.placement
                    .iter()
                    .flatten()
                    .for_each(|one| assert!(one.parse::<Placement>().is_ok(), "{command}"));
            }
        }
        assert!(count > 100, "{count}");
    }

    #[test]
    fn plain_names_find_their_study() {
        for (typed, name) in [
            ("tpch", "parallel-queries"),
            ("TPC-H", "parallel-queries"),
            ("dop", "parallel-queries"),
            ("maxdop", "parallel-queries"),
            ("numa", "log-buffer"),
            ("spinlock", "log-buffer"),
            ("insert", "concurrent-inserts"),
            ("inserts", "concurrent-inserts"),
            ("backup", "work-list"),
            ("restore", "work-list"),
            ("worklist", "work-list"),
            ("slob", "cached-reads"),
            ("LIOPS", "cached-reads"),
            ("reads", "cached-reads"),
            ("cached-read", "cached-reads"),
            ("log_buffer", "log-buffer"),
        ] {
            assert_eq!(named(typed).unwrap().name, name, "{typed}");
        }
        for name in names() {
            assert_eq!(named(name).unwrap().name, name);
        }
        let AppError::Input(why) = named("hyper-threading").unwrap_err() else { panic!("no bad input") };
        assert!(why.contains("matches several") && why.contains("parallel-queries, work-list"), "{why}");
        assert!(named("").is_err() && named("-").is_err());
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let said = |name: &str| named(name).unwrap_err().to_string();
        assert!(said("cached-raeds").ends_with("did you mean cached-reads?"));
        assert!(said("zzz").contains("parallel-queries, log-buffer"));
    }
}
