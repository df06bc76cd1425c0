//! Who shares a core, in words: the first line of a probe.

use super::cores::{Cores, Relation};
use super::neighbour::NAMED_SHARE;
use super::types::{Difference, MAX_DIFFERENCES, PairCounts};
use super::words::{cpus_text, sentence_part, slowed};
use crate::Finding;
use crate::words::{count_of, finding, share, shortened_of};
use threadwise_document::{Prose, numbers, prose};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::probe::{PairSharing, Probe, Sharing, Slowdown};

/// Where cores are not as declared, one entry per measured group or declared core: the first [`MAX_DIFFERENCES`], and
/// their number.
pub fn differences(cores: &Cores, probe: &Probe) -> (Vec<Difference>, usize) {
    let merged = cores.groups.iter().filter_map(|members| merged(cores, members));
    let split = cores.declared.iter().filter_map(|core| split(cores, core));
    let all: Vec<Found> = merged.chain(split).collect();
    let described = all.iter().take(MAX_DIFFERENCES).map(|found| found.described(probe)).collect();
    (described, all.len())
}

/// A difference without its figures, which need all pairs.
struct Found {
    cpus: CpuSet,
    declared: String,
    measured: String,
    /// Pairs whose figures show it.
    counts: fn(Sharing) -> bool,
}

impl Found {
    fn described(&self, probe: &Probe) -> Difference {
        let Self { cpus, declared, measured, counts } = self;
        let figures = figures(probe, cpus, |pair| counts(pair.sharing));
        let text = prose!("{} are {}, declared as {}{}", cpus_text(cpus), measured, declared, figures);
        Difference { cpus: cpus.clone(), declared: declared.clone(), measured: measured.clone(), text }
    }
}

/// A measured group that is declared as several cores, or that is one logical CPU.
fn merged(cores: &Cores, members: &[usize]) -> Option<Found> {
    let same_cpu = same_cpu(cores, members);
    let mut declared: Vec<usize> = members.iter().filter_map(|place| cores.declared_core(*place)).collect();
    let known = declared.len() == members.len();
    declared.sort_unstable();
    declared.dedup();
    let sound =
        members.len() > 1 && matches!(cores.measured_of(members[0], members[1]), Relation::Same(_)) && known;
    if !sound || (declared.len() < 2 && !same_cpu) {
        return None;
    }
    let measured = if same_cpu { "one logical CPU under several names" } else { "one core" };
    Some(Found {
        cpus: cores.set(members),
        declared: count_of(declared.len(), "core"),
        measured: measured.to_owned(),
        counts: is_same,
    })
}

/// A declared core whose members were measured apart.
fn split(cores: &Cores, core: &CpuSet) -> Option<Found> {
    let places = cores.places(core);
    let apart = |(at, a): (usize, &usize)| {
        places[at + 1..].iter().any(|b| cores.measured_of(*a, *b) == Relation::Different)
    };
    if !places.iter().enumerate().any(apart) {
        return None;
    }
    let mut groups: Vec<usize> = places.iter().map(|place| cores.group(*place)).collect();
    groups.sort_unstable();
    groups.dedup();
    Some(Found {
        cpus: core.clone(),
        declared: "one core".to_owned(),
        measured: count_of(groups.len(), "core"),
        counts: |sharing| sharing == Sharing::DifferentCores,
    })
}

fn same_cpu(cores: &Cores, members: &[usize]) -> bool {
    let same = |(at, a): (usize, &usize)| {
        members[at + 1..].iter().any(|b| cores.measured_of(*a, *b) == Relation::Same(Sharing::SameCpu))
    };
    members.iter().enumerate().any(same)
}

fn is_same(sharing: Sharing) -> bool {
    matches!(sharing, Sharing::SameCore | Sharing::SameCpu)
}

/// `: independent adds (WIDE) slowed 1.98x together, dependent adds (CHAIN) 1.01x`; for several pairs the range. Empty
/// without figures.
fn figures(probe: &Probe, cpus: &CpuSet, counts: impl Fn(&PairSharing) -> bool) -> Prose {
    let inside = |pair: &&PairSharing| cpus.contains(pair.a) && cpus.contains(pair.b) && counts(pair);
    let pairs: Vec<&PairSharing> = probe.pairs.iter().filter(inside).collect();
    let wide = range(pairs.iter().filter_map(|pair| pair.wide));
    let chain = range(pairs.iter().filter_map(|pair| pair.chain));
    match (wide, chain) {
        (Some(wide), Some(chain)) => {
            prose!(": independent adds (WIDE) slowed {} together, dependent adds (CHAIN) {}", wide, chain)
        }
        (Some(wide), None) => prose!(": independent adds (WIDE) slowed {} together", wide),
        (None, Some(chain)) => prose!(": dependent adds (CHAIN) slowed {} together", chain),
        (None, None) => Prose::default(),
    }
}

