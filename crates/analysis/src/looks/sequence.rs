//! States in the order of time: stretches in one state, and transitions.

use super::states::LookState;
use super::words::serialize_word;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_statistics::median;

/// A look in the order of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Its block; a stretch ends with it.
    pub(super) block: u32,
    /// When it began, nanoseconds since the study's start.
    pub(super) start_ns: u64,
    /// When it ended.
    pub(super) end_ns: u64,
    /// State of all logical CPUs of the study.
    pub(super) state: LookState,
}

/// Stretches of time in one state: consecutive looks of one block.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Stretches {
    /// The state.
    #[serde(serialize_with = "serialize_word")]
    #[schemars(with = "String")]
    pub state: LookState,
    /// How many there were.
    pub stretches: u32,
    /// Looks in all of them.
    pub looks: u32,
    /// Median of their lengths, each from its first look to the next look in another state, or to the block's last;
    /// nanoseconds. Shorter visits are mostly missed between looks.
    pub length_ns_p50: f64,
    /// The longest.
    pub length_ns_max: f64,
}

/// How often a state followed another in the next look.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Transition {
    /// State of a look.
    #[serde(serialize_with = "serialize_word")]
    #[schemars(with = "String")]
    pub from: LookState,
    /// Another state, in the next look of the block.
    #[serde(serialize_with = "serialize_word")]
    #[schemars(with = "String")]
    pub to: LookState,
    /// How often.
    pub count: u32,
}

/// A stretch that may still go on.
struct Stretch {
    first: Moment,
    last: Moment,
    looks: u32,
}

/// Stretches by state, for states that occurred.
pub(super) fn stretches(moments: &[Moment]) -> Vec<Stretches> {
    let mut lengths: BTreeMap<LookState, (u32, Vec<f64>)> = BTreeMap::new();
    let mut close = |stretch: &Stretch, end_ns: u64| {
        let (looks, all) = lengths.entry(stretch.first.state).or_default();
        *looks += stretch.looks;
        all.push(end_ns.saturating_sub(stretch.first.start_ns) as f64);
    };
    let mut open: Option<Stretch> = None;
    for moment in moments {
        match &mut open {
            Some(stretch) if stretch.last.block == moment.block && stretch.last.state == moment.state => {
                (stretch.last, stretch.looks) = (*moment, stretch.looks + 1);
                continue;
            }
            Some(stretch) => {
                let is_over = stretch.last.block != moment.block;
                close(stretch, if is_over { stretch.last.end_ns } else { moment.start_ns });
            }
            None => {}
        }
        open = Some(Stretch { first: *moment, last: *moment, looks: 1 });
    }
    if let Some(stretch) = &open {
        close(stretch, stretch.last.end_ns);
    }
    let known = LookState::ALL.into_iter().filter_map(|state| {
        let (looks, all) = lengths.get(&state)?;
        Some(Stretches {
            state,
            stretches: all.len() as u32,
            looks: *looks,
            length_ns_p50: median(all.iter().copied())?,
            length_ns_max: all.iter().copied().fold(0.0, f64::max),
        })
    });
    known.collect()
}

/// Transitions between consecutive looks of one block.
pub(super) fn transitions(moments: &[Moment]) -> Vec<Transition> {
    let mut counts: BTreeMap<(LookState, LookState), u32> = BTreeMap::new();
    for pair in moments.windows(2) {
        let [one, next] = pair else { continue };
        if one.block == next.block && one.state != next.state {
            *counts.entry((one.state, next.state)).or_default() += 1;
        }
    }
    counts.into_iter().map(|((from, to), count)| Transition { from, to, count }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks of 1 ns every 10 ns, a letter each: `.` clear, `1` one core, `c` neighbour; a space begins a block.
    fn moments(text: &str) -> Vec<Moment> {
        let (mut block, mut all) = (0, Vec::new());
        for (at, letter) in (0..).zip(text.chars()) {
            let state = match letter {
                '.' => LookState::Clear,
                '1' => LookState::SameCore,
                'c' => LookState::Neighbour,
                _ => {
                    block += 1;
                    continue;
                }
            };
            all.push(Moment { block, start_ns: 10 * at, end_ns: 10 * at + 1, state });
        }
        all
    }

    #[test]
    fn a_stretch_goes_from_its_first_look_to_the_next_state_or_the_end_of_its_block() {
        let found = stretches(&moments("..11.1 11c"));
        let one = |state, stretches, looks, length_ns_p50, length_ns_max| Stretches {
            state,
            stretches,
            looks,
            length_ns_p50,
            length_ns_max,
        };
        let wanted = [
            // 0 to 20, 40 to 50.
            one(LookState::Clear, 2, 3, 15.0, 20.0),
            // 20 to 40, 50 to 51 at the block's end, 70 to 90.
            one(LookState::SameCore, 3, 5, 20.0, 20.0),
            one(LookState::Neighbour, 1, 1, 1.0, 1.0),
        ];
        assert_eq!(found, wanted);
        assert!(stretches(&[]).is_empty());
    }

    #[test]
    fn a_transition_is_one_of_neighbours_in_a_block() {
        let found = transitions(&moments("..11.1 .c.c"));
        let counts: Vec<_> = found.iter().map(|one| (one.from, one.to, one.count)).collect();
        let wanted = [
            (LookState::Clear, LookState::SameCore, 2),
            (LookState::Clear, LookState::Neighbour, 2),
            (LookState::SameCore, LookState::Clear, 1),
            (LookState::Neighbour, LookState::Clear, 1),
        ];
        assert_eq!(counts, wanted);
    }
}
