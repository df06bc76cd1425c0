//! A guest with two logical CPUs that its host moves between one core and two, and whose cores a neighbour visits:
//! a seeded model, so that the truth of every look is known.

use crate::support::{Draws, Fixture};
use threadwise_analysis::analyse_on;
use threadwise_machine::topology::{Core, CoreKind, Group, LogicalCpu};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::{
    CpuLook, Look, Moment, PairLook, Run, RunStatus, SessionSlice, Slice, SliceLook, Stopping,
};

/// Adds per chain step of a free core, and of one that is shared.
const FREE: f64 = 4.68;
const SHARED: f64 = 2.45;

/// From slice to slice: mean length of visits to one core and of a neighbour's, in slices, and how often they begin.
const TOGETHER: (f64, f64) = (12.0, 0.025);
const NEIGHBOUR: (f64, f64) = (6.0, 0.02);

/// The same of a host that moves more often, so that a small study sees both states in every block.
const RESTLESS: (f64, f64) = (5.0, 0.11);

/// Where the two logical CPUs are, and who is on the sibling of each.
#[derive(Clone, Copy)]
struct Host {
    together: bool,
    neighbour: [bool; 2],
    /// Of visits to one core, as [`TOGETHER`].
    visits: (f64, f64),
}

impl Host {
    /// Apart and undisturbed.
    fn new(visits: (f64, f64)) -> Self {
        Self { together: false, neighbour: [false; 2], visits }
    }

    /// Some time later: `share` of a slice.
    fn later(mut self, share: f64, draws: &mut Draws) -> Self {
        let mut flips = |is_on: bool, (mean, begin): (f64, f64)| {
            let chance = if is_on { 1.0 / mean } else { begin };
            is_on ^ (draws.next() < chance * share)
        };
        self.together = flips(self.together, self.visits);
        self.neighbour = self.neighbour.map(|is_on| flips(is_on, NEIGHBOUR));
        self
    }

    /// Speed of a treatment, 1 for one session alone on a free core.
    fn speed(self, cpus: &[u32]) -> f64 {
        let one = |cpu: &u32| if self.neighbour[*cpu as usize] { 0.72 } else { 1.0 };
        match cpus {
            [_, _] if self.together => 1.21,
            cpus => cpus.iter().map(one).sum(),
        }
    }

    fn look(self, start_ns: u64, cpus: u32, draws: &mut Draws) -> Look {
        let mut noisy = |value: f64| ((1.0 + 0.03 * (draws.next() - 0.5)) * value * 1000.0).round() / 1000.0;
        let seen = (0..cpus).map(|cpu| {
            let is_shared = self.together && cpus > 1 || self.neighbour[cpu as usize];
            let adds = noisy(if is_shared { SHARED } else { FREE });
            CpuLook { cpu, chain_ns: Some(0.278), adds_per_step: Some(adds) }
        });
        let cpu_looks = seen.collect();
        let line_ns = noisy(if self.together { 7.0 } else { 60.0 });
        let pairs = if cpus > 1 { vec![PairLook { a: 0, b: 1, line_ns: Some(line_ns) }] } else { vec![] };
        Look { start_ns, took_ns: 90_000, cpus: cpu_looks, pairs, alone: None }
    }
}

/// Two cores that are declared so, and no more.
fn topology(cpus: u32) -> Topology {
    let cpu = |cpu: u32| LogicalCpu {
        os_id: cpu,
        core: Some(cpu),
        package: Some(0),
        siblings: [cpu].into_iter().collect(),
        kind: Some(0),
        allowed: true,
        online: true,
        ..LogicalCpu::default()
    };
    let all: CpuSet = (0..cpus).collect();
    let core = |cpu: u32| Core { os_id: None, cpus: [cpu].into_iter().collect(), package: Some(0), kind: 0 };
    Topology {
        logical_cpus: (0..cpus).map(cpu).collect(),
        cores: (0..cpus).map(core).collect(),
        kinds: vec![CoreKind { name: "core".into(), evidence: "one kind".into(), cpus: all.clone() }],
        packages: vec![Group { os_id: Some(0), cpus: all }],
        ..Topology::default()
    }
}

