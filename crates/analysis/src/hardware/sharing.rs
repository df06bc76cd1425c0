//! Who shares a core, in words: the first line of a probe.

use super::cores::{Cores, Relation};
use super::lines::{NAMED_SHARE, cpus_text, from_to, sentence_part, slowed};
use super::shown::extent;
use super::types::{Difference, MAX_DIFFERENCES, PairCounts};
use crate::words::{count_of, finding, share, shortened_of};
use crate::{Finding, FindingKind};
use threadwise_document::{Prose, numbers, prose};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::probe::{PairSharing, Probe, Sharing, Slowdown};

/// The probed logical CPUs with what follows from all pairs.
pub struct Compared<'a> {
    probe: &'a Probe,
    pub cores: Cores,
    pub pairs: PairCounts,
    /// Groups that stand.
    pub measured: Vec<CpuSet>,
    /// Logical CPUs in no such group.
    pub undecided: CpuSet,
    /// Whether all allowed logical CPUs were probed.
    is_whole: bool,
    /// Whether the logical CPUs that are declared to have a core each have one thread of it only: another program or
    /// guest was busy on the other one.
    has_hidden_siblings: bool,
}

/// A difference without its text, whose figures need all pairs, and the pairs whose figures show it.
type FoundDifference = (Difference, fn(Sharing) -> bool);

/// A measured group that is declared as several cores, or that is one logical CPU.
fn merged(cores: &Cores, cpus: &CpuSet) -> Option<FoundDifference> {
    let is_one_cpu = cores.has_pair(cpus, Relation::Same(Sharing::SameCpu));
    let is_one_core = is_one_cpu || cores.has_pair(cpus, Relation::Same(Sharing::SameCore));
    let declared = cores.declared_cores(cpus).filter(|count| is_one_core && (*count > 1 || is_one_cpu))?;
    let measured = if is_one_cpu { "one logical CPU under several names" } else { "one core" };
    Some((difference(cpus, &count_of(declared, "core"), measured), is_same))
}

/// A declared core whose members were measured apart.
fn split(cores: &Cores, core: &CpuSet) -> Option<FoundDifference> {
    let measured = count_of(cores.measured_groups(core), "core");
    let is_split = cores.has_pair(core, Relation::Different);
    is_split.then(|| (difference(core, "one core", &measured), is_different as fn(Sharing) -> bool))
}

fn difference(cpus: &CpuSet, declared: &str, measured: &str) -> Difference {
    let [declared, measured] = [declared, measured].map(str::to_owned);
    Difference { cpus: cpus.clone(), declared, measured, ..Difference::default() }
}

fn is_different(sharing: Sharing) -> bool {
    sharing == Sharing::DifferentCores
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
    let (low, _, high) = extent(slowdowns.map(|slowdown| slowdown.median))?;
    Some(from_to(slowed(low), slowed(high)))
}

impl<'a> Compared<'a> {
    /// Compares all pairs.
    pub fn new(topology: &Topology, probe: &'a Probe) -> Self {
        let cores = Cores::new(topology, probe);
        let (measured, undecided) = cores.measured();
        let mut shares = probe.neighbours.iter().filter_map(|one| one.busy_share);
        Self {
            probe,
            pairs: cores.count(),
            cores,
            measured,
            undecided,
            is_whole: topology.allowed() == probe.cpus,
            has_hidden_siblings: topology.max_threads_per_core() < 2
                && shares.any(|share| share >= NAMED_SHARE),
        }
    }

    /// Where cores are not as declared, one entry per measured group or declared core: the first [`MAX_DIFFERENCES`],
    /// and their number.
    pub fn differences(&self) -> (Vec<Difference>, usize) {
        let merged = self.cores.groups.iter().filter_map(|group| merged(&self.cores, &group.members));
        let split = self.cores.declared.iter().filter_map(|core| split(&self.cores, core));
        let all: Vec<FoundDifference> = merged.chain(split).collect();
        let total = all.len();
        let described = all.into_iter().take(MAX_DIFFERENCES).map(|(found, counts)| {
            let Difference { cpus, declared, measured, .. } = &found;
            let figures = figures(self.probe, cpus, |pair| counts(pair.sharing));
            let text = prose!("{} are {}, declared as {}{}", cpus_text(cpus), measured, declared, figures);
            Difference { text, ..found }
        });
        (described.collect(), total)
    }

    /// The first line: who shares a core, with figures, compared with the declaration.
    pub fn sharing(&self, differences: &[Difference], total: usize) -> Finding {
        let text = match (self.probe.cpus.len(), self.probe.cpus.first()) {
            (_, None) => prose!("No logical CPU was probed."),
            (1, Some(cpu)) => prose!(
                "Only CPU {} was probed: one logical CPU cannot show what it shares its core with.",
                cpu
            ),
            (2, _) => self.of_two(),
            _ => self.of_many(differences, total),
        };
        finding(FindingKind::ProbeSharing, text, &[])
    }

    /// `your 2 logical CPUs`, `the 2 probed logical CPUs (0,3)`.
    fn subject(&self) -> String {
        let cpus = numbers::counted(self.probe.cpus.len(), "logical CPU");
        match self.is_whole {
            true => format!("your {cpus}"),
            false => format!("the probed {cpus} ({})", self.probe.cpus),
        }
    }

