//! Neighbours in looks one after another, without a load: how often they are there, in which visits, and how much of a
//! core's width they leave. Pure.

use crate::findings::looks::SHOWN_SHARE;
use crate::looks::shares::BlockShares;
use crate::neighbours::LEAST_BLOCKS;
use std::collections::BTreeMap;
use threadwise_document::Interval;
use threadwise_statistics::{LeftOut, median};
use threadwise_study::look::Levels;
use threadwise_study::look::follow::Share;
use threadwise_study::{CpuLook, Look};

/// Parts of the time that count as independent of each other.
pub const PARTS: u64 = 12;

/// A logical CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchedCpu {
    /// OS number.
    pub cpu: u32,
    /// Looks that show whether a neighbour is there.
    pub looks: u32,
    /// Of these, with a neighbour.
    pub with_neighbour: u32,
    /// Looks with another watched logical CPU on the same core.
    pub on_one_core: u32,
    /// Visits of neighbours, and the median of their lengths, each from its first look to the next one without.
    pub visits: u32,
    /// Nanoseconds; `None` without a visit that ended.
    pub visit_ns_p50: Option<f64>,
}

/// What was seen in some time.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    /// By logical CPU.
    pub cpus: Vec<WatchedCpu>,
    /// Looks.
    pub looks: u32,
    /// From the first look to the last.
    pub time_ns: u64,
    /// Share of the looks at logical CPUs with a neighbour: its interval is over [`PARTS`] parts of the time.
    pub prevalence: Option<Interval>,
    /// Share of these looks with a neighbour that left far less than the width of a free core.
    pub deep_share: Option<Interval>,
    /// Width of a core that a neighbour left, of the whole; `None` where there were too few visits.
    pub width_left: Option<Interval>,
}

/// Visits that tell what a neighbour leaves: one may differ from the next.
const LEAST_VISITS: u32 = 10;
/// Looks at a logical CPU from which something is said of it.
const LEAST_LOOKS: u32 = 30;
/// Least share of looks, if it is the same in all parts of the time.
const ALIKE_SHARE: f64 = 0.05;
/// Share of looks that wrongly have a neighbour, in models (docs/PROBE.md).
const WRONG_SHARE: f64 = 0.002;

impl Watched {
    /// Whether neighbours are shown: by the rule of studies (`findings::looks`), and more of them than wrong looks explain.
    pub fn shows_neighbours(&self) -> bool {
        let is_more = |share: &Option<Interval>, than: f64| match share {
            Some(share) if share.has_ends() => share.mean >= SHOWN_SHARE && share.low > than,
            // All parts of the time are alike.
            Some(share) => share.mean >= ALIKE_SHARE,
            None => false,
        };
        is_more(&self.prevalence, 0.0) && is_more(&self.deep_share, WRONG_SHARE)
    }

    /// Logical CPUs that enough looks tell of.
    pub fn known(&self) -> usize {
        self.cpus.iter().filter(|cpu| cpu.looks >= LEAST_LOOKS).count()
    }
}

/// What some looks, in order of time and each with its judgement, say at a level of intervals of 1 − `alpha`.
pub fn watched(looks: &[(Look, Vec<Share>)], alpha: f64) -> Watched {
    let start_ns = looks.first().map_or(0, |(look, _)| look.start_ns);
    let time_ns = looks.last().map_or(0, |(look, _)| look.start_ns - start_ns);
    let (mut shares, mut deep) = (BlockShares::default(), BlockShares::default());
    let mut cpus: BTreeMap<u32, Cpu> = BTreeMap::new();
    let mut widths: BTreeMap<u32, [(f64, f64); 2]> = BTreeMap::new();
    let known = Levels::of(looks.iter().map(|(look, _)| look));
    for (look, judged) in looks {
        let part = ((look.start_ns - start_ns) * PARTS / (time_ns + 1)) as u32;
        for (seen, share) in look.cpus.iter().zip(judged) {
            let cpu = cpus.entry(seen.cpu).or_insert_with(|| Cpu::new(seen.cpu));
            cpu.on_one_core += u32::from(matches!(share, Share::With(_)));
            let Some(has_neighbour) = share.has_neighbour() else { continue };
            cpu.add(look.start_ns, has_neighbour);
            shares.add(part, has_neighbour);
            let free = seen.adds_per_step.zip(known.free.get(&seen.cpu));
            let is_deep = has_neighbour && free.is_some_and(|(adds, free)| free.is_deep(adds));
            deep.add(part, is_deep);
            add_width(widths.entry(part).or_default(), seen, has_neighbour);
        }
    }
    let widths: Vec<[(f64, f64); 2]> = widths.into_values().collect();
    let cpus: Vec<WatchedCpu> = cpus.into_values().map(Cpu::whole).collect();
    let visits: u32 = cpus.iter().map(|cpu| cpu.visits).sum();
    // Parts that are shorter than two visits are not independent.
    let at_once: f64 =
        cpus.iter().map(|cpu| f64::from(cpu.with_neighbour) / f64::from(cpu.looks.max(1))).sum();
    let least = f64::from(LEAST_VISITS).max(2.0 * PARTS as f64 * at_once);
    let is_known = f64::from(visits) >= least && tells(&widths);
    let estimate =
        LeftOut::of(&widths, width_ratio).filter(|_| is_known).and_then(|left_out| left_out.estimate());
    let width_left = estimate.map(|estimate| {
        let Interval { mean, low, high, .. } = estimate.as_interval(alpha);
        Interval { mean, low: low.clamp(0.0, 1.0), high: high.clamp(0.0, 1.0), unit: "share".to_owned() }
    });
    Watched {
        cpus,
        looks: looks.len() as u32,
        time_ns,
        prevalence: shares.pooled(alpha),
        deep_share: deep.pooled(alpha),
        width_left,
    }
}

