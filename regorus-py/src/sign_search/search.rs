//! The Python class.

use std::time::Duration;

use aho_corasick::{AhoCorasick, MatchKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyFrozenSet;

use super::clauses::Clauses;
use super::windows::{Hit, Sign, Table, Word};
use crate::detached::detached;

/// Python's: the spelling, whether it begins and ends a word, its slots, its slots as a command, its signs.
type WordTuple = (String, bool, bool, Vec<usize>, Vec<usize>, Vec<usize>);
/// Python's: slots, within, ordered, weight.
type SignTuple = (Vec<usize>, usize, bool, f64);
type SeenTuple<'py> = (usize, usize, usize, Bound<'py, PyFrozenSet>, f64);

#[pyclass(frozen, module = "regorus")]
pub struct SignSearch {
    table: Table,
}

#[pymethods]
impl SignSearch {
    #[new]
    fn new(
        words: Vec<WordTuple>,
        signs: Vec<SignTuple>,
        slots: usize,
        bias: f64,
        alphanumeric: &[u8],
        signs_before: &str,
        words_before: Vec<String>,
    ) -> PyResult<Self> {
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(words.iter().map(|word| &word.0))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let words: Vec<_> = words
            .into_iter()
            .map(|(_, begins_word, ends_word, slots, commands, signs)| Word {
                begins_word,
                ends_word,
                slots,
                commands,
                signs,
            })
            .collect();
        let signs: Vec<_> =
            signs.into_iter().map(|(slots, within, ordered, weight)| Sign { slots, within, ordered, weight }).collect();
        let has = |slot: &usize| *slot < slots;
        if !words.iter().all(|word| {
            word.slots.iter().chain(&word.commands).all(has) && word.signs.iter().all(|sign| *sign < signs.len())
        }) || !signs.iter().all(|sign| sign.slots.iter().all(has))
        {
            return Err(PyValueError::new_err("a word or a sign names a slot or a sign that is not there"));
        }
        let clauses = Clauses::new(alphanumeric, signs_before, words_before);
        Ok(Self { table: Table { automaton, words, signs, slots, bias, clauses } })
    }

    /// The words that were found, the windows, and whether there was time for the whole text.
    fn search<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        characters: usize,
        over: f64,
        wants_hits: bool,
        seconds_max: f64,
    ) -> PyResult<(Vec<Hit>, Vec<SeenTuple<'py>>, bool)> {
        let time = Duration::try_from_secs_f64(seconds_max).unwrap_or_default();
        let found = detached(py, text.len(), || self.table.search(text, characters, over, wants_hits, time));
        let mut seen = Vec::with_capacity(found.seen.len());
        for one in found.seen {
            seen.push((one.start, one.word_start, one.end, PyFrozenSet::new(py, one.signs)?, one.log_odds));
        }
        Ok((found.hits, seen, found.is_whole))
    }
}
