//! A fleet as a document: the answer first, then comparisons by kind with a dot for each machine, rates and rates per
//! price, machines, absent studies, and the method.

use super::verdict::{FASTEST, differs_in, half, odd_in, other_work, range, studies, verdict};
use super::{
    Absent, Basis, Between, Fleet, Judged, JudgedRow, Kind, LEVEL, MIN_MACHINES, OnKind,
    RECOMMENDED_MACHINES, Unlike,
};
use crate::document::first_figure;
use crate::sections::cells::columns;
use crate::{Interval, Ratio};
use threadwise_document::chart::{RatioChart, RatioRow};
use threadwise_document::numbers::{self, counted, p_value, percent, set_number, set_percent};
use threadwise_document::{
    Block, Cell, Chart, Column, Document, Fact, Figure, Mark, Prose, Row, Says, Section, Shown, Table, prose,
};

/// Most comparisons that are drawn; tables have all.
const MAX_CHARTS: usize = 6;

/// The report of a fleet.
pub fn document(fleet: &Fleet, judged: &Judged, program_version: &str) -> Document {
    let sum = |count: fn(&Kind) -> u32| judged.kinds.iter().map(count).sum::<u32>() as usize;
    let [machines, boots, measured] =
        [sum(|kind| kind.machines), sum(|kind| kind.boots), sum(|kind| kind.studies)];
    let of_kinds = judged.kinds.iter().map(|kind| format!("{} of {}", kind.machines, kind.name));
    let fact =
        |name: &str, value: String, note: &str| Fact { name: name.to_owned(), value, note: note.to_owned() };
    let kinds = counted(judged.kinds.len(), "kind");
    let about = format!(
        "{} of {kinds}, {}, {}",
        counted(machines, "machine"),
        counted(boots, "boot"),
        studies(measured)
    );
    let charts = (!judged.comparisons.is_empty()).then(|| charts(judged));
    // The answer is by the first comparison, and so is its picture.
    let picture = charts.as_ref().and_then(|section| first_figure(std::slice::from_ref(section)));
    let sections = [
        Some(comparisons(judged)),
        charts,
        rates(judged),
        Some(machines_section(judged)),
        absent(judged),
        Some(method(judged)),
    ];
    Document {
        title: if fleet.title.is_empty() { format!("Fleet: {}", fleet.study) } else { fleet.title.clone() },
        about: vec![format!("study {}", fleet.study), about],
        simulated: judged.simulated,
        verdict: verdict(judged),
        picture,
        facts: vec![
            fact("machines", machines.to_string(), &of_kinds.collect::<Vec<_>>().join(", ")),
            fact("studies", measured.to_string(), &counted(boots, "boot")),
            fact("absent", judged.absent.len().to_string(), "planned studies without a result"),
            fact("margin", set_percent(judged.margin), "what is too small to matter"),
        ],
        sections: sections.into_iter().flatten().collect(),
        footer: format!("threadwise {program_version}"),
        ..Document::default()
    }
}

/// One row per comparison or rate, one column per kind.
fn by_kind(
    judged: &Judged,
    caption: impl Into<Prose>,
    what: &str,
    rows: &[JudgedRow],
    cell: impl Fn(&OnKind, &Kind) -> Cell,
) -> Table {
    let lines = rows.iter().map(|row| {
        let cells = row.cells.iter().zip(&judged.kinds).map(|(one, kind)| match row.name.is_empty() {
            // For the fastest of each kind the treatment is named.
            true if !one.treatment.is_empty() => {
                let treatment = Cell::Text(format!("({})", one.treatment));
                Cell::Both(Box::new(cell(one, kind)), Box::new(treatment))
            }
            _ => cell(one, kind),
        });
        std::iter::once(Cell::text(name(row))).chain(cells).collect()
    });
    let heading = |kind: &Kind| match what {
        "comparison" => format!("{}, {}", kind.name, counted(kind.machines as usize, "machine")),
        _ => kind.name.clone(),
    };
    let kinds = judged.kinds.iter().map(|kind| Column::text(heading(kind)).shorten_at(1));
    Table::new(caption, std::iter::once(Column::text(what)).chain(kinds).collect(), lines)
}

