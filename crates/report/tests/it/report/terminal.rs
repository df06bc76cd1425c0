//! What a terminal shows.

use crate::report::page::hostile;
use crate::support::{Fixture, topology};
use threadwise_machine::topology::{Core, Group, LogicalCpu, NumaNode};
use threadwise_machine::{CpuSet, Topology};
use threadwise_report::drawing::MAX_LINES;
use threadwise_report::terminal::{Style, drawing, sections, topology_line, verdict};

const ASCII: Style = Style { color: false, unicode: false, width: 100 };
const UNICODE: Style = Style { color: false, unicode: true, width: 100 };

#[test]
fn line_of_a_machine() {
    insta::assert_snapshot!(topology_line(&topology()), @"KVM guest, Example Processor E5 @ 2.90GHz, 2 packages, 7 cores x 2 threads, 2 NUMA nodes, 2 LLC domains of 20 MiB, 14 of 16 logical CPUs allowed, CPU quota 12.0");
    insta::assert_snapshot!(topology_line(&two_cpus()), @"KVM guest, Example Processor E5 @ 2.90GHz, 1 package, 2 cores x 1 thread, 1 NUMA node, 1 LLC domain of 20 MiB, 2 of 2 logical CPUs allowed, no CPU quota");
}

#[test]
fn drawing_of_a_machine() {
    insta::assert_snapshot!(drawing(&topology(), UNICODE), @r"
    package 0
      NUMA node 0, 16 GiB
        LLC 0 (L3 20 MiB): [0 8] [1 9] [2 10] [3 11]
    package 1
      NUMA node 1, 16 GiB
        LLC 1 (L3 20 MiB): [4 12] [5 13] [6 14]
    - 1 logical CPU offline: 15
    x 1 logical CPU not allowed (cpuset): 7
    CPU quota: 12.0 CPUs (sys/fs/cgroup/cpu.max)
    ");
    insta::assert_snapshot!(drawing(&topology(), ASCII), @r"
    package 0
      NUMA node 0, 16 GiB
        LLC 0 (L3 20 MiB): [0 8] [1 9] [2 10] [3 11]
    package 1
      NUMA node 1, 16 GiB
        LLC 1 (L3 20 MiB): [4 12] [5 13] [6 14]
    - 1 logical CPU offline: 15
    x 1 logical CPU not allowed (cpuset): 7
    CPU quota: 12.0 CPUs (sys/fs/cgroup/cpu.max)
    ");
}

#[test]
fn drawing_of_a_small_guest() {
    insta::assert_snapshot!(drawing(&two_cpus(), UNICODE), @r"
    package 0
      NUMA node 0
        LLC 0 (L3 20 MiB): [0] [1]
    ");
}

#[test]
fn drawing_of_a_large_machine_fits_a_screen() {
    let machine = large(4, 4, 4, 8);
    let text = drawing(&machine, UNICODE);
    assert!(
        text.lines().count() <= MAX_LINES && text.lines().all(|line| line.chars().count() <= UNICODE.width)
    );
    insta::assert_snapshot!(text, @r"
    package 0
      NUMA nodes 0-3: each 4 LLCs of (LLC, 8 cores x 2): 0-127,512-639
    package 1
      NUMA nodes 4-7: each 4 LLCs of (LLC, 8 cores x 2): 128-255,640-767
    package 2
      NUMA nodes 8-11: each 4 LLCs of (LLC, 8 cores x 2): 256-383,768-895
    package 3
      NUMA nodes 12-15: each 4 LLCs of (LLC, 8 cores x 2): 384-511,896-1023
    ");
    let mut machine = large(64, 1, 1, 8);
    machine.numa_nodes.truncate(8);
    let text = drawing(&machine, UNICODE);
    assert!(text.lines().count() <= MAX_LINES);
    insta::assert_snapshot!(text, @"packages 0-63: each LLC, 8 cores x 2 on 64 NUMA nodes: 0-1023");
    for cpu in &mut machine.logical_cpus {
        cpu.numa_node = cpu.numa_node.map(|node| node / 8);
    }
    insta::assert_snapshot!(drawing(&machine, UNICODE), @"packages 0-63: each LLC, 8 cores x 2 on 8 NUMA nodes: 0-1023");
}

#[test]
fn verdict_and_table() {
    let fixture = Fixture::generated(8, 5);
    insta::assert_snapshot!(verdict(&fixture.document(), Style { width: 72, ..UNICODE }), @r"
    What cores, siblings and packages do to cached reads
    SIMULATED: these figures come from a model, not from a machine.
    1. 7 usable cores x 2 threads on 2 packages; one core is not usable.
    2. A full core does 1.29x [1.26, 1.34] one thread.
    3. Two sessions on two cores do 1.92x [1.89, 1.95] one session's reads;
       beyond the LLC 1.92x [1.86, 1.97].
    4. Two packages: 1.94x [1.90, 1.98] of one session.
    5. Trust: noise floor ±0.9%, steal 0.2%; 8 blocks.
    6. Scope: a model, cached reads, no writes. Next: `threadwise run`.
    ");
    insta::assert_snapshot!(sections(&fixture.document(), UNICODE), @r"
    treatment                sessions       rows/s  ratio to alone           p99  CPU/row         runs
    ──────────────────────────────────────────────────────────────────────────────────────────────────
    inside L2
      alone (1c1t)                  1   487k ±1.9%  baseline              185 µs  2.05 µs            8
      alone' (1c1t)                 1   492k ±2.1%  baseline again        183 µs  2.03 µs            8
      one-cpu                       2   481k ±2.2%  ? 0.98x [0.96, 1.00]  374 µs  4.16 µs            8
      same-core                     2   623k ±3.1%  ▲ 1.27x [1.24, 1.31]  289 µs  3.21 µs            8
      same-package                  2   938k ±1.5%  ▲ 1.92x [1.89, 1.95]  192 µs  2.13 µs            8
      cross-package                 2   948k ±2.0%  ▲ 1.94x [1.90, 1.98]  190 µs  2.11 µs            8
      sessions-4 (spread:4)         4  1.75M ±1.7%  ▲ 3.58x [3.54, 3.63]  205 µs  2.28 µs            8
      sessions-7 (spread:7)         7  2.45M ±1.6%  ▲ 5.01x [4.93, 5.10]  147 µs  1.63 µs            8
    beyond the LLC
      alone (1c1t)                  1   202k ±2.4%  baseline              447 µs  4.96 µs            8
      alone' (1c1t)                 1   201k ±1.4%  baseline again        448 µs  4.98 µs            8
      one-cpu                       2   198k ±2.3%  = 0.99x [0.97, 1.00]  907 µs  10.1 µs            8
      same-core                     2   251k ±1.8%  ▲ 1.25x [1.22, 1.28]  717 µs  7.96 µs            8
      same-package                  2   386k ±3.6%  ▲ 1.92x [1.86, 1.97]  467 µs  5.18 µs            8
      cross-package                 2   390k ±2.4%  ▲ 1.94x [1.90, 1.98]  462 µs  5.13 µs            8
      sessions-4 (spread:4)         4   712k ±2.3%  ▲ 3.54x [3.47, 3.61]  506 µs  5.62 µs            8
      sessions-7 (spread:7)         7  1.01M ±2.1%  ▲ 5.02x [4.90, 5.15]  355 µs  3.95 µs  7, 1 failed
    comparisons
      smt-yield/l2      ▲ 1.29x [1.26, 1.34]  higher
      smt-yield/memory  ▲ 1.27x [1.23, 1.30]  higher
    ±, [low, high]: 95% interval over 8 blocks, of each figure for itself; findings have intervals for
    all ratios together.  ▲ higher  ▼ lower  = within the margin  ? undecided
    ");
    insta::assert_snapshot!(sections(&fixture.document(), ASCII), @r"
    treatment                sessions        rows/s  ratio to alone           p99  CPU/row         runs
    ---------------------------------------------------------------------------------------------------
    inside L2
      alone (1c1t)                  1   487k +-1.9%  baseline              185 us  2.05 us            8
      alone' (1c1t)                 1   492k +-2.1%  baseline again        183 us  2.03 us            8
      one-cpu                       2   481k +-2.2%  ? 0.98x [0.96, 1.00]  374 us  4.16 us            8
      same-core                     2   623k +-3.1%  ^ 1.27x [1.24, 1.31]  289 us  3.21 us            8
      same-package                  2   938k +-1.5%  ^ 1.92x [1.89, 1.95]  192 us  2.13 us            8
      cross-package                 2   948k +-2.0%  ^ 1.94x [1.90, 1.98]  190 us  2.11 us            8
      sessions-4 (spread:4)         4  1.75M +-1.7%  ^ 3.58x [3.54, 3.63]  205 us  2.28 us            8
      sessions-7 (spread:7)         7  2.45M +-1.6%  ^ 5.01x [4.93, 5.10]  147 us  1.63 us            8
    beyond the LLC
      alone (1c1t)                  1   202k +-2.4%  baseline              447 us  4.96 us            8
      alone' (1c1t)                 1   201k +-1.4%  baseline again        448 us  4.98 us            8
      one-cpu                       2   198k +-2.3%  = 0.99x [0.97, 1.00]  907 us  10.1 us            8
      same-core                     2   251k +-1.8%  ^ 1.25x [1.22, 1.28]  717 us  7.96 us            8
      same-package                  2   386k +-3.6%  ^ 1.92x [1.86, 1.97]  467 us  5.18 us            8
      cross-package                 2   390k +-2.4%  ^ 1.94x [1.90, 1.98]  462 us  5.13 us            8
      sessions-4 (spread:4)         4   712k +-2.3%  ^ 3.54x [3.47, 3.61]  506 us  5.62 us            8
      sessions-7 (spread:7)         7  1.01M +-2.1%  ^ 5.02x [4.90, 5.15]  355 us  3.95 us  7, 1 failed
    comparisons
      smt-yield/l2      ^ 1.29x [1.26, 1.34]  higher
      smt-yield/memory  ^ 1.27x [1.23, 1.30]  higher
    +-, [low, high]: 95% interval over 8 blocks, of each figure for itself; findings have intervals for
    all ratios together.  ^ higher  v lower  = within the margin  ? undecided
    ");
}

#[test]
fn a_narrow_terminal_loses_columns_and_then_the_table() {
    let mut fixture = Fixture::generated(8, 5);
    fixture.analysis.treatments[0].metrics.remove("latency_ns_p99");
    let document = fixture.document();
    let at = |width: usize| {
        let text = sections(&document, Style { width, ..UNICODE });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        text
    };
    let kept = |width: usize| {
        let text = at(width).replace("p99 -:", "");
        ["CPU/row", "p99", "(1c1t)", "──"].map(|part| text.contains(part))
    };
    assert_eq!(kept(100), [true, true, true, true]);
    assert_eq!(kept(90), [false, true, true, true]);
    assert_eq!(kept(86), [false, false, true, true]);
    assert_eq!(kept(78), [false, false, false, true]);
    assert_eq!([0, 1, 3].map(|at| kept(60)[at]), [true, true, false]);
    let ends = |width: usize, skip: usize| {
        let text = at(width);
        text.lines().skip(skip).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(ends(50, 58), @r"
    sessions-4 (spread:4)
        sessions 4  rows/s 712k ±2.3%
        ratio to alone ▲ 3.54x ±2.0%  p99 506 µs
        CPU/row 5.62 µs  runs 8
    sessions-7 (spread:7)
        sessions 7  rows/s 1.01M ±2.1%
        ratio to alone ▲ 5.02x ±2.6%  p99 355 µs
        CPU/row 3.95 µs  runs 7, 1 failed
    p99 -: fewer than 1,000 steps per block
    comparisons
      smt-yield/l2      ▲ 1.29x [1.26, 1.34]  higher
      smt-yield/memory  ▲ 1.27x [1.23, 1.30]  higher
    ±, [low, high]: 95% interval over 8 blocks, of
    each figure for itself; findings have intervals
    for all ratios together.  ▲ higher  ▼ lower
    = within the margin  ? undecided
    ");
    insta::assert_snapshot!(ends(90, 18), @r"
      sessions-4 (spread:4)         4   712k ±2.3%  ▲ 3.54x [3.47, 3.61]  506 µs            8
      sessions-7 (spread:7)         7  1.01M ±2.1%  ▲ 5.02x [4.90, 5.15]  355 µs  7, 1 failed
    p99 -: fewer than 1,000 steps per block
    comparisons
      smt-yield/l2      ▲ 1.29x [1.26, 1.34]  higher
      smt-yield/memory  ▲ 1.27x [1.23, 1.30]  higher
    ±, [low, high]: 95% interval over 8 blocks, of each figure for itself; findings have
    intervals for all ratios together.  ▲ higher  ▼ lower  = within the margin  ? undecided
    ");
    // Every word of the wide table is whole in the narrow ones; half-widths stand there for intervals.
    let wide = at(100);
    for width in 40..100 {
        for word in at(width).split_whitespace().filter(|word| !word.starts_with(['─', '±'])) {
            let bare = word.trim_matches(['(', ')']);
            assert!(wide.contains(bare) || LIST_WORDS.contains(&bare), "{width}: {word}");
        }
    }
}

#[test]
fn reasons_of_dashes_are_those_of_the_columns_that_are_left() {
    let mut fixture = Fixture::generated(8, 5);
    fixture.analysis.treatments[0].metrics.remove("latency_ns_p99");
    let document = fixture.document();
    for width in [50, 60, 70, 78, 86, 100] {
        let text = sections(&document, Style { width, ..UNICODE });
        let has_column = text.replace("p99 -:", "").contains("p99");
        assert_eq!(has_column, text.contains("p99 -:"), "{width}:\n{text}");
    }
}

/// What only the list of a very narrow terminal says.
const LIST_WORDS: [&str; 2] = ["session", "-:"];

#[test]
fn comparisons_stand_below_the_table_by_name() {
    let mut fixture = Fixture::generated(8, 5);
    let mut estimate = fixture.analysis.estimates[0].clone();
    (estimate.name, estimate.kind) = ("two \u{1b}[2Jversus two".to_owned(), "named".into());
    estimate.ratio.answer = threadwise_analysis::Answer::Undecided;
    fixture.analysis.estimates.push(estimate);
    let text = sections(&fixture.document(), UNICODE);
    let shown: Vec<&str> = text.lines().skip_while(|line| *line != "comparisons").collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    comparisons
      smt-yield/l2        ▲ 1.29x [1.26, 1.34]  higher
      smt-yield/memory    ▲ 1.27x [1.23, 1.30]  higher
      two �[2Jversus two  ? 0.98x [0.96, 1.00]  undecided
    ±, [low, high]: 95% interval over 8 blocks, of each figure for itself; findings have intervals for
    all ratios together.  ▲ higher  ▼ lower  = within the margin  ? undecided
    ");
    let narrow = sections(&fixture.document(), Style { width: 50, ..UNICODE });
    assert!(narrow.contains("\n  two \u{fffd}[2Jversus two  ? 0.98x ["), "{narrow}");
}

#[test]
fn the_level_is_that_of_the_estimates_and_the_baseline_has_its_name() {
    let mut fixture = Fixture::generated(8, 5);
    assert!(sections(&fixture.document(), UNICODE).contains("95% interval"));
    fixture.analysis.estimates.iter_mut().for_each(|estimate| estimate.ratio.level = 0.99);
    for treatment in &mut fixture.study.treatments {
        treatment.name = treatment.name.replace("alone", "two");
    }
    let text = sections(&fixture.document(), UNICODE);
    assert!(text.contains("99% interval") && !text.contains("95%"), "{text}");
    assert!(text.contains("ratio to two") && !text.contains("to alone"), "{text}");
    let page = threadwise_report::html::render(&fixture.document()).unwrap();
    assert!(
        page.contains("99% intervals") && page.contains("Intervals are at <span class=\"figure\">99%</span>")
    );
    assert!(page.contains(">ratio to two<") && page.contains("two against two"));
    fixture.analysis.estimates.clear();
    assert!(sections(&fixture.document(), UNICODE).contains("95% interval"));
}

#[test]
fn nodes_without_usable_cpus_are_not_called_memory_alone() {
    let mut machine = topology();
    for number in 2..6 {
        let memory_bytes = Some(16 << 30);
        machine.numa_nodes.push(NumaNode { os_id: Some(number), cpus: CpuSet::new(), memory_bytes });
    }
    let lines = |machine: &Topology| {
        let text = drawing(machine, UNICODE);
        text.lines().filter(|line| line.starts_with("NUMA node")).collect::<Vec<_>>().join("\n")
    };
    // CPUs 7 and 15 are not usable, and their node is not known.
    insta::assert_snapshot!(lines(&machine), @"NUMA nodes without allowed CPUs: 2 (16 GiB) and 3 more");
    machine.logical_cpus[7].numa_node = Some(2);
    insta::assert_snapshot!(lines(&machine), @r"
    NUMA node whose CPUs are not allowed: 2 (16 GiB)
    NUMA nodes without allowed CPUs: 3 (16 GiB) and 2 more
    ");
    machine.logical_cpus[15].numa_node = Some(1);
    insta::assert_snapshot!(lines(&machine), @r"
    NUMA node whose CPUs are not allowed: 2 (16 GiB)
    NUMA nodes with memory and no CPUs: 3 (16 GiB) and 2 more
    ");
}

#[test]
fn a_higher_ratio_is_green() {
    let colored = sections(&Fixture::generated(3, 3).document(), Style { color: true, ..UNICODE });
    assert!(colored.contains("\u{1b}[32m▲\u{1b}[0m"), "{colored}");
}

#[test]
fn no_escape_in_foreign_text_reaches_the_drawing() {
    let fixture = hostile();
    for text in [drawing(&fixture.topology, UNICODE), topology_line(&fixture.topology)] {
        assert!(!text.contains(|c: char| c != '\n' && c.is_control()), "{text:?}");
        assert!(!text.contains('\u{202e}'));
    }
}

pub fn two_cpus() -> Topology {
    let cpu = |os_id: u32| LogicalCpu {
        os_id,
        core: Some(os_id),
        package: Some(0),
        numa_node: Some(0),
        llc: Some(0),
        siblings: [os_id].into_iter().collect(),
        kind: Some(0),
        allowed: true,
        online: true,
        ..LogicalCpu::default()
    };
    let both: CpuSet = [0, 1].into_iter().collect();
    let core = |id: u32| Core {
        os_id: Some(id.into()),
        cpus: [id].into_iter().collect(),
        package: Some(0),
        kind: 0,
    };
    let group = Group { os_id: Some(0), cpus: both.clone() };
    let mut machine = topology();
    machine.logical_cpus = vec![cpu(0), cpu(1)];
    machine.cores = vec![core(0), core(1)];
    machine.packages = vec![group.clone()];
    machine.llc_domains = vec![group];
    machine.caches.truncate(1);
    machine.caches[0].cpus = both.clone();
    machine.numa_nodes = vec![NumaNode { os_id: Some(0), cpus: both, memory_bytes: None }];
    machine.limits = Default::default();
    machine
}

/// `packages` of `nodes` of `llcs` of `cores` of 2 threads, numbered as Linux does it.
pub fn large(packages: u32, nodes: u32, llcs: u32, cores: u32) -> Topology {
    let all = packages * nodes * llcs * cores;
    let mut machine = Topology::default();
    let members = |size: u32, id: u32| -> CpuSet {
        (id * size..(id + 1) * size).flat_map(|core| [core, core + all]).collect()
    };
    let group = |size: u32| move |id: u32| Group { os_id: Some(id.into()), cpus: members(size, id) };
    machine.packages = (0..packages).map(group(nodes * llcs * cores)).collect();
    machine.llc_domains = (0..packages * nodes * llcs).map(group(cores)).collect();
    machine.numa_nodes = (0..packages * nodes)
        .map(|id| NumaNode {
            os_id: Some(id.into()),
            cpus: members(llcs * cores, id),
            memory_bytes: Some(64 << 30),
        })
        .collect();
    machine.cores = (0..all)
        .map(|id| Core {
            os_id: None,
            cpus: members(1, id),
            package: Some(id / (nodes * llcs * cores)),
            kind: 0,
        })
        .collect();
    machine.logical_cpus = (0..2 * all)
        .map(|os_id| {
            let core = os_id % all;
            LogicalCpu {
                os_id,
                core: Some(core),
                package: Some(core / (nodes * llcs * cores)),
                numa_node: Some(core / (llcs * cores)),
                llc: Some(core / cores),
                siblings: members(1, core),
                kind: Some(0),
                allowed: true,
                online: true,
                ..LogicalCpu::default()
            }
        })
        .collect();
    machine
}
