//! Times of every online logical CPU from /proc/stat.
//!
//! Source: `proc_stat(5)`, kernel `Documentation/filesystems/proc.rst` section 1.7 (columns; idle
//! and iowait may decrease), `kernel/sched/cputime.c` (guest time is also counted as user time).

use crate::samplers::Counter;
use std::io;
use std::path::Path;
use threadwise_study::CpuTimes;

/// Length of one tick of /proc/stat. `USER_HZ` is 100 on every Linux ABI but Alpha
/// (`include/asm-generic/param.h`), which this program does not support.
pub const TICK_NS: u64 = 10_000_000;

/// A line `cpuN`, in ticks since boot.
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
    /// irq + softirq, which are inside busy too.
    pub irq: u64,
    /// steal; 0 if the kernel lacks the column.
    pub steal: u64,
}

/// An open /proc/stat with its buffer, for cheap repeated reading.
#[derive(Debug)]
pub struct ProcStat {
    counter: Counter,
}

impl ProcStat {
    /// Opens `proc/stat` below `root`.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { counter: Counter::open(&root.join("proc/stat"))? })
    }

    /// Reads the file again and replaces `ticks` with one entry per online logical CPU.
    ///
    /// # Errors
    /// The file cannot be read or has no valid line.
    pub fn read(&mut self, ticks: &mut Vec<CpuTicks>) -> io::Result<()> {
        parse(self.counter.read_bytes()?, ticks);
        if ticks.is_empty() {
            let why = "proc/stat has no readable line for a logical CPU";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(())
    }
}

/// Puts the lines `cpuN …` of a /proc/stat text into `ticks`; leaves out damaged ones.
/// Large machines have thousands of numbers there, read many times a second: one pass over the bytes.
pub fn parse(text: &[u8], ticks: &mut Vec<CpuTicks>) {
    ticks.clear();
    let mut rest = text;
    while !rest.is_empty() {
        if rest.starts_with(b"cpu") {
            if let Some((entry, behind)) = parse_line(rest) {
                ticks.push(entry);
                rest = behind;
            }
        } else if !ticks.is_empty() {
            // The lines of CPUs are together at the top; the interrupt line below them is long.
            break;
        }
        let end = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
        rest = &rest[end..];
    }
}

/// One line `cpuN user nice system idle iowait irq softirq steal guest guest_nice`, and the text after
/// the needed columns. Old kernels end earlier; at least the first four must exist.
fn parse_line(text: &[u8]) -> Option<(CpuTicks, &[u8])> {
    let (cpu, mut rest) = number(text.strip_prefix(b"cpu")?)?;
    let cpu = u32::try_from(cpu).ok()?;
    let mut columns = [0_u64; 8];
    let mut seen = 0;
    for column in &mut columns {
        let spaces = rest.iter().take_while(|&&byte| byte == b' ').count();
        match rest.get(spaces) {
            None | Some(b'\n') => break,
            Some(_) if spaces == 0 => return None,
            Some(_) => (*column, rest) = number(&rest[spaces..])?,
        }
        seen += 1;
    }
    let [user, nice, system, idle, iowait, hard, soft, steal] = columns;
    let irq = hard.checked_add(soft)?;
    let busy = user.checked_add(nice)?.checked_add(system)?.checked_add(irq)?;
    (seen >= 4).then_some((CpuTicks { cpu, busy, idle, iowait, irq, steal }, rest))
}

/// The decimal number at the start of a text and the rest; `None` if there is none or it is
/// too large.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    /// Number of digits that always fit.
    const SAFE: usize = 19;
    let mut value = 0_u64;
    let mut digits = 0;
    while let Some(digit @ 0..=9) = text.get(digits).map(|byte| byte.wrapping_sub(b'0')) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        digits += 1;
    }
    let value = match digits {
        0 => return None,
        1..=SAFE => value,
        _ => std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?,
    };
    Some((value, &text[digits..]))
}

/// Growth of one logical CPU's columns, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grown {
    /// Growth of [`CpuTicks::busy`].
    pub busy: u64,
    /// Growth of [`CpuTicks::irq`].
    pub irq: u64,
    /// Growth of [`CpuTicks::steal`].
    pub steal: u64,
    /// Growth of idle and iowait.
    pub idle: u64,
}

