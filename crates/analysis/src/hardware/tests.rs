//! Probes of small machines, and the lines that a user reads.

use super::*;
use crate::FindingKind;
use crate::fixtures::machine;
use threadwise_machine::CpuSet;
use threadwise_machine::topology::Group;
use threadwise_study::probe::{
    ClockReading, ClockSource, LatencyFigures, LatencyLevel, Neighbour, PairLatency, PairSharing, SetTest,
    Sharing, Slowdown,
};

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn slowdown(median: f64) -> Option<Slowdown> {
    Some(Slowdown { median, low: median - 0.01, high: median + 0.01 })
}

fn pair(a: u32, b: u32, sharing: Sharing) -> PairSharing {
    let (wide, chain) = match sharing {
        Sharing::SameCpu => (2.01, 1.99),
        Sharing::SameCore => (1.98, 1.01),
        _ => (1.04, 1.01),
    };
    PairSharing {
        a,
        b,
        sharing,
        wide: slowdown(wide),
        chain: slowdown(chain),
        load_store: None,
        on_cpu_share: Some(if sharing == Sharing::SameCpu { 0.5 } else { 1.0 }),
        rounds_used: 40,
        rounds: 60,
        why: "WIDE alone reached its best level in 3 of 60 rounds.".to_owned(),
    }
}

fn probe(cpus: &str, pairs: &[(u32, u32, Sharing)]) -> Probe {
    let pairs = pairs.iter().map(|(a, b, sharing)| pair(*a, *b, *sharing)).collect();
    Probe { cpus: set(cpus), pairs, ..Probe::default() }
}

fn line(hardware: &Hardware, kind: FindingKind) -> String {
    let found = hardware.verdict.iter().find(|finding| finding.kind == kind);
    found.map_or_else(|| panic!("no {kind:?} in {:#?}", hardware.verdict), |finding| finding.text())
}

fn first_line(topology: &Topology, sharing: Sharing) -> (String, String) {
    let hardware = compare(topology, &probe("0-1", &[(0, 1, sharing)]));
    (line(&hardware, FindingKind::ProbeSharing), hardware.measured.to_string())
}

#[test]
fn two_logical_cpus() {
    let (two_cores, one_core) = (machine(1, 2, 1), machine(1, 1, 2));
    let text_of = |topology: &Topology, sharing| first_line(topology, sharing).0;
    assert_eq!(
        first_line(&two_cores, Sharing::SameCore),
        (
            "Your 2 logical CPUs are one core: independent adds (WIDE) slowed 1.98x together, dependent adds (CHAIN) 1.01x \
             (the system declares two cores)."
                .to_owned(),
            "one core (independent adds 1.98x, dependent adds 1.01x as long together)".to_owned()
        )
    );
    assert_eq!(
        text_of(&two_cores, Sharing::DifferentCores),
        "Your 2 logical CPUs are two cores, as declared: independent adds (WIDE) slowed 1.04x together, dependent adds (CHAIN) \
         1.01x."
    );
    assert!(
        text_of(&one_core, Sharing::SameCore).starts_with("Your 2 logical CPUs are one core, as declared:")
    );
    assert!(text_of(&one_core, Sharing::DifferentCores).ends_with("(the system declares one core)."));
    assert_eq!(
        text_of(&two_cores, Sharing::SameCpu),
        "Your 2 logical CPUs are one logical CPU under two names: independent adds (WIDE) slowed 2.01x together, \
         dependent adds (CHAIN) 1.99x, each on a CPU 50% of the time (the system declares two cores): check steal, \
         and count them as one."
    );
    assert_eq!(
        text_of(&two_cores, Sharing::Masked),
        "Whether your 2 logical CPUs share a core is masked by a neighbour: WIDE alone reached its best level in 3 of \
         60 rounds. Probe again when the host is quieter; the system declares two cores."
    );
    assert!(text_of(&two_cores, Sharing::Moving).contains("The hypervisor moves them"));
    assert!(
        text_of(&two_cores, Sharing::Unclear)
            .starts_with("Whether your 2 logical CPUs share a core is unclear")
    );
}

