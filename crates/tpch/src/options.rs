//! The options of the workload `tpch`, checked before anything is made or started.
//!
//! Each engine refuses the options that it does not support, by name. This module checks the values.

use crate::dataset::{Cluster, Key, has_distinct_suppliers};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use threadwise_study::tpch::{MAX_SHORT, QUERIES, Test, query_list};
use threadwise_study::{OptionValue, Options};

/// Smallest scale factor: 100 suppliers, which 25 nations share.
pub const MIN_SCALE: f64 = 0.01;

/// Largest scale factor: the largest of the specification, clause 4.1.3.1.
pub const MAX_SCALE: f64 = 100_000.0;

/// Rows of `supplier` at scale factor 1, clause 4.2.5.1.
const SUPPLIERS_PER_SCALE: f64 = 10_000.0;

/// From here on the suppliers of a part differ at every scale factor.
const ALWAYS_DISTINCT: f64 = 0.025;

/// Most logical CPUs, threads or processes that a degree of parallelism may ask for.
const MAX_DOP: i64 = 4096;

/// Largest batch; more rows than an engine holds in one.
const MAX_BATCH_ROWS: i64 = 1 << 30;

/// Most megabytes of memory or disk: 1 EB.
const MAX_MB: i64 = 1 << 40;

/// Source of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The specification's validation parameters, the same for every stream.
    Validation,
    /// Drawn for every stream.
    Seeded,
}

/// State of the page cache when a query starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// The files are cached.
    Warm,
    /// The files are not cached.
    Cold,
}

/// The data that an embedded engine reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// The Parquet files.
    Parquet,
    /// Tables in memory, loaded before.
    Memory,
}

/// The parsed and checked options. `None`: not given, so the engine decides.
#[derive(Debug, Clone, PartialEq)]
pub struct TpchOptions {
    /// Scale factor.
    pub scale: f64,
    /// The test.
    pub test: Test,
    /// Queries, ascending, each once.
    pub queries: Vec<u8>,
    /// Source of parameters; validation for the power test and seeded for throughput unless given.
    pub parameters: Source,
    /// Order of `lineitem`.
    pub cluster: Cluster,
    /// Degree of parallelism; `None` for the number of logical CPUs of the placement.
    pub dop: Option<u32>,
    /// Page cache.
    pub cache: Cache,
    /// The data source.
    pub storage: Option<Storage>,
    /// Sessions beside the streams that execute short queries.
    pub short: u32,
    /// Rows in a batch.
    pub batch_rows: Option<u32>,
    /// The engine's memory limit, MB.
    pub memory_limit_mb: Option<u64>,
    /// Folder for spilled data.
    pub spill_dir: Option<PathBuf>,
    /// Largest amount of spilled data, MB.
    pub spill_limit_mb: Option<u64>,
    /// Whether expressions are compiled (PostgreSQL).
    pub jit: Option<bool>,
    /// Whether plans stay parallel regardless of their cost (PostgreSQL).
    pub hold_plan: Option<bool>,
    /// Settings of the engine by name, without `settings.`.
    pub settings: BTreeMap<String, OptionValue>,
}

/// An invalid option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("option {option} = {value}: {allowed}")]
pub struct OptionFault {
    /// Its name.
    pub option: String,
    /// Its value.
    pub value: String,
    /// The allowed values.
    pub allowed: String,
}

/// Names of all options; `settings.NAME` besides.
pub const NAMES: [&str; 15] = [
    "scale",
    "test",
    "queries",
    "parameters",
    "cluster",
    "dop",
    "cache",
    "storage",
    "short",
    "batch_rows",
    "memory_limit_mb",
    "spill_dir",
    "spill_limit_mb",
    "jit",
    "hold_plan",
];

