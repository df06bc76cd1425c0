//! Fleets worked by hand, and what is said of them.

use super::*;
use crate::analyse_on;
use crate::fixtures::{machine, run, study};
use crate::{Answer, Facts, Finding};
use threadwise_document::{Block, Cell, Chart, Document};

/// A study on `node` of a kind, with the ratio of one comparison and one rate.
fn one(kind: &str, node: &str, boot: &str, ratio: f64, rate: f64) -> FleetStudy {
    FleetStudy {
        source: format!("{node}.threadwise"),
        kind: kind.to_owned(),
        machine: format!("id of {node}"),
        node: node.to_owned(),
        boot: boot.to_owned(),
        repeat: 1,
        same_work: "w".to_owned(),
        margin: 0.03,
        ratios: vec![FleetFigure {
            name: "smt-yield".to_owned(),
            kind: "smt-yield".into(),
            ln: ratio.ln(),
            ..FleetFigure::default()
        }],
        rates: vec![FleetFigure {
            name: "T".to_owned(),
            unit: "reads/s".to_owned(),
            ln: rate.ln(),
            ..FleetFigure::default()
        }],
        ..FleetStudy::default()
    }
}

fn fleet(studies: Vec<FleetStudy>) -> Fleet {
    Fleet { study: "placement".to_owned(), studies, ..Fleet::default() }
}

/// Machines of a kind, two boots each, with these ratios and rates.
fn kind(name: &str, machines: &[(f64, f64)]) -> Vec<FleetStudy> {
    let of_machine = |(at, (ratio, rate)): (usize, &(f64, f64))| {
        let node = format!("{name}-{at}");
        ["x", "y"].map(|boot| one(name, &node, boot, *ratio, *rate))
    };
    machines.iter().enumerate().flat_map(of_machine).collect()
}

fn made(fleet: &Fleet) -> (Judged, Document) {
    let judged = judge(fleet);
    let made = document(fleet, &judged, "1.0");
    (judged, made)
}

fn lines(document: &Document) -> Vec<String> {
    document.verdict.iter().map(Finding::text).collect()
}

#[test]
fn a_machine_is_the_mean_of_its_boots() {
    // Boots of ln 0.1 (twice) and 0.3 count alike: 0.2 and not the mean of three, 0.1667.
    let studies =
        [("x", 0.1), ("x", 0.1), ("y", 0.3)].map(|(boot, d): (&str, f64)| one("a", "n", boot, d.exp(), 1.0));
    let (judged, _) = made(&fleet(studies.to_vec()));
    let machine = &judged.comparisons[0].cells[0].machines[0];
    assert!((machine.value.ln() - 0.2).abs() < 1e-12);
    assert_eq!((machine.boots, machine.studies), (2, 3));
    assert_eq!((judged.kinds[0].boots, judged.kinds[0].studies, judged.kinds[0].balanced), (2, 3, false));
}

#[test]
fn both_intervals_worked_by_hand() {
    // Machines of ln 0.20, 0.22, 0.24: mean 0.22, sd 0.02, t(0.975, 2) = 4.3027: 0.0497 for the mean, and for the next
    // one 4.3027 · 0.02 · √(4/3) = 0.0994.
    let machines: Vec<(f64, f64)> = [0.20f64, 0.22, 0.24].map(|d| (d.exp(), 1000.0)).to_vec();
    let (judged, _) = made(&fleet(kind("a", &machines)));
    let cell = &judged.comparisons[0].cells[0];
    let (mean, next) = (cell.ratio.as_ref().unwrap(), cell.next_machine.unwrap());
    let close = |got: f64, want: f64| assert!((got.ln() - want).abs() < 1e-4, "{}, not {want}", got.ln());
    close(mean.value, 0.22);
    close(mean.low, 0.22 - 0.0497);
    close(mean.high, 0.22 + 0.0497);
    close(next.low, 0.22 - 0.0994);
    close(next.high, 0.22 + 0.0994);
    assert_eq!((mean.blocks, mean.answer), (3, Answer::Larger));
    // Three machines do not tell how many would be enough.
    assert_eq!(cell.spread.as_ref().unwrap().machines_for_margin, None);
}

