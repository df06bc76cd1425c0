//! From arguments to a job: everything that can be refused is refused here, before a file is created.

use super::boots;
use super::bound::{self, Decided};
use super::external::{self, Before, Due};
use super::program::{self, Program};
use super::{command, factors, options, rate, server, space, transaction, vcpus, worklist};
use crate::cli::RunArgs;
use crate::commands;
use crate::engines;
use crate::error::AppError;
use crate::output;
use crate::suggest;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use threadwise_document::numbers;
use threadwise_engine::engines::simulated;
use threadwise_machine::given;
use threadwise_machine::{BootFacts, Topology};
use threadwise_report::html;
use threadwise_runner::guard;
use threadwise_store::{EndState, Expectation, Store, Versions};
use threadwise_study::asked::Asked;
use threadwise_study::engine::AFFINITY;
use threadwise_study::external::BootPart;
use threadwise_study::load::{Overrides, StudyFile, option_value};
use threadwise_study::{
    NoteCode, OptionValue, Options, Quota, Stopping, Study, Workload, plan_block, presets, tpch,
};
use threadwise_tpch::TpchOptions;

/// A study that can start.
pub struct Job {
    /// What is measured here: of a study with external arms, up to the end of the current part.
    pub study: Study,
    /// The whole study, as in the result file.
    pub whole: Study,
    /// Part of a study with external arms, with what this machine leaves out.
    pub part: Option<(BootPart, Vec<String>)>,
    /// The boot that it is measured on.
    pub boot: BootFacts,
    /// Whether the probe is left out.
    pub no_probe: bool,
    /// Notes of a new result file.
    pub notes: Vec<String>,
    /// The result file.
    pub output: PathBuf,
    /// The HTML report, if any.
    pub html: Option<PathBuf>,
    /// The worker program.
    pub versions: Versions,
    /// The engine's program.
    pub program: Program,
    /// The result file of a continued study; a new one is created after the machine was checked.
    pub store: Option<Store>,
    /// Time limit of this start, if the user set one.
    pub limit: Option<Duration>,
    /// How a continued study ended before.
    pub state: EndState,
    /// The plan's other remarks, one line each.
    pub remarks: Vec<String>,
    /// Prices and latency bound of the report: new ones, and earlier ones of a continued study.
    pub asked: Asked,
}

impl Job {
    /// A new study.
    pub fn fresh(args: &RunArgs, topology: &Topology) -> Result<Self, AppError> {
        worklist::is_named(args)?;
        command::headline_is_an_option(args)?;
        let default = match args.commands.command.is_empty() {
            _ if worklist::is_asked_for(args) => worklist::PRESET,
            _ if !args.transactions.transaction.is_empty() => transaction::PRESET,
            true if args.rates.rate.is_some() => rate::PRESET,
            true => presets::DEFAULT,
            false => command::PRESET,
        };
        let name = args.study.as_deref().unwrap_or(default);
        let file = match vcpus::file(args, name, topology)? {
            Some(file) => file,
            None => study_file(name)?,
        };
        command::only_for_commands(&args.commands, file.workload())?;
        transaction::only_for_transactions(&args.transactions, file.workload())?;
        let (mut study, bound) = resolved(args, &file, topology)?;
        transaction::pin(&mut study, args.study.as_deref())?;
        worklist::check(&study)?;
        factors::check_instances(&study)?;
        if study.is_simulated() && study.engine_options.is_empty() {
            study.engine_options = simulated::demonstration();
        }
        let boot = boots::this_boot();
        let due = external::due(&study, &Before::default(), (topology, &boot), args, None)?;
        program::check_workload(&study)?;
        command::complete(&mut study, args)?;
        options::check(&study, args)?;
        command::allowed(&study, args)?;
        transaction::allowed(&study, args)?;
        // Last of all checks: invalid options are reported whether the engine is installed or not.
        let (program, versions) = engine(&study)?;
        options::check_with_worker(&study, &program)?;
        let stamp = versions.created_utc.replace([':', '-'], "");
        let output = args
            .measure
            .output
            .clone()
            .unwrap_or_else(|| PathBuf::from(format!("{}-{stamp}.threadwise", study.name)));
        let html = html_path(args, &output)?;
        // Also for `--plan`: a run that cannot write its result must not be planned.
        output::check_new(&output)?;
        html.as_deref().map_or(Ok(()), output::check_new)?;
        check_data_dir(args)?;
        let mut remarks: Vec<String> =
            due.iter().flat_map(|due| external::remarks(&study, due, &Before::default(), None)).collect();
        let limit = limit(args, &file, &study);
        let whole = study.clone();
        let (study, part) = due_part(study, due);
        remarks.extend(bound);
        remarks.extend(self::remarks(args, &study, &program)?);
        remarks.extend(server::remarks(&study, topology, args.measure.plan)?);
        let asked = asked(args, Asked::default());
        let (store, state, notes, no_probe) = (None, EndState::Running, Vec::new(), args.measure.no_probe);
        Ok(Self {
            study,
            whole,
            part,
            boot,
            no_probe,
            notes,
            output,
            html,
            versions,
            program,
            store,
            limit,
            state,
            remarks,
            asked,
        })
    }

