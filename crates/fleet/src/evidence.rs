//! Whether a cell has the machine to itself: by the system (allowed and online CPUs, a quota), and by the engine. Pure.

use crate::engine::OnNode;
use crate::file::Measures;
use threadwise_machine::CpuSet;

/// Facts of the system about this process.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cpus {
    /// Online logical CPUs; `None` if unknown.
    pub online: Option<CpuSet>,
    /// Those that this process may use.
    pub allowed: Option<CpuSet>,
    /// A CPU quota in CPUs, such as 1.5.
    pub quota_cpus: Option<f64>,
}

/// The evidence that the cell has the machine to itself, one line each; or in one line why it does not.
///
/// # Errors
/// The refusal, with what to do.
pub fn judged(cpus: &Cpus, on_node: &OnNode, measures: Measures) -> Result<Vec<String>, String> {
    let mut evidence = Vec::new();
    let mut against = Vec::new();
    match (&cpus.allowed, &cpus.online) {
        (Some(allowed), Some(online)) if allowed == online => {
            evidence.push(format!("all online logical CPUs ({}) are allowed", online));
        }
        (Some(allowed), Some(online)) => against.push(format!(
            "this job may run on the logical CPUs {} of {}: ask the engine for the whole machine (Slurm: --exclusive)",
            allowed,
            online
        )),
        _ => evidence.push("it is unknown whether all online logical CPUs are allowed".to_owned()),
    }
    if let Some(quota) = cpus.quota_cpus {
        against.push(format!("a CPU quota of {quota} limits this job: run it without a CPU limit"));
    }
    against.extend(on_node.against.clone());
    evidence.extend(on_node.evidence.clone());
    match measures {
        Measures::Machine if !against.is_empty() => Err(against.join("; ")),
        Measures::Machine => Ok(evidence),
        Measures::Share => {
            evidence
                .extend(against.into_iter().map(|line| format!("a share of a machine is measured: {line}")));
            Ok(evidence)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(online: &str, allowed: &str, quota_cpus: Option<f64>) -> Cpus {
        let set = |list: &str| CpuSet::parse_list(list).ok();
        Cpus { online: set(online), allowed: set(allowed), quota_cpus }
    }

    #[test]
    fn a_machine_is_the_cells_alone_or_it_is_refused() {
        let quiet = OnNode { evidence: vec!["the engine says so".into()], ..OnNode::default() };
        let said = judged(&cpus("0-3", "0-3", None), &quiet, Measures::Machine).unwrap();
        assert_eq!(said, ["all online logical CPUs (0-3) are allowed", "the engine says so"]);
        let shared = OnNode { against: Some("others may run here".into()), ..OnNode::default() };
        for (cpus, on_node, why) in [
            (cpus("0-3", "0", None), &quiet, "0 of 0-3"),
            (cpus("0-3", "0-3", Some(1.5)), &quiet, "quota of 1.5"),
            (cpus("0-3", "0-3", None), &shared, "others may run here"),
        ] {
            let refusal = judged(&cpus, on_node, Measures::Machine).unwrap_err();
            assert!(refusal.contains(why), "{refusal}");
            // A share is measured all the same, and says so.
            let share = judged(&cpus, on_node, Measures::Share).unwrap();
            assert!(share.iter().any(|line| line.contains(why) && line.starts_with("a share")), "{share:?}");
        }
        let unknown = judged(&Cpus::default(), &OnNode::default(), Measures::Machine).unwrap();
        assert!(unknown[0].contains("it is unknown whether"));
    }
}
