//! One held Firebird database: copy, backup, restore, check, seal, release.

use super::copy::copy;
use super::facts::{self, Facts};
use super::header::{self, Header};
use super::lock::is_named;
use super::tools::{Tool, Tools};
use super::validate;
use crate::driver::{Held, ReloadItem};
use crate::error::ItemError;
use crate::report::Checked;
use std::fs::{self, File};
use std::path::Path;

/// Note in the state file: threadwise's flag may be in the header.
pub(super) const SEALED: &str = "firebird-sealed";
/// The copy of the database in the work folder.
const COPY: &str = "copy";

/// The lock, which ends with the file, and the facts.
pub(super) struct Hold {
    tools: Tools,
    file: File,
    header: Header,
    facts: Option<Facts>,
    is_sealed: bool,
}

impl Hold {
    pub fn new(tools: Tools, file: File, header: Header) -> Self {
        Self { tools, file, header, facts: None, is_sealed: false }
    }

    fn old_facts(&self) -> Result<&Facts, ItemError> {
        self.facts.as_ref().ok_or_else(|| ItemError::failed("there is no backup yet"))
    }

    /// Lets this version of Firebird shut the copy down, and compares the written flags with those of the seal.
    fn try_seal_on_copy(&self, reload: &ReloadItem) -> Result<(), ItemError> {
        let read = || {
            let copy = File::open(reload.folder.join(COPY)).map_err(ItemError::failed)?;
            header::read(&copy).map_err(ItemError::failed)
        };
        let before = read()?;
        let args = ["-shut", "full", "-force", "0", "-user", "SYSDBA", "./copy"];
        self.run(reload, Tool::Gfix, &args, "shut")
            .map_err(|error| error.of("gfix cannot shut a copy of it"))?;
        let after = read()?;
        if after == (Header { flags: before.shut_flags(), ..before }) {
            return Ok(());
        }
        Err(ItemError::failed(format!(
            "this version of Firebird writes a shutdown as flags {:#06x} where {:#06x} was expected; \
             this is unknown, and nothing was changed",
            after.flags,
            before.shut_flags()
        )))
    }

    fn run(
        &self,
        reload: &ReloadItem,
        tool: Tool,
        args: &[&str],
        name: &str,
    ) -> Result<String, super::tools::ToolError> {
        self.tools.run(&reload.folder, tool, args, name, &|| reload.is_stopped())
    }

    fn page_size_bytes(&self, reload: &ReloadItem) -> u32 {
        reload.settings.page_size_bytes.unwrap_or_else(|| self.header.page_size_bytes.into())
    }
}

impl Held for Hold {
    fn backup(&mut self, reload: &ReloadItem) -> Result<(), ItemError> {
        copy(&self.file, &reload.folder.join(COPY), reload)?;
        if let Some(finding) = validate::findings(&self.tools, reload, COPY)
            .map_err(|error| error.of("gfix cannot check a copy of the original"))?
        {
            return Err(ItemError::failed(format!(
                "the original is damaged: {finding}; it is unchanged: use a complete backup of it, \
                 or repair a copy of it (gfix -mend)"
            )));
        }
        let facts = facts::ask(&self.tools, &reload.folder, COPY, &|| reload.is_stopped())
            .map_err(|error| error.of("isql cannot read it"))?;
        if let Some(reason) = facts.refusal() {
            return Err(ItemError::skip(reason));
        }
        self.facts = Some(facts);
        let backup = named(&reload.backup)?;
        // -g: garbage of old transactions is not collected in a copy that is thrown away.
        let args = ["-b", "-t", "-g", "-nod", "-user", "SYSDBA", "./copy", &backup];
        self.run(reload, Tool::Gbak, &args, "backup").map_err(|error| error.of("gbak cannot back it up"))?;
        self.try_seal_on_copy(reload)?;
        // This copy is as large as the database and should not stay while the new one is made.
        fs::remove_file(reload.folder.join(COPY)).map_err(ItemError::failed)
    }

    fn restore(&mut self, reload: &ReloadItem) -> Result<(), ItemError> {
        // In quotes a user's name is taken literally, with small letters and spaces.
        let owner = format!("\"{}\"", self.old_facts()?.owner.replace('"', "\"\""));
        let size = self.page_size_bytes(reload).to_string();
        let (backup, new) = (named(&reload.backup)?, named(&reload.new)?);
        let args = ["-c", "-page_size", &size, "-user", &owner, &backup, &new];
        self.run(reload, Tool::Gbak, &args, "restore").map_err(|error| error.of("gbak cannot restore it"))?;
        if !self.old_facts()?.is_reserved_read_only() {
            return Ok(());
        }
        // gbak turns the reserve off for a read-only database, where it then stays off.
        for option in [["-mode", "read_write"], ["-use", "reserve"], ["-mode", "read_only"]] {
            let args = [&option[..], &["-user", "SYSDBA", &new]].concat();
            self.run(reload, Tool::Gfix, &args, "reserve")
                .map_err(|error| error.of("gfix cannot give the new file its reserve"))?;
        }
        Ok(())
    }

    fn check(&mut self, reload: &ReloadItem) -> Result<Checked, ItemError> {
        let new = named(&reload.new)?;
        let file = new.trim_start_matches("./");
        if let Some(finding) = validate::findings(&self.tools, reload, file)
            .map_err(|error| error.of("gfix cannot check the restored copy"))?
        {
            let why = format!("gfix finds damage in the restored copy, not in the original: {finding}");
            return Err(ItemError::failed(why));
        }
        let found = facts::ask(&self.tools, &reload.folder, file, &|| reload.is_stopped())
            .map_err(|error| error.of("isql cannot read the restored copy"))?;
        if let Some(difference) = self.old_facts()?.difference(&found) {
            return Err(ItemError::failed(format!("the restored copy differs: {difference}")));
        }
        let header =
            File::open(&reload.new).map_err(|error| error.to_string()).and_then(|file| header::read(&file));
        let header = header.map_err(|why| ItemError::failed(format!("restored copy: {why}")))?;
        if let Some(reason) = header.refusal() {
            return Err(ItemError::failed(format!("the restored copy is {reason}")));
        }
        let (size, asked) = (u32::from(header.page_size_bytes), self.page_size_bytes(reload));
        if size != asked {
            return Err(ItemError::failed(format!(
                "the restored copy has pages of {size} bytes instead of {asked}"
            )));
        }
        Ok(Checked { tables: found.tables, rows: found.rows })
    }

    fn seal(&mut self, reload: &ReloadItem) -> Result<(), ItemError> {
        self.old_facts()?;
        if !is_named(&self.file, &reload.database) {
            return Err(ItemError::failed(
                "another file took its name during the reload; that one is untouched",
            ));
        }
        reload.note(SEALED, "yes")?;
        self.is_sealed = true;
        header::write_flags(&self.file, self.header.shut_flags())
            .map_err(|error| ItemError::failed(format!("cannot shut the old file: {error}")))
    }

    fn release(self: Box<Self>, _work: &ReloadItem, swapped: bool) -> Result<(), ItemError> {
        if self.is_sealed && !swapped {
            header::write_flags(&self.file, self.header.flags)
                .map_err(|error| ItemError::failed(format!("cannot bring it online again: {error}")))?;
        }
        Ok(())
    }
}

/// A path in the work folder for the programs.
fn named(path: &Path) -> Result<String, ItemError> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(|name| format!("./{name}"))
        .ok_or_else(|| ItemError::failed("a path of the work folder has no name"))
}
