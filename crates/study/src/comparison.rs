//! What a ratio of treatments means: the kinds that sentences and tables ask for, and words of a user's own.

use serde::{Deserialize, Serialize};
use std::fmt;
use strum::{EnumString, IntoStaticStr};

/// Kind of a comparison. Its word is in definitions, result files and reports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, EnumString, IntoStaticStr)]
#[serde(from = "String", into = "String")]
#[strum(serialize_all = "kebab-case")]
pub enum ComparisonKind {
    /// A treatment with the baseline of its group.
    Baseline,
    /// Both siblings of a core busy over one.
    SmtYield,
    /// Two cores over both siblings of one.
    Cores,
    /// Two cores that share an L2 cache over two of one package that do not.
    SharedL2,
    /// Two cores that share a last-level cache over two of one package that do not.
    SharedL3,
    /// Two cores of two NUMA nodes over two of one.
    Nodes,
    /// Two packages over two cores of one.
    Packages,
    /// Another memory policy over the first.
    Memory,
    /// A sweep's second order over its first, with as many sessions.
    Orders,
    /// A point of a sweep over the one before it.
    SweepStep,
    /// The last point with a logical CPU for each session over that with a core for each.
    BeyondCores,
    /// A degree of parallelism over the one before it.
    DopStep,
    /// A number of jobs over the one before it.
    JobsStep,
    /// The same degree of parallelism on both threads of each core over one thread.
    SmtDop,
    /// Both threads of each core over one, each at its own degree.
    BothThreads,
    /// The whole machine over one thread of each core.
    SmtWhole,
    /// Both threads of each core over one, with twice the sessions.
    SmtDoubled,
    /// Twice the cores.
    CoresDoubled,
    /// Both threads of a core over one with SMT disabled.
    SmtOff,
    /// A way of taking second threads away over a mask.
    SmtWay,
    /// Turbo.
    Turbo,
    /// The governor of the clock.
    Governor,
    /// An instance of a server over the first.
    Instance,
    /// All logical CPUs over as many as the CPU quota is worth.
    Quota,
    /// The second version of a program over the first.
    Version,
    /// A comparison of the user's, by their word; and figures of other questions, by the question's name.
    #[strum(default)]
    Named(String),
}

impl ComparisonKind {
    /// Those that say what second threads of cores are worth.
    pub const OF_SECOND_THREADS: [Self; 5] =
        [Self::SmtYield, Self::SmtDop, Self::BothThreads, Self::SmtWhole, Self::SmtOff];

    /// Its word.
    pub fn word(&self) -> &str {
        match self {
            Self::Named(word) => word,
            known => known.into(),
        }
    }
}

impl Default for ComparisonKind {
    /// None, for a figure that compares nothing.
    fn default() -> Self {
        Self::Named(String::new())
    }
}

impl From<String> for ComparisonKind {
    fn from(word: String) -> Self {
        Self::from(word.as_str())
    }
}

impl From<ComparisonKind> for String {
    fn from(kind: ComparisonKind) -> Self {
        kind.word().to_owned()
    }
}

impl fmt::Display for ComparisonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_word_of_its_own_and_comes_back_from_it() {
        // As files have them.
        let words = "baseline smt-yield cores shared-l2 shared-l3 nodes packages memory orders sweep-step beyond-cores \
                     dop-step jobs-step smt-dop both-threads smt-whole smt-doubled cores-doubled smt-off smt-way turbo \
                     governor instance quota version";
        for word in words.split(' ') {
            let kind = ComparisonKind::from(word);
            assert!(kind.word() == word && !matches!(kind, ComparisonKind::Named(_)), "{kind:?}");
        }
        let named = ComparisonKind::from("mine");
        assert_eq!((named.word(), &named), ("mine", &ComparisonKind::Named("mine".to_owned())));
        assert_eq!(serde_json::to_string(&named).unwrap(), "\"mine\"");
        assert_eq!(serde_json::from_str::<ComparisonKind>("\"smt-off\"").unwrap(), ComparisonKind::SmtOff);
    }
}
