//! Query by query: bars, ratios of all treatments, and each treatment's times, plans and counters.

use super::charts;
use super::found::{Found, PLAN_SIGN, about, bare, compared, query_name, query_names, with_sign};
use crate::Interval;
use crate::queries::{Change, QueryEstimates, TreatmentQueries};
use std::cmp::Reverse;
use threadwise_document::numbers::set_percent;
use threadwise_document::{Block, Cell, Chart, Column, Figure, Fold, Ratio, Says, Section, Table, prose};
use threadwise_study::Role;

/// The section.
pub fn section(found: Found<'_>) -> Section {
    let level = set_percent(found.facts.level());
    let groups = found.by_group().into_iter();
    let figures = groups.filter_map(|(group, members)| {
        let chart = charts::bars(found, group, &members)?;
        Some(Block::Figure(Box::new(Figure {
            chart: Chart::Bars(chart),
            wide: true,
            title: found.facts.titled("Speed of each query against the baseline", group),
            description: format!(
                "One panel a treatment, one bar a query, from 1 upwards where it is faster and downwards where it is \
                 slower, with {level} intervals. A full bar is an effect, a pale one is not, and intervals of full bars are \
                 adjusted for having been selected; the grey band is the query's \
                 noise floor. Striped and {PLAN_SIGN}: \
                 the plan is another one than the baseline's. The dashed line is the geometric mean."
            ),
            table: ratios(found, group, &members),
        })))
    });
    let folds = found.measured().into_iter().map(|measured| Block::Fold(fold(found, measured)));
    Section::new("queries", "Query by query", figures.chain(folds).collect())
}

/// Ratios, queries down and treatments across. With little room those of the highest DOP times streams stay longest.
fn ratios(found: Found<'_>, group: &str, members: &[&TreatmentQueries]) -> Table {
    let others = compared(members);
    let baseline = members.iter().find(|measured| found.role(measured) == Role::Baseline);
    let steps = drop_steps(&others);
    let mut columns = vec![Column::text("query")];
    let last = steps.iter().max().map_or(2, |step| step.saturating_add(1));
    columns.extend(baseline.map(|_| Column::figure("baseline").drop_at(last)));
    columns.extend(others.iter().zip(steps).map(|(measured, step)| {
        Column::text(found.facts.label(&measured.treatment, group)).shorten_at(1).drop_at(step)
    }));
    let line = |name: String, elapsed: Cell, cell: &dyn Fn(&TreatmentQueries) -> Cell| {
        let first = [Cell::text(name)].into_iter().chain(baseline.map(|_| elapsed));
        first.chain(others.iter().map(|measured| cell(measured))).collect::<Vec<Cell>>()
    };
    let of_query = |number: &u8| {
        let elapsed = baseline.and_then(|measured| measured.queries.get(number));
        let elapsed =
            elapsed.map_or_else(Cell::none, |query| milliseconds(Some(&query.elapsed_ms), Cell::Mean));
        line(query_name(*number), elapsed, &|measured| {
            let query = measured.queries.get(number);
            query.map_or_else(Cell::none, |query| with_sign(speed(query.speed.as_ref()), query.plan_change))
        })
    };
    let mut rows: Vec<Vec<Cell>> = found.queries.numbers.iter().map(of_query).collect();
    rows.push(line("totals".to_owned(), Cell::none(), &|measured| speed(measured.total.speed.as_ref())));
    rows.push(line("geo. mean".to_owned(), Cell::none(), &|measured| {
        speed(measured.total.geometric.as_ref())
    }));
    let words = found.facts.group_words(group);
    let place = if words.is_empty() { words } else { format!(" {words}") };
    let against = found.facts.baseline_label(group);
    let sign = match others.iter().any(|measured| !measured.plans_changed().is_empty()) {
        true => format!("; {PLAN_SIGN}: another plan"),
        false => String::new(),
    };
    let caption = prose!("Query by query, speed against {}{}{}", against, place, sign);
    Table {
        when_narrow: prose!("The treatments of the highest DOP; all of them: HTML report, --json."),
        ..Table::new(caption, columns, rows)
    }
}

