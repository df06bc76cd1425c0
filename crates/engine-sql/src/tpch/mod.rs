//! `tpch` on servers, written once: the data, streams of queries, sessions of short queries beside them, and the
//! treatment around them.
//!
//! A database adds its SQL as data ([`TpchSql`]), how it takes a table's text and opens a session ([`QueryDriver`]), and what it reports about a query ([`QueryStream`]). The data is
//! read-only and shared by all treatments.
//!
//! Source: *TPC Benchmark H, Standard Specification*, revision 3.0.1.

mod driver;
mod load;
mod qualify;
mod session;
mod treatment;

pub use driver::{
    Notes, QueryDriver, QueryFault, QueryStream, Setup, Texts, TpchSql, parse, standard_type, time_left,
};
pub use load::load;
pub use qualify::qualified;
pub use session::StreamSession;
pub use treatment::Queries;
