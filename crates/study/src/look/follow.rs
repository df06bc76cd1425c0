//! Follows looks: which logical CPUs share a core now, and which share one with a neighbour.
//!
//! All watched logical CPUs run the wide kernel at once in every look, so each that has its core's whole width is
//! cleared at once. A slowed one shares its core with another watched one or with a neighbour: lines passed between
//! slowed ones tell which. Each CPU has at most one line in a look; known partners are paired first, then slowed CPUs
//! without a partner, then the rest, each with the one that it was not paired with for the longest time.
//!
//! One that did not run in time may not stand still: it may run something else, or start after the others. Its core is
//! unknown too, since a hypervisor that deschedules a logical CPU may move it. So a CPU that is slowed while one is
//! missing may be slowed by the missing one, whatever earlier looks showed: it is *slowed*, and shares its core neither
//! with a neighbour nor with a missing partner. Whole widths, and pairs on one core, are still valid among those that
//! ran.

use super::levels::{free_width, siblings_ns, widths};
use super::{CpuLook, Levels, Look, PairLook};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Widths per logical CPU, and lines, that are remembered: older ones were measured at another clock, and a single
/// outlier line must not close the gap between siblings and others for ever.
const REMEMBERED: usize = 512;

/// How a logical CPU shares its core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Share {
    /// Alone, as far as watched logical CPUs that ran and neighbours are concerned.
    Alone,
    /// With this watched logical CPU: their line is one of siblings, and neither has its core's whole width.
    #[strum(serialize = "one-core")]
    With(u32),
    /// With a neighbour: it is slowed, and by no watched logical CPU.
    Neighbour,
    /// Slowed; it was not recently paired with all possible causes, or one of them did not run.
    Slowed,
    /// On another core than its partner in a line; its own width is unknown.
    Apart,
    /// It did not run in time: stacked on another, or descheduled.
    Away,
    /// The numbers contradict each other, or nothing is known.
    Unknown,
}

impl Share {
    /// The word in JSON and CSV.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Whether a neighbour is there; `None` where a look does not show it: one that shares its core with another watched
    /// logical CPU has no neighbour, and no core of its own.
    pub fn has_neighbour(self) -> Option<bool> {
        match self {
            Self::Neighbour => Some(true),
            Self::Alone => Some(false),
            Self::With(_) | Self::Slowed | Self::Apart | Self::Away | Self::Unknown => None,
        }
    }

    /// The watched logical CPU that it shares its core with.
    pub fn with(self) -> Option<u32> {
        if let Self::With(other) = self { Some(other) } else { None }
    }
}

/// Logical CPUs of a look, grouped by their widths.
#[derive(Debug, Default)]
struct Widths {
    slowed: BTreeSet<u32>,
    /// Those with the whole width of their core.
    clear: BTreeSet<u32>,
    /// Those that did not run while others ran the wide kernel; if widths are unknown, those that did not run at all.
    missing: BTreeSet<u32>,
}

impl Widths {
    fn new(look: &Look, levels: &Levels) -> Self {
        let are_known = look.cpus.iter().any(|seen| seen.adds_per_step.is_some());
        let mut widths = Self::default();
        for seen in &look.cpus {
            let ran = if are_known { seen.adds_per_step.is_some() } else { seen.chain_ns.is_some() };
            if !ran {
                widths.missing.insert(seen.cpu);
            }
            match is_slowed(seen, levels) {
                Some(true) => widths.slowed.insert(seen.cpu),
                Some(false) => widths.clear.insert(seen.cpu),
                None => false,
            };
        }
        widths
    }
}

/// History of pairs over looks.
#[derive(Debug, Clone, Default)]
pub struct Partners {
    cpus: Vec<u32>,
    partners: BTreeMap<u32, u32>,
    /// Number of the last look with two on different cores.
    apart: BTreeMap<(u32, u32), u64>,
    /// Number of the last look that tested one of two without the other.
    tested: BTreeMap<(u32, u32), u64>,
    /// Partners that a test has shown; a line alone does not separate them.
    shown: BTreeSet<(u32, u32)>,
    /// Slowed in the last look, without a partner.
    suspects: BTreeSet<u32>,
    looks: u64,
}

