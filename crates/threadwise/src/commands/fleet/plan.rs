//! `fleet plan`: creates the fleet's folder from fleet.toml.

use super::args::PlanArgs;
use super::faults::app_error;
use crate::commands::{self, topology};
use crate::engines;
use crate::error::AppError;
use crate::output;
use std::path::Path;
use threadwise_document::numbers;
use threadwise_fleet::engine::FleetEngine;
use threadwise_fleet::engines as fleet_engines;
use threadwise_fleet::file::FleetFile;
use threadwise_fleet::folder::{self, FleetFolder, NewFolder};
use threadwise_fleet::paths::PLAN_FILE;
use threadwise_fleet::plan::{Plan, PlannedStudy, sha256};
use threadwise_machine::given;
use threadwise_study::load::{Overrides, StudyFile};
use threadwise_study::presets;

/// This program, even if its file was replaced since it started.
pub const SELF: &str = "/proc/self/exe";
/// Maximum lines shown of a list.
const SHOWN: usize = 6;

/// Plans, writes and shows.
pub fn plan(args: &PlanArgs) -> Result<(), AppError> {
    let name = args.file.display().to_string();
    let file = FleetFile::parse(&text(&args.file)?, &name, &fleet_engines::names()).map_err(app_error)?;
    let study_text = study_text(&file.study, &args.file)?;
    let planned = planned_study(&file, &study_text)?;
    let remark = refused_here(&file, &study_text)?;
    let binary = std::fs::read(SELF)
        .map_err(|error| AppError::Failed(format!("cannot read this program: {error}")))?;
    let seed = seed(&file, &args.output)?;
    let version = env!("CARGO_PKG_VERSION");
    let plan = Plan::new(&file, planned, &sha256(&binary), version, seed);
    folder::check_folder(&args.output, &plan.text().map_err(app_error)?).map_err(app_error)?;
    let is_there = args.output.join(PLAN_FILE).exists();
    let summary = summary(&plan);
    let new = NewFolder { plan: &plan, study: &study_text, binary: Path::new(SELF), summary: &summary };
    let folder = folder::make(&args.output, &new).map_err(app_error)?;
    let shown = shown(&folder, &summary, &args.output)?;
    output::print(&shown)?;
    if let Some(why) = remark {
        output::tell(&format!("threadwise: this machine would refuse the study; others may not: {why}"));
    }
    if is_there {
        output::tell(&format!("threadwise: {} already had this plan", args.output.display()));
    }
    Ok(())
}

fn text(path: &Path) -> Result<String, AppError> {
    let text = given::text(path, given::TEXT_BYTES);
    text.map_err(|error| AppError::Input(format!("cannot read {}: {error}", path.display())))
}

/// The study definition's text: of a preset, or of a file beside fleet.toml.
fn study_text(study: &str, fleet_file: &Path) -> Result<String, AppError> {
    if study.ends_with(".toml") {
        return text(&fleet_file.parent().unwrap_or(Path::new("")).join(study));
    }
    // The error has the names that exist.
    StudyFile::preset(study)
        .map_err(|error| AppError::Input(format!("{}: {error}", fleet_file.display())))?;
    Ok(presets::get(study).unwrap_or_default().to_owned())
}

fn planned_study(file: &FleetFile, text: &str) -> Result<PlannedStudy, AppError> {
    let study = StudyFile::parse(text, &file.study).map_err(AppError::input)?;
    if study.first_arm(0).is_some() {
        return Err(AppError::Input(format!(
            "{}: a study with external arms runs over boots of one machine, and cannot be a fleet's: use one without [external]",
            file.study
        )));
    }
    Ok(PlannedStudy {
        name: study.name().to_owned(),
        title: study.title().to_owned(),
        sha256: sha256(text.as_bytes()),
    })
}

/// Why this machine would refuse the study with the fleet's settings, such as a budget that is too small. Other
/// machines of the fleet may differ, so this is only a warning.
fn refused_here(file: &FleetFile, text: &str) -> Result<Option<String>, AppError> {
    let study = StudyFile::parse(text, &file.study).map_err(AppError::input)?;
    let engine = file.run.engine.as_deref().map(engines::named).transpose()?.map(|(name, _)| name);
    let properties = engines::properties(engine.as_deref().unwrap_or_else(|| study.engine()));
    // A worker program need not be on this machine.
    let (Some(engine_properties), Ok(topology)) = (properties, topology::live()) else { return Ok(None) };
    let (budget_s, seed) = (file.budget_s, Some(1));
    let overrides = Overrides { engine, engine_properties, budget_s, seed, ..Overrides::default() };
    Ok(study.resolve(&topology, &overrides).err().map(|error| error.to_string()))
}

