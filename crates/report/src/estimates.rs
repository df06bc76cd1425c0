//! All estimates of a study as one flat list, and what is left of the analysis without them.
//!
//! An estimate is anything in the analysis with a value and the ends of its interval. Names, numbers and treatments of
//! the objects around it identify it, so that no question has code of its own here.

use crate::Facts;
use crate::json::by_state::ByState;
use crate::json::form::{each_object, merged};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use threadwise_analysis::looks::rows::By;
use threadwise_analysis::{core_times, kinds, logical_cpu_gaps};
use threadwise_document::{Answer, Direction};
use threadwise_study::Study;

/// One estimate of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyEstimate {
    /// The question that it belongs to, such as `comparisons`, `treatments` or `queries`.
    pub family: String,
    /// Its place in the answer to that question, such as `treatments.queries.speed`; empty at its top.
    pub figure: String,
    /// What was measured; where a question has one quantity, the last part of its place.
    pub metric: String,
    /// The treatment: of a ratio what is above the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub treatment: Option<String>,
    /// Of a ratio the treatment below the line; several are joined by ` and `.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// What else identifies it: its comparison, group, query, logical CPU, number of jobs, …
    pub place: Map<String, Value>,
    /// Value, intervals and answer.
    #[serde(flatten)]
    pub numbers: Numbers,
}

/// Value, intervals and answer of an estimate. What it does not have is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Numbers {
    /// Centre; `null` if it is not finite.
    #[serde(alias = "mean")]
    pub value: Option<f64>,
    /// Lower end of its own interval, over blocks; `null` or 0 with one block.
    pub low: Option<f64>,
    /// Upper end; `null` with one block.
    pub high: Option<f64>,
    /// `ratio`, `points` (percentage points), `share` (0 to 1), `1`, or such as `1/s`, `ns`, `bytes`.
    #[serde(default = "ratio")]
    pub unit: String,
    /// Confidence level of the interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// Lower end of the interval that decides, adjusted for all that were judged together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjusted_low: Option<f64>,
    /// Its upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjusted_high: Option<f64>,
    /// Two-sided p of the test that nothing differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// p adjusted for all that were judged together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjusted_p: Option<f64>,
    /// How many were judged together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged_together: Option<u32>,
    /// Blocks (studies, boots, machines) used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Lag-1 correlation of blocks that the intervals allow for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<f64>,
    /// Margin, as a fraction; 0: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// A/A of the same quantity, as a ratio above 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Which side is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
}

fn ratio() -> String {
    threadwise_document::estimate::RATIO.to_owned()
}

/// Fields of an object that identify the estimates inside it. Those of an estimate itself do so whatever their names.
const IDENTITY: [&str; 42] = [
    "arm",
    "axis",
    "baseline",
    "baseline_arm",
    "baseline_treatment",
    "block",
    "check",
    "comparison",
    "core",
    "cpu",
    "dop",
    "first_block",
    "form",
    "from",
    "from_dop",
    "from_jobs",
    "group",
    "jobs",
    "kind",
    "label",
    "last_block",
    "line_ns_p50",
    "metric",
    "name",
    "number",
    "package",
    "place",
    "placement",
    "query",
    "question",
    "recipe",
    "schedule",
    "series",
    "sessions",
    "state",
    "streams",
    "to",
    "to_dop",
    "to_jobs",
    "treatment",
    "use",
    "variant",
];

/// The estimates of a study, and the rest of its analysis by question.
#[derive(Debug, Default)]
pub struct Analysed {
    /// In the order of questions and of the study.
    pub estimates: Vec<StudyEstimate>,
    /// Answers, counts and texts that have no interval.
    pub details: Map<String, Value>,
}

impl Analysed {
    /// Of a study, metrics under the names that the kind of the study gives them.
    pub fn of(facts: &Facts<'_>) -> Self {
        let mut analysed = Self::default();
        let Value::Object(fields) = tree(facts) else { return analysed };
        for (family, value) in fields {
            if let Some(left) = analysed.take(&family, String::new(), value, &Map::new()) {
                analysed.details.insert(family, left);
            }
        }
        analysed
    }

    /// Takes the estimates out of a value; what is left of it, if that is more than names.
    fn take(
        &mut self,
        family: &str,
        figure: String,
        value: Value,
        around: &Map<String, Value>,
    ) -> Option<Value> {
        match value {
            Value::Array(all) if all.iter().any(Value::is_object) => {
                let all = (1..).zip(all);
                let left: Vec<Value> = all
                    .filter_map(|(at, one)| self.take(family, figure.clone(), placed(one, at), around))
                    .collect();
                (!left.is_empty()).then_some(Value::Array(left))
            }
            Value::Array(all) => (!all.is_empty()).then_some(Value::Array(all)),
            Value::Object(fields) => self.take_object(family, &figure, fields, around),
            Value::Null => None,
            other => Some(other),
        }
    }

