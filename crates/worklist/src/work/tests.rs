//! Plans done with small programs that every system has.

mod faults;
mod order;
mod stopped;

use super::*;
use crate::plan::{Item, Step};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A folder for a plan, and what is expected to be in it afterwards.
struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A plan for items with these texts: one queue, one job, in the order of the list.
    fn plan(&self, texts: &[&str], steps: &[(&str, &[&str])]) -> Plan {
        let item = |text: &&str| Item {
            name: (*text).to_owned(),
            text: (*text).to_owned(),
            size_bytes: 0,
            earlier: 0,
        };
        let step = |(name, words): &(&str, &[&str])| Step {
            name: (*name).to_owned(),
            command: words.iter().map(|word| (*word).to_owned()).collect(),
            stdin: None,
        };
        Plan {
            items: texts.iter().map(item).collect(),
            order: (0..texts.len()).collect(),
            feed: plan::Feed::Queue,
            jobs: 1,
            steps: steps.iter().map(step).collect(),
            result: None,
            keep: None,
            work: self.path("work"),
            folder: None,
            environment: BTreeMap::new(),
            spans: self.path("spans"),
        }
    }

    /// The spans in the file, one a line.
    fn spans(&self) -> Vec<Span> {
        let text = fs::read_to_string(self.path("spans")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Names in the work folder.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("work")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn go(plan: &Plan) -> Done {
    run(plan, &AtomicBool::new(false)).unwrap()
}

fn refused(plan: &Plan) -> String {
    run(plan, &AtomicBool::new(false)).unwrap_err().to_string()
}

fn faults(spans: &[Span]) -> Vec<(usize, &str)> {
    spans.iter().filter_map(|span| Some((span.index, span.fault.as_deref()?))).collect()
}
