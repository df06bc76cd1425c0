//! Masks of other processes, set and read back.

use super::Killed;
use std::path::Path;
use threadwise_machine::{CpuSet, pin};
use threadwise_process::masks::{MaskError, set_thread};

#[test]
fn a_child_is_bound_and_put_back() {
    let child = Killed::sh("exec sleep 600", Path::new("/"));
    let tid = child.id();
    let first = pin::thread_affinity(tid, tid).unwrap();
    let last: CpuSet = pin::current_affinity().unwrap().iter().last().into_iter().collect();
    set_thread(tid, &last).unwrap();
    assert_eq!(pin::thread_affinity(tid, tid).unwrap(), last);
    set_thread(tid, &pin::current_affinity().unwrap()).unwrap();
    assert!(pin::current_affinity().unwrap().is_subset(&first));
}

#[test]
fn one_thread_of_many_is_bound() {
    let (send_tid, tids) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let other = std::thread::spawn(move || {
        send_tid.send(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()).unwrap();
        let _ = ended.recv();
    });
    let tid = tids.recv().unwrap();
    let cpus = pin::current_affinity().unwrap();
    let last: CpuSet = cpus.iter().last().into_iter().collect();
    set_thread(tid, &last).unwrap();
    assert_eq!(pin::thread_affinity(std::process::id(), tid).unwrap(), last);
    assert_eq!(pin::current_affinity().unwrap(), cpus);
    drop(end);
    other.join().unwrap();
}

#[test]
fn what_cannot_be_is_reported() {
    let mut child = Killed::sh("exec sleep 600", Path::new("/"));
    let tid = child.id();
    let cpus = pin::current_affinity().unwrap();
    let absent: CpuSet = [60_000].into_iter().collect();
    assert!(matches!(set_thread(tid, &CpuSet::new()), Err(MaskError::Empty { .. })));
    assert!(matches!(set_thread(tid, &absent), Err(MaskError::Refused { .. })));
    let error = set_thread(tid, &cpus.union(&absent)).unwrap_err();
    assert!(matches!(error, MaskError::Differs { .. }), "{error}");
    assert!(error.to_string().contains(&format!("reads back {cpus}")), "{error}");
    child.end();
    assert!(matches!(set_thread(tid, &cpus), Err(MaskError::Ended { .. })));
    assert!(matches!(set_thread(0, &cpus), Err(MaskError::Ended { .. })));
}
