//! Parts of a server's address.

/// Host without brackets, and port; `None` for an invalid port.
pub fn split_port(address: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match address.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    match port {
        None | Some("") => Some((host, None)),
        Some(port) => port.parse().ok().filter(|port| *port > 0).map(|port| (host, Some(port))),
    }
}

/// Decodes percent encoding (RFC 3986, 2.1); `None` for a % that two digits do not follow.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_split_from_names_and_from_addresses_in_brackets() {
        for (text, wanted) in [
            ("db", Some(("db", None))),
            ("db:", Some(("db", None))),
            ("db:1433", Some(("db", Some(1433)))),
            ("[::1]:5", Some(("::1", Some(5)))),
            ("[::1]", Some(("::1", None))),
            ("db:0", None),
            ("db:70000", None),
        ] {
            assert_eq!(split_port(text), wanted, "{text}");
        }
    }

    #[test]
    fn percent_signs_need_two_digits() {
        assert_eq!(decode("a%20b%C3%A4").as_deref(), Some("a b\u{e4}"));
        for bad in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