fn add_width(sums: &mut [(f64, f64); 2], seen: &CpuLook, has_neighbour: bool) {
    if let Some(width) = seen.adds_per_step {
        let (sum, count) = &mut sums[usize::from(has_neighbour)];
        (*sum, *count) = (*sum + width, *count + 1.0);
    }
}

/// Whether looks with a neighbour count as enough equal parts of the time: few visits differ from each other.
fn tells(parts: &[[(f64, f64); 2]]) -> bool {
    let counts = parts.iter().map(|[_, (_, count)]| count);
    let (sum, squares) = counts.fold((0.0, 0.0), |(sum, all), count| (sum + count, all + count * count));
    sum * sum >= LEAST_BLOCKS * squares && squares > 0.0
}

/// Mean width with a neighbour over that without, of some parts.
fn width_ratio(parts: &[&[(f64, f64); 2]]) -> Option<f64> {
    let mean = |state: usize| {
        let sums = parts.iter().map(|part| part[state]);
        let (sum, count) = sums.fold((0.0, 0.0), |all, part| (all.0 + part.0, all.1 + part.1));
        sum / count
    };
    Some(mean(1) / mean(0)).filter(|width_ratio| width_ratio.is_finite())
}

struct Cpu {
    cpu: u32,
    looks: u32,
    with_neighbour: u32,
    on_one_core: u32,
    visits: u32,
    lengths_ns: Vec<f64>,
    since_ns: Option<u64>,
}

impl Cpu {
    fn new(cpu: u32) -> Self {
        Self {
            cpu,
            looks: 0,
            with_neighbour: 0,
            on_one_core: 0,
            visits: 0,
            lengths_ns: Vec::new(),
            since_ns: None,
        }
    }

    fn add(&mut self, at_ns: u64, has_neighbour: bool) {
        self.looks += 1;
        self.with_neighbour += u32::from(has_neighbour);
        match (self.since_ns, has_neighbour) {
            (None, true) => (self.since_ns, self.visits) = (Some(at_ns), self.visits + 1),
            (Some(since_ns), false) => {
                self.lengths_ns.push(at_ns.saturating_sub(since_ns) as f64);
                self.since_ns = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    fn whole(self) -> WatchedCpu {
        WatchedCpu {
            cpu: self.cpu,
            looks: self.looks,
            with_neighbour: self.with_neighbour,
            on_one_core: self.on_one_core,
            visits: self.visits,
            visit_ns_p50: median(self.lengths_ns.into_iter()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look a second, a letter each: `.` free, `n` with a neighbour, `1` on one core.
    fn looks(text: &str) -> Vec<(Look, Vec<Share>)> {
        let look = |(at, letter): (u64, char)| {
            let (share, width) = match letter {
                'n' => (Share::Neighbour, 2.0),
                '1' => (Share::With(1), 2.0),
                _ => (Share::Alone, 4.0),
            };
            let seen = CpuLook { cpu: 0, chain_ns: Some(0.3), adds_per_step: Some(width) };
            (Look { start_ns: at * 1_000_000_000, cpus: vec![seen], ..Look::default() }, vec![share])
        };
        (0..).zip(text.chars()).map(look).collect()
    }

    #[test]
    fn visits_shares_and_what_is_left_are_those_of_the_looks() {
        let found = watched(&looks(&"nn..1n..".repeat(12)), 0.05);
        let cpu = &found.cpus[0];
        assert_eq!((cpu.looks, cpu.with_neighbour, cpu.on_one_core), (84, 36, 12));
        assert_eq!((cpu.visits, cpu.visit_ns_p50), (24, Some(1.5e9)));
        assert_eq!((found.looks, found.time_ns), (96, 95_000_000_000));
        let prevalence = found.prevalence.unwrap();
        assert!((prevalence.mean - 36.0 / 84.0).abs() < 0.01, "{prevalence:?}");
        assert_eq!(found.width_left.unwrap().mean, 0.5);
    }

    /// A few disturbed looks, or small losses of width, are no neighbour.
    #[test]
    fn what_a_free_core_has_too_is_not_called_a_neighbour() {
        let odd = |every: usize, width: f64| {
            let mut looks = looks(&".".repeat(3000));
            for (look, share) in looks.iter_mut().skip(7).step_by(every) {
                look.cpus[0].adds_per_step = Some(width);
                share[0] = Share::Neighbour;
            }
            watched(&looks, 0.05)
        };
        for found in [odd(1000, 2.0), odd(150, 2.0), odd(3, 3.85)] {
            assert!(!found.shows_neighbours(), "{found:?}");
        }
        assert!(odd(10, 2.0).shows_neighbours());
    }

    #[test]
    fn nothing_seen_is_no_share_with_ends() {
        let found = watched(&looks(&".".repeat(60)), 0.05);
        assert_eq!((found.cpus[0].visits, found.cpus[0].visit_ns_p50), (0, None));
        assert!(!found.prevalence.unwrap().has_ends() && found.width_left.is_none());
        assert_eq!(watched(&[], 0.05).prevalence, None);
    }
}
