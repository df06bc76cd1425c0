//! The known truth of the simulated engine: a pure function from (seed, treatment, block seed,
//! sequence) to a rate, with the disturbances of a real machine.
//!
//! rate = base × ratio(treatment) × exp(drift + short + block + noise) × outlier × (1 − steal).
//! `drift` (slow) and `short` are stationary AR(1) processes over the slice's sequence number and
//! the same for all treatments at that time; `block` is drawn once per block and treatment, like a
//! new memory layout; `noise` is white, one draw per slice and treatment.
//!
//! An AR(1) process is normally made step by step. Here its value at any sequence comes from
//! some tens of draws by bisection: given both ends of an interval, the middle of a Gaussian Markov
//! process has a known normal distribution (G. E. Uhlenbeck and L. S. Ornstein, Phys. Rev. 36, 1930,
//! for the covariance; the bridge follows from it). So any process can compute slices in any order.

use std::f64::consts::TAU;
use std::hash::Hasher;
use threadwise_study::{OptionValue, Options};

use crate::EngineError;

/// Share of its rate that an outlier slice keeps.
pub const OUTLIER_FACTOR: f64 = 0.3;

/// Largest share of a slice that the modelled hypervisor takes.
const MAX_STEAL: f64 = 0.9;

/// Two values of a process whose correlation is below exp of minus this are drawn independently.
const INDEPENDENT: f64 = 40.0;

/// Longest stretch that is bisected, slices; far longer than any study.
const MAX_SPAN: u64 = 1 << 40;

/// Options with one value; the keyed ones are in [`KEYED_OPTIONS`].
pub const OPTIONS: [&str; 10] = [
    "base_rows_per_s",
    "drift_sd",
    "drift_slices",
    "ar1",
    "ar1_sd",
    "noise_sd",
    "block_sd",
    "outlier_rate",
    "steal",
    "service_cv",
];

/// Options of the form `ratio.TREATMENT`; TREATMENT is a name or its part before the first `/`.
pub const KEYED_OPTIONS: [&str; 5] = ["ratio", "crash", "wrong", "miss", "hang"];

/// A truth and disturbances like those of a quiet guest, for studies that give none: without noise every
/// rounding of a row count would look like an effect.
pub fn demonstration() -> Options {
    const VALUES: [(&str, f64); 13] = [
        ("drift_sd", 0.1),
        ("noise_sd", 0.03),
        ("block_sd", 0.005),
        ("ratio.one-cpu", 0.97),
        ("ratio.same-core", 1.27),
        ("ratio.same-package", 1.95),
        ("ratio.same-l2", 1.95),
        ("ratio.same-l3", 1.95),
        ("ratio.cross-l3", 1.95),
        ("ratio.same-node", 1.95),
        ("ratio.cross-node", 1.95),
        ("ratio.cross-package", 1.95),
        ("ratio.sessions-3", 1.95),
    ];
    VALUES.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Number(*value))).collect()
}

/// The truth and its disturbances.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    seed: u64,
    base_rows_per_s: f64,
    drift_sd: f64,
    drift_slices: f64,
    ar1: f64,
    ar1_sd: f64,
    noise_sd: f64,
    block_sd: f64,
    outlier_rate: f64,
    steal: f64,
    service_cv: f64,
    keyed: std::collections::BTreeMap<String, f64>,
}

