//! Options for reloading items, and the steps of an item for tests.

use crate::driver::Settings;
use crate::state::Originals;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Every step after which a kill leaves something else; for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The work folder exists.
    Folder,
    /// The first state is written.
    State,
    /// The database is held.
    Held,
    /// The backup is complete.
    Copied,
    /// The new file is complete.
    Restored,
    /// It was compared.
    Checked,
    /// It has the original's owner, mode and attributes.
    Dressed,
    /// The state has the identities of both files.
    Ready,
    /// The original has its second name.
    Linked,
    /// The original is sealed.
    Sealed,
    /// The new file has the name.
    Swapped,
    /// It was opened under it.
    Reopened,
    /// The hold is over.
    Released,
    /// The work folder is gone.
    Removed,
}

impl Step {
    /// All steps in their order.
    pub const ALL: [Self; 14] = [
        Self::Folder,
        Self::State,
        Self::Held,
        Self::Copied,
        Self::Restored,
        Self::Checked,
        Self::Dressed,
        Self::Ready,
        Self::Linked,
        Self::Sealed,
        Self::Swapped,
        Self::Reopened,
        Self::Released,
        Self::Removed,
    ];
}

/// Called after each step; `false` leaves everything as after a kill. For tests.
pub type Hook = Arc<dyn Fn(Step, &Path) -> bool + Send + Sync>;

/// Options for reloading items.
#[derive(Clone, Default)]
pub struct ItemOptions {
    /// The drivers' settings.
    pub settings: Settings,
    /// The fate of originals.
    pub originals: Originals,
    /// Ends items early, each of them restored.
    pub stop: Arc<AtomicBool>,
    /// For tests.
    #[doc(hidden)]
    pub hook: Option<Hook>,
}
