//! Published measurements: the list of them, one with all its figures, and one beside a study.

use super::form::{VERSION, each_object, merged, pretty};
use serde_json::{Value, json};
use threadwise_analysis::Facts;
use threadwise_analysis::published::beside_any;
use threadwise_published::Published;

/// The published studies, each with the command that redoes it.
pub fn published_list(all: &[Published]) -> String {
    let line = |one: &Published| json!({"name": one.name, "section": one.section, "about": one.about, "command": one.command});
    pretty(&json!({"version": VERSION, "published": all.iter().map(line).collect::<Value>()}))
}

/// All of one; each figure with its number, what follows for it from others, and the command that redoes it.
pub fn published(one: &Published) -> String {
    let mut value = json!(one);
    each_object(&mut value["figures"], &|fields| {
        let Some(figure) = fields.get("id").and_then(Value::as_str).and_then(|id| one.figure(id)) else {
            return;
        };
        let more = json!({
            "number": figure.number(), "computed": one.computed(&figure.id), "printed": figure.is_printed(),
            "slip": one.slip(&figure.id).map(|slip| &slip.text),
            "command": one.redo_figure(figure).ok(), "missing": one.redo_figure(figure).err(),
        });
        fields.extend(more.as_object().cloned().unwrap_or_default());
    });
    pretty(&merged(value, json!({"version": VERSION})))
}

/// One beside a result file.
pub fn published_beside(facts: &Facts<'_>, one: &Published) -> String {
    let study = json!({
        "file": facts.source, "name": facts.study.name, "engine": facts.study.engine,
        "engine_version": facts.engine_version, "workload": facts.study.workload,
        "created_utc": facts.created_utc, "simulated": facts.is_simulated(),
    });
    pretty(&json!({"version": VERSION, "study": study, "beside": beside_any(facts, one)}))
}