fn name(row: &JudgedRow) -> &str {
    if row.name.is_empty() { FASTEST } else { &row.name }
}

fn gap(one: &OnKind) -> Cell {
    Cell::Gap(one.reason.clone().unwrap_or_default())
}

/// Ratios between kinds, row by row; `None` if no two kinds have intervals.
fn between_kinds(
    caption: &str,
    what: &str,
    rows: &[JudgedRow],
    between: fn(&JudgedRow) -> &[Between],
) -> Option<Block> {
    let ends = |ratio: &Ratio| [ratio.adjusted_low, ratio.adjusted_high].map(numbers::ratio).join(", ");
    let table = Table::of(
        caption,
        rows.iter().flat_map(|row| between(row).iter().map(move |one| (row, one))),
        &[
            (Column::text(what), &|(row, _)| Cell::text(name(row))),
            (Column::text("kinds"), &|(_, one)| Cell::Text(format!("{} / {}", one.kind, one.other))),
            (Column::text("ratio of means").shorten_at(1), &|(_, one)| {
                Cell::Ratio(one.ratio.clone(), Says::Higher)
            }),
            (Column::text("adjusted, which decides").drop_at(2), &|(_, one)| {
                Cell::Text(format!("[{}]", ends(&one.ratio)))
            }),
        ],
    );
    let table = if what == "comparison" { table } else { table.shown(Shown::Page) };
    table.filled().map(Block::Table)
}

/// Comparisons: means of kinds, predictions for the next machine, kinds against each other, and sources of the spread.
fn comparisons(judged: &Judged) -> Section {
    let rows = &judged.comparisons;
    let section = |blocks| Section::new("comparisons", "Comparisons by kind of machine", blocks);
    if rows.is_empty() {
        return section(vec![Block::text("No study has a usable comparison.")]);
    }
    let mean = |one: &OnKind, kind: &Kind| match &one.ratio {
        Some(ratio) => {
            let (cell, count) = (Cell::Ratio(ratio.clone(), Says::Higher), one.machines.len());
            match count == kind.machines as usize {
                true => cell,
                false => Cell::Both(Box::new(cell), Box::new(Cell::Text(format!("({count})")))),
            }
        }
        None if one.machines.is_empty() => gap(one),
        // With one or two machines, their points.
        None => {
            let points = one.machines.iter().map(|machine| numbers::value(machine.value, "ratio"));
            Cell::Text(points.collect::<Vec<_>>().join(" and "))
        }
    };
    let caption = "Mean of the kind, with its interval over machines";
    let mut blocks = vec![Block::Table(by_kind(judged, caption, "comparison", rows, mean))];
    if rows.iter().flat_map(|row| &row.cells).any(|one| one.next_machine.is_some()) {
        let next = |one: &OnKind, _: &Kind| match &one.next_machine {
            Some(range) => Cell::Bounds { low: range.low, high: range.high, unit: "ratio" },
            None => gap(one),
        };
        let caption = "What the next machine of the kind will measure";
        blocks.push(Block::Table(by_kind(judged, caption, "comparison", rows, next)));
        blocks.push(Block::text(
            "Next machine: with as many boots and repeats as these had, averaged. A single study there varies more, \
             and the machine's true value less.",
        ));
    }
    blocks.push(Block::Legend(Mark::ALL.into_iter().map(Prose::sign).collect(), Shown::Terminal));
    blocks.extend(between_kinds("Kinds against each other", "comparison", rows, |row| &row.between));
    blocks.extend(spread(judged).map(Block::Table));
    section(blocks)
}

