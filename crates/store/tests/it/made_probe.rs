//! Probes with anything in them that a file can hold, from seeded numbers.

use crate::made::Random;
use threadwise_machine::CpuSet;
use threadwise_study::probe::{
    ClockReading, ClockSource, LatencyFigures, LatencyLevel, Locality, Neighbour, PairLatency, PairSharing,
    Probe, ProbeForm, SetTest, Sharing, Slowdown, WakeMethod, Wakeup,
};

/// A number that the file can hold: often one of the ends, else anything between.
fn measure(random: &mut Random) -> f64 {
    const MOST: u64 = (1 << 50) - 1;
    match random.below(6) {
        0 => 0.0,
        1 => MOST as f64,
        2 => f64::MIN_POSITIVE,
        3 => random.below(MOST) as f64,
        _ => random.below(1 << 40) as f64 / 997.0,
    }
}

fn share(random: &mut Random) -> f64 {
    random.below(1001) as f64 / 1000.0
}

fn small(random: &mut Random) -> u32 {
    if random.below(4) == 0 { u32::MAX } else { random.below(1000) as u32 }
}

fn maybe<T>(random: &mut Random, value: impl FnOnce(&mut Random) -> T) -> Option<T> {
    (random.below(3) > 0).then(|| value(random))
}

fn some_cpus(random: &mut Random) -> CpuSet {
    (0..random.below(5)).map(|_| random.below(1 << 16) as u32).collect()
}

fn text(random: &mut Random) -> String {
    let texts = ["", "perf event msr: \"denied\"", "über 4 µs\n\u{1b}[2J", "'; DROP TABLE probes; --"];
    texts[random.below(4) as usize].to_owned()
}

fn slowdown(random: &mut Random) -> Slowdown {
    Slowdown { median: measure(random), low: measure(random), high: measure(random) }
}

fn figures(random: &mut Random) -> LatencyFigures {
    LatencyFigures {
        min_ns: measure(random),
        median_ns: measure(random),
        spread_ns: measure(random),
        samples: small(random),
    }
}

fn pair(random: &mut Random) -> PairSharing {
    use Sharing::{DifferentCores, Masked, Moving, SameCore, SameCpu, Unclear};
    let sharings = [SameCpu, SameCore, DifferentCores, Masked, Moving, Unclear];
    PairSharing {
        a: random.below(1 << 16) as u32,
        b: random.below(1 << 16) as u32,
        sharing: sharings[random.below(6) as usize],
        wide: maybe(random, slowdown),
        chain: maybe(random, slowdown),
        load_store: maybe(random, slowdown),
        on_cpu_share: maybe(random, share),
        rounds_used: small(random),
        rounds: small(random),
        why: text(random),
    }
}

fn neighbour(random: &mut Random) -> Neighbour {
    Neighbour {
        cpu: random.below(1 << 16) as u32,
        windows: small(random),
        adds_per_step_p10: maybe(random, measure),
        adds_per_step_p50: maybe(random, measure),
        adds_per_step_p90: maybe(random, measure),
        busy_share: maybe(random, share),
        off_cpu_share: share(random),
        why: text(random),
    }
}

fn level(random: &mut Random) -> LatencyLevel {
    LatencyLevel {
        name: maybe(random, text),
        low_ns: measure(random),
        high_ns: measure(random),
        groups: (0..random.below(4)).map(|_| some_cpus(random)).collect(),
    }
}

fn wakeup(random: &mut Random) -> Wakeup {
    Wakeup {
        distance: Locality::ALL[random.below(7) as usize],
        a: random.below(1 << 16) as u32,
        b: random.below(1 << 16) as u32,
        method: WakeMethod::ALL[random.below(3) as usize],
        idle_ns: random.below(1 << 30),
        min_ns: measure(random),
        median_ns: measure(random),
        median_low_ns: measure(random),
        median_high_ns: measure(random),
        p90_ns: measure(random),
        blocks: small(random),
        samples: small(random),
    }
}

fn clock(random: &mut Random) -> ClockReading {
    let sources = [ClockSource::Perf, ClockSource::Cpufreq, ClockSource::Chain];
    ClockReading {
        cpu: random.below(1 << 16) as u32,
        busy_cpus: random.below((1 << 16) + 1) as u32,
        source: sources[random.below(3) as usize],
        avg_mhz: maybe(random, measure),
        busy_pct: maybe(random, measure),
        bzy_mhz: maybe(random, measure),
        tsc_mhz: maybe(random, measure),
    }
}

/// A probe of anything that a file can hold, the same for the same seed; in some of them lists are
/// empty.
pub fn probe(seed: u64) -> Probe {
    let random = &mut Random(seed);
    fn list<T>(random: &mut Random, make: fn(&mut Random) -> T) -> Vec<T> {
        (0..random.below(5)).map(|_| make(random)).collect()
    }
    let forms = [ProbeForm::Short, ProbeForm::Standard, ProbeForm::Full];
    let levels = list(random, level);
    let many = levels.len() as u64;
    let latency = |random: &mut Random| PairLatency {
        a: random.below(1 << 16) as u32,
        b: random.below(1 << 16) as u32,
        cas: figures(random),
        two_lines: figures(random),
        level: maybe(random, |random| random.below(many.max(1)) as u32).filter(|_| many > 0),
    };
    Probe {
        form: forms[random.below(3) as usize],
        cpus: some_cpus(random),
        duration_s: measure(random),
        pairs: list(random, pair),
        sets: list(random, |random| SetTest { ran: some_cpus(random), at_full_width: some_cpus(random) }),
        neighbours: list(random, neighbour),
        latencies: (0..random.below(5)).map(|_| latency(random)).collect(),
        levels,
        wakeups: list(random, wakeup),
        clocks: list(random, clock),
        gaps: list(random, text),
        interrupted: random.below(2) == 0,
    }
}
