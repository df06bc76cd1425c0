//! How often a first block is called different where it is not, and where it is. Printed in docs/METHODOLOGY.md.

use super::noise::{Machine, QUIET};
use super::rules::{CHANGES, studies};
use super::two;
use threadwise_analysis::Ratio;
use threadwise_analysis::diagnostics::first_block::apart;
use threadwise_analysis::estimate::judge_means;

const STUDIES: u64 = 2000;

/// Shares of the studies in which a first block is called different, and in which that of the first comparison is
/// covered, where it differs by this logarithm.
fn shares(machine: &Machine, blocks: usize, by: f64) -> [f64; 2] {
    let each = |_: &Machine, series: &[Vec<f64>]| {
        let first = |d: &Vec<f64>| {
            apart(&d.iter().enumerate().map(|(at, d)| d + if at == 0 { by } else { 0.0 }).collect::<Vec<_>>())
        };
        let ratios: Vec<Ratio> = judge_means(&series[1..].iter().map(first).collect::<Vec<_>>(), CHANGES)
            .into_iter()
            .flatten()
            .collect();
        let covers = ratios[0].low.ln() <= by && by <= ratios[0].high.ln();
        vec![[f64::from(u8::from(ratios.iter().any(Ratio::is_different))), f64::from(u8::from(covers))]]
    };
    let all: Vec<[f64; 2]> = studies(machine, blocks, STUDIES, each).concat();
    [0, 1].map(|at| all.iter().map(|one| one[at]).sum::<f64>() / all.len() as f64)
}

#[test]
#[ignore = "laboratory: simulations"]
fn a_first_block_is_seldom_called_different_where_it_is_not() {
    println!("blocks, difference: called different, covered");
    let correlated = Machine { ar1: 0.3, ..QUIET };
    for (name, machine) in [("quiet", two(QUIET)), ("correlated 0.3", two(correlated))] {
        for blocks in [8, 16, 64] {
            for by in [0.0, 0.2] {
                let [called, covered] = shares(&machine, blocks, by);
                println!(
                    "{name:>14} {blocks:>3} {:>4.0}%: {:5.1}% {:5.1}%",
                    100.0 * by,
                    100.0 * called,
                    100.0 * covered
                );
                assert!(covered > 0.9, "{name} {blocks} {by}: {covered}");
                assert!(by > 0.0 || called < 0.08, "{name} {blocks}: {called}");
            }
        }
    }
}
