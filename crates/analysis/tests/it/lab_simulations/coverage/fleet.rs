//! Fleets: the same study on several machines of a kind, over boots and repeats. How often both intervals cover, and how
//! often each kind of sentence is false.
//!
//! Machines, their boots and the studies of a boot differ by normal amounts of the logarithm, whose truth is known.

mod intervals;

use crate::lab_simulations::coverage::rules::count;
use threadwise_analysis::fleet::{
    Fleet, FleetFigure, FleetStudy, Judged, Kind, LEVEL, Price, document, judge, machine_mean,
};
use threadwise_analysis::{Finding, Ratio};
use threadwise_statistics::Normal;

const ALPHA: f64 = 1.0 - LEVEL;
const MARGIN: f64 = 0.03;
/// Simulated fleets of each kind.
const FLEETS: u64 = 2000;

/// Standard deviations of the logarithm between machines, boots and repeats.
#[derive(Debug, Clone, Copy)]
struct Sds {
    machine: f64,
    boot: f64,
    repeat: f64,
}

const USUAL: Sds = Sds { machine: 0.03, boot: 0.01, repeat: 0.01 };

/// Repeats of each boot of each machine.
type Shape = Vec<Vec<usize>>;

fn balanced(machines: usize) -> Shape {
    vec![vec![2, 2]; machines]
}

/// Missing studies and boots.
fn unbalanced() -> Shape {
    vec![vec![2, 2], vec![2], vec![2, 1], vec![1, 1], vec![2, 2]]
}

/// One machine's logarithms by boot.
fn machine(boots: &[usize], sds: Sds, random: &mut Normal) -> Vec<Vec<f64>> {
    let level = sds.machine * random.draw();
    let boot = |repeats: &usize| {
        let level = level + sds.boot * random.draw();
        (0..*repeats).map(|_| level + sds.repeat * random.draw()).collect()
    };
    boots.iter().map(boot).collect()
}

fn machines(shape: &Shape, sds: Sds, random: &mut Normal) -> Vec<Vec<Vec<f64>>> {
    shape.iter().map(|boots| machine(boots, sds, random)).collect()
}

fn means(machines: &[Vec<Vec<f64>>]) -> Vec<f64> {
    machines.iter().filter_map(|boots| machine_mean(boots)).collect()
}

fn share(all: impl IntoIterator<Item = bool>) -> f64 {
    let all: Vec<bool> = all.into_iter().collect();
    crate::lab_simulations::coverage::share(&all)
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// Kinds of a simulated fleet: machines, spread, and what is planted in the logarithm of ratios and of rates.
struct Planted {
    machines: usize,
    sds: Sds,
    ratios: Vec<f64>,
    rate: f64,
    price: f64,
}

/// A fleet with its studies, two boots of two repeats a machine.
fn fleet(kinds: &[Planted], random: &mut Normal) -> Fleet {
    let mut fleet = Fleet { study: "simulated".to_owned(), repeats: 4, ..Fleet::default() };
    for (at, kind) in kinds.iter().enumerate() {
        let name = format!("kind-{at}");
        let price = Price { amount: kind.price, currency: "USD".to_owned(), ..Price::default() };
        fleet.kinds.push(Kind { name: name.clone(), price: Some(price), ..Kind::default() });
        for number in 0..kind.machines {
            let shape = [2, 2];
            let ratios: Vec<Vec<Vec<f64>>> =
                kind.ratios.iter().map(|_| machine(&shape, kind.sds, random)).collect();
            let rates: Vec<Vec<Vec<f64>>> = (0..2).map(|_| machine(&shape, kind.sds, random)).collect();
            for (boot, repeat) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let ratio = |(at, truth): (usize, &f64)| FleetFigure {
                    name: format!("comparison-{at}"),
                    kind: "baseline".into(),
                    ln: truth + ratios[at][boot][repeat],
                    ..FleetFigure::default()
                };
                let rate = |at: usize| FleetFigure {
                    name: format!("treatment-{at}"),
                    unit: "rows/s".to_owned(),
                    ln: 13.0 + kind.rate + rates[at][boot][repeat],
                    ..FleetFigure::default()
                };
                fleet.studies.push(FleetStudy {
                    kind: name.clone(),
                    machine: format!("{name}.{number}"),
                    node: format!("{name}.{number}"),
                    boot: boot.to_string(),
                    repeat: (2 * boot + repeat + 1) as u32,
                    same_work: "same".to_owned(),
                    margin: MARGIN,
                    ratios: kind.ratios.iter().enumerate().map(ratio).collect(),
                    rates: (0..2).map(rate).collect(),
                    ..FleetStudy::default()
                });
            }
        }
    }
    fleet
}

