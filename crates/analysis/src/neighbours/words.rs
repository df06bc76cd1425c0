//! What was seen of neighbours without a load, on one screen.

use super::watched::{Watched, WatchedCpu};
use threadwise_document::numbers::{self, counted, grouped};
use threadwise_document::screen::{Screen, Trust, TrustLevel};
use threadwise_document::{Cell, Column, Interval, Prose, Table, prose};

/// The screen of some minutes of looks. `subject` is the machine.
pub fn screen(watched: &Watched, subject: String, files: Prose) -> Screen {
    Screen {
        subject,
        answer: answer(watched),
        trust: trust(watched),
        table: (!watched.cpus.is_empty()).then(|| table(watched)),
        set: Vec::new(),
        why: Vec::new(),
        next: prose!("`threadwise run`: what neighbours cost your database"),
        files,
    }
    .fitted()
}

fn answer(watched: &Watched) -> Vec<Prose> {
    let known = watched.known();
    let Some(prevalence) = watched.prevalence.as_ref().filter(|_| known > 0) else {
        return vec![
            "Not known: too few looks show whether a core was free. Look longer, or on a quieter machine."
                .into(),
        ];
    };
    let cpus = match known == watched.cpus.len() {
        true => counted(known, "logical CPU"),
        false => format!("{known} of {}", counted(watched.cpus.len(), "logical CPU")),
    };
    let looks = grouped(usable(watched).into());
    let time = numbers::seconds(watched.time_ns as f64 / 1e9);
    if prevalence.mean == 0.0 {
        let last = numbers::seconds(watched.time_ns as f64 / 1e9 / f64::from(watched.looks.max(2) - 1));
        // No event in a time: fewer than 3 in it, at 95% (Hanley, Lippman-Hand, JAMA 249, 1983).
        let often = numbers::seconds(watched.time_ns as f64 / 1e9 / 3.0);
        return vec![
            prose!("Nothing else ran on the cores of your {} in {} looks over {}.", cpus, looks, time),
            prose!("Visits of {} and longer come less often than every {} (at 95%).", last, often),
        ];
    }
    if !watched.shows_neighbours() {
        return vec![prose!(
            "No neighbour is shown: your {} had less than a free core in {} of the looks, which may be disturbances.",
            cpus,
            numbers::percent(prevalence.mean)
        )];
    }
    let mut answer = vec![prose!(
        "Your {}: something else ran on the other thread {} of the time.",
        match (known, watched.cpus.len()) {
            (1, 1) => "logical CPU is a hyper-thread".to_owned(),
            (1, _) => format!("{cpus} is a hyper-thread"),
            _ => format!("{cpus} are hyper-threads"),
        },
        whole(prevalence)
    )];
    if let Some(left) = &watched.width_left {
        let lost = Interval {
            mean: 1.0 - left.mean,
            low: 1.0 - left.high,
            high: 1.0 - left.low,
            unit: left.unit.clone(),
        };
        answer.push(prose!(
            "Meanwhile code that only adds lost {} of its speed there; what a database loses is measured by `{}`.",
            whole(&lost),
            "threadwise run"
        ));
    }
    answer
}

/// An interval, or its mean alone where the ends are not known.
fn whole(share: &Interval) -> Prose {
    match share.has_ends() {
        true => {
            Prose::from(&Interval { low: share.low.max(0.0), high: share.high.min(1.0), ..share.clone() })
        }
        false => Prose::figure(numbers::percent(share.mean)),
    }
}

/// Looks at logical CPUs that show whether a neighbour was there.
fn usable(watched: &Watched) -> u32 {
    watched.cpus.iter().map(|cpu| cpu.looks).sum()
}

/// Time from which on the word is fair, seconds: other minutes differ anyway.
const FAIR_S: f64 = 30.0;

