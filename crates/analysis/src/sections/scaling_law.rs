//! Scaling laws of sweeps: their numbers, the curve with its points, where it turns, and other machines.

use crate::groups::grouped;
use crate::scaling_law::{
    Candidate, FEWEST_LOADS, Fitted, Outcome, Prediction, ScalingLaw, SeriesLaw, Unknown,
};
use crate::words::finding;
use crate::{Facts, Finding, FindingKind};
use threadwise_document::chart::CurveChart;
use threadwise_document::numbers::{self, counted};
use threadwise_document::{
    Block, Cell, Chart, Column, Document, Figure, Interval, Prose, Section, Shown, Table, prose,
};

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
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let nouns = &facts.study.nouns();
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
        Outcome::Gap(why) => {
            return vec![finding(FindingKind::ScalingLaw, prose!("{}No law: {}.", place, why), &[])];
        }
        Outcome::Law(law) => law,
    };
    let mut all = vec![numbers_of(law, words)];
    all.extend(turns(law, words));
    all.extend(law.predictions.iter().map(|one| predicted(one, words)));
    let with_place = |text: Prose| finding(FindingKind::ScalingLaw, prose!("{}{}", place.clone(), text), &[]);
    all.into_iter().map(with_place).collect()
}

/// Everything about the laws; their lines too, if they are not in a verdict.
fn blocks(laws: &[SeriesLaw], words: Words, named: &dyn Fn(&str) -> String, with_lines: bool) -> Vec<Block> {
    let mut all = vec![Block::on_page(FORMULA)];
    for one in laws {
        let name = named(&one.series);
        if with_lines {
            all.extend(lines(one, words, &name).into_iter().map(|one| Block::text(one.line)));
        }
        if let Outcome::Law(law) = &one.outcome {
            all.push(Block::Figure(Box::new(figure(law, words, &name))));
            let tables = [parameters(law), candidates(law), predictions(law, words)].into_iter();
            let titled = |table: Table| Table { caption: titled(&table.caption, &name), ..table };
            let tables = tables.filter_map(|table| titled(table).shown(Shown::Page).filled());
            all.extend(tables.map(Block::Table));
            all.push(Block::on_page(reserve(law)));
        }
        if !one.left_out.is_empty() {
            all.push(Block::on_page(prose!("Not used as points: {}.", one.left_out.join("; "))));
        }
    }
    all
}

const FORMULA: &str = "X(n) = λ · f · E / (1 + σ (n − 1) + κ n (n − 1)): n busy sessions, on cores first and then on their siblings; λ \
     the rate of one; f the clock over that of one busy core; E the busy cores, where one with two busy threads \
     counts for the yield y; σ the serial share, κ the cost of each pair of sessions.";

/// One session, the yield, σ and κ, and how well it fits.
fn numbers_of(law: &ScalingLaw, words: Words) -> Prose {
    let rate = law.rate_per_s.iter().map(|rate| prose!("throughput of one session {}{}", rate, words.unit()));
    let yields = law.yields.iter().map(|one| {
        let threads = numbers::count_word(one.threads);
        prose!("{} busy threads of a core do {} of one", threads, &one.known)
    });
    let sigma = law.sigma.iter().map(|sigma| prose!("σ {}", sigma));
    let kappa = law.kappa.iter().map(|kappa| prose!("κ {}", kappa));
    let points = counted(law.points.len(), "point");
    prose!(
        "{}{}; {} deviate by {} from the law{}.",
        Prose::list(rate.chain(yields).chain(sigma).chain(kappa).collect()).capital(),
        not_known(law),
        points,
        Prose::figure(numbers::percent(law.misfit_share)),
        if law.blocks > 1 { " beyond their noise" } else { "" }
    )
}