/// Kinds of so many machines with such a spread between them.
fn planted(kinds: &[(usize, f64)]) -> Vec<Planted> {
    let kind = |(machines, sd): &(usize, f64)| Planted {
        machines: *machines,
        sds: Sds { machine: *sd, ..USUAL },
        ratios: vec![0.0; 3],
        rate: 0.0,
        price: 0.5,
    };
    kinds.iter().map(kind).collect()
}

/// Two kinds of five machines, the second with something planted.
fn two(ratio: f64, rate: f64, price: f64) -> Vec<Planted> {
    let kind = |ratio: f64, rate: f64, price: f64| Planted {
        machines: 5,
        sds: USUAL,
        ratios: vec![ratio, 0.0, 0.0],
        rate,
        price,
    };
    vec![kind(0.0, 0.0, 1.0), kind(ratio, rate, price)]
}

/// The verdicts of simulated fleets with what they were made from.
fn verdicts(kinds: &[Planted], fleets: u64, seed: u64) -> Vec<(Judged, Vec<String>)> {
    let mut random = Normal::new(seed);
    let one = |_| {
        let fleet = fleet(kinds, &mut random);
        let judged = judge(&fleet);
        let lines = document(&fleet, &judged, "1.0").verdict.iter().map(Finding::text).collect();
        (judged, lines)
    };
    (0..count(fleets)).map(one).collect()
}

/// Share of verdicts that have a line with these words.
fn said(all: &[(Judged, Vec<String>)], words: &str) -> f64 {
    share(all.iter().map(|(_, lines)| lines.iter().any(|line| line.contains(words))))
}

/// Whether any ratio of a kind is said to differ from 1.
fn differs_from_1(judged: &Judged) -> bool {
    let cells = judged.comparisons.iter().flat_map(|one| &one.cells);
    cells.filter_map(|cell| cell.ratio.as_ref()).any(Ratio::is_different)
}

/// Whether rates or rates per price of two kinds are said to differ.
fn rates_differ(judged: &Judged) -> bool {
    let mut between = judged.rates.iter().flat_map(|rate| rate.between.iter().chain(&rate.between_per_price));
    between.any(|one| one.ratio.is_different())
}

