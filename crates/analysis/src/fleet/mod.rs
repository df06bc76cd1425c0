//! Fleets: the same study on many machines, of one kind or several, over boots and repeats, with the machine as the
//! statistical unit.
//!
//! Studies of one machine have the machine in common, so an interval over all of them says nothing of the next machine
//! (Kalibera, Jones, ISMM 2013: intervals are made where repetition is highest). A machine is one number: the mean over
//! its boots of the mean of each boot's studies. Sources: docs/METHODOLOGY.md, "Fleets".

mod between;
mod cautions;
mod document;
mod judge;
mod judged;
mod machines;
mod odd;
mod place;
mod rates;
mod spread;
mod types;

#[cfg(test)]
mod tests;

pub use between::difference;
pub use document::document;
pub use judge::judge;
pub use judged::{
    AbsentCell, AbsentCells, Basis, Between, DiffersIn, Judged, JudgedComparison, JudgedKind, JudgedRate,
    KindRate, KindRatio, LEVEL, LevelSd, MIN_MACHINES, MachineValue, Needed, OddMachine,
    RECOMMENDED_MACHINES, Range, Spread, Unlike, UnlikeValue,
};
pub use machines::{machine_mean, next_machine};
pub use place::Place;
pub use spread::{fewest, machines_for};
pub use types::{Absence, Absent, Fleet, FleetRate, FleetRatio, FleetStudy, Kind, Price};
