//! One published study. The fields are those of its file in `published/`; docs/JSON.md has them as JSON.

use crate::figure::{Figure, Formula};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A published study.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Version of the format, 1.
    pub version: u32,
    /// Name, which is also that of the preset that repeats the study.
    pub name: String,
    /// Aliases on the command line.
    #[serde(skip_serializing)]
    pub also: Vec<String>,
    /// Its section in evidence/published-studies.md.
    pub section: u32,
    /// What was measured, in a few words.
    pub short: String,
    /// The same in one line.
    pub about: String,
    /// The answer that it gave, in two sentences at most; `{ID}` stands for the text of a figure.
    #[serde(skip_serializing)]
    pub answer: String,
    /// Quantity of its ratios, which are converted to ratios of rates.
    pub ratios_of: String,
    /// Workload of the studies that repeat it.
    pub workload: String,
    /// Command that repeats it, unless a part names another one.
    pub command: String,
    /// How it was measured, one sentence each.
    pub setup: Vec<String>,
    /// Where it was published.
    pub source: Source,
    /// Machine that it was measured on.
    pub machine: Machine,
    /// Database engine.
    pub engine: Engine,
    /// Size of the data or of the work.
    pub size: Size,
    /// What was run, in the article's order.
    #[serde(rename(deserialize = "arm"))]
    pub arms: Vec<Arm>,
    /// All figures, printed and recomputed.
    #[serde(rename(deserialize = "figure"))]
    pub figures: Vec<Figure>,
    /// Printed figures that do not follow from the others.
    #[serde(rename(deserialize = "slip"), default)]
    pub slips: Vec<Slip>,
    /// Claims, questions, and results that are only drawn.
    #[serde(rename(deserialize = "statement"), default)]
    pub statements: Vec<Statement>,
    /// Ratios to compare a study with.
    #[serde(rename(deserialize = "comparison"))]
    pub comparisons: Vec<Comparison>,
    /// Charts.
    #[serde(rename(deserialize = "chart"), skip_serializing)]
    pub charts: Vec<Chart>,
}

/// Source of a study, as far as its text tells.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Author.
    pub author: Option<String>,
    /// Title.
    pub title: Option<String>,
    /// Year.
    pub year: Option<u32>,
    /// URL.
    pub url: Option<String>,
    /// Subject, paraphrased.
    pub subject: String,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Processor or machine model.
    pub model: String,
    /// Packages.
    pub packages: u32,
    /// Cores of each package.
    pub cores_per_package: u32,
    /// Threads of each core.
    pub threads_per_core: u32,
}

/// An engine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Name and version.
    pub name: String,
}

/// A size of data or work.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// In words.
    pub about: String,
}

/// One arm of the study.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Name inside the file.
    pub id: String,
    /// Its name as published.
    pub name: String,
    /// Placement in threadwise.
    pub placement: String,
    /// Sessions.
    pub sessions: Option<u32>,
    /// Degree of parallelism.
    pub dop: Option<u32>,
    /// Jobs.
    pub jobs: Option<u32>,
    /// Whether SMT was on, and how it was switched off.
    pub smt: String,
    /// Command that repeats it, if it is not the study's.
    pub command: Option<String>,
    /// Why no command can repeat it.
    pub missing: Option<String>,
}

/// A printed figure that does not follow from others of the same article.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Slip {
    /// The printed figure; its formula gives what follows from the others.
    pub figure: String,
    /// The contradiction.
    pub text: String,
}

/// Kind of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A claim without a measurement.
    Claim,
    /// An open question.
    Question,
    /// Measured, with the figures only in a picture.
    Picture,
}

/// A claim, question or picture.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Kind.
    pub kind: Kind,
    /// A sentence.
    pub text: String,
    /// Command that measures it.
    pub command: Option<String>,
    /// Why no command can measure it.
    pub missing: Option<String>,
}

/// A published ratio of rates to compare with a measured one.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Name of the comparison in the preset, or what is compared if presets generate names.
    pub name: String,
    /// What distinguishes it from others of the same name.
    pub says: Option<String>,
    /// Figure with the ratio, treatment over baseline.
    pub figure: String,
    /// Workload options that a treatment must not contradict.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// The treatment, if a comparison of another name may match too.
    pub treatment: Option<Side>,
    /// The baseline.
    pub baseline: Option<Side>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// Placement text.
    pub placement: String,
    /// Sessions or jobs; default: as the placement gives.
    pub sessions: Option<u32>,
    /// Degree of parallelism.
    pub dop: Option<Dop>,
}

/// A degree of parallelism: a number below the number of cores, or relative to the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dop {
    /// As many as there are cores.
    Cores,
    /// As many as there are logical CPUs.
    LogicalCpus,
    /// This number, on machines with more cores.
    #[serde(untagged)]
    Number(u32),
}