impl Grown {
    /// All columns together.
    pub fn total(&self) -> u64 {
        self.busy.saturating_add(self.steal).saturating_add(self.idle)
    }
}

/// Idle and iowait come from two clocks in the kernel (`get_idle_time`, `fs/proc/stat.c`) and run backwards by a
/// tick or two now and then; more than this is a restart of the count, after a suspend or a time offline.
const LITTLE_TICKS: u64 = 5;

/// Growth of the columns between two readings of one logical CPU. `None` if one ran backwards
/// (it went offline in between, or the machine slept). A small step of idle or iowait backwards is known and counts
/// as no time.
pub fn grown(early: &CpuTicks, late: &CpuTicks) -> Option<Grown> {
    let fell = |early: u64, late: u64| early.saturating_sub(late) > LITTLE_TICKS;
    if fell(early.idle, late.idle) || fell(early.iowait, late.iowait) {
        return None;
    }
    Some(Grown {
        busy: late.busy.checked_sub(early.busy)?,
        irq: late.irq.saturating_sub(early.irq),
        steal: late.steal.checked_sub(early.steal)?,
        idle: late.idle.saturating_sub(early.idle).saturating_add(late.iowait.saturating_sub(early.iowait)),
    })
}

/// Times between two readings, one entry per logical CPU that is in both. One that ran backwards (see
/// [`grown`]) is left out.
pub fn difference(before: &[CpuTicks], after: &[CpuTicks]) -> Vec<CpuTimes> {
    let mut times = Vec::with_capacity(after.len());
    let mut earlier = before.iter().peekable();
    for late in after {
        // Both lists ascend by CPU number, as the kernel prints them.
        while earlier.next_if(|early| early.cpu < late.cpu).is_some() {}
        let Some(early) = earlier.next_if(|early| early.cpu == late.cpu) else { continue };
        let Some(grown) = grown(early, late) else { continue };
        times.push(CpuTimes {
            cpu: late.cpu,
            busy_ns: grown.busy.saturating_mul(TICK_NS),
            steal_ns: grown.steal.saturating_mul(TICK_NS),
            total_ns: grown.total().saturating_mul(TICK_NS),
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
        assert_eq!(ticks[0], CpuTicks { cpu: 0, busy: 21, idle: 100, iowait: 1, irq: 5, steal: 4 });
        assert_eq!(ticks[1].cpu, 2);
    }

    #[test]
    fn old_kernels_with_fewer_columns_are_read() {
        let old = CpuTicks { cpu: 0, busy: 6, idle: 4, ..CpuTicks::default() };
        assert_eq!(ticks("cpu0 1 2 3 4\n"), [old]);
    }

    #[test]
    fn damaged_lines_are_left_out() {
        let text = "cpu0 1 2 x 4\ncpu1 1 2 3\ncpuX 1 2 3 4\ncpu3 1 2 3 4 5 6 7 8 9 10 11\n\
            cpu4 18446744073709551615 1 0 0\n";
        assert_eq!(ticks(text).iter().map(|entry| entry.cpu).collect::<Vec<_>>(), [3]);
        assert!(ticks("\u{0}\u{1}garbage").is_empty());
        assert!(ticks("cpu0 1 2 3\n4 5 6 7 8\n").is_empty(), "a line ends at its end");
        assert!(ticks("cpu0 18446744073709551616 0 0 0\n").is_empty());
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
    fn idle_time_that_begins_anew_is_a_gap() {
        // psutil#2172, node_exporter#1903: after a suspend, or a time offline, idle is lower by seconds.
        let before = ticks("cpu0 10 0 0 500 70\ncpu1 10 0 0 500 70\ncpu2 10 0 0 500 70\n");
        let after = ticks("cpu0 11 0 0 0 70\ncpu1 11 0 0 598 0\ncpu2 11 0 0 495 170\n");
        let times = difference(&before, &after);
        assert_eq!(times.iter().map(|one| one.cpu).collect::<Vec<u32>>(), [2], "{times:?}");
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
