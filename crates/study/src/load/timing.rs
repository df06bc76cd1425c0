//! Rounds, slices, long windows and the stopping rule, from the file, the command line and the available time.

use super::candidate::Resolver;
use super::definition::{Definition, DesignSection};
use super::overrides::Overrides;
use super::sizes;
use super::source::LoadError;
use crate::arrivals::{RATE, rate_per_s};
use crate::plan::long::MOST_BLOCKS as MOST_LONG_BLOCKS;
use crate::presets;
use crate::study::{LongWindows, MARGIN, MIN_BLOCKS};
use crate::{Design, FIXED_WORK, Options, Stopping, Study, Workload, command, tpch};

/// Default budget, seconds.
const DEFAULT_BUDGET_S: f64 = 90.0;
/// Overhead of slices on a quiet machine: between slices as a factor; data and workers once, in seconds.
const OVERHEAD: (f64, f64) = (1.1, 2.0);
/// The same with a margin, for a budget that must not end before its last look.
const ROOMY: (f64, f64) = (1.15, 10.0);
/// The same, for the budget suggested to a user whose own is too small: with room for the probe.
const ENOUGH: (f64, f64) = (1.25, 15.0);
/// The same for the rounds that fit a budget: with room for the probe, and for time between slices and blocks.
const HELD: (f64, f64) = (1.25, 8.0);
/// Fewest rounds that a budget may cut blocks down to: with 8 blocks their intervals have the same coverage as those of
/// more rounds (docs/METHODOLOGY.md, "Rounds of a block").
const FEWEST_ROUNDS: u32 = 4;
/// Default maximum of blocks of an `until` study: its last look before the end.
const UNTIL_BLOCKS: u32 = 64;
/// Re-warm of a model, and shortest re-warm under a CPU quota, milliseconds.
pub(super) const FIXED_REWARM_MS: f64 = 5.0;
/// Length of a run on a server that is bound for it, and its re-warm, milliseconds: short, so that the treatments of a
/// block are close in time.
const TURN_MS: f64 = 2_000.0;
const TURN_REWARM_MS: f64 = 500.0;
/// Requests that a slice at a rate has at least, by default, and its bounds, milliseconds: percentiles need many, and a
/// queue needs time to fill. Rounds are few, since slices are long.
const REQUESTS_PER_SLICE: f64 = 200.0;
const AT_A_RATE_MS: [f64; 2] = [1_000.0, 10_000.0];
const ROUNDS_AT_A_RATE: u32 = 2;
/// Time before such a slice in which its queue settles, as a share of the slice.
const SETTLING_SHARE: f64 = 0.3;
/// Default time limit of a run with a fixed amount of work: ten minutes.
const FIXED_WORK_LIMIT_MS: f64 = 600_000.0;
/// Maximum milliseconds of a slice or its re-warm where treatments take turns: long enough to average over interrupts,
/// and short enough that drift stays between rounds.
const MOST_SLICED_MS: f64 = 10_000.0;
/// Default length of a long window, seconds.
const LONG_WINDOW_S: f64 = 10.0;
/// Default minimum of long windows of a treatment: two hardly give an interval.
const LEAST_WINDOWS: u32 = 3;
/// Default maximum of long windows of a treatment.
const MOST_WINDOWS: u32 = 30;
/// Shortest study that has long windows by default, seconds.
const LONG_STUDY_S: f64 = 600.0;
/// Share of a budget for long windows, where that gives more than the minimum.
const USUAL_SHARE: f64 = 1.0 / 6.0;
/// If the minimum takes more than this share of a budget, long windows are left out unless requested.
const MOST_SHARE: f64 = 0.5;

