//! The doctor on folders of our own making and on this machine.

mod damage;
mod limits;
mod measured;
mod settings;
mod support;
mod system;
