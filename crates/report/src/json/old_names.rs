//! Old names beside the new ones: what others build on stays (docs/JSON.md). A co-runner was called
//! stranger, the recipe of a work list its chain.

use super::form::each_object;
use serde_json::{Value, json};
use threadwise_analysis::Finding;

/// Each field whose name begins with `co_runner` once more under its old name, and the old word for a cause
/// right after the new one.
pub fn beside(value: &mut Value) {
    let old = |name: &str| Some(format!("stranger{}", name.strip_prefix("co_runner")?));
    each_object(value, &|fields| {
        let renamed: Vec<(String, Value)> =
            fields.iter().filter_map(|(name, value)| Some((old(name)?, value.clone()))).collect();
        fields.extend(renamed);
        if let Some(Value::Array(causes)) = fields.get_mut("causes")
            && let Some(at) = causes.iter().position(|cause| cause == "co-runner")
        {
            causes.insert(at + 1, "stranger".into());
        }
    });
}

/// The names that values of this field have had from the start: of a check of the doctor, or the kind of a line of
/// a verdict or of an entry of `threadwise list`. Programs pick by them, so they are not renamed.
pub fn stay(values: &mut Value, field: &str) {
    for value in values.as_array_mut().into_iter().flatten() {
        let name = match value[field].as_str() {
            Some("co-runner") => "stranger",
            Some("probe-co-runner") => "probe-stranger",
            Some("recipe") => "chain",
            _ => continue,
        };
        value[field] = name.into();
    }
}

/// Lines of a verdict, each kind under the name that it has had from the start.
pub fn findings(findings: &[Finding]) -> Value {
    let mut all = json!(findings);
    stay(&mut all, "kind");
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_field_has_both_names_and_another_one() {
        let mut fields = json!([{
            "co_runner_share_max": 0.5, "co_runners": [1], "steal_share": 0.1, "causes": ["steal", "co-runner"],
        }]);
        beside(&mut fields);
        let expected = json!([{
            "co_runner_share_max": 0.5, "stranger_share_max": 0.5, "co_runners": [1], "strangers": [1],
            "steal_share": 0.1, "causes": ["steal", "co-runner", "stranger"],
        }]);
        assert_eq!(fields, expected);
        let mut checks = json!([{"name": "turbo"}, {"name": "co-runner"}, {"found": "no name"}]);
        stay(&mut checks, "name");
        assert_eq!(checks, json!([{"name": "turbo"}, {"name": "stranger"}, {"found": "no name"}]));
    }
}
