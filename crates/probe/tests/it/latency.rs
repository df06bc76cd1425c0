//! Cache-line latencies of modelled machines: hierarchy, noise, outliers, migration, time slicing and
//! declarations that lie. The truth is known, so levels, groups and minima can be checked.

#![allow(clippy::unwrap_used, reason = "helpers of tests may unwrap like tests")]

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use threadwise_machine::CpuSet;
use threadwise_probe::bench::ProbeError;
use threadwise_probe::latency::{
    Latencies, LineBench, LiveLines, MOST_AT_ONCE, Method, Request, measure, methods_agree,
};
use threadwise_study::probe::{LatencyLevel, ProbeForm};

/// One-way times in nanoseconds: siblings, one LLC, one package, two packages.
const TRUTH_NS: [f64; 4] = [7.5, 24.0, 95.0, 190.0];

/// Where every logical CPU really is; the index is the OS number.
#[derive(Clone)]
struct Machine {
    core: Vec<u32>,
    llc: Vec<u32>,
    package: Vec<u32>,
}

impl Machine {
    /// First siblings of all cores are numbered before second ones, as Linux does on most machines.
    fn new(packages: u32, llcs_per_package: u32, cores_per_llc: u32, smt: u32) -> Self {
        let cores = packages * llcs_per_package * cores_per_llc;
        let core: Vec<u32> = (0..cores * smt).map(|cpu| cpu % cores).collect();
        let llc: Vec<u32> = core.iter().map(|core| core / cores_per_llc).collect();
        let package = llc.iter().map(|llc| llc / llcs_per_package).collect();
        Self { core, llc, package }
    }

    fn len(&self) -> u32 {
        self.core.len() as u32
    }

    fn level(&self, a: u32, b: u32) -> usize {
        let same = |group_of: &[u32]| group_of[a as usize] == group_of[b as usize];
        match (same(&self.core), same(&self.llc), same(&self.package)) {
            (true, ..) => 0,
            (_, true, _) => 1,
            (.., true) => 2,
            _ => 3,
        }
    }

    /// Pairs of one level differ by up to 12%, as on a mesh; both methods see the same distance.
    fn ns(&self, a: u32, b: u32) -> f64 {
        let mesh = f64::from((a * 7 + b * 13) % 13) / 12.0;
        TRUTH_NS[self.level(a, b)] * (1.0 + if self.level(a, b) == 0 { 0.0 } else { 0.12 * mesh })
    }

    fn sets(group_of: &[u32]) -> Vec<CpuSet> {
        let names: BTreeSet<u32> = group_of.iter().copied().collect();
        let members = |name: u32| {
            (0..group_of.len() as u32).filter(move |cpu| group_of[*cpu as usize] == name).collect()
        };
        names.into_iter().map(members).collect()
    }

    /// Groups of at least two at each level that joins something the level below does not.
    fn groups(&self) -> Vec<Vec<CpuSet>> {
        let all = vec![0; self.core.len()];
        let mut levels: Vec<Vec<CpuSet>> = Vec::new();
        for group_of in [&self.core, &self.llc, &self.package, &all] {
            let mut sets: Vec<CpuSet> =
                Self::sets(group_of).into_iter().filter(|set| set.len() > 1).collect();
            sets.sort_by_key(CpuSet::first);
            if !sets.is_empty() && levels.last() != Some(&sets) {
                levels.push(sets);
            }
        }
        levels
    }
}

/// A bench that knows the truth and disturbs it.
struct Model {
    truth: Machine,
    declared: Machine,
    random: ChaCha8Rng,
    /// Share of samples that an interruption made 2 to 500 times as long.
    outliers: f64,
    /// Share of calls in which the first logical CPU of each pair is where its neighbour usually is.
    migrates: f64,
    /// The two take turns on one CPU.
    sliced: Option<(u32, u32)>,
    /// Stops at this call.
    stops_at: u32,
    calls: u32,
    measured: BTreeSet<(u32, u32)>,
}

