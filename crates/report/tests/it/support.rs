//! A made-up machine and study with plausible figures: drift, noise, three kinds of CPU states.

use std::collections::BTreeMap;
use threadwise_analysis::choices::{Axis, Candidate, Choice, Guess};
use threadwise_analysis::hardware::Hardware;
use threadwise_analysis::{
    Analysis, Covariates, Direction, Estimate, Finding, Interval, NoiseFloor, Ratio, TreatmentSummary,
    Unflagged,
};
use threadwise_document::FindingKind;
use threadwise_machine::topology::{Cache, Core, CoreKind, Group, Identity, Limits, LogicalCpu, NumaNode};
use threadwise_machine::{CpuSet, Pin, Topology};
use threadwise_report::{Document, Facts};
use threadwise_study::engine::Properties;
use threadwise_study::probe::Probe;
use threadwise_study::{
    Comparison, Counters, CpuTimes, Design, Note, OptionValue, Options, Role, Run, RunStatus, SessionSlice,
    Slice, Stopping, Study, Treatment,
};

/// What a document borrows.
pub struct Fixture {
    pub study: Study,
    pub topology: Topology,
    pub analysis: Analysis,
    pub findings: Vec<Finding>,
    pub runs: Vec<Run>,
    pub notes: Vec<Note>,
    pub source: String,
    pub probe: Option<Probe>,
    pub hardware: Option<Hardware>,
}

impl Fixture {
    /// The report, with the fixture's own findings for a verdict.
    pub fn document(&self) -> Document {
        Document { verdict: self.findings.clone(), ..threadwise_analysis::document(&self.facts()) }
    }

    pub fn facts(&self) -> Facts<'_> {
        Facts {
            study: &self.study,
            topology: &self.topology,
            analysis: &self.analysis,
            runs: &self.runs,
            long_runs: &[],
            notes: &self.notes,
            source: &self.source,
            program_version: "0.1.0",
            engine_version: "1.0",
            created_utc: "2026-01-01T12:00:00Z",
            is_stopped: false,
            probe: self.probe.as_ref(),
            hardware: self.hardware.as_ref(),
            asked: Default::default(),
        }
    }

    /// Eight treatments in each of two groups, on 2 packages of 4 cores of 2 threads.
    pub fn generated(blocks: u32, rounds: u32) -> Self {
        let study = study(rounds, blocks);
        let topology = topology();
        let mut runs = runs(&study, &topology, blocks, rounds);
        if let Some(run) = runs.last_mut() {
            let message = "worker 3 ended with signal 9; see the log".to_owned();
            run.status = RunStatus::Failed { kind: "crash".to_owned(), message };
        }
        let analysis = analysis(&study, &runs, blocks);
        Self {
            findings: findings(&analysis),
            study,
            topology,
            analysis,
            runs,
            notes: vec!["made for a test".into()],
            source: "placement-20260101T120000Z.threadwise".to_owned(),
            probe: None,
            hardware: None,
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014), uniform in [0, 1).
pub struct Draws(pub u64);

impl Draws {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / 2.0_f64.powi(64)
    }
}

/// Name, placement, sessions, throughput as a multiple of one session's.
const TREATMENTS: [(&str, &str, u32, f64); 8] = [
    ("alone", "1c1t", 1, 1.0),
    ("alone'", "1c1t", 1, 1.0),
    ("one-cpu", "one-cpu", 2, 0.985),
    ("same-core", "same-core", 2, 1.27),
    ("same-package", "same-package", 2, 1.91),
    ("cross-package", "cross-package", 2, 1.93),
    ("sessions-4", "spread:4", 4, 3.55),
    ("sessions-7", "spread:7", 7, 5.02),
];

const GROUPS: [(&str, &str, f64); 2] = [("l2", "data=l2", 478_000.0), ("memory", "data=memory", 196_000.0)];

