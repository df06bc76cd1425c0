//! Texts for YAML: double-quoted, with everything but printable ASCII escaped.
//!
//! Source: YAML 1.2.2, 5.7 and 7.3.1 (double-quoted style); YAML 1.1, which Ansible's reader uses, has all escapes used
//! here. Between the quotes a backslash begins an escape and a quote ends the text; other printable ASCII is literal,
//! and line breaks, which would be folded, are escaped.

/// A text as a double-quoted scalar.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            ' '..='~' => quoted.push(c),
            // JSON would use a pair of surrogates; YAML does not.
            _ => quoted.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}

/// The same, for a value that Ansible must not treat as a template.
pub(super) fn unsafe_quoted(text: &str) -> String {
    format!("!unsafe {}", quoted(text))
}

/// A list of texts in one line.
pub(super) fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    format!("[{}]", texts.into_iter().map(quoted).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Texts that mean something in YAML, in a shell, to Ansible's templates or to a terminal.
    const HOSTILE: [&str; 24] = [
        "",
        " ",
        "a b",
        "- a",
        "a: b",
        "a #b",
        "'",
        "\"",
        "\\",
        "\\n",
        "a\nb",
        "a\r\nb",
        "\t",
        "\u{85}\u{2028}\u{2029}",
        "\u{feff}",
        "\u{7f}\u{9b}",
        "größe",
        "🦀",
        "{{ 1 + 1 }}",
        "{% raw %}",
        "!unsafe x",
        "*a &b",
        "null",
        "0x10",
    ];

    #[test]
    fn only_printable_ascii_is_written() {
        assert_eq!(quoted("a \"b\" \\ \n 🦀"), "\"a \\\"b\\\" \\\\ \\U0000000a \\U0001f980\"");
        assert!(HOSTILE.iter().all(|text| quoted(text).chars().all(|c| (' '..='~').contains(&c))));
        assert_eq!(list(["a", "b\""]), "[\"a\", \"b\\\"\"]");
    }

    mod lab_fleets {
        use super::*;

        #[test]
        #[ignore = "laboratory: fleets"]
        fn pyyaml_reads_what_was_meant() {
            let folder = crate::engines::fetched();
            let all: Vec<char> = (0..=0x2100_u32).filter_map(char::from_u32).collect();
            let all: String = all.iter().collect();
            let mut texts: Vec<String> = HOSTILE.iter().map(|text| (*text).to_owned()).collect();
            texts.push(all);
            let document = format!("{{\"k\\U0000003a \": {}}}", list(texts.iter().map(String::as_str)));
            let program = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.argv[1])))";
            // A NUL cannot stand in an argument, and does not: it is escaped.
            let output =
                Command::new(folder.join("python")).args(["-c", program, &document]).output().unwrap();
            let read: serde_json::Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
            assert_eq!(read, serde_json::json!({ "k: ": texts }));
        }
    }
}
