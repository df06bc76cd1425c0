//! The options of a load at a rate, which several workloads have.

use threadwise_study::Options;
use threadwise_study::arrivals::{ARRIVALS, RATE, RATES_PER_S, WAYS, rate_per_s};

use super::options::{refuse, word};
use crate::EngineError;
use crate::worker::arrivals::Rate;

/// Reads and checks them; `None` for a closed loop.
///
/// # Errors
/// A rate that is not a possible number, another way to arrive, or a way without a rate.
pub fn of(options: &Options) -> Result<Option<Rate>, EngineError> {
    let is_poisson = word(options, ARRIVALS, &WAYS)? == 0;
    let Some(value) = options.get(RATE) else {
        return match options.contains_key(ARRIVALS) {
            true => {
                Err(refuse(ARRIVALS, "it says how requests arrive, and needs a rate (--rate 200/s)".into()))
            }
            false => Ok(None),
        };
    };
    match rate_per_s(options).filter(|rate| RATES_PER_S.contains(rate)) {
        Some(rate) => Ok(Some(Rate::new(rate, is_poisson))),
        None => {
            let (low, high) = (RATES_PER_S.start(), RATES_PER_S.end());
            Err(refuse(RATE, format!("'{value}' is not a number of requests a second from {low} to {high}")))
        }
    }
}

/// Refuses another option that decides when a session's next step begins.
///
/// # Errors
/// The option is there, and so is a rate.
pub fn refuse_beside(options: &Options, other: &str, what: &str) -> Result<(), EngineError> {
    match options.contains_key(RATE) && options.contains_key(other) {
        true => {
            Err(refuse(other, format!("{what}, and --rate says when requests begin: leave one of them out")))
        }
        false => Ok(()),
    }
}