fn study(rounds: u32, blocks: u32) -> Study {
    let mut treatments = Vec::new();
    let mut comparisons = Vec::new();
    for (suffix, group, _) in GROUPS {
        for (at, (name, placement, sessions, _)) in TREATMENTS.into_iter().enumerate() {
            let role = [Role::Baseline, Role::BaselineTwin].get(at).copied().unwrap_or(Role::Compared);
            let options: Options = [
                ("data".to_owned(), OptionValue::Text(suffix.to_owned())),
                ("work_unit".to_owned(), OptionValue::Integer(64)),
            ]
            .into();
            treatments.push(Treatment {
                name: format!("{name}/{suffix}"),
                group: group.to_owned(),
                role,
                placement: placement.parse().unwrap(),
                sessions,
                pin: Pin::Each,
                memory: Default::default(),
                service: None,
                arm: Default::default(),
                instance: Default::default(),
                options,
                factors: [("data".to_owned(), suffix.to_owned())].into(),
            });
            if role == Role::Compared {
                comparisons.push(Comparison {
                    name: format!("{name}/{suffix} : alone"),
                    treatment: format!("{name}/{suffix}"),
                    baseline: vec![format!("alone/{suffix}"), format!("alone'/{suffix}")],
                    kind: "baseline".into(),
                });
            }
        }
        comparisons.push(Comparison {
            name: format!("smt-yield/{suffix}"),
            treatment: format!("same-core/{suffix}"),
            baseline: vec![format!("one-cpu/{suffix}")],
            kind: "smt-yield".into(),
        });
    }
    Study {
        name: "placement".to_owned(),
        title: "What cores, siblings and packages do to cached reads".to_owned(),
        seed: 42,
        engine: "simulated".to_owned(),
        engine_properties: Some(Properties { simulated: true, ..Properties::default() }),
        engine_options: Options::new(),
        workload: "logical-io".into(),
        treatments,
        comparisons,
        design: Design {
            rounds,
            slice_ns: 50_000_000,
            rewarm_ns: Some(10_000_000),
            stopping: Stopping::Blocks { blocks },
            level: 0.95,
            margin: 0.03,
            long_windows: None,
        },
        quota: None,
        external: None,
        left_out: vec!["no second NUMA node in a package: memory=remote left out".to_owned()],
    }
}

const CPUS: u32 = 16;

/// 8 cores of 2 threads; logical CPU 7 may not be used, 15 is offline.
pub fn topology() -> Topology {
    let set = |list: &str| CpuSet::parse_list(list).unwrap();
    let logical_cpus = (0..CPUS).map(|cpu| {
        let core = cpu % 8;
        let usable = core != 7;
        LogicalCpu {
            os_id: cpu,
            core: usable.then_some(core),
            package: usable.then_some(core / 4),
            die: None,
            cluster: None,
            numa_node: usable.then_some(core / 4),
            llc: usable.then_some(core / 4),
            siblings: if usable { [core, core + 8].into_iter().collect() } else { [7].into_iter().collect() },
            kind: usable.then_some(0),
            allowed: cpu != 7,
            online: cpu != 15,
        }
    });
    let halves = [set("0-3,8-11"), set("4-6,12-14")];
    let groups: Vec<Group> =
        (0..).zip(&halves).map(|(id, cpus)| Group { os_id: Some(id), cpus: cpus.clone() }).collect();
    Topology {
        logical_cpus: logical_cpus.collect(),
        cores: (0..7)
            .map(|core| Core {
                os_id: Some(i64::from(core % 4)),
                cpus: [core, core + 8].into_iter().collect(),
                package: Some(core / 4),
                kind: 0,
            })
            .collect(),
        packages: groups.clone(),
        numa_nodes: (0..)
            .zip(&halves)
            .map(|(id, cpus)| NumaNode { os_id: Some(id), cpus: cpus.clone(), memory_bytes: Some(16 << 30) })
            .collect(),
        llc_domains: groups,
        caches: halves
            .iter()
            .map(|cpus| Cache {
                level: 3,
                kind: "Unified".into(),
                size_bytes: Some(20 << 20),
                cpus: cpus.clone(),
            })
            .collect(),
        kinds: vec![CoreKind { name: "core".into(), evidence: "one kind".into(), cpus: set("0-6,8-14") }],
        limits: Limits {
            cpuset: Some(set("0-6,8-14")),
            quota_cpus: Some(12.0),
            quota_source: Some("sys/fs/cgroup/cpu.max".into()),
            ..Limits::default()
        },
        identity: Identity {
            cpu_model: Some("Example Processor E5 @ 2.90GHz".into()),
            cpu_vendor: Some("Example".into()),
            hypervisor: Some("KVM".into()),
            smt_control: Some("on".into()),
            kernel: Some("6.1.0".into()),
            memory_bytes: Some(32 << 30),
        },
        ..Topology::default()
    }
}

