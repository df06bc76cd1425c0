//! A study as a card: a kilobyte for sharing, with nothing in it that names a host, a user, a path or a statement.
//!
//! What is in a card is a closed list: the fields below, figures of [`FIGURES`], and size classes of
//! data. A card of others is read as hostile input: [`Card::fault`] has the rules.

use crate::choices::{Axis, ONE_CORE};
use crate::compare::aspects::threads_a_core;
use crate::diagnostics::neighbours::{LEFT, OVER_ONE, PREVALENCE};
use crate::groups::{data_words, levels};
use crate::vcpus::HALVES;
use crate::{Direction, Estimate, Facts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadwise_document::numbers::rounded;
use threadwise_document::screen::TrustLevel;
use threadwise_study::{ComparisonKind, OptionValue, Study, Workload, presets};

/// Version of this form.
pub const VERSION: u32 = 1;
/// An engine or a workload of the user's, whose name is not in a card.
const OTHER: &str = "other";
/// Levels of data whose words are in a card.
const DATA: [&str; 4] = ["data=l2", "data=llc", "data=memory", "data=large"];
/// Most figures of a card; with texts of usual length it then has at most a kilobyte.
const MOST_FIGURES: usize = 7;
/// Most characters of a text.
const MOST_LETTERS: usize = 80;
/// Significant digits of figures.
const DIGITS: i32 = 3;
/// A day that no study of this program is older than.
const FIRST_DAY: &str = "2026-01-01";

/// A card.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// Version of this form.
    pub card: u32,
    /// Version of the program that measured.
    pub threadwise: String,
    /// Day on which the study began, in UTC.
    pub date: String,
    /// Processor model, as the kernel names it; `null` if it does not.
    pub cpu: Option<String>,
    /// Hypervisor, if one is visible: the machine is a virtual one.
    pub hypervisor: Option<String>,
    /// A cloud's name for the kind of machine, such as `m7i.large`, if its firmware gives one.
    pub instance: Option<String>,
    /// Declared packages.
    pub packages: usize,
    /// NUMA nodes.
    pub numa_nodes: usize,
    /// Cores with an allowed logical CPU.
    pub cores: usize,
    /// The most allowed logical CPUs of a core. A hypervisor may hide that cores are threads of one.
    pub threads_per_core: usize,
    /// Engine.
    pub engine: String,
    /// Its version; empty where it is not known.
    pub engine_version: String,
    /// Workload.
    pub workload: String,
    /// Whether a model gave the figures.
    pub simulated: bool,
    /// Blocks whose baseline was usable.
    pub blocks: u32,
    /// How far to trust it.
    pub trust: TrustLevel,
    /// A/A, the same treatment twice: the interval that is farthest from 1.
    pub a_a: Option<[f64; 2]>,
    /// Figures, at most seven.
    pub figures: Vec<Figure>,
    /// The command that repeats it; `null` if the study is not a preset.
    #[serde(rename = "command")]
    pub redo: Option<String>,
}

/// A figure of a card.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its name, one of [`FIGURES`].
    pub what: String,
    /// Size class of the data: `inside L2`, `up to 64 MiB per session`, `scale 1`; empty if it is not known.
    pub data: String,
    /// The ratio; of `neighbour-share` a share; of `knee` a number of sessions.
    pub value: f64,
    /// Its interval at 95% or a higher level, adjusted for all figures of the study that are judged together; `null` of a knee.
    pub interval: Option<[f64; 2]>,
}

/// A kind of figure with what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FigureKind {
    /// Its name.
    pub what: &'static str,
    /// Heading of its column.
    pub heading: &'static str,
    /// Meaning in a line.
    pub about: &'static str,
}

const fn figure_kind(what: &'static str, heading: &'static str, about: &'static str) -> FigureKind {
    FigureKind { what, heading, about }
}

/// Number of sessions that a choice came to.
pub const KNEE: &str = "knee";
const SECOND_THREAD: &str = "second-thread";
const SECOND_CPU: &str = "second-cpu";

