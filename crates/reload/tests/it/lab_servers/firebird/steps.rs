//! Killed after each step: what is there, and what a recovery makes of it.

use crate::lab_servers::firebird::support::{kept, options, place, reloaded, settings};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use threadwise_reload::item::{ItemOptions, Outcome, Step};
use threadwise_reload::{Originals, recover};

#[test]
#[ignore = "laboratory: servers"]
fn a_recovery_after_every_step_loses_nothing() {
    let place = place();
    for step in Step::ALL {
        let path = place.numbered("base.fdb", 3);
        let original = path.metadata().unwrap().ino();
        let hook = Arc::new(move |now: Step, _: &std::path::Path| now != step);
        let report = reloaded(&path, &ItemOptions { hook: Some(hook), ..options() });
        assert!(matches!(report.outcome, Outcome::Failed(_)), "{step:?}: {report:?}");

        // Between the seal and the swap no client can open it; at all other times every client can.
        match (step, place.rows(&path)) {
            (Step::Sealed, Err(refused)) => assert!(refused.contains("shutdown"), "{refused}"),
            (_, rows) => assert_eq!(rows.unwrap(), [1, 2, 3], "{step:?}"),
        }
        for again in ["first", "second"] {
            recover::recover(&path, &settings()).unwrap_or_else(|error| panic!("{step:?}, {again}: {error}"));
        }
        assert_eq!(place.rows(&path).unwrap(), [1, 2, 3], "{step:?}");
        place.sql(&path, "insert into items values (4); commit;").unwrap();
        let swapped = path.metadata().unwrap().ino() != original;
        let number = |wanted| Step::ALL.iter().position(|step| *step == wanted);
        assert_eq!(swapped, number(step) >= number(Step::Swapped), "{step:?}");
        let names: &[&str] = if swapped { &["base.fdb", "base.fdb.before-reload"] } else { &["base.fdb"] };
        assert_eq!(place.names(), names, "{step:?}");
        if swapped {
            let refused = place.rows(&kept(&path)).unwrap_err();
            assert!(refused.contains("shutdown"), "{step:?}: {refused}");
            std::fs::remove_file(kept(&path)).unwrap();
        }
        assert_eq!(reloaded(&path, &options()).outcome, Outcome::Done, "{step:?}");
        assert_eq!(place.rows(&path).unwrap(), [1, 2, 3, 4], "{step:?}");
        std::fs::remove_file(kept(&path)).unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}

/// What was swapped in may be lost after a kill; then the original has to be there.
#[test]
#[ignore = "laboratory: servers"]
fn the_original_goes_only_where_the_new_file_is_what_was_checked() {
    type Change = fn(&std::path::Path);
    let place = place();
    let cases: [(Change, &str); 5] = [
        (|_| (), ""),
        (|path| drop(std::fs::File::create(path).unwrap()), "not a database"),
        (|path| secretly(path, |bytes| bytes.clear()), "not a database"),
        (|path| secretly(path, |bytes| bytes.truncate(bytes.len() / 2)), "written to since"),
        (|path| secretly(path, |bytes| last_index_page(bytes)[40..].fill(0x5a)), "damaged"),
    ];
    for (change, words) in cases {
        let path = place.numbered("base.fdb", 2000);
        let hook = Arc::new(move |now: Step, _: &std::path::Path| now != Step::Swapped);
        let options = ItemOptions { hook: Some(hook), originals: Originals::Remove, ..options() };
        assert!(reloaded(&path, &options).left_behind);
        change(&path);
        if words.is_empty() {
            assert_eq!(recover::recover(&path, &settings()), Ok(recover::Recovered::Finished));
            assert_eq!(place.names(), ["base.fdb"]);
        } else {
            let error = recover::recover(&path, &settings()).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("base.fdb.before-reload"), "{error}");
            std::fs::rename(kept(&path), &path).unwrap();
            assert_eq!(recover::recover(&path, &settings()), Ok(recover::Recovered::PutBack));
        }
        assert_eq!(place.rows(&path).unwrap().len(), 2000, "{words}");
        std::fs::remove_file(&path).unwrap();
    }
}

/// Changes a file so that its time of writing does not tell.
fn secretly(path: &std::path::Path, change: impl FnOnce(&mut Vec<u8>)) {
    let written = path.metadata().unwrap().modified().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
    std::fs::File::options().write(true).open(path).unwrap().set_modified(written).unwrap();
}

fn last_index_page(bytes: &mut [u8]) -> &mut [u8] {
    bytes.chunks_exact_mut(4096).rfind(|page| page[0] == 7).unwrap()
}

/// A process that opened the old file before the swap, and gets Firebird's lock on it only after.
#[test]
#[ignore = "laboratory: servers"]
fn a_late_process_on_the_old_file_finds_it_shut() {
    use std::os::unix::fs::FileExt;
    const FREE: [Step; 4] = [Step::Folder, Step::State, Step::Released, Step::Removed];
    let place = place();
    let path = place.numbered("base.fdb", 3);
    let late = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let flags = || {
        let mut flags = [0; 2];
        late.read_exact_at(&mut flags, 42).unwrap();
        u16::from_ne_bytes(flags)
    };
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let hook = {
        let (late, seen) = (late.try_clone().unwrap(), Arc::clone(&seen));
        Arc::new(move |step: Step, _: &std::path::Path| {
            let lock =
                || rustix::fs::flock(&late, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok();
            // Where another test's process was forked just now, it has our descriptors, and with them the
            // lock, until its program begins.
            let tries = if FREE.contains(&step) { 1000 } else { 1 };
            let locked = (0..tries).any(|_| {
                lock() || {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    false
                }
            });
            if locked {
                rustix::fs::flock(&late, rustix::fs::FlockOperation::Unlock).unwrap();
            }
            seen.lock().unwrap().push((step, locked));
            true
        })
    };
    assert_eq!(flags() & 0x1080, 0);
    assert_eq!(reloaded(&path, &ItemOptions { hook: Some(hook), ..options() }).outcome, Outcome::Done);
    let seen = seen.lock().unwrap();
    let free: Vec<Step> = seen.iter().filter(|(_, locked)| *locked).map(|(step, _)| *step).collect();
    assert_eq!(free, FREE, "held from first to last");
    assert_eq!(flags() & 0x1080, 0x1000, "and shut when it can be had");
}
