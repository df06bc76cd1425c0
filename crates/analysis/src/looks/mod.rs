//! Where slices ran: what looks around them say of cores and co-runners (docs/METHODOLOGY.md, "Where slices
//! ran").

pub mod states;
