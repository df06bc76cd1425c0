//! Instances of the engine as factors: who shares one, what is compared, what is refused.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::machine;
use std::collections::BTreeMap;
use threadwise_study::load::{LoadError, Overrides, StudyFile, from_toml, to_toml};
use threadwise_study::{OptionValue, Options, Study};

const BIN: &str = "engine.bin";
const TWO: [&str; 2] = ["/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin"];

fn resolved(preset: &str, factors: &[(&str, &[&str])]) -> Result<Study, LoadError> {
    let level = |level: &&str| OptionValue::Text((*level).to_owned());
    let factors: BTreeMap<String, Vec<OptionValue>> = factors
        .iter()
        .map(|(factor, levels)| ((*factor).to_owned(), levels.iter().map(level).collect()))
        .collect();
    let overrides =
        Overrides { factors, placements: Some(vec!["1c1t".into(), "2c1t".into()]), ..Overrides::default() };
    StudyFile::preset(preset).unwrap().resolve(&machine(1, 2, 1, Some(1 << 20), Some(8 << 20)), &overrides)
}

fn compared(study: &Study) -> Vec<String> {
    let instances = study.comparisons.iter().filter(|one| one.kind.word() == "instance");
    instances.map(|one| format!("{} = {} / {}", one.name, one.treatment, one.baseline.join("+"))).collect()
}

#[test]
fn two_versions_stand_in_one_study_and_are_compared_treatment_by_treatment() {
    let study = resolved("parallel-queries", &[(BIN, &TWO)]).unwrap();
    assert_eq!(
        compared(&study),
        [
            "no-smt d1/17 : engine.bin=16 = no-smt d1/17 / no-smt d1/16+no-smt d1'/16",
            "1c1t d1/17 : engine.bin=16 = 1c1t d1/17 / 1c1t d1/16",
            "2c1t d2/17 : engine.bin=16 = 2c1t d2/17 / 2c1t d2/16",
        ]
    );
    let instances = study.instances();
    assert_eq!(instances.len(), 2);
    for (instance, bin) in instances.iter().zip(TWO) {
        for treatment in instance.iter().map(|at| &study.treatments[*at]) {
            let options = Options::from([("bin".to_owned(), OptionValue::Text(bin.to_owned()))]);
            assert_eq!(study.engine_options_of(treatment), options);
            assert!(!treatment.options.contains_key(BIN), "no option of the workload");
            assert_eq!(treatment.factors[BIN], bin);
        }
    }
    assert_eq!(from_toml(&to_toml(&study)).unwrap(), study);
}

#[test]
fn warm_and_cold_queries_have_instances_of_their_own_and_one_text_has_one() {
    let study =
        resolved("parallel-queries", &[("cache", &["warm", "cold"]), ("device", &["/a", "/b"])]).unwrap();
    assert_eq!(study.instances().len(), 4);
    let devices: Vec<_> = study
        .instances()
        .iter()
        .map(|instance| study.treatments[instance[0]].instance.device.clone())
        .collect();
    assert_eq!(devices, ["/a", "/b", "/a", "/b"].map(|device| Some(device.to_owned())));
    assert!(
        compared(&study).contains(&"1c1t d1/cold,b : device=a = 1c1t d1/cold,b / 1c1t d1/cold,a".to_owned())
    );
    assert!(
        compared(&study)
            .contains(&"1c1t d1/cold,b : cache=warm = 1c1t d1/cold,b / 1c1t d1/warm,b".to_owned())
    );
    assert_eq!(resolved("parallel-queries", &[]).unwrap().instances().len(), 1);
    assert_eq!(from_toml(&to_toml(&study)).unwrap(), study);
}

#[test]
fn levels_that_cannot_be_are_refused_before_anything_is_made() {
    let refusal = |factor: &str, levels: &[&str]| {
        resolved("parallel-queries", &[(factor, levels)]).unwrap_err().to_string()
    };
    assert!(refusal("engine.url", &["postgres://a", "postgres://b"]).contains("a study measures one server"));
    assert!(refusal("device", &["here"]).contains("absolute path of a folder"));
    assert!(refusal(BIN, &[TWO[0], TWO[0]]).contains("appears twice"));
    assert!(refusal("scale", &["1", "2"]).contains("the same for all treatments"));
    assert!(refusal("dop", &["1", "2"]).contains("--factor dop"));
    assert!(refusal("cache", &[]).contains("no level"));
}
