//! How far to trust the figures, their scope, and what to run next.

use super::facts::by_group;
use super::smt::left_over_text;
use super::sweep::Sweep;
use crate::Facts;
use crate::commands::{BUSY_CPUS, instead};
use crate::estimate::{
    Alarm, BUSY_FLAG_SHARE, NEIGHBOUR_FLAG_SHARE, NoiseFloor, Power, RUN_QUEUE_FLAG_SHARE, STEAL_FLAG_SHARE,
    is_throttled, level_at_worst,
};
use crate::groups::{data_words, group_words, levels};
use crate::hardware::Hardware;
use crate::kind::Kind;
use crate::validity::{self, Counts};
use crate::warmups::TreatmentWarmup;
use crate::words::{finding, list, plus_minus, share, shortened};
use crate::{Answer, Covariates, Estimate, Finding, FindingKind, TreatmentSummary};
use std::collections::BTreeMap;
use threadwise_document::numbers::{self, counted, set_percent};
use threadwise_document::{Prose, prose};
use threadwise_statistics::median;
use threadwise_study::load::StudyFile;
use threadwise_study::study::MIN_BLOCKS;
use threadwise_study::worklist::OWN_RECIPE;
use threadwise_study::{NoteCode, OptionValue, Workload};

/// The preset that sweeps cached reads.
const SWEEP: &str = "session-sweep";

/// Shares from which stragglers and the samplers' own cost are reported.
const STRAGGLER_REPORTED_SHARE: f64 = 0.01;
const TELEMETRY_REPORTED_SHARE: f64 = 0.005;

/// Share of a run from which a neighbour counts as seen on the study's cores.
const NEIGHBOUR_SEEN_SHARE: f64 = 0.0005;

/// Share of a work list's logical CPUs from which other processes are reported: what the kernel does for the list
/// itself, such as writing its pages, is less.
const CROWD_REPORTED_SHARE: f64 = 0.15;

/// Longest advised study in general, and most blocks of whole runs.
const MOST_ADVISED_S: f64 = 3600.0;
const MOST_ADVISED_RUNS: u32 = 64;

/// Noise floor, disturbances, left-out runs, inconclusive results.
pub fn trust(facts: &Facts<'_>) -> Finding {
    let analysis = facts.analysis;
    let mut parts = vec![noise_floor(facts), blocks(facts).into()];
    parts.extend(disturbances(facts));
    parts.extend(
        crowd(facts).map(|busy| prose!("other processes kept the list's logical CPUs {} busy", share(busy))),
    );
    let is_open =
        |estimate: &&Estimate| matches!(estimate.ratio.answer, Answer::Undecided | Answer::SizeOpen);
    let open: Vec<&Estimate> = facts.throughput().filter(is_open).collect();
    let undecided = |estimate: &&&Estimate| estimate.ratio.answer == Answer::Undecided;
    let names: Vec<Prose> = open.iter().filter(undecided).map(|estimate| wide(estimate)).collect();
    if !names.is_empty() {
        parts.push(prose!("undecided: {}", shortened(&names)));
    }
    parts.extend(could_decide(facts));
    let evidence: Vec<&str> = open.iter().map(|estimate| estimate.name.as_str()).collect();
    let mut text = prose!("Trust: {}.", Prose::join(parts, "; "));
    if !analysis.excluded_blocks.is_empty() {
        text.push(prose!(" Left out: {}.", shortened(&analysis.excluded_blocks)));
    }
    finding(FindingKind::Trust, text, &evidence)
}

/// Warns that the system declares cores otherwise than they are: every placement is made from the declaration.
pub fn declared_wrongly(hardware: &Hardware) -> Option<Finding> {
    if !hardware.is_declared_wrongly() {
        return None;
    }
    let text = prose!(
        "Trust: the machine is not what it declares: {}. Placements are made from the declaration: keep that in mind \
         for everything below about cores and siblings.",
        hardware.wrong_cores_text()
    );
    Some(finding(FindingKind::DeclaredWrongly, text, &[]))
}

