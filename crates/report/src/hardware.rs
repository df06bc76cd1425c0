//! What the renderers of a probe have in common: words and signs of an answer, which cores differ
//! between declaration and measurement, the order in which measured groups stand together, clocks.
//!
//! What the answers mean is decided in `threadwise_analysis::hardware`; nothing here judges.

use crate::text::significant;
use std::collections::BTreeMap;
use threadwise_analysis::hardware::Hardware;
use threadwise_machine::CpuSet;
use threadwise_study::probe::{ClockReading, ClockSource, Probe, Sharing, Slowdown};

/// All answers, in the order in which legends list them.
pub const SHARINGS: [Sharing; 6] = [
    Sharing::DifferentCores,
    Sharing::SameCore,
    Sharing::SameCpu,
    Sharing::Masked,
    Sharing::Moving,
    Sharing::Unclear,
];

/// An answer in words.
pub fn words(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::SameCpu => "one logical CPU",
        Sharing::SameCore => "one core",
        Sharing::DifferentCores => "different cores",
        Sharing::Masked => "masked by a co-runner",
        Sharing::Moving => "moving",
        Sharing::Unclear => "unclear",
    }
}

/// The sign of an answer, one column wide, in ASCII where `unicode` is false.
pub fn sign(sharing: Sharing, unicode: bool) -> char {
    match (sharing, unicode) {
        (Sharing::SameCpu, true) => '≡',
        (Sharing::SameCpu, false) => '#',
        (Sharing::SameCore, _) => '=',
        (Sharing::DifferentCores, true) => '≠',
        (Sharing::DifferentCores, false) => '/',
        (Sharing::Masked, _) => 'm',
        (Sharing::Moving, _) => '~',
        (Sharing::Unclear, _) => '?',
    }
}

/// What the system declares of a pair: whether it is one core; `None` where it declares nothing.
pub fn declared_same_core(hardware: &Hardware, a: u32, b: u32) -> Option<bool> {
    let core_of = |cpu| hardware.declared_cores.iter().position(|core| core.contains(cpu));
    Some(core_of(a)? == core_of(b)?)
}

/// Whether an answer contradicts what the system declares of the pair.
pub fn contradicts(hardware: &Hardware, a: u32, b: u32, sharing: Sharing) -> bool {
    let declared = declared_same_core(hardware, a, b);
    match sharing {
        Sharing::SameCpu | Sharing::SameCore => declared == Some(false),
        Sharing::DifferentCores => declared == Some(true),
        Sharing::Masked | Sharing::Moving | Sharing::Unclear => false,
    }
}

/// A core and whether the other side has it otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreMark<'a> {
    /// Its logical CPUs.
    pub cpus: &'a CpuSet,
    /// Whether the other side says something else of them.
    pub differs: bool,
}

/// The declared cores, marked where the measurement differs.
pub fn declared_cores(hardware: &Hardware) -> Vec<CoreMark<'_>> {
    let differs = |core: &CpuSet| {
        let mut parts = hardware.measured_cores.iter().filter(|part| meet(part, core));
        parts.any(|part| not_the_same(core, part, &hardware.undecided))
    };
    hardware.declared_cores.iter().map(|cpus| CoreMark { cpus, differs: differs(cpus) }).collect()
}

/// The measured cores, marked where the declaration differs.
pub fn measured_cores(hardware: &Hardware) -> Vec<CoreMark<'_>> {
    let differs = |part: &CpuSet| {
        let mut cores = hardware.declared_cores.iter().filter(|core| meet(core, part));
        cores.any(|core| not_the_same(core, part, &hardware.undecided))
    };
    hardware.measured_cores.iter().map(|cpus| CoreMark { cpus, differs: differs(cpus) }).collect()
}

fn meet(a: &CpuSet, b: &CpuSet) -> bool {
    !a.intersection(b).is_empty()
}

/// Whether a measured core contradicts the declared one that it shares logical CPUs with. A single
/// logical CPU was measured apart from every other; of a larger one the undecided may be part.
fn not_the_same(declared: &CpuSet, measured: &CpuSet, undecided: &CpuSet) -> bool {
    match measured.len() {
        1 => declared.len() > 1,
        _ => declared.difference(undecided) != *measured,
    }
}

/// Where a clock comes from, in words.
pub fn source_words(source: ClockSource) -> &'static str {
    match source {
        ClockSource::Perf => "perf msr PMU",
        ClockSource::Cpufreq => "cpufreq",
        ClockSource::Chain => "chain of adds",
    }
}

/// A slowdown as `1.98x`; `-` where no round could be used.
pub fn slowdown(slowdown: Option<Slowdown>) -> String {
    slowdown.map_or_else(|| "-".to_owned(), |slowdown| format!("{}x", crate::text::ratio(slowdown.median)))
}

/// Nanoseconds of a latency without the unit: three digits, whole from 100 on.
pub fn latency_ns(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { significant(value, 3) }
}

