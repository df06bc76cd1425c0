//! Rounds, slices and stopping, from the file and the command line; what 8 blocks need.

use toml::Spanned;

use super::error::LoadError;
use super::file::StudyFile;
use super::long;
use super::overrides::Overrides;
use super::raw::{RawDesign, option_value};
use crate::study::{MARGIN, MIN_BLOCKS, runs_whole, takes_turns};
use crate::{Design, FIXED_WORK, Options, Stopping, Study, command, tpch};

/// Seconds where neither the file nor the command line names a budget.
const DEFAULT_BUDGET_S: f64 = 90.0;
/// What comes to the slices on a quiet machine: between them as a factor, and data and workers once in
/// seconds.
const OVERHEAD: (f64, f64) = (1.1, 2.0);
/// The same with room to spare, for a budget that must not end before its last look.
const ROOMY: (f64, f64) = (1.15, 10.0);
/// What to name to a user whose budget is too small: room for the probe too.
const ENOUGH: (f64, f64) = (1.25, 15.0);
/// The same for the rounds that a budget holds: room for the probe, and for what passes between slices and blocks.
const HELD: (f64, f64) = (1.25, 8.0);
/// Fewest rounds that blocks are cut down to for a budget: with 8 blocks their intervals cover as those of more rounds do
/// (docs/METHODOLOGY.md, "Rounds of a block").
const FEWEST_ROUNDS: u32 = 4;
/// Most blocks that an `until` study asks for by itself: its last look before the end.
const UNTIL_BLOCKS: u32 = 64;

/// Re-warm of a model, milliseconds, and the shortest beneath a CPU quota.
pub(super) const FIXED_REWARM_MS: f64 = 5.0;

/// A run on a server that is bound for it, milliseconds, and its re-warm: short, so that the treatments of a block are near
/// to each other.
const TURN_MS: f64 = 2_000.0;
const TURN_REWARM_MS: f64 = 500.0;

/// Most time of a run with a fixed amount of work, where nobody says: ten minutes.
const FIXED_WORK_LIMIT_MS: f64 = 600_000.0;

/// The design before the treatments are known; [`settle`] completes its stopping rule.
pub(super) fn design(
    file: &StudyFile,
    overrides: &Overrides,
    engine_options: &Options,
) -> Result<Design, LoadError> {
    let raw = &file.raw.design;
    let number =
        |value: &Option<Spanned<f64>>, default: f64| value.as_ref().map_or(default, |found| *found.get_ref());
    check_ranges(overrides)?;
    let nanoseconds = |ms: f64| (ms * 1e6).round() as u64;
    // The file's slices are meant for a fixed time. Where the command line fixes the work instead,
    // a round is one whole run, and the slice the time that it may take.
    let in_file = file.raw.options.contains_key(FIXED_WORK) || file.raw.factors.contains_key(FIXED_WORK);
    let queries = query_rounds(file, overrides);
    let is_command = runs_whole(file.raw.workload.get_ref());
    let fixed = in_file || is_command || overrides.options.contains_key(FIXED_WORK) || queries.is_some();
    if is_command {
        whole_runs(file, overrides)?;
    }
    let in_turns = takes_turns(file.raw.workload.get_ref(), engine_options);
    if in_turns && overrides.rounds.is_some_and(|rounds| rounds > 1) {
        let why = "the server is bound for whole runs, one of each treatment in every block: --blocks is for more of \
                   them, --engine-option affinity=keep for slices on a server that is not bound";
        return Err(LoadError::Override { option: "--rounds".to_owned(), why: why.to_owned() });
    }
    let (rounds, slice_ms, rewarm_ms) = match queries {
        // The engine keeps to the time that each treatment gives its command.
        None if is_command => (1, command::MAX_TIMEOUT_S as f64 * 1e3, Some(command::LEAD_MS)),
        Some(rounds) => (rounds, tpch::LIMIT_MS, Some(0.0)),
        None if fixed => (1, FIXED_WORK_LIMIT_MS, Some(0.0)),
        None if in_turns => (1, TURN_MS, Some(TURN_REWARM_MS)),
        // A model has no caches.
        None if overrides.engine_properties.simulated => (20, 50.0, Some(FIXED_REWARM_MS)),
        None => (20, 50.0, None),
    };
    let defaults = RawDesign::default();
    let shape = if (fixed || in_turns) && !in_file { &defaults } else { raw };
    let asked = overrides.rounds.or(shape.rounds.as_ref().map(|rounds| *rounds.get_ref()));
    // Of queries, rounds that are asked for are passes through all of them.
    let passes = queries.unwrap_or(1);
    let design = Design {
        rounds: asked.map_or(rounds, |asked| asked.saturating_mul(passes)),
        slice_ns: nanoseconds(overrides.slice_ms.unwrap_or_else(|| number(&shape.slice_ms, slice_ms))),
        rewarm_ns: asked_rewarm_ms(shape, overrides).or(rewarm_ms).map(nanoseconds),
        stopping: stopping(file, overrides),
        level: number(&raw.level, 0.95),
        margin: overrides.margin.unwrap_or_else(|| number(&raw.margin, MARGIN)),
        long_windows: None,
    };
    if queries.is_none() {
        check_slice(&design, file, overrides)?;
    }
    Ok(design)
}

