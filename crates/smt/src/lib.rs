//! SMT, logical CPUs and clocks of the machine: what can be switched here, switching it, and restoring
//! exactly what was.
//!
//! [`refuse::check`] lists what is not possible here. [`Held`] records the state of the machine in a journal with the
//! form, folder and rules of those of masks (`threadwise_process::journal`), starts a watchdog and switches; [`left`]
//! restores the journals of killed processes. All files that are read and written are below [`Roots`], all
//! changes go through [`Kernel`], and only files and values that [`Setting`] lists are ever written. docs/SMT.md
//! describes what is changed and restored, and in which order.
//!
//! Sources: kernel `Documentation/ABI/testing/sysfs-devices-system-cpu`, `Documentation/admin-guide/cputopology.rst`,
//! `Documentation/core-api/cpu_hotplug.rst`, `kernel/cpu.c`, `kernel/cgroup/cpuset.c`; each module names its own.

pub mod arm;
pub mod error;
pub mod facts;
pub mod held;
pub mod kernel;
pub mod left;
pub mod refuse;
pub mod roots;
pub mod setting;
pub mod settle;
pub mod state;
pub mod status;
mod tasks;
pub mod watchdog;

pub use arm::{Arm, Smt};
pub use error::SmtError;
pub use facts::Facts;
pub use held::Held;
pub use kernel::{Kernel, Live};
pub use refuse::Abilities;
pub use roots::Roots;
pub use setting::Setting;
pub use settle::{Settled, online_now};
pub use state::MachineState;
pub use status::Status;
