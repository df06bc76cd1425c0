//! The published presets on machines that others recorded, in the folder that THREADWISE_MACHINES names.

use crate::published::{PRESETS, study};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use threadwise_machine::Topology;
use threadwise_study::plan_block;

fn unpacked(archive: &Path, to: &Path) -> PathBuf {
    let status = Command::new("tar").arg("-xjf").arg(archive).arg("-C").arg(to).status().unwrap();
    assert!(status.success(), "tar cannot unpack {}", archive.display());
    std::fs::read_dir(to).unwrap().next().unwrap().unwrap().path()
}

#[test]
#[ignore = "laboratory: machines"]
fn each_is_planned_on_every_recorded_machine() {
    let folder = std::env::var_os("THREADWISE_MACHINES").map(PathBuf::from).unwrap();
    let index = std::fs::read_to_string(folder.join("INDEX.tsv")).unwrap();
    for name in index.lines().skip(1).filter_map(|line| line.split('\t').next()) {
        let space = tempfile::tempdir().unwrap();
        let root = unpacked(&folder.join(format!("{name}.tar.bz2")), space.path());
        let topology = Topology::read(&root, None).unwrap();
        for preset in PRESETS {
            let study = study(preset, &topology);
            let plan = plan_block(&study, &topology, 0)
                .unwrap_or_else(|error| panic!("{preset} on {name}: {error}"));
            for (treatment, placed) in study.treatments.iter().zip(&plan.placements) {
                assert!(
                    placed.set().is_subset(&topology.allowed()),
                    "{preset} on {name}: {}",
                    treatment.name
                );
                if std::env::var_os("THREADWISE_SHOW_PLANS").is_some() {
                    let (name_of, cpus) = (&treatment.name, placed.set());
                    writeln!(std::io::stderr(), "{name} {preset} {name_of} s{} {cpus}", treatment.sessions)
                        .unwrap();
                }
            }
            if std::env::var_os("THREADWISE_SHOW_PLANS").is_some() {
                study.left_out.iter().chain(&study.placement_remarks(&topology)).for_each(|line| {
                    writeln!(std::io::stderr(), "{name} {preset} - {line}").unwrap();
                });
            }
        }
    }
}
