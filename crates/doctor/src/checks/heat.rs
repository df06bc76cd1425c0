//! Heat and power supply, both of which limit the clock.
//!
//! Sources: kernel `Documentation/admin-guide/thermal/intel_thermal_throttle.rst`,
//! `Documentation/driver-api/thermal/sysfs-api.rst` (thousandths of a degree Celsius),
//! `Documentation/ABI/testing/sysfs-class-power`.

use crate::answer::{Answer, cpus};
use crate::case::Case;
use crate::tree::Gap;
use threadwise_machine::CpuSet;

const ZONES: &str = "sys/class/thermal";
const CPU: &str = "sys/devices/system/cpu";
const SUPPLIES: &str = "sys/class/power_supply";
/// This close to a limit, the next load may reach it.
const NEAR_MILLIDEGREES: i64 = 5_000;

/// Whether heat has slowed the machine, or is about to.
pub(super) fn thermal(case: &Case<'_>) -> Answer {
    const REMEDY: &str = "let it cool down, clean fans and filters, check the firmware's power limits; then measure with pauses";
    let throttled = Throttled::read(case);
    let zones = zones(case);
    let nearest = zones.iter().min_by_key(|zone| zone.left_millidegrees());
    let heat = nearest.map(|zone| (zone.text(), zone.left_millidegrees()));
    match (heat, &throttled) {
        (Some((text, left)), _) if left <= 0 => {
            Answer::problem(format!("{text}: at its limit"), format!("/{ZONES}")).remedied(REMEDY)
        }
        (Some((text, left)), _) if left <= NEAR_MILLIDEGREES => {
            Answer::warning(format!("{text}: near its limit"), format!("/{ZONES}")).remedied(REMEDY)
        }
        (_, Some(throttled)) if throttled.most > 0 => Answer::warning(
            format!("heat slowed {} since boot, one of them {} times", cpus(&throttled.cpus), throttled.most),
            format!("/{CPU}/cpu*/thermal_throttle"),
        )
        .remedied(REMEDY),
        (Some((text, _)), _) => Answer::ok(text, format!("/{ZONES}")),
        (None, Some(_)) => Answer::ok(
            "heat has not slowed any allowed logical CPU since boot",
            format!("/{CPU}/cpu*/thermal_throttle"),
        ),
        (None, None) => Answer::unknown(
            "no temperature limit and no throttle count are available, as usual in a virtual machine",
            format!("/{ZONES}"),
        ),
    }
}

/// Counts of thermal throttling.
struct Throttled {
    /// CPUs with a count above 0.
    cpus: CpuSet,
    /// The highest count.
    most: i64,
}

impl Throttled {
    /// `None` if no allowed CPU has counts.
    fn read(case: &Case<'_>) -> Option<Self> {
        let mut found = None;
        for cpu in case.allowed.iter() {
            for file in ["core_throttle_count", "package_throttle_count"] {
                let Ok(count) = case.tree.number(&format!("{CPU}/cpu{cpu}/thermal_throttle/{file}")) else {
                    continue;
                };
                let all: &mut Self = found.get_or_insert(Self { cpus: CpuSet::new(), most: 0 });
                all.most = all.most.max(count);
                if count > 0 {
                    all.cpus.insert(cpu);
                }
            }
        }
        found
    }
}

/// A temperature and the nearest limit at which the machine slows down or stops.
struct Zone {
    name: String,
    millidegrees: i64,
    limit_millidegrees: i64,
}

impl Zone {
    fn left_millidegrees(&self) -> i64 {
        self.limit_millidegrees.saturating_sub(self.millidegrees)
    }

    fn text(&self) -> String {
        let degrees = |value: i64| value as f64 / 1000.0;
        let (now, limit) = (degrees(self.millidegrees), degrees(self.limit_millidegrees));
        format!("{} is at {now:.0} °C of {limit:.0} °C", self.name)
    }
}

fn zones(case: &Case<'_>) -> Vec<Zone> {
    let numbers = case.tree.numbered(ZONES, "thermal_zone").unwrap_or_default();
    numbers.into_iter().filter_map(|number| zone(case, &format!("{ZONES}/thermal_zone{number}"))).collect()
}

/// A zone with a limit above 0; drivers report 0 or less for "none".
fn zone(case: &Case<'_>, folder: &str) -> Option<Zone> {
    let millidegrees = case.tree.number(&format!("{folder}/temp")).ok()?;
    // Active trip points start fans and slow nothing down.
    let slows = |kind: &str| matches!(kind, "passive" | "hot" | "critical");
    let trips = (0..).map_while(|trip| case.tree.line(&format!("{folder}/trip_point_{trip}_type")).ok());
    let limit = |(trip, kind): (usize, String)| {
        let limit = case.tree.number(&format!("{folder}/trip_point_{trip}_temp")).ok()?;
        (slows(&kind) && limit > 0).then_some(limit)
    };
    // No driver has this many; a recorded folder may.
    let limit_millidegrees = trips.take(64).enumerate().filter_map(limit).min()?;
    let name = case.tree.line(&format!("{folder}/type")).unwrap_or_else(|_| "a thermal zone".to_owned());
    Some(Zone { name, millidegrees, limit_millidegrees })
}

/// Whether the machine runs on its battery.
pub(super) fn battery(case: &Case<'_>) -> Answer {
    let names = match case.tree.names(SUPPLIES) {
        Ok(names) => names,
        Err(gap) => return Answer::gap(&gap, SUPPLIES, "the kernel does not list power supplies"),
    };
    let (mut batteries, mut mains, mut gap) = (0, Vec::new(), None);
    for name in names {
        let read = |file: &str| case.tree.line(&format!("{SUPPLIES}/{name}/{file}"));
        // Skip batteries of devices such as a mouse or a headset.
        if read("scope").is_ok_and(|scope| scope == "Device") {
            continue;
        }
        match (read("type").as_deref(), read("status").as_deref(), read("online").as_deref()) {
            (Ok("Battery"), Ok("Discharging"), _) => {
                let left = read("capacity").map(|percent| format!(" ({percent}% left)")).unwrap_or_default();
                return Answer::problem(
                    format!("the machine runs on its battery{left}, which limits the clock"),
                    format!("/{SUPPLIES}/{name}/status"),
                )
                .remedied("plug it in, and measure when the battery is charged");
            }
            (Ok("Battery"), ..) => batteries += 1,
            (Ok("Mains"), _, Ok(online)) => mains.push((name.clone(), online.to_owned())),
            (Err(why), ..) if *why != Gap::Missing => gap = Some((why.clone(), name.clone())),
            _ => {}
        }
    }
    // Servers have several supplies, one of which may be unplugged; laptops may be powered by USB.
    let unplugged = !mains.is_empty() && mains.iter().all(|(_, online)| online == "0");
    let source = format!("/{SUPPLIES}");
    match (gap, unplugged && batteries > 0, batteries) {
        (Some((gap, name)), ..) => Answer::gap(&gap, &format!("{SUPPLIES}/{name}/type"), ""),
        (None, true, _) => Answer::warning("no mains supply is online, and there is a battery", source)
            .remedied("plug it in, and measure when the battery is charged"),
        (None, false, 0) => Answer::ok("no battery", source),
        (None, false, count) => Answer::ok(format!("{count} battery supplies, none in use"), source),
    }
}