    /// An interrupted study.
    pub fn resumed(args: &RunArgs, file: &Path, topology: &Topology) -> Result<Self, AppError> {
        // Read-only first: an invalid file is refused untouched, and one of another boot stays unchanged.
        let found = boots::peek(file)?;
        let state = found.store.state().map_err(AppError::input)?;
        let (stored, boot) = (before(&found.store)?, boots::this_boot());
        let mut whole = found.store.study().clone();
        engines::complete(&mut whole);
        let is_complete = state == EndState::Complete;
        if whole.external.is_none() && !is_complete && boots::is_other(&stored.boots, &boot) {
            return Self::on_another_boot(args, file, topology, (found, whole, boot, &stored));
        }
        let due = match is_complete {
            true => None,
            false => external::due(&whole, &stored, (topology, &boot), args, Some(file))?,
        };
        if found.is_interrupted {
            // `--resume` means that the file is the user's own, so its journal can be trusted.
            Store::recover(file).map_err(AppError::input)?;
        }
        if !is_complete {
            command::allowed(&whole, args)?;
            transaction::allowed(&whole, args)?;
            transaction::has_its_files(&whole)?;
        }
        let (program, versions) = engine(&whole)?;
        let html = html_path(args, file)?;
        match &html {
            // The report of an earlier part of this study may be replaced.
            Some(path) if args.measure.html.is_none() && output::is_page(path, html::REPORT) => {}
            Some(path) => output::check_new(path)?,
            None => {}
        }
        check_data_dir(args)?;
        factors::check_instances(&whole)?;
        let arm = due.as_ref().map(|due| due.part.arm.as_str());
        let now = found.store.boot_of(&boot, arm, &versions.engine_version, &boots::now_utc());
        let now = now.map_err(AppError::input)?;
        let mut remarks: Vec<String> =
            due.iter().flat_map(|due| external::remarks(&whole, due, &stored, Some(&now))).collect();
        remarks.extend(boots::unknown(&stored.boots, &boot).filter(|_| !is_complete));
        let (study, part) = due_part(whole.clone(), due);
        if !is_complete {
            bound::again(&study, topology, args.measure.allow_busy)?;
            remarks.extend(self::remarks(args, &study, &program)?);
            remarks.extend(server::remarks(&study, topology, args.measure.plan)?);
        }
        let asked = asked(args, found.store.asked().map_err(AppError::input)?);
        drop(found);
        let store =
            (!args.measure.plan && !is_complete).then(|| resume(file, topology, &versions)).transpose()?;
        let limit = args.measure.budget.map(Duration::from_secs_f64);
        let (output, notes, no_probe) = (file.to_owned(), Vec::new(), args.measure.no_probe);
        Ok(Self {
            study,
            whole,
            part,
            boot,
            no_probe,
            notes,
            output,
            html,
            versions,
            program,
            store,
            limit,
            state,
            remarks,
            asked,
        })
    }