impl Model {
    fn new(truth: Machine, seed: u64) -> Self {
        Self {
            declared: truth.clone(),
            truth,
            random: ChaCha8Rng::seed_from_u64(seed),
            outliers: 0.05,
            migrates: 0.0,
            sliced: None,
            stops_at: u32::MAX,
            calls: 0,
            measured: BTreeSet::new(),
        }
    }

    fn uniform(&mut self) -> f64 {
        (self.random.next_u32() as f64 + 0.5) / (f64::from(u32::MAX) + 1.0)
    }

    fn sample(&mut self, truth_ns: f64, method: Method) -> f64 {
        // Two lines cost a little more; noise only adds, with a mean of 4%.
        let method_ns = if method == Method::Cas { truth_ns } else { 1.08 * truth_ns };
        let noise = 1.0 - 0.04 * self.uniform().ln();
        let hit = self.uniform() < self.outliers;
        let outlier = if hit { 2.0 * 250_f64.powf(self.uniform()) } else { 1.0 };
        method_ns * noise * outlier
    }

    fn check(&self, pairs: &[(u32, u32)]) {
        let mut cores = BTreeSet::new();
        assert!(!pairs.is_empty() && pairs.len() <= MOST_AT_ONCE);
        for &(a, b) in pairs {
            assert!(a < b && b < self.truth.len());
            let core = |cpu: u32| self.declared.core[cpu as usize];
            for end in BTreeSet::from([core(a), core(b)]) {
                assert!(cores.insert(end), "declared core {end} is busy twice");
            }
        }
    }
}

impl LineBench for Model {
    fn run(
        &mut self,
        method: Method,
        pairs: &[(u32, u32)],
        samples: u32,
    ) -> Result<Vec<Vec<f64>>, ProbeError> {
        self.check(pairs);
        self.calls += 1;
        if self.calls >= self.stops_at {
            return Err(ProbeError::Stopped);
        }
        let moved = self.uniform() < self.migrates;
        let mut all = Vec::new();
        for &(a, b) in pairs {
            self.measured.insert((a, b));
            let from = if moved && a + 1 != b { a + 1 } else { a };
            let truth_ns = self.truth.ns(from, b);
            let count = if self.sliced == Some((a, b)) { 0 } else { samples };
            all.push((0..count).map(|_| self.sample(truth_ns, method)).collect());
        }
        Ok(all)
    }
}

fn probe(model: &mut Model, form: ProbeForm, seed: u64) -> Latencies {
    let cpus: Vec<u32> = (0..model.truth.len()).collect();
    let declared = model.declared.clone();
    let (cores, llcs, packages) =
        (Machine::sets(&declared.core), Machine::sets(&declared.llc), Machine::sets(&declared.package));
    let request = Request { cpus: &cpus, cores: &cores, llcs: &llcs, packages: &packages, form, seed };
    let mut shares = vec![0.0];
    let found = measure(model, &request, &mut |share| shares.push(share)).unwrap();
    assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
    if !found.interrupted && !model.measured.is_empty() {
        assert!(*shares.last().unwrap() > 0.999, "{:?}", shares.last());
    }
    found
}

fn groups(levels: &[LatencyLevel]) -> Vec<Vec<CpuSet>> {
    levels.iter().map(|level| level.groups.clone()).collect()
}

fn check_figures(truth: &Machine, found: &Latencies) {
    for pair in &found.pairs {
        let ns = truth.ns(pair.a, pair.b);
        let near = |found_ns: f64, truth_ns: f64| (found_ns / truth_ns - 1.0).abs() < 0.02;
        assert!(near(pair.cas.min_ns, ns), "{pair:?}: {ns}");
        assert!(near(pair.two_lines.min_ns, 1.08 * ns), "{pair:?}: {ns}");
        assert!(pair.cas.median_ns >= pair.cas.min_ns && pair.cas.spread_ns > 0.0);
        let level = &found.levels[pair.level.unwrap() as usize];
        assert!(pair.cas.min_ns >= level.low_ns && pair.cas.min_ns <= level.high_ns);
    }
    let agreement = methods_agree(&found.pairs).unwrap();
    assert!(agreement.same_clusters);
    assert!((agreement.ratio_median / 1.08 - 1.0).abs() < 0.02, "{agreement:?}");
}