/// `; unknown: throughput of one session and throughput of two busy threads of a core over one (no point has …)`.
fn not_known(law: &ScalingLaw) -> String {
    let by_reason = grouped(law.unknown.iter().map(|one| (&one.why, name_of(one)))).into_iter();
    let each: Vec<String> = by_reason.map(|(why, names)| format!("{} ({why})", names.join(", "))).collect();
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
    let mut parts = vec![prose!("Knee at {} {}", sessions(&turns.knee), words.sessions)];
    let most = law.points.iter().map(|point| point.sessions).max();
    let peak = match turns.logical_cpus {
        Some(all) if turns.peak.mean as u32 == all => " (all logical CPUs)",
        None if Some(turns.peak.mean as u32) == most => ", the most in the file",
        _ => "",
    };
    parts.push(prose!("most throughput at {}{}", sessions(&turns.peak), peak));
    if let Some(limit) = &turns.smt_pays_up_to {
        parts.push(match turns.smt_pays() {
            Some(false) => prose!("second threads of cores do not pay off"),
            Some(true) => {
                prose!("second threads of cores pay off up to {} {}", sessions(limit), words.sessions)
            }
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
    let marks = law.turns.iter().flat_map(|turns| {
        let (knee, peak) = (Some(turns.knee.mean as u32), Some(turns.peak.mean as u32));
        [(turns.cores, "cores"), (knee, "knee"), (peak, "peak")]
    });
    let marks = grouped(marks.filter_map(|(at, word)| Some((at?, word)))).into_iter();
    let mut marks: Vec<(u32, String)> = marks.map(|(at, words)| (at, words.join(", "))).collect();
    marks.sort();
    let point = |one: &Fitted| (one.label.clone(), one.sessions, one.rate_per_s, one.fitted_per_s.mean);
    let points = points(law, words);
    let curve = law.curve.iter().map(|one| (one.sessions, one.known.mean, one.known.low, one.known.high));
    Figure {
        wide: true,
        title: titled(&"Fitted curve".into(), name).to_string(),
        description: format!(
            "Dots: measured {}. Line and band: {} with its interval of {}.",
            words.rate,
            law.law.words(),
            numbers::set_percent(law.level)
        ),
        table: Table { caption: titled(&points.caption, name), ..points }.shown(Shown::Page),
        chart: Chart::Curve(CurveChart {
            unit: words.rate,
            sessions: words.sessions,
            points: law.points.iter().map(point).collect(),
            curve: curve.collect(),
            marks,
        }),
    }
}

fn points(law: &ScalingLaw, words: Words) -> Table {
    Table::of(
        "Points and the law",
        &law.points,
        &[
            (Column::text("point"), &|one| Cell::text(&one.label)),
            (Column::figure(words.sessions), &|one| Cell::count(one.sessions)),
            (Column::text("busy cores"), &|one| Cell::Text(busy(&one.busy_cores))),
            (Column::figure("clock"), &|one| Cell::value(one.clock_ratio, "ratio")),
            (Column::figure(words.rate), &|one| Cell::value(one.rate_per_s, "1/s")),
            (Column::figure("the law"), &|one| Cell::Interval(one.fitted_per_s.clone())),
            (Column::figure("deviation, %"), &|one| Cell::value(100.0 * one.residual_share, "points")),
        ],
    )
}

/// `4 with 1 thread, 2 with 2`.
fn busy(cores: &[u32]) -> String {
    let each = cores.iter().enumerate().filter(|(_, count)| **count > 0);
    let words = each.map(|(at, count)| format!("{count} with {}", counted(at + 1, "thread")));
    words.collect::<Vec<_>>().join(", ")
}

fn titled(title: &Prose, name: &str) -> Prose {
    if name.is_empty() { title.clone() } else { prose!("{}, {}", title.clone(), name) }
}

fn parameters(law: &ScalingLaw) -> Table {
    let known = law.yields.iter().map(|one| (one.threads, Some(&one.known)));
    let unknown = law.unknown.iter().filter_map(|one| Some((one.threads?, None)));
    let mut yields: Vec<(u32, Option<&Interval>)> = known.chain(unknown).collect();
    yields.sort_by_key(|(threads, _)| *threads);
    let yields = yields.into_iter().map(|(threads, known)| {
        let what = format!("y, {} over one", counted(threads as usize, "busy thread"));
        (what, "yield", Some(threads), known)
    });
    let one = |what: &str, number, known| (what.to_owned(), number, None, known);
    let mut numbers = vec![one("λ, rate of one session", "rate_per_s", law.rate_per_s.as_ref())];
    numbers.extend(yields);
    numbers.push(one("σ, serial share", "sigma", law.sigma.as_ref()));
    numbers.push(one("κ, cost of each pair", "kappa", law.kappa.as_ref()));
    let rows = numbers.into_iter().map(|(what, number, threads, known)| {
        let mut unknown = law.unknown.iter();
        let found = unknown.find(|one| (one.number, one.threads) == (number, threads));
        let gap = || Cell::Gap(found.map_or_else(String::new, |one| one.why.clone()));
        vec![Cell::Text(what), known.cloned().map_or_else(gap, Cell::Interval)]
    });
    Table::new("Numbers of the law", vec![Column::text("number"), Column::figure("value")], rows)
}

fn candidates(law: &ScalingLaw) -> Table {
    let error = |one: &&Candidate| match one.error {
        Some(value) => Cell::Value { value, unit: "share" },
        None => Cell::Gap("too few points".to_owned()),
    };
    let note = |one: &&Candidate| match (one.is_chosen, one.law == law.law) {
        (true, true) => Cell::text("fitted; predicts as well as any"),
        (true, false) => Cell::text("the simplest that predicts as well as any"),
        (false, true) => Cell::text("fitted"),
        (false, false) => Cell::text(""),
    };
    Table::of(
        "How well laws predict a point from the others",
        &law.candidates,
        &[
            (Column::text("law"), &|one| Cell::Text(numbers::capital(one.law.words()))),
            (Column::figure("error of loads left out"), &error),
            (Column::text(""), &note),
        ],
    )
}

fn predictions(law: &ScalingLaw, words: Words) -> Table {
    let rate = |one: &&Prediction| match &one.rate_per_s {
        Some(rate) => Cell::Interval(rate.clone()),
        None => Cell::Gap(one.gap.clone().unwrap_or_default()),
    };
    Table::of(
        "Other machines, all logical CPUs busy",
        &law.predictions,
        &[
            (Column::text("machine"), &|one| Cell::Text(one.shape.to_string())),
            (Column::figure(words.sessions), &|one| Cell::count(one.sessions)),
            (Column::figure(words.rate), &rate),
            (Column::figure("over the largest point"), &|one| Cell::interval(one.over_largest.as_ref())),
            (Column::text(""), &|one| {
                Cell::text(if one.is_extrapolated { "extrapolated" } else { "within the points" })
            }),
        ],
    )
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
    let limits = [
        (
            !law.is_clock_known,
            "The clock is unknown, so that a lower turbo clock under load is taken for contention.",
        ),
        (
            law.is_pooled,
            "Numbers are pulled towards those of the other series, more strongly the less these points determine.",
        ),
        (!law.law.has_yield(), "No point has two busy threads of one core, so SMT is not covered."),
        (law.loads == FEWEST_LOADS, "Three loads fit this law exactly: its validity is not tested."),
        (true, "Another machine has another law: shapes beyond the points are extrapolated."),
    ];
    parts.extend(limits.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text.into()));
    Prose::join(parts, " ")
}
