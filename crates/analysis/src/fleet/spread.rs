//! Where the spread of a comparison on a kind of machine comes from, and what would narrow its interval.

use super::judged::{LevelSd, Needed, RECOMMENDED_MACHINES, Range, Spread};
use super::machines::Series;
use threadwise_statistics::{Component, Level, chi_squared_quantile, components, own_share, t_quantile};

/// No more machines are searched for.
const MOST_MACHINES: u32 = 10_000;

/// The spread of a series; `None` with fewer than two machines.
pub(super) fn spread(series: &Series, margin: f64, alpha: f64) -> Option<Spread> {
    let mean = series.mean().filter(|mean| mean.n >= 2)?;
    let found = components(&series.values);
    let machines = mean.n as f64;
    let sd = mean.standard_error * machines.sqrt();
    let width = |variance: f64, machines: f64| {
        let t = t_quantile(1.0 - alpha / 2.0, machines - 1.0)?;
        Some((t * (variance / machines).sqrt()).exp_m1())
    };
    let boots = series.values.iter().map(Vec::len).sum::<usize>() as f64 / machines;
    let studies = series.values.iter().flatten().map(Vec::len).sum::<usize>() as f64 / machines;
    // By how much the components say that the variance of a machine's mean would fall.
    let factor = |boots_times: f64, studies_times: f64| {
        let variance = |boots: f64, studies: f64| by_components(&found, boots, studies);
        let now = variance(boots, studies).filter(|now| *now > 0.0)?;
        Some(variance(boots * boots_times, studies * studies_times)? / now)
    };
    let narrowed = |factor: Option<f64>| width(sd * sd * factor?, machines);
    let twice_boots = factor(2.0, 2.0).filter(|_| tells_apart(&found, Level::Group));
    let twice_repeats = factor(1.0, 2.0).filter(|_| tells_apart(&found, Level::Value));
    let bounds = own_share(&series.values, alpha);
    Some(Spread {
        components: found.iter().map(level_sd).collect(),
        own_share: bounds.map(|(low, high)| Range { low, high }),
        half_width: width(sd * sd, machines)?,
        with_twice_the_machines: width(sd * sd, 2.0 * machines)?,
        with_twice_the_boots: narrowed(twice_boots),
        with_twice_the_repeats: narrowed(twice_repeats),
        machines_for_margin: machines_for(sd, mean.n, margin, alpha),
    })
}

/// Whether a level has a component of its own.
fn tells_apart(components: &[Component], level: Level) -> bool {
    components.iter().any(|component| component.levels == [level])
}

/// The variance of a machine's mean over so many boots and studies; `None` without components.
fn by_components(components: &[Component], boots: f64, studies: f64) -> Option<f64> {
    let part = |component: &Component| match component.levels.first() {
        Some(Level::Group) => component.variance,
        Some(Level::Subgroup) => component.variance / boots,
        _ => component.variance / studies,
    };
    (!components.is_empty()).then(|| components.iter().map(part).sum())
}

fn level_sd(component: &Component) -> LevelSd {
    let word = |level: &Level| match level {
        Level::Group => "machine",
        Level::Subgroup => "boot",
        Level::Value => "repeat",
    };
    LevelSd { levels: component.levels.iter().map(word).collect(), sd: component.variance.sqrt() }
}

/// Machines whose mean has an interval of at most the margin to either side, from the standard deviation of machine means
/// that `machines` of them show, and from the ends of its interval (chi-squared, Hahn and Meeker 1991, chapter 4).
///
/// `None` where the interval is there already, and with fewer machines than tell.
pub fn machines_for(sd: f64, machines: usize, margin: f64, alpha: f64) -> Option<Needed> {
    let degrees = machines.saturating_sub(1) as f64;
    if machines < RECOMMENDED_MACHINES || fewest(sd, margin, alpha) <= machines as u32 {
        return None;
    }
    let end = |p: f64| Some(sd * (degrees / chi_squared_quantile(p, degrees)?).sqrt());
    let (low, high) = (end(1.0 - alpha / 2.0)?, end(alpha / 2.0)?);
    let [about, least, most] = [sd, low, high].map(|sd| fewest(sd, margin, alpha));
    Some(Needed { about, least, most })
}

/// The fewest machines whose interval is within the margin.
pub fn fewest(sd: f64, margin: f64, alpha: f64) -> u32 {
    let is_within = |machines: u32| {
        let t = t_quantile(1.0 - alpha / 2.0, f64::from(machines - 1));
        t.is_some_and(|t| t * sd / f64::from(machines).sqrt() <= margin.ln_1p())
    };
    // The half-width falls with every machine.
    let (mut below, mut enough) = (1, 2);
    while enough < MOST_MACHINES && !is_within(enough) {
        (below, enough) = (enough, enough * 2);
    }
    let mut enough = enough.min(MOST_MACHINES);
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        if is_within(middle) { enough = middle } else { below = middle }
    }
    enough
}
