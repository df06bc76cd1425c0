//! How the figures were made, how far to trust them, and the settings.

use super::cells::{NAMES, columns, group_name, names, share, with_ends};
use super::{latency, looks, lost_cpu};
use crate::estimate::Alarm;
use crate::kind::Kind;
use crate::{Answer, BlockCovariates, Direction, Facts, Ratio, warmups};
use threadwise_document::numbers;
use threadwise_document::{Block, Cell, Prose, Section, Shown, Table, prose};
use threadwise_study::Stopping;

/// Method and noise, with the paragraphs of questions.
pub fn section(facts: &Facts<'_>, kind: &dyn Kind, of_questions: Vec<Prose>) -> Section {
    let mut tables = vec![noise_floors(facts, kind), estimates(facts)];
    tables.extend(other_metrics(facts, kind));
    tables.extend(latency::table(facts));
    tables.push(covariates(facts));
    tables.extend(covariates_by_block(facts));
    tables.extend(unflagged(facts));
    tables.extend(lost_cpu::table(facts));
    let texts = paragraphs(facts, kind, of_questions).into_iter().map(|text| Block::Text(text, Shown::Page));
    let tables = tables.into_iter().map(|table| Block::Table(table.shown(Shown::Page)));
    Section::new("method", "Method and noise", texts.chain(tables).collect())
}

fn paragraphs(facts: &Facts<'_>, kind: &dyn Kind, of_questions: Vec<Prose>) -> Vec<Prose> {
    let (study, analysis) = (facts.study, facts.analysis);
    let design = &study.design;
    let mut lines = vec![
        prose!(
            "A block is one draw of cores with one warmed worker per treatment. In each of its {} every treatment {}, \
             in random order. The block is the statistical unit: {} counted. Stopping rule: {}.",
            numbers::counted(design.rounds as usize, "round"),
            kind.turn(facts),
            numbers::counted(analysis.blocks as usize, "block"),
            stopping(design.stopping),
        ),
        prose!(
            "Intervals are at {} and come from ratios of sums over the rounds of a block. Differences of less than \
             {}, the margin, were defined in advance as too small to matter. A ratio is larger or smaller if its \
             interval, adjusted by Holm's method for the number of comparisons, is beyond the margin, different by \
             less if it excludes 1 and is within the margin, different by an open amount if it excludes 1 and crosses \
             the margin, equivalent if two one-sided tests at {} put it within the margin, and undecided otherwise. \
             The noise floor is the interval of the baseline compared with itself under a second name (A/A); it is an \
             alarm, and decides nothing.",
            Prose::figure(numbers::set_percent(facts.level())),
            Prose::figure(numbers::set_percent(design.margin)),
            Prose::figure(numbers::set_percent(1.0 - facts.level())),
        ),
    ];
    lines.extend(kind.method(facts));
    lines.extend(warmups::warm_up(facts));
    lines.extend(of_questions);
    lines.extend(looks::gap(facts));
    if !analysis.excluded_blocks.is_empty() {
        let left_out: Vec<String> = analysis.excluded_blocks.iter().map(|line| kind.reason(line)).collect();
        lines.push(prose!("Left out: {}.", left_out.join("; ")));
    }
    if !study.left_out.is_empty() {
        lines.push(prose!("Not measured on this machine: {}.", study.left_out.join("; ")));
    }
    let remarks = study.placement_remarks(facts.topology);
    if !remarks.is_empty() {
        lines.push(prose!("Placements: {}.", remarks.join("; ")));
    }
    lines
}

fn stopping(rule: Stopping) -> String {
    match rule {
        Stopping::Budget { budget_s } => {
            format!("number of blocks fixed before the first look, from a budget of {budget_s} s")
        }
        Stopping::Until { half_width, budget_s } => format!(
            "looks after 8 blocks or more until every half-width is within {}, at most {budget_s} s",
            numbers::set_percent(half_width)
        ),
        Stopping::Blocks { blocks } => format!("exactly {}", numbers::counted(blocks as usize, "block")),
    }
}

/// The ends of an interval near 1, with enough decimals.
fn ends(low: f64, high: f64) -> Cell {
    Cell::text(format!("[{}, {}]", numbers::ratio_near_1(low), numbers::ratio_near_1(high)))
}

/// The answer in words, with the margin.
fn answer(ratio: &Ratio) -> String {
    let margin = numbers::set_percent(ratio.margin);
    match ratio.answer {
        Answer::Larger => format!("larger by more than {margin}"),
        Answer::Smaller => format!("smaller by more than {margin}"),
        Answer::WithinMargin => format!("different by less than {margin}"),
        Answer::SizeOpen => "different by an open amount".to_owned(),
        Answer::Equivalent => format!("equivalent within ±{margin}"),
        Answer::Undecided => "undecided".to_owned(),
    }
}

