//! Scaling laws of sweeps: their numbers, the curve with its points, where it turns, and other machines.

use crate::scaling_law::{
    Candidate, FEWEST_LOADS, Fitted, Outcome, Prediction, ScalingLaw, SeriesLaw, Unknown,
};
use crate::words::finding;
use crate::{Facts, Finding};
use threadwise_document::chart::CurveChart;
use threadwise_document::numbers::{self, counted};
use threadwise_document::{
    Block, Cell, Chart, Column, Document, Figure, Interval, Prose, Section, Shown, Table, prose,
};
use threadwise_study::workload::Nouns;

/// Words for a series' work.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    /// Its rate, such as `rows/s`; [`UNNAMED`] without a unit.
    pub rate: &'static str,
    /// Its sessions.
    pub sessions: &'static str,
}

/// A rate without a unit.
pub const UNNAMED: &str = "throughput";

impl Words {
    /// The unit after a figure.
    fn unit(self) -> String {
        if self.rate == UNNAMED { String::new() } else { format!(" {}", self.rate) }
    }
}

/// The section of a study's report; `None` if it has no sweep, or too few points of one.
pub fn section(facts: &Facts<'_>, nouns: &Nouns) -> Option<Section> {
    let laws = &facts.analysis.scaling_laws;
    let has_law = laws.iter().any(|one| matches!(one.outcome, Outcome::Law(_)));
    let words = Words { rate: nouns.rate, sessions: nouns.sessions };
    let named = |series: &str| facts.group_words(series).to_string();
    has_law.then(|| Section::new("scaling-law", "Scaling law", blocks(laws, words, &named, true)))
}

/// A document of laws alone.
pub fn law_document(
    laws: &[SeriesLaw],
    words: Words,
    named: &dyn Fn(&str) -> String,
    about: Document,
) -> Document {
    let verdict = laws.iter().flat_map(|one| lines(one, words, &named(&one.series))).collect();
    let section = Section::new("scaling-law", "Scaling law", blocks(laws, words, named, false));
    Document { verdict, sections: vec![section], ..about }
}

/// Findings of a law, one each.
fn lines(one: &SeriesLaw, words: Words, name: &str) -> Vec<Finding> {
    let place = if name.is_empty() { Prose::default() } else { prose!("{}: ", name) };
    let law = match &one.outcome {
        Outcome::Gap(why) => return vec![finding("scaling-law", prose!("{}No law: {}.", place, why), &[])],
        Outcome::Law(law) => law,
    };
    let mut all = vec![numbers_of(law, words)];
    all.extend(turns(law, words));
    all.extend(law.predictions.iter().map(|one| predicted(one, words)));
    let with_place = |text: Prose| finding("scaling-law", prose!("{}{}", place.clone(), text), &[]);
    all.into_iter().map(with_place).collect()
}

/// Everything about the laws; their lines too, if they are not in a verdict.
fn blocks(laws: &[SeriesLaw], words: Words, named: &dyn Fn(&str) -> String, with_lines: bool) -> Vec<Block> {
    let mut all = vec![Block::Text(formula(), Shown::Page)];
    for one in laws {
        let name = named(&one.series);
        if with_lines {
            let lines = lines(one, words, &name).into_iter();
            all.extend(lines.map(|one| Block::Text(one.line, Shown::Everywhere)));
        }
        if let Outcome::Law(law) = &one.outcome {
            all.push(Block::Figure(Box::new(figure(law, words, &name))));
            all.push(Block::Table(parameters(law, &name)));
            all.push(Block::Table(candidates(law, &name)));
            all.extend(predictions(law, words, &name).map(Block::Table));
            all.push(Block::Text(reserve(law), Shown::Page));
        }
        if !one.left_out.is_empty() {
            all.push(Block::Text(prose!("Not used as points: {}.", one.left_out.join("; ")), Shown::Page));
        }
    }
    all
}

