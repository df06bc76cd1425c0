//! The workload `command`: any command as a whole run. Its options are read and checked without a
//! machine and without starting anything.
//!
//! All are ordinary workload options, so that study definitions, `--set`, the store and the worker protocol need no
//! special case. `words` splits and fills commands, `metric` specifies what is read from their output, `parsers` has
//! the output of known tools.

pub mod metric;
pub mod parsers;
pub mod server;
pub mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::{OptionValue, Options, SessionSlice};
pub use metric::{Better, Combine, Extract, MetricSpec, Source};
pub use server::ServerName;
pub use words::{Values, fill, quote, split};

/// Sampler under which a run's metrics are stored: one reading for each, named as the metric.
pub const SAMPLER: &str = "command";

/// Counter of a slice: peak memory of all processes of a run together, as sampled.
pub const PEAK_RSS_BYTES: &str = "peak_rss_bytes";

/// Maximum number of metrics of a treatment.
pub const MAX_METRICS: usize = 32;

/// Longest time limit of a run, seconds: the longest window of a worker.
pub const MAX_TIMEOUT_S: u64 = 3600;

/// Time before a run to prepare its processes, up to the start of their programs, milliseconds. Putting one into a
/// control group took up to 10.
pub const LEAD_MS: f64 = 50.0;

/// Maximum output limit of a process, MiB: all of it is read into memory.
pub const MAX_OUTPUT_MIB: u64 = 1024;

/// Default output limit of a process, MiB.
const OUTPUT_MIB: u64 = 16;

/// Prefix of metric options.
pub const METRIC_PREFIX: &str = "metric.";

/// Prefix of options with an expression that must not match a run's output.
pub const FAILS_PREFIX: &str = "fails.";

/// Prefix of options with the value from which a metric is only a bound.
pub const CAP_PREFIX: &str = "cap.";

/// Option: the command that is measured.
pub const COMMAND: &str = "command";

/// Options that are commands, in the order in which they run.
pub const COMMANDS: [&str; 7] = ["setup", "warmup", "before", COMMAND, "check", "after", "teardown"];

/// Further options, without `metric.NAME`.
const OTHERS: [&str; 7] =
    ["each", "timeout_s", "output_limit_mib", "success", HEADLINE, "folder", PIN_SERVER];

/// Option: the metric that the verdict is about.
pub const HEADLINE: &str = "headline";

/// Option: a running server that is bound to the placement too.
pub const PIN_SERVER: &str = "pin_server";

/// Counter of a slice: CPU time of such a server during the run.
pub const SERVER_CPU_NS: &str = "server_cpu_ns";

/// Option that the runner sets for `{block}`; users cannot set it.
pub const BLOCK: &str = "block";

/// An invalid option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("option '{option}': {why}")]
pub struct Fault {
    /// Name of the option.
    pub option: String,
    /// What is wrong, and what is allowed.
    pub why: String,
}

impl Fault {
    pub(crate) fn of(option: &str, why: impl Into<String>) -> Self {
        Self { option: option.to_owned(), why: why.into() }
    }
}

/// What one process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Each {
    /// The whole treatment: it may use every logical CPU of the placement.
    Treatment,
    /// One session: one process for each, all started at the same time.
    Session,
}

/// The options of a treatment, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandOptions {
    /// The commands of [`COMMANDS`] that are set, as words with placeholders. `setup` runs once, before the first run;
    /// `warmup` once, after `setup`; `before` and `after` around every run, not timed; `check` after every run, before
    /// `after`: an exit code other than 0 is a wrong answer; `teardown` at the end, even after failures.
    pub commands: BTreeMap<&'static str, Vec<String>>,
    /// What one process runs.
    pub each: Each,
    /// Time limit of a run, and of each of the other commands, seconds.
    pub timeout_s: u64,
    /// Output limit of one process, bytes.
    pub output_limit_bytes: u64,
    /// Exit codes that mean success.
    pub success: Vec<i32>,
    /// Metrics that are read from the output.
    pub metrics: Vec<MetricSpec>,
    /// Regular expressions by name: a run whose output matches one has failed, whatever its exit code.
    pub fails: Vec<(String, String)>,
    /// End of a tool's scale by metric: from there on a value is a bound, and is left out.
    pub caps: BTreeMap<String, f64>,
    /// The metric that the verdict is about; `None` for elapsed time.
    pub headline: Option<String>,
    /// Working folder of all commands; `None` for the run's own output folder.
    pub folder: Option<PathBuf>,
    /// A running server that is bound to the placement too.
    pub pin_server: Option<ServerName>,
}

