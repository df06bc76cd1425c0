//! Journals that are not what we wrote: refused, and nothing but what is on the list is ever written.

use crate::fake::Fake;
use crate::{hold, set};
use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use threadwise_process::journal::{BootNamespace, Entry, Thread};
use threadwise_smt::{Arm, Smt, SmtError, left};

/// A journal of a killed process, with these lines.
fn written(fake: &Fake, lines: &str) -> PathBuf {
    let path = path(fake, &BootNamespace::now());
    write(&path, lines);
    path
}

/// A number that no process has (`pid_max` is at most 2^22).
fn path(fake: &Fake, here: &BootNamespace) -> PathBuf {
    fake.state().join(format!("smt.{}.{}.4194305.7.00c0ffee", here.boot, here.pid_namespace))
}

fn write(path: &Path, text: &str) {
    use std::io::Write;
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn line(rest: &str) -> String {
    format!("set {} {rest}\n", BootNamespace::now())
}

fn why(error: SmtError) -> String {
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn only_what_is_on_the_list_is_written() {
    let fake = Fake::new();
    fake.put("passwd", "root");
    fake.put_cpu_file("cpu3/online", "1");
    let before = fake.machine();
    for rest in [
        "control - forceoff",
        "file /etc/passwd x",
        "cpuset ../../../../passwd 0",
        "cpuset /etc 0",
        "online 3 7",
        "online ../../passwd 1",
        "governor 0 nonesuch",
        "irq 3/../../../passwd 0",
        "control - on extra",
        "online 99 0",
    ] {
        let path = written(&fake, &line(rest));
        let settled = left::put_back(&fake, &path).unwrap();
        assert_eq!(settled.failed.len(), 1, "{rest}");
        assert!(path.exists(), "{rest}: it is there to be looked at");
        fs::remove_file(path).unwrap();
    }
    assert_eq!(fake.machine(), before);
    assert_eq!(fake.get("passwd"), "root");
    assert_eq!(*fake.writes.borrow(), [""; 0]);
}

#[test]
fn links_inside_the_machine_are_not_followed() {
    let fake = Fake::new();
    fake.put("passwd", "0");
    fs::remove_file(fake.path("machine/sys/devices/system/cpu/cpu3/online")).unwrap();
    symlink(fake.path("passwd"), fake.path("machine/sys/devices/system/cpu/cpu3/online")).unwrap();
    fs::create_dir_all(fake.path("elsewhere")).unwrap();
    fake.put("elsewhere/cpuset.cpus", "0");
    symlink(fake.path("elsewhere"), fake.path("machine/sys/fs/cgroup/cpuset/g")).unwrap();
    let path = written(&fake, &[line("online 3 1"), line("cpuset g 0-3")].concat());
    assert_eq!(left::put_back(&fake, &path).unwrap().failed.len(), 2);
    assert_eq!((fake.get("passwd"), fake.get("elsewhere/cpuset.cpus")), ("0".to_owned(), "0".to_owned()));
}

#[test]
fn files_that_others_could_have_written_are_refused() {
    let fake = Fake::new();
    let path = written(&fake, &line("online 3 0"));
    let refused = |part: &str| {
        let text = why(left::put_back(&fake, &path).unwrap_err());
        assert!(text.contains(part), "{text}");
        assert!(left::found(&fake.state()).is_err(), "{part}");
        assert!(fake.is_online(3));
    };
    fs::set_permissions(fake.state(), fs::Permissions::from_mode(0o755)).unwrap();
    refused("set mode 0700");
    fs::set_permissions(fake.state(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    refused("others may write it");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(&path, fake.path("second")).unwrap();
    refused("one name");
    fs::rename(fake.path("second"), fake.path("moved")).unwrap();
    fs::remove_file(&path).unwrap();
    symlink(fake.path("moved"), &path).unwrap();
    refused("it is a link");
    fs::remove_file(&path).unwrap();
    write(&path, &line("online 3 0").repeat((17 << 20) / line("online 3 0").len()));
    refused("longer than 16 MiB");
}

#[test]
fn a_file_of_another_user_is_refused() {
    use std::io::Write;
    let fake = Fake::new();
    let path = written(&fake, &line("online 3 0"));
    if std::os::unix::fs::chown(&path, Some(1), None).is_err() {
        writeln!(std::io::stderr(), "SKIPPED: a journal of another user: only root can make one").unwrap();
        return;
    }
    let text = why(left::put_back(&fake, &path).unwrap_err());
    assert!(text.contains("it must belong to this user"), "{text}");
    assert!(fake.is_online(3));
}

#[test]
fn journals_of_another_boot_or_namespace_are_left_alone() {
    let fake = Fake::new();
    let here = BootNamespace::now();
    for other in [
        BootNamespace { boot: "00000000-b".into(), ..here.clone() },
        BootNamespace { pid_namespace: "1".into(), ..here.clone() },
    ] {
        let path = path(&fake, &other);
        write(&path, &line("online 3 0"));
        assert_eq!(left::found(&fake.state()).unwrap(), []);
        let is_elsewhere = other.boot == here.boot;
        assert_eq!(left::elsewhere(&fake.state()).unwrap().len(), usize::from(is_elsewhere));
        let text = why(left::put_back(&fake, &path).unwrap_err());
        assert!(text.contains("another boot"), "{text}");
        // Of another boot nothing is left; in another namespace a process may have switched the machine.
        assert_eq!(hold(&fake).is_ok(), !is_elsewhere);
        fs::remove_file(path).unwrap();
    }
    // Under a name of here, lines of elsewhere.
    let of_boot = "set 00000000-b 4026531836 online 3 0\n".to_owned();
    let of_namespace = format!("set {} 1 online 3 0\n", here.boot);
    let path = written(&fake, &[of_boot, of_namespace].concat());
    let settled = left::put_back(&fake, &path).unwrap();
    assert_eq!(settled.failed.len(), 1);
    assert!(settled.failed[0].contains("line 2") && settled.failed[0].contains("another PID namespace"));
    assert!(fake.is_online(3));
}

#[test]
fn a_number_that_was_given_again_is_another_thread() {
    let fake = Fake::new();
    fake.task(50, 50, 1, "0-7");
    let line = |start| {
        let thread = Thread { pid: 50, tid: 50, start };
        Entry { here: BootNamespace::now(), thread, mask: set("2") }.line()
    };
    let path = written(&fake, &line(999));
    assert_eq!(left::put_back(&fake, &path).unwrap().failed, [""; 0]);
    assert_eq!(fake.mask(50, 50), "0-7");
    let path = written(&fake, &line(1050));
    assert_eq!(left::put_back(&fake, &path).unwrap().threads, 1);
    assert_eq!(fake.mask(50, 50), "2");
}

#[test]
fn a_journal_whose_process_lives_is_left_alone() {
    let fake = Fake::new();
    let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let here = BootNamespace::now();
    let start = threadwise_process::proc::start_time(child.id(), child.id()).unwrap();
    let name = format!("smt.{}.{}.{}.{start}.00c0ffee", here.boot, here.pid_namespace, child.id());
    let path = fake.state().join(name);
    write(&path, &line("online 3 0"));
    let holder = left::found(&fake.state()).unwrap()[0].holder;
    let put_back = left::put_back(&fake, &path);
    let begun = hold(&fake).err();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(holder, left::Holder::Living(child.id()));
    assert!(matches!(put_back, Err(SmtError::InUse { pid }) if pid == child.id()));
    assert!(matches!(begun, Some(SmtError::InUse { pid }) if pid == child.id()));
    assert!(fake.is_online(3));
    assert_eq!(left::found(&fake.state()).unwrap()[0].holder, left::Holder::Killed);
    assert!(matches!(hold(&fake), Err(SmtError::Switched { .. })));
}

#[test]
fn a_damaged_line_does_not_keep_the_others_from_being_put_back() {
    let fake = Fake::new();
    let mut held = hold(&fake).unwrap();
    held.apply(&Arm::smt(Smt::Off)).unwrap();
    let path = held.journal().to_owned();
    let text = fs::read_to_string(&path).unwrap();
    write(&path, &text.replacen("online 3 1", "online 3 1\u{1f600}", 1));
    let settled = held.restore().unwrap();
    assert_eq!(settled.failed.len(), 1, "{:?}", settled.failed);
    assert!(settled.failed[0].contains("was left out") && settled.failed[0].contains("remove it when"));
    assert_eq!(fake.online(), set("0-7"), "control woke it");
    assert!(path.exists());
}
