//! Values on the command line: times, shares, key=value pairs.

use threadwise_machine::CpuSet;

/// Parses seconds from `90s`, `1m30s`, `50ms`; a bare number is refused so that no unit is guessed.
///
/// # Errors
/// Not a positive time.
pub fn seconds(text: &str) -> Result<f64, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|_| format!("'{text}' is not a time: write 90s, 5m or 1h"))?;
    if duration.is_zero() {
        return Err("a time must be more than 0".to_owned());
    }
    Ok(duration.as_secs_f64())
}

/// Parses seconds from `p99=10ms`: the upper bound for the 99th percentile of a step's latency.
///
/// # Errors
/// Another percentile, or not a positive time.
pub fn p99(text: &str) -> Result<f64, String> {
    let time = text.strip_prefix("p99=");
    let time = time.ok_or_else(|| format!("'{text}' is not a bound for latency: write p99=10ms"))?;
    seconds(time)
}

/// The window of one slice, `1ms` to `1h`: a shorter one would measure the clock.
///
/// # Errors
/// Not a time, or out of range.
pub fn slice(text: &str) -> Result<f64, String> {
    let seconds = seconds(text)?;
    match (1e-3..=3600.0).contains(&seconds) {
        true => Ok(seconds),
        false => Err(format!("'{text}' is out of range: a slice must be 1ms to 1h")),
    }
}

/// Time before each slice that is not measured, `0s` to `60s`.
///
/// # Errors
/// Not a time, or out of range.
pub fn rewarm(text: &str) -> Result<f64, String> {
    let seconds = match humantime::parse_duration(text) {
        Ok(none) if none.is_zero() => 0.0,
        _ => seconds(text)?,
    };
    match seconds <= 60.0 {
        true => Ok(seconds),
        false => Err(format!("'{text}' is out of range: a warm-up must be 0s to 60s")),
    }
}

/// Interval between looks, `10ms` to `1h`: a look may take some milliseconds on busy CPUs.
///
/// # Errors
/// Not a time, or out of range.
pub fn look_interval(text: &str) -> Result<f64, String> {
    let seconds = seconds(text)?;
    match (0.01..=3600.0).contains(&seconds) {
        true => Ok(seconds),
        false => Err(format!("'{text}' is out of range: looks must be 10ms to 1h apart")),
    }
}

/// Interval between looks at a server's statistics, `1s` to `1h`.
///
/// # Errors
/// Not a time, or out of range.
pub fn observe_interval(text: &str) -> Result<f64, String> {
    let seconds = seconds(text)?;
    match (1.0..=3600.0).contains(&seconds) {
        true => Ok(seconds),
        false => {
            Err(format!("'{text}' is out of range: looks at a server's statistics must be 1s to 1h apart"))
        }
    }
}

/// A word for a state, of 1 to 64 letters, digits, dots, hyphens and underscores.
///
/// # Errors
/// Another text.
pub fn state(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_');
    match !text.is_empty() && text.chars().count() <= 64 && text.chars().all(is_word) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "'{text}' is not a word for a state: 1 to 64 letters, digits, dots, hyphens and underscores, such as smt-off"
        )),
    }
}

/// A price per hour, from 0 to a million.
///
/// # Errors
/// Not such a number.
pub fn price(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.trim().parse().ok();
    let price = value.filter(|price| (0.0..=1e6).contains(price));
    price
        .ok_or_else(|| format!("'{text}' is not a price an hour: write a number such as 0.25, up to 1000000"))
}

/// A window of busy times, `100ms` to `1h`: the kernel counts them in ticks of 10 ms.
///
/// # Errors
/// Not a time, or out of range.
pub fn busy_interval(text: &str) -> Result<f64, String> {
    let seconds = seconds(text)?;
    match (0.1..=3600.0).contains(&seconds) {
        true => Ok(seconds),
        false => Err(format!("'{text}' is out of range: busy times must be read 100ms to 1h apart")),
    }
}

/// A whole number of sessions, jobs or threads.
///
/// # Errors
/// Not a whole number.
pub fn count(text: &str) -> Result<u32, String> {
    let text = text.trim();
    text.parse().map_err(|_| format!("'{text}' is not a whole number: write numbers such as 1,2,4"))
}

