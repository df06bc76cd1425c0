//! Each treatment's own figures and its ratios to the baseline of its group, query by query and all together, and the
//! sections that show them.

use super::cores::{core_ratios, core_seconds};
use super::executions::{BlockRun, Executions, Pair, Quantity, Total};
use super::plans::Plans;
use super::query_study::{
    OverDop, PLAN_SIGN, QueryStudy, about, bare, data_words, end, ends, or_none, rounded, speed, with_sign,
};
use super::ratios::{contrasts, together};
use super::types::{Baseline, Change, Queries, QueryEstimates, TotalEstimates, TreatmentQueries};
use super::words::{if_any, query_name, query_names};
use crate::facts::runs_words;
use crate::kinds::command::sections::{by_group, place};
use crate::kinds::rate::other_ratios;
use crate::{Interval, Ratio};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::chart::{Bar, BarChart, Panel};
use threadwise_document::numbers::set_percent;
use threadwise_document::{Block, Cell, Chart, Column, Figure, Fold, Prose, Section, Shown, Table, prose};
use threadwise_statistics::{arithmetic, geometric, mean};
use threadwise_study::{QueryExecution, Role};

/// One per treatment of the study, in its order; `changed` are queries with another plan in any of them.
pub fn treatments(table: &Executions<'_>, plans: &Plans, changed: &BTreeSet<u8>) -> Vec<TreatmentQueries> {
    let pair = |at: usize| Pair { top: vec![at], below: table.below(at), changed: changed.clone() };
    let compared: Vec<Pair> = table.compared().map(pair).collect();
    let mut ratios: BTreeMap<usize, _> = table.compared().zip(contrasts(table, plans, &compared)).collect();
    let mut core_ratios = core_ratios(table);
    let treatment = |at: usize| {
        let (pair, mut measured) = (pair(at), figures(table, plans, &[at])?);
        if let Some(cores) = measured.cores.as_mut() {
            cores.to_baseline = core_ratios.remove(&at);
        }
        let (total, queries) = ratios.remove(&at).unwrap_or_default();
        measured.total.ratios = total;
        let mut queries: BTreeMap<u8, _> = queries.into_iter().map(|one| (one.query, one)).collect();
        for (query, estimates) in &mut measured.queries {
            estimates.plan_change = plans.between(&pair, *query);
            let ratios = queries.remove(query).map(|one| (one.speed, one.cpu));
            (estimates.speed, estimates.cpu) = ratios.map_or((None, None), |(speed, cpu)| (Some(speed), cpu));
        }
        Some(measured)
    };
    (0..table.study.treatments.len()).filter_map(treatment).collect()
}

/// Baselines of each group, groups in study order.
pub fn baselines(table: &Executions<'_>, plans: &Plans) -> Vec<Baseline> {
    let of_group = |group: &str| {
        let at = table.study.treatments.iter().position(|treatment| treatment.group == group)?;
        let side = table.below(at);
        let noise = together(table, &[table.twins(&table.pair(at, at))]).pop().unwrap_or_default();
        Some(Baseline {
            group: group.to_owned(),
            twin: side.get(1).map(|at| table.study.treatments[*at].name.clone()),
            both: figures(table, plans, &side)?,
            noise: noise.speed,
            noise_geometric: noise.geometric,
        })
    };
    table.study.groups().into_iter().filter_map(of_group).collect()
}

/// A treatment's own figures without ratios, under the name of the first of these; for a baseline's two runs in a block
/// the mean. `None` without runs.
fn figures(table: &Executions<'_>, plans: &Plans, side: &[usize]) -> Option<TreatmentQueries> {
    let at = *side.first()?;
    let (treatment, blocks) = (&table.study.treatments[at], table.together(side));
    let total = |unit: &str, part: fn(&Total) -> Option<f64>| {
        table.geometric(side, unit, |cell| Some(part(&cell.total?)?.ln()))
    };
    let of_query = |query: &u8| Some((*query, of_query(table, plans, side, &blocks, *query)?));
    Some(TreatmentQueries {
        treatment: treatment.name.clone(),
        placement: treatment.placement.to_string(),
        dop: table.dop(at),
        streams: treatment.sessions,
        blocks: blocks.len() as u32,
        queries: table.numbers.iter().filter_map(of_query).collect(),
        total: TotalEstimates {
            elapsed_s: total("s", |total| Some(total.elapsed_s)),
            cpu_s: total("s", |total| total.cpu_s),
            queries_per_h: total("1/h", |total| Some(total.per_h())),
            ratios: Default::default(),
        },
        cores: core_seconds(table, &blocks),
    })
}

