//! What each further session adds on a server whose CPUs cannot be placed, and what the second half of its vCPUs adds to
//! the first.
//!
//! d of a block is ln(rate of the larger number of sessions / rate of the smaller). The step from half of the vCPUs to
//! all of them and the steps from one number to the next are one family.
//!
//! Whether vCPUs look like threads or like cores is a guess from one number, the gain of the second half: by Bayes' rule
//! with equal odds, threads adding 10 to 70% and cores 75 to 105%, as normal distributions of the logarithm
//! (evidence/neighbours.md has yields of second threads; two cores did 1.87 to 2.05 of one in the published studies). A
//! host that is busy, or credits that run out, look like threads, too. So it is said as a guess with its probability.

use crate::asked::Prices;
use crate::cost;
use crate::diagnostics::QuestionAnswer;
use crate::estimate::{ObservedBlock, THROUGHPUT, Work, block_difference, judge_means};
use crate::kind::Kind;
use crate::kinds::rate;
use crate::question::{Case, Question};
use crate::words::{answered, changed, finding, judged_decisive, limited, probability};
use crate::{Estimate, Facts, Finding, FindingKind, Ratio};
use threadwise_document::chart::ChartWords;
use threadwise_document::numbers::{count_word, counted, significant};
use threadwise_document::{Block, Cell, Column, Prose, Says, Section, Table, prose};
use threadwise_statistics::MeanEstimate;
use threadwise_study::{Role, Study, Treatment};

pub(crate) const VCPUS: Question = Question { ask, ..Question::new("vcpus") };

/// The kind of such studies.
pub struct Vcpus;

impl Kind for Vcpus {
    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        findings(facts)
    }

    fn lead(&self, _: &Facts<'_>) -> Option<FindingKind> {
        Some(FindingKind::SmtYield)
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        section(facts).into_iter().collect()
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        rate::Rates.tables(facts)
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        rate::Rates.chart_words(facts)
    }
}

/// Name of the comparison of all vCPUs with half of them.
pub(crate) const HALVES: &str = "second half of the vCPUs";

/// Name of the probability that vCPUs are threads of cores.
const THREADS: &str = "two_threads_a_core_probability";

/// ln(rate of all vCPUs / rate of half of them): mean and standard deviation if the halves are the two threads of cores,
/// and if each vCPU is a core.
const IF_THREADS: [f64; 2] = [0.29, 0.15];
const IF_CORES: [f64; 2] = [0.64, 0.06];

/// Below and above these probabilities a guess is said.
const LIKELY: f64 = 0.9;

fn ask(case: &Case<'_>) -> Option<QuestionAnswer> {
    let study = case.study();
    let vcpus = study.vcpus()?;
    let points = points(study);
    let at = |sessions: u32| points.iter().find(|(_, one)| one.sessions == sessions);
    let half = at(vcpus).zip(half_of(vcpus).and_then(at));
    let mut compared: Vec<(String, usize, usize)> =
        half.iter().map(|((top, _), (below, _))| (HALVES.to_owned(), *top, *below)).collect();
    // Of two vCPUs the second is the second half.
    let is_half = |pair: &&[(usize, &Treatment)]| {
        half.is_some_and(|((top, _), (below, _))| (pair[1].0, pair[0].0) == (*top, *below))
    };
    compared.extend(points.windows(2).filter(|pair| !is_half(pair)).map(|pair| {
        let name =
            format!("from {} to {}", pair[0].1.sessions, counted(pair[1].1.sessions as usize, "session"));
        (name, pair[1].0, pair[0].0)
    }));
    let series = |top: usize, below: usize| -> Vec<f64> {
        let of_block = |block: &ObservedBlock| {
            let rounds = |at: usize| Some(case.observed.usable(block, at)?.rounds.as_slice());
            block_difference(rounds(top)?, &[rounds(below)?], Work::rows_per_s)
        };
        case.observed.blocks.iter().filter_map(of_block).collect()
    };
    let means: Vec<Option<MeanEstimate>> =
        compared.iter().map(|(_, top, below)| MeanEstimate::of(&series(*top, *below))).collect();
    let judged = judge_means(&means, case.rule());
    let name = |at: usize| study.treatments[at].name.as_str();
    let estimates: Vec<Estimate> = compared
        .iter()
        .zip(judged)
        .filter_map(|((what, top, below), ratio)| {
            Some(Estimate::of(VCPUS.name, what, name(*top), name(*below), ratio?))
        })
        .collect();
    let mut found = QuestionAnswer { estimates, ..QuestionAnswer::default() };
    let mean = means.first().copied().flatten().filter(|_| half.is_some());
    if let Some(mean) = mean.filter(|mean| mean.standard_error.is_finite()) {
        found.numbers.insert(THREADS, probability_of_threads(&mean));
    }
    found.numbers.insert("vcpus", f64::from(vcpus));
    Some(found)
}

