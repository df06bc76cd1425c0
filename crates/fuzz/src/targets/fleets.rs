//! Fleets: fleet.toml and plan.json up to the files and commands of an engine, and what machines return:
//! records, journals and lists of running cells.

use super::{Target, hold, space};
use crate::random::Random;
use crate::{json, mutate};
use serde_json::{Value, json};
use std::fs;
use std::path::{Component, Path};
use tempfile::TempDir;
use threadwise_fleet::engine::{FleetEngine, GeneratedFile, Place};
use threadwise_fleet::engines;
use threadwise_fleet::file::FleetFile;
use threadwise_fleet::folder::read_cell;
use threadwise_fleet::journal;
use threadwise_fleet::plan::{Plan, PlannedStudy, sha256};
use threadwise_fleet::standing::Standing;
use threadwise_fleet::state::State;
use threadwise_machine::text::is_deceptive;

const HEAD: &str = "version = 1\nstudy = \"placement\"\nrepeats = 2\nbudget = \"1m\"\n";
/// A fleet for each engine, after [`HEAD`].
const FLEETS: [&str; 3] = [
    "engine = \"slurm\"\napart = \"90s\"\n[engine_options]\nlicenses = \"host:1\"\n[[kind]]\nname = \"a\"\n\
     nodes = [\"n1\", \"n2\"]\nprice = { amount = 0.357, currency = \"USD\", date = \"2026-01-15\", source = \"list\" }\n\
     study_engine_options = { \"ratio.x\" = 1.5 }\n[[kind]]\nname = \"b\"\nmachines = 3\n\
     selector = { constraint = \"b\", partition = \"p\" }\n",
    "engine = \"ansible\"\nboots = \"require\"\n[engine_options]\nforks = 1\nbecome = true\n\
     inventory = [\"/a b\", \"h1,\"]\nextra-vars = { x = \"y z\" }\n[run]\nno_probe = true\n[[kind]]\nname = \"a\"\n\
     nodes = [\"n1\", \"n2.example\"]\n",
    "engine = \"kubernetes\"\nmeasures = \"share\"\n[engine_options]\nnamespace = \"bench\"\n\
     image = \"reg.example/threadwise@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"\n\
     cpu = 4\nmemory = \"28Gi\"\nclaim = \"results\"\nsub_path = \"a/b\"\n\
     tolerations = [{ key = \"bench\", operator = \"Exists\", effect = \"NoSchedule\" }]\n[[kind]]\nname = \"a\"\n\
     machines = 2\nselector = { \"node.kubernetes.io/instance-type\" = \"m7i.2xlarge\" }\n",
];

/// A shown text has no deceptive character. (Errors may: they are escaped where they are printed.)
fn is_plain(what: &str, text: &str) -> Result<(), String> {
    hold(!text.chars().any(is_deceptive), || format!("{what} that deceives: {text:?}"))
}

fn planned(text: &str) -> Result<Plan, String> {
    let file = FleetFile::parse(text, "fleet.toml", &engines::names()).map_err(|error| error.to_string())?;
    let study = PlannedStudy { name: "placement".into(), title: "T".into(), sha256: sha256(b"") };
    Ok(Plan::new(&file, study, &sha256(b"binary"), "0.1.0", 7))
}

/// The plans of [`FLEETS`].
fn plans() -> Result<Vec<Plan>, String> {
    FLEETS.iter().map(|fleet| planned(&format!("{HEAD}{fleet}"))).collect()
}

struct Plans {
    texts: Vec<Value>,
}

/// The target of plans.
pub fn plan() -> Result<Box<dyn Target>, String> {
    let text = |plan: &Plan| plan.text().map_err(|error| error.to_string());
    let value = |text: String| serde_json::from_str(&text).map_err(|error| error.to_string());
    let texts = plans()?.iter().map(|plan| text(plan).and_then(value)).collect::<Result<_, _>>()?;
    Ok(Box::new(Plans { texts }))
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
    let place = Place::new(Path::new("/srv/a fleet")).map_err(|error| error.to_string())?;
    if engine.check(plan, &place).is_err() {
        return Ok(());
    }
    let made = |error: threadwise_fleet::FleetError| format!("checked but not made: {error}");
    let mut files = engine.files(plan, &place).map_err(made)?;
    for batch in engine.batches(plan, &place, &plan.order, 1).map_err(made)? {
        hold(!batch.cells.is_empty(), || format!("an empty batch: {}", batch.label))?;
        is_plain("a command", &batch.start.shown())?;
        files.extend(batch.files);
    }
    let outside = files.iter().find(|file| !is_inside(file));
    outside.map_or(Ok(()), |file| Err(format!("a file outside of the folder: {:?}", file.path)))
}

impl Target for Plans {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let times = random.times(4);
        if random.percent(50) {
            let mut whole = random.pick(&self.texts).clone();
            json::mutate(random, &mut whole, times, &self.texts);
            return format!("P{whole}").into_bytes();
        }
        let mut bytes = format!("{HEAD}{}", random.pick(&FLEETS)).into_bytes();
        let donors: Vec<Vec<u8>> = FLEETS.iter().map(|fleet| fleet.as_bytes().to_vec()).collect();
        mutate::text(random, &mut bytes, times, &donors);
        [b"T", bytes.as_slice()].concat()
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
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
    }
}

