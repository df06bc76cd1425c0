//! A choice between settings, and how it is made.

use crate::Interval;
use crate::estimate::{Chosen, choose};
use serde::Serialize;
use threadwise_statistics::MeanEstimate;

/// In what the candidates of a choice differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Number of busy sessions.
    Sessions,
    /// One busy thread of each core, or both.
    Smt,
    /// Logical CPUs of as many sessions.
    Placement,
    /// Where service threads run.
    Service,
    /// On which NUMA nodes memory lies.
    Memory,
    /// How sessions are bound.
    Pin,
    /// Degree of parallelism.
    Dop,
    /// Jobs of a work list.
    Jobs,
}

/// What [`Choice::place`] is where one core stands for all.
pub const ONE_CORE: &str = "one core";

/// A choice between settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// In what the candidates differ.
    pub axis: Axis,
    /// Group of treatments.
    pub group: String,
    /// What the candidates have in common and other choices of the same axis do not; may be empty.
    pub place: String,
    /// At least two, in the order in which they are preferred.
    pub candidates: Vec<Candidate>,
    /// Treatment that is to be used: the first that is shown to be within the margin of the best; `None` where the data
    /// are not enough to tell.
    pub chosen: Option<String>,
    /// Best guess where none is chosen; `None` with fewer than two blocks that all candidates have.
    pub guess: Option<Guess>,
    /// What each candidate lost to others, where they lost unlike shares of their time, so that nothing is chosen nor
    /// guessed; else empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostTime>,
}

/// What a candidate lost to others, as shares of the time of its threads or logical CPUs; means over blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LostTime {
    /// Taken by the hypervisor.
    pub stolen_share: f64,
    /// Had by other programs.
    pub others_share: f64,
}

/// One of the settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// Treatment.
    pub treatment: String,
    /// Sessions, jobs or degree of parallelism.
    pub number: u32,
    /// Whether it is shown to be within the margin of the best, whichever that is.
    pub within_margin: bool,
    /// Its speed over the first candidate's; `None` of the first, or without a block that both have.
    pub speed: Option<Interval>,
    /// The same by the time in which each had its logical CPUs; `None` where no candidate lost more than others did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_on_cpu: Option<Interval>,
}

/// The candidate that most likely is within the margin of the best.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Guess {
    /// Treatment.
    pub treatment: String,
    /// Probability that it is within the margin of the best.
    pub probability: f64,
    /// By how much, as a share, it is below the best where it is not within the margin: the mean.
    pub loss_share: f64,
}

impl Choice {
    /// Chooses among treatments, each with its number, in the order in which they are preferred; `over` gives d by block
    /// of one over another, `rule` is the margin in logarithms, 1 − the level, and a seed.
    pub(crate) fn made(
        (axis, group, place): (Axis, &str, String),
        all: Vec<(String, u32)>,
        over: impl Fn(usize, usize) -> Vec<f64>,
        (margin, alpha, seed): (f64, f64, u64),
    ) -> Self {
        // Each pair is asked for several times.
        let count = all.len();
        let pairs: Vec<Vec<f64>> = (0..count * count).map(|at| over(at / count, at % count)).collect();
        let over = |one: usize, other: usize| pairs[one * count + other].clone();
        let Chosen { near, chosen, guess } = choose(count, over, margin, alpha, seed);
        let name = |at: usize| all.get(at).map(|(name, _)| name.clone());
        let guess = guess.and_then(|guess| {
            let (probability, loss_share) = (guess.probability, guess.loss_share);
            Some(Guess { treatment: name(guess.at)?, probability, loss_share })
        });
        let chosen = chosen.and_then(name);
        let speed = |at: usize| {
            let mean = MeanEstimate::of(&over(at, 0)).filter(|_| at > 0)?;
            let (low, high) = mean.interval(alpha);
            Some(Interval {
                mean: mean.mean.exp(),
                low: low.exp(),
                high: high.exp(),
                unit: "ratio".to_owned(),
            })
        };
        let candidates =
            all.into_iter().zip(near).enumerate().map(|(at, ((treatment, number), within_margin))| {
                Candidate { treatment, number, within_margin, speed: speed(at), speed_on_cpu: None }
            });
        let (candidates, lost) = (candidates.collect(), Vec::new());
        Self { axis, group: group.to_owned(), place, candidates, chosen, guess, lost }
    }

    /// A candidate by its treatment.
    pub fn candidate(&self, treatment: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.treatment == treatment)
    }

    /// The one that is to be used.
    pub fn chosen_candidate(&self) -> Option<&Candidate> {
        self.candidate(self.chosen.as_deref()?)
    }
}