impl Default for CommandOptions {
    /// Those of a treatment that sets none, without a command.
    fn default() -> Self {
        Self {
            commands: BTreeMap::new(),
            each: Each::Treatment,
            timeout_s: MAX_TIMEOUT_S,
            output_limit_bytes: OUTPUT_MIB << 20,
            success: vec![0],
            metrics: Vec::new(),
            fails: Vec::new(),
            caps: BTreeMap::new(),
            headline: None,
            folder: None,
            pin_server: None,
        }
    }
}

impl CommandOptions {
    /// Reads the options of one treatment.
    ///
    /// # Errors
    /// The first unknown or invalid option.
    pub fn read(options: &Options) -> Result<Self, Fault> {
        let mut read = Self::default();
        for (key, value) in options.iter().filter(|(key, _)| *key != BLOCK) {
            read.set(key, value).map_err(|why| Fault::of(key, why))?;
        }
        if !read.commands.contains_key(COMMAND) {
            let why = "it is missing: which command is to be measured? On the command line, give it after --";
            return Err(Fault::of(COMMAND, why));
        }
        read.agree().map(|()| read)
    }

    /// Sets one option.
    ///
    /// # Errors
    /// It is unknown or invalid: what is allowed.
    pub(crate) fn set(&mut self, key: &str, value: &OptionValue) -> Result<(), String> {
        let text = value.to_string();
        if let Some(name) = key.strip_prefix(METRIC_PREFIX) {
            self.metrics.push(MetricSpec::parse(name, &text)?);
        } else if let Some(name) = key.strip_prefix(FAILS_PREFIX) {
            self.fails.push((name.to_owned(), not_empty(text, "the regular expression is empty")?));
        } else if let Some(name) = key.strip_prefix(CAP_PREFIX) {
            let cap = text.parse().ok().filter(|cap: &f64| cap.is_finite());
            let why = || format!("'{text}' is not a number from which on the metric is a bound");
            self.caps.insert(name.to_owned(), cap.ok_or_else(why)?);
        } else if let Some(name) = COMMANDS.into_iter().find(|name| *name == key) {
            let words = Some(split(&text)?).filter(|words| !words.is_empty());
            self.commands.insert(name, words.ok_or("it is empty; leave it out, or give a command")?);
        } else {
            self.set_other(key, value, text)?;
        }
        Ok(())
    }

    fn set_other(&mut self, key: &str, value: &OptionValue, text: String) -> Result<(), String> {
        match key {
            "each" if text == "treatment" => self.each = Each::Treatment,
            "each" if text == "session" => self.each = Each::Session,
            "each" => {
                return Err(format!(
                    "'{text}' is neither treatment (one process) nor session (one for each)"
                ));
            }
            "timeout_s" => self.timeout_s = range(value, 1, MAX_TIMEOUT_S, "seconds")?,
            "output_limit_mib" => self.output_limit_bytes = range(value, 1, MAX_OUTPUT_MIB, "MiB")? << 20,
            "success" => {
                let why = || {
                    format!("'{text}' is not a list of exit codes; 0 to 255 are allowed, such as 0 or 0,3")
                };
                self.success = codes(&text).ok_or_else(why)?;
            }
            HEADLINE => {
                let name = not_empty(text, "it is empty; give a metric's name")?;
                self.headline = Some(name).filter(|name| name != ELAPSED);
            }
            PIN_SERVER => self.pin_server = Some(ServerName::parse(&text)?),
            "folder" => self.folder = Some(absolute(text)?),
            _ => {
                let known: Vec<&str> = COMMANDS.into_iter().chain(OTHERS).collect();
                return Err(format!(
                    "unknown to command; allowed: {}, metric.NAME, fails.NAME, cap.METRIC",
                    known.join(", ")
                ));
            }
        }
        Ok(())
    }

