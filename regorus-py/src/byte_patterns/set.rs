//! Which of several patterns match a text at all, told by one pass over it.

use std::error::Error;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_automata::{Input, MatchKind, PatternID, PatternSet as Numbers};
use regex_syntax::hir::Hir;

use super::pattern::{BytePattern, COMPILED_BYTES_MAX, parsed};
use crate::detached::detached;
use crate::errors::pattern_error;

/// Of states that are made while matching, in each thread.
const STATES_BYTES_MAX: usize = 4 << 20;
/// A text that needs more states than there is room for, and more than one in so many bytes, tells nothing: making a
/// state takes as long as looking at some thousand bytes. Each pattern looks at such a text by itself.
const BYTES_PER_STATE_MIN: usize = 200;

/// Tells sets apart.
static SETS: AtomicUsize = AtomicUsize::new(0);

type MakeCache = Box<dyn Fn() -> Cache + Send + Sync>;

#[pyclass(frozen, module = "regorus")]
pub struct PatternSet {
    automaton: DFA,
    states: Pool<Cache, MakeCache>,
    number: usize,
}

#[pymethods]
impl PatternSet {
    /// A pattern is in the first set that it is given to.
    #[new]
    fn new(py: Python<'_>, patterns: Vec<Py<BytePattern>>) -> PyResult<Self> {
        let number = SETS.fetch_add(1, Ordering::Relaxed);
        let mut trees = Vec::new();
        for pattern in &patterns {
            trees.push(parsed(py, pattern.get().source())?.0);
            pattern.get().join(number, trees.len() - 1);
        }
        let automaton = compiled(&trees).map_err(|_| pattern_error(py, "patterns that make no set".to_owned()))?;
        let made = automaton.clone();
        Ok(Self { automaton, states: Pool::new(Box::new(move || made.create_cache())), number })
    }
}

impl PatternSet {
    /// None where it cannot be told.
    fn matching(&self, text: &[u8]) -> Option<Numbers> {
        let mut numbers = Numbers::new(self.automaton.pattern_len());
        let mut states = self.states.get();
        let told = self.automaton.try_which_overlapping_matches(&mut states, &Input::new(text), &mut numbers);
        if told.is_err() {
            states.reset(&self.automaton);
        }
        told.ok().map(|()| numbers)
    }
}

/// What a set tells of one text, when it is first asked.
#[pyclass(frozen, module = "regorus")]
pub struct SetMatches {
    set: Py<PatternSet>,
    found: OnceLock<Option<Numbers>>,
}

#[pymethods]
impl SetMatches {
    #[new]
    fn new(set: Py<PatternSet>) -> Self {
        Self { set, found: OnceLock::new() }
    }
}

impl SetMatches {
    /// Whether a pattern, by the number of its set and its own there, matches nowhere in the text.
    pub fn excludes(&self, text: &Bound<'_, PyBytes>, (number, place): (usize, usize)) -> bool {
        let set = self.set.get();
        if set.number != number {
            return false;
        }
        if self.found.get().is_none() {
            let bytes = text.as_bytes();
            let _ = self.found.set(detached(text.py(), bytes.len(), || set.matching(bytes)));
        }
        let found = self.found.get().and_then(Option::as_ref);
        found.zip(PatternID::new(place).ok()).is_some_and(|(found, pattern)| !found.contains(pattern))
    }
}

fn compiled(trees: &[Hir]) -> Result<DFA, Box<dyn Error>> {
    let automaton = thompson::Config::new()
        .utf8(false)
        .which_captures(WhichCaptures::None)
        .nfa_size_limit(Some(COMPILED_BYTES_MAX));
    let states = Config::new()
        .match_kind(MatchKind::All)
        .cache_capacity(STATES_BYTES_MAX)
        .minimum_cache_clear_count(Some(0))
        .minimum_bytes_per_state(Some(BYTES_PER_STATE_MIN));
    let made = thompson::Compiler::new().configure(automaton).build_many_from_hir(trees)?;
    Ok(DFA::builder().configure(states).build_from_nfa(made)?)
}
