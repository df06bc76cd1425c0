//! A workload is a type, `threadwise_study::Workload`: its name is text in study definitions, result files and the worker
//! protocol alone, and is compared nowhere but in the crate `study`.

use super::Violation;
use super::source::{SourceFile, is_place, line_of, words};

/// Where names are read.
const STUDY: &str = "crates/study/";

/// A name of a constant that would hold one.
const CONSTANT: &str = "WORKLOAD";

/// What gives a workload's name.
const NAME_OF: [&str; 4] = [".as_str()", ".name()", ".to_string()", "()"];

/// Comparisons of a workload's name with text, and constants of names, in shipped code.
pub fn check(file: &SourceFile<'_>) -> Vec<Violation> {
    if is_place(file.path, STUDY) || file.path.starts_with("xtask/") {
        return Vec::new();
    }
    let texts = file.shipped_strings();
    let compared = words(&texts, "workload").filter(|at| is_compared(&texts[at + "workload".len()..]));
    let constants = words(&file.shipped, CONSTANT);
    let why = "a workload's name is compared as text: match threadwise_study::Workload";
    let found = |at| Violation::new(file.path, line_of(file.text, at), why.to_owned());
    compared.chain(constants).map(found).collect()
}

/// Whether what follows the word `workload` compares it with a literal.
fn is_compared(rest: &str) -> bool {
    let rest = NAME_OF.iter().fold(rest, |rest, call| rest.strip_prefix(call).unwrap_or(rest)).trim_start();
    let compared = ["==", "!="].iter().find_map(|sign| rest.strip_prefix(sign));
    compared.is_some_and(|other| other.trim_start().starts_with('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&SourceFile::new(path, text)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn names_of_workloads_are_compared_in_their_crate_alone() {
        let text = "fn a(s: &S) -> bool {\n    s.workload == \"insert\"\n    || s.workload.name() != \"tpch\"\n\
                    || s.workload == tpch::WORKLOAD\n    || s.workload == Workload::Insert\n\
                    || known.workload == s.workload.name()\n}\n// workload == \"a\"\n";
        assert_eq!(lines("crates/a/src/b.rs", text), [2, 3, 4]);
        assert_eq!(lines("crates/study/src/b.rs", text), Vec::<usize>::new());
        assert_eq!(lines("crates/a/tests/it/b.rs", text), Vec::<usize>::new());
        assert_eq!(lines("crates/a/src/b.rs", "fn f() { g(\"workload\", WORKLOADS) }"), Vec::<usize>::new());
    }
}
