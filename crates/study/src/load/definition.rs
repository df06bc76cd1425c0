//! The study definition as written: its keys, with what each takes and means. serde reads them, the schema of
//! `threadwise list --schema` is made from them, and the tables of docs/STUDY.md from that. Limits that a key has by
//! itself are its `range` or `length` here; `check` has those that need another key.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use threadwise_machine::placement::{Expression, Order, Service, Shape};
use threadwise_machine::text::{escaped, is_deceptive};
use threadwise_machine::{Memory, Pin, Placement};
use toml::Value;

use crate::command::METRIC_PREFIX;
use crate::external::Expect;
use crate::worklist::{MAX_JOBS, RECIPE, RECIPE_STORED};
use crate::{OptionValue, Options, Workload};

/// Version of the study definition format.
pub const FILE_VERSION: i64 = 1;

/// More sessions in one treatment are taken for a typing error.
pub const MAX_SESSIONS: u32 = 4096;

/// Highest allowed DOP: the maximum of logical CPUs of a worker, more than any machine has.
pub(super) const MAX_DOP: u32 = 4096;

/// The default of `pin`, for the schema.
const PIN_DEFAULT: &str = "`each`; of `tpch`, `parallel-scan` and `worklist` always `set`";

/// Default name of the baseline.
const ALONE: &str = "alone";

/// What a study asks. docs/STUDY.md is made from this schema; both are checked against the loader.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "threadwise study definition, version 1")]
#[schemars(extend(
    "anyOf" = [
        {"required": ["treatment"], "properties": {"treatment": {"minItems": 1}}},
        {"required": ["sweep"]},
        {"required": ["dop"]},
        {"required": ["jobs"]},
    ],
    "allOf" = [
        {"if": {"required": ["dop"]}, "then": {"properties": {"workload": {"enum": ["tpch", "parallel-scan"]}}}},
        {"if": {"required": ["jobs"]}, "then": {"properties": {"workload": {"const": "worklist"}}, "not": {"required": ["sweep"]}}},
    ],
))]
pub(super) struct Definition {
    /// Version of this form.
    #[serde(rename = "version")]
    #[schemars(extend("const" = 1, "examples" = [1]))]
    pub _version: i64,
    /// Short name of the study: letters, digits, `-` and `_`. Result files are named after it.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+$"), extend("examples" = ["concurrent-inserts"]))]
    pub name: String,
    /// One line for people, at the head of reports.
    #[schemars(extend("x-default" = "the name", "examples" = ["Inserts on cores and siblings"]))]
    pub title: Option<String>,
    /// Engine that is measured: a name of `threadwise list`, or NAME of a program `threadwise-engine-NAME` on PATH.
    #[schemars(regex(pattern = r"\S"), extend("examples" = ["postgres"]))]
    pub engine: String,
    /// Options of the engine (docs/ENGINES.md). A name with a dot stands in quotes.
    #[serde(default)]
    #[schemars(extend("default" = {}, "examples" = [{"restart": "study", "settings.work_mem": "64MB"}]))]
    pub engine_options: OptionTable,
    /// What sessions do: `logical-io`, `insert`, `log-buffer`, `index`, `tpch`, `parallel-scan`, `transaction`,
    /// `command`, `worklist`, or another one of the engine's.
    #[schemars(with = "String", regex(pattern = r"\S"), extend("examples" = ["logical-io"]))]
    pub workload: Workload,
    /// Seed of every draw: orders, placements, data. `--seed` comes before it.
    #[schemars(extend("x-default" = "drawn, and stored", "examples" = [42]))]
    pub seed: Option<u64>,
    /// Options of the workload, for all treatments.
    #[serde(default)]
    #[schemars(extend("default" = {}, "examples" = [{"work_unit": 64}]))]
    pub options: OptionTable,
    /// Options with several levels, the arms `smt`, `turbo` and `governor` (below), and instances of the engine
    /// (below): every treatment runs under every combination of them, each with a baseline of its own.
    #[serde(default)]
    #[schemars(extend(
        "additionalProperties" = {
            "type": "array",
            "minItems": 1,
            "uniqueItems": true,
            "items": {"type": ["string", "number", "boolean"]},
        },
        "default" = {},
        "examples" = [{"data": ["l2", "memory"]}],
    ))]
    pub factors: BTreeMap<String, Vec<OptionValue>>,
    /// How it is measured: slices, blocks, when to stop.
    #[serde(default)]
    pub design: DesignSection,
    /// What everything is compared with. It is measured twice in each round, as itself and as its twin (name and
    /// `'`).
    #[serde(default)]
    pub baseline: BaselineSection,
    /// What is compared with the baseline, each under its own `[[treatment]]`.
    #[serde(default, rename = "treatment")]
    pub treatments: Vec<TreatmentSection>,
    /// More and more sessions: a treatment for each number, each compared with the one before it.
    pub sweep: Option<SweepSection>,
    /// Degrees of parallelism, for the workloads `tpch` and `parallel-scan` alone: a treatment for each placement,
    /// degree and number of streams. `[sweep]` has no effect beside it.
    pub dop: Option<DopSection>,
    /// Numbers of jobs, for the workload `worklist` alone: a treatment for each placement and number. Not beside
    /// `[sweep]`.
    pub jobs: Option<JobsSection>,
    /// Arms that something outside switches, such as firmware, a kernel parameter or another machine: a study over
    /// several boots (docs/SMT.md, "Arms over boots"). Not beside `[sweep]`, `blocks`, `budget_s`, `until` and long
    /// windows, nor for `tpch`, `command` and `worklist`.
    pub external: Option<ExternalSection>,
    /// Further comparisons, each under its own `[[comparison]]`. Left out where the machine lacks a side.
    #[serde(default, rename = "comparison")]
    pub comparisons: Vec<ComparisonSection>,
}