#[test]
#[ignore = "laboratory: simulations"]
fn nothing_is_seldom_called_something() {
    const FALSE: [&str; 4] =
        ["differs between kinds: ", "s per USD: ", "Rates (rows/s, fastest of each): ", "Odd machine"];
    for (name, kinds) in [
        ("4 kinds of 3 to 8 machines, sd 1 to 5%", vec![(3, 0.05), (5, 0.01), (4, 0.03), (8, 0.02)]),
        ("4 kinds of 5 machines, sd 1 to 5%", vec![(5, 0.05), (5, 0.01), (5, 0.03), (5, 0.02)]),
        ("4 kinds of 5 machines, sd 3%", vec![(5, 0.03); 4]),
        ("2 kinds of 3 and 10 machines, sd 5 and 1%", vec![(3, 0.05), (10, 0.01)]),
    ] {
        let all = verdicts(&planted(&kinds), 1000, 71);
        let against_1 = share(all.iter().map(|(judged, _)| differs_from_1(judged)));
        let rates = share(all.iter().map(|(judged, _)| rates_differ(judged)));
        let [kinds, money, _, odd] = FALSE.map(|words| said(&all, words));
        let any = share(all.iter().map(|(judged, lines)| {
            differs_from_1(judged) || lines.iter().any(|line| FALSE.iter().any(|words| line.contains(words)))
        }));
        println!(
            "{name}, nothing planted: said that kinds differ in one of 3 comparisons {}, that one is not 1 {}, that rates or rates \
             per price differ {}, that a kind does most for the money {}, that a machine is odd {}; any of these {}",
            percent(kinds),
            percent(against_1),
            percent(rates),
            percent(money),
            percent(odd),
            percent(any)
        );
        // Half of 5% for each family. Welch's t is liberal where few machines are those that spread: up to 4.3% by
        // 20,000 fleets, and the standard error over 1,000 is 0.6%.
        assert!(kinds <= 0.055 && against_1 <= 0.04 && rates <= 0.055 && money <= 0.055, "{name}");
        assert!(odd <= 0.065, "{odd}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn what_differs_by_the_margin_is_seldom_called_the_same() {
    let narrow = |kinds: Vec<Planted>| -> Vec<Planted> {
        let sds = Sds { machine: 0.01, boot: 0.005, repeat: 0.005 };
        kinds.into_iter().map(|kind| Planted { sds, ..kind }).collect()
    };
    let same = |all: &[(Judged, Vec<String>)]| {
        [
            said(all, "comparison-0 is the same on all kinds"),
            said(all, "are the same within 3%."),
            share(
                all.iter()
                    .map(|(judged, _)| judged.comparisons[0].cells[1].ratio.as_ref().unwrap().is_same()),
            ),
        ]
    };
    let edge = MARGIN.ln_1p();
    let [kinds, rates, mean] = same(&verdicts(&narrow(two(edge, edge, 1.0)), 1000, 72));
    let [none, _, _] = same(&verdicts(&narrow(two(0.0, 0.0, 1.0)), 300, 73));
    println!(
        "two kinds of 5 machines, sd 1%, a true {}: kinds called the same {}, or rates {}, the ratio called 1 {}; nothing: {}",
        percent(MARGIN),
        percent(kinds),
        percent(rates),
        percent(mean),
        percent(none)
    );
    assert!(kinds <= 0.065 && mean <= 0.065 && rates <= 0.065, "{kinds} {rates} {mean}");
    assert!(none > 0.3, "{none}");
}

#[test]
#[ignore = "laboratory: simulations"]
fn what_is_planted_is_found() {
    let all = verdicts(&two(0.15, 0.20, 0.9), 300, 74);
    let [kinds, money] =
        ["comparison-0 differs between kinds: kind-1 over kind-0 is ", "kind-1 does most rows per USD"]
            .map(|words| said(&all, words));
    let wrong = said(&all, "kind-0 does most ");
    let holds = |judged: &Judged| {
        let ratio = &judged.comparisons[0].between[0].ratio;
        ratio.low.ln() <= 0.15 && 0.15 <= ratio.high.ln()
    };
    let covered = share(all.iter().map(|(judged, _)| holds(judged)));
    println!(
        "two kinds of 5 machines, sd 3%, a true +16% in a comparison, +22% in rates at 0.9 of the price: found {} and {}; the \
         other kind named {}; the interval of the ratio covers {}",
        percent(kinds),
        percent(money),
        percent(wrong),
        percent(covered)
    );
    assert!(kinds > 0.8 && money > 0.8 && wrong == 0.0 && covered >= 0.92, "{kinds} {money} {covered}");
}

#[test]
#[ignore = "laboratory: simulations"]
fn an_odd_machine_is_named_and_others_are_not() {
    let odd = |by: f64, seed: u64| {
        let mut random = Normal::new(seed);
        let all: Vec<(bool, bool)> = (0..count(500))
            .map(|_| {
                let mut fleet = fleet(&two(0.0, 0.0, 1.0), &mut random);
                for study in fleet.studies.iter_mut().filter(|study| study.node == "kind-0.2") {
                    study.rates.iter_mut().for_each(|rate| rate.ln += (1.0 - by).ln());
                }
                let named = judge(&fleet).odd_machines;
                let is_it = |node: &str| node == "kind-0.2";
                (named.iter().any(|one| is_it(&one.node)), named.iter().any(|one| !is_it(&one.node)))
            })
            .collect();
        (share(all.iter().map(|one| one.0)), share(all.iter().map(|one| one.1)))
    };
    let ((_, none), (some, _), (much, others)) = (odd(0.0, 75), odd(0.2, 76), odd(0.4, 77));
    println!(
        "5 machines, sd 3%: with nothing odd a machine is named in {}; one that is 20% slower in {}, 40% in {}, others then in {}",
        percent(none),
        percent(some),
        percent(much),
        percent(others)
    );
    assert!(none <= 0.06 && some > none && much > 0.6 && others <= 0.06, "{none} {some} {much} {others}");
}
