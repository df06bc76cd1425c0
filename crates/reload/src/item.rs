//! One file: refuse, hold, copy, check, link, seal, swap, release, clear; and the way back from every step.

use crate::apart;
use crate::driver::{Driver, Held, ReloadItem};
use crate::error::ItemError;
use crate::folder::{self, Folder, ItemFile};
use crate::identity::{Identity, stat};
use crate::metadata::Metadata;
pub use crate::options::{Hook, ItemOptions, Step};
use crate::recover;
use crate::refuse;
pub use crate::report::{Outcome, Report, Stage};
use crate::runs_as::{self, RunsAs};
use crate::state::{ItemState, Originals, StateFile};
use crate::swap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Reloads one file. In any case, a database is under its name afterwards.
pub fn reload(path: &Path, driver: &dyn Driver, options: &ItemOptions, on_stage: &dyn Fn(Stage)) -> Report {
    let begun = Instant::now();
    let mut report = Report::of(path, Outcome::Done);
    let way = Way { driver, options, on_stage };
    if let Err(error) = way.prepare(path, &mut report) {
        report.left_behind |= matches!(error, ItemError::LeftBehind(_) | ItemError::Abandoned);
        report.outcome = match error {
            ItemError::Skip(reason) | ItemError::Undecided(reason) => Outcome::Skipped(reason),
            ItemError::Stopped => Outcome::Stopped,
            ItemError::Failed(_) | ItemError::LeftBehind(_) | ItemError::Abandoned => {
                Outcome::Failed(error.to_string())
            }
        };
    }
    report.seconds = begun.elapsed().as_secs_f64();
    report
}

struct Way<'a> {
    driver: &'a dyn Driver,
    options: &'a ItemOptions,
    on_stage: &'a dyn Fn(Stage),
}

