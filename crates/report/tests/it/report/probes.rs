//! Made-up probes with plausible figures: a guest whose two logical CPUs are one core, a small
//! machine with levels, neighbours and answers of every kind, a large one.

use crate::report::page::HOSTILE;
use crate::report::terminal::{large, two_cpus};
use crate::support::{Draws, topology};
use threadwise_analysis::hardware::{Difference, Hardware, PairCounts};
use threadwise_analysis::{Finding, probe_document};
use threadwise_document::FindingKind;
use threadwise_document::{Prose, prose};
use threadwise_machine::{CpuSet, Topology};
use threadwise_report::html;
use threadwise_study::probe::{
    ClockReading, ClockSource, LatencyFigures, LatencyLevel, Locality, Neighbour, PairLatency, PairSharing,
    Probe, SetTest, Sharing, Slowdown, WakeMethod, Wakeup,
};

/// A probe with all that its renderers take.
pub struct Probed {
    pub topology: Topology,
    pub probe: Probe,
    pub hardware: Hardware,
}

pub fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn slowdown(median: f64) -> Option<Slowdown> {
    Some(Slowdown { median, low: median - 0.02, high: median + 0.03 })
}

fn pair(a: u32, b: u32, sharing: Sharing) -> PairSharing {
    let (wide, chain) = match sharing {
        Sharing::SameCpu => (2.01, 2.0),
        Sharing::SameCore => (1.98, 1.01),
        Sharing::DifferentCores => (1.02, 1.0),
        Sharing::Masked | Sharing::Moving | Sharing::Unclear => (1.27, 1.14),
    };
    PairSharing {
        a,
        b,
        sharing,
        wide: if sharing == Sharing::Masked { None } else { slowdown(wide) },
        chain: slowdown(chain),
        load_store: slowdown(wide * 0.9),
        on_cpu_share: Some(0.997),
        rounds_used: 21,
        rounds: 24,
        why: format!("{} in 21 of 24 rounds", sharing.word()),
    }
}

fn latency(a: u32, b: u32, min_ns: f64, level: u32) -> PairLatency {
    let figures = |min_ns: f64| LatencyFigures {
        min_ns,
        median_ns: min_ns * 1.06,
        spread_ns: min_ns * 0.02,
        samples: 400,
    };
    PairLatency { a, b, cas: figures(min_ns), two_lines: figures(min_ns * 0.95), level: Some(level) }
}

/// Wake-ups of a pair by every method, and after a pause where a CPU can be idle.
fn wakeups(distance: Locality, a: u32, b: u32, futex_ns: f64) -> Vec<Wakeup> {
    let one = |(method, times): (WakeMethod, f64), idle_ns: u64| {
        let median_ns = futex_ns * times + idle_ns as f64 / 30.0;
        Wakeup {
            distance,
            a,
            b,
            method,
            idle_ns,
            min_ns: median_ns * 0.9,
            median_ns,
            median_low_ns: median_ns * 0.98,
            median_high_ns: median_ns * 1.04,
            p90_ns: median_ns * 1.5,
            blocks: 12,
            samples: 144,
        }
    };
    let methods = WakeMethod::ALL.into_iter().zip([1.0, 1.1, 2.2]);
    let pauses: &[u64] = if distance == Locality::SameCpu { &[0] } else { &[0, 500_000] };
    methods.flat_map(|method| pauses.iter().map(move |idle_ns| one(method, *idle_ns))).collect()
}

fn neighbour(cpu: u32, busy_share: Option<f64>) -> Neighbour {
    let adds = 4.0 - 2.0 * busy_share.unwrap_or(0.0);
    Neighbour {
        cpu,
        windows: 500,
        adds_per_step_p10: Some(adds * 0.9),
        adds_per_step_p50: Some(adds),
        adds_per_step_p90: Some(adds * 1.03),
        busy_share,
        off_cpu_share: 0.002,
        why: match busy_share {
            Some(_) => "500 windows of 2 ms; free level 4.0 adds a step".to_owned(),
            None => "no window reached the width of a free core: 2.1 adds a step at most".to_owned(),
        },
    }
}

fn clock(cpu: u32, busy_cpus: u32, mhz: f64) -> ClockReading {
    ClockReading {
        cpu,
        busy_cpus,
        source: ClockSource::Chain,
        avg_mhz: None,
        busy_pct: None,
        bzy_mhz: Some(mhz),
        tsc_mhz: Some(2900.0),
    }
}

fn finding(kind: FindingKind, line: impl Into<Prose>) -> Finding {
    Finding { kind, line: line.into(), evidence: vec![] }
}

