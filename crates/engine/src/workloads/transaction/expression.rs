//! Expressions of pgbench: whole and real numbers, variables, arithmetic and functions.
//!
//! Source: the documentation of pgbench, "Built-In Operators" and "Built-In Functions", and PostgreSQL's
//! `pgbench.c` (`evalStandardFunc`): whole numbers have 64 bits and overflow is an error, a division of whole numbers
//! gives a whole number, and an operation with a real number is one of real numbers.

use rand_chacha::ChaCha8Rng;

use super::distribution::{Zipf, even, exponential, gaussian};
use super::value::BindValue;

/// Deepest nesting.
const MOST_DEPTH: usize = 50;

/// Limits of the parameter of `random_zipfian`, as in pgbench.
const ZIPF_EXPONENTS: [f64; 2] = [1.001, 1000.0];

/// Least parameter of `random_gaussian`, as in pgbench.
const LEAST_GAUSSIAN: f64 = 2.0;

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    /// A number.
    Number(Number),
    /// The value of an earlier parameter, by its index, and its name for messages.
    Variable(usize, Box<str>),
    /// With a minus before it.
    Negative(Box<Expression>),
    /// Two with one of `+ - * / %` between them.
    Operation(char, Box<[Expression; 2]>),
    /// A function.
    Call(Function, Vec<Expression>),
}

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Whole(i64),
    Real(f64),
}

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Double,
    Exp,
    Greatest,
    Int,
    Least,
    Ln,
    Mod,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// Names of functions, with how many arguments they have; 0 at the end stands for any number from 1 on.
const FUNCTIONS: [(&str, Function, usize, usize); 16] = [
    ("abs", Function::Abs, 1, 1),
    ("double", Function::Double, 1, 1),
    ("exp", Function::Exp, 1, 1),
    ("greatest", Function::Greatest, 1, 0),
    ("int", Function::Int, 1, 1),
    ("least", Function::Least, 1, 0),
    ("ln", Function::Ln, 1, 1),
    ("mod", Function::Mod, 2, 2),
    ("pi", Function::Pi, 0, 0),
    ("pow", Function::Power, 2, 2),
    ("power", Function::Power, 2, 2),
    ("random", Function::Random, 2, 2),
    ("random_exponential", Function::RandomExponential, 3, 3),
    ("random_gaussian", Function::RandomGaussian, 3, 3),
    ("random_zipfian", Function::RandomZipfian, 3, 3),
    ("sqrt", Function::Sqrt, 1, 1),
];

impl Number {
    fn real(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Real(number) => number,
        }
    }

    /// As a whole number; a real one is rounded, as by pgbench.
    fn whole(self) -> Result<i64, String> {
        match self {
            Self::Whole(number) => Ok(number),
            Self::Real(number) => {
                let rounded = number.round_ties_even();
                let fits = rounded >= i64::MIN as f64 && rounded < i64::MAX as f64;
                fits.then_some(rounded as i64)
                    .ok_or_else(|| format!("{number} is not within the range of whole numbers"))
            }
        }
    }
}

impl From<Number> for BindValue {
    fn from(number: Number) -> Self {
        match number {
            Number::Whole(number) => Self::Whole(number),
            Number::Real(number) => Self::Real(number),
        }
    }
}

impl Expression {
    /// Reads an expression; `find` gives the index of a variable.
    ///
    /// # Errors
    /// What is not one, or not taken.
    pub(super) fn parse(text: &str, find: &dyn Fn(&str) -> Result<usize, String>) -> Result<Self, String> {
        let mut parser = Parser { rest: text.trim(), find, depth: 0 };
        if parser.rest.is_empty() {
            return Err("there is no expression: write one, such as random(1, 1000)".into());
        }
        let expression = parser.sum()?;
        match parser.rest {
            "" => Ok(expression),
            rest => Err(format!("'{}' is not expected there in an expression", begin(rest))),
        }
    }

    /// Its value, from those of earlier parameters.
    ///
    /// # Errors
    /// A division by zero, an overflow, an argument that a function refuses, text, or a number that is not finite.
    pub(super) fn value(&self, values: &[BindValue], random: &mut ChaCha8Rng) -> Result<Number, String> {
        match self.number(values, random)? {
            Number::Real(number) if !number.is_finite() => {
                Err(format!("the result {number} is not a finite number"))
            }
            number => Ok(number),
        }
    }

