//! Settings of private clusters, all documented (PostgreSQL documentation, chapter "Server Configuration"). Others keep
//! the server's defaults, such as `fsync`, `full_page_writes`, `synchronous_commit` and `wal_level`.

use std::collections::BTreeMap;

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// Memory for other things than data: catalogues, log buffers, room for what a run adds.
const MORE_BYTES: u64 = 64 * MIB;

/// The server's own default.
const LEAST_BYTES: u64 = 128 * MIB;

/// What the settings depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// Size of all data in use at once, bytes.
    pub data_bytes: u64,
    /// Sessions at once.
    pub sessions: u32,
    /// Free bytes on the data directory's file system, which bound the write-ahead log.
    pub free_bytes: u64,
    /// The server's major version.
    pub major: u32,
}

/// Text to append to initdb's configuration; a later line wins.
pub fn configuration(fit: Fit, given: &BTreeMap<String, String>) -> String {
    let mut settings: BTreeMap<String, String> = ours(fit);
    settings.extend(given.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
    let lines = settings.iter().map(|(name, value)| format!("{name} = {}\n", quoted(value)));
    format!("\n# threadwise\n{}", lines.collect::<String>())
}

fn ours(fit: Fit) -> BTreeMap<String, String> {
    let memory = (fit.data_bytes + fit.data_bytes / 10 * 3 + MORE_BYTES).max(LEAST_BYTES);
    // A checkpoint inside a window disturbs the measurement: the log has room for none, as far as the disk allows.
    let log = (fit.free_bytes / 4).clamp(1024 * MIB, 16 * 1024 * MIB);
    let connections = u64::from(fit.sessions) + 30;
    let pairs = [
        // Only the server's user can reach the socket: it is in the data directory.
        ("listen_addresses", String::new()),
        ("unix_socket_directories", ".".into()),
        ("unix_socket_permissions", "0700".into()),
        ("port", "5432".into()),
        ("log_destination", "stderr".into()),
        ("logging_collector", "off".into()),
        ("max_connections", connections.to_string()),
        ("shared_buffers", format!("{}MB", memory.div_ceil(MIB))),
        ("huge_pages", "try".into()),
        // Background work at unpredictable times.
        ("autovacuum", "off".into()),
        ("bgwriter_lru_maxpages", "0".into()),
        ("checkpoint_timeout", "1d".into()),
        ("max_wal_size", format!("{}MB", log / MIB)),
        ("max_logical_replication_workers", "0".into()),
        // One session is one process and runs the plans that it reported.
        ("jit", "off".into()),
        ("max_parallel_workers_per_gather", "0".into()),
        ("track_io_timing", "off".into()),
        // In the data directory, so that a killed server leaves nothing in /dev/shm.
        ("dynamic_shared_memory_type", "mmap".into()),
        // A crash must show, not be repaired.
        ("restart_after_crash", "off".into()),
    ];
    // Statistics that outgrow their memory then go to more memory, not into that file.
    let memory = (fit.major >= 14).then(|| ("min_dynamic_shared_memory", "16MB".into()));
    pairs.into_iter().chain(memory).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A value as the configuration file has it: quoted, with quotes and backslashes escaped.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(data_mib: u64, given: &[(&str, &str)]) -> Vec<String> {
        let fit = Fit { data_bytes: data_mib * MIB, sessions: 4, free_bytes: 8 * 1024 * MIB, major: 15 };
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        configuration(fit, &given).lines().map(str::to_owned).collect()
    }

    #[test]
    fn memory_is_fitted_to_the_data() {
        assert!(lines(0, &[]).contains(&"shared_buffers = '128MB'".into()));
        assert!(lines(1000, &[]).contains(&"shared_buffers = '1364MB'".into()));
        assert!(lines(0, &[]).contains(&"max_wal_size = '2048MB'".into()));
        assert!(lines(0, &[]).contains(&"max_connections = '34'".into()));
    }

    #[test]
    fn given_settings_replace_ours_and_are_quoted() {
        let lines = lines(0, &[("Autovacuum", "on"), ("search_path", "a'b\\c")]);
        assert!(lines.contains(&"autovacuum = 'on'".into()) && !lines.contains(&"autovacuum = 'off'".into()));
        assert!(lines.contains(&"search_path = 'a''b\\\\c'".into()), "{lines:?}");
        assert!(lines.contains(&"listen_addresses = ''".into()));
    }
}