impl Model {
    /// Reads the options (engine options of a study); absent disturbances are 0. Seed 0 until
    /// [`Model::with_seed`].
    ///
    /// - `base_rows_per_s`: rate of a treatment with ratio 1, all sessions together; 1,000,000.
    /// - `drift_sd`, `drift_slices`: standard deviation of the slow drift of ln(rate), and the
    ///   number of slices over which its correlation falls to 1/e (1000).
    /// - `ar1`, `ar1_sd`: correlation between neighbouring slices, 0 to below 1, and standard
    ///   deviation of the short component.
    /// - `noise_sd`, `block_sd`: standard deviations of ln(rate) per slice and per block.
    /// - `outlier_rate`: share of slices that run at 0.3 of their rate.
    /// - `steal`: mean share of a slice that the hypervisor takes.
    /// - `service_cv`: standard deviation of the time that a request takes, at a rate, over its mean: 1, the default, is
    ///   exponential, 0 is constant, and between them a part is constant and the rest exponential.
    /// - `ratio.T`: the truth of treatment T, 1 where absent.
    /// - `crash.T`, `wrong.T`, `hang.T`: the N-th slice of T (from 1, in one worker) fails, reports
    ///   a wrong answer, or takes an hour. `miss.T`: physical reads in every slice of T.
    ///
    /// # Errors
    /// The first option that is unknown or outside its range.
    pub fn new(options: &Options) -> Result<Self, EngineError> {
        let mut keyed = std::collections::BTreeMap::new();
        for (name, value) in options {
            if OPTIONS.contains(&name.as_str()) {
                continue;
            }
            let known = name.split_once('.').is_some_and(|(kind, _)| KEYED_OPTIONS.contains(&kind));
            if !known {
                let allowed = format!("{}, {}", OPTIONS.join(", "), KEYED_OPTIONS.join(".T, "));
                return Err(refuse(name, format!("unknown to simulated; allowed: {allowed}.T")));
            }
            keyed.insert(name.clone(), keyed_number(name, value)?);
        }
        let get = |name, default, low, high| number(options, name, default, low, high);
        Ok(Self {
            seed: 0,
            base_rows_per_s: get("base_rows_per_s", 1e6, 1.0, 1e12)?,
            drift_sd: get("drift_sd", 0.0, 0.0, 2.0)?,
            drift_slices: get("drift_slices", 1000.0, 1.0, 1e9)?,
            ar1: get("ar1", 0.0, 0.0, 0.9999)?,
            ar1_sd: get("ar1_sd", 0.0, 0.0, 2.0)?,
            noise_sd: get("noise_sd", 0.0, 0.0, 2.0)?,
            block_sd: get("block_sd", 0.0, 0.0, 2.0)?,
            outlier_rate: get("outlier_rate", 0.0, 0.0, 1.0)?,
            steal: get("steal", 0.0, 0.0, 0.5)?,
            service_cv: get("service_cv", 1.0, 0.0, 1.0)?,
            keyed,
        })
    }

    /// The same model with the seed of a study.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The truth: ratio of the treatment's rate to the base rate.
    pub fn ratio(&self, treatment: &str) -> f64 {
        self.keyed("ratio", treatment).unwrap_or(1.0)
    }

    /// Rows per second of all sessions together in one slice.
    pub fn rate(&self, treatment: &str, block_seed: u64, sequence: u64) -> f64 {
        let drift = self.common("drift", self.drift_sd, (-1.0 / self.drift_slices).exp(), sequence);
        let short = self.common("short", self.ar1_sd, self.ar1, sequence);
        let block = if self.block_sd > 0.0 {
            self.block_sd * self.draw("block", treatment, block_seed).normal()
        } else {
            0.0
        };
        let draw = self.draw("slice", treatment, sequence);
        let noise = if self.noise_sd > 0.0 { self.noise_sd * draw.normal() } else { 0.0 };
        let outlier = self.outlier_rate > 0.0
            && self.draw("outlier", treatment, sequence).uniform() < self.outlier_rate;
        let factor = if outlier { OUTLIER_FACTOR } else { 1.0 };
        let truth = self.base_rows_per_s * self.ratio(treatment);
        truth * (drift + short + block + noise).exp() * factor * (1.0 - self.steal_share(sequence))
    }

    /// Times that requests of a slice take, over their mean.
    pub fn services(&self, treatment: &str, sequence: u64) -> Services {
        Services {
            stream: mix(self.stream("service", treatment).wrapping_add(sequence)),
            at: 0,
            cv: self.service_cv,
        }
    }

    /// Share of the slice that the hypervisor takes, the same for all treatments: exponential with the mean
    /// from the options, cut at 0.9.
    pub fn steal_share(&self, sequence: u64) -> f64 {
        if self.steal == 0.0 {
            return 0.0;
        }
        let uniform = self.draw("steal", "", sequence).uniform();
        (-self.steal * (1.0 - uniform).ln()).min(MAX_STEAL)
    }

    /// The value of a keyed option for this treatment: by its whole name, else by its part before
    /// the first `/`.
    pub(super) fn keyed(&self, kind: &str, treatment: &str) -> Option<f64> {
        let prefix = treatment.split_once('/').map_or(treatment, |(prefix, _)| prefix);
        let figure = |name: &str| self.keyed.get(&format!("{kind}.{name}")).copied();
        figure(treatment).or_else(|| figure(prefix))
    }

