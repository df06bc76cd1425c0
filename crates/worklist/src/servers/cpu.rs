//! CPU time of a server: of its first process, of the children that are running, and of those that it has waited for.
//!
//! Source: `proc_pid_stat(5)`: `utime` and `stime` include all threads, also ended ones; `cutime` and `cstime` are
//! those of children that were waited for. All are in clock ticks of 10 ms, so a difference may be wrong by some of
//! these either way.

use threadwise_process::proc;

const NS_PER_S: u64 = 1_000_000_000;

/// Attempts to read a server without a child ending meanwhile.
const TRIES: usize = 5;

/// CPU time so far, nanoseconds; `None` if the process has ended.
pub(crate) fn used_ns(pid: u32) -> Option<u64> {
    let mut server = stat(pid)?;
    let mut children = 0;
    for _ in 0..TRIES {
        let running = proc::children(pid).into_iter().filter_map(stat);
        children = running.map(|child| child.running + child.waited).sum::<u64>();
        let now = stat(pid)?;
        // A child that ended in between would be counted in neither of the two, or in both.
        let is_whole = now.waited == server.waited;
        server = now;
        if is_whole {
            break;
        }
    }
    Some(
        (server.running + server.waited + children)
            * (NS_PER_S / rustix::param::clock_ticks_per_second().max(1)),
    )
}

/// Ticks of a process and of the children that it has waited for.
struct Ticks {
    running: u64,
    waited: u64,
}

fn stat(pid: u32) -> Option<Ticks> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(stat: &str) -> Option<Ticks> {
    let [user, system] = [14, 15].map(|number| proc::stat_field(stat, number)?.parse::<u64>().ok());
    Some(Ticks { running: user? + system?, waited: proc::ended_children_ticks(stat)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_and_waited_ticks_are_found_behind_any_name() {
        let ticks = parse("7 (post) gres) S 1 2 3 4 5 6 7 8 9 10 11 12 130 24 20 0 1 0").unwrap();
        assert_eq!((ticks.running, ticks.waited), (11 + 12, 130 + 24));
        assert!(parse("7 (x) S 1").is_none());
    }

    #[test]
    fn a_child_that_worked_and_was_waited_for_is_counted() {
        let this = std::process::id();
        let before_ns = used_ns(this).unwrap();
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", busy]).status().unwrap().success());
        assert!(used_ns(this).unwrap() - before_ns >= 10_000_000);
        assert_eq!(used_ns(u32::MAX), None);
    }
}
