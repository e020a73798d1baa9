//! The Python class.

use std::collections::{BTreeSet, VecDeque};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::base::Base;
use super::base85;
use super::runs::{PRINTABLE_MIN, long_runs, runs};
use crate::detached::detached;

const EDGE_BYTES: usize = 8;
const EDGED_BYTES: usize = 512;

#[pyclass(module = "regorus")]
pub struct DigitTexts {
    text: Py<PyBytes>,
    base: &'static Base,
    values: Vec<u8>,
    /// With a text, a bit for each.
    alignments: u8,
    /// Where each digit stands; made for the first text.
    places: Vec<usize>,
    /// The next alignment.
    shift: usize,
    decoded: Vec<u8>,
    /// In `decoded`, of the alignment before `shift`.
    left: VecDeque<(usize, usize)>,
}

#[pymethods]
impl DigitTexts {
    #[new]
    fn new(py: Python<'_>, text: Bound<'_, PyBytes>, base: &str) -> PyResult<Self> {
        let base = Base::named(base).ok_or_else(|| PyValueError::new_err("no such base"))?;
        let bytes = text.as_bytes();
        let (values, alignments) = detached(py, bytes.len(), || {
            let values = base.values(bytes);
            let alignments = base.alignments_of_texts(&values);
            (values, alignments)
        });
        Ok(Self {
            text: text.unbind(),
            base,
            values,
            alignments,
            places: Vec::new(),
            shift: 0,
            decoded: Vec::new(),
            left: VecDeque::new(),
        })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> Option<(usize, usize, Bound<'py, PyBytes>)> {
        loop {
            if let Some((start, end)) = self.left.pop_front() {
                let (first, past, data) = self.placed(py, start, end);
                return Some((first, past, PyBytes::new(py, &data)));
            }
            let values = self.values.get(self.shift..)?;
            if self.shift >= self.base.shifts || self.base.bytes(values.len()) < PRINTABLE_MIN {
                return None;
            }
            if self.alignments >> self.shift & 1 == 0 {
                self.shift += 1;
                continue;
            }
            let base = self.base;
            (self.decoded, self.left) = detached(py, values.len(), || {
                let decoded = base.decoded(values);
                let found = runs(&decoded).into();
                (decoded, found)
            });
            self.shift += 1;
        }
    }
}

impl DigitTexts {
    /// Where the decoded bytes from `start` to `end` stand in the text, and the bytes.
    fn placed(&mut self, py: Python<'_>, start: usize, end: usize) -> (usize, usize, Vec<u8>) {
        let text = self.text.as_bytes(py);
        let base = self.base;
        if self.places.is_empty() {
            self.places = detached(py, text.len(), || (0..text.len()).filter(|at| base.is_digit(text, *at)).collect());
        }
        let shift = self.shift - 1;
        let first = self.places[shift + base.first_digit(start)];
        let last = self.places[(shift + base.digits(end) - 1).min(self.places.len() - 1)];
        (first, last + 1, self.without_neighbours(text, &self.decoded[start..end], first, last + 1))
    }

    /// The data, and a line for each place near its ends where a separator stands: what is beyond one may be digits of
    /// a word beside it, which came out as a letter or two.
    fn without_neighbours(&self, text: &[u8], data: &[u8], first: usize, past: usize) -> Vec<u8> {
        let mut lines = data.to_vec();
        for cut in self.cuts(text, first..(first + EDGE_BYTES).min(text.len())) {
            let start = cut.min(data.len());
            lines.push(b'\n');
            lines.extend_from_slice(&data[start..(start + EDGED_BYTES).min(data.len())]);
        }
        for cut in self.cuts(text, (past.saturating_sub(EDGE_BYTES)..past).rev()) {
            let end = data.len().saturating_sub(cut);
            lines.push(b'\n');
            lines.extend_from_slice(&data[end.saturating_sub(EDGED_BYTES)..end]);
        }
        lines
    }

    /// Bytes before each separator.
    fn cuts(&self, text: &[u8], places: impl Iterator<Item = usize>) -> BTreeSet<usize> {
        let (mut cuts, mut digits) = (BTreeSet::new(), 0);
        for at in places {
            if self.base.is_digit(text, at) {
                digits += 1;
            } else {
                cuts.extend([self.base.bytes(digits), self.base.bytes(digits) + 1]);
            }
        }
        cuts.remove(&0);
        cuts
    }
}

/// What is printable in decoded bytes, and what is packed in them.
#[pyfunction]
pub fn texts_in<'py>(py: Python<'py>, data: &[u8]) -> Vec<Bound<'py, PyBytes>> {
    let found = detached(py, data.len(), || runs(data));
    found.into_iter().map(|(start, end)| PyBytes::new(py, &data[start..end])).collect()
}

/// Texts in base85: from where to where the token stands, and what it spells.
#[pyfunction]
pub fn base85_texts<'py>(py: Python<'py>, text: &[u8]) -> Vec<(usize, usize, Bound<'py, PyBytes>)> {
    let found = detached(py, text.len(), || base85::base85_texts(text));
    found.into_iter().map(|(start, end, data)| (start, end, PyBytes::new(py, &data))).collect()
}

/// From where to where so many letters and digits of ASCII or more stand in a row.
#[pyfunction]
pub fn long_words(py: Python<'_>, text: &[u8], bytes_min: usize) -> Vec<(usize, usize)> {
    detached(py, text.len(), || long_runs(text, bytes_min, u8::is_ascii_alphanumeric).collect())
}
