//! States of logical CPUs over the time of a study, with the speed of slices, as a strip
//! (`threadwise_document::strip`).

use super::states::{LookState, LookedAt, looked_at};
use super::words;
use crate::Facts;
use crate::commands::elapsed_ns;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::strip::{Piece, Strip, StripCell, StripPoint};
use threadwise_statistics::median;
use threadwise_study::look::follow::Share;
use threadwise_study::{Moment, Run, Slice};

/// Columns of a strip without breaks: about the width of a page.
const COLUMNS: u32 = 600;
/// Most cells of all rows together: more would make the page large.
const ALL_COLUMNS: u32 = 12_000;
/// Most rows of logical CPUs.
const MAX_CPUS: usize = 64;
/// Most rows of treatments.
const MAX_TREATMENTS: usize = 24;
/// Most stretches, since gaps between them take room.
const MAX_STRETCHES: usize = 150;
/// Most points of a strip: with more slices, those of neighbouring columns are drawn as one.
const MAX_POINTS: usize = 4_000;
/// Shortest time without slices that is a break.
const BREAK_NS: u64 = 1_000_000_000;
/// Columns between two blocks.
const GAP: u32 = 5;

/// A stretch without a break.
struct Stretch<'l, 'r> {
    block: u32,
    start_ns: u64,
    end_ns: u64,
    slices: Vec<&'l LookedAt<'r>>,
}

/// The strip of a study; `None` without looks.
pub fn strip(facts: &Facts<'_>) -> Option<Strip> {
    let looks = facts.analysis.looks.as_ref()?;
    let slices = looked_at(facts.runs);
    let stretches = stretches(&slices);
    let cpus: Vec<u32> = looks.cpus.iter().copied().take(MAX_CPUS).collect();
    let most = (ALL_COLUMNS / cpus.len().max(1) as u32).min(COLUMNS);
    let (pieces, columns, column_s) = pieces(&stretches, most);
    let mut cells = Vec::new();
    for (stretch, piece) in stretches.iter().zip(&pieces) {
        for (row, cpu) in (0..).zip(&cpus) {
            cells.extend(row_cells(stretch, piece, row, *cpu));
        }
    }
    let treatments = facts.study.treatments.iter().map(|treatment| treatment.name.clone());
    let treatments: Vec<String> = treatments.take(MAX_TREATMENTS).collect();
    Some(Strip {
        columns,
        column_s,
        points: points(facts, &stretches, &pieces, &treatments),
        pieces,
        states: LookState::ALL.iter().map(|state| (letter(*state), words::name(*state))).collect(),
        cpus,
        cells,
        treatments,
    })
}

/// A state's letter on a terminal.
fn letter(state: LookState) -> char {
    match state {
        LookState::Clear => '.',
        LookState::SameCore => '1',
        LookState::Neighbour => 'c',
        LookState::Away => 'a',
        LookState::Unknown => '?',
    }
}

/// The state of one logical CPU.
fn state_of(share: Share) -> LookState {
    match share {
        Share::Alone => LookState::Clear,
        Share::With(_) => LookState::SameCore,
        Share::Neighbour => LookState::Neighbour,
        Share::Away => LookState::Away,
        Share::Slowed | Share::Apart | Share::Unknown => LookState::Unknown,
    }
}

/// A state's number in the strip.
fn number(state: LookState) -> u8 {
    LookState::ALL.iter().position(|known| *known == state).unwrap_or(0) as u8
}

/// From the first look at a slice, or its start, to its end or that of the last look.
fn span_ns(slice: &LookedAt<'_>) -> (u64, u64) {
    let starts = slice.looks.iter().map(|one| one.look.start_ns);
    let ends = slice.looks.iter().map(|one| one.look.start_ns.saturating_add(one.look.took_ns));
    let end_ns = slice.slice.start_ns.saturating_add(slice.slice.window_ns);
    (starts.fold(slice.slice.start_ns, u64::min), ends.fold(end_ns, u64::max))
}

/// Slices in time order, split at blocks and breaks; if these are too many, at blocks alone, or at every few.
fn stretches<'l, 'r>(slices: &'l [LookedAt<'r>]) -> Vec<Stretch<'l, 'r>> {
    let blocks: BTreeSet<u32> = slices.iter().map(|one| one.run.block).collect();
    let all = parted(slices, BREAK_NS, 1);
    if all.len() <= MAX_STRETCHES {
        return all;
    }
    parted(slices, u64::MAX, blocks.len().div_ceil(MAX_STRETCHES).max(1) as u32)
}

