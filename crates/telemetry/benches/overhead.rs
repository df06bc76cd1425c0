//! CPU time of all samplers and of /proc/stat at 10 readings a second, as a share of one CPU: on this
//! machine with this process as the worker, and on a recorded machine of 512 logical CPUs with a worker
//! of 512 threads. Fails if the first is not below 0.2% or the second not below 1%.
//!
//! A reading is a start and a finish, as around a slice; ticks, which replace slices in
//! long windows, must keep the same limit. The recorded machine is plain files: it shows the cost of parsing and
//! opening, not the kernel's cost of writing them.
//!
//! CPU time is that of this thread from /proc/thread-self/schedstat (its first number), so that
//! other load does not count, except for its effect on caches.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use threadwise_machine::topology::{Core, LogicalCpu};
use threadwise_machine::{CpuSet, Topology, pin};
use threadwise_telemetry::{Moment, Sampler, Status, proc_stat, samplers};

const READS_PER_S: f64 = 10.0;
const MOST_HERE: f64 = 0.002;
const MOST_RECORDED: f64 = 0.01;
const CPUS: u32 = 512;
const WORKER: u32 = 4000;
/// Threads of the worker on this machine: two sessions and what runs beside them.
const PARKED: usize = 4;

/// The scheduler updates the time when it is called, hence the yield.
fn cpu_ns() -> Option<u64> {
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    samplers::schedstat::parse(&text).map(|times| times.cpu_ns)
}

/// Nanoseconds of CPU time that each of `reads` calls took; `look` gets the number of the call.
fn cost(reads: u32, mut look: impl FnMut(u32) -> Option<()>) -> Option<f64> {
    let started_ns = cpu_ns()?;
    for read in 0..reads {
        look(read)?;
    }
    Some((cpu_ns()? - started_ns) as f64 / f64::from(reads))
}

/// Samplers that work here, as the runner chooses them.
fn ready(root: &Path, topology: &Topology) -> Vec<Box<dyn Sampler>> {
    let mut samplers = samplers::all(root, topology);
    samplers.retain(|sampler| sampler.status() == Status::Ready);
    samplers
}

/// Costs of a reading and of a tick.
fn measure(root: &Path, topology: &Topology, cpus: &CpuSet, pid: u32, reads: u32) -> Option<(f64, f64)> {
    let mut samplers = ready(root, topology);
    let names: Vec<_> = samplers.iter().map(|sampler| sampler.name()).collect();
    println!("telemetry: samplers {}", names.join(", "));
    let mut stat = proc_stat::ProcStat::open(root).ok()?;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut readings = Vec::new();
    let pids = [pid];
    let moment = |tenth: u32, past_ns: u64| Moment {
        now_ns: u64::from(tenth) * 100_000_000 + past_ns,
        cpus,
        pids: &pids,
    };
    let reading = cost(reads, |read| {
        readings.clear();
        samplers.iter_mut().for_each(|sampler| sampler.start(&moment(read, 0)));
        stat.read(&mut before).ok()?;
        stat.read(&mut after).ok()?;
        std::hint::black_box(proc_stat::difference(&before, &after));
        samplers.iter_mut().for_each(|sampler| sampler.finish(&moment(read, 50_000_000), &mut readings));
        std::hint::black_box(&readings);
        Some(())
    })?;
    println!("telemetry: {} readings of {} logical CPUs", readings.len(), cpus.len());
    for sampler in &mut samplers {
        let one = cost(reads, |read| {
            readings.clear();
            sampler.start(&moment(reads + read, 0));
            sampler.finish(&moment(reads + read, 50_000_000), &mut readings);
            Some(())
        })?;
        println!("telemetry:   {:<10} {:>8.1} us a reading", sampler.name(), one / 1e3);
    }
    samplers.iter_mut().for_each(|sampler| sampler.start(&moment(2 * reads, 0)));
    let tick = cost(reads, |read| {
        samplers.iter_mut().for_each(|sampler| sampler.tick(&moment(2 * reads + read, 0)));
        Some(())
    })?;
    Some((reading, tick))
}

fn here() -> Option<(f64, f64)> {
    let allowed = pin::current_affinity().ok()?;
    let topology = Topology::read(Path::new("/"), Some(&allowed)).ok()?;
    for _ in 0..PARKED {
        std::thread::spawn(std::thread::park);
    }
    measure(Path::new("/"), &topology, &allowed, std::process::id(), 2000)
}

