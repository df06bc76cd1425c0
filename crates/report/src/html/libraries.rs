//! The libraries that draw the charts, as build.rs has packed them (RFC 1951).

use crate::ReportError;
use miniz_oxide::inflate;
use std::sync::LazyLock;

/// Text of a packed file, unpacked when it is first needed.
macro_rules! unpacked {
    ($name:literal) => {
        LazyLock::new(|| unpack(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".deflate"))))
    };
}

static D3: LazyLock<Option<String>> = unpacked!("d3.min.js");
static PLOT: LazyLock<Option<String>> = unpacked!("plot.umd.min.js");

fn unpack(packed: &[u8]) -> Option<String> {
    String::from_utf8(inflate::decompress_to_vec(packed).ok()?).ok()
}

/// d3 and Plot.
///
/// # Errors
/// [`ReportError::Template`]: the program is damaged.
pub(super) fn d3_and_plot() -> Result<(&'static str, &'static str), ReportError> {
    let whole = D3.as_deref().zip(PLOT.as_deref());
    whole.ok_or_else(|| {
        ReportError::Template(
            "the libraries of the charts cannot be unpacked: this program is damaged, install it again"
                .to_owned(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_what_was_downloaded() {
        let (d3, plot) = d3_and_plot().unwrap();
        assert_eq!(d3, include_str!("../../assets/d3.min.js"));
        assert_eq!(plot, include_str!("../../assets/plot.umd.min.js"));
    }

    #[test]
    fn damage_is_not_a_script() {
        assert_eq!(unpack(b"\xff\xff\xff"), None);
    }
}
