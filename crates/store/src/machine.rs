//! The machine as rows: every field of a topology, so that it is restored exactly.

use crate::error::Fault;
use crate::value::{self, BYTES_MAX, Fields, NAME_BYTES, SET_BUDGET, SetBudget, TEXT_BYTES, all};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use threadwise_machine::cpuset::MAX_CPUS;
use threadwise_machine::topology::{Cache, Core, CoreKind, Group, Identity, Limits, LogicalCpu, NumaNode};
use threadwise_machine::{CpuSet, Topology};

/// Refuses an inconsistent topology before a file is made for it.
pub(crate) fn check(topology: &Topology) -> Result<(), Fault> {
    let fail = |what: String| Err(Fault::Unstorable(format!("the machine's {what}")));
    let dangling = |index: Option<u32>, len: usize| index.is_some_and(|index| index as usize >= len);
    let kinds = topology.kinds.len();
    for (at, core) in topology.cores.iter().enumerate() {
        if dangling(core.package, topology.packages.len()) || dangling(Some(core.kind), kinds) {
            return fail(format!("core {at} names a package or kind that it does not have"));
        }
    }
    let mut least = 0;
    for cpu in &topology.logical_cpus {
        if cpu.os_id < least || cpu.os_id >= MAX_CPUS {
            return fail(format!("logical CPU {} is out of order", cpu.os_id));
        }
        least = cpu.os_id + 1;
        if dangling(cpu.core, topology.cores.len())
            || dangling(cpu.package, topology.packages.len())
            || dangling(cpu.die, topology.dies.len())
            || dangling(cpu.cluster, topology.clusters.len())
            || dangling(cpu.numa_node, topology.numa_nodes.len())
            || dangling(cpu.llc, topology.llc_domains.len())
            || dangling(cpu.kind, kinds)
        {
            return fail(format!("logical CPU {} names a part that it does not have", cpu.os_id));
        }
    }
    Ok(())
}

/// Stores the machine.
pub(crate) fn write(connection: &Connection, topology: &Topology) -> Result<(), Fault> {
    write_identity(connection, &topology.identity, &topology.limits)?;
    write_groups(connection, "packages", &topology.packages)?;
    write_groups(connection, "dies", &topology.dies)?;
    write_groups(connection, "clusters", &topology.clusters)?;
    write_groups(connection, "llc_domains", &topology.llc_domains)?;
    write_nodes_and_caches(connection, topology)?;
    write_cores(connection, topology)
}

fn bytes(value: Option<u64>, what: &str) -> Result<Option<i64>, Fault> {
    value.map(|value| value::bounded(value, BYTES_MAX, what)).transpose()
}

fn set_text(set: &Option<CpuSet>) -> Option<String> {
    set.as_ref().map(CpuSet::to_string)
}

/// Text if the path is UTF-8, which is usual, else its bytes.
fn path_value(path: &Path) -> Value {
    match path.to_str() {
        Some(text) => Value::Text(text.to_owned()),
        None => Value::Blob(path.as_os_str().as_bytes().to_vec()),
    }
}

fn write_identity(connection: &Connection, identity: &Identity, limits: &Limits) -> Result<(), Fault> {
    let sql = "INSERT INTO machine (id, cpu_model, cpu_vendor, hypervisor, smt_control, kernel, memory_bytes,
                 cpuset, affinity, quota_cpus, quota_source, limit_memory_bytes)
               VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let quota = limits.quota_cpus.map(|quota| value::seconds(quota, "CPU quota")).transpose()?;
    connection.execute(
        sql,
        params![
            identity.cpu_model,
            identity.cpu_vendor,
            identity.hypervisor,
            identity.smt_control,
            identity.kernel,
            bytes(identity.memory_bytes, "memory")?,
            set_text(&limits.cpuset),
            set_text(&limits.affinity),
            quota,
            limits.quota_source.as_deref().map(path_value),
            bytes(limits.memory_bytes, "memory limit")?,
        ],
    )?;
    Ok(())
}

fn write_groups(connection: &Connection, table: &str, groups: &[Group]) -> Result<(), Fault> {
    let mut insert =
        connection.prepare(&format!("INSERT INTO {table} (id, os_id, cpus) VALUES (?, ?, ?)"))?;
    for (id, group) in groups.iter().enumerate() {
        insert.execute(params![id as i64, group.os_id, group.cpus.to_string()])?;
    }
    Ok(())
}