    fn number(&self, values: &[BindValue], random: &mut ChaCha8Rng) -> Result<Number, String> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Variable(at, name) => match values.get(*at) {
                Some(BindValue::Whole(number)) => Ok(Number::Whole(*number)),
                Some(BindValue::Real(number)) => Ok(Number::Real(*number)),
                Some(BindValue::Text(_)) => {
                    Err(format!("an expression cannot use the text value of :{name}"))
                }
                None => Err(format!(":{name} has no value")),
            },
            Self::Negative(inner) => match inner.number(values, random)? {
                Number::Whole(number) => number.checked_neg().map(Number::Whole).ok_or_else(overflow),
                Number::Real(number) => Ok(Number::Real(-number)),
            },
            Self::Operation(sign, sides) => {
                let (left, right) = (sides[0].number(values, random)?, sides[1].number(values, random)?);
                operate(*sign, left, right)
            }
            Self::Call(function, arguments) => {
                let arguments = arguments.iter().map(|one| one.number(values, random));
                function.call(&arguments.collect::<Result<Vec<_>, _>>()?, random)
            }
        }
    }
}

fn overflow() -> String {
    "the result is not within the range of whole numbers".to_owned()
}

fn operate(sign: char, left: Number, right: Number) -> Result<Number, String> {
    let (one, other) = match (sign, left, right) {
        ('%', ..) => (left.whole()?, right.whole()?),
        (_, Number::Whole(one), Number::Whole(other)) => (one, other),
        _ => {
            let (left, right) = (left.real(), right.real());
            return match sign {
                '+' => Ok(Number::Real(left + right)),
                '-' => Ok(Number::Real(left - right)),
                '*' => Ok(Number::Real(left * right)),
                _ if right == 0.0 => Err("division by zero".into()),
                _ => Ok(Number::Real(left / right)),
            };
        }
    };
    let result = match sign {
        '+' => one.checked_add(other),
        '-' => one.checked_sub(other),
        '*' => one.checked_mul(other),
        _ if other == 0 => return Err("division by zero".into()),
        '/' => one.checked_div(other),
        // The lowest number by -1 overflows as a division only.
        _ => Some(one.wrapping_rem(other)),
    };
    result.map(Number::Whole).ok_or_else(overflow)
}

impl Function {
    fn call(self, arguments: &[Number], random: &mut ChaCha8Rng) -> Result<Number, String> {
        let at = |place: usize| arguments.get(place).copied().unwrap_or(Number::Whole(0));
        let whole = |number: i64| Ok(Number::Whole(number));
        let real = |number: f64| Ok(Number::Real(number));
        let has_real = arguments.iter().any(|one| matches!(one, Number::Real(_)));
        match self {
            Self::Abs => match at(0) {
                Number::Whole(number) => number.checked_abs().map(Number::Whole).ok_or_else(overflow),
                Number::Real(number) => real(number.abs()),
            },
            Self::Double => real(at(0).real()),
            Self::Exp => real(at(0).real().exp()),
            Self::Int => at(0).whole().map(Number::Whole),
            Self::Ln => real(at(0).real().ln()),
            Self::Mod => operate('%', at(0), at(1)),
            Self::Pi => real(std::f64::consts::PI),
            Self::Power => real(at(0).real().powf(at(1).real())),
            Self::Sqrt => real(at(0).real().sqrt()),
            Self::Greatest | Self::Least => {
                let is_least = self == Self::Least;
                if has_real {
                    let pick = |one: f64, next: f64| if is_least { one.min(next) } else { one.max(next) };
                    real(arguments.iter().map(|one| one.real()).reduce(pick).unwrap_or(0.0))
                } else {
                    let pick = |one: i64, next: i64| if is_least { one.min(next) } else { one.max(next) };
                    let all: Vec<i64> = arguments.iter().map(|one| one.whole()).collect::<Result<_, _>>()?;
                    whole(all.into_iter().reduce(pick).unwrap_or(0))
                }
            }
            _ => self.draw(at(0).whole()?, at(1).whole()?, at(2).real(), random).map(Number::Whole),
        }
    }