    /// The words of a command, if it is set.
    pub fn words(&self, name: &str) -> Option<&[String]> {
        self.commands.get(name).map(Vec::as_slice)
    }

    /// The commands that are set, by option name, in the order in which they run.
    pub fn commands(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        COMMANDS.into_iter().filter_map(|name| Some((name, self.words(name)?)))
    }

    /// Checks that involve several options.
    fn agree(&self) -> Result<(), Fault> {
        if let Some(metric) = self.metrics.get(MAX_METRICS) {
            let why = format!("more than {MAX_METRICS} metrics; take some out");
            return Err(Fault::of(&format!("{METRIC_PREFIX}{}", metric.name), why));
        }
        if let Some(name) = self.caps.keys().find(|name| !self.has_metric(name)) {
            let why = format!("there is no metric '{name}'");
            return Err(Fault::of(&format!("{CAP_PREFIX}{name}"), why));
        }
        self.check_headline()?;
        for (name, words) in self.commands() {
            let is_of_session = self.each == Each::Session && name == COMMAND;
            let values = Values { session: is_of_session.then_some(0), ..Values::default() };
            if let Some(why) = words.iter().find_map(|word| fill(word, &values).err()) {
                return Err(Fault::of(name, why));
            }
        }
        Ok(())
    }

    fn has_metric(&self, name: &str) -> bool {
        self.metrics.iter().any(|metric| metric.name == name)
    }

    /// Refuses a headline that is not a metric.
    pub(crate) fn check_headline(&self) -> Result<(), Fault> {
        let Some(name) = self.headline.as_ref().filter(|name| !self.has_metric(name)) else { return Ok(()) };
        let metrics = self.metrics.iter().map(|metric| metric.name.as_str());
        let known: Vec<&str> = std::iter::once(ELAPSED).chain(metrics).collect();
        let why = format!("there is no metric '{name}'; there are: {}", known.join(", "));
        Err(Fault::of(HEADLINE, why))
    }
}

/// The word for elapsed time in the option `headline`.
const ELAPSED: &str = "elapsed";

/// The value of `each`; [`CommandOptions::read`] refuses an unknown word.
pub fn each(options: &Options) -> Each {
    match options.get("each").map(ToString::to_string).as_deref() {
        Some("session") => Each::Session,
        _ => Each::Treatment,
    }
}

/// The metrics of a treatment's options, by name. Invalid ones are skipped: [`CommandOptions::read`] refuses them.
pub fn metrics(options: &Options) -> Vec<MetricSpec> {
    let spec = |(key, value): (&String, &OptionValue)| {
        MetricSpec::parse(key.strip_prefix(METRIC_PREFIX)?, &value.to_string()).ok()
    };
    options.iter().filter_map(spec).collect()
}

/// The metrics of a treatment's run, by name: its sessions' values, combined as each metric specifies. A metric that
/// is missing from any process with output is left out.
pub fn combined(specs: &[MetricSpec], sessions: &[SessionSlice]) -> Vec<(String, f64)> {
    let value_of = |spec: &MetricSpec| {
        // Sessions without a process of their own have no step.
        let values: Option<Vec<f64>> = sessions
            .iter()
            .filter(|session| session.steps > 0)
            .map(|session| session.metrics.get(&spec.name).copied())
            .collect();
        spec.combine(&values?)
    };
    specs.iter().filter_map(|spec| Some((spec.name.clone(), value_of(spec)?))).collect()
}

/// The error of one option, if any.
pub(crate) fn option_fault(key: &str, value: &OptionValue) -> Option<String> {
    CommandOptions::default().set(key, value).err()
}