impl Resolver<'_> {
    /// The design before the treatments are known; [`Self::settle`] completes its stopping rule.
    pub fn design(&self, engine_options: &Options) -> Result<Design, LoadError> {
        let overrides = self.overrides;
        let written = &self.definition.design;
        check_ranges(overrides)?;
        let nanoseconds = |ms: f64| (ms * 1e6).round() as u64;
        // The file's slices are for timed windows. If the command line fixes the work instead, a round is one whole run,
        // and the slice its time limit.
        let Definition { options, factors, workload, .. } = self.definition;
        let has = |key: &str| options.contains_key(key) || factors.contains_key(key);
        let in_file = has(FIXED_WORK);
        let queries = self.query_rounds();
        let is_command = workload.runs_whole();
        let fixed = in_file || is_command || overrides.options.contains_key(FIXED_WORK) || queries.is_some();
        if is_command {
            self.whole_runs()?;
        }
        let in_turns = !is_command && workload.takes_turns(engine_options);
        let has_rounds = in_turns && overrides.rounds.is_some_and(|rounds| rounds > 1);
        let why = "the server is bound for whole runs, one of each treatment in every block: give --blocks for more \
                   of them, or --engine-option affinity=keep for slices on a server that is not bound";
        LoadError::option_if(has_rounds, "--rounds", why)?;
        let rates = self.rates_per_s();
        let rate_in_file = has(RATE);
        let (rounds, slice_ms, rewarm_ms) = match queries {
            // The engine enforces the time limit of each treatment's command.
            None if is_command => (1, command::MAX_TIMEOUT_S as f64 * 1e3, Some(command::LEAD_MS)),
            Some(rounds) => (rounds, tpch::LIMIT_MS, Some(0.0)),
            None if fixed => (1, FIXED_WORK_LIMIT_MS, Some(0.0)),
            None if in_turns => (1, TURN_MS, Some(TURN_REWARM_MS)),
            None if !rates.is_empty() => {
                let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
                let [low, high] = AT_A_RATE_MS;
                let slice_ms = (REQUESTS_PER_SLICE * 1e3 / least).clamp(low, high);
                (ROUNDS_AT_A_RATE, slice_ms, Some(SETTLING_SHARE * slice_ms))
            }
            // A model has no caches.
            None if overrides.engine_properties.simulated => (20, 50.0, Some(FIXED_REWARM_MS)),
            None => (20, 50.0, None),
        };
        let defaults = DesignSection::default();
        let is_other = ((fixed || in_turns) && !in_file) || (!rates.is_empty() && !rate_in_file);
        let shape = if is_other { &defaults } else { written };
        let asked = overrides.rounds.or(shape.rounds);
        // For queries, requested rounds are passes through all of them.
        let passes = queries.unwrap_or(1);
        let design = Design {
            rounds: asked.map_or(rounds, |asked| asked.saturating_mul(passes)),
            slice_ns: nanoseconds(overrides.slice_ms.or(shape.slice_ms).unwrap_or(slice_ms)),
            rewarm_ns: overrides.rewarm_ms.or(shape.rewarm_ms).or(rewarm_ms).map(nanoseconds),
            stopping: self.stopping(),
            level: written.level.unwrap_or(0.95),
            margin: overrides.margin.or(written.margin).unwrap_or(MARGIN),
            long_windows: None,
        };
        if queries.is_none() {
            self.check_slice(&design)?;
        }
        Ok(design)
    }

    /// Rates at which requests arrive, of all treatments; empty for closed loops.
    fn rates_per_s(&self) -> Vec<f64> {
        let Overrides { options: asked, factors: asked_factors, .. } = self.overrides;
        let Definition { options, factors, .. } = self.definition;
        let levels = asked_factors.get(RATE).or_else(|| factors.get(RATE));
        let one = asked.get(RATE).or_else(|| options.get(RATE));
        let all = levels.into_iter().flatten().chain(one.filter(|_| levels.is_none()));
        all.filter_map(|level| rate_per_s(&Options::from([(RATE.to_owned(), level.clone())]))).collect()
    }

    /// A command runs once per block; refuses settings that would cut it into slices.
    fn whole_runs(&self) -> Result<(), LoadError> {
        let DesignSection { rounds, slice_ms, .. } = self.definition.design;
        let what = if self.definition.workload == Workload::Command { "a command" } else { "a work list" };
        let why = format!("{what} runs once in every block: rounds must be 1");
        self.file.source.refuse_if(rounds.is_some_and(|rounds| rounds != 1), &["design", "rounds"], why)?;
        let why = format!("{what} has no slices: timeout_s limits a run");
        self.file.source.refuse_if(slice_ms.is_some(), &["design", "slice_ms"], why)?;
        let given = [
            (
                "--rounds",
                self.overrides.rounds.is_some_and(|rounds| rounds > 1),
                "runs once in every block; give --blocks for more runs",
            ),
            (
                "--slice",
                self.overrides.slice_ms.is_some(),
                "has no slices; --set timeout_s=SECONDS limits a run",
            ),
            ("--rewarm", self.overrides.rewarm_ms.is_some(), "has no slices to warm up for"),
        ];
        given.into_iter().try_for_each(|(option, is_given, why)| {
            LoadError::option_if(is_given, option, format!("{what} {why}"))
        })
    }

    /// Rounds of one pass through the queries, for a workload with queries.
    fn query_rounds(&self) -> Option<u32> {
        let mut options = self.definition.options.0.clone();
        options.extend(self.overrides.options.clone());
        (self.definition.workload == Workload::Tpch).then(|| tpch::rounds(&options))
    }

    /// A budget of 0 seconds means "not set" until [`Self::settle`] sees the treatments.
    fn stopping(&self) -> Stopping {
        let design = &self.definition.design;
        if let Some(blocks) = self.overrides.blocks {
            return Stopping::Blocks { blocks };
        }
        match (self.overrides.until.or(design.until), design.blocks) {
            (Some(half_width), _) => {
                // A preset's budget is for a fixed number of blocks.
                let from_file = design.budget_s.filter(|_| !self.file.is_preset);
                Stopping::Until { half_width, budget_s: self.overrides.budget_s.or(from_file).unwrap_or(0.0) }
            }
            (None, Some(blocks)) if self.overrides.budget_s.is_none() => Stopping::Blocks { blocks },
            (None, _) => {
                Stopping::Budget { budget_s: self.overrides.budget_s.or(design.budget_s).unwrap_or(0.0) }
            }
        }
    }

    /// Refuses slices and re-warms that are too long for taking turns. A study of whole runs has one round.
    fn check_slice(&self, design: &Design) -> Result<(), LoadError> {
        if design.rounds == 1 {
            return Ok(());
        }
        let lengths = [
            ("a slice", "slice", Some(design.slice_ns), self.overrides.slice_ms),
            ("a re-warm", "rewarm", design.rewarm_ns, self.overrides.rewarm_ms),
        ];
        for (what, key, ns, asked) in lengths {
            let Some(ns) = ns.filter(|ns| *ns as f64 > MOST_SLICED_MS * 1e6) else { continue };
            let why = format!(
                "{what} of {} s; at most {} s are allowed in a study of {} rounds (1 round for whole runs)",
                ns as f64 / 1e9,
                MOST_SLICED_MS / 1e3,
                design.rounds
            );
            let (option, key) = (format!("--{key}"), format!("{key}_ms"));
            return Err(self.refused(asked.is_some(), &option, &["design", &key], why));
        }
        Ok(())
    }

    /// Fits the budget to the treatments: raises a default budget; for a requested budget, and for that of the default
    /// study, reduces default rounds; refuses a requested budget if that is not enough.
    pub fn settle(&self, study: &mut Study) -> Result<(), LoadError> {
        // A treatment's own options may fix the amount of work.
        if study.is_fixed_work() && study.design.rewarm_ns.is_none() {
            study.design.rewarm_ns = Some((FIXED_REWARM_MS * 1e6) as u64);
        }
        self.settle_long_windows(study)?;
        let long_s = long_windows_s(study, OVERHEAD.0);
        let design = &self.definition.design;
        let in_file = design.budget_s.filter(|_| !self.file.is_preset);
        let asked_s = self.overrides.budget_s.or(in_file);
        let are_rounds_asked_for =
            self.overrides.rounds.is_some() || (!self.file.is_preset && design.rounds.is_some());
        if let Some(asked_s) = asked_s.filter(|_| !are_rounds_asked_for) {
            cut_rounds(study, asked_s - long_s, HELD);
        }
        // The first result comes in a minute on every machine: more levels of locality cost rounds before they cost time.
        let is_default = self.file.is_preset && self.definition.name == presets::DEFAULT;
        if let Stopping::Budget { budget_s } = study.design.stopping
            && is_default
            && asked_s.is_none()
            && !are_rounds_asked_for
        {
            cut_rounds(study, budget_s, OVERHEAD);
        }
        let least_s = needed_s(study, MIN_BLOCKS, OVERHEAD);
        let enough_s = needed_s(study, MIN_BLOCKS, ENOUGH);
        let until_s = match study.is_fixed_work() {
            // The length of a run is unknown: the file's own budget is at least for the fewest blocks.
            true => design.budget_s.unwrap_or(DEFAULT_BUDGET_S) * f64::from(UNTIL_BLOCKS / MIN_BLOCKS),
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
            long_s: long_windows_s(study, 1.0),
            rounds: study.design.rounds,
        };
        match self.overrides.budget_s {
            Some(_) => Err(error),
            None => Err(self.file.source.at(&["design", "budget_s"], error.to_string())),
        }
    }

    /// Adds long windows to the study.
    ///
    /// # Errors
    /// Long windows are requested, but the study cannot have them.
    fn settle_long_windows(&self, study: &mut Study) -> Result<(), LoadError> {
        let design = &self.definition.design;
        let refused = |why: String| {
            let in_file = self.overrides.long_windows.is_none() && design.long_windows.is_some();
            let why = if in_file { format!("long_windows: {why}") } else { why };
            self.refused(!in_file, "--long-windows", &["design", "long_windows"], why)
        };
        let asked = self.overrides.long_windows.or(design.long_windows);
        match asked {
            Some(0) => return Ok(()),
            // A boot has slices alone, so that all boots of an arm are alike. Slices at a rate are long already.
            None if study.external.is_some() || study.is_at_a_rate() => return Ok(()),
            Some(blocks) if blocks > MOST_LONG_BLOCKS => {
                return Err(refused(format!("{blocks} windows; 0 to {MOST_LONG_BLOCKS} are allowed")));
            }
            _ => {}
        }
        let window_ns = (design.long_window_s.unwrap_or(LONG_WINDOW_S) * 1e9).round() as u64;
        match (impossible(study, window_ns), asked) {
            (Some(why), Some(_)) => Err(refused(why)),
            (Some(_), None) => Ok(()),
            (None, _) => {
                give(study, asked, window_ns);
                if asked.is_none() {
                    sizes::without_long_windows(study, self.overrides);
                }
                Ok(())
            }
        }
    }
}