/// Two logical CPUs, declared as two cores and measured as one.
pub fn two() -> Probed {
    let probe = Probe {
        cpus: set("0-1"),
        duration_s: 18.2,
        pairs: vec![pair(0, 1, Sharing::SameCore)],
        neighbours: vec![neighbour(0, Some(0.34)), neighbour(1, None)],
        latencies: vec![latency(0, 1, 8.31, 0)],
        levels: vec![LatencyLevel {
            name: Some("other core".to_owned()),
            low_ns: 8.31,
            high_ns: 8.31,
            groups: vec![set("0-1")],
        }],
        clocks: vec![clock(0, 1, 3401.0), clock(0, 2, 3105.0), clock(1, 1, 3399.0), clock(1, 2, 3102.0)],
        gaps: vec!["clock: APERF and MPERF are not available: CPUID leaf 6 does not declare them".to_owned()],
        ..Probe::default()
    };
    let text = "logical CPUs 0 and 1 are one core; the system declares two";
    let hardware = Hardware {
        declared_cores: vec![set("0"), set("1")],
        measured_cores: vec![set("0-1")],
        pairs: PairCounts { differ: 1, ..PairCounts::default() },
        differences: vec![Difference {
            cpus: set("0-1"),
            declared: "two cores".to_owned(),
            measured: "one core".to_owned(),
            text: text.into(),
        }],
        measured: "one core".into(),
        verdict: vec![
            finding(
                FindingKind::ProbeSharing,
                prose!(
                    "Your 2 logical CPUs are one core: WIDE work slowed {} together, latency-bound work {} \
                     (sysfs declares two cores).",
                    Prose::figure("1.98x"),
                    Prose::figure("1.01x"),
                ),
            ),
            finding(
                FindingKind::ProbeNeighbour,
                "A neighbour was busy on the sibling of CPU 0 during 34% of the probe; of CPU 1 it is unknown.",
            ),
            finding(
                FindingKind::ProbeLatency,
                "A cache line goes from one to the other in 8.31 ns at least.",
            ),
            finding(
                FindingKind::ProbeClock,
                "The clock falls from 3.40 to 3.10 GHz when both are busy (chain of adds).",
            ),
        ],
        ..Hardware::default()
    };
    Probed { topology: two_cpus(), probe, hardware }
}

/// Eight logical CPUs of the made-up machine with 7 cores of 2 threads on 2 packages: one pair of
/// declared siblings on different cores, one masked, one moving, one that is not measured.
pub fn eight() -> Probed {
    let topology = topology();
    let cpus = set("0-2,4,8-10,12");
    let all: Vec<u32> = cpus.iter().collect();
    let mut probe = Probe { cpus: cpus.clone(), duration_s: 21.0, ..Probe::default() };
    for (at, &a) in all.iter().enumerate() {
        for &b in &all[at + 1..] {
            let (sharing, ns, level) = match (b - a, a % 8 / 4 == b % 8 / 4) {
                (8, _) if a == 2 => (Sharing::DifferentCores, 31.0, 1),
                (8, _) => (Sharing::SameCore, 8.2, 0),
                (_, true) => (Sharing::DifferentCores, 30.0 + f64::from(a + b) / 4.0, 1),
                (_, false) => (Sharing::DifferentCores, 104.0 + f64::from(a + b) / 4.0, 2),
            };
            let sharing = match (a, b) {
                (0, 12) => Sharing::Masked,
                (1, 12) => Sharing::Moving,
                _ => sharing,
            };
            if (a, b) != (9, 12) {
                probe.pairs.push(pair(a, b, sharing));
            }
            if (a, b) != (10, 12) {
                probe.latencies.push(latency(a, b, ns, level));
            }
        }
    }
    let level = |name: Option<&str>, low_ns, high_ns, groups: &[&str]| LatencyLevel {
        name: name.map(str::to_owned),
        low_ns,
        high_ns,
        groups: groups.iter().map(|list| set(list)).collect(),
    };
    probe.levels = vec![
        level(Some("same core"), 8.2, 8.2, &["0,8", "1,9", "4,12"]),
        level(None, 30.0, 35.0, &["0-2,8-10", "4,12"]),
        level(Some("other package"), 104.0, 110.0, &["0-2,4,8-10,12"]),
    ];
    probe.wakeups = [
        wakeups(Locality::SameCpu, 0, 0, 2_100.0),
        wakeups(Locality::SameCore, 0, 8, 9_300.0),
        wakeups(Locality::SameLlc, 0, 1, 14_200.0),
        // One method was refused there.
        wakeups(Locality::OtherPackage, 0, 4, 23_000.0).split_off(2),
    ]
    .concat();
    probe.neighbours =
        all.iter().map(|&cpu| neighbour(cpu, (cpu != 9).then_some(f64::from(cpu) / 50.0))).collect();
    probe.clocks = all.iter().flat_map(|&cpu| [clock(cpu, 1, 3400.0), clock(cpu, 8, 2900.0)]).collect();
    let hardware = Hardware {
        declared_cores: ["0,8", "1,9", "2,10", "4,12"].map(set).into(),
        measured_cores: ["0,8", "1,9", "2", "10"].map(set).into(),
        undecided: set("4,12"),
        pairs: PairCounts { agree: 24, differ: 1, masked: 1, moving: 1, unclear: 0, unknown: 1 },
        differences: vec![Difference {
            cpus: set("2,10"),
            declared: "one core".to_owned(),
            measured: "different cores".to_owned(),
            text: "logical CPUs 2 and 10 are different cores; the system declares one".into(),
        }],
        measured: "4 cores and 2 undecided logical CPUs".into(),
        verdict: vec![finding(FindingKind::ProbeSharing, "Measured otherwise than declared: CPUs 2 and 10.")],
    };
    Probed { topology, probe, hardware }
}

