//! The Python classes of what a pattern matched.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::pattern::{BytePattern, after};

/// The places of the whole match and of its groups.
pub type Spans = Vec<Option<(usize, usize)>>;

#[pyclass(frozen, module = "regorus")]
pub struct ByteMatch {
    text: Py<PyBytes>,
    spans: Spans,
}

impl ByteMatch {
    pub fn new(text: Py<PyBytes>, spans: Spans) -> Self {
        Self { text, spans }
    }

    fn place(&self, group: usize) -> PyResult<Option<(usize, usize)>> {
        self.spans.get(group).copied().ok_or_else(|| PyIndexError::new_err("the pattern has no such group"))
    }

    fn text<'py>(&self, py: Python<'py>, group: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = self.text.bind(py).as_bytes();
        Ok(self.place(group)?.map(|(start, end)| PyBytes::new(py, &bytes[start..end])))
    }
}

#[pymethods]
impl ByteMatch {
    fn __getitem__<'py>(&self, py: Python<'py>, group: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.text(py, group)
    }

    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let texts: Vec<_> = (1..self.spans.len()).map(|group| self.text(py, group)).collect::<PyResult<_>>()?;
        PyTuple::new(py, texts)
    }

    /// -1 for a group that took no part.
    #[pyo3(signature = (group = 0))]
    fn start(&self, group: usize) -> PyResult<isize> {
        Ok(self.span(group)?.0)
    }

    #[pyo3(signature = (group = 0))]
    fn end(&self, group: usize) -> PyResult<isize> {
        Ok(self.span(group)?.1)
    }

    #[pyo3(signature = (group = 0))]
    fn span(&self, group: usize) -> PyResult<(isize, isize)> {
        Ok(self.place(group)?.map_or((-1, -1), |(start, end)| (start.cast_signed(), end.cast_signed())))
    }

    /// The group that closed last; None where none took part.
    #[getter]
    fn lastindex(&self) -> Option<usize> {
        let mut last: Option<(usize, usize)> = None;
        for (index, span) in self.spans.iter().enumerate().skip(1) {
            if let Some((_, end)) = span
                && last.is_none_or(|(_, furthest)| *end > furthest)
            {
                last = Some((index, *end));
            }
        }
        last.map(|(index, _)| index)
    }
}

/// The matches of a text, one after another, looked for when they are asked for.
#[pyclass(module = "regorus")]
pub struct ByteMatches {
    pattern: Py<BytePattern>,
    text: Py<PyBytes>,
    at: usize,
    end: usize,
}

impl ByteMatches {
    pub fn new(pattern: Py<BytePattern>, text: Py<PyBytes>, at: usize, end: usize) -> Self {
        Self { pattern, text, at, end }
    }
}

#[pymethods]
impl ByteMatches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<ByteMatch>> {
        if self.at > self.end {
            return Ok(None);
        }
        let bytes = self.text.bind(py).as_bytes();
        let Some(spans) = self.pattern.get().next(py, bytes, self.at, self.end)? else {
            self.at = usize::MAX;
            return Ok(None);
        };
        self.at = after(&spans, self.at);
        Ok(Some(ByteMatch::new(self.text.clone_ref(py), spans)))
    }
}
