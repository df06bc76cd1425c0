//! Judges of looks on machines made by hand.

use super::*;
use crate::look::Alone;

/// What a machine would show: `cores` names the core of each CPU; `busy` are cores with a neighbour.
/// `siblings_ns` is what a line between siblings takes; with `test` one of a pair is seen without the other.
fn look_at(
    (cores, busy): (&[u32], &[u32]),
    pairs: &[(u32, u32)],
    siblings_ns: f64,
    test: Option<(u32, u32)>,
) -> Look {
    let on = |cpu: u32| cores[cpu as usize];
    let without = |cpu: u32, other: Option<u32>| {
        let is_shared =
            (0..cores.len() as u32).any(|one| one != cpu && Some(one) != other && on(one) == on(cpu));
        if is_shared || busy.contains(&on(cpu)) { 2.4 } else { 4.4 }
    };
    let adds = |cpu: u32| without(cpu, None);
    let line = |&(a, b): &(u32, u32)| {
        let line_ns = Some(if on(a) == on(b) { siblings_ns } else { 60.0 });
        PairLook { a, b, line_ns }
    };
    Look {
        start_ns: 0,
        took_ns: 1,
        cpus: (0..cores.len() as u32)
            .map(|cpu| CpuLook { cpu, chain_ns: Some(0.278), adds_per_step: Some(adds(cpu)) })
            .collect(),
        pairs: pairs.iter().map(line).collect(),
        alone: test.map(|(a, b)| Alone {
            a,
            b,
            a_adds_per_step: without(a, Some(b)),
            b_adds_per_step: without(b, Some(a)),
        }),
    }
}

/// A look of lines that say it all.
fn look(cores: &[u32], busy: &[u32], pairs: &[(u32, u32)]) -> Look {
    look_at((cores, busy), pairs, 7.0, None)
}

/// Looks on a machine whose siblings pass lines no faster than others.
fn tested(follower: &mut Follower, cores: &[u32], busy: &[u32], looks: usize) -> Vec<Share> {
    let mut last = Vec::new();
    for _ in 0..looks {
        let pairs = follower.pairs();
        let test = follower.test(&pairs);
        last = follower.judge(&look_at((cores, busy), &pairs, 61.0, test));
    }
    last
}

#[test]
fn widths_alone_tell_two_on_one_core_from_two_with_neighbours() {
    let mut follower = Follower::new(&[0, 1]);
    tested(&mut follower, &[0, 1], &[], 20);
    // That long lines mislead here has to be seen twice.
    assert_eq!(tested(&mut follower, &[0, 0], &[], 1), [Share::Unknown; 2]);
    assert_eq!(tested(&mut follower, &[0, 0], &[], 1), [Share::With(1), Share::With(0)]);
    assert_eq!(tested(&mut follower, &[0, 1], &[0, 1], 1), [Share::Neighbour, Share::Neighbour]);
    assert_eq!(tested(&mut follower, &[0, 0], &[], 5), [Share::With(1), Share::With(0)]);
    assert!(follower.levels().lines_mislead);
    assert_eq!(tested(&mut follower, &[0, 1], &[1], 1), [Share::Alone, Share::Neighbour]);
    assert_eq!(tested(&mut follower, &[0, 1], &[], 1), [Share::Alone, Share::Alone]);
}

#[test]
fn a_core_that_two_never_leave_shows_its_width_when_one_stands_still() {
    let mut follower = Follower::new(&[0, 1]);
    assert_eq!(tested(&mut follower, &[0, 0], &[], 30), [Share::With(1), Share::With(0)]);
}

#[test]
fn partners_among_many_are_found_by_tests_in_turn() {
    let mut follower = Follower::new(&[0, 1, 2, 3, 4, 5, 6, 7]);
    tested(&mut follower, &[0, 1, 2, 3, 4, 5, 6, 7], &[], 20);
    let cores = [0, 1, 2, 3, 0, 1, 6, 7];
    let found = tested(&mut follower, &cores, &[6], 60);
    assert_eq!([found[0], found[4], found[1], found[5]], [4, 0, 5, 1].map(Share::With));
    assert_eq!([found[2], found[3], found[7]], [Share::Alone; 3]);
    assert!([Share::Neighbour, Share::Slowed].contains(&found[6]), "{found:?}");
    let apart = tested(&mut follower, &[0, 1, 2, 3, 4, 5, 6, 7], &[], 2);
    assert_eq!(apart, [Share::Alone; 8]);
}

