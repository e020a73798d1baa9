//! What of a text may go on in another.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex_automata::meta::Regex;

/// Of a text that counts as a whole.
const PIECE_CHARACTERS: usize = 256;
/// Characters of a word of prose and the space before it, on average; single letters with spaces spell something.
const WORD_CHARACTERS: usize = 3;
const EDGE_WORDS: usize = 3;

/// Of a text that is prose.
const WORDS_MIN: usize = 8;

/// So many words, with the signs of sentences.
static PROSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let word = r"[\p{L}\p{Nl}\p{No}]{1,24}";
    Regex::new(&format!(r#"\A{word}(?:[,.;:!?)]{{0,2}} [("']?{word}){{{},}}[)"'.,;:!?]{{0,3}}\z"#, WORDS_MIN - 1)).ok()
});

/// Of sentences a few words at each end: what stands between them is a text by itself, which has been looked at.
pub fn edges_of(text: &str) -> Cow<'_, str> {
    if text.chars().count() <= PIECE_CHARACTERS {
        return match is_prose(text) {
            true => Cow::Owned(format!("{}\n{}", first_words(text), last_words(text))),
            false => Cow::Borrowed(text),
        };
    }
    let half = PIECE_CHARACTERS / 2;
    let head = &text[..text.char_indices().nth(half).map_or(text.len(), |(at, _)| at)];
    let tail = &text[text.char_indices().nth_back(half - 1).map_or(0, |(at, _)| at)..];
    let first = if is_prose(head) { first_words(head) } else { head };
    let last = if is_prose(tail) { last_words(tail) } else { tail };
    Cow::Owned(format!("{first}\n{last}"))
}

fn is_prose(text: &str) -> bool {
    let spaces = text.bytes().filter(|byte| *byte == b' ').count();
    spaces + 1 >= WORDS_MIN
        && text.chars().count() > WORD_CHARACTERS * spaces
        && PROSE.as_ref().is_some_and(|prose| prose.is_match(text))
}

fn first_words(text: &str) -> &str {
    text.match_indices(' ').nth(EDGE_WORDS - 1).map_or(text, |(at, _)| &text[..at])
}

fn last_words(text: &str) -> &str {
    text.rmatch_indices(' ').nth(EDGE_WORDS - 1).map_or(text, |(at, _)| &text[at + 1..])
}