/// Refuses times and numbers of the command line that no study can have.
fn check_ranges(overrides: &Overrides) -> Result<(), LoadError> {
    let refused = |option: &str, why: String| Err(LoadError::Override { option: option.to_owned(), why });
    match (overrides.rounds, overrides.slice_ms, overrides.budget_s, overrides.until) {
        (Some(rounds), ..) if !(1..=100_000).contains(&rounds) => {
            return refused("--rounds", format!("{rounds} rounds; 1 to 100000 are allowed"));
        }
        (_, Some(ms), ..) if !(1.0..=3_600_000.0).contains(&ms) => {
            return refused("--slice", format!("{ms} ms; 1 ms to 1 h is allowed"));
        }
        _ if overrides.rewarm_ms.is_some_and(|ms| !(0.0..=60_000.0).contains(&ms)) => {
            let ms = overrides.rewarm_ms.unwrap_or_default();
            return refused("--rewarm", format!("{ms} ms; 0 to 60 s is allowed"));
        }
        (.., Some(budget), _) if !(0.1..=31_536_000.0).contains(&budget) => {
            return refused("--budget", format!("{budget} s; 0.1 s to a year is allowed"));
        }
        (.., Some(until)) if !(0.0001..=0.9).contains(&until) => {
            return refused("--until", format!("{}%; 0.01% to 90% is allowed", until * 100.0));
        }
        _ => {}
    }
    if let Some(blocks) = overrides.blocks.filter(|blocks| !(1..=100_000).contains(blocks)) {
        return refused("--blocks", format!("{blocks} blocks; 1 to 100000 are allowed"));
    }
    Ok(())
}

/// A re-warm that the command line or the file asks for, milliseconds.
fn asked_rewarm_ms(shape: &RawDesign, overrides: &Overrides) -> Option<f64> {
    overrides.rewarm_ms.or(shape.rewarm_ms.as_ref().map(|asked| *asked.get_ref()))
}

/// A run of a command is one block's; what would cut it into slices is refused.
fn whole_runs(file: &StudyFile, overrides: &Overrides) -> Result<(), LoadError> {
    let refused = |option: &str, why: String| Err(LoadError::Override { option: option.to_owned(), why });
    let raw = &file.raw.design;
    let what = if file.raw.workload.get_ref() == command::WORKLOAD { "a command" } else { "a work list" };
    match (&raw.rounds, &raw.slice_ms) {
        (Some(rounds), _) if *rounds.get_ref() != 1 => {
            let why = format!("{what} runs once in every block: rounds is 1");
            return Err(file.source.at(rounds.span(), why));
        }
        (_, Some(slice)) => {
            return Err(file
                .source
                .at(slice.span(), format!("{what} has no slices: timeout_s limits a run")));
        }
        _ => {}
    }
    match (overrides.rounds, overrides.slice_ms) {
        (Some(2..), _) => {
            refused("--rounds", format!("{what} runs once in every block; --blocks is for more of them"))
        }
        (_, Some(_)) => {
            refused("--slice", format!("{what} has no slices; --set timeout_s=SECONDS limits a run"))
        }
        _ if overrides.rewarm_ms.is_some() => {
            refused("--rewarm", format!("{what} has no slices that are warmed again"))
        }
        _ => Ok(()),
    }
}

