//! Tokens that may be encoded.

use std::sync::LazyLock;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

use super::bases::{from_base64, from_hexadecimal};
use super::content::{as_text, container_of};
use crate::digit_texts::long_runs;

pub type Found = (usize, usize, &'static str, Vec<u8>);

/// In base64 perhaps over several lines; hexadecimal is made of the same digits.
static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?-u)(?:[A-Za-z0-9+/]{16,}\r?\n[ \t]*)+[A-Za-z0-9+/_-]{1,}={0,2}|[A-Za-z0-9+/_-]{16,}={0,2}").ok()
});
const PART_BYTES_MIN: usize = 16;

pub fn encoded(text: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut past = 0;
    for (start, _) in long_runs(text, PART_BYTES_MIN, is_digit) {
        let here = Input::new(text).range(start..).anchored(Anchored::Yes);
        let token = TOKEN.as_ref().filter(|_| start >= past).and_then(|pattern| pattern.find(here));
        if let Some(token) = token {
            add_decoded(start, &text[token.range()], &mut found);
            past = token.end(); // perhaps some lines further
        }
    }
    found
}

/// Of base64, in both alphabets.
fn is_digit(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-')
}

fn add_decoded(start: usize, token: &[u8], found: &mut Vec<Found>) {
    let end = start + token.len();
    if let Some(data) = from_hexadecimal(token).filter(|data| is_worth(data)) {
        found.push((start, end, "hex", data));
    } else if is_plain_word(token) {
    } else if let Some(data) = from_base64(token).filter(|data| is_worth(data)) {
        found.push((start, end, "base64", data));
    } else {
        let is_between = |byte: &u8| matches!(byte, b'/' | b'\n'); // a path, or a list, one part of which may be base64
        let mut at = start;
        for part in token.split(is_between).filter(|part| part.len() < token.len()) {
            if part.len() >= PART_BYTES_MIN
                && let Some(data) = from_base64(part).filter(|data| is_worth(data))
            {
                found.push((at, at + part.len(), "base64", data));
            }
            at += part.len() + 1;
        }
    }
}

fn is_worth(data: &[u8]) -> bool {
    container_of(data).is_some() || as_text(data).is_some()
}

/// Words, paths and names, as programs write them: they decode to nothing.
fn is_plain_word(token: &[u8]) -> bool {
    let is_between = |byte: &u8| matches!(byte, b'_' | b'/' | b'-');
    token.iter().all(|byte| byte.is_ascii_lowercase() || is_between(byte))
        || token.iter().all(|byte| byte.is_ascii_uppercase() || is_between(byte))
        || is_in_camel_case(token)
}

fn is_in_camel_case(token: &[u8]) -> bool {
    token.iter().all(u8::is_ascii_alphabetic)
        && token.last().is_some_and(u8::is_ascii_lowercase)
        && token.windows(2).all(|pair| !(pair[0].is_ascii_uppercase() && pair[1].is_ascii_uppercase()))
}