fn trust(watched: &Watched) -> Trust {
    let time_s = watched.time_ns as f64 / 1e9;
    let level = match watched.known() {
        0 => TrustLevel::None,
        known if known < watched.cpus.len() || time_s < FAIR_S => TrustLevel::Low,
        _ => TrustLevel::Fair,
    };
    let reason = prose!(
        "{} in {}, one every {}; intervals at 95%. Other hours may differ.",
        format!("{} usable looks", grouped(usable(watched).into())),
        numbers::seconds(time_s),
        numbers::seconds(time_s / f64::from(watched.looks.max(2) - 1))
    );
    Trust { level, reasons: vec![reason] }
}

fn table(watched: &Watched) -> Table {
    let columns = vec![
        Column::text("logical CPU"),
        Column::figure("neighbour there"),
        Column::figure("visits seen"),
        Column::figure("median visit").drop_at(1),
        Column::figure("two of them on one core").drop_at(2),
    ];
    let share = |count: u32, all: u32| match all {
        0 => Cell::none(),
        all => Cell::Text(numbers::percent(f64::from(count) / f64::from(all))),
    };
    let row = |cpu: &WatchedCpu| {
        vec![
            Cell::Text(cpu.cpu.to_string()),
            share(cpu.with_neighbour, cpu.looks),
            if cpu.looks == 0 { Cell::none() } else { Cell::Count(cpu.visits.into()) },
            cpu.visit_ns_p50.map_or_else(Cell::none, |ns| Cell::Text(numbers::nanoseconds(ns))),
            share(cpu.on_one_core, watched.looks),
        ]
    };
    let mut cpus: Vec<&WatchedCpu> = watched.cpus.iter().collect();
    // A screen has room for some: those with the most.
    cpus.sort_by_key(|cpu| std::cmp::Reverse(cpu.with_neighbour));
    Table::new("", columns, cpus.into_iter().map(row))
}

/// A line of less time says so.
const LINE_NS: u64 = 55_000_000_000;

/// A minute in one line.
pub fn line(watched: &Watched) -> String {
    let share = |cpu: &WatchedCpu| match cpu.looks {
        0 => format!("{} unknown", cpu.cpu),
        looks => {
            format!("{} {}", cpu.cpu, numbers::percent(f64::from(cpu.with_neighbour) / f64::from(looks)))
        }
    };
    let cpus: Vec<String> = watched.cpus.iter().map(share).collect();
    let all = watched.prevalence.as_ref().map_or("unknown".to_owned(), |all| numbers::percent(all.mean));
    let left = watched.width_left.as_ref().map_or("-".to_owned(), |left| numbers::percent(1.0 - left.mean));
    // One that was stopped.
    let short = match watched.time_ns < LINE_NS {
        true => format!("  in {}", numbers::seconds(watched.time_ns as f64 / 1e9)),
        false => String::new(),
    };
    format!("neighbour {all:>5}  lost meanwhile {left:>4}  by logical CPU {}{short}", cpus.join(", "))
}

/// For Prometheus.
pub fn exposition(watched: &Watched) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, help: &str, value: &dyn Fn(&WatchedCpu) -> f64| {
        text.push_str(&format!("# HELP threadwise_{name} {help}\n# TYPE threadwise_{name} gauge\n"));
        // What no look showed is missing, and not 0.
        for cpu in watched.cpus.iter().filter(|cpu| cpu.looks > 0 || name == "neighbour_looks") {
            text.push_str(&format!("threadwise_{name}{{cpu=\"{}\"}} {}\n", cpu.cpu, value(cpu)));
        }
    };
    metric("neighbour_looks", "Looks of the last window that show whether a neighbour was there.", &|cpu| {
        f64::from(cpu.looks)
    });
    metric(
        "neighbour_share",
        "Share of these looks with a neighbour on the other thread of the core.",
        &|cpu| f64::from(cpu.with_neighbour) / f64::from(cpu.looks),
    );
    metric("neighbour_visits", "Visits of neighbours in the last window.", &|cpu| f64::from(cpu.visits));
    text
}
