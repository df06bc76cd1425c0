//! Resolves a study definition with a topology and the command line's settings.

use std::collections::BTreeMap;

use threadwise_machine::{Draw, Memory, Pin, PlacementError, Topology};
use toml::Spanned;

use super::assemble::{self, MAX_TREATMENTS, Parts, too_many};
use super::check::{self, ALONE};
use super::dop;
use super::error::LoadError;
use super::external;
use super::file::StudyFile;
use super::jobs;
use super::overrides::Overrides;
use super::policy::Policies;
use super::quota::{self, Reached};
use super::raw::{RawTreatment, converted};
use super::seat::{Group, Seat, default_sessions, is_same, suffix};
use super::sweep::{self, Sweep};
use super::values::{pin, session_list};
use super::{arms, asked, budget, data, factors, versions};
use crate::study::MIN_BLOCKS;
use crate::{Instance, OptionValue, Options, Role, Study, Workload, command, tpch, worklist};

/// Default seed.
const DEFAULT_SEED: u64 = 1;

/// See [`StudyFile::resolve`].
pub(super) fn expand(
    file: &StudyFile,
    topology: &Topology,
    overrides: &Overrides,
) -> Result<Study, LoadError> {
    let raw = &file.raw;
    let mut left_out = Vec::new();
    let seed = overrides.seed.or(raw.seed).unwrap_or(DEFAULT_SEED);
    let engine = overrides.engine.clone().unwrap_or_else(|| raw.engine.get_ref().clone());
    let properties = &overrides.engine_properties;
    let no_service = (!properties.service_threads).then(|| check::no_service_threads(&engine));
    if let Some(fault) = no_service.as_ref().filter(|_| engine == *raw.engine.get_ref()) {
        check::no_service(raw, &file.source, fault)?;
    }
    let policies = Policies::new(file, topology, overrides, seed);
    policies.refuse_unused(overrides)?;
    jobs::refuse_unused(file, overrides)?;
    overrides.versions.iter().try_for_each(|versions| versions::check(file, versions))?;
    external::check_overrides(file, overrides)?;
    let (mut absent, mut aliases) = (Vec::new(), BTreeMap::new());
    let aside = (&mut left_out, &mut absent, &mut aliases);
    let mut seats = seats(file, topology, overrides, &policies, aside)?;
    let (dops, points) = dop::seats(file, topology, overrides, &policies, &seats[0], &mut left_out)?;
    seats.extend(dops);
    let (of_jobs, job_points) = jobs::seats(file, overrides, &policies, &seats[0], &mut left_out)?;
    seats.extend(of_jobs);
    let sweep = swept(file, (topology, overrides), &policies, &seats, &mut left_out)?;
    let mut groups = groups(file, overrides, &seats)?;
    groups.iter_mut().for_each(|group| group.aliases.clone_from(&aliases));
    if let Some(sweep) = &sweep {
        add_sweep(&mut groups, sweep, file, &mut left_out);
    }
    let both_threads = arms::fit(&mut groups, topology, &mut left_out);
    if absent.is_empty() {
        something_compared(&groups, &left_out, file)?;
    }
    no_service_placed(no_service, &groups)?;
    if raw.workload.get_ref().runs_whole() {
        float_whole(&mut groups);
    }
    let engine_options = engine_options(file, overrides);
    let design = budget::design(file, overrides, &engine_options)?;
    let quota = quota::of_engine(overrides, &engine_options);
    let reached = quota.and_then(|quota| quota::prepare(&mut groups, quota, file, (topology, properties)));
    add_metrics(&mut groups, file)?;
    left_out.extend(sized(&mut groups, file, (topology, overrides), &absent)?);
    let mut study = Study {
        name: raw.name.get_ref().clone(),
        title: title(file, overrides),
        seed,
        engine,
        engine_properties: Some(properties.clone()),
        engine_options,
        workload: raw.workload.get_ref().clone(),
        treatments: Vec::new(),
        comparisons: Vec::new(),
        design,
        quota: None,
        external: None,
        left_out,
    };
    let parts = Parts { sweep: sweep.as_ref(), dops: &points, jobs: &job_points, reached: reached.as_ref() };
    assemble::assemble(&mut study, &groups, &parts, file, (topology, overrides))?;
    study.comparisons.extend(arms::comparisons(&groups, &both_threads, &|group| suffix(group, &groups)));
    asked::add(&mut study, &groups, &overrides.compares)?;
    settle(&mut study, reached.as_ref(), file, overrides)?;
    Ok(study)
}

