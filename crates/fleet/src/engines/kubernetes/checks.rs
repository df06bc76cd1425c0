//! Rules for names, labels, images and quantities. Schemas accept any text for them, and the API server reports errors
//! only when a manifest is applied.
//!
//! Sources: RFC 1123, 2.1; "Object Names and IDs", "Labels and Selectors", "Images" and "Resource Management for Pods
//! and Containers" of Kubernetes' documentation; apimachinery's `validation.go` and `quantity.go`.

/// Maximum length of a DNS label, and of a label's value.
pub(super) const MOST_LABEL: usize = 63;
/// Maximum length of a DNS subdomain.
const MOST_SUBDOMAIN: usize = 253;
/// Maximum CPUs of a pod, thousandths.
const MOST_MILLICPUS: u64 = 4_096_000;
/// Minimum memory of a pod, bytes: less is a typing error, such as `512` for 512 MB.
const LEAST_MEMORY_BYTES: u64 = 16 << 20;

/// Whether a text is a DNS label: a namespace, the name of a Job.
pub(super) fn is_label(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=MOST_LABEL).contains(&text.len())
        && text.starts_with(edge)
        && text.ends_with(edge)
        && text.chars().all(|c| edge(c) || c == '-')
}

/// Whether a text is a DNS subdomain: a claim, a service account, the prefix of a label's key.
pub(super) fn is_subdomain(text: &str) -> bool {
    text.len() <= MOST_SUBDOMAIN && text.split('.').all(is_label)
}

/// Whether a text is the name of a label's key, or a label's value that is not empty.
fn is_label_text(text: &str) -> bool {
    (1..=MOST_LABEL).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Whether a text is a label's key: a name, optionally with a subdomain and `/` before it.
pub(super) fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_label_text(name),
        None => is_label_text(text),
    }
}

/// Whether a text is a label's value.
pub(super) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_label_text(text)
}

/// The error of an image; `None` if it has a digest.
pub(super) fn image_fault(image: &str) -> Option<&'static str> {
    let Some((name, digest)) = image.split_once("@sha256:") else {
        return Some("give its digest, NAME@sha256:DIGEST: a tag may be another image tomorrow");
    };
    let is_hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if digest.len() != 64 || !digest.chars().all(is_hexadecimal) {
        return Some("a digest is sha256: and 64 lower-case hexadecimal digits");
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':');
    let is_edge = |c: char| c.is_ascii_alphanumeric();
    let is_name = name.starts_with(is_edge) && name.ends_with(is_edge) && name.chars().all(plain);
    (!is_name || name.contains("//"))
        .then_some("its name may have letters, digits, '.', '_', '-', '/' and ':'")
}

/// The error of an absolute path in a container or on a node; no character may be special to a shell.
pub(super) fn path_fault(path: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    let parts = path.strip_prefix('/').unwrap_or_default();
    let is_path = path.chars().all(plain) && parts.split('/').all(|part| !matches!(part, "" | "." | ".."));
    (!is_path).then_some("give an absolute path of letters, digits, '.', '_' and '-'")
}

/// CPUs in thousandths: `7`, `7.5` or `7500m`, above 0.
pub(super) fn millicpus(text: &str) -> Option<u64> {
    let millis = match text.strip_suffix('m') {
        Some(number) => digits(number)?,
        None => {
            let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
            if !(1..=3).contains(&part.len()) {
                return None;
            }
            digits(whole)?
                .checked_mul(1000)?
                .checked_add(digits(part)? * 10_u64.pow(3 - part.len() as u32))?
        }
    };
    (1..=MOST_MILLICPUS).contains(&millis).then_some(millis)
}

/// Memory in bytes: a whole number with `Ki`, `Mi`, `Gi`, `Ti`, `k`, `M`, `G`, `T`, or of bytes. `m` is refused: it
/// means thousandths of a byte, and users mean megabytes.
pub(super) fn memory_bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: u64 = match unit {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    digits(number)?.checked_mul(factor).filter(|bytes| *bytes >= LEAST_MEMORY_BYTES)
}