/// Looks at two logical CPUs by their figures: width of each together, without the other, and the line.
fn seen(together: [f64; 2], without: [f64; 2], line_ns: f64) -> Look {
    let cpu = |cpu: u32| CpuLook { cpu, chain_ns: Some(0.278), adds_per_step: Some(together[cpu as usize]) };
    Look {
        start_ns: 0,
        took_ns: 1,
        cpus: vec![cpu(0), cpu(1)],
        pairs: vec![PairLook { a: 0, b: 1, line_ns: Some(line_ns) }],
        alone: Some(Alone { a: 0, b: 1, a_adds_per_step: without[0], b_adds_per_step: without[1] }),
    }
}

/// A guest of an AMD EPYC server: 3.93 adds a step on a free core, 2.03 on a shared one, and 2.41 there while the
/// other stands still, which takes width itself.
#[test]
fn two_on_one_core_are_no_neighbours_where_standing_still_takes_width() {
    let free = || seen([3.93, 3.94], [3.93, 3.95], 28.0);
    let one_core = || seen([2.03, 2.03], [2.41, 2.4], 12.9);
    let neighbours = || seen([2.06, 2.4], [2.1, 2.35], 27.0);
    let one_neighbour = || seen([3.92, 2.6], [3.93, 2.6], 118.0);
    let mut looks: Vec<Look> = (0..40).map(|_| free()).collect();
    let mut want = vec![[Share::Alone, Share::Alone]; 40];
    let with = [Share::With(1), Share::With(0)];
    let both = [Share::Neighbour, Share::Neighbour];
    for _ in 0..10 {
        looks.extend([one_core(), one_core(), neighbours(), one_neighbour(), free(), neighbours()]);
        want.extend([with, with, both, [Share::Alone, Share::Neighbour], [Share::Alone; 2], both]);
    }
    // A line of siblings that took a little longer; and a look in which one of the two had more for a moment.
    looks.extend([seen([2.03, 2.03], [2.41, 2.41], 15.4), seen([2.84, 2.06], [2.41, 2.41], 11.8)]);
    want.extend([with, with]);
    let judged = judge_all(&looks.iter().collect::<Vec<&Look>>());
    for (at, (judged, want)) in judged.iter().zip(&want).enumerate() {
        assert_eq!(judged, want, "look {at}");
    }
    let mut follower = Follower::new(&[0, 1]);
    for (at, (look, want)) in looks.iter().zip(&want).enumerate() {
        let followed = follower.judge(look);
        // The width of a free core is known from some looks on only.
        assert!(at < 10 || followed == want, "look {at}, live: {followed:?}");
    }
}

#[test]
fn neighbours_that_both_go_away_in_a_test_are_no_pair_where_lines_are_long() {
    let mut looks: Vec<Look> = (0..40).map(|_| seen([3.93, 3.94], [3.93, 3.95], 28.0)).collect();
    looks.extend((0..5).map(|_| seen([2.03, 2.03], [2.41, 2.41], 12.9)));
    // Half the width together and more without each other, but not the whole, at a long line.
    looks.push(seen([2.03, 2.03], [2.5, 2.6], 28.0));
    let judged = judge_all(&looks.iter().collect::<Vec<&Look>>());
    assert_eq!(judged[45], [Share::Neighbour, Share::Neighbour]);
}

fn free(cpus: u32) -> Follower {
    let all: Vec<u32> = (0..cpus).collect();
    let mut follower = Follower::new(&all);
    for _ in 0..20 {
        follower.judge(&look(&all, &[], &follower.pairs()));
    }
    follower
}

fn follow(follower: &mut Follower, cores: &[u32], busy: &[u32], looks: usize) -> Vec<Share> {
    let mut last = Vec::new();
    for _ in 0..looks {
        last = follower.judge(&look(cores, busy, &follower.pairs()));
    }
    last
}

#[test]
fn two_cpus_are_judged_by_one_look() {
    let mut follower = free(2);
    assert_eq!(follow(&mut follower, &[0, 1], &[], 1), [Share::Alone, Share::Alone]);
    assert_eq!(follow(&mut follower, &[0, 0], &[], 1), [Share::With(1), Share::With(0)]);
    assert_eq!(follow(&mut follower, &[0, 1], &[1], 1), [Share::Alone, Share::Neighbour]);
    assert_eq!(follow(&mut follower, &[0, 1], &[0, 1], 1), [Share::Neighbour, Share::Neighbour]);
    assert_eq!(follow(&mut follower, &[0, 1], &[], 1), [Share::Alone, Share::Alone]);
}