/// Half of the vCPUs; an odd number has none.
fn half_of(vcpus: u32) -> Option<u32> {
    (vcpus >= 2 && vcpus.is_multiple_of(2)).then_some(vcpus / 2)
}

/// Treatments of the sweep with their places in the study: one for each number of sessions, ascending.
fn points(study: &Study) -> Vec<(usize, &Treatment)> {
    let mut points: Vec<(usize, &Treatment)> =
        study.treatments.iter().enumerate().filter(|(_, one)| one.role != Role::BaselineTwin).collect();
    points.sort_by_key(|(_, one)| one.sessions);
    points.dedup_by_key(|(_, one)| one.sessions);
    points
}

/// Probability that the second half are second threads rather than cores, with equal odds before.
fn probability_of_threads(mean: &MeanEstimate) -> f64 {
    let density = |[centre, sd]: [f64; 2]| {
        let variance = sd * sd + uncertainty(mean).powi(2);
        (-(mean.mean - centre).powi(2) / (2.0 * variance)).exp() / variance.sqrt()
    };
    // Less than threads ever add is no reason against them, nor more than cores add one against cores.
    let [threads, cores] = match mean.mean {
        low if low < IF_THREADS[0] => [density_at(IF_THREADS, mean), density(IF_CORES)],
        high if high > IF_CORES[0] => [density(IF_THREADS), density_at(IF_CORES, mean)],
        _ => [density(IF_THREADS), density(IF_CORES)],
    };
    threads / (threads + cores)
}

/// The density at the centre of a distribution that was widened by the uncertainty.
fn density_at([_, sd]: [f64; 2], mean: &MeanEstimate) -> f64 {
    1.0 / (sd * sd + uncertainty(mean).powi(2)).sqrt()
}

/// Standard deviation of the normal distribution whose central 95% are as wide as the interval of a mean: of few blocks
/// more than the standard error.
fn uncertainty(mean: &MeanEstimate) -> f64 {
    /// Of the standard normal distribution, the quantile of 97.5%.
    const NORMAL: f64 = 1.96;
    mean.half_width(0.05) / NORMAL
}

fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(found) = facts.analysis.found(VCPUS.name) else { return Vec::new() };
    let vcpus = found.numbers.get("vcpus").map_or(0, |count| *count as u32);
    let halves = found.of(HALVES).map(|half| halves_line(facts, found, half));
    let steps: Vec<&Estimate> = found.estimates.iter().filter(|one| one.name != HALVES).collect();
    let clause = |one: &&Estimate| prose!("{} {}", one.name.as_str(), judged_decisive(&one.ratio));
    let steps = limited(steps.iter().map(clause), MOST_STEPS).map(|clauses| {
        finding(FindingKind::Sweep, prose!("Rates of more sessions over fewer: {}.", clauses), &[])
    });
    let unmeasured = halves.is_none().then(|| {
        let why = match vcpus {
            1 => "the server has one vCPU",
            odd if half_of(odd).is_none() => "their number is odd",
            _ => "the share that the load may use is too small, or the rates are not known",
        };
        finding(
            FindingKind::SmtYield,
            prose!("What the second half of the vCPUs adds is not known: {}.", why),
            &[],
        )
    });
    halves.into_iter().chain(steps).chain(unmeasured).collect()
}

/// Most steps in a sentence.
const MOST_STEPS: usize = 5;