/// Two lines above a neighbour on the sibling, "two cores, as declared" would be false.
#[test]
fn cores_whose_other_thread_others_use_are_not_ours_as_declared() {
    let busy = |share: f64| {
        let mut probe = probe("0-1", &[(0, 1, Sharing::DifferentCores)]);
        probe.neighbours = vec![Neighbour {
            cpu: 1,
            windows: 100,
            adds_per_step_p10: None,
            adds_per_step_p50: None,
            adds_per_step_p90: None,
            busy_share: Some(share),
            off_cpu_share: 0.0,
            why: String::new(),
        }];
        probe
    };
    let two_cores = machine(1, 2, 1);
    let hardware = compare(&two_cores, &busy(0.76));
    assert_eq!(
        line(&hardware, FindingKind::ProbeSharing),
        "Your 2 logical CPUs are on two cores, one thread of each, whose other threads others use: independent adds (WIDE) \
         slowed 1.04x together, dependent adds (CHAIN) 1.01x (the system declares two cores)."
    );
    assert!(hardware.measured.to_string().starts_with("two cores, one thread of each ("));
    assert!(
        line(&compare(&two_cores, &busy(0.01)), FindingKind::ProbeSharing).contains("two cores, as declared")
    );
    // Where siblings are declared, who is on them is another question.
    assert!(
        !line(&compare(&machine(1, 2, 2), &busy(0.76)), FindingKind::ProbeSharing)
            .contains("one thread of each")
    );
}

#[test]
fn of_an_emulated_machine_nothing_is_concluded() {
    let mut topology = machine(1, 2, 1);
    topology.identity.hypervisor = Some("QEMU TCG".to_owned());
    for answer in [Sharing::Masked, Sharing::SameCore] {
        let hardware = compare(&topology, &probe("0-1", &[(0, 1, answer)]));
        assert!(!hardware.is_declared_wrongly(), "{answer:?}");
        assert_eq!(hardware.pairs, PairCounts { unknown: 1, ..PairCounts::default() });
    }
    let hardware = compare(&topology, &probe("0-1", &[(0, 1, Sharing::Masked)]));
    let kinds: Vec<FindingKind> = hardware.verdict.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::ProbeEmulated]);
    assert!(line(&hardware, FindingKind::ProbeEmulated).contains("the emulator's"));
    assert!(hardware.differences.is_empty() && hardware.measured_cores.is_empty());
    assert_eq!(hardware.undecided, set("0-1"));
}

#[test]
fn counts_and_cores_of_two() {
    let counted = |sharing| {
        let hardware = compare(&machine(1, 2, 1), &probe("0-1", &[(0, 1, sharing)]));
        (hardware.pairs, hardware.measured_cores, hardware.undecided, hardware.differences.len())
    };
    let none = PairCounts::default();
    let (pairs, cores, undecided, differences) = counted(Sharing::SameCore);
    assert_eq!((pairs, cores), (PairCounts { differ: 1, ..none }, vec![set("0-1")]));
    assert_eq!((undecided, differences), (set(""), 1));
    let (pairs, cores, undecided, differences) = counted(Sharing::DifferentCores);
    assert_eq!((pairs, cores), (PairCounts { agree: 1, ..none }, vec![set("0"), set("1")]));
    assert_eq!((undecided, differences), (set(""), 0));
    let (pairs, cores, undecided, differences) = counted(Sharing::Masked);
    assert_eq!((pairs, cores), (PairCounts { masked: 1, ..none }, vec![]));
    assert_eq!((undecided, differences), (set("0-1"), 0));
}

#[test]
fn one_or_none_can_be_probed() {
    let text_of = |cpus: &str| {
        let hardware = compare(&machine(1, 2, 1), &probe(cpus, &[]));
        assert_eq!(hardware.pairs, PairCounts::default());
        line(&hardware, FindingKind::ProbeSharing)
    };
    assert!(text_of("1").starts_with("Only CPU 1 was probed"));
    assert_eq!(text_of(""), "No logical CPU was probed.");
    let not_measured = compare(&machine(1, 2, 1), &probe("0-1", &[]));
    assert_eq!(
        line(&not_measured, FindingKind::ProbeSharing),
        "Whether your 2 logical CPUs share a core was not measured; the system declares two cores."
    );
    let foreign = compare(&Topology::default(), &probe("0-1", &[(0, 1, Sharing::SameCore)]));
    assert!(line(&foreign, FindingKind::ProbeSharing).contains("the system does not declare it"));
    assert_eq!(foreign.pairs.unknown, 1);
}