/// Rounds of one pass through the queries, for a workload that has queries.
fn query_rounds(file: &StudyFile, overrides: &Overrides) -> Option<u32> {
    let is_tpch = file.raw.workload.get_ref() == tpch::WORKLOAD;
    let named = file
        .raw
        .options
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), option_value(value.get_ref())?)));
    let options: Options = named.chain(overrides.options.clone()).collect();
    is_tpch.then(|| tpch::rounds(&options))
}

/// A budget of 0 seconds stands for "none was named" until [`settle`] sees the treatments.
fn stopping(file: &StudyFile, overrides: &Overrides) -> Stopping {
    let raw = &file.raw.design;
    let from_file = raw.budget_s.as_ref().map(|budget| *budget.get_ref());
    if let Some(blocks) = overrides.blocks {
        return Stopping::Blocks { blocks };
    }
    let until = overrides.until.or_else(|| raw.until.as_ref().map(|until| *until.get_ref()));
    match (until, &raw.blocks) {
        (Some(half_width), _) => {
            // A preset's budget is one for a fixed number of blocks.
            let from_file = from_file.filter(|_| !file.is_preset);
            Stopping::Until { half_width, budget_s: overrides.budget_s.or(from_file).unwrap_or(0.0) }
        }
        (None, Some(blocks)) if overrides.budget_s.is_none() => {
            Stopping::Blocks { blocks: *blocks.get_ref() }
        }
        (None, _) => Stopping::Budget { budget_s: overrides.budget_s.or(from_file).unwrap_or(0.0) },
    }
}

/// Most milliseconds of a slice or its re-warm where treatments take turns: far beyond what averages
/// out between two interrupts, and short enough that drift stays between rounds.
const MOST_SLICED_MS: f64 = 10_000.0;

/// Seconds that a number of blocks needs, about.
fn needed_s(study: &Study, blocks: u32, (factor, once_s): (f64, f64)) -> f64 {
    let measured_s = study.block_floor_s() * f64::from(blocks) + study.warmup_windows_s();
    (measured_s * factor + once_s + long::needed_s(study, factor)).ceil()
}

/// Refuses slices and re-warms that are too long to take turns with. A study of whole runs has one
/// round.
fn check_slice(design: &Design, file: &StudyFile, overrides: &Overrides) -> Result<(), LoadError> {
    let is_long = |ns: u64| ns as f64 > MOST_SLICED_MS * 1e6;
    if design.rounds == 1 {
        return Ok(());
    }
    let why = |what: &str, ns: u64| {
        format!(
            "{what} of {} s; at most {} s are allowed in a study of {} rounds (1 round for whole runs)",
            ns as f64 / 1e9,
            MOST_SLICED_MS / 1e3,
            design.rounds
        )
    };
    let raw = &file.raw.design;
    let at = |value: &Option<Spanned<f64>>, why: String| {
        file.source.at(value.as_ref().map_or(0..0, Spanned::span), why)
    };
    if is_long(design.slice_ns) {
        let why = why("a slice", design.slice_ns);
        return Err(match overrides.slice_ms {
            Some(_) => LoadError::Override { option: "--slice".to_owned(), why },
            None => at(&raw.slice_ms, why),
        });
    }
    if let Some(rewarm_ns) = design.rewarm_ns.filter(|ns| is_long(*ns)) {
        let why = why("a re-warm", rewarm_ns);
        return Err(match overrides.rewarm_ms {
            Some(_) => LoadError::Override { option: "--rewarm".to_owned(), why },
            None => at(&raw.rewarm_ms, why),
        });
    }
    Ok(())
}

