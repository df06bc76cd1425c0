//! How often intervals of a scaling law's numbers hold the truth, and how far estimates lie from it.

use crate::lab_simulations::coverage::noise::Normal;
use crate::lab_simulations::coverage::rules::count;
use threadwise_analysis::Interval;
use threadwise_analysis::scaling_law::{
    Clock, Draws, Fit, KnownTurns, Ladder, Law, Load, Measured, Outcome, Parameters, Plan, ScalingLaw,
    Series, Sweep, Yields, laws, plans,
};

/// Studies a line in CI.
const IN_CI: u64 = 30;
/// Fits of resampled data in CI: enough for an end of an interval.
const REPLICATES: usize = 200;

/// Noise of a study's throughputs.
#[derive(Debug, Clone, Copy)]
struct Noise {
    blocks: usize,
    /// Standard error of a point's mean.
    error: f64,
    /// Whether points have half and one and a half times as much in turns.
    is_unequal: bool,
    /// Correlation of neighbouring blocks.
    ar1: f64,
    /// Share of blocks in which all points of more than half of the cores are slower, and by how much.
    disturbed: (f64, f64),
    /// Standard deviation of what no block has in it: how far points lie off the law.
    misfit: f64,
}

const CALM: Noise =
    Noise { blocks: 8, error: 0.01, is_unequal: false, ar1: 0.0, disturbed: (0.0, 0.0), misfit: 0.0 };

/// Sessions as a sweep has them: powers of two to the cores, and steps of a quarter beyond.
fn loads(cores: u32) -> Vec<Load> {
    let powers = (0..).map(|power| 1 << power).take_while(|sessions| *sessions < cores);
    let beyond = (0..=4).map(|quarter| cores + cores * quarter / 4);
    powers.chain(beyond).filter_map(|sessions| Load::spread(sessions, &vec![2; cores as usize])).collect()
}

fn sweep(truth: &Parameters, cores: u32, noise: Noise, random: &mut Normal) -> Sweep {
    let sd = noise.error * (noise.blocks as f64).sqrt();
    // What moves all points of a block moves λ too: without blocks nothing tells.
    let shared = if noise.blocks > 1 { 0.02 } else { 0.0 };
    let block: Vec<f64> = (0..noise.blocks).map(|_| shared * random.draw()).collect();
    let slow: Vec<bool> = (0..noise.blocks).map(|_| random.uniform() < noise.disturbed.0).collect();
    let point = |(at, load): (usize, Load)| {
        let scale = if noise.is_unequal { 0.5 + (at % 2) as f64 } else { 1.0 };
        let off = noise.misfit * random.draw();
        let scatter = random.correlated(noise.blocks, noise.ar1);
        let is_large = load.sessions * 2 > cores;
        let rate = |(at, scatter): (usize, &f64)| {
            let slower = if slow[at] && is_large { noise.disturbed.1 } else { 0.0 };
            truth.rate_at(&load).ln() + off + block[at] + sd * scale * scatter - slower
        };
        let log_rates = scatter.iter().enumerate().map(rate).collect();
        Measured { label: String::new(), load, log_rates }
    };
    Sweep::new(loads(cores).into_iter().enumerate().map(point).collect()).unwrap()
}

fn truth(of_two: f64, sigma: f64, kappa: f64) -> Parameters {
    Parameters { rate_per_s: 5e4, sigma, kappa, yields: Some(Yields { knots: vec![(2, of_two)] }) }
}

fn draws(seed: u64) -> Draws {
    Draws { count: REPLICATES, ..Draws::usual(seed) }
}

/// What came of the studies of one line.
struct Line {
    /// Shares of intervals that hold the truth: λ, σ, κ, the yield, the rate of all logical CPUs, and that of a machine of
    /// twice the cores.
    covered: [f64; 6],
    /// Median relative error of the yield.
    error: f64,
    /// Median of the interval's width of the yield over the yield.
    width: f64,
}

