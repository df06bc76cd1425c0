//! Questions that every study is asked besides its own: whether the measurement can be trusted, and what else is in it.
//! Each is a file with its observations, its family, what is said of the answer and from which result on.

mod answer;
pub mod clock;
pub mod first_block;
pub mod halves;
pub(crate) mod neighbours;
pub mod order;
pub mod settling;

pub use answer::QuestionAnswer;