    /// An interrupted study that continues after another boot or on another machine: the same study in a new file.
    fn on_another_boot(
        args: &RunArgs,
        file: &Path,
        topology: &Topology,
        (found, study, boot, stored): (boots::Peeked, Study, BootFacts, &Before),
    ) -> Result<Self, AppError> {
        external::due(&study, stored, (topology, &boot), args, Some(file))?;
        command::allowed(&study, args)?;
        transaction::allowed(&study, args)?;
        transaction::has_its_files(&study)?;
        let (program, versions) = engine(&study)?;
        let output = boots::free_name(file)?;
        let html = html_path(args, &output)?;
        html.as_deref().map_or(Ok(()), output::check_new)?;
        check_data_dir(args)?;
        factors::check_instances(&study)?;
        let now = found.store.boot_of(&boot, None, &versions.engine_version, &boots::now_utc());
        let now = now.map_err(AppError::input)?;
        let place = stored.boots.last().map_or("", |last| boots::where_it_began(last, &now));
        let began = format!("{} was measured {place}", file.display());
        let mut remarks = vec![format!(
            "{began}: it stays unchanged, and the same study, with the same seed, starts in {}",
            output.display()
        )];
        bound::again(&study, topology, args.measure.allow_busy)?;
        remarks.extend(self::remarks(args, &study, &program)?);
        remarks.extend(server::remarks(&study, topology, args.measure.plan)?);
        plan_block(&study, topology, 0).map_err(|error| {
            AppError::Refused(format!(
                "{began}, and this machine cannot run its treatments: {error}; start a new study"
            ))
        })?;
        let no_probe = args.measure.no_probe
            || found
                .store
                .notes()
                .map_err(AppError::input)?
                .iter()
                .any(|note| note.code == NoteCode::NotProbed);
        let asked = asked(args, found.store.asked().map_err(AppError::input)?);
        let notes = vec![format!("the same study as {}, which was measured {place}", file.display())];
        let limit = args.measure.budget.map(Duration::from_secs_f64);
        let (whole, part, store, state) = (study.clone(), None, None, EndState::Running);
        Ok(Self {
            study,
            whole,
            part,
            boot,
            no_probe,
            notes,
            output,
            html,
            versions,
            program,
            store,
            limit,
            state,
            remarks,
            asked,
        })
    }

    /// Whether a model replaces the machine.
    pub fn is_simulated(&self) -> bool {
        self.study.is_simulated()
    }

    /// Whether the user's server is measured; it may then run here.
    pub fn is_users_server(&self) -> bool {
        self.study.is_users_server() || server::is_there(&self.study)
    }

    /// Scale factor of the data set, if the workload has one.
    pub fn scale(&self) -> Option<f64> {
        let first = self.study.treatments.first().filter(|_| self.study.workload == Workload::Tpch)?;
        TpchOptions::read(&first.options).ok().map(|options| options.scale)
    }

    /// Whether the study is complete.
    pub fn is_complete(&self) -> bool {
        self.state == EndState::Complete
    }

