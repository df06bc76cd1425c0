//! Boots, the boot of each block, and the hash of the machine's id.

use crate::error::Fault;
use crate::value::{self, Ascending, Fields, NAME_BYTES, all};
use crate::{read, studies};
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use threadwise_machine::BootFacts;
use threadwise_machine::cpuset::MAX_CPUS;
use threadwise_study::Boot;

/// Key of the salt in `meta`.
const SALT: &str = "salt";
/// Most boots that a file may have.
const MOST: usize = 1000;

/// Draws the file's salt if it has none.
pub(crate) fn draw_salt(connection: &Connection) -> Result<(), Fault> {
    if studies::meta(connection, SALT)?.is_some() {
        return Ok(());
    }
    let salt: String = connection.query_row("SELECT lower(hex(randomblob(32)))", [], |row| row.get(0))?;
    studies::set_meta(connection, SALT, &salt)
}

/// The hash of a machine's id in this file.
///
/// Source: FIPS 180-4. An id has 122 random bits, so it cannot be found from its hash; the salt prevents
/// comparing the hashes of two files.
fn machine_hash(connection: &Connection, id: &str) -> Result<String, Fault> {
    let salt =
        studies::meta(connection, SALT)?.ok_or_else(|| Fault::Damaged(format!("meta lacks '{SALT}'")))?;
    let digest = Sha256::new().chain_update(salt.as_bytes()).chain_update(b"\n").chain_update(id).finalize();
    Ok(digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// The record of a boot that was read, with the next number.
pub(crate) fn of_facts(
    connection: &Connection,
    facts: &BootFacts,
    (arm, engine_version, started_utc): (Option<&str>, &str, &str),
    number: u32,
) -> Result<Boot, Fault> {
    let id = facts.machine_id.as_deref();
    Ok(Boot {
        number,
        boot_id: facts.boot_id.clone(),
        machine_hash: id.map(|id| machine_hash(connection, id)).transpose()?,
        started_utc: started_utc.to_owned(),
        arm: arm.map(str::to_owned),
        kernel: facts.kernel.clone(),
        microcode: facts.microcode.clone(),
        smt_active: facts.smt_active,
        smt_control: facts.smt_control.clone(),
        online_cpus: facts.online_cpus,
        engine_version: engine_version.to_owned(),
        instance_type: facts.instance_type.clone(),
        parameters: facts.parameters.clone(),
    })
}

/// Stores a boot.
pub(crate) fn add(connection: &Connection, boot: &Boot) -> Result<(), Fault> {
    let text = |text: &str, what| value::fits(text.len(), value::TEXT_BYTES, what);
    for name in
        [&boot.boot_id, &boot.arm, &boot.kernel, &boot.microcode, &boot.smt_control, &boot.instance_type]
    {
        name.as_deref().map(|name| value::name(name, "a fact of the boot")).transpose()?;
    }
    text(boot.parameters.as_deref().unwrap_or(""), "kernel parameters")?;
    text(&boot.engine_version, "engine version")?;
    if let Some(count) = boot.online_cpus.filter(|count| !(1..=MAX_CPUS).contains(count)) {
        return Err(Fault::Unstorable(format!("{count} online logical CPUs, more than {MAX_CPUS}")));
    }
    connection.execute(
        "INSERT INTO boots (id, boot_id, machine_hash, started_utc, arm, kernel, microcode, smt_active, smt_control,
           online_cpus, engine_version, instance_type, parameters) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            boot.number,
            boot.boot_id,
            boot.machine_hash,
            boot.started_utc,
            boot.arm,
            boot.kernel,
            boot.microcode,
            boot.smt_active,
            boot.smt_control,
            boot.online_cpus,
            boot.engine_version,
            boot.instance_type,
            boot.parameters,
        ],
    )?;
    Ok(())
}

/// All boots in order.
pub(crate) fn read(connection: &Connection) -> Result<Vec<Boot>, Fault> {
    let sql =
        "SELECT id, boot_id, machine_hash, started_utc, arm, kernel, microcode, smt_active, smt_control,
                 online_cpus, engine_version, instance_type, parameters FROM boots ORDER BY id";
    all(connection, "boots", sql, |row, at| {
        row.next_id(0, at + 1)?;
        if at as usize >= MOST {
            return Err(Fault::Damaged(format!("boots has more than {MOST} rows")));
        }
        let name = |column| Ok::<_, Fault>(row.optional_text(column, NAME_BYTES)?.map(str::to_owned));
        Ok(Boot {
            number: at as u32 + 1,
            boot_id: name(1)?,
            machine_hash: name(2)?,
            started_utc: row.text(3, NAME_BYTES)?.to_owned(),
            arm: name(4)?,
            kernel: name(5)?,
            microcode: name(6)?,
            smt_active: row.optional(7, 1)?.map(|active| active == 1),
            smt_control: name(8)?,
            online_cpus: cpus(row)?,
            engine_version: row.text(10, value::TEXT_BYTES)?.to_owned(),
            instance_type: name(11)?,
            parameters: row.optional_text(12, value::TEXT_BYTES)?.map(str::to_owned),
        })
    })
}

fn cpus(row: &Fields<'_, '_>) -> Result<Option<u32>, Fault> {
    match row.optional(9, u64::from(MAX_CPUS))? {
        Some(0) => Err(Fault::Damaged("boots.online_cpus is 0".into())),
        count => Ok(count.map(|count| count as u32)),
    }
}

/// Records the boot of an attempt at a block.
pub(crate) fn block_started(
    connection: &Connection,
    block: u32,
    attempt: u32,
    boot: u32,
) -> Result<(), Fault> {
    let sql = "INSERT INTO block_boots (block, attempt, boot) VALUES (?, ?, ?)";
    connection.prepare_cached(sql)?.execute([block, attempt, boot])?;
    Ok(())
}

/// The number and boot of each complete block whose boot is known, ascending.
pub(crate) fn of_blocks(connection: &Connection, boots: &[Boot]) -> Result<Vec<(u32, u32)>, Fault> {
    let complete = read::complete_attempts(connection)?;
    let sql = "SELECT block, attempt, boot FROM block_boots ORDER BY block, attempt";
    let mut rows = Ascending::default();
    let found = all(connection, "block_boots", sql, |row, _| {
        let (block, attempt) = (row.ordinal(0)?, row.ordinal(1)?);
        rows.next("block_boots", block as usize, attempt as usize)?;
        let boot = &boots[row.index(2, 1, boots.len())?];
        Ok(complete.binary_search(&(block, attempt)).is_ok().then_some((block, boot.number)))
    })?;
    Ok(found.into_iter().flatten().collect())
}