/// One query's own figures over blocks and, in each, over sides; `None` if it was not executed.
fn of_query(
    table: &Executions<'_>,
    plans: &Plans,
    side: &[usize],
    blocks: &[Vec<&BlockRun<'_>>],
    query: u8,
) -> Option<QueryEstimates> {
    let milliseconds = |quantity: Quantity| {
        geometric(&table.logs(side, |cell| cell.mean_log(query, quantity)), 1e-6, "ms", table.alpha)
    };
    let planning_ms = |cells: &Vec<&BlockRun<'_>>| {
        let all = cells.iter().flat_map(|cell| cell.executions(query));
        mean(all.filter_map(|one| Some(one.planning_ns? as f64 / 1e6)))
    };
    let planning_ms: Vec<f64> = blocks.iter().filter_map(planning_ms).collect();
    let all: Vec<&QueryExecution> = blocks.iter().flatten().flat_map(|cell| cell.executions(query)).collect();
    let dops = || all.iter().filter_map(|execution| execution.dop);
    let names: BTreeSet<&String> = all.iter().flat_map(|execution| execution.counters.keys()).collect();
    let counter = |name: &String| {
        let values = all.iter().map(|execution| execution.counters.get(name).copied().unwrap_or(0));
        mean(values.map(|value| value as f64)).unwrap_or(0.0)
    };
    let plan = plans.majority(side, query);
    Some(QueryEstimates {
        elapsed_ms: milliseconds(Quantity::Elapsed)?,
        planning_ms: arithmetic(&planning_ms, "ms", table.alpha),
        cpu_ms: milliseconds(Quantity::Cpu),
        speed: None,
        cpu: None,
        dop_min: dops().min(),
        dop_max: dops().max(),
        plan,
        plans_seen: plans.seen(side, query),
        plan_change: if plan.is_some() { Change::Same } else { Change::Unknown },
        counters: names.into_iter().map(|name| (name.clone(), counter(name))).collect(),
    })
}

/// All treatments: totals, ratios, CPU, core-seconds, plans; speed or throughput over DOP; totals without queries with
/// another plan.
pub fn section(found: QueryStudy<'_>) -> Section {
    let mut blocks: Vec<Block> =
        explained(found).into_iter().map(|text| Block::Text(text, Shown::Page)).collect();
    blocks.extend(over_dop(found));
    blocks.push(Block::Table(all(found)));
    blocks.extend(without_changed(found).map(Block::Table));
    blocks.extend(other_ratios(&found.facts).map(Block::Table));
    Section::new("table", "All treatments", blocks)
}

fn explained(found: QueryStudy<'_>) -> Vec<Prose> {
    let ratio = match found.queries.is_throughput {
        true => {
            "A ratio is queries per hour over those of the baseline: above 1 is more. Elapsed is the time from the common \
             start to the end of the last stream, planning included; query by query it is the execution alone."
        }
        false => {
            "A ratio is the elapsed time of the baseline over that of the treatment: above 1 is faster. A total is the sum \
             of the executions of a block, so long queries weigh most; in the geometric mean all weigh the same. Planning is \
             left out."
        }
    };
    let first = prose!(
        "{} The baseline's figures are of both of its runs in every block together, as ratios use them; the row below \
         compares its second run with its first: noise. Plans: how many of the {} have another plan than the \
         baseline's.",
        ratio,
        count_words(found.queries)
    );
    let data = data_words(found.queries).map(|words| prose!("Data: {}.", words));
    std::iter::once(first).chain(data).collect()
}

/// `1 query`, `22 queries`.
pub fn count_words(queries: &Queries) -> String {
    let count = queries.numbers.len();
    format!("{count} {}", if count == 1 { "query" } else { "queries" })
}

/// Speed or throughput over DOP, one chart per group: queries per hour of streams, else the geometric mean of speeds,
/// which is 1 for the baseline.
fn over_dop(found: QueryStudy<'_>) -> Vec<Block> {
    let value = |measured: &TreatmentQueries| {
        if found.queries.is_throughput {
            return measured.total.queries_per_h.clone();
        }
        let is_baseline = found.role(measured) == Role::Baseline && measured.blocks > 0;
        let (low, high) = (f64::NAN, f64::NAN);
        let one = is_baseline.then(|| Interval { mean: 1.0, low, high, unit: String::new() });
        measured.total.ratios.geometric.as_ref().map(Ratio::interval).or(one)
    };
    let (axis, unit, what, base) = match found.queries.is_throughput {
        true => ("queries per hour", "1/h", "Queries per hour", ""),
        false => {
            let what = "Geometric mean of the queries' speeds";
            ("geometric mean of speeds", "ratio", what, " The baseline is 1.")
        }
    };
    let level = set_percent(found.facts.level());
    let words = OverDop {
        title: "Degree of parallelism",
        description: format!(
            "{what} at each DOP, with {level} intervals over blocks; a line is a placement.{base}"
        ),
        axis,
        column: axis,
        unit: (1.0, unit),
    };
    found.over_dop(&words, value)
}