    /// Treatments, rounds and time, as text.
    pub fn price(&self) -> String {
        let design = &self.study.design;
        let limit = self.limit.map(|limit| time(limit.as_secs_f64()));
        let stopping = match (design.stopping, limit) {
            (Stopping::Budget { .. }, Some(limit)) => format!("8 blocks or more in at most {limit}"),
            (Stopping::Until { half_width, .. }, Some(limit)) => {
                format!("until ±{}, at most {limit}", numbers::set_percent(half_width))
            }
            (Stopping::Blocks { blocks }, Some(limit)) => {
                format!("{} in at most {limit}", numbers::counted(blocks as usize, "block"))
            }
            (Stopping::Budget { budget_s }, None) => {
                format!("at least 8 blocks, or as many as {} holds", time(budget_s))
            }
            (Stopping::Until { half_width, budget_s }, None) => {
                format!("until ±{}, at most about {}", numbers::set_percent(half_width), time(budget_s))
            }
            (Stopping::Blocks { blocks }, None) => numbers::counted(blocks as usize, "block"),
        };
        let treatments = self.study.treatments.len();
        if self.study.runs_whole() {
            let seed = self.study.seed;
            let what = if self.study.workload == Workload::WorkList {
                "processes the whole list"
            } else {
                "runs the command"
            };
            return format!("{treatments} treatments, each {what} once in a block, {stopping}; seed {seed}");
        }
        if self.study.workload == Workload::Tpch {
            let options = &self.study.treatments[0].options;
            let (queries, scale) = (tpch::queries(options).len(), self.scale().unwrap_or(1.0));
            let each = match tpch::test(options) {
                tpch::Test::Power => format!("{queries} queries in turn a block"),
                tpch::Test::Throughput => format!("streams of {queries} queries"),
            };
            let seed = self.study.seed;
            return format!("{treatments} treatments, scale factor {scale}, {each}, {stopping}; seed {seed}");
        }
        format!(
            "{} treatments, {} of {} ms slices a block ({}), {stopping}{}; seed {}",
            treatments,
            numbers::counted(design.rounds as usize, "round"),
            design.slice_ns as f64 / 1e6,
            numbers::seconds(self.study.block_floor_s()),
            self.long_windows(),
            self.study.seed
        )
    }

    /// The additional long windows, as text.
    fn long_windows(&self) -> String {
        let Some(long) = self.study.design.long_windows else { return String::new() };
        let all_s = f64::from(long.blocks) * self.study.long_block_floor_s();
        format!(
            ", {} of {} of each treatment ({})",
            numbers::counted(long.blocks as usize, "long window"),
            numbers::seconds(long.window_ns as f64 / 1e9),
            numbers::seconds(all_s)
        )
    }
}

/// Stored facts of a continued study.
fn before(store: &Store) -> Result<Before, AppError> {
    Ok(Before {
        blocks: u32::try_from(store.complete_blocks().map_err(AppError::input)?.len()).unwrap_or(u32::MAX),
        boots: store.boots().map_err(AppError::input)?,
        block_boots: store.block_boots().map_err(AppError::input)?,
    })
}

/// A study as this start runs it, with its part.
fn due_part(study: Study, due: Option<Due>) -> (Study, Option<(BootPart, Vec<String>)>) {
    match due {
        Some(due) => (due.study, Some((due.part, due.left_out))),
        None => (study, None),
    }
}

/// The limit of a new study: the user's budget. A preset's own is a goal.
fn limit(args: &RunArgs, file: &StudyFile, study: &Study) -> Option<Duration> {
    match study.design.stopping {
        Stopping::Budget { budget_s } | Stopping::Until { budget_s, .. } => (args.measure.budget.is_some()
            || file.has_own_budget())
        .then(|| Duration::from_secs_f64(budget_s)),
        Stopping::Blocks { .. } => None,
    }
}

/// Whole seconds, as text.
pub fn time(seconds: f64) -> String {
    humantime::format_duration(std::time::Duration::from_secs(seconds.round() as u64)).to_string()
}

fn study_file(name: &str) -> Result<StudyFile, AppError> {
    if !name.ends_with(".toml") {
        return StudyFile::preset(name).map_err(|error| {
            let hint = suggest::instead_of_preset(name, &[]);
            AppError::Input(format!("{error}{}", hint.map_or_else(String::new, |hint| format!("; {hint}"))))
        });
    }
    let text = given::text(Path::new(name), given::TEXT_BYTES).map_err(|error| {
        AppError::Input(match error.kind() {
            ErrorKind::InvalidData => format!("{name} is not text in UTF-8: is it a study definition?"),
            _ => format!("cannot read the study definition {name}: {error}; presets have no .toml in their names (threadwise list)"),
        })
    })?;
    StudyFile::parse(&text, name).map_err(AppError::input)
}

