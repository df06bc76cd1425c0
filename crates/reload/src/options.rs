//! How items are to be reloaded, and the points of their way for tests.

use crate::driver::Settings;
use crate::state::Originals;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Every point of the way at which a kill leaves something else behind; for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The work folder is there.
    Folder,
    /// The first state is written.
    State,
    /// The database is held.
    Held,
    /// The backup is whole.
    Copied,
    /// The new file is whole.
    Restored,
    /// It was compared.
    Checked,
    /// It has the original's owner, mode and attributes.
    Dressed,
    /// The state says which file is which.
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

/// Called after each step; `false` leaves everything there and then as a kill would. For tests.
pub type Hook = Arc<dyn Fn(Step, &Path) -> bool + Send + Sync>;

/// How items are to be reloaded.
#[derive(Clone, Default)]
pub struct ItemOptions {
    /// What drivers look at.
    pub settings: Settings,
    /// What becomes of originals.
    pub originals: Originals,
    /// Ends items early, each of them put back.
    pub stop: Arc<AtomicBool>,
    /// For tests.
    #[doc(hidden)]
    pub hook: Option<Hook>,
}