/// `[design]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend(
    "allOf" = [{"not": {"required": ["blocks", "budget_s"]}}, {"not": {"required": ["blocks", "until"]}}],
))]
pub(super) struct DesignSection {
    /// Rounds of a block; in each round every treatment has one slice. Where only a budget is given that does not
    /// hold 8 blocks, fewer, at least 4. With a fixed amount of work (`rows_per_session`) 1, of `command` and
    /// `worklist` always 1; `tpch` has rounds of its own, one for each query.
    #[schemars(range(min = 1, max = 100000), extend("default" = 20, "examples" = [20]))]
    pub rounds: Option<u32>,
    /// Window of a slice in milliseconds; at most 10000 where there is more than one round. Not for `command` and
    /// `worklist`, whose runs are whole.
    #[schemars(range(min = 1, max = 3600000), extend("default" = 50, "examples" = [50]))]
    pub slice_ms: Option<f64>,
    /// Time before each slice in which its treatment runs and is not measured, milliseconds; at most 10000 where
    /// there is more than one round. Where it is missing, each treatment's is measured before the first block, 4 to
    /// 30 ms. `--rewarm` comes before it.
    #[schemars(range(min = 0, max = 60000), extend("x-default" = "measured", "examples" = [5]))]
    pub rewarm_ms: Option<f64>,
    /// Confidence level of the intervals.
    #[schemars(range(min = 0.5, max = 0.9999), extend("default" = 0.95, "examples" = [0.95]))]
    pub level: Option<f64>,
    /// Difference that is too small to matter, as a fraction: every comparison is judged by it. `--margin` comes
    /// before it.
    #[schemars(range(min = 0.0001, max = 0.5), extend("default" = 0.03, "examples" = [0.05]))]
    pub margin: Option<f64>,
    /// Seconds for the whole study; blocks are added until it is used. `--budget` comes before it.
    #[schemars(range(min = 0.1, max = 31536000))]
    #[schemars(extend("x-default" = "90, or what 8 blocks need", "examples" = [90]))]
    pub budget_s: Option<f64>,
    /// Half-width to reach, as a fraction: blocks are added until every comparison has it, or the budget is used.
    #[schemars(range(min = 0.0001, max = 0.9), extend("x-default" = "no such goal", "examples" = [0.02]))]
    pub until: Option<f64>,
    /// A fixed number of blocks, in place of `budget_s` and `until`.
    #[schemars(range(min = 1, max = 100000))]
    #[schemars(extend("x-default" = "as many as fit the budget", "examples" = [8]))]
    pub blocks: Option<u32>,
    /// Long windows of each treatment, beside the slices (docs/METHODOLOGY.md, "Long windows"); 0 for none. Their
    /// time comes out of the budget. Not for a fixed amount of work, nor under a CPU quota. `--long-windows` comes
    /// before it.
    #[schemars(range(min = 0, max = 1000))]
    #[schemars(extend(
        "x-default" = "from 10 minutes on as many as a sixth of the time holds, 3 to 30, where 3 take no more than half of it",
        "examples" = [3],
    ))]
    pub long_windows: Option<u32>,
    /// Length of a long window in seconds; longer than a slice.
    #[schemars(range(min = 0.01, max = 600), extend("default" = 10, "examples" = [10]))]
    pub long_window_s: Option<f64>,
}