/// The study for this machine, and the plan's line about a server that is bound as a whole.
fn resolved(
    args: &RunArgs,
    file: &StudyFile,
    topology: &Topology,
) -> Result<(Study, Option<String>), AppError> {
    let mut overrides = overrides(args, file, topology)?;
    let resolve = |overrides: &Overrides| {
        let resolved = file.resolve(topology, overrides);
        resolved.map_err(|error| AppError::input(command::as_typed(error, args)))
    };
    let study = resolve(&overrides)?;
    if bound::is_asked(&study) {
        // Invalid options are refused before the server is asked.
        options::check(&study, args)?;
    }
    let allow_busy = args.measure.allow_busy || args.measure.plan;
    let Some(Decided { word, remark }) = bound::decide(&study, topology, allow_busy)? else {
        return Ok((study, None));
    };
    overrides.engine_options.insert(AFFINITY.to_owned(), OptionValue::Text(word.to_owned()));
    Ok((resolve(&overrides)?, remark))
}

fn overrides(args: &RunArgs, file: &StudyFile, topology: &Topology) -> Result<Overrides, AppError> {
    let seed = match args.measure.seed.or(file.seed()) {
        Some(seed) => seed,
        None => external::seed(file, args.arm.as_deref(), commands::drawn_seed)?,
    };
    let of_list = worklist::options(args, file.workload())?;
    // For a work list it is the recipe.
    let named = args.engine.as_deref().filter(|_| *file.workload() != Workload::WorkList).map(engines::named);
    let (engine, mut engine_options) = match named.transpose()? {
        Some((engine, options)) => (Some(engine), options),
        None => (None, Options::new()),
    };
    let given = |(key, value): &(String, String)| (key.clone(), option_value(value));
    engine_options.extend(args.engine_option.iter().map(given));
    let engine_properties = program::properties(engine.as_deref().unwrap_or_else(|| file.engine()))?;
    Ok(Overrides {
        engine,
        engine_properties,
        engine_options,
        budget_s: args.measure.budget,
        until: args.until,
        margin: args.measure.margin,
        blocks: args.measure.blocks,
        long_windows: args.long_windows,
        seed: Some(seed),
        rounds: args.slices.rounds,
        slice_ms: args.slices.slice.map(|seconds| seconds * 1e3),
        rewarm_ms: args.slices.rewarm.map(|seconds| seconds * 1e3),
        orders: args.sweep.clone(),
        compares: args.compare.clone(),
        sessions: args.sessions.clone().or_else(|| args.streams.clone()),
        dops: args.dop.clone(),
        jobs: args.jobs.clone(),
        options: [
            command::first_metric(args, file.workload())?,
            command::options(&args.commands)?,
            of_list,
            transaction::options(&args.transactions)?,
            rate::options(args),
        ]
        .into_iter()
        .flatten()
        .chain(args.set.iter().map(given).map(|option| worklist::stored(option, file.workload())))
        .collect(),
        factors: factors::levels(args)?,
        versions: args.versions.as_ref().map(|versions| {
            versions.each_ref().map(|settings| settings.iter().map(given).collect::<Options>())
        }),
        placements: args.placement.clone(),
        memory: args.memory.first().cloned(),
        more_memory: args.memory.iter().skip(1).cloned().collect(),
        service: args.service.clone(),
        quota: Quota::read(Path::new("/")).map_err(AppError::failed)?,
        memory_limit_bytes: Some(guard::memory_limit_bytes(Path::new("/"), topology.limits.memory_bytes)),
        memory_rule: guard::memory_rule(Path::new("/"), topology.limits.memory_bytes),
    })
}

/// New prices and bound, completed by earlier ones.
fn asked(args: &RunArgs, before: Asked) -> Asked {
    let p99_ns = args.rates.slo.map(|seconds| seconds * 1e9);
    Asked { prices: args.prices.over(before.prices), ..Asked { prices: None, p99_ns }.over(before) }
}

