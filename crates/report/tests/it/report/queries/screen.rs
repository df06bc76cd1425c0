//! What a terminal shows of a study of queries.

use super::fixture::{fixture, long_names};
use super::{bare, empty};
use threadwise_report::terminal::{Style, sections, verdict};

const UNICODE: Style = Style { color: false, unicode: true, width: 100 };

#[test]
fn treatments_queries_and_plan_changes() {
    insta::assert_snapshot!(sections(&fixture(3, false).document(), UNICODE), @r"
    treatment         DOP   total  ratio of totals       geo. mean        CPU  core-s  plans  runs
    ──────────────────────────────────────────────────────────────────────────────────────────────
    serial (no-smt)     1  5.28 s  baseline              -                  -  4.21 s      -     8
    serial' (no-smt)    1   noise  0.99x [0.99, 1.00]    1.00x ±1.0%        -       -      -     8
    no-smt d2           2  3.28 s  ▲ 1.61x [1.57, 1.64]  ▲ 1.56x ±2.0%  1.00x  5.25 s      0     8
    no-smt d4           4  2.05 s  ▲ 2.57x [2.52, 2.62]  ▲ 2.55x ±2.0%  1.24x  6.55 s      2     8
    no-smt d7           7  1.44 s  ▲ 3.65x [3.58, 3.72]  ▲ 3.66x ±2.0%  1.53x  8.07 s      2     8
    Without Q2, Q15, whose plan differs in a treatment
    treatment  ratio of totals       geo. mean
    ─────────────────────────────────────────────────────
    no-smt d2  ▲ 1.53x [1.50, 1.56]  ▲ 1.50x [1.47, 1.53]
    no-smt d4  ▲ 2.44x [2.39, 2.49]  ▲ 2.45x [2.40, 2.50]
    no-smt d7  ▲ 3.47x [3.40, 3.54]  ▲ 3.51x [3.44, 3.58]
    Query by query, speed against serial; P: another plan
    query      baseline  no-smt d2             no-smt d4               no-smt d7
    ─────────────────────────────────────────────────────────────────────────────────────────
    Q1           272 ms  ▲ 1.43x [1.39, 1.47]  ▲ 2.06x [2.00, 2.12]    ▲ 2.76x [2.68, 2.84]
    Q2          78.6 ms  ▲ 1.54x [1.50, 1.59]  ▲ 4.18x [4.06, 4.30] P  ▲ 6.02x [5.85, 6.20] P
    Q3           318 ms  ▲ 1.47x [1.43, 1.51]  ▲ 2.12x [2.06, 2.18]    ▲ 2.83x [2.74, 2.91]
    Q4           269 ms  ▲ 1.33x [1.29, 1.37]  ▲ 1.77x [1.71, 1.82]    ▲ 2.24x [2.17, 2.30]
    Q5           316 ms  ▲ 1.36x [1.32, 1.40]  ▲ 1.83x [1.77, 1.88]    ▲ 2.36x [2.29, 2.43]
    Q6          23.3 ms  ▼ 0.78x [0.76, 0.80]  ▼ 0.61x [0.60, 0.63]    ▼ 0.50x [0.49, 0.52]
    Q7           267 ms  ▲ 1.60x [1.55, 1.64]  ▲ 2.59x [2.51, 2.66]    ▲ 3.74x [3.63, 3.85]
    Q8           235 ms  ▲ 1.60x [1.55, 1.64]  ▲ 2.56x [2.49, 2.64]    ▲ 3.82x [3.71, 3.94]
    Q9           1.36 s  ▲ 1.65x [1.60, 1.70]  ▲ 2.76x [2.68, 2.84]    ▲ 4.19x [4.07, 4.31]
    Q10         63.1 ms  ▲ 1.83x [1.78, 1.89]  ▲ 3.36x [3.27, 3.46]    ▲ 5.55x [5.39, 5.72]
    Q11          175 ms  ▲ 2.15x [2.09, 2.21]  ▲ 4.74x [4.60, 4.88]    ▲ 8.86x [8.61, 9.13]
    Q12          175 ms  ▲ 1.59x [1.54, 1.63]  ▲ 2.47x [2.39, 2.54]    ▲ 3.49x [3.38, 3.59]
    Q13          271 ms  ▲ 2.20x [2.14, 2.27]  ▲ 4.72x [4.58, 4.86]    ▲ 8.97x [8.71, 9.24]
    Q14          193 ms  ▲ 1.41x [1.37, 1.46]  ▲ 1.94x [1.88, 2.00]    ▲ 2.55x [2.47, 2.63]
    Q15          215 ms  ▲ 1.84x [1.79, 1.89]  ▲ 5.66x [5.49, 5.83] P  ▲ 9.20x [8.93, 9.47] P
    Q16          264 ms  ▲ 1.56x [1.52, 1.61]  ▲ 2.45x [2.37, 2.52]    ▲ 3.54x [3.43, 3.64]
    Q17          307 ms  ▲ 1.86x [1.81, 1.92]  ▲ 3.34x [3.25, 3.44]    ▲ 5.57x [5.40, 5.73]
    Q18         20.1 ms  ▲ 1.34x [1.31, 1.39]  ▲ 1.80x [1.75, 1.86]    ▲ 2.31x [2.24, 2.38]
    Q19          106 ms  ▲ 1.88x [1.83, 1.94]  ▲ 3.55x [3.45, 3.66]    ▲ 5.84x [5.67, 6.02]
    Q20         60.4 ms  ▲ 1.55x [1.50, 1.59]  ▲ 2.34x [2.28, 2.41]    ▲ 3.34x [3.24, 3.44]
    Q21         56.4 ms  ▲ 1.37x [1.33, 1.42]  ▲ 1.89x [1.83, 1.95]    ▲ 2.43x [2.36, 2.50]
    Q22          229 ms  ▲ 1.66x [1.61, 1.71]  ▲ 2.80x [2.72, 2.88]    ▲ 4.25x [4.13, 4.38]
    totals            -  ▲ 1.61x [1.57, 1.64]  ▲ 2.57x [2.52, 2.62]    ▲ 3.65x [3.58, 3.72]
    geo. mean         -  ▲ 1.56x [1.53, 1.59]  ▲ 2.55x [2.50, 2.60]    ▲ 3.66x [3.59, 3.73]
    plan changes; both plans side by side: HTML report, --json
      Q2: HASH_JOIN inner l_orderkey = o_orderkey… instead of NESTED_LOOP_JOIN inner l_orderkey = o_o…
      in no-smt d4, no-smt d7
      Q15: HASH_JOIN inner l_orderkey = o_orderkey… instead of NESTED_LOOP_JOIN inner l_orderkey = o_o…
      in no-smt d4, no-smt d7
      the same plan, only run in parallel: Q1–Q22
    ±, [low, high]: 95% interval over 8 blocks.  Ratios are speeds against serial: above 1 is faster.
    serial: both of its runs in every block, as in ratios; noise: its second run against its first
    ▲ higher  ▼ lower  = within the margin  ? undecided
    Of queries that differ (Benjamini and Hochberg's method at 5%) intervals are adjusted for selection.
    P another plan than serial  CPU: CPU seconds against the baseline's, above 1 is more
    core-s: seconds in which a physical core worked for the queries with at least one thread; two
    figures are bounds
    Data: scale factor 1, 1 GB of rows as text: 0.029x memory (32 GiB), 24x the last-level caches (40
    MiB)
    ");
}

#[test]
fn streams_have_queries_per_hour() {
    let text = sections(&fixture(4, true).document(), UNICODE);
    let (treatments, _) = text.split_once("Query by query").unwrap();
    insta::assert_snapshot!(treatments, @r"
    treatment         DOP  streams  elapsed  queries/h  ratio                   CPU  core-s  plans  runs
    ────────────────────────────────────────────────────────────────────────────────────────────────────
    serial (no-smt)     1        1   5.28 s      15.0k  baseline                  -  4.21 s      -     8
    serial' (no-smt)    1        1    noise          -  0.99x [0.99, 1.00]        -       -      -     8
    no-smt d1 s2        1        2   5.27 s      21.3k  = 1.00x [0.98, 1.02]  0.80x  4.22 s      0     8
    no-smt d1 s4        1        4   5.28 s      30.0k  = 1.00x [0.98, 1.02]  0.80x  4.23 s      0     8
    no-smt d2 s1        2        1   3.28 s      24.2k  ▲ 1.61x [1.57, 1.64]  1.00x  5.25 s      0     8
    no-smt d2 s2        2        2   3.27 s      34.3k  ▲ 1.61x [1.58, 1.64]  0.99x  5.23 s      0     8
    ");
}

#[test]
fn many_treatments_are_limited_and_the_screen_says_so() {
    let fixture = fixture(11, false);
    let at = |width: usize| {
        let text = sections(&fixture.document(), Style { width, ..UNICODE });
        text.lines().find(|line| line.contains("highest DOP")).map(|line| line.trim().to_owned())
    };
    insta::assert_snapshot!(at(100).unwrap(), @"The treatments of the highest DOP; all of them: HTML report, --json.");
    assert_eq!(at(200), None, "all of them fit");
    let text = sections(&fixture.document(), Style { width: 80, ..UNICODE });
    let head = text.lines().find(|line| line.trim_start().starts_with("query  ")).unwrap();
    // Both placements with DOP 14, and the first one with DOP 8; in study order.
    let wanted = ["query", "baseline", "no-smt", "d8", "no-smt", "d14", "all", "d14"];
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), wanted);
}

#[test]
fn long_names_have_letters() {
    let text = sections(&long_names(3).document(), UNICODE);
    assert!(text.contains("\nno-smt d4 with settings.work_mem in mega "), "{text}");
    let from = |line: &&str| !line.starts_with("query  ");
    let head = text.lines().skip_while(from).take_while(|line| !line.starts_with('─'));
    let head: Vec<&str> = head.flat_map(str::split_whitespace).collect();
    let count = |word: &str| head.iter().filter(|shown| **shown == word).count();
    assert_eq!(["baseline", "d2", "d4", "d7", "mega"].map(count), [1, 1, 1, 1, 3], "{text}");
}

#[test]
fn equal_plans_show_no_plan_change() {
    let mut fixture = fixture(3, false);
    let shown = |fixture: &crate::support::Fixture| sections(&fixture.document(), UNICODE);
    assert!(shown(&fixture).contains("plan changes;") && shown(&fixture).contains(" P\n"));
    let queries = fixture.analysis.queries.as_mut().unwrap();
    queries.changes.clear();
    for treatment in &mut queries.treatments {
        let ratios = &mut treatment.total.ratios;
        (ratios.speed_same_plans, ratios.geometric_same_plans) = (None, None);
        let plans = treatment.queries.values_mut();
        plans.for_each(|query| query.plan_change = threadwise_analysis::queries::Change::Same);
    }
    let text = shown(&fixture);
    assert!(
        !text.contains("plan changes") && !text.contains(" P\n") && !text.contains("another plan"),
        "{text}"
    );
}

#[test]
fn words_are_those_of_queries() {
    // Without a complete block the words are the same.
    for fixture in [fixture(3, false), fixture(12, true), bare(), empty()] {
        let text = verdict(&fixture.document(), UNICODE) + &sections(&fixture.document(), UNICODE);
        for word in ["rows/s", "CPU/row", "session", "a row", "per row"] {
            assert!(!text.contains(word), "{word}\n{text}");
        }
    }
}

#[test]
fn one_block_has_no_interval_and_none_has_no_figure() {
    let text = sections(&bare().document(), UNICODE);
    assert!(text.contains("? 1.61x") && !text.contains("inf") && !text.contains("NaN"), "{text}");
    let text = sections(&empty().document(), UNICODE);
    assert!(text.contains("serial") && !text.contains("Query by query"), "{text}");
}

#[test]
fn what_the_analysis_finds_is_shown() {
    let fixture = super::fixture::analysed(6);
    let text =
        format!("{}\n\n{}", verdict(&fixture.document(), UNICODE), sections(&fixture.document(), UNICODE));
    let queries = fixture.analysis.queries.as_ref().unwrap();
    assert_eq!(queries.changed(), super::fixture::CHANGED);
    let speed = queries.treatments[3].total.ratios.speed.as_ref().unwrap();
    let [value, low, high] = [speed.value, speed.low, speed.high].map(threadwise_document::numbers::ratio);
    let figures = format!("{value}x [{low}, {high}]");
    let row = text.lines().find(|line| line.starts_with("no-smt d4  ")).unwrap();
    assert!(row.contains(&figures), "{row}");
    for part in ["  Q15: HASH_JOIN", "only run in parallel: Q1–Q22", "Without Q2, Q15, whose plan", "▼ 0.6"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let page = threadwise_report::html::render(&fixture.document()).unwrap();
    let on_page = figures.replace(" [", "<span class=\"interval\"> [");
    for part in [on_page.as_str(), " super-scaling<", "id=\"core-seconds\"", "id=\"plans\""] {
        assert!(page.contains(part), "{part}");
    }
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    assert!(!data.contains("NaN") && !text.contains("NaN"));
}

/// What comes first is read by a tired person: about ten points of two or three lines.
#[test]
fn a_verdict_of_the_analysis_is_short() {
    for compared in [1, 6, 11] {
        let fixture = super::fixture::analysed(compared);
        let text = verdict(&fixture.document(), UNICODE);
        assert!(fixture.findings.len() <= 15, "{text}");
        let point = |line: &str| line.trim_start().starts_with(|first: char| first.is_ascii_digit());
        let mut longest = 0;
        let mut lines = 0;
        for line in text.lines().skip(1) {
            lines = if point(line) && line.contains(". ") { 1 } else { lines + 1 };
            longest = lines.max(longest);
        }
        assert!((1..=4).contains(&longest), "{longest}\n{text}");
    }
}
