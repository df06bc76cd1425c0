//! Times of every online logical CPU from /proc/stat.
//!
//! Source: `proc_stat(5)`, kernel `Documentation/filesystems/proc.rst` section 1.7 (columns; idle
//! and iowait may decrease), `kernel/sched/cputime.c` (guest time is also counted as user time).

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use threadwise_study::CpuTimes;

/// Length of one tick of /proc/stat. `USER_HZ` is 100 on every Linux ABI but Alpha
/// (`include/asm-generic/param.h`), which this program does not run on.
pub const TICK_NS: u64 = 10_000_000;

/// What one line `cpuN` says, in ticks since the start of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTicks {
    /// OS number of the logical CPU.
    pub cpu: u32,
    /// user + nice + system + irq + softirq; guest time is inside user and nice.
    pub busy: u64,
    /// idle.
    pub idle: u64,
    /// iowait.
    pub iowait: u64,
    /// steal; 0 where the kernel does not give the column.
    pub steal: u64,
}

/// An open /proc/stat with its buffer, for cheap repeated reading.
#[derive(Debug)]
pub struct ProcStat {
    file: File,
    text: Vec<u8>,
}

impl ProcStat {
    /// Opens `proc/stat` below `root`.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(root.join("proc/stat"))?, text: Vec::new() })
    }

    /// Reads the file again and puts one entry per online logical CPU into `ticks`, replacing what
    /// was there.
    ///
    /// # Errors
    /// The file cannot be read or has no line that makes sense.
    pub fn read(&mut self, ticks: &mut Vec<CpuTicks>) -> io::Result<()> {
        self.text.clear();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut self.text)?;
        parse(&self.text, ticks);
        if ticks.is_empty() {
            let why = "proc/stat has no readable line for a logical CPU";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(())
    }
}

/// Puts the lines `cpuN …` of a /proc/stat text into `ticks`; lines that are damaged are left out.
pub fn parse(text: &[u8], ticks: &mut Vec<CpuTicks>) {
    ticks.clear();
    // The lines of CPUs stand together at the top; the interrupt line below them is long.
    for line in text.split(|&byte| byte == b'\n') {
        if !line.starts_with(b"cpu") {
            if ticks.is_empty() {
                continue;
            }
            break;
        }
        if let Some(entry) = std::str::from_utf8(line).ok().and_then(parse_line) {
            ticks.push(entry);
        }
    }
}