/// `[baseline]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BaselineSection {
    /// Its name.
    #[schemars(extend("default" = "alone", "examples" = ["near"]))]
    pub name: Option<Label>,
    /// Where its sessions run: a name such as `same-core`, counts such as `3c2t`, or logical CPUs such as `0-3,8`
    /// (docs/PLACEMENTS.md).
    #[schemars(with = "Option<String>", length(min = 1), extend("default" = "1c1t", "examples" = ["1c1t"]))]
    pub placement: Option<Placement>,
    /// How many sessions it has (streams of `tpch`, jobs of `worklist`).
    #[schemars(range(min = 1, max = 4096))]
    #[schemars(extend(
        "x-default" = "1; of a `worklist` without `[jobs]` one for each logical CPU, at least 2",
        "examples" = [1],
    ))]
    pub sessions: Option<u32>,
    /// `each`: a session on a logical CPU of its own; `set`: it moves inside the whole placement.
    #[schemars(with = "Option<String>")]
    #[schemars(extend("enum" = ["each", "set"], "x-default" = PIN_DEFAULT, "examples" = ["each"]))]
    pub pin: Option<Pin>,
    /// Where its memory lies: `local`, `remote`, `interleave`, or NUMA nodes such as `0-1,3`.
    #[schemars(with = "Option<String>", regex(pattern = r"^\s*(local|remote|interleave|[0-9].*)\s*$"))]
    #[schemars(extend("default" = "local", "examples" = ["remote"]))]
    pub memory: Option<Memory>,
    /// Where the engine's service threads run: `near`, `far`, or a placement. Engines without such threads refuse
    /// it.
    #[schemars(with = "Option<String>", length(min = 1))]
    #[schemars(extend("x-default" = "not placed", "examples" = ["far"]))]
    pub service: Option<Service>,
    /// Workload options of this treatment alone, above `[options]`.
    #[serde(default)]
    #[schemars(extend("default" = {}, "examples" = [{"work_unit": 8}]))]
    pub set: OptionTable,
}

/// `[[treatment]]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TreatmentSection {
    /// Its name, once in a study.
    #[schemars(extend("x-default" = "its placement", "examples" = ["second thread"]))]
    pub name: Option<Label>,
    /// Where its sessions run: a name such as `same-core`, counts such as `3c2t`, or logical CPUs such as `0-3,8`
    /// (docs/PLACEMENTS.md).
    #[schemars(with = "String", length(min = 1), extend("examples" = ["same-core"]))]
    pub placement: Placement,
    /// How many sessions it has (streams of `tpch`, jobs of `worklist`).
    #[schemars(range(min = 1, max = 4096))]
    #[schemars(extend(
        "x-default" = "one for each logical CPU, of `one-cpu` 2; of `tpch` and `parallel-scan` 1; of `worklist` at least 2",
        "examples" = [2],
    ))]
    pub sessions: Option<u32>,
    /// `each`: a session on a logical CPU of its own; `set`: it moves inside the whole placement.
    #[schemars(with = "Option<String>")]
    #[schemars(extend("enum" = ["each", "set"], "x-default" = PIN_DEFAULT, "examples" = ["set"]))]
    pub pin: Option<Pin>,
    /// Where its memory lies: `local`, `remote`, `interleave`, or NUMA nodes such as `0-1,3`.
    #[schemars(with = "Option<String>", regex(pattern = r"^\s*(local|remote|interleave|[0-9].*)\s*$"))]
    #[schemars(extend("default" = "local", "examples" = ["remote"]))]
    pub memory: Option<Memory>,
    /// Where the engine's service threads run: `near`, `far`, or a placement. Engines without such threads refuse
    /// it.
    #[schemars(with = "Option<String>", length(min = 1))]
    #[schemars(extend("x-default" = "not placed", "examples" = ["far"]))]
    pub service: Option<Service>,
    /// Workload options of this treatment alone, above `[options]`.
    #[serde(default)]
    #[schemars(extend("default" = {}, "examples" = [{"work_unit": 8}]))]
    pub set: OptionTable,
    /// Leave it out, and say so, where the machine cannot do it or it is the same as an earlier one. Without, that
    /// is an error.
    #[serde(default)]
    #[schemars(extend("default" = false, "examples" = [true]))]
    pub optional: bool,
}

