//! Rates that the output of a command tells.

use super::types::SAID;
use threadwise_study::command::{self, Better, MetricSpec, PIN_SERVER};
use threadwise_study::{OptionValue, Study, Treatment};

/// A rate that the output tells: work done over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// Metric name among the figures.
    pub metric: String,
    /// A unit of the work, for people: `tx`, `query`, `unit of score`.
    pub unit: String,
    /// Seconds that the rate is over.
    pub seconds: f64,
}

/// Whether a treatment has a server bound with it, whose CPU time then counts with the command's.
pub fn has_server(treatment: &Treatment) -> bool {
    treatment.options.contains_key(PIN_SERVER)
}

/// The rate that says how much a run did: the headline, if it is one, else the first that there is.
pub fn rate(study: &Study) -> Option<Rate> {
    let asked = study.treatments.iter().find_map(|treatment| treatment.options.get("headline"));
    let asked = asked.map(OptionValue::to_string).unwrap_or_default();
    let asked = asked.strip_prefix(SAID).unwrap_or(&asked);
    let rates: Vec<(MetricSpec, Rate)> =
        specs(study).filter_map(|spec| of_metric(&spec).map(|rate| (spec, rate))).collect();
    let at = rates.iter().position(|(spec, _)| spec.name == asked).unwrap_or(0);
    rates.into_iter().nth(at).map(|(_, rate)| rate)
}

/// Metrics of all treatments, which mostly have the same.
pub fn specs(study: &Study) -> impl Iterator<Item = MetricSpec> {
    study.treatments.iter().flat_map(|treatment| command::metrics(&treatment.options))
}

fn of_metric(spec: &MetricSpec) -> Option<Rate> {
    let times = [("/s", 1.0), ("/min", 60.0)];
    let (what, seconds) =
        times.iter().find_map(|(end, seconds)| Some((spec.unit.strip_suffix(end)?, *seconds)))?;
    let unit = match what {
        "" | "1" => format!("unit of {}", spec.name),
        what => singular(what),
    };
    let metric = format!("{SAID}{}", spec.name);
    (spec.better == Better::Higher).then_some(Rate { metric, unit, seconds })
}

/// `queries` is a plural in a unit, and `tx` or `MB` is not.
fn singular(unit: &str) -> String {
    match (unit.strip_suffix("ies"), unit.strip_suffix('s')) {
        (Some(stem), _) if !stem.is_empty() => format!("{stem}y"),
        (None, Some(stem)) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => unit.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn rates_name_what_they_are_of() {
        let found = |name: &str, text: &str| {
            of_metric(&MetricSpec::parse(name, text).unwrap()).map(|rate| (rate.unit, rate.seconds))
        };
        assert_eq!(found("tps", "tx/s higher regex:x"), Some(("tx".into(), 1.0)));
        assert_eq!(found("nopm", "orders/min higher regex:x"), Some(("order".into(), 60.0)));
        assert_eq!(found("qps", "queries/s higher regex:x"), Some(("query".into(), 1.0)));
        assert_eq!(found("score", "1/s higher regex:x"), Some(("unit of score".into(), 1.0)));
        assert_eq!(found("gas", "gas/s higher regex:x"), Some(("gas".into(), 1.0)));
        assert_eq!(found("late", "ms lower regex:x"), None);
        assert_eq!(found("db_cpu", "s/s none regex:x"), None);
        assert_eq!(found("misses", "misses/s lower regex:x"), None);
    }
}
