//! Fleets: fleet.toml and plan.json up to the files and commands of an engine, and what machines return:
//! records, journals and lists of running cells.

use crate::mutate;
use crate::random::Random;
use crate::target::{Target, parts, plain, same, space, write};
use std::path::{Component, Path};
use tempfile::TempDir;
use threadwise_fleet::cell::CellId;
use threadwise_fleet::engine::{FleetLocation, GeneratedFile};
use threadwise_fleet::file::FleetFile;
use threadwise_fleet::folder::read_cell;
use threadwise_fleet::journal;
use threadwise_fleet::plan::{Plan, PlannedStudy, sha256};
use threadwise_fleet::standing::Standing;
use threadwise_fleet::state::CellState;
use threadwise_fleet::{FleetError, engines};

/// A fleet.toml for each engine, then what machines return.
const CORPUS: &str = include_str!("../../corpus/fleets.txt");
const ENGINES: usize = 3;
/// The hash of a plan, in full or in names.
const PLAN: &str = "@PLAN@";

fn planned(text: &str) -> Result<Plan, FleetError> {
    let file = FleetFile::parse(text, "fleet.toml", &engines::names())?;
    let study = PlannedStudy { name: "placement".into(), title: "T".into(), sha256: sha256(b"") };
    Ok(Plan::new(&file, study, &sha256(b"binary"), "0.1.0", 7))
}

/// The fleets.
fn fleets() -> Vec<String> {
    parts(CORPUS).map(|(_, text)| text.to_owned()).take(ENGINES).collect()
}

/// Their plans.
fn plans() -> Vec<Plan> {
    fleets().iter().map(|fleet| planned(fleet).expect("a fleet of the corpus")).collect()
}

/// The target of plans.
pub fn plan() -> Target {
    let texts: Vec<String> = plans().iter().map(|plan| plan.text().expect("a plan's text")).collect();
    let fleets = fleets();
    let input = move |random: &mut Random| {
        let (mark, corpus) = if random.percent(40) { (b"P", &texts) } else { (b"T", &fleets) };
        [&mark[..], &mutate::document(random, corpus)].concat()
    };
    Target::new(input, |input| {
        let text = std::str::from_utf8(input).ok().and_then(|text| text.split_at_checked(1));
        let found = match text {
            Some(("T", text)) => planned(text),
            Some(("P", text)) => Plan::parse(text, Path::new("plan.json")).map(|(plan, _)| plan),
            _ => return false,
        };
        match found {
            Ok(plan) => {
                judge_plan(&plan);
                true
            }
            Err(error) => !error.to_string().contains("not a plan of a fleet"),
        }
    })
}

/// A file below the fleet's folder, and not among the results.
fn is_inside(file: &GeneratedFile) -> bool {
    let mut parts = Path::new(&file.path).components();
    let is_result = file.path.starts_with("cells/");
    !file.path.is_empty() && !is_result && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// A plan is read back from its text, and its engine refuses it before anything is made or makes all of it.
fn judge_plan(plan: &Plan) {
    let text = plan.text().expect("a plan's text");
    same(&Plan::parse(&text, Path::new("plan.json")).map(|(again, _)| again), plan);
    let location = FleetLocation::new(Path::new("/srv/a fleet")).expect("a location");
    let engine = engines::find(&plan.engine);
    let Some(engine) = engine.filter(|engine| engine.check(plan, &location).is_ok()) else { return };
    let mut files = engine.files(plan, &location).expect("files of a plan that was checked");
    let batches = engine.batches(plan, &location, &plan.order, 1);
    for batch in batches.expect("batches of a plan that was checked") {
        assert!(!batch.cells.is_empty(), "an empty batch: {}", batch.label);
        plain("a command", &batch.start.shown());
        files.extend(batch.files);
    }
    let outside = files.iter().find(|file| !is_inside(file)).map(|file| &file.path);
    assert_eq!(outside, None, "a file outside of the folder");
}

struct Returns {
    space: TempDir,
    plans: Vec<Plan>,
    hash: String,
    /// By the letter that such an input begins with: K for Kubernetes, S for Slurm, R and J for record and journal.
    texts: Vec<(u8, String)>,
}

/// The target of returned files.
pub fn returned() -> Target {
    let (plans, hash) = (plans(), sha256(b"plan"));
    let of_plan = sha256(plans[0].text().expect("a plan's text").as_bytes());
    let named = |(name, text): (&str, &str)| match name {
        "cluster" => Some((b'K', text.to_owned())),
        "queue" => Some((b'S', text.replace(PLAN, &of_plan[..10]))),
        "record" => Some((b'R', text.replace(PLAN, &hash))),
        "journal" => Some((b'J', text.to_owned())),
        _ => None,
    };
    let texts = parts(CORPUS).filter_map(named).collect();
    Target::with(Returns { space: space(), plans, hash, texts }, Returns::input, Returns::judge)
}

impl Returns {
    /// The running cells, and the reader's view of them.
    fn running(&self, engine: &str, printed: &[u8]) -> bool {
        let plan = self.plans.iter().find(|plan| plan.engine == engine).expect("a plan of this engine");
        let engine = engines::find(engine).expect("the engine");
        let Ok(seen) = engine.read_running(plan, &String::from_utf8_lossy(printed)) else { return false };
        let unplanned = seen.iter().map(|seen| &seen.cell).find(|cell| !plan.order.contains(cell));
        assert_eq!(unplanned, None, "an unplanned cell");
        let states = seen.iter().map(|seen| (seen.cell.clone(), CellState::Listed(seen.clone()))).collect();
        shown(plan, states);
        !seen.is_empty()
    }

    fn cell(&self, text: &[u8]) -> bool {
        let folder = self.space.path();
        write(&folder.join("cell.json"), text);
        write(&folder.join("exit"), b"1\n");
        let cell = "n1.1".parse().expect("a cell");
        let Ok((record, _)) = read_cell(folder, &cell, &self.hash) else { return false };
        shown(&self.plans[0], vec![(cell, CellState::Ended(Box::new(record), 1))]);
        true
    }

    fn journal(&self, text: &[u8]) -> bool {
        let folder = self.space.path();
        write(&folder.join("submitted.jsonl"), text);
        let Ok(entries) = journal::read(folder) else { return false };
        let cells: usize = entries.iter().map(|entry| entry.cells.len()).sum();
        let last = journal::last_of(&entries).len();
        assert!(last <= cells, "{last} cells of {cells}");
        !entries.is_empty()
    }

    fn input(&self, random: &mut Random) -> Vec<u8> {
        let (mark, text) = random.pick(&self.texts);
        [&[*mark], mutate::document(random, std::slice::from_ref(text)).as_slice()].concat()
    }

    fn judge(&self, input: &[u8]) -> bool {
        match input.split_first() {
            Some((b'R', rest)) => self.cell(rest),
            Some((b'J', rest)) => self.journal(rest),
            Some((b'S', rest)) => self.running("slurm", rest),
            Some((_, rest)) => self.running("kubernetes", rest),
            None => false,
        }
    }
}

fn shown(plan: &Plan, states: Vec<(CellId, CellState)>) {
    let text = Standing { states, unknown: None }.json(plan);
    plain("a status", &text.replace('\n', ""));
}