fn parted<'l, 'r>(slices: &'l [LookedAt<'r>], break_ns: u64, blocks: u32) -> Vec<Stretch<'l, 'r>> {
    let mut all: Vec<Stretch<'l, 'r>> = Vec::new();
    for slice in slices {
        let (start_ns, end_ns) = span_ns(slice);
        let follows = |last: &&mut Stretch<'_, '_>| {
            last.block / blocks == slice.run.block / blocks
                && start_ns.saturating_sub(last.end_ns) <= break_ns
        };
        match all.last_mut().filter(follows) {
            Some(last) => {
                last.end_ns = last.end_ns.max(end_ns);
                last.slices.push(slice);
            }
            None => all.push(Stretch { block: slice.run.block, start_ns, end_ns, slices: vec![slice] }),
        }
    }
    all
}

/// Places of the stretches, columns of all with the breaks between them, seconds per column.
fn pieces(stretches: &[Stretch<'_, '_>], columns: u32) -> (Vec<Piece>, u32, f64) {
    let length_ns = |one: &Stretch<'_, '_>| one.end_ns.saturating_sub(one.start_ns).max(1) as f64;
    let column_ns = stretches.iter().map(length_ns).sum::<f64>() / f64::from(columns);
    let gap = (columns / (8 * stretches.len().max(1) as u32)).clamp(1, GAP);
    let (mut first, mut block) = (0, None);
    let mut pieces = Vec::new();
    for stretch in stretches {
        let is_inner = block == Some(stretch.block);
        first += match block {
            None => 0,
            Some(_) if is_inner => gap.div_ceil(2),
            Some(_) => gap,
        };
        block = Some(stretch.block);
        let wide = ((length_ns(stretch) / column_ns).round() as u32).max(1);
        let seconds = |ns: u64| (ns as f64 / 1e6).round() / 1e3;
        pieces.push((stretch.block, first, wide, seconds(stretch.start_ns), seconds(stretch.end_ns)));
        first += wide;
    }
    (pieces, first, column_ns / 1e9)
}

/// States of a logical CPU and their starts: a look holds until the next one, or until the next slice if that has none.
fn known(stretch: &Stretch<'_, '_>, cpu: u32) -> Vec<(u64, Option<LookState>)> {
    let mut all = Vec::new();
    for one in &stretch.slices {
        if one.looks.is_empty() {
            all.push((one.slice.start_ns, None));
        }
        let seen =
            one.looks.iter().map(|judged| (judged.look.start_ns, judged.shares.get(cpu).map(state_of)));
        all.extend(seen);
    }
    all.sort_by_key(|(start_ns, _)| *start_ns);
    all
}

/// The cells of one logical CPU in one piece.
fn row_cells(stretch: &Stretch<'_, '_>, piece: &Piece, row: u32, cpu: u32) -> Vec<StripCell> {
    let (_, first, columns, ..) = *piece;
    let width_ns = stretch.end_ns.saturating_sub(stretch.start_ns).max(1) as f64 / f64::from(columns);
    let mut times = vec![[0.0; LookState::ALL.len()]; columns as usize];
    let known = known(stretch, cpu);
    for (at, (start_ns, state)) in known.iter().enumerate() {
        let Some(state) = state else { continue };
        let end_ns = known.get(at + 1).map_or(stretch.end_ns, |next| next.0);
        let place = |ns: u64| ns.saturating_sub(stretch.start_ns) as f64 / width_ns;
        let (from, to) = (place(*start_ns), place(end_ns).min(f64::from(columns)));
        for (column, time) in times.iter_mut().enumerate().take(to.ceil() as usize).skip(from as usize) {
            let column = column as f64;
            time[usize::from(number(*state))] += (to.min(column + 1.0) - from.max(column)).max(0.0);
        }
    }
    let mut cells: Vec<StripCell> = Vec::new();
    for (column, times) in (first..).zip(&times) {
        let shares = shares(times);
        match cells.last_mut().filter(|last| last.1 + last.2 == column && last.3 == shares) {
            Some(last) => last.2 += 1,
            None if shares.is_empty() => {}
            None => cells.push((row, column, 1, shares)),
        }
    }
    cells
}

/// Shares of the known time, to hundredths; those that round to 0 are left out.
fn shares(times: &[f64]) -> Vec<(u8, f64)> {
    let all: f64 = times.iter().sum();
    let hundredths = |time: f64| (100.0 * time / all).round() / 100.0;
    let shares = (0..).zip(times).map(|(state, time)| (state, hundredths(*time)));
    shares.filter(|(_, share)| all > 0.0 && *share > 0.0).collect()
}

/// Speeds are compared within this: a treatment, and a query if a slice is one execution.
type Kind<'r> = (&'r str, u8);

