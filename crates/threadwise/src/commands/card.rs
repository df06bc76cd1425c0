//! `threadwise card`: a study as a kilobyte for sharing. `threadwise gallery`: cards as a page.

use crate::engines;
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use threadwise_analysis::card::Card;
use threadwise_document::numbers::{self, counted};
use threadwise_machine::given;
use threadwise_report::{html, json};

/// Longest file of a card: one that a person has indented is longer than a line.
const MOST_FILE_BYTES: u64 = 8192;
/// Lowest level of intervals in a card.
const LEAST_LEVEL: f64 = 0.95;
/// Most cards of a gallery.
const MOST_CARDS: usize = 10_000;

/// Arguments of `card`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise card placement.threadwise --explain     what is in it
  threadwise card placement.threadwise > my-machine.json

A card has the processor, the kind of machine, the engine, ratios with their intervals, A/A and the
day. It has no name of a host, user, path or statement. Nothing is sent anywhere.")]
pub struct CardArgs {
    /// Result files, a card each
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Print each field of the card with its meaning
    #[arg(long)]
    pub explain: bool,
}

/// Arguments of `gallery`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  threadwise gallery gallery                 check the cards of a folder
  threadwise gallery gallery -o site         make site/index.html of them

A card with an unknown field, with figures that cannot be, of a model, or that is there twice is
refused, and nothing is written. The page needs no network.")]
pub struct GalleryArgs {
    /// Folder of cards, a file NAME.json each
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Folder for index.html; only an earlier gallery is replaced
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// Prints the cards.
pub fn card(args: &CardArgs) -> Result<(), AppError> {
    // All are read before anything is printed.
    let cards: Vec<Card> = args.files.iter().map(|file| of_file(file)).collect::<Result<_, _>>()?;
    for (card, file) in cards.iter().zip(&args.files).filter(|(card, _)| card.figures.is_empty()) {
        output::tell(&format!(
            "threadwise: {} has no figure that a card shows ({}): threadwise run measures some",
            file.display(),
            card.workload
        ));
    }
    let shown = |card: &Card| match args.explain {
        true => json::explained(card),
        false => format!("{}\n", json::card_line(card)),
    };
    output::print(&cards.iter().map(shown).collect::<Vec<_>>().join(if args.explain { "\n" } else { "" }))
}

fn of_file(file: &Path) -> Result<Card, AppError> {
    let opened = Opened::open(file)?;
    let facts = opened.facts();
    if facts.level() < LEAST_LEVEL - 1e-9 {
        let level = numbers::set_percent(facts.level());
        let file = file.display();
        return Err(AppError::Input(format!(
            "{file} has intervals at {level}: a card has them at 95% or more"
        )));
    }
    let trust = threadwise_analysis::document(&facts).screen.trust.level;
    let card = Card::of(&facts, trust, opened.instance_type().map(str::to_owned));
    Ok(if engines::names().contains(&facts.study.engine.as_str()) { card } else { card.of_other_engine() })
}

/// Checks the cards, and writes the page.
pub fn gallery(args: &GalleryArgs) -> Result<(), AppError> {
    let cards = cards(&args.folder)?;
    let what = counted(cards.len(), "card");
    let Some(folder) = &args.output else {
        return output::print(&format!("{what} in {}: all can be shown\n", args.folder.display()));
    };
    let path = folder.join("index.html");
    if path.symlink_metadata().is_ok() && !output::is_page(&path, html::GALLERY) {
        output::check_new(&path)?;
    }
    let page = html::gallery(&cards).map_err(AppError::failed)?;
    std::fs::create_dir_all(folder)
        .map_err(|error| AppError::Input(format!("cannot make the folder {}: {error}", folder.display())))?;
    output::deliver(Ok(()), Some(&path), Some(html::GALLERY), || Ok(page))?;
    output::print(&format!("{what}: {}\n", path.display()))
}

/// The cards of a folder by their files' names.
fn cards(folder: &Path) -> Result<Vec<Card>, AppError> {
    let shown = folder.display();
    let unreadable =
        |error: std::io::Error| AppError::Input(format!("cannot read the folder {shown}: {error}"));
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        files.extend(Some(path).filter(|path| path.extension().is_some_and(|end| end == "json")));
    }
    files.sort();
    if files.is_empty() || files.len() > MOST_CARDS {
        return Err(AppError::Input(format!(
            "{shown} has {} (NAME.json), not 1 to {MOST_CARDS}: make one with threadwise card FILE > NAME.json",
            counted(files.len(), "card")
        )));
    }
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let today = today.get(..10).unwrap_or_default();
    let mut cards: Vec<Card> = Vec::new();
    for file in &files {
        let wrong = |why: String| AppError::Input(format!("{}: {why}", file.display()));
        let bytes = given::bytes(file, MOST_FILE_BYTES).map_err(|error| wrong(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
        let card = json::read_card(&text).map_err(wrong)?;
        if let Some(fault) = card.fault(today) {
            return Err(wrong(fault));
        }
        // Two studies do not measure the same to the last digit.
        if let Some(at) =
            cards.iter().position(|other| other.figures == card.figures && other.a_a == card.a_a)
        {
            return Err(wrong(format!("it has the figures of {}: a study counts once", files[at].display())));
        }
        cards.push(card);
    }
    Ok(cards)
}
