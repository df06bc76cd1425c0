//! Sessions of a placement, by logical CPU.

use std::collections::BTreeMap;
use std::fmt;
use threadwise_document::numbers::{counted, cpu_list};
use threadwise_machine::Resolved;

/// A placement on the machine that is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Sessions<'a> {
    /// Its text.
    pub placement: &'a str,
    /// Its logical CPUs and sessions.
    pub resolved: &'a Resolved,
}

impl Sessions<'_> {
    /// The sessions of each logical CPU, counted from 1: `s3`, `s1-s4`, `s1,s9`, and `s1+3` for session 1 and 3 more.
    pub(super) fn by_cpu(&self) -> BTreeMap<u32, String> {
        let mut by_cpu: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (number, cpus) in (1..).zip(&self.resolved.sessions) {
            cpus.iter().for_each(|cpu| by_cpu.entry(cpu).or_default().push(number));
        }
        by_cpu.into_iter().map(|(cpu, numbers)| (cpu, words(&numbers))).collect()
    }
}

impl fmt::Display for Sessions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { placement, resolved } = self;
        let sessions = counted(resolved.sessions.len(), "session");
        let cpus = resolved.set();
        let noun = if cpus.len() == 1 { "logical CPU" } else { "logical CPUs" };
        let list = cpu_list(&cpus);
        write!(
            formatter,
            "placement {placement}: {sessions} on {noun} {list}, unless a block draws other cores"
        )
    }
}

fn words(numbers: &[usize]) -> String {
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return String::new() };
    match numbers.len() {
        1 => format!("s{first}"),
        count if last - first + 1 == count => format!("s{first}-s{last}"),
        2 => format!("s{first},s{last}"),
        count => format!("s{first}+{}", count - 1),
    }
}
