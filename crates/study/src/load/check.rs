//! Checks of a study definition that need no machine: limits, words, and keys that depend on each other.

use std::sync::OnceLock;

use serde_json::Value as Schema;
use threadwise_machine::Pin;
use toml::Value;

use super::definition::{self, Definition, OptionTable, TreatmentSection};
use super::source::{LoadError, StudyFile};
use crate::arm::FACTORS;
use crate::arrivals::{RATE, RATES_PER_S, rate_per_s};
use crate::external::{ARMS, MOST_BOOTS, name_fault};
use crate::vcpus::{MOST_VCPUS, VCPUS, vcpus};
use crate::worklist::{self, MAX_JOBS};
use crate::{Arm, OptionValue, Options, Workload, command, instance};

/// Options of the workload `logical-io`; engines check those of other workloads.
const LOGICAL_IO: &str = "data, blocks, scale, data_mib, work_unit, update_pct, think_time_us, hot_pct, hot_blocks, shared, loop, \
     rate_per_s, arrivals, vcpus";

/// Maximum blocks of a table: 1 TiB of data.
const MAX_BLOCKS: i64 = 1 << 28;

/// Levels of the option `data`.
pub(super) const DATA_LEVELS: [&str; 3] = ["l2", "llc", "memory"];

/// Longest level of a factor: groups and treatments are named by it. As long as a path may be (`PATH_MAX`).
const MOST_LEVEL_CHARS: usize = 4096;

/// Maximum length of a list of levels in a section: a longer one would take long to resolve.
const MOST_NUMBERS: usize = 200;

impl StudyFile {
    pub(super) fn check(&self) -> Result<(), LoadError> {
        static SCHEMA: OnceLock<Schema> = OnceLock::new();
        let Definition { options, engine_options, design, sweep, dop, jobs, treatments, .. } =
            &self.definition;
        let table = self.source.table()?;
        self.limits(SCHEMA.get_or_init(definition::schema), &Value::Table(table), &mut Vec::new())?;
        self.words()?;
        let is_both = design.blocks.is_some() && (design.budget_s.is_some() || design.until.is_some());
        let why = "blocks is given together with budget_s or until; keep one of them";
        self.source.refuse_if(is_both, &["design", "blocks"], why)?;
        self.options(&["options"], options, Some(&self.definition.workload))?;
        self.options(&["engine_options"], engine_options, None)?;
        self.factors()?;
        self.treatments()?;
        self.sweep()?;
        self.sections()?;
        self.external()?;
        self.comparisons()?;
        let is_alone = treatments.is_empty() && sweep.is_none() && dop.is_none() && jobs.is_none();
        let way = "add a [[treatment]] with a placement, or a [sweep]";
        self.source.refuse_if(is_alone, &[], format!("the baseline has nothing to be compared with: {way}"))
    }

    /// Numbers outside of what the schema allows.
    fn limits(&self, schema: &Schema, value: &Value, path: &mut Vec<String>) -> Result<(), LoadError> {
        let inner: Vec<(String, &Schema, &Value)> = match value {
            Value::Table(table) => {
                let schema_of =
                    |key: &String| schema["properties"].get(key).or(schema.get("additionalProperties"));
                table.iter().filter_map(|(key, value)| Some((key.clone(), schema_of(key)?, value))).collect()
            }
            Value::Array(items) => {
                items.iter().enumerate().map(|(at, item)| (at.to_string(), &schema["items"], item)).collect()
            }
            _ => Vec::new(),
        };
        for (key, schema, value) in inner {
            path.push(key);
            self.limits(schema, value, path)?;
            path.pop();
        }
        let number = value.as_float().or(value.as_integer().map(|whole| whole as f64));
        let (Some(number), Some(least), Some(most)) =
            (number, schema["minimum"].as_f64(), schema["maximum"].as_f64())
        else {
            return Ok(());
        };
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let key = path.last().copied().unwrap_or_default();
        let why = format!("{key} is {number}, and {least} to {most} is allowed");
        self.source.refuse_if(!(least..=most).contains(&number), &path, why)
    }