/// What the notes say of a server that was not on its placement: not bound at all, or with memory from before.
pub fn not_placed(facts: &Facts<'_>) -> Option<Finding> {
    // A study of vCPUs places nothing.
    let notes = if facts.study.vcpus().is_some() { &[] } else { facts.notes };
    let with = |code: &NoteCode| -> Vec<String> {
        let matching = notes.iter().filter(|note| note.code == *code);
        matching.map(|note| note.text.trim().trim_end_matches('.').to_owned()).collect()
    };
    let clauses = [
        (
            NoteCode::NotPlaced,
            "so placements say nothing about the server: ratios between them are due to its clients or to chance",
        ),
        (NoteCode::MemoryPlacedEarlier, "so ratios show where threads run, on memory that was placed before"),
    ];
    let sentences: Vec<Prose> = clauses
        .iter()
        .map(|(code, meaning)| (with(code), meaning))
        .filter(|(clause, _)| !clause.is_empty())
        .map(|(clause, meaning)| prose!("{}, {}.", shortened(&clause), *meaning))
        .enumerate()
        .map(|(at, sentence)| if at == 0 { sentence } else { sentence.capital() })
        .collect();
    let is_any = !sentences.is_empty();
    is_any.then(|| finding(FindingKind::NotPlaced, prose!("Trust: {}", Prose::join(sentences, " ")), &[]))
}

/// Warns that too many runs are missing, or all of a treatment.
pub fn validity(facts: &Facts<'_>) -> Option<Finding> {
    let problem = validity::problem(facts.analysis)?;
    Some(finding(
        FindingKind::Validity,
        format!("Validity: {problem}. The rest is based on the other runs."),
        &[],
    ))
}

/// Why nothing can be compared: then that is all.
pub fn nothing_found(facts: &Facts<'_>, kind: &dyn Kind) -> Vec<Finding> {
    vec![nothing(facts, kind), scope(facts, kind, &[])]
}

/// Findings, how far to trust them, and their scope.
pub fn with_trust(facts: &Facts<'_>, kind: &dyn Kind, mut found: Vec<Finding>) -> Vec<Finding> {
    found.extend([trust(facts), scope(facts, kind, &[])]);
    found
}

/// Nothing can be said, and why.
fn nothing(facts: &Facts<'_>, kind: &dyn Kind) -> Finding {
    let analysis = facts.analysis;
    let counts = Counts::of(analysis);
    let failed = counted(counts.failed as usize, "run");
    let lost = format!("{failed} failed, {} left out", counts.excluded);
    let why = if counts.all() == 0 {
        "no run is finished".to_owned()
    } else if analysis.blocks == 0 {
        format!("no block has a usable baseline ({lost})")
    } else {
        format!("no comparison has usable runs of both sides ({lost})")
    };
    let mut text = prose!("Nothing can be said: {}.", why);
    if !analysis.excluded_blocks.is_empty() {
        let lines: Vec<String> = analysis.excluded_blocks.iter().map(|line| kind.reason(line)).collect();
        text.push(prose!(" Left out: {}.", shortened(&lines)));
    }
    finding(FindingKind::Nothing, text, &[])
}

/// Engine, workload, data, what is left out, what to run next.
pub fn scope(facts: &Facts<'_>, kind: &dyn Kind, sweeps: &[Sweep<'_>]) -> Finding {
    let study = facts.study;
    let mut parts = vec![format!("engine {}, workload {}", study.engine, study.workload)];
    parts.extend(factors(facts));
    parts.extend(kind.scope(study));
    parts.extend(writes(facts));
    parts.extend(no_latency(facts));
    let mut text = prose!("Scope: {}.", parts.join(", "));
    if !study.left_out.is_empty() {
        let what: Vec<String> = study.left_out.iter().map(|line| headline(line)).collect();
        text.push(prose!(" Left out: {}.", list(&what)));
    }
    if let Some(next) = next(facts, sweeps) {
        text.push(prose!(" Next: {}.", next));
    }
    finding(FindingKind::Scope, text, &[])
}

/// The levels that groups differ in: `data inside L2 and beyond the LLC`, `with update_pct=0 and 20`.
pub fn factors(facts: &Facts<'_>) -> Vec<String> {
    let (mut data, mut others): (Vec<String>, Vec<(&str, Vec<String>)>) = Default::default();
    for group in facts.study.groups() {
        for level in levels(group) {
            if let Some(words) = data_words(facts.study, group, level) {
                if !data.contains(&words) {
                    data.push(words);
                }
                continue;
            }
            let (factor, value) = level.split_once('=').unwrap_or((level, ""));
            let at = others.iter().position(|(known, _)| *known == factor).unwrap_or_else(|| {
                others.push((factor, Vec::new()));
                others.len() - 1
            });
            if !others[at].1.iter().any(|known| known == value) {
                others[at].1.push(value.to_owned());
            }
        }
    }
    let others: Vec<String> =
        others.iter().map(|(factor, values)| format!("{factor}={}", list(values))).collect();
    let mut parts = Vec::new();
    if !data.is_empty() {
        parts.push(format!("data {}", list(&data)));
    }
    if !others.is_empty() {
        parts.push(format!("with {}", others.join(", ")));
    }
    parts
}

