//! Bytes as one word, in a line of the log and in messages between a run and its process of another user.

/// Bytes in one word: those that are not plain are written `%XX`, and the word ends with `%.`, so that a truncated
/// word is recognised, and an empty one exists.
pub fn escaped(bytes: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:@,".contains(&byte);
    let mut text = String::new();
    for byte in bytes {
        match plain(*byte) {
            true => text.push(char::from(*byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text + "%."
}

/// Undoes [`escaped`]; `None` for other text.
pub fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.strip_suffix("%.")?.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    Some(bytes)
}
