//! Every parameter of libpq's connections, and how it is treated here. One that is not supported is refused by name:
//! many of these keep a password from the wrong server, and ignoring one would connect where psql does not.
//!
//! Source: PostgreSQL 18, "Parameter Key Words" and "Environment Variables" of the chapter on libpq.

use Use::{Ignored, Only, OnlyTls, Used};

/// Treatment of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Read where it is needed.
    Used,
    /// Ignored: it changes neither the server, nor the security, nor what is measured.
    Ignored,
    /// These values match the built-in behaviour (an empty list: none). Others are refused, with this advice.
    Only(&'static [&'static str], &'static str),
    /// As [`Use::Only`] if the connection may use TLS; otherwise ignored, as by libpq.
    OnlyTls(&'static [&'static str], &'static str),
}

/// A parameter of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name in URLs and service files.
    pub name: &'static str,
    /// Its environment variable; empty if it has none.
    pub variable: &'static str,
    /// How it is treated.
    pub what: Use,
}

const fn row(name: &'static str, variable: &'static str, what: Use) -> Parameter {
    Parameter { name, variable, what }
}

const NO_CLIENT_CERTIFICATE: &str =
    "client certificates are not supported: remove it and log in with a password";
const NO_OAUTH: &str = "OAuth is not supported: remove it and log in with a password";
const NO_REVOCATION: &str =
    "lists of revoked certificates are not supported: remove it if that is acceptable";
const NO_KEYS: &str = "SCRAM keys are not supported: remove it and set PGPASSWORD";

/// Every parameter, in the manual's order, and two that libpq accepts for older clients.
pub const PARAMETERS: &[Parameter] = &[
    row("host", "PGHOST", Used),
    row("hostaddr", "PGHOSTADDR", Used),
    row("port", "PGPORT", Used),
    row("dbname", "PGDATABASE", Used),
    row("user", "PGUSER", Used),
    row("password", "PGPASSWORD", Used),
    row("passfile", "PGPASSFILE", Used),
    row(
        "require_auth",
        "PGREQUIREAUTH",
        Only(
            &[],
            "the server's method is not checked: remove it, or set channel_binding=require, which accepts SCRAM alone",
        ),
    ),
    row("channel_binding", "PGCHANNELBINDING", Used),
    row("connect_timeout", "PGCONNECT_TIMEOUT", Used),
    // Text is sent as UTF-8, and the server converts it.
    row("client_encoding", "PGCLIENTENCODING", Ignored),
    row("options", "PGOPTIONS", Used),
    row("application_name", "PGAPPNAME", Used),
    row("fallback_application_name", "", Ignored),
    // These determine when a lost server is noticed.
    row("keepalives", "", Ignored),
    row("keepalives_idle", "", Ignored),
    row("keepalives_interval", "", Ignored),
    row("keepalives_count", "", Ignored),
    row("tcp_user_timeout", "", Ignored),
    row(
        "replication",
        "",
        Only(&["false", "off", "no", "0"], "statements are measured, not replication: remove it"),
    ),
    row(
        "gssencmode",
        "PGGSSENCMODE",
        Only(&["disable", "prefer"], "GSSAPI is not supported: set it to disable and use TLS (sslmode)"),
    ),
    row("sslmode", "PGSSLMODE", Used),
    row("requiressl", "PGREQUIRESSL", Used),
    row(
        "sslnegotiation",
        "PGSSLNEGOTIATION",
        OnlyTls(&["postgres"], "only postgres is supported: set it to that"),
    ),
    // Current servers and TLS 1.3 do not compress.
    row("sslcompression", "PGSSLCOMPRESSION", Ignored),
    row("sslcert", "PGSSLCERT", OnlyTls(&[], NO_CLIENT_CERTIFICATE)),
    row("sslkey", "PGSSLKEY", OnlyTls(&[], NO_CLIENT_CERTIFICATE)),
    row("sslkeylogfile", "", OnlyTls(&[], "keys are not logged: remove it")),
    row("sslpassword", "", OnlyTls(&[], NO_CLIENT_CERTIFICATE)),
    row("sslcertmode", "PGSSLCERTMODE", OnlyTls(&["disable", "allow"], NO_CLIENT_CERTIFICATE)),
    row("sslrootcert", "PGSSLROOTCERT", Used),
    row("sslcrl", "PGSSLCRL", OnlyTls(&[], NO_REVOCATION)),
    row("sslcrldir", "PGSSLCRLDIR", OnlyTls(&[], NO_REVOCATION)),
    row("sslsni", "PGSSLSNI", OnlyTls(&["1"], "the host's name is always sent: set it to 1")),
    row("requirepeer", "PGREQUIREPEER", Only(&[], "the server's user is not checked: remove it")),
    row(
        "ssl_min_protocol_version",
        "PGSSLMINPROTOCOLVERSION",
        OnlyTls(
            &["TLSv1", "TLSv1.1", "TLSv1.2"],
            "TLS 1.2 and 1.3 are supported: set it to TLSv1.2, or set ssl_min_protocol_version in the server",
        ),
    ),
    row(
        "ssl_max_protocol_version",
        "PGSSLMAXPROTOCOLVERSION",
        OnlyTls(&["TLSv1.3"], "TLS 1.2 and 1.3 are supported: remove it"),
    ),
    row(
        "min_protocol_version",
        "PGMINPROTOCOLVERSION",
        Only(&["3.0"], "protocol 3.0 is supported: set it to 3.0"),
    ),
    row(
        "max_protocol_version",
        "PGMAXPROTOCOLVERSION",
        Only(&["3.0", "3.2", "latest"], "protocol 3.0 is supported: set it to 3.0"),
    ),
    // How to log in by GSSAPI; a server that requires that is refused.
    row("krbsrvname", "PGKRBSRVNAME", Ignored),
    row("gsslib", "PGGSSLIB", Ignored),
    row("gssdelegation", "PGGSSDELEGATION", Ignored),
    row("scram_client_key", "", Only(&[], NO_KEYS)),
    row("scram_server_key", "", Only(&[], NO_KEYS)),
    row("service", "PGSERVICE", Used),
    row("target_session_attrs", "PGTARGETSESSIONATTRS", Used),
    row(
        "load_balance_hosts",
        "PGLOADBALANCEHOSTS",
        Only(&["disable"], "one server is measured: set it to disable"),
    ),
    row("oauth_issuer", "", Only(&[], NO_OAUTH)),
    row("oauth_client_id", "", Only(&[], NO_OAUTH)),
    row("oauth_client_secret", "", Only(&[], NO_OAUTH)),
    row("oauth_scope", "", Only(&[], NO_OAUTH)),
];