fn noise_floors(facts: &Facts<'_>, kind: &dyn Kind) -> Table {
    let analysis = facts.analysis;
    let floors = analysis.commands.as_ref().map_or(&analysis.noise_floors, |commands| &commands.floors);
    let rows = floors.iter().map(|floor| {
        vec![
            group_name(&floor.group),
            Cell::text(kind.metric_name(facts.study, &floor.metric)),
            ends(floor.ratio.low, floor.ratio.high),
            Cell::text(format!("±{}", numbers::percent(floor.floor.exp_m1()))),
            Cell::text(numbers::p_value(floor.p)),
            Cell::text(match floor.alarm {
                Some(Alarm::Different) => "differs",
                Some(Alarm::Wide) => "wider than the margin",
                None => "none",
            }),
        ]
    });
    Table::new("Noise floor (A/A)", columns(&["group", "metric"], &["interval", "floor", "p", "alarm"]), rows)
}

fn estimates(facts: &Facts<'_>) -> Table {
    // One method for all is given once.
    let mut methods: Vec<&str> = facts.throughput().map(|estimate| estimate.method.as_str()).collect();
    methods.dedup();
    let common = methods.len() <= 1;
    let rows = facts.throughput().map(|estimate| {
        let ratio = &estimate.ratio;
        let value = Cell::Value { value: ratio.value, unit: "ratio" };
        let figures = [
            Cell::Both(Box::new(value), Box::new(ends(ratio.low, ratio.high))),
            ends(ratio.adjusted_low, ratio.adjusted_high),
            Cell::text(numbers::p_value(ratio.p)),
            Cell::text(estimate.p_sign_flip.map_or_else(String::new, numbers::p_value)),
            Cell::text(numbers::correlation(ratio.correlation)),
            Cell::Count(ratio.blocks.into()),
            Cell::text(answer(ratio)),
        ];
        let method = (!common).then(|| Cell::text(&estimate.method));
        names(facts, estimate).into_iter().chain(method).chain(figures).collect()
    });
    let figures = ["ratio", "Holm interval", "p (t)", "p (sign flip)", "correlation", "blocks", "answer"];
    let texts: Vec<&str> = NAMES.into_iter().chain((!common).then_some("method")).collect();
    let headline = facts.analysis.commands.as_ref().and_then(|commands| commands.headline());
    let what = match headline {
        Some(headline) => format!("Ratios of {}", headline.name),
        None => "Throughput ratios".to_owned(),
    };
    let caption = match methods.first().filter(|_| common) {
        Some(method) => format!("{what} ({method})"),
        None => what,
    };
    Table::new(caption, columns(&texts, &figures), rows)
}

