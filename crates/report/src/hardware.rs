//! Common code of the renderers of a probe.

use std::collections::BTreeMap;
use threadwise_document::numbers;
use threadwise_study::probe::{ClockReading, Probe, Slowdown};

pub use threadwise_analysis::hardware::shown::{
    SHARINGS, Wake, contradicts, cores, extent, level_name, mhz, sign, source_words, wakes, words,
};

/// A slowdown as `1.98x`; `-` if no round could be used.
pub fn slowdown(slowdown: Option<Slowdown>) -> String {
    slowdown.map_or_else(|| "-".to_owned(), |slowdown| format!("{}x", numbers::ratio(slowdown.median)))
}

/// Nanoseconds of a latency without the unit: three digits, whole from 100 on.
pub fn latency_ns(value: f64) -> String {
    numbers::significant(value, 3)
}

/// Clocks of one logical CPU alone and with most others busy, in MHz.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Clocks<'a> {
    /// With the fewest others busy.
    pub alone: Option<&'a ClockReading>,
    /// With the most others busy; `None` if there is only one reading.
    pub crowded: Option<&'a ClockReading>,
}

/// Clocks by logical CPU. If only the time stamp counter could be read, the chain of adds replaces APERF and MPERF.
pub fn clocks(probe: &Probe) -> BTreeMap<u32, Clocks<'_>> {
    let mut all: BTreeMap<u32, Clocks<'_>> = BTreeMap::new();
    for reading in probe.clocks.iter().filter(|reading| mhz(reading).is_some()) {
        let clocks = all.entry(reading.cpu).or_default();
        let (alone, crowded) =
            if reading.busy_cpus <= 1 { (&mut clocks.alone, false) } else { (&mut clocks.crowded, true) };
        let better = |old: &ClockReading| !crowded || reading.busy_cpus > old.busy_cpus;
        if alone.is_none_or(better) {
            *alone = Some(reading);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::probe::ClockSource;

    #[test]
    fn clocks_alone_and_with_all_others() {
        let reading = |busy_cpus, mhz| ClockReading {
            cpu: 3,
            busy_cpus,
            source: ClockSource::Chain,
            avg_mhz: None,
            busy_pct: None,
            bzy_mhz: Some(mhz),
            tsc_mhz: None,
        };
        let probe = Probe {
            clocks: vec![reading(8, 2600.0), reading(4, 2800.0), reading(1, 3000.0)],
            ..Probe::default()
        };
        let clock = clocks(&probe)[&3];
        assert_eq!(clock.alone.and_then(mhz), Some(3000.0));
        assert_eq!(clock.crowded.and_then(mhz), Some(2600.0));
    }
}
