//! Resolves a study definition with a topology and the command line's settings.

use std::collections::BTreeMap;

use threadwise_machine::{Memory, Pin, Placement, Topology};

use super::axis::{Axis, DOP, Kind, session_list};
use super::candidate::{Candidate, Group, Resolver, default_sessions, suffix, varying};
use super::check::{no_service_threads, option_fault};
use super::definition::TreatmentSection;
use super::overrides::Overrides;
use super::quota::Reached;
use super::source::{LoadError, StudyFile};
use super::{comparisons, factors, quota, sizes, versions};
use crate::instance::{DEVICE_FACTOR, ENGINE_FACTOR};
use crate::study::MIN_BLOCKS;
use crate::{
    Instance, OptionValue, Options, Role, Study, Treatment, Workload, command, tpch, version, worklist,
};

/// Default seed.
const DEFAULT_SEED: u64 = 1;

/// Maximum number of treatments of a study: more workers would not fit a machine.
pub const MAX_TREATMENTS: usize = 500;

/// See [`StudyFile::resolve`].
pub(super) fn expand(
    file: &StudyFile,
    topology: &Topology,
    overrides: &Overrides,
) -> Result<Study, LoadError> {
    let definition = &file.definition;
    let seed = overrides.seed.or(definition.seed).unwrap_or(DEFAULT_SEED);
    let engine = overrides.engine.clone().unwrap_or_else(|| definition.engine.clone());
    let properties = &overrides.engine_properties;
    let no_service = (!properties.service_threads).then(|| no_service_threads(&engine));
    if let Some(fault) = no_service.as_ref().filter(|_| engine == definition.engine) {
        file.no_service(fault)?;
    }
    let resolver = Resolver::new(file, topology, overrides, seed);
    resolver.refuse_unused()?;
    overrides.versions.iter().try_for_each(|versions| versions::check(file, versions))?;
    resolver.check_external()?;
    let AvailableTreatments { mut candidates, absent, aliases, mut left_out } = resolver.treatments()?;
    resolver.check_numbers()?;
    let axis = match resolver.exceeded() {
        Some(most) => {
            left_out.push(resolver.too_large(most)?);
            None
        }
        None => Axis::of(&resolver, &candidates, &mut left_out)?,
    };
    let sweep = axis.as_ref().filter(|axis| axis.kind == Kind::Sessions);
    if let Some(section) = axis.as_ref().filter(|axis| axis.kind != Kind::Sessions) {
        candidates.extend(section.candidates.clone());
    }
    candidates.extend(resolver.other_policies(&candidates, &mut left_out)?);
    let mut groups = resolver.groups(&candidates, &aliases)?;
    if let Some(sweep) = sweep {
        resolver.add_sweep(&mut groups, sweep, &mut left_out);
    }
    let both_threads = factors::leave_out_siblings(&mut groups, topology, &mut left_out);
    if absent.is_empty() {
        resolver.something_compared(&groups, &left_out)?;
    }
    let mut placed = groups.iter().flat_map(|group| &group.candidates);
    if let Some(why) = no_service.filter(|_| placed.any(|candidate| candidate.service.is_some())) {
        return Err(LoadError::option("service", why));
    }
    if definition.workload.runs_whole() {
        float_whole(&mut groups);
    }
    let engine_options = resolver.engine_options();
    let design = resolver.design(&engine_options)?;
    let quota = quota::of_engine(overrides, &engine_options);
    let reached = quota.and_then(|quota| Reached::prepare(&mut groups, quota, file, topology, properties));
    resolver.add_metrics(&mut groups)?;
    if definition.workload == Workload::LogicalIo {
        left_out.extend(sizes::size_groups(&mut groups, topology, overrides, file.is_preset)?);
    }
    // Those that another external arm may have get the same data.
    groups.iter_mut().for_each(|group| group.candidates.extend(absent.clone()));
    let suffixes: Vec<String> = groups.iter().map(|group| suffix(group, &groups)).collect();
    groups.iter_mut().zip(suffixes).for_each(|(group, suffix)| group.suffix = suffix);
    let mut study = Study {
        name: definition.name.clone(),
        title: resolver.title(),
        seed,
        engine,
        engine_properties: Some(properties.clone()),
        engine_options,
        workload: definition.workload.clone(),
        treatments: treatments(&groups),
        comparisons: Vec::new(),
        design,
        quota: None,
        external: None,
        left_out,
    };
    resolver.check_names(&study)?;
    comparisons::add(&mut study, &groups, axis.as_ref(), reached.as_ref(), &resolver, &both_threads)?;
    if let Some(reached) = &reached {
        reached.fit(&mut study, overrides);
    }
    resolver.settle_external(&mut study);
    resolver.settle(&mut study)?;
    Ok(study)
}

