//! A script: one transaction of a mix, with its parameters, or one script of pgbench.

use std::time::Duration;

use super::expression::Expression;
use super::statement::{SourceLine, Statement};
use super::value::BindValue;

/// Most bytes of a text, since it is stored in the result file.
pub(super) const MOST_BYTES: usize = 64 << 10;

/// Most transactions of a text, and most statements, parameters and commands of a transaction.
pub(super) const MOST: usize = 100;

/// Longest pause, of a think time and of `\sleep`.
pub(super) const MOST_PAUSE: Duration = Duration::from_secs(60);

/// A parameter, which has a new value in each execution of its script.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name, without the colon.
    pub name: String,
    /// Where it is declared.
    pub place: SourceLine,
    /// Where its values come from.
    pub(super) source: Source,
}

/// Where values come from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// Whole numbers between two, evenly, or Zipf-like with this exponent.
    Range { low: i64, high: i64, zipf: Option<f64> },
    /// The list with this index in the mix, evenly, or Zipf-like by the order of the list.
    List { list: usize, zipf: Option<f64> },
    /// An expression of pgbench, of earlier parameters.
    Expression(Expression),
    /// The session's number, from 0.
    Session,
}

impl Parameter {
    /// The least and the greatest whole number, if it has a range.
    pub fn range(&self) -> Option<[i64; 2]> {
        match self.source {
            Source::Range { low, high, .. } => Some([low, high]),
            _ => None,
        }
    }
}

/// A step of a script.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Begins a transaction.
    Begin,
    /// Executes the statement with this index.
    Statement(usize),
    /// Ends the transaction.
    End,
    /// Waits.
    Sleep(Sleep),
}

/// A pause inside of a script, `\sleep`.
#[derive(Debug, Clone, PartialEq)]
pub struct Sleep {
    pub(super) place: SourceLine,
    pub(super) length: SleepLength,
    pub(super) unit_ns: u64,
}

/// How many units a pause has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SleepLength {
    /// This many.
    Units(u64),
    /// The value of the parameter with this index.
    Parameter(usize),
}

impl Sleep {
    /// Its length with these values, nanoseconds.
    ///
    /// # Errors
    /// A variable that is no whole number from 0 on, or a pause that is too long.
    pub fn length_ns(&self, values: &[BindValue]) -> Result<u64, String> {
        let units = match self.length {
            SleepLength::Units(units) => Some(units),
            SleepLength::Parameter(at) => match values.get(at) {
                Some(BindValue::Whole(number)) => u64::try_from(*number).ok(),
                _ => None,
            },
        };
        let length_ns = units.and_then(|units| units.checked_mul(self.unit_ns));
        length_ns.filter(|ns| u128::from(*ns) <= MOST_PAUSE.as_nanos()).ok_or_else(|| {
            let most_s = MOST_PAUSE.as_secs();
            format!("{}: \\sleep needs a whole number, and at most {most_s} s", self.place)
        })
    }
}

/// A pause after each execution, before the session begins the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Think {
    /// Evenly between these two, nanoseconds.
    Even([u64; 2]),
    /// Exponentially distributed with this mean, nanoseconds.
    Exponential(u64),
}

/// One transaction of a mix, or one script of pgbench.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Its name, which no other has.
    pub name: String,
    /// How often it is executed, relative to the others' weights.
    pub weight: u32,
    /// Parameters in the order in which they get their values.
    pub parameters: Vec<Parameter>,
    /// Statements, in the order of the text; at least one.
    pub statements: Vec<Statement>,
    /// What is done, in this order.
    pub steps: Vec<Step>,
    /// The pause after it.
    pub think: Option<Think>,
}

impl Script {
    /// Statements of one execution, with those that begin and end transactions: each is sent and answered.
    pub fn round_trips(&self) -> u64 {
        self.steps.iter().filter(|step| !matches!(step, Step::Sleep(_))).count() as u64
    }
}