/// Machines of the table: packages, LLC domains, cores, siblings; names of the levels.
const MACHINES: [(Shape, &[&str]); 8] = [
    ((1, 1, 2, 1), &["same LLC"]),
    ((1, 1, 1, 2), &["same core"]),
    ((1, 1, 4, 2), &["same core", "same LLC"]),
    ((2, 1, 4, 1), &["same LLC", "other package"]),
    ((1, 4, 2, 2), &["same core", "same LLC", "same package"]),
    ((2, 2, 8, 2), &["same core", "same LLC", "same package", "other package"]),
    ((2, 1, 4, 8), &["same core", "same LLC", "other package"]),
    ((2, 12, 16, 2), &["same core", "same LLC", "same package", "other package"]),
];
type Shape = (u32, u32, u32, u32);

fn machine((packages, llcs, cores, smt): Shape) -> Machine {
    Machine::new(packages, llcs, cores, smt)
}

#[test]
fn levels_and_groups_of_known_machines_are_found() {
    for (shape, names) in MACHINES {
        let truth = machine(shape);
        for form in [ProbeForm::Short, ProbeForm::Standard] {
            for seed in 0..if truth.len() > 100 { 1 } else { 5 } {
                let mut model = Model::new(truth.clone(), seed);
                let found = probe(&mut model, form, seed);
                assert_eq!(groups(&found.levels), truth.groups(), "{shape:?} {form:?} {seed}");
                let found_names: Vec<&str> =
                    found.levels.iter().map(|level| level.name.as_deref().unwrap()).collect();
                assert_eq!(found_names, names, "{shape:?}");
                assert_eq!((found.gaps.as_slice(), found.interrupted), (&[][..], false));
                check_figures(&truth, &found);
            }
        }
    }
}

#[test]
fn inference_equals_the_full_matrix() {
    inferred_is_full(&[(2, 2, 8, 2), (2, 4, 8, 2)]);
}

/// Machines of so many packages, caches of each, cores of each and threads of each.
pub fn inferred_is_full(shapes: &[(u32, u32, u32, u32)]) {
    for shape in shapes.iter().copied() {
        let truth = machine(shape);
        let pairs = (truth.len() * (truth.len() - 1) / 2) as usize;
        let full = probe(&mut Model::new(truth.clone(), 5), ProbeForm::Full, 5);
        let inferred = probe(&mut Model::new(truth.clone(), 6), ProbeForm::Standard, 6);
        assert_eq!(full.pairs.len(), pairs);
        assert!(inferred.pairs.len() < pairs / 4, "{}", inferred.pairs.len());
        assert_eq!(groups(&full.levels), groups(&inferred.levels));
        assert_eq!(groups(&full.levels), truth.groups());
        for (full, inferred) in full.levels.iter().zip(&inferred.levels) {
            assert!((full.low_ns / inferred.low_ns - 1.0).abs() < 0.02);
            assert!((full.high_ns / inferred.high_ns - 1.0).abs() < 0.02);
        }
    }
}

#[test]
fn a_scrambled_declaration_is_found_out() {
    let truth = Machine::new(2, 2, 8, 2);
    for seed in 0..5 {
        let mut model = Model::new(truth.clone(), seed);
        // The declaration numbers logical CPUs of the same machine in another way.
        let other = |group_of: &[u32]| (0..64).map(|cpu: usize| group_of[(cpu * 27 + 5) % 64]).collect();
        model.declared =
            Machine { core: other(&truth.core), llc: other(&truth.llc), package: other(&truth.package) };
        let found = probe(&mut model, ProbeForm::Standard, seed);
        assert_eq!(groups(&found.levels), truth.groups(), "seed {seed}");
        check_figures(&truth, &found);
    }
}

