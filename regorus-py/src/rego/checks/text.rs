//! Refusals before parsing: what the parser itself would not survive, or not in any time.
//!
//! The engine's parser tries a bracket as a comprehension first and again as a literal, and so takes twice as
//! long for every level; no timer runs in it. Deep expressions also end on the stack when they are dropped.

use crate::json::place::line_and_column;
use crate::rego::complaint::Complaint;

pub const TEXT_BYTES_MAX: usize = 64 << 10;
/// Brackets in brackets. Eight of them take 5 ms, sixteen 5 s.
pub const NESTING_MAX: usize = 8;
/// Characters, each counted as often as the parser reads it (twice as often on each level of brackets).
pub const PARSER_WORK_MAX: u64 = 2_000_000;
/// `1e100000000` becomes an exact integer of 100 million digits.
pub const EXPONENT_DIGITS_MAX: usize = 3;

/// Walks over the text once, minding strings, raw strings and comments.
pub fn check(path: &str, text: &str) -> Result<(), Complaint> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the policy has {} bytes; at most {TEXT_BYTES_MAX} are read", text.len());
        return Err(Complaint::about(path, message));
    }
    let complain = |at: usize, message: String| {
        let (line, column) = line_and_column(text.as_bytes(), at);
        let small = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Complaint::at(path, text, small(line), small(column), message)
    };
    let bytes = text.as_bytes();
    let (mut depth, mut work, mut at) = (0_usize, 0_u64, 0);
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'#' => past(bytes, at + 1, b'\n'),
            b'`' => past(bytes, at + 1, b'`'),
            b'"' => past_string(bytes, at + 1),
            b'0'..=b'9' => {
                let end = past_number(bytes, at);
                if exponent_digits(&text[at..end]) > EXPONENT_DIGITS_MAX {
                    let message = format!("a number with an exponent of more than {EXPONENT_DIGITS_MAX} digits");
                    return Err(complain(at, message));
                }
                end
            }
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => past_word(bytes, at),
            b'[' | b'{' | b'(' => {
                depth += 1;
                if depth > NESTING_MAX {
                    let message =
                        format!("brackets are nested more than {NESTING_MAX} deep; use a rule for the inner part");
                    return Err(complain(at, message));
                }
                at + 1
            }
            b']' | b'}' | b')' => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            _ => at + 1,
        };
        work += u64::try_from(end - at).unwrap_or(u64::MAX) << depth;
        if work > PARSER_WORK_MAX {
            return Err(complain(
                at,
                String::from("too much of the text is deep in brackets; use rules for the inner parts"),
            ));
        }
        at = end;
    }
    Ok(())
}

fn past(bytes: &[u8], start: usize, end: u8) -> usize {
    bytes[start..].iter().position(|byte| *byte == end).map_or(bytes.len(), |length| start + length + 1)
}

/// To the closing quote; one that is missing is the parser's to refuse.
fn past_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn past_word(bytes: &[u8], start: usize) -> usize {
    let is_part = |byte: &u8| *byte == b'_' || byte.is_ascii_alphanumeric();
    bytes[start..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |length| start + length)
}

fn past_number(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        let is_sign = matches!(byte, b'+' | b'-') && matches!(bytes[at - 1], b'e' | b'E');
        if !(is_sign || *byte == b'.' || *byte == b'_' || byte.is_ascii_alphanumeric()) {
            break;
        }
        at += 1;
    }
    at
}

fn exponent_digits(number: &str) -> usize {
    number.split_once(['e', 'E']).map_or(0, |(_, exponent)| exponent.bytes().filter(u8::is_ascii_digit).count())
}
