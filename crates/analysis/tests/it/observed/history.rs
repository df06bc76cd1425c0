//! Made-up histories of a server, with noise like that of production: statements drift from day to day, times depend on
//! the load and the hour, neighbouring intervals are alike, and some calls take very long.

use threadwise_analysis::observed::{By, Comparison, Question, Sums, compare, plan};
use threadwise_observed::{Count, Interval, StatementText, States};
use threadwise_statistics::Normal;

/// 2026-01-01.
pub const START_MS: i64 = 1_767_225_600_000;
pub const HOUR_MS: i64 = 3_600_000;

/// How noisy a server is.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    /// Standard deviation of a statement's steps from day to day, in logarithms.
    pub daily: f64,
    /// Growth of a statement a day, in logarithms.
    pub growth: f64,
    /// Standard deviation of an interval, in logarithms, with a lag-1 correlation of 0.7.
    pub interval: f64,
    /// How much time a call grows with the logarithm of the load.
    pub of_load: f64,
    /// Share of a statement's intervals in which its calls take three times as long and more.
    pub stalls: f64,
}

/// A server of a trading day: load by hour, some drift, rare stalls.
pub const PRODUCTION: Noise = Noise { daily: 0.05, growth: 0.005, interval: 0.1, of_load: 0.3, stalls: 0.01 };

/// A schedule: intervals of an hour, the state changed every so many hours.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    pub days: usize,
    pub hours_a_state: usize,
    pub statements: usize,
}

/// Three changes a day, so that each state has every hour on every other day.
pub const TURNS: Schedule = Schedule { days: 16, hours_a_state: 8, statements: 30 };

/// A history and its statements.
pub struct History {
    pub intervals: Vec<Interval<u32>>,
    pub statements: Vec<StatementText>,
}

/// A history in which the time a call of the first statements is larger by these factors while SMT is on.
pub fn history(schedule: Schedule, noise: Noise, factors: &[f64], seed: u64) -> History {
    let mut random = Normal::new(seed);
    let hours = schedule.days * 24;
    let load: Vec<f64> = (0..hours).map(|hour| load(hour, &mut random)).collect();
    let is_on = |hour: usize| (hour / schedule.hours_a_state) % 2 == 1;
    let mut intervals: Vec<Interval<u32>> = (0..hours).map(|hour| interval(hour, is_on(hour))).collect();
    for id in 0..schedule.statements {
        let factor = factors.get(id).copied().unwrap_or(1.0);
        let base_ns = 1e5 * (1.0 + random.uniform() * 100.0);
        let frequency = 20.0 + 500.0 * random.uniform();
        let (growth, sensitivity) = (noise.growth * random.draw(), noise.of_load * random.uniform());
        let wiggles = random.correlated(hours, 0.7);
        let mut drift = 0.0;
        for hour in 0..hours {
            if hour % 24 == 0 {
                drift += noise.daily * random.draw();
            }
            let state = if is_on(hour) { factor.ln() } else { 0.0 };
            let stall = if random.uniform() < noise.stalls { 3.0 / random.uniform().sqrt() } else { 1.0 };
            let trend = growth * hour as f64 / 24.0;
            let log = drift + trend + state + noise.interval * wiggles[hour] + sensitivity * load[hour].ln();
            let calls = (frequency * load[hour] * (0.1 * random.draw()).exp()).round().max(1.0) as u64;
            let time_ns = (base_ns * log.exp() * calls as f64 * stall).round() as u64;
            intervals[hour].counts.push(Count { statement: id as u32, calls, time_ns, rows: 0 });
        }
    }
    let statements = (0..schedule.statements).map(text).collect();
    History { intervals, statements }
}

/// Load of an hour of the day, 1 on average at noon, with noise.
fn load(hour: usize, random: &mut Normal) -> f64 {
    let of_day = (hour % 24) as f64;
    let shape = 0.3 + 0.7 * (std::f64::consts::PI * of_day / 24.0).sin();
    shape * (0.15 * random.draw()).exp()
}

pub fn interval(hour: usize, is_on: bool) -> Interval<u32> {
    let word = if is_on { "on" } else { "off" };
    Interval {
        start_unix_ms: START_MS + hour as i64 * HOUR_MS,
        end_unix_ms: START_MS + (hour as i64 + 1) * HOUR_MS,
        length_ns: 3_600_000_000_000,
        states: States { smt: Some(word.to_owned()), ..States::default() },
        ..Interval::default()
    }
}

pub fn text(id: usize) -> StatementText {
    StatementText {
        key: format!("s{id}"),
        text: Some(format!("SELECT {id} FROM t")),
        ..StatementText::default()
    }
}

pub fn question(by: By) -> Question {
    Question { by, between: None, margin: 0.05, alpha: 0.05, most: 100 }
}

/// The comparison, as the program makes it.
pub fn compared<'a>(history: &'a History, question: Question) -> Result<Comparison<'a>, String> {
    let calls: Vec<u64> = history.intervals.iter().map(Interval::calls).collect();
    let plan = plan(question, &history.intervals, &calls)?;
    let mut sums = Sums::default();
    for (at, interval) in history.intervals.iter().enumerate() {
        interval.counts.iter().for_each(|count| sums.add(&plan, at, count));
    }
    Ok(compare(&plan, &sums, &history.statements, &history.intervals, &calls))
}

/// How many of many histories without any change have a finding, and of those with changes the shares of changes that
/// are found and of intervals that cover the factor.
#[derive(Debug, Default, PartialEq)]
pub struct Rates {
    pub false_histories: usize,
    pub found: f64,
    pub covered: f64,
}

/// The rates over so many histories of each kind.
pub fn rates(schedule: Schedule, noise: Noise, factors: &[f64], histories: u64) -> Rates {
    let mut rates = Rates::default();
    let (mut found, mut covered, mut all) = (0, 0, 0);
    for seed in 0..histories {
        let without = history(schedule, noise, &[], seed);
        let answer = compared(&without, question(By::Smt)).unwrap();
        let is_false = answer.statements.iter().any(|one| one.is_slower() || one.is_faster());
        rates.false_histories += usize::from(is_false);
        let with = history(schedule, noise, factors, 1_000_000 + seed);
        let answer = compared(&with, question(By::Smt)).unwrap();
        for one in &answer.statements {
            let factor = factors.get(one.number as usize - 1).copied().unwrap_or(1.0);
            all += 1;
            covered += usize::from((one.ratio.low..=one.ratio.high).contains(&factor));
            let is_right = if factor > 1.0 { one.is_slower() } else { one.is_faster() };
            found += usize::from(factor != 1.0 && is_right);
        }
    }
    rates.found = found as f64 / (factors.len() as u64 * histories) as f64;
    rates.covered = covered as f64 / all as f64;
    rates
}
