//! What reports of a probe have in common: words and signs of an answer, cores that differ between declaration and
//! measurement, the order in which measured groups are together. Nothing here judges.

use super::types::Hardware;
use threadwise_document as document;
use threadwise_machine::CpuSet;
use threadwise_study::probe::{ClockReading, ClockSource, Probe, Sharing, WakeMethod};

/// All answers in the order in which legends list them: in words, and as a sign one column wide, in Unicode and in ASCII.
const ANSWERS: [(Sharing, &str, char, char); 6] = [
    (Sharing::DifferentCores, "different cores", '≠', '/'),
    (Sharing::SameCore, "one core", '=', '='),
    (Sharing::SameCpu, "one logical CPU", '≡', '#'),
    (Sharing::Masked, "masked by a neighbour", 'm', 'm'),
    (Sharing::Moving, "moving", '~', '~'),
    (Sharing::Unclear, "unclear", '?', '?'),
];

/// All answers, in the order in which legends list them.
pub const SHARINGS: [Sharing; 6] = {
    let [(a, ..), (b, ..), (c, ..), (d, ..), (e, ..), (f, ..)] = ANSWERS;
    [a, b, c, d, e, f]
};

fn answer(sharing: Sharing) -> (Sharing, &'static str, char, char) {
    ANSWERS.into_iter().find(|(known, ..)| *known == sharing).unwrap_or(ANSWERS[5])
}

/// An answer in words.
pub fn words(sharing: Sharing) -> &'static str {
    answer(sharing).1
}

/// The sign of an answer, one column wide; ASCII if `unicode` is false.
pub fn sign(sharing: Sharing, unicode: bool) -> char {
    let (_, _, sign, ascii) = answer(sharing);
    if unicode { sign } else { ascii }
}

/// Whether the system declares a pair to be one core; `None` if it declares nothing.
fn declared_same_core(hardware: &Hardware, a: u32, b: u32) -> Option<bool> {
    let core_of = |cpu| hardware.declared_cores.iter().position(|core| core.contains(cpu));
    Some(core_of(a)? == core_of(b)?)
}

/// Whether an answer contradicts the declaration of the pair.
pub fn contradicts(hardware: &Hardware, a: u32, b: u32, sharing: Sharing) -> bool {
    let declared = declared_same_core(hardware, a, b);
    match sharing {
        Sharing::SameCpu | Sharing::SameCore => declared == Some(false),
        Sharing::DifferentCores => declared == Some(true),
        Sharing::Masked | Sharing::Moving | Sharing::Unclear => false,
    }
}

/// The declared cores and the measured ones, marked where they differ.
pub fn cores(hardware: &Hardware) -> document::Cores {
    let Hardware { declared_cores, measured_cores, undecided, .. } = hardware;
    let declared = |core: &CpuSet| {
        let mut parts = measured_cores.iter().filter(|part| meet(part, core));
        (core.clone(), parts.any(|part| not_the_same(core, part, undecided)))
    };
    let measured = |part: &CpuSet| {
        let mut cores = declared_cores.iter().filter(|core| meet(core, part));
        (part.clone(), cores.any(|core| not_the_same(core, part, undecided)))
    };
    document::Cores {
        declared: declared_cores.iter().map(declared).collect(),
        measured: measured_cores.iter().map(measured).collect(),
        undecided: undecided.clone(),
    }
}

fn meet(a: &CpuSet, b: &CpuSet) -> bool {
    !a.intersection(b).is_empty()
}

/// Whether a measured core contradicts the declared one that it shares logical CPUs with. A single logical CPU was
/// measured apart from every other; a larger declared core may include undecided ones.
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

/// The clock while not idle, or what is nearest to it, in MHz.
pub fn mhz(reading: &ClockReading) -> Option<f64> {
    reading.bzy_mhz.or(reading.avg_mhz)
}

/// The probed logical CPUs in an order with measured groups together: by the group of the farthest level first, then of
/// the next nearer one, then by number.
pub fn by_groups(probe: &Probe) -> Vec<u32> {
    let group_of = |cpu: u32| -> Vec<u32> {
        let levels = probe.levels.iter().rev();
        // A group is where its lowest member would be; a logical CPU without a group is at its own number.
        let first = |groups: &[CpuSet]| groups.iter().find(|group| group.contains(cpu))?.first();
        levels.map(|level| first(&level.groups).unwrap_or(cpu)).collect()
    };
    let mut cpus: Vec<(Vec<u32>, u32)> = probe.cpus.iter().map(|cpu| (group_of(cpu), cpu)).collect();
    cpus.sort();
    cpus.into_iter().map(|(_, cpu)| cpu).collect()
}

/// Name of a level of latencies: the declared kind of most of its pairs, else its number.
pub fn level_name(probe: &Probe, level: usize) -> String {
    let declared = probe.levels.get(level).and_then(|level| level.name.clone());
    declared.unwrap_or_else(|| format!("level {}", level + 1))
}

/// A way of waking a thread: a column of tables of wake-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// What wakes it.
    pub method: WakeMethod,
    /// Whether its logical CPU was idle for a while before.
    pub is_idle: bool,
}

impl Wake {
    /// Heading of its column.
    pub fn words(self) -> String {
        format!("{}{}", self.method.words(), if self.is_idle { ", idle" } else { "" })
    }
}

/// The ways of waking a thread that a probe measured, each without a pause and then with one.
pub fn wakes(probe: &Probe) -> Vec<Wake> {
    let both = |method| [false, true].map(|is_idle| Wake { method, is_idle });
    let is_there = |wake: &Wake| {
        probe.wakeups.iter().any(|one| (one.method, one.idle_ns > 0) == (wake.method, wake.is_idle))
    };
    WakeMethod::ALL.into_iter().flat_map(both).filter(is_there).collect()
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
        let marks = |cores: Vec<(CpuSet, bool)>| cores.iter().map(|(_, differs)| *differs).collect();
        let cores = cores(&hardware);
        (marks(cores.declared), marks(cores.measured))
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
}
