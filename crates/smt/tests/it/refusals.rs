//! What is not done, and why.

use crate::fake::Fake;
use crate::{hold, names, set};
use std::os::unix::fs::symlink;
use threadwise_machine::CpuSet;
use threadwise_smt::{Arm, Facts, Kernel, Setting, Smt, refuse};

/// Why it is refused; nothing is changed.
fn refusal(fake: &Fake, cpuset: Option<CpuSet>, arm: &Arm) -> String {
    let before = fake.machine();
    let facts = Facts::read(fake.roots(), cpuset).unwrap();
    let why = refuse::check(fake.roots(), &facts, arm).unwrap_err();
    assert!(!why.contains('\n'), "{why}");
    let mut held = hold(fake).unwrap();
    if facts.cpuset.is_none() {
        assert_eq!(held.apply(arm).unwrap_err().to_string(), why);
    }
    assert_eq!(held.restore().unwrap().failed, [""; 0]);
    assert_eq!(fake.machine(), before);
    assert_eq!(names(&fake.state()), [""; 0]);
    why
}

fn offline(keep: &str) -> Arm {
    Arm::smt(Smt::Offline { keep: set(keep) })
}

#[test]
fn words_of_control_are_explained() {
    for (word, part) in [
        ("forceoff", "nosmt=force"),
        ("notsupported", "firmware"),
        ("notimplemented", "architecture"),
        ("2", "neither on nor off"),
    ] {
        let fake = Fake::new();
        fake.put_cpu_file("smt/control", word);
        for arm in [Smt::Off, Smt::On] {
            let why = refusal(&fake, None, &Arm::smt(arm));
            assert!(why.contains(part), "{why}");
        }
    }
    let fake = Fake::new();
    fake.remove("machine/sys/devices/system/cpu/smt");
    assert!(refusal(&fake, None, &Arm::smt(Smt::Off)).contains("no smt/control"));
}

#[test]
fn logical_cpu_0_stays() {
    let why = refusal(&Fake::new(), None, &offline("1"));
    assert!(why.starts_with("logical CPU 0 is never taken offline"), "{why}");
}

#[test]
fn siblings_have_to_be_there_and_to_have_a_file() {
    let fake = Fake::new();
    assert!(refusal(&fake, None, &offline("8")).contains("not online"));
    assert!(refusal(&fake, None, &offline("0-1")).contains("no siblings online"));
    fake.remove("machine/sys/devices/system/cpu/cpu3/online");
    assert!(refusal(&fake, None, &offline("2")).contains("cannot be taken offline"));
    for cpu in 0..8 {
        fake.put_cpu_file(&format!("cpu{cpu}/topology/thread_siblings_list"), &cpu.to_string());
    }
    assert!(refusal(&fake, None, &offline("2")).contains("no core has two"));
}

#[test]
fn cpus_outside_our_cpuset_are_others() {
    let fake = Fake::new();
    let why = refusal(&fake, Some(set("0-3")), &Arm::smt(Smt::Off));
    assert!(why.contains("4-7 are outside of this process's cpuset (0-3)"), "{why}");
    assert!(refusal(&fake, Some(set("0-3")), &offline("4")).contains("outside"));
    let facts = Facts::read(fake.roots(), Some(set("0-3"))).unwrap();
    assert_eq!(refuse::check(fake.roots(), &facts, &offline("2")), Ok(()));
}

#[test]
fn the_last_cpu_of_a_node_with_bound_work_stays() {
    let fake = Fake::new();
    fake.put("machine/sys/devices/system/node/node0/cpulist", "0-6");
    fake.put("machine/sys/devices/system/node/node1/cpulist", "7");
    let facts = Facts::read(fake.roots(), None).unwrap();
    assert_eq!(refuse::check(fake.roots(), &facts, &offline("6")), Ok(()), "nothing is bound to it");
    fake.task(50, 51, 1, "7");
    for arm in [offline("6"), Arm::smt(Smt::Off)] {
        let why = refusal(&fake, None, &arm);
        assert!(why.contains("NUMA node 1, and thread 51 of process 50"), "{why}");
    }
}

#[test]
fn a_second_thread_whose_first_one_is_offline_goes_too() {
    let fake = Fake::new();
    fake.put("machine/sys/devices/system/node/node0/cpulist", "0-5");
    fake.put("machine/sys/devices/system/node/node1/cpulist", "7");
    fake.take_offline(6);
    assert_eq!(Facts::read(fake.roots(), None).unwrap().perhaps_second(), set("7"));
    fake.task(50, 50, 1, "7");
    assert!(refusal(&fake, None, &Arm::smt(Smt::Off)).contains("NUMA node 1"));
}

#[test]
fn a_control_group_keeps_a_cpu() {
    let fake = Fake::new();
    fake.group("db", "1,3", &[]);
    let facts = Facts::read(fake.roots(), None).unwrap();
    assert_eq!(refuse::check(fake.roots(), &facts, &Arm::smt(Smt::Off)), Ok(()), "it is empty");
    fake.group("db", "1,3", &[50]);
    let why = refusal(&fake, None, &Arm::smt(Smt::Off));
    assert!(why.contains("control group db"), "{why}");
}

#[test]
fn a_container_is_no_place_for_it() {
    let fake = Fake::new();
    fake.remove("machine/proc/self/ns/pid");
    symlink("pid:[4026532000]", fake.path("machine/proc/self/ns/pid")).unwrap();
    for arm in [Arm::smt(Smt::Off), offline("2")] {
        assert!(refusal(&fake, None, &arm).contains("this is a container"));
    }
}

#[test]
fn clocks_that_are_not_here() {
    let fake = Fake::new();
    let governor = |name: &str| Arm { governor: Some(name.into()), ..Arm::default() };
    let turbo = Arm { turbo: Some(false), ..Arm::default() };
    let why = refusal(&fake, None, &governor("ondemand"));
    assert!(why.contains("not here") && why.contains("performance, schedutil, powersave"), "{why}");
    fake.remove("machine/sys/devices/system/cpu/cpufreq");
    assert!(refusal(&fake, None, &governor("performance")).starts_with("not here"));
    assert!(refusal(&fake, None, &turbo).starts_with("not here"));
}

#[test]
fn a_group_that_cannot_be_written_down_ends_it_before_it_begins() {
    let fake = Fake::new();
    fake.group("two words", "0-3", &[]);
    let why = hold(&fake).err().unwrap().to_string();
    assert!(why.contains("two words cannot be recorded"), "{why}");
    assert_eq!(names(&fake.state()), [""; 0]);
}

#[test]
fn what_the_kernel_refuses_is_put_back_and_named() {
    let fake = Fake::new();
    fake.task(50, 50, 1, "3");
    let before = fake.machine();
    fake.refused.borrow_mut().push(Setting::Online(5));
    let mut held = hold(&fake).unwrap();
    let why = held.apply(&offline("0,2,4")).unwrap_err().to_string();
    assert!(why.contains("cpu5/online is 1 and must be 0") && why.ends_with("as it was found"), "{why}");
    assert_eq!(held.restore().unwrap().failed, [""; 0]);
    assert_eq!(fake.machine(), before);
}