    fn take_object(
        &mut self,
        family: &str,
        figure: &str,
        fields: Map<String, Value>,
        around: &Map<String, Value>,
    ) -> Option<Value> {
        let is_estimate = is_estimate(&fields);
        let (inner, mut scalars): (Map<_, _>, Map<_, _>) =
            fields.into_iter().partition(|(_, value)| value.is_object() || value.is_array());
        let mut place = around.clone();
        place.extend(
            scalars
                .iter()
                .filter(|(name, value)| is_identity(name, value))
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        if !scalars.contains_key("metric") {
            // It is that of this object, not of what lies deeper.
            place.remove("metric");
        }
        scalars.retain(|_, value| is_estimate || !value.is_null());
        let mut left = Map::new();
        for (name, value) in inner {
            let path = if figure.is_empty() { name.clone() } else { format!("{figure}.{name}") };
            if let Some(value) = self.take(family, path, value, &place) {
                left.insert(name, value);
            }
        }
        if is_estimate {
            self.estimates.extend(estimate(family, figure, scalars, around));
            return (!left.is_empty()).then_some(Value::Object(left));
        }
        let is_more = scalars.iter().any(|(name, value)| !is_identity(name, value));
        if left.is_empty() && !is_more {
            return None;
        }
        scalars.append(&mut left);
        Some(Value::Object(scalars))
    }
}

fn is_estimate(fields: &Map<String, Value>) -> bool {
    fields.contains_key("low") && (fields.contains_key("value") || fields.contains_key("mean"))
}

/// An element of a list; an estimate without a name has its place in the list.
fn placed(mut one: Value, at: u32) -> Value {
    if let Value::Object(fields) = &mut one
        && is_estimate(fields)
        && !fields.iter().any(|(name, value)| is_identity(name, value))
    {
        fields.insert("position".to_owned(), at.into());
    }
    one
}

fn is_identity(name: &str, value: &Value) -> bool {
    IDENTITY.contains(&name) && !value.is_null()
}

/// An estimate with what else its object says of it.
#[derive(Deserialize)]
struct Object {
    #[serde(flatten)]
    numbers: Numbers,
    #[serde(flatten)]
    place: Map<String, Value>,
}

/// An estimate from its fields and the names around it.
fn estimate(
    family: &str,
    figure: &str,
    scalars: Map<String, Value>,
    around: &Map<String, Value>,
) -> Option<StudyEstimate> {
    let Object { numbers, place: named } = serde_json::from_value(Value::Object(scalars)).ok()?;
    let mut place = around.clone();
    place.extend(named.into_iter().filter(|(_, value)| !value.is_null()));
    let mut text = |name: &str| place.remove(name)?.as_str().map(str::to_owned);
    let (metric, treatment, baseline) = (text("metric"), text("treatment"), text("baseline"));
    let last = figure.rsplit('.').next().filter(|last| !last.is_empty());
    Some(StudyEstimate {
        family: family.to_owned(),
        figure: figure.to_owned(),
        metric: metric.unwrap_or_else(|| last.unwrap_or(family).to_owned()),
        treatment,
        baseline,
        place,
        numbers,
    })
}

/// The analysis of a study as a tree, with what only the raw runs tell.
fn tree(facts: &Facts<'_>) -> Value {
    let core_time = (!core_times(facts).is_empty()).then(|| json!({"core_time": core_times(facts)}));
    let by_state = facts.analysis.effects.iter().map(|effects| match effects.by {
        By::Core => json!({"by_state": ByState::of(effects)}),
        By::Distance { .. } => json!({"by_distance": ByState::of(effects)}),
    });
    let mut analysis = merged(json!(facts.analysis), core_time.unwrap_or_else(|| json!({})));
    analysis = by_state.fold(analysis, merged);
    if let Value::Array(diagnostics) = analysis["diagnostics"].take() {
        for found in diagnostics {
            if let Some(question) = found["question"].as_str().map(str::to_owned) {
                analysis[question] = found;
            }
        }
    }
    each_object(&mut analysis, &|fields| name_metrics(facts.study, fields));
    if let Some(queries) = &facts.analysis.queries {
        each_object(&mut analysis["queries"], &|fields| {
            for field in ["plan", "baseline_plan", "other_plan"] {
                let Some(at) = fields.get(field).and_then(Value::as_u64) else { continue };
                fields[field] = json!(queries.plans.get(at as usize).map(|plan| &plan.name));
            }
        });
    }
    if !logical_cpu_gaps(facts).is_empty() {
        analysis["logical_cpu_gaps"] = json!(logical_cpu_gaps(facts));
    }
    analysis
}

/// The metrics of an object under the names that the kind of the study gives them.
fn name_metrics(study: &Study, fields: &mut Map<String, Value>) {
    let name = |metric: &str| kinds::of(study).metric_name(study, metric);
    if let Some(Value::String(metric)) = fields.get_mut("metric") {
        *metric = name(metric);
    }
    if let Some(Value::Object(metrics)) = fields.get_mut("metrics") {
        *metrics =
            std::mem::take(metrics).into_iter().map(|(metric, value)| (name(&metric), value)).collect();
    }
}
