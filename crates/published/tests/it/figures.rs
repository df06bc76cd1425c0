//! The data of `published/`: every derived figure follows from its parts, the slips are the three that are known,
//! and nothing of the articles' tables is missing.
#![allow(clippy::unwrap_used)]

use threadwise_published::{Figure, Published, all, find, names};

/// Smallest and largest value of a figure's formula when its printed parts are off by their rounding.
fn by_rounding(published: &Published, figure: &Figure) -> (f64, f64) {
    let formula = figure.formula.as_ref().unwrap();
    let mut parts: Vec<&String> = formula.parts().collect();
    parts.sort();
    parts.dedup();
    let corner = |signs: u32| {
        let part = |name: &str| {
            let at = parts.iter().position(|part| *part == name)?;
            let side = if signs >> at & 1 == 1 { 1.0 } else { -1.0 };
            let part = published.figure(name)?;
            // Counts of things are whole numbers, and exact.
            let is_exact = !part.value.contains(['.', ':']) && part.scale == 1.0;
            let off = if part.is_printed() && !is_exact { side * part.rounding() } else { 0.0 };
            Some(published.computed(name)? + off)
        };
        formula.value(&part).unwrap()
    };
    let values: Vec<f64> = (0..1 << parts.len()).map(corner).collect();
    values.iter().fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)))
}

#[test]
fn every_derived_figure_follows_from_its_parts_to_the_digits_that_are_given() {
    let mut count = 0;
    for published in all().unwrap() {
        for figure in published.figures.iter().filter(|figure| !figure.is_printed()) {
            let (computed, given) = (published.computed(&figure.id).unwrap(), figure.number().unwrap());
            let agrees = match figure.formula.as_ref().unwrap().within.is_empty() {
                true => (computed - given).abs() <= figure.rounding() * (1.0 + 1e-9),
                false => computed <= given,
            };
            assert!(
                agrees,
                "{}: {} is given as {given} and follows as {computed}",
                published.name, figure.id
            );
            count += 1;
        }
    }
    assert_eq!(count, 46, "a figure that was recomputed is gone, or one more is not counted here");
}

#[test]
fn every_answer_has_figures_and_no_name_of_one() {
    for published in all().unwrap() {
        let answer = published.answer();
        assert!(published.answer.contains('{') && !answer.contains(['{', '}']), "{answer}");
    }
    let reads = find("cached-reads").unwrap().answer();
    assert!(
        reads.starts_with("Two siblings of one core do 1.316x the reads of one logical CPU. "),
        "{reads}"
    );
}

#[test]
fn printed_figures_that_do_not_follow_are_the_three_known_slips() {
    let mut found = Vec::new();
    let mut listed = Vec::new();
    for published in all().unwrap() {
        let printed =
            published.figures.iter().filter(|figure| figure.is_printed() && figure.formula.is_some());
        for figure in printed {
            let (low, high) = by_rounding(&published, figure);
            let (given, off) = (figure.number().unwrap(), figure.rounding() * (1.0 + 1e-9));
            if given + off < low || given - off > high {
                found.push(format!("{}: {}", published.name, figure.id));
            }
        }
        listed.extend(published.slips.iter().map(|slip| format!("{}: {}", published.name, slip.figure)));
    }
    found.sort();
    listed.sort();
    assert_eq!(
        found,
        ["log-buffer: cycles-per-second", "log-buffer: faster-node", "work-list: printed-2"],
        "the cycles of the division, the node of the log writer, -1.47% at N = 2"
    );
    assert_eq!(listed, found);
    let spins = find("log-buffer").unwrap();
    assert_eq!(spins.computed("cycles-per-second"), Some(2.4e9), "ten times what was printed");
}