/// `[sweep]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SweepSection {
    /// Which logical CPUs come first: `spread` takes packages, NUMA nodes, L3s and L2s in turn, then cores, then siblings;
    /// `packed` fills a core, an L3, a node, a package; `packed-cores` the same with one logical CPU a core. A list of
    /// two has both as arms of one sweep. `--sweep` comes before it.
    #[serde(default)]
    #[schemars(extend("default" = "spread", "examples" = ["packed", ["spread", "packed"]]))]
    pub order: Orders,
    /// Numbers of sessions; `auto` is 1, 2, 4, ... below the allowed logical CPUs, the cores of a package, of a
    /// NUMA node and of the machine, the logical CPUs, and `past` times their number. `--sessions` comes before it.
    #[serde(default)]
    #[schemars(extend("default" = "auto", "examples" = [[1, 2, 4, 8]]))]
    pub sessions: Numbers<MAX_SESSIONS>,
    /// How far `auto` goes beyond the number of logical CPUs.
    #[schemars(range(min = 1, max = 16), extend("default" = 1.5, "examples" = [2]))]
    pub past: Option<f64>,
    /// `each`: a session on a logical CPU of its own; `set`: it moves inside the whole placement.
    #[schemars(with = "Option<String>")]
    #[schemars(extend("enum" = ["each", "set"], "x-default" = PIN_DEFAULT, "examples" = ["set"]))]
    pub pin: Option<Pin>,
    /// On larger machines the sweep is left out, and named.
    #[schemars(range(max = 4_294_967_295_u32), extend("x-default" = "no limit", "examples" = [16]))]
    pub max_logical_cpus: Option<u32>,
    /// Run it under these levels of factors alone.
    #[serde(default)]
    #[schemars(extend("default" = {}, "examples" = [{"data": "l2"}]))]
    pub only: OptionTable,
}

/// `[dop]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DopSection {
    /// Where queries run. What the machine lacks, and what is the same as an earlier one, is left out and named.
    #[schemars(with = "Vec<String>", inner(length(min = 1)), extend("examples" = [["no-smt", "all"]]))]
    pub placements: Vec<Placement>,
    /// Threads, or processes, of a query; `auto` is 1, 2, 4, ... below the placement's logical CPUs, its cores, its
    /// logical CPUs, the cores of a NUMA node where there are several, and with several streams the degree with
    /// which all of them have 150% of the cores. At most 200 different numbers. `--dop` comes before it.
    #[serde(default)]
    #[schemars(extend("default" = "auto", "examples" = [[1, 2, 4]]))]
    pub levels: Numbers<MAX_DOP>,
    /// Numbers of streams; `auto` is 1, and `parallel-scan` has no more. At most 200 different numbers.
    /// `--sessions` comes before it.
    #[schemars(extend("default" = [1], "examples" = [[1, 2, 4]]))]
    pub streams: Option<Numbers<MAX_SESSIONS>>,
}

