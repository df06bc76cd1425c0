//! Inputs of a fleet's report: a planned folder, or result files from anywhere.

use super::faults::app_error;
use crate::error::AppError;
use crate::opened::Opened;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use threadwise_analysis::Facts;
use threadwise_analysis::fleet::{Absence, Absent, Fleet, FleetStudy, Kind, Price};
use threadwise_fleet::cell::{CellId, CellRecord, Outcome, RECORD_FILE, STUDY_FILE};
use threadwise_fleet::folder::{FleetFolder, read_record};
use threadwise_fleet::plan::{PlannedKind, sha256};
use threadwise_fleet::standing::Standing;
use threadwise_fleet::state::{CellState, clones};
use threadwise_machine::text::one_line;
use threadwise_store::Store;

/// Maximum length of a shown reason, characters.
const MOST_WHY: usize = 200;

/// A folder's cells.
pub fn of_folder(dir: &Path) -> Result<Fleet, AppError> {
    let folder = FleetFolder::open(dir).map_err(app_error)?;
    let standing = Standing::read(&folder).map_err(app_error)?;
    let mut fleet = Fleet {
        title: folder.plan.title.clone(),
        study: folder.plan.study.name.clone(),
        kinds: folder.plan.kinds.iter().map(|kind| planned(&folder, kind)).collect(),
        repeats: folder.plan.repeats,
        warnings: standing.clones(),
        ..Fleet::default()
    };
    fleet.warnings.extend(standing.unknown.clone());
    for (cell, state) in &standing.states {
        let path = folder.cell(cell).join(STUDY_FILE);
        match state {
            CellState::Ended(record, _) if !record.outcome.may_pass() => match Opened::open(&path) {
                Ok(opened) => fleet.studies.push(planned_study(&folder, record, &opened)),
                Err(error) => fleet.absent.push(absent(&folder, cell, Absence::Failed, error.to_string())),
            },
            _ => fleet.absent.push(absent(&folder, cell, absence(state), state.remark().unwrap_or_default())),
        }
    }
    Ok(fleet)
}

fn planned(folder: &FleetFolder, kind: &PlannedKind) -> Kind {
    let machines = folder.plan.machines.iter().filter(|machine| machine.kind == kind.name).count();
    let price = kind.price.clone().map(|price| Price {
        amount: price.amount,
        currency: price.currency,
        date: price.date,
        source: price.source,
    });
    Kind { name: kind.name.clone(), price, machines_planned: machines as u32, ..Kind::default() }
}

fn absence(state: &CellState) -> Absence {
    match state {
        CellState::Ended(record, _) if record.outcome == Outcome::Refused => Absence::Refused,
        CellState::Ended(..) | CellState::Broken(_) => Absence::Failed,
        CellState::Stopped => Absence::Stopped,
        _ => Absence::Missing,
    }
}

fn absent(folder: &FleetFolder, cell: &CellId, reason: Absence, why: String) -> Absent {
    let machine = folder.plan.machine(&cell.machine);
    Absent {
        kind: machine.map(|machine| machine.kind.clone()).unwrap_or_default(),
        node: machine.and_then(|machine| machine.node.clone()).unwrap_or_default(),
        repeat: cell.repeat,
        reason,
        why: one_line(&why, MOST_WHY).trim_end_matches('.').to_owned(),
    }
}

fn planned_study(folder: &FleetFolder, record: &CellRecord, opened: &Opened) -> FleetStudy {
    let machine = folder.plan.machine(&record.cell.machine);
    // The plan names a node; only the machine knows which machine of a pool it is.
    let named = machine.and_then(|machine| machine.node.clone());
    let of_pool = || format!("{} {}", known(&record.machine_hash), known(&record.node));
    let source = format!("{}/{STUDY_FILE}", record.cell);
    let facts = Facts { source: &source, ..opened.facts() };
    let mut study = FleetStudy {
        kind: machine.map_or(&record.kind, |machine| &machine.kind).clone(),
        machine: named.clone().unwrap_or_else(of_pool),
        node: named.or_else(|| record.node.clone()).unwrap_or_else(|| record.cell.machine.clone()),
        boot: record.boot_id.clone().unwrap_or_else(|| record.cell.to_string()),
        repeat: record.cell.repeat,
        same_work: same_work(&folder.hash, &facts),
        ..FleetStudy::of(&facts)
    };
    study.add_traits(traits(record));
    study
}

fn known(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or("unknown")
}

fn traits(record: &CellRecord) -> Vec<(String, String)> {
    let all = [
        ("instance type", &record.machine_type),
        ("kernel", &record.kernel),
        ("microcode", &record.microcode),
    ];
    let known = all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
    known.collect()
}

