//! Fleets: fleet.toml and plan.json up to the files and commands of an engine, and what machines return:
//! records, journals and lists of running cells.

use crate::mutate;
use crate::random::Random;
use crate::target::{Judged, Target, hold, parts, plain, space, write};
use serde_json::Value;
use std::path::{Component, Path};
use tempfile::TempDir;
use threadwise_fleet::engine::{FleetEngine, FleetLocation, GeneratedFile};
use threadwise_fleet::engines;
use threadwise_fleet::file::FleetFile;
use threadwise_fleet::folder::read_cell;
use threadwise_fleet::journal;
use threadwise_fleet::plan::{Plan, PlannedStudy, sha256};
use threadwise_fleet::standing::Standing;
use threadwise_fleet::state::CellState;

/// A fleet.toml for each engine, then what machines return.
const CORPUS: &str = include_str!("../../corpus/fleets.txt");
const ENGINES: usize = 3;
/// The hash of a plan, in full or in names.
const PLAN: &str = "@PLAN@";

fn planned(text: &str) -> Result<Plan, String> {
    let file = FleetFile::parse(text, "fleet.toml", &engines::names()).map_err(|error| error.to_string())?;
    let study = PlannedStudy { name: "placement".into(), title: "T".into(), sha256: sha256(b"") };
    Ok(Plan::new(&file, study, &sha256(b"binary"), "0.1.0", 7))
}

/// The fleets.
fn fleets() -> Vec<&'static str> {
    parts(CORPUS).map(|(_, text)| text).take(ENGINES).collect()
}

/// Their plans.
fn plans() -> Result<Vec<Plan>, String> {
    fleets().into_iter().map(planned).collect()
}

/// The target of plans.
pub fn plan() -> Result<Target, String> {
    let text = |plan: &Plan| plan.text().map_err(|error| error.to_string());
    let value = |text: String| serde_json::from_str(&text).map_err(|error| error.to_string());
    let texts: Vec<Value> =
        plans()?.iter().map(|plan| text(plan).and_then(value)).collect::<Result<_, _>>()?;
    let fleets: Vec<Vec<u8>> = fleets().into_iter().map(|fleet| fleet.as_bytes().to_vec()).collect();
    let input = move |random: &mut Random| {
        let times = random.times(4);
        if random.percent(50) {
            let mut whole = random.pick(&texts).clone();
            mutate::json(random, &mut whole, times, &texts);
            return format!("P{whole}").into_bytes();
        }
        let mut bytes = random.pick(&fleets).clone();
        mutate::text(random, &mut bytes, times, &fleets);
        [b"T", bytes.as_slice()].concat()
    };
    Ok(Target::new(input, |input| {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(false) };
        let found = match text.split_at_checked(1) {
            Some(("T", text)) => planned(text),
            Some(("P", text)) => Plan::parse(text, Path::new("plan.json"))
                .map(|(plan, _)| plan)
                .map_err(|error| error.to_string()),
            _ => return Ok(false),
        };
        match found {
            Ok(plan) => judge_plan(&plan).map(|()| true),
            Err(error) => Ok(!error.contains("not a plan of a fleet")),
        }
    }))
}

