//! What a study of rates says: two cores, one logical CPU, siblings, packages, sweeps, the comparisons that were asked
//! for.

use crate::findings::sweep::{self, Sweep};
use crate::findings::{activity, scaling, smt, trust};
use crate::kind::Kind;
use crate::parts::Parts;
use crate::workload::Nouns;
use crate::{Facts, Finding};

/// What the ratios of a study of rates say.
pub fn rates(facts: &Facts<'_>, kind: &dyn Kind) -> Parts {
    let sweeps = sweep::sweeps(facts);
    let mut found = throughput(facts, &kind.nouns(facts.study), &sweeps);
    found.extend(activity::activity(facts));
    Parts {
        validity: trust::validity(facts).into_iter().collect(),
        found,
        lead: sweep::is_the_question(facts, &sweeps).then_some("sweep"),
        limits: vec![trust::trust(facts), trust::scope(facts, kind, &sweeps)],
        ..Parts::default()
    }
}

/// What the ratios of throughput say. The yield is reported in any case, if only that there is none.
fn throughput(facts: &Facts<'_>, nouns: &Nouns, sweeps: &[Sweep<'_>]) -> Vec<Finding> {
    let first: Vec<Finding> =
        [scaling::two_cores(facts, nouns), scaling::others(facts, sweeps)].into_iter().flatten().collect();
    let smt_yield = smt::smt_yield(facts, nouns);
    let rest = [
        smt::half_busy(facts),
        scaling::packages(facts),
        sweep::growth(facts, sweeps),
        scaling::asked(facts),
    ];
    let rest: Vec<Finding> = rest.into_iter().flatten().collect();
    let is_all = first.is_empty() && rest.is_empty() && smt_yield.kind == "not-measurable";
    let one_cpu = scaling::one_cpu(facts, is_all);
    first.into_iter().chain(one_cpu).chain([smt_yield]).chain(rest).collect()
}