/// Refuses invalid times and numbers of the command line.
fn check_ranges(overrides: &Overrides) -> Result<(), LoadError> {
    let Overrides { rounds, slice_ms, rewarm_ms, budget_s, until, blocks, .. } = overrides;
    let until = until.map(|share| share * 100.0);
    let given = [
        ("--rounds", rounds.map(f64::from), 1.0..=100_000.0, " rounds; 1 to 100000 are allowed"),
        ("--slice", *slice_ms, 1.0..=3_600_000.0, " ms; 1 ms to 1 h is allowed"),
        ("--rewarm", *rewarm_ms, 0.0..=60_000.0, " ms; 0 to 60 s is allowed"),
        ("--budget", *budget_s, 0.1..=31_536_000.0, " s; 0.1 s to a year is allowed"),
        ("--until", until, 0.01..=90.0, "%; 0.01% to 90% is allowed"),
        ("--blocks", blocks.map(f64::from), 1.0..=100_000.0, " blocks; 1 to 100000 are allowed"),
    ];
    given.into_iter().try_for_each(|(option, value, allowed, words)| {
        let value = value.unwrap_or(*allowed.start());
        LoadError::option_if(!allowed.contains(&value), option, format!("{value}{words}"))
    })
}

/// Estimated seconds for a number of blocks.
fn needed_s(study: &Study, blocks: u32, (factor, once_s): (f64, f64)) -> f64 {
    let measured_s = study.block_floor_s() * f64::from(blocks) + study.warmup_windows_s();
    (measured_s * factor + once_s + long_windows_s(study, factor)).ceil()
}