/// All logical CPUs run at once, and those that do not share a core run at full width.
#[test]
fn sets_and_few_pairs_tell_all_of_a_large_machine() {
    let topology = machine(2, 16, 2);
    let siblings: Vec<(u32, u32, Sharing)> =
        (0..32).map(|core| (2 * core, 2 * core + 1, Sharing::SameCore)).collect();
    let mut all = probe("0-63", &siblings);
    let even: CpuSet = (0..32).map(|core| 2 * core).collect();
    let odd = all.cpus.difference(&even);
    all.sets = vec![
        SetTest { ran: even.clone(), at_full_width: even },
        SetTest { ran: odd.clone(), at_full_width: odd },
    ];
    let hardware = compare(&topology, &all);
    assert_eq!(hardware.pairs, PairCounts { agree: 64 * 63 / 2, ..PairCounts::default() });
    assert_eq!(hardware.measured_cores, hardware.declared_cores);
    assert_eq!(
        line(&hardware, FindingKind::ProbeSharing),
        "Your 64 logical CPUs are 32 cores, as declared: independent adds (WIDE) slowed 1.98x together on one core."
    );
    assert_eq!(hardware.measured.to_string(), "32 cores, as declared");

    all.pairs[3].sharing = Sharing::Masked;
    let hardware = compare(&topology, &all);
    assert_eq!(hardware.undecided, set("6-7"));
    assert_eq!((hardware.pairs.masked, hardware.pairs.differ), (1, 0));
    assert_eq!(
        line(&hardware, FindingKind::ProbeSharing),
        "Of your 64 logical CPUs, 62 are on 31 cores as measured, none different from the declaration; CPUs 6-7 are \
         undecided: 1 pair masked by neighbours: independent adds (WIDE) slowed 1.98x together on one core. Probe \
         again when the host is quieter, or probe more: `threadwise probe --full`."
    );
}

#[test]
fn a_wrong_declaration_is_reported_by_core() {
    use Sharing::{DifferentCores, SameCore};
    let pairs = [
        (0, 1, SameCore),
        (2, 3, SameCore),
        (0, 2, DifferentCores),
        (4, 5, DifferentCores),
        (0, 4, DifferentCores),
        (2, 4, DifferentCores),
        (0, 5, DifferentCores),
        (2, 5, DifferentCores),
    ];
    // Declared: 0, 1, 2, 3 on a core each, 4 and 5 on one.
    let mut topology = machine(1, 6, 1);
    for cpu in 4..6 {
        topology.logical_cpus[cpu].siblings = set("4-5");
    }
    let hardware = compare(&topology, &probe("0-5", &pairs));
    assert_eq!(hardware.measured_cores, [set("0-1"), set("2-3"), set("4"), set("5")]);
    assert_eq!(hardware.declared_cores, [set("0"), set("1"), set("2"), set("3"), set("4-5")]);
    let texts: Vec<String> =
        hardware.differences.iter().map(|difference| difference.text.to_string()).collect();
    assert_eq!(
        texts,
        [
            "CPUs 0-1 are one core, declared as two cores: independent adds (WIDE) slowed 1.98x together, dependent adds (CHAIN) 1.01x",
            "CPUs 2-3 are one core, declared as two cores: independent adds (WIDE) slowed 1.98x together, dependent adds (CHAIN) 1.01x",
            "CPUs 4-5 are two cores, declared as one core: independent adds (WIDE) slowed 1.04x together, dependent adds (CHAIN) 1.01x",
        ]
    );
    // 0 and 2 are apart, so 1 and 3 are: 3 pairs differ, and all others agree.
    assert_eq!(hardware.pairs, PairCounts { agree: 12, differ: 3, ..PairCounts::default() });
    assert!(line(&hardware, FindingKind::ProbeSharing).starts_with(
        "Your 6 logical CPUs are four cores, and the system declares five cores: CPUs 0-1 are one core"
    ),);
    assert_eq!(hardware.measured.to_string(), "four cores, not five");
    assert!(hardware.is_declared_wrongly());
}

