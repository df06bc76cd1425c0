//! Hand-made runs of queries, for tests and benches.

use crate::made::{self, Random};
use threadwise_study::{QueryExecution, Run};

/// A plan of 30 operators, about 2 KB, the same for the same query.
pub fn plan(query: u8) -> String {
    let operator = |depth: usize| {
        let indent = " ".repeat(2 * (depth % 15));
        let moves = if depth % 4 == 3 { "~ " } else { "" };
        format!("{indent}{moves}HASH_JOIN INNER l_orderkey = o_orderkey q{query} #{depth}")
    };
    (0..30).map(operator).collect::<Vec<_>>().join("\n")
}

fn execution(random: &mut Random, query: u8) -> QueryExecution {
    let known = |value: u64| (!value.is_multiple_of(4)).then_some(value);
    QueryExecution {
        query,
        started_ns: random.below(1 << 40),
        elapsed_ns: 1 + random.below(1 << 40),
        planning_ns: known(random.below(1 << 20)),
        cpu_ns: known(random.below(1 << 40)),
        dop: known(1 + random.below(64)).map(|dop| dop as u32),
        rows: random.below(1 << 20),
        plan: Some(plan(query)),
        counters: [
            ("read_bytes".to_owned(), random.below(1 << 40)),
            ("spill_bytes".to_owned(), random.below(1 << 40)),
        ]
        .into(),
        answer: None,
    }
}

/// A run of `rounds` slices in which each of `streams` sessions executes `queries` queries.
pub fn query_run(seed: u64, block: u32, rounds: u32, streams: u32, queries: u32) -> Run {
    let mut run = made::run(seed, block, 0, rounds, streams, 2);
    let random = &mut Random(seed ^ 0x7463_7068);
    for slice in &mut run.slices {
        let first = slice.round;
        for session in &mut slice.sessions {
            let numbers = (first..first + queries).map(|at| (at % 22) as u8 + 1);
            session.queries = numbers.map(|query| execution(random, query)).collect();
            session.latency.clear();
            session.counters.clear();
        }
    }
    run
}
