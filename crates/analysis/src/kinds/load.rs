//! Studies at a rate: how long requests take that arrive at the rates that people have, up to which rate they stay within
//! a bound, and from which on there are too many.

use super::rate;
use crate::estimate::{LATENCY_MEAN, family_alpha};
use crate::kind::Kind;
use crate::load::{HighestRate, Keeps, Load, LoadPoint};
use crate::screen::rates::named;
use crate::words::{MAX_LISTED, finding, judged_decisive, limited, list, share};
use crate::{Estimate, Facts, Finding, FindingKind, Interval};
use threadwise_document::chart::{ChartWords, Line, LineChart};
use threadwise_document::numbers::{nanoseconds, rounded, set_number, set_percent};
use threadwise_document::{
    Block, Cell, Chart, Class, Column, Fact, Figure, Prose, Says, Section, Shown, Table, prose,
};
use threadwise_study::arrivals::{ARRIVALS, RATE};
use threadwise_study::{ComparisonKind, Role, Study, Treatment};

/// The percentile that people ask for, in words.
const P99: &str = "99th percentile of latency";

/// Share of the median latency from which on the client's own delay is said.
const LATE_SHARE: f64 = 0.1;

/// A percentile of a point.
type Percentile = fn(&LoadPoint) -> Option<&Interval>;

/// The kind.
pub struct Loads;

impl Kind for Loads {
    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(all) = Points::of(facts) else { return Vec::new() };
        let answers = [all.bound(), all.latencies(), all.compared(), all.overload()];
        answers.into_iter().flatten().chain(all.cautions()).collect()
    }

    fn lead(&self, facts: &Facts<'_>) -> Option<FindingKind> {
        Some(if facts.asked.p99_ns.is_some() { FindingKind::LoadBound } else { FindingKind::Load })
    }

    /// Throughput is what arrives, so its noise says nothing.
    fn floor(&self, _: &Facts<'_>) -> Option<Fact> {
        None
    }

    fn turn(&self, facts: &Facts<'_>) -> String {
        let design = &facts.study.design;
        let [slice, before] =
            [design.slice_ns, design.rewarm_ns.unwrap_or(0)].map(|ns| nanoseconds(ns as f64));
        let way = facts.study.treatments.first().and_then(|one| one.options.get(ARRIVALS));
        let how = match way.is_some_and(|way| way.to_string() == "constant") {
            true => "at equal distances",
            false => "independently of each other (Poisson)",
        };
        format!(
            "gets one slice of {slice} after {before} in which its queue settles: requests arrive {how}, and the latency of \
             each begins when it was due"
        )
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        Points::of(facts).map(|all| all.section()).into_iter().collect()
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        rate::Rates.tables(facts)
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        rate::Rates.chart_words(facts)
    }
}

/// The points of a study, each with its treatment.
struct Points<'a> {
    facts: &'a Facts<'a>,
    all: Vec<Point<'a>>,
}

#[derive(Clone)]
struct Point<'a> {
    load: &'a LoadPoint,
    treatment: &'a Treatment,
    /// Its placement in words, and levels of factors besides the rate.
    name: String,
}

