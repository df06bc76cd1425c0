//! Short queries in addition to streams: their latency under each treatment, its ratio to that of the lowest DOP of the
//! same placement, and how parallel the streams' queries may be before it rises.
//!
//! A percentile is that of a block's merged histograms, the ratio of a block is one of two percentiles, and intervals
//! are Student's t over blocks, as for steps (`estimate::comparisons`). All ratios of a study are one family (Holm).
//!
//! Both answers are by the adjusted intervals of one family: a DOP keeps the percentile if the upper end is within the
//! margin, and raises it if the lower end is above 1 (and the whole not within the margin). How often a DOP that raises
//! it by more than the margin is said to keep it is simulated (`tests/it/lab_simulations/coverage/mixed.rs`).

use super::executions::{BlockRun, Executions, Pair};
use super::query_study::{OverDop, QueryStudy, bare};
use super::ratios::{Whole, floor};
use super::types::{DopLimit, ShortQueries, TreatmentQueries};
use super::words::if_any;
use crate::estimate::sides::side;
use crate::estimate::{
    Judgeable, MIN_STEPS, Observed, blocks_for, family_alpha, judge_known, means, standard_error,
};
use crate::words::{finding, list};
use crate::{Direction, Finding, FindingKind, Ratio};
use std::borrow::Cow;
use std::collections::BTreeMap;
use threadwise_document::numbers::{counted, grouped, set_percent};
use threadwise_document::{Block, Cell, Column, Prose, Section, Shown, Table, prose};
use threadwise_statistics::MergedLatency;
use threadwise_study::{Run, Slice, Study};

/// Most placements in a finding.
const MAX_PLACEMENTS: usize = 2;

/// One run's short queries.
#[derive(Debug, Clone, Copy, Default)]
struct OfRun {
    steps: u64,
    window_ns: u64,
    /// Median and 99th percentile; `None` without a query, or if the histograms cannot be read.
    percentiles_ns: Option<(u64, u64)>,
}

/// Short queries, block by block.
struct Beside<'t, 'a> {
    table: &'t Executions<'a>,
    /// By treatment and block.
    runs: BTreeMap<(&'a str, u32), OfRun>,
}

/// Results of a study's short queries, treatments by ladder and DOP. `runs` are whole, with all their sessions.
pub fn short_queries(
    table: &Executions<'_>,
    observed: &Observed,
    runs: &[Run],
) -> (Vec<ShortQueries>, Vec<DopLimit>) {
    let mut ladders = table.ladders();
    ladders.retain(|ladder| table.study.short_sessions(&table.study.treatments[ladder[0].1]) > 0);
    if ladders.is_empty() {
        return Default::default();
    }
    let beside = Beside { table, runs: of_runs(table, observed, runs) };
    let all = || ladders.iter().flat_map(|ladder| ladder.iter().map(|(dop, at)| (*dop, *at, ladder[0].1)));
    let above = all().filter(|(_, at, lowest)| at != lowest);
    let pairs: Vec<Pair> = above.map(|(_, at, lowest)| table.pair(at, lowest)).collect();
    let mut p99 = beside.ratios(&pairs, Direction::LowerIsBetter, |pair| beside.p99(pair));
    let mut throughput = beside.ratios(&pairs, Direction::HigherIsBetter, |pair| Whole::Speed.d(table, pair));
    let row = |(dop, at, lowest)| ShortQueries {
        p99: p99.remove(&at),
        throughput: throughput.remove(&at),
        ..beside.figures(at, dop, lowest)
    };
    let rows: Vec<ShortQueries> = all().map(row).collect();
    let limits = limits(&rows, table.study.design.margin, table.alpha);
    (rows, limits)
}

/// Short queries of every usable run.
fn of_runs<'a>(table: &Executions<'a>, observed: &Observed, runs: &[Run]) -> BTreeMap<(&'a str, u32), OfRun> {
    let (mut all, mut merged) = (BTreeMap::new(), MergedLatency::new());
    for (block, cells) in observed.blocks.iter().zip(&table.cells) {
        for (source, cell) in block.sources.iter().zip(cells) {
            let Some((cell, run)) = cell.as_ref().zip(source.and_then(|at| runs.get(at))) else { continue };
            let slices = run.slices.iter().filter(|slice| slice.round < table.study.design.rounds);
            all.insert((cell.run.treatment.as_str(), cell.run.block), of_run(slices, &mut merged));
        }
    }
    all
}