/// `[jobs]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct JobsSection {
    /// Where jobs run, as of `[dop]`.
    #[schemars(with = "Vec<String>", length(min = 1), inner(length(min = 1)))]
    #[schemars(extend("examples" = [["no-smt", "all"]]))]
    pub placements: Vec<Placement>,
    /// Jobs at once; `auto` is 1, 2, 4, ... up to twice the placement's logical CPUs, 64 at most. A list has at
    /// most 200 different numbers. `--jobs` comes before it.
    #[serde(default)]
    #[schemars(extend("default" = "auto", "examples" = [[1, 2, 4]]))]
    pub levels: Numbers<MAX_JOBS>,
}

/// `[external]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExternalSection {
    /// Names of two to four arms. The first is what others are compared with.
    #[schemars(length(min = 2, max = 4), inner(regex(pattern = "^[A-Za-z0-9._-]{1,40}$")))]
    #[schemars(extend("uniqueItems" = true, "examples" = [["smt-on", "smt-off"]]))]
    pub arms: Vec<String>,
    /// Boots in all, at least one for each arm: as A B B A, or the reverse, drawn by the seed. An interval takes
    /// two boots of each arm.
    #[schemars(range(min = 2, max = 100), extend("default" = 4, "examples" = [6]))]
    pub boots: Option<u32>,
    /// Blocks of each boot.
    #[schemars(range(min = 1, max = 1000), extend("default" = 8, "examples" = [16]))]
    pub blocks: Option<u32>,
    /// By arm, what is checked before a boot is measured: `smt` (`on` or `off`), `kernel` (a release or its
    /// beginning), `cpus` (online logical CPUs).
    #[serde(default)]
    #[schemars(extend(
        "default" = {},
        "examples" = [{"smt-off": {"smt": "off", "kernel": "6.1", "cpus": 8}}],
    ))]
    pub expect: BTreeMap<String, Expect>,
    /// By arm, the command that switches to it, as a list of a program and its arguments, without a shell. It is
    /// shown after the part before, and run with `--allow-commands`.
    #[serde(default)]
    #[schemars(extend(
        "additionalProperties" = {"type": "array", "minItems": 1, "items": {"type": "string"}},
        "default" = {},
        "examples" = [{"smt-off": ["/usr/sbin/grub2-editenv", "-", "set", "kernelopts=nosmt"]}],
    ))]
    pub switch: BTreeMap<String, Vec<String>>,
}

/// `[[comparison]]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ComparisonSection {
    /// Its name, once in a study.
    #[schemars(extend("examples" = ["both-threads"]))]
    pub name: Label,
    /// Name of the treatment on top of the ratio.
    #[schemars(length(min = 1), extend("examples" = ["all"]))]
    pub treatment: String,
    /// Name of the treatment, or of the baseline, below it.
    #[schemars(length(min = 1), extend("examples" = ["no-smt"]))]
    pub baseline: String,
    /// What it means, for tables and sentences: `smt-whole`, `smt-doubled`, `cores-doubled`, or a word of your own.
    #[schemars(extend("default" = "named", "examples" = ["smt-whole"]))]
    pub kind: Option<String>,
}

impl Definition {
    /// The binding of sessions. Threads of a parallel query, and jobs of a work list, float in their set.
    pub fn pin(&self, asked: Option<Pin>) -> Pin {
        asked.unwrap_or(if self.shares_placement() { Pin::Set } else { Pin::Each })
    }

    /// Whether the parts of one session's work share the placement.
    pub fn shares_placement(&self) -> bool {
        self.workload.has_dop() || self.workload == Workload::WorkList
    }

    /// Gives the recipe of a work list its stored name; if both names are given, [`crate::worklist`] refuses them.
    pub fn name_recipe(&mut self) {
        let sets = self.treatments.iter_mut().map(|treatment| &mut treatment.set);
        for OptionTable(options) in sets.chain([&mut self.options, &mut self.baseline.set]) {
            if self.workload == Workload::WorkList
                && !options.contains_key(RECIPE_STORED)
                && let Some(recipe) = options.remove(RECIPE)
            {
                options.insert(RECIPE_STORED.to_owned(), recipe);
            }
        }
    }

    /// The section that has treatments of its own, if there is one.
    pub fn section(&self) -> Option<&'static str> {
        let dop = self.dop.as_ref().map(|_| "[dop]");
        dop.or(self.jobs.as_ref().map(|_| "[jobs]"))
    }
}