fn all(found: QueryStudy<'_>) -> Table {
    let part = |members: Vec<&TreatmentQueries>| {
        Table::headed("", members.into_iter().map(|measured| row(found, measured)))
    };
    let parts = found.by_group().into_iter().map(|(group, members)| (group, part(members)));
    by_group(&found.facts, parts)
}

/// A treatment, in the columns that have any figures in a study. A terminal shows figures without interval if there is
/// no room for it.
fn row(found: QueryStudy<'_>, measured: &TreatmentQueries) -> Vec<(Column, Cell)> {
    let (total, ratios, per_hour) = (&measured.total, &measured.total.ratios, found.queries.is_throughput);
    let narrow = |name: &str| Column::figure(name).shown(Shown::Terminal);
    let wide = |name: &str| Column::figure(name).shown(Shown::Page);
    let (total_name, ratio_name) = if per_hour { ("elapsed", "ratio") } else { ("total", "ratio of totals") };
    let label = found.label(&measured.treatment);
    // `all d4` on `all` says it.
    let is_said = label.split(' ').any(|word| word == measured.placement);
    let place = if is_said { "" } else { measured.placement.as_str() };
    // A twin's own figures are included in those of the baseline.
    let role = found.role(measured);
    let twin = found.baseline(measured).filter(|_| role == Role::BaselineTwin);
    let unless_twin = |cell: Cell| if twin.is_some() { Cell::none() } else { cell };
    let elapsed = |cell: Cell| if twin.is_some() { Cell::text("noise") } else { cell };
    let [speed, mean] = match (twin, role) {
        (Some(base), _) => [&base.noise, &base.noise_geometric].map(|ratio| bare(ratio.as_ref())),
        (None, Role::Baseline) => [Cell::text("baseline"), Cell::none()],
        (None, _) => [&ratios.speed, &ratios.geometric].map(|ratio| speed(ratio.as_ref())),
    };
    let cpu = ratios.cpu.as_ref().map(|cpu| Cell::Value { value: cpu.value, unit: "ratio" });
    let cores = measured.cores.as_ref().map(|cores| (cores.core_low_s, cores.core_high_s));
    let cores = cores.map(|(low, high)| Cell::Bounds { low, high, unit: "s" });
    let is_unknown = measured.queries.values().all(|query| query.plan_change == Change::Unknown);
    let plans = Some(measured.plans_changed().len() as u64).filter(|_| role == Role::Compared && !is_unknown);
    let runs = found.facts.summary(&measured.treatment).map(|summary| Cell::text(runs_words(&[summary])));
    let has_dop = found.any(|measured| measured.dop.is_some());
    let has_streams = found.any(|measured| measured.streams != 1);
    let has_cpu = found.any(|measured| measured.total.ratios.cpu.is_some());
    let has_cores = found.any(|measured| measured.cores.is_some());
    let dop = measured.dop.map(|dop| Cell::Count(dop.into()));
    let of_mean = Column::text("geo. mean").shorten_at(1).drop_at(if per_hour { 1 } else { 5 });
    let all = [
        (true, Column::text("treatment").shorten_at(2), Cell::named(&label, place)),
        (has_dop, Column::figure("DOP"), or_none(dop)),
        (has_streams, Column::figure("streams"), Cell::Count(measured.streams.into())),
        (true, narrow(total_name), elapsed(Cell::mean(total.elapsed_s.as_ref()))),
        (true, wide(total_name), elapsed(Cell::interval(total.elapsed_s.as_ref()))),
        (per_hour, Column::figure("queries/h"), unless_twin(Cell::mean(total.queries_per_h.as_ref()))),
        (true, Column::text(ratio_name).shorten_at(4), speed),
        (true, of_mean, mean),
        (has_cpu, wide("CPU time"), unless_twin(Cell::mean(total.cpu_s.as_ref()))),
        (has_cpu, narrow("CPU").drop_at(6), unless_twin(or_none(cpu))),
        (has_cpu, wide("CPU ratio").drop_at(6), unless_twin(bare(ratios.cpu.as_ref()))),
        (has_cores, Column::figure("core-s").drop_at(5), unless_twin(or_none(cores))),
        (true, Column::figure("plans").drop_at(6), or_none(plans.map(Cell::Count))),
        (true, Column::figure("runs").drop_at(3), or_none(runs)),
    ];
    all.into_iter().filter(|(is_used, ..)| *is_used).map(|(_, column, cell)| (column, cell)).collect()
}

