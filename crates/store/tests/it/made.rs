//! Hand-made studies, machines and runs, and seeded numbers, for tests and benches.

use std::collections::BTreeMap;
use std::path::PathBuf;
use threadwise_machine::topology::{Cache, Core, CoreKind, Group, Identity, Limits, LogicalCpu, NumaNode};
use threadwise_machine::{CpuSet, Pin, Topology};
use threadwise_store::Versions;
use threadwise_study::{
    Alone, Comparison, Counters, CpuLook, CpuTimes, Design, Look, Moment, OptionValue, PairLook, Reading,
    Role, Run, RunStatus, SessionSlice, Slice, SliceLook, Stopping, Study, Treatment,
};

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): seeded numbers without a dependency.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

fn cpus(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn treatment(name: &str, role: Role, placement: &str, sessions: u32) -> Treatment {
    let text = |value: &str| OptionValue::Text(value.into());
    Treatment {
        name: name.into(),
        group: "l2".into(),
        role,
        placement: placement.parse().unwrap(),
        sessions,
        pin: if sessions > 2 { Pin::Set } else { Pin::Each },
        memory: if sessions > 2 {
            threadwise_machine::memory::Memory::Interleave
        } else {
            Default::default()
        },
        service: (sessions > 2).then_some(threadwise_machine::placement::Service::Near),
        arm: threadwise_study::Arm { turbo: (sessions > 2).then_some(false), ..Default::default() },
        instance: threadwise_study::Instance {
            options: [("bin".to_owned(), text("/opt/bin"))].into_iter().filter(|_| sessions > 2).collect(),
            device: (sessions > 2).then(|| "/mnt/a".to_owned()),
        },
        options: [
            ("data".to_owned(), text("l2")),
            ("work_unit".to_owned(), OptionValue::Integer(64)),
            ("update_percent".to_owned(), OptionValue::Number(2.5)),
            ("shared".to_owned(), OptionValue::Flag(false)),
        ]
        .into(),
        factors: [("placement".to_owned(), placement.to_owned())].into(),
    }
}

/// A study of four treatments.
pub fn study() -> Study {
    let against = |name: &str| Comparison {
        name: format!("{name} : alone"),
        treatment: name.into(),
        baseline: vec!["alone".into(), "alone-twin".into()],
        kind: "baseline".into(),
    };
    Study {
        name: "placement".into(),
        title: "Two sessions: \"same\" core or two?".into(),
        seed: 9_007_199_254_740_993,
        engine: "sqlite".into(),
        engine_properties: None,
        engine_options: [("cache_mib".to_owned(), OptionValue::Integer(64))].into(),
        workload: "logical-io".into(),
        treatments: vec![
            treatment("alone", Role::Baseline, "1c1t", 1),
            treatment("alone-twin", Role::BaselineTwin, "1c1t", 1),
            treatment("same-core", Role::Compared, "same-core", 2),
            treatment("all", Role::Compared, "all", 4),
        ],
        comparisons: vec![against("same-core"), against("all")],
        design: Design {
            rounds: 20,
            slice_ns: 50_000_000,
            rewarm_ns: Some(5_000_000),
            stopping: Stopping::Budget { budget_s: 90.0 },
            level: 0.95,
            margin: 0.03,
            long_windows: None,
        },
        quota: None,
        external: None,
        left_out: vec!["one package: cross-package left out".into()],
    }
}

/// A machine with something in every field: two packages of which one is not allowed, a sparse
/// memory-only node, an offline CPU, two core kinds.
pub fn topology() -> Topology {
    let group = |os_id, list: &str| Group { os_id, cpus: cpus(list) };
    let cpu = |os_id: u32, core: u32, siblings: &str| LogicalCpu {
        os_id,
        core: Some(core),
        package: Some(0),
        die: Some(0),
        cluster: None,
        numa_node: Some(0),
        llc: Some(0),
        siblings: cpus(siblings),
        kind: Some(core.min(1)),
        allowed: true,
        online: true,
    };
    let offline = LogicalCpu { os_id: 70, siblings: CpuSet::new(), ..LogicalCpu::default() };
    let kind = |name: &str, list: &str| CoreKind {
        name: name.into(),
        evidence: "cpu_capacity".into(),
        cpus: cpus(list),
    };
    Topology {
        logical_cpus: vec![cpu(0, 0, "0,64"), cpu(1, 1, "1"), cpu(64, 0, "0,64"), offline],
        cores: vec![
            Core { os_id: Some(0), cpus: cpus("0,64"), package: Some(0), kind: 0 },
            Core { os_id: None, cpus: cpus("1"), package: None, kind: 1 },
        ],
        packages: vec![group(Some(-1), "0-1,64")],
        dies: vec![group(None, "0-1,64")],
        clusters: vec![group(Some(i64::MAX), "0")],
        numa_nodes: vec![
            NumaNode { os_id: Some(0), cpus: cpus("0-1,64"), memory_bytes: Some(1 << 40) },
            NumaNode { os_id: Some(7), cpus: CpuSet::new(), memory_bytes: None },
        ],
        llc_domains: vec![group(None, "0-1,64")],
        caches: vec![
            Cache { level: 1, kind: "Data".into(), size_bytes: Some(49_152), cpus: cpus("0,64") },
            Cache { level: 3, kind: "Unified".into(), size_bytes: None, cpus: cpus("0-1,64") },
        ],
        kinds: vec![kind("P-core", "0,64"), kind("E-core", "1")],
        limits: Limits {
            cpuset: Some(cpus("0-1,64")),
            affinity: Some(CpuSet::new()),
            quota_cpus: Some(1.5),
            quota_source: Some(PathBuf::from("sys/fs/cgroup/a/cpu.max")),
            memory_bytes: Some(u64::MAX >> 1),
        },
        identity: Identity {
            cpu_model: Some("Example 9000 'X'".into()),
            cpu_vendor: Some("GenuineExample".into()),
            hypervisor: None,
            smt_control: Some("on".into()),
            kernel: Some("6.1.0".into()),
            memory_bytes: Some(1 << 34),
        },
    }
}

/// Made-up versions.
pub fn versions() -> Versions {
    Versions {
        program: "0.1.0".into(),
        engine: "sqlite".into(),
        engine_version: "3.50.0".into(),
        created_utc: "2026-01-01T00:00:00Z".into(),
    }
}

fn session(random: &mut Random) -> SessionSlice {
    let counters: Counters = BTreeMap::from([
        ("logical_reads".to_owned(), random.below(1 << 30)),
        ("physical_reads".to_owned(), 0),
        ("statements".to_owned(), (1 << 50) - 1),
    ]);
    let bytes = 400 + random.below(200);
    SessionSlice {
        steps: random.below(1 << 20),
        rows: random.below(1 << 26),
        answers_checked: random.below(1 << 20),
        answers_wrong: 0,
        cpu_ns: random.below(50_000_000),
        voluntary_switches: random.below(10),
        involuntary_switches: random.below(10),
        run_queue_wait_ns: (!random.next().is_multiple_of(2)).then(|| random.below(1_000_000)),
        counters,
        latency: (0..bytes).map(|_| random.next() as u8).collect(),
        finished_ns: (random.below(2) == 0).then(|| random.below(50_000_000)),
        queries: Vec::new(),
        metrics: BTreeMap::new(),
        items: Vec::new(),
        rows_by_piece: Vec::new(),
    }
}

fn slice(random: &mut Random, sequence: u64, sessions: u32, cpus: u32) -> Slice {
    Slice {
        sequence,
        round: sequence as u32,
        start_ns: sequence * 55_000_000,
        window_ns: 50_000_000,
        sessions: (0..sessions).map(|_| session(random)).collect(),
        counters: [("waits/LWLock:WALWrite".to_owned(), random.below(9)), ("wal_bytes".to_owned(), 7)].into(),
        cpu_times: (0..cpus)
            .map(|cpu| CpuTimes {
                cpu,
                busy_ns: random.below(55_000_000),
                steal_ns: random.below(1_000),
                total_ns: 55_000_000,
            })
            .collect(),
        other_cpus: Default::default(),
        looks: [Moment::Before, Moment::After].map(|moment| look(random, moment)).into(),
    }
}

/// A look at two logical CPUs, one of which may not have run.
fn look(random: &mut Random, moment: Moment) -> SliceLook {
    let mut thousandths = |limit: u64| Some(random.below(limit) as f64 / 1000.0);
    let absent = CpuLook { cpu: 64, chain_ns: None, adds_per_step: None };
    let look = Look {
        start_ns: 17,
        took_ns: 60_000,
        cpus: vec![CpuLook { cpu: 0, chain_ns: thousandths(400), adds_per_step: thousandths(6_000) }, absent],
        pairs: vec![PairLook { a: 0, b: 64, line_ns: thousandths(300_000) }],
        alone: thousandths(6_000).zip(thousandths(6_000)).map(|(a_adds_per_step, b_adds_per_step)| Alone {
            a: 0,
            b: 64,
            a_adds_per_step,
            b_adds_per_step,
        }),
    };
    SliceLook { moment, look }
}

/// A valid run of `same-core`, the same for the same seed.
pub fn run(seed: u64, block: u32, attempt: u32, slices: u32, sessions: u32, cpus: u32) -> Run {
    let random = &mut Random(seed);
    let reading = |cpu, value, gap: Option<&str>| Reading {
        sampler: "clock".into(),
        metric: "frequency_hz".into(),
        cpu,
        start_ns: 5,
        end_ns: (1 << 60) - 1,
        value,
        gap: gap.map(str::to_owned),
    };
    let mut run = Run {
        id: 0,
        block,
        attempt,
        treatment: "same-core".into(),
        cpus: vec![64, 0],
        status: RunStatus::Valid,
        slices: (0..slices).map(|at| slice(random, u64::from(at), sessions, cpus)).collect(),
        started_s: 0.125,
        prepare_ns: random.below(1 << 32),
        other_cpu_times: Vec::new(),
        readings: vec![reading(Some(0), Some(-2.5e9), None), reading(None, None, Some("no cpufreq"))],
    };
    run.add_up_other_cpus(&topology().with_siblings([64, 0]));
    run
}