/// The program of the study's engine, and the versions for the result file.
fn engine(study: &Study) -> Result<(Program, Versions), AppError> {
    let name = &study.engine;
    program::check_workload(study)?;
    let found = program::find(study)?;
    let mut versions = found.versions.clone();
    match engines::find(name) {
        Some(engine) => {
            for treatments in study.instances() {
                let options = study.engine_options_of(&study.treatments[treatments[0]]);
                let version = engine.version(&options).map_err(|error| AppError::engine(&error))?;
                if !versions.contains(&version) {
                    versions.push(version);
                }
            }
        }
        None if versions.is_empty() => versions.push(program::hello(&found.worker)?.version),
        None => {}
    }
    let engine_version = versions.join(" and ");
    let created_utc = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let program = env!("CARGO_PKG_VERSION").to_owned();
    Ok((found, Versions { program, engine: name.clone(), engine_version, created_utc }))
}

/// The plan's lines about disks, connections and unchecked settings; refuses a study that would fill a disk or use
/// connections that others need.
fn remarks(args: &RunArgs, study: &Study, program: &Program) -> Result<Vec<String>, AppError> {
    let data_root = args.measure.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let space = space::check(study, program, &data_root)?;
    let connections = space::check_connections(study)?;
    let quota = study.quota.map(|quota| quota_remark(study, &quota));
    Ok(space.into_iter().chain(connections).chain(unchecked_settings(study, program)).chain(quota).collect())
}

/// The effect of a quota on the plan.
fn quota_remark(study: &Study, quota: &Quota) -> String {
    let [period, idle, before] = [quota.period_ns, quota.idle_ns(), study.design.rewarm_ns.unwrap_or(0)]
        .map(|ns| numbers::nanoseconds(ns as f64));
    let slices = match study.is_fixed_work() {
        true => format!("nothing runs for {idle} before each run"),
        false => format!(
            "slices are whole periods, nothing runs for {idle} before each, and its load {before} uncounted"
        ),
    };
    format!("CPU quota of {} CPUs in periods of {period}: {slices}", numbers::set_number(quota.cpus))
}

/// A server checks its settings only when it starts.
fn unchecked_settings(study: &Study, program: &Program) -> Option<String> {
    let is_setting = |name: &String| name.starts_with("settings.");
    let has_settings = study.engine_options.keys().any(is_setting)
        || study.treatments.iter().any(|treatment| treatment.options.keys().any(is_setting));
    (has_settings && program.check_args.is_none()).then(|| {
        format!(
            "Settings: {} checks them when it starts for the study; an unknown name then ends the \
             study",
            study.engine
        )
    })
}

fn resume(file: &Path, topology: &Topology, versions: &Versions) -> Result<Store, AppError> {
    let expected = Expectation {
        topology,
        program: &versions.program,
        engine: &versions.engine,
        engine_version: &versions.engine_version,
        study: None,
    };
    let mut store = Store::resume(file, &expected).map_err(AppError::input)?;
    if let Some(properties) = engines::properties(&versions.engine) {
        store.assume_engine(properties);
    }
    Ok(store)
}

fn html_path(args: &RunArgs, output: &Path) -> Result<Option<PathBuf>, AppError> {
    if args.measure.no_html {
        return Ok(None);
    }
    let path = args.measure.html.clone().unwrap_or_else(|| output.with_extension("html"));
    if path == output {
        let why = "the result file and the report need different names: give --html, or --no-html";
        return Err(AppError::Input(format!("{}: {why}", path.display())));
    }
    Ok(Some(path))
}

fn check_data_dir(args: &RunArgs) -> Result<(), AppError> {
    match &args.measure.data_dir {
        Some(folder) if !folder.is_dir() => Err(AppError::Input(format!(
            "--data-dir {} is not a folder: create it, or give another one",
            folder.display()
        ))),
        _ => Ok(()),
    }
}