/// Derives what depends on all treatments: slices under a quota, external arms, rounds that fit the budget.
fn settle(
    study: &mut Study,
    reached: Option<&Reached<'_>>,
    file: &StudyFile,
    overrides: &Overrides,
) -> Result<(), LoadError> {
    if let Some(reached) = reached {
        quota::fit(study, reached, overrides);
    }
    external::settle(study, file);
    budget::settle(study, file, overrides)
}

/// Refuses seats that place service threads of an engine without any.
fn no_service_placed(fault: Option<String>, groups: &[Group]) -> Result<(), LoadError> {
    let is_placed = groups.iter().flat_map(|group| &group.seats).any(|seat| seat.service.is_some());
    match fault.filter(|_| is_placed) {
        Some(why) => Err(LoadError::Override { option: "service".to_owned(), why }),
        None => Ok(()),
    }
}

/// Sets the treatments' data, and adds those that another external arm may have, with the same data. Returns what is
/// left out for its size.
fn sized(
    groups: &mut [Group],
    file: &StudyFile,
    (topology, overrides): (&Topology, &Overrides),
    absent: &[Seat],
) -> Result<Vec<String>, LoadError> {
    let mut left_out = Vec::new();
    if *file.workload() == Workload::LogicalIo {
        let room = data::Room::new(overrides, file.is_preset);
        left_out = data::size_groups(groups, topology, overrides.engine_properties.block_bytes, &room)?;
    }
    groups.iter_mut().for_each(|group| group.seats.extend(absent.to_vec()));
    Ok(left_out)
}

/// The session sweep, unless the machine is too large for one.
fn swept(
    file: &StudyFile,
    (topology, overrides): (&Topology, &Overrides),
    policies: &Policies,
    seats: &[Seat],
    left_out: &mut Vec<String>,
) -> Result<Option<Sweep>, LoadError> {
    Ok(match sweep::exceeded(file, topology, overrides) {
        Some(most) => {
            left_out.push(too_large(file, topology, most)?);
            None
        }
        None => sweep::sweep(file, topology, overrides, policies, seats, left_out)?,
    })
}

/// Why a large machine has no session sweep, and how long one would take.
fn too_large(file: &StudyFile, topology: &Topology, most: u32) -> Result<String, LoadError> {
    let allowed = topology.allowed().len();
    if !file.is_preset {
        return Ok(format!(
            "session sweep: {allowed} logical CPUs are allowed, more than max_logical_cpus = {most}"
        ));
    }
    let study = expand(&StudyFile::preset("session-sweep")?, topology, &Overrides::default())?;
    let seconds = (study.block_floor_s() * f64::from(MIN_BLOCKS)).ceil();
    Ok(format!(
        "session sweep: left out for time, on {allowed} logical CPUs; `threadwise run session-sweep` takes about {seconds} s"
    ))
}

/// A treatment with one process may use its whole placement, however many sessions it has.
fn float_whole(groups: &mut [Group]) {
    for group in groups {
        for seat in &mut group.seats {
            let options = if seat.set.contains_key("each") { &seat.set } else { &group.options };
            if command::each(options) == command::Each::Treatment {
                seat.pin = Pin::Set;
            }
        }
    }
}