/// All kinds of figures, in the order in which a card keeps them.
pub const FIGURES: [FigureKind; 11] = [
    figure_kind(
        SECOND_THREAD,
        "second thread",
        "both threads of a core over one; of a guest that does not see them, as looks saw it",
    ),
    figure_kind(SECOND_CPU, "second CPU", "two sessions on two logical CPUs of a package over one alone"),
    figure_kind("second-half", "second half", "all vCPUs of a server over half of them"),
    figure_kind(
        "neighbour-left",
        "beside a neighbour",
        "of a session's rate left beside a neighbour, observed",
    ),
    figure_kind(
        "neighbour-share",
        "neighbour there",
        "share of the time with a neighbour on the other thread",
    ),
    figure_kind("shared-l3", "shared L3", "two cores that share a last-level cache over two that do not"),
    figure_kind("packages", "two packages", "two packages over two cores of one"),
    figure_kind("nodes", "two nodes", "cores of two NUMA nodes over two of one"),
    figure_kind("shared-l2", "shared L2", "two cores that share an L2 cache over two that do not"),
    figure_kind(
        KNEE,
        "knee",
        "fewest sessions that are shown to be as fast as any number, within the margin, where more were measured",
    ),
    figure_kind("cores", "two cores", "two cores over both threads of one"),
];

/// Figures of comparisons by their kinds.
const COMPARED: [(ComparisonKind, &str); 10] = [
    (ComparisonKind::SmtYield, SECOND_THREAD),
    (ComparisonKind::SmtDop, SECOND_THREAD),
    (ComparisonKind::BothThreads, SECOND_THREAD),
    (ComparisonKind::SmtWhole, SECOND_THREAD),
    (ComparisonKind::SmtOff, SECOND_THREAD),
    (ComparisonKind::SharedL3, "shared-l3"),
    (ComparisonKind::Packages, "packages"),
    (ComparisonKind::Nodes, "nodes"),
    (ComparisonKind::SharedL2, "shared-l2"),
    (ComparisonKind::Cores, "cores"),
];

/// Figures of questions, by the question and the name of the estimate.
const ASKED: [(&str, &str, &str); 4] = [
    ("neighbours", OVER_ONE, SECOND_THREAD),
    ("neighbours", LEFT, "neighbour-left"),
    ("neighbours", PREVALENCE, "neighbour-share"),
    ("vcpus", HALVES, "second-half"),
];

impl Card {
    /// The card of a study; `instance` is a cloud's name for the kind of machine, if it is known.
    pub fn of(facts: &Facts<'_>, trust: TrustLevel, instance: Option<String>) -> Self {
        let (study, topology) = (facts.study, facts.topology);
        let floor = facts.widest_floor().map(|floor| [floor.ratio.low, floor.ratio.high].map(short));
        Self {
            card: VERSION,
            threadwise: plain(facts.program_version).unwrap_or_default(),
            date: facts.created_utc.get(..FIRST_DAY.len()).unwrap_or_default().to_owned(),
            cpu: topology.identity.cpu_model.as_deref().and_then(plain),
            hypervisor: topology.identity.hypervisor.as_deref().and_then(plain),
            instance: instance.as_deref().and_then(plain),
            packages: topology.packages.len(),
            numa_nodes: topology.numa_nodes.len(),
            cores: topology.cores.len(),
            threads_per_core: threads_a_core(facts),
            engine: plain(&study.engine).unwrap_or_else(|| OTHER.to_owned()),
            engine_version: plain(facts.engine_version).unwrap_or_default(),
            workload: match &study.workload {
                Workload::Other(_) => OTHER.to_owned(),
                workload => workload.name().to_owned(),
            },
            simulated: facts.is_simulated(),
            blocks: facts.analysis.blocks,
            trust,
            a_a: floor.filter(|ends| ends.iter().all(|end| end.is_finite())),
            figures: figures(facts),
            redo: redo(study),
        }
    }

