//! What the engine reads in the place of what the author wrote: each edit keeps its length and its line ends, so
//! that every other character stays where it was.

use std::ops::Range;

/// New text for a range of bytes.
pub struct Edit {
    pub range: Range<usize>,
    pub text: Vec<u8>,
}

/// The text with all edits, an outer one before those within it; None where there is none, or where one would
/// move the rest.
pub fn rewritten(text: &str, mut edits: Vec<Edit>) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|edit| (edit.range.start, std::cmp::Reverse(edit.range.end)));
    let mut bytes = text.as_bytes().to_vec();
    let mut done = 0;
    for edit in edits {
        if edit.range.start < done {
            continue;
        }
        done = edit.range.end;
        let place = bytes.get_mut(edit.range)?;
        if place.len() != edit.text.len() {
            return None;
        }
        place.copy_from_slice(&edit.text);
    }
    String::from_utf8(bytes).ok()
}
