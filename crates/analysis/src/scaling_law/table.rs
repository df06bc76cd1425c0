//! Sweeps from other sources: a table of comma-separated values with a line of names.
//!
//! Columns: `sessions` and `throughput`, with `cores` and `threads_per_core` of the machine if known; or `cores`,
//! `threads_per_core` and `throughput` without sessions, one machine per line, all of its logical CPUs busy. `clock` is
//! in any unit; `series` separates several workloads or machines.

use super::load::{Load, MAX_THREADS};
use super::sweep::{Clock, Measured, Series};
use crate::groups::grouped;
use std::collections::BTreeMap;
use threadwise_machine::text::one_line;

/// Most lines.
pub const MOST_ROWS: usize = 1000;

/// Most logical CPUs of a machine.
const MOST_CPUS: u32 = 4096;

/// Most sessions.
const MOST_SESSIONS: u32 = 1_000_000;

/// Most characters of a cell in an error.
const MOST_SHOWN: usize = 40;

const COLUMNS: [&str; 6] = ["sessions", "throughput", "cores", "threads_per_core", "clock", "series"];

/// Errors of a table; lines are counted from 1, including that of the names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// It is not a table of this form.
    #[error("line {line}: {cause}")]
    Csv {
        /// Its line.
        line: u64,
        /// The reader's message.
        cause: String,
    },
    /// An unknown column, or one twice.
    #[error(
        "column '{0}' is unknown or given twice: use sessions, throughput, cores, threads_per_core, clock and series, \
         each once"
    )]
    Column(String),
    /// A missing column.
    #[error(
        "there is no column {0}: give sessions and throughput, or cores, threads_per_core and throughput"
    )]
    Missing(&'static str),
    /// A cell that is not a number of its kind.
    #[error("line {line}, {column}: '{text}' is not {wanted}")]
    Number {
        /// Its line.
        line: u64,
        /// Its column.
        column: &'static str,
        /// Its text.
        text: String,
        /// The expected number.
        wanted: String,
    },
    /// Too many lines.
    #[error("the table has more than {MOST_ROWS} lines")]
    Long,
    /// No line after the names.
    #[error("the table has no line of figures")]
    Empty,
}

/// A line of figures.
struct Row {
    sessions: Option<u32>,
    throughput: f64,
    cores: Option<u32>,
    threads: u32,
    clock: Option<f64>,
}

/// Reads all series, in order of their first line.
///
/// # Errors
/// An unknown or missing column, a cell that is not a number of its kind, too many lines or none.
pub fn read(text: &str) -> Result<Vec<Series>, TableError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let places = places(reader.headers().map_err(|error| broken(&error))?)?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| broken(&error))?;
        if rows.len() >= MOST_ROWS {
            return Err(TableError::Long);
        }
        rows.push((
            text_of(&record, &places, "series").unwrap_or_default().to_owned(),
            row(&record, &places)?,
        ));
    }
    if rows.is_empty() {
        return Err(TableError::Empty);
    }
    Ok(grouped(rows).into_iter().map(|(name, rows)| of_rows(name, rows)).collect())
}

fn broken(error: &csv::Error) -> TableError {
    let line = error.position().map_or(1, csv::Position::line);
    let cause = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} values below {expected_len} names")
        }
        csv::ErrorKind::Utf8 { .. } => "not UTF-8".to_owned(),
        _ => "not comma-separated values".to_owned(),
    };
    TableError::Csv { line, cause }
}

type Places = BTreeMap<&'static str, usize>;

/// Index of each column by its name.
fn places(names: &csv::StringRecord) -> Result<Places, TableError> {
    let mut places = BTreeMap::new();
    for (at, name) in names.iter().enumerate() {
        let known = COLUMNS.into_iter().find(|known| known.eq_ignore_ascii_case(name));
        let is_new = known.is_some_and(|known| places.insert(known, at).is_none());
        if !is_new {
            return Err(TableError::Column(one_line(name, MOST_SHOWN)));
        }
    }
    let needed: &[&'static str] = match places.contains_key("sessions") {
        true => &["throughput"],
        false if places.contains_key("cores") => &["threads_per_core", "throughput"],
        false => &["sessions", "throughput"],
    };
    match needed.iter().find(|name| !places.contains_key(**name)) {
        Some(missing) => Err(TableError::Missing(missing)),
        None => Ok(places),
    }
}

