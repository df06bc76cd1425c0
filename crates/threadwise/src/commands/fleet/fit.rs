//! Whether this machine may measure a cell: the program and the study must be the plan's, the machine must be used by
//! the cell alone, and the boot must be new if the plan requires that.

use super::plan::SELF;
use crate::commands::run::this_boot;
use std::path::{Path, PathBuf};
use threadwise_fleet::cell::{CellId, CellRecord, Outcome, VERSION};
use threadwise_fleet::command::{self, QUESTION, Surroundings};
use threadwise_fleet::engine::{Ask, Call, OnNode};
use threadwise_fleet::evidence::{Cpus, judged};
use threadwise_fleet::file::Boots;
use threadwise_fleet::folder::{CellFolder, FleetFolder};
use threadwise_fleet::paths::STUDY_DEFINITION;
use threadwise_fleet::plan::{PlannedMachine, sha256};
use threadwise_machine::given;
use threadwise_machine::{BootFacts, CpuSet, Topology, pin};

/// Facts about this machine at the start of a cell.
pub struct NodeFacts {
    /// The boot.
    pub boot: BootFacts,
    /// Facts from the engine.
    pub on_node: OnNode,
    /// Name of the node.
    pub node: Option<String>,
    cpus: Cpus,
    product: Option<String>,
}

/// Reads them from this machine and the engine.
pub fn node_facts(
    folder: &FleetFolder,
    topology: &Topology,
    given: (Option<&String>, Option<&String>),
) -> NodeFacts {
    let (boot, root) = (this_boot(), crate::commands::run::boot_root());
    let word = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).ok()?;
        Some(threadwise_machine::text::one_line(&text, 100)).filter(|text| !text.is_empty())
    };
    let online = word("sys/devices/system/cpu/online").and_then(|list| CpuSet::parse_list(&list).ok());
    let ask = Ask {
        variable: &|name| std::env::var(name).ok().filter(|value| !value.is_empty()),
        printed: &printed,
        online_cpus: online.as_ref().map(CpuSet::len),
    };
    let mut on_node = folder.engine().map(|engine| engine.on_node(&ask)).unwrap_or_default();
    let (job, node) = given;
    on_node.job = job.cloned().or(on_node.job);
    let node = node.cloned().or_else(|| on_node.node.clone());
    let cpus = Cpus { online, allowed: pin::current_affinity().ok(), quota_cpus: topology.limits.quota_cpus };
    let product = word("sys/class/dmi/id/product_name");
    NodeFacts { node: node.or_else(|| word("proc/sys/kernel/hostname")), boot, on_node, cpus, product }
}

/// A command's output, if it succeeded.
fn printed(call: &Call) -> Option<String> {
    command::ask(call, &Surroundings::folder(Path::new(".")), QUESTION).ok()
}

/// The evidence that the cell has the machine alone, or one line why it must not measure.
pub fn fit(
    folder: &FleetFolder,
    cell: &CellId,
    machine: &PlannedMachine,
    facts: &NodeFacts,
) -> Result<Vec<String>, String> {
    same_file(Path::new(SELF), &folder.plan.binary_sha256, "this program")?;
    same_file(&folder.dir.join(STUDY_DEFINITION), &folder.plan.study.sha256, STUDY_DEFINITION)?;
    if let Some((planned, node)) =
        machine.node.as_ref().zip(facts.on_node.node.as_ref()).filter(|(planned, node)| planned != node)
    {
        return Err(format!("the plan has {planned} for this cell, and the job is on {node}"));
    }
    if folder.plan.boots == Boots::Require {
        new_boot(folder, cell, facts)?;
    }
    judged(&facts.cpus, &facts.on_node, folder.plan.measures)
}

/// Maximum bytes of this program and of a study definition.
const MOST_PROGRAM_BYTES: u64 = 1 << 30;

fn same_file(path: &Path, wanted: &str, what: &str) -> Result<(), String> {
    let bytes = given::bytes(path, MOST_PROGRAM_BYTES)
        .map_err(|error| format!("cannot read {what} to check it: {error}"))?;
    match sha256(&bytes) == wanted {
        true => Ok(()),
        false => Err(format!(
            "{what} is not the one in the plan (its SHA-256 differs): copy the plan's, or plan again in a new \
             folder"
        )),
    }
}

fn new_boot(folder: &FleetFolder, cell: &CellId, facts: &NodeFacts) -> Result<(), String> {
    let Some(boot_id) = &facts.boot.boot_id else {
        return Err("boots = \"require\", but the id of this boot cannot be read".to_owned());
    };
    let found = folder.found().map_err(|error| error.to_string())?;
    let same = found.into_iter().find_map(|(other, found)| match found {
        CellFolder::Whole(record, _)
            if other != *cell && !record.outcome.may_pass() && record.boot_id.as_ref() == Some(boot_id) =>
        {
            Some(other)
        }
        _ => None,
    });
    same.map_or(Ok(()), |other| {
        Err(format!("this boot has already measured {other}, and boots = \"require\": boot the machine, and submit again"))
    })
}

/// The record of a cell as known at its start.
pub fn record(
    folder: &FleetFolder,
    cell: &CellId,
    machine: &PlannedMachine,
    facts: &NodeFacts,
) -> CellRecord {
    let salted = |id: &String| sha256(format!("{} {id}", folder.hash).as_bytes());
    let list = |set: &Option<CpuSet>| set.as_ref().map(ToString::to_string);
    CellRecord {
        version: VERSION,
        plan: folder.hash.clone(),
        cell: cell.clone(),
        kind: machine.kind.clone(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        machine_hash: facts.boot.machine_id.as_ref().map(salted),
        boot_id: facts.boot.boot_id.clone(),
        node: facts.node.clone(),
        machine_type: facts.boot.instance_type.clone().or_else(|| facts.product.clone()),
        kernel: facts.boot.kernel.clone(),
        microcode: facts.boot.microcode.clone(),
        job: facts.on_node.job.clone(),
        started_utc: threadwise_fleet::drive::now_utc(),
        ended_utc: String::new(),
        online_cpus: list(&facts.cpus.online),
        allowed_cpus: list(&facts.cpus.allowed),
        exclusivity: Vec::new(),
        outcome: Outcome::Failed,
        reason: None,
        notes: Vec::new(),
        earlier: Vec::new(),
    }
}

/// Folder of results, created if missing: without a shared folder, only the plan was copied.
pub fn cells_folder(folder: &FleetFolder) -> Result<PathBuf, crate::error::AppError> {
    let cells = folder.cells();
    std::fs::create_dir_all(&cells).map_err(|error| {
        crate::error::AppError::Failed(format!("cannot make {}: {error}", cells.display()))
    })?;
    Ok(cells)
}