fn cpus_of(placement: &str, block: u32) -> Vec<u32> {
    let first = block % 3;
    match placement {
        "same-core" => vec![first, first + 8],
        "same-package" => vec![first, first + 1],
        "cross-package" => vec![first, first + 4],
        "spread:4" => vec![first, first + 4, first + 1, (first + 1) % 3 + 4],
        "spread:7" => (0..7).collect(),
        _ => vec![first],
    }
}

fn runs(study: &Study, topology: &Topology, blocks: u32, rounds: u32) -> Vec<Run> {
    let mut draws = Draws(7);
    let mut runs = Vec::new();
    let count = study.treatments.len() as u64;
    let per_block = count * u64::from(rounds);
    for block in 0..blocks {
        for (at, treatment) in (0_u64..).zip(&study.treatments) {
            let base = GROUPS.iter().find(|(_, group, _)| *group == treatment.group).map_or(0.0, |g| g.2);
            let label = treatment.name.split('/').next().unwrap_or("");
            let factor = TREATMENTS.iter().find(|(name, ..)| *name == label).map_or(0.0, |t| t.3);
            let cpus = cpus_of(&treatment.placement.text, block);
            let of_block = 1.0 + 0.06 * (draws.next() - 0.5);
            let slices = (0..rounds).map(|round| {
                // A round takes the treatments in another order each time.
                let place = (at + u64::from(round) * 5 + u64::from(block)) % count;
                let sequence = u64::from(block) * per_block + u64::from(round) * count + place;
                let drift = 1.0 + 0.05 * (sequence as f64 / (per_block as f64 * 2.3)).sin();
                let noise = 1.0 + 0.05 * (draws.next() + draws.next() - 1.0);
                let rows = base * factor * of_block * drift * noise * 0.05;
                slice(treatment, &cpus, topology, sequence, round, rows, draws.next())
            });
            runs.push(Run {
                id: runs.len() as u64 + 1,
                block,
                attempt: 0,
                treatment: treatment.name.clone(),
                slices: slices.collect(),
                cpus,
                status: RunStatus::Valid,
                started_s: f64::from(block) * 20.0,
                prepare_ns: 180_000_000,
                other_cpu_times: Vec::new(),
                readings: vec![],
            });
        }
    }
    runs
}

pub fn slice(
    t: &Treatment,
    cpus: &[u32],
    topology: &Topology,
    sequence: u64,
    round: u32,
    rows: f64,
    draw: f64,
) -> Slice {
    let rows = (rows / f64::from(t.sessions)) as u64;
    let session = SessionSlice {
        steps: rows / 64,
        rows,
        answers_checked: rows / 64,
        cpu_ns: 49_000_000 / u64::from(t.sessions.div_ceil(cpus.len() as u32)),
        involuntary_switches: 1,
        run_queue_wait_ns: Some(120_000),
        counters: Counters::from([("logical_reads".to_owned(), rows * 205 / 100)]),
        ..SessionSlice::default()
    };
    let online = topology.logical_cpus.iter().filter(|cpu| cpu.online);
    Slice {
        sequence,
        round,
        start_ns: sequence * 62_000_000,
        window_ns: 50_000_000,
        sessions: vec![session; t.sessions as usize],
        counters: Default::default(),
        looks: Vec::new(),
        cpu_times: online
            .map(|cpu| {
                let used = cpus.contains(&cpu.os_id);
                let share = if used { 0.985 } else { 0.02 + 0.03 * draw };
                let steal = if used { 0.004 * draw } else { 0.0 };
                CpuTimes {
                    cpu: cpu.os_id,
                    busy_ns: (share * 6e7) as u64,
                    steal_ns: (steal * 6e7) as u64,
                    total_ns: 60_000_000,
                }
            })
            .collect(),
        other_cpus: Default::default(),
    }
}