/// The cell of a column, if there is such a column.
fn text_of<'r>(record: &'r csv::StringRecord, places: &Places, column: &str) -> Option<&'r str> {
    places.get(column).and_then(|at| record.get(*at))
}

fn row(record: &csv::StringRecord, places: &Places) -> Result<Row, TableError> {
    let line = record.position().map_or(0, csv::Position::line);
    let text = |column| text_of(record, places, column);
    let wrong = |column, text: &str, wanted: String| TableError::Number {
        line,
        column,
        text: one_line(text, MOST_SHOWN),
        wanted,
    };
    let whole = |column, most: u32| {
        let Some(text) = text(column) else { return Ok(None) };
        match text.parse::<u32>() {
            Ok(number) if (1..=most).contains(&number) => Ok(Some(number)),
            _ => Err(wrong(column, text, format!("a whole number from 1 to {most}"))),
        }
    };
    let above_0 = |column| {
        let Some(text) = text(column) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(number) if number > 0.0 && number.is_normal() => Ok(Some(number)),
            _ => Err(wrong(column, text, "a number above 0".to_owned())),
        }
    };
    let cores = whole("cores", MOST_CPUS)?;
    let threads = whole("threads_per_core", MAX_THREADS as u32)?.unwrap_or(1);
    if cores.is_some_and(|cores| cores * threads > MOST_CPUS) {
        let wanted = format!("one of at most {MOST_CPUS} logical CPUs");
        return Err(wrong("cores", text("cores").unwrap_or_default(), wanted));
    }
    Ok(Row {
        sessions: whole("sessions", MOST_SESSIONS)?,
        throughput: above_0("throughput")?.ok_or(TableError::Missing("throughput"))?,
        cores,
        threads,
        clock: above_0("clock")?,
    })
}

