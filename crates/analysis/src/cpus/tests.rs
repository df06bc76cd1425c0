//! A machine of two packages with turbo, with figures worked by hand.

use super::*;
use crate::FindingKind;
use crate::fixtures::{cpu_times, machine, run, study};
use crate::{Facts, analyse_on, document, verdict};
use threadwise_document::Block;
use threadwise_study::{Note, NoteCode, Reading, Study};

fn reading(sampler: &str, metric: &str, cpu: Option<u32>, value: f64) -> Reading {
    let (sampler, metric) = (sampler.to_owned(), metric.to_owned());
    Reading { sampler, metric, cpu, start_ns: 0, end_ns: 1, value: Some(value), gap: None }
}

/// A run on logical CPUs that were busy for 98% at `mhz`, with idle siblings (1%): half of 2 s not idle, 1.5 instructions
/// per cycle, 100 W and 20 W.
fn measured(block: u32, treatment: &str, cpus: &[u32], mhz: f64) -> Run {
    let mut run = Run { cpus: cpus.to_vec(), ..run(block, treatment, &[1000, 1000]) };
    for slice in &mut run.slices {
        let times = cpus.iter().flat_map(|cpu| [cpu_times(*cpu, 98, 0), cpu_times(cpu + 1, 1, 0)]);
        slice.cpu_times = times.collect();
    }
    let window_ns = 2e9;
    for sampler in ["clock", "counters", "energy"] {
        run.readings.push(reading(sampler, "window_ns", None, window_ns));
    }
    for cpu in cpus {
        let of_cpu = |sampler: &str, metric: &str, value: f64| reading(sampler, metric, Some(*cpu), value);
        run.readings.extend([
            of_cpu("clock", "aperf_cycles", mhz / 1e3 * window_ns * 0.5),
            of_cpu("clock", "mperf_cycles", 2.9 * window_ns * 0.5),
            of_cpu("clock", "tsc_cycles", 2.9 * window_ns),
            of_cpu("counters", "cycles", 1000.0),
            of_cpu("counters", "instructions", 1500.0),
        ]);
    }
    run.readings.push(reading("energy", "package_0_energy_uj", None, 200e6));
    run.readings.push(reading("energy", "package_1_energy_uj", None, 40e6));
    run
}

/// One logical CPU against two cores, in so many blocks. Odd blocks are on the other package; `mhz` has the clock of
/// each treatment's runs by block.
fn runs(blocks: u32, mhz: impl Fn(&str, u32) -> f64) -> Vec<Run> {
    let of_block = |block: u32| {
        let first = if block.is_multiple_of(2) { 0 } else { 4 };
        let one = |name: &str, cpus: &[u32]| measured(block, name, cpus, mhz(name, block));
        [one("A", &[first]), one("A'", &[first]), one("T", &[first, first + 2])]
    };
    (0..blocks).flat_map(of_block).collect()
}

fn made() -> Study {
    study(&[""], &["T 2c1t 2"])
}

#[test]
fn rows_are_logical_cpus_as_used_with_their_idle_siblings() {
    let (study, topology) = (made(), machine(2, 2, 2));
    let runs = runs(4, |name, _| if name == "T" { 3300.0 } else { 3600.0 });
    let found = analyse_on(&study, Some(&topology), &runs, 1.0).cpus.unwrap();
    let of_t = &found.treatments[2];
    let rows: Vec<_> =
        of_t.logical_cpus.iter().map(|row| (row.package, row.core, row.cpu, row.usage, row.blocks)).collect();
    let (used, idle) = (Use::Used, Use::IdleSibling);
    let row = |package, core, cpu, usage| (Some(package), Some(core), cpu, usage, 2);
    let wanted = [
        row(0, 0, 0, used),
        row(0, 0, 1, idle),
        row(0, 1, 2, used),
        row(0, 1, 3, idle),
        row(1, 2, 4, used),
        row(1, 2, 5, idle),
        row(1, 3, 6, used),
        row(1, 3, 7, idle),
    ];
    assert_eq!(rows, wanted);
    let mean =
        |interval: &Option<crate::Interval>| interval.as_ref().map(|one| (one.mean * 1e6).round() / 1e6);
    let first = &of_t.logical_cpus[0];
    assert_eq!((mean(&first.busy_share), mean(&first.busy_mhz)), (Some(0.98), Some(3300.0)));
    assert_eq!((mean(&first.average_mhz), mean(&first.cpufreq_mhz)), (Some(1650.0), None));
    assert_eq!(mean(&first.instructions_per_cycle), Some(1.5));
    let sibling = &of_t.logical_cpus[1];
    assert_eq!((mean(&sibling.busy_share), &sibling.busy_mhz), (Some(0.01), &None));
    let watts: Vec<_> = of_t.packages.iter().map(|one| (one.package.as_str(), mean(&one.power_w))).collect();
    assert_eq!(watts, [("0", Some(100.0)), ("1", Some(20.0))]);
}

