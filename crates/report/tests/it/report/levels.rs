//! The default study on a processor with several L3s: what the screen says of levels of locality, with made-up rates.
//!
//! With THREADWISE_SHOW_PAGES=FOLDER the page is written there, to be looked at.

use crate::support;
use threadwise_analysis::{analyse_on, document};
use threadwise_machine::topology::{Cache, Core, CoreKind, Group, Identity, LogicalCpu, NumaNode};
use threadwise_machine::{CpuSet, Topology};
use threadwise_report::terminal::{self, Style};
use threadwise_report::{Facts, html};
use threadwise_study::load::{Overrides, StudyFile};
use threadwise_study::{Run, RunStatus, Study, plan_block};

/// Two packages of six L3s of eight cores of two logical CPUs, a NUMA node for each package.
fn epyc() -> Topology {
    const CORES: u32 = 96;
    let cpus =
        |cores: std::ops::Range<u32>| -> CpuSet { cores.flat_map(|core| [core, core + CORES]).collect() };
    let group = |cpus: CpuSet| Group { os_id: None, cpus };
    let cache = |level: u32, size: u64, cpus: CpuSet| Cache {
        level,
        kind: "Unified".into(),
        size_bytes: Some(size),
        cpus,
    };
    let packages: Vec<CpuSet> = (0..2).map(|at| cpus(48 * at..48 * at + 48)).collect();
    let l3s: Vec<CpuSet> = (0..12).map(|at| cpus(8 * at..8 * at + 8)).collect();
    let l2s = (0..CORES).map(|core| cache(2, 1 << 20, cpus(core..core + 1)));
    let logical_cpu = |cpu: u32| {
        let core = cpu % CORES;
        LogicalCpu {
            os_id: cpu,
            core: Some(core),
            package: Some(core / 48),
            numa_node: Some(core / 48),
            llc: Some(core / 8),
            siblings: cpus(core..core + 1),
            kind: Some(0),
            allowed: true,
            online: true,
            ..LogicalCpu::default()
        }
    };
    let core =
        |core: u32| Core { os_id: None, cpus: cpus(core..core + 1), package: Some(core / 48), kind: 0 };
    let node = |(id, cpus): (i64, &CpuSet)| NumaNode {
        os_id: Some(id),
        cpus: cpus.clone(),
        memory_bytes: Some(384 << 30),
    };
    Topology {
        logical_cpus: (0..2 * CORES).map(logical_cpu).collect(),
        cores: (0..CORES).map(core).collect(),
        numa_nodes: (0..).zip(&packages).map(node).collect(),
        packages: packages.into_iter().map(group).collect(),
        caches: l2s.chain(l3s.iter().map(|cpus| cache(3, 32 << 20, cpus.clone()))).collect(),
        llc_domains: l3s.into_iter().map(group).collect(),
        kinds: vec![CoreKind {
            name: "core".into(),
            evidence: "one kind".into(),
            cpus: (0..2 * CORES).collect(),
        }],
        identity: Identity { cpu_model: Some("AMD EPYC 9474F".into()), ..Identity::default() },
        ..Topology::default()
    }
}

/// Rates against one session alone, as a treatment's name without its level of data has them.
const RATIOS: [(&str, f64); 6] = [
    ("one-cpu", 0.99),
    ("same-core", 1.28),
    ("same-package", 1.93),
    ("same-l3", 2.10),
    ("cross-package", 1.60),
    ("alone", 1.0),
];

fn study(topology: &Topology) -> Study {
    let overrides = Overrides {
        engine: Some("simulated".into()),
        engine_properties: threadwise_study::engine::Properties { simulated: true, ..Default::default() },
        ..Overrides::default()
    };
    StudyFile::preset("placement").unwrap().resolve(topology, &overrides).unwrap()
}

/// Twelve blocks on the logical CPUs of the plan.
fn runs(study: &Study, topology: &Topology) -> Vec<Run> {
    let mut draws = support::Draws(7);
    let mut runs = Vec::new();
    for block in 0..12 {
        let plan = plan_block(study, topology, block).unwrap();
        for (treatment, placed) in study.treatments.iter().zip(&plan.placements) {
            let name = treatment.name.split('/').next().unwrap().trim_end_matches('\'');
            let ratio = RATIOS.iter().find(|(known, _)| *known == name).unwrap().1;
            let base = if treatment.group.contains("l2") { 9e6 } else { 2.5e6 };
            let slices = (0..study.design.rounds).map(|round| {
                let noise = 1.0 + 0.01 * (draws.next() + draws.next() - 1.0);
                let sequence = u64::from(block) * 1000 + u64::from(round);
                let rows = base * ratio * noise * 0.05;
                support::slice(treatment, &placed.cpus, topology, sequence, round, rows, 0.2)
            });
            runs.push(Run {
                id: runs.len() as u64 + 1,
                block,
                attempt: 0,
                treatment: treatment.name.clone(),
                slices: slices.collect(),
                cpus: placed.cpus.clone(),
                status: RunStatus::Valid,
                started_s: f64::from(block) * 5.0,
                prepare_ns: 180_000_000,
                other_cpu_times: Vec::new(),
                readings: vec![],
            });
        }
    }
    runs
}

#[test]
fn a_screen_of_a_processor_with_several_l3s() {
    let topology = epyc();
    let study = study(&topology);
    let runs = runs(&study, &topology);
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let facts = Facts { runs: &runs, source: "epyc.threadwise", ..Facts::new(&study, &topology, &analysis) };
    let document = document(&facts);
    let screen = terminal::screen(&document.screen, Style { color: false, unicode: true, width: 96 });
    if let Some(folder) = std::env::var_os("THREADWISE_SHOW_PAGES") {
        let folder = std::path::PathBuf::from(folder);
        std::fs::write(folder.join("epyc.txt"), &screen).unwrap();
        std::fs::write(folder.join("epyc.html"), html::render(&document).unwrap()).unwrap();
    }
    assert!(screen.contains("The package matters most"), "{screen}");
    assert!(screen.contains("two on two L3s") && screen.contains("two on one L3"), "{screen}");
    assert!(screen.contains("SIMULATED"), "{screen}");
}
