//! Keywords in bytes, all in one pass, whatever their case in ASCII.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::detached::detached;

/// Python's: the word in lower case, whether it begins and ends a word.
type WordTuple = (Vec<u8>, bool, bool);

#[pyclass(frozen, module = "regorus")]
pub struct KeywordSearch {
    automaton: AhoCorasick,
    borders: Vec<(bool, bool)>,
    longest: usize,
    /// Bytes that words are made of.
    in_words: [bool; 256],
}

#[pymethods]
impl KeywordSearch {
    #[new]
    fn new(words: Vec<WordTuple>, word_bytes: &[u8]) -> PyResult<Self> {
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA)) // one look a byte; without failure transitions to follow
            .build(words.iter().map(|word| &word.0))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut in_words = [false; 256];
        for byte in word_bytes {
            in_words[usize::from(*byte)] = true;
        }
        let borders = words.iter().map(|(_, begins_word, ends_word)| (*begins_word, *ends_word)).collect();
        let longest = words.iter().map(|word| word.0.len()).max().unwrap_or(0);
        Ok(Self { automaton, borders, longest, in_words })
    }

    /// Where each one ends, and its number, in the order of the ends; of those that end together, the longest first.
    /// Those that end after `start`, and not after `stop`.
    #[pyo3(signature = (text, start = 0, stop = None))]
    fn search(&self, py: Python<'_>, text: &[u8], start: usize, stop: Option<usize>) -> Vec<(usize, usize)> {
        let stop = stop.map_or(text.len(), |stop| stop.min(text.len()));
        detached(py, stop.saturating_sub(start), || self.found(text, start, stop))
    }
}

impl KeywordSearch {
    fn found(&self, text: &[u8], start: usize, stop: usize) -> Vec<(usize, usize)> {
        let first = start.saturating_sub(self.longest).min(stop);
        let is_in_word =
            |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(|byte| self.in_words[usize::from(*byte)]);
        self.automaton
            .find_overlapping_iter(&text[first..stop])
            .map(|one| (first + one.start(), first + one.end(), one.pattern().as_usize()))
            .filter(|(from, end, number)| {
                let (begins_word, ends_word) = self.borders[*number];
                let is_within = begins_word && is_in_word(from.checked_sub(1)) || ends_word && is_in_word(Some(*end));
                *end > start && !is_within
            })
            .map(|(_, end, number)| (end, number))
            .collect()
    }
}
