//! Service threads beside sessions: `near`, `far`, and placements.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::placement_support::{even, resolve as placed};
use proptest::prelude::*;
use threadwise_machine::placement::{Service, resolve, resolve_service};
use threadwise_machine::{CpuSet, Draw, Pin, Placement, Topology};

/// The logical CPUs of `service` beside `sessions` sessions on `placement`, on the identity draw.
fn beside(service: &str, topology: &Topology, placement: &str, sessions: u32) -> Result<String, String> {
    let draw = Draw::identity(topology);
    let placement: Placement = placement.parse().unwrap();
    let sessions = resolve(&placement, topology, &draw, sessions, Pin::Each).unwrap();
    let service: Service = service.parse().unwrap();
    resolve_service(&service, topology, &draw, &sessions)
        .map(|cpus| cpus.to_string())
        .map_err(|error| error.to_string())
}

#[test]
fn texts_are_read_and_printed_back() {
    for text in ["near", "far", "0-3,8", "1c2t@n0", "package:1.core:0"] {
        assert_eq!(text.parse::<Service>().unwrap().to_string(), text);
    }
    assert_eq!(" near ".parse::<Service>(), Ok(Service::Near));
    for (text, why) in [("", "it is empty"), ("0,0", "logical CPU 0 appears twice")] {
        let error = text.parse::<Service>().unwrap_err().to_string();
        assert_eq!(
            error,
            format!("service is '{text}': {why}; allowed are near, far, and a placement such as 0-3 or 1c1t")
        );
    }
    assert!("close".parse::<Service>().unwrap_err().to_string().contains("near, far"));
}

/// 2 packages of 2 cores of 2: logical CPUs 0, 1, 4, 5 on the first, 2, 3, 6, 7 on the second.
#[test]
fn near_and_far_on_two_packages() {
    let topology = even(2, 2, 2);
    for (placement, sessions, near, far) in [
        ("0", 1, "1,4-5", "2-3,6-7"),
        ("2,3", 2, "6-7", "0-1,4-5"),
        ("0,1,2", 3, "4-5", "3,6-7"),
        ("2,3,0", 3, "6-7", "1,4-5"),
        // Equal numbers: the first of the draw.
        ("2,0", 2, "1,4-5", "3,6-7"),
        // Only the first of the listed logical CPUs has a session.
        ("2,3,6", 1, "3,6-7", "0-1,4-5"),
        // The package is full: all of it.
        ("0-1,4-5", 4, "0-1,4-5", "2-3,6-7"),
        ("all", 8, "0-1,4-5", "2-3,6-7"),
    ] {
        assert_eq!(beside("near", &topology, placement, sessions).as_deref(), Ok(near), "near {placement}");
        assert_eq!(beside("far", &topology, placement, sessions).as_deref(), Ok(far), "far {placement}");
    }
}

#[test]
fn far_prefers_a_package_without_sessions() {
    let topology = even(3, 2, 1);
    assert_eq!(beside("far", &topology, "0,1,2", 3).as_deref(), Ok("4-5"));
    assert_eq!(beside("far", &topology, "0,1", 2).as_deref(), Ok("2-3"));
}

#[test]
fn a_placement_is_taken_as_it_stands() {
    let topology = even(2, 2, 2);
    assert_eq!(beside("0,6", &topology, "0", 1).as_deref(), Ok("0,6"));
    assert_eq!(
        beside("9", &topology, "0", 1).unwrap_err(),
        "placement '9' is not possible here: there is no logical CPU 9"
    );
}

#[test]
fn far_needs_two_packages() {
    let one = even(1, 4, 1);
    assert_eq!(
        beside("far", &one, "0", 1).unwrap_err(),
        "placement 'service=far' is not possible here: this machine has 1 package with allowed logical CPUs"
    );
    let mut undeclared = one;
    undeclared.packages.clear();
    undeclared.cores.iter_mut().for_each(|core| core.package = None);
    assert_eq!(beside("near", &undeclared, "0", 1).as_deref(), Ok("1-3"));
    assert_eq!(
        beside("far", &undeclared, "0", 1).unwrap_err(),
        "placement 'service=far' is not possible here: this machine declares no packages, so it counts as one"
    );
}

proptest! {
    #[test]
    fn near_and_far_are_allowed_and_on_their_own_packages(
        packages in 1_u32..4, cores in 1_u32..5, threads in 1_u32..3, count in 1_u32..9,
        floating in any::<bool>(), seed in any::<u64>(), block in 0_u32..40,
    ) {
        let topology = even(packages, cores, threads);
        let draw = Draw::for_block(&topology, seed, block);
        let count = count.min(packages * cores * threads);
        let pin = if floating { Pin::Set } else { Pin::Each };
        let placement: Placement = format!("spread:{count}").parse().unwrap();
        let sessions = resolve(&placement, &topology, &draw, count, pin).unwrap();
        let packages_of = |cpus: &CpuSet| -> CpuSet {
            cpus.iter().map(|cpu| topology.cpu(cpu).unwrap().package.unwrap()).collect()
        };
        let near = resolve_service(&Service::Near, &topology, &draw, &sessions).unwrap();
        prop_assert!(!near.is_empty() && near.is_subset(&topology.allowed()));
        let home = packages_of(&near);
        prop_assert_eq!(home.len(), 1);
        let on = |package: u32| {
            sessions.cpus.iter().filter(|&&cpu| topology.cpu(cpu).unwrap().package == Some(package)).count()
        };
        let most = (0..packages).map(on).max().unwrap();
        prop_assert_eq!(on(home.first().unwrap()), most);
        match resolve_service(&Service::Far, &topology, &draw, &sessions) {
            Ok(far) => {
                prop_assert!(!far.is_empty() && far.is_subset(&topology.allowed()));
                let away = packages_of(&far);
                prop_assert!(away.len() == 1 && away != home);
            }
            Err(_) => prop_assert_eq!(packages, 1),
        }
        // An explicit placement is what the placement's own resolver says.
        let at = resolve_service(&Service::At(placement.clone()), &topology, &draw, &sessions).unwrap();
        prop_assert_eq!(at, placed(&placement.text, &topology, &draw).unwrap().set());
    }
}
