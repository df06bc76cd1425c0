//! Answers to questions, each with a type that only its question's file knows: a new question reaches the analysis and
//! JSON without a change of any other file.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Requirements on the type of an answer.
trait Answer: Any + fmt::Debug {
    fn json(&self) -> Value;
    fn copy(&self) -> Box<dyn Answer>;
    fn is_same(&self, other: &dyn Answer) -> bool;
}

impl<T: Any + fmt::Debug + Clone + PartialEq + Serialize> Answer for T {
    fn json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn copy(&self) -> Box<dyn Answer> {
        Box::new(self.clone())
    }

    fn is_same(&self, other: &dyn Answer) -> bool {
        (other as &dyn Any).downcast_ref() == Some(self)
    }
}

/// Answers by the names of their questions.
#[derive(Debug, Default)]
pub struct Answers(BTreeMap<&'static str, Box<dyn Answer>>);

impl Answers {
    /// Adds the answer to a question, if there is one.
    pub fn put<T: Any + fmt::Debug + Clone + PartialEq + Serialize>(
        &mut self,
        question: &'static str,
        answer: Option<T>,
    ) {
        self.0.extend(answer.map(|answer| (question, Box::new(answer) as Box<dyn Answer>)));
    }

    fn all(&self) -> impl Iterator<Item = (&'static str, &dyn Answer)> {
        self.0.iter().map(|(question, answer)| (*question, answer.as_ref()))
    }

    /// The answer of a type; `None` if its question does not apply to the study.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.all().find_map(|(_, answer)| (answer as &dyn Any).downcast_ref())
    }
}

impl Clone for Answers {
    fn clone(&self) -> Self {
        Self(self.all().map(|(question, answer)| (question, answer.copy())).collect())
    }
}

impl PartialEq for Answers {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |((question, one), (named, other)): ((&str, &dyn Answer), (&str, &dyn Answer))| {
            question == named && one.is_same(other)
        };
        self.0.len() == other.0.len() && self.all().zip(other.all()).all(is_same)
    }
}

impl Serialize for Answers {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        self.all().try_for_each(|(question, answer)| map.serialize_entry(question, &answer.json()))?;
        map.end()
    }
}

/// Their types are known to what writes the schema of a report (`threadwise_report::json::schema`).
impl JsonSchema for Answers {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Answers".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_by_its_type_and_shown_by_its_question() {
        let mut answers = Answers::default();
        answers.put("count", Some(3_u32));
        answers.put("nothing", None::<f64>);
        assert_eq!((answers.get::<u32>(), answers.get::<f64>()), (Some(&3), None));
        assert_eq!(serde_json::to_value(&answers).unwrap(), serde_json::json!({"count": 3}));
        let copy = answers.clone();
        assert_eq!(copy, answers);
        answers.put("count", Some(4_u32));
        assert_ne!(copy, answers);
        answers.put("count", Some(3_i64));
        assert_ne!(copy, answers, "of another type");
    }
}
