//! Limit on the size of an answer: rows are read one after another and counted, and none is kept.

/// Bytes that a row counts besides its values, so that rows without values have a limit too.
const ROW_BYTES: u64 = 8;

/// The size of one answer, as far as it was read.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerSize(u64);

impl AnswerSize {
    /// Most bytes of one answer.
    pub const MOST_BYTES: u64 = 64 << 20;

    /// Counts a row with this many bytes of values.
    ///
    /// # Errors
    /// The answer is too large: the message.
    pub fn add_row(&mut self, bytes: usize) -> Result<(), String> {
        self.0 = self.0.saturating_add(bytes as u64).saturating_add(ROW_BYTES);
        match self.0 <= Self::MOST_BYTES {
            true => Ok(()),
            false => Err(format!(
                "its answer has more than {} MiB, the most that is read: ask for fewer rows or columns",
                Self::MOST_BYTES >> 20
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_rows_and_many_empty_ones_have_an_end() {
        let mut size = AnswerSize::default();
        assert_eq!((0..63).try_for_each(|_| size.add_row(1 << 20)), Ok(()));
        assert!(size.add_row(1 << 20).unwrap_err().contains("more than 64 MiB"));
        let mut size = AnswerSize::default();
        assert!((0..9_000_000).any(|_| size.add_row(0).is_err()));
        assert!(AnswerSize::default().add_row(usize::MAX).is_err());
    }
}