/// Options of a treatment that are commands, by name, in the order in which they run.
pub fn command_texts(options: &Options) -> Vec<(&'static str, String)> {
    COMMANDS.into_iter().filter_map(|name| Some((name, options.get(name)?.to_string()))).collect()
}

/// The name of a word that seems to hold a password, such as `--password` of `--password=x`; never the password.
pub fn password_word(words: &[String]) -> Option<String> {
    const NAMES: [&str; 5] = ["PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN"];
    let is_name = |name: &str| NAMES.iter().any(|part| name.to_ascii_uppercase().contains(part));
    let option = words.windows(2).find_map(|two| {
        let stands_alone = two[0].starts_with("--") && !two[0].contains('=') && !two[1].starts_with('-');
        (stands_alone && is_name(&two[0])).then(|| two[0].clone())
    });
    let address = || {
        words.iter().any(|word| has_password(word)).then(|| "an address with a user and a colon".to_owned())
    };
    option.or_else(address).or_else(|| {
        words.iter().find_map(|word| {
            let (name, value) = word.split_once('=')?;
            // In a script the name follows other words.
            let name = name.rsplit(|c: char| c.is_whitespace() || matches!(c, ';' | '\'' | '"')).next()?;
            (is_name(name) && !value.is_empty()).then(|| name.to_owned())
        })
    })
}

/// Whether a word contains `scheme://user:password@`.
fn has_password(word: &str) -> bool {
    let Some((_, rest)) = word.split_once("://") else { return false };
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
}

/// A whole number between two bounds, or what is wrong.
pub(crate) fn range(value: &OptionValue, least: u64, most: u64, unit: &str) -> Result<u64, String> {
    let number = value.rounded().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("'{value}' is not a whole number of {unit} from {least} to {most}"))
}

fn not_empty(text: String, why: &str) -> Result<String, String> {
    if text.is_empty() { Err(why.to_owned()) } else { Ok(text) }
}

/// An absolute path, or what is wrong.
pub(crate) fn absolute(text: String) -> Result<PathBuf, String> {
    if text.starts_with('/') { Ok(text.into()) } else { Err(format!("'{text}' is not an absolute path")) }
}

