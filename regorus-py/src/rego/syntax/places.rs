//! Where expressions stand in the text, and texts on one line.

use std::ops::Range;

use regorus::unstable::{Expr, Span};

use super::names::quoted;

/// How many braces are tried as the first of an object.
const BRACES_MAX: usize = 8;

/// Where an expression stands. The engine's place leaves out quotes, includes what follows `set()`, and begins at the
/// last member of an object.
pub fn place(expression: &Expr) -> Option<Range<usize>> {
    let span = expression.span();
    let range = place_of(span)?;
    match expression {
        Expr::Set { items, .. } if items.is_empty() => Some(range.start..range.start + span.text().find(')')? + 1),
        Expr::Object { fields, .. } => match fields.first() {
            Some((first, _, _)) => Some(brace_before(span.source.contents(), place_of(first)?.start)?..range.end),
            None => Some(range),
        },
        _ => Some(range),
    }
}

/// The place of a span, with the quotes of strings that begin or end it.
pub fn place_of(span: &Span) -> Option<Range<usize>> {
    let text = span.source.contents().as_bytes();
    let is_quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'`'));
    let (mut start, mut end) = (usize::try_from(span.start).ok()?, usize::try_from(span.end).ok()?);
    if start > 0 && is_quote(text.get(start - 1)) {
        start -= 1;
    }
    if is_quote(text.get(end)) {
        end += 1;
    }
    Some(start..end)
}

/// Other braces may stand in a comment between the object's own and its first member.
fn brace_before(text: &str, member: usize) -> Option<usize> {
    let before = text.get(..member)?;
    let braces = before.rmatch_indices('{').take(BRACES_MAX).map(|(at, _)| at);
    braces.filter(|at| one_line(&before[at + 1..]).trim().is_empty()).last()
}

/// The text on one line: without comments, lines of raw strings escaped.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest);
        let (token, after) = rest.split_at(length);
        match first {
            '#' => line.push_str(&" ".repeat(length)),
            '`' if token.contains('\n') => line.push_str(&quoted(token.trim_matches('`'))),
            '\n' | '\r' => line.push(' '),
            _ => line.push_str(token),
        }
        rest = after;
    }
    line
}

/// Bytes of a string, a comment, or one character, with which `text` begins.
fn token_length(text: &str) -> usize {
    let rest = text.get(1..).unwrap_or_default();
    match text.as_bytes().first() {
        Some(b'#') => text.find('\n').unwrap_or(text.len()),
        Some(b'`') => rest.find('`').map_or(text.len(), |end| end + 2),
        Some(b'"') => {
            let mut is_escaped = false;
            let end = rest.bytes().position(|byte| {
                let is_end = byte == b'"' && !is_escaped;
                is_escaped = byte == b'\\' && !is_escaped;
                is_end
            });
            end.map_or(text.len(), |end| end + 2)
        }
        _ => text.chars().next().map_or(0, char::len_utf8),
    }
}
