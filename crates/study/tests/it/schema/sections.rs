//! The parts of a study definition, each in the smallest one that has it.

use serde_json::Value;
use toml::Table;

/// The file itself, and what stands in it as a table or a list of tables.
pub const SECTIONS: [&str; 9] =
    ["", "design", "baseline", "treatment", "sweep", "dop", "jobs", "external", "comparison"];

/// Keys of a section with what the schema says of each, and those that are needed.
pub fn keys<'a>(schema: &'a Value, section: &str) -> (Vec<(&'a String, &'a Value)>, Vec<&'a str>) {
    let part = match section {
        "" => schema,
        "treatment" | "comparison" => &schema["properties"][section]["items"],
        _ => &schema["properties"][section],
    };
    let needed = part["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let properties = part["properties"].as_object().unwrap();
    (properties.iter().collect(), needed.iter().filter_map(Value::as_str).collect())
}

/// A definition in which the section has the keys that it needs, and no other.
pub fn smallest(section: &str) -> Table {
    let (workload, body) = match section {
        "" | "design" | "baseline" => ("logical-io", "[sweep]\n"),
        "treatment" => ("logical-io", "[[treatment]]\nplacement = \"2c1t\"\n"),
        "sweep" => ("logical-io", "[factors]\ndata = [\"l2\", \"memory\"]\n[sweep]\n"),
        "dop" => ("tpch", "[dop]\nplacements = [\"all\"]\n"),
        "jobs" => ("worklist", "[jobs]\nplacements = [\"all\"]\n"),
        "external" => (
            "logical-io",
            "[[treatment]]\nplacement = \"all\"\n[external]\narms = [\"smt-on\", \"smt-off\"]\n",
        ),
        "comparison" => (
            "logical-io",
            "[[treatment]]\nplacement = \"all\"\n[[treatment]]\nplacement = \"no-smt\"\n\
             [[comparison]]\nname = \"x\"\ntreatment = \"all\"\nbaseline = \"no-smt\"\n",
        ),
        other => panic!("no section {other}"),
    };
    // An engine with service threads, so that they can be placed.
    let head = format!("version = 1\nname = \"mine\"\nengine = \"native\"\nworkload = \"{workload}\"\n");
    let mut whole: Table = format!("{head}{body}").parse().unwrap();
    if ["design", "baseline"].contains(&section) {
        whole.insert(section.to_owned(), Table::new().into());
    }
    whole
}

/// The section's own table.
pub fn at<'a>(whole: &'a mut Table, section: &str) -> &'a mut Table {
    match section {
        "" => whole,
        "treatment" | "comparison" => whole[section].as_array_mut().unwrap()[0].as_table_mut().unwrap(),
        _ => whole[section].as_table_mut().unwrap(),
    }
}

/// The smallest definition with a value for one key, as text.
pub fn with(section: &str, key: &str, value: impl Into<toml::Value>) -> String {
    let mut whole = smallest(section);
    at(&mut whole, section).insert(key.to_owned(), value.into());
    whole.to_string()
}
