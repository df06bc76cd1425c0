//! Firebird's databases: held by Firebird's own lock, copied by its own `gbak`, embedded, without a server.
//!
//! The hold is `flock(2)` on the database file. Every Firebird process holds that lock while it has a
//! database open (Firebird 3.0's `src/jrd/os/posix/unix.cpp`, `lockDatabaseFile`: exclusive in the mode
//! Super, shared in Classic and SuperClassic) and refuses to open one that is locked otherwise. So while
//! this process holds it exclusively no other process has the database open or can open it. It ends with this
//! process in any case, and then nothing in the file has changed.
//!
//! Under the lock not even `gbak` can open the file, so it works on a copy in the work folder. With the
//! other way, `gfix -shut single` and `gbak` on the file itself, there are moments between the programs in which
//! the owner could attach and commit.
//!
//! The seal is the flag of a full shutdown in the header, written under the lock: a process that opened
//! the old file before the swap and gets its lock after it reads the flag before anything else and is
//! refused. That `gfix -shut full` of this version writes exactly this flag is tested on the copy first.
//! `gfix -online normal` removes it from a kept original.
//!
//! Known limit: Firebird opens a file with forced writes twice when attaching. A process that is stopped
//! between the two for a whole reload would mix the old header with the new file.

mod copy;
mod facts;
mod fill;
pub mod header;
mod hold;
mod lock;
mod same;
mod tools;
mod validate;

use crate::driver::{Depth, Driver, Held, ReloadItem, Settings};
use crate::error::{ItemError, ReloadError};
use crate::report::Checked;
pub(crate) use fill::fill;
use hold::{Hold, SEALED};
use lock::{is_named, lock, open};
use rustix::fs::OFlags;
pub use same::same_rows;
use std::path::Path;
use std::time::Duration;
use tools::Tools;

/// Page sizes of Firebird 3 to 5 in bytes; 32768 since Firebird 4.
const PAGE_SIZES: [u32; 4] = [4096, 8192, 16384, 32768];

/// The engine's name on the command line.
pub const NAME: &str = "firebird";

/// The driver; searches for nothing yet.
pub fn driver(settings: &Settings) -> Box<dyn Driver> {
    Box::new(Firebird { settings: settings.clone() })
}

/// Firebird, with the user's settings.
struct Firebird {
    settings: Settings,
}

impl Firebird {
    fn tools(&self) -> Result<Tools, String> {
        Tools::find(&self.settings.engine)
    }
}

impl Driver for Firebird {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&self) -> Result<String, ReloadError> {
        if let Some(size) = self.settings.page_size_bytes
            && !PAGE_SIZES.contains(&size)
        {
            let why =
                format!("page size {size}: Firebird's are 4096, 8192, 16384 and, since Firebird 4, 32768");
            return Err(ReloadError::Option(why));
        }
        tools::options(&self.settings.engine).map_err(ReloadError::Option)?;
        let tools = self.tools().map_err(ReloadError::Engine)?;
        let version = tools.version().map_err(ReloadError::Engine)?;
        match self.settings.page_size_bytes {
            Some(32768) if version.contains("-V3.") => Err(ReloadError::Engine(format!(
                "page size 32768 needs Firebird 4 or later; this is {version}"
            ))),
            _ => Ok(version),
        }
    }

    fn look(&self, database: &Path) -> Result<(), ItemError> {
        tools::plain_path(database).map_err(ItemError::skip)?;
        // The lock is taken and released at once: there is no way to query it that shows all holders.
        let file = open(database, OFlags::RDONLY).map_err(ItemError::skip)?;
        lock(&file, database, Duration::ZERO, &|| false)?;
        header::whole(&file).map_err(ItemError::skip)?;
        Ok(())
    }

    fn hold(&self, reload: &ReloadItem) -> Result<Box<dyn Held>, ItemError> {
        let tools = self.tools().map_err(ItemError::failed)?;
        tools::plain_path(&reload.folder).map_err(ItemError::skip)?;
        let file = open(&reload.database, OFlags::RDWR).map_err(ItemError::skip)?;
        lock(&file, &reload.database, reload.settings.wait, &|| reload.is_stopped())?;
        if !is_named(&file, &reload.database) {
            return Err(ItemError::skip("another file took its name while it was being locked; try again"));
        }
        let header = header::whole(&file).map_err(ItemError::skip)?;
        Ok(Box::new(Hold::new(tools, file, header)))
    }

    fn recover(&self, reload: &ReloadItem) -> Result<(), ItemError> {
        let is_ours = reload.noted(SEALED).is_some() || reload.with_state(|_| ()).is_none();
        if !is_ours {
            return Ok(());
        }
        let file = open(&reload.database, OFlags::RDWR).map_err(ItemError::failed)?;
        lock(&file, &reload.database, reload.settings.wait, &|| reload.is_stopped()).map_err(|error| {
            match error {
                ItemError::Skip(reason) => ItemError::Failed(reason),
                error => error,
            }
        })?;
        let header = header::read(&file).map_err(ItemError::failed)?;
        if !header.is_fully_shut() {
            return Ok(());
        }
        header::write_flags(&file, header.online_flags())
            .map_err(|error| ItemError::failed(format!("cannot bring it online again: {error}")))
    }

    fn is_sealed(&self, database: &Path) -> Result<bool, ItemError> {
        let file = open(database, OFlags::RDONLY).map_err(ItemError::skip)?;
        header::read(&file).map(|header| header.is_fully_shut()).map_err(ItemError::skip)
    }

    fn reopen(&self, reload: &ReloadItem) -> Result<(), ItemError> {
        // Not by a program of Firebird: others may have the database open by now, with another lock
        // folder than this one, and two folders for one database would destroy it. `check` has opened it.
        let file = open(&reload.database, OFlags::RDONLY).map_err(ItemError::failed)?;
        let header = header::read(&file).map_err(ItemError::failed)?;
        match header.refusal() {
            None => Ok(()),
            Some(reason) => Err(ItemError::failed(format!("after the swap it is {reason}"))),
        }
    }

    fn verify(&self, reload: &ReloadItem, depth: Depth) -> Result<Option<Checked>, ItemError> {
        self.reopen(reload)?;
        let tools = self.tools().map_err(ItemError::failed)?;
        validate::verify(&tools, reload, depth)
    }
}