    /// A stationary AR(1) process with this standard deviation and lag-1 correlation at a sequence.
    fn common(&self, purpose: &str, sd: f64, lag1: f64, sequence: u64) -> f64 {
        if sd == 0.0 {
            return 0.0;
        }
        let stream = self.stream(purpose, "");
        let decay = lag1.ln(); // −∞ for white noise, whose powers below are then 0
        // From this distance on, a power of two, values are independent to the last digit of a double.
        let mut span = 1_u64;
        while decay * span as f64 > -INDEPENDENT && span < MAX_SPAN {
            span *= 2;
        }
        let mut low = sequence - sequence % span;
        let mut low_value = place(stream, low).normal();
        let mut high_value = place(stream, low.wrapping_add(span)).normal();
        while low < sequence {
            span /= 2;
            let near = (decay * span as f64).exp();
            let far = near * near;
            let mean = (low_value + high_value) * near / (1.0 + far);
            let spread = ((1.0 - far) / (1.0 + far)).sqrt();
            let middle = low + span;
            let middle_value = mean + spread * place(stream, middle).normal();
            if sequence < middle {
                high_value = middle_value;
            } else {
                (low, low_value) = (middle, middle_value);
            }
        }
        sd * low_value
    }

    /// A separate random stream for each purpose and treatment.
    fn stream(&self, purpose: &str, treatment: &str) -> u64 {
        let mut hash = Fnv::default();
        hash.write(purpose.as_bytes());
        hash.write(b"/");
        hash.write(treatment.as_bytes());
        mix(hash.finish() ^ self.seed)
    }

    fn draw(&self, purpose: &str, treatment: &str, number: u64) -> Draw {
        place(self.stream(purpose, treatment), number)
    }
}

/// Times that requests take, one after the other, over their mean.
#[derive(Debug)]
pub struct Services {
    stream: u64,
    at: u64,
    cv: f64,
}

impl Services {
    /// The next one.
    pub fn next(&mut self) -> f64 {
        self.at += 1;
        let exponential = -(1.0 - place(self.stream, self.at).uniform()).ln();
        1.0 - self.cv + self.cv * exponential
    }
}

/// The draw at this place of a stream.
fn place(stream: u64, number: u64) -> Draw {
    Draw(mix(stream.wrapping_add(number)))
}

/// One place of a counter-based random generator.
struct Draw(u64);

impl Draw {
    /// Uniform on [0, 1).
    fn uniform(&self) -> f64 {
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal (Box and Muller, Ann. Math. Statist. 29, 1958).
    fn normal(&self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let angle = (mix(self.0) >> 11) as f64 / (1_u64 << 53) as f64;
        radius * (TAU * angle).cos()
    }
}

/// The output function of SplitMix64 after one step (Steele, Lea, Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let mut bits = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): the same in every build, unlike the standard library's hasher.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn refuse(option: &str, why: String) -> EngineError {
    EngineError::Option { option: option.to_owned(), why }
}

fn number(options: &Options, name: &str, default: f64, low: f64, high: f64) -> Result<f64, EngineError> {
    let Some(value) = options.get(name) else { return Ok(default) };
    value
        .number()
        .filter(|value| (low..=high).contains(value))
        .ok_or_else(|| refuse(name, format!("'{value}' is not a number from {low} to {high}")))
}

