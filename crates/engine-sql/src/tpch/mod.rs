//! `tpch` on servers, written once: the data, streams of queries, sessions of short queries beside them, and the
//! treatment around them.
//!
//! A database adds its SQL and the options that it does not follow as data ([`TpchSql`], [`TpchLimits`]), how it takes a
//! table's text and opens a session ([`QueryDriver`]), and what it reports about a query ([`QueryStream`]). The data is
//! read-only and shared by all treatments.
//!
//! Source: *TPC Benchmark H, Standard Specification*, revision 3.0.1.

mod driver;
mod load;
mod session;
mod treatment;

pub use driver::{
    Filled, Notes, QueryDriver, QueryFault, QueryStream, Setup, Texts, TpchLimits, TpchSql, standard_type,
    time_left,
};
pub use load::load;
pub use session::StreamSession;
pub use treatment::Queries;