#[test]
fn all_differences_are_counted_where_not_all_are_listed() {
    let siblings: Vec<(u32, u32, Sharing)> =
        (0..200).map(|core| (2 * core, 2 * core + 1, Sharing::SameCore)).collect();
    let mut all = probe("0-399", &siblings);
    let even: CpuSet = (0..200).map(|core| 2 * core).collect();
    let odd = all.cpus.difference(&even);
    all.sets = [even, odd].map(|ran| SetTest { at_full_width: ran.clone(), ran }).to_vec();
    let hardware = compare(&machine(1, 400, 1), &all);
    assert_eq!((hardware.pairs.differ, hardware.differences.len()), (200, MAX_DIFFERENCES));
    assert!(line(&hardware, FindingKind::ProbeSharing).ends_with("; and 197 more."));
    assert!(hardware.wrong_cores_text().to_string().ends_with("; and 197 more"));
    let nothing = compare(&machine(1, 400, 1), &Probe { pairs: Vec::new(), sets: Vec::new(), ..all });
    assert_eq!(
        line(&nothing, FindingKind::ProbeSharing),
        "Which of your 400 logical CPUs share a core is undecided: 79800 pairs not measured. Probe again, or probe more: `threadwise probe --full`."
    );
}

#[test]
fn contradictions_are_undecided() {
    let triangle = [(0, 1, Sharing::SameCore), (1, 2, Sharing::SameCore), (0, 2, Sharing::DifferentCores)];
    let hardware = compare(&machine(1, 4, 1), &probe("0-2", &triangle));
    assert_eq!(hardware.pairs, PairCounts { unclear: 3, ..PairCounts::default() });
    assert_eq!((hardware.measured_cores.len(), hardware.undecided), (0, set("0-2")));
    assert!(hardware.differences.is_empty());
}

#[test]
fn neighbours_in_words() {
    let text_of = |shares: &[Option<f64>]| {
        let mut probe = probe("0-1", &[(0, 1, Sharing::DifferentCores)]);
        let watched = |(cpu, busy_share): (usize, &Option<f64>)| Neighbour {
            cpu: cpu as u32,
            windows: 300,
            adds_per_step_p10: Some(2.0),
            adds_per_step_p50: Some(4.0),
            adds_per_step_p90: Some(4.0),
            busy_share: *busy_share,
            off_cpu_share: 0.0,
            why: "WIDE never went above 2.1 adds per step.".to_owned(),
        };
        probe.neighbours = shares.iter().enumerate().map(watched).collect();
        line(&compare(&machine(1, 2, 1), &probe), FindingKind::ProbeNeighbour)
    };
    assert_eq!(
        text_of(&[Some(0.34), Some(0.01)]),
        "A neighbour was busy on the sibling of CPU 0 during 34% of the probe; on the sibling of CPU 1 during at \
         most 1.0%."
    );
    assert_eq!(
        text_of(&[Some(0.0), Some(0.012)]),
        "A neighbour was busy on the siblings of CPUs 0-1 during at most 1.2% of the probe."
    );
    assert_eq!(text_of(&[Some(0.0), Some(0.0)]), "No neighbour was seen on the siblings of CPUs 0-1.");
    assert!(
        text_of(&[Some(0.0), Some(0.3)])
            .ends_with("during 30% of the probe; none was seen on the sibling of CPU 0.")
    );
    assert_eq!(
        text_of(&[None, Some(0.2)]),
        "A neighbour was busy on the sibling of CPU 1 during 20% of the probe; unknown for CPU 0: WIDE never went \
         above 2.1 adds per step."
    );
    assert_eq!(
        text_of(&[None, None]),
        "Whether a neighbour was busy on the sibling of CPUs 0-1 is unknown: WIDE never went above 2.1 adds per \
         step."
    );
    assert_eq!(
        text_of(&[Some(0.4), Some(0.3), Some(0.2), Some(0.1), Some(0.06)]),
        "A neighbour was busy on the sibling of CPU 0 during 40% of the probe, that of CPU 1 during 30%, that of \
         CPU 2 during 20% and those of 2 CPUs more during 6.0% to 10%."
    );
}

