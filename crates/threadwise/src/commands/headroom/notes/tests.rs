//! Notes of some machines.

use super::*;
use threadwise_machine::CpuSet;
use threadwise_machine::topology::LogicalCpu;

fn chosen(low: f64, high: f64) -> Chosen {
    Chosen {
        smt_yield: SmtYield::new(low, high).unwrap(),
        source: "given",
        words: "as given".to_owned(),
        by_cycle: None,
        no_clock: "",
        remarks: Vec::new(),
    }
}

fn machine(cores: u32, threads: u32) -> Topology {
    let cpu = |os_id: u32| LogicalCpu {
        os_id,
        siblings: (0..threads).map(|thread| os_id / threads * threads + thread).collect::<CpuSet>(),
        online: true,
        allowed: os_id.is_multiple_of(2),
        ..LogicalCpu::default()
    };
    Topology { logical_cpus: (0..cores * threads).map(cpu).collect(), ..Topology::default() }
}

fn said(topology: &Topology, chosen: &Chosen) -> String {
    let about = About {
        topology,
        layout: &Layout::of(topology),
        smt_yield: chosen.smt_yield,
        chosen,
        no_clock: Some("why"),
        no_switches: Some("as root"),
        interval_s: 1.0,
        is_recorded: false,
    };
    notes(&about).join("\n")
}

#[test]
fn half_busy_is_said_in_numbers() {
    let text = said(&machine(8, 2), &chosen(1.25, 1.25));
    assert!(
        text.starts_with("reading 16 logical CPUs (0-15) on 8 cores, every 1.00 s; Ctrl-C ends it"),
        "{text}"
    );
    assert!(
        text.contains("with one thread of each core busy, \"50% busy\" is 80% of the capacity"),
        "{text}"
    );
    assert!(text.contains("this process may use 8 (0-14:2), the line `allowed`"), "{text}");
    assert!(text.contains("for exact values: as root"), "{text}");
    let range = said(&machine(2, 4), &chosen(1.0, 1.25));
    assert!(range.contains("\"25% busy\" is 57% to 100% of the capacity"), "{range}");
    assert!(range.contains("each further thread"), "{range}");
    assert!(said(&machine(2, 2), &chosen(0.9, 1.1)).contains("below 1 it counts as 1"));
}

#[test]
fn without_siblings_no_yield_is_named() {
    let mut topology = machine(2, 1);
    let text = said(&topology, &chosen(1.2, 1.3));
    assert!(
        text.contains("the system reports no core with two logical CPUs") && !text.contains("1.2"),
        "{text}"
    );
    assert!(!text.contains("hypervisor"), "{text}");
    topology.identity.hypervisor = Some("KVM".to_owned());
    let text = said(&topology, &chosen(1.2, 1.3));
    assert!(text.contains("may hide siblings") && text.contains("stolen:"), "{text}");
}