/// Blocks of a study of four treatments on so many logical CPUs, one or two, with looks around every slice.
pub fn moved(cpus: u32, blocks: u32, rounds: u32) -> Fixture {
    let mut fixture = Fixture::generated(blocks, 1);
    let study = &mut fixture.study;
    (study.engine, study.engine_properties) = ("sqlite".to_owned(), None);
    (study.design.rounds, study.design.stopping) = (rounds, Stopping::Blocks { blocks });
    let kept = ["alone/l2", "alone'/l2", "one-cpu/l2", "same-package/l2"];
    study.treatments.retain(|treatment| kept.contains(&treatment.name.as_str()));
    for treatment in &mut study.treatments {
        (treatment.name, treatment.group) = (treatment.name.replace("/l2", ""), String::new());
    }
    study.comparisons.retain(|comparison| {
        let ends = |kind: &str| comparison.kind.word() == kind;
        ends("baseline") && kept.contains(&comparison.treatment.as_str())
    });
    for comparison in &mut study.comparisons {
        let plain = |name: &String| name.replace("/l2", "");
        comparison.baseline = comparison.baseline.iter().map(plain).collect();
        (comparison.name, comparison.treatment) = (plain(&comparison.name), plain(&comparison.treatment));
    }
    study.left_out.clear();
    fixture.topology = topology(cpus);
    fixture.runs = runs(&fixture, Host::new(TOGETHER), cpus, (blocks, rounds));
    fixture.notes.clear();
    fixture.analyse();
    fixture
}

impl Fixture {
    /// Makes the estimates and the verdict again, from the runs.
    pub fn analyse(&mut self) {
        self.analysis = analyse_on(&self.study, Some(&self.topology), &self.runs, 1.0);
        self.findings = threadwise_analysis::verdict(&self.facts());
    }
}

fn runs(fixture: &Fixture, mut host: Host, cpus: u32, (blocks, rounds): (u32, u32)) -> Vec<Run> {
    let mut draws = Draws(11);
    let (mut now_ns, mut sequence) = (0, 0);
    let mut runs = Vec::new();
    for block in 0..blocks {
        now_ns += 2_500_000_000;
        let first = runs.len();
        for treatment in &fixture.study.treatments {
            let is_two = treatment.placement.text == "same-package" && cpus > 1;
            runs.push(Run {
                id: runs.len() as u64 + 1,
                block,
                attempt: 0,
                treatment: treatment.name.clone(),
                cpus: if is_two { vec![0, 1] } else { vec![block % cpus] },
                status: RunStatus::Valid,
                slices: Vec::new(),
                started_s: now_ns as f64 / 1e9,
                prepare_ns: 100_000_000,
                readings: Vec::new(),
                other_cpu_times: Vec::new(),
            });
        }
        for round in 0..rounds {
            for at in 0..runs.len() - first {
                let count = runs.len() - first;
                let run = &mut runs[first + (at + (round as usize) * 3) % count];
                let before = host.look(now_ns, cpus, &mut draws);
                let middle = host.later(0.5, &mut draws);
                let noise = 1.0 + 0.05 * (draws.next() + draws.next() - 1.0);
                let speed = 0.5 * (host.speed(&run.cpus) + middle.speed(&run.cpus));
                host = middle.later(0.5, &mut draws);
                let after = host.look(now_ns + 61_000_000, cpus, &mut draws);
                let look = |moment, look| SliceLook { moment, look };
                let looks = vec![look(Moment::Before, before), look(Moment::After, after)];
                let slice = slice(sequence, round, now_ns + 10_000_000, speed * noise * 23_900.0, looks);
                run.slices.push(slice);
                (now_ns, sequence) = (now_ns + 62_000_000, sequence + 1);
            }
        }
    }
    runs
}

