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

const WORD_LETTERS: std::ops::RangeInclusive<usize> = 1..=24;
const SIGNS_BEFORE_WORD: [char; 3] = ['(', '"', '\''];
const SIGNS_BEHIND_WORD: &str = ",.;:!?)";
const SIGNS_BEHIND_ALL: &str = ")\"'.,;:!?";

/// A character of a word that is not ASCII.
static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\p{L}\p{Nl}\p{No}]").ok());

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

/// Whether it is words with the signs of sentences.
fn is_prose(text: &str) -> bool {
    let spaces = text.bytes().filter(|byte| *byte == b' ').count();
    spaces + 1 >= WORDS_MIN
        && text.chars().count() > WORD_CHARACTERS * spaces
        && text.split(' ').enumerate().all(|(number, word)| is_word(word, number == 0, number == spaces))
}

fn is_word(text: &str, is_first: bool, is_last: bool) -> bool {
    let word = if is_first { text } else { text.strip_prefix(SIGNS_BEFORE_WORD).unwrap_or(text) };
    let signs = word.trim_start_matches(is_letter);
    let (known, signs_max) = if is_last { (SIGNS_BEHIND_ALL, 3) } else { (SIGNS_BEHIND_WORD, 2) };
    WORD_LETTERS.contains(&word[..word.len() - signs.len()].chars().count())
        && signs.chars().count() <= signs_max
        && signs.chars().all(|one| known.contains(one))
}

fn is_letter(one: char) -> bool {
    if one.is_ascii() {
        return one.is_ascii_alphabetic();
    }
    LETTER.as_ref().is_some_and(|letter| letter.is_match(one.encode_utf8(&mut [0; 4]).as_bytes()))
}

fn first_words(text: &str) -> &str {
    text.match_indices(' ').nth(EDGE_WORDS - 1).map_or(text, |(at, _)| &text[..at])
}

fn last_words(text: &str) -> &str {
    text.rmatch_indices(' ').nth(EDGE_WORDS - 1).map_or(text, |(at, _)| &text[at + 1..])
}
