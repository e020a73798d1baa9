//! Where in a text something is, for people.

/// A complaint about one place of a JSON text.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Offset in bytes from the start of the text.
    pub offset: usize,
    pub message: String,
}

impl Refusal {
    pub fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }

    /// `line 3 column 7 (byte 41): …`, both counted from 1, columns in characters.
    pub fn describe(&self, text: &[u8]) -> String {
        let (line, column) = line_and_column(text, self.offset);
        format!("line {line} column {column} (byte {}): {}", self.offset, self.message)
    }
}

/// Line and column, from 1, of a byte offset; columns count characters, not bytes.
pub fn line_and_column(text: &[u8], offset: usize) -> (usize, usize) {
    let before = &text[..offset.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let column = before[line_start..].iter().filter(|byte| (**byte & 0xC0) != 0x80).count() + 1;
    (line, column)
}