fn codes(list: &str) -> Option<Vec<i32>> {
    let code = |word: &str| word.trim().parse::<i32>().ok().filter(|code| (0..=255).contains(code));
    list.split(',').map(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), OptionValue::Text((*value).to_owned()))).collect()
    }

    fn refused(pairs: &[(&str, &str)]) -> String {
        CommandOptions::read(&options(pairs)).unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_those_of_the_documentation() {
        let read = CommandOptions::read(&options(&[("command", "sleep 1")])).unwrap();
        assert_eq!(read.commands[COMMAND], ["sleep", "1"]);
        assert_eq!((read.each, read.timeout_s, read.output_limit_bytes), (Each::Treatment, 3600, 16 << 20));
        assert_eq!((read.success, read.headline, read.folder), (vec![0], None, None));
        assert_eq!(read.metrics, []);
    }

    #[test]
    fn every_option_is_read() {
        let read = CommandOptions::read(&Options::from([
            ("command".to_owned(), OptionValue::Text("bench -s {session}".to_owned())),
            ("each".to_owned(), OptionValue::Text("session".to_owned())),
            ("setup".to_owned(), OptionValue::Flag(true)),
            ("teardown".to_owned(), OptionValue::Text("rm -rf '{out}/a b'".to_owned())),
            ("timeout_s".to_owned(), OptionValue::Number(5.0)),
            ("output_limit_mib".to_owned(), OptionValue::Integer(2)),
            ("success".to_owned(), OptionValue::Text("0, 3".to_owned())),
            ("headline".to_owned(), OptionValue::Text("tps".to_owned())),
            ("metric.tps".to_owned(), OptionValue::Text("tx/s higher regex:tps = ([0-9]+)".to_owned())),
            ("folder".to_owned(), OptionValue::Text("/tmp".to_owned())),
            ("pin_server".to_owned(), OptionValue::Integer(812)),
            ("block".to_owned(), OptionValue::Integer(3)),
        ]))
        .unwrap();
        let commands: Vec<_> = read.commands().collect();
        assert_eq!(commands[0], ("setup", &["true".to_owned()][..]));
        assert_eq!(commands[1].0, "command");
        assert_eq!(commands[2].1, ["rm", "-rf", "{out}/a b"]);
        assert_eq!((read.timeout_s, read.output_limit_bytes, read.success), (5, 2 << 20, vec![0, 3]));
        assert_eq!(read.pin_server, Some(ServerName::Pid(812)));
        assert_eq!((read.headline.as_deref(), read.metrics[0].name.as_str()), (Some("tps"), "tps"));
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        assert!(refused(&[]).contains("after --"));
        let with = |key: &str, value: &str| refused(&[("command", "true"), (key, value)]);
        assert!(with("commmand", "x").contains("allowed: setup, warmup, before, command, check"));
        assert!(with("each", "cpu").contains("'cpu' is neither"));
        assert!(with("timeout_s", "0").contains("from 1 to 3600"));
        assert!(with("success", "0;1").contains("exit codes") && with("success", "256").contains("255"));
        assert!(with("headline", "tps").contains("there are: elapsed"));
        assert!(with("folder", "here").contains("absolute"));
        assert!(with("pin_server", "db.example:5432").contains("another machine"));
        assert!(with("setup", " ").contains("empty") && with("setup", "a 'b").contains("quote"));
        assert!(with("metric.Tps", "x").contains("Tps"));
        assert!(with("setup", "x {session}").contains("each=session"));
        assert!(refused(&[("command", "x {session}")]).contains("each=session"));
        assert!(refused(&[("command", "x {cpu}")]).contains("{cpus}"));
        let many: Vec<(String, String)> =
            (0..33).map(|at| (format!("metric.m{at}"), "s lower regex:([0-9]+)".to_owned())).collect();
        let mut all: Vec<(&str, &str)> =
            many.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        all.push(("command", "true"));
        assert!(refused(&all).contains("more than 32"));
    }

    #[test]
    fn metrics_of_sessions_are_combined_as_asked() {
        let specs =
            [("sum", "tx/s higher regex:a"), ("mean", "ms lower regex:b"), ("gone", "1 none regex:c")]
                .map(|(name, text)| MetricSpec::parse(name, text).unwrap());
        let session = |sum: f64, mean: f64| SessionSlice {
            steps: 1,
            metrics: BTreeMap::from([("sum".to_owned(), sum), ("mean".to_owned(), mean)]),
            ..SessionSlice::default()
        };
        let sessions = [session(10.0, 2.0), SessionSlice::default(), session(30.0, 4.0)];
        let found = combined(&specs, &sessions);
        assert_eq!(found, [("sum".to_owned(), 40.0), ("mean".to_owned(), 3.0)]);
        assert_eq!(combined(&specs, &[]), []);
    }

    #[test]
    fn words_that_hold_passwords_are_known_by_name_only() {
        let word = |text: &str| password_word(&split(text).unwrap());
        assert_eq!(word("mysql --password=geheim -h db").as_deref(), Some("--password"));
        assert_eq!(word("sh -c 'cd x; PGPASSWORD=geheim psql'").as_deref(), Some("PGPASSWORD"));
        assert_eq!(word("mysql --password geheim -h db").as_deref(), Some("--password"));
        assert_eq!(word("curl --token geheim").as_deref(), Some("--token"));
        assert!(!word("psql postgres://u:geheim@h/db").unwrap().contains("geheim"));
        assert_eq!(word("psql postgres://u@h:5432/db?x=a:b@c"), None);
        assert_eq!(word("mysql --password= -h db"), None);
        assert_eq!(word("psql --no-password -h db"), None);
        assert_eq!(word("pgbench -c 4"), None);
    }
}
