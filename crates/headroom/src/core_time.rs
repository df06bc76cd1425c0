//! Times of a core in a window: those of its logical CPUs, and how long at least one of them was busy.
//!
//! Source: /proc/stat through [`CpuTimes`] (`proc_stat(5)`: times in ticks of 10 ms); docs/HEADROOM.md.

use crate::layout::Layout;
use crate::switches::Traced;
use threadwise_study::CpuTimes;

/// Times of a logical CPU in a window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CpuTime {
    /// Seconds in which it ran something.
    pub busy_s: f64,
    /// Seconds that a hypervisor gave to other guests while it wanted to run.
    pub stolen_s: f64,
}

impl CpuTime {
    /// Seconds in which it could have run something.
    pub fn available_s(&self, window_s: f64) -> f64 {
        (window_s - self.stolen_s).max(0.0)
    }
}

/// The times that grew about as much as the window. A logical CPU whose counters stood still for most of it, or
/// ran ahead of it, was offline, or the machine slept: its busy share is unknown.
pub fn of_window(times: Vec<CpuTimes>, window_s: f64) -> Vec<CpuTimes> {
    let is_of_window = |one: &CpuTimes| {
        let grown_s = one.total_ns as f64 / 1e9;
        // The last tick of either reading may be missing.
        (0.5 * window_s - TICK_S..=1.5 * window_s + TICK_S).contains(&grown_s)
    };
    times.into_iter().filter(is_of_window).collect()
}

/// Unit of /proc/stat (`USER_HZ`, proc_stat(5)), seconds.
const TICK_S: f64 = 0.01;

/// Times by logical CPU in a window of `window_s` seconds, by OS number; `None` if one was offline at an
/// end of the window, or its times are impossible. Ticks are scaled to the length of the window, since a window of a
/// second may have 99 or 101 of them.
pub fn cpu_times(times: &[CpuTimes], window_s: f64) -> Vec<Option<CpuTime>> {
    let length = times.iter().map(|one| one.cpu as usize + 1).max().unwrap_or(0);
    // Numbers of logical CPUs are small; a huge one would be a damaged file, and must not allocate gigabytes.
    let mut by_cpu = vec![None; length.min(1 << 16)];
    for one in times {
        let Some(place) = by_cpu.get_mut(one.cpu as usize) else { continue };
        if one.total_ns == 0 {
            continue;
        }
        let share = |ns: u64| (ns as f64 / one.total_ns as f64).clamp(0.0, 1.0);
        let (busy, stolen) = (share(one.busy_ns), share(one.steal_ns));
        *place = Some(CpuTime { busy_s: busy * window_s, stolen_s: stolen.min(1.0 - busy) * window_s });
    }
    by_cpu
}

/// A core in a window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CoreTime {
    /// Logical CPUs that were online all the time.
    pub threads: u32,
    /// Busy seconds of its logical CPUs as the operating system counts them, added up.
    pub shown_busy_s: f64,
    /// Busy seconds of its logical CPUs, added up: from switches, if they were followed.
    pub busy_s: f64,
    /// Stolen seconds of its logical CPUs, added up.
    pub stolen_s: f64,
    /// Seconds in which its logical CPUs could run something, added up.
    pub available_s: f64,
    /// Fewest and most seconds in which at least one logical CPU was busy.
    pub either_busy_s: [f64; 2],
    /// Fewest and most seconds in which at least one logical CPU could run something.
    pub either_available_s: [f64; 2],
    /// Whether it is from task switches.
    pub is_traced: bool,
}

impl CoreTime {
    /// From busy times only: siblings were busy together as much as possible, or as little.
    pub fn bounded(cpus: &[CpuTime], window_s: f64) -> Self {
        let longest = |time: &dyn Fn(&CpuTime) -> f64| cpus.iter().map(time).fold(0.0, f64::max);
        let sum = |time: &dyn Fn(&CpuTime) -> f64| cpus.iter().map(time).sum::<f64>();
        let available = |cpu: &CpuTime| cpu.available_s(window_s);
        let (busy_s, available_s) = (sum(&|cpu| cpu.busy_s), sum(&available));
        let either_busy_s = [longest(&|cpu| cpu.busy_s), busy_s.min(window_s)];
        Self {
            threads: cpus.len() as u32,
            shown_busy_s: busy_s,
            busy_s,
            stolen_s: sum(&|cpu| cpu.stolen_s),
            available_s,
            either_busy_s,
            either_available_s: [longest(&available).max(either_busy_s[1]), available_s.min(window_s)],
            is_traced: false,
        }
    }

    /// Adds the task switches. They do not show time stolen by a hypervisor, which leaves the figure uncertain.
    pub fn traced(cpus: &[CpuTime], traced: &Traced, window_s: f64) -> Self {
        let seen: Vec<CpuTime> = cpus
            .iter()
            .zip(&traced.busy_s)
            .map(|(cpu, &busy_s)| CpuTime {
                busy_s: (busy_s.min(window_s) - cpu.stolen_s).max(0.0),
                stolen_s: cpu.stolen_s,
            })
            .collect();
        let bounded = Self::bounded(&seen, window_s);
        let [least, most] = bounded.either_busy_s;
        let inside = |seconds: f64| seconds.clamp(least, most.max(least));
        let either_busy_s = [inside(traced.either_s - bounded.stolen_s), inside(traced.either_s)];
        let longest_s = seen.iter().map(|cpu| cpu.available_s(window_s)).fold(0.0, f64::max);
        let either_available_s = [longest_s.max(either_busy_s[1]), bounded.either_available_s[1]];
        let shown_busy_s = cpus.iter().map(|cpu| cpu.busy_s).sum();
        Self { shown_busy_s, either_busy_s, either_available_s, is_traced: true, ..bounded }
    }
}

