//! Where slices ran: states of logical CPUs by treatment, the strip over time, stretches, and the cost of the looks.

use super::cells::columns;
use crate::Facts;
use crate::looks::prevalence::COST_SHARE;
use crate::looks::states::LookState;
use crate::looks::strip::strip;
use crate::looks::words::{meaning, name, windows};
use crate::looks::{Coverage, CpuShares, Looks, TreatmentLooks};
use std::collections::BTreeSet;
use threadwise_document::numbers::{counted, cpu_list, grouped, nanoseconds, percent, seconds, set_percent};
use threadwise_document::{
    Block, Cell, Chart, Column, Figure, Interval, Prose, Section, Shown, Strip, Table, prose,
};
use threadwise_machine::CpuSet;
use threadwise_study::{Moment, NoteCode};

/// Words of `threadwise watch` for a logical CPU, and their headings.
const CPU_WORDS: [(&str, &str); 7] = [
    ("alone", "alone"),
    ("one-core", "one core"),
    ("neighbour", "neighbour"),
    ("slowed", "slowed"),
    ("apart", "apart"),
    ("away", "away"),
    ("unknown", "unknown"),
];

/// The section; `None` without looks.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let looks = facts.analysis.looks.as_ref()?;
    let mut blocks = vec![Block::Text(cost(looks), Shown::Everywhere)];
    blocks.extend(limits(facts, looks).into_iter().map(|line| Block::Text(line, Shown::Everywhere)));
    blocks.push(Block::Table(treatments(facts, looks)));
    blocks.push(Block::Legend(legend(facts, looks), Shown::Everywhere));
    blocks.extend(strip(facts).map(|strip| Block::Figure(Box::new(figure(facts, looks, strip)))));
    let tables = [by_cpu(looks), stretches(looks), transitions(looks), distances(facts, looks)];
    blocks.extend(tables.into_iter().flatten().map(|table| Block::Table(table.shown(Shown::Page))));
    blocks.extend(one_distance(looks).map(|line| Block::Text(line, Shown::Page)));
    blocks.extend(no_ratios(looks).map(|line| Block::Text(line, Shown::Page)));
    let title = if facts.study.runs_whole() { "Where runs ran" } else { "Where slices ran" };
    Some(Section::new("looks", title, blocks))
}

/// That there were no looks, and why; `None` if there were.
pub fn gap(facts: &Facts<'_>) -> Option<Prose> {
    let slices = slices(facts);
    if facts.analysis.looks.is_some() {
        return None;
    }
    let noted = facts.notes.iter().find(|note| note.code == NoteCode::NoLooks);
    Some(match noted {
        _ if facts.is_simulated() => prose!("Where {} ran: nowhere, they are from a model.", slices),
        Some(note) => {
            let why = note.text.strip_prefix(AT).unwrap_or(&note.text).trim().trim_end_matches('.');
            prose!("Where {} ran is unknown: {}.", slices, why)
        }
        None => prose!(
            "Where {} ran is unknown: the file has no looks around them (--no-probe leaves them out, and files of \
             earlier versions have none).",
            slices
        ),
    })
}

/// How a note of why there are no looks begins, which the sentence says itself.
const AT: &str = "no looks at where slices ran:";

/// What the study's measured windows are called.
fn slices(facts: &Facts<'_>) -> &'static str {
    windows(facts.study)
}

/// Why there are no ratios by state if slices are long.
fn no_ratios(looks: &Looks) -> Option<Prose> {
    (looks.moment == Moment::During).then(|| {
        "There are no ratios by state: what a look sees during a run came after the run's treatment began, and may be \
         its effect."
            .into()
    })
}

/// Cost of the looks.
fn cost(looks: &Looks) -> Prose {
    let cpus: CpuSet = looks.cpus.iter().copied().collect();
    let what = if cpus.len() == 1 { "logical CPU" } else { "logical CPUs" };
    let share = looks.cost_share.map_or_else(|| "an unknown share".to_owned(), percent);
    let each_time = match looks.coverage.is_whole() {
        true => String::new(),
        false => format!(", {} each time,", looks.coverage.looked_at),
    };
    let mut text = prose!(
        "{} at {} {}{} took {} of the measured time, including waiting for each other ({} each, median)",
        counted_grouped(looks.taken.all(), "look"),
        what,
        cpu_list(&cpus),
        each_time,
        Prose::figure(share),
        Prose::figure(nanoseconds(looks.took_ns_p50)),
    );
    if looks.cost_share.is_some_and(|share| share > COST_SHARE) {
        text.push(prose!(": more than the {} allowed for them", set_percent(COST_SHARE)));
    }
    text.push(".");
    text
}

/// `1,280 looks`.
fn counted_grouped(count: u32, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count.into()), if count == 1 { "" } else { "s" })
}

