//! Small studies and runs for tests.

use crate::FindingKind;
use crate::{Answer, Direction, Estimate, Ratio, analyse_on, plain_verdict, validity};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use std::collections::BTreeMap;
use threadwise_machine::topology::{Core, Group, LogicalCpu, NumaNode};
use threadwise_machine::{Pin, Topology};
use threadwise_study::{
    Comparison, CpuTimes, Design, Role, Run, RunStatus, SessionSlice, Slice, Stopping, Study, Treatment,
    Workload,
};

/// A ratio, judged by its plain interval and a margin of 3%.
pub fn ratio(value: f64, low: f64, high: f64) -> Ratio {
    Ratio {
        value,
        low,
        high,
        adjusted_low: low,
        adjusted_high: high,
        blocks: 8,
        level: 0.95,
        unit: threadwise_document::estimate::RATIO,
        p: 0.0004,
        adjusted_p: 0.001,
        family: 2,
        correlation: 0.12,
        floor: None,
        margin: 0.03,
        answer: Answer::by_interval(low, high, 0.03),
        direction: Direction::HigherIsBetter,
    }
}

/// A throughput estimate with such a ratio.
pub fn estimate(name: &str, value: f64, low: f64, high: f64) -> Estimate {
    Estimate {
        name: name.to_owned(),
        kind: "baseline".into(),
        treatment: String::new(),
        baseline: String::new(),
        metric: "rows_per_s".to_owned(),
        ratio: ratio(value, low, high),
        method: String::new(),
        p_sign_flip: Some(0.0),
        unflagged: None,
        adjusted: None,
    }
}

/// A study with `A` and `A'` in each group and the treatments given as
/// `name placement sessions`; every treatment is compared with its baseline.
/// With several groups, names get `/GROUP` appended.
pub fn study(groups: &[&str], treatments: &[&str]) -> Study {
    let mut all = Vec::new();
    let mut comparisons = Vec::new();
    for group in groups {
        let named = |name: &str| if groups.len() < 2 { name.to_owned() } else { format!("{name}/{group}") };
        let baselines = [("A", Role::Baseline), ("A'", Role::BaselineTwin)];
        for (name, role) in baselines {
            all.push(treatment(named(name), group, role, "one-cpu", 1));
        }
        for line in treatments {
            let words: Vec<&str> = line.split_whitespace().collect();
            all.push(treatment(named(words[0]), group, Role::Compared, words[1], words[2].parse().unwrap()));
            comparisons.push(comparison(&named(words[0]), &[&named("A"), &named("A'")], "baseline"));
        }
    }
    Study {
        name: "placement".to_owned(),
        title: "test".to_owned(),
        seed: 1,
        engine: "sqlite".to_owned(),
        engine_properties: None,
        engine_options: BTreeMap::new(),
        workload: Workload::LogicalIo,
        treatments: all,
        comparisons,
        design: Design {
            rounds: 20,
            slice_ns: 50_000_000,
            rewarm_ns: Some(5_000_000),
            stopping: Stopping::Blocks { blocks: 8 },
            level: 0.95,
            margin: 0.03,
            long_windows: None,
        },
        quota: None,
        external: None,
        left_out: Vec::new(),
    }
}

fn treatment(name: String, group: &str, role: Role, placement: &str, sessions: u32) -> Treatment {
    Treatment {
        name,
        group: group.to_owned(),
        role,
        placement: placement.parse().unwrap(),
        sessions,
        pin: Pin::Each,
        memory: Default::default(),
        service: None,
        arm: Default::default(),
        instance: Default::default(),
        options: BTreeMap::new(),
        factors: BTreeMap::new(),
    }
}

/// A comparison named `TOP : BASELINES`.
pub fn comparison(top: &str, baseline: &[&str], kind: &str) -> Comparison {
    Comparison {
        name: format!("{top} : {}", baseline.join("+")),
        treatment: top.to_owned(),
        baseline: baseline.iter().map(|name| (*name).to_owned()).collect(),
        kind: kind.into(),
    }
}

/// A valid run on logical CPU 0 whose slices of 1 s read this many rows, at 100 ns of CPU per row.
pub fn run(block: u32, treatment: &str, rows: &[u64]) -> Run {
    let slice = |(round, rows): (usize, &u64)| Slice {
        sequence: 0,
        round: round as u32,
        start_ns: 0,
        window_ns: 1_000_000_000,
        sessions: vec![SessionSlice {
            rows: *rows,
            cpu_ns: 100 * rows,
            counters: BTreeMap::from([("logical_reads".to_owned(), 2 * rows)]),
            run_queue_wait_ns: Some(10_000_000),
            voluntary_switches: 3,
            involuntary_switches: 1,
            ..SessionSlice::default()
        }],
        counters: Default::default(),
        cpu_times: Vec::new(),
        other_cpus: Default::default(),
        looks: Vec::new(),
    };
    Run {
        id: 0,
        block,
        attempt: 0,
        treatment: treatment.to_owned(),
        cpus: vec![0],
        status: RunStatus::Valid,
        slices: rows.iter().enumerate().map(slice).collect(),
        started_s: 0.0,
        prepare_ns: 0,
        other_cpu_times: Vec::new(),
        readings: Vec::new(),
    }
}

