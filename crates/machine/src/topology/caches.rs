//! Data and unified caches, and the domains that share a last-level cache.
//!
//! Source: kernel `Documentation/ABI/testing/sysfs-devices-system-cpu` (`cache/index*`). sysfs
//! repeats a shared cache for each CPU that shares it; here it is read once.

use super::cpus::Cpus;
use super::sets::{Groups, SetForm, and, and_not, partition};
use super::tree::{Dir, trimmed};
use super::{Cache, TopologyError};
use crate::CpuSet;
use crate::text::one_line;
use std::collections::HashMap;

/// The mask comes first, as in hwloc: the recording of an Opteron 6276, whose cores share an L2 in pairs, has them in its
/// masks alone.
const SHARED_FILES: [(&str, SetForm); 2] =
    [("shared_cpu_map", SetForm::Mask), ("shared_cpu_list", SetForm::List)];

/// A cache: one `indexN` of a logical CPU.
#[derive(Clone)]
struct CacheIndex {
    level: u32,
    kind: String,
    size_bytes: Option<u64>,
    /// Online CPUs that share it, including those that are not allowed.
    cpus: CpuSet,
}

/// The caches that allowed CPUs use, ordered by level, kind and lowest CPU; and the LLC domains.
pub(super) fn read(
    cpus: &Cpus<'_>,
    cores: &Groups,
    allowed: &CpuSet,
) -> Result<(Vec<Cache>, Groups), TopologyError> {
    // A cache is identified by its index and by the list of indexes that its CPUs have: cores of
    // another kind may lack a level, and then the same index means another cache.
    let mut layouts: Vec<Vec<u32>> = Vec::new();
    let mut known: HashMap<(usize, u32, u32), usize> = HashMap::new();
    let mut found: Vec<CacheIndex> = Vec::new();
    let mut by_core: Vec<Vec<usize>> = vec![Vec::new(); cores.allowed.len()];
    let mut shared_files = SHARED_FILES.to_vec();
    let mut domains = Vec::new();
    let mut left = allowed.clone();
    for cpu in allowed.iter() {
        let core = cores.of(cpu).map(|core| core as usize);
        // If all caches of a core list a sibling, the sibling has no others.
        let siblings_caches = core.map_or(&[][..], |core| &by_core[core]);
        if !siblings_caches.is_empty() && siblings_caches.iter().all(|&at| found[at].cpus.contains(cpu)) {
            continue;
        }
        let Some(folder) = cpus.dir(cpu).and_then(|dir| dir.sub("cache")) else { continue };
        let entries = folder.numbered("index");
        let indexes: Vec<u32> = entries.iter().map(|(index, _)| *index).collect();
        let layout = layouts.iter().position(|known| *known == indexes).unwrap_or(layouts.len());
        if layout == layouts.len() {
            layouts.push(indexes);
            shared_files = entries.first().map_or(shared_files, |(_, dir)| dir.in_order_here(&SHARED_FILES));
        }
        let mut of_this_cpu = Vec::new();
        for (index, dir) in entries {
            if let Some(&at) = known.get(&(layout, index, cpu)) {
                of_this_cpu.push(at);
            } else if let Some(new) = read_one(&dir, &shared_files, cpu, &cpus.online)? {
                known.extend(new.cpus.iter().map(|sharer| ((layout, index, sharer), found.len())));
                of_this_cpu.push(found.len());
                found.push(new);
            }
        }
        // An L1 is a core's own: a machine that declares no other cache does not say which cores share the last one.
        let last = of_this_cpu.iter().map(|&at| &found[at]).filter(|cache| cache.level > 1);
        let last = last.max_by_key(|cache| cache.level);
        if let Some(last) = last.filter(|_| left.contains(cpu)) {
            left = and_not(&left, &last.cpus);
            domains.push(last.cpus.clone());
        }
        if let Some(core) = core {
            by_core[core] = of_this_cpu;
        }
    }
    let domains = partition(&cpus.online, |cpu| {
        Ok::<_, TopologyError>(domains.iter().find(|domain| domain.contains(cpu)).cloned())
    })?;
    Ok((declared(found, allowed), Groups::new(domains, allowed)))
}

fn declared(found: Vec<CacheIndex>, allowed: &CpuSet) -> Vec<Cache> {
    let mut caches: Vec<Cache> = found
        .into_iter()
        .map(|cache| Cache {
            level: cache.level,
            kind: cache.kind,
            size_bytes: cache.size_bytes,
            cpus: and(&cache.cpus, allowed),
        })
        .collect();
    caches.sort_by(|a, b| (a.level, &a.kind, &a.cpus).cmp(&(b.level, &b.kind, &b.cpus)));
    caches.dedup_by(|a, b| (a.level, &a.kind, &a.cpus) == (b.level, &b.kind, &b.cpus));
    caches
}

/// One cache; `None` for an instruction cache and for one without a level or a type.
fn read_one(
    dir: &Dir<'_>,
    shared_files: &[(&str, SetForm)],
    cpu: u32,
    online: &CpuSet,
) -> Result<Option<CacheIndex>, TopologyError> {
    let kind = dir.text("type")?.unwrap_or_default();
    let kind = trimmed(&kind);
    if kind != "Data" && kind != "Unified" {
        return Ok(None);
    }
    let Some(level) = dir.number("level")? else { return Ok(None) };
    let level = u32::try_from(level).map_err(|_| dir.damage("level", "it is negative or too large"))?;
    let mut sharers = and(&dir.set(shared_files)?.unwrap_or_default(), online);
    sharers.insert(cpu);
    let size = dir.text("size")?.unwrap_or_default();
    let damage = || dir.damage("size", &format!("'{}' is not a size such as 32K", one_line(&size, 40)));
    let size_bytes = match trimmed(&size) {
        "" => None,
        text => Some(bytes(text).ok_or_else(damage)?),
    };
    Ok(Some(CacheIndex { level, kind: kind.to_owned(), size_bytes, cpus: sharers }))
}

/// `32768K`, `1M` or a plain number of bytes.
fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_with_and_without_unit() {
        assert_eq!([bytes("32K"), bytes("1M"), bytes("64")], [Some(32 << 10), Some(1 << 20), Some(64)]);
        assert_eq!([bytes(""), bytes("K"), bytes("-1K"), bytes("99999999999999999999G")], [None; 4]);
    }
}