impl BaselineSection {
    /// The baseline as a treatment.
    pub fn treatment(&self) -> TreatmentSection {
        let placement = self.placement.clone().unwrap_or_else(one_thread);
        TreatmentSection {
            name: Some(self.name.clone().unwrap_or_else(|| Label(ALONE.to_owned()))),
            sessions: self.sessions,
            pin: self.pin,
            memory: self.memory.clone(),
            service: self.service.clone(),
            set: self.set.clone(),
            ..TreatmentSection::of(placement)
        }
    }
}

impl TreatmentSection {
    /// A treatment with nothing but a placement.
    pub fn of(placement: Placement) -> Self {
        Self {
            name: None,
            placement,
            sessions: None,
            pin: None,
            memory: None,
            service: None,
            set: OptionTable::default(),
            optional: false,
        }
    }

    /// Its name: by default its placement.
    pub fn name(&self) -> &str {
        self.name.as_ref().map_or(&self.placement.text, |name| &name.0)
    }
}

/// The default placement of the baseline, `1c1t`.
fn one_thread() -> Placement {
    let shape = Shape { packages: 1, cores: 1, threads: 1, within: None };
    Placement { text: "1c1t".to_owned(), expression: Expression::Shapes(vec![shape]) }
}

/// A name of 1 to 60 characters without `/` and `'`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Label(pub String);

impl TryFrom<String> for Label {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.contains(is_deceptive) {
            return Err(format!("name '{}' has a control or format character", escaped(&text)));
        }
        match text.trim().is_empty() || text.chars().count() > 60 || text.contains(['/', '\'']) {
            true => Err(format!("name '{text}' is empty, over 60 characters, or contains / or '")),
            false => Ok(Self(text)),
        }
    }
}

/// Numbers from 1 to `MOST`, ascending, each once; `None` for `auto`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Numbers<const MOST: u32>(pub Option<Vec<u32>>);

impl<const MOST: u32> TryFrom<Value> for Numbers<MOST> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let number = |value: &Value| {
            u32::try_from(value.as_integer()?).ok().filter(|number| (1..=MOST).contains(number))
        };
        let numbers = match &value {
            Value::String(word) if word == "auto" => return Ok(Self(None)),
            Value::Array(list) if !list.is_empty() => {
                list.iter().map(number).collect::<Option<BTreeSet<u32>>>()
            }
            _ => None,
        };
        match numbers {
            Some(numbers) => Ok(Self(Some(numbers.into_iter().collect()))),
            None => Err(format!(
                "{value} is neither \"auto\" nor a list of numbers from 1 to {MOST} such as [1, 2, 4]"
            )),
        }
    }
}

/// Orders in which a sweep takes logical CPUs, each once.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Orders(pub Vec<&'static str>);

impl Default for Orders {
    fn default() -> Self {
        Self(vec!["spread"])
    }
}

impl Orders {
    /// The orders of these words.
    ///
    /// # Errors
    /// An unknown or duplicate order, or an empty list.
    pub fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut found: Vec<&'static str> = Vec::new();
        for word in words {
            match Order::ALL.into_iter().map(|(_, known)| known).find(|known| *known == word) {
                None => {
                    let allowed =
                        "spread (far apart first), packed (siblings first) and packed-cores are allowed";
                    return Err(format!("order is '{word}'; {allowed}"));
                }
                Some(order) if found.contains(&order) => return Err(format!("order '{word}' appears twice")),
                Some(order) => found.push(order),
            }
        }
        match found.len() {
            0 => Err("no order is given; spread, packed and packed-cores are allowed".to_owned()),
            1 | 2 => Ok(Self(found)),
            _ => Err("a sweep compares two orders at most".to_owned()),
        }
    }
}

impl TryFrom<Value> for Orders {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let word = |word: &Value| {
            word.as_str().map(str::to_owned).ok_or_else(|| format!("order is {word}; a word is needed"))
        };
        let words = match &value {
            Value::String(one) => vec![one.clone()],
            Value::Array(words) => words.iter().map(word).collect::<Result<_, _>>()?,
            other => {
                return Err(format!(
                    "order is {other}; spread, packed, packed-cores or a list of two is allowed"
                ));
            }
        };
        Self::of(words.iter().map(String::as_str))
    }
}

