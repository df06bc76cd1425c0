//! Samples of what sessions wait for: one session at one time each.

use std::collections::BTreeMap;
use threadwise_study::Counters;

/// Samples of one window.
#[derive(Debug, Default)]
pub struct Samples {
    seen: BTreeMap<String, u64>,
    all: u64,
}

impl Samples {
    /// Adds a sample by the name of what was waited for; `running` for work.
    pub fn add(&mut self, name: String) {
        *self.seen.entry(name).or_default() += 1;
        self.all += 1;
    }

    /// As counters: `waits/NAME`, `waits/running`, `waits_sampled`.
    pub fn counters(&self) -> Counters {
        let named = self.seen.iter().map(|(name, count)| (format!("waits/{name}"), *count));
        named.chain((self.all > 0).then_some(("waits_sampled".to_owned(), self.all))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_counters_and_none_become_none() {
        let mut samples = Samples::default();
        assert!(samples.counters().is_empty());
        samples.add("WRITELOG".into());
        (0..2).for_each(|_| samples.add("running".into()));
        let wanted = [("waits/WRITELOG", 1), ("waits/running", 2), ("waits_sampled", 3)];
        assert_eq!(samples.counters(), wanted.map(|(name, count)| (name.to_owned(), count)).into());
    }
}