    fn of_two(&self) -> Prose {
        let subject = self.subject();
        let declared = self.cores.pairs().next().and_then(|(a, b)| self.cores.declared_same(a, b));
        let in_declared = match declared {
            None => "the system does not declare it",
            Some(true) => "the system declares one core",
            Some(false) => "the system declares two cores",
        };
        let capital = numbers::capital(&subject);
        let figures = figures(self.probe, &self.probe.cpus, |_| true);
        let decided = |what: &str, as_declared: bool| match as_declared {
            true => prose!("{} are {}, as declared{}.", &capital, what, figures.clone()),
            false => prose!("{} are {}{} ({}).", &capital, what, figures.clone(), in_declared),
        };
        let why = || self.probe.pairs.first().map_or("no figures", |pair| sentence_part(&pair.why));
        match self.cores.of_two() {
            Relation::Same(Sharing::SameCpu) => {
                let on = self.probe.pairs.iter().find_map(|pair| pair.on_cpu_share);
                let on =
                    on.map_or_else(Prose::default, |on| prose!(", each on a CPU {} of the time", share(on)));
                prose!(
                    "{} are one logical CPU under two names{}{} ({}): check steal, and count them as one.",
                    &capital,
                    figures,
                    on,
                    in_declared
                )
            }
            Relation::Same(_) => decided("one core", declared == Some(true)),
            Relation::Different if self.has_hidden_siblings => prose!(
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

    fn of_many(&self, differences: &[Difference], total: usize) -> Prose {
        let mut text = self.counts();
        if self.undecided.is_empty() && self.has_hidden_siblings {
            text.push(prose!(", one thread of each, whose other threads others use"));
        }
        let about_cores: Vec<Prose> = differences.iter().map(|difference| difference.text.clone()).collect();
        match about_cores.is_empty() {
            true => text.push(spans(self.probe)),
            false => text.push(prose!(": {}", shortened_of(&about_cores, total))),
        }
        let again = match (self.undecided.is_empty(), self.pairs.masked) {
            (true, _) => return prose!("{}.", text),
            (false, 0) => "Probe again",
            (false, _) => "Probe again when the host is quieter",
        };
        prose!("{}. {}, or probe more: `threadwise probe --full`.", text, again)
    }

    /// How many cores there are, compared with the declaration.
    fn counts(&self) -> Prose {
        let (subject, in_cores) = (self.subject(), count_of(self.measured.len(), "core"));
        let capital = numbers::capital(&subject);
        match (self.undecided.is_empty(), self.pairs.differ, self.cores.declared.len()) {
            (true, _, 0) => prose!("{} are {}; the system declares none", capital, in_cores),
            (true, 0, _) => prose!("{} are {}, as declared", capital, in_cores),
            (true, _, declared) => {
                prose!("{} are {}, and the system declares {}", capital, in_cores, count_of(declared, "core"))
            }
            (false, ..) if self.measured.is_empty() => {
                prose!("Which of {} share a core is undecided: {}", subject, open(&self.pairs))
            }
            (false, differ, _) => prose!(
                "Of {}, {} are on {} as measured{}; {} are undecided: {}",
                subject,
                self.probe.cpus.len() - self.undecided.len(),
                in_cores,
                if differ == 0 { ", none different from the declaration" } else { "" },
                cpus_text(&self.undecided),
                open(&self.pairs)
            ),
        }
    }

    /// The measurement in a few words.
    pub fn in_few_words(&self) -> Prose {
        let all = self.probe.cpus.len();
        let in_cores = count_of(self.measured.len(), "core");
        match (all, self.undecided.len(), self.pairs.differ) {
            (0 | 1, ..) => prose!("nothing to compare"),
            (2, ..) => self.two_in_few_words(),
            (_, 0, 0) => prose!("{}, as declared", in_cores),
            (_, 0, _) => {
                prose!("{}, not {}", in_cores, numbers::count_word(self.cores.declared.len() as u32))
            }
            (_, some, 0) => prose!("{} of {} logical CPUs undecided, the others as declared", some, all),
            (_, some, _) => prose!("not as declared; {} of {} logical CPUs undecided", some, all),
        }
    }

    fn two_in_few_words(&self) -> Prose {
        let what = match self.cores.of_two() {
            Relation::Same(Sharing::SameCpu) => "one logical CPU under two names",
            Relation::Same(_) => "one core",
            Relation::Different if self.has_hidden_siblings => "two cores, one thread of each",
            Relation::Different => "two cores",
            Relation::Open(Sharing::Masked) => "masked by a neighbour",
            Relation::Open(Sharing::Moving) => "moved by the hypervisor",
            Relation::Open(_) => "unclear who shares a core",
            Relation::Unknown => return prose!("sharing not measured"),
        };
        let pair = self.probe.pairs.first();
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
}

/// Slowdowns over all measured pairs.
fn spans(probe: &Probe) -> Prose {
    let over = |counts: fn(Sharing) -> bool| {
        range(probe.pairs.iter().filter(|pair| counts(pair.sharing)).filter_map(|pair| pair.wide))
    };
    let same =
        over(is_same).map(|range| prose!("independent adds (WIDE) slowed {} together on one core", range));
    let apart = over(is_different).map(|range| prose!("{} on two", range));
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
