//! A kill after every single write, also of what puts back, and again: whatever was reached, putting back gives what
//! was found.
//!
//! States are files: a journal is written before the machine is, so that a kill leaves either a machine with a whole
//! journal, or a machine as it was with a part of the lines that were about to be added.

use crate::fake::{Fake, Files};
use crate::{hold, names, set};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use threadwise_smt::{Arm, Held, Smt, left};

/// The journal of a state.
fn journal(files: &Files) -> Option<(&PathBuf, &Vec<u8>)> {
    files.iter().find(|(path, _)| path.starts_with("state"))
}

/// `before`, with the journal of `after` cut off behind each line that `before` has not. Cut off inside of a line it
/// says the same as before that line, which is tried for every byte.
fn cut_off(before: &Files, after: &Files) -> Vec<Files> {
    let Some((path, whole)) = journal(after) else { return Vec::new() };
    let known = journal(before).map_or(0, |(_, bytes)| bytes.len());
    let fake = Fake::of(&Files::new());
    let (mut states, mut said) = (Vec::new(), None);
    for length in known..whole.len() {
        let cut = whole[..length].to_vec();
        let files = Files::from([(path.clone(), cut.clone())]);
        fake.put_all(&files);
        let found = left::found(&fake.state()).unwrap();
        let is_line = length == 0 || whole[length - 1] == b'\n';
        if is_line || said.is_none() {
            said = Some(found.clone());
            states.push(before.clone().into_iter().chain(files).collect());
        }
        let said: Vec<_> = said.iter().flatten().map(|found| &found.first).collect();
        assert_eq!(found.iter().map(|found| &found.first).collect::<Vec<_>>(), said);
    }
    states
}

/// Puts back as the next command does, and gives the states on the way.
fn put_back(state: &Files, found: &Files) -> Vec<Files> {
    let fake = Fake::of(state);
    for journal in left::found(&fake.state()).unwrap() {
        let settled = left::put_back(&fake, &journal.path).unwrap();
        assert_eq!(settled.failed, [""; 0], "{:?}", fake.writes.borrow());
    }
    assert_eq!(names(&fake.state()), [""; 0]);
    assert_eq!(differing(&fake.machine(), found), [""; 0], "{:?}", fake.writes.borrow());
    fake.snapshots.take()
}

fn differing(one: &Files, other: &Files) -> Vec<String> {
    let paths: BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
    let text =
        |files: &Files, path: &Path| files.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    paths
        .into_iter()
        .filter(|path| one.get(*path) != other.get(*path))
        .map(|path| format!("{}: {:?} for {:?}", path.display(), text(one, path), text(other, path)))
        .collect()
}

/// Tries all states that any number of kills reaches. Gives how many.
fn exhaust(found: &Fake, doing: impl Fn(&Fake)) -> usize {
    let before = found.files();
    let machine = found.machine();
    let fake = Fake::of(&before);
    doing(&fake);
    assert_eq!(differing(&fake.machine(), &machine), [""; 0]);
    let mut last = before;
    let mut pending = Vec::new();
    for state in fake.snapshots.take() {
        pending.extend(cut_off(&last, &state));
        pending.push(state.clone());
        last = state;
    }
    let mut seen = BTreeSet::new();
    while let Some(state) = pending.pop() {
        if seen.insert(state.clone()) {
            pending.extend(put_back(&state, &machine));
        }
    }
    seen.len()
}

/// A machine with tasks, interrupts and control groups that lose something, and a logical CPU that an administrator
/// has taken offline.
fn machine(offline: Option<u32>) -> Fake {
    let fake = Fake::new();
    offline.into_iter().for_each(|cpu| fake.take_offline(cpu));
    let online = fake.online();
    let only = |list: &str| set(list).intersection(&online).to_string();
    fake.task(1, 1, 0, &online.to_string());
    fake.task(50, 50, 1, &only("2-3"));
    fake.task(50, 51, 1, &only("1"));
    fake.irq(9, &only("0,3"));
    fake.irq(10, &only("7"));
    fake.group("a", &only("0-3"), &[50, 51]);
    fake.group("a/b", &only("1-3"), &[]);
    fake.put_cpu_file("cpufreq/policy2/boost", "0");
    // Two clocks are enough, and states are fewer and smaller.
    [0, 1, 4, 5, 6, 7].iter().for_each(|cpu| {
        fake.remove(&format!("machine/sys/devices/system/cpu/cpufreq/policy{cpu}"));
    });
    fake
}

fn apply(held: &mut Held<'_>, arm: &Arm) {
    held.apply(arm).unwrap();
}

#[test]
fn smt_off_and_on_in_one_block() {
    let states = [None, Some(6), Some(5)].map(|offline| {
        exhaust(&machine(offline), |fake| {
            let mut held = hold(fake).unwrap();
            for arm in [Smt::Off, Smt::On, Smt::On, Smt::Off] {
                apply(&mut held, &Arm::smt(arm));
            }
            let settled = held.restore().unwrap();
            assert_eq!(settled.failed, [""; 0]);
        })
    });
    assert!(states.iter().all(|&states| states > 40), "{states:?}");
    assert!(states.iter().sum::<usize>() > 100, "{states:?}");
}

#[test]
fn single_siblings_and_clocks() {
    let states = exhaust(&machine(Some(6)), |fake| {
        let mut held = hold(fake).unwrap();
        let clocks = Arm { smt: None, turbo: Some(false), governor: Some("powersave".into()) };
        apply(&mut held, &Arm { smt: Some(Smt::Offline { keep: set("0,2") }), ..clocks.clone() });
        apply(&mut held, &clocks);
        apply(&mut held, &Arm::smt(Smt::Off));
        apply(&mut held, &Arm::smt(Smt::Offline { keep: set("3-4") }));
        apply(&mut held, &Arm::smt(Smt::Off));
        apply(&mut held, &Arm { governor: Some("performance".into()), ..Arm::default() });
        assert_eq!(held.restore().unwrap().failed, [""; 0]);
    });
    assert!(states > 100, "{states}");
}

#[test]
fn a_machine_whose_smt_was_off() {
    let fake = machine(None);
    (1..8).step_by(2).for_each(|cpu| fake.take_offline(cpu));
    fake.put_cpu_file("smt/control", "off");
    fake.take_offline(4);
    let states = exhaust(&fake, |fake| {
        let mut held = hold(fake).unwrap();
        apply(&mut held, &Arm::smt(Smt::On));
        assert_eq!(fake.online(), set("0-7"));
        apply(&mut held, &Arm::default());
        apply(&mut held, &Arm::smt(Smt::On));
        drop(held);
    });
    assert!(states > 40, "{states}");
}

#[test]
fn a_change_that_lasts_and_is_taken_over() {
    let states = exhaust(&machine(Some(6)), |fake| {
        let mut held = hold(fake).unwrap();
        apply(&mut held, &Arm::smt(Smt::Off));
        held.keep().unwrap();
        let found = left::found(&fake.state()).unwrap();
        let mut held = Held::take_over(fake, &found[0].path, &|| None, None).unwrap();
        apply(&mut held, &Arm::smt(Smt::Offline { keep: set("0") }));
        held.keep().unwrap();
        let found = left::found(&fake.state()).unwrap();
        assert_eq!(left::put_back(fake, &found[0].path).unwrap().failed, [""; 0]);
    });
    assert!(states > 100, "{states}");
}
