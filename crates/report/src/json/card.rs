//! Cards as JSON: written, read and explained.

use super::form::text;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use threadwise_analysis::card::{Card, FIGURES};

/// A card as one line of JSON without its end.
pub fn card_line(card: &Card) -> String {
    // Only a map whose keys are no texts would fail.
    text(serde_json::to_string(card).unwrap_or_default())
}

/// Reads a card.
///
/// # Errors
/// The text is not one: in one line, with the place.
pub fn read_card(json: &str) -> Result<Card, String> {
    serde_json::from_str(json).map_err(|error| format!("it is not a card: {error}"))
}

/// Each field of a card with its value and its meaning, a line each.
pub fn explained(card: &Card) -> String {
    let schema = schema();
    // In the order of the fields.
    let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = serde_json::to_value(card).unwrap_or_default();
    let figures = card.figures.iter().map(|figure| {
        let about = FIGURES.iter().find(|kind| kind.what == figure.what).map_or("", |kind| kind.about);
        let name = [figure.what.as_str(), &figure.data].into_iter().filter(|text| !text.is_empty());
        format!("{:16} {}: {about}\n", "", name.collect::<Vec<_>>().join(", "))
    });
    let line = |name: &str| {
        let about = schema["properties"][name]["description"].as_str().unwrap_or_default();
        let about = about.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "");
        format!("{name:<16} {}\n{:16} {about}\n", value[name], "")
    };
    text(names.map(line).chain(figures).collect())
}

/// The schema of a card: `docs/card.schema.json`, which a test compares.
pub fn card_schema() -> String {
    format!("{:#}\n", schema())
}

fn schema() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Card>().to_value()
}