/// Sources of the spread, and what would narrow intervals; on the page only.
fn spread(judged: &Judged) -> Option<Table> {
    let mut rows = Vec::new();
    for comparison in &judged.comparisons {
        let known = comparison.cells.iter().filter_map(|one| Some((one, one.spread.as_ref()?)));
        let lines: Vec<Row> = known
            .map(|(one, spread)| {
                let sds = spread.components.iter();
                let sds = sds.map(|part| format!("{} {}", part.levels.join(" and "), percent(part.sd)));
                let half = |width: Option<f64>| {
                    width.map_or_else(Cell::none, |width| Cell::Text(half(width).to_string()))
                };
                let machines = spread.machines_for_margin.map_or_else(Cell::none, |needed| {
                    Cell::Text(format!("{} ({} to {})", needed.about, needed.least, needed.most))
                });
                Row::Cells(vec![
                    Cell::text(&one.kind),
                    Cell::Text(sds.collect::<Vec<_>>().join(", ")),
                    half(Some(spread.half_width)),
                    half(Some(spread.with_twice_the_machines)),
                    half(spread.with_twice_the_boots),
                    half(spread.with_twice_the_repeats),
                    machines,
                ])
            })
            .collect();
        if !lines.is_empty() {
            rows.push(Row::Group(comparison.name.clone()));
            rows.extend(lines);
        }
    }
    let figures =
        ["interval", "twice the machines", "twice the boots", "twice the repeats", "machines for the margin"];
    let caption = "Where the spread comes from, and about what would narrow the interval";
    let columns = columns(&["kind", "standard deviations"], &figures);
    Table { rows, ..Table::new(caption, columns, []) }.shown(Shown::Page).filled()
}

/// One chart per comparison, with a dot for each machine, by kind, below the kind's mean and the prediction for the
/// next machine.
fn charts(judged: &Judged) -> Section {
    let simulated = if judged.simulated { "SIMULATED · " } else { "" };
    let margin = 1.0 + judged.margin;
    let figure = |comparison: &JudgedRow| Figure {
        wide: false,
        title: format!("{simulated}{}", comparison.name),
        description: format!(
            "A dot for each machine. Above the machines of a kind are its mean with the interval over machines, and \
             the interval of what the next machine will measure. The band around 1 is the margin, ±{}.",
            set_percent(judged.margin)
        ),
        table: by_machine(comparison),
        chart: Chart::Ratios(RatioChart {
            group: comparison.name.clone(),
            what: Some("ratio".to_owned()),
            margin_low: margin.recip(),
            margin_high: margin,
            rows: comparison.cells.iter().flat_map(dots).collect(),
        }),
    };
    let drawn = judged.comparisons.iter().take(MAX_CHARTS);
    let figures = drawn.map(|comparison| Block::Figure(Box::new(figure(comparison))));
    Section::new("machines-by-kind", "Machine by machine", figures.collect())
}

/// The rows of a kind: mean, next machine, machines.
fn dots(one: &OnKind) -> Vec<RatioRow> {
    let machines = one.machines.iter().map(|machine| RatioRow {
        label: machine.node.clone(),
        against: one.kind.clone(),
        value: machine.value,
        low: machine.value,
        high: machine.value,
        mark: "one machine",
        is_different: true,
        figures: format!("{}, {}", numbers::value(machine.value, "ratio"), studies(machine.studies as usize)),
    });
    let Some(ratio) = &one.ratio else { return machines.collect() };
    let against = format!("mean of {}", counted(one.machines.len(), "machine"));
    let mean = RatioRow::new(one.kind.clone(), against, ratio, Says::Higher);
    let next = one.next_machine.map(|next| RatioRow {
        against: "next machine".to_owned(),
        low: next.low,
        high: next.high,
        mark: "prediction for as many boots and repeats",
        is_different: false,
        figures: range(&next).to_string(),
        ..mean.clone()
    });
    [mean].into_iter().chain(next).chain(machines).collect()
}

fn by_machine(comparison: &JudgedRow) -> Table {
    let all = comparison.cells.iter().flat_map(|one| one.machines.iter().map(move |machine| (one, machine)));
    let table = Table::of(
        &comparison.name,
        all,
        &[
            (Column::text("kind"), &|(one, _)| Cell::text(&one.kind)),
            (Column::text("machine"), &|(_, machine)| Cell::text(&machine.node)),
            (Column::figure("boots"), &|(_, machine)| Cell::count(machine.boots)),
            (Column::figure("studies"), &|(_, machine)| Cell::count(machine.studies)),
            (Column::figure("ratio"), &|(_, machine)| Cell::value(machine.value, "ratio")),
        ],
    );
    table.shown(Shown::Page)
}