fn line(truth: &Parameters, cores: u32, noise: Noise) -> Line {
    let studies = count(IN_CI);
    let of_two = |law: &Parameters| law.yields.as_ref().unwrap().of_two().unwrap();
    let [whole, twice] = [1, 2].map(|times| Load::whole(cores * times, 2));
    let (mut covered, mut errors, mut widths) = ([0.0; 6], Vec::new(), Vec::new());
    for study in 0..studies {
        let mut random = Normal::new(1000 * u64::from(cores) + study);
        let sweep = sweep(truth, cores, noise, &mut random);
        let plan = Plan::alone(&sweep);
        assert_eq!(plan.law, Law::Smt);
        let fit = Fit::new(&sweep, &plan, draws(study)).unwrap();
        let numbers: [&dyn Fn(&Parameters) -> f64; 6] = [
            &|law| law.rate_per_s,
            &|law| law.sigma,
            &|law| law.kappa,
            &of_two,
            &|law| law.rate_at(&whole),
            &|law| law.rate_at(&twice),
        ];
        for (sum, number) in covered.iter_mut().zip(numbers) {
            let Interval { low, high, .. } = fit.known("1", number).unwrap();
            let true_value = number(truth);
            // The solver's own precision.
            let slack = 1e-6 * true_value.abs() + 1e-9;
            *sum += f64::from(u8::from(low - slack <= true_value && true_value <= high + slack));
        }
        let known = fit.known("1", of_two).unwrap();
        errors.push((known.mean / of_two(truth) - 1.0).abs());
        widths.push((known.high - known.low) / of_two(truth));
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let covered = covered.map(|sum| sum / studies as f64);
    Line { covered, error: median(&mut errors), width: median(&mut widths) }
}

const COSTS: [(f64, f64); 3] = [(0.0, 0.0), (0.03, 0.0), (0.02, 0.0002)];

/// 90%, with three standard deviations of so many studies.
fn least() -> f64 {
    0.9 - 3.0 * (0.09 / count(IN_CI) as f64).sqrt()
}

fn shown(what: &str, line: &Line) {
    let covered = line.covered.map(|share| format!("{:5.1}", 100.0 * share)).join(" ");
    println!("{what}: {covered}; {:.1}%, {:.0}%", 100.0 * line.error, 100.0 * line.width);
}

const HEAD: &str = "covered, %: rate of one, sigma, kappa, yield, all logical CPUs, twice the cores; \
                    median error of the yield, width of its interval";

#[test]
#[ignore = "laboratory: simulations"]
fn intervals_of_the_laws_numbers_hold_the_truth() {
    println!("{HEAD}");
    for cores in [4, 16, 64, 256] {
        for of_two in [0.9, 1.3, 1.9] {
            let (sigma, kappa) = COSTS[(cores as usize + (of_two * 10.0) as usize) % 3];
            let line = line(&truth(of_two, sigma, kappa), cores, CALM);
            shown(&format!("{cores:>3} cores, yield {of_two}, sigma {sigma}, kappa {kappa}"), &line);
            assert!(
                line.covered.iter().all(|share| *share >= least()),
                "{cores} {of_two}: {:?}",
                line.covered
            );
            assert!(line.error < 0.05, "{cores} {of_two}: {}", line.error);
        }
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn noise_as_machines_have_it_makes_them_wider_and_not_wrong() {
    println!("{HEAD}");
    let noises = [
        ("2%", Noise { error: 0.02, ..CALM }),
        ("5%", Noise { error: 0.05, ..CALM }),
        ("16 blocks", Noise { blocks: 16, ..CALM }),
        ("unequal", Noise { is_unequal: true, ..CALM }),
        ("AR(1) 0.3", Noise { ar1: 0.3, ..CALM }),
        ("10% of blocks 12% slower", Noise { disturbed: (0.1, 0.12), ..CALM }),
        ("points 2% off the law", Noise { misfit: 0.02, ..CALM }),
        ("no blocks, 2% off", Noise { blocks: 1, error: 0.0, misfit: 0.02, ..CALM }),
    ];
    for (name, noise) in noises {
        let line = line(&truth(1.3, 0.02, 0.0002), 16, noise);
        shown(&format!("16 cores, {name}"), &line);
        assert!(line.covered.iter().all(|share| *share >= least()), "{name}: {:?}", line.covered);
    }
}

/// Of sweeps whose second threads truly pay or do not: shares in which the intervals of knee and peak hold the true ones,
/// in which the opposite is said of second threads, and in which anything is; and the most that the named peak loses.
fn turns(truth: &Parameters, cores: u32, noise: Noise) -> ([f64; 4], f64) {
    let ladder = Ladder::new(&vec![2; cores as usize], |_| None);
    let true_turns = ladder.turns(truth).unwrap();
    let pays = true_turns.smt_pays_up_to.unwrap() > cores;
    let rate = |sessions: u32| truth.rate_at(&ladder.loads()[sessions as usize - 1]);
    let studies = count(IN_CI);
    let (mut sums, mut most): ([f64; 4], f64) = ([0.0; 4], 0.0);
    for study in 0..studies {
        let sweep = sweep(truth, cores, noise, &mut Normal::new(500 + study));
        let fit = Fit::new(&sweep, &Plan::alone(&sweep), draws(study)).unwrap();
        let known = KnownTurns::of(&ladder, &fit).unwrap();
        let holds = |interval: &threadwise_analysis::Interval, sessions: u32| {
            interval.low <= f64::from(sessions) && f64::from(sessions) <= interval.high
        };
        let said = known.smt_pays();
        let all = [
            holds(&known.knee, true_turns.knee),
            holds(&known.peak, true_turns.peak),
            said == Some(!pays),
            said.is_some(),
        ];
        sums.iter_mut().zip(all).for_each(|(sum, is_so)| *sum += f64::from(u8::from(is_so)));
        most = most.max(1.0 - rate(known.peak.mean as u32) / rate(true_turns.peak));
    }
    (sums.map(|sum| sum / studies as f64), most)
}

#[test]
#[ignore = "laboratory: simulations"]
fn knee_and_peak_are_held_and_second_threads_seldom_said_to_do_what_they_do_not() {
    println!(
        "held, %: knee, peak; the opposite said of second threads, anything said; the most that the named peak loses"
    );
    // 5%, with three standard deviations of so many studies.
    let limit = 0.05 + 3.0 * (0.05 * 0.95 / count(IN_CI) as f64).sqrt();
    let noises = [
        ("1%", CALM),
        ("2%", Noise { error: 0.02, ..CALM }),
        ("5%", Noise { error: 0.05, ..CALM }),
        ("AR(1) 0.3", Noise { ar1: 0.3, ..CALM }),
        ("10% of blocks 12% slower", Noise { disturbed: (0.1, 0.12), ..CALM }),
        ("points 2% off the law", Noise { misfit: 0.02, ..CALM }),
    ];
    for cores in [4, 16, 64] {
        for of_two in [0.9, 1.0, 1.1, 1.3] {
            let truth = truth(of_two, 0.02 / f64::from(cores), 0.0);
            for (name, noise) in noises {
                let ([knee, peak, wrong, said], lost) = turns(&truth, cores, noise);
                let shown = [knee, peak, wrong, said].map(|share| format!("{:5.1}", 100.0 * share)).join(" ");
                println!("{cores:>2} cores, yield {of_two}, {name}: {shown}; {:.1}%", 100.0 * lost);
                assert!(wrong <= limit, "{cores} {of_two} {name}: {wrong}");
                assert!(knee >= least() && peak >= least(), "{cores} {of_two} {name}: {knee} {peak}");
            }
        }
    }
}

/// Series that are alike but not the same: each with its own yield and σ.
#[test]
#[ignore = "laboratory: simulations"]
fn a_series_with_few_points_has_an_interval_that_holds_its_own_truth() {
    println!(
        "16 cores, so many whole sweeps and one of 2 points: covered, % (all logical CPUs; the yield), width of the first"
    );
    let whole = Load::whole(16, 2);
    for others in [2, 3, 5, 8] {
        let studies = count(IN_CI);
        let (mut covered, mut of_yield, mut widths) = (0.0, 0.0, Vec::new());
        for study in 0..studies {
            let mut random = Normal::new(7000 + study);
            let mut drawn = || {
                let of_two = 1.3 + 0.08 * random.draw();
                truth(of_two, (0.02 + 0.006 * random.draw()).max(0.0), 0.0)
            };
            let truths: Vec<Parameters> = (0..=others).map(|_| drawn()).collect();
            let mut random = Normal::new(9000 + study);
            let noise = Noise { blocks: 1, error: 0.0, misfit: 0.01, ..CALM };
            let mut sweeps: Vec<Sweep> =
                truths.iter().map(|truth| sweep(truth, 16, noise, &mut random)).collect();
            let sparse = sweeps.remove(others);
            let points = sparse.points().iter().filter(|point| [2, 8].contains(&point.load.sessions));
            sweeps.push(Sweep::of_few(points.cloned().collect()).unwrap());
            let plan = plans(&sweeps).pop().unwrap();
            let fit = Fit::new(&sweeps[others], &plan, draws(study)).unwrap();
            let rate = fit.known("1", |law| law.rate_at(&whole)).unwrap();
            let true_rate = truths[others].rate_at(&whole);
            covered += f64::from(u8::from(rate.low <= true_rate && true_rate <= rate.high));
            let of_two = |law: &Parameters| law.yields.as_ref().unwrap().of_two().unwrap();
            let known = fit.known("1", of_two).unwrap();
            let true_yield = of_two(&truths[others]);
            of_yield += f64::from(u8::from(known.low <= true_yield && true_yield <= known.high));
            widths.push((rate.high - rate.low) / true_rate);
        }
        widths.sort_by(f64::total_cmp);
        let [covered, of_yield] = [covered, of_yield].map(|sum| sum / studies as f64);
        let width = 100.0 * widths[widths.len() / 2];
        println!("{others}: {:5.1} {:5.1}; {width:.0}%", 100.0 * covered, 100.0 * of_yield);
        assert!(covered >= least() && of_yield >= least(), "{others}: {covered} {of_yield}");
    }
}

/// Of numbers that follow from a law: how often there is one, and how often its interval holds the truth.
#[derive(Default)]
struct Tally {
    known: f64,
    held: f64,
}

impl Tally {
    fn add(&mut self, interval: Option<&threadwise_analysis::Interval>, truth: f64) {
        let Some(interval) = interval else { return };
        // The solver's own precision.
        let slack = 1e-4 * truth.abs() + 1e-9;
        self.known += 1.0;
        self.held += f64::from(u8::from(interval.low - slack <= truth && truth <= interval.high + slack));
    }
}

/// Numbers of a law and of two other machines, with their truths.
fn numbers<'a>(
    law: &'a ScalingLaw,
    truth: &Parameters,
) -> [(Option<&'a threadwise_analysis::Interval>, f64); 6] {
    let whole = |threads| truth.rate_at(&Load::whole(16, threads));
    let of_two = truth.yields.as_ref().and_then(Yields::of_two).unwrap_or(1.0);
    [
        (law.rate_per_s.as_ref(), truth.rate_per_s),
        (law.sigma.as_ref(), truth.sigma),
        (law.kappa.as_ref(), truth.kappa),
        (law.yields.first().map(|one| &one.known), of_two),
        (law.predictions[0].rate_per_s.as_ref(), whole(1)),
        (law.predictions[1].rate_per_s.as_ref(), whole(2)),
    ]
}

#[test]
#[ignore = "laboratory: simulations"]
fn what_points_do_not_tell_is_refused_and_what_they_tell_is_held() {
    let spread = |sessions: &[u32], cores: usize| -> Vec<Load> {
        sessions.iter().filter_map(|sessions| Load::spread(*sessions, &vec![2; cores])).collect()
    };
    let whole =
        |all: &[(u32, u32)]| all.iter().map(|(cores, threads)| Load::whole(*cores, *threads)).collect();
    let cores = [1, 2, 3, 4, 6, 8, 12, 16];
    let both: Vec<(u32, u32)> = cores.iter().map(|cores| (*cores, 2)).collect();
    let mixed: Vec<(u32, u32)> = cores.iter().flat_map(|cores| [(*cores, 1), (*cores, 2)]).collect();
    // Which of λ, σ, κ, the yield, 16c1t and 16c2t are reported; none where there is no law.
    let all = [true; 6];
    let shapes: [(&str, Vec<Load>, [bool; 6]); 5] = [
        ("sessions of 8 cores", spread(&[1, 2, 3, 4, 6, 8, 10, 12, 14, 16], 8), all),
        ("machines, both threads", whole(&both), [false, true, true, false, false, true]),
        ("machines, one and both", whole(&mixed), all),
        ("sessions up to the cores", spread(&[1, 2, 3, 4, 6, 8], 8), [true, true, true, false, true, false]),
        ("four sessions of 2 cores", spread(&[1, 2, 3, 4], 2), [false; 6]),
    ];
    let studies = count(IN_CI);
    println!(
        "without blocks, points 1% off: known and of these held, %: rate of one, sigma, kappa, yield, 16c1t, 16c2t"
    );
    for (name, loads, told) in shapes {
        for of_two in [0.9, 1.3, 1.9] {
            let mut tallies: [Tally; 6] = Default::default();
            for study in 0..studies {
                let mut random = Normal::new((of_two * 1e5) as u64 + study);
                let truth = truth(of_two, 0.02, 0.0002);
                let point = |load: &Load| Measured {
                    label: String::new(),
                    load: load.clone(),
                    log_rates: vec![truth.rate_at(load).ln() + 0.01 * random.draw()],
                };
                let series = Series {
                    name: String::new(),
                    points: loads.iter().map(point).collect(),
                    threads_of_cores: vec![2; 16],
                    is_machine_known: true,
                    packages: None,
                    clock: Clock::default(),
                    left_out: Vec::new(),
                };
                let machines = ["16c1t", "16c2t"].map(|shape| shape.parse().unwrap());
                if let Outcome::Law(law) = &laws(&[series], &machines, draws(study))[0].outcome {
                    for (tally, (interval, truth)) in tallies.iter_mut().zip(numbers(law, &truth)) {
                        tally.add(interval, truth);
                    }
                }
            }
            let shown = tallies.iter().map(|tally| {
                let known = 100.0 * tally.known / studies as f64;
                if tally.known > 0.0 {
                    format!("{known:.0}/{:.1}", 100.0 * tally.held / tally.known)
                } else {
                    "0/-".to_owned()
                }
            });
            println!("{name}, yield {of_two}: {}", shown.collect::<Vec<_>>().join(" "));
            for (tally, is_told) in tallies.iter().zip(told) {
                let wanted = if is_told { studies as f64 } else { 0.0 };
                assert!((tally.known - wanted).abs() < 0.5, "{name} {of_two}: {} of {studies}", tally.known);
                assert!(
                    !is_told || tally.held >= least() * tally.known,
                    "{name} {of_two}: {} held",
                    tally.held
                );
            }
        }
    }
}
