//! `--rate`: the rates of a study on the command line.

use super::args::{ArrivalsArg, Rates};
use crate::cli::RunArgs;
use threadwise_study::arrivals::{ARRIVALS, RATE};
use threadwise_study::{OptionValue, Options};

/// The preset for rates.
pub const PRESET: &str = "load";

/// Workload options of the command line's rate, if it is one.
pub fn options(args: &RunArgs) -> Options {
    let text = |way: ArrivalsArg| match way {
        ArrivalsArg::Poisson => "poisson",
        ArrivalsArg::Constant => "constant",
    };
    let way = args.rates.arrivals.map(|way| (ARRIVALS.to_owned(), OptionValue::Text(text(way).to_owned())));
    let rate = match &args.rates.rate {
        Some(Rates::PerSecond(rates)) if rates.len() == 1 => Some((RATE.to_owned(), level(rates[0]))),
        _ => None,
    };
    way.into_iter().chain(rate).collect()
}

/// Levels of the rate, if there are several.
pub fn levels(args: &RunArgs) -> Option<(String, Vec<OptionValue>)> {
    match &args.rates.rate {
        Some(Rates::PerSecond(rates)) if rates.len() > 1 => {
            Some((RATE.to_owned(), rates.iter().copied().map(level).collect()))
        }
        _ => None,
    }
}

/// A whole number is written without a fraction in names of treatments.
fn level(rate: f64) -> OptionValue {
    match rate.fract() == 0.0 {
        true => OptionValue::Integer(rate as i64),
        false => OptionValue::Number(rate),
    }
}
