//! Versions of servers and programs.

use threadwise_engine::EngineError;
use threadwise_machine::text::one_line;

use crate::product::Product;

/// The number in a text such as `10.11.19-MariaDB-0+deb12u1` or `mariadbd  Ver 11.4.2-MariaDB for …`: 101119, 110402;
/// 80404 for `8.4.4`. `None` for a text without such a number.
fn parse(text: &str) -> Option<u32> {
    // Old protocols put 5.5.5- before it.
    let text = text.replace("5.5.5-", "");
    text.split(|letter: char| !letter.is_ascii_digit() && letter != '.').find_map(|word| {
        let numbers: Vec<u32> = word.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        match numbers.as_slice() {
            [major, minor, patch] => Some(major * 10_000 + minor * 100 + patch),
            _ => None,
        }
    })
}

/// The number of a supported version of this product.
///
/// # Errors
/// Another product, with the engine for it if there is one; or a version that is too old.
pub(crate) fn require(text: &str, place: &str, product: &Product) -> Result<u32, EngineError> {
    let (short, action) = (one_line(text, 80), format!("use the server at {place}"));
    let Product { title, oldest_text, .. } = product;
    match (Product::of(text), parse(text)) {
        (Some(found), Some(version)) if found.engine() == product.engine() => match version >= product.oldest
        {
            true => Ok(version),
            false => {
                let why = format!(
                    "{title} '{short}' is older than {oldest_text}, the oldest whose counters are known; use a newer one"
                );
                Err(product.failed(action, why))
            }
        },
        (Some(found), Some(_)) => {
            let (other, scheme) = (found.title, found.engine());
            let why = format!(
                "'{short}' is {other}, not {title}; a running one is reached by {scheme}://USER@HOST"
            );
            Err(product.failed(action, why))
        }
        _ => {
            Err(product
                .failed(action, format!("'{short}' is not {title}; use {title} {oldest_text} or newer")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::{MARIADB, MYSQL};

    #[test]
    fn versions_are_read_from_servers_and_programs() {
        for (text, version) in [
            ("10.11.19-MariaDB-0+deb12u1", Some(101_119)),
            ("5.5.5-10.4.7-MariaDB", Some(100_407)),
            ("mariadbd  Ver 11.4.2-MariaDB-ubu2404 for debian-linux-gnu on x86_64", Some(110_402)),
            ("mysqld  Ver 8.4.0 for Linux on x86_64 (MySQL Community Server - GPL)", Some(80_400)),
            ("9.7.4-2", Some(90_704)),
            ("MariaDB", None),
        ] {
            assert_eq!(parse(text), version, "{text}");
        }
    }

    #[test]
    fn old_ones_and_other_products_are_refused_with_what_to_use() {
        let why = |text: &str, product: &Product| require(text, "x", product).unwrap_err().to_string();
        assert_eq!(require("10.5.0-MariaDB", "x", &MARIADB).unwrap(), 100_500);
        assert_eq!(require("8.0.36", "x", &MYSQL).unwrap(), 80_036);
        assert!(why("10.4.34-MariaDB", &MARIADB).contains("older than 10.5"));
        assert!(why("5.7.44-log", &MYSQL).contains("older than 8.0"));
        assert!(
            why("8.0.36\n", &MARIADB)
                .contains("'8.0.36' is MySQL, not MariaDB; a running one is reached by mysql://")
        );
        assert!(why("11.4.2-MariaDB", &MYSQL).contains("reached by mariadb://"));
        assert!(why("8.0.11-TiDB-v7", &MYSQL).contains("is not MySQL; use MySQL 8.0 or newer"));
    }
}
