//! Packs the libraries that draw the charts by DEFLATE (RFC 1951): they are two thirds of what a page carries, and a third
//! of their size in the program.

use std::error::Error;
use std::path::Path;

const LIBRARIES: [&str; 2] = ["d3.min.js", "plot.umd.min.js"];
/// The smallest that miniz_oxide makes.
const LEVEL: u8 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::var("OUT_DIR")?;
    for name in LIBRARIES {
        let path = Path::new("assets").join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let packed = miniz_oxide::deflate::compress_to_vec(&text, LEVEL);
        std::fs::write(Path::new(&out).join(format!("{name}.deflate")), packed)?;
    }
    Ok(())
}
