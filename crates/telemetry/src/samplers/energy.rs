//! Energy of processor packages and their memory.
//!
//! Source: kernel `Documentation/power/powercap/powercap.rst` and
//! `Documentation/ABI/testing/sysfs-class-powercap`: `energy_uj` counts microjoules and wraps at
//! `max_energy_range_uj`. AMD processors appear under `intel-rapl` too. Left out are the zones `core`
//! and `uncore`, which lie inside of their package, `psys` around everything, and `intel-rapl-mmio`,
//! which counts the packages again. Only root may read `energy_uj` since Linux 5.10
//! (CVE-2020-8694: it reveals other users' work).

use super::{Counter, Span, reading, status_of};
use crate::{Moment, Sampler, Status};
use std::fs::read_to_string;
use std::path::Path;
use threadwise_study::Reading;

const REMEDY: &str = "run as root, or as root: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj (every local user can then read it)";

/// The sampler. Metrics are called after the zones: `package_0_energy_uj`, `package_0_dram_energy_uj`.
#[derive(Debug)]
pub struct Energy {
    zones: Result<Vec<Zone>, Status>,
    start_ns: u64,
}

#[derive(Debug)]
struct Zone {
    metric: String,
    /// Where `energy_uj` wraps.
    range_uj: u64,
    source: Result<Counter, Status>,
    last_uj: Result<u64, String>,
    /// Since the start of the window.
    grown_uj: Result<u64, String>,
}

fn zones(root: &Path) -> Result<Vec<Zone>, Status> {
    let folder = root.join("sys/class/powercap");
    let entries = std::fs::read_dir(&folder).map_err(|error| status_of(&folder, &error, REMEDY))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.to_owned()))
        .filter(|name| name.starts_with("intel-rapl:"))
        .collect();
    names.sort_unstable();
    let zones: Vec<Zone> = names.iter().filter_map(|name| zone(&folder, name)).collect();
    let first_denial = zones.iter().find_map(|zone| zone.source.as_ref().err());
    match (zones.iter().any(|zone| zone.source.is_ok()), first_denial) {
        (true, _) => Ok(zones),
        (false, Some(status)) => Err(status.clone()),
        (false, None) => {
            Err(Status::Unsupported { why: format!("{} has no zone of a package", folder.display()) })
        }
    }
}

/// A zone of a package or of memory; `None` for others.
fn zone(folder: &Path, name: &str) -> Option<Zone> {
    let label =
        |zone: &str| Some(read_to_string(folder.join(zone).join("name")).ok()?.trim().replace('-', "_"));
    let zone = label(name)?;
    let metric = match zone.as_str() {
        "dram" => format!("{}_dram_energy_uj", label(name.rsplit_once(':')?.0)?),
        package if package.starts_with("package_") => format!("{package}_energy_uj"),
        _ => return None,
    };
    let range_uj = read_to_string(folder.join(name).join("max_energy_range_uj")).ok()?.trim().parse().ok()?;
    let path = folder.join(name).join("energy_uj");
    let source = Counter::open(&path).map_err(|error| status_of(&path, &error, REMEDY));
    let not_started = || Err("not started".to_owned());
    Some(Zone { metric, range_uj, source, last_uj: not_started(), grown_uj: not_started() })
}

impl Zone {
    fn read(&mut self) -> Result<u64, String> {
        let counter = super::opened(&mut self.source)?;
        let text = counter.read().map_err(|error| format!("energy_uj: {error}"))?;
        text.trim().parse().map_err(|_| "energy_uj is not a readable number".to_owned())
    }

    fn start(&mut self) {
        self.last_uj = self.read();
        self.grown_uj = self.last_uj.clone().map(|_| 0);
    }

    fn look(&mut self) {
        let now_uj = self.read();
        self.grown_uj = match (&self.grown_uj, &self.last_uj, &now_uj) {
            (Ok(grown), Ok(last), Ok(now)) => {
                step(*last, *now, self.range_uj).map(|step| grown.saturating_add(step))
            }
            (Err(why), ..) | (_, Err(why), _) | (.., Err(why)) => Err(why.clone()),
        };
        self.last_uj = now_uj;
    }
}

/// Growth between two readings, between which the counter wraps at most once: a range of 2³² units of
/// 15.3 µJ lasts 65 s at 1 kW.
fn step(last_uj: u64, now_uj: u64, range_uj: u64) -> Result<u64, String> {
    if last_uj > range_uj || now_uj > range_uj {
        return Err(format!("energy_uj went from {last_uj} to {now_uj}, beyond its range of {range_uj}"));
    }
    Ok(now_uj.checked_sub(last_uj).unwrap_or_else(|| range_uj - last_uj + now_uj))
}

impl Energy {
    /// Reads the zones of `sys/class/powercap` below `root`.
    pub fn new(root: &Path) -> Self {
        Self { zones: zones(root), start_ns: 0 }
    }
}