    /// The same, of an engine that did not come with this program: its name, its version and what it calls the sizes of
    /// its data are the user's texts.
    pub fn of_other_engine(mut self) -> Self {
        self.figures.iter_mut().for_each(|figure| figure.data.clear());
        Self { engine: OTHER.to_owned(), engine_version: String::new(), redo: None, ..self }
    }

    /// What is wrong with a card of others that came to a gallery on a day (`2026-11-30`), in words; `None` if
    /// nothing is.
    pub fn fault(&self, today: &str) -> Option<String> {
        let texts = [
            ("threadwise", Some(&self.threadwise)),
            ("cpu", self.cpu.as_ref()),
            ("hypervisor", self.hypervisor.as_ref()),
            ("instance", self.instance.as_ref()),
            ("engine", Some(&self.engine)),
            ("engine_version", Some(&self.engine_version)),
            ("workload", Some(&self.workload)),
        ];
        let names = texts.into_iter().filter_map(|(name, text)| Some((name, text?.as_str())));
        let bad = names.clone().find_map(|(name, text)| Some(format!("{name} {}", fault_of_text(text)?)));
        let counts = [self.packages, self.numa_nodes, self.cores, self.threads_per_core];
        match () {
            () if self.card != VERSION => Some(format!("its form is {}, not {VERSION}", self.card)),
            () if self.simulated => {
                Some("its figures are from a model: a gallery has measured ones only".to_owned())
            }
            () if !is_day(&self.date) || self.date.as_str() < FIRST_DAY || self.date.as_str() > today => {
                Some(format!("date '{}' is not a day from {FIRST_DAY} to {today}", self.date))
            }
            () if bad.is_some() => bad,
            () if counts.iter().any(|count| !(1..=4096).contains(count)) => {
                Some("packages, numa_nodes, cores and threads_per_core are from 1 to 4096".to_owned())
            }
            () if self.cpu.is_none() && self.instance.is_none() => {
                Some("it names neither a processor (cpu) nor a kind of machine (instance)".to_owned())
            }
            () if self.blocks < 3 => Some("it has fewer than 3 blocks".to_owned()),
            () if self.a_a.is_some_and(|ends| !is_interval(ends, &(0.1..=10.0))) => {
                Some("a_a is not an interval around 1".to_owned())
            }
            () if !(1..=MOST_FIGURES).contains(&self.figures.len()) => {
                Some(format!("it has {} figures, not 1 to {MOST_FIGURES}", self.figures.len()))
            }
            () if self.redo.as_deref().is_some_and(|command| !is_command(command)) => {
                Some("command is not 'threadwise run PRESET --engine NAME'".to_owned())
            }
            () => self.figures.iter().find_map(Figure::fault),
        }
    }
}

impl Figure {
    fn fault(&self) -> Option<String> {
        let Self { what, data, value, interval } = self;
        if FIGURES.iter().all(|kind| kind.what != what) {
            return Some(format!("it has an unknown figure '{what}'"));
        }
        let (range, ends_range) = match what.as_str() {
            KNEE => (1.0..=4096.0, 0.0..=0.0),
            "neighbour-share" => (0.0..=1.0, -1.0..=2.0),
            _ => (0.05..=20.0, 0.0..=100.0),
        };
        let is_around = |ends: [f64; 2]| ends[0] <= *value && *value <= ends[1];
        match () {
            () if !range.contains(value) => {
                Some(format!("{what} is {value}, not from {} to {}", range.start(), range.end()))
            }
            () if interval.is_none() && what != KNEE => Some(format!("{what} has no interval")),
            () if interval.is_some_and(|ends| !is_around(ends) || !is_interval(ends, &ends_range)) => {
                Some(format!("the interval of {what} does not contain it, or cannot be"))
            }
            () => fault_of_text(data).map(|fault| format!("data of {what} {fault}")),
        }
    }
}

