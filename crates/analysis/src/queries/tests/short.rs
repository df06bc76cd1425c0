//! Short queries beside a stream, with latencies that are known.

use super::*;
use crate::FindingKind;
use crate::{Facts, document, plain_verdict};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use threadwise_document::{Block, Document};

const SESSIONS: usize = 2;

/// A session of so many short queries: most take 1 ms, two in a hundred so long.
fn short_session(steps: u64, p99_ms: f64) -> SessionSlice {
    let mut histogram = Histogram::<u32>::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    for step in 0..steps {
        let ms = if step % 50 == 0 { p99_ms } else { 1.0 };
        histogram.record((ms * 1e6) as u64).unwrap();
    }
    let mut latency = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut latency).unwrap();
    SessionSlice {
        steps,
        rows: steps,
        answers_checked: steps,
        cpu_ns: 77_000_000,
        latency,
        ..SessionSlice::default()
    }
}

/// One stream at DOP 1, 2 and 4 of one placement, whose time falls with the DOP; `p99_ms` of a treatment in a block.
fn mixed(steps: u64, p99_ms: impl Fn(&str, u32) -> f64) -> (Study, Vec<Run>) {
    let mut study = study_of("1-2", &["d2 no-smt 1 2", "d4 no-smt 1 4"]);
    as_throughput(&mut study);
    study.design.margin = 0.1;
    let mut runs = Vec::new();
    for treatment in &mut study.treatments {
        treatment.options.insert("short".to_owned(), OptionValue::Integer(SESSIONS as i64));
    }
    for block in 0..8 {
        for treatment in &study.treatments {
            let Some(OptionValue::Integer(dop)) = treatment.options.get("dop") else { panic!() };
            let ms = 1000.0 / *dop as f64 * noise(block, &treatment.name, 0, 0.004);
            let mut slice = slice_of(0, vec![vec![took(1, ms / 2.0), took(2, ms / 2.0)]]);
            let short = short_session(steps, p99_ms(&treatment.name, block));
            slice.sessions.extend(std::iter::repeat_n(short, SESSIONS));
            runs.push(run_of(block, &treatment.name, &[0, 1, 2, 3], vec![slice]));
        }
    }
    (study, runs)
}

/// DOP 2 leaves the 99th percentile where it is, DOP 4 raises it by half.
fn known() -> (Study, Vec<Run>) {
    mixed(1000, |name, block| {
        let raised = if name == "d4" { 1.5 } else { 1.0 };
        4.0 * raised * noise(block, name, 9, 0.01)
    })
}

fn finding_of(study: &Study, runs: &[Run]) -> String {
    let topology = machine(1, 4, 1);
    let verdict = plain_verdict(study, &topology, &look(study, Some(&topology), runs));
    verdict.iter().find(|finding| finding.kind == FindingKind::ShortQueries).unwrap().text()
}

fn document_of(study: &Study, runs: &[Run]) -> Document {
    let topology = machine(1, 4, 1);
    let analysis = look(study, Some(&topology), runs);
    sections::assert_shown(study, &topology, &analysis);
    document(&Facts::new(study, &topology, &analysis))
}

#[test]
fn latencies_and_limits_are_those_that_were_put_in() {
    let (study, runs) = known();
    let queries = queries_of(&study, &runs);
    let [one, two, four] = queries.short.as_slice() else { panic!("{:#?}", queries.short) };
    assert_eq!([one.dop, two.dop, four.dop], [1, 2, 4]);
    assert_eq!((one.sessions, one.streams, one.blocks, one.fewest_in_a_block), (2, 1, 8, 2000));
    let mean = |interval: &Option<Interval>| interval.as_ref().unwrap().mean;
    assert!((mean(&one.latency_ns_p50) / 1e6 - 1.0).abs() < 0.01);
    assert!((mean(&one.latency_ns_p99) / 4e6 - 1.0).abs() < 0.02);
    assert!((mean(&four.latency_ns_p99) / 6e6 - 1.0).abs() < 0.02);
    // 2000 in a second, and in a quarter of one.
    assert!((mean(&one.short_per_s) / 2000.0 - 1.0).abs() < 0.02, "{:?}", one.short_per_s);
    assert!((mean(&four.short_per_s) / 8000.0 - 1.0).abs() < 0.02);
    assert_eq!((one.p99.is_none(), one.lowest.as_str(), four.lowest.as_str()), (true, "A", "A"));
    let ratio = four.p99.as_ref().unwrap();
    assert!((ratio.value - 1.5).abs() < 0.03 && ratio.is_higher() && ratio.floor.is_some(), "{ratio:?}");
    assert!((two.throughput.as_ref().unwrap().value - 2.0).abs() < 0.03);
    let [limit] = queries.short_limits.as_slice() else { panic!("{:?}", queries.short_limits) };
    assert_eq!((limit.keeps_dop, limit.raises_dop), (Some(2), Some(4)));
    assert!(limit.undecided_dops.is_empty() && limit.blocks_needed.is_none());
}

