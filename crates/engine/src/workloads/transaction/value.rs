//! Values of parameters.

use std::sync::Arc;

/// A value that is bound to a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum BindValue {
    /// A whole number.
    Whole(i64),
    /// A number with decimals, of an expression of pgbench.
    Real(f64),
    /// Text, which no engine takes for a part of the statement.
    Text(Arc<str>),
}

impl Default for BindValue {
    fn default() -> Self {
        Self::Whole(0)
    }
}
