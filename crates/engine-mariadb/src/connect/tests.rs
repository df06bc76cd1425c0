//! Which server is meant: URL before environment before file before the usual place.

use super::*;

fn resolved(url: &str, variables: &[(&str, &str)], file: Option<(&str, bool)>) -> Target {
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let around = Surroundings {
        variable: &variable,
        my_cnf: file.map(|(text, shared)| (text.to_owned(), shared)),
        exists: &|path| path == Path::new("/var/lib/mysql/mysql.sock"),
    };
    resolve(url, &around).unwrap()
}

#[test]
fn nothing_said_is_the_usual_socket_and_the_own_name() {
    let target = resolved("mariadb://", &[("USER", "ann")], None);
    assert_eq!(target.place, Endpoint::Socket("/var/lib/mysql/mysql.sock".into()));
    assert_eq!((target.user.as_str(), target.has_password()), ("ann", false));
    assert_eq!(resolved("mariadb://localhost/", &[], None).place, target.place);
}

#[test]
fn the_environment_comes_before_the_file_and_the_url_before_both() {
    let file = Some(("[client]\nuser=filed\npassword=p\nhost=filehost\nport=1\nsocket=/file", false));
    let variables =
        [("MYSQL_HOST", "my"), ("MARIADB_HOST", "maria"), ("MYSQL_TCP_PORT", "3310"), ("USER", "ann")];
    let target = resolved("mariadb://", &variables, file);
    assert_eq!(target.place, Endpoint::Tcp("maria".into(), 3310));
    assert_eq!((target.user.as_str(), target.has_password()), ("filed", true));
    let target = resolved("mariadb://bob@db:3399/x", &variables, file);
    assert_eq!(target.place, Endpoint::Tcp("db".into(), 3399));
    assert_eq!((target.user.as_str(), target.database.as_deref()), ("bob", Some("x")));
    assert_eq!(resolved("mariadb://", &[], file).place, Endpoint::Tcp("filehost".into(), 1));
    let socket = resolved("mariadb://localhost", &[("MYSQL_UNIX_PORT", "/env"), ("MYSQL_HOST", "h")], file);
    assert_eq!(socket.place, Endpoint::Socket("/env".into()));
    assert_eq!(
        resolved("mariadb://localhost:3307", &[], file).place,
        Endpoint::Tcp("localhost".into(), 3307)
    );
}

#[test]
fn a_password_that_others_may_read_is_noted_and_never_shown() {
    let shared = resolved("mariadb://", &[], Some(("[client]\npassword=hush", true)));
    assert!(shared.notes[0].contains("chmod 600") && !shared.notes[0].contains("hush"));
    assert!(resolved("mariadb://", &[], Some(("[client]\nuser=x", true))).notes.is_empty());
    assert!(resolved("mariadb://", &[("MYSQL_PWD", "x")], None).has_password());
}

#[test]
fn sockets_need_no_tls_and_hosts_get_it_when_they_can() {
    let tls = |url: &str| mysql::Opts::from(resolved(url, &[], None).options(false)).get_ssl_opts().is_some();
    assert!(!tls("mariadb://") && tls("mariadb://host") && !tls("mariadb://host?ssl-mode=disabled"));
    let target = resolved("mariadb://host", &[], None);
    assert!(target.plain_will_do());
    assert!(!resolved("mariadb://host?ssl-mode=required", &[], None).plain_will_do());
    let verified = resolved("mariadb://host?ssl-mode=verify-identity", &[], None).options(false);
    let options = mysql::Opts::from(verified);
    let certificates = options.get_ssl_opts().unwrap();
    assert!(!certificates.skip_domain_validation() && !certificates.accept_invalid_certs());
}

#[test]
fn a_port_that_is_no_number_is_refused_and_says_where_it_stands() {
    let asked = |port: &str, text: &str| {
        let variable = |name: &str| (name == "MYSQL_TCP_PORT" && !port.is_empty()).then(|| port.to_owned());
        let my_cnf = Some((text.to_owned(), false));
        let around = Surroundings { variable: &variable, my_cnf, exists: &|_| false };
        resolve("mariadb://host", &around).map(|target| target.place).map_err(|error| error.to_string())
    };
    let why = asked("", "[client]\nhost=h\nport=hush\n").unwrap_err();
    assert!(why.contains("~/.my.cnf, line 3") && !why.contains("hush"), "{why}");
    assert!(asked("hush", "").unwrap_err().contains("MYSQL_TCP_PORT"));
    assert_eq!(asked("", "[client]\nport=3999#x\n"), Ok(Endpoint::Tcp("host".into(), 3999)));
    assert_eq!(asked("0", "[client]\nport=3999\n"), Ok(Endpoint::Tcp("host".into(), 3999)));
}