/// What these looks cannot show, or may have wrong.
fn limits(facts: &Facts<'_>, looks: &Looks) -> Vec<Prose> {
    let mut lines: Vec<Prose> = not_whole(looks).into_iter().collect();
    if looks.cpus.len() == 1 {
        lines.push(prose!(
            "With one logical CPU there is no other that it could share its core with: it was alone or had a neighbour."
        ));
    }
    if !looks.widths_known {
        lines.push(prose!(
            "Neighbours are unknown: the width of a free core is not known for this processor, or none was ever free."
        ));
    }
    if looks.lines_mislead {
        lines.push(prose!(
            "Only widths show which logical CPUs were on one core: here cache lines take as long between siblings as \
             between others."
        ));
    } else if looks.siblings_ns.is_none() && looks.cpus.len() > 1 {
        lines.push(prose!(
            "The times of cache lines leave no gap between siblings and others: which logical CPUs were on one core \
             is known only where widths show it."
        ));
    }
    if looks.contradictions > 0 {
        lines.push(prose!(
            "In {} of {} a cache line said one core and the widths did not: their states are unknown.",
            looks.contradictions.to_string(),
            counted_grouped(looks.taken.all(), "look"),
        ));
    }
    if looks.slices_without > 0 {
        let (slices, without) = (slices(facts), grouped(looks.slices_without.into()));
        lines.push(match looks.moment {
            Moment::During => prose!(
                "{} {} had no look during them: where they ran is unknown, and their time counts as such.",
                without,
                slices
            ),
            _ => prose!("{} {} had no look before them and are not counted here.", without, slices),
        });
    }
    lines
}

/// That states are of some logical CPUs alone; `None` if all were looked at.
fn not_whole(looks: &Looks) -> Option<Prose> {
    let Coverage { cpus, looked_at } = looks.coverage;
    (!looks.coverage.is_whole()).then(|| {
        prose!(
            "{} of {} logical CPUs were looked at each time. A state is that of a treatment's logical CPUs that were \
             looked at, and says nothing about its others; two on one core are seen only if both were.",
            looked_at.to_string(),
            cpus.to_string(),
        )
    })
}

/// How many of a treatment's logical CPUs its states are of: `16 of 64`.
fn looked_at(coverage: Coverage) -> Cell {
    match coverage.is_whole() {
        true => Cell::text("all"),
        false => Cell::Text(format!("{} of {}", coverage.looked_at, coverage.cpus)),
    }
}

/// States that occurred in the looks that count, for any treatment or for all logical CPUs.
fn occurred(looks: &Looks) -> Vec<LookState> {
    let seen = |state: &LookState| {
        let of_treatments = looks.treatments.iter().flat_map(|treatment| &treatment.states);
        of_treatments.chain(&looks.study).any(|one| one.state == *state && one.share.mean > 0.0)
    };
    LookState::ALL.into_iter().filter(seen).collect()
}

fn share_cell(share: Option<&Interval>) -> Cell {
    share.cloned().map_or_else(Cell::none, Cell::Share)
}

/// States by treatment.
fn treatments(facts: &Facts<'_>, looks: &Looks) -> Table {
    let states = occurred(looks);
    let has_during = has_during(looks);
    let drop_at = |state: &LookState| match state {
        LookState::Away | LookState::Unknown => 1,
        LookState::Neighbour => 4,
        LookState::Clear | LookState::SameCore => 0,
    };
    let mut columns = vec![Column::text("treatment")];
    let is_whole = looks.treatments.iter().all(|one| one.coverage.is_whole());
    columns.extend((!is_whole).then(|| Column::figure("logical CPUs")));
    columns.push(Column::figure("looks").drop_at(2));
    columns.extend(states.iter().map(|state| Column::figure(name(*state)).drop_at(drop_at(state))));
    columns.push(Column::figure("changed").drop_at(3));
    columns.extend(has_during.then(|| Column::figure("other during").drop_at(1)));
    let rows = looks.treatments.iter().map(|one| {
        let share = |state: &LookState| one.states.iter().find(|known| known.state == *state);
        let mut cells = vec![Cell::text(&one.treatment)];
        cells.extend((!is_whole).then(|| looked_at(one.coverage)));
        cells.push(Cell::Count(one.looks.into()));
        cells.extend(states.iter().map(|state| share_cell(share(state).map(|known| &known.share))));
        cells.push(share_cell(one.disagree.as_ref()));
        cells.extend(has_during.then(|| during(one)));
        cells
    });
    let slices = slices(facts);
    let caption = match looks.moment {
        Moment::During => format!(
            "Where {slices} ran: a treatment's own logical CPUs in the looks during them, weighted by their time"
        ),
        _ => format!("Where {slices} ran: a treatment's own logical CPUs in the looks before them"),
    };
    Table {
        when_narrow: "Columns without room here are on the page (--html).".into(),
        ..Table::new(caption, columns, rows)
    }
}