fn of_run<'a>(slices: impl Iterator<Item = &'a Slice>, merged: &mut MergedLatency) -> OfRun {
    merged.clear();
    let (mut of_run, mut is_readable) = (OfRun::default(), true);
    for slice in slices {
        of_run.window_ns = of_run.window_ns.saturating_add(slice.window_ns);
        for session in slice.short_sessions() {
            of_run.steps = of_run.steps.saturating_add(session.steps);
            is_readable &= merged.add(&session.latency).is_ok();
        }
    }
    let quantile = |q: f64| merged.quantile(q).map(|ns| ns.max(1));
    // A worker that counts steps and keeps no latencies has none to show.
    let is_whole = is_readable && merged.steps() == of_run.steps;
    of_run.percentiles_ns = quantile(0.5).zip(quantile(0.99)).filter(|_| is_whole);
    of_run
}

/// Runs without sessions of short queries, which are not work of the streams.
pub(crate) fn streams_alone<'a>(study: &Study, runs: &'a [Run]) -> Cow<'a, [Run]> {
    if study.treatments.iter().all(|treatment| study.short_sessions(treatment) == 0) {
        return Cow::Borrowed(runs);
    }
    let without_short = |run: &Run| {
        let mut run = run.clone();
        for slice in &mut run.slices {
            slice.sessions = slice.main_sessions().cloned().collect();
        }
        run
    };
    Cow::Owned(runs.iter().map(without_short).collect())
}

impl Beside<'_, '_> {
    fn of(&self, cell: &BlockRun<'_>) -> OfRun {
        self.runs.get(&(cell.run.treatment.as_str(), cell.run.block)).copied().unwrap_or_default()
    }

    /// A treatment's own figures; for a baseline those of both of its runs in every block.
    fn figures(&self, at: usize, dop: u32, lowest: usize) -> ShortQueries {
        let (treatments, side) = (&self.table.study.treatments, side(self.table.study, at));
        let (treatment, blocks) = (&treatments[at], self.table.together(&side));
        let percentile = |which: fn((u64, u64)) -> u64| {
            let log = |cell: &BlockRun<'_>| Some((which(self.of(cell).percentiles_ns?) as f64).ln());
            self.table.geometric(&side, "ns", log).filter(|_| self.is_known(&side))
        };
        let per_s = |cell: &BlockRun<'_>| {
            let OfRun { steps, window_ns, .. } = self.of(cell);
            (steps > 0 && window_ns > 0).then(|| (steps as f64 * 1e9 / window_ns as f64).ln())
        };
        ShortQueries {
            treatment: treatment.name.clone(),
            placement: treatment.placement.to_string(),
            dop,
            streams: treatment.sessions,
            sessions: self.table.study.short_sessions(treatment),
            blocks: blocks.len() as u32,
            fewest_in_a_block: blocks.iter().flatten().map(|cell| self.of(cell).steps).min().unwrap_or(0),
            short_per_s: self.table.geometric(&side, "1/s", per_s),
            latency_ns_p50: percentile(|(p50, _)| p50),
            latency_ns_p99: percentile(|(_, p99)| p99),
            lowest: treatments[lowest].name.clone(),
            p99: None,
            throughput: None,
        }
    }

    /// Whether every block has enough short queries of these treatments: dropping only those without would favour
    /// blocks in which short queries were quick.
    fn is_known(&self, side: &[usize]) -> bool {
        side.iter().flat_map(|at| self.table.of(*at)).all(|cell| self.of(cell).steps >= MIN_STEPS)
    }

    /// d of the 99th percentile by block; empty if a side lacks it in any block.
    fn p99(&self, pair: &Pair) -> Vec<f64> {
        let log = |cell: &BlockRun<'_>| Some((self.of(cell).percentiles_ns?.1 as f64).ln());
        match self.is_known(&pair.top) && self.is_known(&pair.below) {
            true => self.table.number(pair, log),
            false => Vec::new(),
        }
    }

    /// One family of ratios of treatments to the lowest DOP of their ladder, by treatment, with one coefficient for the
    /// correlation of blocks.
    fn ratios(
        &self,
        pairs: &[Pair],
        direction: Direction,
        d: impl Fn(&Pair) -> Vec<f64>,
    ) -> BTreeMap<usize, Ratio> {
        let series: Vec<Vec<f64>> = pairs.iter().map(&d).collect();
        let measured = pairs.iter().zip(&series).find(|(_, d)| !d.is_empty());
        let noise: Vec<Vec<f64>> = measured.map(|(pair, _)| d(&self.table.twins(pair))).into_iter().collect();
        let members = pairs.iter().zip(means(&series, &noise));
        let members: Vec<Option<Judgeable>> =
            members.map(|(pair, mean)| Some((mean?, floor(self.table, pair, &d)))).collect();
        let ratios = judge_known(&members, self.table.rule(direction));
        pairs.iter().zip(ratios).filter_map(|(pair, ratio)| Some((pair.top[0], ratio?))).collect()
    }
}