fn other_metrics(facts: &Facts<'_>, kind: &dyn Kind) -> Option<Table> {
    let headline = facts.analysis.headline();
    let others = facts.analysis.estimates.iter().filter(|estimate| estimate.metric != headline);
    let rows = others.map(|estimate| {
        let rest = [
            Cell::text(kind.metric_name(facts.study, &estimate.metric)),
            Cell::text(direction_words(estimate.ratio.direction)),
            Cell::BareRatio(estimate.ratio.clone()),
        ];
        names(facts, estimate).into_iter().chain(rest).collect()
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let texts: Vec<&str> = NAMES.into_iter().chain(["metric", "direction"]).collect();
    (!rows.is_empty()).then(|| Table::new("Ratios of other metrics", columns(&texts, &["ratio"]), rows))
}

fn direction_words(direction: Direction) -> &'static str {
    match direction {
        Direction::HigherIsBetter => "higher is better",
        Direction::LowerIsBetter => "lower is better",
        Direction::Neither => "neither",
    }
}

fn unknown() -> Cell {
    Cell::text("unknown")
}

fn known_share(value: Option<f64>) -> Cell {
    value.map_or_else(unknown, share)
}

fn covariates(facts: &Facts<'_>) -> Table {
    let covariates = &facts.analysis.covariates;
    let blocks: Vec<String> = covariates.flagged_blocks.iter().map(u32::to_string).collect();
    let flagged = if blocks.is_empty() { "none".to_owned() } else { blocks.join(", ") };
    let clock = covariates.clock_mhz.map(|mhz| Cell::text(format!("{} MHz", numbers::significant(mhz, 4))));
    let rows = [
        ("time stolen by the hypervisor on used logical CPUs", share(covariates.steal_share)),
        ("the same in the worst block", share(covariates.steal_share_max)),
        (
            "waiting for a logical CPU that others used, worst block",
            known_share(covariates.run_queue_wait_share_max),
        ),
        ("idle siblings of used cores: busy with something else", share(covariates.left_over_busy_share)),
        ("other logical CPUs: busy with something else", share(covariates.others_busy_share)),
        ("a neighbour on the siblings of used logical CPUs", known_share(covariates.neighbour_share)),
        ("the same of one treatment in the worst block", known_share(covariates.neighbour_share_max)),
        ("siblings of one core busy while another core idled", known_share(covariates.straggler_share)),
        ("clock of used logical CPUs while not idle", clock.unwrap_or_else(unknown)),
        ("the samplers' own CPU time, share of one CPU", known_share(covariates.telemetry_cpu_share)),
        ("blocks flagged by one of these", Cell::text(flagged)),
    ];
    let rows = rows.map(|(name, value)| vec![Cell::text(name), value]);
    Table::new("Disturbances of the study", columns(&["covariate"], &["figure"]), rows)
}

/// Block by block, if neighbours, stragglers or the samplers' cost were recorded.
fn covariates_by_block(facts: &Facts<'_>) -> Option<Table> {
    let blocks = &facts.analysis.covariates.blocks;
    let recorded = |block: &&BlockCovariates| {
        [block.neighbour_share, block.straggler_share, block.telemetry_cpu_share].iter().any(Option::is_some)
    };
    blocks.iter().find(recorded)?;
    let rows = blocks.iter().map(|block| {
        vec![
            Cell::text(block.block.to_string()),
            if block.causes.is_empty() { Cell::none() } else { Cell::text(block.causes.join(", ")) },
            known_share(block.neighbour_before_share),
            known_share(block.neighbour_after_share),
            known_share(block.neighbour_share_max),
            share(block.steal_share),
            known_share(block.run_queue_wait_share),
            share(block.left_over_busy_share),
            share(block.others_busy_share),
            known_share(block.straggler_share),
            known_share(block.telemetry_cpu_share),
            block.clock_mhz.map_or_else(unknown, |mhz| Cell::text(numbers::significant(mhz, 4))),
        ]
    });
    let figures = [
        "neighbour before",
        "neighbour after",
        "worst treatment",
        "steal",
        "waiting for a CPU",
        "idle siblings busy",
        "others busy",
        "stragglers",
        "samplers",
        "MHz",
    ];
    Some(Table::new("Disturbances of each block", columns(&["block", "flagged for"], &figures), rows))
}

fn unflagged(facts: &Facts<'_>) -> Option<Table> {
    let rows = facts.throughput().filter_map(|estimate| {
        let found = estimate.unflagged.as_ref()?;
        let without = with_ends(&estimate.ratio, &found.ratio, found.blocks);
        let rest = [Cell::BareRatio(estimate.ratio.clone()), without, Cell::Count(found.blocks.into())];
        Some(names(facts, estimate).into_iter().chain(rest).collect())
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let columns = columns(&NAMES, &["all blocks", "without flagged", "blocks left"]);
    (!rows.is_empty()).then(|| Table::new("Estimates without the flagged blocks", columns, rows))
}

/// Raw configuration: machine, program, notes of the store, study.
pub fn configuration(facts: &Facts<'_>) -> Section {
    let identity = &facts.topology.identity;
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let rows = [
        ("processor", known(&identity.cpu_model)),
        ("vendor", known(&identity.cpu_vendor)),
        ("hypervisor", identity.hypervisor.clone().unwrap_or_else(|| "none seen".to_owned())),
        ("SMT control", known(&identity.smt_control)),
        ("kernel", known(&identity.kernel)),
        ("memory", identity.memory_bytes.map_or("unknown".to_owned(), numbers::bytes)),
        ("program", format!("threadwise {}", facts.program_version)),
        ("engine", format!("{} {}", facts.study.engine, facts.engine_version)),
        ("result file", facts.source.to_owned()),
        ("began", facts.created_utc.to_owned()),
    ];
    let rows = rows.map(|(name, value)| vec![Cell::text(name), Cell::Text(value)]);
    let mut tables = vec![Table::new("Machine and program", columns(&["", ""], &[]), rows)];
    let notes = facts.notes.iter().map(|note| vec![Cell::text(&note.text)]);
    tables.extend((notes.len() > 0).then(|| Table::new("Notes", columns(&[""], &[]), notes)));
    let tables = tables.into_iter().map(|table| Block::Table(table.shown(Shown::Page)));
    let study =
        Block::Verbatim("The resolved study".to_owned(), threadwise_study::load::to_toml(facts.study));
    Section::new("configuration", "Raw configuration", tables.chain([study]).collect())
}