/// Whether looks during slices are shown with those before and after them.
fn has_during(looks: &Looks) -> bool {
    looks.moment == Moment::Before && looks.treatments.iter().any(|treatment| treatment.with_during > 0)
}

/// `3 of 40`.
fn during(one: &TreatmentLooks) -> Cell {
    match one.with_during {
        0 => Cell::Gap("no look while it ran".to_owned()),
        all => Cell::Text(format!("{} of {}", grouped(one.during_differs.into()), grouped(all.into()))),
    }
}

fn legend(facts: &Facts<'_>, looks: &Looks) -> Vec<Prose> {
    let mut parts: Vec<Prose> =
        occurred(looks).into_iter().map(|state| prose!("{}: {}.", name(state), meaning(state))).collect();
    let slice = slices(facts).trim_end_matches('s');
    if looks.moment == Moment::During {
        parts.push(prose!(
            "The state of a logical CPU that did not meet the others in time is unknown: the load may have kept it."
        ));
        parts.push(prose!("changed: two known looks during a {} differ.", slice));
    } else {
        parts.push(prose!("changed: the looks before and after a {} differ.", slice));
    }
    if has_during(looks) {
        parts.push(prose!("other during: a look while it ran was in another state than both."));
    }
    let level = set_percent(facts.level());
    parts
        .push(prose!("[low, high]: {} interval of the blocks' shares; none if all blocks are equal.", level));
    parts
}

/// The strip with the states of each block as its table.
fn figure(facts: &Facts<'_>, looks: &Looks, strip: Strip) -> Figure {
    let slices = slices(facts);
    let slice = slices.trim_end_matches('s');
    let mut description = format!(
        "Below, a row for each logical CPU: its state over time, of which a column is {}. A column with several states \
         is divided by their shares of the time. Above, a row for each treatment: the speed of each {slice} over its \
         treatment's median (the line at 1; a row begins at 0), marked by the state of the treatment's own logical CPUs \
         {}. Breaks are cut out.",
        seconds(strip.column_s),
        if looks.moment == Moment::During { "in most looks during it" } else { "before it" },
    );
    if !looks.coverage.is_whole() {
        description.push_str(
            " For treatments with more logical CPUs than were looked at, it is the state of those that \
             were.",
        );
    }
    let (cpus, treatments) = (looks.cpus.len(), facts.study.treatments.len());
    if strip.cpus.len() < cpus {
        description.push_str(&format!(" The first {} of {cpus} logical CPUs are drawn.", strip.cpus.len()));
    }
    if strip.treatments.len() < treatments {
        let drawn = strip.treatments.len();
        description.push_str(&format!(" The first {drawn} of {treatments} treatments are drawn."));
    }
    let drawn: u32 = strip.points.iter().map(|point| point.4).sum();
    if (strip.points.len() as u32) < drawn {
        description.push_str(&format!(
            " Of {} {slices}, neighbours in the same state are drawn as one mark, at their median.",
            grouped(drawn.into())
        ));
    }
    Figure {
        table: by_block(&strip).shown(Shown::Page),
        chart: Chart::Strip(strip),
        wide: true,
        title: facts.titled("States and speed over time", ""),
        description,
    }
}

/// Shares of the time by block and logical CPU.
fn by_block(strip: &Strip) -> Table {
    let blocks: BTreeSet<u32> = strip.pieces.iter().map(|piece| piece.0).collect();
    let known: BTreeSet<u8> =
        strip.cells.iter().flat_map(|cell| cell.3.iter().map(|share| share.0)).collect();
    let names = known.iter().filter_map(|state| strip.states.get(usize::from(*state))).map(|state| state.1);
    let names: Vec<&str> = names.collect();
    let row = |block: u32, (row, cpu): (u32, &u32)| {
        let mut times = vec![0.0; strip.states.len()];
        for (_, first, columns, ..) in strip.pieces.iter().filter(|piece| piece.0 == block) {
            let inside = strip.time_in(row, f64::from(*first), f64::from(first + columns));
            times.iter_mut().zip(inside).for_each(|(sum, time)| *sum += time);
        }
        let all: f64 = times.iter().sum();
        let share = |state: &u8| match all > 0.0 {
            true => Cell::Value { value: times[usize::from(*state)] / all, unit: "share" },
            false => Cell::none(),
        };
        [Cell::text(block.to_string()), Cell::text(cpu.to_string())]
            .into_iter()
            .chain(known.iter().map(share))
            .collect::<Vec<Cell>>()
    };
    let rows = blocks.iter().flat_map(|block| (0..).zip(&strip.cpus).map(|cpu| row(*block, cpu)));
    Table::new("Share of the time by block and logical CPU", columns(&["block", "logical CPU"], &names), rows)
}