/// 768 logical CPUs: 384 cores of 2, 8 cores an LLC, 4 packages; latencies of a tournament.
pub fn many() -> Probed {
    let topology = large(4, 3, 4, 8);
    let cpus = set("0-767");
    let mut draws = Draws(3);
    let level_of = |a: u32, b: u32| match (a % 384, b % 384) {
        (a, b) if a == b => 0,
        (a, b) if a / 8 == b / 8 => 1,
        (a, b) if a / 96 == b / 96 => 2,
        _ => 3,
    };
    let mut probe = Probe { cpus: cpus.clone(), duration_s: 171.0, ..Probe::default() };
    for step in [1_u32, 3, 8, 40, 96, 200, 384] {
        for a in 0..768_u32 - step {
            let level = level_of(a, a + step);
            let ns = [8.0, 25.0, 70.0, 180.0][level as usize] * (1.0 + 0.2 * draws.next());
            probe.latencies.push(latency(a, a + step, ns, level));
        }
    }
    let core = |id: u32| CpuSet::from_iter([id, id + 384]);
    let group = |size: u32| {
        move |id: u32| -> CpuSet {
            (id * size..(id + 1) * size).flat_map(|core| [core, core + 384]).collect()
        }
    };
    let level = |name: &str, low_ns, high_ns, groups: Vec<CpuSet>| LatencyLevel {
        name: Some(name.to_owned()),
        low_ns,
        high_ns,
        groups,
    };
    probe.levels = vec![
        level("same core", 8.0, 9.6, (0..384).map(core).collect()),
        level("same LLC", 25.0, 30.0, (0..48).map(group(8)).collect()),
        level("same package", 70.0, 84.0, (0..4).map(group(96)).collect()),
        level("other package", 180.0, 216.0, vec![cpus.clone()]),
    ];
    probe.pairs = (0..384).map(|a| pair(a, a + 384, Sharing::SameCore)).collect();
    probe.pairs[17].sharing = Sharing::Masked;
    probe.sets = vec![SetTest { ran: set("0-383"), at_full_width: set("0-383") }];
    let busy = |cpu: u32| if cpu == 17 { None } else { Some(if cpu == 401 { 0.34 } else { 0.002 }) };
    probe.neighbours = cpus.iter().map(|cpu| neighbour(cpu, busy(cpu))).collect();
    probe.clocks = vec![clock(0, 1, 3700.0)];
    probe.clocks.extend(cpus.iter().map(|cpu| clock(cpu, 768, 2400.0 + f64::from(cpu % 7))));
    let cores: Vec<CpuSet> = (0..384).map(core).collect();
    let mut measured_cores = cores.clone();
    measured_cores.remove(17);
    let hardware = Hardware {
        declared_cores: cores,
        measured_cores,
        undecided: set("17,401"),
        pairs: PairCounts { agree: 294_527, masked: 1, ..PairCounts::default() },
        measured: "383 cores of 2".into(),
        verdict: vec![finding(
            FindingKind::ProbeSharing,
            "768 logical CPUs are 384 cores, as declared, one pair masked.",
        )],
        ..Hardware::default()
    };
    Probed { topology, probe, hardware }
}

/// A probe in which every text is hostile, as a mailed result file may have it.
pub fn hostile_probe() -> Probed {
    let mut probed = eight();
    let text = || HOSTILE.to_owned();
    probed.probe.pairs.iter_mut().for_each(|pair| pair.why = text());
    probed.probe.neighbours.iter_mut().for_each(|neighbour| neighbour.why = text());
    probed.probe.levels.iter_mut().for_each(|level| level.name = Some(text()));
    probed.probe.gaps.push(text());
    probed.hardware.measured = text().into();
    for difference in &mut probed.hardware.differences {
        (difference.declared, difference.measured, difference.text) = (text(), text(), text().into());
    }
    for finding in &mut probed.hardware.verdict {
        (finding.line, finding.evidence) = (text().into(), vec![text()]);
    }
    probed.topology.identity.cpu_model = Some(text());
    probed.topology.identity.hypervisor = Some(text());
    probed
}

/// The page of a probe alone.
pub fn probe_page(probed: &Probed) -> String {
    let Probed { topology, probe, hardware } = probed;
    html::render(&probe_document(topology, probe, hardware, "0.1.0", "2026-01-01T12:00:00Z")).unwrap()
}