/// 256 cores of two logical CPUs, and all files that samplers read.
fn recorded() -> Option<(f64, f64)> {
    let folder = tempfile::tempdir().ok()?;
    let root = folder.path();
    let siblings = |cpu: u32| [cpu % (CPUS / 2), cpu % (CPUS / 2) + CPUS / 2].into_iter().collect::<CpuSet>();
    let cpu = |os_id: u32| LogicalCpu {
        os_id,
        siblings: siblings(os_id),
        online: true,
        allowed: true,
        ..LogicalCpu::default()
    };
    let topology = Topology {
        logical_cpus: (0..CPUS).map(cpu).collect(),
        cores: (0..CPUS / 2).map(|core| Core { cpus: siblings(core), ..Core::default() }).collect(),
        ..Topology::default()
    };
    write_machine(root);
    write_worker(root);
    measure(root, &topology, &topology.allowed(), WORKER, 2000)
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn write_machine(root: &Path) {
    let mut stat = String::from("cpu  1 1 1 1 1 1 1 1 1 1\n");
    for cpu in 0..CPUS {
        writeln!(stat, "cpu{cpu} 128834756 5344 23645467 99834577 45353 0 234567 4534 0 0").unwrap();
    }
    // The line of interrupts is the longest on such machines.
    writeln!(stat, "intr 9999999{}", " 123456".repeat(4000)).unwrap();
    write(root, "proc/stat", &stat);
    write(root, "proc/uptime", "43200.55 9999999.10\n");
    write(root, "proc/loadavg", "300.1 290.2 280.3 600/9000 4600\n");
    write(root, "proc/thread-self/children", "");
    write(root, "proc/thread-self/schedstat", "123456789 234567 999\n");
    let other = |text: &mut String, lines: u32| {
        (0..lines).for_each(|line| writeln!(text, "nr_something_{line} 123456789").unwrap());
    };
    let mut vmstat = String::new();
    other(&mut vmstat, 120);
    vmstat.push_str("pswpin 5\npswpout 6\npgmajfault 77\n");
    other(&mut vmstat, 60);
    write(root, "proc/vmstat", &vmstat);
    write(root, "proc/meminfo", "MemTotal: 1056784128 kB\nMemFree: 9 kB\nMemAvailable: 956784128 kB\n");
    for file in ["cpu", "memory", "io"] {
        let line = "avg10=2.98 avg60=1.31 avg300=0.58 total=3836803651";
        write(root, &format!("proc/pressure/{file}"), &format!("some {line}\nfull {line}\n"));
    }
    let mut disks = String::new();
    for disk in 0..16 {
        let counts =
            "740800 35470 23908018 830169 3019440 531569 138939544 1129258 0 212748 2062538 0 0 0 0 0 0";
        writeln!(disks, " 259 {disk} nvme{disk}n1 {counts}\n 259 99 nvme{disk}n1p1 {counts}").unwrap();
        write(root, &format!("sys/block/nvme{disk}n1/device/model"), "x");
    }
    write(root, "proc/diskstats", &disks);
    for node in 0..8 {
        let counts = "numa_hit 381861263\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 4126947\nlocal_node 381861263\nother_node 0\n";
        write(root, &format!("sys/devices/system/node/node{node}/numastat"), counts);
        let zone = format!("sys/class/powercap/intel-rapl:{node}");
        write(root, &format!("{zone}/name"), &format!("package-{node}\n"));
        write(root, &format!("{zone}/max_energy_range_uj"), "65532610987\n");
        write(root, &format!("{zone}/energy_uj"), "45532610987\n");
    }
    write(root, "proc/self/cgroup", "0::/user.slice/session\n");
    for level in ["user.slice/session/", "user.slice/"] {
        let text =
            "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n";
        write(root, &format!("sys/fs/cgroup/{level}cpu.stat"), text);
    }
}

fn write_worker(root: &Path) {
    let stat =
        format!("{WORKER} (threadwise) S 1 1 1 0 -1 0 5 0 2 0 7 3 0 0 20 0 {} 0 4000000 0 0\n", CPUS + 1);
    write(root, &format!("proc/{WORKER}/stat"), &stat);
    let mut status = String::from("Name:\tthreadwise\nVmRSS:\t 123456 kB\n");
    (0..40).for_each(|line| writeln!(status, "Something{line}:\t0000,00000000").unwrap());
    status.push_str("voluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t2\n");
    write(root, &format!("proc/{WORKER}/status"), &status);
    for tid in WORKER..=WORKER + CPUS {
        let folder = format!("proc/{WORKER}/task/{tid}");
        write(root, &format!("{folder}/status"), &status);
        write(root, &format!("{folder}/schedstat"), "123456789 234567 999\n");
        write(root, &format!("{folder}/children"), "");
    }
}

/// Prints the cost; `false` above the limit.
fn judge(what: &str, costs: Option<(f64, f64)>, most: f64) -> bool {
    let Some((reading_ns, tick_ns)) = costs else {
        eprintln!("telemetry: {what}: /proc/stat or /proc/thread-self/schedstat cannot be read");
        return false;
    };
    let share = |ns: f64| ns * READS_PER_S / 1e9;
    println!(
        "telemetry: {what}: {:.1} us of CPU a reading (start and finish), {:.4}% of one CPU at {READS_PER_S} a second; {:.1} us a tick, {:.4}%; limit {}%",
        reading_ns / 1e3,
        share(reading_ns) * 100.0,
        tick_ns / 1e3,
        share(tick_ns) * 100.0,
        most * 100.0
    );
    share(reading_ns.max(tick_ns)) < most
}

fn main() -> ExitCode {
    let is_cheap_here = judge("this machine", here(), MOST_HERE);
    let is_cheap_recorded = judge("512 recorded logical CPUs", recorded(), MOST_RECORDED);
    if is_cheap_here && is_cheap_recorded { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
