//! What a pod knows of its node: the share of CPUs that it requested, by the downward API. No other pod's request can
//! use that share. `limits.cpu` of a container without a limit is the node's allocatable CPUs ("Downward API",
//! Kubernetes' documentation).

use super::manifest::{LIMIT, POD, REQUESTED};
use crate::engine::{Ask, OnNode};

/// Minimum share of a node's allocatable CPUs that a pod must request to count as alone there. The rest is for the
/// node's own pods.
const LEAST_PART: f64 = 0.75;

pub(super) fn on_node(ask: &Ask<'_>) -> OnNode {
    let Some(pod) = (ask.variable)(POD) else {
        let evidence = vec![format!("{POD} is not set: the cell was not started by a pod of the plan")];
        return OnNode { evidence, ..OnNode::default() };
    };
    let cpus = |name: &str| (ask.variable)(name)?.parse::<u64>().ok().filter(|millis| *millis > 0);
    let (evidence, against) = match cpus(REQUESTED).zip(cpus(LIMIT)) {
        Some((requested, limit)) => said(requested, limit),
        None => ("the pod's CPU request could not be read".to_owned(), None),
    };
    // The node is not compared with the plan's: the scheduler has matched that label, which may differ from the name.
    OnNode { job: Some(pod), node: None, evidence: vec![evidence], against }
}

fn said(requested: u64, limit: u64) -> (String, Option<String>) {
    let shown = |millis: u64| format!("{}", millis as f64 / 1000.0);
    if requested == limit {
        // A machine's manifest has no limit, and requesting all allocatable CPUs means being alone.
        return (
            format!("the pod has requested {} CPUs, which is all that it may use", shown(requested)),
            None,
        );
    }
    let rest = shown(limit.saturating_sub(requested));
    let evidence = format!(
        "the pod has requested {} of {} allocatable CPUs: other pods have requested at most {rest}, and pods without \
         requests may run",
        shown(requested),
        shown(limit)
    );
    let is_enough = requested as f64 >= LEAST_PART * limit as f64;
    let against = (!is_enough).then(|| {
        format!(
            "the pod has requested {} of {} allocatable CPUs, so pods that request {rest} may run beside it: raise cpu in \
             engine_options to at least {}",
            shown(requested),
            shown(limit),
            shown((LEAST_PART * limit as f64).ceil() as u64)
        )
    });
    (evidence, against)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(requested: Option<&str>, limit: Option<&str>) -> OnNode {
        let variable = |name: &str| match name {
            POD => Some("tw-1-n1-1-0-abcde".to_owned()),
            REQUESTED => requested.map(str::to_owned),
            LIMIT => limit.map(str::to_owned),
            _ => None,
        };
        on_node(&Ask { variable: &variable, printed: &|_| None, online_cpus: Some(8) })
    }

    #[test]
    fn a_pod_that_leaves_room_for_others_is_not_alone() {
        let alone = asked(Some("7500"), Some("7910"));
        assert_eq!(
            (alone.job.as_deref(), alone.node, alone.against),
            (Some("tw-1-n1-1-0-abcde"), None, None)
        );
        assert!(
            alone.evidence[0].contains("7.5 of 7.91") && alone.evidence[0].contains("at most 0.41"),
            "{:?}",
            alone.evidence
        );
        let shared = asked(Some("4000"), Some("7910"));
        assert!(shared.against.unwrap().contains("to at least 5.933"));
        assert_eq!(asked(Some("5933"), Some("7910")).against, None);
    }

    #[test]
    fn a_pod_with_limits_says_what_it_has_and_one_that_cannot_say_claims_nothing() {
        assert!(asked(Some("4000"), Some("4000")).evidence[0].contains("all that it may use"));
        for (requested, limit) in [(None, Some("4000")), (Some("x"), Some("4000")), (Some("0"), Some("4000"))]
        {
            let unknown = asked(requested, limit);
            assert!(unknown.evidence[0].contains("could not be read") && unknown.against.is_none());
        }
        let outside = on_node(&Ask { variable: &|_| None, printed: &|_| None, online_cpus: None });
        assert!(outside.job.is_none() && outside.evidence[0].contains("not started by a pod"));
    }
}