/// Subject of a line of `Study::left_out`; the report's method section has its reason.
pub fn headline(line: &str) -> String {
    line.split_once(':').map_or(line, |(what, _)| what).to_owned()
}

/// Most groups whose floors are listed one by one.
const MAX_FLOORS: usize = 4;

fn noise_floor(facts: &Facts<'_>) -> Prose {
    let known = facts.analysis.noise_floors.iter().map(|floor| floor.floor).filter(|floor| floor.is_finite());
    let shares: Vec<f64> = known.map(f64::exp_m1).collect();
    if shares.len() > MAX_FLOORS {
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let most = shares.iter().copied().fold(0.0, f64::max);
        // Beyond a factor of two the figure says no more than that.
        let end = |share: f64| if share > 1.0 { "above ±100%".into() } else { plus_minus(share) };
        return prose!("noise floors of {} groups from {} to {}", shares.len(), end(least), end(most));
    }
    let floor = by_group(facts, |group| {
        let floor = facts.analysis.noise_floors.iter().find(|floor| floor.group == group)?;
        // One block has no interval, so the floor is unknown.
        let share = floor.floor.exp_m1();
        // Beyond a factor of two the figure says no more than that.
        floor.floor.is_finite().then(|| match share > 1.0 {
            true => "above ±100%: no treatments can be distinguished".into(),
            false => plus_minus(share),
        })
    });
    floor.map_or_else(|| "noise floor unknown".into(), |floor| prose!("noise floor {}", floor))
}

pub fn blocks(facts: &Facts<'_>) -> String {
    let blocks = facts.analysis.blocks;
    let mut text = counted(blocks as usize, "block");
    if blocks < MIN_BLOCKS {
        text += &format!(", fewer than the {MIN_BLOCKS} that a study needs");
    }
    text += &stopped(facts);
    let Counts { failed, excluded, .. } = Counts::of(facts.analysis);
    if failed > 0 {
        text += &format!(", {} failed", counted(failed as usize, "run"));
    }
    if excluded > 0 {
        text += &format!(", {} excluded", counted(excluded as usize, "run"));
    }
    text
}

/// Effect of an early stop on the level of intervals; empty without one.
fn stopped(facts: &Facts<'_>) -> String {
    let level = facts.level();
    let worst = level_at_worst(level, facts.analysis.blocks).filter(|_| facts.is_stopped);
    worst.map_or_else(String::new, |worst| {
        let [level, worst] = [level, worst].map(numbers::percent);
        format!(
            ", stopped before the end of the plan (intervals hold at {level} if results did not decide when, at \
             {worst} at worst)"
        )
    })
}

pub fn disturbances(facts: &Facts<'_>) -> Vec<Prose> {
    let covariates = &facts.analysis.covariates;
    let mut parts = Vec::new();
    if covariates.steal_share_max > 0.0 {
        let (all, most) = (share(covariates.steal_share), share(covariates.steal_share_max));
        parts.push(prose!("steal {}, at most {} in a block", all, most));
    } else {
        parts.push("no steal seen".into());
    }
    parts.extend(left_over_text(facts));
    if covariates.others_busy_share > 0.0 {
        parts.push(prose!("other CPUs were busy {}", share(covariates.others_busy_share)));
    }
    parts.extend(measured_disturbances(covariates));
    let flagged = covariates.flagged_blocks.len();
    if flagged > 0 {
        let blocks = facts.analysis.blocks as usize;
        let which = match flagged {
            _ if flagged == blocks && flagged > 1 => "all blocks".to_owned(),
            _ if 2 * flagged > blocks => format!("{flagged} of {}", counted(blocks, "block")),
            _ => counted(flagged, "block"),
        };
        parts.push(prose!("{} flagged ({}): trust ratios, not rates", which, flags(covariates)));
        parts.extend(mostly_flagged(blocks, flagged));
    }
    parts
}

/// If more than half of the blocks are flagged, whether the others are enough for an estimate of their own.
fn mostly_flagged(blocks: usize, flagged: usize) -> Option<Prose> {
    let left = blocks.checked_sub(flagged).filter(|left| (1..flagged).contains(left))?;
    Some(match (left >= (MIN_BLOCKS / 2) as usize, left) {
        (true, _) => prose!("the report has ratios of the other {}", left),
        (false, 1) => "the other one is too few to compare".into(),
        (false, _) => prose!("the other {} are too few to compare", left),
    })
}

