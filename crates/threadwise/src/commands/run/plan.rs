//! What is said before a study: the machine, what is measured on it, and for how long.

use super::prepare::Job;
use super::{arms, command, transaction, worklist};
use crate::error::AppError;
use crate::output;
use threadwise_machine::{Memory, Topology};
use threadwise_report::terminal;
use threadwise_study::{Workload, plan_block};

/// The head of the results: the machine, what is measured on it, and for how long.
pub fn brief(job: &Job, topology: &Topology) -> String {
    let all = &job.study.treatments;
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).take(MOST_NAMED).collect();
    let more = all.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let left_out = match job.study.left_out.len() {
        0 => String::new(),
        some => format!("; {some} left out (--plan shows why)"),
    };
    let line = terminal::topology_line(topology);
    format!("{line}\n{}: {}{more}{left_out}\n{}\n\n", job.study.name, names.join(", "), job.price())
}

/// Maximum treatments named before a study.
const MOST_NAMED: usize = 6;

/// The head of the results with --all: the machine, and the placement of each treatment.
pub fn opening(job: &Job, topology: &Topology) -> Result<String, AppError> {
    let style = output::style();
    let mut text =
        format!("{}\n\n{}\n", terminal::topology_line(topology), terminal::drawing(topology, style));
    if job.is_complete() && job.whole.external.is_some() {
        // The study is complete: its arm no longer matters, and this machine may lack a treatment.
        return Ok(text + "\n");
    }
    let plan = plan_block(&job.study, topology, 0).map_err(AppError::refused)?;
    let width = job.study.treatments.iter().map(|treatment| treatment.name.len()).max().unwrap_or(0);
    text.push_str("Treatments (logical CPUs of the first block; every block has its own draw):\n");
    for (treatment, placement) in job.study.treatments.iter().zip(&plan.placements) {
        let streams = placement.sessions.iter().take(treatment.sessions as usize);
        let cpus: Vec<String> = streams.map(ToString::to_string).collect();
        // Jobs of a list share their placement.
        let is_shared = cpus.len() > 16 || job.study.workload == Workload::WorkList;
        let shown = if is_shared { placement.set().to_string() } else { cpus.join(" ") };
        let (one, many) = match job.study.workload {
            Workload::Tpch => ("stream ", "streams"),
            Workload::WorkList => ("job ", "jobs"),
            _ => ("session ", "sessions"),
        };
        let plural = if treatment.sessions == 1 { one } else { many };
        let dop = treatment.options.get("dop").map_or(String::new(), |dop| format!(", DOP {dop}"));
        let short = match job.study.short_sessions(treatment) {
            0 => String::new(),
            short => format!(", {short} of short queries beside"),
        };
        let memory = match &treatment.memory {
            Memory::Local => String::new(),
            other => format!(", memory={other}"),
        };
        let (name, sessions) = (&treatment.name, treatment.sessions);
        text.push_str(&format!("  {name:<width$}  {sessions:>3} {plural} on {shown}{dop}{short}{memory}\n"));
    }
    for line in &job.study.left_out {
        text.push_str(&format!("  left out: {line}\n"));
    }
    for line in job.study.placement_remarks(topology) {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str(&worklist::shown(&job.study));
    text.push_str(&command::shown(&job.study));
    text.push_str(&transaction::shown(&job.study));
    text.push_str(&format!("{}\n", job.price()));
    for remark in job.remarks.iter().chain(&arms::remark(&job.study)) {
        text.push_str(&format!("{remark}\n"));
    }
    text.push('\n');
    Ok(text)
}
