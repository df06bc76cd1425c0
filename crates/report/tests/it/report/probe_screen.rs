//! The screens of `probe` and `doctor`.

use crate::report::page::HOSTILE;
use crate::report::probes::{Probed, eight, hostile_probe, many, two};
use crate::without_colours;
use threadwise_analysis::hardware::compare;
use threadwise_machine::CpuSet;
use threadwise_report::terminal::{DoctorRow, Style, doctor, probe};

const UNICODE: Style = Style { color: false, unicode: true, width: 80 };
const ASCII: Style = Style { color: false, unicode: false, width: 80 };
const COLOR: Style = Style { color: true, unicode: true, width: 80 };

fn screen(probed: &Probed, style: Style) -> String {
    probe(&probed.topology, &probed.probe, &probed.hardware, style)
}

#[test]
fn two_cpus_fit_a_terminal_of_24_lines() {
    let text = screen(&two(), UNICODE);
    insta::assert_snapshot!(text, @r"
    Probe of 2 logical CPUs (0-1), standard form, 18.2 s
    KVM guest, Example Processor E5 @ 2.90GHz, 1 package, 2 cores x 1 thread, 1 NUMA
    node, 1 LLC domain of 20 MiB, 2 of 2 logical CPUs allowed, no CPU quota
    1. Your 2 logical CPUs are one core: WIDE work slowed 1.98x together,
       latency-bound work 1.01x (sysfs declares two cores).
    2. A neighbour was busy on the sibling of CPU 0 during 34% of the probe; of CPU
       1 it is unknown.
    3. A cache line goes from one to the other in 8.31 ns at least.
    4. The clock falls from 3.40 to 3.10 GHz when both are busy (chain of adds).
    declared   [0]! [1]!
    measured   [0 1]!   ! declared and measured differ
    pair  shares       wide  chain  ld/st  CAS ns          two lines
    0-1   = one core  1.98x  1.01x  1.78x  8.31, 8.81±0.2  7.89, 8.37±0.2
    wide (independent adds), chain (dependent adds), ld/st: time together over
    alone; ns one way: least, median±spread
    CPU  adds/step p10   p50   p90  sibling busy  off CPU  MHz alone  2 busy
      0           2.99  3.32  3.42           34%     0.2%       3401    3105
      1           3.60  4.00  4.12       unknown     0.2%       3399    3102
    MHz while not idle, by chain of adds
    unknown on 1: no window reached the width of a free core: 2.1 adds a step at
      most
    gap: clock: APERF and MPERF are not available: CPUID leaf 6 does not declare
         them
    ");
    // The longest verdict that the analysis gives, and more gaps than there is room for.
    let mut probed = two();
    probed.probe.gaps.extend((0..9).map(|at| format!("gap number {at}")));
    probed.hardware = compare(&probed.topology, &probed.probe);
    let text = screen(&probed, UNICODE);
    assert!(text.lines().count() <= 24, "{text}");
    assert!(text.starts_with("Probe of 2 logical CPUs (0-1), standard form, 18.2 s\nKVM guest"));
    assert!(text.contains("1. Your 2 logical CPUs are one core"), "{text}");
}

#[test]
fn eight_cpus_have_a_cell_a_pair() {
    insta::assert_snapshot!(screen(&eight(), UNICODE), @r"
    Probe of 8 logical CPUs (0-2,4,8-10,12), standard form, 21.0 s
    KVM guest, Example Processor E5 @ 2.90GHz, 2 packages, 7 cores x 2 threads, 2
    NUMA nodes, 2 LLC domains of 20 MiB, 14 of 16 logical CPUs allowed, CPU quota 1…
    1. Measured otherwise than declared: CPUs 2 and 10.
    declared   [0 8] [1 9] [2 10]! [4 12]
    measured   [0 8] [1 9] [2]! [10]!   ! declared and measured differ
    undecided  4,12
          0    1    2    4    8    9   10
     1  ≠30
     2  ≠30  ≠31
     4 ≠105 ≠105 ≠106
     8 =8.2  ≠32  ≠32 ≠107
     9  ≠32 =8.2  ≠33 ≠107  ≠34
    10  ≠32  ≠33 ≠31! ≠108  ≠34  ≠35
    12 m107 ~107 ≠108 =8.2 ≠109  109    ≠
    ≠ different cores  = one core  m masked by a neighbour  ~ moving
    ! declared differently  no sign: not measured
    figures: least ns one way, by compare-and-swap
    latency    same core              8.20 ns  3 pairs  3 groups: 0,8 1,9 4,12
               level 2           30.0-35.0 ns  13 pairs  2 groups: 0-2,8-10 4,12
               other package       104-110 ns  11 pairs  0-2,4,8-10,12
    2-10 different cores: wide 1.02x, chain 1.00x, ld/st 0.92x; different-cores in
      21 of 24 rounds
    0-12 masked by a neighbour: wide -, chain 1.14x, ld/st 1.14x; masked in 21 of 24
      rounds
    1-12 moving: wide 1.27x, chain 1.14x, ld/st 1.14x; moving in 21 of 24 rounds
    wake-up µs        CPUs  line ns  futex  idle  pipe  idle   TCP  idle
    same logical CPU  0           -   2.10     -  2.31     -  4.62     -
    same core         0-8      8.20   9.30  26.0  10.2  26.9  20.5  37.1
    same LLC          0-1      30.2   14.2  30.9  15.6  32.3  31.2  47.9
    other package     0-4       105      -     -  25.3  42.0  50.6  67.3
    medians; idle: after 0.5 ms of idleness; line: least, compare-and-swap
    CPU  adds/step p10   p50   p90  sibling busy  off CPU  MHz alone  8 busy
      0           3.60  4.00  4.12            0%     0.2%       3400    2900
      1           3.56  3.96  4.08          2.0%     0.2%       3400    2900
      2           3.53  3.92  4.04          4.0%     0.2%       3400    2900
      4           3.46  3.84  3.96          8.0%     0.2%       3400    2900
      8           3.31  3.68  3.79           16%     0.2%       3400    2900
      9           3.60  4.00  4.12       unknown     0.2%       3400    2900
     10           3.24  3.60  3.71           20%     0.2%       3400    2900
     12           3.17  3.52  3.63           24%     0.2%       3400    2900
    MHz while not idle, by chain of adds
    unknown on 9: no window reached the width of a free core: 2.1 adds a step at
      most
    ");
}

#[test]
fn many_cpus_are_reported_in_groups_and_ranges() {
    insta::assert_snapshot!(screen(&many(), UNICODE), @r"
    Probe of 768 logical CPUs (0-767), standard form, 171 s
    no hypervisor seen, 4 packages, 384 cores x 2 threads, 12 NUMA nodes, 48 LLC
    domains, 768 of 768 logical CPUs allowed, no CPU quota
    1. 768 logical CPUs are 384 cores, as declared, one pair masked.
    declared   384 cores: 384 of 2
    measured   383 cores: 383 of 2
    undecided  17,401
    pairs      294,527 as declared, 1 masked by a neighbour; 384 pairs measured
               alone, the rest by 1 set
    latency    same core         8.00-9.60 ns  384 pairs  384 groups: 0,384 1,385 2…
               same LLC          25.0-30.0 ns  1152 pairs  48 groups: 0-7,384-391 8…
               same package      70.0-84.0 ns  1504 pairs  4 groups: 0-95,384-479 9…
               other package       180-216 ns  1604 pairs  0-767
    17-401 masked by a neighbour: wide 1.98x, chain 1.01x, ld/st 1.78x; same-core in
      21 of 24 rounds
    neighbours 768 logical CPUs watched; adds/step p50 3.32 to 4.00, middle 4.00;
               sibling busy: middle 0.2%, most 34%; 1 unknown
               busiest: 401 (34%)
    unknown on 17: no window reached the width of a free core: 2.1 adds a step at
      most
    clocks     1 busy: 3700 to 3700 MHz, middle 3700 (1 reading, chain of adds)
               768 busy: 2400 to 2406 MHz, middle 2403 (768 readings, chain of adds)
    ");
}

#[test]
fn no_screen_is_larger_than_a_screen() {
    for mut probed in [two(), eight(), many()] {
        for width in [80, 100] {
            let style = Style { width, ..UNICODE };
            let text = screen(&probed, style);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width, "{widest} of {width}:\n{text}");
            assert!(text.lines().count() <= 60, "{text}");
        }
        // Everything that can be long at once: verdict, pairs, reasons, gaps, levels.
        let long = "a reason that is long ".repeat(8);
        let findings = vec![probed.hardware.verdict[0].clone(); 30];
        probed.hardware.verdict = findings;
        probed.probe.gaps = vec![long.clone(); 30];
        probed.probe.interrupted = true;
        for (at, neighbour) in probed.probe.neighbours.iter_mut().enumerate() {
            (neighbour.busy_share, neighbour.why) = (None, format!("{at} {long}"));
        }
        for pair in &mut probed.probe.pairs {
            (pair.sharing, pair.why) = (threadwise_study::probe::Sharing::Unclear, long.clone());
        }
        let text = screen(&probed, UNICODE);
        assert!(text.lines().count() <= 60, "{text}");
        assert!(text.contains("Stopped before its end"), "{text}");
    }
}

#[test]
fn every_small_machine_fits_its_width() {
    for count in 1..=20_u32 {
        let mut probed = eight();
        probed.probe.cpus = (0..count).map(|at| at * 57).collect();
        probed.hardware.declared_cores =
            probed.probe.cpus.iter().map(|cpu| CpuSet::from_iter([cpu])).collect();
        let text = screen(&probed, UNICODE);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{count}: {widest}\n{text}");
    }
}

#[test]
fn colours_add_nothing_but_colour() {
    for probed in [two(), eight(), many()] {
        let colored = screen(&probed, COLOR);
        assert!(colored.contains("\u{1b}["));
        assert_eq!(without_colours(&colored), screen(&probed, UNICODE));
        let ascii = screen(&probed, ASCII);
        assert!(ascii.is_ascii(), "{ascii}");
        assert!(!ascii.contains('\u{1b}'));
    }
}

#[test]
fn nothing_measured_is_a_screen_too() {
    let mut probed = two();
    probed.probe = Default::default();
    probed.hardware = compare(&probed.topology, &probed.probe);
    assert!(screen(&probed, UNICODE).starts_with("Probe of 0 logical CPUs"));
}

#[test]
fn no_escape_in_foreign_text_reaches_the_terminal() {
    let probed = hostile_probe();
    for style in [UNICODE, ASCII] {
        let text = screen(&probed, style);
        assert!(!text.contains(|c: char| c != '\n' && c.is_control()), "{text:?}");
        assert!(!text.contains('\u{202e}'));
    }
    let row = DoctorRow {
        name: HOSTILE,
        outcome_word: "warning",
        found: HOSTILE,
        source: HOSTILE,
        remedy: Some(HOSTILE),
    };
    let text = doctor(&[row, DoctorRow { outcome_word: HOSTILE, ..row }], UNICODE);
    assert!(!text.contains(|c: char| c != '\n' && c.is_control()), "{text:?}");
}

const ROWS: [DoctorRow<'static>; 4] = [
    DoctorRow {
        name: "smt",
        outcome_word: "ok",
        found: "on, 2 threads a core",
        source: "/sys/devices/system/cpu/smt/control",
        remedy: Some("never shown"),
    },
    DoctorRow {
        name: "governor",
        outcome_word: "warning",
        found: "powersave on 4 of 4 logical CPUs",
        source: "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        remedy: Some("`cpupower frequency-set -g performance` as root, and back after the study"),
    },
    DoctorRow {
        name: "cpu-quota",
        outcome_word: "problem",
        found: "1.5 CPUs for 4 sessions",
        source: "/sys/fs/cgroup/cpu.max",
        remedy: Some("start the container without --cpus"),
    },
    DoctorRow {
        name: "thermal",
        outcome_word: "unknown",
        found: "no counter of throttling",
        source: "",
        remedy: None,
    },
];

#[test]
fn checks_have_a_line_each_and_remedies_below() {
    insta::assert_snapshot!(doctor(&ROWS, Style { width: 100, ..UNICODE }), @r"
    ok       smt        on, 2 threads a core (/sys/devices/system/cpu/smt/control)
    warning  governor   powersave on 4 of 4 logical CPUs
                        (/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor)
                        → `cpupower frequency-set -g performance` as root, and back after the study
    problem  cpu-quota  1.5 CPUs for 4 sessions (/sys/fs/cgroup/cpu.max)
                        → start the container without --cpus
    unknown  thermal    no counter of throttling
    4 checks: 1 problem, 1 warning, 1 unknown, 1 ok
    ");
    insta::assert_snapshot!(doctor(&ROWS[..1], ASCII), @r"
    ok       smt  on, 2 threads a core (/sys/devices/system/cpu/smt/control)
    1 check: 1 ok
    ");
    assert_eq!(doctor(&[], UNICODE), "Nothing was checked.");
}

#[test]
fn outcomes_are_words_and_colours() {
    let colored = doctor(&ROWS, COLOR);
    for (code, word) in [("31", "problem"), ("33", "warning"), ("2", "unknown"), ("32", "ok     ")] {
        assert!(colored.contains(&format!("\u{1b}[{code}m{word}\u{1b}[0m")), "{word}: {colored:?}");
    }
    assert_eq!(without_colours(&colored), doctor(&ROWS, UNICODE));
    assert!(doctor(&ROWS, ASCII).is_ascii());
}
