//! The order of a verdict, the same for every kind of study: problems of the study, advice, the answer, other findings,
//! what is not measurable, where it was measured, how far to trust it, its scope.

use crate::Finding;

/// The parts of a verdict, each in its own order.
#[derive(Default)]
pub struct Parts {
    /// Problems of the study. Only these may come before advice and answer.
    pub validity: Vec<Finding>,
    /// Advice.
    pub advice: Vec<Finding>,
    /// Findings; the answer is the first that has figures, unless `lead` names its kind.
    pub found: Vec<Finding>,
    /// Kind of the finding that answers the study's question, if it is not the first.
    pub lead: Option<&'static str>,
    /// Where it was measured: the machine and the data.
    pub setting: Vec<Finding>,
    /// How far to trust it, and its scope.
    pub limits: Vec<Finding>,
}

impl Parts {
    /// One list, to be read from its start.
    pub fn in_order(self) -> Vec<Finding> {
        let Self { validity, advice, mut found, lead, setting, limits } = self;
        let is_none = |finding: &Finding| finding.kind == "not-measurable";
        let answer = found.iter().position(|finding| Some(finding.kind.as_str()) == lead);
        let answer = answer.or_else(|| found.iter().position(|finding| !is_none(finding)));
        let answer = answer.map(|at| found.remove(at));
        found.sort_by_key(is_none);
        let first = validity.into_iter().chain(advice).chain(answer);
        first.chain(found).chain(setting).chain(limits).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::finding;

    fn kinds(parts: Parts) -> Vec<String> {
        parts.in_order().into_iter().map(|finding| finding.kind).collect()
    }

    fn all(kinds: &[&str]) -> Vec<Finding> {
        kinds.iter().map(|kind| finding(kind, String::new(), &[])).collect()
    }

    #[test]
    fn validity_advice_answer_rest_setting_limits() {
        let parts = |lead| Parts {
            validity: all(&["validity"]),
            advice: all(&["advice"]),
            found: all(&["not-measurable", "scaling", "smt-yield", "sweep"]),
            lead,
            setting: all(&["machine"]),
            limits: all(&["trust", "scope"]),
        };
        let wanted = "validity advice scaling smt-yield sweep not-measurable machine trust scope";
        assert_eq!(kinds(parts(None)).join(" "), wanted);
        let wanted = "validity advice sweep scaling smt-yield not-measurable machine trust scope";
        assert_eq!(kinds(parts(Some("sweep"))).join(" "), wanted);
        assert_eq!(kinds(parts(Some("absent")))[2], "scaling");
    }

    #[test]
    fn what_cannot_be_measured_is_an_answer_where_there_is_no_other() {
        let parts = Parts { found: all(&["not-measurable"]), setting: all(&["machine"]), ..Parts::default() };
        assert_eq!(kinds(parts), ["not-measurable", "machine"]);
    }
}
