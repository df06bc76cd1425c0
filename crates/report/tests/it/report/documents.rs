//! Every made-up study and document, for what holds of all of them.

use crate::report::looks::model::{moved, odd, whole};
use crate::report::page::hostile;
use crate::report::probes::{eight, hostile_probe, many, two};
use crate::report::{activity, commands, compare, logical_cpus, queries, scaling_law, worklist};
use crate::support::Fixture;
use threadwise_analysis::{compare as beside, probe_document};
use threadwise_document::Document;
use threadwise_report::Facts;

/// Studies by what they are for.
pub fn studies() -> Vec<(&'static str, Fixture)> {
    vec![
        ("a study", Fixture::generated(8, 20)),
        ("hostile texts", hostile()),
        ("waits and locks", activity::fixture()),
        ("clocks and changes", logical_cpus::fixture()),
        ("commands", commands::fixture(8, &[])),
        ("commands, one block", commands::fixture(1, &[])),
        ("commands by a metric", commands::fixture(8, &[("headline", "tps"), ("each", "session")])),
        ("a work list", worklist::fixture::fixture(8)),
        ("a work list, one block", worklist::fixture::fixture(1)),
        ("schedules", worklist::fixture::schedules()),
        ("a hostile work list", worklist::fixture::hostile()),
        ("looks", moved(2, 8, 20)),
        ("looks at one logical CPU", moved(1, 2, 20)),
        ("looks of every state", odd(3, 20)),
        ("looks during whole runs", whole(commands::fixture(8, &[]))),
        ("queries", queries::fixture::fixture(11, false)),
        ("streams of queries", queries::fixture::fixture(12, true)),
        ("queries with long names", queries::fixture::long_names(6)),
        ("queries, one block", queries::bare()),
        ("queries, nothing measured", queries::empty()),
        ("hostile queries", queries::hostile()),
    ]
}

/// The JSON reports of all of them, and of laws.
pub fn reports() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        studies().iter().map(|(name, fixture)| ((*name).to_owned(), fixture.json())).collect();
    all.push(("scaling laws".to_owned(), scaling_law::fitted_json()));
    all
}

/// The documents of all of them, of probes, of laws, and of studies side by side.
pub fn documents() -> Vec<(String, Document)> {
    let mut all: Vec<(String, Document)> =
        studies().iter().map(|(name, fixture)| ((*name).to_owned(), fixture.document())).collect();
    let probes = [("2", two()), ("8", eight()), ("768", many()), ("hostile", hostile_probe())];
    all.extend(probes.map(|(name, probed)| {
        let document = probe_document(&probed.topology, &probed.probe, &probed.hardware, "0.1.0", "");
        (format!("probe of logical CPUs: {name}"), document)
    }));
    all.push(("scaling laws".to_owned(), scaling_law::document()));
    let fixtures = compare::fixtures();
    all.push(("side by side".to_owned(), beside::document(&compare::named(&fixtures), "0.1.0")));
    let evil = hostile();
    let facts = [Facts { source: crate::report::page::HOSTILE, ..evil.facts() }; 2];
    all.push(("hostile side by side".to_owned(), beside::document(&facts, "0.1.0")));
    all
}