/// A share from `2%` or `0.02`, between 0.1% and 50%.
///
/// # Errors
/// Not such a share.
pub fn share(text: &str) -> Result<f64, String> {
    let (digits, scale) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 0.01));
    let value: f64 =
        digits.trim().parse().map_err(|_| format!("'{text}' is not a share: write 2% or 0.02"))?;
    let value = value * scale;
    if !(0.001..=0.5).contains(&value) {
        return Err(format!("'{text}' is out of range: between 0.1% and 50%"));
    }
    Ok(value)
}

/// A share of a server, `1%` to `200%`.
///
/// # Errors
/// Not such a share.
pub fn server_share(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.strip_suffix('%').and_then(|digits| digits.trim().parse().ok());
    percent
        .filter(|percent| (1.0..=200.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("'{text}' is not a share of a server: write 50%, up to 200%"))
}

/// A number above 0, such as `1106`, `113,246,628` or `1.1e8`.
///
/// # Errors
/// Not such a number.
pub fn positive(text: &str) -> Result<f64, String> {
    let digits: String = text.chars().filter(|c| !matches!(c, ',' | '_')).collect();
    let value = digits.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| format!("'{text}' is not a number above 0"))
}

/// A share of a whole from `0.26%` or `0.0026`, above 0 and at most 100%.
///
/// # Errors
/// Not such a share.
pub fn percent(text: &str) -> Result<f64, String> {
    let (digits, scale) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 0.01));
    let value =
        positive(digits).map_err(|_| format!("'{text}' is not a share: write 0.26% or 0.0026"))? * scale;
    match value <= 1.0 {
        true => Ok(value),
        false => Err(format!("'{text}' is more than 100%: write 0.26% or 0.0026")),
    }
}

/// A list of logical CPUs such as `0-3,8`.
///
/// # Errors
/// Not such a list, or an empty one.
pub fn cpu_list(text: &str) -> Result<CpuSet, String> {
    let cpus = CpuSet::parse_list(text).map_err(|error| error.to_string())?;
    if cpus.is_empty() { Err("the list of logical CPUs is empty".to_owned()) } else { Ok(cpus) }
}

/// `key=value`.
///
/// # Errors
/// No `=`, or an empty key.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!("'{text}' is not KEY=VALUE, such as work_unit=16")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_need_a_unit() {
        assert_eq!(seconds("90s"), Ok(90.0));
        assert_eq!(seconds("1m30s"), Ok(90.0));
        assert_eq!(seconds("50ms"), Ok(0.05));
        assert!(seconds("90").is_err() && seconds("0s").is_err() && seconds("soon").is_err());
    }

    #[test]
    fn slices_and_counts_say_what_they_take() {
        assert_eq!((slice("50ms"), count(" 4 ")), (Ok(0.05), Ok(4)));
        assert_eq!(slice("1ns").unwrap_err(), "'1ns' is out of range: a slice must be 1ms to 1h");
        assert_eq!((rewarm("30ms"), rewarm("0s")), (Ok(0.03), Ok(0.0)));
        assert_eq!(rewarm("2m").unwrap_err(), "'2m' is out of range: a warm-up must be 0s to 60s");
        assert!(slice("2h").is_err() && slice("50").is_err());
        assert_eq!(count("two").unwrap_err(), "'two' is not a whole number: write numbers such as 1,2,4");
        assert!(count("-1").is_err() && count("").is_err() && count("5000000000").is_err());
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-2,8").unwrap().len(), 4);
        assert!(cpu_list("").is_err() && cpu_list("a").is_err() && cpu_list("3-1").is_err());
    }

    #[test]
    fn shares() {
        assert_eq!(share("2%"), Ok(0.02));
        assert_eq!(share("0.02"), Ok(0.02));
        assert!(share("2").is_err() && share("0%").is_err() && share("x%").is_err() && share("NaN").is_err());
    }

    #[test]
    fn numbers_may_have_groups_and_shares_a_sign() {
        assert_eq!((positive("113,246,628"), positive("1e6")), (Ok(113_246_628.0), Ok(1e6)));
        assert!(["0", "-1", "inf", "NaN", "x", ""].into_iter().all(|text| positive(text).is_err()));
        assert!((percent("0.26%").unwrap() - 0.0026).abs() < 1e-12 && percent("1") == Ok(1.0));
        assert!(percent("26").is_err() && percent("0%").is_err() && percent("120%").is_err());
    }

    #[test]
    fn pairs_need_a_key() {
        assert_eq!(key_value("work_unit = 4"), Ok(("work_unit".into(), "4".into())));
        assert!(key_value("work_unit").is_err() && key_value("=1").is_err());
    }
}