    fn words(&self) -> Result<(), LoadError> {
        let name = self.name();
        for (key, word) in [("name", name), ("engine", self.engine()), ("workload", self.workload().name())] {
            self.source.refuse_if(word.trim().is_empty(), &[key], format!("'{key}' is empty"))?;
        }
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        let what = "has characters other than letters, digits, - and _";
        self.source.refuse_if(!is_plain, &["name"], format!("name '{}' {what}", name.escape_debug()))
    }

    fn options(
        &self,
        path: &[&str],
        options: &OptionTable,
        workload: Option<&Workload>,
    ) -> Result<(), LoadError> {
        let fault = |(key, value): (&String, &OptionValue)| {
            Some(self.source.at(&[path, &[key]].concat(), option_fault(workload?, key, value)?))
        };
        options.iter().find_map(fault).map_or(Ok(()), Err)
    }

    fn factors(&self) -> Result<(), LoadError> {
        let Definition { factors, options, workload, .. } = &self.definition;
        for (factor, levels) in factors {
            let why = format!("'{factor}' is both a factor and an option; keep one of them");
            self.source.refuse_if(options.contains_key(factor), &["factors", factor], why)?;
            if let Some((at, why)) = levels_fault(workload, factor, levels) {
                let at = at.map(|at| at.to_string());
                let path = ["factors", factor].into_iter().chain(at.as_deref());
                return Err(self.source.at(&path.collect::<Vec<_>>(), why));
            }
        }
        Ok(())
    }

    fn treatments(&self) -> Result<(), LoadError> {
        let baseline = self.definition.baseline.treatment();
        self.treatment(&["baseline"], &baseline)?;
        let mut names = vec![baseline.name().to_owned(), format!("{}'", baseline.name())];
        for (at, treatment) in self.definition.treatments.iter().enumerate() {
            let path = ["treatment", &at.to_string()];
            self.treatment(&path, treatment)?;
            let name = treatment.name();
            let key = if treatment.name.is_some() { "name" } else { "placement" };
            let is_known = names.iter().any(|known| known == name);
            let why = format!("treatment '{name}' appears twice");
            self.source.refuse_if(is_known, &[path[0], path[1], key], why)?;
            names.push(name.to_owned());
        }
        Ok(())
    }

    fn treatment(&self, path: &[&str], treatment: &TreatmentSection) -> Result<(), LoadError> {
        let Definition { factors, workload, .. } = &self.definition;
        for key in treatment.set.keys() {
            let factor =
                || format!("'{key}' is a factor, and is also set for one treatment; keep one of them");
            let fault = study_wide(workload, key).or_else(|| factors.contains_key(key).then(factor));
            if let Some(why) = fault {
                return Err(self.source.at(&[path, &["set", key]].concat(), why));
            }
        }
        self.options(&[path, &["set"]].concat(), &treatment.set, Some(workload))?;
        let jobs = treatment.sessions.filter(|_| *workload == Workload::WorkList).unwrap_or(0);
        let why = format!("{jobs} jobs; at most {MAX_JOBS} are allowed");
        self.source.refuse_if(jobs > MAX_JOBS, &[path, &["sessions"]].concat(), why)?;
        self.pin(path, treatment.pin)
    }

    /// Threads of a parallel query, and jobs of a work list, have no logical CPU of their own.
    fn pin(&self, path: &[&str], pin: Option<Pin>) -> Result<(), LoadError> {
        let is_wrong = pin == Some(Pin::Each) && self.definition.shares_placement();
        let who = if self.workload().has_dop() { "threads of a query" } else { "jobs of a work list" };
        let why = format!("pin is 'each', but the {who} share the placement; set is allowed");
        self.source.refuse_if(is_wrong, &[path, &["pin"]].concat(), why)
    }

