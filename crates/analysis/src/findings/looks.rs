//! Where the study ran, in one line.

use crate::looks::states::LookState;
use crate::looks::{Coverage, Looks};
use crate::words::{self, finding};
use crate::{Finding, FindingKind, Interval};
use threadwise_document::numbers::{grouped, most_percent};
use threadwise_document::{Prose, prose};
use threadwise_study::Moment;

/// Share of clear looks from which nothing else is reported.
const CLEAR_SHARE: f64 = 0.99;

/// Share from which neighbours show that cores have second threads: in models fewer than one look in 500 wrongly has a
/// neighbour (docs/PROBE.md).
pub(crate) const SHOWN_SHARE: f64 = 0.01;

/// Least share of a state with a clause.
const REPORTED_SHARE: f64 = 0.0005;

/// Who had a core, who shared one, and for how long; `windows` is the study's word for measured windows (`slices`).
pub fn looks(looks: &Looks, windows: &str) -> Finding {
    if looks.counted() == 0 {
        let none =
            prose!("Where {} ran is unknown: no look was taken {} them.", windows, looks.moment.word());
        return finding(FindingKind::Looks, none, &[]);
    }
    let share_of = |state: LookState| looks.share(state).map_or(0.0, |share| share.mean);
    let is_short = share_of(LookState::Clear) >= CLEAR_SHARE;
    let is_reported = |state: &LookState| match state {
        LookState::Clear => share_of(*state) >= REPORTED_SHARE,
        _ if is_short => false,
        // Without widths nothing is clear, and all looks are reported as unknown.
        LookState::SameCore if !looks.widths_known => looks.cpus.len() > 1,
        LookState::Unknown if !looks.widths_known => false,
        _ => share_of(*state) >= REPORTED_SHARE,
    };
    let states = LookState::ALL.into_iter().filter(is_reported);
    let mut clauses: Vec<Prose> = Vec::new();
    for (state, share) in states.filter_map(|state| Some((state, looks.share(state)?))) {
        let is_first = clauses.is_empty();
        let mut clause = prose!("{} in {}", happened(looks, state, is_first), shown(share));
        if is_first {
            let count = grouped(looks.counted().into());
            clause.push(match looks.moment {
                Moment::During => {
                    prose!(" of the {}' time ({} looks during the {})", windows, count, windows)
                }
                _ => prose!(" of {} looks before {}", count, windows),
            });
        }
        if let (LookState::SameCore, count @ 1..) = (state, looks.stretches_in(state)) {
            clause.push(prose!(", in {}", stretches(count)));
        }
        clauses.push(clause);
    }
    if !looks.widths_known {
        clauses.push(prose!("whether there were neighbours is unknown"));
    }
    let hidden = match shows_hidden_siblings(looks) {
        true => " The cores have second threads, which this system does not show and others use.",
        false => "",
    };
    finding(FindingKind::Looks, prose!("{}.{}", Prose::join(clauses, "; ").capital(), hidden), &[])
}

/// Whether neighbours show that cores have second threads which the system does not declare.
pub fn shows_hidden_siblings(looks: &Looks) -> bool {
    let neighbours = looks.share(LookState::Neighbour);
    let is_shown =
        neighbours.is_some_and(|share| share.mean >= SHOWN_SHARE && !(share.has_ends() && share.low <= 0.0));
    // Small losses of width may have another cause than a thread beside.
    is_shown && looks.deep_share >= SHOWN_SHARE && !looks.has_declared_siblings
}

fn stretches(count: u32) -> String {
    if count == 1 { "1 stretch".to_owned() } else { format!("{} stretches", grouped(count.into())) }
}

/// The state in some looks; the first clause names the logical CPUs.
fn happened(looks: &Looks, state: LookState, is_first: bool) -> String {
    let count = looks.cpus.len();
    let Coverage { cpus: all, looked_at } = looks.coverage;
    let ours = match looks.cpus.as_slice() {
        _ if !looks.coverage.is_whole() => {
            format!("the {looked_at} of your {all} logical CPUs that each look saw")
        }
        [cpu] => format!("logical CPU {cpu}"),
        cpus => format!("your {} logical CPUs", cpus.len()),
    };
    let they = if is_first { ours.as_str() } else { "they" };
    let of_ours = if is_first { format!(" of {ours}") } else { String::new() };
    match state {
        LookState::Clear if count == 1 => format!("{ours} had its core to itself"),
        LookState::Clear if looks.has_declared_siblings => {
            format!("{ours} ran as declared and without neighbours")
        }
        LookState::Clear => format!("{ours} had a core each"),
        LookState::SameCore if looks.has_declared_siblings => {
            format!("some{of_ours} were on one core that are declared on different ones")
        }
        LookState::SameCore if count == 2 => format!("{they} were on one core"),
        LookState::SameCore => format!("two or more{of_ours} were on one core"),
        LookState::Neighbour if count == 1 => format!("a neighbour was on a sibling{of_ours}"),
        LookState::Neighbour if is_first => format!("a neighbour was on a sibling of one or more{of_ours}"),
        LookState::Neighbour => "a neighbour was on a sibling of one or more of them".to_owned(),
        LookState::Away if count == 1 => {
            format!("{} did not run in time", if is_first { &ours } else { "it" })
        }
        LookState::Away => format!("one{of_ours} did not run in time"),
        LookState::Unknown if is_first => format!("the state of {ours} is unknown"),
        LookState::Unknown => "the state is unknown".to_owned(),
    }
}

/// A share with its interval over blocks, if it has one.
fn shown(share: &Interval) -> Prose {
    match share.mean >= CLEAR_SHARE {
        true => Prose::figure(most_percent(share.mean)),
        false if share.has_ends() => share.into(),
        false => words::share(share.mean),
    }
}