/// The cores of a layout in a window. `traced` has an entry for each core, or none at all; an unknown core has bounds.
pub fn core_times(
    layout: &Layout,
    by_cpu: &[Option<CpuTime>],
    traced: &[Option<Traced>],
    window_s: f64,
) -> Vec<CoreTime> {
    let mut cpus = Vec::new();
    let core_time = |(at, core): (usize, &crate::CoreCpus)| {
        cpus.clear();
        cpus.extend(core.cpus.iter().filter_map(|&cpu| by_cpu.get(cpu as usize).copied().flatten()));
        match traced.get(at) {
            Some(Some(traced)) if cpus.len() == core.cpus.len() => CoreTime::traced(&cpus, traced, window_s),
            _ => CoreTime::bounded(&cpus, window_s),
        }
    };
    layout.cores().iter().enumerate().map(core_time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(seconds: &[f64]) -> Vec<CpuTime> {
        seconds.iter().map(|&busy_s| CpuTime { busy_s, stolen_s: 0.0 }).collect()
    }

    #[test]
    fn counters_that_did_not_grow_as_the_window_did_are_of_none() {
        let grown = |total_ms: u64| CpuTimes {
            cpu: 0,
            busy_ns: 10_000_000,
            steal_ns: 0,
            total_ns: total_ms * 1_000_000,
        };
        let is_kept = |total_ms: u64, window_s: f64| of_window(vec![grown(total_ms)], window_s).len() == 1;
        assert!([990, 1000, 1010, 500, 1500].into_iter().all(|total_ms| is_kept(total_ms, 1.0)));
        // Busy for a tick of which nothing else is known; slept for an hour.
        assert!([0, 10, 400, 1600, 3_600_000].into_iter().all(|total_ms| !is_kept(total_ms, 1.0)));
        assert!(is_kept(90, 0.1) && is_kept(110, 0.1) && !is_kept(10, 0.1));
    }

    #[test]
    fn two_siblings_have_bounds() {
        // Both busy for 0.2 to 0.5 s of a second: one or the other for 0.7 to 1 s.
        let core = CoreTime::bounded(&busy(&[0.5, 0.7]), 1.0);
        assert_eq!(core.either_busy_s, [0.7, 1.0]);
        // Never both, to 0.3 s both.
        let core = CoreTime::bounded(&busy(&[0.3, 0.4]), 1.0);
        assert_eq!(core.either_busy_s, [0.4, 0.7]);
        assert_eq!((core.available_s, core.either_available_s), (2.0, [1.0, 1.0]));
        // Four threads.
        assert_eq!(CoreTime::bounded(&busy(&[0.125, 0.25, 0.5, 0.125]), 2.0).either_busy_s, [0.5, 1.0]);
        assert_eq!(
            CoreTime::bounded(&[], 1.0),
            CoreTime { either_available_s: [0.0; 2], ..CoreTime::default() }
        );
    }

    #[test]
    fn switches_decide_and_stolen_time_stays_open() {
        let traced = Traced { busy_s: vec![0.5, 0.7], either_s: 0.8 };
        let core = CoreTime::traced(&busy(&[0.5, 0.7]), &traced, 1.0);
        assert_eq!((core.either_busy_s, core.is_traced), ([0.8, 0.8], true));
        let stolen = [CpuTime { busy_s: 0.4, stolen_s: 0.1 }, CpuTime { busy_s: 0.7, stolen_s: 0.0 }];
        let core = CoreTime::traced(&stolen, &traced, 1.0);
        assert!((core.either_busy_s[0] - 0.7).abs() < 1e-12 && core.either_busy_s[1] == 0.8, "{core:?}");
        assert!((core.busy_s - 1.1).abs() < 1e-12 && (core.available_s - 1.9).abs() < 1e-12, "{core:?}");
    }

    #[test]
    fn ticks_are_put_to_the_window() {
        let times = [
            CpuTimes { cpu: 0, busy_ns: 50, steal_ns: 10, total_ns: 99 },
            CpuTimes { cpu: 2, busy_ns: 5, steal_ns: 0, total_ns: 0 },
            CpuTimes { cpu: u32::MAX, busy_ns: 5, steal_ns: 0, total_ns: 9 },
            CpuTimes { cpu: 3, busy_ns: u64::MAX, steal_ns: u64::MAX, total_ns: 1 },
        ];
        let by_cpu = cpu_times(&times, 2.0);
        let first = by_cpu[0].unwrap();
        assert!((first.busy_s - 100.0 / 99.0).abs() < 1e-12 && (first.stolen_s - 20.0 / 99.0).abs() < 1e-12);
        assert_eq!((by_cpu[1], by_cpu[2]), (None, None), "one was offline, one had no tick");
        assert_eq!(by_cpu[3], Some(CpuTime { busy_s: 2.0, stolen_s: 0.0 }));
        assert!(by_cpu.len() <= 1 << 16);
        assert!(cpu_times(&[], 1.0).is_empty());
    }
}
