//! Quantiles of a sample.
//!
//! Source: Hyndman, Fan, "Sample quantiles in statistical packages", *The American Statistician* 50 (1996), definition 7.

/// The quantile of ascending values at a share, interpolated between neighbours.
///
/// Degenerate cases: no values, or a share outside 0 to 1, give `None`.
pub fn quantile(ascending: &[f64], share: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&share) {
        return None;
    }
    let at = share * (ascending.len().checked_sub(1)? as f64);
    let (below, rest) = (at.floor() as usize, at.fract());
    let low = ascending[below];
    let high = ascending.get(below + 1).copied().unwrap_or(low);
    Some(low + rest * (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_definition_7() {
        // R: quantile(c(1, 2, 4, 8), c(0, 0.25, 0.5, 0.9, 1)).
        let at = |share| quantile(&[1.0, 2.0, 4.0, 8.0], share);
        assert_eq!([0.0, 0.25, 0.5, 1.0].map(at), [1.0, 1.75, 3.0, 8.0].map(Some));
        assert!((at(0.9).unwrap() - 6.8).abs() < 1e-12);
        assert_eq!((quantile(&[], 0.5), at(1.5), at(f64::NAN)), (None, None, None));
    }
}