fn key(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// Whether it is slowed; `None` if it did not run, or its core's width is unknown.
fn is_slowed(seen: &CpuLook, levels: &Levels) -> Option<bool> {
    Some(seen.adds_per_step? < levels.free.get(&seen.cpu)?.from)
}

impl Partners {
    /// Of these logical CPUs.
    pub fn new(cpus: &[u32]) -> Self {
        Self { cpus: cpus.to_vec(), ..Self::default() }
    }

    /// The pairs for lines in the next look.
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

    /// Which of these pairs to test without each other: slowed ones without a partner before known partners, which are
    /// tested every fourth time, and others if there are none.
    pub fn test(&self, pairs: &[(u32, u32)]) -> Option<(u32, u32)> {
        let at = |&(a, b): &(u32, u32)| self.tested.get(&key(a, b)).copied().unwrap_or(0);
        let longest_ago = |some: &[(u32, u32)]| some.iter().copied().min_by_key(at);
        let both = |(a, b): &(u32, u32)| self.suspects.contains(a) && self.suspects.contains(b);
        let suspected: Vec<(u32, u32)> = pairs.iter().copied().filter(both).collect();
        let partners: Vec<(u32, u32)> =
            pairs.iter().copied().filter(|(a, b)| self.partners.get(a) == Some(b)).collect();
        let pair = match suspected.is_empty() || self.looks.is_multiple_of(4) {
            true => longest_ago(&partners).or_else(|| longest_ago(&suspected)).or_else(|| longest_ago(pairs)),
            false => longest_ago(&suspected),
        };
        pair.map(|(a, b)| key(a, b))
    }

    /// Pairs CPUs, each with the one that it was not paired with for the longest time.
    fn longest_ago(&self, mut cpus: BTreeSet<u32>, pairs: &mut Vec<(u32, u32)>) {
        while let Some(a) = cpus.pop_first() {
            let met = |b: &u32| self.apart.get(&key(a, *b)).copied().unwrap_or(0);
            let Some(b) = cpus.iter().copied().min_by_key(met) else { return };
            cpus.remove(&b);
            pairs.push((a, b));
        }
    }

    /// Adds the next look; returns how each logical CPU shared its core, in the look's order. A look at other logical
    /// CPUs than the last belongs to another block, and makes earlier looks old.
    pub fn judge(&mut self, look: &Look, levels: &Levels) -> Vec<Share> {
        if !look.cpus.iter().map(|seen| &seen.cpu).eq(&self.cpus) {
            *self = Self::new(&look.cpus.iter().map(|seen| seen.cpu).collect::<Vec<u32>>());
        }
        self.looks += 1;
        let widths = Widths::new(look, levels);
        // Its earlier core does not tell where it comes back.
        let is_missing = |(a, b): &(u32, u32)| widths.missing.contains(a) || widths.missing.contains(b);
        self.apart.retain(|pair, _| !is_missing(pair));
        let contradicted = self.meet(look, &widths, levels);
        let shares = look.cpus.iter().map(|seen| match seen.chain_ns {
            None => Share::Away,
            Some(_) if contradicted.contains(&seen.cpu) => Share::Unknown,
            Some(_) => self.share(seen.cpu, &widths),
        });
        let shares = shares.collect();
        self.suspects = widths.slowed.into_iter().filter(|cpu| !self.partners.contains_key(cpu)).collect();
        shares
    }

    /// Records which were apart and which on one core; returns those whose line and widths contradict each other.
    fn meet(&mut self, look: &Look, widths: &Widths, levels: &Levels) -> BTreeSet<u32> {
        let mut contradicted = BTreeSet::new();
        let tested = levels.tested(look).map(|(a, b, is_with)| (key(a, b), is_with));
        self.tested.extend(look.alone.map(|alone| (key(alone.a, alone.b), self.looks)));
        for &PairLook { a, b, line_ns } in &look.pairs {
            let is_near = levels.is_near(line_ns);
            // If the other passed its line and was then gone, the width of one does not describe the other.
            let is_clear = (widths.clear.contains(&a) || widths.clear.contains(&b))
                && ![a, b].iter().any(|cpu| widths.missing.contains(cpu));
            let are_slowed = widths.slowed.contains(&a) && widths.slowed.contains(&b);
            let shown_now = tested.filter(|(pair, _)| *pair == key(a, b)).map(|(_, is_with)| is_with);
            match shown_now {
                // Widths need no line; but where lines of siblings are short, a long one contradicts them.
                Some(true) if is_near == Some(false) => {
                    self.part(a, b);
                    contradicted.extend([a, b]);
                    continue;
                }
                // A short line and two slowed CPUs need no test: no neighbour shortens a line.
                Some(false) if is_near == Some(true) && are_slowed => {}
                Some(is_with) => {
                    self.note(a, b, is_with);
                    self.shown.extend(is_with.then_some(key(a, b)));
                    continue;
                }
                None => {}
            }
            // A line alone does not separate tested partners, unless a new test gave no answer.
            let is_undecided = look.alone.is_some_and(|alone| key(alone.a, alone.b) == key(a, b));
            if self.shown.contains(&key(a, b)) && !is_clear && !(is_undecided && is_near == Some(false)) {
                continue;
            }
            if line_ns.is_none() {
                continue;
            }
            match is_near {
                Some(false) => self.note(a, b, false),
                Some(true) if !is_clear => self.note(a, b, true),
                None if levels.lines_mislead => {
                    if is_clear {
                        self.note(a, b, false);
                    }
                }
                _ => {
                    self.part(a, b);
                    contradicted.extend([a, b]);
                }
            }
        }
        contradicted
    }

    /// Two that were on one core are no longer known to be.
    fn part(&mut self, a: u32, b: u32) {
        self.shown.remove(&key(a, b));
        if self.partners.get(&a) == Some(&b) {
            self.partners.remove(&a);
            self.partners.remove(&b);
        }
    }

    /// Two are on one core now, or on different ones.
    fn note(&mut self, a: u32, b: u32, is_with: bool) {
        self.part(a, b);
        if !is_with {
            self.apart.insert(key(a, b), self.looks);
            return;
        }
        self.apart.remove(&key(a, b));
        let is_other = |one: u32, other: u32| ![one, other].iter().any(|cpu| [a, b].contains(cpu));
        self.partners.retain(|&one, &mut other| is_other(one, other));
        self.shown.retain(|&(one, other)| is_other(one, other));
        self.partners.extend([(a, b), (b, a)]);
    }

    fn share(&self, cpu: u32, widths: &Widths) -> Share {
        let Widths { slowed, clear, missing } = widths;
        let both_came = |partner: &&u32| !missing.contains(&cpu) && !missing.contains(*partner);
        let partner = self.partners.get(&cpu).filter(|partner| !clear.contains(partner)).filter(both_came);
        match partner {
            _ if clear.contains(&cpu) => Share::Alone,
            Some(&partner) => Share::With(partner),
            None if slowed.contains(&cpu) => {
                // Suspects come first, so that even if all are, each meets each in about this time.
                let lately = self.looks.saturating_sub(2 * self.cpus.len() as u64);
                let is_apart = |other: &u32| self.apart.get(&key(cpu, *other)).is_some_and(|at| *at > lately);
                let mut others =
                    slowed.iter().filter(|other| **other != cpu && !self.partners.contains_key(other));
                match missing.is_empty() && others.all(is_apart) {
                    true => Share::Neighbour,
                    false => Share::Slowed,
                }
            }
            None => {
                let is_now = |(&(a, b), &at): (&(u32, u32), &u64)| at == self.looks && [a, b].contains(&cpu);
                if self.apart.iter().any(is_now) { Share::Apart } else { Share::Unknown }
            }
        }
    }
}

/// Judges looks as they arrive, by levels of the last ones.
#[derive(Debug, Default)]
pub struct Follower {
    partners: Partners,
    widths: BTreeMap<u32, VecDeque<f64>>,
    lines_ns: VecDeque<f64>,
    /// Lines of those that widths show on one core.
    on_one_core_ns: VecDeque<f64>,
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

    /// As [`Partners::test`].
    pub fn test(&self, pairs: &[(u32, u32)]) -> Option<(u32, u32)> {
        self.partners.test(pairs)
    }

    /// As [`Partners::judge`].
    pub fn judge(&mut self, look: &Look) -> Vec<Share> {
        for (cpu, width) in widths(look) {
            remember(self.widths.entry(cpu).or_default(), [width]);
        }
        remember(&mut self.lines_ns, look.pairs.iter().filter_map(|pair| pair.line_ns));
        let on_one_core_ns = self.levels().line_on_one_core(look);
        remember(&mut self.on_one_core_ns, on_one_core_ns);
        self.partners.judge(look, &self.levels())
    }

    /// Levels of the remembered looks.
    pub fn levels(&self) -> Levels {
        let free = self.widths.iter().filter_map(|(&cpu, widths)| {
            let widths: Vec<f64> = widths.iter().copied().collect();
            Some((cpu, free_width(&widths)?))
        });
        let levels = Levels {
            siblings_ns: siblings_ns(self.lines_ns.iter().copied()),
            lines_mislead: false,
            free: free.collect(),
        };
        levels.unless_misleading(self.on_one_core_ns.iter().copied())
    }
}

fn remember(values: &mut VecDeque<f64>, more: impl IntoIterator<Item = f64>) {
    values.extend(more);
    let forgotten = values.len().saturating_sub(REMEMBERED);
    values.drain(..forgotten);
}

/// Judges looks of a whole study in their order, by levels of all of them.
pub fn judge_all(looks: &[&Look]) -> Vec<Vec<Share>> {
    let levels = Levels::of(looks.iter().copied());
    let cpus: BTreeSet<u32> = looks.iter().flat_map(|look| look.cpus.iter().map(|seen| seen.cpu)).collect();
    let mut partners = Partners::new(&cpus.into_iter().collect::<Vec<u32>>());
    looks.iter().map(|look| partners.judge(look, &levels)).collect()
}

#[cfg(test)]
mod tests;