impl Sampler for Energy {
    fn name(&self) -> &'static str {
        "energy"
    }

    fn status(&self) -> Status {
        self.zones.as_ref().err().cloned().unwrap_or(Status::Ready)
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        self.zones.iter_mut().flatten().for_each(Zone::start);
    }

    fn tick(&mut self, _at: &Moment<'_>) {
        self.zones.iter_mut().flatten().for_each(Zone::look);
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        let name = self.name();
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        match super::opened(&mut self.zones) {
            Ok(zones) => {
                for zone in zones {
                    zone.look();
                    let value = zone.grown_uj.clone().map(|grown| grown as f64);
                    readings.push(reading(name, &zone.metric, None, span, value));
                }
            }
            Err(why) => readings.push(reading(name, "package_energy_uj", None, span, Err(why))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, found, write};
    use super::*;

    const RANGE: u64 = 1000;

    fn zone_at(root: &Path, zone: &str, name: &str, uj: &str) {
        let folder = format!("sys/class/powercap/{zone}");
        write(root, &format!("{folder}/name"), &format!("{name}\n"));
        write(root, &format!("{folder}/max_energy_range_uj"), &format!("{RANGE}\n"));
        write(root, &format!("{folder}/energy_uj"), &format!("{uj}\n"));
    }

    fn machine(root: &Path) {
        zone_at(root, "intel-rapl:0", "package-0", "900");
        zone_at(root, "intel-rapl:0:0", "core", "1");
        zone_at(root, "intel-rapl:0:1", "dram", "5");
        zone_at(root, "intel-rapl:1", "package-1", "10");
        zone_at(root, "intel-rapl:2", "psys", "10");
        zone_at(root, "intel-rapl-mmio:0", "package-0", "900");
    }

    #[test]
    fn packages_and_their_memory_count_and_a_wrap_is_no_gap() {
        let root = tempfile::tempdir().unwrap();
        machine(root.path());
        let mut sampler = Energy::new(root.path());
        assert_eq!(sampler.status(), Status::Ready);
        sampler.start(&at(0));
        zone_at(root.path(), "intel-rapl:0", "package-0", "100");
        sampler.tick(&at(1));
        zone_at(root.path(), "intel-rapl:0", "package-0", "50");
        zone_at(root.path(), "intel-rapl:0:1", "dram", "8");
        let mut readings = Vec::new();
        sampler.finish(&at(2), &mut readings);
        let names: Vec<_> = readings.iter().map(|reading| reading.metric.as_str()).collect();
        assert_eq!(names, ["package_0_energy_uj", "package_0_dram_energy_uj", "package_1_energy_uj"]);
        assert_eq!(readings[0].value, Some(200.0 + 950.0), "two wraps, one between each two looks");
        assert_eq!(readings[1].value, Some(3.0));
        assert_eq!(readings[2].value, Some(0.0));
    }

    #[test]
    fn what_is_beyond_the_range_or_vanishes_is_a_gap_also_when_it_comes_back() {
        let root = tempfile::tempdir().unwrap();
        machine(root.path());
        let mut sampler = Energy::new(root.path());
        sampler.start(&at(0));
        zone_at(root.path(), "intel-rapl:0", "package-0", "1001");
        zone_at(root.path(), "intel-rapl:1", "package-1", "");
        sampler.tick(&at(1));
        zone_at(root.path(), "intel-rapl:0", "package-0", "950");
        zone_at(root.path(), "intel-rapl:1", "package-1", "20");
        let mut readings = Vec::new();
        sampler.finish(&at(2), &mut readings);
        let gap = |metric: &str| found(&readings, metric).gap.clone().unwrap();
        assert!(gap("package_0_energy_uj").contains("beyond its range"));
        assert!(gap("package_1_energy_uj").contains("not a readable number"));
        assert_eq!(found(&readings, "package_0_dram_energy_uj").value, Some(0.0));
    }

    #[test]
    fn a_file_for_root_alone_says_what_would_allow_it() {
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let status = status_of(Path::new("energy_uj"), &denied, REMEDY);
        let Status::Denied { remedy, .. } = &status else { panic!("{status:?}") };
        assert!(remedy.contains("chmod"));
        let root = tempfile::tempdir().unwrap();
        machine(root.path());
        let mut zone = zone(&root.path().join("sys/class/powercap"), "intel-rapl:0").unwrap();
        zone.source = Err(status);
        zone.start();
        zone.look();
        assert!(zone.grown_uj.unwrap_err().contains("may not be read by this user"));
    }

    #[test]
    fn machines_without_package_zones_say_so() {
        let root = tempfile::tempdir().unwrap();
        zone_at(root.path(), "intel-rapl:0", "psys", "10");
        zone_at(root.path(), "dtpm", "package-0", "10");
        assert!(
            matches!(Energy::new(root.path()).status(), Status::Unsupported { why } if why.contains("zone"))
        );
    }
}
