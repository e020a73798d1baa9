//! A module as its author wrote it.

use regorus::unstable::Span;

use crate::json::place::line_and_column;
use crate::rego::complaint::Complaint;

#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Its name in messages.
    pub path: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    pub fn complain(&self, span: &Span, message: impl Into<String>) -> Complaint {
        // The engine's own column is that of the last token of a reference or call.
        let start = usize::try_from(span.start).unwrap_or(usize::MAX);
        let (line, column) = line_and_column(self.text.as_bytes(), start);
        let small = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Complaint::at(self.path, self.text, small(line), small(column), message)
    }
}