impl Way<'_> {
    fn after(&self, step: Step, database: &Path) -> Result<(), ItemError> {
        match &self.options.hook {
            Some(hook) if !hook(step, database) => Err(ItemError::Abandoned),
            _ => Ok(()),
        }
    }

    /// Everything up to the first possible change of the user's file, and the rest.
    fn prepare(&self, path: &Path, report: &mut Report) -> Result<(), ItemError> {
        (self.on_stage)(Stage::Hold);
        let database = refuse::resolve(path)?;
        if let RunsAs::Owner(owner) = runs_as::of(&database)? {
            *report = apart::reload(&owner, &database, self.driver.name(), self.options, self.on_stage)?;
            return Ok(());
        }
        recover::leftover(&database, &self.options.settings, self.driver)?;
        report.bytes_before = refuse::file(&database)?;
        let folder = Folder::acquire(&folder::path_of(&database))?;
        let ended = self.begin(&database, &folder, report);
        if let Err(ItemError::Abandoned | ItemError::LeftBehind(_)) = ended {
            return ended;
        }
        match (folder.remove(), ended) {
            (Ok(()), ended) => ended.and_then(|()| self.after(Step::Removed, &database)),
            // The state may still exist, and a recovery then removes the rest.
            (Err(error), Ok(())) => {
                report.warnings.push(error.to_string());
                report.left_behind = true;
                Ok(())
            }
            (Err(_), ended) => ended,
        }
    }

    fn begin(&self, database: &Path, folder: &Folder, report: &mut Report) -> Result<(), ItemError> {
        if StateFile::open(folder.inside())?.is_some() {
            return Err(ItemError::LeftBehind("another run was just killed during it".to_owned()));
        }
        refuse::beside(database, folder, report.bytes_before)?;
        self.after(Step::Folder, database)?;
        let state = ItemState {
            engine: self.driver.name().to_owned(),
            originals: self.options.originals,
            ..ItemState::default()
        };
        let state = StateFile::create(folder.inside(), state)?;
        let reload = ReloadItem::new(
            database.to_owned(),
            folder.path().to_owned(),
            self.options.settings.clone(),
            Arc::clone(&self.options.stop),
            Some(state),
        );
        self.after(Step::State, database)?;
        reload.unless_stopped()?;
        let ended = self.hold(&reload, folder, report);
        report.warnings.extend(reload.warnings());
        ended
    }

    fn hold(&self, reload: &ReloadItem, folder: &Folder, report: &mut Report) -> Result<(), ItemError> {
        let mut held = self.driver.hold(reload)?;
        match self.until_swap(held.as_mut(), reload, folder, report) {
            Ok(()) => self.finish(held, reload, folder, report),
            Err(ItemError::Abandoned) => Err(ItemError::Abandoned),
            Err(error) => {
                let unlinked = swap::remove_kept(reload, folder);
                held.release(reload, false).and(unlinked).map_err(|worse| match worse {
                    ItemError::LeftBehind(why) => ItemError::LeftBehind(format!("{error}; and then {why}")),
                    worse => ItemError::LeftBehind(format!("{error}; and then {worse}")),
                })?;
                Err(error)
            }
        }
    }

    /// From the hold to the swap. After an error the original has its name.
    fn until_swap(
        &self,
        held: &mut dyn Held,
        reload: &ReloadItem,
        folder: &Folder,
        report: &mut Report,
    ) -> Result<(), ItemError> {
        let original = identity(&reload.database)?;
        self.after(Step::Held, &reload.database)?;
        reload.unless_stopped()?;
        (self.on_stage)(Stage::Backup);
        held.backup(reload)?;
        self.after(Step::Copied, &reload.database)?;
        reload.unless_stopped()?;
        (self.on_stage)(Stage::Restore);
        held.restore(reload)?;
        self.after(Step::Restored, &reload.database)?;
        reload.unless_stopped()?;
        (self.on_stage)(Stage::Check);
        let checked = held.check(reload)?;
        report.checked = Some(checked);
        self.after(Step::Checked, &reload.database)?;
        reload.unless_stopped()?;
        (self.on_stage)(Stage::Swap);
        let new = dress(reload, folder)?;
        self.after(Step::Dressed, &reload.database)?;
        unchanged(reload, original, held.copying_writes())?;
        reload.with_state(|state| state.ready(original.inode, new, checked)).unwrap_or(Ok(()))?;
        self.after(Step::Ready, &reload.database)?;
        swap::link(folder, original)?;
        self.after(Step::Linked, &reload.database)?;
        held.seal(reload)?;
        self.after(Step::Sealed, &reload.database)?;
        // Since the last check there were several syncs. A file that gets the name after this one is not lost, but
        // ends in the work folder.
        if folder.inode(ItemFile::Database)? != Some(original.inode) {
            return Err(ItemError::failed(format!(
                "another process gave the name to another file, which is unchanged; the original is {}",
                folder::kept_of(&reload.database).display()
            )));
        }
        swap::take_name(folder).map_err(|error| {
            let original = match folder.inode(ItemFile::Database) {
                Ok(None) => format!("; the original is {}", folder::kept_of(&reload.database).display()),
                _ => String::new(),
            };
            ItemError::failed(format!("the new file cannot take the name: {error}{original}"))
        })
    }

    /// The steps after the swap: none of them may end with the original under its name again.
    fn finish(
        &self,
        held: Box<dyn Held>,
        reload: &ReloadItem,
        folder: &Folder,
        report: &mut Report,
    ) -> Result<(), ItemError> {
        let kept = folder::kept_of(&reload.database);
        report.kept = Some(kept.clone());
        let durable = folder
            .outside()
            .sync()
            .map_err(|error| ItemError::failed(format!("the swap may not survive a power loss: {error}")));
        report.new = Identity::at(&reload.database).ok();
        report.bytes_after = report.new.map(|new| new.size_bytes);
        self.after(Step::Swapped, &reload.database)?;
        let files = reload.with_state(|state| state.state().files).flatten();
        let cleared = files.map_or(Ok(()), |(original, new)| swap::clear(reload, folder, original, new));
        let reopened = durable.and_then(|()| self.driver.reopen(reload));
        self.after(Step::Reopened, &reload.database)?;
        let released = held.release(reload, true);
        self.after(Step::Released, &reload.database)?;
        let to_original = |error: ItemError| {
            let reason = format!("{error}; the original is {}", kept.display());
            ItemError::Failed(reason)
        };
        // The work folder stays, with its contents.
        cleared
            .map_err(|error| ItemError::LeftBehind(format!("{error}; the original is {}", kept.display())))?;
        reopened.map_err(to_original)?;
        if let Err(error) = released {
            reload.warn(error.to_string());
        }
        if self.options.originals == Originals::Remove {
            folder.remove_name(ItemFile::Kept).map_err(|error| to_original(ItemError::failed(error)))?;
            report.kept = None;
        }
        Ok(())
    }
}

fn identity(path: &Path) -> Result<Identity, ItemError> {
    Identity::at(path)
        .map_err(|error| ItemError::failed(format!("cannot inspect {}: {error}", path.display())))
}

/// Gives the new file the old one's metadata, makes it durable, and returns its identity.
fn dress(reload: &ReloadItem, folder: &Folder) -> Result<Identity, ItemError> {
    let refused = |error: &dyn std::fmt::Display| ItemError::failed(format!("the new file: {error}"));
    let metadata = Metadata::of(&reload.database).map_err(|error| refused(&error))?;
    let (inside, name) = folder.at(ItemFile::New);
    let new = inside.regular(name).map_err(|error| refused(&error))?;
    metadata.give(&new).map_err(|error| refused(&error))?;
    // The name in the work folder becomes durable with the state that is written next.
    new.sync_all().map_err(|error| refused(&error))?;
    let given = rustix::fs::fstat(&new).map_err(|error| refused(&error))?;
    Ok(Identity::of(&given))
}

/// Checks that no process replaced the original, linked it or wrote to it.
fn unchanged(reload: &ReloadItem, original: Identity, copying_writes: bool) -> Result<(), ItemError> {
    let found = stat(&reload.database).map_err(|error| ItemError::failed(format!("it is gone: {error}")))?;
    let now = Identity::of(&found);
    let same = now.inode == original.inode && (copying_writes || now == original);
    match same && found.st_nlink == 1 {
        true => Ok(()),
        false => Err(ItemError::failed(
            "another process replaced, linked or wrote the file while it was held; find that process, then try again",
        )),
    }
}
