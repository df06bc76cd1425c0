//! The machine as a picture: boxes in boxes, and where the sessions of a placement run.
//!
//! `groups` says which boxes a machine could have, `areas` puts them into each other, `place` gives them places. Two
//! renderers draw that: `boxes` for a terminal, `html` as SVG.

pub(crate) mod areas;
mod boxes;
mod groups;
pub(crate) mod place;
mod sessions;
#[cfg(test)]
mod tests;

pub use boxes::boxes;
pub use sessions::Sessions;
