//! The workload `worklist`: a list of files or databases, N jobs, and a recipe of commands for each item. Its options
//! are read and checked without a machine and without starting anything.
//!
//! N is the treatment's number of sessions. A run is the whole list, so it is treated as a run of a command: one per
//! block, with its metrics as readings ([`crate::command`]). Source of the design: a published work list of backup and
//! restore, in which N subprocesses were fed from one list.

use std::path::PathBuf;

use crate::command::{self, CommandOptions, Fault, METRIC_PREFIX, absolute, range};
use crate::{OptionValue, Options};

/// Name of the recipe that is the user's own command.
pub const OWN_RECIPE: &str = "command";

/// Sampler under which the items of a run are stored: one reading for each, with its position in the list and its name
/// as the metric, its start and end as the span, and its job as the value.
pub const SAMPLER: &str = "item";

/// Parser with the metrics of every work list.
pub const PARSER: &str = "worklist";

/// Longest list whose items' spans are stored for each run; longer lists have totals only.
pub const MAX_SPANS: usize = 2000;

/// Maximum items of a list.
pub const MAX_ITEMS: u64 = 100_000;

/// Maximum concurrent jobs.
pub const MAX_JOBS: u32 = 1024;

/// Maximum pause before a run, seconds.
pub const MAX_SETTLE_S: u64 = 600;

/// Default items of a generated list.
const FILES: u64 = 40;

/// Default total size of them, MiB.
const TOTAL_MIB: u64 = 64;

/// Option: what is done for each item, in study definitions and on the command line.
pub const RECIPE: &str = "recipe";

/// The old name of [`RECIPE`], kept in resolved studies and result files, so that old ones can be read, resumed and
/// compared.
pub const RECIPE_STORED: &str = "chain";

/// Options of the workload, for messages, without `metric.NAME`.
const OPTIONS: &str = "recipe, command, check, list, files, total_mib, order, feed, cold, settle_s, timeout_s, \
                       page_size, salvage, headline, folder";

/// The order in which items start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As given.
    Given,
    /// Largest first.
    Largest,
    /// Drawn for every block, the same for all its treatments.
    Shuffled,
}

/// How jobs get their items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    /// One queue: a finished job takes the next item.
    Queue,
    /// Fixed parts: the list is cut into one part of equal numbers of items for each job.
    Split,
}

/// The options of a treatment, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct WorklistOptions {
    /// Name of the recipe; `command` for the user's own.
    pub recipe: String,
    /// Its options that a command has too: the user's own command for one item (`command`), and the one that checks
    /// a drawn item after each run in place of the recipe's own comparison (`check`), both as words with placeholders;
    /// metrics; the time limit of a run; the working folder of the user's command (`None` for a folder per item).
    pub run: CommandOptions,
    /// A text file with one item a line (or separated by NUL); `None` for a generated list.
    pub list: Option<PathBuf>,
    /// Items of a generated list.
    pub files: u64,
    /// Bytes of all of them together.
    pub total_bytes: u64,
    /// Order of items.
    pub order: Order,
    /// How jobs get items.
    pub feed: Feed,
    /// Whether the items are dropped from the page cache before every run.
    pub cold: bool,
    /// Pause before every run, after `sync`, seconds.
    pub settle_s: u64,
    /// Page size of restored databases, bytes; `None` keeps each item's own.
    pub page_size_bytes: Option<u32>,
    /// Whether damaged items are read as far as possible, if the recipe's programs can.
    pub salvage: bool,
}

impl Default for WorklistOptions {
    /// Those of a treatment that sets none.
    fn default() -> Self {
        Self {
            recipe: String::new(),
            run: CommandOptions::default(),
            list: None,
            files: FILES,
            total_bytes: TOTAL_MIB << 20,
            order: Order::Largest,
            feed: Feed::Queue,
            cold: true,
            settle_s: 1,
            page_size_bytes: None,
            salvage: false,
        }
    }
}

impl WorklistOptions {
    /// Reads the options of one treatment.
    ///
    /// # Errors
    /// The first unknown or invalid option.
    pub fn read(options: &Options) -> Result<Self, Fault> {
        let mut read = Self::default();
        for (key, value) in options.iter().filter(|(key, _)| *key != command::BLOCK) {
            read.set(key, value).map_err(|why| Fault::of(key, why))?;
        }
        if options.contains_key(RECIPE) && options.contains_key(RECIPE_STORED) {
            let why = format!("its old name '{RECIPE_STORED}' is given too; keep one of them");
            return Err(Fault::of(RECIPE, why));
        }
        if read.recipe.is_empty() {
            read.recipe = if read.command().is_some() { OWN_RECIPE } else { "sqlite" }.to_owned();
        }
        read.run.check_headline()?;
        read.agree().map(|()| read)
    }

    /// The user's own command for one item.
    pub fn command(&self) -> Option<&[String]> {
        self.run.words(command::COMMAND)
    }

    /// The user's command that checks one drawn item after each run: an exit code other than 0 fails the run.
    pub fn check(&self) -> Option<&[String]> {
        self.run.words("check")
    }