    fn draw(self, low: i64, high: i64, parameter: f64, random: &mut ChaCha8Rng) -> Result<i64, String> {
        if low > high {
            return Err(format!("the range {low} to {high} of random numbers is empty"));
        }
        match self {
            Self::RandomGaussian if parameter < LEAST_GAUSSIAN || parameter.is_nan() => {
                Err(format!("the parameter {parameter} of random_gaussian is not at least {LEAST_GAUSSIAN}"))
            }
            Self::RandomGaussian => Ok(gaussian(random, low, high, parameter)),
            Self::RandomExponential if parameter <= 0.0 || parameter.is_nan() => {
                Err(format!("the parameter {parameter} of random_exponential is not above 0"))
            }
            Self::RandomExponential => Ok(exponential(random, low, high, parameter)),
            Self::RandomZipfian => {
                let [least, most] = ZIPF_EXPONENTS;
                match (least..=most).contains(&parameter) {
                    true => Ok(Zipf::new(low, high, parameter).draw(random)),
                    false => Err(format!(
                        "the parameter {parameter} of random_zipfian is not between {least} and {most}"
                    )),
                }
            }
            _ => Ok(even(random, low, high)),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    find: &'a dyn Fn(&str) -> Result<usize, String>,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Takes a character, if it comes next.
    fn take(&mut self, expected: &[char]) -> Option<char> {
        let next = self.rest.chars().next().filter(|next| expected.contains(next))?;
        self.skip(next.len_utf8());
        Some(next)
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest[bytes..].trim_start();
    }

    /// The longest begin of what follows that has these letters only.
    fn word(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest;
        let length = rest.find(|next| !is(next)).unwrap_or(rest.len());
        self.skip(length);
        &rest[..length]
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.operations(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Expression, String> {
        self.operations(&['*', '/', '%'], Self::factor)
    }

    fn operations(
        &mut self,
        signs: &[char],
        side: fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut left = side(self)?;
        let mut long = 0;
        while let Some(sign) = self.take(signs) {
            long += 1;
            if long > MOST_DEPTH {
                return Err(too_deep());
            }
            left = Expression::Operation(sign, Box::new([left, side(self)?]));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(too_deep());
        }
        let factor = match self.take(&['-', '+', '(', ':']) {
            Some('-') => Expression::Negative(Box::new(self.factor()?)),
            Some('+') => self.factor()?,
            Some('(') => {
                let inner = self.sum()?;
                self.take(&[')']).ok_or("a parenthesis does not end")?;
                inner
            }
            Some(_) => {
                let name = self.word(is_of_name);
                Expression::Variable((self.find)(name)?, name.into())
            }
            None if self.rest.starts_with(|next: char| next.is_ascii_digit() || next == '.') => {
                Expression::Number(self.number()?)
            }
            None => self.call()?,
        };
        self.depth -= 1;
        Ok(factor)
    }

    fn number(&mut self) -> Result<Number, String> {
        let rest = self.rest;
        let is_of = |at: usize, next: char| {
            next.is_ascii_digit()
                || next == '.'
                || matches!(next, 'e' | 'E')
                || (matches!(next, '+' | '-') && at > 0 && matches!(rest.as_bytes()[at - 1], b'e' | b'E'))
        };
        let length =
            rest.char_indices().find(|(at, next)| !is_of(*at, *next)).map_or(rest.len(), |(at, _)| at);
        let text = &rest[..length];
        self.skip(length);
        let number = match text.parse() {
            Ok(whole) => Some(Number::Whole(whole)),
            Err(_) if text.contains(['.', 'e', 'E']) => text.parse().ok().map(Number::Real),
            Err(_) => None,
        };
        number.ok_or_else(|| format!("'{text}' is not a number"))
    }

    fn call(&mut self) -> Result<Expression, String> {
        let word = self.word(is_of_name);
        if word.is_empty() {
            return Err(match self.rest {
                "" => "an expression ends too early".to_owned(),
                rest => format!(
                    "'{}' is not taken in an expression: whole and real numbers, :names, + - * / %, \
                                 and functions are",
                    begin(rest)
                ),
            });
        }
        let known = || FUNCTIONS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
        let lower = word.to_ascii_lowercase();
        let (name, function, least, most) = FUNCTIONS
            .into_iter()
            .find(|(name, ..)| *name == lower)
            .ok_or_else(|| format!("'{word}' is not taken in an expression; functions are {}", known()))?;
        self.take(&['('])
            .ok_or_else(|| format!("{name} is a function: write its arguments in parentheses"))?;
        let mut arguments = Vec::new();
        if self.take(&[')']).is_none() {
            loop {
                arguments.push(self.sum()?);
                match self.take(&[',', ')']) {
                    Some(',') if arguments.len() < MOST_DEPTH => {}
                    Some(')') => break,
                    _ => return Err(format!("the arguments of {name} do not end")),
                }
            }
        }
        let is_right = arguments.len() >= least && (arguments.len() <= most || (most == 0 && least > 0));
        match is_right {
            true => Ok(Expression::Call(function, arguments)),
            false => {
                let noun = if least == 1 { "argument" } else { "arguments" };
                let more = if most == 0 && least > 0 { " or more" } else { "" };
                Err(format!("{name} takes {least} {noun}{more}, not {}", arguments.len()))
            }
        }
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn too_deep() -> String {
    format!("an expression is nested or longer than {MOST_DEPTH} steps: divide it by \\set")
}

/// The begin of what was not understood.
fn begin(rest: &str) -> String {
    rest.chars().take(20).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    fn parse(text: &str) -> Result<Expression, String> {
        Expression::parse(text, &|name| match name {
            "scale" => Ok(0),
            "city" => Ok(1),
            _ => Err(format!(":{name} has no value")),
        })
    }

    fn value(text: &str) -> Result<Number, String> {
        let values = [BindValue::Whole(10), BindValue::Text("Ulm".into())];
        parse(text)?.value(&values, &mut ChaCha8Rng::seed_from_u64(1))
    }

    /// With the examples of the documentation's table of functions.
    #[test]
    fn expressions_have_the_values_of_pgbench() {
        use Number::{Real, Whole};
        for (text, expected) in [
            ("1 + 2 * 3", Whole(7)),
            ("(1 + 2) * 3 - -4", Whole(13)),
            ("7 / 2", Whole(3)),
            ("-7 / 2", Whole(-3)),
            ("7 / 2.0", Real(3.5)),
            ("-7 % 3", Whole(-1)),
            ("mod(54, 32)", Whole(22)),
            ("100000 * :scale", Whole(1_000_000)),
            ("abs(-17)", Whole(17)),
            ("double(5432)", Real(5432.0)),
            ("greatest(5, 4, 3, 2)", Whole(5)),
            ("least(5, 4, 3, 2.1)", Real(2.1)),
            ("int(5.4 + 3.8)", Whole(9)),
            ("power(2.0, 10)", Real(1024.0)),
            ("sqrt(2.0) * sqrt(2)", Real(2.000_000_000_000_000_4)),
            ("1e3 + .5", Real(1000.5)),
            ("-9223372036854775807 - 1", Whole(i64::MIN)),
            ("random(5, 5)", Whole(5)),
            ("RANDOM_zipfian(4, 4, 2.5)", Whole(4)),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        assert_eq!(value("pi()"), Ok(Real(std::f64::consts::PI)));
    }

    #[test]
    fn what_has_no_value_is_refused() {
        for (text, part) in [
            ("", "no expression"),
            ("1 +", "ends too early"),
            ("1 2", "'2' is not expected"),
            ("(1", "parenthesis"),
            ("random(1, 2", "do not end"),
            ("random(1)", "random takes 2 arguments, not 1"),
            ("pi(1)", "pi takes 0 arguments, not 1"),
            ("abs(1, 2)", "abs takes 1 argument, not 2"),
            ("least()", "least takes 1 argument or more, not 0"),
            ("hash(1)", "'hash' is not taken in an expression; functions are abs"),
            ("CASE WHEN 1 THEN 2 END", "'CASE' is not taken"),
            ("1 < 2", "'< 2' is not expected"),
            ("abs", "is a function"),
            (":other", ":other has no value"),
            (":city + 1", "an expression cannot use the text value of :city"),
            ("1 / 0", "division by zero"),
            ("1 / 0.0", "division by zero"),
            ("5 % 0", "division by zero"),
            ("9223372036854775807 + 1", "not within the range"),
            ("99999999999999999999", "is not a number"),
            ("1..2", "is not a number"),
            ("random(5, 4)", "is empty"),
            ("random_zipfian(1, 9, 1.0)", "not between 1.001 and 1000"),
            ("random_gaussian(1, 9, 1.9)", "not at least 2"),
            ("random_exponential(1, 9, 0)", "not above 0"),
            ("int(1e300)", "not within the range"),
            ("sqrt(-1)", "the result NaN is not a finite number"),
            ("1e300 * 1e300", "the result inf is not a finite number"),
        ] {
            let why = value(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        for deep in ["(".repeat(5000), "-".repeat(5000), "1+".repeat(5000), "abs(".repeat(5000)] {
            assert!(value(&deep).unwrap_err().contains("nested or longer"), "{}", &deep[..4]);
        }
    }
}