/// Rates and rates per price; `None` if no study has a rate.
fn rates(judged: &Judged) -> Option<Section> {
    let mut blocks: Vec<Block> = other_work(judged).into_iter().map(Block::text).collect();
    if let Some(first) = judged.rates.first() {
        let cell = |one: &OnKind, _: &Kind| rate(one, one.rate.as_ref());
        let caption = format!("Rates, {}", first.unit);
        blocks.push(Block::Table(by_kind(judged, caption, "treatment", &judged.rates, cell)));
        let caption = "Rates of kinds against each other";
        blocks.extend(between_kinds(caption, "rate", &judged.rates, |row| &row.between));
        blocks.extend(prices(judged, first));
    }
    (!blocks.is_empty()).then(|| Section::new("rates", "Rates by kind of machine", blocks))
}

fn rate(one: &OnKind, rate: Option<&Interval>) -> Cell {
    match rate {
        Some(interval) if interval.has_ends() => Cell::Interval(interval.clone()),
        Some(interval) => Cell::Mean(interval.clone()),
        None => gap(one),
    }
}

/// What a unit of the currency buys, with the source of its prices.
fn prices(judged: &Judged, first: &JudgedRow) -> Vec<Block> {
    let priced = judged.kinds.iter().filter_map(|kind| Some((&kind.name, kind.price.as_ref()?)));
    let sources = priced.clone().map(|(kind, price)| {
        let amount = set_number(price.amount);
        format!("{kind} {amount} {} per hour ({}, {})", price.currency, price.date, price.source)
    });
    let mut currencies: Vec<&str> = priced.map(|(_, price)| price.currency.as_str()).collect();
    currencies.dedup();
    let per = match currencies.as_slice() {
        [] => return Vec::new(),
        [one] => one,
        _ => "unit of each kind's currency",
    };
    let counted = first.unit.strip_suffix("/s").unwrap_or(&first.unit);
    let cell = |one: &OnKind, _: &Kind| match one.per_price.as_ref() {
        None if one.rate.is_some() => Cell::Gap("no price".to_owned()),
        per_price => rate(one, per_price),
    };
    let caption = format!("Rates per price, {counted} per {per}");
    let mut blocks = vec![Block::Table(by_kind(judged, caption, "treatment", &judged.rates, cell))];
    let caption = "Rates per price of kinds against each other";
    blocks.extend(between_kinds(caption, "per price", &judged.rates, |row| &row.between_per_price));
    let sources = sources.collect::<Vec<_>>().join("; ");
    blocks.push(Block::text(prose!("Prices as the user gave them: {}.", sources)));
    blocks
}

