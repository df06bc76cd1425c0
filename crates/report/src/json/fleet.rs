//! A fleet: what was judged, with the studies that it was judged from.

use super::form::{VERSION, merged, pretty};
use serde_json::{Value, json};
use threadwise_analysis::fleet::{Fleet, FleetStudy, Judged};

/// `{"version", "title", "study", "repeats", "studies"}` with the fields of [`Judged`]. What
/// tells machines apart is a hash of their ids, and not in it.
pub fn fleet(fleet: &Fleet, judged: &Judged) -> String {
    let head = json!({
        "version": VERSION,
        "title": fleet.title,
        "study": fleet.study,
        "repeats": fleet.repeats,
        "studies": fleet.studies.iter().map(study).collect::<Value>(),
    });
    pretty(&merged(json!(judged), head))
}

fn study(study: &FleetStudy) -> Value {
    json!({
        "source": study.source, "kind": study.kind, "node": study.node, "boot": study.boot,
        "repeat": study.repeat, "simulated": study.is_simulated, "stopped": study.is_stopped,
        "problem": study.problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_analysis::fleet::{self, Absence, FleetRatio};

    #[test]
    fn a_fleet_is_judged_numbers_with_what_they_come_from() {
        let study = |machine: &str, ln_ratio: f64| FleetStudy {
            source: format!("{machine}.1/study.threadwise"),
            kind: "a".into(),
            machine: format!("hash of {machine}"),
            node: machine.into(),
            boot: format!("boot of {machine}"),
            repeat: 1,
            is_simulated: true,
            level: 0.95,
            ratios: vec![FleetRatio { name: "two / one".into(), ln_ratio, ..FleetRatio::default() }],
            ..FleetStudy::default()
        };
        let gone =
            fleet::Absent { kind: "a".into(), node: "n4".into(), repeat: 1, ..fleet::Absent::default() };
        let gone = fleet::Absent { reason: Absence::Refused, why: "busy".into(), ..gone };
        let fleet = Fleet {
            study: "s".into(),
            kinds: vec![fleet::Kind { name: "a".into(), machines_planned: 4, ..fleet::Kind::default() }],
            repeats: 1,
            studies: vec![study("n1", 0.1), study("n2", 0.2), study("n3", 0.15)],
            absent: vec![gone],
            ..Fleet::default()
        };
        let text = super::fleet(&fleet, &fleet::judge(&fleet));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["version"], &value["simulated"]), (&json!(1), &json!(true)));
        assert_eq!(value["studies"][1]["node"], "n2");
        assert_eq!(value["absent"][0]["reason"], "refused");
        assert_eq!(value["absent"][0]["cells"][0], json!({"node": "n4", "repeat": 1, "why": "busy"}));
        assert_eq!(value["kinds"][0]["machines"], 3);
        assert!(!text.contains("hash of"), "{text}");
    }
}