#[test]
fn work_per_joule_is_throughput_over_the_power_of_all_packages() {
    let (study, topology) = (made(), machine(2, 2, 2));
    let analysis = analyse_on(&study, Some(&topology), &runs(4, |_, _| 3000.0), 1.0);
    let metric = |name: &str| analysis.treatments[2].metrics[name].mean;
    // 1,000 rows a second at 120 W.
    assert!(
        (metric("power_w") - 120.0).abs() < 1e-9 && (metric("rows_per_joule") - 1000.0 / 120.0).abs() < 1e-9
    );
}

/// What the verdict says of the clock.
fn said(mhz: impl Fn(&str, u32) -> f64) -> Option<String> {
    let (study, topology) = (made(), machine(2, 2, 2));
    let runs = runs(8, mhz);
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let findings = verdict(&Facts { runs: &runs, ..Facts::new(&study, &topology, &analysis) });
    findings.into_iter().find(|one| one.kind == FindingKind::Clock).map(|one| one.text())
}

#[test]
fn a_clock_is_the_same_within_its_bound_or_other_or_nothing_is_said() {
    // Blocks 0.4% apart, the same in both treatments but for 0.1% in every other one.
    let wobble = |name: &str, block: u32| {
        let more = if name == "T" && block.is_multiple_of(2) { 1.001 } else { 1.0 };
        3000.0 * (1.0 + 0.004 * f64::from(block % 3)) * more
    };
    let same = said(wobble).unwrap();
    assert!(
        same.starts_with(
            "Clock: that of the busy logical CPUs was the same in all treatments within 0.1%, so"
        ),
        "{same}"
    );
    let lower = said(|name, block| wobble(name, block) * if name == "T" { 0.9 } else { 1.0 }).unwrap();
    assert_eq!(lower, "Clock of the busy logical CPUs: T 0.90x [0.90, 0.90] of that of A.");
    // Apart by 10% in every other block: neither the same nor shown to differ.
    assert_eq!(
        said(|name, block| 3000.0 * if name == "T" && block.is_multiple_of(2) { 1.1 } else { 1.0 }),
        None
    );
}

#[test]
fn the_section_leaves_out_what_is_unknown_and_says_why_once() {
    let (study, topology) = (made(), machine(2, 2, 2));
    let mut runs = runs(2, |_, _| 3000.0);
    for run in &mut runs {
        run.readings.retain(|one| one.sampler != "clock" && one.sampler != "energy");
    }
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let notes = [
        ("clock", "no readings of clock: hidden"),
        ("energy", "no readings of energy: for root alone; chmod"),
    ];
    let notes = notes.map(|(sampler, text)| Note::new(NoteCode::NoReadings(sampler.to_owned()), text));
    let facts = Facts { runs: &runs, notes: &notes, ..Facts::new(&study, &topology, &analysis) };
    let document = document(&facts);
    let section = document.section("logical-cpus").unwrap();
    let Block::Table(table) = &section.blocks[1] else { panic!("{section:?}") };
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["logical CPU", "package", "core", "use", "blocks", "busy", "instructions/cycle"]);
    let Block::List(lines, _) = &section.blocks[2] else { panic!("{section:?}") };
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "Unknown: clock by the processor's own counters: hidden",
            "Unknown: power and work per joule: for root alone; chmod"
        ]
    );
}

#[test]
fn a_large_machine_has_a_row_for_each_package_and_use() {
    let (study, topology) = (made(), machine(2, 64, 2));
    let mut runs = runs(2, |_, _| 3000.0);
    for run in runs.iter_mut().filter(|run| run.treatment == "T") {
        *run = measured(
            run.block,
            "T",
            &(0..128).map(|core| 2 * core).collect::<Vec<_>>(),
            3000.0 + f64::from(run.block),
        );
    }
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let facts = Facts { runs: &runs, ..Facts::new(&study, &topology, &analysis) };
    assert_eq!(analysis.cpus.as_ref().unwrap().treatments[2].logical_cpus.len(), 256, "JSON has all");
    let document = document(&facts);
    let tables = document.section("logical-cpus").unwrap().blocks.iter().filter_map(|block| match block {
        Block::Table(table) if !table.rows.is_empty() => Some(table),
        _ => None,
    });
    let cells: Vec<String> = tables
        .flat_map(|table| table.cells())
        .filter(|cells| format!("{:?}", cells[0]).contains("64 logical CPUs"))
        .map(|cells| format!("{:?} {:?}", cells[1], cells[3]))
        .collect();
    assert_eq!(
        cells,
        [
            "Text(\"0\") Text(\"used\")",
            "Text(\"0\") Text(\"idle sibling\")",
            "Text(\"1\") Text(\"used\")",
            "Text(\"1\") Text(\"idle sibling\")"
        ]
    );
}

#[test]
fn nothing_read_is_no_section() {
    let study = made();
    let runs = [run(0, "A", &[1]), run(0, "A'", &[1]), run(0, "T", &[1])];
    assert_eq!(analyse_on(&study, None, &runs, 1.0).cpus, None);
}