fn of_rows(name: String, rows: Vec<Row>) -> Series {
    let (mut points, mut clocks, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    let mut largest: Vec<u32> = Vec::new();
    let is_machine_known = rows.iter().all(|row| row.cores.is_some());
    for row in rows {
        let machine = row.cores.map(|cores| vec![row.threads; cores as usize]);
        let load = match (row.sessions, &machine) {
            (Some(sessions), Some(machine)) => Load::spread(sessions, machine),
            (Some(sessions), None) => Some(Load::of_cores(sessions)),
            (None, _) => row.cores.map(|cores| Load::whole(cores, row.threads)),
        };
        let label = match (row.sessions, row.cores) {
            (Some(sessions), _) => sessions.to_string(),
            (None, cores) => format!("{}c{}t", cores.unwrap_or(0), row.threads),
        };
        let Some(load) = load else {
            left_out.push(format!("{label}: more sessions than logical CPUs"));
            continue;
        };
        // Without a machine the curve ends where the points do.
        let machine = machine.unwrap_or_else(|| vec![1; load.sessions.min(MOST_CPUS) as usize]);
        if machine.iter().sum::<u32>() > largest.iter().sum() {
            largest = machine;
        }
        clocks.push((load.busy_cores(), row.clock));
        points.push(Measured { label, load, log_rates: vec![row.throughput.ln()] });
    }
    let (clock, ratios) = Clock::of(&clocks);
    for (point, clock_ratio) in points.iter_mut().zip(ratios) {
        point.load.clock_ratio = clock_ratio;
    }
    Series { name, points, threads_of_cores: largest, is_machine_known, packages: None, clock, left_out }
}

#[cfg(test)]
mod tests {
    use super::super::{Draws, Law, Outcome, ScalingLaw, Shape, laws};
    use super::*;

    #[test]
    fn a_sweep_on_a_known_machine_and_machines_a_line_are_read() {
        let text = "\u{feff}Sessions, throughput ,cores,threads_per_core,clock\n# a comment\n1,100,2,2,4000\n2,190,2,2,3600\n3,210,2,2,3600\n9,200,2,2,3600\n";
        let [series] = read(text).unwrap().try_into().unwrap();
        let cores: Vec<Vec<u32>> = series.points.iter().map(|point| point.load.cores.clone()).collect();
        assert_eq!(cores, [vec![1], vec![2], vec![1, 1]]);
        assert_eq!(series.points[1].load.clock_ratio, Some(0.9));
        assert_eq!((series.threads_of_cores.as_slice(), series.left_out.len()), ([2, 2].as_slice(), 1));
        let machines = "cores,threads_per_core,throughput,series\n4,2,10,a\n8,1,11,b\n8,2,12,a\n";
        let all = read(machines).unwrap();
        assert_eq!(
            all.iter().map(|one| (one.name.as_str(), one.points.len())).collect::<Vec<_>>(),
            [("a", 2), ("b", 1)]
        );
        assert_eq!((all[0].points[1].label.as_str(), all[0].points[1].load.sessions), ("8c2t", 16));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, wanted) in [
            ("", "no column sessions"),
            ("sessions,throughput\n", "no line of figures"),
            ("sessions\n1\n", "no column throughput"),
            ("cores,throughput\n1,1\n", "no column threads_per_core"),
            ("sessions,throughput,colour\n", "column 'colour'"),
            ("sessions,throughput,sessions\n", "column 'sessions'"),
            ("sessions,throughput\n1,2\n2\n", "line 3: 1 values below 2 names"),
            ("sessions,throughput\n1,2\n2,-4\n", "line 3, throughput: '-4' is not a number above 0"),
            ("sessions,throughput\n1,NaN\n", "line 2, throughput: 'NaN'"),
            ("sessions,throughput\n1,inf\n", "line 2, throughput: 'inf'"),
            ("sessions,throughput\n0,5\n", "line 2, sessions: '0' is not a whole number from 1"),
            ("sessions,throughput\n1.5,5\n", "line 2, sessions: '1.5'"),
            ("cores,threads_per_core,throughput\n4096,2,1\n", "at most 4096 logical CPUs"),
        ] {
            let said = read(text).unwrap_err().to_string();
            assert!(said.contains(wanted), "{text:?}: {said}");
        }
    }

    #[test]
    fn tables_without_a_curve_have_an_answer_or_a_sentence() {
        let draws = Draws { count: 50, ..Draws::usual(1) };
        let fitted = |text: &str| laws(&read(text).unwrap(), &["2s16c2t".parse().unwrap()], draws);
        let gap = |text: &str| match fitted(text).remove(0).outcome {
            Outcome::Gap(why) => why,
            Outcome::Law(law) => panic!("{law:?}"),
        };
        assert!(gap("sessions,throughput\n1,5\n2,9\n").contains("these are 2"));
        assert!(gap("sessions,throughput\n4,5\n4,6\n4,5.5\n").contains("these are 1"));
        let law = |text: &str| match fitted(text).remove(0).outcome {
            Outcome::Law(law) => law,
            Outcome::Gap(why) => panic!("{why}"),
        };
        // All equal: nothing is gained by more sessions.
        let flat = law("sessions,throughput\n1,5\n2,5\n4,5\n8,5\n");
        assert!((flat.sigma.as_ref().unwrap().mean - 1.0).abs() < 0.05, "{:?}", flat.sigma);
        assert_eq!(flat.law, Law::Universal);
        let falls = law("sessions,throughput\n1,50\n2,40\n4,30\n8,20\n");
        assert_eq!(falls.turns.unwrap().peak.mean, 1.0);
        // Unsorted, and some twice.
        let both = law("sessions,throughput\n4,30\n1,10\n2,19\n2,19.2\n4,30.5\n8,40\n");
        assert!(both.curve.iter().all(|point| point.known.low <= point.known.mean));
        assert!(both.predictions[0].gap.as_deref().unwrap().contains("no point has two busy threads"));
    }

    /// A machine a line, all logical CPUs busy: σ 0.01, κ 0.0001, within half a percent.
    fn machines(of_two: f64, threads_of: &[(u32, u32)]) -> String {
        let mut text = "cores,threads_per_core,throughput\n".to_owned();
        for (at, (cores, threads)) in threads_of.iter().enumerate() {
            let n = f64::from(cores * threads);
            let effective = f64::from(*cores) * if *threads == 2 { of_two } else { 1.0 };
            let noise = 1.0 + 0.005 * ((at * 7) % 5) as f64 / 2.0 - 0.005;
            let rate = 1000.0 * noise * effective / (1.0 + 0.01 * (n - 1.0) + 0.0001 * n * (n - 1.0));
            text.push_str(&format!("{cores},{threads},{rate:.2}\n"));
        }
        text
    }

    fn law_of(text: &str, predict: &[&str]) -> ScalingLaw {
        let shapes: Vec<Shape> = predict.iter().map(|shape| shape.parse().unwrap()).collect();
        let draws = Draws { count: 200, ..Draws::usual(1) };
        match laws(&read(text).unwrap(), &shapes, draws).remove(0).outcome {
            Outcome::Law(law) => *law,
            Outcome::Gap(why) => panic!("{why}"),
        }
    }

    #[test]
    fn what_points_do_not_tell_apart_is_not_known() {
        let both = [1, 2, 4, 8, 12, 16, 24, 32].map(|cores| (cores, 2));
        for of_two in [1.9, 0.9] {
            let law = law_of(&machines(of_two, &both), &["16c2t", "16c1t", "48c2t", "2s8c2t", "8c4t"]);
            assert!(law.rate_per_s.is_none() && law.yields.is_empty(), "{law:?}");
            let unknown: Vec<(&str, Option<u32>, &str)> =
                law.unknown.iter().map(|one| (one.number, one.threads, one.why.as_str())).collect();
            let why = "no point has one busy thread per core";
            assert_eq!(unknown, [("rate_per_s", None, why), ("yield", Some(2), why)]);
            // The product is known, and so is any machine of two threads a core.
            let truth = 1000.0 * 16.0 * of_two / (1.0 + 0.31 + 0.0001 * 32.0 * 31.0);
            let predicted = law.predictions[0].rate_per_s.as_ref().unwrap();
            assert!(predicted.low < truth && truth < predicted.high, "{truth} {predicted:?}");
            assert!(predicted.high < 1.1 * predicted.low, "{predicted:?}");
            assert!(law.predictions[2].rate_per_s.is_some());
            for (at, wanted) in [
                (1, why),
                (3, "no point is known to keep 2 packages busy"),
                (4, "no point has more than 2 busy threads of one core"),
            ] {
                let one = &law.predictions[at];
                assert!(one.rate_per_s.is_none() && one.over_largest.is_none(), "{one:?}");
                assert!(one.gap.as_deref().unwrap().starts_with(wanted), "{one:?}");
            }
            assert!(law.predictions[3].gap.as_deref().unwrap().contains("(16c2t is the same cores in one)"));
            // No knee at a number of sessions that was not measured.
            assert!(law.turns.is_none() && law.sigma.is_some() && law.kappa.is_some());
            assert!(law.curve.iter().all(|point| point.sessions == 64), "{:?}", law.curve);
        }
        // One machine of one thread a core tells them apart.
        let mixed: Vec<(u32, u32)> = both.into_iter().chain([(8, 1), (4, 1)]).collect();
        let law = law_of(&machines(1.9, &mixed), &["16c1t"]);
        assert!(law.unknown.is_empty() && law.predictions[0].rate_per_s.is_some(), "{law:?}");
        let of_two = &law.yields[0].known;
        assert!(of_two.low < 1.9 && 1.9 < of_two.high, "{of_two:?}");
        // Of four threads a core those of two are not known where no core has two busy ones.
        let of_four: Vec<(u32, u32)> =
            [1, 2, 4, 8, 16].into_iter().flat_map(|cores| [(cores, 1), (cores, 4)]).collect();
        let law = law_of(&machines(1.0, &of_four), &["8c4t", "8c2t"]);
        assert_eq!((law.yields.len(), law.yields[0].threads), (1, 4), "{law:?}");
        assert_eq!(law.unknown[0].why, "no point has a core with 2 busy threads");
        assert!(law.predictions[0].gap.is_none() && law.predictions[1].gap.is_some());
    }

    #[test]
    fn too_few_points_are_no_law_and_clocks_that_nobody_saw_no_figure() {
        let gap = |text: &str| match laws(&read(text).unwrap(), &[], Draws::usual(1)).remove(0).outcome {
            Outcome::Gap(why) => why,
            Outcome::Law(law) => panic!("{law:?}"),
        };
        // Three points fit three numbers exactly, whatever they are: nothing tells how far they lie off.
        let three = "sessions,throughput\n1,100\n4,330\n8,500\n";
        assert!(
            gap(three).contains("3 different loads do not determine the 3 numbers of the law and the misfit"),
            "{}",
            gap(three)
        );
        let four = "sessions,throughput,cores,threads_per_core\n1,100,2,2\n2,190,2,2\n3,220,2,2\n4,240,2,2\n";
        assert!(gap(four).contains("4 different loads do not determine the 4 numbers"), "{}", gap(four));
        assert!(gap(&machines(1.9, &[(2, 2), (4, 2), (8, 2)])).contains("do not determine"));
        // The clock of one busy core is another than that of four.
        let mut text = "cores,threads_per_core,throughput,clock\n".to_owned();
        for cores in [4, 8, 12, 16, 24] {
            text.push_str(&format!("{cores},1,{},{}\n", 100 * cores - cores * cores, 4000 - 20 * cores));
        }
        let law = law_of(&text, &["2c1t", "8c1t"]);
        assert!(law.rate_per_s.is_none(), "{law:?}");
        assert!(law.predictions[0].gap.as_deref().unwrap().contains("fewer than 4 busy cores"));
        assert!(law.predictions[1].gap.is_none());
    }

    #[test]
    fn a_series_with_few_points_takes_what_others_show() {
        let mut text = "cores,threads_per_core,throughput,series\n".to_owned();
        for (series, rate, sigma) in [("a", 100.0, 0.01), ("b", 250.0, 0.012), ("c", 60.0, 0.011)] {
            for (cores, threads) in [(1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (2, 2), (4, 2), (8, 2), (16, 2)]
            {
                let n = f64::from(cores * threads);
                let with_siblings = f64::from(cores) * if threads == 2 { 1.3 } else { 1.0 };
                let noise = 1.0 + 0.01 * f64::from((cores * 7 + threads * 3) % 5 - 2) / 2.0;
                let rate = rate * noise * with_siblings / (1.0 + sigma * (n - 1.0));
                text.push_str(&format!("{cores},{threads},{rate},{series}\n"));
            }
        }
        text.push_str("4,1,400,d\n");
        let draws = Draws { count: 400, ..Draws::usual(1) };
        let found = laws(&read(&text).unwrap(), &["16c2t".parse().unwrap()], draws);
        let Outcome::Law(law) = &found[3].outcome else { panic!("{:?}", found[3].outcome) };
        assert!(law.is_pooled && law.law.has_yield());
        let predicted = law.predictions[0].rate_per_s.as_ref().unwrap();
        // 16 cores of two threads over 4 of one: 400 · (1 + 0.011 · 3) / 4 · 16 · 1.3 / (1 + 0.011 · 31).
        let truth = 400.0 * 1.033 / 4.0 * 16.0 * 1.3 / 1.341;
        assert!(predicted.low < truth && truth < predicted.high, "{truth} {predicted:?}");
        assert!(predicted.high < 1.5 * predicted.low, "{predicted:?}");
    }
}
