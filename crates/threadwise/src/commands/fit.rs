//! `threadwise fit`: a scaling law of a sweep, from a result file or a CSV file, and its prediction for other machines.

use crate::commands::screen;
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use clap::Args;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use threadwise_analysis::scaling_law::{Draws, Outcome, SeriesLaw, laws, of_study, table};
use threadwise_analysis::{LawWords, UNNAMED, law_document};
use threadwise_document::screen::{Trust, TrustLevel};
use threadwise_document::{Document, Prose};
use threadwise_machine::given;
use threadwise_machine::text::one_line;
use threadwise_report::{html, json};

/// Arguments of `fit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise fit STUDY.threadwise                    its numbers with intervals, knee, peak, gain from SMT
  threadwise fit STUDY.threadwise --predict 16c2t    what a machine of 16 cores of 2 threads would do
  threadwise fit sweep.csv --predict 8c1t --predict 8c2t --html fit.html
  threadwise fit sweep.csv --json | jq '.series[].law.yields'

A CSV file has a header line: sessions,throughput with cores,threads_per_core,clock of the machine if
known; or cores,threads_per_core,throughput with one machine a line, all its logical CPUs busy. With a
column series several workloads or machines are fitted together, and share parameters if possible.

Parameters that the points do not determine stay unknown, and machines that need them are not predicted:
one session and the yield if every core has both threads busy; several packages if no point is known to
have as many.

All options: threadwise fit --help-all")]
pub struct FitArgs {
    /// Result file of a study, or CSV file; - reads CSV from standard input
    pub file: PathBuf,
    /// Another machine, such as 2s16c2t or 8c1t; may be repeated
    ///
    /// Give packages, cores of each and logical CPUs of each core: 2s16c2t has 2 packages of 16 cores of 2 logical
    /// CPUs, 8c1t one of 8 cores of 1.
    #[arg(long, value_name = "SHAPE", help_heading = "What is predicted")]
    pub predict: Vec<threadwise_analysis::scaling_law::Shape>,
    /// Write a self-contained HTML page to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Print everything about each series
    #[arg(long, help_heading = "Output")]
    pub all: bool,
    /// Print JSON (docs/JSON.md)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// First bytes of a SQLite file (<https://www.sqlite.org/fileformat2.html>, section 1.3).
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Maximum bytes of a CSV file.
const MOST_BYTES: u64 = 16 << 20;

/// Seed of draws for data without one.
const SEED: u64 = 1;

/// The fitted series.
struct Fitted {
    laws: Vec<SeriesLaw>,
    words: LawWords,
    simulated: bool,
    about: Vec<String>,
    /// Display names of series that differ from the data's.
    names: Vec<(String, String)>,
}

/// Fits and prints, and writes the page.
pub fn fit(args: &FitArgs) -> Result<(), AppError> {
    args.html.as_deref().map_or(Ok(()), output::check_new)?;
    let fitted = if is_study(&args.file)? { study(args) } else { table(args) }?;
    let gaps: Vec<&str> = fitted.laws.iter().filter_map(gap).collect();
    if gaps.len() == fitted.laws.len() {
        let why = gaps.first().copied().unwrap_or("nothing was measured");
        return Err(AppError::Input(format!("{}: {why}", args.file.display())));
    }
    let name = |series: &str| {
        let known = fitted.names.iter().find(|(name, _)| name == series);
        known.map_or_else(|| series.to_owned(), |(_, words)| words.clone())
    };
    let about = Document {
        title: "Scaling law".to_owned(),
        about: fitted.about.clone(),
        simulated: fitted.simulated,
        footer: format!("threadwise {}", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    };
    let document = law_document(&fitted.laws, fitted.words, &name, about);
    let level = if fitted.simulated { TrustLevel::Low } else { TrustLevel::Fair };
    let reasons = vec!["Fitted, not measured: what lies beyond the points is a prediction.".into()];
    let next = Prose::command(screen::again("--html FILE"));
    let document = screen::with_screen(document, Trust { level, reasons }, next);
    let text = match args.json {
        true => {
            format!("{}\n", json::fitted(&args.file.display().to_string(), fitted.simulated, &fitted.laws))
        }
        false => screen::shown(&document, args.all),
    };
    let path = args.html.as_deref();
    output::deliver(output::print(&text), path, None, || html::render(&document).map_err(AppError::failed))?;
    output::name_page(path.filter(|_| !args.json))
}

fn gap(one: &SeriesLaw) -> Option<&str> {
    match &one.outcome {
        Outcome::Gap(why) => Some(why),
        Outcome::Law(_) => None,
    }
}

/// Whether a file is a result file, by its first bytes.
fn is_study(path: &Path) -> Result<bool, AppError> {
    if path == Path::new("-") {
        return Ok(false);
    }
    let mut first = Vec::new();
    let read = given::open(path).and_then(|file| file.take(SQLITE.len() as u64).read_to_end(&mut first));
    read.map_err(|error| AppError::Input(format!("{}: {error}", path.display())))?;
    Ok(first == SQLITE)
}

fn study(args: &FitArgs) -> Result<Fitted, AppError> {
    let opened = Opened::open(&args.file)?;
    let facts = opened.facts();
    let file = args.file.display();
    if facts.study.runs_whole() || facts.analysis.queries.is_some() {
        return Err(AppError::Input(format!(
            "{file} is a study of {}, without throughput against sessions: fit needs a study of rates, such as `threadwise run session-sweep`",
            facts.study.nouns().noun
        )));
    }
    let nouns = facts.study.nouns();
    let names = facts.study.groups().into_iter();
    Ok(Fitted {
        laws: of_study(facts.study, facts.topology, facts.runs, &args.predict),
        words: LawWords { rate: nouns.rate, sessions: nouns.sessions },
        simulated: facts.is_simulated(),
        about: [
            format!("{} {}", facts.study.engine, facts.engine_version),
            facts.study.workload.to_string(),
            file.to_string(),
        ]
        .to_vec(),
        names: names.map(|group| (group.to_owned(), facts.group_words(group).to_string())).collect(),
    })
}

fn table(args: &FitArgs) -> Result<Fitted, AppError> {
    let file = args.file.display();
    let wrong = |why: String| AppError::Input(format!("{file}: {why}"));
    let mut text = String::new();
    let mut source: Box<dyn Read> = match args.file == Path::new("-") {
        true => Box::new(std::io::stdin()),
        false => Box::new(given::open(&args.file).map_err(|error| wrong(error.to_string()))?),
    };
    let read = source.by_ref().take(MOST_BYTES + 1).read_to_string(&mut text);
    let bytes = read.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => wrong("neither a result file nor text".to_owned()),
        _ => wrong(error.to_string()),
    })?;
    if bytes as u64 > MOST_BYTES {
        return Err(wrong(format!("more than {} MiB", MOST_BYTES >> 20)));
    }
    let series = table::read(&text).map_err(|error| wrong(error.to_string()))?;
    let names = short_names(&series.iter().map(|one| one.name.as_str()).collect::<Vec<_>>());
    Ok(Fitted {
        laws: laws(&series, &args.predict, Draws::usual(SEED)),
        words: LawWords { rate: UNNAMED, sessions: "sessions" },
        simulated: false,
        about: vec![file.to_string()],
        names,
    })
}