/// How each logical CPU had its core.
fn by_cpu(looks: &Looks) -> Option<Table> {
    let occurs = |word: &str| looks.by_cpu.iter().any(|one| one.shares.contains_key(word));
    let words: Vec<(&str, &str)> = CPU_WORDS.into_iter().filter(|(word, _)| occurs(word)).collect();
    let zero = |one: &CpuShares, word: &str| match one.shares.get(word) {
        Some(share) => Cell::Share(share.clone()),
        None => super::cells::share(0.0),
    };
    let rows = looks.by_cpu.iter().map(|one| {
        let shares = words.iter().map(|(word, _)| zero(one, word));
        [Cell::text(one.cpu.to_string()), Cell::Count(one.looks.into())].into_iter().chain(shares).collect()
    });
    let names: Vec<&str> = std::iter::once("looks").chain(words.iter().map(|(_, name)| *name)).collect();
    let caption = match looks.moment {
        Moment::During => "How each logical CPU had its core in the looks that count, whatever ran",
        _ => "How each logical CPU had its core, whatever ran next",
    };
    (!looks.by_cpu.is_empty()).then(|| Table::new(caption, columns(&["logical CPU"], &names), rows))
}

/// Stretches in one state.
fn stretches(looks: &Looks) -> Option<Table> {
    let rows = looks.stretches.iter().map(|one| {
        vec![
            Cell::text(name(one.state)),
            Cell::Count(one.stretches.into()),
            Cell::Count(one.looks.into()),
            Cell::Value { value: one.length_ns_p50, unit: "ns" },
            Cell::Value { value: one.length_ns_max, unit: "ns" },
        ]
    });
    let figures = ["stretches", "looks", "median length", "longest"];
    let caption = "Stretches in one state, of all logical CPUs together; all looks, block by block";
    (looks.stretches.len() > 1).then(|| Table::new(caption, columns(&["state"], &figures), rows))
}

/// Transitions.
fn transitions(looks: &Looks) -> Option<Table> {
    let states: Vec<LookState> = looks.stretches.iter().map(|one| one.state).collect();
    let rows = states.iter().map(|from| {
        let cell = |to: &LookState| {
            let count = looks.transitions.iter().find(|one| one.from == *from && one.to == *to);
            if from == to { Cell::none() } else { Cell::Count(count.map_or(0, |one| one.count).into()) }
        };
        std::iter::once(Cell::text(name(*from))).chain(states.iter().map(cell)).collect()
    });
    let names: Vec<&str> = states.iter().map(|state| name(*state)).collect();
    let caption = "Changes of state: rows before, columns in the next look";
    (!looks.transitions.is_empty()).then(|| Table::new(caption, columns(&["from"], &names), rows))
}

/// A level's range: `55.0 ns to 68.1 ns`.
fn range(low_ns: f64, high_ns: f64) -> String {
    let [low, high] = [low_ns, high_ns].map(nanoseconds);
    if low == high { low } else { format!("{low} to {high}") }
}

/// Near and far, if lines between different cores have several levels.
fn distances(facts: &Facts<'_>, looks: &Looks) -> Option<Table> {
    let levels = &looks.distances;
    let level_name = |at: usize| match (at, levels.len()) {
        (0, _) => "near".to_owned(),
        (at, all) if at + 1 == all => "far".to_owned(),
        (at, _) => format!("level {}", at + 1),
    };
    let headings = levels.iter().enumerate().map(|(at, level)| {
        Column::figure(format!("{}: {}", level_name(at), range(level.line_ns_p5, level.line_ns_p95)))
    });
    let columns = std::iter::once(Column::text("lines between")).chain(headings).collect();
    let all = levels.iter().map(|level| Cell::Share(level.share.clone()));
    let all = std::iter::once(Cell::text("all logical CPUs")).chain(all).collect();
    let with_lines = looks.treatments.iter().filter(|one| !one.distances.is_empty());
    let rows = with_lines.map(|one| {
        let shares = one.distances.iter().cloned().map(Cell::Share);
        std::iter::once(Cell::text(format!("those of {}", one.treatment))).chain(shares).collect()
    });
    let caption = format!(
        "Near and far: levels of a cache line's time between different cores (5th to 95th percentile per move), {} {}",
        looks.moment.word(),
        slices(facts)
    );
    (levels.len() > 1).then(|| Table::new(caption, columns, std::iter::once(all).chain(rows)))
}

/// That near and far are not distinguished.
fn one_distance(looks: &Looks) -> Option<Prose> {
    let [level] = looks.distances.as_slice() else { return None };
    Some(prose!(
        "A cache line passed between different cores in {} per move (5th to 95th percentile of {}): one level, so \
         that near and far are not distinguished.",
        Prose::figure(range(level.line_ns_p5, level.line_ns_p95)),
        counted(level.lines as usize, "line"),
    ))
}
