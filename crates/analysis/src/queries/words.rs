//! Figures of queries as text.

use crate::Ratio;
use crate::findings::words::interval;

/// Nanoseconds as `390 ms` or `1.20 s`.
pub fn duration(ns: f64) -> String {
    match ns {
        ns if ns < 9.995e6 => format!("{:.2} ms", ns / 1e6),
        ns if ns < 9.995e8 => format!("{:.0} ms", ns / 1e6),
        ns if ns < 9.995e9 => format!("{:.2} s", ns / 1e9),
        ns => format!("{:.1} s", ns / 1e9),
    }
}

/// Bytes as `812 MiB`.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 9.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// Seconds as text.
pub fn seconds(s: f64) -> String {
    if s >= 99.95 { format!("{s:.0} s") } else { duration(s * 1e9) }
}

/// Why a ratio shows no difference, where its interval alone would show one or there is none.
pub fn why_not_shown(own: &Ratio) -> Option<&'static str> {
    let distance = own.value.max(1.0 / own.value);
    if own.effect {
        None
    } else if own.blocks < 2 {
        Some("1 block, no interval")
    } else if own.low <= 1.0 && own.high >= 1.0 {
        None
    } else if own.floor.is_none_or(|floor| distance <= floor) {
        Some("within the noise floor")
    } else {
        Some("not after adjusting for all comparisons")
    }
}

/// A ratio with its interval, or that there is none.
pub fn ratio(ratio: &Ratio) -> String {
    match ratio.blocks {
        0 | 1 => format!("{:.2}x (1 block, no interval)", ratio.value),
        _ => interval(ratio.value, ratio.low, ratio.high),
    }
}
