//! A fleet as a document: the answer first, then comparisons by kind with a dot for each machine, rates and rates per
//! price, machines, what is absent, and how it is judged.

mod charts;
mod machines;
mod rates;
mod ratios;
mod verdict;
mod words;

use super::judged::{Judged, LEVEL, MIN_MACHINES, RECOMMENDED_MACHINES};
use super::types::Fleet;
use threadwise_document::numbers::{counted, set_percent};
use threadwise_document::{Block, Document, Fact, Prose, Section, Shown, prose};

/// The report of a fleet.
pub fn document(fleet: &Fleet, judged: &Judged, program_version: &str) -> Document {
    let mut sections = vec![ratios::section(judged)];
    sections.extend(charts::section(judged));
    sections.extend(rates::section(judged));
    sections.extend(machines::sections(judged));
    sections.push(method(judged));
    let title = if fleet.title.is_empty() { format!("Fleet: {}", fleet.study) } else { fleet.title.clone() };
    Document {
        title,
        about: about(fleet, judged),
        simulated: judged.simulated,
        verdict: verdict::verdict(judged),
        facts: facts(judged),
        sections,
        footer: format!("threadwise {program_version}"),
        ..Document::default()
    }
}

/// What was measured where.
fn about(fleet: &Fleet, judged: &Judged) -> Vec<String> {
    let sum = |count: fn(&super::JudgedKind) -> u32| judged.kinds.iter().map(count).sum::<u32>() as usize;
    vec![
        format!("study {}", fleet.study),
        format!(
            "{} of {}, {}, {}",
            counted(sum(|kind| kind.machines), "machine"),
            counted(judged.kinds.len(), "kind"),
            counted(sum(|kind| kind.boots), "boot"),
            words::studies(sum(|kind| kind.studies))
        ),
    ]
}

/// Figures beside the verdict.
fn facts(judged: &Judged) -> Vec<Fact> {
    let fact =
        |name: &str, value: String, note: &str| Fact { name: name.to_owned(), value, note: note.to_owned() };
    let sum = |count: fn(&super::JudgedKind) -> u32| judged.kinds.iter().map(count).sum::<u32>();
    let by_kind: Vec<String> =
        judged.kinds.iter().map(|kind| format!("{} of {}", kind.machines, kind.name)).collect();
    let absent: usize = judged.absent.iter().map(|group| group.cells.len()).sum();
    vec![
        fact("machines", sum(|kind| kind.machines).to_string(), &by_kind.join(", ")),
        fact(
            "studies",
            sum(|kind| kind.studies).to_string(),
            &counted(sum(|kind| kind.boots) as usize, "boot"),
        ),
        fact("absent", absent.to_string(), "planned studies without a result"),
        fact("margin", set_percent(judged.margin), "what is too small to matter"),
    ]
}

/// How it is judged, in few lines.
fn method(judged: &Judged) -> Section {
    let level = set_percent(LEVEL);
    let unit: Prose = prose!(
        "A machine is one number: the mean over its boots of the mean of each boot's studies, in logarithms. Intervals are \
         Student's t over machines at {}, from {} machines of a kind on; {} are recommended.",
        level,
        MIN_MACHINES,
        RECOMMENDED_MACHINES
    );
    let questions: Prose = prose!(
        "Two questions have two intervals. Mean of the kind: where the mean of all machines of the kind lies (t · s / √k). \
         Next machine: what as many boots and repeats on one more machine will measure (t · s · √(1 + 1/k)). A single study \
         there varies more than that, the machine's truth less."
    );
    let families: Prose = prose!(
        "Kinds are compared by Welch's t on machine means, with fewer degrees of freedom where one kind has fewer machines. \
         Comparisons against 1, comparisons between kinds, and rates \
         between kinds are three families, adjusted by Holm, each at {}. Margin {}: what lies within it counts as the same.",
        set_percent((1.0 - LEVEL) / 2.0),
        set_percent(judged.margin)
    );
    let odd: Prose = prose!(
        "A machine is called odd where it is farther from the others of its kind than chance has it in {} of fleets (Grubbs, \
         over all machines and comparisons), from four machines on. It stays in all figures.",
        set_percent(1.0 - LEVEL)
    );
    let blocks = [unit, questions, families, odd].map(|text| Block::Text(text, Shown::Everywhere));
    Section::new("method", "How it is judged", blocks.into())
}