fn latency(a: u32, b: u32, ns: f64, level: Option<u32>) -> PairLatency {
    let figures = |ns: f64| LatencyFigures { min_ns: ns, median_ns: ns + 3.0, spread_ns: 1.0, samples: 99 };
    PairLatency { a, b, cas: figures(ns), two_lines: figures(ns * 1.1), level }
}

fn level(name: &str, low_ns: f64, high_ns: f64, groups: &[&str]) -> LatencyLevel {
    let groups = groups.iter().map(|group| set(group)).collect();
    LatencyLevel { name: Some(name.to_owned()), low_ns, high_ns, groups }
}

/// Two packages of two cores of two threads, one LLC each.
fn two_packages() -> Topology {
    let mut topology = machine(2, 2, 2);
    topology.llc_domains =
        topology.packages.iter().map(|package| Group { cpus: package.cpus.clone(), os_id: None }).collect();
    for cpu in &mut topology.logical_cpus {
        cpu.llc = cpu.package;
    }
    topology
}

#[test]
fn latency_levels_as_declared_and_not() {
    let topology = two_packages();
    let mut probe = probe("0-7", &[]);
    probe.latencies = vec![
        latency(0, 1, 9.0, Some(0)),
        latency(0, 2, 45.0, Some(1)),
        latency(4, 6, 48.0, Some(1)),
        latency(0, 4, 130.0, Some(2)),
    ];
    probe.levels = vec![
        level("same core", 9.0, 9.0, &["0-1"]),
        level("same LLC", 45.0, 48.0, &["0-3", "4-7"]),
        level("other package", 130.0, 130.0, &["0-7"]),
    ];
    let text_of = |probe: &Probe| line(&compare(&topology, probe), FindingKind::ProbeLatency);
    assert_eq!(
        text_of(&probe),
        "A cache line passes in three levels: same core 9.00 ns, same LLC 45.0 ns to 48.0 ns and other package \
         130 ns; as declared."
    );
    probe.latencies[3].level = Some(1);
    assert!(
        text_of(&probe).ends_with("not as declared: same LLC and other package cannot be distinguished.")
    );
    probe.latencies[3] = latency(0, 3, 130.0, Some(2));
    probe.levels[1].groups = vec![set("0,2"), set("1,3"), set("4-7")];
    assert!(text_of(&probe).ends_with("not as declared: pairs on the same LLC fall into two levels."));
    let hardware = compare(&topology, &probe);
    assert_eq!(hardware.differences.len(), 1);
    assert_eq!(
        hardware.differences[0].text.to_string(),
        "CPUs 0-3 are declared as one LLC domain and fall into two groups by latency: 0,2; 1,3"
    );
    assert!(!hardware.is_declared_wrongly(), "cores are not in question");
}

#[test]
fn one_latency_has_no_levels() {
    let mut probe = probe("0-1", &[(0, 1, Sharing::DifferentCores)]);
    probe.latencies = vec![latency(0, 1, 57.2, Some(0))];
    let topology = machine(1, 2, 1);
    assert_eq!(
        line(&compare(&topology, &probe), FindingKind::ProbeLatency),
        "A cache line passes between CPU 0 and CPU 1 in 57.2 ns by compare-and-swap (median 60.2 ns), 62.9 ns by two \
         lines (median 65.9 ns); one pair has no levels to compare."
    );
    probe.latencies[0].two_lines.min_ns = 90.0;
    assert!(
        line(&compare(&topology, &probe), FindingKind::ProbeLatency)
            .ends_with("the two methods differ by more than 25%.")
    );
}

