//! The Python class of a compiled pattern.

use std::sync::OnceLock;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use regex_automata::meta::{self, Regex};
use regex_automata::{Anchored, Input};
use regex_syntax::hir::{Hir, Look};

use super::found::{ByteMatch, ByteMatches, Spans};
use super::set::SetMatches;
use crate::detached::detached;
use crate::errors::pattern_error;
use crate::go_regex;

/// Of an automaton.
pub const COMPILED_BYTES_MAX: usize = 16 << 20;
/// Of states that are made while matching, in each thread.
const STATES_BYTES_MAX: usize = 1 << 20;

/// Compiled when a match is first asked for: of hundreds of patterns most stand behind a keyword that few texts have.
#[pyclass(frozen, module = "regorus")]
pub struct BytePattern {
    regex: OnceLock<Regex>,
    /// With the end of the text behind it.
    whole: OnceLock<Regex>,
    groups: usize,
    source: Vec<u8>,
    /// The number of its set, and its own there.
    place: OnceLock<(usize, usize)>,
}

#[pymethods]
impl BytePattern {
    #[new]
    fn new(py: Python<'_>, pattern: &[u8]) -> PyResult<Self> {
        let (_, groups) = parsed(py, pattern)?;
        let source = pattern.to_vec();
        Ok(Self { regex: OnceLock::new(), whole: OnceLock::new(), groups, source, place: OnceLock::new() })
    }

    #[getter]
    fn pattern<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.source)
    }

    #[getter]
    fn groups(&self) -> usize {
        self.groups
    }

    #[pyo3(signature = (text, pos = 0, endpos = usize::MAX))]
    fn search(&self, text: Bound<'_, PyBytes>, pos: usize, endpos: usize) -> PyResult<Option<ByteMatch>> {
        self.find(text, pos, endpos, Anchored::No)
    }

    /// The match that begins first, at `pos` or later, but not behind `last`. Far behind it nothing is looked at.
    fn search_start(
        &self,
        text: Bound<'_, PyBytes>,
        pos: usize,
        last: usize,
        endpos: usize,
    ) -> PyResult<Option<ByteMatch>> {
        let end = endpos.min(text.as_bytes().len());
        if self.is_excluded(&text) {
            return Ok(None);
        }
        let regex = self.regex(text.py())?;
        let at = |start: usize| Input::new(text.as_bytes()).range(start..end).anchored(Anchored::Yes);
        match (pos..=last.min(end)).find(|start| regex.is_match(at(*start))) {
            Some(start) => self.find(text, start, end, Anchored::Yes),
            None => Ok(None),
        }
    }

    #[pyo3(signature = (text, pos = 0, endpos = usize::MAX))]
    fn r#match(&self, text: Bound<'_, PyBytes>, pos: usize, endpos: usize) -> PyResult<Option<ByteMatch>> {
        self.find(text, pos, endpos, Anchored::Yes)
    }

    fn fullmatch(&self, text: Bound<'_, PyBytes>) -> PyResult<Option<ByteMatch>> {
        let bytes = text.as_bytes();
        let whole = self.whole(text.py())?;
        let spans = self.spans(text.py(), whole, Input::new(bytes).anchored(Anchored::Yes));
        Ok(spans.map(|spans| ByteMatch::new(text.unbind(), spans)))
    }

    #[pyo3(signature = (text, pos = 0, endpos = usize::MAX))]
    fn finditer(slf: Bound<'_, Self>, text: Bound<'_, PyBytes>, pos: usize, endpos: usize) -> ByteMatches {
        let at = if slf.get().is_excluded(&text) { usize::MAX } else { pos };
        let end = endpos.min(text.as_bytes().len());
        ByteMatches::new(slf.unbind(), text.unbind(), at, end)
    }

    /// The texts of the matches; of their group where there is one, of all groups where there are several.
    fn findall<'py>(&self, text: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyList>> {
        let found = PyList::empty(text.py());
        self.each(text, |spans| {
            let part = |index: usize| {
                let span = spans.get(index).copied().flatten();
                PyBytes::new(text.py(), span.map_or(&[], |(start, end)| &text.as_bytes()[start..end]))
            };
            match self.groups {
                0 | 1 => found.append(part(self.groups)),
                _ => found.append(PyTuple::new(text.py(), (1..=self.groups).map(part).collect::<Vec<_>>())?),
            }
        })?;
        Ok(found)
    }

    /// The text with each match replaced: by bytes as they are, or by what a callable makes of the match.
    fn sub<'py>(&self, replacement: &Bound<'py, PyAny>, text: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyBytes>> {
        let fixed = replacement.cast::<PyBytes>().ok();
        let bytes = text.as_bytes();
        let (mut written, mut at) = (Vec::with_capacity(bytes.len()), 0);
        self.each(text, |spans| {
            let Some((start, end)) = spans.first().copied().flatten() else { return Ok(()) };
            written.extend_from_slice(&bytes[at..start]);
            at = end;
            if let Some(fixed) = fixed {
                written.extend_from_slice(fixed.as_bytes());
            } else {
                let made = replacement.call1((ByteMatch::new(text.clone().unbind(), spans),))?;
                written.extend_from_slice(made.cast::<PyBytes>()?.as_bytes());
            }
            Ok(())
        })?;
        written.extend_from_slice(&bytes[at..]);
        Ok(PyBytes::new(text.py(), &written))
    }
}