fn is_interval(ends: [f64; 2], range: &std::ops::RangeInclusive<f64>) -> bool {
    ends[0] <= ends[1] && ends.iter().all(|end| range.contains(end))
}

/// Whether a text has the form of a day, such as `2026-11-30`.
fn is_day(text: &str) -> bool {
    let form = |(at, letter): (usize, char)| {
        if at == 4 || at == 7 { letter == '-' } else { letter.is_ascii_digit() }
    };
    text.len() == FIRST_DAY.len() && text.chars().enumerate().all(form)
}

/// Whether readers may copy a command: `threadwise run command -- reboot` is one of plain letters, too.
fn is_command(text: &str) -> bool {
    let is_word =
        |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    let words: Vec<&str> = text.split(' ').collect();
    match words[..] {
        ["threadwise", "run", preset] | ["threadwise", "run", preset, "--engine", _] => {
            presets::get(preset).is_some() && text.len() <= MOST_LETTERS && words.into_iter().all(is_word)
        }
        _ => false,
    }
}

/// What is wrong with a text that is shown to others. Names of hosts, users and paths have signs that these do not need.
fn fault_of_text(text: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " .,:;()+-_=<>~#".contains(letter);
    // Processors: `AMD EPYC 7B13 64-Core Processor @ 2.45GHz`, `Intel(R) Xeon(R) CPU @ 2.20GHz`, `6/24 cores`.
    let is_fine = |letter: char| is_plain(letter) || "@/'".contains(letter);
    let is_path = text.contains("//") || text.starts_with('/') || text.contains(" /");
    let is_address = text.split(' ').any(|word| word.len() > 1 && word.contains('@'));
    match () {
        () if text.chars().count() > MOST_LETTERS => Some(format!("has more than {MOST_LETTERS} characters")),
        () if !text.chars().all(is_fine) => {
            Some("has other characters than letters, digits and . , : ; ( ) + - _".to_owned())
        }
        () if is_path => Some("looks like a path or an address".to_owned()),
        () if is_address => Some("looks like an address".to_owned()),
        () => None,
    }
}

/// A text as a card has it; `None` of one that a gallery would refuse.
fn plain(text: &str) -> Option<String> {
    let whole: Vec<&str> = text.split_whitespace().collect();
    let cut: String = whole.join(" ").chars().take(MOST_LETTERS).collect();
    fault_of_text(&cut).is_none().then_some(cut)
}

fn short(value: f64) -> f64 {
    rounded(value, DIGITS)
}

/// The figures that a study has, in the order of [`FIGURES`]: of each kind and size class the first.
fn figures(facts: &Facts<'_>) -> Vec<Figure> {
    let analysis = facts.analysis;
    let headline = analysis.headline();
    let of_estimate = |what: &'static str, group: &str, one: &Estimate| {
        let ratio = one.ratio.decisive();
        figure(what, data_class(facts.study, group), ratio.value, Some([ratio.low, ratio.high]))
    };
    // Of what is better when lower, such as the time of a command, a ratio says something else.
    let is_rate =
        |one: &&Estimate| one.metric == headline && one.ratio.direction == Direction::HigherIsBetter;
    let estimates = || analysis.estimates.iter().filter(is_rate);
    let compared = estimates().filter_map(|one| {
        let (_, what) = COMPARED.iter().find(|(kind, _)| *kind == one.kind)?;
        of_estimate(what, facts.group_of(&one.treatment), one)
    });
    let second_cpu = estimates()
        .filter(|one| is_second_cpu(facts, one))
        .filter_map(|one| of_estimate(SECOND_CPU, facts.group_of(&one.treatment), one));
    let asked = ASKED.iter().flat_map(|(question, name, what)| {
        let found = analysis.found(question).into_iter().flat_map(|found| &found.estimates);
        found.filter(|one| one.name == *name).filter_map(|one| of_estimate(what, &one.treatment, one))
    });
    let knees =
        analysis.choices.iter().filter(|choice| choice.axis == Axis::Sessions && choice.place != ONE_CORE);
    let knees = knees.filter_map(|choice| {
        let chosen = choice.candidates.iter().find(|one| Some(&one.treatment) == choice.chosen.as_ref())?;
        // Of the largest number it is not known that more are no faster.
        let is_most = choice.candidates.iter().all(|other| other.number <= chosen.number);
        if is_most {
            return None;
        }
        figure(KNEE, data_class(facts.study, &choice.group), f64::from(chosen.number), None)
    });
    let all: Vec<Figure> = compared.chain(second_cpu).chain(asked).chain(knees).collect();
    let mut kept: Vec<Figure> = Vec::new();
    for kind in FIGURES {
        for one in all.iter().filter(|one| one.what == kind.what) {
            if kept.iter().all(|other| (&other.what, &other.data) != (&one.what, &one.data)) {
                kept.push(one.clone());
            }
        }
    }
    kept.truncate(MOST_FIGURES);
    kept
}