fn halves_line(facts: &Facts<'_>, found: &QuestionAnswer, half: &Estimate) -> Finding {
    let vcpus = facts.study.vcpus().unwrap_or(0);
    let ratio = half.ratio.decisive();
    let (half_count, all) = (vcpus / 2, vcpus);
    let below =
        if half_count == 1 { "one does".to_owned() } else { format!("{} do", count_word(half_count)) };
    let mut text = prose!(
        "The second half of the {} vCPUs adds {}: {} sessions do {} of what {}{}.",
        all.to_string(),
        changed(&half.ratio),
        count_word(all),
        &ratio,
        below,
        answered(&ratio)
    );
    let likely = found.numbers.get(THREADS).copied();
    let covariates = &facts.analysis.covariates;
    match likely {
        // A machine that others use divides its time as threads do a core's.
        Some(_) if 2 * covariates.flagged_blocks.len() > facts.analysis.blocks as usize => text.push(
            " Others used the same CPUs in more than half of the blocks, so what the vCPUs are is not to be seen from \
             that.",
        ),
        Some(threads) if threads >= LIKELY => text.push(prose!(
            " That looks like two threads a core: a guess with a probability of {}, since a busy host looks the same.",
            probability(threads)
        )),
        Some(threads) if threads <= 1.0 - LIKELY => text.push(prose!(
            " That looks like one core for each vCPU: a guess with a probability of {}.",
            probability(1.0 - threads)
        )),
        Some(_) => text.push(" Whether they are threads of cores or cores is not to be seen from that."),
        None => {}
    }
    finding(FindingKind::SmtYield, text, &[&half.treatment, &half.baseline])
}

fn section(facts: &Facts<'_>) -> Option<Section> {
    let found = facts.analysis.found(VCPUS.name)?;
    let nouns = facts.study.nouns();
    let prices = facts.asked.prices;
    let points = points(facts.study);
    let rate = |treatment: &Treatment| facts.summary(&treatment.name)?.metrics.get(THROUGHPUT);
    let above = |at: usize| Some(points[at.checked_sub(1)?].1.name.as_str());
    let rows = points.iter().enumerate().map(|(at, (_, treatment))| {
        let is_step =
            |one: &&Estimate| one.treatment == treatment.name && above(at) == Some(one.baseline.as_str());
        let step = found.estimates.iter().find(is_step);
        let mut cells = vec![
            (Column::figure("sessions"), Cell::count(treatment.sessions)),
            (Column::figure(nouns.rate), Cell::interval(rate(treatment))),
            (
                Column::figure("over the row above"),
                step.map_or_else(Cell::none, |one| ratio_cell(&one.ratio)),
            ),
            (
                Column::figure("p99"),
                Cell::mean(facts.summary(&treatment.name).and_then(|one| one.metrics.get("latency_ns_p99"))),
            ),
        ];
        cells.extend(prices.map(|prices| {
            let heading = format!("cost per million {}", nouns.noun);
            // More sessions than vCPUs need no more licences.
            let vcpus = facts.study.vcpus().map_or(treatment.sessions, |all| treatment.sessions.min(all));
            (
                Column::figure(heading),
                Cell::interval(rate(treatment).map(|rate| cost::of_a_million(rate, vcpus, &prices)).as_ref()),
            )
        }));
        cells
    });
    let table = Table::headed("What each number of sessions does", rows);
    let about = prose!(
        "Sessions compute inside the server, or do the work that was given, without a placement: the server's and the \
         host's schedulers decide where they run. Up to the number of vCPUs each session can have one."
    );
    let mut blocks = vec![Block::text(about), Block::Table(table)];
    blocks.extend(prices.and_then(|prices| halves_cost(facts, found, &prices)).map(Block::text));
    blocks.extend(rate::throughput(facts, &nouns));
    Some(Section::new("vcpus", "What each vCPU adds", blocks))
}

fn ratio_cell(ratio: &Ratio) -> Cell {
    Cell::Ratio(ratio.clone(), Says::Higher)
}