/// Largest busy share that other processes caused on a work list's own logical CPUs, over all treatments. Everything
/// that a recipe does is done by processes of the study, so the rest of the busy time is that of others; a command of
/// the user may have a server that works for it.
fn crowd(facts: &Facts<'_>) -> Option<f64> {
    facts.analysis.worklist.as_ref().filter(|list| list.recipe != OWN_RECIPE)?;
    let cpus = &facts.analysis.commands.as_ref()?.cpus;
    let others = |(summary, cpus): (&TreatmentSummary, &Option<u32>)| {
        let (all, ours) = (summary.metrics.get("busy_share")?, summary.metrics.get(BUSY_CPUS)?);
        Some(all.mean - ours.mean / f64::from((*cpus)?))
    };
    let most = facts.analysis.treatments.iter().zip(cpus).filter_map(others).reduce(f64::max);
    most.filter(|share| *share >= CROWD_REPORTED_SHARE)
}

/// Causes of flagged blocks: those that happened, if known, else all possible ones.
fn flags(covariates: &Covariates) -> Prose {
    let happened = |cause: &str| covariates.blocks.iter().any(|block| block.causes.contains(&cause));
    let any = covariates.blocks.iter().any(|block| !block.causes.is_empty());
    let busy = happened("others-busy") || happened("left-over-busy");
    let limits = [
        (!any || happened("steal"), "steal", STEAL_FLAG_SHARE),
        (happened("run-queue-wait"), "waiting for a CPU", RUN_QUEUE_FLAG_SHARE),
        (
            happened("neighbour") || !any && covariates.neighbour_share.is_some(),
            "a neighbour",
            NEIGHBOUR_FLAG_SHARE,
        ),
        (!any || busy, "CPUs that the study left free busy", BUSY_FLAG_SHARE),
    ];
    let reported = limits.into_iter().filter(|(is_reported, ..)| *is_reported);
    let clauses: Vec<Prose> = reported
        .map(|(_, what, limit)| prose!("{} above {}", what, Prose::figure(set_percent(limit))))
        .collect();
    match clauses.split_last() {
        Some((last, most)) if !most.is_empty() => {
            prose!("{} or {}", Prose::join(most.iter().cloned(), ", "), last.clone())
        }
        _ => Prose::join(clauses, ""),
    }
}

/// What probes and samplers saw.
fn measured_disturbances(covariates: &Covariates) -> Vec<Prose> {
    let mut parts = Vec::new();
    if let (Some(all), Some(most)) = (covariates.neighbour_share, covariates.neighbour_share_max) {
        let sentence = || {
            let (all, most) = (share(all), share(most));
            prose!(
                "the mean logical CPU had a neighbour in {} of the looks of its runs, at most {} in a run",
                all,
                most
            )
        };
        let is_seen = most >= NEIGHBOUR_SEEN_SHARE;
        parts.push(if is_seen { sentence() } else { "no neighbour seen on the study's cores".into() });
    }
    if let Some(idle) = covariates.straggler_share.filter(|idle| *idle >= STRAGGLER_REPORTED_SHARE) {
        parts.push(prose!("siblings were busy while another core idled {} of the time", share(idle)));
    }
    if let Some(cost) = covariates.telemetry_cpu_share.filter(|cost| *cost >= TELEMETRY_REPORTED_SHARE) {
        parts.push(prose!("telemetry took {} of one CPU", share(cost)));
    }
    parts
}

fn wide(estimate: &Estimate) -> Prose {
    if estimate.ratio.blocks < 2 {
        return prose!("{} (1 block)", &estimate.name);
    }
    prose!("{} {}", &estimate.name, plus_minus(estimate.ratio.half_width()))
}

/// Why there are no step latencies, if the loop hides them.
fn no_latency(facts: &Facts<'_>) -> Option<String> {
    let mut treatments = facts.analysis.treatments.iter().filter(|treatment| treatment.runs > 0);
    treatments
        .any(|treatment| treatment.activity.server_loop)
        .then(|| "no step latencies: the loop runs inside the server".to_owned())
}