fn keyed_number(name: &str, value: &OptionValue) -> Result<f64, EngineError> {
    value
        .number()
        .filter(|value| (1e-6..=1e6).contains(value))
        .ok_or_else(|| refuse(name, format!("'{value}' is not a number from 0.000001 to 1000000")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(pairs: &[(&str, f64)]) -> Model {
        let options = pairs.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Number(*value)));
        Model::new(&options.collect()).unwrap().with_seed(11)
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// Standard deviation and correlation at a lag.
    fn spread(values: &[f64], lag: usize) -> (f64, f64) {
        let centre = mean(values);
        let variance = mean(&values.iter().map(|value| (value - centre).powi(2)).collect::<Vec<_>>());
        let products: Vec<f64> =
            values.iter().zip(&values[lag..]).map(|(a, b)| (a - centre) * (b - centre)).collect();
        (variance.sqrt(), mean(&products) / variance)
    }

    fn logs(model: &Model, treatment: &str, count: u64) -> Vec<f64> {
        (0..count).map(|sequence| (model.rate(treatment, 5, sequence) / 1e6).ln()).collect()
    }

    #[test]
    fn without_disturbance_the_truth_comes_out() {
        let model = model(&[("ratio.same-core", 1.3), ("ratio.same-core/memory", 1.1)]);
        assert_eq!(model.rate("alone/l2", 1, 2), 1e6);
        assert!((model.rate("same-core/l2", 1, 2) - 1.3e6).abs() < 1e-6);
        assert!((model.rate("same-core/memory", 1, 2) - 1.1e6).abs() < 1e-6);
    }

    #[test]
    fn ar1_has_its_deviation_and_correlation() {
        let values = logs(&model(&[("ar1", 0.8), ("ar1_sd", 0.1)]), "a", 40_000);
        let (sd, lag1) = spread(&values, 1);
        let (_, lag3) = spread(&values, 3);
        assert!((sd - 0.1).abs() < 0.005, "{sd}");
        assert!((lag1 - 0.8).abs() < 0.02, "{lag1}");
        assert!((lag3 - 0.512).abs() < 0.04, "{lag3}");
    }

    #[test]
    fn drift_is_slow_and_common_to_all_treatments() {
        let model = model(&[("drift_sd", 0.2), ("drift_slices", 100.0), ("ratio.b", 2.0)]);
        let values = logs(&model, "a", 40_000);
        let (sd, lag100) = spread(&values, 100);
        assert!((sd - 0.2).abs() < 0.03, "{sd}");
        assert!((lag100 - 0.37).abs() < 0.1, "{lag100}");
        for (a, b) in values.iter().zip(logs(&model, "b", 40_000)) {
            assert!((b - a - 2_f64.ln()).abs() < 1e-9);
        }
    }

    #[test]
    fn noise_is_white_and_blocks_differ() {
        let noisy = model(&[("noise_sd", 0.05), ("block_sd", 0.1)]);
        let (sd, lag1) = spread(&logs(&noisy, "a", 20_000), 1);
        assert!((sd - 0.05).abs() < 0.002 && lag1.abs() < 0.03, "{sd} {lag1}");
        let blocks: Vec<f64> =
            (0..20_000).map(|block| (model(&[("block_sd", 0.1)]).rate("a", block, 0) / 1e6).ln()).collect();
        let (sd, lag1) = spread(&blocks, 1);
        assert!((sd - 0.1).abs() < 0.005 && lag1.abs() < 0.03, "{sd} {lag1}");
    }

    #[test]
    fn outliers_and_steal_come_as_often_as_asked() {
        let values = logs(&model(&[("outlier_rate", 0.02)]), "a", 20_000);
        let outliers = values.iter().filter(|value| **value < -1.0).count();
        assert!((320..480).contains(&outliers), "{outliers}");
        let stolen = model(&[("steal", 0.05)]);
        let shares: Vec<f64> = (0..20_000).map(|sequence| stolen.steal_share(sequence)).collect();
        assert!((mean(&shares) - 0.05).abs() < 0.002, "{}", mean(&shares));
        assert!((stolen.rate("a", 1, 7) / 1e6 - (1.0 - shares[7])).abs() < 1e-9);
    }

    #[test]
    fn the_same_seeds_give_the_same_rate_and_others_do_not() {
        let model = model(&[("drift_sd", 0.1), ("ar1", 0.5), ("ar1_sd", 0.1), ("noise_sd", 0.1)]);
        let rate = model.rate("a", 1, 77);
        assert_eq!(rate, model.clone().rate("a", 1, 77));
        assert_ne!(rate, model.clone().with_seed(12).rate("a", 1, 77));
        assert_ne!(rate, model.rate("a", 1, 78));
        assert_ne!(rate, model.rate("b", 1, 77));
        assert!(model.rate("a", 1, u64::MAX).is_finite());
    }

    #[test]
    fn unknown_and_impossible_options_are_refused() {
        for (name, value) in
            [("drift", 0.1), ("ar1", 1.0), ("steal", -0.1), ("ratio.a", 0.0), ("fail.a", 1.0)]
        {
            let options = Options::from([(name.into(), OptionValue::Number(value))]);
            let message = Model::new(&options).unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
        }
        let text = Options::from([("ar1".into(), OptionValue::Text("much".into()))]);
        assert!(Model::new(&text).unwrap_err().to_string().contains("'much'"));
    }
}