impl<'a> Points<'a> {
    fn of(facts: &'a Facts<'a>) -> Option<Self> {
        let load = facts.analysis.get::<Load>()?;
        let point = |load: &'a LoadPoint| {
            let (_, treatment) = facts.study.treatment(&load.treatment)?;
            let summary = facts.summary(&load.treatment)?;
            let name = match treatment.role {
                Role::BaselineTwin => facts.label(&treatment.name, &treatment.group).to_owned(),
                _ => named(facts, summary, &treatment.group),
            };
            let others = other_levels(facts.study, treatment);
            let name = if others.is_empty() { name } else { format!("{name} {others}") };
            Some(Point { load, treatment, name })
        };
        let all: Vec<Point<'_>> = load.points.iter().filter_map(point).collect();
        (!all.is_empty()).then_some(Self { facts, all })
    }

    /// Compared treatments and baselines, without second runs of baselines.
    fn shown(&self) -> impl Iterator<Item = &Point<'a>> {
        self.all.iter().filter(|point| point.treatment.role != Role::BaselineTwin)
    }

    /// Points by name, in study order, those of one name by rate.
    fn series(&self) -> Vec<(&str, Vec<&Point<'a>>)> {
        let mut series: Vec<(&str, Vec<&Point<'a>>)> = Vec::new();
        for point in self.shown() {
            match series.iter_mut().find(|(name, _)| *name == point.name) {
                Some((_, points)) => points.push(point),
                None => series.push((&point.name, vec![point])),
            }
        }
        for (_, points) in &mut series {
            points.sort_by(|one, other| one.load.rate_per_s.total_cmp(&other.load.rate_per_s));
        }
        series
    }

    fn rates(&self) -> Vec<f64> {
        let mut rates: Vec<f64> = self.all.iter().map(|point| point.load.rate_per_s).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        rates
    }

    /// Level of each answer about a bound, as its complement: placements, or at one rate all treatments, are one family.
    fn bound_alpha(&self) -> f64 {
        let family = if self.rates().len() > 1 { self.series().len() } else { self.shown().count() };
        family_alpha(1.0 - self.facts.level(), family)
    }

    /// What keeps the bound that was asked for.
    fn bound(&self) -> Option<Finding> {
        let bound_ns = self.facts.asked.p99_ns?;
        match self.rates().as_slice() {
            [rate] => self.which_keep(*rate, bound_ns),
            _ => self.up_to_which_rate(bound_ns),
        }
    }

    /// Of the treatments at one rate those that keep the bound.
    fn which_keep(&self, rate: f64, bound_ns: f64) -> Option<Finding> {
        let points: Vec<&Point<'_>> = self.shown().collect();
        let alpha = self.bound_alpha();
        let that = |keeps: Keeps| {
            let all = points.iter().filter(move |point| point.load.keeps(bound_ns, alpha) == keeps);
            all.map(|point| point.name.clone()).collect::<Vec<String>>()
        };
        let (shown, not, open) = (that(Keeps::Shown), that(Keeps::ShownNot), that(Keeps::Open));
        let bound = Prose::figure(nanoseconds(bound_ns));
        let mut text = prose!("At {} the 99th percentile ", per_s(rate));
        let clauses = [
            (&shown, prose!("stays within {} for ", bound.clone())),
            (&not, prose!("does not stay within {} for ", bound.clone())),
            (&open, prose!("is not shown to be within or beyond {} for ", bound)),
        ];
        let clauses = clauses.into_iter().filter(|(names, _)| !names.is_empty());
        let clauses = clauses.map(|(names, what)| prose!("{}{}", what, list(names)));
        text.push(Prose::join(clauses.collect::<Vec<Prose>>(), "; "));
        text.push(".");
        if let Some(first) = points.iter().find(|point| shown.contains(&point.name)) {
            text.push(self.busy(first).map_or_else(Prose::default, |(busy, left)| {
                let name = first.name.as_str();
                prose!(" With {} its logical CPUs are {} busy, which leaves at most {}.", name, busy, left)
            }));
        }
        let names: Vec<&str> = points.iter().map(|point| point.load.treatment.as_str()).collect();
        Some(finding(FindingKind::LoadBound, text, &names))
    }

    /// The highest rate of each placement within the bound, the highest first.
    fn up_to_which_rate(&self, bound_ns: f64) -> Option<Finding> {
        let series = self.series();
        let alpha = self.bound_alpha();
        let mut found: Vec<(HighestRate, &str, &[&Point<'_>])> = Vec::new();
        for (name, points) in &series {
            let loads: Vec<&LoadPoint> = points.iter().map(|point| point.load).collect();
            found.push((HighestRate::of(&loads, bound_ns, alpha), name, points));
        }
        // Of those that keep it at the same rates the one with the lower latency at the highest comes first.
        let last_ns =
            |points: &[&Point<'_>]| points.last().and_then(|point| point.load.p99_ns()).unwrap_or(f64::MAX);
        found.sort_by(|(one, _, with), (other, _, against)| {
            other.order().total_cmp(&one.order()).then_with(|| last_ns(with).total_cmp(&last_ns(against)))
        });
        let sentence = |(at, (rate, name, points)): (usize, &(HighestRate, &str, &[&Point<'_>]))| {
            let kept = points.iter().find(|point| Some(point.load.rate_per_s) == rate.kept);
            let busy = kept.and_then(|point| {
                let at = per_s(point.load.rate_per_s);
                let (busy, left) = self.busy(point)?;
                Some(prose!("; its logical CPUs are {} busy at {}, which leaves at most {}", busy, at, left))
            });
            let busy = busy.unwrap_or_default();
            match at {
                0 => prose!(
                    "The highest rate with a 99th percentile within {} is {} for {}{}.",
                    Prose::figure(nanoseconds(bound_ns)),
                    highest(rate),
                    *name,
                    busy
                ),
                _ => prose!("For {} it is {}{}.", *name, highest(rate), busy),
            }
        };
        let sentences: Vec<Prose> = found.iter().enumerate().map(sentence).collect();
        (!sentences.is_empty()).then(|| finding(FindingKind::LoadBound, Prose::join(sentences, " "), &[]))
    }

    /// Latencies: at the only rate of all treatments, or of each from its lowest to its highest rate.
    fn latencies(&self) -> Option<Finding> {
        let is_at_one_rate = self.rates().len() == 1;
        let groups: Vec<Vec<&Point<'_>>> = match is_at_one_rate {
            true => self.shown().map(|point| vec![point]).collect(),
            false => self.series().into_iter().map(|(_, points)| points).collect(),
        };
        let ends_of = |value: Percentile| -> Vec<Vec<&Point<'_>>> {
            groups.iter().map(|points| ends(points, value)).filter(|points| !points.is_empty()).collect()
        };
        // One percentile for all: the 99th only if each of them has it.
        let [p50, p99]: [Percentile; 2] =
            [|load| load.latency_ns_p50.as_ref(), |load| load.latency_ns_p99.as_ref()];
        let medians = ends_of(p50);
        let (what, value, all) = match medians.iter().flatten().all(|point| p99(point.load).is_some()) {
            true => (P99, p99, ends_of(p99)),
            false => ("Median latency", p50, medians),
        };
        let clause = |points: &Vec<&Point<'_>>| {
            let at = |point: &&Point<'_>| {
                let figure = latency(value(point.load)?);
                Some(match is_at_one_rate {
                    true => figure,
                    false => prose!("{} at {}", figure, per_s(point.load.rate_per_s)),
                })
            };
            let figures = Prose::join(points.iter().filter_map(at).collect::<Vec<Prose>>(), ", ");
            Some(prose!("{} {}", points.first()?.name.as_str(), figures))
        };
        let clauses: Vec<Prose> = all.iter().filter_map(clause).collect();
        let at = match self.rates().as_slice() {
            [rate] => prose!(" at {}", per_s(*rate)),
            _ => Prose::default(),
        };
        let clauses = limited(clauses, MAX_LISTED + 1)?;
        Some(finding(FindingKind::Load, prose!("{}{}: {}.", what, at, clauses), &[]))
    }

    /// Comparisons with the baseline at the highest rate at which neither is too high a load.
    fn compared(&self) -> Option<Finding> {
        let point_of = |name: &str| self.all.iter().find(|point| point.load.treatment == name);
        let all = self.facts.analysis.estimates.iter();
        let mut judged: Vec<(&Estimate, &Point<'_>)> = all
            .filter(|one| one.metric == LATENCY_MEAN && one.kind == ComparisonKind::Baseline)
            .filter_map(|one| Some((one, point_of(&one.treatment)?)))
            .collect();
        let highest = judged.iter().map(|(_, point)| point.load.rate_per_s).fold(0.0, f64::max);
        judged.retain(|(_, point)| point.load.rate_per_s == highest);
        let clause = |(one, point): &(&Estimate, &Point<'_>)| {
            prose!("{} {}", point.name.as_str(), judged_decisive(&one.ratio))
        };
        let clauses = limited(judged.iter().map(clause), MAX_LISTED)?;
        let (first, point) = judged.first()?;
        let below = self.facts.baseline_label(&point.treatment.group);
        let text = prose!("Mean latency at {} over that of {}: {}.", per_s(highest), below, clauses);
        Some(finding(FindingKind::Load, text, &[&first.name]))
    }

    /// From which rate on there is too much load.
    fn overload(&self) -> Option<Finding> {
        let series = self.series();
        let first: Vec<&Point<'_>> = series
            .iter()
            .filter_map(|(_, points)| points.iter().copied().find(|point| point.load.is_overload))
            .collect();
        let clause = |point: &&Point<'_>| {
            let waiting = point.load.waiting_share.as_ref().map_or(0.0, |share| share.mean);
            let rate = per_s(point.load.rate_per_s);
            prose!("{} at {} ({} of the requests)", point.name.as_str(), rate, share(waiting))
        };
        let names: Vec<&str> = first.iter().map(|point| point.load.treatment.as_str()).collect();
        let clauses: Vec<Prose> = first.iter().map(clause).collect();
        let clauses = limited(clauses, MAX_LISTED)?;
        let text = prose!("Overload, with requests that wait at the end of each window: {}.", clauses);
        Some(finding(FindingKind::Overload, text, &names))
    }

    /// What limits the figures: too few requests, or a client that woke up late.
    fn cautions(&self) -> Vec<Finding> {
        let few: Vec<String> = self
            .shown()
            .filter(|point| {
                let load = point.load;
                load.latency_ns_p99.is_none() && load.unserved_share == 0.0 && !load.is_overload
            })
            .map(|point| format!("{} at {}/s", point.name, set_number(point.load.rate_per_s)))
            .collect();
        let few = limited(few.iter().map(|name| name.as_str().into()), MAX_LISTED).map(|names| {
            let text = prose!(
                "Trust: fewer than 1,000 requests, so no 99th percentile: {}; `--slice 10s` or more blocks.",
                names
            );
            finding(FindingKind::Trust, text, &[])
        });
        let late = |point: &&Point<'_>| {
            let late = point.load.woken_late_ns.as_ref()?;
            let median = point.load.latency_ns_p50.as_ref()?;
            (late.mean > LATE_SHARE * median.mean).then_some(late.mean)
        };
        let latest = self.shown().filter_map(|point| Some((late(&point)?, point)));
        let latest = latest.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(late_ns, point)| {
            let text = prose!(
                "Trust: the client woke up {} late for a request on average ({} at {}), which is part of its latency and \
                 none of the server's.",
                Prose::figure(nanoseconds(late_ns)),
                point.name.as_str(),
                per_s(point.load.rate_per_s)
            );
            finding(FindingKind::Trust, text, &[&point.load.treatment])
        });
        let given_up = |point: &&Point<'_>| point.load.unserved_share > 0.0 && !point.load.is_overload;
        let given_up = self.shown().filter(given_up).map(|point| {
            let part = share(point.load.unserved_share);
            prose!("{} of {} at {}", part, point.name.as_str(), per_s(point.load.rate_per_s))
        });
        let given_up = limited(given_up.collect::<Vec<Prose>>(), MAX_LISTED).map(|clauses| {
            let text = prose!(
                "Trust: requests were given up after a stall, and count as longer than all others: {}.",
                clauses
            );
            finding(FindingKind::Trust, text, &[])
        });
        [few, given_up, latest].into_iter().flatten().collect()
    }

    /// Busy share of the logical CPUs of a point, and what is left: at most, since a busy core's other thread has less
    /// than half of it.
    fn busy(&self, point: &Point<'_>) -> Option<(Prose, Prose)> {
        let busy = self.facts.summary(&point.load.treatment)?.metrics.get("busy_share")?.mean;
        Some((share(busy), share((1.0 - busy).max(0.0))))
    }

    fn section(&self) -> Section {
        let how = prose!(
            "Latency is the time from the moment at which a request was due to its answer, and includes the time that it \
             waited for a free session. Percentiles are of all requests of a treatment, with intervals over blocks."
        );
        let charts = [
            self.chart(P99, |load| load.latency_ns_p99.as_ref()),
            self.chart("Median latency", |load| load.latency_ns_p50.as_ref()),
            self.chart("99.9th percentile of latency", |load| load.latency_ns_p999.as_ref()),
        ];
        let tables = self.p99_by_rate().into_iter().chain([self.table()]).map(Block::Table);
        let blocks = std::iter::once(Block::Text(how, Shown::Page)).chain(tables);
        Section::new("load", "Load at a rate", blocks.chain(charts.into_iter().flatten()).collect())
    }

    /// The 99th percentile of each placement (a row) at each rate (a column); `None` with one rate.
    fn p99_by_rate(&self) -> Option<Table> {
        let rates = self.rates();
        let cell = |point: Option<&&Point<'_>>| match point {
            None => Cell::none(),
            Some(point) if point.load.is_overload => Cell::text("overload"),
            Some(point) => Cell::mean(point.load.latency_ns_p99.as_ref()),
        };
        let row = |(name, points): (&str, Vec<&Point<'_>>)| {
            let at = |rate: &f64| cell(points.iter().find(|point| point.load.rate_per_s == *rate));
            std::iter::once(Cell::text(name)).chain(rates.iter().map(at)).collect::<Vec<Cell>>()
        };
        let heading = |rate: &f64| Column::figure(format!("{}/s", set_number(*rate)));
        let columns = std::iter::once(Column::text("p99 at")).chain(rates.iter().map(heading)).collect();
        let table = Table::new("99th percentile by rate", columns, self.series().into_iter().map(row));
        (rates.len() > 1).then(|| table.shown(Shown::Terminal))
    }

    fn table(&self) -> Table {
        let cells = |(_, points): (&str, Vec<&Point<'_>>)| {
            points.into_iter().map(|point| self.cells(point)).collect()
        };
        let rows: Vec<Vec<Vec<Cell>>> = self.series().into_iter().map(cells).collect();
        let rows = rows.into_iter().flatten();
        let figure = |name: &str| Column::figure(name);
        let columns = vec![
            Column::text("treatment").shorten_at(1),
            figure("rate/s"),
            figure("p50"),
            figure("p99"),
            figure("p99.9").drop_at(3),
            figure("mean over baseline").drop_at(2),
            figure("queued").drop_at(4),
            figure("CPU busy"),
            Column::text("").drop_at(5),
        ];
        Table::new("Latency by rate", columns, rows)
    }

    fn cells(&self, point: &Point<'_>) -> Vec<Cell> {
        let load = point.load;
        let ratio = self.facts.ratio_of(&load.treatment, LATENCY_MEAN);
        let latency = |value: Option<&Interval>| match (load.is_overload, value) {
            (true, _) => Cell::Gap("overload".to_owned()),
            (false, Some(value)) => Cell::Interval(value.clone()),
            (false, None) if load.unserved_share > 0.0 => Cell::Gap("requests given up".to_owned()),
            (false, None) => Cell::Gap("too few requests".to_owned()),
        };
        let summary = self.facts.summary(&load.treatment);
        let mark = match (load.is_overload, self.facts.asked.p99_ns) {
            (true, _) => "overload",
            (false, Some(bound)) => match load.keeps(bound, self.bound_alpha()) {
                Keeps::Shown => "within",
                Keeps::ShownNot => "beyond",
                Keeps::Open => "open",
            },
            (false, None) => "",
        };
        vec![
            Cell::text(&point.name),
            Cell::text(set_number(load.rate_per_s)),
            latency(load.latency_ns_p50.as_ref()),
            latency(load.latency_ns_p99.as_ref()),
            latency(load.latency_ns_p999.as_ref()),
            Cell::ratio(ratio.map(|one| &one.ratio), Says::Higher),
            Cell::mean(load.queued_ns.as_ref()),
            Cell::mean(summary.and_then(|summary| summary.metrics.get("busy_share"))),
            Cell::text(mark),
        ]
    }

    /// A line for each placement over rates; over sessions where there is one rate.
    fn chart(&self, title: &str, value: Percentile) -> Option<Block> {
        let over_rates = self.rates().len() > 1;
        let point = |point: &&Point<'_>| {
            let latency = value(point.load).filter(|_| !point.load.is_overload)?;
            let end = |ns: f64| (ns > 0.0 && ns.is_finite()).then_some(ns / 1e6);
            let at = if over_rates { point.load.rate_per_s } else { f64::from(point.treatment.sessions) };
            Some((at, latency.mean / 1e6, end(latency.low), end(latency.high), point.load.treatment.clone()))
        };
        let series: Vec<(String, Vec<&Point<'_>>)> = match over_rates {
            true => self.series().into_iter().map(|(name, points)| (name.to_owned(), points)).collect(),
            false => {
                let mut points: Vec<&Point<'_>> = self.shown().collect();
                points.sort_by_key(|point| point.treatment.sessions);
                // Placements with as many sessions have no common line.
                let is_sweep =
                    points.windows(2).all(|pair| pair[0].treatment.sessions < pair[1].treatment.sessions);
                if is_sweep { vec![("sessions".to_owned(), points)] } else { Vec::new() }
            }
        };
        let lines = series.iter().map(|(name, points)| Line {
            name: name.clone(),
            points: points.iter().filter_map(point).collect(),
        });
        let lines: Vec<Line> = lines.filter(|line| line.points.len() > 1).collect();
        if lines.is_empty() {
            return None;
        }
        let over = if over_rates { "requests a second" } else { "sessions" };
        let table = self.figures(title, &lines, over);
        let bound = self.facts.asked.p99_ns.filter(|_| title == P99).map(|ns| ns / 1e6);
        Some(Block::Figure(Box::new(Figure {
            wide: false,
            title: self.facts.titled(title, ""),
            description: format!(
                "{title} of requests over {over}, from the moment at which they were due, with {} intervals over blocks; \
                 rates that are too high are left out.",
                set_percent(self.facts.level())
            ),
            table,
            chart: Chart::Lines(LineChart {
                group: String::new(),
                over,
                unit: "latency in ms",
                is_log: true,
                bound,
                lines,
            }),
        })))
    }

    fn figures(&self, title: &str, lines: &[Line], over: &str) -> Table {
        let points = lines.iter().flat_map(|line| line.points.iter().map(move |point| (line, point)));
        let rows = points.map(|(line, (at, mean, low, high, _))| {
            let [low, high] = [low, high].map(|end| end.map_or(f64::NAN, |ms| ms * 1e6));
            let value = Interval { mean: mean * 1e6, low, high, unit: "ns".to_owned() };
            vec![
                (Column::text("treatment"), Cell::text(&line.name)),
                (Column::figure(over), Cell::text(set_number(*at))),
                (Column::figure(title), Cell::Interval(value)),
            ]
        });
        Table::headed("", rows).shown(Shown::Page)
    }
}