fn write_nodes_and_caches(connection: &Connection, topology: &Topology) -> Result<(), Fault> {
    let mut insert =
        connection.prepare("INSERT INTO numa_nodes (id, os_id, cpus, memory_bytes) VALUES (?, ?, ?, ?)")?;
    for (id, node) in topology.numa_nodes.iter().enumerate() {
        let memory = bytes(node.memory_bytes, "node's memory")?;
        insert.execute(params![id as i64, node.os_id, node.cpus.to_string(), memory])?;
    }
    let mut insert = connection
        .prepare("INSERT INTO caches (id, level, kind, size_bytes, cpus) VALUES (?, ?, ?, ?, ?)")?;
    for (id, cache) in topology.caches.iter().enumerate() {
        let level = value::bounded(u64::from(cache.level), 255, "cache level")?;
        let kind = value::name(&cache.kind, "cache kind")?;
        let size = bytes(cache.size_bytes, "cache size")?;
        insert.execute(params![id as i64, level, kind, size, cache.cpus.to_string()])?;
    }
    Ok(())
}

fn write_cores(connection: &Connection, topology: &Topology) -> Result<(), Fault> {
    let mut insert =
        connection.prepare("INSERT INTO core_kinds (id, name, evidence, cpus) VALUES (?, ?, ?, ?)")?;
    for (id, kind) in topology.kinds.iter().enumerate() {
        let name = value::name(&kind.name, "core kind")?;
        insert.execute(params![id as i64, name, kind.evidence, kind.cpus.to_string()])?;
    }
    let mut insert =
        connection.prepare("INSERT INTO cores (id, os_id, cpus, package, kind) VALUES (?, ?, ?, ?, ?)")?;
    for (id, core) in topology.cores.iter().enumerate() {
        insert.execute(params![id as i64, core.os_id, core.cpus.to_string(), core.package, core.kind])?;
    }
    let mut insert = connection.prepare(
        "INSERT INTO logical_cpus (os_id, core, package, die, cluster, numa_node, llc, siblings, kind,
           allowed, online) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for cpu in &topology.logical_cpus {
        insert.execute(params![
            cpu.os_id,
            cpu.core,
            cpu.package,
            cpu.die,
            cpu.cluster,
            cpu.numa_node,
            cpu.llc,
            cpu.siblings.to_string(),
            cpu.kind,
            cpu.allowed,
            cpu.online,
        ])?;
    }
    Ok(())
}

/// Reads the machine back; every index in it is valid.
pub(crate) fn read(connection: &Connection) -> Result<Topology, Fault> {
    let budget = &mut SetBudget(SET_BUDGET);
    let (identity, limits) = read_identity(connection, budget)?;
    let mut topology = Topology {
        identity,
        limits,
        packages: read_groups(
            connection,
            "packages",
            "SELECT id, os_id, cpus FROM packages ORDER BY id",
            budget,
        )?,
        dies: read_groups(connection, "dies", "SELECT id, os_id, cpus FROM dies ORDER BY id", budget)?,
        clusters: read_groups(
            connection,
            "clusters",
            "SELECT id, os_id, cpus FROM clusters ORDER BY id",
            budget,
        )?,
        llc_domains: read_groups(
            connection,
            "llc_domains",
            "SELECT id, os_id, cpus FROM llc_domains ORDER BY id",
            budget,
        )?,
        ..Topology::default()
    };
    topology.numa_nodes = read_nodes(connection, budget)?;
    topology.caches = read_caches(connection, budget)?;
    topology.kinds = read_kinds(connection, budget)?;
    topology.cores = read_cores(connection, &topology, budget)?;
    topology.logical_cpus = read_logical_cpus(connection, &topology, budget)?;
    Ok(topology)
}

fn read_identity(connection: &Connection, budget: &mut SetBudget) -> Result<(Identity, Limits), Fault> {
    let sql = "SELECT cpu_model, cpu_vendor, hypervisor, smt_control, kernel, memory_bytes, cpuset, affinity,
                 quota_cpus, quota_source, limit_memory_bytes FROM machine WHERE id = 1";
    let mut found = all(connection, "machine", sql, |row, _| {
        let text = |at| Ok::<_, Fault>(row.optional_text(at, TEXT_BYTES)?.map(str::to_owned));
        let identity = Identity {
            cpu_model: text(0)?,
            cpu_vendor: text(1)?,
            hypervisor: text(2)?,
            smt_control: text(3)?,
            kernel: text(4)?,
            memory_bytes: row.optional(5, BYTES_MAX)?,
        };
        let limits = Limits {
            cpuset: row.optional_set(6, budget)?,
            affinity: row.optional_set(7, budget)?,
            quota_cpus: row.optional_real(8)?,
            quota_source: read_path(row, 9)?,
            memory_bytes: row.optional(10, BYTES_MAX)?,
        };
        Ok((identity, limits))
    })?;
    found.pop().ok_or_else(|| Fault::Damaged("the machine is missing".into()))
}

