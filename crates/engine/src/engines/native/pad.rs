//! Padding around values that several threads write, so that no two share a cache line.

/// A value on cache lines of its own: 128 bytes, since processors fetch lines of 64 bytes in pairs
/// (Intel 64 and IA-32 Architectures Optimization Reference Manual, "spatial prefetcher"), and lines
/// of 128 bytes exist.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_no_line() {
        let pair = [Padded(1_u8), Padded(2)];
        assert_eq!(size_of_val(&pair), 256);
        assert_eq!((&raw const pair[0]).addr() % 128, 0);
        assert_eq!(pair[0].0 + pair[1].0, 3);
    }
}