/// Rows of the articles' tables: study, arm (empty: none), figures of the row as they are given.
const TABLES: [(&str, &str, &[&str]); 31] = [
    ("parallel-queries", "off-d4", &["692 s", "2253 s"]),
    (
        "parallel-queries",
        "on-d8",
        &["559 s", "3374 s", "0–65% faster", "4x faster", "45% less", "+137%", "+22–+80%"],
    ),
    ("parallel-queries", "on-off-d1", &["20% faster", "0–63% faster", "14% slower", "48% faster"]),
    ("parallel-queries", "on-off-d2", &["2% faster", "12%", "28% faster"]),
    ("parallel-queries", "on-off-d4", &["13% slower", "2.5x slower", "90% faster"]),
    ("parallel-queries", "", &["1.238x", "1.498x", "140 GB", "32 GB", "+30%", "+10%", "150%", "50% faster"]),
    ("parallel-queries", "on-d8", &["1687 s", "2236 s"]),
    ("log-buffer", "disk-first", &["55 s"]),
    ("log-buffer", "disk-second", &["85 s", "4.5x"]),
    (
        "log-buffer",
        "memory-first",
        &["10.434 s", "113,246,628 spins", "215.31", "131,969.88", "0.16%", "1,106 cycles"],
    ),
    (
        "log-buffer",
        "memory-second",
        &["18.388 s", "6,692,284,057 spins", "59x", "374.22", "146,277.34", "0.26%", "33 cycles"],
    ),
    (
        "log-buffer",
        "",
        &[
            "10 sessions",
            "10,000,000 rows",
            "2,500,000 rows",
            "2 rows",
            "76%",
            "2.4 GHz",
            "240,000,000 cycles/s",
        ],
    ),
    (
        "log-buffer",
        "",
        &["5 cores", "16.7 million keys", "2,097,152 buckets", "8 rows", "20 rows", "node 1", "node 0"],
    ),
    ("concurrent-inserts", "3c2t", &["6 sessions", "99 s", "121,200 rows/s"]),
    ("concurrent-inserts", "6c1t", &["6 sessions", "62 s", "193,500 rows/s"]),
    ("concurrent-inserts", "6c2t", &["12 sessions", "102 s", "235,300 rows/s", "+21.6%"]),
    ("concurrent-inserts", "", &["2,000,000 rows", "2 rows", "1.94x", "1.25x", "1.22x", "1.216x", "0.626x"]),
    ("work-list", "off-j1", &["22.41 s/file"]),
    ("work-list", "on-j1", &["22.95 s/file"]),
    ("work-list", "off-j2", &["12.24 s/file"]),
    ("work-list", "on-j2", &["12.57 s/file"]),
    ("work-list", "off-j4", &["10.77 s/file"]),
    ("work-list", "on-j4", &["9.56 s/file"]),
    ("work-list", "off-j8", &["10.54 s/file", "18:03 min"]),
    ("work-list", "on-j8", &["8.79 s/file", "15:07 min"]),
    (
        "work-list",
        "",
        &[
            "-2.40%",
            "-2.41%",
            "-1.47%",
            "-2.70%",
            "+11.23%",
            "+16.67%",
            "+16.60%",
            "1.83x",
            "1.14x",
            "1.02x",
            "1.31x",
            "1.09x",
            "103 files",
            "0.3%",
        ],
    ),
    ("cached-reads", "two-sockets", &["955,750 reads/s", "477,875 reads/s", "117 W"]),
    ("cached-reads", "two-cores", &["921,447 reads/s", "460,723 reads/s", "119 W"]),
    ("cached-reads", "two-siblings", &["603,430 reads/s", "301,715 reads/s", "114 W"]),
    ("cached-reads", "one-cpu", &["458,452 reads/s", "229,226 reads/s", "113 W"]),
    ("cached-reads", "", &["1.316x", "1.037x", "1.9 s/s", "37%", "+58%"]),
];

#[test]
fn every_number_of_the_articles_tables_is_there() {
    for (name, arm, figures) in TABLES {
        let published = find(name).unwrap();
        let of_arm = |figure: &&Figure| figure.arm.as_deref().unwrap_or("") == arm;
        let texts: Vec<String> = published.figures.iter().filter(of_arm).map(Figure::text).collect();
        for figure in figures {
            assert!(texts.iter().any(|text| text == figure), "{name}, {arm}: {figure} in {texts:?}");
        }
    }
}

/// What the articles say beside their tables, by a few words of it.
const SAID: [(&str, &[&str]); 5] = [
    (
        "parallel-queries",
        &[
            "E3-1240",
            "SQL Server 2012",
            "scale factor 100",
            "(shipdate, orderkey, linenumber)",
            "Q2, Q11, Q13, Q18",
            "Q6, Q15",
            "rule of thumb",
            "B-tree search",
            "L2",
            "Turbo",
            "older release",
            "stragglers",
            "3c1t+1c2t",
            "fill one first",
            "background work",
            "without Q15",
            "plateau, not an optimum",
        ],
    ),
    (
        "log-buffer",
        &[
            "2.4 GHz",
            "SQL Server 2014",
            "Delayed durability",
            "one atomic block",
            "16.7 million",
            "not controlled",
            "share the node of the log writer",
            "do not explain the 76%",
            "crossed with memory",
        ],
    ),
    (
        "concurrent-inserts",
        &[
            "One socket",
            "char(111)",
            "log writer was not left out",
            "affinity mask",
            "random keys",
            "lock-free in-memory",
        ],
    ),
    (
        "work-list",
        &[
            "Firebird",
            "1 2 4 8 1 2 4 8",
            "8 to 16",
            "Patching",
            "fixed split",
            "on one file",
            "RAID 5",
            "very close",
        ],
    ),
    (
        "cached-reads",
        &[
            "E5-2690",
            "Oracle 11.2",
            "UPDATE_PCT 0",
            "80 MB",
            "WORK_UNIT 64",
            "one NUMA node",
            "background processes",
            "20, 24, 28 and 32",
            "past 16 cores",
        ],
    ),
];

#[test]
fn what_was_said_without_a_figure_is_there() {
    for (name, parts) in SAID {
        let text = format!("{:?}", find(name).unwrap());
        for part in parts {
            assert!(text.contains(part), "{name}: {part}");
        }
    }
}

#[test]
fn everything_has_a_command_or_a_reason() {
    for name in names() {
        let published = find(name).unwrap();
        for figure in &published.figures {
            assert!(figure.command.is_none() || figure.missing.is_none(), "{name}: {}", figure.id);
            let (Ok(redo) | Err(redo)) = published.redo_figure(figure);
            assert!(!redo.is_empty());
        }
        let said = published.statements.iter().map(|said| (&said.command, &said.missing, &said.text));
        for (command, missing, text) in said {
            assert!(command.is_some() != missing.is_some(), "{name}: {text}");
        }
        assert!(!published.comparisons.is_empty() && !published.charts.is_empty());
    }
}