fn read_path(row: &Fields<'_, '_>, at: usize) -> Result<Option<PathBuf>, Fault> {
    match row.row.get_ref(at)? {
        ValueRef::Blob(_) => {
            let bytes = row.blob(at, TEXT_BYTES)?.to_vec();
            Ok(Some(PathBuf::from(OsString::from_vec(bytes))))
        }
        _ => Ok(row.optional_text(at, TEXT_BYTES)?.map(PathBuf::from)),
    }
}

fn read_groups(
    connection: &Connection,
    table: &'static str,
    sql: &str,
    budget: &mut SetBudget,
) -> Result<Vec<Group>, Fault> {
    all(connection, table, sql, |row, id| {
        row.next_id(0, id)?;
        Ok(Group { os_id: row.signed(1)?, cpus: row.set(2, budget)? })
    })
}

fn read_nodes(connection: &Connection, budget: &mut SetBudget) -> Result<Vec<NumaNode>, Fault> {
    let sql = "SELECT id, os_id, cpus, memory_bytes FROM numa_nodes ORDER BY id";
    all(connection, "numa_nodes", sql, |row, id| {
        row.next_id(0, id)?;
        Ok(NumaNode {
            os_id: row.signed(1)?,
            cpus: row.set(2, budget)?,
            memory_bytes: row.optional(3, BYTES_MAX)?,
        })
    })
}

fn read_caches(connection: &Connection, budget: &mut SetBudget) -> Result<Vec<Cache>, Fault> {
    let sql = "SELECT id, level, kind, size_bytes, cpus FROM caches ORDER BY id";
    all(connection, "caches", sql, |row, id| {
        row.next_id(0, id)?;
        Ok(Cache {
            level: row.number(1, 255)? as u32,
            kind: row.text(2, NAME_BYTES)?.to_owned(),
            size_bytes: row.optional(3, BYTES_MAX)?,
            cpus: row.set(4, budget)?,
        })
    })
}

fn read_kinds(connection: &Connection, budget: &mut SetBudget) -> Result<Vec<CoreKind>, Fault> {
    let sql = "SELECT id, name, evidence, cpus FROM core_kinds ORDER BY id";
    all(connection, "core_kinds", sql, |row, id| {
        row.next_id(0, id)?;
        Ok(CoreKind {
            name: row.text(1, NAME_BYTES)?.to_owned(),
            evidence: row.text(2, TEXT_BYTES)?.to_owned(),
            cpus: row.set(3, budget)?,
        })
    })
}

fn read_cores(
    connection: &Connection,
    topology: &Topology,
    budget: &mut SetBudget,
) -> Result<Vec<Core>, Fault> {
    let sql = "SELECT id, os_id, cpus, package, kind FROM cores ORDER BY id";
    all(connection, "cores", sql, |row, id| {
        row.next_id(0, id)?;
        Ok(Core {
            os_id: row.signed(1)?,
            cpus: row.set(2, budget)?,
            package: row.optional_index(3, topology.packages.len())?,
            kind: row.index(4, 0, topology.kinds.len())? as u32,
        })
    })
}

fn read_logical_cpus(
    connection: &Connection,
    topology: &Topology,
    budget: &mut SetBudget,
) -> Result<Vec<LogicalCpu>, Fault> {
    let sql = "SELECT os_id, core, package, die, cluster, numa_node, llc, siblings, kind, allowed, online
               FROM logical_cpus ORDER BY os_id";
    let mut least = 0;
    all(connection, "logical_cpus", sql, |row, _| {
        let os_id = row.number(0, u64::from(MAX_CPUS) - 1)? as u32;
        if os_id < least {
            return Err(Fault::Damaged(format!("logical_cpus.os_id {os_id} is out of order")));
        }
        least = os_id + 1;
        Ok(LogicalCpu {
            os_id,
            core: row.optional_index(1, topology.cores.len())?,
            package: row.optional_index(2, topology.packages.len())?,
            die: row.optional_index(3, topology.dies.len())?,
            cluster: row.optional_index(4, topology.clusters.len())?,
            numa_node: row.optional_index(5, topology.numa_nodes.len())?,
            llc: row.optional_index(6, topology.llc_domains.len())?,
            siblings: row.set(7, budget)?,
            kind: row.optional_index(8, topology.kinds.len())?,
            allowed: row.flag(9)?,
            online: row.flag(10)?,
        })
    })
}
