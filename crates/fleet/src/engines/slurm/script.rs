//! The script of a machine.

use super::fault::refused;
use super::options;
use crate::FleetError;
use crate::engine::FleetLocation;
use crate::file::Measures;
use crate::plan::sha256;
use crate::plan::{Plan, PlannedMachine};
use crate::quote;

/// Maximum time limit in Slurm, minutes: a year.
const MOST_MIN: u64 = 525_600;

/// Name of a machine's jobs in a plan with this [`prefix`].
pub(super) fn job_name(prefix: &str, machine: &str) -> String {
    format!("{prefix}{machine}")
}

/// Unique prefix of the names of a plan's jobs, by which the queue is queried. It does not depend on the location of
/// the fleet's folder, and is computed once for all machines: a large plan takes a moment.
pub(super) fn prefix(plan: &Plan) -> String {
    let text = plan.text().unwrap_or_default();
    format!("tw-{}-", &sha256(text.as_bytes())[..10])
}

/// The whole script.
pub(super) fn script(
    (plan, prefix): (&Plan, &str),
    location: &FleetLocation,
    machine: &PlannedMachine,
) -> Result<String, FleetError> {
    let minutes = plan.time_limit_s.div_ceil(60);
    if minutes > MOST_MIN {
        return Err(refused(format!("time_limit is {minutes} minutes; at most {MOST_MIN} is allowed")));
    }
    // `%` begins a pattern in names of output files; `%%` is the character.
    let log = location.file(&format!("logs/{}", machine.name)).replace('%', "%%");
    let log = options::quoted(&format!("{log}.%a.log"), "the fleet's folder")?;
    let mut lines = vec![format!("--job-name={}", job_name(prefix, &machine.name))];
    lines.extend(machine.node.as_ref().map(|node| format!("--nodelist={node}")));
    lines.push("--nodes=1".to_owned());
    lines.push(format!("--array=1-{}%1", plan.repeats));
    if plan.measures == Measures::Machine {
        lines.push("--exclusive".to_owned());
    }
    lines.extend(["--requeue".to_owned(), "--open-mode=append".to_owned(), "--signal=B:TERM@60".to_owned()]);
    lines.push(format!("--time={minutes}"));
    lines.push(format!("--output={log}"));
    lines.extend(options::lines(plan, machine)?);
    let comments: String = lines.iter().map(|line| format!("#SBATCH {line}\n")).collect();
    let (binary, dir) = (quote::shell(&location.binary()), quote::shell(&location.dir));
    let name = &machine.name;
    Ok(format!(
        "#!/bin/sh\n\
         # {name}: written by threadwise fleet plan. Submit it by: threadwise fleet submit\n\
         {comments}\
         # The shell gets the signal a minute before the end of the time limit, and must pass it to the cell.\n\
         cell=\n\
         trap 'test -z \"$cell\" || kill -TERM \"$cell\" 2>/dev/null' TERM INT\n\
         {binary} fleet cell --dir {dir} --cell \"{name}.$SLURM_ARRAY_TASK_ID\" &\n\
         cell=$!\n\
         wait \"$cell\"\n\
         code=$?\n\
         # wait ends at the signal, before the cell does.\n\
         while kill -0 \"$cell\" 2>/dev/null; do\n\
         \twait \"$cell\"\n\
         \tcode=$?\n\
         done\n\
         exit \"$code\"\n"
    ))
}
