//! Time that the candidates of a choice lost to others, if some lost more than others did.
//!
//! If other programs run on some of a study's logical CPUs, or a hypervisor takes them, a setting that uses those loses
//! time that another setting keeps: their ratio then depends on the others, not on the settings, and is no basis for
//! advice. Three counts of the kernel show it: time stolen (/proc/stat), time in which a runnable thread waited for a
//! logical CPU (/proc/PID/schedstat, `Documentation/scheduler/sched-stats.rst`), and, if threads of the study itself
//! may be what is waited for, the busy time of a setting's logical CPUs less what its own processes used.

use super::{Candidate, Choice, LostTime};
use crate::Interval;
use crate::commands::{cpu_ns, has_server};
use crate::estimate::{Observed, ObservedBlock};
use crate::setting::Setting;
use threadwise_statistics::MeanEstimate;
use threadwise_study::{OptionValue, Run, Treatment, Workload};

/// Busy time of others is counted in ticks, and that of the study in processes that ended: smaller differences say
/// nothing.
const LEAST_BUSY: f64 = 0.10;

/// Largest share to correct for: beyond it too little is left.
const MOST: f64 = 0.95;

/// What one run lost, as shares of the time of its logical CPUs, or of its threads.
#[derive(Debug, Clone, Copy)]
struct Lost {
    /// To the hypervisor.
    stolen: f64,
    /// To other programs.
    others: f64,
    /// Whether that is the time that others kept them busy, rather than the time waited.
    is_busy_time: bool,
}

impl Lost {
    fn share(self) -> f64 {
        (self.stolen + self.others).clamp(0.0, MOST)
    }
}

/// Adds to choices whose candidates lost unequal shares of their time what they lost, and removes their answers.
pub(crate) fn mark(setting: &Setting<'_>, observed: &Observed, runs: &[Run], choices: &mut [Choice]) {
    for choice in choices {
        let of_candidate = |one: &Candidate| {
            Some(of_treatment(setting, observed, runs, setting.study.treatment(&one.treatment)?.0))
        };
        let lost: Option<Vec<_>> = choice.candidates.iter().map(of_candidate).collect();
        if let Some(lost) = lost {
            one(choice, &lost, setting);
        }
    }
}

fn one(choice: &mut Choice, lost: &[Vec<(u32, Lost)>], setting: &Setting<'_>) {
    let least = setting.study.design.margin.ln_1p();
    let is_unlike = |one: &[(u32, Lost)], other: &[(u32, Lost)]| {
        let d = kept_over(one, other);
        let is_busy_time = one.iter().chain(other).any(|(_, lost)| lost.is_busy_time);
        let least = if is_busy_time { least.max(-(1.0 - LEAST_BUSY).ln()) } else { least };
        let Some(mean) = MeanEstimate::of(&d).filter(|mean| mean.n > 1) else { return false };
        let (low, high) = mean.interval(setting.alpha);
        mean.mean.abs() > least && (low > 0.0 || high < 0.0)
    };
    let pairs =
        || lost.iter().enumerate().flat_map(|(at, one)| lost[..at].iter().map(move |other| (one, other)));
    if !pairs().any(|(one, other)| is_unlike(one, other)) {
        return;
    }
    choice.lost = lost.iter().map(|blocks| mean_of(blocks)).collect();
    // Its speed over that of the first, had both kept what they lost.
    for (candidate, blocks) in choice.candidates.iter_mut().zip(lost).skip(1) {
        let Some(kept) = MeanEstimate::of(&kept_over(blocks, &lost[0])).filter(|kept| kept.n > 1) else {
            continue;
        };
        let half = kept.half_width(setting.alpha);
        candidate.speed_on_cpu = candidate.speed.as_ref().map(|speed| {
            let mean = speed.mean / kept.mean.exp();
            let end = |end: f64| (end / speed.mean).ln().hypot(half);
            let (low, high) = (mean * (-end(speed.low)).exp(), mean * end(speed.high).exp());
            Interval { mean, low, high, unit: speed.unit.clone() }
        });
    }
    (choice.chosen, choice.guess) = (None, None);
    choice.candidates.iter_mut().for_each(|candidate| candidate.within_margin = false);
}

