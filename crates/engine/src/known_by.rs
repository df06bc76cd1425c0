//! How an engine is known outside of it: other names, addresses, the processes of its servers.

/// Names by which users ask for an engine, and by which its processes are found. The default is that of an
/// engine without servers, which has one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KnownBy {
    /// Other names that people type for it, in lower case: products, programs, short forms.
    pub other_names: &'static [&'static str],
    /// Addresses of running servers that `--engine` accepts instead of a name; `None` if it has no servers.
    pub address: Option<Address>,
    /// Names of its server processes, whoever started them (`comm`, 15 characters at most). Nothing is
    /// measured beside such a server, unless the study measures it.
    pub servers: &'static [&'static str],
    /// Names of the processes that it starts in the study's data folder and that may outlive their worker;
    /// they are ended with the folder.
    pub started: &'static [&'static str],
}

/// An address of a server: `SCHEME://…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// Schemes; messages show the first one.
    pub schemes: &'static [&'static str],
    /// Where a password is taken from, since it does not belong into an address; or why a running server
    /// cannot be measured.
    pub password: Result<&'static str, &'static str>,
}
