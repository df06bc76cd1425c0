//! How parallel the streams' queries may be before short queries beside them suffer, and what the streams give there.

use crate::estimate::MIN_STEPS;
use crate::queries::{DopLimit, Queries, ShortQueries};
use crate::words::{finding, list};
use crate::{Facts, Finding, Ratio};
use threadwise_document::numbers::{counted, grouped, set_percent};
use threadwise_document::{Prose, prose};

/// Most placements that are reported.
const MAX_PLACEMENTS: usize = 2;

/// The finding; `None` without short queries, or where a placement has one DOP.
pub fn short(facts: &Facts<'_>, queries: &Queries) -> Option<Finding> {
    let limits = &queries.short_limits;
    let first = limits.first()?;
    let margin = facts.study.design.margin;
    let clauses = limits.iter().take(MAX_PLACEMENTS).map(|limit| of_placement(facts, limit, queries, margin));
    let more = match limits.len().saturating_sub(MAX_PLACEMENTS) {
        0 => String::new(),
        more => format!(" {more} more in the table."),
    };
    let text = prose!(
        "Short queries beside, {}: {}{}",
        counted(first.sessions as usize, "session"),
        Prose::join(clauses, " "),
        more
    );
    let names: Vec<&str> = queries.short.iter().map(|row| row.treatment.as_str()).collect();
    Some(finding("short-queries", text, &names))
}

/// `on all, against DOP 1 (p99 2.10 ms [2.05, 2.15]): DOP 2 is the highest shown to keep p99 within 10% (1.02x [0.98,
/// 1.06]; streams' queries/h 1.80x [1.75, 1.85]); DOP 4 is the smallest shown to raise it (…).`
fn of_placement(facts: &Facts<'_>, limit: &DopLimit, queries: &Queries, margin: f64) -> Prose {
    let rows: Vec<&ShortQueries> = queries.short.iter().filter(|row| row.lowest == limit.lowest).collect();
    let group = facts.group_words(facts.group_of(&limit.lowest));
    let place = format!("{} {group}", limit.placement.trim());
    let place = place.trim_end();
    let streams = match queries.short.iter().any(|row| row.streams != limit.streams) {
        true => format!(" with {}", counted(limit.streams as usize, "stream")),
        false => String::new(),
    };
    if let Some(lacking) = lacking(&rows) {
        return prose!("on {}{}, {}.", place, streams, lacking);
    }
    let row = |dop: u32| rows.iter().find(|row| row.dop == dop).copied();
    let p99 = row(limit.lowest_dop).and_then(|lowest| lowest.latency_ns_p99.as_ref());
    let was = p99.map_or_else(Prose::default, |p99| prose!(" (p99 {})", p99));
    let mut text = prose!("on {}{}, against DOP {}{}: ", place, streams, limit.lowest_dop, was);
    let within = Prose::figure(set_percent(margin));
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

/// Why no percentile is known, and what would help; `None` where one is of each DOP.
fn lacking(rows: &[&ShortQueries]) -> Option<Prose> {
    let fewest =
        rows.iter().filter(|row| row.latency_ns_p99.is_none()).min_by_key(|row| row.fewest_in_a_block)?;
    let count = fewest.fewest_in_a_block;
    Some(match count < MIN_STEPS {
        true => prose!(
            "p99 is not known: a block of {} had {} short queries, and a percentile takes {}: more sessions (short), a larger \
             scale or more rounds give more",
            &fewest.treatment,
            grouped(count),
            grouped(MIN_STEPS)
        ),
        false => prose!("p99 is not known: the latencies of {} cannot be read", &fewest.treatment),
    })
}

/// ` (1.02x [0.98, 1.06]; streams' queries/h 1.80x [1.75, 1.85])`.
fn figures(row: &ShortQueries) -> Prose {
    let p99 = row.p99.as_ref().map(Prose::from);
    let throughput = row.throughput.as_ref().map(|ratio: &Ratio| prose!("streams' queries/h {}", ratio));
    let both = Prose::join(p99.into_iter().chain(throughput), "; ");
    if both.is_empty() { both } else { prose!(" ({})", both) }
}

/// `not decided: DOP 4 and 8, which takes about 40 blocks (12 here)`.
fn undecided(limit: &DopLimit, first: Option<&ShortQueries>) -> Prose {
    let dops: Vec<String> = limit.undecided_dops.iter().map(u32::to_string).collect();
    let ratio = first.and_then(|row| row.p99.as_ref());
    let value = ratio.map_or_else(Prose::default, |ratio| prose!(" ({})", ratio));
    let what = prose!("not decided: DOP {}{}", list(&dops), value);
    let here = ratio.map_or(0, |ratio| ratio.blocks);
    match limit.blocks_needed {
        // It has as many and its ratio is not 1: a narrower interval is what is lacking, and how narrow is not known.
        Some(blocks) if blocks > here => {
            prose!("{}, which takes about {} blocks ({} here)", what, blocks, here)
        }
        Some(_) => prose!("{}, which takes more blocks than {}, or a wider margin", what, here),
        None => prose!(
            "{}, for which p99 scatters too much: a longer slice (scale, rounds) or a wider margin",
            what
        ),
    }
}