fn slice(sequence: u64, round: u32, start_ns: u64, rows: f64, looks: Vec<SliceLook>) -> Slice {
    let session = SessionSlice { rows: rows as u64, cpu_ns: 49_000_000, ..SessionSlice::default() };
    Slice {
        sequence,
        round,
        start_ns,
        window_ns: 50_000_000,
        sessions: vec![session],
        counters: Default::default(),
        cpu_times: Vec::new(),
        other_cpus: Default::default(),
        looks,
    }
}

/// The same with what is rare: logical CPUs that did not run in time, lines and widths that contradict each other,
/// looks while slices ran.
pub fn odd(blocks: u32, rounds: u32) -> Fixture {
    let mut fixture = moved(2, blocks, rounds);
    make_odd(&mut fixture.runs, 1);
    fixture.analyse();
    fixture
}

/// Plants the oddities; one slice in so many has a look while it ran.
fn make_odd(runs: &mut [Run], during_every: usize) {
    let slices = runs.iter_mut().flat_map(|run| &mut run.slices);
    for (at, slice) in slices.enumerate() {
        let cpus = &mut slice.looks[0].look.cpus;
        match at % 23 {
            3..6 => {
                cpus.iter_mut().for_each(|seen| (seen.chain_ns, seen.adds_per_step) = (None, None));
                slice.looks[0].look.pairs[0].line_ns = None;
            }
            9..12 => slice.looks[0].look.pairs[0].line_ns = Some(6.9),
            _ => {}
        }
        let mut during = slice.looks[1].clone();
        (during.moment, during.look.start_ns) = (Moment::During, slice.start_ns + 25_000_000);
        if at.is_multiple_of(during_every) {
            slice.looks.insert(1, during);
        }
    }
}

/// A small study of three treatments that sees every state, both of two logical CPUs in every block: the one that is
/// stored as `tests/it/frozen/studies/looks.threadwise`.
pub fn restless() -> Fixture {
    let (blocks, rounds) = (10, 16);
    let mut fixture = moved(2, blocks, 1);
    fixture.study.treatments.retain(|treatment| treatment.name != "one-cpu");
    fixture.study.comparisons.retain(|comparison| comparison.treatment != "one-cpu");
    fixture.study.design.rounds = rounds;
    fixture.runs = runs(&fixture, Host::new(RESTLESS), 2, (blocks, rounds));
    make_odd(&mut fixture.runs, 10);
    fixture.analyse();
    fixture
}

/// Looks at logical CPUs 0 and 1 around each slice of whole runs and about once a second during it. In one in five
/// of these logical CPU 1 does not come in time; every eleventh run has none during it.
pub fn whole(mut fixture: Fixture) -> Fixture {
    let (mut host, mut draws) = (Host::new(TOGETHER), Draws(23));
    for (at, slice) in fixture.runs.iter_mut().flat_map(|run| &mut run.slices).enumerate() {
        let count = if at % 11 == 10 { 0 } else { slice.window_ns / 1_000_000_000 };
        let mut looks = Vec::new();
        for number in 0..count + 2 {
            let moment = match number {
                0 => Moment::Before,
                number if number == count + 1 => Moment::After,
                _ => Moment::During,
            };
            let start_ns = slice.start_ns + number * slice.window_ns / (count + 1);
            let mut look = host.look(start_ns, 2, &mut draws);
            if moment == Moment::During && number % 5 == 2 {
                (look.cpus[1].chain_ns, look.cpus[1].adds_per_step, look.pairs[0].line_ns) =
                    (None, None, None);
            }
            looks.push(SliceLook { moment, look });
            host = host.later(1.0, &mut draws);
        }
        slice.looks = looks;
    }
    fixture.topology = topology(2);
    fixture.analyse();
    fixture
}