    fn sweep(&self) -> Result<(), LoadError> {
        let Some(sweep) = &self.definition.sweep else { return Ok(()) };
        self.pin(&["sweep"], sweep.pin)?;
        for (factor, level) in sweep.only.iter() {
            let path = ["sweep", "only", factor];
            let Some(levels) = self.definition.factors.get(factor) else {
                let known = listed(self.definition.factors.keys());
                let why = format!("there is no factor '{factor}' in [factors]; it has {known}");
                return Err(self.source.at(&path, why));
            };
            let known = listed(levels);
            let why = format!("factor '{factor}' has no level '{level}'; its levels are {known}");
            self.source.refuse_if(!levels.contains(level), &path, why)?;
        }
        Ok(())
    }

    /// `[dop]` and `[jobs]`: the workload that each is for, and their lists.
    fn sections(&self) -> Result<(), LoadError> {
        let Definition { sweep, dop, jobs, workload, .. } = &self.definition;
        if let Some(dop) = dop {
            self.source.refuse_if(!workload.has_dop(), &["workload"], without_dop(workload))?;
            self.few(&["dop", "levels"], dop.levels.0.as_deref())?;
            self.few(&["dop", "streams"], dop.streams.as_ref().and_then(|streams| streams.0.as_deref()))?;
        }
        if let Some(jobs) = jobs {
            let only = Workload::WorkList;
            let why = format!("workload '{workload}' has no [jobs]: it is for {only}; leave the section out");
            self.source.refuse_if(*workload != only, &["workload"], why)?;
            let path = ["jobs", "placements"];
            let why = "a work list has [jobs], or a [sweep] of sessions; keep one of them";
            self.source.refuse_if(sweep.is_some(), &path, why)?;
            let why = "placements of [jobs]: the list is empty; add a placement such as \"all\"";
            self.source.refuse_if(jobs.placements.is_empty(), &path, why)?;
            self.few(&["jobs", "levels"], jobs.levels.0.as_deref())?;
        }
        Ok(())
    }

    fn few(&self, path: &[&str; 2], numbers: Option<&[u32]>) -> Result<(), LoadError> {
        let [section, key] = path;
        let why = format!("{key} of [{section}]: at most {MOST_NUMBERS} numbers are allowed; remove some");
        self.source.refuse_if(numbers.is_some_and(|numbers| numbers.len() > MOST_NUMBERS), path, why)
    }

    fn external(&self) -> Result<(), LoadError> {
        let Definition { external, factors, workload, design, sweep, .. } = &self.definition;
        let Some(external) = external else { return Ok(()) };
        let arms = &external.arms;
        let refuse_if = |is_wrong: bool, path: &[&str], why: String| {
            self.source.refuse_if(is_wrong, &[&["external"], path].concat(), why)
        };
        let (least, most) = ARMS;
        let why = format!("{} arms; {least} to {most} are allowed", arms.len());
        refuse_if(!(least..=most).contains(&arms.len()), &["arms"], why)?;
        for (number, arm) in arms.iter().enumerate() {
            let twice = || format!("arm '{arm}' appears twice");
            let fault = name_fault(arm).or_else(|| arms[..number].contains(arm).then(twice));
            if let Some(why) = fault {
                return Err(self.source.at(&["external", "arms", &number.to_string()], why));
            }
        }
        if let Some(factor) = factors.keys().find(|factor| FACTORS.contains(&factor.as_str())) {
            let why = format!("factor '{factor}' switches the machine, as [external] does: keep one of them");
            return Err(self.source.at(&["factors", factor], why));
        }
        let (fewest, most) = (arms.len() as u32, MOST_BOOTS);
        let boots = external.boots.unwrap_or(fewest);
        refuse_if(
            boots < fewest,
            &["boots"],
            format!("boots is {boots}, and {fewest} to {most} is allowed"),
        )?;
        let expect = external.expect.keys().map(|arm| ("expect", arm));
        for (key, arm) in expect.chain(external.switch.keys().map(|arm| ("switch", arm))) {
            let why = format!("there is no arm '{arm}'; arms are {}", listed(arms));
            refuse_if(!arms.contains(arm), &[key, arm], why)?;
        }
        for (arm, expect) in &external.expect {
            let is_empty = expect.kernel.as_ref().is_some_and(|words| words.trim().is_empty());
            let why = "kernel is empty; give a release such as 6.1".to_owned();
            refuse_if(is_empty, &["expect", arm, "kernel"], why)?;
        }
        for (arm, words) in &external.switch {
            let why = "a command must be a list of a program and its arguments".to_owned();
            refuse_if(words.first().is_none_or(String::is_empty), &["switch", arm], why)?;
        }
        let why = format!("external arms compare rates, and the workload {workload} has none");
        refuse_if(!workload.is_sliced(), &["arms"], why)?;
        let beside = [
            ("[sweep]", sweep.is_some()),
            ("[dop]", self.definition.dop.is_some()),
            ("[jobs]", self.definition.jobs.is_some()),
            ("blocks of [design]", design.blocks.is_some()),
            ("budget_s", design.budget_s.is_some()),
            ("until", design.until.is_some()),
            ("long_windows", design.long_windows.is_some_and(|count| count > 0)),
        ];
        let why = "cannot be combined with [external], whose boots have their own blocks; remove one of them";
        beside
            .into_iter()
            .try_for_each(|(what, is_there)| refuse_if(is_there, &["arms"], format!("{what} {why}")))
    }