#[test]
fn partners_among_many_are_found_within_as_many_looks() {
    let mut follower = free(8);
    let cores = [0, 1, 2, 3, 0, 1, 6, 7];
    let found = follow(&mut follower, &cores, &[6], 8);
    let want = [
        Share::With(4),
        Share::With(5),
        Share::Alone,
        Share::Alone,
        Share::With(0),
        Share::With(1),
        Share::Neighbour,
        Share::Alone,
    ];
    assert_eq!(found, want);
    let moved = follow(&mut follower, &[0, 1, 2, 3, 3, 1, 6, 7], &[], 8);
    assert_eq!(moved[0], Share::Alone);
    assert_eq!([moved[3], moved[4], moved[1]], [Share::With(4), Share::With(3), Share::With(5)]);
}

#[test]
fn who_was_not_met_yet_may_be_the_cause() {
    let mut follower = free(8);
    let first = follow(&mut follower, &[0, 1, 2, 3, 4, 5, 0, 7], &[], 1);
    assert!([Share::Slowed, Share::With(6), Share::Neighbour].contains(&first[0]));
    assert_ne!(first[1], Share::Slowed);
    assert_eq!(follow(&mut follower, &[0, 1, 2, 3, 4, 5, 0, 7], &[], 3)[0], Share::With(6));
}

#[test]
fn lines_and_widths_that_contradict_and_cpus_that_did_not_run() {
    let mut follower = free(2);
    let mut odd = look(&[0, 1], &[], &[(0, 1)]);
    odd.pairs[0].line_ns = Some(7.0);
    assert_eq!(follower.judge(&odd), [Share::Unknown, Share::Unknown]);
    let mut away = look(&[0, 1], &[], &[(0, 1)]);
    (away.pairs[0].line_ns, away.cpus[1].chain_ns) = (None, None);
    assert_eq!(follower.judge(&away), [Share::Alone, Share::Away]);
}

#[test]
fn one_odd_line_does_not_close_the_gap_for_good() {
    let mut follower = free(2);
    let mut odd = look(&[0, 1], &[], &[(0, 1)]);
    odd.pairs[0].line_ns = Some(14.0);
    follower.judge(&odd);
    odd.pairs[0].line_ns = Some(16.0);
    follower.judge(&odd);
    assert_eq!(follower.levels().siblings_ns, None);
    follow(&mut follower, &[0, 1], &[], REMEMBERED);
    assert_eq!(follow(&mut follower, &[0, 0], &[], 1), [Share::With(1), Share::With(0)]);
}

#[test]
fn without_a_free_core_lines_alone_say_who_is_together() {
    let mut follower = Follower::new(&[0, 1]);
    assert_eq!(follow(&mut follower, &[0, 0], &[], 30), [Share::With(1), Share::With(0)]);
    assert_eq!(follow(&mut follower, &[0, 1], &[0, 1], 1), [Share::Apart, Share::Apart]);
    let mut without_widths = look(&[0, 1], &[], &[]);
    without_widths.cpus.iter_mut().for_each(|seen| seen.adds_per_step = None);
    assert_eq!(follower.judge(&without_widths), [Share::Unknown, Share::Unknown]);
}

#[test]
fn a_whole_study_is_judged_by_all_its_looks() {
    let pairs = [(0, 1)];
    let mut looks = vec![look(&[0, 0], &[], &pairs), look(&[0, 1], &[1], &pairs)];
    looks.extend((0..10).map(|_| look(&[0, 1], &[], &pairs)));
    let judged = judge_all(&looks.iter().collect::<Vec<_>>());
    assert_eq!(judged[0], [Share::With(1), Share::With(0)]);
    assert_eq!(judged[1], [Share::Alone, Share::Neighbour]);
    assert_eq!(judged[11], [Share::Alone, Share::Alone]);
    assert!(judge_all(&[]).is_empty());
}

#[test]
fn every_pair_meets_in_its_turn() {
    let mut follower = Follower::new(&[0, 1, 2, 3, 4, 5]);
    let mut met = BTreeSet::new();
    for _ in 0..24 {
        let pairs = follower.pairs();
        assert_eq!(pairs.len(), 3);
        met.extend(pairs.iter().map(|&(a, b)| key(a, b)));
        follower.judge(&look(&[0, 1, 2, 3, 4, 5], &[], &pairs));
    }
    assert_eq!(met.len(), 15);
}

/// The look without some that did not come to it at all: they have no figures, nor have their lines and tests.
fn without(mut look: Look, missing: &[u32]) -> Look {
    for seen in look.cpus.iter_mut().filter(|seen| missing.contains(&seen.cpu)) {
        (seen.chain_ns, seen.adds_per_step) = (None, None);
    }
    for pair in look.pairs.iter_mut().filter(|pair| [pair.a, pair.b].iter().any(|cpu| missing.contains(cpu)))
    {
        pair.line_ns = None;
    }
    look.alone = look.alone.filter(|one| ![one.a, one.b].iter().any(|cpu| missing.contains(cpu)));
    look
}

