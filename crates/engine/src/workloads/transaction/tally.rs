//! How often each transaction of a mix was executed in a slice.
//!
//! The worker reads an engine's counters at both ends of the counted steps (`worker::measure`); here the executions are
//! counted up to then, so that the counts of a slice add up to its steps.

use std::cell::RefCell;
use std::sync::Arc;
use threadwise_study::SessionSlice;

use super::script::Script;

/// Prefix of the counters.
const PREFIX: &str = "script/";

/// Executions of each script in one slice.
#[derive(Debug)]
pub struct ScriptTally {
    scripts: Arc<[Script]>,
    counts: RefCell<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    now: Vec<u64>,
    readings: Vec<Vec<u64>>,
}

impl ScriptTally {
    /// None yet.
    pub fn new(scripts: &Arc<[Script]>) -> Self {
        let now = vec![0; scripts.len()];
        Self { scripts: Arc::clone(scripts), counts: RefCell::new(Counts { now, readings: Vec::new() }) }
    }

    /// Counts an execution.
    pub fn add(&self, script: usize) {
        if let Some(count) = self.counts.borrow_mut().now.get_mut(script) {
            *count += 1;
        }
    }

    /// Called where an engine's counters are read.
    pub fn read(&self) {
        let mut counts = self.counts.borrow_mut();
        if counts.readings.len() < 2 {
            let now = counts.now.clone();
            counts.readings.push(now);
        }
    }

    /// Adds a counter of each script to the slice; none if there is one script.
    pub fn give_to(&self, slice: &mut SessionSlice) {
        let counts = self.counts.borrow();
        let [first, last] = counts.readings.as_slice() else { return };
        if self.scripts.len() < 2 {
            return;
        }
        let counted = self.scripts.iter().zip(first.iter().zip(last));
        let counters =
            counted.map(|(script, (first, last))| (format!("{PREFIX}{}", script.name), last - first));
        slice.counters.extend(counters);
    }
}