/// The final note of every work list, and what the study reads from it.
fn add_metrics(groups: &mut [Group], file: &StudyFile) -> Result<(), LoadError> {
    if *file.workload() != Workload::WorkList {
        return Ok(());
    }
    let parser = command::parsers::find(worklist::PARSER)
        .map_err(|error| file.source.at(file.raw.workload.span(), error.to_string()))?;
    for group in groups {
        for (key, value) in &parser.options {
            group.options.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    Ok(())
}

/// The file's title, with what the command line changed in all treatments.
fn title(file: &StudyFile, overrides: &Overrides) -> String {
    let raw = &file.raw;
    let has_own =
        raw.baseline.memory.is_some() || raw.treatments.iter().any(|treatment| treatment.memory.is_some());
    match &overrides.memory {
        Some(memory) if *memory != Memory::Local && !has_own => {
            format!("{} (memory={memory})", file.title())
        }
        _ => file.title().to_owned(),
    }
}

/// The file's engine options, which apply to the file's engine alone.
fn engine_options(file: &StudyFile, overrides: &Overrides) -> Options {
    let is_own = overrides.engine.as_ref().is_none_or(|engine| engine == file.raw.engine.get_ref());
    let mut options = if is_own { converted(&file.raw.engine_options) } else { Options::new() };
    options.extend(overrides.engine_options.clone());
    options
}

/// Baseline, twin, and the treatments that this machine can run. Those that another external arm may run are `absent`.
fn seats(
    file: &StudyFile,
    topology: &Topology,
    overrides: &Overrides,
    policies: &Policies,
    (left_out, absent, aliases): (&mut Vec<String>, &mut Vec<Seat>, &mut BTreeMap<String, String>),
) -> Result<Vec<Seat>, LoadError> {
    let raw = &file.raw.baseline;
    let text = raw.placement.as_ref().map_or("1c1t", |text| text.get_ref());
    let cpus = default_sessions(text, topology).map_err(|error| {
        let span = raw.placement.as_ref().map_or(0..0, Spanned::span);
        file.source.at(span, format!("the baseline: {error}"))
    })?;
    let is_schedule = *file.workload() == Workload::WorkList && file.raw.jobs.is_none();
    let sessions = if is_schedule { jobs::number(overrides, cpus) } else { 1 };
    let alone = Seat {
        name: raw.name.as_ref().map_or(ALONE, |name| name.get_ref()).to_owned(),
        placement: text.to_owned(),
        sessions: raw.sessions.as_ref().map_or(sessions, |count| *count.get_ref()),
        pin: pin(raw.pin.as_ref(), file.raw.workload.get_ref(), &file.source)?,
        memory: policies.of(raw.memory.as_ref())?,
        service: policies.service(raw.service.as_ref())?,
        set: converted(&raw.set),
        instance: Instance::default(),
        version: None,
        role: Role::Baseline,
    };
    if let Some((service, lacks)) = policies.service_lacks(&alone.service, text) {
        return Err(policies.service_refusal(&service, raw.service.as_ref(), &lacks));
    }
    if let Some(lacks) = policies.lacks(&alone.memory, text) {
        return Err(policies.refusal(&alone.memory, raw.memory.as_ref(), &lacks));
    }
    let twin = Seat { name: format!("{}'", alone.name), role: Role::BaselineTwin, ..alone.clone() };
    let mut seats = vec![alone, twin];
    let is_dop = file.raw.dop.is_some() && (overrides.placements.is_some() || overrides.dops.is_some());
    let is_jobs = file.raw.jobs.is_some() && (overrides.placements.is_some() || overrides.jobs.is_some());
    if is_dop || is_jobs {
        return Ok(seats);
    }
    if let Some(placements) = &overrides.placements {
        let placed = asked_for(placements, topology, overrides, policies)?;
        if let Some(versions) = &overrides.versions {
            return Ok(versions::seats(versions, placed));
        }
        seats.extend(placed);
        return Ok(seats);
    }
    let is_external = file.raw.external.is_some();
    for treatment in &file.raw.treatments {
        match listed(treatment, file, (topology, overrides), policies)? {
            Err(_) if is_external => absent.push(external::absent(treatment, file, policies)?),
            Ok(seat) => match twin_of(&seat, &seats, policies).filter(|_| treatment.optional) {
                Some(_) if is_external => absent.push(seat),
                Some(other) => {
                    left_out.push(format!("{}: the same as {other} on this machine", seat.name));
                    aliases.insert(seat.name, other);
                }
                None => seats.push(seat),
            },
            Err(line) => left_out.push(line),
        }
    }
    Ok(seats)
}

/// The name of an earlier treatment that is the same here, such as `no-smt` for `all` without SMT.
fn twin_of(seat: &Seat, earlier: &[Seat], policies: &Policies) -> Option<String> {
    let (topology, seed) = (policies.topology, policies.seed);
    let draws: Vec<Draw> = (0..MIN_BLOCKS).map(|block| Draw::for_block(topology, seed, block)).collect();
    let mut compared = earlier.iter().filter(|other| other.role == Role::Compared);
    compared.find(|other| is_same(other, seat, topology, &draws)).map(|other| other.name.clone())
}

/// A treatment of the file, or the line that says why it is left out.
fn listed(
    treatment: &RawTreatment,
    file: &StudyFile,
    (topology, overrides): (&Topology, &Overrides),
    policies: &Policies,
) -> Result<Result<Seat, String>, LoadError> {
    let text = &treatment.placement;
    // Another external arm may have what this machine lacks.
    let is_optional = treatment.optional || file.raw.external.is_some();
    let name = treatment.name.as_ref().unwrap_or(text).get_ref().clone();
    let sessions = match default_sessions(text.get_ref(), topology) {
        Ok(sessions) => sessions,
        Err(PlacementError::Lacking { lacks, .. }) if is_optional => {
            return Ok(Err(format!("{name}: {lacks}")));
        }
        Err(error) => {
            let message = format!("{error}; `optional = true` would leave the treatment out");
            return Err(file.source.at(text.span(), message));
        }
    };
    let memory = policies.of(treatment.memory.as_ref())?;
    match policies.lacks(&memory, text.get_ref()) {
        None => {}
        Some(lacks) if is_optional => return Ok(Err(format!("{name}: {lacks}"))),
        Some(lacks) => {
            let why = format!("{name}: {lacks}; `optional = true` would leave the treatment out");
            return Err(policies.refusal(&memory, treatment.memory.as_ref(), &why));
        }
    }
    let service = policies.service(treatment.service.as_ref())?;
    match policies.service_lacks(&service, text.get_ref()) {
        None => {}
        Some((_, lacks)) if is_optional => return Ok(Err(format!("{name}: {lacks}"))),
        Some((service, lacks)) => {
            let why = format!("{name}: {lacks}; `optional = true` would leave the treatment out");
            return Err(policies.service_refusal(&service, treatment.service.as_ref(), &why));
        }
    }
    let workload = file.workload();
    let sessions = match workload {
        // A query is one stream, however many threads it has.
        Workload::Tpch | Workload::ParallelScan => 1,
        Workload::WorkList => jobs::number(overrides, sessions),
        _ => sessions,
    };
    Ok(Ok(Seat {
        name,
        placement: text.get_ref().clone(),
        sessions: treatment.sessions.as_ref().map_or(sessions, |count| *count.get_ref()),
        pin: pin(treatment.pin.as_ref(), workload, &file.source)?,
        memory,
        service,
        set: converted(&treatment.set),
        instance: Instance::default(),
        version: None,
        role: Role::Compared,
    }))
}

/// The treatments of `--placement` and `--sessions`.
fn asked_for(
    placements: &[String],
    topology: &Topology,
    overrides: &Overrides,
    policies: &Policies,
) -> Result<Vec<Seat>, LoadError> {
    let refused = |why: String| LoadError::Override { option: "--placement".to_owned(), why };
    let mut seats: Vec<Seat> = Vec::new();
    for text in placements {
        let default = default_sessions(text, topology).map_err(|error| refused(error.to_string()))?;
        let memory = policies.of(None)?;
        if let Some(lacks) = policies.lacks(&memory, text) {
            return Err(policies.refusal(&memory, None, &format!("{text}: {lacks}")));
        }
        let service = policies.service(None)?;
        if let Some((service, lacks)) = policies.service_lacks(&service, text) {
            return Err(policies.service_refusal(&service, None, &format!("{text}: {lacks}")));
        }
        let counts = match &overrides.sessions {
            Some(counts) => session_list(counts)?,
            None => vec![jobs::asked(overrides).unwrap_or(default)],
        };
        for &sessions in &counts {
            let text = text.trim();
            let name = if counts.len() > 1 { format!("{text} s{sessions}") } else { text.to_owned() };
            if seats.iter().any(|seat| seat.name == name) {
                return Err(refused(format!("'{text}' appears twice")));
            }
            seats.push(Seat {
                name,
                placement: text.to_owned(),
                sessions,
                pin: Pin::Each,
                memory: memory.clone(),
                service: service.clone(),
                set: Options::new(),
                instance: Instance::default(),
                version: None,
                role: Role::Compared,
            });
        }
    }
    if seats.is_empty() {
        return Err(refused("no placement is given".to_owned()));
    }
    Ok(seats)
}

/// Refuses to set for all treatments what they set themselves.
fn set_twice(overrides: &Overrides, seats: &[Seat]) -> Result<(), LoadError> {
    let is_of_seat = |key: &String| seats.iter().any(|seat| seat.set.contains_key(key));
    let given = overrides.options.keys().map(|key| ("--set", key));
    let given = given.chain(overrides.factors.keys().map(|key| ("--factor", key)));
    let Some((option, key)) = given.into_iter().find(|(_, key)| is_of_seat(key)) else { return Ok(()) };
    let why = match key.as_str() {
        dop::DOP => "treatments have their own: give --dop LIST for the degrees of parallelism".to_owned(),
        _ => "treatments of this study set it themselves; change it there".to_owned(),
    };
    Err(LoadError::Override { option: format!("{option} {key}"), why })
}

/// A power test has one stream.
fn one_stream(file: &StudyFile, overrides: &Overrides, seats: &[Seat]) -> Result<(), LoadError> {
    let mut options = converted(&file.raw.options);
    options.extend(overrides.options.clone());
    let is_power = *file.workload() == Workload::Tpch && tpch::test(&options) == tpch::Test::Power;
    let Some(seat) = seats.iter().find(|seat| is_power && seat.sessions != 1) else { return Ok(()) };
    let why = format!("treatment '{}' has {} streams, and test = power has one", seat.name, seat.sessions);
    let way = "use the preset tpch-streams, or test = throughput, for several";
    Err(file.source.at(0..0, format!("{why}; {way}")))
}

/// One group for each combination of factor levels, the first factor changing slowest.
fn groups(file: &StudyFile, overrides: &Overrides, seats: &[Seat]) -> Result<Vec<Group>, LoadError> {
    set_twice(overrides, seats)?;
    one_stream(file, overrides, seats)?;
    let workload = file.workload();
    for (key, value) in &overrides.options {
        if let Some(why) = check::option_fault(workload, key, value) {
            return Err(LoadError::Override { option: format!("--set {key}={value}"), why });
        }
    }
    let mut options = converted(&file.raw.options);
    options.extend(overrides.options.clone());
    let mut combinations: Vec<Options> = vec![Options::new()];
    for (factor, levels) in factors::factors(file, overrides)? {
        if combinations.len() * levels.len() * seats.len() > MAX_TREATMENTS {
            return Err(too_many(file));
        }
        let with = |combination: &Options, level: &OptionValue| {
            combination.clone().into_iter().chain([(factor.clone(), level.clone())]).collect()
        };
        combinations = combinations
            .iter()
            .flat_map(|combination| levels.iter().map(move |level| with(combination, level)))
            .collect();
    }
    let group = |levels: Options| Group {
        options: options.clone().into_iter().chain(factors::options(&levels)).collect(),
        arm: arms::of(&levels),
        labels: levels.iter().map(|(factor, level)| (factor.clone(), level.to_string())).collect(),
        levels,
        seats: seats.to_vec(),
        aliases: BTreeMap::new(),
        has_sweep: false,
    };
    Ok(combinations.into_iter().map(group).collect())
}

fn add_sweep(groups: &mut [Group], sweep: &Sweep, file: &StudyFile, left_out: &mut Vec<String>) {
    let only = file.raw.sweep.as_ref().map(|raw| converted(&raw.only)).unwrap_or_default();
    for group in &mut *groups {
        group.has_sweep = only.iter().all(|(factor, level)| group.levels.get(factor) == Some(level));
        if group.has_sweep {
            group.seats.extend(sweep.seats.clone());
        }
    }
    if !groups.iter().any(|group| group.has_sweep) {
        let only: Vec<String> = only.iter().map(|(factor, level)| format!("{factor}={level}")).collect();
        left_out.push(format!("session sweep: it runs with {} alone", only.join(" and ")));
    }
}

/// Refuses a study of A and A′ alone, which would run for its whole budget without a result.
fn something_compared(groups: &[Group], left_out: &[String], file: &StudyFile) -> Result<(), LoadError> {
    if groups.iter().flat_map(|group| &group.seats).any(|seat| seat.role == Role::Compared) {
        return Ok(());
    }
    let left_out = match left_out.is_empty() {
        true => String::new(),
        false => format!("; left out here: {}", left_out.join("; ")),
    };
    let message = format!(
        "nothing to compare: no treatment and no sweep point differs from the baseline{left_out}; add a placement or more sessions"
    );
    Err(file.source.at(0..0, message))
}