/// Centre and interval of values over blocks, near enough for a picture.
fn interval(values: &[f64], unit: &str) -> Interval {
    let n = values.len().max(2) as f64;
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = 2.4 * (variance / n).sqrt();
    Interval { mean, low: mean - half, high: mean + half, unit: unit.to_owned() }
}

fn block_rates(runs: &[Run], name: &str) -> BTreeMap<u32, f64> {
    let valid = runs.iter().filter(|run| run.treatment == name && run.status.is_valid());
    valid
        .map(|run| {
            (run.block, run.slices.iter().map(Slice::rows_per_s).sum::<f64>() / run.slices.len() as f64)
        })
        .collect()
}

/// All treatments of a group, the last of which is a guess.
fn choice(study: &Study, group: &str) -> Choice {
    let of_group = study.treatments.iter().filter(|t| t.group == group && t.role != Role::BaselineTwin);
    let candidates: Vec<Candidate> = of_group
        .enumerate()
        .map(|(at, t)| Candidate {
            treatment: t.name.clone(),
            number: t.sessions,
            within_margin: false,
            speed: (at > 0).then(|| interval(&[1.2, 1.4], "ratio")),
            speed_on_cpu: None,
        })
        .collect();
    let treatment = candidates.last().map_or_else(String::new, |last| last.treatment.clone());
    let guess = Some(Guess { treatment, probability: 0.72, loss_share: 0.041 });
    Choice {
        axis: Axis::Sessions,
        group: group.to_owned(),
        place: String::new(),
        candidates,
        chosen: None,
        guess,
        lost: Vec::new(),
    }
}

fn analysis(study: &Study, runs: &[Run], blocks: u32) -> Analysis {
    let rates: BTreeMap<&str, BTreeMap<u32, f64>> =
        study.treatments.iter().map(|t| (t.name.as_str(), block_rates(runs, &t.name))).collect();
    let treatments = study.treatments.iter().map(|t| {
        let values: Vec<f64> = rates[t.name.as_str()].values().copied().collect();
        let rate = interval(&values, "1/s");
        let fixed = |value: f64, unit: &str| interval(&[value * 0.99, value * 1.01], unit);
        let cpu = 1e9 * f64::from(t.sessions.min(4)) / rate.mean;
        let failed =
            runs.iter().filter(|run| run.treatment == t.name && !run.status.is_valid()).count() as u32;
        TreatmentSummary {
            name: t.name.clone(),
            group: t.group.clone(),
            placement: t.placement.to_string(),
            sessions: t.sessions,
            runs: values.len() as u32,
            failed,
            excluded: 0,
            metrics: [
                ("cpu_ns_per_row".to_owned(), fixed(cpu, "ns")),
                ("latency_ns_p50".to_owned(), fixed(cpu * 61.0, "ns")),
                ("latency_ns_p99".to_owned(), fixed(cpu * 90.0, "ns")),
                ("reads_per_row".to_owned(), fixed(2.05, "1")),
                ("busy_share".to_owned(), fixed(0.985, "share")),
                ("steal_share".to_owned(), fixed(0.002, "share")),
                ("rows_per_s".to_owned(), rate),
            ]
            .into(),
            activity: Default::default(),
        }
    });
    let estimates = study.comparisons.iter().map(|comparison| estimate(comparison, &rates, blocks));
    Analysis {
        choices: GROUPS.iter().map(|(_, group, _)| choice(study, group)).collect(),
        treatments: treatments.collect(),
        estimates: estimates.collect(),
        noise_floors: GROUPS
            .iter()
            .map(|(_, group, _)| NoiseFloor {
                group: (*group).to_owned(),
                metric: "rows_per_s".to_owned(),
                ratio: Interval { mean: 1.0, low: 0.991, high: 1.008, unit: "ratio".to_owned() },
                floor: 0.00904,
                p: 0.41,
                alarm: None,
            })
            .collect(),
        blocks,
        covariates: Covariates {
            steal_share: 0.002,
            steal_share_max: 0.011,
            flagged_blocks: vec![3],
            left_over_busy_share: 0.031,
            others_busy_share: 0.035,
            ..Covariates::default()
        },
        simulated: study.is_simulated(),
        ..Analysis::default()
    }
}