/// A chart.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// Heading.
    pub title: String,
    /// Quantity with its unit, for the axis.
    pub what: String,
    /// Figures, from top to bottom.
    pub figures: Vec<String>,
    /// Their labels; default: the arm's name, or what it is.
    #[serde(default)]
    pub labels: Vec<String>,
}

impl Published {
    /// The answer with the texts of its figures; a name that is no figure's stays as it is.
    pub fn answer(&self) -> String {
        let put = |text: String, figure: &Figure| text.replace(&format!("{{{}}}", figure.id), &figure.text());
        self.figures.iter().fold(self.answer.clone(), put)
    }

    /// A figure by its name inside the file.
    pub fn figure(&self, id: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.id == id)
    }

    /// An arm by its name inside the file.
    pub fn arm(&self, id: &str) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.id == id)
    }

    /// The slip of a figure.
    pub fn slip(&self, figure: &str) -> Option<&Slip> {
        self.slips.iter().find(|slip| slip.figure == figure)
    }

    /// A figure's number in its base unit, as given; the lower end of a range.
    pub fn given(&self, id: &str) -> Option<f64> {
        self.figure(id)?.number()
    }

    /// A figure's value computed from others, unrounded; without a formula its own number. `None` if a part is missing,
    /// divides by 0 or refers to itself.
    pub fn computed(&self, id: &str) -> Option<f64> {
        self.followed(id, self.figures.len())
    }

    /// The same with a limit of steps. A figure that another one refers to is used as printed.
    fn followed(&self, id: &str, steps: usize) -> Option<f64> {
        let figure = self.figure(id)?;
        let part = |name: &str| {
            let figure = self.figure(name)?;
            match figure.is_printed() {
                true => figure.number(),
                false => self.followed(name, steps.checked_sub(1)?),
            }
        };
        figure.formula.as_ref().map_or_else(|| figure.number(), |formula| formula.value(&part))
    }

    /// A figure's formula with the numbers: `(22.41 - 22.95) / 22.41`.
    pub fn formula_words(&self, formula: &Formula) -> String {
        formula.words(&|name| self.figure(name).map_or_else(String::new, Figure::text))
    }

    /// The command that repeats an arm.
    ///
    /// # Errors
    /// Why there is none.
    pub fn redo_arm<'a>(&'a self, arm: &'a Arm) -> Result<&'a str, &'a str> {
        redo(arm.command.as_deref(), arm.missing.as_deref(), Ok(&self.command))
    }

    /// The command that repeats a figure: its own, that of its arm, or the study's.
    ///
    /// # Errors
    /// Why there is none.
    pub fn redo_figure<'a>(&'a self, figure: &'a Figure) -> Result<&'a str, &'a str> {
        let arm = figure.arm.as_deref().and_then(|arm| self.arm(arm));
        let usual = arm.map_or(Ok(self.command.as_str()), |arm| self.redo_arm(arm));
        redo(figure.command.as_deref(), figure.missing.as_deref(), usual)
    }

    /// The command that measures what a statement says.
    ///
    /// # Errors
    /// Why there is none.
    pub fn redo_statement<'a>(&'a self, statement: &'a Statement) -> Result<&'a str, &'a str> {
        redo(statement.command.as_deref(), statement.missing.as_deref(), Ok(&self.command))
    }

    /// What no command can repeat, with the reason, once each.
    pub fn cannot_redo(&self) -> Vec<(String, &str)> {
        let arms = self.arms.iter().filter_map(|arm| Some((arm.name.clone(), self.redo_arm(arm).err()?)));
        let figures = self
            .figures
            .iter()
            .filter_map(|figure| Some((self.name_of(figure), self.redo_figure(figure).err()?)));
        let said = self
            .statements
            .iter()
            .filter_map(|said| Some((said.text.clone(), self.redo_statement(said).err()?)));
        let mut all: Vec<(String, &str)> = arms.chain(figures).chain(said).collect();
        all.dedup();
        all
    }

    /// A figure as text: arm, query, what it is.
    pub fn name_of(&self, figure: &Figure) -> String {
        let arm = figure.arm.as_deref().and_then(|id| self.arm(id)).map(|arm| arm.name.clone());
        let query = figure.query.map(|query| format!("Q{query}"));
        let parts: Vec<String> = arm.into_iter().chain(query).chain([figure.what.clone()]).collect();
        parts.join(": ")
    }
}

fn redo<'a>(
    command: Option<&'a str>,
    missing: Option<&'a str>,
    usual: Result<&'a str, &'a str>,
) -> Result<&'a str, &'a str> {
    match (missing, command) {
        (Some(why), _) => Err(why),
        (None, Some(command)) => Ok(command),
        (None, None) => usual,
    }
}