/// `1.98x`, `1.85x to 1.98x`.
fn range(slowdowns: impl Iterator<Item = Slowdown>) -> Option<Prose> {
    let ends = slowdowns.map(|slowdown| (slowdown.median, slowdown.median));
    let (low, high) = ends.reduce(|(low, high), (one, _)| (low.min(one), high.max(one)))?;
    let (low, high) = (slowed(low), slowed(high));
    Some(if low == high { low } else { prose!("{} to {}", low, high) })
}

/// The first line: who shares a core, with figures, compared with the declaration.
pub fn sharing(
    topology: &Topology,
    probe: &Probe,
    cores: &Cores,
    pairs: &PairCounts,
    differences: (&[Difference], usize),
) -> Finding {
    let whole = topology.allowed() == probe.cpus;
    let text = match cores.cpus.as_slice() {
        [] => prose!("No logical CPU was probed."),
        [cpu] => {
            prose!("Only CPU {} was probed: one logical CPU cannot show what it shares its core with.", *cpu)
        }
        [_, _] => of_two(topology, probe, cores, whole),
        _ => of_many((topology, probe), cores, pairs, differences, whole),
    };
    finding("probe-sharing", text, &[])
}

/// `your 2 logical CPUs`, `the 2 probed logical CPUs (0,3)`.
fn subject(probe: &Probe, whole: bool) -> String {
    let cpus = numbers::counted(probe.cpus.len(), "logical CPU");
    if whole { format!("your {cpus}") } else { format!("the probed {cpus} ({})", probe.cpus) }
}

/// Whether the logical CPUs that are declared to have a core each have one thread of it only: another program or guest
/// was busy on the other one.
fn has_hidden_siblings(topology: &Topology, probe: &Probe) -> bool {
    let is_busy = |share: Option<f64>| share.is_some_and(|share| share >= NAMED_SHARE);
    topology.max_threads_per_core() < 2 && probe.neighbours.iter().any(|one| is_busy(one.busy_share))
}

fn of_two(topology: &Topology, probe: &Probe, cores: &Cores, whole: bool) -> Prose {
    let subject = subject(probe, whole);
    let declared = cores.declared_same(0, 1);
    let in_declared = match declared {
        None => "the system does not declare it",
        Some(true) => "the system declares one core",
        Some(false) => "the system declares two cores",
    };
    let capital = numbers::capital(&subject);
    let figures = figures(probe, &probe.cpus, |_| true);
    let decided = |what: &str, as_declared: bool| match as_declared {
        true => prose!("{} are {}, as declared{}.", &capital, what, figures.clone()),
        false => prose!("{} are {}{} ({}).", &capital, what, figures.clone(), in_declared),
    };
    let why = || probe.pairs.first().map_or("no figures", |pair| sentence_part(&pair.why));
    match cores.measured_of(0, 1) {
        Relation::Same(Sharing::SameCpu) => {
            let on = probe.pairs.iter().find_map(|pair| pair.on_cpu_share);
            let on = on.map_or_else(Prose::default, |on| prose!(", each on a CPU {} of the time", share(on)));
            prose!(
                "{} are one logical CPU under two names{}{} ({}): check steal, and count them as one.",
                &capital,
                figures,
                on,
                in_declared
            )
        }
        Relation::Same(_) => decided("one core", declared == Some(true)),
        Relation::Different if has_hidden_siblings(topology, probe) => prose!(
            "{} are on two cores, one thread of each, whose other threads others use{} ({}).",
            &capital,
            figures,
            in_declared
        ),
        Relation::Different => decided("two cores", declared == Some(false)),
        Relation::Open(Sharing::Masked) => prose!(
            "Whether {} share a core is masked by a neighbour: {}. Probe again when the host is quieter; {}.",
            &subject,
            why(),
            in_declared
        ),
        Relation::Open(Sharing::Moving) => prose!(
            "Whether {} share a core changed while it was measured: {}. The hypervisor moves them; {}.",
            &subject,
            why(),
            in_declared
        ),
        Relation::Open(_) => {
            prose!("Whether {} share a core is unclear: {}; {}.", &subject, why(), in_declared)
        }
        Relation::Unknown => {
            prose!("Whether {} share a core was not measured; {}.", &subject, in_declared)
        }
    }
}

fn of_many(
    (topology, probe): (&Topology, &Probe),
    cores: &Cores,
    pairs: &PairCounts,
    (differences, total): (&[Difference], usize),
    whole: bool,
) -> Prose {
    let subject = subject(probe, whole);
    let undecided = cores.undecided();
    let mut text = counts(cores, &undecided, pairs, &subject);
    if undecided.is_empty() && has_hidden_siblings(topology, probe) {
        text.push(prose!(", one thread of each, whose other threads others use"));
    }
    let about_cores: Vec<Prose> = differences.iter().map(|difference| difference.text.clone()).collect();
    match about_cores.is_empty() {
        true => text.push(spans(probe)),
        false => text.push(prose!(": {}", shortened_of(&about_cores, total))),
    }
    let again = match (undecided.is_empty(), pairs.masked) {
        (true, _) => return prose!("{}.", text),
        (false, 0) => "Probe again",
        (false, _) => "Probe again when the host is quieter",
    };
    prose!("{}. {}, or probe more: `threadwise probe --full`.", text, again)
}

