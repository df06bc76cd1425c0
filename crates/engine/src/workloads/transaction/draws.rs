//! What a session does, transaction by transaction: a pure function of the block's seed and the session.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::sync::Arc;
use threadwise_study::transaction::SQL;

use super::Transaction;
use super::column::Lists;
use super::distribution::{Zipf, even, unit};
use super::script::{MOST_PAUSE, Script, Source, Think};
use super::value::BindValue;
use crate::EngineError;
use crate::workloads::options::refuse;

/// One execution of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// Its index.
    pub script: usize,
    /// Values of all parameters of the script.
    pub values: Vec<BindValue>,
    /// The pause after it, nanoseconds.
    pub think_ns: u64,
}

/// The executions of one session.
#[derive(Debug, Clone)]
pub struct Draws {
    scripts: Arc<[Script]>,
    lists: Lists,
    /// Of each script's parameters, those that are Zipf-like.
    zipfs: Vec<Vec<Option<Zipf>>>,
    /// Sums of weights up to each script.
    sums: Vec<i64>,
    session: u32,
    random: ChaCha8Rng,
}

impl Draws {
    /// Those of one session in one block.
    pub fn new(transaction: &Transaction, lists: &Lists, block_seed: u64, session: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(block_seed);
        random.set_stream(u64::from(session));
        let zipf = |source: &Source| match source {
            Source::Range { low, high, zipf } => zipf.map(|exponent| Zipf::new(*low, *high, exponent)),
            Source::List { list, zipf } => {
                let last = (lists.of(*list).len() as i64 - 1).max(0);
                zipf.map(|exponent| Zipf::new(0, last, exponent))
            }
            Source::Expression(_) | Source::Session => None,
        };
        let of_script =
            |script: &Script| script.parameters.iter().map(|parameter| zipf(&parameter.source)).collect();
        let sums = transaction.scripts.iter().scan(0, |sum, script| {
            *sum += i64::from(script.weight);
            Some(*sum)
        });
        Self {
            zipfs: transaction.scripts.iter().map(of_script).collect(),
            sums: sums.collect(),
            scripts: Arc::clone(&transaction.scripts),
            lists: lists.clone(),
            session,
            random,
        }
    }

    /// The next execution. A single script costs no random number.
    ///
    /// # Errors
    /// An expression has no value.
    pub fn draw(&mut self) -> Result<Drawn, EngineError> {
        let script = match self.sums.as_slice() {
            [] | [_] => 0,
            [.., all] => {
                let drawn = even(&mut self.random, 1, *all);
                self.sums.partition_point(|sum| *sum < drawn)
            }
        };
        self.draw_script(script)
    }

    /// An execution of the script with this index.
    ///
    /// # Errors
    /// An expression has no value.
    pub fn draw_script(&mut self, script: usize) -> Result<Drawn, EngineError> {
        let Self { scripts, lists, zipfs, session, random, .. } = self;
        let Script { parameters, think, .. } = &scripts[script];
        let mut values: Vec<BindValue> = Vec::with_capacity(parameters.len());
        for (parameter, zipf) in parameters.iter().zip(&zipfs[script]) {
            let mut within = |low, high| match zipf {
                Some(zipf) => zipf.draw(random),
                None => even(random, low, high),
            };
            let value = match &parameter.source {
                Source::Range { low, high, .. } => BindValue::Whole(within(*low, *high)),
                Source::List { list, .. } => {
                    let all = lists.of(*list);
                    let at = within(0, (all.len() as i64 - 1).max(0));
                    all.get(usize::try_from(at).unwrap_or(0)).cloned().unwrap_or_default()
                }
                Source::Expression(expression) => expression
                    .value(&values, random)
                    .map_err(|why| refuse(SQL, format!("{}: {why}", parameter.place)))?
                    .into(),
                Source::Session => BindValue::Whole(i64::from(*session)),
            };
            values.push(value);
        }
        let think_ns = match think {
            None => 0,
            Some(Think::Even([low_ns, high_ns])) => even(random, *low_ns as i64, *high_ns as i64) as u64,
            Some(Think::Exponential(mean_ns)) => {
                let pause_ns = -(1.0 - unit(random)).ln() * *mean_ns as f64;
                (pause_ns as u64).min(MOST_PAUSE.as_nanos() as u64)
            }
        };
        Ok(Drawn { script, values, think_ns })
    }
}
