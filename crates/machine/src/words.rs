//! Figures as people read them, for crates that have nothing else in common.

/// Bytes for people: `12 bytes`, `1.5 GiB`.
pub fn bytes(bytes: u64) -> String {
    let units = [(1_u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_units() {
        let shown = [0, 1023, 1024, 150 << 10, 3 << 29, 3 << 40, u64::MAX].map(bytes);
        let texts = ["0 bytes", "1023 bytes", "1.0 KiB", "150.0 KiB", "1.5 GiB", "3.0 TiB", "16777216.0 TiB"];
        assert_eq!(shown, texts);
    }
}