struct Returns {
    space: TempDir,
    plans: Vec<Plan>,
    hash: String,
}

/// The target of returned files.
pub fn returned() -> Result<Box<dyn Target>, String> {
    Ok(Box::new(Returns { space: space()?, plans: plans()?, hash: sha256(b"plan") }))
}

fn record(hash: &str) -> Value {
    json!({
        "version": 1, "plan": hash, "cell": "n1.1", "kind": "a", "program": "0.1.0", "machine_hash": "0f",
        "boot_id": "b", "node": "n1", "machine_type": null, "kernel": "6.1.0", "microcode": null, "job": "7_1",
        "started_utc": "2026-01-01T00:00:00Z", "ended_utc": "2026-01-01T00:05:00Z", "online_cpus": "0-3",
        "allowed_cpus": "0-3", "exclusivity": ["scontrol: OverSubscribe=NO"], "outcome": "failed",
        "reason": "no space", "notes": [], "earlier": [
            {"started_utc": "2025-12-31T00:00:00Z", "node": "n1", "job": "6_1", "how": "stopped"}
        ],
    })
}

fn queue(plan: &Plan) -> String {
    let name =
        |machine: &str| format!("tw-{}-{machine}", &sha256(plan.text().unwrap_or_default().as_bytes())[..10]);
    let line = |machine: &str, rest: &str| format!("{}|{rest}\n", name(machine));
    [
        line("n1", "1|4711|RUNNING|None"),
        line("n2", "2|4712|PENDING|Licenses"),
        line("b-1", "1|4713|COMPLETED|None"),
    ]
    .concat()
}

fn cluster() -> Value {
    json!({"kind": "List", "items": [
        {
            "kind": "Job", "metadata": {
                "name": "tw-1-a-1-1",
                "annotations": {"threadwise-machine": "a-1", "threadwise-repeats": "1 2"},
            },
            "spec": {"completions": 2, "suspend": false}, "status": {"active": 1, "failedIndexes": "0"},
        },
        {
            "kind": "Pod", "metadata": {
                "name": "tw-1-a-1-1-1-x7k2p",
                "annotations": {"batch.kubernetes.io/job-completion-index": "1"},
                "labels": {"batch.kubernetes.io/job-name": "tw-1-a-1-1"},
            },
            "status": {"phase": "Running", "containerStatuses": [
                {"name": "cell", "state": {"terminated": {"exitCode": 1, "message": "failed\n"}}}
            ]},
        },
    ]})
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
        let states = seen.iter().map(|seen| (seen.cell.clone(), State::Seen(seen.clone()))).collect();
        let text = Standing { states, unknown: None }.json(plan);
        let lines = text.replace('\n', "");
        is_plain("a status", &lines).map(|()| !seen.is_empty())
    }

    fn cell(&self, text: &[u8]) -> Result<bool, String> {
        let (folder, failed) = (self.space.path(), |error: std::io::Error| error.to_string());
        fs::write(folder.join("cell.json"), text).map_err(failed)?;
        fs::write(folder.join("exit"), "1\n").map_err(failed)?;
        let cell = "n1.1".parse()?;
        let Ok((record, _)) = read_cell(folder, &cell, &self.hash) else { return Ok(false) };
        let states = vec![(cell, State::Ended(Box::new(record), 1))];
        let text = Standing { states, unknown: None }.json(&self.plans[0]).replace('\n', "");
        is_plain("a status", &text).map(|()| true)
    }

    fn journal(&self, text: &[u8]) -> Result<bool, String> {
        let folder = self.space.path();
        fs::write(folder.join("submitted.jsonl"), text).map_err(|error| error.to_string())?;
        let Ok(entries) = journal::read(folder) else { return Ok(false) };
        let cells: usize = entries.iter().map(|entry| entry.cells.len()).sum();
        let last = journal::last_of(&entries).len();
        hold(last <= cells, || format!("{last} cells of {cells}"))?;
        Ok(!entries.is_empty())
    }
}

const JOURNAL: &str = "{\"attempt\":1,\"utc\":\"2026-01-01T00:00:00Z\",\"cells\":[\"n1.1\"],\"event\":\"submitting\"}\n\
    {\"attempt\":1,\"utc\":\"2026-01-01T00:00:01Z\",\"cells\":[\"n1.1\",\"n2.1\"],\"event\":{\"submitted\":{\"job\":\"7\"}}}\n\
    {\"attempt\":2,\"utc\":\"2026-01-02T00:00:00Z\",\"cells\":[\"n2.1\"],\"event\":{\"not-submitted\":{\"why\":\"no\"}}}\n";

impl Target for Returns {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let times = random.times(4);
        let mark = *random.pick(b"RKSJ");
        let bytes = match mark {
            b'R' | b'K' => {
                let mut whole = if mark == b'R' { record(&self.hash) } else { cluster() };
                json::mutate(random, &mut whole, times, &[]);
                whole.to_string().into_bytes()
            }
            _ => {
                let text = if mark == b'S' { queue(&self.plans[0]) } else { JOURNAL.to_owned() };
                let mut bytes = text.into_bytes();
                mutate::text(random, &mut bytes, times, &[]);
                bytes
            }
        };
        [&[mark], bytes.as_slice()].concat()
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
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