fn formula() -> Prose {
    "X(n) = λ · f · E / (1 + σ (n − 1) + κ n (n − 1)): n busy sessions, on cores first and then on their siblings; λ \
     the rate of one; f the clock over that of one busy core; E the busy cores, where one with two busy threads \
     counts for the yield y; σ the serial share, κ the cost of each pair of sessions."
        .into()
}

/// One session, the yield, σ and κ, and how well it fits.
fn numbers_of(law: &ScalingLaw, words: Words) -> Prose {
    let mut parts: Vec<Prose> = Vec::new();
    parts.extend(
        law.rate_per_s.iter().map(|rate| prose!("throughput of one session {}{}", rate, words.unit())),
    );
    parts.extend(law.yields.iter().map(|one| {
        let threads = numbers::count_word(one.threads);
        prose!("{} busy threads of a core do {} of one", threads, &one.known)
    }));
    parts.extend(law.sigma.iter().map(|sigma| prose!("σ {}", sigma)));
    parts.extend(law.kappa.iter().map(|kappa| prose!("κ {}", kappa)));
    let points = counted(law.points.len(), "point");
    prose!(
        "{}{}; {} deviate by {} from the law{}.",
        Prose::list(parts).capital(),
        not_known(law),
        points,
        Prose::figure(numbers::percent(law.misfit_share)),
        if law.blocks > 1 { " beyond their noise" } else { "" }
    )
}

/// `; unknown: throughput of one session and throughput of two busy threads of a core over one (no point has …)`.
fn not_known(law: &ScalingLaw) -> String {
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for one in &law.unknown {
        match by_reason.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, names)) => names.push(name_of(one)),
            None => by_reason.push((&one.why, vec![name_of(one)])),
        }
    }
    let each = by_reason.iter().map(|(why, names)| format!("{} ({why})", names.join(", ")));
    let each: Vec<String> = each.collect();
    if each.is_empty() { String::new() } else { format!("; unknown: {}", each.join("; ")) }
}

fn name_of(one: &Unknown) -> String {
    match (one.number, one.threads) {
        (_, Some(threads)) => {
            format!("throughput of {} busy threads of a core over one", numbers::count_word(threads))
        }
        ("rate_per_s", None) => "throughput of one session".to_owned(),
        ("sigma", None) => "σ".to_owned(),
        _ => "κ".to_owned(),
    }
}

fn turns(law: &ScalingLaw, words: Words) -> Option<Prose> {
    let turns = law.turns.as_ref()?;
    let at = |count: &Interval| sessions(count);
    let mut parts = vec![prose!("Knee at {} {}", at(&turns.knee), words.sessions)];
    let most = law.points.iter().map(|point| point.sessions).max();
    let peak = match turns.logical_cpus {
        Some(all) if turns.peak.mean as u32 == all => " (all logical CPUs)",
        None if Some(turns.peak.mean as u32) == most => ", the most in the file",
        _ => "",
    };
    parts.push(prose!("most throughput at {}{}", at(&turns.peak), peak));
    if let Some(limit) = &turns.smt_pays_up_to {
        parts.push(match turns.smt_pays() {
            Some(false) => prose!("second threads of cores do not pay off"),
            Some(true) => prose!("second threads of cores pay off up to {} {}", at(limit), words.sessions),
            None => prose!("whether second threads of cores pay off is not decided"),
        });
    }
    Some(prose!("{}.", Prose::join(parts, ", ")))
}

/// A number of sessions with its interval, or the value alone.
fn sessions(count: &Interval) -> Prose {
    let whole = |value: f64| numbers::grouped(value.max(0.0).round() as u64);
    let figure = Prose::figure(whole(count.mean));
    match count.low < count.high {
        true => {
            let ends = format!("[{}, {}]", whole(count.low), whole(count.high));
            prose!("{} {}", figure, Prose::of(threadwise_document::Class::Interval, ends))
        }
        false => figure,
    }
}