/// Variables for a server setting of each session, and the setting.
pub const SESSION: [(&str, &str); 3] =
    [("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone"), ("PGGEQO", "geqo")];

/// Whether a name is that of a parameter.
pub fn is_known(name: &str) -> bool {
    PARAMETERS.iter().any(|parameter| parameter.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::{ChannelBinding, Environment, SslMode, Target};

    /// "Parameter Key Words" and "Environment Variables" of PostgreSQL 18's manual.
    const DOCUMENTED: &str = "host hostaddr port dbname user password passfile require_auth channel_binding \
        connect_timeout client_encoding options application_name fallback_application_name keepalives \
        keepalives_idle keepalives_interval keepalives_count tcp_user_timeout replication gssencmode sslmode \
        sslnegotiation sslcompression sslcert sslkey sslkeylogfile sslpassword sslcertmode sslrootcert sslcrl \
        sslcrldir sslsni requirepeer ssl_min_protocol_version ssl_max_protocol_version min_protocol_version \
        max_protocol_version krbsrvname gsslib gssdelegation scram_client_key scram_server_key service \
        target_session_attrs load_balance_hosts oauth_issuer oauth_client_id oauth_client_secret oauth_scope";
    const VARIABLES: &str = "PGHOST PGHOSTADDR PGPORT PGDATABASE PGUSER PGPASSWORD PGPASSFILE PGREQUIREAUTH \
        PGCHANNELBINDING PGSERVICE PGOPTIONS PGAPPNAME PGSSLMODE PGREQUIRESSL PGSSLNEGOTIATION \
        PGSSLCOMPRESSION PGSSLCERT PGSSLKEY PGSSLCERTMODE PGSSLROOTCERT PGSSLCRL PGSSLCRLDIR PGSSLSNI \
        PGREQUIREPEER PGSSLMINPROTOCOLVERSION PGSSLMAXPROTOCOLVERSION PGGSSENCMODE PGKRBSRVNAME PGGSSLIB \
        PGGSSDELEGATION PGCONNECT_TIMEOUT PGCLIENTENCODING PGTARGETSESSIONATTRS PGLOADBALANCEHOSTS \
        PGMINPROTOCOLVERSION PGMAXPROTOCOLVERSION PGDATESTYLE PGTZ PGGEQO";

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment { variables: pairs.collect(), user: Some("ada".into()), ..Environment::default() }
    }

    fn resolved(url: &str, variables: &[(&str, &str)]) -> Result<Target, String> {
        Target::resolve(Some(url), &environment(variables)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_table_has_every_documented_parameter_and_variable() {
        for name in DOCUMENTED.split_whitespace() {
            assert_eq!(PARAMETERS.iter().filter(|row| row.name == name).count(), 1, "{name}");
        }
        for variable in VARIABLES.split_whitespace() {
            let parameters = PARAMETERS.iter().map(|row| row.variable);
            let known = parameters.chain(SESSION.iter().map(|(variable, _)| *variable));
            assert_eq!(known.filter(|known| *known == variable).count(), 1, "{variable}");
        }
        assert_eq!(PARAMETERS.len(), DOCUMENTED.split_whitespace().count() + 1, "and requiressl");
    }

    #[test]
    fn what_is_asked_for_and_not_done_is_refused_by_name_wherever_it_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("services");
        let (mut refused, url) = (0, "postgres://h/db");
        for Parameter { name, variable, what } in PARAMETERS {
            let (done, tls) = match what {
                Use::Only(done, _) => (*done, false),
                Use::OnlyTls(done, _) => (*done, true),
                Use::Used | Use::Ignored => continue,
            };
            refused += 1;
            for (value, taken) in done.iter().map(|value| (*value, true)).chain([("secret-value", false)]) {
                std::fs::write(&file, format!("[lab]\nhost=h\n{name}={value}\n")).unwrap();
                let service = [("PGSERVICEFILE", file.to_str().unwrap()), ("PGSERVICE", "lab")];
                let mut tries = vec![resolved("postgres:///db", &service)];
                // A URL refuses whatever may be a password.
                if !name.contains("passw") {
                    tries.push(resolved(&format!("{url}?{name}={value}"), &[]));
                }
                if !variable.is_empty() {
                    tries.push(resolved(url, &[(variable, value)]));
                }
                for found in tries {
                    assert_eq!(found.is_ok(), taken, "{name}={value}");
                    let why = found.err().unwrap_or_else(|| (*name).to_owned());
                    assert!(why.contains(name) && !why.contains("secret-value"), "{why}");
                }
                // Without TLS libpq does not look at what is only for TLS.
                let plain = resolved(url, &[(variable, value), ("PGSSLMODE", "disable")]);
                assert!(variable.is_empty() || plain.is_ok() == (taken || tls), "{name}");
            }
        }
        assert!(refused > 20);
        let why = resolved(url, &[("PGREQUIREAUTH", "scram-sha-256")]).unwrap_err();
        assert!(why.contains("PGREQUIREAUTH") && why.contains("channel_binding=require"), "{why}");
    }

    #[test]
    fn channel_binding_is_taken_from_everywhere_and_needs_tls() {
        let asked =
            |url: &str, variables: &[(&str, &str)]| resolved(url, variables).map(|it| it.channel_binding);
        assert_eq!(asked("postgres://h?channel_binding=prefer", &[]), Ok(ChannelBinding::Prefer));
        assert_eq!(
            asked("postgres://h?channel_binding=require&sslmode=require", &[]),
            Ok(ChannelBinding::Require)
        );
        assert_eq!(asked("postgres://h", &[("PGCHANNELBINDING", "disable")]), Ok(ChannelBinding::Disable));
        for (url, variables) in [
            ("postgres://h?channel_binding=require&sslmode=disable", &[][..]),
            ("postgres://h?sslmode=disable", &[("PGCHANNELBINDING", "require")]),
            ("postgres://%2Frun?channel_binding=require", &[]),
        ] {
            let why = asked(url, variables).unwrap_err();
            assert!(why.contains("TLS is not in use"), "{why}");
        }
        assert!(asked("postgres://h?channel_binding=secret", &[]).unwrap_err().contains("not one of"));
    }

    #[test]
    fn old_names_and_settings_of_sessions_are_done() {
        let mode = |url: &str, variables: &[(&str, &str)]| resolved(url, variables).unwrap().ssl_mode;
        assert_eq!(mode("postgres://h?ssl=true", &[]), SslMode::Require);
        assert_eq!(mode("postgres://h", &[("PGREQUIRESSL", "1")]), SslMode::Require);
        assert_eq!(mode("postgres://h", &[("PGREQUIRESSL", "0")]), SslMode::Prefer);
        assert_eq!(
            mode("postgres://h", &[("PGREQUIRESSL", "1"), ("PGSSLMODE", "disable")]),
            SslMode::Disable
        );
        let variables =
            [("PGOPTIONS", "-c a=1"), ("PGDATESTYLE", "ISO, DMY"), ("PGTZ", "default"), ("PGGEQO", "off")];
        let options = resolved("postgres://h", &variables).unwrap().options;
        assert_eq!(options.as_deref(), Some("-c a=1 -c datestyle=ISO,\\ DMY -c geqo=off"));
    }

    #[test]
    fn a_list_of_revoked_certificates_that_libpq_would_read_is_refused_where_certificates_are_checked() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".postgresql")).unwrap();
        std::fs::write(home.path().join(".postgresql/root.crl"), "").unwrap();
        let at_home = Environment { home: Some(home.path().to_owned()), ..environment(&[]) };
        let asked =
            |url: &str| Target::resolve(Some(url), &at_home).map(drop).map_err(|error| error.to_string());
        assert!(asked("postgres://h?sslmode=require").is_ok());
        assert!(asked("postgres://h?sslmode=verify-full").unwrap_err().contains("root.crl"));
    }
}
