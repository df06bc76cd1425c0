//! Does a plan: N jobs, one queue or parts of the list, a chain of commands for each item.