fn estimate(comparison: &Comparison, rates: &BTreeMap<&str, BTreeMap<u32, f64>>, blocks: u32) -> Estimate {
    let top = &rates[comparison.treatment.as_str()];
    let differences: Vec<f64> = top
        .iter()
        .map(|(block, rate)| {
            let below = comparison.baseline.iter().filter_map(|name| rates[name.as_str()].get(block));
            let (sum, count) = below.fold((0.0, 0.0), |(sum, count), rate| (sum + rate.ln(), count + 1.0));
            rate.ln() - sum / count
        })
        .collect();
    let d = interval(&differences, "ratio");
    Estimate {
        name: comparison.name.clone(),
        kind: comparison.kind.clone(),
        treatment: comparison.treatment.clone(),
        baseline: comparison.baseline.join(" and "),
        metric: "rows_per_s".to_owned(),
        ratio: Ratio {
            value: d.mean.exp(),
            low: d.low.exp(),
            high: d.high.exp(),
            adjusted_low: (d.low * 1.4 - d.mean * 0.4).exp(),
            adjusted_high: (d.high * 1.4 - d.mean * 0.4).exp(),
            blocks,
            level: 0.95,
            unit: threadwise_document::estimate::RATIO,
            p: 0.0004,
            adjusted_p: 0.001,
            family: 2,
            correlation: 0.12,
            floor: None,
            margin: 0.03,
            answer: threadwise_analysis::Answer::by_interval(d.low.exp(), d.high.exp(), 0.03),
            direction: Direction::HigherIsBetter,
        },
        method: format!("t over {blocks} blocks"),
        p_sign_flip: Some(0.0078),
        unflagged: Some(Unflagged { ratio: d.exp(), blocks: blocks - 1 }),
        adjusted: None,
    }
}

fn findings(analysis: &Analysis) -> Vec<Finding> {
    let figure = |name: &str| {
        let estimate = analysis.estimates.iter().find(|estimate| estimate.name == name).unwrap();
        format!("{:.2}x [{:.2}, {:.2}]", estimate.ratio.value, estimate.ratio.low, estimate.ratio.high)
    };
    let finding = |kind: FindingKind, text: String| Finding { kind, line: text.into(), evidence: vec![] };
    vec![
        finding(
            FindingKind::Machine,
            "7 usable cores x 2 threads on 2 packages; one core is not usable.".to_owned(),
        ),
        finding(FindingKind::SmtYield, format!("A full core does {} one thread.", figure("smt-yield/l2"))),
        finding(
            FindingKind::Scaling,
            format!(
                "Two sessions on two cores do {} one session's reads; beyond the LLC {}.",
                figure("same-package/l2 : alone"),
                figure("same-package/memory : alone")
            ),
        ),
        finding(
            FindingKind::Packages,
            format!("Two packages: {} of one session.", figure("cross-package/l2 : alone")),
        ),
        finding(FindingKind::Trust, "Trust: noise floor ±0.9%, steal 0.2%; 8 blocks.".to_owned()),
        finding(
            FindingKind::Scope,
            "Scope: a model, cached reads, no writes. Next: `threadwise run`.".to_owned(),
        ),
    ]
}