/// One DOP above the lowest with its ratio; `None` if its percentile is unknown.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Requested DOP.
    pub dop: u32,
    /// The 99th percentile over that of the lowest DOP.
    pub p99: Option<&'a Ratio>,
}

/// The highest DOP that keeps the percentile, the smallest that raises it, and those that are undecided, from the DOPs
/// above the lowest, ascending.
pub fn limit(steps: &[Step<'_>], margin: f64) -> (Option<u32>, Option<u32>, Vec<u32>) {
    let is_raised = |step: &&Step<'_>| step.p99.is_some_and(Ratio::is_higher);
    let keeps = |ratio: &Ratio| ratio.blocks >= 2 && ratio.adjusted_high <= 1.0 + margin;
    let is_kept = |step: &&Step<'_>| step.p99.is_some_and(keeps);
    let raises = steps.iter().find(is_raised).map(|step| step.dop);
    let below = steps.iter().filter(|step| raises.is_none_or(|raises| step.dop < raises));
    let kept = below.rev().find(is_kept).map(|step| step.dop);
    let open = steps.iter().filter(|step| !is_kept(step) && !is_raised(step));
    (kept, raises, open.map(|step| step.dop).collect())
}

/// Limits of each ladder; `rows` by ladder and DOP.
fn limits(rows: &[ShortQueries], margin: f64, alpha: f64) -> Vec<DopLimit> {
    let family = rows.iter().filter(|row| row.treatment != row.lowest).count();
    let of_ladder = |ladder: &[ShortQueries]| {
        let [lowest, above @ ..] = ladder else { return None };
        let steps: Vec<Step<'_>> =
            above.iter().map(|row| Step { dop: row.dop, p99: row.p99.as_ref() }).collect();
        let (keeps_dop, raises_dop, undecided_dops) = limit(&steps, margin);
        let first = above.iter().find(|row| undecided_dops.first() == Some(&row.dop));
        (!above.is_empty()).then(|| DopLimit {
            placement: lowest.placement.clone(),
            streams: lowest.streams,
            sessions: lowest.sessions,
            lowest: lowest.treatment.clone(),
            lowest_dop: lowest.dop,
            keeps_dop,
            raises_dop,
            blocks_needed: first.and_then(|row| blocks_needed(row.p99.as_ref()?, family, alpha)),
            undecided_dops,
        })
    };
    rows.chunk_by(|one, other| one.lowest == other.lowest).filter_map(of_ladder).collect()
}

/// Blocks needed to show in four of five studies that a ratio of 1 with this one's noise is within the margin, among
/// this many that are judged together; `None` above 10,000, and without an interval.
fn blocks_needed(ratio: &Ratio, family: usize, alpha: f64) -> Option<u32> {
    let sd = standard_error(ratio)? * f64::from(ratio.blocks).sqrt();
    blocks_for(sd, ratio.margin.ln_1p(), family_alpha(alpha, family) / 2.0)
}

/// The finding; `None` without short queries, or if a placement has one DOP.
pub fn finding_of(found: QueryStudy<'_>) -> Option<Finding> {
    let limits = &found.queries.short_limits;
    let first = limits.first()?;
    let clauses = limits.iter().take(MAX_PLACEMENTS).map(|limit| of_placement(found, limit));
    let more = if_any(" ", limits.len().saturating_sub(MAX_PLACEMENTS), " more in the table.");
    let text = prose!(
        "Concurrent short queries, {}: {}{}",
        counted(first.sessions as usize, "session"),
        Prose::join(clauses, " "),
        more
    );
    let names: Vec<&str> = found.queries.short.iter().map(|row| row.treatment.as_str()).collect();
    Some(finding(FindingKind::ShortQueries, text, &names))
}

/// `on all, against DOP 1 (p99 2.10 ms [2.05, 2.15]): DOP 2 is the highest shown to keep p99 within 10% (1.02x [0.98,
/// 1.06]; streams' queries/h 1.80x [1.75, 1.85]); DOP 4 is the smallest shown to raise it (…).`
fn of_placement(found: QueryStudy<'_>, limit: &DopLimit) -> Prose {
    let (facts, queries) = (found.facts, found.queries);
    let rows: Vec<&ShortQueries> = queries.short.iter().filter(|row| row.lowest == limit.lowest).collect();
    let group = facts.group_words(facts.group_of(&limit.lowest));
    let place = format!("{} {group}", limit.placement.as_str());
    let place = place.trim_end();
    let is_apart = queries.short.iter().any(|row| row.streams != limit.streams);
    let streams = counted(limit.streams as usize, "stream");
    let streams = if is_apart { format!(" with {streams}") } else { String::new() };
    if let Some(lacking) = lacking(&rows) {
        return prose!("on {}{}, {}.", place, streams, lacking);
    }
    let row = |dop: u32| rows.iter().find(|row| row.dop == dop).copied();
    let p99 = row(limit.lowest_dop).and_then(|lowest| lowest.latency_ns_p99.as_ref());
    let was = p99.map_or_else(Prose::default, |p99| prose!(" (p99 {})", p99));
    let mut text = prose!("on {}{}, against DOP {}{}: ", place, streams, limit.lowest_dop, was);
    let within = Prose::figure(set_percent(facts.study.design.margin));
    text.push(match limit.keeps_dop.and_then(row) {
        Some(kept) => {
            prose!("DOP {} is the highest shown to keep p99 within {}{}", kept.dop, within, figures(kept))
        }
        None => prose!("no higher DOP is shown to keep p99 within {}", within),
    });
    text.push(match limit.raises_dop.and_then(row) {
        Some(raised) => prose!("; DOP {} is the smallest shown to raise it{}", raised.dop, figures(raised)),
        None => "; none is shown to raise it".into(),
    });
    if !limit.undecided_dops.is_empty() {
        text.push(prose!("; {}", undecided(limit, row(limit.undecided_dops[0]))));
    }
    text.push(".");
    text
}

/// Why no percentile is known, and what would help; `None` if every DOP has one.
fn lacking(rows: &[&ShortQueries]) -> Option<Prose> {
    let fewest =
        rows.iter().filter(|row| row.latency_ns_p99.is_none()).min_by_key(|row| row.fewest_in_a_block)?;
    let count = fewest.fewest_in_a_block;
    Some(match count < MIN_STEPS {
        true => prose!(
            "p99 is unknown: a block of {} had {} short queries, and a percentile needs {}: use more sessions \
             (short), a larger scale or more rounds",
            &fewest.treatment,
            grouped(count),
            grouped(MIN_STEPS)
        ),
        false => prose!("p99 is unknown: the latencies of {} cannot be read", &fewest.treatment),
    })
}

/// ` (1.02x [0.98, 1.06]; streams' queries/h 1.80x [1.75, 1.85])`.
fn figures(row: &ShortQueries) -> Prose {
    let p99 = row.p99.as_ref().map(Prose::from);
    let throughput = row.throughput.as_ref().map(|ratio: &Ratio| prose!("streams' queries/h {}", ratio));
    let both = Prose::join(p99.into_iter().chain(throughput), "; ");
    if both.is_empty() { both } else { prose!(" ({})", both) }
}

/// `not decided: DOP 4 and 8, which takes about 40 blocks (12 blocks_here)`.
fn undecided(limit: &DopLimit, first: Option<&ShortQueries>) -> Prose {
    let dops: Vec<String> = limit.undecided_dops.iter().map(u32::to_string).collect();
    let ratio = first.and_then(|row| row.p99.as_ref());
    let value = ratio.map_or_else(Prose::default, |ratio| prose!(" ({})", ratio));
    let what = prose!("not decided: DOP {}{}", list(&dops), value);
    let blocks_here = ratio.map_or(0, |ratio| ratio.blocks);
    match limit.blocks_needed {
        // It has as many and its ratio is not 1: a narrower interval is needed, but how narrow is unknown.
        Some(blocks) if blocks > blocks_here => {
            prose!("{}, which needs about {} blocks ({} here)", what, blocks, blocks_here)
        }
        Some(_) => prose!("{}, which needs more than {} blocks, or a wider margin", what, blocks_here),
        None => prose!(
            "{}, for which p99 scatters too much: use a longer slice (scale, rounds) or a wider margin",
            what
        ),
    }
}

/// The section; `None` without short queries.
pub fn section(found: QueryStudy<'_>) -> Option<Section> {
    let level = set_percent(found.facts.level());
    let p99 = |measured: &TreatmentQueries| {
        let row = found.queries.short.iter().find(|row| row.treatment == measured.treatment)?;
        Some(row.latency_ns_p99.as_ref()?.scaled(1e-6, "ms"))
    };
    let words = OverDop {
        title: "99th percentile of short queries",
        description: format!(
            "Latency that 99% of the short queries stayed within, at each DOP of the streams' queries, with {level} \
             intervals over blocks; a line is a placement."
        ),
        axis: "p99 in ms",
        column: "p99",
        unit: (1e6, "ns"),
    };
    let mut blocks = vec![Block::Text(about(found), Shown::Page)];
    blocks.extend(found.over_dop(&words, p99));
    blocks.push(Block::Table(table(found)));
    (!found.queries.short.is_empty())
        .then(|| Section::new("short-queries", "Concurrent short queries", blocks))
}

fn about(found: QueryStudy<'_>) -> Prose {
    prose!(
        "A short query looks up one order by its key. Its sessions execute one after the other from the start of the \
         streams until the last stream ends, each latency is the client's, and every answer was checked. A percentile \
         is that of a block, which needs {} short queries; ratios are to the lowest DOP of the same placement, and \
         those of a study are one family (Holm). A DOP keeps the 99th percentile if the upper end of its adjusted \
         interval is within {}, and raises it if the lower end is above 1 and the upper end is not.",
        Prose::figure(grouped(MIN_STEPS)),
        Prose::figure(set_percent(found.facts.study.design.margin))
    )
}

fn table(found: QueryStudy<'_>) -> Table {
    let figure = |name: &str| Column::figure(name).shorten_at(1);
    let row = |row: &ShortQueries| {
        let answer = if row.treatment == row.lowest { "lowest DOP".to_owned() } else { answer(found, row) };
        vec![
            (Column::text("treatment"), Cell::text(found.label(&row.treatment))),
            (Column::text("placement").shown(Shown::Page), Cell::text(&row.placement)),
            (Column::figure("DOP"), Cell::Count(row.dop.into())),
            (figure("short/s").drop_at(3), Cell::interval(row.short_per_s.as_ref())),
            (figure("p50").drop_at(2), Cell::interval(row.latency_ns_p50.as_ref())),
            (figure("p99"), Cell::interval(row.latency_ns_p99.as_ref())),
            (figure("p99 ratio"), bare(row.p99.as_ref())),
            (Column::text("p99 is"), Cell::text(answer)),
            (figure("queries/h ratio").drop_at(4), bare(row.throughput.as_ref())),
        ]
    };
    let sessions = found.queries.short.first().map_or(0, |first| first.sessions);
    let caption = prose!(
        "Latency of short queries, {} concurrent with the streams; ratios to the lowest DOP of the placement",
        counted(sessions as usize, "session")
    );
    Table::headed(caption, found.queries.short.iter().map(row))
}

/// The answer about a DOP's percentile.
fn answer(found: QueryStudy<'_>, row: &ShortQueries) -> String {
    let Some(ratio) = &row.p99 else {
        return format!("unknown: {} in a block", grouped(row.fewest_in_a_block));
    };
    let limit = found.queries.short_limits.iter().find(|limit| limit.lowest == row.lowest);
    let is_open = limit.is_some_and(|limit| limit.undecided_dops.contains(&row.dop));
    match ratio.is_higher() {
        _ if is_open => "not decided".to_owned(),
        true => "higher".to_owned(),
        false => format!("within {}", set_percent(ratio.margin)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use crate::estimate::{Rule, judge};
    use threadwise_statistics::MeanEstimate;

    const MARGIN: f64 = 0.1;

    /// Ratios with these means and standard errors over 8 blocks, judged together.
    fn ratios(of: &[(f64, f64)]) -> Vec<Ratio> {
        let mean = |(value, standard_error): &(f64, f64)| {
            let mean = value.ln();
            let standard_error = *standard_error;
            (MeanEstimate { n: 8, mean, standard_error, correlation: 0.0, degrees: 7.0 }, None)
        };
        let family: Vec<(MeanEstimate, Option<f64>)> = of.iter().map(mean).collect();
        judge(&family, Rule { margin: MARGIN, alpha: 0.05, direction: Direction::LowerIsBetter })
    }

    fn limit_of(of: &[(f64, f64)]) -> (Option<u32>, Option<u32>, Vec<u32>) {
        let ratios = ratios(of);
        let steps = ratios.iter().enumerate().map(|(at, p99)| Step { dop: 2 << at, p99: Some(p99) });
        limit(&steps.collect::<Vec<_>>(), MARGIN)
    }

    #[test]
    fn the_highest_that_keeps_and_the_smallest_that_raises() {
        assert_eq!(limit_of(&[(1.0, 0.01), (1.02, 0.01), (1.5, 0.02)]), (Some(4), Some(8), vec![]));
        assert_eq!(limit_of(&[(1.3, 0.01), (1.8, 0.01)]), (None, Some(2), vec![]));
        // Higher by less than the margin is kept, and raises nothing that matters.
        assert_eq!(limit_of(&[(1.04, 0.005)]), (Some(2), None, vec![]));
        // One that is not decided below one that is.
        assert_eq!(limit_of(&[(1.05, 0.1), (1.0, 0.01)]), (Some(4), None, vec![2]));
        assert_eq!(limit_of(&[(1.1, 0.05)]), (None, None, vec![2]));
    }

    #[test]
    fn none_keeps_it_above_one_that_raises_it() {
        assert_eq!(limit_of(&[(1.5, 0.01), (1.0, 0.01)]), (None, Some(2), vec![]));
    }

    #[test]
    fn what_is_not_known_is_not_decided() {
        assert_eq!(limit(&[Step { dop: 2, p99: None }], MARGIN), (None, None, vec![2]));
        let alone = Ratio {
            blocks: 1,
            adjusted_low: 0.0,
            adjusted_high: f64::INFINITY,
            ..ratios(&[(1.0, 0.1)]).remove(0)
        };
        assert_eq!(limit(&[Step { dop: 2, p99: Some(&alone) }], MARGIN), (None, None, vec![2]));
    }

    #[test]
    fn more_noise_takes_more_blocks() {
        let needed = |se: f64| blocks_needed(&ratios(&[(1.0, se)])[0], 1, 0.05);
        let (little, much) = (needed(0.02).unwrap(), needed(0.06).unwrap());
        assert!(little < much && (4..8).contains(&little) && (20..60).contains(&much), "{little} {much}");
        assert_eq!(needed(5.0), None);
    }
}
