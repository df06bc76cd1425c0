//! What arms do, and what comes back.

use crate::fake::Fake;
use crate::{hold, names, set};
use threadwise_smt::status::OfflineBy;
use threadwise_smt::watchdog::watch;
use threadwise_smt::{Arm, Held, Kernel, Setting, Smt, SmtError, Status, left};

#[test]
fn smt_is_switched_and_an_offline_cpu_stays_offline() {
    let fake = Fake::new();
    fake.take_offline(6);
    let before = fake.machine();
    let mut held = hold(&fake).unwrap();
    held.apply(&Arm::smt(Smt::Off)).unwrap();
    assert_eq!(fake.online(), set("0,2,4"));
    held.apply(&Arm::smt(Smt::On)).unwrap();
    assert_eq!(fake.online(), set("0-5,7"));
    held.apply(&Arm::smt(Smt::Offline { keep: set("2,4") })).unwrap();
    assert_eq!(fake.online(), set("0-2,4,7"));
    held.apply(&Arm::default()).unwrap();
    assert_eq!(fake.online(), set("0-5,7"));
    held.apply(&Arm::smt(Smt::Offline { keep: set("0,2,4") })).unwrap();
    held.apply(&Arm::smt(Smt::Off)).unwrap();
    assert_eq!((fake.online(), fake.cpu_file("smt/control")), (set("0,2,4"), "off".to_owned()));
    assert_eq!(held.restore().unwrap().failed, [""; 0]);
    assert_eq!(fake.machine(), before);
    assert_eq!(names(&fake.state()), [""; 0]);
}

#[test]
fn nothing_is_written_where_nothing_differs() {
    let fake = Fake::new();
    let mut held = hold(&fake).unwrap();
    held.apply(&Arm::smt(Smt::On)).unwrap();
    held.apply(&Arm::default()).unwrap();
    assert_eq!(held.restore().unwrap().settings, 0);
    assert_eq!(*fake.writes.borrow(), [""; 0]);
}

#[test]
fn clocks_of_both_kinds_are_switched() {
    let off = Arm { turbo: Some(false), governor: Some("performance".into()), smt: None };
    let fake = Fake::new();
    fake.put_cpu_file("cpufreq/policy3/boost", "0");
    let before = fake.machine();
    let mut held = hold(&fake).unwrap();
    held.apply(&off).unwrap();
    assert_eq!(
        (fake.cpu_file("cpufreq/boost"), fake.cpu_file("cpufreq/policy5/boost")),
        ("0".into(), "0".into())
    );
    assert_eq!(fake.cpu_file("cpufreq/policy5/scaling_governor"), "performance");
    held.apply(&Arm { turbo: Some(true), ..Arm::default() }).unwrap();
    assert_eq!(fake.cpu_file("cpufreq/policy3/boost"), "1");
    assert_eq!(fake.cpu_file("cpufreq/policy5/scaling_governor"), "schedutil");
    held.restore().unwrap();
    assert_eq!(fake.machine(), before);

    let fake = Fake::new();
    fake.remove("machine/sys/devices/system/cpu/cpufreq");
    fake.put_cpu_file("intel_pstate/no_turbo", "0");
    let mut held = hold(&fake).unwrap();
    held.apply(&Arm { turbo: Some(false), ..Arm::default() }).unwrap();
    assert_eq!(fake.cpu_file("intel_pstate/no_turbo"), "1");
    held.restore().unwrap();
    assert_eq!(fake.cpu_file("intel_pstate/no_turbo"), "0");
}

#[test]
fn what_begins_later_is_put_back_too() {
    let fake = Fake::new();
    fake.task(50, 50, 1, "2-3");
    let mut held = hold(&fake).unwrap();
    held.apply(&Arm::smt(Smt::Off)).unwrap();
    assert_eq!(fake.mask(50, 50), "2");
    // Inherited from a task that has lost a logical CPU, by a thread and by a process; and bound by itself.
    fake.task(50, 51, 1, "2");
    fake.task(60, 60, 50, "2");
    fake.task(61, 61, 50, "4");
    held.apply(&Arm::default()).unwrap();
    assert_eq!([fake.mask(50, 50), fake.mask(50, 51), fake.mask(60, 60)], ["2-3"; 3].map(str::to_owned));
    assert_eq!(fake.mask(61, 61), "4");
    // Begun while everything is there: written down before the next time.
    fake.task(70, 70, 1, "7");
    fake.group("late", "6-7", &[]);
    held.apply(&Arm::smt(Smt::Off)).unwrap();
    assert_ne!(fake.mask(70, 70), "7");
    assert_eq!(held.restore().unwrap().failed, [""; 0]);
    assert_eq!(fake.mask(70, 70), "7");
    assert_eq!(fake.get("machine/sys/fs/cgroup/cpuset/late/cpuset.cpus"), "6-7");
}

