//! Which logical CPUs share a core, decided by how they disturb each other and not by declaration.
//!
//! A kernel limited by issue width halves if two threads of one core run it, one limited by the
//! latency of an add does not; two names of one logical CPU keep their speed while they run
//! and take turns; on different cores nothing changes. Few CPUs are tested pair by pair (`rounds`,
//! `evidence`, `judge`); of many, sets that run at once clear most pairs first (`sets`), and open pairs
//! and declared siblings are tested after (`pairs`). Method and figures: docs/PROBE.md.

mod evidence;
pub(crate) mod figures;
mod judge;
mod meter;
mod pairs;
mod plan;
mod rounds;
mod sets;
mod types;

use crate::bench::{Bench, ProbeError};
use crate::neighbour::FREE_ADDS;
use meter::Meter;
use pairs::Pairs;
use plan::{FULL_CPUS, ONE_BY_ONE, Plan};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sets::Sets;
use std::collections::BTreeSet;

use threadwise_study::probe::ProbeForm;

pub use plan::estimate_s;
pub use types::{Request, SiblingResults};

/// This module's stream of the seed's generator.
const STREAM: u64 = 16 << 32;

/// Finds the CPUs that share a core. `progress` gets the finished share, 0 to 1.
///
/// # Errors
/// Those of the bench, except [`ProbeError::Stopped`], which keeps what was measured.
pub fn measure(
    bench: &mut dyn Bench,
    request: &Request<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<SiblingResults, ProbeError> {
    let cpus: Vec<u32> = request.cpus.iter().copied().collect::<BTreeSet<u32>>().into_iter().collect();
    let mut found = SiblingResults::default();
    if cpus.len() < 2 {
        found.gaps.push("only one logical CPU: no other one could share its core".to_owned());
        return Ok(found);
    }
    if FREE_ADDS.is_none() {
        found.gaps.push(
            "the width of this architecture's cores is not known: a neighbour that is always busy on a sibling would go unnoticed".to_owned(),
        );
    }
    if request.form == ProbeForm::Full && cpus.len() > FULL_CPUS {
        found.gaps.push(format!(
            "more than {FULL_CPUS} logical CPUs: pairs that sets of many cleared were not tested one by one"
        ));
    }
    let mut meter = Meter::new(bench, progress, estimate_s(cpus.len(), request.declared_cores, request.form));
    let ended = explore(&mut meter, &cpus, request, &mut found);
    found.pairs.sort_by_key(|pair| (pair.a, pair.b));
    match ended {
        Ok(()) => meter.done(),
        Err(ProbeError::Stopped) => found.interrupted = true,
        Err(error) => return Err(error),
    }
    Ok(found)
}

fn explore(
    meter: &mut Meter<'_>,
    cpus: &[u32],
    request: &Request<'_>,
    found: &mut SiblingResults,
) -> Result<(), ProbeError> {
    let mut random = ChaCha8Rng::seed_from_u64(request.seed);
    random.set_stream(STREAM);
    let plan = Plan::of(cpus.len(), request.form);
    let sets = if cpus.len() > ONE_BY_ONE {
        let mut sets = Sets::new(cpus, FREE_ADDS);
        let ended = sets.run(meter, &mut random, &plan);
        found.sets = sets.tests();
        ended?;
        Some(sets)
    } else {
        None
    };
    let pairs = Pairs { cpus, sets: sets.as_ref(), plan, free: FREE_ADDS };
    pairs.run(meter, &mut random, request, found)
}