fn predicted(one: &Prediction, words: Words) -> Prose {
    let shape = one.shape.to_string();
    match (&one.rate_per_s, &one.over_largest) {
        (Some(rate), Some(over)) => prose!(
            "{}: {}{} with all {} logical CPUs busy, {} of the largest point{}.",
            shape,
            rate,
            words.unit(),
            one.sessions,
            over,
            if one.is_extrapolated { "; extrapolated" } else { "" }
        ),
        _ => prose!("{}: not predicted; {}.", shape, one.gap.as_deref().unwrap_or("no fit determines it")),
    }
}

fn figure(law: &ScalingLaw, words: Words, name: &str) -> Figure {
    let place = if name.is_empty() { String::new() } else { format!(", {name}") };
    let mut marks = Vec::new();
    if let Some(turns) = &law.turns {
        let all = [
            (turns.cores, "cores"),
            (Some(turns.knee.mean as u32), "knee"),
            (Some(turns.peak.mean as u32), "peak"),
        ];
        for (at, word) in all.into_iter().filter_map(|(at, word)| Some((at?, word))) {
            match marks.iter_mut().find(|(known, _): &&mut (u32, String)| *known == at) {
                Some((_, words)) => words.push_str(&format!(", {word}")),
                None => marks.push((at, word.to_owned())),
            }
        }
        marks.sort();
    }
    let point = |one: &Fitted| (one.label.clone(), one.sessions, one.rate_per_s, one.fitted_per_s.mean);
    let curve = law.curve.iter().map(|one| (one.sessions, one.known.mean, one.known.low, one.known.high));
    Figure {
        wide: true,
        title: format!("Fitted curve{place}"),
        description: format!(
            "Dots: measured {}. Line and band: {} with its interval of {}.",
            words.rate,
            law.law.words(),
            numbers::set_percent(law.level)
        ),
        table: points(law, words, name),
        chart: Chart::Curve(CurveChart {
            unit: words.rate,
            sessions: words.sessions,
            points: law.points.iter().map(point).collect(),
            curve: curve.collect(),
            marks,
        }),
    }
}

fn points(law: &ScalingLaw, words: Words, name: &str) -> Table {
    let row = |one: &Fitted| {
        vec![
            Cell::text(&one.label),
            Cell::Count(one.sessions.into()),
            Cell::text(busy(&one.busy_cores)),
            one.clock_ratio.map_or_else(Cell::none, |value| Cell::Value { value, unit: "ratio" }),
            Cell::Value { value: one.rate_per_s, unit: "1/s" },
            Cell::Interval(one.fitted_per_s.clone()),
            Cell::Value { value: 100.0 * one.residual_share, unit: "points" },
        ]
    };
    let columns = vec![
        Column::text("point"),
        Column::figure(words.sessions),
        Column::text("busy cores"),
        Column::figure("clock"),
        Column::figure(words.rate),
        Column::figure("the law"),
        Column::figure("deviation, %"),
    ];
    Table::new(titled("Points and the law", name), columns, law.points.iter().map(row)).shown(Shown::Page)
}

/// `4 with 1 thread, 2 with 2`.
fn busy(cores: &[u32]) -> String {
    let each = cores.iter().enumerate().filter(|(_, count)| **count > 0);
    let words = each.map(|(at, count)| format!("{count} with {}", counted(at + 1, "thread")));
    words.collect::<Vec<_>>().join(", ")
}

fn titled(title: &str, name: &str) -> String {
    if name.is_empty() { title.to_owned() } else { format!("{title}, {name}") }
}