/// Totals and geometric means without the queries whose plan changed; `None` if none did.
fn without_changed(found: QueryStudy<'_>) -> Option<Table> {
    let row = |measured: &TreatmentQueries| {
        let ratios = &measured.total.ratios;
        let total = speed(Some(ratios.speed_same_plans.as_ref()?));
        Some(vec![
            (Column::text("treatment"), Cell::text(&measured.treatment)),
            (Column::text("ratio of totals").shorten_at(2), total),
            (Column::text("geo. mean").shorten_at(1), speed(ratios.geometric_same_plans.as_ref())),
        ])
    };
    let names = query_names(found.queries.changed());
    let caption = prose!("Without {}, whose plan differs in a treatment", names);
    let table = Table::headed(caption, found.queries.treatments.iter().filter_map(row));
    (!table.rows.is_empty()).then_some(table)
}

/// Query by query: bars, ratios of all treatments, and each treatment's times, plans and counters.
pub fn by_query_section(found: QueryStudy<'_>) -> Section {
    let level = set_percent(found.facts.level());
    let groups = found.by_group().into_iter();
    let figures = groups.filter_map(|(group, members)| {
        let has_ratio = |one: &&TreatmentQueries| {
            one.total.ratios.speed.is_some() || one.queries.values().any(|query| query.speed.is_some())
        };
        let others: Vec<&TreatmentQueries> = members.iter().copied().filter(has_ratio).collect();
        let panels = others.iter().map(|measured| panel(found, measured)).collect();
        let figure = || Figure {
            chart: Chart::Bars(BarChart { group: group.to_owned(), panels }),
            wide: true,
            title: found.facts.titled("Speed of each query against the baseline", group),
            description: format!(
                "One panel per treatment, one bar per query, from 1 upwards if it is faster and downwards if it is \
                 slower, with {level} intervals. A full bar is an effect, a pale one is not, and intervals of full \
                 bars are adjusted for selection; the grey band is the query's noise floor. Striped and {PLAN_SIGN}: \
                 the plan differs from the baseline's. The dashed line is the geometric mean."
            ),
            table: ratios_table(found, group, &members, &others),
        };
        (!others.is_empty()).then(|| Block::Figure(Box::new(figure())))
    });
    let folds = found.measured().into_iter().map(|measured| Block::Fold(fold(found, measured)));
    Section::new("queries", "Query by query", figures.chain(folds).collect())
}

fn panel(found: QueryStudy<'_>, measured: &TreatmentQueries) -> Panel {
    let bar = |(number, query): (&u8, &QueryEstimates)| -> Option<Bar> {
        let speed = query.speed.as_ref()?;
        let (low, high) = ends(speed.low, speed.high);
        let effect = u8::from(!speed.is_same() && speed.is_different());
        let changed = u8::from(query.plan_change == Change::Different);
        Some((*number, end(speed.value)?, low, high, effect, changed, speed.floor.and_then(end)))
    };
    let mean = measured.total.ratios.geometric.as_ref().filter(|mean| mean.value.is_finite());
    Panel {
        name: found.label(&measured.treatment),
        about: about(measured),
        mean: mean.map(|mean| {
            let (low, high) = ends(mean.low, mean.high);
            (rounded(mean.value), low, high)
        }),
        bars: measured.queries.iter().filter_map(bar).collect(),
    }
}