/// Kinds with their machines, odd machines, and differences between machines of a kind.
fn machines_section(judged: &Judged) -> Section {
    let says = |kind: &&Kind| match kind.basis {
        Basis::None => "not measured",
        Basis::OneMachine => "nothing about other machines",
        Basis::TwoMachines => "points, no verdict",
        Basis::Intervals => "intervals",
    };
    let kinds = Table::of(
        "Machines by kind",
        &judged.kinds,
        &[
            (Column::text("kind"), &|kind| Cell::text(&kind.name)),
            (Column::figure("planned"), &|kind| match kind.machines_planned {
                0 => Cell::none(),
                planned => Cell::count(planned),
            }),
            (Column::figure("machines"), &|kind| Cell::count(kind.machines)),
            (Column::figure("boots"), &|kind| Cell::count(kind.boots)),
            (Column::figure("studies"), &|kind| Cell::count(kind.studies)),
            (Column::text("what it shows"), &|kind| Cell::text(says(kind))),
        ],
    );
    let odd = Table::of(
        "Odd machines, which stay in all figures",
        &judged.odd_machines,
        &[
            (Column::text("kind"), &|odd| Cell::text(&odd.kind)),
            (Column::text("machine"), &|odd| Cell::text(&odd.node)),
            (Column::text("in"), &|odd| Cell::text(odd_in(odd))),
            (Column::text("over the others"), &|odd| Cell::Text(numbers::value(odd.over_others, "ratio"))),
            (Column::text("adjusted p"), &|odd| Cell::Text(p_value(odd.adjusted_p))),
            (Column::text("it differs in"), &|odd| {
                Cell::Text(differs_in(odd).unwrap_or_else(|| "nothing known".to_owned()))
            }),
        ],
    );
    let values = |unlike: &&Unlike| {
        let values = unlike.values.iter().map(|one| format!("{} ({})", one.value, one.nodes.join(", ")));
        Cell::Text(values.collect::<Vec<_>>().join("; "))
    };
    let unlike = Table::of(
        "Machines of one kind that differ",
        &judged.unlike,
        &[
            (Column::text("kind"), &|unlike| Cell::text(&unlike.kind)),
            (Column::text("differs in"), &|unlike| Cell::text(&unlike.name)),
            (Column::text("values"), &values),
        ],
    );
    let tables = [Some(kinds), odd.filled(), unlike.shown(Shown::Page).filled()];
    Section::new("kinds", "Machines", tables.into_iter().flatten().map(Block::Table).collect())
}

/// Planned studies without a result, one row per kind and reason; `None` without any.
fn absent(judged: &Judged) -> Option<Section> {
    let which = |absent: &[Absent]| {
        let each = absent.iter().map(|one| {
            let node = if one.node.is_empty() { "a machine of the pool" } else { &one.node };
            let why = if one.why.is_empty() { String::new() } else { format!(": {}", one.why) };
            format!("{node} repeat {}{why}", one.repeat)
        });
        each.collect::<Vec<_>>().join("; ")
    };
    let title = "Planned studies without a result";
    let table = Table::of(
        title,
        judged.absent.chunk_by(|one, other| (&one.kind, one.reason) == (&other.kind, other.reason)),
        &[
            (Column::text("kind"), &|absent| Cell::text(&absent[0].kind)),
            (Column::text("reason"), &|absent| Cell::text(absent[0].reason.word())),
            (Column::figure("studies"), &|absent| Cell::Count(absent.len() as u64)),
            (Column::text("which"), &|absent| Cell::Text(which(absent))),
        ],
    );
    Some(Section::new("absent", title, vec![Block::Table(table.filled()?)]))
}

/// The method, in a few lines.
fn method(judged: &Judged) -> Section {
    let level = set_percent(LEVEL);
    let unit: Prose = prose!(
        "A machine is one number: the mean over its boots of the mean of each boot's studies, in logarithms. \
         Intervals are Student's t over machines at {}, with at least {} machines of a kind; {} are recommended.",
        level,
        MIN_MACHINES,
        RECOMMENDED_MACHINES
    );
    let questions: Prose = prose!(
        "Two questions have two intervals. Mean of the kind: where the mean of all machines of the kind lies (t · s / \
         √k). Next machine: what as many boots and repeats on one more machine will measure (t · s · √(1 + 1/k)). A \
         single study there varies more than that, and the machine's true value less."
    );
    let families: Prose = prose!(
        "Kinds are compared by Welch's t on machine means, with fewer degrees of freedom if one kind has fewer \
         machines. Comparisons against 1, comparisons between kinds, and rates between kinds are three families, \
         adjusted by Holm, each at {}. Margin {}: what lies within it counts as the same.",
        set_percent((1.0 - LEVEL) / 2.0),
        set_percent(judged.margin)
    );
    let odd: Prose = prose!(
        "A machine is called odd if it is farther from the others of its kind than chance would explain in {} of \
         fleets (Grubbs, over all machines and comparisons), with at least four machines. It is kept in all figures.",
        set_percent(1.0 - LEVEL)
    );
    let blocks = [unit, questions, families, odd].map(Block::text);
    Section::new("method", "How it is judged", blocks.into())
}