#[test]
fn siblings_that_are_not_declared_are_found() {
    for (shape, seeds) in [((2, 2, 16, 2), 5), ((2, 12, 16, 2), 1)] {
        let truth = machine(shape);
        let pairs = (truth.len() * (truth.len() - 1) / 2) as usize;
        for seed in 0..seeds {
            let mut model = Model::new(truth.clone(), seed);
            model.declared.core = (0..truth.len()).collect();
            let found = probe(&mut model, ProbeForm::Standard, seed);
            assert_eq!(groups(&found.levels), truth.groups(), "{shape:?} seed {seed}");
            assert!(found.pairs.len() < pairs / 2, "{shape:?}: {} of {pairs}", found.pairs.len());
        }
    }
}

#[test]
fn siblings_that_are_declared_and_are_none_are_found_out() {
    let truth = Machine::new(2, 2, 16, 1);
    let mut model = Model::new(truth.clone(), 1);
    model.declared.core = (0..truth.len()).map(|cpu| cpu / 2).collect();
    let found = probe(&mut model, ProbeForm::Standard, 1);
    assert_eq!(groups(&found.levels), truth.groups());
}

#[test]
fn one_misplaced_cpu_costs_a_row_and_not_the_matrix() {
    let truth = Machine::new(2, 12, 16, 2);
    let mut model = Model::new(truth.clone(), 1);
    // CPU 100 is declared in the first domain; it is in the seventh.
    model.declared.llc[100] = 0;
    let found = probe(&mut model, ProbeForm::Standard, 1);
    assert_eq!(groups(&found.levels), truth.groups());
    assert!(found.pairs.len() < 20_000, "{}", found.pairs.len());
}

#[test]
fn the_short_form_says_where_it_has_no_time_for_doubts() {
    let truth = Machine::new(2, 2, 32, 2);
    let mut model = Model::new(truth.clone(), 1);
    model.declared.core = (0..truth.len()).map(|cpu| cpu / 2).collect();
    let found = probe(&mut model, ProbeForm::Short, 1);
    assert!(found.gaps.iter().any(|gap| gap.contains("no time for")), "{:?}", found.gaps);
}

#[test]
fn migrations_do_not_change_the_levels_and_are_reported() {
    let truth = Machine::new(1, 1, 4, 2);
    for seed in 0..10 {
        let mut model = Model::new(truth.clone(), seed);
        model.migrates = 0.2;
        let found = probe(&mut model, ProbeForm::Standard, seed);
        assert_eq!(groups(&found.levels), truth.groups(), "seed {seed}");
        assert!(found.gaps.iter().any(|gap| gap.contains("changed while")), "{:?}", found.gaps);
    }
}

#[test]
fn heavy_interruptions_do_not_change_the_levels() {
    let truth = Machine::new(2, 1, 4, 2);
    for seed in 0..10 {
        let mut model = Model::new(truth.clone(), seed);
        model.outliers = 0.5;
        let found = probe(&mut model, ProbeForm::Standard, seed);
        assert_eq!(groups(&found.levels), truth.groups(), "seed {seed}");
        check_figures(&truth, &found);
    }
}

#[test]
fn two_that_take_turns_give_a_gap_and_no_zero() {
    let mut model = Model::new(Machine::new(1, 1, 4, 1), 1);
    model.sliced = Some((1, 2));
    let found = probe(&mut model, ProbeForm::Standard, 1);
    assert_eq!(found.pairs.len(), 5);
    assert!(found.pairs.iter().all(|pair| (pair.a, pair.b) != (1, 2)));
    assert_eq!(found.gaps.len(), 1);
    assert!(found.gaps[0].contains("1 pair (first: logical CPUs 1 and 2)"), "{:?}", found.gaps);
    let mut model = Model::new(Machine::new(1, 1, 2, 1), 1);
    model.sliced = Some((0, 1));
    let found = probe(&mut model, ProbeForm::Short, 1);
    assert_eq!((found.pairs.len(), found.levels.len(), found.gaps.len()), (0, 0, 1));
    assert!(model.calls < 10, "it went on for {} calls", model.calls);
}

