//! Meetings to which not all come, on two logical CPUs of this machine.

use super::*;
use std::sync::Barrier;
use threadwise_machine::pin::{current_affinity, pin_current_thread, prefer_current_thread};

/// Meetings that are tried until both came to one: others may take a logical CPU away for a while.
const TRIED: u32 = 2_000;

type Attended = (LookTimes, Option<Present>);

/// Two threads on a logical CPU each attend a meeting; what each saw, and whether one of them was the last to leave.
fn attend(meeting: &Meeting, roles: [LookRole; 2]) -> [(Attended, bool); 2] {
    let allowed = current_affinity().unwrap();
    let cpus: Vec<u32> = allowed.iter().take(2).collect();
    let together = Barrier::new(2);
    std::thread::scope(|scope| {
        let one = |at: usize| {
            let (cpu, together) = (cpus[at], &together);
            scope.spawn(move || {
                pin_current_thread(&[cpu].into_iter().collect()).unwrap();
                prefer_current_thread();
                let mut scratch = Scratch::new();
                together.wait();
                let (seen, stayed) = meeting.attend(roles[at], &mut scratch);
                ((seen, stayed), meeting.leave(stayed))
            })
        };
        [one(0), one(1)].map(|thread| thread.join().unwrap())
    })
}

/// The first meeting of these that both attended, and what they saw.
fn both(new: impl Fn() -> Meeting, roles: [LookRole; 2], wanted: Present) -> (Meeting, [LookTimes; 2]) {
    for _ in 0..TRIED {
        let meeting = new();
        let attended = attend(&meeting, roles);
        if attended.iter().all(|((_, stayed), _)| *stayed == Some(wanted)) {
            assert_eq!(attended.iter().filter(|(_, is_last)| *is_last).count(), 1, "one of them is the last");
            return (meeting, attended.map(|((seen, _), _)| seen));
        }
        // Who is in a meeting to its end is known to all of them alike.
        let stayed: Vec<Present> = attended.iter().filter_map(|((_, stayed), _)| *stayed).collect();
        assert!(stayed.iter().all(|present| present.threads as usize == stayed.len()), "{stayed:?}");
    }
    panic!("both came to none of {TRIED} meetings");
}

fn role(pair: Option<(usize, bool)>, tested: Option<Side>) -> LookRole {
    LookRole { pair, tested }
}

#[test]
fn two_of_three_go_on_and_the_third_comes_too_late() {
    let roles = [role(Some((0, true)), None), role(Some((0, false)), None)];
    let (meeting, seen) = both(|| Meeting::new(3, 1, false), roles, Present { threads: 2, tested: 0 });
    assert!(meeting.done(), "neither waits for the third");
    assert!(seen.iter().all(|seen| seen.chain_ns.is_some() && seen.wide_ns.is_some()), "{seen:?}");
    assert!(seen.iter().all(|seen| seen.alone_ns.is_none()), "{seen:?}");
    let late = meeting.attend(LookRole::default(), &mut Scratch::new());
    assert_eq!(late, (LookTimes::default(), None));
    assert!(!meeting.leave(None) && meeting.done());
}

#[test]
fn a_line_whose_other_end_is_missing_has_no_time() {
    let roles = [role(Some((0, true)), None), role(Some((1, false)), None)];
    let (_, seen) = both(|| Meeting::new(4, 2, false), roles, Present { threads: 2, tested: 0 });
    assert!(seen.iter().all(|seen| seen.line_ns.is_none() && seen.wide_ns.is_some()), "{seen:?}");
}

#[test]
fn a_tested_pair_is_tested_beside_one_that_is_missing_and_not_where_one_of_it_is() {
    let tested = [role(None, Some(Side::First)), role(None, Some(Side::Second))];
    let (_, seen) = both(|| Meeting::new(3, 0, true), tested, Present { threads: 2, tested: 2 });
    assert!(seen.iter().all(|seen| seen.wide_ns.is_some() && seen.alone_ns.is_some()), "{seen:?}");
    let half = [role(None, Some(Side::First)), LookRole::default()];
    let (_, seen) = both(|| Meeting::new(3, 0, true), half, Present { threads: 2, tested: 1 });
    assert!(seen.iter().all(|seen| seen.wide_ns.is_some() && seen.alone_ns.is_none()), "{seen:?}");
}

#[test]
fn one_that_comes_alone_has_its_width_and_one_that_comes_to_a_meeting_that_is_given_up_nothing() {
    let meeting = Meeting::new(2, 1, true);
    let (seen, stayed) = meeting.attend(role(Some((0, true)), Some(Side::First)), &mut Scratch::new());
    assert_eq!(stayed, Some(Present { threads: 1, tested: 1 }));
    assert!(seen.chain_ns.is_some() && seen.wide_ns.is_some());
    assert_eq!((seen.line_ns, seen.alone_ns), (None, None));
    assert!(meeting.leave(stayed) && meeting.done());
    let over = Meeting::new(1, 0, false);
    over.give_up();
    assert_eq!(over.attend(LookRole::default(), &mut Scratch::new()), (LookTimes::default(), None));
    assert!(!over.done());
}