/// Speed of a slice in any unit: rows per second; for whole runs and single executions the inverse of their time.
fn speed<'r>(facts: &Facts<'_>, run: &'r Run, slice: &Slice) -> Option<(Kind<'r>, f64)> {
    let (query, speed) = match slice.only_query() {
        Some((query, elapsed_ns)) => (query, 1.0 / elapsed_ns.max(1) as f64),
        None if facts.study.runs_whole() => (0, 1.0 / elapsed_ns(slice)),
        None => (0, slice.rows_per_s()),
    };
    (speed.is_finite() && speed > 0.0).then_some(((run.treatment.as_str(), query), speed))
}

/// Slices that are one point: row, number of the piece, columns or number of the slice there, state.
type Bin = (u32, usize, u64, u8);

/// A slice as a point.
struct Drawn {
    column: f64,
    speed: f64,
    block: u32,
    round: u32,
}

/// Speeds over the usual one (the median) of their treatment.
fn points(
    facts: &Facts<'_>,
    stretches: &[Stretch<'_, '_>],
    pieces: &[Piece],
    treatments: &[String],
) -> Vec<StripPoint> {
    let usual = usual(facts, stretches);
    let moment = facts.analysis.looks.as_ref().map_or(Moment::Before, |looks| looks.moment);
    let total: usize = stretches.iter().map(|stretch| stretch.slices.len()).sum();
    let rows: BTreeMap<&str, u32> = treatments.iter().map(String::as_str).zip(0..).collect();
    // Slices of several columns are one point; with few slices each is one.
    let together = match total > MAX_POINTS {
        true => (treatments.len() * COLUMNS as usize).div_ceil(MAX_POINTS).max(1) as f64,
        false => 0.0,
    };
    let mut bins: BTreeMap<Bin, Vec<Drawn>> = BTreeMap::new();
    for (at, (stretch, piece)) in stretches.iter().zip(pieces).enumerate() {
        for (number_there, one) in (0..).zip(&stretch.slices) {
            let Some(&row) = rows.get(one.run.treatment.as_str()) else { continue };
            let Some((kind, speed)) = speed(facts, one.run, one.slice) else { continue };
            let Some(usual) = usual.get(&kind) else { continue };
            let column = place(one, stretch, piece);
            let bin = if together > 0.0 { (column / together) as u64 } else { number_there };
            let state = match moment {
                Moment::During => one.mostly(&one.run.cpus),
                _ => one.before(&one.run.cpus),
            };
            let state = number(state.unwrap_or(LookState::Unknown));
            let (block, round) = (one.run.block, one.slice.round);
            let drawn = Drawn { column, speed: speed / usual, block, round };
            bins.entry((row, at, bin, state)).or_default().push(drawn);
        }
    }
    let point = |((row, _, _, state), slices): (&Bin, &Vec<Drawn>)| {
        let column = median(slices.iter().map(|slice| slice.column))?;
        let speed = median(slices.iter().map(|slice| slice.speed))?;
        let round = if let [one] = slices.as_slice() { Some(one.round) } else { None };
        let [column, speed] =
            [(column, 10.0), (speed, 1000.0)].map(|(value, per)| (value * per).round() / per);
        Some((*row, column, speed, *state, slices.len() as u32, slices.first()?.block, round))
    };
    bins.iter().filter_map(point).collect()
}

/// The usual speed of each kind: the median of its slices.
fn usual<'r>(facts: &Facts<'_>, stretches: &[Stretch<'_, 'r>]) -> BTreeMap<Kind<'r>, f64> {
    let mut by_kind: BTreeMap<Kind<'r>, Vec<f64>> = BTreeMap::new();
    for one in stretches.iter().flat_map(|stretch| &stretch.slices) {
        if let Some((kind, speed)) = speed(facts, one.run, one.slice) {
            by_kind.entry(kind).or_default().push(speed);
        }
    }
    by_kind.into_iter().filter_map(|(kind, speeds)| Some((kind, median(speeds.into_iter())?))).collect()
}

/// The middle of a slice's window, in columns.
fn place(one: &LookedAt<'_>, stretch: &Stretch<'_, '_>, piece: &Piece) -> f64 {
    let length_ns = stretch.end_ns.saturating_sub(stretch.start_ns).max(1) as f64;
    let middle_ns = one.slice.start_ns.saturating_add(one.slice.window_ns / 2);
    let share = middle_ns.saturating_sub(stretch.start_ns) as f64 / length_ns;
    f64::from(piece.1) + share.clamp(0.0, 1.0) * f64::from(piece.2)
}

#[cfg(test)]
mod tests;
