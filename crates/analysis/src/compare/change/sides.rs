//! The studies before and after.

use crate::Facts;

/// Fewest studies a side, or pairs, that a change is claimed from: of two the t interval is too wide to be of use, and one
/// has none.
pub const MIN_STUDIES: usize = 3;

/// The studies of both sides, in the order in which they were given.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a, 's> {
    /// Before.
    pub before: &'s [Facts<'a>],
    /// After.
    pub after: &'s [Facts<'a>],
    /// Whether the first of one side belongs to the first of the other, and so on.
    pub is_paired: bool,
}

impl<'a> Sides<'a, '_> {
    /// All studies, those of before first.
    pub fn all(&self) -> Vec<Facts<'a>> {
        [self.before, self.after].concat()
    }
}