/// The treatments that a machine has.
#[derive(Default)]
struct AvailableTreatments {
    /// Baseline, twin, and what is compared with them.
    candidates: Vec<Candidate>,
    /// What another external arm may have.
    absent: Vec<Candidate>,
    /// Treatments that equal another one here, and its name.
    aliases: BTreeMap<String, String>,
    left_out: Vec<String>,
}

impl AvailableTreatments {
    /// Names a treatment that is left out and why, in one line with others that are for the same reason.
    fn leave_out(&mut self, name: &str, why: String) {
        let same = |line: &&mut String| line.split_once(": ").is_some_and(|(_, other)| other == why);
        match self.left_out.iter_mut().find(same) {
            Some(line) => line.insert_str(line.find(": ").unwrap_or(0), &format!(", {name}")),
            None => self.left_out.push(format!("{name}: {why}")),
        }
    }
}

impl Resolver<'_> {
    /// Baseline, twin, and the treatments of the file or of the command line.
    fn treatments(&self) -> Result<AvailableTreatments, LoadError> {
        let Overrides { placements, dops, jobs, versions, .. } = self.overrides;
        let alone = self.baseline()?;
        let candidates = vec![alone.clone(), alone.twin()];
        let mut found = AvailableTreatments { candidates, ..AvailableTreatments::default() };
        let is_dop = self.definition.dop.is_some() && (placements.is_some() || dops.is_some());
        let is_jobs = self.definition.jobs.is_some() && (placements.is_some() || jobs.is_some());
        if is_dop || is_jobs {
            return Ok(found);
        }
        if let Some(placements) = placements {
            let placed = self.asked_for(placements)?;
            match versions {
                Some(versions) => found.candidates = versions::candidates(versions, placed),
                None => found.candidates.extend(placed),
            }
            return Ok(found);
        }
        let is_external = self.definition.external.is_some();
        for (at, treatment) in self.definition.treatments.iter().enumerate() {
            let candidate = match self.listed(treatment, at)? {
                Ok(candidate) => candidate,
                // Sessions are resolved in the arm that has the placement.
                Err(_) if is_external => {
                    let usual = if treatment.placement.is_pair() { 2 } else { 1 };
                    found.absent.push(self.unchecked(treatment, usual, Role::Compared));
                    continue;
                }
                Err(lacks) => {
                    found.leave_out(treatment.name(), lacks);
                    continue;
                }
            };
            let mut compared = found.candidates.iter().filter(|other| other.role == Role::Compared);
            let same = || compared.find(|other| self.is_same(other, &candidate)).map(|other| &other.name);
            match treatment.optional.then(same).flatten() {
                Some(_) if is_external => found.absent.push(candidate),
                Some(other) => {
                    let other = other.clone();
                    found.leave_out(&candidate.name, format!("the same as {other} on this machine"));
                    found.aliases.insert(candidate.name, other);
                }
                None => found.candidates.push(candidate),
            }
        }
        Ok(found)
    }

    fn baseline(&self) -> Result<Candidate, LoadError> {
        let asked = self.definition.baseline.treatment();
        self.candidate(&asked, Role::Baseline).map_err(|lack| match lack.key {
            "placement" => {
                self.file.source.at(&["baseline", "placement"], format!("the baseline: {}", lack.why))
            }
            _ => self.refusal(&lack, &asked, &["baseline"], lack.why.clone()),
        })
    }

    /// Each treatment without a memory policy of its own, and the baseline, with the other policies of the command line.
    ///
    /// # Errors
    /// The machine lacks memory for the baseline, or a policy is given twice. Other treatments are left out and named.
    fn other_policies(
        &self,
        candidates: &[Candidate],
        left_out: &mut Vec<String>,
    ) -> Result<Vec<Candidate>, LoadError> {
        let Overrides { memory: Some(first), more_memory, .. } = self.overrides else {
            return Ok(Vec::new());
        };
        let mut found: Vec<Candidate> = Vec::new();
        for (at, memory) in more_memory.iter().enumerate() {
            let refused = |why: String| LoadError::option(format!("--memory {memory}"), why);
            if memory == first || more_memory[..at].contains(memory) {
                return Err(refused("it appears twice".to_owned()));
            }
            let without_own = candidates.iter().filter(|one| one.memory == *first);
            for one in without_own.filter(|one| one.role != Role::BaselineTwin) {
                let (name, role) = (format!("{} {memory}", one.name), Role::Compared);
                match self.memory_lacks(memory, &one.placement) {
                    // Without it for one session there is nothing to compare.
                    Some(lacks) if one.role == Role::Baseline => return Err(refused(lacks)),
                    Some(lacks) => left_out.push(format!("{name}: {lacks}")),
                    None => found.push(Candidate { name, role, memory: memory.clone(), ..one.clone() }),
                }
            }
        }
        Ok(found)
    }

    /// A treatment of the file, or what the machine lacks for it.
    fn listed(
        &self,
        treatment: &TreatmentSection,
        at: usize,
    ) -> Result<Result<Candidate, String>, LoadError> {
        // Another external arm may have what this machine lacks.
        let is_optional = treatment.optional || self.definition.external.is_some();
        let lack = match self.candidate(treatment, Role::Compared) {
            Ok(candidate) => return Ok(Ok(candidate)),
            Err(lack) => lack,
        };
        let path = ["treatment", &at.to_string()];
        let would = "`optional = true` would leave the treatment out";
        let name = treatment.name();
        match (lack.key, &lack.lacks) {
            (_, Some(lacks)) if is_optional => Ok(Err(lacks.clone())),
            ("placement", _) => {
                let why = format!("{}; {would}", lack.why);
                Err(self.file.source.at(&[&path[..], &["placement"]].concat(), why))
            }
            _ => Err(self.refusal(&lack, treatment, &path, format!("{name}: {}; {would}", lack.why))),
        }
    }

    /// The treatments of `--placement` and `--sessions`.
    fn asked_for(&self, placements: &[String]) -> Result<Vec<Candidate>, LoadError> {
        let refused = |why: String| LoadError::option("--placement", why);
        let mut candidates: Vec<Candidate> = Vec::new();
        for text in placements {
            let placement: Placement = text.parse().map_err(|error| refused(format!("{error}")))?;
            let asked = TreatmentSection { pin: Some(Pin::Each), ..TreatmentSection::of(placement.clone()) };
            let found = self.candidate(&asked, Role::Compared).map_err(|lack| match lack.key {
                "placement" => refused(lack.why),
                _ => self.refusal(&lack, &asked, &[], format!("{text}: {}", lack.why)),
            })?;
            let counts = match (&self.overrides.sessions, self.asked_jobs()) {
                (Some(counts), _) => session_list(counts)?,
                (None, Some(jobs)) => vec![jobs],
                (None, None) => {
                    let default = default_sessions(&placement, self.topology);
                    vec![default.map_err(|error| refused(error.to_string()))?]
                }
            };
            let text = &placement.text;
            for &sessions in &counts {
                let name = if counts.len() > 1 { format!("{text} s{sessions}") } else { text.clone() };
                if candidates.iter().any(|candidate| candidate.name == name) {
                    return Err(refused(format!("'{text}' appears twice")));
                }
                candidates.push(Candidate { name, sessions, ..found.clone() });
            }
        }
        if candidates.is_empty() {
            return Err(refused("no placement is given".to_owned()));
        }
        Ok(candidates)
    }

    /// One group for each combination of factor levels, the first factor changing slowest.
    fn groups(
        &self,
        candidates: &[Candidate],
        aliases: &BTreeMap<String, String>,
    ) -> Result<Vec<Group>, LoadError> {
        self.set_twice(candidates)?;
        let mut options = self.definition.options.0.clone();
        options.extend(self.overrides.options.clone());
        self.one_stream(&options, candidates)?;
        for (key, value) in &self.overrides.options {
            if let Some(why) = option_fault(&self.definition.workload, key, value) {
                return Err(LoadError::option(format!("--set {key}={value}"), why));
            }
        }
        let mut combinations: Vec<Options> = vec![Options::new()];
        for (factor, levels) in factors::factors(self.file, self.overrides)? {
            if combinations.len() * levels.len() * candidates.len() > MAX_TREATMENTS {
                return Err(self.too_many());
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
            arm: factors::arm(&levels),
            labels: levels.iter().map(|(factor, level)| (factor.clone(), level.to_string())).collect(),
            levels,
            suffix: String::new(),
            candidates: candidates.to_vec(),
            aliases: aliases.clone(),
            has_sweep: false,
        };
        Ok(combinations.into_iter().map(group).collect())
    }

    /// Refuses to set for all treatments what they set themselves.
    fn set_twice(&self, candidates: &[Candidate]) -> Result<(), LoadError> {
        let is_set = |key: &String| candidates.iter().any(|candidate| candidate.set.contains_key(key));
        let given = self.overrides.options.keys().map(|key| ("--set", key));
        let mut given = given.chain(self.overrides.factors.keys().map(|key| ("--factor", key)));
        let Some((option, key)) = given.find(|(_, key)| is_set(key)) else { return Ok(()) };
        let why = match key.as_str() {
            DOP => "treatments have their own: give --dop LIST for the degrees of parallelism",
            _ => "treatments of this study set it themselves; change it there",
        };
        Err(LoadError::option(format!("{option} {key}"), why))
    }

    /// A power test has one stream.
    fn one_stream(&self, options: &Options, candidates: &[Candidate]) -> Result<(), LoadError> {
        let is_power = self.definition.workload == Workload::Tpch && tpch::test(options) == tpch::Test::Power;
        candidates.iter().try_for_each(|Candidate { name, sessions, .. }| {
            let why = format!("treatment '{name}' has {sessions} streams, and test = power has one");
            let way = "use the preset tpch-streams, or test = throughput, for several";
            self.file.source.refuse_if(is_power && *sessions != 1, &[], format!("{why}; {way}"))
        })
    }

    /// Why a large machine has no session sweep, and how long one would take.
    fn too_large(&self, most: u32) -> Result<String, LoadError> {
        let allowed = self.topology.allowed().len();
        if !self.file.is_preset {
            return Ok(format!(
                "session sweep: {allowed} logical CPUs are allowed, more than max_logical_cpus = {most}"
            ));
        }
        let study = expand(&StudyFile::preset("session-sweep")?, self.topology, &Overrides::default())?;
        let seconds = (study.block_floor_s() * f64::from(MIN_BLOCKS)).ceil();
        Ok(format!(
            "session sweep: left out for time, on {allowed} logical CPUs; `threadwise run session-sweep` takes about {seconds} s"
        ))
    }

    /// The final note of every work list, and what the study reads from it.
    fn add_metrics(&self, groups: &mut [Group]) -> Result<(), LoadError> {
        if self.definition.workload != Workload::WorkList {
            return Ok(());
        }
        let parser = command::parsers::find(worklist::PARSER)
            .map_err(|error| self.file.source.at(&["workload"], error.to_string()))?;
        for group in groups {
            let given = std::mem::replace(&mut group.options, parser.options());
            group.options.extend(given);
        }
        Ok(())
    }

    /// The file's title, with what the command line changed in all treatments.
    fn title(&self) -> String {
        let definition = self.definition;
        let has_own = definition.baseline.memory.is_some()
            || definition.treatments.iter().any(|treatment| treatment.memory.is_some());
        match &self.overrides.memory {
            Some(memory) if *memory != Memory::Local && !has_own => {
                format!("{} (memory={memory})", self.file.title())
            }
            _ => self.file.title().to_owned(),
        }
    }

    /// The file's engine options, which apply to the file's engine alone.
    fn engine_options(&self) -> Options {
        let is_own = self.overrides.engine.as_ref().is_none_or(|engine| *engine == self.definition.engine);
        let mut options = if is_own { self.definition.engine_options.0.clone() } else { Options::new() };
        options.extend(self.overrides.engine_options.clone());
        options
    }

    fn add_sweep(&self, groups: &mut [Group], sweep: &Axis, left_out: &mut Vec<String>) {
        let only = self.definition.sweep.as_ref().map(|section| section.only.0.clone()).unwrap_or_default();
        for group in &mut *groups {
            group.has_sweep = only.iter().all(|(factor, level)| group.levels.get(factor) == Some(level));
            if group.has_sweep {
                group.candidates.extend(sweep.candidates.clone());
            }
        }
        if !groups.iter().any(|group| group.has_sweep) {
            let only: Vec<String> = only.iter().map(|(factor, level)| format!("{factor}={level}")).collect();
            left_out.push(format!("session sweep: it runs with {} alone", only.join(" and ")));
        }
    }

    /// Refuses a study of A and A′ alone, which would run for its whole budget without a result.
    fn something_compared(&self, groups: &[Group], left_out: &[String]) -> Result<(), LoadError> {
        let is_alone = groups.iter().all(|group| group.compared().next().is_none());
        let is_whole = left_out.is_empty();
        let left_out =
            if is_whole { String::new() } else { format!("; left out here: {}", left_out.join("; ")) };
        let why = format!(
            "nothing to compare: no treatment and no sweep point differs from the baseline{left_out}; add a placement or more sessions"
        );
        self.file.source.refuse_if(is_alone, &[], why)
    }

    fn too_many(&self) -> LoadError {
        let why = format!("more than {MAX_TREATMENTS} treatments; remove factors, levels or sweep points");
        self.file.source.whole(why)
    }

    /// Refuses too many treatments, and two of one name.
    fn check_names(&self, study: &Study) -> Result<(), LoadError> {
        if study.treatments.len() > MAX_TREATMENTS {
            return Err(self.too_many());
        }
        let mut names: Vec<&str> = study.treatments.iter().map(|treatment| treatment.name.as_str()).collect();
        names.sort_unstable();
        let why = |name: &str| format!("two treatments are called '{name}'; rename one");
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        twice.map_or(Ok(()), |pair| Err(self.file.source.whole(why(pair[0]))))
    }
}

