//! Looks one after another: who shares a core with whom now, and who with a co-runner.
//!
//! All watched logical CPUs run the wide kernel at once in every look, so that each that has its core's whole
//! width is cleared at once. One that is slowed shares its core with another watched one or with a co-runner:
//! lines passed with the other slowed ones say which. Each look has one line a CPU at most; known partners
//! are paired first, then slowed CPUs without a partner, then the rest, each with the one that it was not
//! paired with for the longest time.

use super::levels::{free_adds, siblings_ns};
use super::{BUSY_BELOW, CpuLook, Levels, Look, PairLook};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Widths of a logical CPU, and lines, that are remembered: what was seen hours ago was seen at another
/// clock, and a single odd line must not close the gap between siblings and others for good.
const REMEMBERED: usize = 512;

/// How a logical CPU has its core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Share {
    /// For itself.
    Alone,
    /// With this looked at logical CPU: their line is one of siblings, and neither has its core's whole width.
    With(u32),
    /// With a co-runner: it is slowed, and by no logical CPU that is looked at.
    CoRunner,
    /// It is slowed, and was not paired lately with all those that may be the cause.
    Slowed,
    /// On another core than the one that it passed a line with; the width of its own is not known.
    Apart,
    /// It did not run in time: stacked on another, or taken away.
    Away,
    /// The figures contradict each other, or nothing is known.
    Unknown,
}

impl Share {
    /// The word that JSON and CSV have.
    pub fn word(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::With(_) => "one-core",
            Self::CoRunner => "co-runner",
            Self::Slowed => "slowed",
            Self::Apart => "apart",
            Self::Away => "away",
            Self::Unknown => "unknown",
        }
    }

    /// The logical CPU that it shares its core with, of those that are looked at.
    pub fn with(self) -> Option<u32> {
        if let Self::With(other) = self { Some(other) } else { None }
    }
}

/// Who met whom, look after look.
#[derive(Debug, Clone, Default)]
pub struct Partners {
    cpus: Vec<u32>,
    partners: BTreeMap<u32, u32>,
    /// Number of the look in which two were last seen on different cores.
    apart: BTreeMap<(u32, u32), u64>,
    /// Slowed in the last look, without a partner.
    suspects: BTreeSet<u32>,
    looks: u64,
}

