//! Old names beside the new ones: what others build on stays (docs/JSON.md). A co-runner was called
//! stranger, the recipe of a work list its chain.

use serde_json::Value;

/// The object with each field whose name begins with `co_runner` once more under its old name.
pub fn beside(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        let old = |name: &str| Some(format!("stranger{}", name.strip_prefix("co_runner")?));
        let renamed: Vec<(String, Value)> =
            fields.iter().filter_map(|(name, value)| Some((old(name)?, value.clone()))).collect();
        fields.extend(renamed);
    }
    object
}

/// Why a block is flagged, with the old word right after the new one.
pub fn causes(causes: &[&str]) -> Value {
    let old = |cause: &str| (cause == "co-runner").then_some("stranger");
    causes.iter().flat_map(|cause| [Some(*cause), old(cause)]).flatten().collect()
}

/// The name that a value has had from the start: of a check of the doctor, or the kind of a line of a
/// verdict or of an entry of `threadwise list`. Programs pick by it, so it is not renamed.
pub fn stable(name: &str) -> &str {
    match name {
        "co-runner" => "stranger",
        "probe-co-runner" => "probe-stranger",
        "recipe" => "chain",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_renamed_field_has_both_names_and_another_one() {
        let fields = json!({"co_runner_share_max": 0.5, "co_runners": [1], "steal_share": 0.1});
        let expected = json!({
            "co_runner_share_max": 0.5, "stranger_share_max": 0.5, "co_runners": [1], "strangers": [1],
            "steal_share": 0.1,
        });
        assert_eq!(beside(fields), expected);
        assert_eq!(causes(&["steal", "co-runner"]), json!(["steal", "co-runner", "stranger"]));
        assert_eq!(["turbo", "co-runner"].map(stable), ["turbo", "stranger"]);
    }
}
