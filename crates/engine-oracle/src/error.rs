//! Errors of the driver and of a server, as one line that says what to do next.
//!
//! A view or package without permission is reported as missing (ORA-00942, PLS-00201; from 23ai on ORA-41900).

use threadwise_engine::EngineError;

/// Name of the engine.
pub(crate) const ENGINE: &str = "oracle";

/// Advice by numbers of errors.
const ADVICE: &str = include_str!("errors.txt");

/// Numbers that mean a missing privilege, possibly; in PL/SQL a package that may not be used.
const MISSING: [&str; 7] =
    ["ORA-00942", "ORA-01031", "ORA-41900", "ORA-00990", "ORA-01720", "ORA-01749", "ORA-65096"];
const MISSING_IN_BLOCK: [&str; 2] = ["PLS-00201", "PLS-00904"];

/// Longest first sentence of a message that is passed on, bytes.
const LONGEST: usize = 300;

/// An error, as the proxy reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Such as `ORA-00942`; `driver` if the driver cannot be loaded; empty if it has no number.
    pub code: String,
    /// The whole message.
    pub text: String,
}

impl Fault {
    /// The proxy has ended.
    pub(crate) fn of_proxy(cause: &std::io::Error) -> Self {
        Self { code: String::new(), text: format!("its process of Python ended: {cause}") }
    }

    /// Whether the account lacks a privilege, as far as the error shows.
    pub(crate) fn is_missing(&self) -> bool {
        MISSING.contains(&self.code.as_str()) || MISSING_IN_BLOCK.iter().any(|one| self.text.contains(one))
    }

    /// The message, with what to do next if that is known.
    pub(crate) fn advice(&self) -> String {
        if self.code == "driver" {
            return format!(
                "the driver oracledb cannot be loaded ({}); run: threadwise engine add oracle",
                self.text
            );
        }
        let mut lines = self.text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut text = sentence(lines.next().unwrap_or("no message"));
        // What a block failed with comes after where it failed.
        if let Some(inner) = lines.find(|line| line.starts_with("PLS-")).filter(|inner| !text.contains(inner))
        {
            text = format!("{text}: {inner}");
        }
        let hint = ADVICE.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let (numbers, hint) = line.split_once(' ')?;
            numbers.split(',').any(|number| number == self.code).then_some(hint)
        });
        hint.map_or(text.clone(), |hint| format!("{text}; {hint}"))
    }
}

/// A line up to the first full stop that a capital follows.
fn sentence(line: &str) -> String {
    let end = line.match_indices(". ").map(|(at, _)| at);
    let end = end.into_iter().find(|at| line[at + 2..].starts_with(|next: char| next.is_ascii_uppercase()));
    let line = &line[..end.unwrap_or(line.len())];
    let cut = (0..=LONGEST.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    line[..cut].trim_end_matches([' ', '.', ':', ';']).to_owned()
}

/// An error of this engine.
pub(crate) fn failed(action: impl Into<String>, why: impl ToString) -> EngineError {
    EngineError::Failed { engine: ENGINE.into(), action: action.into(), why: why.to_string() }
}

/// The error of a statement.
pub(crate) fn query(action: impl Into<String>, cause: &Fault) -> EngineError {
    failed(action, cause.advice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_one_line_with_what_to_do() {
        let fault = |code: &str, text: &str| Fault { code: code.into(), text: text.into() };
        let login = fault("ORA-01017", "ORA-01017: invalid username/password; logon denied\nHelp: https://x");
        assert!(login.advice().starts_with("ORA-01017: invalid username/password; logon denied; user or"));
        let block =
            fault("ORA-06550", "ORA-06550: line 1, column 7:\nPLS-00201: identifier 'X' must be declared");
        assert_eq!(block.advice(), "ORA-06550: line 1, column 7: PLS-00201: identifier 'X' must be declared");
        assert!(block.is_missing() && fault("ORA-41900", "").is_missing() && !login.is_missing());
        assert_eq!(fault("", "Broken. Really").advice(), "Broken");
        assert!(fault("driver", "no module").advice().contains("threadwise engine add oracle"));
        let numbers: Vec<&str> = ADVICE.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(numbers.iter().all(|line| line.starts_with("ORA-") || line.starts_with("DPY-")));
    }
}