/// By block, the logarithm of the share that one kept over the share that the other kept.
fn kept_over(one: &[(u32, Lost)], other: &[(u32, Lost)]) -> Vec<f64> {
    let kept = |lost: Lost| (1.0 - lost.share()).ln();
    let of_block = |(block, lost): &(u32, Lost)| {
        let (_, below) = other.iter().find(|(number, _)| number == block)?;
        Some(kept(*lost) - kept(*below))
    };
    one.iter().filter_map(of_block).collect()
}

fn mean_of(blocks: &[(u32, Lost)]) -> LostTime {
    let count = blocks.len().max(1) as f64;
    let mean = |share: fn(&Lost) -> f64| blocks.iter().map(|(_, lost)| share(lost)).sum::<f64>() / count;
    LostTime { stolen_share: mean(|lost| lost.stolen), others_share: mean(|lost| lost.others) }
}

/// What a treatment lost in each block in which that is known.
fn of_treatment(setting: &Setting<'_>, observed: &Observed, runs: &[Run], at: usize) -> Vec<(u32, Lost)> {
    let treatment = &setting.study.treatments[at];
    let of_block = |block: &ObservedBlock| {
        let totals = &observed.usable(block, at)?.totals;
        let run = runs.get(block.sources[at]?)?;
        let dop = threads(treatment);
        let has_cpus = dop * totals.sessions as f64 <= run.cpus.len() as f64;
        let waits_for_others = has_cpus && (totals.has_cpus || setting.study.is_fixed_work());
        let time_ns = totals.session_ns * dop;
        let others = match totals.wait_ns.filter(|_| waits_for_others && time_ns > 0.0) {
            // A wait is counted as a whole when it ends, so in short windows it can exceed them: a thread lost no more
            // than the time in which it did not run.
            Some(wait_ns) => {
                let ran_ns: f64 = run.slices.iter().map(|slice| slice.cpu_ns() as f64).sum();
                (wait_ns.min(time_ns - ran_ns).max(0.0) / time_ns, false)
            }
            None => {
                let busy = totals.assigned.busy_share()? * run.cpus.len() as f64;
                (((busy - own_cpus(setting, treatment, run)?) / run.cpus.len() as f64).max(0.0), true)
            }
        };
        let stolen = totals.assigned.steal_share().unwrap_or(0.0);
        Some((block.number, Lost { stolen, others: others.0, is_busy_time: others.1 }))
    };
    observed.blocks.iter().filter_map(of_block).collect()
}

/// Threads per session: its degree of parallelism.
fn threads(treatment: &Treatment) -> f64 {
    match treatment.options.get("dop") {
        Some(OptionValue::Integer(dop)) if *dop > 0 => *dop as f64,
        _ => 1.0,
    }
}

/// How many logical CPUs the study's own processes kept busy in a run; `None` if unknown: for a server that the study
/// does not own, and for commands with other processes around them, whose time is not counted.
fn own_cpus(setting: &Setting<'_>, treatment: &Treatment, run: &Run) -> Option<f64> {
    if setting.study.workload == Workload::Command {
        let is_alone = ["before", "check", "after"].iter().all(|hook| !treatment.options.contains_key(*hook));
        let has_server = has_server(treatment);
        let cpu_ns: Option<f64> = run.slices.iter().map(|slice| cpu_ns(slice, has_server)).sum();
        let window_ns: f64 = run.slices.iter().map(|slice| slice.window_ns as f64).sum();
        return cpu_ns.filter(|_| is_alone && window_ns > 0.0).map(|cpu_ns| cpu_ns / window_ns);
    }
    // A server that is kept for the whole study is not a process of the worker.
    let is_kept = setting.study.engine_options.get("restart").is_some_and(|when| when.to_string() == "study");
    if setting.study.is_simulated()
        || setting.study.is_users_server()
        || setting.study.runs_whole()
        || is_kept
    {
        return None;
    }
    let reading = |metric: &str| {
        let mut all = run.readings.iter();
        all.find(|one| one.sampler == "process" && one.metric == metric && one.cpu.is_none())?.value
    };
    let window_ns = reading("window_ns").filter(|window| *window > 0.0)?;
    Some((reading("user_ns")? + reading("system_ns")?) / window_ns)
}