/// Rounds per block with which the budget holds the fewest blocks; at least 1.
pub(super) fn rounds_held(study: &Study) -> u32 {
    let budget_s = match study.design.stopping {
        Stopping::Budget { budget_s } | Stopping::Until { budget_s, .. } if budget_s > 0.0 => budget_s,
        _ => DEFAULT_BUDGET_S,
    };
    let (factor, once_s) = OVERHEAD;
    let block_s = (budget_s - once_s) / f64::from(MIN_BLOCKS);
    // The cast saturates: too large a float, or NaN, becomes a bound of the integer.
    ((block_s / factor / study.block_floor_s()) as u32).max(1)
}

/// Reduces rounds until a budget holds 8 blocks.
fn cut_rounds(study: &mut Study, budget_s: f64, (factor, once_s): (f64, f64)) {
    let Some(rounds) = study.rounds_by_budget() else { return };
    let fixed_s = study.warmup_windows_s() + f64::from(MIN_BLOCKS) * study.settling_s();
    let blocks_s = (budget_s - once_s) / factor - fixed_s;
    let round_s = (study.block_floor_s() - study.settling_s()) / f64::from(rounds);
    let held = (blocks_s / f64::from(MIN_BLOCKS) / round_s) as u32;
    let fewest = if study.is_at_a_rate() { 1 } else { FEWEST_ROUNDS };
    study.design.rounds = rounds.min(held.max(fewest));
}