/// A figure of which all numbers are known.
fn figure(what: &str, data: String, value: f64, interval: Option<[f64; 2]>) -> Option<Figure> {
    let all = [Some(value), interval.map(|ends| ends[0]), interval.map(|ends| ends[1])];
    let is_known = all.into_iter().flatten().all(f64::is_finite);
    is_known.then(|| Figure {
        what: what.to_owned(),
        data,
        value: short(value),
        interval: interval.map(|ends| ends.map(short)),
    })
}

/// Whether an estimate is of two sessions on two logical CPUs of a package over one session.
fn is_second_cpu(facts: &Facts<'_>, one: &Estimate) -> bool {
    let treatment = |name: &str| facts.study.treatment(name).map(|(_, treatment)| treatment);
    let baseline = one.baseline.split(" and ").next().and_then(treatment);
    let is_pair = treatment(&one.treatment)
        .is_some_and(|two| two.placement.text == "same-package" && two.sessions == 2);
    one.kind == ComparisonKind::Baseline && is_pair && baseline.is_some_and(|alone| alone.sessions == 1)
}

/// The command that repeats a preset on the same kind of engine; its other options are not in it. Presets whose work is
/// the user's cannot be repeated by others.
fn redo(study: &Study) -> Option<String> {
    // A definition of the user's may have a preset's name.
    presets::names().into_iter().find(|preset| *preset == (study.name.as_str(), study.title.as_str()))?;
    let is_theirs = matches!(study.workload, Workload::Command | Workload::WorkList | Workload::Transaction);
    let engine = if study.is_users_server() { "URL" } else { &study.engine };
    (!is_theirs).then(|| format!("threadwise run {} --engine {engine}", study.name))
}