impl TpchOptions {
    /// Reads the workload's options.
    ///
    /// # Errors
    /// The first option that is unknown or has an invalid value, with the allowed ones.
    pub fn read(options: &Options) -> Result<Self, OptionFault> {
        let reader = Reader(options);
        reader.refuse_unknown()?;
        let test = reader.word("test", &[("power", Test::Power), ("throughput", Test::Throughput)])?;
        let test = test.unwrap_or(Test::Power);
        let by_test = if test == Test::Power { Source::Validation } else { Source::Seeded };
        let sources = [("validation", Source::Validation), ("seeded", Source::Seeded)];
        let clusters = Cluster::ALL.map(|cluster| (cluster.name(), cluster));
        let storages = [("parquet", Storage::Parquet), ("memory", Storage::Memory)];
        Ok(Self {
            scale: reader.scale()?,
            test,
            queries: reader.queries()?,
            parameters: reader.word("parameters", &sources)?.unwrap_or(by_test),
            cluster: reader.word("cluster", &clusters)?.unwrap_or(Cluster::OrderKey),
            dop: reader.whole("dop", 1, MAX_DOP)?.map(|dop| dop as u32),
            cache: reader
                .word("cache", &[("warm", Cache::Warm), ("cold", Cache::Cold)])?
                .unwrap_or(Cache::Warm),
            storage: reader.word("storage", &storages)?,
            short: reader.short(test)?,
            batch_rows: reader.whole("batch_rows", 1, MAX_BATCH_ROWS)?.map(|rows| rows as u32),
            memory_limit_mb: reader.whole("memory_limit_mb", 1, MAX_MB)?,
            spill_dir: reader.folder("spill_dir")?,
            spill_limit_mb: reader.whole("spill_limit_mb", 0, MAX_MB)?,
            jit: reader.flag("jit")?,
            hold_plan: reader.flag("hold_plan")?,
            settings: reader.settings()?,
        })
    }

    /// The requested data.
    pub fn key(&self) -> Key {
        Key { scale: self.scale, cluster: self.cluster }
    }
}

/// Why no data can be made for a scale factor, and what is allowed; `None` if it can be made.
///
/// In small data the four suppliers of a part need not differ, though part and supplier are the key of
/// `partsupp`: from 100 suppliers on that is so for some multiples of 3 up to 240 (`dataset/rows.rs`).
pub fn scale_fault(scale: f64) -> Option<String> {
    if !(MIN_SCALE..=MAX_SCALE).contains(&scale) {
        return Some(format!("a number from {MIN_SCALE} to {MAX_SCALE} is allowed (1 is 1 GB of raw data)"));
    }
    if has_distinct_suppliers(scale) {
        return None;
    }
    let suppliers = (scale * SUPPLIERS_PER_SCALE) as u64;
    let larger = (suppliers + 1..).map(|count| count as f64 / SUPPLIERS_PER_SCALE);
    let next = larger.take_while(|next| *next < ALWAYS_DISTINCT).find(|next| has_distinct_suppliers(*next));
    let next = next.unwrap_or(ALWAYS_DISTINCT);
    Some(format!(
        "with {suppliers} suppliers some part has one of them twice, but part and supplier are a key: use \
         {next} or any number from {ALWAYS_DISTINCT} on"
    ))
}

struct Reader<'a>(&'a Options);

