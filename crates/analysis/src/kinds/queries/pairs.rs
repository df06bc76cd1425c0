//! Pairs of treatments, query by query: second threads at the same DOP, and whatever the study names.

use super::found::{Found, PLAN_SIGN, bare, query_name, query_names, with_sign};
use crate::queries::{ComparedQuery, QueryComparison};
use threadwise_document::{Block, Cell, Column, Prose, Says, Section, Shown, Table, prose};

/// The section; `None` where no pair is compared.
pub fn section(found: Found<'_>) -> Option<Section> {
    let pairs = &found.queries.comparisons;
    if pairs.is_empty() {
        return None;
    }
    let smt = |pair: &QueryComparison| matches!(pair.kind.as_str(), "smt-dop" | "both-threads");
    let title = match pairs.iter().all(smt) {
        true => "Second threads, query by query",
        false => "Pairs of treatments, query by query",
    };
    let about = prose!(
        "One treatment over another of the same blocks: speed above 1 is faster, CPU above 1 is more. The queries of a pair \
         are judged together (see \"How it was measured\")."
    );
    let mut blocks = vec![Block::Text(about, Shown::Page), Block::Table(totals(pairs))];
    blocks.push(Block::Table(by_query(found, Which::Speed)));
    if pairs.iter().flat_map(|pair| &pair.queries).any(|query| query.cpu.is_some()) {
        blocks.push(Block::Table(by_query(found, Which::Cpu)));
    }
    Some(Section::new("pairs", title, blocks))
}

/// Pairs down: all queries together.
fn totals(pairs: &[QueryComparison]) -> Table {
    let any_cpu = pairs.iter().any(|pair| pair.cpu.is_some());
    let any_changed = pairs.iter().any(|pair| !pair.changed.is_empty());
    let row = |pair: &QueryComparison| {
        let mut cells = vec![Cell::text(&pair.name)];
        cells.extend([&pair.speed, &pair.geometric].map(|ratio| Cell::ratio(ratio.as_ref(), Says::Higher)));
        cells.extend(any_cpu.then(|| bare(pair.cpu.as_ref())));
        if any_changed {
            cells.push(Cell::text(query_names(pair.changed.iter().copied())));
            cells.push(Cell::ratio(pair.speed_same_plans.as_ref(), Says::Higher));
        }
        cells
    };
    let mut columns = vec![
        Column::text("pair"),
        Column::text("ratio of totals").shorten_at(3),
        Column::text("geo. mean").shorten_at(1).drop_at(4),
    ];
    columns.extend(any_cpu.then(|| Column::text("CPU").shorten_at(2)));
    if any_changed {
        columns.push(Column::text("other plans").shown(Shown::Page));
        columns.push(Column::text("without these").shown(Shown::Page));
    }
    Table::new("Pairs, all queries together", columns, pairs.iter().map(row))
}

/// What a table of queries shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Speed,
    Cpu,
}

/// Queries down, pairs across; for the page, since a terminal shows every treatment's queries already.
fn by_query(found: Found<'_>, which: Which) -> Table {
    let pairs = &found.queries.comparisons;
    let cell = |query: &ComparedQuery| match which {
        Which::Speed => with_sign(Cell::ratio(Some(&query.speed), Says::Higher), query.plan_change),
        Which::Cpu => with_sign(bare(query.cpu.as_ref()), query.plan_change),
    };
    let line = |number: &u8| {
        let cells = pairs.iter().map(|pair| {
            let query = pair.queries.iter().find(|query| query.query == *number);
            query.map_or_else(Cell::none, cell)
        });
        std::iter::once(Cell::text(query_name(*number))).chain(cells).collect()
    };
    let columns =
        std::iter::once(Column::text("query")).chain(pairs.iter().map(|pair| Column::text(&pair.name)));
    let sign: Prose = match pairs.iter().any(|pair| !pair.changed.is_empty()) {
        true => prose!("; {}: another plan", PLAN_SIGN),
        false => Prose::default(),
    };
    let caption = match which {
        Which::Speed => prose!("Speed of each query, pair by pair{}", sign),
        Which::Cpu => prose!("CPU time of each query, pair by pair{}", sign),
    };
    Table::new(caption, columns.collect(), found.queries.numbers.iter().map(line)).shown(Shown::Page)
}