    fn comparisons(&self) -> Result<(), LoadError> {
        let Definition { baseline, treatments, comparisons, .. } = &self.definition;
        let baseline = baseline.treatment();
        let known: Vec<&str> =
            std::iter::once(&baseline).chain(treatments).map(TreatmentSection::name).collect();
        for (at, comparison) in comparisons.iter().enumerate() {
            let number = at.to_string();
            let refuse_if = |is_wrong: bool, key: &str, why: String| {
                self.source.refuse_if(is_wrong, &["comparison", &number, key], why)
            };
            for (key, side) in [("treatment", &comparison.treatment), ("baseline", &comparison.baseline)] {
                if !known.contains(&side.as_str()) {
                    let why = format!("there is no treatment '{side}'; treatments are {}", listed(&known));
                    return Err(self.source.at(&["comparison", &number, key], why));
                }
            }
            let is_same = comparison.treatment == comparison.baseline;
            refuse_if(is_same, "baseline", "treatment and baseline are the same".to_owned())?;
            let is_twice = comparisons[..at].iter().any(|other| other.name == comparison.name);
            refuse_if(is_twice, "name", format!("comparison '{}' appears twice", comparison.name.0))?;
        }
        Ok(())
    }

    /// Refuses the first key `service` with this error: a key without effect would mislead.
    pub(super) fn no_service(&self, fault: &str) -> Result<(), LoadError> {
        let is_set = self.definition.baseline.service.is_some();
        self.source.refuse_if(is_set, &["baseline", "service"], fault)?;
        let mut treatments = self.definition.treatments.iter().enumerate();
        treatments.try_for_each(|(at, treatment)| {
            let path = ["treatment", &at.to_string(), "service"];
            self.source.refuse_if(treatment.service.is_some(), &path, fault)
        })
    }
}

/// The error of a workload option, if any.
pub(super) fn option_fault(workload: &Workload, key: &str, value: &OptionValue) -> Option<String> {
    let of_engine = |why: String| format!("{key}: {why}");
    match workload {
        Workload::LogicalIo => logical_io_fault(key, value),
        Workload::Command => command::option_fault(key, value).map(of_engine),
        Workload::WorkList => worklist::option_fault(key, value).map(of_engine),
        _ => None,
    }
}

fn one(key: &str, value: &OptionValue) -> Options {
    Options::from([(key.to_owned(), value.clone())])
}