#[test]
fn those_that_came_are_cleared_and_known_partners_stay_so_beside_one_that_is_missing() {
    let mut follower = free(6);
    let cores = [0, 1, 2, 3, 0, 5];
    follow(&mut follower, &cores, &[], 8);
    let seen = without(look(&cores, &[], &follower.pairs()), &[2]);
    let shares = follower.judge(&seen);
    let wanted = [Share::With(4), Share::Alone, Share::Away, Share::Alone, Share::With(0), Share::Alone];
    assert_eq!(shares, wanted);
}

#[test]
fn who_is_slowed_while_one_is_missing_has_no_neighbour_for_it() {
    let mut follower = free(4);
    // 3 was seen apart from 0 in the last looks, and may be on its core now.
    let cores = [0, 1, 2, 3];
    let moved = without(look(&[0, 1, 2, 0], &[], &follower.pairs()), &[3]);
    assert_eq!(follower.judge(&moved), [Share::Slowed, Share::Alone, Share::Alone, Share::Away]);
    let with_neighbour = without(look(&cores, &[0], &follower.pairs()), &[3]);
    assert_eq!(follower.judge(&with_neighbour)[0], Share::Slowed);
    let all = look(&cores, &[0], &follower.pairs());
    assert_eq!(follower.judge(&all)[0], Share::Neighbour, "as soon as all come");
}

#[test]
fn a_partner_that_is_missing_is_none() {
    let mut follower = free(2);
    assert_eq!(follow(&mut follower, &[0, 0], &[], 3), [Share::With(1), Share::With(0)]);
    // Whoever slows 0 may be a neighbour where 1 was, or 1 that does something else.
    let slowed = without(look(&[0, 0], &[], &follower.pairs()), &[1]);
    assert_eq!(follower.judge(&slowed), [Share::Slowed, Share::Away]);
    let free = without(look(&[0, 1], &[], &follower.pairs()), &[1]);
    assert_eq!(follower.judge(&free), [Share::Alone, Share::Away]);
    assert_eq!(follow(&mut follower, &[0, 0], &[], 1), [Share::With(1), Share::With(0)]);
}

#[test]
fn a_width_says_nothing_of_one_that_passed_its_line_and_was_gone_then() {
    let mut follower = free(2);
    let mut seen = look(&[0, 0], &[], &[(0, 1)]);
    (seen.cpus[0].adds_per_step, seen.cpus[1].adds_per_step) = (Some(4.4), None);
    let shares = follower.judge(&seen);
    assert_eq!(
        shares,
        [Share::Alone, Share::Unknown],
        "a short line and a free core are no contradiction here"
    );
    // Where lines mislead, a free core would part two if both had run.
    let mut misled = Follower::new(&[0, 1]);
    tested(&mut misled, &[0, 1], &[], 20);
    tested(&mut misled, &[0, 0], &[], 3);
    assert!(misled.levels().lines_mislead);
    let mut seen = look_at((&[0, 0], &[]), &[(0, 1)], 61.0, None);
    (seen.cpus[0].adds_per_step, seen.cpus[1].adds_per_step) = (Some(4.4), None);
    assert_eq!(misled.judge(&seen), [Share::Alone, Share::Unknown]);
    let both = look_at((&[0, 0], &[]), &[(0, 1)], 61.0, None);
    assert_eq!(misled.judge(&both), [Share::With(1), Share::With(0)], "they are partners still");
}

#[test]
fn what_was_seen_of_other_logical_cpus_is_forgotten() {
    let (pairs, all): (_, Vec<u32>) = ([(0, 1), (2, 3)], vec![0, 0, 2, 3]);
    let block = |cores: &[u32]| -> Vec<Look> { (0..12).map(|_| look(cores, &[], &pairs)).collect() };
    let mut looks = block(&[0, 1, 2, 3]);
    looks.extend(block(&all));
    // A block at others in between; then 0 and 1 come back, slowed, and their line was not passed yet.
    let mut other = block(&[0, 1, 2, 3]);
    other.iter_mut().for_each(|look| look.cpus.iter_mut().for_each(|seen| seen.cpu += 4));
    other.iter_mut().for_each(|look| look.pairs.clear());
    looks.extend(other);
    let mut back = look(&all, &[], &pairs);
    back.pairs.clear();
    looks.push(back);
    let judged = judge_all(&looks.iter().collect::<Vec<_>>());
    assert_eq!(judged[23][..2], [Share::With(1), Share::With(0)]);
    assert_eq!(judged[36][..2], [Share::Slowed, Share::Slowed]);
}