impl BytePattern {
    /// Raises PatternError for a pattern that is too large when compiled.
    pub fn regex(&self, py: Python<'_>) -> PyResult<&Regex> {
        self.made(py, &self.regex, |tree| tree)
    }

    fn whole(&self, py: Python<'_>) -> PyResult<&Regex> {
        self.made(py, &self.whole, |tree| Hir::concat(vec![tree, Hir::look(Look::End)]))
    }

    fn made<'a>(&self, py: Python<'_>, cell: &'a OnceLock<Regex>, of: impl FnOnce(Hir) -> Hir) -> PyResult<&'a Regex> {
        if let Some(made) = cell.get() {
            return Ok(made);
        }
        let (tree, _) = parsed(py, &self.source)?;
        let made = compiled(py, &of(tree))?;
        Ok(cell.get_or_init(|| made))
    }

    pub fn source(&self) -> &[u8] {
        &self.source
    }

    pub fn join(&self, set: usize, number: usize) {
        let _ = self.place.set((set, number));
    }

    /// Whether what knows its set tells that it matches nowhere in the text (Python's `bytes` with `matches`).
    fn is_excluded(&self, text: &Bound<'_, PyBytes>) -> bool {
        let Some(place) = self.place.get().filter(|_| !text.is_exact_instance_of::<PyBytes>()) else { return false };
        let Ok(matches) = text.getattr(intern!(text.py(), "matches")) else { return false };
        matches.cast::<SetMatches>().is_ok_and(|matches| matches.get().excludes(text, *place))
    }

    /// The places of the first match and its groups. What stands before `at` and behind `end` is still looked at by
    /// `^`, `$` and `\b`.
    fn spans(&self, py: Python<'_>, regex: &Regex, input: Input<'_>) -> Option<Spans> {
        detached(py, input.end() - input.start(), || self.spans_of(regex, input))
    }

    fn spans_of(&self, regex: &Regex, input: Input<'_>) -> Option<Spans> {
        if self.groups == 0 {
            return regex.search(&input).map(|one| Spans::from_iter([Some((one.start(), one.end()))]));
        }
        let mut captures = regex.create_captures();
        regex.search_captures(&input, &mut captures);
        captures.get_match()?;
        Some((0..=self.groups).map(|index| captures.get_group(index).map(|span| (span.start, span.end))).collect())
    }

    pub fn next(&self, py: Python<'_>, text: &[u8], at: usize, end: usize) -> PyResult<Option<Spans>> {
        Ok(self.spans(py, self.regex(py)?, Input::new(text).range(at..end)))
    }

    fn find(
        &self,
        text: Bound<'_, PyBytes>,
        pos: usize,
        endpos: usize,
        anchored: Anchored,
    ) -> PyResult<Option<ByteMatch>> {
        let end = endpos.min(text.as_bytes().len());
        if pos > end || self.is_excluded(&text) {
            return Ok(None);
        }
        let py = text.py();
        let spans = self.spans(py, self.regex(py)?, Input::new(text.as_bytes()).range(pos..end).anchored(anchored));
        Ok(spans.map(|spans| ByteMatch::new(text.unbind(), spans)))
    }

    fn each(&self, text: &Bound<'_, PyBytes>, mut take: impl FnMut(Spans) -> PyResult<()>) -> PyResult<()> {
        let bytes = text.as_bytes();
        let mut at = if self.is_excluded(text) { usize::MAX } else { 0 };
        while at <= bytes.len() {
            let Some(spans) = self.next(text.py(), bytes, at, bytes.len())? else { break };
            at = after(&spans, at);
            take(spans)?;
        }
        Ok(())
    }
}

/// Where the next search begins: behind the match, and at least one byte further.
pub fn after(spans: &Spans, at: usize) -> usize {
    match spans.first().copied().flatten() {
        Some((_, end)) if end > at => end,
        _ => at + 1,
    }
}

/// The syntax tree, and how many groups it has.
pub fn parsed(py: Python<'_>, pattern: &[u8]) -> PyResult<(Hir, usize)> {
    let read = std::str::from_utf8(pattern)
        .map_err(|error| pattern_error(py, format!("a pattern that is not UTF-8: {error}")))?;
    go_regex::parsed(read).map_err(|refusal| pattern_error(py, refusal.reason()))
}

/// Without the one-pass automaton: making one for each of hundreds of patterns takes a quarter of a process's preparation.
fn compiled(py: Python<'_>, hir: &Hir) -> PyResult<Regex> {
    let config = meta::Config::new()
        .utf8_empty(false)
        .nfa_size_limit(Some(COMPILED_BYTES_MAX))
        .onepass(false)
        .hybrid_cache_capacity(STATES_BYTES_MAX);
    meta::Builder::new()
        .configure(config)
        .build_from_hir(hir)
        .map_err(|_| pattern_error(py, format!("a pattern of more than {COMPILED_BYTES_MAX} bytes when compiled")))
}