/// How many cores there are, compared with the declaration.
fn counts(cores: &Cores, undecided: &CpuSet, pairs: &PairCounts, subject: &str) -> Prose {
    let measured = cores.measured().len();
    let in_cores = count_of(measured, "core");
    let capital = numbers::capital(subject);
    match (undecided.is_empty(), pairs.differ, cores.declared.len()) {
        (true, _, 0) => prose!("{} are {}; the system declares none", capital, in_cores),
        (true, 0, _) => prose!("{} are {}, as declared", capital, in_cores),
        (true, _, declared) => {
            prose!("{} are {}, and the system declares {}", capital, in_cores, count_of(declared, "core"))
        }
        (false, ..) if measured == 0 => {
            prose!("Which of {} share a core is undecided: {}", subject, open(pairs))
        }
        (false, differ, _) => prose!(
            "Of {}, {} are on {} as measured{}; {} are undecided: {}",
            subject,
            cores.cpus.len() - undecided.len(),
            in_cores,
            if differ == 0 { ", none different from the declaration" } else { "" },
            cpus_text(undecided),
            open(pairs)
        ),
    }
}

/// Slowdowns over all measured pairs.
fn spans(probe: &Probe) -> Prose {
    let over = |counts: fn(Sharing) -> bool| {
        range(probe.pairs.iter().filter(|pair| counts(pair.sharing)).filter_map(|pair| pair.wide))
    };
    let same =
        over(is_same).map(|range| prose!("independent adds (WIDE) slowed {} together on one core", range));
    let apart = over(|sharing| sharing == Sharing::DifferentCores).map(|range| prose!("{} on two", range));
    let parts: Vec<Prose> = [same, apart].into_iter().flatten().collect();
    if parts.is_empty() { Prose::default() } else { prose!(": {}", Prose::join(parts, ", ")) }
}

/// Pairs without an answer by cause.
fn open(pairs: &PairCounts) -> Prose {
    let causes = [
        (pairs.masked, "masked by neighbours"),
        (pairs.moving, "moved by the hypervisor"),
        (pairs.unclear, "unclear"),
        (pairs.unknown, "not measured"),
    ];
    let present = causes.iter().filter(|(count, _)| *count > 0);
    let parts =
        present.map(|(count, cause)| prose!("{} {}", numbers::counted(*count as usize, "pair"), *cause));
    Prose::list(parts.collect())
}

/// The measurement in a few words.
pub fn in_few_words(topology: &Topology, probe: &Probe, cores: &Cores, pairs: &PairCounts) -> Prose {
    match cores.cpus.len() {
        0 | 1 => prose!("nothing to compare"),
        2 => two_in_few_words(probe, cores, has_hidden_siblings(topology, probe)),
        all => {
            let in_cores = count_of(cores.measured().len(), "core");
            match (cores.undecided().len(), pairs.differ) {
                (0, 0) => prose!("{}, as declared", in_cores),
                (0, _) => prose!("{}, not {}", in_cores, numbers::count_word(cores.declared.len() as u32)),
                (some, 0) => prose!("{} of {} logical CPUs undecided, the others as declared", some, all),
                (some, _) => prose!("not as declared; {} of {} logical CPUs undecided", some, all),
            }
        }
    }
}

fn two_in_few_words(probe: &Probe, cores: &Cores, hidden: bool) -> Prose {
    let what = match cores.measured_of(0, 1) {
        Relation::Same(Sharing::SameCpu) => "one logical CPU under two names",
        Relation::Same(_) => "one core",
        Relation::Different if hidden => "two cores, one thread of each",
        Relation::Different => "two cores",
        Relation::Open(Sharing::Masked) => "masked by a neighbour",
        Relation::Open(Sharing::Moving) => "moved by the hypervisor",
        Relation::Open(_) => "unclear who shares a core",
        Relation::Unknown => return prose!("sharing not measured"),
    };
    let pair = probe.pairs.first();
    let kernels = [
        ("independent adds", pair.and_then(|pair| pair.wide)),
        ("dependent adds", pair.and_then(|pair| pair.chain)),
    ];
    let known = kernels
        .into_iter()
        .filter_map(|(name, slowdown)| Some(prose!("{} {}", name, slowed(slowdown?.median))));
    match Prose::join(known, ", ") {
        none if none.is_empty() => what.into(),
        figures => prose!("{} ({} as long together)", what, figures),
    }
}
