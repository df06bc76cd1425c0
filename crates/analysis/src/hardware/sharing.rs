//! Who shares a core, in words: the first line of a probe.

use super::cores::{Cores, Relation};
use super::{Difference, MAX_DIFFERENCES, PairCounts, cpus_text, sentence_part};
use crate::Finding;
use crate::findings::finding;
use crate::findings::words::{count, list, percent, plural, shortened_of};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::probe::{PairSharing, Probe, Sharing, Slowdown};

/// Where cores are not as declared, one entry per measured group or declared core: the first
/// [`MAX_DIFFERENCES`], and how many there are.
pub fn differences(cores: &Cores, probe: &Probe) -> (Vec<Difference>, usize) {
    let merged = cores.groups.iter().filter_map(|members| merged(cores, members));
    let split = cores.declared.iter().filter_map(|core| split(cores, core));
    let all: Vec<Found> = merged.chain(split).collect();
    let described = all.iter().take(MAX_DIFFERENCES).map(|found| found.described(probe)).collect();
    (described, all.len())
}

/// A difference without its figures, which take a look at all pairs.
struct Found {
    cpus: CpuSet,
    declared: String,
    measured: String,
    /// Whose figures show it.
    counts: fn(Sharing) -> bool,
}

impl Found {
    fn described(&self, probe: &Probe) -> Difference {
        let Self { cpus, declared, measured, counts } = self;
        let figures = figures(probe, cpus, |pair| counts(pair.sharing));
        let text = format!("{} are {measured}, declared as {declared}{figures}", cpus_text(cpus));
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
        declared: cores_text(declared.len()),
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
        measured: cores_text(groups.len()),
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

fn cores_text(cores: usize) -> String {
    format!("{} core{}", count(cores as u32), if cores == 1 { "" } else { "s" })
}

/// `: independent adds (WIDE) slowed 1.98x together, dependent adds (CHAIN) 1.01x`; of several pairs the
/// range. Empty where there are no figures.
fn figures(probe: &Probe, cpus: &CpuSet, counts: impl Fn(&PairSharing) -> bool) -> String {
    let inside = |pair: &&PairSharing| cpus.contains(pair.a) && cpus.contains(pair.b) && counts(pair);
    let pairs: Vec<&PairSharing> = probe.pairs.iter().filter(inside).collect();
    let wide = range(pairs.iter().filter_map(|pair| pair.wide));
    let chain = range(pairs.iter().filter_map(|pair| pair.chain));
    match (wide, chain) {
        (Some(wide), Some(chain)) => {
            format!(": independent adds (WIDE) slowed {wide} together, dependent adds (CHAIN) {chain}")
        }
        (Some(wide), None) => format!(": independent adds (WIDE) slowed {wide} together"),
        (None, Some(chain)) => format!(": dependent adds (CHAIN) slowed {chain} together"),
        (None, None) => String::new(),
    }
}

/// `1.98x`, `1.85x to 1.98x`.
fn range(slowdowns: impl Iterator<Item = Slowdown>) -> Option<String> {
    let ends = slowdowns.map(|slowdown| (slowdown.median, slowdown.median));
    let (low, high) = ends.reduce(|(low, high), (one, _)| (low.min(one), high.max(one)))?;
    let (low, high) = (format!("{low:.2}x"), format!("{high:.2}x"));
    Some(if low == high { low } else { format!("{low} to {high}") })
}

/// The first line: who shares a core, with figures, beside what is declared.
pub fn sharing(
    topology: &Topology,
    probe: &Probe,
    cores: &Cores,
    pairs: &PairCounts,
    differences: (&[Difference], usize),
) -> Finding {
    let whole = topology.allowed() == probe.cpus;
    let text = match cores.cpus.as_slice() {
        [] => "No logical CPU was probed.".to_owned(),
        [cpu] => format!(
            "Only CPU {cpu} was probed: with whom it shares its core cannot be measured from one logical CPU."
        ),
        [_, _] => of_two(probe, cores, whole),
        _ => of_many(probe, cores, pairs, differences, whole),
    };
    finding("probe-sharing", text, &[])
}

/// `your 2 logical CPUs`, `the 2 probed logical CPUs (0,3)`.
fn subject(probe: &Probe, whole: bool) -> String {
    let cpus = plural(probe.cpus.len() as u32, "logical CPU");
    if whole { format!("your {cpus}") } else { format!("the probed {cpus} ({})", probe.cpus) }
}

fn of_two(probe: &Probe, cores: &Cores, whole: bool) -> String {
    let subject = subject(probe, whole);
    let declared = cores.declared_same(0, 1);
    let in_declared = match declared {
        None => "the system declares nothing of it",
        Some(true) => "the system declares one core",
        Some(false) => "the system declares two cores",
    };
    let figures = figures(probe, &probe.cpus, |_| true);
    let described = |what: &str, as_declared: bool| {
        let capital = capital(&subject);
        match as_declared {
            true => format!("{capital} are {what}, as declared{figures}."),
            false => format!("{capital} are {what}{figures} ({in_declared})."),
        }
    };
    let why = || probe.pairs.first().map_or("no figures", |pair| sentence_part(&pair.why));
    match cores.measured_of(0, 1) {
        Relation::Same(Sharing::SameCpu) => {
            let on = probe.pairs.iter().find_map(|pair| pair.on_cpu_share);
            let on = on.map_or_else(String::new, |on| format!(", each on a CPU {} of the time", percent(on)));
            format!(
                "{} are one logical CPU under two names{figures}{on} ({in_declared}): look at steal, and count on one.",
                capital(&subject)
            )
        }
        Relation::Same(_) => described("one core", declared == Some(true)),
        Relation::Different => described("two cores", declared == Some(false)),
        Relation::Open(Sharing::Masked) => format!(
            "Whether {subject} share a core is masked by a co-runner: {}. Probe again when the machine below is \
             quieter; {in_declared}.",
            why()
        ),
        Relation::Open(Sharing::Moving) => format!(
            "Whether {subject} share a core changed while it was measured: {}. The hypervisor moves them; \
             {in_declared}.",
            why()
        ),
        Relation::Open(_) => {
            format!("Whether {subject} share a core is unclear: {}; {in_declared}.", why())
        }
        Relation::Unknown => format!("Whether {subject} share a core was not measured; {in_declared}."),
    }
}

fn of_many(
    probe: &Probe,
    cores: &Cores,
    pairs: &PairCounts,
    (differences, total): (&[Difference], usize),
    whole: bool,
) -> String {
    let subject = subject(probe, whole);
    let (measured, undecided) = (cores.measured().len(), cores.undecided());
    let declared = cores.declared.len();
    let open = open(pairs);
    let mut text = match (undecided.is_empty(), pairs.differ, declared) {
        (true, _, 0) => {
            format!("{} are {}; the system declares none", capital(&subject), cores_text(measured))
        }
        (true, 0, _) => format!("{} are {}, as declared", capital(&subject), cores_text(measured)),
        (true, ..) => {
            let (measured, declared) = (cores_text(measured), cores_text(declared));
            format!("{} are {measured}, and the system declares {declared}", capital(&subject))
        }
        (false, ..) if measured == 0 => {
            format!("Which of {subject} share a core is undecided: {open}")
        }
        (false, ..) => {
            let known = cores.cpus.len() - undecided.len();
            format!(
                "Of {subject}, {known} are on {} as measured{}; {} are undecided: {open}",
                cores_text(measured),
                if pairs.differ == 0 { ", none otherwise than declared" } else { "" },
                cpus_text(&undecided),
            )
        }
    };
    let core_differences: Vec<String> =
        differences.iter().map(|difference| difference.text.clone()).collect();
    if !core_differences.is_empty() {
        text += &format!(": {}", shortened_of(&core_differences, total));
    } else {
        text += &spans(probe);
    }
    if !undecided.is_empty() {
        let cause =
            if pairs.masked > 0 { "Probe again when the machine below is quieter" } else { "Probe again" };
        return format!("{text}. {cause}, or more of it: `threadwise probe --full`.");
    }
    text + "."
}

/// What slows whom, over all measured pairs.
fn spans(probe: &Probe) -> String {
    let of = |counts: fn(Sharing) -> bool| {
        range(probe.pairs.iter().filter(|pair| counts(pair.sharing)).filter_map(|pair| pair.wide))
    };
    let same =
        of(is_same).map(|range| format!("independent adds (WIDE) slowed {range} together on one core"));
    let apart = of(|sharing| sharing == Sharing::DifferentCores).map(|range| format!("{range} on two"));
    let parts: Vec<String> = [same, apart].into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

/// Pairs without an answer by cause.
fn open(pairs: &PairCounts) -> String {
    let causes = [
        (pairs.masked, "masked by co-runners"),
        (pairs.moving, "moved by the hypervisor"),
        (pairs.unclear, "unclear"),
        (pairs.unknown, "not measured"),
    ];
    let parts: Vec<String> = causes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, cause)| format!("{count} pair{} {cause}", if *count == 1 { "" } else { "s" }))
        .collect();
    list(&parts)
}

/// What was measured in a few words.
pub fn in_few_words(probe: &Probe, cores: &Cores, pairs: &PairCounts) -> String {
    let measured = cores.measured().len();
    match cores.cpus.len() {
        0 | 1 => return "nothing to compare".to_owned(),
        2 => {}
        all => {
            let undecided = cores.undecided().len();
            return match (undecided, pairs.differ) {
                (0, 0) => format!("{}, as declared", cores_text(measured)),
                (0, _) => format!("{}, not {}", cores_text(measured), count(cores.declared.len() as u32)),
                (some, 0) => format!("{some} of {all} logical CPUs undecided, the others as declared"),
                (some, _) => format!("otherwise than declared; {some} of {all} logical CPUs undecided"),
            };
        }
    }
    let pair = probe.pairs.first();
    let kernel = |name: &str, slowdown: Option<Slowdown>| Some(format!("{name} {:.2}x", slowdown?.median));
    let kernels = [
        kernel("independent adds", pair.and_then(|pair| pair.wide)),
        kernel("dependent adds", pair.and_then(|pair| pair.chain)),
    ];
    let kernels: Vec<String> = kernels.into_iter().flatten().collect();
    let figures = match kernels.is_empty() {
        true => String::new(),
        false => format!(" ({} as long together)", kernels.join(", ")),
    };
    let what = match cores.measured_of(0, 1) {
        Relation::Same(Sharing::SameCpu) => "one logical CPU under two names",
        Relation::Same(_) => "one core",
        Relation::Different => "two cores",
        Relation::Open(Sharing::Masked) => "masked by a co-runner",
        Relation::Open(Sharing::Moving) => "moved by the hypervisor",
        Relation::Open(_) => "unclear who shares a core",
        Relation::Unknown => return "sharing not measured".to_owned(),
    };
    format!("{what}{figures}")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
