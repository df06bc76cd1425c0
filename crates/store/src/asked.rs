//! What the user requested of a study's report, as marks in `meta`; absent from older files.

use crate::error::{Fault, one_line};
use crate::studies;
use crate::value::MEASURE_MAX;
use rusqlite::Connection;
use threadwise_study::asked::{Asked, LicencePer, Prices};

const P99: &str = "asked_p99_ns";
const MACHINE: &str = "asked_machine_per_h";
const LICENCE: &str = "asked_licence_per_h";
const PER: &str = "asked_licence_per";

/// Stores the requests; what is not requested stays as it is.
pub(crate) fn write(connection: &Connection, asked: &Asked) -> Result<(), Fault> {
    let put = |key: &str, value: f64| match (0.0..=MEASURE_MAX).contains(&value) {
        true => studies::set_meta(connection, key, &value.to_string()),
        false => Err(Fault::Unstorable(format!("{key} is {value}, outside of 0 to {MEASURE_MAX}"))),
    };
    if let Some(p99_ns) = asked.p99_ns {
        put(P99, p99_ns)?;
    }
    if let Some(prices) = asked.prices {
        put(MACHINE, prices.machine_per_h)?;
        put(LICENCE, prices.licence_per_h)?;
        let word = LicencePer::WORDS.iter().find(|(_, per)| *per == prices.per);
        studies::set_meta(connection, PER, word.map_or("vcpu", |(word, _)| word))?;
    }
    Ok(())
}

/// Reads the requests.
pub(crate) fn read(connection: &Connection) -> Result<Asked, Fault> {
    let damaged = |key: &str, text: &str| Fault::Damaged(format!("meta.{key} is '{}'", one_line(text)));
    let number = |key: &str| -> Result<Option<f64>, Fault> {
        let Some(text) = studies::meta(connection, key)? else { return Ok(None) };
        let value = text.parse::<f64>().ok().filter(|value| (0.0..=MEASURE_MAX).contains(value));
        value.map(Some).ok_or_else(|| damaged(key, &text))
    };
    let p99_ns = number(P99)?;
    if p99_ns == Some(0.0) {
        return Err(damaged(P99, "0"));
    }
    let per = match studies::meta(connection, PER)? {
        None => None,
        Some(text) => {
            let known = LicencePer::WORDS.iter().find(|(word, _)| *word == text);
            Some(known.ok_or_else(|| damaged(PER, &text))?.1)
        }
    };
    let prices = match (number(MACHINE)?, number(LICENCE)?, per) {
        (Some(machine_per_h), Some(licence_per_h), Some(per)) => {
            Some(Prices { machine_per_h, licence_per_h, per })
        }
        (None, None, None) => None,
        _ => {
            return Err(Fault::Damaged("meta has only some of the requested prices".into()));
        }
    };
    Ok(Asked { prices, p99_ns })
}