/// The size class of a group's data: where it fits (`inside L2`), or its size rounded up to a power of 2, or the scale
/// of a data set; empty if it is not known.
fn data_class(study: &Study, group: &str) -> String {
    let known = levels(group).find(|level| DATA.contains(level));
    if let Some(words) = known.and_then(|level| data_words(study, group, level)) {
        return words.trim_start_matches("with ").to_owned();
    }
    let treatment = study.treatments.iter().find(|treatment| treatment.group == group);
    let option = |name: &str| treatment.and_then(|treatment| treatment.options.get(name));
    match (option("blocks"), option("scale")) {
        (Some(OptionValue::Integer(blocks)), _) if *blocks > 0 => {
            let mib = (*blocks as u64).div_ceil(256).max(1).next_power_of_two();
            format!("up to {mib} MiB per session")
        }
        (_, Some(scale @ (OptionValue::Integer(_) | OptionValue::Number(_)))) => format!("scale {scale}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse_on;
    use crate::fixtures::{comparison, machine, run, study};
    use threadwise_study::Run;

    fn runs(rates: &[(String, u64)]) -> Vec<Run> {
        let of_block = |block: u32| {
            rates.iter().map(move |(name, rows)| run(block, name, &[rows + u64::from(block % 3)]))
        };
        (0..8).flat_map(of_block).collect()
    }

    /// The card of a study whose second threads add 30%.
    fn made() -> Card {
        let groups = ["data=l2", "scale=4"];
        let mut study =
            study(&groups, &["same-core same-core 2", "one-cpu one-cpu 2", "pair same-package 2"]);
        study.treatments[5].options.insert("blocks".to_owned(), OptionValue::Integer(300_000));
        let (name, title) = presets::names()[0];
        (study.name, study.title) = (name.to_owned(), title.to_owned());
        let mut rates: Vec<(String, u64)> = Vec::new();
        for group in groups {
            let name = |treatment: &str| format!("{treatment}/{group}");
            study.comparisons.push(comparison(&name("same-core"), &[&name("one-cpu")], "smt-yield"));
            study.comparisons.push(comparison(&name("pair"), &[&name("A"), &name("A'")], "baseline"));
            let of_group =
                [("A", 1000), ("A'", 1000), ("same-core", 1300), ("one-cpu", 1000), ("pair", 1900)];
            rates.extend(of_group.map(|(treatment, rate)| (name(treatment), rate * 100)));
        }
        let topology = machine(1, 2, 2);
        let analysis = analyse_on(&study, Some(&topology), &runs(&rates), 1.0);
        let facts = Facts {
            source: "/srv/me/secret.threadwise",
            created_utc: "2026-11-30T12:00:00Z",
            program_version: "0.1.0",
            ..Facts::new(&study, &topology, &analysis)
        };
        let card = Card::of(&facts, TrustLevel::Good, Some("m7i.large".to_owned()));
        Card { simulated: false, ..card }
    }

    const TODAY: &str = "2026-12-01";

    #[test]
    fn a_card_has_the_figures_of_its_study() {
        let card = made();
        assert_eq!(
            (card.cores, card.threads_per_core, card.blocks, card.date.as_str()),
            (2, 2, 8, "2026-11-30")
        );
        let found: Vec<(&str, &str, f64)> =
            card.figures.iter().map(|one| (one.what.as_str(), one.data.as_str(), one.value)).collect();
        let large = "up to 2048 MiB per session";
        assert_eq!(
            found,
            [
                (SECOND_THREAD, "inside L2", 1.3),
                (SECOND_THREAD, large, 1.3),
                (SECOND_CPU, "inside L2", 1.9),
                (SECOND_CPU, large, 1.9),
            ]
        );
        let has_interval = |one: &&Figure| one.interval.is_some_and(|ends| ends[0] <= ends[1]);
        assert_eq!(card.figures.iter().filter(has_interval).count(), 4);
        assert_eq!(card.redo.as_deref(), Some("threadwise run placement --engine sqlite"));
        assert_eq!(card.fault(TODAY), None);
        assert!(!format!("{card:?}").contains("secret"));
    }

    /// The card of one group of a study with more sessions, changed before it is judged.
    fn changed(group: &str, change: impl Fn(&mut Study)) -> Card {
        let mut study = study(&[group], &["pair same-package 2", "two spread:2 2", "four spread:4 4"]);
        change(&mut study);
        let topology = machine(1, 2, 2);
        let rates = [("A", 1000), ("A'", 1000), ("pair", 1900), ("two", 1900), ("four", 1900)];
        let rates = rates.map(|(name, rate)| (name.to_owned(), rate * 100));
        let analysis = analyse_on(&study, Some(&topology), &runs(&rates), 1.0);
        Card::of(&Facts::new(&study, &topology, &analysis), TrustLevel::Good, None)
    }

    #[test]
    fn a_knee_has_more_sessions_beside_it() {
        let card = changed("data=l2", |_| ());
        let knee = card.figures.iter().find(|figure| figure.what == KNEE);
        assert_eq!(knee.map(|knee| (knee.value, knee.data.as_str())), Some((2.0, "inside L2")), "{card:?}");
    }

    #[test]
    fn names_of_the_user_are_in_no_card() {
        let secret = "db01.example";
        let scale = |study: &mut Study| {
            let options = study.treatments.iter_mut().map(|treatment| &mut treatment.options);
            options
                .for_each(|options| drop(options.insert("scale".into(), OptionValue::Text(secret.into()))));
        };
        let changes: [&dyn Fn(&mut Study); 4] =
            [&|_| (), &scale, &|study| study.engine = "/srv/db01.example/engine".into(), &|study| {
                study.workload = Workload::Other(secret.into())
            }];
        for change in changes {
            let card = changed(&format!("device={secret},data={secret}"), change);
            assert!(!card.figures.is_empty() && !format!("{card:?}").contains("db01"), "{card:?}");
        }
        // Titles and names of treatments, too; what repeats a preset is there for presets alone.
        let card = changed("data=l2", |study| (study.title, study.engine) = (secret.into(), secret.into()));
        assert_eq!(card.redo, None);
        let other = card.of_other_engine();
        assert!(!format!("{other:?}").contains("db01"), "{other:?}");
        assert_eq!(plain("16.4 (Debian)\n built by joe@db01"), None);
        assert_eq!(plain("1.0 \u{202e}x"), None);
    }

    #[test]
    fn cards_that_cannot_be_are_refused_with_the_reason() {
        type Change = fn(&mut Card);
        let changes: [(Change, &str); 21] = [
            (|card| card.card = 2, "its form is 2"),
            (|card| card.simulated = true, "from a model"),
            (|card| card.date = "2026-12-02".into(), "not a day from 2026-01-01 to 2026-12-01"),
            (|card| card.date = "2026-13-1x".into(), "not a day"),
            (|card| card.date = "2025-12-31".into(), "not a day"),
            (|card| card.cpu = Some("x".repeat(81)), "cpu has more than 80"),
            (|card| card.cpu = Some("<b>".into()), ""),
            (|card| card.engine = "my\u{202e}db".into(), "engine has other characters"),
            (|card| card.engine_version = "15 /srv/me".into(), "looks like a path"),
            (|card| card.engine_version = "app@db.example".into(), "looks like an address"),
            (|card| card.cores = 0, "from 1 to 4096"),
            (|card| (card.cpu, card.instance) = (None, None), "neither a processor"),
            (|card| card.blocks = 2, "fewer than 3"),
            (|card| card.a_a = Some([1.2, 1.1]), "a_a is not an interval"),
            (|card| card.figures.clear(), "0 figures"),
            (|card| card.redo = Some("threadwise run x; rm -rf".into()), "command is not"),
            (|card| card.redo = Some("threadwise run command -- reboot".into()), "command is not"),
            (|card| card.figures[0].what = "speed".into(), "unknown figure 'speed'"),
            (|card| card.figures[0].value = 200.0, "second-thread is 200"),
            (|card| card.figures[0].interval = Some([1.4, 1.5]), "does not contain it"),
            (|card| card.figures[0].interval = Some([-1.0, 1.5]), "or cannot be"),
        ];
        for (change, part) in changes {
            let mut card = made();
            change(&mut card);
            let fault = card.fault(TODAY);
            match part {
                // Harmless: pages escape it.
                "" => assert_eq!(fault, None),
                part => {
                    assert!(fault.as_ref().is_some_and(|fault| fault.contains(part)), "{part}: {fault:?}")
                }
            }
        }
        let cpus = [
            "AMD EPYC 7B13 64-Core Processor",
            "Intel(R) Xeon(R) CPU @ 2.20GHz",
            "13th Gen Intel(R) Core(TM) i9-13900K",
        ];
        for cpu in cpus {
            assert_eq!(Card { cpu: Some(cpu.into()), ..made() }.fault(TODAY), None, "{cpu}");
        }
    }
}