/// Estimated seconds for the study's long windows; the factor covers the time between them.
fn long_windows_s(study: &Study, factor: f64) -> f64 {
    let blocks = study.design.long_windows.map_or(0, |long| long.blocks);
    f64::from(blocks) * study.long_block_floor_s() * factor
}

/// Why a study cannot have long windows.
fn impossible(study: &Study, window_ns: u64) -> Option<String> {
    if study.is_fixed_work() {
        return Some(
            "sessions do a fixed amount of work, so their windows are as long as it takes".to_owned(),
        );
    }
    if study.quota.is_some() {
        return Some("a CPU quota would throttle them: it saves up nothing for so long".to_owned());
    }
    let (long_s, slice_s) = (window_ns as f64 / 1e9, study.design.slice_ns as f64 / 1e9);
    (window_ns <= study.design.slice_ns)
        .then(|| format!("windows of {long_s} s are no longer than slices of {slice_s} s"))
}

fn give(study: &mut Study, asked: Option<u32>, window_ns: u64) {
    let length_s = match study.design.stopping {
        Stopping::Budget { budget_s } => budget_s,
        Stopping::Blocks { blocks } => f64::from(blocks) * study.block_floor_s(),
        // The study may end long before its budget.
        Stopping::Until { .. } => 0.0,
    };
    let block_s = study.treatments.len() as f64 * window_ns as f64 / 1e9;
    let usual = ((USUAL_SHARE * length_s / block_s) as u32).clamp(LEAST_WINDOWS, MOST_WINDOWS);
    let blocks = match asked {
        Some(blocks) => blocks,
        None if length_s < LONG_STUDY_S => return,
        None if f64::from(LEAST_WINDOWS) * block_s > MOST_SHARE * length_s => {
            let seconds = f64::from(LEAST_WINDOWS) * block_s;
            study.left_out.push(format!(
                "long windows: {LEAST_WINDOWS} of each treatment take {seconds} s, more than half of the study; \
                 --long-windows {LEAST_WINDOWS} asks for them"
            ));
            return;
        }
        None => usual,
    };
    study.design.long_windows = Some(LongWindows { blocks, window_ns });
}
