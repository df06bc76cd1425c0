//! Rows a second of processes while a sibling was busy against those while none was: least squares over the
//! process-slices of one block.
//!
//! rows = a · seconds alone + b · seconds beside a busy sibling, through the origin, each process-slice weighted by the
//! reciprocal of its time, since the variance of counted work grows with the time that it is counted over (Draper, Smith,
//! *Applied Regression Analysis*, chapter 9, weighted least squares). The block's number is ln(b / a): a block is the
//! unit, and nothing is inferred from the scatter of slices or looks inside of it.

use serde::Serialize;

/// What one process did in one slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessSlice {
    /// Rows.
    pub rows: f64,
    /// Seconds in which it ran and no other process of its query ran on a sibling.
    pub alone_s: f64,
    /// Seconds in which it ran and one did.
    pub shared_s: f64,
}

/// Why a block has no ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gap {
    /// Nothing was counted, or too little was looked at.
    Unsampled,
    /// Of the logical CPUs of the run no two are known to share a core.
    NoSiblings,
    /// One process has nobody beside it.
    OneProcess,
    /// No sibling was busy, or hardly ever.
    NeverBusy,
    /// A sibling was busy nearly all the time.
    AlwaysBusy,
    /// The two rates cannot be told apart: all processes shared their core for about the same part of their time.
    Alike,
    /// Rows scatter so much that a rate came out below 0.
    Scatter,
}

impl Gap {
    /// In words, to stand behind a colon.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unsampled => "too few looks at its processes: a scan has to take longer (rows)",
            Self::NoSiblings => "no core has two threads here",
            Self::OneProcess => "one process scans alone",
            Self::NeverBusy => "no worker's sibling was busy",
            Self::AlwaysBusy => "every worker's sibling was always busy",
            Self::Alike => "all workers shared their cores for the same part of their time",
            Self::Scatter => "rows scatter too much to tell two rates apart",
        }
    }
}

/// Least share of the processes' time that both kinds of time have to have.
const LEAST_SHARE: f64 = 0.02;

/// Least share of the spread of times that is not common to both columns of the fit, 1 − r² of the weighted columns: below
/// it a rate would be told from differences that the looks themselves make.
const LEAST_APART: f64 = 0.02;

/// ln(b / a) of a block.
///
/// # Errors
/// Why it cannot be told.
pub fn log_ratio(slices: &[ProcessSlice]) -> Result<f64, Gap> {
    let sum = |seconds: fn(&ProcessSlice) -> f64| slices.iter().map(seconds).sum::<f64>();
    let (alone_s, shared_s) = (sum(|one| one.alone_s), sum(|one| one.shared_s));
    let whole_s = alone_s + shared_s;
    if whole_s.is_nan() || whole_s <= 0.0 {
        return Err(Gap::Unsampled);
    }
    match shared_s / whole_s {
        share if share < LEAST_SHARE => return Err(Gap::NeverBusy),
        share if share > 1.0 - LEAST_SHARE => return Err(Gap::AlwaysBusy),
        _ => {}
    }
    let (mut aa, mut ab, mut bb, mut ra, mut rb) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for ProcessSlice { rows, alone_s, shared_s } in
        slices.iter().filter(|one| one.alone_s + one.shared_s > 0.0)
    {
        let weight = 1.0 / (alone_s + shared_s);
        aa += weight * alone_s * alone_s;
        ab += weight * alone_s * shared_s;
        bb += weight * shared_s * shared_s;
        ra += weight * rows * alone_s;
        rb += weight * rows * shared_s;
    }
    let determinant = aa * bb - ab * ab;
    if determinant.is_nan() || determinant <= LEAST_APART * aa * bb {
        return Err(Gap::Alike);
    }
    let (alone, shared) = ((ra * bb - rb * ab) / determinant, (rb * aa - ra * ab) / determinant);
    match alone > 0.0 && shared > 0.0 {
        true => Ok((shared / alone).ln()),
        false => Err(Gap::Scatter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(rows: f64, alone_s: f64, shared_s: f64) -> ProcessSlice {
        ProcessSlice { rows, alone_s, shared_s }
    }

    #[test]
    fn rates_that_were_put_in_come_out() {
        // 1000 rows a second alone, 600 beside a busy sibling.
        let made =
            |alone_s: f64, shared_s: f64| slice(1000.0 * alone_s + 600.0 * shared_s, alone_s, shared_s);
        let block = [made(1.0, 0.0), made(0.2, 0.8), made(0.5, 0.5), made(0.0, 1.0)];
        assert!((log_ratio(&block).unwrap() - 0.6f64.ln()).abs() < 1e-12);
        // Two kinds alone need no model: 1000 against 600.
        assert!((log_ratio(&[made(2.0, 0.0), made(0.0, 1.0)]).unwrap().exp() - 0.6).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_told_is_a_gap() {
        let gap = |slices: &[ProcessSlice]| log_ratio(slices).unwrap_err();
        assert_eq!(gap(&[]), Gap::Unsampled);
        assert_eq!(gap(&[slice(5.0, f64::NAN, 1.0)]), Gap::Unsampled);
        assert_eq!(gap(&[slice(900.0, 1.0, 0.0), slice(900.0, 1.0, 0.01)]), Gap::NeverBusy);
        assert_eq!(gap(&[slice(900.0, 0.0, 1.0), slice(900.0, 0.01, 1.0)]), Gap::AlwaysBusy);
        assert_eq!(gap(&[slice(900.0, 0.5, 0.5), slice(850.0, 0.5, 0.5)]), Gap::Alike);
        assert_eq!(gap(&[slice(9.0, 1.0, 0.0), slice(0.0, 0.0, 1.0)]), Gap::Scatter);
    }
}
