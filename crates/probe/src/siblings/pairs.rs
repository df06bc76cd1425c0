//! Pair tests: which pairs, which of them at the same time, and for how many rounds.

use super::evidence::Evidence;
use super::judge::{answer, judge};
use super::plan::{BATCH, FULL_CPUS, ONE_BY_ONE, Plan};
use super::rounds::{Round, round};
use super::sets::Sets;
use super::{Meter, Request, SiblingResults};
use crate::bench::ProbeError;
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_study::probe::{PairSharing, ProbeForm, Sharing};

/// Rounds between looks.
const LOOK_EVERY: usize = 16;

/// From this many masked pairs on, one line instead of one each.
const MOST_MASKED: usize = 2000;

/// Two logical CPUs by their index in the request, the lower OS number first.
type Pair = [usize; 2];

/// The pair tests of one probe.
pub(super) struct Pairs<'a> {
    pub cpus: &'a [u32],
    /// `None` on a machine too small for sets.
    pub sets: Option<&'a Sets>,
    pub plan: Plan,
    /// Least width of a free core, if known.
    pub free: Option<f64>,
}

impl Pairs<'_> {
    /// Tests the pairs that need it.
    pub fn run(
        &self,
        meter: &mut Meter<'_>,
        random: &mut ChaCha8Rng,
        request: &Request<'_>,
        found: &mut SiblingResults,
    ) -> Result<(), ProbeError> {
        let mut pending = self.wanted(request);
        self.set_masked_aside(&mut pending, request, found);
        let start_s = meter.spent_s;
        loop {
            if request.form != ProbeForm::Full {
                self.infer(&mut pending, &mut found.pairs);
            }
            if pending.is_empty() {
                return Ok(());
            }
            if meter.spent_s - start_s >= self.plan.pairs_s {
                found.gaps.push(self.no_time(&pending));
                return Ok(());
            }
            let batch = self.next_batch(&mut pending);
            self.batch(meter, random, &batch, &mut found.pairs)?;
        }
    }

    /// Two that never had their cores to themselves, in any set, would not have them in a pair test
    /// either. Declared siblings are tested anyway.
    fn set_masked_aside(&self, pending: &mut Vec<Pair>, request: &Request<'_>, found: &mut SiblingResults) {
        let Some(sets) = self.sets else { return };
        let hidden: Vec<bool> = (0..self.cpus.len()).map(|one| sets.never_free(one)).collect();
        let declared = self.declared(request);
        let masked = |pair: &Pair| pair.iter().all(|&one| hidden[one]) && !declared.contains(pair);
        let (aside, rest): (Vec<Pair>, Vec<Pair>) = pending.iter().partition(|pair| masked(pair));
        *pending = rest;
        if aside.len() > MOST_MASKED {
            let cpus = hidden.iter().filter(|hidden| **hidden).count();
            found.gaps.push(format!(
                "sharing of {} pairs is not known: neighbours kept the cores of {cpus} logical CPUs busy all the time",
                aside.len()
            ));
            return;
        }
        let why = "neither had its core to itself in any window of the sets; other work hides the answer";
        let answer = |pair: &Pair| unmeasured(pair.map(|at| self.cpus[at]), Sharing::Masked, why.to_owned());
        found.pairs.extend(aside.iter().map(answer));
    }

    /// Answers pairs whose two share a core with the same others: four threads of a core need three
    /// pair tests, not six. Two that were never on a CPU at the same time may be one logical CPU and
    /// are tested.
    fn infer(&self, pending: &mut Vec<Pair>, answers: &mut Vec<PairSharing>) {
        let Some(sets) = self.sets else { return };
        let core = cores(answers);
        pending.retain(|pair| {
            let names = pair.map(|at| self.cpus[at]);
            let (Some(one), Some(other)) = (core.get(&names[0]), core.get(&names[1])) else { return true };
            let known = one == other && sets.ran_together(pair[0], pair[1]) && !sets.apart(pair[0], pair[1]);
            if known {
                answers.push(inferred(names, *one));
            }
            !known
        });
    }

    /// Declared siblings first, then the pairs that the sets did not clear, likely siblings first: a CPU with many
    /// open pairs was hidden by neighbours.
    fn wanted(&self, request: &Request<'_>) -> Vec<Pair> {
        let count = self.cpus.len();
        let every = count <= ONE_BY_ONE || (request.form == ProbeForm::Full && count <= FULL_CPUS);
        let open = |pair: &Pair| self.sets.is_none_or(|sets| !sets.apart(pair[0], pair[1]));
        let doubt =
            |pair: &Pair| self.sets.map_or(0, |sets| sets.open_with(pair[0]).min(sets.open_with(pair[1])));
        let declared: BTreeSet<Pair> = self.declared(request);
        let all = (0..count).flat_map(|one| (0..count).map(move |other| [one, other]));
        let mut others: Vec<Pair> = all
            .filter(|pair| self.cpus[pair[0]] < self.cpus[pair[1]])
            .filter(|pair| (every || open(pair)) && !declared.contains(pair))
            .collect();
        others.sort_by_key(doubt);
        declared.into_iter().chain(others).collect()
    }

    fn declared(&self, request: &Request<'_>) -> BTreeSet<Pair> {
        let mut pairs = BTreeSet::new();
        for core in request.declared_cores {
            let mut members: Vec<usize> =
                (0..self.cpus.len()).filter(|&at| core.contains(self.cpus[at])).collect();
            members.sort_by_key(|&at| self.cpus[at]);
            for (place, &one) in members.iter().enumerate() {
                pairs.extend(members[place + 1..].iter().map(|&other| [one, other]));
            }
        }
        pairs
    }

    /// Takes out pairs that can run at the same time: no CPU of one may share a core with those of the others.
    /// Otherwise one pair could look like the sibling of another.
    fn next_batch(&self, pending: &mut Vec<Pair>) -> Vec<Pair> {
        let mut batch: Vec<Pair> = Vec::new();
        let apart = |one: &Pair, other: &Pair| {
            let Some(sets) = self.sets else { return false };
            one.iter().all(|&a| other.iter().all(|&b| a != b && sets.apart(a, b)))
        };
        pending.retain(|pair| {
            let fits = batch.len() < BATCH && batch.iter().all(|chosen| apart(chosen, pair));
            if fits {
                batch.push(*pair);
            }
            !fits
        });
        batch
    }

    /// Runs rounds of a batch until each pair has its answer or the rounds are used up.
    fn batch(
        &self,
        meter: &mut Meter<'_>,
        random: &mut ChaCha8Rng,
        batch: &[Pair],
        answers: &mut Vec<PairSharing>,
    ) -> Result<(), ProbeError> {
        let mut open: Vec<(Pair, Vec<Round>)> = batch.iter().map(|pair| (*pair, Vec::new())).collect();
        for number in 0..self.plan.most_rounds {
            let names: Vec<[u32; 2]> = open.iter().map(|(pair, _)| pair.map(|at| self.cpus[at])).collect();
            let measured = round(meter, random, &names, number);
            let stopped = measured.is_err();
            for ((_, rounds), round) in open.iter_mut().zip(measured.as_ref().ok().into_iter().flatten()) {
                rounds.push(round.clone());
            }
            let last = stopped || number + 1 == self.plan.most_rounds;
            let look = number + 1 >= self.plan.least_rounds && (number + 1).is_multiple_of(LOOK_EVERY);
            if last || look {
                open.retain(|(pair, rounds)| !self.close(*pair, rounds, last, answers));
            }
            measured?;
            if open.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Records the answer of a pair if it is decided, or if there will be no more rounds.
    fn close(&self, pair: Pair, rounds: &[Round], last: bool, answers: &mut Vec<PairSharing>) -> bool {
        let seen = Evidence::of(rounds, self.free);
        let judgement = judge(&seen, self.free);
        let closed = judgement.decided || last;
        if closed && !rounds.is_empty() {
            let answer = answer(pair.map(|at| self.cpus[at]), &seen, judgement);
            answers.push(self.against_sets(pair, answer));
        }
        closed
    }

    /// Two that were seen apart before and on one core now are being moved.
    fn against_sets(&self, pair: Pair, mut answer: PairSharing) -> PairSharing {
        let apart = self.sets.is_some_and(|sets| sets.apart(pair[0], pair[1]));
        if apart && matches!(answer.sharing, Sharing::SameCore | Sharing::SameCpu) {
            let word = answer.sharing.word();
            answer.why = format!("apart while many ran, {word} later: {}", answer.why);
            answer.sharing = Sharing::Moving;
        }
        answer
    }

    fn no_time(&self, pending: &[Pair]) -> String {
        let open = |pair: &&Pair| self.sets.is_none_or(|sets| !sets.apart(pair[0], pair[1]));
        let unanswered = pending.iter().filter(open).count();
        let cpus: BTreeSet<usize> = pending.iter().filter(open).flatten().copied().collect();
        format!(
            "sharing of {unanswered} pairs is not known: among their {} logical CPUs neighbours or many siblings hid it, and the time for pair tests ran out ({} more that sets had cleared were left out)",
            cpus.len(),
            pending.len() - unanswered
        )
    }
}

/// For each CPU that was found to share a core, the lowest number of that core.
fn cores(answers: &[PairSharing]) -> BTreeMap<u32, u32> {
    let mut core: BTreeMap<u32, u32> = BTreeMap::new();
    for pair in answers.iter().filter(|pair| pair.sharing == Sharing::SameCore) {
        let core_of = |cpu| core.get(&cpu).copied().unwrap_or(cpu);
        let (one, other) = (core_of(pair.a), core_of(pair.b));
        let (low, high) = (one.min(other), one.max(other));
        core.values_mut().filter(|lowest| **lowest == high).for_each(|lowest| *lowest = low);
        core.extend([(pair.a, low), (pair.b, low), (low, low)]);
    }
    core
}

fn inferred(cpus: [u32; 2], core: u32) -> PairSharing {
    let why = format!("not measured as a pair: each shares the core of logical CPU {core}");
    unmeasured(cpus, Sharing::SameCore, why)
}

fn unmeasured(cpus: [u32; 2], sharing: Sharing, why: String) -> PairSharing {
    PairSharing {
        a: cpus[0],
        b: cpus[1],
        sharing,
        wide: None,
        chain: None,
        load_store: None,
        on_cpu_share: None,
        rounds_used: 0,
        rounds: 0,
        why,
    }
}