/// The first and the last point with a percentile, of points in the order of their rates.
fn ends<'p, 'a>(points: &[&'p Point<'a>], value: Percentile) -> Vec<&'p Point<'a>> {
    let has = |point: &&&Point<'_>| !point.load.is_overload && value(point.load).is_some();
    let settled: Vec<&Point<'_>> = points.iter().filter(has).copied().collect();
    match settled.as_slice() {
        [first, .., last] => vec![first, last],
        _ => settled,
    }
}

/// A latency with its interval, of which the upper end may not be known.
fn latency(value: &Interval) -> Prose {
    match value.low > 0.0 && value.high.is_infinite() {
        true => prose!(
            "{} ({} or more)",
            Prose::figure(nanoseconds(value.mean)),
            Prose::figure(nanoseconds(value.low))
        ),
        false => value.into(),
    }
}

fn highest(found: &HighestRate) -> Prose {
    let figure = |rate: f64| Prose::figure(format!("{}/s", set_number(rate)));
    let ends = |low: f64, high: f64| {
        Prose::of(Class::Interval, format!("[{}, {}]", set_number(low), set_number(high)))
    };
    match (found.kept, found.broken, found.value) {
        (Some(kept), Some(broken), Some(value)) => {
            prose!("{} {}", figure(rounded(value, 3)), ends(kept, broken))
        }
        (Some(kept), Some(broken), None) => prose!("from {} to {}", figure(kept), figure(broken)),
        (Some(kept), None, _) => prose!("at least {}", figure(kept)),
        (None, Some(broken), _) => prose!("below {}", figure(broken)),
        (None, None, _) => "not known".into(),
    }
}

fn per_s(rate: f64) -> Prose {
    Prose::figure(format!("{}/s", set_number(rate)))
}

/// Levels of factors that a treatment's series does not vary: all but the rate.
fn other_levels(study: &Study, treatment: &Treatment) -> String {
    if study.groups().len() < 2 {
        return String::new();
    }
    let is_other = |level: &&str| !level.starts_with(RATE);
    let levels: Vec<&str> = crate::groups::levels(&treatment.group).filter(is_other).collect();
    let varies = |level: &&str| {
        let has = |other: &Treatment| crate::groups::levels(&other.group).any(|one| one == *level);
        !study.treatments.iter().all(has)
    };
    let levels: Vec<&str> = levels.into_iter().filter(varies).collect();
    if levels.is_empty() { String::new() } else { format!("({})", levels.join(", ")) }
}