fn clock(cpu: u32, busy_cpus: u32, source: ClockSource, bzy_mhz: Option<f64>) -> ClockReading {
    ClockReading { cpu, busy_cpus, source, avg_mhz: None, busy_pct: None, bzy_mhz, tsc_mhz: Some(2500.0) }
}

#[test]
fn clocks_by_the_best_source_that_there_is() {
    let text_of = |clocks: Vec<ClockReading>| {
        let probe = Probe { clocks, ..probe("0-1", &[(0, 1, Sharing::DifferentCores)]) };
        line(&compare(&machine(1, 2, 1), &probe), FindingKind::ProbeClock)
    };
    let chain = |cpu, busy, mhz| clock(cpu, busy, ClockSource::Chain, Some(mhz));
    let by_chain = vec![
        clock(0, 1, ClockSource::Perf, None),
        chain(0, 1, 4000.0),
        chain(1, 1, 4000.0),
        chain(0, 2, 3400.0),
        chain(1, 2, 3400.0),
    ];
    assert_eq!(
        text_of(by_chain.clone()),
        "Clock with one logical CPU busy 4.00 GHz, with 2 busy 3.40 GHz (0.85x: this loss is the clock, not contention), by steps of the latency-bound kernel, one per cycle; the time stamp counter runs at 2.50 GHz."
    );
    let perf = |busy| clock(0, busy, ClockSource::Perf, Some(3000.0));
    let by_perf: Vec<ClockReading> = by_chain.into_iter().chain([perf(1), perf(2)]).collect();
    assert!(text_of(by_perf).starts_with(
        "Clock with one logical CPU busy 3.00 GHz, with 2 busy 3.00 GHz (1.00x), by APERF and MPERF"
    ));
    assert!(
        text_of(vec![chain(0, 1, 4000.0)]).starts_with("Clock with one logical CPU busy: 4.00 GHz, by steps")
    );
    let none = Probe { clocks: vec![clock(0, 1, ClockSource::Perf, None)], ..probe("0-1", &[]) };
    let kinds: Vec<FindingKind> =
        compare(&machine(1, 2, 1), &none).verdict.into_iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::ProbeSharing], "no clock, no line");
}

#[test]
fn gaps_come_last_and_are_shortened() {
    let gaps: Vec<String> = ["no msr PMU.", "b", "c", "d"].map(str::to_owned).to_vec();
    let probe = Probe { gaps, interrupted: true, ..probe("0-1", &[(0, 1, Sharing::DifferentCores)]) };
    let hardware = compare(&machine(1, 2, 1), &probe);
    assert_eq!(hardware.verdict.last().unwrap().kind, FindingKind::ProbeGap);
    assert_eq!(
        line(&hardware, FindingKind::ProbeGap),
        "The probe was stopped before its end; only what it measured is reported here. Gaps: no msr PMU; b; c; and 1 more."
    );
}

/// What a file from elsewhere may hold: nothing of it panics, and the counts add up.
#[test]
fn absurd_probes() {
    let mut probe =
        probe("0-9", &[(3, 3, Sharing::SameCore), (9, 2, Sharing::SameCpu), (70, 1, Sharing::Moving)]);
    probe.sets = vec![SetTest { ran: set("0-3,900"), at_full_width: set("5,900") }, SetTest::default()];
    probe.latencies = vec![latency(1, 1, 0.0, Some(7)), latency(0, 99, f64::MAX, None)];
    probe.levels = vec![level("", 5.0, 1.0, &["", "800"])];
    probe.clocks =
        vec![clock(0, 0, ClockSource::Cpufreq, Some(0.0)), clock(7, 9, ClockSource::Chain, Some(1.0))];
    for topology in [machine(1, 5, 2), two_packages(), Topology::default()] {
        let hardware = compare(&topology, &probe);
        let PairCounts { agree, differ, masked, moving, unclear, unknown } = hardware.pairs;
        assert_eq!(agree + differ + masked + moving + unclear + unknown, 45);
        let placed: usize = hardware.measured_cores.iter().map(CpuSet::len).sum();
        assert_eq!(placed + hardware.undecided.len(), 10);
        assert!(hardware.verdict.iter().all(|finding| !finding.text().contains('\n')));
    }
}