/// A hash of everything except the machine that decides a treatment's rate: the plan (or the study, without a plan),
/// the engine with its version and options, and the workload's options with the sizes of its data. Inputs of a model
/// are left out.
fn same_work(plan: &str, facts: &Facts<'_>) -> String {
    let study = facts.study;
    let mut text = format!("{plan}\n{}\n{}\n{}\n", study.engine, facts.engine_version, study.workload);
    if !facts.is_simulated() {
        text.push_str(&format!("{:?}\n", study.engine_options));
    }
    for treatment in &study.treatments {
        text.push_str(&format!("{} {} {:?}\n", treatment.name, treatment.sessions, treatment.options));
    }
    sha256(text.as_bytes())
}

/// A result file as given on the command line.
struct Named {
    machine: Option<String>,
    path: PathBuf,
}

/// Parses `NAME=FILE` or a file; a file whose name contains `=` is used if it exists.
fn named(source: &str) -> Named {
    match source.split_once('=') {
        Some((machine, path)) if !Path::new(source).exists() && !machine.is_empty() => {
            Named { machine: Some(machine.to_owned()), path: PathBuf::from(path) }
        }
        _ => Named { machine: None, path: PathBuf::from(source) },
    }
}

/// Result files from anywhere.
pub fn of_files(sources: &[String]) -> Result<Fleet, AppError> {
    let mut fleet = Fleet::default();
    let (mut names, mut unnamed, mut records) = (BTreeSet::new(), 0, Vec::new());
    for source in sources {
        let Named { machine, path } = named(source);
        let opened = Opened::open(&path)?;
        names.insert(opened.facts().study.name.clone());
        let record = path.parent().and_then(|folder| read_record(&folder.join(RECORD_FILE)).ok());
        unnamed += usize::from(machine.is_none() && record.is_none());
        fleet.studies.push(bare_study(&fleet, &path, (machine, record.as_ref()), &opened)?);
        records.extend(record);
    }
    if names.len() > 1 {
        return Err(AppError::Input(format!(
            "these are results of several studies ({}): a fleet has one; for several, use: threadwise compare",
            names.into_iter().collect::<Vec<_>>().join(", ")
        )));
    }
    fleet.study = names.into_iter().next().unwrap_or_default();
    fleet.title = fleet.study.clone();
    for study in &fleet.studies {
        if fleet.kinds.iter().all(|kind| kind.name != study.kind) {
            fleet.kinds.push(Kind { name: study.kind.clone(), ..Kind::default() });
        }
    }
    fleet.warnings = clones(&records.iter().collect::<Vec<_>>());
    if unnamed > 0 {
        fleet.warnings.push(format!(
            "{unnamed} of {} result files do not say which machine they were measured on: each boot counts as a machine of its \
             own, though a machine may have had several; give NAME=FILE to say which",
            sources.len()
        ));
    }
    Ok(fleet)
}

/// A study outside a fleet's folder: its machine comes from its file, from a cell.json beside it, or from the command
/// line.
fn bare_study(
    fleet: &Fleet,
    path: &Path,
    (machine, record): (Option<String>, Option<&CellRecord>),
    opened: &Opened,
) -> Result<FleetStudy, AppError> {
    let boots = Store::open(path).and_then(|store| store.boots()).map_err(AppError::input)?;
    let last = boots.last();
    let source = path.display().to_string();
    let facts = Facts { source: &source, ..opened.facts() };
    let boot = last.and_then(|boot| boot.boot_id.clone()).unwrap_or_else(|| source.clone());
    let recorded = record.map(|record| format!("{} {}", known(&record.machine_hash), known(&record.node)));
    let key = machine.clone().or(recorded).unwrap_or_else(|| boot.clone());
    let short = format!("boot {}", &boot.chars().take(8).collect::<String>());
    let node = machine.or_else(|| record.and_then(|record| record.node.clone())).unwrap_or(short);
    let model = || facts.topology.identity.cpu_model.clone();
    let kind = record
        .map(|record| record.kind.clone())
        .or_else(|| last.and_then(|boot| boot.instance_type.clone()))
        .or_else(model)
        .unwrap_or_else(|| "unknown".to_owned());
    let repeat = fleet.studies.iter().filter(|study| study.machine == key).count() as u32 + 1;
    let mut traits = record.map(traits).unwrap_or_default();
    let of_boot = last.map(|boot| [("kernel", &boot.kernel), ("microcode", &boot.microcode)]);
    traits.extend(
        of_boot.into_iter().flatten().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))),
    );
    let plan = record.map_or_else(String::new, |record| record.plan.clone());
    let same_work = same_work(&plan, &facts);
    let mut study =
        FleetStudy { kind, machine: key, node, boot, repeat, same_work, ..FleetStudy::of(&facts) };
    study.add_traits(traits);
    Ok(study)
}
