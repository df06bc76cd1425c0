//! Clock figures from APERF, MPERF and the time stamp counter, as turbostat defines them.
//!
//! Source: `tools/power/x86/turbostat/turbostat.8` (Avg_MHz, Busy%, Bzy_MHz, TSC_MHz); Intel SDM
//! volume 3, section "Hardware coordination feedback" (both registers run only outside of idle, APERF at
//! the clock of the moment, MPERF at a fixed one). On some machines MPERF's fixed clock differs from the
//! time stamp counter's by a percent or so; turbostat corrects that by a table of models, this does not.

/// The three counters at a moment or their growth over a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// IA32_APERF, or AMD's equivalent.
    pub aperf: Option<u64>,
    /// IA32_MPERF.
    pub mperf: Option<u64>,
    /// Time stamp counter.
    pub tsc: Option<u64>,
}

/// Clocks of one logical CPU over one window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Clocks {
    /// Cycles over wall-clock time, idle time included.
    pub avg_mhz: Option<f64>,
    /// Share of time not idle, in percent.
    pub busy_pct: Option<f64>,
    /// Clock while not idle.
    pub bzy_mhz: Option<f64>,
    /// Clock of the time stamp counter.
    pub tsc_mhz: Option<f64>,
    /// Why figures are missing.
    pub gap: Option<String>,
}

/// Growth of the counters between two moments. The registers have 64 bits, which last for more than a
/// hundred years at 5 GHz: one that ran backwards was reset (the logical CPU was offline, the machine
/// slept or was migrated).
///
/// # Errors
/// Which one ran backwards, in one line.
pub fn growth(before: &Counts, after: &Counts) -> Result<Counts, String> {
    let grown = |name: &str, before: Option<u64>, after: Option<u64>| match before.zip(after) {
        None => Ok(None),
        Some((before, after)) => match after.checked_sub(before) {
            Some(grown) => Ok(Some(grown)),
            None => Err(format!("{name} ran backwards: it was reset meanwhile")),
        },
    };
    Ok(Counts {
        aperf: grown("APERF", before.aperf, after.aperf)?,
        mperf: grown("MPERF", before.mperf, after.mperf)?,
        tsc: grown("the time stamp counter", before.tsc, after.tsc)?,
    })
}

/// Why a pair of growths cannot be used. Reading the registers runs on the logical CPU itself, so that
/// both grow even on an idle one.
pub fn distrust(aperf: u64, mperf: u64) -> Option<String> {
    let frozen = match (aperf, mperf) {
        (0, 0) => "APERF and MPERF do",
        (0, _) => "APERF does",
        (_, 0) => "MPERF does",
        _ => return None,
    };
    Some(format!("{frozen} not move: a hypervisor shows registers that it does not maintain"))
}

/// The figures of a window of `elapsed_ns`.
pub fn clocks(grown: &Counts, elapsed_ns: u64) -> Clocks {
    if elapsed_ns == 0 {
        return Clocks { gap: Some("the window has no length".to_owned()), ..Clocks::default() };
    }
    let mhz = |cycles: u64| cycles as f64 * 1e3 / elapsed_ns as f64;
    let tsc = grown.tsc.filter(|&tsc| tsc > 0);
    let tsc_mhz = tsc.map(mhz);
    let (Some(aperf), Some(mperf)) = (grown.aperf, grown.mperf) else {
        let gap = Some("APERF and MPERF cannot be read".to_owned());
        return Clocks { tsc_mhz, gap, ..Clocks::default() };
    };
    if let Some(why) = distrust(aperf, mperf) {
        return Clocks { tsc_mhz, gap: Some(why), ..Clocks::default() };
    }
    Clocks {
        avg_mhz: Some(mhz(aperf)),
        busy_pct: tsc.map(|tsc| 100.0 * mperf as f64 / tsc as f64),
        bzy_mhz: tsc_mhz.map(|tsc_mhz| tsc_mhz * aperf as f64 / mperf as f64),
        tsc_mhz,
        gap: tsc.is_none().then(|| "the time stamp counter does not move".to_owned()),
    }
}