/// Clocks of one logical CPU alone and with most others busy, in MHz.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Clocks<'a> {
    /// With the fewest others busy.
    pub alone: Option<&'a ClockReading>,
    /// With the most others busy; `None` where there is one reading only.
    pub crowded: Option<&'a ClockReading>,
}

/// Clocks by logical CPU. Where only the time stamp counter could be read, the chain of adds stands in
/// for APERF and MPERF.
pub fn clocks(probe: &Probe) -> BTreeMap<u32, Clocks<'_>> {
    let mut all: BTreeMap<u32, Clocks<'_>> = BTreeMap::new();
    for reading in probe.clocks.iter().filter(|reading| mhz(reading).is_some()) {
        let own = all.entry(reading.cpu).or_default();
        let (alone, crowded) =
            if reading.busy_cpus <= 1 { (&mut own.alone, false) } else { (&mut own.crowded, true) };
        let better = |old: &ClockReading| !crowded || reading.busy_cpus > old.busy_cpus;
        if alone.is_none_or(better) {
            *alone = Some(reading);
        }
    }
    all
}

/// The clock while not idle, or what is nearest to it, in MHz.
pub fn mhz(reading: &ClockReading) -> Option<f64> {
    reading.bzy_mhz.or(reading.avg_mhz)
}

/// The probed logical CPUs so that measured groups stand together: by the group of the farthest
/// level first, then of the next nearer one, then by number.
pub fn by_groups(probe: &Probe) -> Vec<u32> {
    let group_of = |cpu: u32| -> Vec<u32> {
        let levels = probe.levels.iter().rev();
        // A group stands where its lowest member would; who is in none, where itself would.
        let first = |groups: &[CpuSet]| groups.iter().find(|group| group.contains(cpu))?.first();
        levels.map(|level| first(&level.groups).unwrap_or(cpu)).collect()
    };
    let mut cpus: Vec<(Vec<u32>, u32)> = probe.cpus.iter().map(|cpu| (group_of(cpu), cpu)).collect();
    cpus.sort();
    cpus.into_iter().map(|(_, cpu)| cpu).collect()
}

/// Name of a level of latencies: what is declared of most of its pairs, else its number.
pub fn level_name(probe: &Probe, level: usize) -> String {
    let declared = probe.levels.get(level).and_then(|level| level.name.clone());
    declared.unwrap_or_else(|| format!("level {}", level + 1))
}

/// Least, middle and greatest of some figures; `None` where there is none.
pub fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64, f64)> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    Some((*values.first()?, values[values.len() / 2], *values.last()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::probe::LatencyLevel;

    fn sets(lists: &[&str]) -> Vec<CpuSet> {
        lists.iter().map(|list| CpuSet::parse_list(list).unwrap()).collect()
    }

    fn differing(declared: &[&str], measured: &[&str], undecided: &str) -> (Vec<bool>, Vec<bool>) {
        let hardware = Hardware {
            declared_cores: sets(declared),
            measured_cores: sets(measured),
            undecided: CpuSet::parse_list(undecided).unwrap(),
            ..Hardware::default()
        };
        let marks = |cores: Vec<CoreMark<'_>>| cores.iter().map(|core| core.differs).collect();
        (marks(declared_cores(&hardware)), marks(measured_cores(&hardware)))
    }

    #[test]
    fn cores_differ_where_somebody_is_on_another_one() {
        assert_eq!(differing(&["0", "1"], &["0", "1"], ""), (vec![false; 2], vec![false; 2]));
        assert_eq!(differing(&["0", "1"], &["0-1"], ""), (vec![true; 2], vec![true]));
        assert_eq!(
            differing(&["0-1", "2-3"], &["0", "1", "2-3"], ""),
            (vec![true, false], vec![true, true, false])
        );
    }

    #[test]
    fn the_undecided_make_no_difference() {
        assert_eq!(differing(&["0-1", "2-3"], &["2-3"], "0-1"), (vec![false; 2], vec![false]));
        assert_eq!(differing(&["0-3"], &["0-1"], "2-3"), (vec![false], vec![false]));
    }

    #[test]
    fn groups_stand_together() {
        let level =
            |groups: &[&str]| LatencyLevel { name: None, low_ns: 1.0, high_ns: 2.0, groups: sets(groups) };
        let probe = Probe {
            cpus: CpuSet::parse_list("0-8").unwrap(),
            levels: vec![level(&["0,4", "1,5", "2,6", "3,7"]), level(&["0,2,4,6", "1,3,5,7"])],
            ..Probe::default()
        };
        assert_eq!(by_groups(&probe), [0, 4, 2, 6, 1, 5, 3, 7, 8]);
    }

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
        let own = clocks(&probe)[&3];
        assert_eq!(own.alone.and_then(mhz), Some(3000.0));
        assert_eq!(own.crowded.and_then(mhz), Some(2600.0));
    }
}