/// A table of options. TOML reads `metric.tps = …` as a table `metric`; here it is the option of that name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OptionTable(pub Options);

impl Deref for OptionTable {
    type Target = Options;

    fn deref(&self) -> &Options {
        &self.0
    }
}

impl<'de> Deserialize<'de> for OptionTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OptionVisitor).map(Self)
    }
}

struct OptionVisitor;

impl<'de> Visitor<'de> for OptionVisitor {
    type Value = Options;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Options, A::Error> {
        let mut options = Options::new();
        while let Some(key) = map.next_key::<String>()? {
            options.extend(map.next_value_seed(OptionOf(&key))?);
        }
        Ok(options)
    }
}

/// The value of the option of this name; its errors have the value's position.
struct OptionOf<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for OptionOf<'_> {
    type Value = Vec<(String, OptionValue)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let scalar = |key: &str, value: Value| {
            let fault =
                || D::Error::custom(format!("'{key}' is neither text nor a number nor true or false"));
            Ok((key.to_owned(), value.try_into().map_err(|_| fault())?))
        };
        match Value::deserialize(deserializer)? {
            Value::Table(metrics) if self.0 == METRIC_PREFIX.trim_end_matches('.') => {
                let named =
                    metrics.into_iter().map(|(name, value)| (format!("{METRIC_PREFIX}{name}"), value));
                named.map(|(name, value)| scalar(&name, value)).collect()
            }
            value => Ok(vec![scalar(self.0, value)?]),
        }
    }
}

/// Schemas of the types that read themselves.
macro_rules! schemas {
    ($($name:literal [$($generics:tt)*] $type:ty => $schema:tt)*) => {$(
        impl<$($generics)*> JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

schemas! {
    "Label" [] Label => {
        "type": "string", "maxLength": 60, "pattern": "^[^/'\\u0000-\\u001f\\u007f-\\u009f]+$", "allOf": [{"pattern": "\\S"}]
    }
    "Numbers" [const MOST: u32] Numbers<MOST> => {
        "anyOf": [
            {"const": "auto"},
            {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 1, "maximum": MOST}}
        ]
    }
    "Orders" [] Orders => {
        "anyOf": [
            {"enum": ["spread", "packed", "packed-cores"]},
            {"type": "array", "minItems": 1, "maxItems": 2, "items": {"enum": ["spread", "packed", "packed-cores"]}}
        ]
    }
    "Scalar" [] OptionValue => {"type": ["string", "number", "boolean"]}
    "Options" [] OptionTable => {
        "type": "object",
        "properties": {"metric": {
            "description": "Metrics of a command, as metric.NAME (docs/ENGINES.md).",
            "type": ["string", "number", "boolean", "object"],
            "additionalProperties": {"type": ["string", "number", "boolean"]}
        }},
        "additionalProperties": {"type": ["string", "number", "boolean"]}
    }
}

/// The JSON schema (draft 7) of study definitions, for editors.
pub fn schema() -> serde_json::Value {
    let settings = SchemaSettings::draft07()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(RecursiveTransform(plain));
    settings.into_generator().into_root_schema_for::<Definition>().to_value()
}

/// Takes out what TOML has not (null) and what says nothing to an editor (formats of integers, defaults of tables), and
/// puts paragraphs on one line.
fn plain(schema: &mut Schema) {
    let Some(keys) = schema.as_object_mut() else { return };
    keys.remove("format");
    if keys.get("default").is_some_and(serde_json::Value::is_null) {
        keys.remove("default");
    }
    if let Some(serde_json::Value::Array(types)) = keys.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            keys.insert("type".to_owned(), one);
        }
    }
    let null = serde_json::json!({"type": "null"});
    if let Some([serde_json::Value::Object(one), other]) =
        keys.get("anyOf").and_then(serde_json::Value::as_array).map(Vec::as_slice)
        && *other == null
    {
        let one = one.clone();
        keys.remove("anyOf");
        for (key, value) in one {
            keys.entry(key).or_insert(value);
        }
    }
    if let Some(serde_json::Value::String(text)) = keys.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}