fn key(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// Whether it is slowed; `None` where it did not run, or its core's width is not known.
fn is_slowed(seen: &CpuLook, levels: &Levels) -> Option<bool> {
    Some(seen.adds_per_step? < BUSY_BELOW * levels.free_adds.get(&seen.cpu)?)
}

impl Partners {
    /// Of these logical CPUs.
    pub fn new(cpus: &[u32]) -> Self {
        Self { cpus: cpus.to_vec(), ..Self::default() }
    }

    /// The pairs that are to pass a line in the next look.
    pub fn pairs(&self) -> Vec<(u32, u32)> {
        let mut free: BTreeSet<u32> = self.cpus.iter().copied().collect();
        let mut pairs = Vec::new();
        for (&a, &b) in &self.partners {
            if a < b && free.contains(&a) && free.contains(&b) {
                free.remove(&a);
                free.remove(&b);
                pairs.push((a, b));
            }
        }
        let suspects: BTreeSet<u32> = self.suspects.intersection(&free).copied().collect();
        self.longest_ago(suspects, &mut pairs);
        let paired: BTreeSet<u32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        self.longest_ago(free.difference(&paired).copied().collect(), &mut pairs);
        pairs
    }

    /// Pairs CPUs up, each with the one that it has not met for the longest time.
    fn longest_ago(&self, mut cpus: BTreeSet<u32>, pairs: &mut Vec<(u32, u32)>) {
        while let Some(a) = cpus.pop_first() {
            let met = |b: &u32| self.apart.get(&key(a, *b)).copied().unwrap_or(0);
            let Some(b) = cpus.iter().copied().min_by_key(met) else { return };
            cpus.remove(&b);
            pairs.push((a, b));
        }
    }

    /// Takes the next look in; says how each logical CPU had its core, in the look's order.
    pub fn judge(&mut self, look: &Look, levels: &Levels) -> Vec<Share> {
        self.looks += 1;
        let with = |wanted| move |seen: &&CpuLook| is_slowed(seen, levels) == wanted;
        let slowed: BTreeSet<u32> = look.cpus.iter().filter(with(Some(true))).map(|seen| seen.cpu).collect();
        let clear: BTreeSet<u32> = look.cpus.iter().filter(with(Some(false))).map(|seen| seen.cpu).collect();
        let contradicted = self.meet(look, &clear, levels.siblings_ns);
        let shares = look.cpus.iter().map(|seen| match seen.chain_ns {
            None => Share::Away,
            Some(_) if contradicted.contains(&seen.cpu) => Share::Unknown,
            Some(_) => self.share(seen.cpu, &slowed, &clear),
        });
        let shares = shares.collect();
        self.suspects = slowed.into_iter().filter(|cpu| !self.partners.contains_key(cpu)).collect();
        shares
    }

    /// Notes who was apart and who on one core; gives those whose line and widths contradict each other.
    fn meet(&mut self, look: &Look, clear: &BTreeSet<u32>, siblings_ns: Option<f64>) -> BTreeSet<u32> {
        let mut contradicted = BTreeSet::new();
        for &PairLook { a, b, line_ns } in &look.pairs {
            let Some(line_ns) = line_ns else { continue };
            if self.partners.get(&a) == Some(&b) {
                self.partners.remove(&a);
                self.partners.remove(&b);
            }
            match siblings_ns.map(|siblings_ns| line_ns <= siblings_ns) {
                Some(false) => {
                    self.apart.insert(key(a, b), self.looks);
                }
                Some(true) if !clear.contains(&a) && !clear.contains(&b) => {
                    self.partners
                        .retain(|&one, &mut other| ![one, other].iter().any(|cpu| [a, b].contains(cpu)));
                    self.partners.extend([(a, b), (b, a)]);
                }
                _ => contradicted.extend([a, b]),
            }
        }
        contradicted
    }

    fn share(&self, cpu: u32, slowed: &BTreeSet<u32>, clear: &BTreeSet<u32>) -> Share {
        let partner = self.partners.get(&cpu).filter(|partner| !clear.contains(partner));
        match partner {
            _ if clear.contains(&cpu) => Share::Alone,
            Some(&partner) => Share::With(partner),
            None if slowed.contains(&cpu) => {
                // Suspects are paired first, so that even where all are, each meets each in about this time.
                let lately = self.looks.saturating_sub(2 * self.cpus.len() as u64);
                let is_apart = |other: &u32| self.apart.get(&key(cpu, *other)).is_some_and(|at| *at > lately);
                let mut others =
                    slowed.iter().filter(|other| **other != cpu && !self.partners.contains_key(other));
                if others.all(is_apart) { Share::CoRunner } else { Share::Slowed }
            }
            None => {
                let is_now = |(&(a, b), &at): (&(u32, u32), &u64)| at == self.looks && [a, b].contains(&cpu);
                if self.apart.iter().any(is_now) { Share::Apart } else { Share::Unknown }
            }
        }
    }
}

/// Judges looks as they come, by levels of the last ones.
#[derive(Debug, Default)]
pub struct Follower {
    partners: Partners,
    widths: BTreeMap<u32, VecDeque<f64>>,
    lines_ns: VecDeque<f64>,
}

impl Follower {
    /// Of these logical CPUs.
    pub fn new(cpus: &[u32]) -> Self {
        Self { partners: Partners::new(cpus), ..Self::default() }
    }

    /// As [`Partners::pairs`].
    pub fn pairs(&self) -> Vec<(u32, u32)> {
        self.partners.pairs()
    }

    /// As [`Partners::judge`].
    pub fn judge(&mut self, look: &Look) -> Vec<Share> {
        for seen in &look.cpus {
            let widths = self.widths.entry(seen.cpu).or_default();
            widths.extend(seen.adds_per_step);
            if widths.len() > REMEMBERED {
                widths.pop_front();
            }
        }
        self.lines_ns.extend(look.pairs.iter().filter_map(|pair| pair.line_ns));
        let forgotten = self.lines_ns.len().saturating_sub(REMEMBERED);
        self.lines_ns.drain(..forgotten);
        self.partners.judge(look, &self.levels())
    }

    /// Levels of the looks that are remembered.
    pub fn levels(&self) -> Levels {
        let free_adds = self.widths.iter().filter_map(|(&cpu, widths)| {
            let widths: Vec<f64> = widths.iter().copied().collect();
            Some((cpu, free_adds(&widths)?))
        });
        Levels { siblings_ns: siblings_ns(self.lines_ns.iter().copied()), free_adds: free_adds.collect() }
    }
}

/// Judges looks of a whole study in their order, by levels of all of them.
pub fn judge_all(looks: &[&Look]) -> Vec<Vec<Share>> {
    let levels = Levels::of(looks.iter().copied());
    let cpus: BTreeSet<u32> = looks.iter().flat_map(|look| look.cpus.iter().map(|seen| seen.cpu)).collect();
    let mut partners = Partners::new(&cpus.into_iter().collect::<Vec<u32>>());
    looks.iter().map(|look| partners.judge(look, &levels)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a machine would show: `cores` names the core of each CPU; `busy` are cores with a co-runner.
    fn look(cores: &[u32], busy: &[u32], pairs: &[(u32, u32)]) -> Look {
        let on = |cpu: u32| cores[cpu as usize];
        let adds = |cpu: u32| {
            let is_shared = cores.iter().filter(|core| **core == on(cpu)).count() > 1;
            if is_shared || busy.contains(&on(cpu)) { 2.4 } else { 4.4 }
        };
        let line =
            |&(a, b): &(u32, u32)| PairLook { a, b, line_ns: Some(if on(a) == on(b) { 7.0 } else { 60.0 }) };
        Look {
            start_ns: 0,
            took_ns: 1,
            cpus: (0..cores.len() as u32)
                .map(|cpu| CpuLook { cpu, chain_ns: Some(0.278), adds_per_step: Some(adds(cpu)) })
                .collect(),
            pairs: pairs.iter().map(line).collect(),
        }
    }

    fn free(cpus: u32) -> Follower {
        let all: Vec<u32> = (0..cpus).collect();
        let mut follower = Follower::new(&all);
        for _ in 0..20 {
            follower.judge(&look(&all, &[], &follower.pairs()));
        }
        follower
    }

    fn follow(follower: &mut Follower, cores: &[u32], busy: &[u32], looks: usize) -> Vec<Share> {
        let mut last = Vec::new();
        for _ in 0..looks {
            last = follower.judge(&look(cores, busy, &follower.pairs()));
        }
        last
    }

    #[test]
    fn two_cpus_are_judged_by_one_look() {
        let mut follower = free(2);
        assert_eq!(follow(&mut follower, &[0, 1], &[], 1), [Share::Alone, Share::Alone]);
        assert_eq!(follow(&mut follower, &[0, 0], &[], 1), [Share::With(1), Share::With(0)]);
        assert_eq!(follow(&mut follower, &[0, 1], &[1], 1), [Share::Alone, Share::CoRunner]);
        assert_eq!(follow(&mut follower, &[0, 1], &[0, 1], 1), [Share::CoRunner, Share::CoRunner]);
        assert_eq!(follow(&mut follower, &[0, 1], &[], 1), [Share::Alone, Share::Alone]);
    }

    #[test]
    fn partners_among_many_are_found_within_as_many_looks() {
        let mut follower = free(8);
        let cores = [0, 1, 2, 3, 0, 1, 6, 7];
        let found = follow(&mut follower, &cores, &[6], 8);
        let want = [
            Share::With(4),
            Share::With(5),
            Share::Alone,
            Share::Alone,
            Share::With(0),
            Share::With(1),
            Share::CoRunner,
            Share::Alone,
        ];
        assert_eq!(found, want);
        let moved = follow(&mut follower, &[0, 1, 2, 3, 3, 1, 6, 7], &[], 8);
        assert_eq!(moved[0], Share::Alone);
        assert_eq!([moved[3], moved[4], moved[1]], [Share::With(4), Share::With(3), Share::With(5)]);
    }

    #[test]
    fn who_was_not_met_yet_may_be_the_cause() {
        let mut follower = free(8);
        let first = follow(&mut follower, &[0, 1, 2, 3, 4, 5, 0, 7], &[], 1);
        assert!([Share::Slowed, Share::With(6), Share::CoRunner].contains(&first[0]));
        assert_ne!(first[1], Share::Slowed);
        assert_eq!(follow(&mut follower, &[0, 1, 2, 3, 4, 5, 0, 7], &[], 3)[0], Share::With(6));
    }

    #[test]
    fn lines_and_widths_that_contradict_and_cpus_that_did_not_run() {
        let mut follower = free(2);
        let mut odd = look(&[0, 1], &[], &[(0, 1)]);
        odd.pairs[0].line_ns = Some(7.0);
        assert_eq!(follower.judge(&odd), [Share::Unknown, Share::Unknown]);
        let mut away = look(&[0, 1], &[], &[(0, 1)]);
        (away.pairs[0].line_ns, away.cpus[1].chain_ns) = (None, None);
        assert_eq!(follower.judge(&away), [Share::Alone, Share::Away]);
    }

    #[test]
    fn one_odd_line_does_not_close_the_gap_for_good() {
        let mut follower = free(2);
        let mut odd = look(&[0, 1], &[], &[(0, 1)]);
        odd.pairs[0].line_ns = Some(14.0);
        follower.judge(&odd);
        odd.pairs[0].line_ns = Some(16.0);
        follower.judge(&odd);
        assert_eq!(follower.levels().siblings_ns, None);
        follow(&mut follower, &[0, 1], &[], REMEMBERED);
        assert_eq!(follow(&mut follower, &[0, 0], &[], 1), [Share::With(1), Share::With(0)]);
    }

    #[test]
    fn without_a_free_core_lines_alone_say_who_is_together() {
        let mut follower = Follower::new(&[0, 1]);
        assert_eq!(follow(&mut follower, &[0, 0], &[], 30), [Share::With(1), Share::With(0)]);
        assert_eq!(follow(&mut follower, &[0, 1], &[0, 1], 1), [Share::Apart, Share::Apart]);
        let mut without_widths = look(&[0, 1], &[], &[]);
        without_widths.cpus.iter_mut().for_each(|seen| seen.adds_per_step = None);
        assert_eq!(follower.judge(&without_widths), [Share::Unknown, Share::Unknown]);
    }

    #[test]
    fn a_whole_study_is_judged_by_all_its_looks() {
        let pairs = [(0, 1)];
        let mut looks = vec![look(&[0, 0], &[], &pairs), look(&[0, 1], &[1], &pairs)];
        looks.extend((0..10).map(|_| look(&[0, 1], &[], &pairs)));
        let judged = judge_all(&looks.iter().collect::<Vec<_>>());
        assert_eq!(judged[0], [Share::With(1), Share::With(0)]);
        assert_eq!(judged[1], [Share::Alone, Share::CoRunner]);
        assert_eq!(judged[11], [Share::Alone, Share::Alone]);
        assert!(judge_all(&[]).is_empty());
    }

    #[test]
    fn every_pair_meets_in_its_turn() {
        let mut follower = Follower::new(&[0, 1, 2, 3, 4, 5]);
        let mut met = BTreeSet::new();
        for _ in 0..24 {
            let pairs = follower.pairs();
            assert_eq!(pairs.len(), 3);
            met.extend(pairs.iter().map(|&(a, b)| key(a, b)));
            follower.judge(&look(&[0, 1, 2, 3, 4, 5], &[], &pairs));
        }
        assert_eq!(met.len(), 15);
    }
}