/// Maximum length of a series' display name.
const LONGEST_NAME: usize = 80;

/// Display names of series whose own are too long: without the words that all long ones begin with, since the last
/// words of a command distinguish it, and with a number if that is not enough.
fn short_names(all: &[&str]) -> Vec<(String, String)> {
    let is_long = |name: &str| name.chars().count() > LONGEST_NAME;
    let long: Vec<&str> = all.iter().copied().filter(|name| is_long(name)).collect();
    let words: Vec<Vec<&str>> = long.iter().map(|name| name.split_whitespace().collect()).collect();
    let is_common = |at: usize| {
        let first = words.first().and_then(|first| first.get(at));
        words.len() > 1 && first.is_some() && words.iter().all(|words| words.get(at) == first)
    };
    let common = (0..).take_while(|at| is_common(*at)).count();
    let rest = |words: &Vec<&str>| {
        let rest = words.get(common..).unwrap_or_default().join(" ");
        one_line(&if common > 0 { format!("… {rest}") } else { rest }, LONGEST_NAME)
    };
    let short: Vec<String> = words.iter().map(rest).collect();
    let numbered = |(at, name): (usize, &&str)| {
        let is_known = |other: &String| *other == short[at];
        let is_unique =
            short.iter().filter(|other| is_known(other)).count() == 1 && !all.contains(&short[at].as_str());
        let place = all.iter().position(|one| one == name).unwrap_or(at) + 1;
        let words = if is_unique { short[at].clone() } else { format!("series {place}, {}", short[at]) };
        ((*name).to_owned(), words)
    };
    long.iter().enumerate().map(numbered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_shown_by_what_differs() {
        let command = |rest: &str| format!("pgbench -n -S {} {rest}", "-c 8 ".repeat(20));
        let all = [command("shared_buffers=1GB"), command("shared_buffers=8GB"), "short".to_owned()];
        let names = short_names(&all.each_ref().map(String::as_str));
        let shown: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(shown, ["… shared_buffers=1GB", "… shared_buffers=8GB"]);
        assert_eq!((names[1].0.as_str(), names.len()), (all[1].as_str(), 2));
        // What differs may be longer than a line too, or in the middle of one long word.
        let all = ["a", "b"].map(|last| format!("x{}{last}", "y".repeat(200)));
        let names = short_names(&all.each_ref().map(String::as_str));
        assert!(
            names[0].1.starts_with("series 1, xyy") && names[1].1.starts_with("series 2, xyy"),
            "{names:?}"
        );
        let one = short_names(&[&all[0]]);
        assert_eq!(one[0].1.chars().count(), LONGEST_NAME);
        assert!(short_names(&["one", "two"]).is_empty());
    }
}