/// A file below the fleet's folder, and not among the results.
fn is_inside(file: &GeneratedFile) -> bool {
    let mut parts = Path::new(&file.path).components();
    let is_result = file.path.starts_with("cells/");
    !file.path.is_empty() && !is_result && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// A plan is read back from its text, and its engine refuses it before anything is made or makes all of it.
fn judge_plan(plan: &Plan) -> Result<(), String> {
    let text = plan.text().map_err(|error| error.to_string())?;
    let (again, _) = Plan::parse(&text, Path::new("plan.json"))
        .map_err(|error| format!("a plan is not read back: {error}"))?;
    hold(again == *plan, || "a plan is read back as another one".to_owned())?;
    let Some(engine) = engines::find(&plan.engine) else { return Ok(()) };
    let location = FleetLocation::new(Path::new("/srv/a fleet")).map_err(|error| error.to_string())?;
    if engine.check(plan, &location).is_err() {
        return Ok(());
    }
    let made = |error: threadwise_fleet::FleetError| format!("checked but not made: {error}");
    let mut files = engine.files(plan, &location).map_err(made)?;
    for batch in engine.batches(plan, &location, &plan.order, 1).map_err(made)? {
        hold(!batch.cells.is_empty(), || format!("an empty batch: {}", batch.label))?;
        plain("a command", &batch.start.shown())?;
        files.extend(batch.files);
    }
    let outside = files.iter().find(|file| !is_inside(file));
    outside.map_or(Ok(()), |file| Err(format!("a file outside of the folder: {:?}", file.path)))
}

struct Returns {
    space: TempDir,
    plans: Vec<Plan>,
    hash: String,
    /// By the letter that such an input begins with: K for Kubernetes, S for Slurm, R and J for record and journal.
    texts: Vec<(u8, String)>,
}

/// The target of returned files.
pub fn returned() -> Result<Target, String> {
    let (plans, hash) = (plans()?, sha256(b"plan"));
    let of_plan = sha256(plans[0].text().map_err(|error| error.to_string())?.as_bytes());
    let named = |(name, text): (&str, &str)| match name {
        "cluster" => Some((b'K', text.to_owned())),
        "queue" => Some((b'S', text.replace(PLAN, &of_plan[..10]))),
        "record" => Some((b'R', text.replace(PLAN, &hash))),
        "journal" => Some((b'J', text.to_owned())),
        _ => None,
    };
    let texts = parts(CORPUS).filter_map(named).collect();
    Ok(Target::with(Returns { space: space()?, plans, hash, texts }, Returns::input, Returns::judge))
}

impl Returns {
    /// The running cells, and the reader's view of them.
    fn running(&self, engine: &dyn FleetEngine, printed: &str) -> Result<bool, String> {
        let Some(plan) = self.plans.iter().find(|plan| plan.engine == engine.name()) else {
            return Err("no plan of this engine".to_owned());
        };
        let Ok(seen) = engine.read_running(plan, printed) else { return Ok(false) };
        let unplanned = seen.iter().find(|seen| !plan.order.contains(&seen.cell));
        unplanned.map_or(Ok(()), |seen| Err(format!("an unplanned cell: {}", seen.cell)))?;
        let states = seen.iter().map(|seen| (seen.cell.clone(), CellState::Listed(seen.clone()))).collect();
        let text = Standing { states, unknown: None }.json(plan);
        let lines = text.replace('\n', "");
        plain("a status", &lines).map(|()| !seen.is_empty())
    }

    fn cell(&self, text: &[u8]) -> Result<bool, String> {
        let folder = self.space.path();
        write(&folder.join("cell.json"), text)?;
        write(&folder.join("exit"), b"1\n")?;
        let cell = "n1.1".parse()?;
        let Ok((record, _)) = read_cell(folder, &cell, &self.hash) else { return Ok(false) };
        let states = vec![(cell, CellState::Ended(Box::new(record), 1))];
        let text = Standing { states, unknown: None }.json(&self.plans[0]).replace('\n', "");
        plain("a status", &text).map(|()| true)
    }

    fn journal(&self, text: &[u8]) -> Result<bool, String> {
        let folder = self.space.path();
        write(&folder.join("submitted.jsonl"), text)?;
        let Ok(entries) = journal::read(folder) else { return Ok(false) };
        let cells: usize = entries.iter().map(|entry| entry.cells.len()).sum();
        let last = journal::last_of(&entries).len();
        hold(last <= cells, || format!("{last} cells of {cells}"))?;
        Ok(!entries.is_empty())
    }

    fn input(&self, random: &mut Random) -> Vec<u8> {
        let times = random.times(4);
        let (mark, text) = random.pick(&self.texts);
        let mut bytes = text.clone().into_bytes();
        match serde_json::from_str(text) {
            Ok(mut whole) => {
                mutate::json(random, &mut whole, times, &[]);
                bytes = whole.to_string().into_bytes();
            }
            Err(_) => mutate::text(random, &mut bytes, times, &[]),
        }
        [&[*mark], bytes.as_slice()].concat()
    }

    fn judge(&self, input: &[u8]) -> Judged {
        let Some((mark, rest)) = input.split_first() else { return Ok(false) };
        let engine = |name: &str| engines::find(name).ok_or("no such engine");
        match mark {
            b'R' => self.cell(rest),
            b'J' => self.journal(rest),
            b'S' => self.running(engine("slurm")?, &String::from_utf8_lossy(rest)),
            _ => self.running(engine("kubernetes")?, &String::from_utf8_lossy(rest)),
        }
    }
}
