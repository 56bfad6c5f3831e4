//! What people and programs read: aligned text, or one JSON document.

use std::io::Write;

use serde::Serialize;
use serde_json::json;

use crate::error::CliError;

/// Prints one JSON document on stdout.
///
/// # Errors
/// [`CliError::Stdout`] when stdout is gone.
pub fn json(document: &impl Serialize) -> Result<(), CliError> {
    let mut text = serde_json::to_string_pretty(document).map_err(CliError::Json)?;
    text.push('\n');
    bytes(text.as_bytes())
}

/// Writes bytes to stdout. A reader that stopped reading is no failure.
///
/// # Errors
/// [`CliError::Stdout`] for any other failure.
pub fn bytes(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CliError::Stdout(error))
        }
        _ => Ok(()),
    }
}

/// Prints text on stdout.
///
/// # Errors
/// As [`bytes`].
pub fn text(text: &str) -> Result<(), CliError> {
    bytes(text.as_bytes())
}

/// Says something beside the result, on stderr; nothing depends on it arriving.
pub fn note(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}

/// Reports a failure: words on stderr, and a document on stdout where one was asked for.
pub fn error(error: &CliError, as_json: bool) {
    note(&format!("error: {error}"));
    if as_json {
        let document =
            json!({ "error": { "exit": error.exit_code(), "message": error.to_string() } });
        // Nothing is left to tell anybody when this fails too.
        let _ = json(&document);
    }
}

/// Rows of text in aligned columns, two spaces apart, without trailing blanks.
pub fn table(rows: &[Vec<String>]) -> String {
    aligned(rows, |cell, width, _| format!("{cell:<width$}"))
}

/// As [`table`], with every column but the first one aligned at its right, for numbers.
pub fn columns(rows: &[Vec<String>]) -> String {
    aligned(rows, |cell, width, column| match column {
        0 => format!("{cell:<width$}"),
        _ => format!("{cell:>width$}"),
    })
}

fn aligned(rows: &[Vec<String>], pad: impl Fn(&str, usize, usize) -> String) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| pad(cell, *width, column));
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// A number with a comma between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{columns, grouped, table};

    #[test]
    fn columns_align_and_end_clean() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let rows = [row(&["a", "long", "x"]), row(&["bcd", "e"])];
        assert_eq!(table(&rows), "a    long  x\nbcd  e\n");
        assert_eq!(columns(&rows), "a    long  x\nbcd     e\n");
    }

    #[test]
    fn digits_stand_in_threes() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }
}