#[test]
fn threads_that_nobody_may_bind_are_left_alone() {
    let fake = Fake::new();
    fake.task_with_flags(20, 20, 2, "3", 0x0400_0040);
    let mut held = hold(&fake).unwrap();
    held.apply(&Arm::smt(Smt::Off)).unwrap();
    let settled = held.restore().unwrap();
    assert_eq!((settled.threads, settled.failed), (0, Vec::new()));
}

#[test]
fn who_has_ended_is_no_failure_and_what_stays_different_is_named() {
    let fake = Fake::new();
    fake.task(50, 50, 1, "3");
    fake.irq(9, "3");
    fake.irq(10, "5");
    fake.group("g", "2-3", &[]);
    let mut held = hold(&fake).unwrap();
    held.apply(&Arm::smt(Smt::Off)).unwrap();
    fake.remove("machine/proc/50");
    fake.remove("machine/proc/irq/9");
    fake.remove("machine/sys/fs/cgroup/cpuset/g");
    fake.refused.borrow_mut().push(Setting::Irq(10));
    let path = held.journal().to_owned();
    let failed = held.restore().unwrap().failed;
    assert_eq!(failed.len(), 1, "{failed:?}");
    let file = fake.path("machine/proc/irq/10/smp_affinity_list");
    assert!(failed[0].starts_with("the affinity of interrupt 10 is 0,2,4,6 and must be 5"), "{failed:?}");
    assert!(failed[0].ends_with(&format!("as root: echo 5 > '{}'", file.display())), "{failed:?}");
    // The next time it can be done.
    fake.refused.borrow_mut().clear();
    assert_eq!(left::put_back(&fake, &path).unwrap().failed, [""; 0]);
    assert!(!path.exists());
}

#[test]
fn a_watchdog_puts_back_what_a_killed_process_left_and_nothing_that_lasts() {
    let fake = Fake::new();
    let mut held = hold(&fake).unwrap();
    held.apply(&Arm::smt(Smt::Off)).unwrap();
    let path = held.journal().to_owned();
    std::mem::forget(held);
    watch(&fake, &path, &mut std::io::empty()).unwrap();
    assert_eq!((fake.online(), names(&fake.state()).len()), (set("0-7"), 0));

    let mut held = hold(&fake).unwrap();
    held.apply(&Arm::smt(Smt::Off)).unwrap();
    let path = held.journal().to_owned();
    held.keep().unwrap();
    watch(&fake, &path, &mut std::io::empty()).unwrap();
    assert_eq!(fake.online(), set("0,2,4,6"));
    assert_eq!(left::found(&fake.state()).unwrap()[0].holder, left::Holder::Kept);
    assert!(matches!(hold(&fake), Err(SmtError::Switched { .. })));
}

#[test]
fn a_change_that_is_taken_over_is_judged_by_the_machine_that_was_found() {
    let fake = Fake::new();
    let mut held = hold(&fake).unwrap();
    held.apply(&Arm::smt(Smt::Off)).unwrap();
    let path = held.journal().to_owned();
    held.keep().unwrap();
    // As a control group of version 1 or 2 says it: what is online of what it has.
    let mut held = Held::take_over(&fake, &path, &|| Some(fake.online()), None).unwrap();
    held.apply(&Arm::smt(Smt::Offline { keep: set("2") })).unwrap();
    assert_eq!(fake.online(), set("0-2,4-7"));
    held.apply(&Arm::smt(Smt::On)).unwrap();
    assert_eq!(held.restore().unwrap().failed, [""; 0]);
    assert_eq!(fake.online(), set("0-7"));
}

#[test]
fn the_status_says_who_took_a_cpu_offline() {
    let fake = Fake::new();
    fake.take_offline(6);
    let read = |fake: &Fake| Status::read(fake.roots(), None, &left::found(&fake.state()).unwrap()).unwrap();
    let status = read(&fake);
    assert_eq!(status.offline.into_iter().collect::<Vec<_>>(), [(6, OfflineBy::Others)]);
    assert_eq!((status.control.as_deref(), status.is_active), (Some("on"), Some(true)));
    assert_eq!(status.cores, [set("0-1"), set("2-3"), set("4-5"), set("7")]);
    assert!(status.turbo.unwrap().is_on);
    assert_eq!(status.governors.into_iter().collect::<Vec<_>>(), [("schedutil".to_owned(), set("0-5,7"))]);
    assert_eq!(status.holder, None);
    let mut held = hold(&fake).unwrap();
    held.apply(&Arm::smt(Smt::Offline { keep: set("2") })).unwrap();
    held.keep().unwrap();
    let status = read(&fake);
    let by = [(3, OfflineBy::Threadwise), (6, OfflineBy::Before)];
    assert_eq!(status.offline.into_iter().collect::<Vec<_>>(), by);
    assert_eq!(status.holder, Some(left::Holder::Kept));
    let fake = Fake::new();
    fake.write(&Setting::Control, "off").unwrap();
    assert!(read(&fake).offline.values().all(|&by| by == OfflineBy::ControlOrOthers));
}