/// Whether cached reads come with updates.
fn writes(facts: &Facts<'_>) -> Option<String> {
    if facts.study.workload != Workload::LogicalIo {
        return None;
    }
    let updates = |value: &OptionValue| match value {
        OptionValue::Integer(value) => *value != 0,
        OptionValue::Number(value) => *value != 0.0,
        OptionValue::Flag(value) => *value,
        OptionValue::Text(_) => false,
    };
    let any = facts.study.treatments.iter().flat_map(|treatment| &treatment.options);
    let writing = any.filter(|(name, _)| name.contains("update")).any(|(_, value)| updates(value));
    Some(if writing { "with updates" } else { "no writes" }.to_owned())
}

/// The command that answers most of the open questions.
pub fn next(facts: &Facts<'_>, sweeps: &[Sweep<'_>]) -> Option<Prose> {
    if facts.analysis.simulated {
        return Some(prose!("`threadwise run`, on the machine that the answer is for"));
    }
    if mostly_throttled(facts) {
        // More blocks under the same quota are left out just the same.
        return Some("remove the CPU quota or use a cpuset".into());
    }
    if let Some(next) = what_to_fix(facts) {
        return Some(next);
    }
    let open = facts.throughput().any(|estimate| estimate.ratio.answer == Answer::Undecided)
        || facts.throughput().next().is_none();
    if open {
        return Some(narrower(facts));
    }
    let swept = !sweeps.is_empty() || facts.topology.allowed().len() < 2;
    // The preset sweeps cached reads: for another workload it would show nothing.
    let study = facts.study;
    let is_its_own = |file: StudyFile| file.engine() == study.engine;
    (!swept && study.workload == Workload::LogicalIo).then(|| match study.engine.as_str() {
        _ if StudyFile::preset(SWEEP).is_ok_and(is_its_own) => prose!("`threadwise run {}`", SWEEP),
        _ if study.engine_options.contains_key("url") => {
            prose!("`threadwise run {}` with the same `--engine`", SWEEP)
        }
        engine => prose!("`threadwise run {} --engine {}`", SWEEP, engine),
    })
}

/// How to decide the margin: more blocks, if a day holds them; else a quieter machine.
fn narrower(facts: &Facts<'_>) -> Prose {
    if crowd(facts).is_some() {
        return "the same when nothing else runs here".into();
    }
    let margin = Prose::figure(format!("±{}", set_percent(facts.study.design.margin)));
    let Some(power) = Power::of(facts.analysis, facts.study).filter(|power| !power.decides()) else {
        return prose!("the same with `--blocks {}`", 2 * facts.analysis.blocks.max(MIN_BLOCKS));
    };
    // How long a whole run takes is not in the study.
    let least_s = facts.study.block_floor_warmed_s(|at| {
        let name = &facts.study.treatments[at].name;
        let mut all = facts.analysis.get::<Vec<TreatmentWarmup>>().into_iter().flatten();
        let found = all.find(|warmup| &warmup.treatment == name);
        found.map(|warmup| warmup.warmup_ns)
    });
    let is_whole = least_s == 0.0;
    let block_s = between_blocks_s(facts).map_or(least_s, |took_s| took_s.max(least_s));
    let seconds = |blocks: u32| f64::from(blocks) * block_s;
    match power.blocks_needed {
        Some(blocks) if is_whole && blocks <= MOST_ADVISED_RUNS => {
            prose!("the same with `--blocks {}`", blocks)
        }
        Some(blocks) if !is_whole && seconds(blocks) <= MOST_ADVISED_S => {
            prose!("the same with `--blocks {}` ({})", blocks, about(seconds(blocks)))
        }
        _ => {
            prose!("the same on a quieter machine or with longer runs: {} would take too many blocks", margin)
        }
    }
}

/// The median time from the start of a block to that of the next; `None` with fewer than two. It includes what is done
/// between slices.
fn between_blocks_s(facts: &Facts<'_>) -> Option<f64> {
    let mut starts: BTreeMap<u32, f64> = BTreeMap::new();
    for run in facts.runs {
        starts
            .entry(run.block)
            .and_modify(|start| *start = start.min(run.started_s))
            .or_insert(run.started_s);
    }
    let starts: Vec<f64> = starts.into_values().collect();
    median(starts.windows(2).map(|two| two[1] - two[0]).filter(|between_s| *between_s > 0.0))
}

/// `about 40 s`, `about 7 min`.
fn about(seconds: f64) -> Prose {
    let text = match seconds < 90.0 {
        true => format!("about {} s", seconds.round() as u64),
        false => format!("about {} min", (seconds / 60.0).round() as u64),
    };
    Prose::figure(text)
}