fn parameters(law: &ScalingLaw, name: &str) -> Table {
    let cell = |number: &str, threads: Option<u32>, known: Option<&Interval>| match known {
        Some(known) => Cell::Interval(known.clone()),
        None => {
            let mut unknown = law.unknown.iter();
            let found = unknown.find(|one| (one.number, one.threads) == (number, threads));
            Cell::Gap(found.map_or_else(String::new, |one| one.why.clone()))
        }
    };
    let rate = cell("rate_per_s", None, law.rate_per_s.as_ref());
    let mut rows = vec![vec![Cell::text("λ, rate of one session"), rate]];
    let known = law.yields.iter().map(|one| (one.threads, Some(&one.known)));
    let unknown = law.unknown.iter().filter_map(|one| Some((one.threads?, None)));
    let mut yields: Vec<(u32, Option<&Interval>)> = known.chain(unknown).collect();
    yields.sort_by_key(|(threads, _)| *threads);
    for (threads, known) in yields {
        let what = format!("y, {} over one", counted(threads as usize, "busy thread"));
        rows.push(vec![Cell::text(what), cell("yield", Some(threads), known)]);
    }
    rows.push(vec![Cell::text("σ, serial share"), cell("sigma", None, law.sigma.as_ref())]);
    rows.push(vec![Cell::text("κ, cost of each pair"), cell("kappa", None, law.kappa.as_ref())]);
    let columns = vec![Column::text("number"), Column::figure("value")];
    Table::new(titled("Numbers of the law", name), columns, rows).shown(Shown::Page)
}

fn candidates(law: &ScalingLaw, name: &str) -> Table {
    let row = |one: &Candidate| {
        let error = match one.error {
            Some(value) => Cell::Value { value, unit: "share" },
            None => Cell::Gap("too few points".to_owned()),
        };
        let note = match (one.is_chosen, one.law == law.law) {
            (true, true) => "fitted; predicts as well as any",
            (true, false) => "the simplest that predicts as well as any",
            (false, true) => "fitted",
            (false, false) => "",
        };
        vec![Cell::text(numbers::capital(one.law.words())), error, Cell::text(note)]
    };
    let columns = vec![Column::text("law"), Column::figure("error of loads left out"), Column::text("")];
    Table::new(
        titled("How well laws predict a point from the others", name),
        columns,
        law.candidates.iter().map(row),
    )
    .shown(Shown::Page)
}

fn predictions(law: &ScalingLaw, words: Words, name: &str) -> Option<Table> {
    let row = |one: &Prediction| {
        let gap = || Cell::Gap(one.gap.clone().unwrap_or_default());
        vec![
            Cell::text(one.shape.to_string()),
            Cell::Count(one.sessions.into()),
            one.rate_per_s.clone().map_or_else(gap, Cell::Interval),
            one.over_largest.clone().map_or_else(Cell::none, Cell::Interval),
            Cell::text(if one.is_extrapolated { "extrapolated" } else { "within the points" }),
        ]
    };
    let columns = vec![
        Column::text("machine"),
        Column::figure(words.sessions),
        Column::figure(words.rate),
        Column::figure("over the largest point"),
        Column::text(""),
    ];
    let rows: Vec<Vec<Cell>> = law.predictions.iter().map(row).collect();
    (!rows.is_empty()).then(|| {
        Table::new(titled("Other machines, all logical CPUs busy", name), columns, rows).shown(Shown::Page)
    })
}

/// Limits of the law.
fn reserve(law: &ScalingLaw) -> Prose {
    let mut parts = vec![prose!(
        "Fitted to {} different loads; intervals of {} from {}.",
        law.loads,
        Prose::figure(numbers::set_percent(law.level)),
        if law.blocks > 1 {
            "resampled blocks and from the deviation of points from the law"
        } else {
            "the deviation of points from the law"
        }
    )];
    if !law.is_clock_known {
        parts.push(
            "The clock is unknown, so that a lower turbo clock under load is taken for contention.".into(),
        );
    }
    if law.is_pooled {
        parts.push(
            "Numbers are pulled towards those of the other series, more strongly the less these points determine.".into(),
        );
    }
    if !law.law.has_yield() {
        parts.push("No point has two busy threads of one core, so SMT is not covered.".into());
    }
    if law.loads == FEWEST_LOADS {
        parts.push("Three loads fit this law exactly: its validity is not tested.".into());
    }
    parts.push("Another machine has another law: shapes beyond the points are extrapolated.".into());
    Prose::join(parts, " ")
}