impl Reader<'_> {
    fn fault(&self, option: &str, allowed: impl Into<String>) -> OptionFault {
        let value = self.0.get(option).map(ToString::to_string).unwrap_or_default();
        OptionFault { option: option.to_owned(), value, allowed: allowed.into() }
    }

    fn refuse_unknown(&self) -> Result<(), OptionFault> {
        let unknown = |name: &&String| !NAMES.contains(&name.as_str()) && !name.starts_with(SETTINGS);
        match self.0.keys().find(unknown) {
            Some(name) => {
                let known = NAMES.join(", ");
                Err(self.fault(name, format!("tpch has no such option; it has {known} and settings.NAME")))
            }
            None => Ok(()),
        }
    }

    fn scale(&self) -> Result<f64, OptionFault> {
        let scale = self.0.get("scale").map_or(1.0, |scale| scale.number().unwrap_or(f64::NAN));
        match scale_fault(scale) {
            None => Ok(scale),
            Some(allowed) => Err(self.fault("scale", allowed)),
        }
    }

    fn queries(&self) -> Result<Vec<u8>, OptionFault> {
        match self.0.get("queries") {
            None => Ok((1..=QUERIES).collect()),
            Some(list) => query_list(&list.to_string()).map_err(|_| {
                self.fault("queries", format!("a list of 1 to {QUERIES} such as 1,3-6 is allowed"))
            }),
        }
    }

    fn word<T: Copy>(&self, option: &str, words: &[(&str, T)]) -> Result<Option<T>, OptionFault> {
        let Some(value) = self.0.get(option) else { return Ok(None) };
        let known = words.iter().find(|(word, _)| matches!(value, OptionValue::Text(text) if text == word));
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let allowed = || self.fault(option, format!("{} is allowed", names.join(" or ")));
        known.map(|(_, meaning)| Some(*meaning)).ok_or_else(allowed)
    }

    fn whole(&self, option: &str, least: i64, most: i64) -> Result<Option<u64>, OptionFault> {
        match self.0.get(option) {
            None => Ok(None),
            Some(OptionValue::Integer(value)) if (least..=most).contains(value) => {
                Ok(Some(value.unsigned_abs()))
            }
            Some(_) => Err(self.fault(option, format!("a whole number from {least} to {most} is allowed"))),
        }
    }

    /// They run beside whole streams: beside one query of `power` there are too few of them for a percentile.
    fn short(&self, test: Test) -> Result<u32, OptionFault> {
        let short = self.whole("short", 0, i64::from(MAX_SHORT))?.unwrap_or(0) as u32;
        match test {
            Test::Power if short > 0 => Err(self.fault("short", "test=power has none; use test=throughput")),
            _ => Ok(short),
        }
    }

    fn flag(&self, option: &str) -> Result<Option<bool>, OptionFault> {
        match self.0.get(option) {
            None => Ok(None),
            Some(OptionValue::Flag(value)) => Ok(Some(*value)),
            Some(_) => Err(self.fault(option, "true or false is allowed")),
        }
    }

    fn folder(&self, option: &str) -> Result<Option<PathBuf>, OptionFault> {
        match self.0.get(option) {
            None => Ok(None),
            Some(OptionValue::Text(path)) if Path::new(path).is_absolute() => Ok(Some(path.into())),
            Some(_) => Err(self.fault(option, "the full path of a folder is allowed")),
        }
    }

    fn settings(&self) -> Result<BTreeMap<String, OptionValue>, OptionFault> {
        let mut settings = BTreeMap::new();
        for (option, value) in self.0 {
            let Some(name) = option.strip_prefix(SETTINGS) else { continue };
            if !is_setting_name(name) {
                return Err(self.fault(option, "a setting's name has letters, digits, dots and underscores"));
            }
            settings.insert(name.to_owned(), value.clone());
        }
        Ok(settings)
    }
}

const SETTINGS: &str = "settings.";