/// What the study could decide with this noise, and what the margin would need.
fn could_decide(facts: &Facts<'_>) -> Option<Prose> {
    let power = Power::of(facts.analysis, facts.study)?;
    let decided = Prose::figure(format!("±{}", numbers::percent(power.margin)));
    let margin = Prose::figure(format!("±{}", set_percent(facts.study.design.margin)));
    Some(match power.blocks_needed {
        _ if power.decides() => prose!("enough to decide {} with this noise", margin),
        Some(blocks) => {
            let blocks = counted(blocks as usize, "block");
            prose!(
                "enough to decide {} with this noise; {} needs {} ({})",
                decided,
                margin,
                blocks,
                power.comparison
            )
        }
        None => prose!("enough to decide {} with this noise", decided),
    })
}

/// Warns that A/A differs, or is wider than the margin, which shows how far sizes can be trusted.
pub fn alarm(facts: &Facts<'_>) -> Option<Finding> {
    let differs = |floor: &&NoiseFloor| floor.alarm == Some(Alarm::Different);
    let is_wide = |floor: &&NoiseFloor| floor.alarm == Some(Alarm::Wide);
    let floors = &facts.analysis.noise_floors;
    let named = |floor: &NoiseFloor| {
        let name = facts.baseline_label(&floor.group);
        let place = if floors.len() > 1 {
            format!(" {}", group_words(facts.study, &floor.group))
        } else {
            String::new()
        };
        (name.to_owned(), place)
    };
    if let Some(worst) = floors.iter().filter(differs).max_by(|a, b| a.floor.total_cmp(&b.floor)) {
        let (name, place) = named(worst);
        // Of several groups the one that differs most is named by rank: its interval would not allow for the choice.
        let what = match floors.iter().filter(differs).count() {
            _ if floors.len() == 1 => prose!(
                "is {}, and should be 1",
                Prose::figure(format!(
                    "[{}, {}]",
                    numbers::ratio_near_1(worst.ratio.low),
                    numbers::ratio_near_1(worst.ratio.high)
                ))
            ),
            several => prose!("is not 1, as it should be, in {} of {} groups", several, floors.len()),
        };
        let text = prose!(
            "The same treatment, run twice, differed: {} over itself{} {}. Something changed between runs, and may be in \
             every ratio.",
            name,
            place,
            what
        );
        return Some(finding(FindingKind::AAAlarm, text, &[]));
    }
    let worst = floors.iter().filter(is_wide).max_by(|a, b| a.floor.total_cmp(&b.floor))?;
    let (name, place) = named(worst);
    let half_width = ((worst.ratio.high / worst.ratio.low).sqrt()) - 1.0;
    let text = prose!(
        "The same treatment, run twice, is uncertain: {} over itself{} to {}, more than the margin of {}. Sizes are uncertain by as \
         much.",
        name,
        place,
        plus_minus(half_width),
        Prose::figure(set_percent(facts.study.design.margin))
    );
    Some(finding(FindingKind::AAAlarm, text, &[]))
}

/// What more blocks would not fix: a treatment whose runs all failed, and a headline without a ratio since it was 0 or
/// not reported.
fn what_to_fix(facts: &Facts<'_>) -> Option<Prose> {
    let nothing = facts.throughput().next().is_none();
    let lost = |summary: &&TreatmentSummary| summary.failed > 0 && (nothing || summary.runs == 0);
    let failed = facts.analysis.treatments.iter().filter(lost);
    let failed: Vec<String> = failed.map(|summary| summary.name.clone()).collect();
    if !failed.is_empty() {
        let names = shortened(&failed);
        return Some(prose!("fix what made runs of {} fail (see Left out), then the same again", names));
    }
    let commands = facts.analysis.commands.as_ref()?;
    let headline = commands.headline()?;
    if commands.fixed_time.is_some() {
        return Some(instead());
    }
    let gap = commands.gaps.iter().find(|gap| gap.metric == headline.metric)?;
    let other = match headline.is_said {
        true => prose!(", or ask for another headline (`--headline elapsed`)"),
        false => Prose::default(),
    };
    Some(prose!("find out why {} is {}{}", &headline.name, &gap.reason, other))
}

/// Whether more than half of the runs are left out, mostly because of a CPU quota. Runs whose baseline was throttled
/// have no reason of their own.
fn mostly_throttled(facts: &Facts<'_>) -> bool {
    let counts = Counts::of(facts.analysis);
    let reasons = &facts.analysis.excluded_blocks;
    let throttled = reasons.iter().filter(|line| is_throttled(line)).count();
    2 * counts.excluded > counts.all() && 2 * throttled > reasons.len()
}