/// Whether it is cheaper to take half of the vCPUs away (a constrained size, or one thread a core), where licences count
/// vCPUs.
fn halves_cost(facts: &Facts<'_>, found: &QuestionAnswer, prices: &Prices) -> Option<Prose> {
    let half = found.of(HALVES)?;
    let vcpus = facts.study.vcpus()?;
    let break_even = prices.per_h(vcpus, 1) / prices.per_h(vcpus / 2, 1);
    let even = Prose::figure(format!("{}x", significant(break_even, 3)));
    let ratio = half.ratio.decisive();
    let answer = match (ratio.low > break_even, ratio.high < break_even) {
        (true, _) => "a unit of work is cheaper with all of them",
        (_, true) => "a unit of work is cheaper with half of them taken away",
        _ => "which is cheaper is not decided",
    };
    Some(prose!(
        "With all {} vCPUs an hour costs {} of what it costs with half of them licensed; they do {} of the work: {}. Taken \
         away by one thread a core, half of the vCPUs do more than here, where any vCPUs of the server may be used.",
        vcpus.to_string(),
        even,
        &ratio,
        answer
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(ratio: f64, standard_error: f64) -> MeanEstimate {
        MeanEstimate { n: 8, mean: ratio.ln(), standard_error, correlation: 0.0, degrees: 7.0 }
    }

    #[test]
    fn gains_of_threads_and_of_cores_are_told_apart_where_they_differ() {
        for (ratio, at_least) in [(1.0, 0.99), (1.2, 0.99), (1.35, 0.99), (1.5, 0.95)] {
            assert!(probability_of_threads(&mean(ratio, 0.02)) > at_least, "{ratio}");
        }
        for ratio in [1.9, 2.0, 2.1] {
            assert!(probability_of_threads(&mean(ratio, 0.02)) < 0.05, "{ratio}");
        }
        let between = probability_of_threads(&mean(1.68, 0.02));
        assert!((0.1..0.9).contains(&between), "{between}");
        // Three blocks say little, whatever their spread.
        let few = MeanEstimate { n: 3, degrees: 2.0, ..mean(1.38, 0.12) };
        assert!(probability_of_threads(&few) < LIKELY, "{}", probability_of_threads(&few));
        // What is hardly known is no answer.
        let unknown = probability_of_threads(&mean(1.45, 0.8));
        assert!((0.2..0.8).contains(&unknown), "{unknown}");
    }
}

#[cfg(test)]
mod lab_simulations {
    use super::*;
    use threadwise_statistics::Normal;

    /// How often what is said to look like threads or like cores is right, by the probability that is stated: the second
    /// threads of half of the servers add 10 to 70%, the cores of the other half 75 to 105%.
    #[test]
    #[ignore = "laboratory: simulations"]
    fn guesses_what_vcpus_are_are_right_as_often_as_they_say() {
        const SERVERS: u64 = 20_000;
        for (sd, ar1, blocks) in
            [(0.02, 0.0, 8), (0.05, 0.0, 8), (0.1, 0.0, 8), (0.05, 0.6, 8), (0.1, 0.6, 16), (0.1, 0.0, 3)]
        {
            let mut random = Normal::new(1);
            let mut guesses: Vec<(f64, bool)> = Vec::new();
            for server in 0..SERVERS {
                let is_threads = server % 2 == 0;
                let [low, high]: [f64; 2] = if is_threads { [1.1, 1.7] } else { [1.75, 2.05] };
                let truth = (low + (high - low) * random.uniform()).ln();
                let noise = random.correlated(blocks, ar1);
                let series: Vec<f64> = noise.iter().map(|noise| truth + sd * noise).collect();
                let probability = probability_of_threads(&MeanEstimate::of(&series).unwrap());
                if probability.max(1.0 - probability) >= LIKELY {
                    let says_threads = probability > 0.5;
                    guesses.push((probability.max(1.0 - probability), says_threads == is_threads));
                }
            }
            let count = guesses.len() as f64;
            let stated = guesses.iter().map(|(probability, _)| probability).sum::<f64>() / count;
            let right = guesses.iter().filter(|(_, is_right)| *is_right).count() as f64 / count;
            println!(
                "vCPUs, {sd} AR {ar1}, {blocks} blocks: {:.1}% right where {:.1}% is stated; guesses of {:.0}%",
                100.0 * right,
                100.0 * stated,
                100.0 * count / SERVERS as f64
            );
            assert!(right >= stated, "{sd} {ar1} {blocks}: {right} {stated}");
        }
    }
}