#[test]
fn what_was_measured_before_a_stop_is_kept() {
    for (form, shape) in [(ProbeForm::Standard, (1, 1, 4, 2)), (ProbeForm::Full, (2, 12, 16, 2))] {
        let mut model = Model::new(machine(shape), 1);
        model.stops_at = 150;
        let found = probe(&mut model, form, 1);
        assert!(found.interrupted);
        assert!(!found.pairs.is_empty() && !found.levels.is_empty());
    }
    let mut model = Model::new(Machine::new(1, 1, 4, 2), 1);
    model.stops_at = 1;
    let found = probe(&mut model, ProbeForm::Standard, 1);
    assert!(found.interrupted && found.pairs.is_empty() && found.levels.is_empty());
}

#[test]
fn one_logical_cpu_is_a_gap() {
    let found = probe(&mut Model::new(Machine::new(1, 1, 1, 1), 1), ProbeForm::Standard, 1);
    assert_eq!((found.pairs.len(), found.gaps.len()), (0, 1));
    assert!(found.gaps[0].contains("there is one"));
}

#[test]
fn errors_of_the_bench_are_passed_on() {
    struct Coarse;
    impl LineBench for Coarse {
        fn run(&mut self, _: Method, _: &[(u32, u32)], _: u32) -> Result<Vec<Vec<f64>>, ProbeError> {
            Err(ProbeError::CoarseClock { step_ns: 4_000_000 })
        }
    }
    let request =
        Request { cpus: &[3, 9], cores: &[], llcs: &[], packages: &[], form: ProbeForm::Short, seed: 1 };
    let error = measure(&mut Coarse, &request, &mut |_| {}).unwrap_err();
    assert!(matches!(error, ProbeError::CoarseClock { step_ns: 4_000_000 }));
}

#[test]
fn nothing_declared_leaves_levels_without_a_name() {
    let request = Request {
        cpus: &[5, 0, 5, 2],
        cores: &[],
        llcs: &[],
        packages: &[],
        form: ProbeForm::Short,
        seed: 1,
    };
    let mut model = Model::new(Machine::new(1, 1, 3, 2), 1);
    model.declared.core = (0..6).collect();
    let found = measure(&mut model, &request, &mut |_| {}).unwrap();
    let pairs: Vec<(u32, u32)> = found.pairs.iter().map(|pair| (pair.a, pair.b)).collect();
    assert_eq!(pairs, [(0, 2), (0, 5), (2, 5)]);
    let (names, groups): (Vec<_>, Vec<_>) =
        found.levels.iter().map(|level| (level.name.clone(), level.groups.clone())).unzip();
    assert_eq!(names, [None, None]);
    let set = |text: &str| CpuSet::parse_list(text).unwrap();
    assert_eq!(groups, [vec![set("2,5")], vec![set("0,2,5")]]);
}

/// The machine that runs this: whatever it is, there are positive figures for each pair or a reason.
#[test]
fn this_machine_gives_figures_or_a_reason() {
    let allowed = threadwise_machine::pin::current_affinity().unwrap();
    let cpus: Vec<u32> = allowed.iter().take(2).collect();
    let request =
        Request { cpus: &cpus, cores: &[], llcs: &[], packages: &[], form: ProbeForm::Short, seed: 1 };
    let mut bench = LiveLines::new(Arc::new(AtomicBool::new(false))).unwrap();
    let found = measure(&mut bench, &request, &mut |_| {}).unwrap();
    assert!(!found.interrupted);
    assert!(found.pairs.len() == 1 || !found.gaps.is_empty());
    for pair in &found.pairs {
        for figures in [&pair.cas, &pair.two_lines] {
            assert!(figures.min_ns > 0.0 && figures.min_ns <= figures.median_ns, "{figures:?}");
            assert!(figures.median_ns.is_finite() && figures.samples > 0, "{figures:?}");
        }
        assert_eq!(pair.level, Some(0));
    }
}