/// How many rounds a block may have for the budget to hold the fewest blocks; 1 at the least. The study has one.
pub(super) fn rounds_held(study: &Study) -> u32 {
    let budget_s = match study.design.stopping {
        Stopping::Budget { budget_s } | Stopping::Until { budget_s, .. } if budget_s > 0.0 => budget_s,
        _ => DEFAULT_BUDGET_S,
    };
    let (factor, once_s) = OVERHEAD;
    let block_s = (budget_s - once_s) / f64::from(MIN_BLOCKS);
    // A float that is too large, or none, becomes a bound of the integer.
    ((block_s / factor / study.block_floor_s()) as u32).max(1)
}

/// Makes so few rounds that a budget holds 8 blocks. Rounds of whole runs, and those of slices of whole periods of a
/// quota, are what they are.
fn cut_rounds(study: &mut Study, budget_s: f64) {
    let (rounds, (factor, once_s)) = (study.design.rounds, HELD);
    if study.is_fixed_work() || study.quota.is_some() {
        return;
    }
    let fixed_s = study.warmup_windows_s() + f64::from(MIN_BLOCKS) * study.settling_s();
    let blocks_s = (budget_s - once_s) / factor - fixed_s;
    let round_s = (study.block_floor_s() - study.settling_s()) / f64::from(rounds);
    // A float that is too large, or none, becomes a bound of the integer.
    let held = (blocks_s / f64::from(MIN_BLOCKS) / round_s) as u32;
    study.design.rounds = rounds.min(held.max(FEWEST_ROUNDS));
}

/// Fits the budget to the treatments: raises one that nobody asked for; of one that somebody asked for cuts rounds that
/// nobody asked for, and refuses it where that is not enough.
pub(super) fn settle(study: &mut Study, file: &StudyFile, overrides: &Overrides) -> Result<(), LoadError> {
    // A treatment of its own may fix the amount of work.
    if study.is_fixed_work() && study.design.rewarm_ns.is_none() {
        study.design.rewarm_ns = Some((FIXED_REWARM_MS * 1e6) as u64);
    }
    long::settle(study, file, overrides)?;
    let long_s = long::needed_s(study, OVERHEAD.0);
    let design = &file.raw.design;
    let in_file = design.budget_s.as_ref().filter(|_| !file.is_preset);
    let asked_s = overrides.budget_s.or(in_file.map(|budget| *budget.get_ref()));
    let are_rounds_asked_for = overrides.rounds.is_some() || (!file.is_preset && design.rounds.is_some());
    let is_timed = !matches!(study.design.stopping, Stopping::Blocks { .. });
    if let Some(asked_s) = asked_s.filter(|_| is_timed && !are_rounds_asked_for) {
        cut_rounds(study, asked_s - long_s);
    }
    let least_s = needed_s(study, MIN_BLOCKS, OVERHEAD);
    let enough_s = needed_s(study, MIN_BLOCKS, ENOUGH);
    let until_s = match study.is_fixed_work() {
        // Nobody knows how long a run takes: the file's own budget is for the fewest blocks at least.
        true => {
            let own_s = design.budget_s.as_ref().map_or(DEFAULT_BUDGET_S, |budget| *budget.get_ref());
            own_s * f64::from(UNTIL_BLOCKS / MIN_BLOCKS)
        }
        false => needed_s(study, UNTIL_BLOCKS, ROOMY),
    };
    let (budget_s, default_s) = match &mut study.design.stopping {
        Stopping::Budget { budget_s } => (budget_s, DEFAULT_BUDGET_S),
        Stopping::Until { budget_s, .. } => (budget_s, until_s - long_s),
        Stopping::Blocks { .. } => return Ok(()),
    };
    if *budget_s == 0.0 {
        *budget_s = default_s;
    }
    if asked_s.is_none() {
        *budget_s += long_s;
    }
    if *budget_s >= least_s {
        return Ok(());
    }
    if asked_s.is_none() {
        *budget_s = least_s;
        return Ok(());
    }
    let error = LoadError::Budget {
        budget_s: *budget_s,
        least_s: least_s as u64,
        enough_s,
        long_s: long::needed_s(study, 1.0),
    };
    match in_file.filter(|_| overrides.budget_s.is_none()) {
        Some(budget) => Err(file.source.at(budget.span(), error.to_string())),
        None => Err(error),
    }
}