#[test]
fn what_the_streams_did_is_the_same_with_and_without_them() {
    let (study, runs) = known();
    let mut alone = runs.clone();
    for slice in alone.iter_mut().flat_map(|run| &mut run.slices) {
        slice.sessions.truncate(1);
    }
    let with = look(&study, Some(&machine(1, 4, 1)), &runs);
    let without = look(&study, Some(&machine(1, 4, 1)), &alone);
    assert_eq!(with.treatments, without.treatments);
    assert_eq!(with.estimates, without.estimates);
    let [with, without] = [with, without].map(|analysis| analysis.queries.unwrap());
    assert_eq!((with.treatments, with.heat), (without.treatments, without.heat));
}

#[test]
fn the_verdict_says_how_far_the_dop_may_go() {
    let (study, runs) = known();
    let text = finding_of(&study, &runs);
    assert!(
        text.starts_with("Concurrent short queries, 2 sessions: on no-smt, against DOP 1 (p99 3.997 ms ["),
        "{text}"
    );
    assert!(text.contains(": DOP 2 is the highest shown to keep p99 within 10% (1.0"), "{text}");
    assert!(text.contains("; streams' queries/h 2.0") && text.ends_with(")."), "{text}");
    assert!(text.contains("; DOP 4 is the smallest shown to raise it (1.5"), "{text}");
    let noisy = mixed(1000, |name, block| 4.0 * noise(block, name, 9, 0.1));
    let text = finding_of(&noisy.0, &noisy.1);
    assert!(text.contains("not decided: DOP ") && text.contains("blocks (8 here)"), "{text}");
}

#[test]
fn too_few_short_queries_have_no_percentile_and_the_verdict_says_what_helps() {
    let (study, runs) = mixed(499, |_, _| 4.0);
    let queries = queries_of(&study, &runs);
    assert!(queries.short.iter().all(|row| row.p99.is_none() && row.latency_ns_p50.is_none()));
    assert!(queries.short.iter().all(|row| row.short_per_s.is_some() && row.fewest_in_a_block == 998));
    assert_eq!(queries.short_limits[0].undecided_dops, [2, 4]);
    let text = finding_of(&study, &runs);
    assert!(text.contains("had 998 short queries, and a percentile needs 1,000"), "{text}");
    document_of(&study, &runs);
}

#[test]
fn the_section_has_every_treatment_and_a_chart() {
    let (study, runs) = known();
    let document = document_of(&study, &runs);
    let section = document.sections.iter().find(|section| section.id == "short-queries").unwrap();
    let tables = section.blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    assert_eq!(tables.map(|table| table.rows.len()).collect::<Vec<_>>(), [3]);
    assert!(section.blocks.iter().any(|block| matches!(block, Block::Figure(_))));
}

#[test]
fn histograms_that_cannot_be_read_are_no_percentile() {
    let (study, mut runs) = known();
    let damaged = runs.iter_mut().filter(|run| run.treatment == "d4").flat_map(|run| &mut run.slices);
    damaged.flat_map(|slice| &mut slice.sessions).for_each(|session| session.latency.truncate(20));
    let queries = queries_of(&study, &runs);
    assert!(queries.short[2].latency_ns_p99.is_none() && queries.short[1].p99.is_some());
    assert!(finding_of(&study, &runs).contains("the latencies of d4 cannot be read"));
}
