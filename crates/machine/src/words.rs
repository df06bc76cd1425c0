//! Formatting figures, for crates that share nothing else.

/// Bytes with a unit, with three digits unless they are a whole number of the unit: `12 bytes`, `32 KiB`, `35.8 MiB`.
pub fn bytes(bytes: u64) -> String {
    let units = [(1_u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
    };
    let value = bytes as f64 / unit as f64;
    let decimals = match value {
        _ if bytes.is_multiple_of(unit) => 0,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {name}")
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_units() {
        let shown = [0, 1, 1023, 1024, 37_500_000, 3 << 29, 3 << 40, u64::MAX].map(bytes);
        let texts =
            ["0 bytes", "1 byte", "1023 bytes", "1 KiB", "35.8 MiB", "1.50 GiB", "3 TiB", "16777216 TiB"];
        assert_eq!(shown, texts);
    }
}