/// The seed of the file, or of an existing plan, so that planning twice gives the same.
fn seed(file: &FleetFile, dir: &Path) -> Result<u64, AppError> {
    if let Some(seed) = file.seed {
        return Ok(seed);
    }
    match FleetFolder::open(dir) {
        Ok(folder) => Ok(folder.plan.seed),
        Err(_) => commands::drawn_seed(),
    }
}

/// The plan as text for the terminal and the folder.
fn summary(plan: &Plan) -> String {
    let mut text = format!("{}\n\n", plan.title);
    let cells = plan.order.len();
    text.push_str(&format!("Study:    {} ({})\n", plan.study.name, plan.study.title));
    text.push_str(&format!("Engine:   {}\n", plan.engine));
    for kind in &plan.kinds {
        let machines: Vec<&str> = plan
            .machines
            .iter()
            .filter(|machine| machine.kind == kind.name)
            .map(|machine| machine.name.as_str())
            .collect();
        text.push_str(&format!("Kind:     {}: {}{}\n", kind.name, shortened(&machines), price(kind)));
    }
    let each = match plan.budget_s {
        Some(budget_s) => format!("at most {} each", numbers::seconds(budget_s)),
        None => format!("ended after {} each", numbers::seconds(plan.time_limit_s as f64)),
    };
    text.push_str(&format!(
        "Cells:    {cells} ({} on each of {}), {each}, at most {} of machine time\n",
        plan.repeats,
        numbers::counted(plan.machines.len(), "machine"),
        numbers::seconds(plan.machine_time_s())
    ));
    if plan.apart_s > 0 {
        text.push_str(&format!(
            "Apart:    {} between starts on one machine\n",
            numbers::seconds(plan.apart_s as f64)
        ));
    }
    let first: Vec<String> = plan.order.iter().map(ToString::to_string).collect();
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    text.push_str(&format!("Order:    {} (seed {})\n", shortened(&first), plan.seed));
    text.push_str(
        "\nplan.json is the plan, study.toml the study, threadwise the program that measures. cells/MACHINE.REPEAT has a \
         result: study.threadwise, cell.json and exit; a folder that begins with a point is incomplete. logs/ has the output \
         of jobs, and submitted.jsonl what was submitted.\n",
    );
    text
}

fn price(kind: &threadwise_fleet::plan::PlannedKind) -> String {
    kind.price.as_ref().map_or_else(String::new, |price| {
        format!(", {} {} an hour ({}, {})", price.amount, price.currency, price.source, price.date)
    })
}

fn shortened(names: &[&str]) -> String {
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown}, … {more} more") } else { shown }
}

/// The summary with files and commands.
fn shown(folder: &FleetFolder, summary: &str, dir: &Path) -> Result<String, AppError> {
    let engine: &dyn FleetEngine = folder.engine().map_err(app_error)?;
    let mut text = summary.to_owned();
    let files = engine.files(&folder.plan, &folder.location).map_err(app_error)?;
    text.push_str(&format!("\nFiles of {} in {}:\n", engine.name(), folder.dir.display()));
    for file in files.iter().take(SHOWN) {
        text.push_str(&format!("  {}\n", file.path));
    }
    text.push_str(&more(files.len()));
    let batches = engine.batches(&folder.plan, &folder.location, &folder.plan.order, 1).map_err(app_error)?;
    text.push_str("\nCommands of submit:\n");
    for batch in batches.iter().take(SHOWN) {
        for call in batch.check.iter().chain([&batch.start]) {
            text.push_str(&format!("  {}\n", call.shown()));
        }
    }
    text.push_str(&more(batches.len()));
    text.push_str(&format!(
        "\nPlan:     {} (SHA-256 {})\nNothing was started. Next: threadwise fleet submit {}\n",
        folder.dir.join(PLAN_FILE).display(),
        folder.hash,
        output::shell_word(dir)
    ));
    Ok(text)
}

fn more(count: usize) -> String {
    let more = count.saturating_sub(SHOWN);
    if more > 0 { format!("  … {more} more\n") } else { String::new() }
}