/// One line `cpuN user nice system idle iowait irq softirq steal guest guest_nice`. Old kernels
/// end earlier; at least the first four columns must be there.
fn parse_line(line: &str) -> Option<CpuTicks> {
    let mut words = line.strip_prefix("cpu")?.split(' ');
    let cpu = words.next()?.parse().ok()?;
    let mut columns = [0_u64; 8];
    let mut seen = 0;
    for (column, word) in columns.iter_mut().zip(words.filter(|word| !word.is_empty())) {
        *column = word.parse().ok()?;
        seen += 1;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = columns;
    let busy = user.checked_add(nice)?.checked_add(system)?.checked_add(irq)?.checked_add(softirq)?;
    (seen >= 4).then_some(CpuTicks { cpu, busy, idle, iowait, steal })
}

/// Times between two readings, one entry per logical CPU that is in both. A CPU whose busy or
/// steal time ran backwards (it went offline in between) is a gap: it is left out. Idle and iowait
/// are known to run backwards by a little, which counts as no time.
pub fn difference(before: &[CpuTicks], after: &[CpuTicks]) -> Vec<CpuTimes> {
    let mut times = Vec::with_capacity(after.len());
    let mut earlier = before.iter().peekable();
    for late in after {
        // Both lists ascend by CPU number, as the kernel prints them.
        while earlier.next_if(|early| early.cpu < late.cpu).is_some() {}
        let Some(early) = earlier.next_if(|early| early.cpu == late.cpu) else { continue };
        let busy = late.busy.checked_sub(early.busy);
        let steal = late.steal.checked_sub(early.steal);
        let (Some(busy), Some(steal)) = (busy, steal) else { continue };
        let waiting = late.idle.saturating_sub(early.idle) + late.iowait.saturating_sub(early.iowait);
        times.push(CpuTimes {
            cpu: late.cpu,
            busy_ns: busy.saturating_mul(TICK_NS),
            steal_ns: steal.saturating_mul(TICK_NS),
            total_ns: busy.saturating_add(steal).saturating_add(waiting).saturating_mul(TICK_NS),
        });
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  30 0 10 200 1 0 0 3 2 0\n\
        cpu0 10 1 5 100 1 2 3 4 9 0\n\
        cpu2 20 0 5 100 0 0 0 0 0 0\n\
        intr 1 2 3\ncpu9 1 1 1 1\n";

    fn ticks(text: &str) -> Vec<CpuTicks> {
        let mut ticks = Vec::new();
        parse(text.as_bytes(), &mut ticks);
        ticks
    }

    #[test]
    fn columns_are_summed_as_documented() {
        let ticks = ticks(BEFORE);
        assert_eq!(ticks.len(), 2, "the sum line and what follows the CPUs are no CPU");
        assert_eq!(ticks[0], CpuTicks { cpu: 0, busy: 21, idle: 100, iowait: 1, steal: 4 });
        assert_eq!(ticks[1].cpu, 2);
    }

    #[test]
    fn old_kernels_with_fewer_columns_are_read() {
        assert_eq!(ticks("cpu0 1 2 3 4\n")[0], CpuTicks { cpu: 0, busy: 6, idle: 4, iowait: 0, steal: 0 });
    }

    #[test]
    fn damaged_lines_are_left_out() {
        let text = "cpu0 1 2 x 4\ncpu1 1 2 3\ncpuX 1 2 3 4\ncpu3 1 2 3 4 5 6 7 8 9 10 11\n\
            cpu4 18446744073709551615 1 0 0\n";
        assert_eq!(ticks(text).iter().map(|entry| entry.cpu).collect::<Vec<_>>(), [3]);
        assert!(ticks("\u{0}\u{1}garbage").is_empty());
        let mut out = Vec::new();
        parse(&[0xff, b'\n', b'c', b'p', b'u', 0xfe], &mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn differences_are_nanoseconds_and_steal_stands_apart() {
        let after = ticks("cpu0 12 1 6 110 1 2 3 7 9 0\ncpu1 0 0 0 9\ncpu2 19 0 5 200 0 0 0 0 0 0\n");
        let times = difference(&ticks(BEFORE), &after);
        assert_eq!(times.len(), 1, "cpu1 is new and cpu2 ran backwards: {times:?}");
        assert_eq!(
            times[0],
            CpuTimes { cpu: 0, busy_ns: 3 * TICK_NS, steal_ns: 3 * TICK_NS, total_ns: 16 * TICK_NS }
        );
    }

    #[test]
    fn a_little_backwards_iowait_is_no_gap() {
        let before = ticks("cpu0 10 0 0 50 7\n");
        let after = ticks("cpu0 20 0 0 55 6\n");
        assert_eq!(difference(&before, &after)[0].total_ns, 15 * TICK_NS);
    }

    #[test]
    fn the_open_file_is_read_again_and_a_bad_one_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        assert!(ProcStat::open(root.path()).is_err());
        std::fs::create_dir(root.path().join("proc")).unwrap();
        let path = root.path().join("proc/stat");
        std::fs::write(&path, "cpu0 1 2 3 4\n").unwrap();
        let mut stat = ProcStat::open(root.path()).unwrap();
        let mut entries = Vec::new();
        stat.read(&mut entries).unwrap();
        assert_eq!(entries[0].busy, 6);
        std::fs::write(&path, "cpu0 2 2 3 4\n").unwrap();
        stat.read(&mut entries).unwrap();
        assert_eq!(entries[0].busy, 7);
        std::fs::write(&path, "nothing\n").unwrap();
        assert!(stat.read(&mut entries).is_err());
    }

    #[test]
    fn the_live_system_has_cpus() {
        let mut entries = Vec::new();
        ProcStat::open(Path::new("/")).unwrap().read(&mut entries).unwrap();
        assert!(entries.iter().any(|entry| entry.idle + entry.busy > 0));
    }
}
