//! What chance does: intervals cover the truth as often as they say, and nothing is called an effect.

use super::*;

/// Studies of 22 queries and 8 blocks, with noise that a query's executions share with nothing.
fn studies(count: u32, speed: f64) -> impl Iterator<Item = Queries> {
    let study = study_of("1-22", &["T no-smt 1 2"]);
    (0..count).map(move |at| {
        let runs = power(&study, 8, |name, query, block| {
            let speed = if name == "T" { speed } else { 1.0 };
            took(query, 1000.0 / speed * noise(1000 * at + block, name, query, 0.05))
        });
        queries_of(&study, &runs)
    })
}

#[test]
fn intervals_cover_the_truth() {
    let (mut covered, mut all) = (0, 0);
    let (mut totals, mut whole) = (0, 0);
    for found in studies(150, 1.3) {
        let measured = &found.treatments[2];
        let has = |ratio: &Ratio| u32::from(ratio.low <= 1.3 && 1.3 <= ratio.high);
        covered +=
            measured.queries.values().filter_map(|estimates| estimates.speed.as_ref()).map(has).sum::<u32>();
        all += measured.queries.len() as u32;
        totals += has(measured.total.ratios.speed.as_ref().unwrap())
            + has(measured.total.ratios.geometric.as_ref().unwrap());
        whole += 2;
    }
    let share = f64::from(covered) / f64::from(all);
    println!(
        "{:.1}% of {all} intervals of queries cover, {totals} of {whole} of all together",
        100.0 * share
    );
    // 3,300 intervals: the share's own standard deviation is 0.4 percentage points.
    assert!((0.93..=0.97).contains(&share), "{share}");
    assert!(totals > whole * 9 / 10);
}

#[test]
fn nothing_is_called_an_effect_where_there_is_none() {
    let (mut single, mut cpu, mut total) = (0, 0, 0);
    for found in studies(200, 1.0) {
        let measured = &found.treatments[2];
        let is_any = |mut ratios: Box<dyn Iterator<Item = &Option<Ratio>> + '_>| {
            u32::from(ratios.any(|ratio| ratio.as_ref().is_some_and(Ratio::is_different)))
        };
        single += is_any(Box::new(measured.queries.values().map(|query| &query.speed)));
        cpu += is_any(Box::new(measured.queries.values().map(|query| &query.cpu)));
        let whole = &measured.total;
        total +=
            is_any(Box::new([&whole.ratios.speed, &whole.ratios.geometric, &whole.ratios.cpu].into_iter()));
    }
    println!(
        "of 200 studies of nothing {single} report a difference in a query, {cpu} in its CPU time, {total} in a total"
    );
    assert!(single <= 10 && cpu <= 10 && total <= 10, "{single} {cpu} {total}");
}
