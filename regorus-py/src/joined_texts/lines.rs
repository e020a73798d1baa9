//! Lines of what stands side by side.

use std::borrow::Cow;
use std::collections::BTreeMap;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

/// Characters of all lines but the first.
pub const LINES_CHARACTERS_MAX: usize = 16 << 10;
/// Of a credential that stands in several pieces.
pub const CREDENTIAL_CHARACTERS_MAX: usize = 512;
/// Ends that one beginning is tried with.
pub const ENDS_MAX: usize = 16;

/// All in one, and then a line from each beginning of a credential to each end of a piece after it: what stands
/// beside it is another text, and no part of a longer word. Places are counted in characters.
pub fn joined_lines(pieces: &[&str], beginnings: &Regex, least_end: usize) -> String {
    let whole = pieces.concat();
    let (data, bytes_at) = one_byte_each(&whole);
    let mut starts = vec![0];
    let mut end = 0;
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        end += if bytes_at.is_empty() { piece.len() } else { piece.chars().count() };
        starts.push(end);
    }
    let ends: Vec<usize> = starts.iter().copied().filter(|end| *end >= least_end).collect();
    let byte = |character: usize| bytes_at.get(character).copied().unwrap_or(character.min(whole.len()));
    let (mut lines, mut left) = (whole.clone(), LINES_CHARACTERS_MAX);
    'beginnings: for (start, past) in found(&data, beginnings, &starts) {
        let first = ends.partition_point(|end| *end <= past);
        for end in ends[first..].iter().take(ENDS_MAX) {
            if end - start > CREDENTIAL_CHARACTERS_MAX {
                break; // before it counts: beginnings far back would leave nothing for those that are near
            }
            let Some(less) = left.checked_sub(end - start) else { break 'beginnings };
            left = less;
            lines.push('\n');
            lines.push_str(&whole[byte(start)..byte(*end)]);
        }
    }
    lines
}

/// A byte for each character, and where each one begins in the text; nowhere where it is all ASCII.
fn one_byte_each(text: &str) -> (Cow<'_, [u8]>, Vec<usize>) {
    if text.is_ascii() {
        return (Cow::Borrowed(text.as_bytes()), Vec::new());
    }
    let data = text.chars().map(|one| u8::try_from(one).ok().filter(u8::is_ascii).unwrap_or(b'?')).collect();
    (Cow::Owned(data), text.char_indices().map(|(at, _)| at).chain([text.len()]).collect())
}

/// Where credentials begin, in order, and where what tells them ends. At the start of a piece one counts whatever is
/// found across it: "abi" before "AKIA" makes another beginning, which ends within.
fn found(data: &[u8], beginnings: &Regex, starts: &[usize]) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    for one in beginnings.find_iter(data) {
        // "sk" in "asked" begins no credential.
        let within = starts.partition_point(|start| *start < one.start());
        if starts.get(within) == Some(&one.start()) || !is_in_word(data[one.start() - 1]) {
            found.insert(one.start(), one.end());
        }
        for start in starts[within..].iter().take_while(|start| **start < one.end()) {
            let here = Input::new(data).range(*start..).anchored(Anchored::Yes);
            found.extend(beginnings.find(here).map(|one| (one.start(), one.end())));
        }
    }
    found
}

fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