fn logical_io_fault(key: &str, value: &OptionValue) -> Option<String> {
    if !LOGICAL_IO.split(", ").any(|known| known == key) {
        return Some(format!("logical-io has no option '{key}'; its options are {LOGICAL_IO}"));
    }
    let is_whole = matches!(value, OptionValue::Integer(1..=MAX_BLOCKS));
    let is_size =
        is_whole || matches!(value, OptionValue::Number(mib) if *mib > 0.0 && *mib < MAX_BLOCKS as f64);
    match (key, value) {
        ("data", OptionValue::Text(level)) if DATA_LEVELS.contains(&level.as_str()) => None,
        ("data", other) => Some(format!("data is '{other}'; its levels are {}", DATA_LEVELS.join(", "))),
        ("blocks" | "scale" | "work_unit", other) if !is_whole => {
            Some(format!("{key} is '{other}', not a whole number from 1 to {MAX_BLOCKS}"))
        }
        (RATE, other) if rate_per_s(&one(key, other)).is_none_or(|rate| !RATES_PER_S.contains(&rate)) => {
            let (low, high) = (RATES_PER_S.start(), RATES_PER_S.end());
            Some(format!("{key} is '{other}', not a number of requests a second from {low} to {high}"))
        }
        (VCPUS, other) if vcpus(&one(key, other)).is_none() => {
            Some(format!("{key} is '{other}', not a number of vCPUs from 1 to {MOST_VCPUS}"))
        }
        ("data_mib", other) if !is_size => {
            Some(format!("data_mib is '{other}', not a number of MiB above 0"))
        }
        _ => None,
    }
}

/// The error of the levels of a factor, if any, and which one it is about.
pub(super) fn levels_fault(
    workload: &Workload,
    factor: &str,
    levels: &[OptionValue],
) -> Option<(Option<usize>, String)> {
    if levels.is_empty() {
        return Some((None, format!("factor '{factor}' has no levels")));
    }
    let of_level = |(at, level): (usize, &OptionValue)| {
        let twice = || format!("level '{level}' of factor '{factor}' appears twice");
        let length = level.to_string().chars().count();
        let long = (length > MOST_LEVEL_CHARS).then(|| {
            format!("level of factor '{factor}' has {length} characters; {MOST_LEVEL_CHARS} are allowed")
        });
        let fault = long.or_else(|| level_fault(workload, factor, level));
        Some((Some(at), fault.or_else(|| levels[..at].contains(level).then(twice))?))
    };
    study_wide(workload, factor)
        .map(|why| (None, why))
        .or_else(|| levels.iter().enumerate().find_map(of_level))
}

/// The error of a factor level, if any.
pub(super) fn level_fault(workload: &Workload, factor: &str, level: &OptionValue) -> Option<String> {
    match factor {
        _ if FACTORS.contains(&factor) => Arm::default().set(factor, &level.to_string()).err(),
        _ if instance::is_factor(factor) => instance::check(factor, level).err(),
        _ => option_fault(workload, factor, level),
    }
}

/// The error if an option may not differ between treatments: all of them read one data set, and run the same queries or
/// process one list.
pub(super) fn study_wide(workload: &Workload, key: &str) -> Option<String> {
    let wide: &[&str] = match workload {
        Workload::Tpch => &["scale", "cluster", "test", "queries", "parameters"],
        Workload::ParallelScan => &["rows"],
        Workload::WorkList => &[worklist::RECIPE, worklist::RECIPE_STORED, "list", "files", "total_mib"],
        _ => &[],
    };
    let shown = if key == worklist::RECIPE_STORED { worklist::RECIPE } else { key };
    wide.contains(&key)
        .then(|| format!("'{shown}' is the same for all treatments of a study; move it to [options]"))
}

/// The error for placing service threads of an engine without any.
pub(super) fn no_service_threads(engine: &str) -> String {
    format!("engine {engine} has no service threads to place; leave out service")
}

/// The error of `[dop]` for a workload without a DOP; suggests the one that is spelt almost alike.
fn without_dop(workload: &Workload) -> String {
    let letters = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let with_dop = Workload::ALL.iter().filter(|workload| workload.has_dop());
    let known: Vec<&str> = with_dop.map(Workload::name).collect();
    let way = match known.iter().find(|known| letters(workload.name()) == letters(known)) {
        Some(known) => format!("write workload = \"{known}\""),
        None => format!("leave the section out, or write workload = \"{}\"", known[0]),
    };
    let known = known.join(" and ");
    format!("workload '{workload}' has no [dop]: it is for {known}, whose queries run in parallel; {way}")
}

fn listed<T: ToString>(words: impl IntoIterator<Item = T>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| word.to_string()).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}