/// Times of a logical CPU over one second, shares in percent.
pub fn cpu_times(cpu: u32, busy: u64, steal: u64) -> CpuTimes {
    CpuTimes { cpu, busy_ns: busy * 10_000_000, steal_ns: steal * 10_000_000, total_ns: 1_000_000_000 }
}

/// A latency histogram with `steps` steps of each of the given nanoseconds.
pub fn latency(steps: u64, values_ns: &[u64]) -> Vec<u8> {
    let mut histogram = Histogram::<u64>::new(3).unwrap();
    for value in values_ns {
        histogram.record_n(*value, steps).unwrap();
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
    bytes
}

/// A machine with these numbers of packages, cores in each, and logical CPUs on each core; siblings have consecutive
/// numbers.
pub fn machine(packages: u32, cores: u32, threads: u32) -> Topology {
    let mut topology = Topology::default();
    for package in 0..packages {
        let mut in_package = Group { os_id: Some(i64::from(package)), ..Group::default() };
        for core in package * cores..(package + 1) * cores {
            let cpus: threadwise_machine::CpuSet = (core * threads..(core + 1) * threads).collect();
            for cpu in cpus.iter() {
                in_package.cpus.insert(cpu);
                topology.logical_cpus.push(LogicalCpu {
                    os_id: cpu,
                    core: Some(core),
                    package: Some(package),
                    siblings: cpus.clone(),
                    kind: Some(0),
                    allowed: true,
                    online: true,
                    ..LogicalCpu::default()
                });
            }
            topology.cores.push(Core { os_id: None, cpus, package: Some(package), kind: 0 });
        }
        topology.packages.push(in_package);
    }
    topology.numa_nodes.push(NumaNode { os_id: Some(0), cpus: topology.allowed(), memory_bytes: None });
    topology
}

/// The word of a finding's kind in JSON.
pub fn word(kind: FindingKind) -> String {
    serde_json::to_value(kind).unwrap().as_str().unwrap().to_owned()
}

/// Asserts the first line of a verdict. With all runs, or with one run failed, which is within a tenth: a finding of
/// kind `answer`. With a treatment without data, or a quarter of all runs lost: validity, in the words that decide the
/// exit code. Without a usable baseline: that nothing can be said.
pub fn assert_leads(study: &Study, topology: &Topology, runs: &[Run], answer: FindingKind) {
    let looked = |runs: &[Run]| {
        let analysis = analyse_on(study, Some(topology), runs, 1.0);
        let findings = plain_verdict(study, topology, &analysis);
        let first = findings.first().map(|finding| (finding.kind, finding.text()));
        (first.expect("a verdict has a line"), validity::problem(&analysis))
    };
    let failing = |is_lost: &dyn Fn(&Run) -> bool| {
        let mut runs = runs.to_vec();
        for run in runs.iter_mut().filter(|run| is_lost(run)) {
            run.status = RunStatus::Failed { kind: "crash".to_owned(), message: "signal 9".to_owned() };
        }
        looked(&runs)
    };
    let ((kind, text), problem) = looked(runs);
    assert_eq!((kind, problem), (answer, None), "{text}");
    let compared = study.treatments.iter().rev().find(|treatment| treatment.role == Role::Compared);
    let name = &compared.expect("a compared treatment").name;
    let ((kind, _), problem) = failing(&|run| run.block == 1 && &run.treatment == name);
    assert_eq!((kind, problem), (answer, None), "one run is within a tenth");
    let ((kind, text), problem) = failing(&|run| &run.treatment == name);
    let problem = problem.expect("a treatment without data");
    assert!(problem.ends_with(&format!("no data for {name} (crash: signal 9)")), "{problem}");
    // Without its only treatment a study says nothing at all.
    if study.treatments.len() > 3 {
        assert_eq!((kind, text.starts_with("Validity: ")), (FindingKind::Validity, true), "{text}");
        assert!(text.contains(&problem), "{text}");
    }
    let ((kind, text), problem) = failing(&|run| run.block < 2);
    assert_eq!((kind, text.starts_with("Validity: ")), (FindingKind::Validity, true), "{text}");
    assert!(text.contains(&problem.expect("a quarter is lost")), "{text}");
    let ((kind, text), problem) = failing(&|_| true);
    assert_eq!((kind, problem.is_some()), (FindingKind::Nothing, true), "{text}");
    assert!(text.starts_with("Nothing can be said: "), "{text}");
}