/// Ratios, one row per query and one column per treatment. With little room those of the highest DOP times streams stay
/// longest.
fn ratios_table(
    found: QueryStudy<'_>,
    group: &str,
    members: &[&TreatmentQueries],
    others: &[&TreatmentQueries],
) -> Table {
    let baseline = members.iter().find(|measured| found.role(measured) == Role::Baseline);
    // Order in which treatments' columns go: the lowest DOP times streams first, the highest never. Step 1 shortens the
    // cells.
    let size = |one: &TreatmentQueries| u64::from(one.dop.unwrap_or(u32::MAX)) * u64::from(one.streams);
    let rank = |at: usize| {
        let key = |other: usize| (Reverse(size(others[other])), other);
        (0..others.len()).filter(|other| key(*other) < key(at)).count()
    };
    let step = |at: usize| match rank(at) {
        0 => 0,
        rank => u8::try_from(others.len() - rank + 1).unwrap_or(u8::MAX),
    };
    let last = (0..others.len()).map(step).max().map_or(2, |step| step.saturating_add(1));
    let line = |name: String, elapsed: Option<&Interval>, cell: &dyn Fn(&TreatmentQueries) -> Cell| {
        let elapsed =
            baseline.map(|_| (Column::figure("baseline").drop_at(last), milliseconds(elapsed, Cell::Mean)));
        let others = others.iter().enumerate().map(|(at, one)| {
            (Column::text(found.label(&one.treatment)).shorten_at(1).drop_at(step(at)), cell(one))
        });
        [(Column::text("query"), Cell::text(name))].into_iter().chain(elapsed).chain(others).collect()
    };
    let of_query = |number: &u8| {
        let elapsed = baseline.and_then(|measured| Some(&measured.queries.get(number)?.elapsed_ms));
        line(query_name(*number), elapsed, &|measured| {
            let query = measured.queries.get(number);
            or_none(query.map(|query| with_sign(speed(query.speed.as_ref()), query.plan_change)))
        })
    };
    let mut rows: Vec<Vec<(Column, Cell)>> = found.queries.numbers.iter().map(of_query).collect();
    rows.push(line("totals".to_owned(), None, &|one| speed(one.total.ratios.speed.as_ref())));
    rows.push(line("geo. mean".to_owned(), None, &|one| speed(one.total.ratios.geometric.as_ref())));
    let is_any = others.iter().any(|measured| !measured.plans_changed().is_empty());
    let sign = if is_any { format!("; {PLAN_SIGN}: another plan") } else { String::new() };
    let (against, place) = (found.facts.baseline_label(group), place(&found.facts, group));
    let caption = prose!("Query by query, speed against {}{}{}", against, place, sign);
    Table {
        when_narrow: prose!("The treatments of the highest DOP; all of them: HTML report, --json."),
        ..Table::headed(caption, rows)
    }
}

/// One treatment, query by query.
fn fold(found: QueryStudy<'_>, measured: &TreatmentQueries) -> Fold {
    let is_base = found.role(measured) != Role::Compared;
    let plan = |query: &QueryEstimates| {
        let others = if_any(" and ", query.plans_seen.saturating_sub(1) as usize, " more");
        Some(Cell::text(format!("{}{others}", found.queries.plans.get(query.plan?)?.name)))
    };
    let dop = |query: &QueryEstimates| match query.dop_min.zip(query.dop_max)? {
        (least, most) if least == most => Some(Cell::Count(least.into())),
        (least, most) => Some(Cell::text(format!("{least}–{most}"))),
    };
    let counter = |query: &QueryEstimates, name: &str| {
        or_none(query.counters.get(name).map(|bytes| Cell::Value { value: bytes.max(0.0), unit: "bytes" }))
    };
    let row = |(number, query): (&u8, &QueryEstimates)| {
        let change = match query.plan_change {
            Change::Unknown => "unknown",
            Change::Same => "the same",
            Change::ParallelOnly => "same, run in parallel",
            Change::Different => "another plan",
        };
        vec![
            (Column::text("query"), Cell::text(query_name(*number))),
            (Column::figure("elapsed"), milliseconds(Some(&query.elapsed_ms), Cell::Interval)),
            (Column::figure("planning"), milliseconds(query.planning_ms.as_ref(), Cell::Mean)),
            (Column::figure("CPU"), milliseconds(query.cpu_ms.as_ref(), Cell::Mean)),
            (Column::figure("DOP seen"), or_none(dop(query))),
            (Column::text("speed"), speed(query.speed.as_ref())),
            (Column::text("CPU ratio"), bare(query.cpu.as_ref())),
            (Column::text("plan"), or_none(plan(query))),
            (Column::text("plan is"), if is_base { Cell::none() } else { Cell::text(change) }),
            (Column::figure("read"), counter(query, "read_bytes")),
            (Column::figure("spilled"), counter(query, "spill_bytes")),
        ]
    };
    let group = found.facts.group_words(found.facts.group_of(&measured.treatment));
    let name = format!("{} {group}", found.label(&measured.treatment));
    let both = if is_base { " · the baseline: both of its runs in every block" } else { "" };
    let changed = query_names(measured.plans_changed());
    let changed = if changed.is_empty() { changed } else { format!(" · other plans: {changed}") };
    Fold {
        above: "Each treatment: elapsed, planning, CPU, plans",
        title: format!("{} · {}{both}{changed}", name.trim_end(), about(measured)),
        tables: vec![Table::headed("", measured.queries.iter().map(row))],
        ..Fold::default()
    }
}

fn milliseconds(value: Option<&Interval>, cell: fn(Interval) -> Cell) -> Cell {
    or_none(value.map(|value| cell(value.scaled(1e6, "ns"))))
}
