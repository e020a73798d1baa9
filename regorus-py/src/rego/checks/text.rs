//! Refusals before parsing: what the parser itself would not survive, or not in any time.
//!
//! The engine's parser tries a bracket as a comprehension first and again as a literal, and so takes twice as
//! long for every level; no timer runs in it. Deep expressions also end on the stack when they are dropped.

use crate::rego::complaint::Complaint;

pub const TEXT_BYTES_MAX: usize = 64 << 10;
/// Brackets in brackets. Eight of them take 5 ms, sixteen 5 s.
pub const NESTING_MAX: usize = 8;
/// Nested tokens, each counted as often as the parser reads it (twice as often on each level).
pub const PARSER_WORK_MAX: u64 = 2_000_000;

/// Walks over the text once, minding strings, raw strings and comments.
pub fn check(path: &str, text: &str) -> Result<(), Complaint> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the policy has {} bytes; at most {TEXT_BYTES_MAX} are read", text.len());
        return Err(Complaint::about(path, message));
    }
    let mut depth = 0;
    let mut work = 0;
    let mut line = 1;
    let mut line_start = 0;
    let mut bytes = text.bytes().enumerate();
    let column = |start: usize, at: usize| u32::try_from(text[start..at].chars().count() + 1).unwrap_or(u32::MAX);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\n' => {
                line += 1;
                line_start = at + 1;
            }
            b'#' => {
                if let Some((end, _)) = bytes.by_ref().find(|(_, byte)| *byte == b'\n') {
                    line += 1;
                    line_start = end + 1;
                }
            }
            b'"' => skip_string(&mut bytes),
            b'`' => {
                for (end, byte) in bytes.by_ref() {
                    match byte {
                        b'`' => break,
                        b'\n' => {
                            line += 1;
                            line_start = end + 1;
                        }
                        _ => {}
                    }
                }
            }
            b'[' | b'{' | b'(' => {
                depth += 1;
                if depth > NESTING_MAX {
                    let message =
                        format!("brackets are nested more than {NESTING_MAX} deep; use a rule for the inner part");
                    return Err(Complaint::at(path, text, line, column(line_start, at), message));
                }
            }
            b']' | b'}' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        work += 1 << depth;
        if work > PARSER_WORK_MAX {
            let message = "too much of the text is deep in brackets; use rules for the inner parts";
            return Err(Complaint::at(path, text, line, column(line_start, at), message));
        }
    }
    Ok(())
}

/// To the closing quote; a string ends with its line, and what follows is the parser's to refuse.
fn skip_string(bytes: &mut impl Iterator<Item = (usize, u8)>) {
    let mut escaped = false;
    for (_, byte) in bytes {
        match byte {
            b'"' if !escaped => return,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
}