/// A name without quotes in a SET, so that none can end it: including `datafusion.execution.x`.
fn is_setting_name(name: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    name.split('.').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, OptionValue)]) -> Result<TpchOptions, OptionFault> {
        TpchOptions::read(&pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }

    fn word(text: &str) -> OptionValue {
        OptionValue::Text(text.to_owned())
    }

    #[test]
    fn without_options_it_is_the_power_test_at_scale_1() {
        let options = read(&[]).unwrap();
        assert_eq!((options.scale, options.test), (1.0, Test::Power));
        assert_eq!(options.queries, (1..=22).collect::<Vec<u8>>());
        assert_eq!((options.parameters, options.cache), (Source::Validation, Cache::Warm));
        assert_eq!((options.cluster, options.dop, options.storage), (Cluster::OrderKey, None, None));
        assert_eq!(options.key().folder_name(), "sf1");
    }

    #[test]
    fn all_of_them_are_read() {
        let options = read(&[
            ("scale", OptionValue::Number(0.1)),
            ("test", word("throughput")),
            ("queries", word("1,3-5")),
            ("cluster", word("shipdate")),
            ("dop", OptionValue::Integer(2)),
            ("cache", word("cold")),
            ("storage", word("memory")),
            ("short", OptionValue::Integer(64)),
            ("batch_rows", OptionValue::Integer(2048)),
            ("memory_limit_mb", OptionValue::Integer(512)),
            ("spill_dir", word("/var/tmp/spill")),
            ("spill_limit_mb", OptionValue::Integer(0)),
            ("jit", OptionValue::Flag(false)),
            ("hold_plan", OptionValue::Flag(true)),
            ("settings.work_mem", word("64MB")),
        ])
        .unwrap();
        assert_eq!(options.parameters, Source::Seeded);
        assert_eq!(options.queries, [1, 3, 4, 5]);
        assert_eq!(options.key().folder_name(), "sf0.1-shipdate");
        assert_eq!((options.dop, options.batch_rows, options.short), (Some(2), Some(2048), 64));
        assert_eq!((options.jit, options.hold_plan), (Some(false), Some(true)));
        assert_eq!(options.settings.get("work_mem"), Some(&word("64MB")));
        assert_eq!(options.spill_limit_mb, Some(0));
        let one = read(&[("test", word("throughput")), ("parameters", word("validation"))]).unwrap();
        assert_eq!(one.parameters, Source::Validation);
        assert_eq!(read(&[("short", OptionValue::Integer(0))]).unwrap().short, 0);
        assert_eq!(read(&[("queries", OptionValue::Integer(6))]).unwrap().queries, [6]);
    }

    #[test]
    fn scales_that_no_data_can_be_made_for_are_refused() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 0.001, 0.0099, 100_001.0] {
            let fault = read(&[("scale", OptionValue::Number(scale))]).unwrap_err();
            assert!(fault.to_string().contains("a number from 0.01 to 100000"), "{fault}");
        }
        for scale in [OptionValue::Integer(0), OptionValue::Flag(true), word("one")] {
            assert_eq!(read(&[("scale", scale)]).unwrap_err().option, "scale");
        }
        assert_eq!(read(&[("scale", OptionValue::Integer(100_000))]).unwrap().scale, 1e5);
    }

    /// The message and the rule are one: whatever it names is taken.
    #[test]
    fn a_scale_at_which_a_part_has_a_supplier_twice_is_refused_with_the_next_that_can_be() {
        for (scale, next) in
            [(0.0102, "0.0103"), (0.021, "0.0211"), (0.0240999, "0.0241"), (0.02375, "0.0238")]
        {
            let fault = read(&[("scale", OptionValue::Number(scale))]).unwrap_err().to_string();
            assert!(fault.contains(&format!("use {next} or any number from 0.025 on")), "{fault}");
            assert_eq!(scale_fault(next.parse().unwrap()), None);
        }
        for scale in [0.01, 0.0101, 0.02, 0.0241, 0.025, 0.03, 1.0, 1e5] {
            assert_eq!(read(&[("scale", OptionValue::Number(scale))]).unwrap().scale, scale);
        }
        // Every scale of the thousands between is either taken, or refused with one that is.
        for step in 10_000..30_000 {
            let scale = f64::from(step) / 1e6;
            let Some(allowed) = scale_fault(scale) else { continue };
            assert!(scale < ALWAYS_DISTINCT, "{scale}");
            let next: f64 = allowed.split("use ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
            assert!(next > scale && scale_fault(next).is_none(), "{scale}: {allowed}");
        }
    }

    #[test]
    fn what_is_not_allowed_is_reported_with_what_is() {
        for (option, value, part) in [
            ("test", word("full"), "power or throughput"),
            ("test", OptionValue::Flag(true), "power or throughput"),
            ("queries", word("23"), "1 to 22"),
            ("parameters", word("random"), "validation or seeded"),
            ("cluster", word("date"), "orderkey or shipdate"),
            ("dop", OptionValue::Integer(0), "from 1 to 4096"),
            ("dop", OptionValue::Number(1.5), "whole number"),
            ("cache", word("hot"), "warm or cold"),
            ("storage", word("disk"), "parquet or memory"),
            ("short", OptionValue::Integer(65), "from 0 to 64"),
            ("short", OptionValue::Integer(2), "test=throughput"),
            ("batch_rows", OptionValue::Integer(-1), "from 1"),
            ("memory_limit_mb", OptionValue::Integer(0), "from 1"),
            ("spill_dir", word("here"), "full path"),
            ("jit", OptionValue::Integer(1), "true or false"),
            ("settings.a; DROP TABLE x", word("1"), "letters, digits"),
            ("settings.", word("1"), "letters, digits"),
            ("scael", OptionValue::Integer(1), "it has scale, test"),
        ] {
            let fault = read(&[(option, value)]).unwrap_err();
            assert_eq!(fault.option, option);
            assert!(fault.to_string().contains(part), "{fault}");
        }
    }
}