    /// Sets one option.
    fn set(&mut self, key: &str, value: &OptionValue) -> Result<(), String> {
        let text = value.to_string();
        match key {
            _ if key.starts_with(METRIC_PREFIX) => self.run.set(key, value)?,
            "command" | "check" | "timeout_s" | "headline" | "folder" => self.run.set(key, value)?,
            RECIPE | RECIPE_STORED if text.is_empty() => {
                return Err("it is empty; `threadwise list` shows the recipes".to_owned());
            }
            RECIPE | RECIPE_STORED => self.recipe = text,
            "list" => self.list = Some(absolute(text)?),
            "files" => self.files = range(value, 1, MAX_ITEMS, "items")?,
            "total_mib" => {
                let why = || format!("'{text}' is not a number of MiB above 0");
                self.total_bytes = (mib(value).ok_or_else(why)? * 1_048_576.0) as u64;
            }
            "order" => {
                let orders =
                    [("given", Order::Given), ("largest", Order::Largest), ("shuffled", Order::Shuffled)];
                self.order = among(&text, &orders)?;
            }
            "feed" => self.feed = among(&text, &[("queue", Feed::Queue), ("split", Feed::Split)])?,
            "cold" => self.cold = among(&text, &[("evict", true), ("no", false)])?,
            "settle_s" => self.settle_s = range(value, 0, MAX_SETTLE_S, "seconds")?,
            "salvage" => match value {
                OptionValue::Flag(flag) => self.salvage = *flag,
                _ => return Err(format!("'{text}' is neither true nor false")),
            },
            "page_size" => self.page_size_bytes = Some(range(value, 512, 65_536, "bytes")? as u32),
            _ => return Err(format!("unknown to worklist; allowed: {OPTIONS}, metric.NAME")),
        }
        Ok(())
    }

    /// Checks that involve several options.
    fn agree(&self) -> Result<(), Fault> {
        let (option, why) = match (self.command(), self.recipe.as_str(), &self.list) {
            (None, OWN_RECIPE, _) => (
                "command",
                "it is missing: which command is run for each item? On the command line, give it after --",
            ),
            (Some(_), recipe, _) if recipe != OWN_RECIPE => {
                (RECIPE, "a command of your own is given too; keep one of them")
            }
            (Some(_), _, None) => (
                "list",
                "it is missing: which items is the command run for? Give a text file with one item a line",
            ),
            _ => return Ok(()),
        };
        Err(Fault::of(option, why))
    }
}

/// The value of one of these words.
fn among<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    found.ok_or_else(|| format!("'{text}' is not one of: {}", known.join(", ")))
}

/// The error of one option, if any.
pub(crate) fn option_fault(key: &str, value: &OptionValue) -> Option<String> {
    WorklistOptions::default().set(key, value).err()
}

fn mib(value: &OptionValue) -> Option<f64> {
    // No list exceeds a pebibyte, and its bytes still fit.
    value.number().filter(|number| *number > 0.0 && *number <= 1_073_741_824.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, OptionValue)]) -> Options {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    }

    fn text(text: &str) -> OptionValue {
        OptionValue::Text(text.to_owned())
    }

    #[test]
    fn defaults_are_those_of_the_documentation() {
        let read = WorklistOptions::read(&Options::new()).unwrap();
        assert_eq!((read.recipe.as_str(), read.files, read.total_bytes), ("sqlite", 40, 64 << 20));
        assert_eq!((read.order, read.feed, read.cold, read.settle_s), (Order::Largest, Feed::Queue, true, 1));
        assert_eq!((read.list, read.page_size_bytes, read.run.timeout_s), (None, None, 3600));
    }

    #[test]
    fn a_command_of_ones_own_needs_a_list() {
        let given = [("command", text("psql -d {item} -f patch.sql"))];
        let error = WorklistOptions::read(&options(&given)).unwrap_err().to_string();
        assert!(error.contains("'list'") && error.contains("one item a line"), "{error}");
        let given = [given[0].clone(), ("list", text("/srv/list"))];
        let read = WorklistOptions::read(&options(&given)).unwrap();
        assert_eq!((read.recipe.as_str(), read.command().unwrap().len()), ("command", 5));
        let both = [given[0].clone(), given[1].clone(), ("recipe", text("sqlite"))];
        assert!(WorklistOptions::read(&options(&both)).unwrap_err().to_string().contains("keep one of them"));
        assert!(WorklistOptions::read(&options(&[("recipe", text("command"))])).is_err());
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_is_allowed() {
        for (key, value, said) in [
            ("order", text("random"), "given, largest, shuffled"),
            ("feed", text("pull"), "queue, split"),
            ("files", OptionValue::Integer(0), "from 1 to 100000"),
            ("files", OptionValue::Number(1.5), "from 1 to 100000"),
            ("total_mib", OptionValue::Number(f64::NAN), "above 0"),
            ("settle_s", OptionValue::Integer(601), "from 0 to 600"),
            ("list", text("list.txt"), "not an absolute path"),
            ("salvage", text("yes"), "neither true nor false"),
            ("check", text(""), "it is empty"),
            ("jobs", OptionValue::Integer(2), "unknown to worklist"),
            ("headline", text("item"), "there are: elapsed"),
        ] {
            let error = WorklistOptions::read(&options(&[(key, value)])).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains(said), "{error}");
        }
    }
}