#[test]
fn one_machine_says_nothing_and_two_are_points() {
    let mut studies = kind("a", &[(1.3, 1000.0)]);
    studies.extend(kind("b", &[(1.2, 1000.0), (1.25, 1000.0)]));
    let (judged, document) = made(&fleet(studies));
    assert_eq!(
        judged.kinds.iter().map(|kind| kind.basis).collect::<Vec<_>>(),
        [Basis::OneMachine, Basis::TwoMachines]
    );
    let first = &judged.comparisons[0];
    assert!(first.cells.iter().all(|cell| cell.ratio.is_none() && cell.next_machine.is_none()));
    assert!(first.between.is_empty() && judged.rates.iter().all(|rate| rate.between.is_empty()));
    let text = lines(&document).join(" ");
    for words in [
        "Nothing can be said about a kind",
        "a: one machine says nothing about other machines",
        "b: two machines",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let Block::Table(table) = &document.section("comparisons").unwrap().blocks[0] else { panic!("no table") };
    let row: Vec<&Cell> = table.cells().next().unwrap().iter().collect();
    assert_eq!(row[1..], [&Cell::text("1.30x"), &Cell::text("1.20x and 1.25x")]);
}

/// Two kinds of five machines that differ clearly in the ratio, and in the rate for the money.
fn two_kinds() -> Fleet {
    let around = |ratio: f64, rate: f64| {
        [-0.012f64, 0.004, 0.0, -0.004, 0.012].map(|d| (ratio * d.exp(), rate * d.exp())).to_vec()
    };
    let mut fleet = fleet([kind("a", &around(1.3, 1000.0)), kind("b", &around(1.1, 1200.0))].concat());
    let price = |amount: f64| Price {
        amount,
        currency: "USD".to_owned(),
        date: "2026-01-01".to_owned(),
        source: "price list".to_owned(),
    };
    let kind = |name: &str, amount: f64| Kind {
        name: name.to_owned(),
        price: Some(price(amount)),
        machines_planned: 5,
        ..Kind::default()
    };
    fleet.kinds = vec![kind("a", 1.0), kind("b", 0.6)];
    fleet
}

#[test]
fn the_first_line_is_the_answer_and_the_kind_for_the_money_is_named() {
    let (judged, document) = made(&two_kinds());
    let all = lines(&document);
    let first = "SMT yield (both threads of a core over one) differs between kinds: a over b is 1.18x";
    assert!(all[0].starts_with(first), "{all:?}");
    assert!(
        all[1].starts_with("a (5 machines): 1.30x [") && all[1].contains("the next machine will measure")
    );
    assert!(all.iter().any(|line| line.starts_with("b does most reads per USD: 2.00x")), "{all:?}");
    assert!(all.iter().any(|line| line.starts_with("Rates (reads/s, T): b over a is 1.20x")), "{all:?}");
    let per_price = judged.rates[0].cells[1].per_price.as_ref().unwrap();
    // 1,200 a second are 4.32 million an hour, at 0.6.
    assert!((per_price.mean / 7.2e6 - 1.0).abs() < 1e-3, "{per_price:?}");
    let section = document.section("rates").unwrap();
    let is_price = |block: &Block| matches!(block, Block::Text(text, _) if text.to_string().contains("(2026-01-01, price list)"));
    assert!(section.blocks.iter().any(is_price));
    // Machines repeat exactly from boot to boot: all of the spread is theirs.
    let spread = judged.comparisons[0].cells[0].spread.as_ref().unwrap();
    assert_eq!(spread.own_share, Some(Range { low: 1.0, high: 1.0 }));
    assert_eq!(spread.components[0].levels, ["machine"]);
    assert!(spread.with_twice_the_machines < spread.half_width);
}

#[test]
fn a_chart_has_a_dot_for_each_machine() {
    let (_, document) = made(&two_kinds());
    let Block::Figure(figure) = &document.section("machines-by-kind").unwrap().blocks[0] else {
        panic!("no figure")
    };
    let Chart::Ratios(chart) = &figure.chart else { panic!("{:?}", figure.chart) };
    let dots = chart.rows.iter().filter(|row| row.mark == "one machine" && row.low == row.high).count();
    // Beside them each kind has its mean and the next machine.
    assert_eq!((dots, chart.rows.len()), (10, 14));
    assert_eq!(figure.table.rows.len(), 10);
}

#[test]
fn rates_are_compared_among_studies_of_the_same_work() {
    let mut fleet = two_kinds();
    for study in fleet.studies.iter_mut().filter(|study| study.kind == "b") {
        study.same_work = "other".to_owned();
    }
    fleet.studies.push(one("a", "a-5", "x", 1.3, 1000.0));
    let (judged, document) = made(&fleet);
    assert_eq!(judged.studies_of_other_work, 10);
    let rate = &judged.rates[0];
    assert!(rate.between.is_empty() && rate.between_per_price.is_empty() && rate.cells[1].rate.is_none());
    assert!(rate.cells[1].reason.as_ref().unwrap().starts_with("plan, engine version or data"));
    assert!(lines(&document).iter().any(|line| line.contains("10 studies take no part")));
    // Ratios are each of a machine to itself.
    assert_eq!(judged.comparisons[0].between.len(), 1);
    fleet.studies.iter_mut().for_each(|study| study.same_work.clear());
    let judged = judge(&fleet);
    assert!(
        judged.rates.is_empty() && judged.studies_of_other_work == 21,
        "work that is not known is not the same"
    );
}

#[test]
fn an_odd_machine_is_named_with_how_it_differs_and_stays() {
    let mut fleet = two_kinds();
    for study in &mut fleet.studies {
        let microcode = if study.node == "a-2" { "0x2c" } else { "0x2b" };
        study.traits =
            vec![("cores".to_owned(), "8".to_owned()), ("microcode".to_owned(), microcode.to_owned())];
        if study.node == "a-2" {
            study.rates[0].ln += 0.7f64.ln();
        }
    }
    let (judged, document) = made(&fleet);
    let odd = &judged.odd_machines[0];
    assert_eq!((judged.odd_machines.len(), odd.node.as_str(), odd.comparison.as_str()), (1, "a-2", ""));
    assert!((odd.over_others - 0.7).abs() < 0.01);
    let differs =
        DiffersIn { name: "microcode".to_owned(), value: "0x2c".to_owned(), others: "0x2b".to_owned() };
    assert_eq!(odd.differs_in, [differs]);
    assert_eq!(judged.rates[0].cells[0].machines.len(), 5, "never removed");
    let all = lines(&document);
    assert!(
        all.iter().any(|line| line.contains("a-2 of a has 0.70x of the others' rate over all treatments")),
        "{all:?}"
    );
    assert!(
        all.iter().any(|line| line == "Mind: machines of a differ in microcode: 0x2b, but 0x2c on a-2."),
        "{all:?}"
    );
}

#[test]
fn absent_studies_are_counted_by_reason() {
    let mut fleet = two_kinds();
    let absent = |node: &str, reason: Absence, why: &str| Absent {
        kind: "a".to_owned(),
        node: node.to_owned(),
        repeat: 2,
        reason,
        why: why.to_owned(),
    };
    fleet.absent =
        vec![absent("a-7", Absence::Refused, "other jobs run there"), absent("", Absence::Missing, "")];
    let (judged, document) = made(&fleet);
    let reasons: Vec<Absence> = judged.absent.iter().map(|one| one.reason).collect();
    assert_eq!(reasons, [Absence::Missing, Absence::Refused]);
    assert!(
        lines(&document).contains(&"Absent: 2 of 22 planned studies (1 missing and 1 refused).".to_owned())
    );
    let Block::Table(table) = &document.section("absent").unwrap().blocks[0] else { panic!("no table") };
    let which: Vec<&Cell> = table.cells().map(|row| &row[3]).collect();
    assert_eq!(
        which,
        [&Cell::text("a machine of the pool repeat 2"), &Cell::text("a-7 repeat 2: other jobs run there")]
    );
    fleet.absent.push(absent("a-8", Absence::Failed, ""));
    let (_, document) = made(&fleet);
    assert!(
        lines(&document)[0].starts_with("Validity: no result from 3 of 23 planned studies"),
        "more than a tenth"
    );
}

#[test]
fn every_form_says_that_studies_are_simulated() {
    let mut fleet = two_kinds();
    fleet.studies[0].is_simulated = true;
    let (judged, document) = made(&fleet);
    assert!(judged.simulated && document.simulated);
    let all = lines(&document);
    assert!(
        all[0].starts_with("SIMULATED")
            && all.iter().any(|line| line.contains("1 of 20 studies are from a model"))
    );
    let Block::Figure(figure) = &document.section("machines-by-kind").unwrap().blocks[0] else {
        panic!("no figure")
    };
    assert!(figure.title.starts_with("SIMULATED"));
}

#[test]
fn an_empty_fleet_says_that_nothing_can_be_said() {
    let (judged, document) = made(&fleet(Vec::new()));
    assert!(judged.comparisons.is_empty() && judged.rates.is_empty());
    assert_eq!(lines(&document), ["Nothing can be said: no study has a usable comparison."]);
}

#[test]
fn a_study_brings_its_ratios_rates_and_traits() {
    let (study, topology) = (study(&[""], &["P same-package 2"]), machine(1, 2, 2));
    let runs: Vec<_> = (0..4u32)
        .flat_map(|block| {
            [("A", 1000), ("A'", 1000), ("P", 1500)].map(|(name, rows)| run(block, name, &[rows]))
        })
        .collect();
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let facts = Facts { source: "n.threadwise", ..Facts::new(&study, &topology, &analysis) };
    let microcode = ("microcode".to_owned(), "0x1".to_owned());
    let mut got = FleetStudy::of(&facts);
    got.add_traits(vec![microcode.clone(), ("cores".to_owned(), "another source".to_owned())]);
    assert_eq!((got.ratios.len(), got.ratios[0].name.as_str()), (1, "P : A+A'"));
    assert!((got.ratios[0].ln - 1.5f64.ln()).abs() < 1e-9);
    let rates: Vec<(&str, f64)> =
        got.rates.iter().map(|rate| (rate.name.as_str(), rate.ln.exp().round())).collect();
    assert_eq!(rates, [("A", 1000.0), ("P", 1500.0)], "the twin is the baseline again");
    assert!(got.traits.contains(&("cores".to_owned(), "2".to_owned())) && got.traits.contains(&microcode));
    assert_eq!((got.margin, got.problem, got.is_simulated), (0.03, None, false));
}
