//! Looks: where a hypervisor runs our logical CPUs at this moment, in a tenth of a millisecond.
//!
//! A study of seconds sees a mixture: a guest's logical CPUs are moved between cores while it runs, and a
//! probe of a second can only report *moving*. A look is short enough to see one state: two logical CPUs pass
//! a cache line, all run the wide kernel at once, and then two of them without each other. The result is a
//! [`threadwise_study::Look`], which [`threadwise_study::look::follow`] judges. Method and figures: docs/PROBE.md,
//! "Looks".

pub mod live;
mod meet;

pub use meet::{CHAIN_STEPS, MOVES_PER_READING, WAIT_AT_MOST, WIDE_STEPS};
