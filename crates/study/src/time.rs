//! Times as they are typed on the command line: `45s`, `4m`, `1h30m`.

/// Parses a time as a number of seconds.
pub fn typed(seconds: f64) -> String {
    if seconds <= 120.0 || seconds.fract() != 0.0 {
        return format!("{seconds}s");
    }
    let whole = seconds as u64;
    let parts = [(whole / 3600, 'h'), (whole / 60 % 60, 'm'), (whole % 60, 's')];
    parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect()
}

/// Formats seconds in the same way, rounded up to a convenient value.
pub fn typed_up(seconds: f64) -> String {
    let step = match seconds {
        s if s <= 120.0 => 5.0,
        s if s <= 600.0 => 30.0,
        s if s <= 3600.0 => 60.0,
        _ => 300.0,
    };
    typed((seconds / step).ceil() * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_typed_without_spaces() {
        assert_eq!([2.5, 60.0, 120.0, 150.0, 3600.0].map(typed), ["2.5s", "60s", "120s", "2m30s", "1h"]);
        assert_eq!(typed(5430.0), "1h30m30s");
    }

    #[test]
    fn what_is_rounded_is_never_less() {
        assert_eq!([0.1, 41.0, 121.0, 231.0, 601.0].map(typed_up), ["5s", "45s", "2m30s", "4m", "11m"]);
        assert_eq!(typed_up(3601.0), "1h5m");
    }
}