fn digits(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.len() <= 18 && text.chars().all(|c| c.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_rfc_1123() {
        let (full, long) = ("a".repeat(63), "a".repeat(64));
        for name in ["a", "9", "tw-1", &full] {
            assert!(is_label(name) && is_subdomain(name), "{name}");
        }
        for name in ["", "-a", "a-", "A", "a_b", "a.b", "a b", "ä", "a\n", &long] {
            assert!(!is_label(name), "{name}");
        }
        assert!(is_subdomain("ip-10-0-0-1.eu-central-1.compute.internal"));
        let many = ["a"; 128].join(".");
        for name in ["a..b", ".a", "a.", "a._b", &many] {
            assert!(!is_subdomain(name), "{name}");
        }
        for (key, is_good) in [
            ("node.kubernetes.io/instance-type", true),
            ("Disk_Type.1", true),
            ("a/b/c", false),
            ("/b", false),
            ("a/", false),
            ("A.com/b", false),
            ("-a", false),
        ] {
            assert_eq!(is_label_key(key), is_good, "{key}");
        }
        for (value, is_good) in
            [("", true), ("m7i.large", true), ("a b", false), ("a-", false), (&*long, false)]
        {
            assert_eq!(is_label_value(value), is_good, "{value}");
        }
    }

    #[test]
    fn images_are_named_by_their_digest() {
        let digest = "0123456789abcdef".repeat(4);
        for name in ["busybox", "reg.example:5000/a/b_c", "a:1.2"] {
            assert_eq!(image_fault(&format!("{name}@sha256:{digest}")), None, "{name}");
        }
        for image in ["busybox", "busybox:1.37", "a@sha512:00", ""] {
            assert!(image_fault(image).unwrap().contains("give its digest"), "{image}");
        }
        for image in [
            format!("a@sha256:{}", &digest[1..]),
            format!("a@sha256:{digest}0"),
            format!("@sha256:{digest}"),
            format!("a b@sha256:{digest}"),
            format!("a@sha256:{}", digest.to_uppercase()),
            format!("a//b@sha256:{digest}"),
            format!("a@sha256:{digest}@sha256:{digest}"),
            format!("a/@sha256:{digest}"),
        ] {
            assert!(image_fault(&image).is_some(), "{image}");
        }
    }

    #[test]
    fn quantities_are_what_people_mean_by_them() {
        for (text, millis) in [("7", 7000), ("7.5", 7500), ("0.25", 250), ("7910m", 7910), ("1.005", 1005)] {
            assert_eq!(millicpus(text), Some(millis), "{text}");
        }
        for text in [
            "",
            "0",
            "0m",
            "-1",
            "+1",
            "1e3",
            "1.",
            ".5",
            "1.0005",
            "1,5",
            "7 ",
            "1k",
            "1mm",
            "4097",
            "9".repeat(20).as_str(),
        ] {
            assert_eq!(millicpus(text), None, "{text}");
        }
        for (text, bytes) in
            [("16Mi", 16 << 20), ("30G", 30_000_000_000), ("1Ti", 1 << 40), ("20000000", 20_000_000)]
        {
            assert_eq!(memory_bytes(text), Some(bytes), "{text}");
        }
        for text in ["", "512", "512m", "1GB", "1g", "1.5Gi", "-1Gi", "1 Gi", "1e9", "Gi", "99999999999Ti"] {
            assert_eq!(memory_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn paths_mean_nothing_to_a_shell() {
        for (path, is_good) in [
            ("/fleet", true),
            ("/a/b-c_d.e", true),
            ("a", false),
            ("/", false),
            ("/a/../b", false),
            ("/a//b", false),
            ("/a b", false),
            ("/$(x)", false),
            ("", false),
        ] {
            assert_eq!(path_fault(path).is_none(), is_good, "{path}");
        }
    }
}
