//! Statements in production: which of them changed between two states, or since a moment.
//!
//! The unit is the change of state, not the call and not the interval: an hour in one state shares its data, its
//! neighbours and its load. States that take turns make triples of episodes, each middle one against the mean of its
//! neighbours, so that what grows steadily cancels; no episode is in two triples, so that they are independent. Where
//! there is one change only, days before and after are compared, and the answer says that it is confounded. Within a
//! pair, intervals of like load and hour are compared. All statements are one family (Holm).
//!
//! Sources: Kalibera, Jones, "Rigorous benchmarking in reasonable time" (ISMM 2013) for the highest level of repetition
//! as the unit; Hinkelmann, Kempthorne, *Design and Analysis of Experiments* I (2008), chapters 9 and 10, for blocks and
//! for designs that are balanced against a trend; Cochran, "The effectiveness of adjustment by subclassification",
//! Biometrics 24 (1968), for strata; Holm 1979. Error rates are simulated: docs/METHODOLOGY.md, "Statements in
//! production".

mod compared;
mod document;
mod episodes;
mod plan;
mod strata;
mod sums;

pub use compared::{Compared, Comparison, Confounded, LeftOut, compare};
pub use document::{document, trust};
pub use episodes::{By, Episode};
pub use plan::{Design, Plan, Question, plan};
pub use sums::Sums;
