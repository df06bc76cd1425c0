//! Looks at odd machines, judged one after the other: one logical CPU, cores of different kinds, and threads that do
//! not come back.

use threadwise_study::look::follow::{Follower, Share};
use threadwise_study::{CpuLook, Look, PairLook};

/// Of each logical CPU its width now, `None` where it did not come to that part of the look; where they did not meet at
/// all (`met`) none has figures.
fn look(follower: &Follower, widths: &[Option<f64>], met: bool) -> Look {
    let cpu = |(cpu, adds): (u32, &Option<f64>)| CpuLook {
        cpu,
        chain_ns: met.then_some(0.3),
        adds_per_step: adds.filter(|_| met),
    };
    let pairs = follower.pairs();
    let line = |&(a, b): &(u32, u32)| PairLook { a, b, line_ns: met.then_some(60.0) };
    Look {
        start_ns: 0,
        took_ns: 1,
        cpus: (0..).zip(widths).map(cpu).collect(),
        pairs: pairs.iter().map(line).collect(),
        alone: None,
    }
}

/// Some per cent around a width, by a pattern.
fn near(width: f64, at: usize) -> Option<f64> {
    Some(width * (1.0 + 0.01 * ((at * 37) % 5) as f64 - 0.02))
}

#[test]
fn one_logical_cpu_is_alone_or_has_a_neighbour() {
    let mut follower = Follower::new(&[0]);
    let mut judge = |width: Option<f64>, met| {
        let look = look(&follower, &[width], met);
        assert!(look.pairs.is_empty());
        follower.judge(&look)[0]
    };
    for at in 0..60 {
        let share = judge(near(4.4, at), true);
        // Three values make no level.
        assert_eq!(share, if at < 3 { Share::Unknown } else { Share::Alone }, "{at}");
    }
    assert_eq!(judge(Some(2.4), true), Share::Neighbour);
    assert_eq!(judge(None, false), Share::Away);
    assert_eq!(judge(Some(4.4), true), Share::Alone);
}

#[test]
fn the_slower_kind_of_a_hybrid_processor_has_no_neighbour() {
    // Golden Cove adds 5 a cycle and Gracemont 4; a kind of 3 is below what tells a free core of any x86-64.
    for (slower, free) in [(4.0, Share::Alone), (3.0, Share::Apart)] {
        let widths = [5.2, 5.2, slower, slower];
        let mut follower = Follower::new(&[0, 1, 2, 3]);
        let mut judge = |widths: Vec<Option<f64>>| {
            let look = look(&follower, &widths, true);
            follower.judge(&look)
        };
        for at in 0..300 {
            let shares = judge(widths.map(|width| near(width, at)).to_vec());
            if at > 60 {
                assert_eq!(shares, [Share::Alone, Share::Alone, free, free], "{at}");
            }
        }
        // One that is slowed has a neighbour where its own kind's width is known: where one alone is slowed, no other
        // logical CPU of the look can be the cause.
        for (cpu, wanted) in
            [(0, Share::Neighbour), (2, if free == Share::Alone { Share::Neighbour } else { free })]
        {
            let mut slowed = widths.map(Some).to_vec();
            slowed[cpu] = Some(0.55 * widths[cpu]);
            assert_eq!(judge(slowed)[cpu], wanted, "{cpu} of {slower}");
        }
    }
}

#[test]
fn a_thread_that_is_throttled_for_50_ms_is_away_and_the_next_looks_recover() {
    let cpus = [0, 1, 2, 3];
    let mut follower = Follower::new(&cpus);
    let free = vec![Some(4.4); 4];
    for _ in 0..60 {
        let seen = look(&follower, &free, true);
        follower.judge(&seen);
    }
    // A quota ends in the middle of a look: 1 has passed its line and comes no more, so that none has a width.
    let mut middle = look(&follower, &[None; 4], true);
    middle.cpus[1].chain_ns = None;
    let shares = follower.judge(&middle);
    assert_eq!(shares, [Share::Apart, Share::Away, Share::Apart, Share::Apart]);
    // Looks that come every 10 ms find five more of its 50 ms, and the others go on without it.
    for _ in 0..5 {
        let mut others = look(&follower, &[Some(4.4), None, Some(4.4), Some(4.4)], true);
        others.cpus[1].chain_ns = None;
        others
            .pairs
            .iter_mut()
            .filter(|pair| pair.a == 1 || pair.b == 1)
            .for_each(|pair| pair.line_ns = None);
        assert_eq!(follower.judge(&others), [Share::Alone, Share::Away, Share::Alone, Share::Alone]);
    }
    // In files of earlier versions none has figures where one is missing.
    let none = look(&follower, &free, false);
    assert_eq!(follower.judge(&none), [Share::Away; 4]);
    let back = look(&follower, &free, true);
    assert_eq!(follower.judge(&back), [Share::Alone; 4], "levels and partners are what they were");
    let one_slowed = look(&follower, &[Some(4.4), Some(2.4), Some(4.4), Some(4.4)], true);
    assert_eq!(follower.judge(&one_slowed)[1], Share::Neighbour);
}