/// A treatment with one process may use its whole placement, however many sessions it has.
fn float_whole(groups: &mut [Group]) {
    for Group { options, candidates, .. } in groups {
        for candidate in candidates {
            let options = if candidate.set.contains_key("each") { &candidate.set } else { &*options };
            if command::each(options) == command::Each::Treatment {
                candidate.pin = Pin::Set;
            }
        }
    }
}

/// The treatments of all groups.
fn treatments(groups: &[Group]) -> Vec<Treatment> {
    let varying = varying(groups);
    let in_group = |group: &Group| -> Vec<Treatment> {
        let label = |factor: &&String| Some(format!("{factor}={}", group.labels.get(*factor)?));
        let name: Vec<String> = varying.iter().filter_map(label).collect();
        let treatment = |candidate: &Candidate| Treatment {
            name: group.whole(&candidate.name),
            group: name.join(","),
            role: candidate.role,
            placement: candidate.placement.clone(),
            sessions: candidate.sessions,
            pin: candidate.pin,
            memory: candidate.memory.clone(),
            service: candidate.service.clone(),
            arm: group.arm.clone(),
            instance: Instance::of(&group.levels).with(&candidate.instance),
            options: group.options.clone().into_iter().chain(candidate.set.clone()).collect(),
            factors: levels(group, candidate),
        };
        group.candidates.iter().map(treatment).collect()
    };
    groups.iter().flat_map(in_group).collect()
}

/// The levels of a treatment as tables show them: its group's, and its memory policy if it has one.
fn levels(group: &Group, candidate: &Candidate) -> BTreeMap<String, String> {
    let mut levels = group.labels.clone();
    if candidate.memory != Memory::Local {
        levels.entry("memory".to_owned()).or_insert_with(|| candidate.memory.to_string());
    }
    levels.extend(candidate.set.iter().map(|(key, value)| (key.clone(), value.to_string())));
    let instance = candidate.instance.options.iter();
    levels.extend(instance.map(|(key, value)| (format!("{ENGINE_FACTOR}{key}"), value.to_string())));
    levels.extend(candidate.instance.device.clone().map(|folder| (DEVICE_FACTOR.to_owned(), folder)));
    levels.extend(candidate.version.map(|name| (version::FACTOR.to_owned(), name.to_owned())));
    if let Some(service) = &candidate.service {
        levels.entry("service".to_owned()).or_insert_with(|| service.to_string());
    }
    levels
}
