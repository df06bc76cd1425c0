//! Reading back the memory policy of a running worker, and the nodes of a process's pages.
//!
//! Source: `numa(7)`: the second word of every line of `/proc/PID/numa_maps` is the policy of that
//! mapping, or if it has none (heap and stack have none) that of the thread whose
//! file it is (kernel `fs/proc/task_mmu.c`, `show_numa_map`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use threadwise_machine::{MemoryBinding, MemoryMode};

/// The first wrong memory policy of a process and its threads, in one line; `None` if all are right, or if no
/// policy was requested.
pub fn lost_policy(wanted: &MemoryBinding, pid: u32, tids: &[u32]) -> Option<String> {
    if wanted.mode == MemoryMode::Default {
        return None;
    }
    let wanted = wanted.to_string();
    // The first thread too: it often owns what belongs to all sessions.
    std::iter::once(&pid).chain(tids).find_map(|tid| {
        let path = format!("/proc/{pid}/task/{tid}/numa_maps");
        match File::open(&path).and_then(|file| policy(BufReader::new(file))) {
            Ok(found) if found == wanted => None,
            Ok(found) => Some(format!("thread {tid} has the memory policy {found} instead of {wanted}")),
            Err(error) => Some(unreadable(&path, &error)),
        }
    })
}

fn unreadable(path: &str, error: &io::Error) -> String {
    let why = match error.kind() {
        ErrorKind::NotFound => {
            "the file does not exist: the thread has ended, or the kernel was built without NUMA".to_owned()
        }
        _ => error.to_string(),
    };
    format!("the memory policy cannot be read back from {path}: {why}")
}

/// The policy of heap or stack, whichever comes first: the kernel walks the pages of every line
/// that is read, so only as much is read as is needed.
fn policy(lines: impl BufRead) -> io::Result<String> {
    for line in lines.lines() {
        let line = line?;
        let mut words = line.split(' ').skip(1);
        if let Some(policy) = words.next()
            && words.any(|word| matches!(word, "heap" | "stack"))
        {
            return Ok(policy.to_owned());
        }
    }
    Err(io::Error::new(ErrorKind::InvalidData, "it names neither a heap nor a stack"))
}

/// The bytes of a process on each NUMA node, by the system's number of the node, without those of its program. Those are
/// pages of a file, which lie where they were first read, whatever the process's policy.
///
/// # Errors
/// Why the file cannot be read, in one line.
pub fn bytes_by_node(pid: u32) -> Result<BTreeMap<u32, u64>, String> {
    let path = format!("/proc/{pid}/numa_maps");
    // One that cannot be read is a mapping like any other.
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let read = File::open(&path).and_then(|file| by_node(BufReader::new(file), &program.to_string_lossy()));
    read.map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{path} does not exist: the kernel was built without NUMA"),
        _ => format!("{path}: {error}"),
    })
}

fn by_node(lines: impl BufRead, program: &str) -> io::Result<BTreeMap<u32, u64>> {
    // As `show_numa_map` writes paths.
    let program = format!("file={}", program.replace(' ', "\\040").replace('=', "\\075"));
    let mut found: BTreeMap<u32, u64> = BTreeMap::new();
    for line in lines.lines() {
        let line = line?;
        if line.split(' ').any(|word| word == program) {
            continue;
        }
        let number = |word: &str, name: &str| word.strip_prefix(name)?.parse::<u64>().ok();
        let page_kib = line.split(' ').find_map(|word| number(word, "kernelpagesize_kB="));
        let Some(page_bytes) = page_kib.and_then(|kib| kib.checked_mul(1024)) else { continue };
        for word in line.split(' ').skip(2) {
            let node = word.strip_prefix('N').and_then(|rest| rest.split_once('='));
            if let Some((node, pages)) = node
                && let (Ok(node), Ok(pages)) = (node.parse::<u32>(), pages.parse::<u64>())
            {
                let bytes = found.entry(node).or_default();
                *bytes = bytes.saturating_add(pages.saturating_mul(page_bytes));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55e4f5a6f000 default file=/usr/bin/stack mapped=2 N0=2 kernelpagesize_kB=4
55e4f6d3a000 interleave:0-1 heap anon=33 dirty=33 active=0 N0=17 N1=16 kernelpagesize_kB=4
7f1c1a000000 bind:1 anon=2 dirty=2 N1=2 kernelpagesize_kB=4
7ffd8f6f7000 default stack anon=3 dirty=3 N0=3 kernelpagesize_kB=4
";

    #[test]
    fn the_policy_of_the_heap_is_found_and_that_of_the_stack_without_one() {
        assert_eq!(policy(MAPS.as_bytes()).unwrap(), "interleave:0-1");
        let without = MAPS.replace(" heap", "");
        assert_eq!(policy(without.as_bytes()).unwrap(), "default");
    }

    #[test]
    fn pages_are_added_up_by_node() {
        let huge = "7f1c1b000000 interleave:0-1 file=/N3=7 huge N1=2 kernelpagesize_kB=2048\n";
        let found = by_node(format!("{MAPS}{huge}7f1c00000000 default\n").as_bytes(), "").unwrap();
        let expected = [(0, 22 * 4096), (1, 18 * 4096 + (4 << 20))];
        assert_eq!(found, BTreeMap::from(expected));
        assert!(
            by_node(&b"1 default N0=99999999999999999999 N1= Nx=1 kernelpagesize_kB=4\n"[..], "")
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn pages_of_the_program_are_left_out() {
        let without = BTreeMap::from([(0, 20 * 4096), (1, 18 * 4096)]);
        assert_eq!(by_node(MAPS.as_bytes(), "/usr/bin/stack").unwrap(), without);
        let replaced = MAPS.replace("/usr/bin/stack", "/usr/bin/a\\075b/my\\040stack");
        assert_eq!(by_node(replaced.as_bytes(), "/usr/bin/a=b/my stack").unwrap(), without);
        assert_eq!(by_node(replaced.as_bytes(), "/usr/bin/a=b/my").unwrap()[&0], 22 * 4096);
    }

    #[test]
    fn other_files_are_refused() {
        for text in ["", "\n", "55e4f5a6f000\n", "1 bind:0 file=/heap mapped=1\n"] {
            assert!(policy(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_thread_that_is_gone_is_reported_and_nothing_is_asked_without_a_policy() {
        let wanted = MemoryBinding { mode: MemoryMode::Bind, nodes: vec![0] };
        let message = lost_policy(&wanted, u32::MAX, &[1]).unwrap();
        assert!(message.contains("/proc/4294967295/task/4294967295/numa_maps"), "{message}");
        assert!(message.contains("without NUMA"), "{message}");
        assert_eq!(lost_policy(&MemoryBinding::default(), u32::MAX, &[1]), None);
    }
}