fn speed(ratio: Option<&Ratio>) -> Cell {
    Cell::ratio(ratio, Says::Higher)
}

/// When each treatment's column goes: the lowest DOP times streams first, the highest never.
fn drop_steps(others: &[&TreatmentQueries]) -> Vec<u8> {
    let mut order: Vec<usize> = (0..others.len()).collect();
    let size = |measured: &TreatmentQueries| {
        u64::from(measured.dop.unwrap_or(u32::MAX)) * u64::from(measured.streams)
    };
    order.sort_by_key(|at| Reverse(size(others[*at])));
    let mut steps = vec![0; others.len()];
    for (rank, at) in order.into_iter().enumerate().skip(1) {
        // Step 1 shortens the cells.
        steps[at] = u8::try_from(others.len() - rank + 1).unwrap_or(u8::MAX);
    }
    steps
}

/// One treatment, query by query.
fn fold(found: Found<'_>, measured: &TreatmentQueries) -> Fold {
    let is_base = found.role(measured) != Role::Compared;
    let columns = [
        Column::text("query"),
        Column::figure("elapsed"),
        Column::figure("planning"),
        Column::figure("CPU"),
        Column::figure("DOP seen"),
        Column::text("speed"),
        Column::text("CPU ratio"),
        Column::text("plan"),
        Column::text("plan is"),
        Column::figure("read"),
        Column::figure("spilled"),
    ];
    let rows = measured.queries.iter().map(|(number, query)| fold_row(found, *number, query, is_base));
    let group = found.facts.group_of(&measured.treatment);
    let name =
        format!("{} {}", found.facts.label(&measured.treatment, group), found.facts.group_words(group));
    let both = if is_base { " · the baseline: both of its runs in every block" } else { "" };
    let changed = match measured.plans_changed() {
        changed if changed.is_empty() => String::new(),
        changed => format!(" · other plans: {}", query_names(changed)),
    };
    Fold {
        above: "Each treatment: elapsed, planning, CPU, plans",
        title: format!("{} · {}{both}{changed}", name.trim_end(), about(measured)),
        tables: vec![Table::new("", columns.into(), rows)],
        ..Fold::default()
    }
}

fn fold_row(found: Found<'_>, number: u8, query: &QueryEstimates, is_base: bool) -> Vec<Cell> {
    let dop = query.dop_min.zip(query.dop_max).map(|(least, most)| match least == most {
        true => Cell::Count(least.into()),
        false => Cell::text(format!("{least}–{most}")),
    });
    let plan = query.plan.and_then(|at| found.queries.plans.get(at)).map(|plan| {
        let others = query.plans_seen.saturating_sub(1);
        Cell::text(if others == 0 { plan.name.clone() } else { format!("{} and {others} more", plan.name) })
    });
    let counter = |name: &str| {
        let value = query.counters.get(name).map(|bytes| bytes.max(0.0));
        value.map_or_else(Cell::none, |value| Cell::Value { value, unit: "bytes" })
    };
    vec![
        Cell::text(query_name(number)),
        milliseconds(Some(&query.elapsed_ms), Cell::Interval),
        milliseconds(query.planning_ms.as_ref(), Cell::Mean),
        milliseconds(query.cpu_ms.as_ref(), Cell::Mean),
        dop.unwrap_or_else(Cell::none),
        speed(query.speed.as_ref()),
        bare(query.cpu.as_ref()),
        plan.unwrap_or_else(Cell::none),
        if is_base { Cell::none() } else { Cell::text(change_words(query.plan_change)) },
        counter("read_bytes"),
        counter("spill_bytes"),
    ]
}

fn milliseconds(value: Option<&Interval>, cell: fn(Interval) -> Cell) -> Cell {
    value.map_or_else(Cell::none, |value| cell(value.scaled(1e6, "ns")))
}

/// What a plan is to the baseline's.
fn change_words(change: Change) -> &'static str {
    match change {
        Change::Unknown => "unknown",
        Change::Same => "the same",
        Change::ParallelOnly => "only went parallel",
        Change::Different => "another plan",
    }
}
