//! The Python class of the buffer.

use std::borrow::Cow;

use pyo3::exceptions::PyIndexError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::names::Names;
use super::walk::TextWalk;

/// Between two texts; no pattern matches across it.
pub const SEPARATOR: &[u8] = b"\n\0\n";

/// One text. Its value begins at `text_start`, after its label.
struct Piece {
    way: Way,
    is_outermost: bool,
    is_folded: bool,
    start: usize,
    text_start: usize,
    end: usize,
}

/// Where a text came from. An origin is Python's object.
enum Way {
    /// Of the text, and the name of its member.
    Added(Py<PyAny>, Option<String>),
    /// Of the value that was walked, and the way to the text from there.
    Walked(Py<PyAny>, Option<usize>),
}

/// Python's: an origin, the way from there, whether the text was folded, and where it stands.
type PieceTuple<'py> = (Py<PyAny>, Option<Bound<'py, PyTuple>>, bool, usize, usize, usize);

#[pyclass(module = "regorus")]
pub struct TextBuffer {
    data: Vec<u8>,
    pieces: Vec<Piece>,
    pub names: Names,
}

#[pymethods]
impl TextBuffer {
    #[new]
    fn new(label: Py<PyAny>) -> Self {
        Self { data: Vec::new(), pieces: Vec::new(), names: Names::new(label) }
    }

    /// The label is Python's, and often a method of who holds the buffer: a cycle.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for piece in &self.pieces {
            let (Way::Added(origin, _) | Way::Walked(origin, _)) = &piece.way;
            visit.call(origin)?;
        }
        self.names.traverse(&visit)
    }

    fn __clear__(&mut self) {
        self.pieces.clear();
        self.names.clear();
    }

    fn __len__(&self) -> usize {
        self.pieces.len()
    }

    #[getter]
    pub fn size(&self) -> usize {
        self.data.len()
    }

    fn add(
        &mut self,
        origin: Py<PyAny>,
        name: Option<String>,
        label: &[u8],
        value: &[u8],
        is_folded: bool,
        is_outermost: bool,
    ) {
        let start = self.data.len();
        self.data.extend_from_slice(label);
        self.end_piece(Way::Added(origin, name), start, value, is_outermost);
        if let Some(piece) = self.pieces.last_mut() {
            piece.is_folded = is_folded;
        }
    }

    fn walk(
        slf: Bound<'_, Self>,
        value: Bound<'_, PyAny>,
        origin: Py<PyAny>,
        is_outermost: bool,
        bytes_max: usize,
        pieces_max: usize,
    ) -> TextWalk {
        TextWalk::new(slf.unbind(), value.unbind(), origin, is_outermost, bytes_max, pieces_max)
    }

    /// The bytes from this piece on.
    fn bytes<'py>(&self, py: Python<'py>, first: usize) -> Bound<'py, PyBytes> {
        let end = self.data.len().saturating_sub(SEPARATOR.len());
        let start = self.pieces.get(first).map_or(end, |piece| piece.start);
        PyBytes::new(py, &self.data[start..end])
    }

    /// The piece that begins last before the offset, or there.
    fn index_at(&self, offset: usize) -> usize {
        self.pieces.partition_point(|piece| piece.start <= offset).saturating_sub(1)
    }

    fn piece<'py>(&self, py: Python<'py>, index: usize) -> PyResult<PieceTuple<'py>> {
        let piece = self.at(index)?;
        let (origin, path) = match &piece.way {
            Way::Added(origin, _) => (origin, None),
            Way::Walked(origin, node) => (origin, Some(self.names.path(py, *node)?)),
        };
        Ok((origin.clone_ref(py), path, piece.is_folded, piece.start, piece.text_start, piece.end))
    }
}

impl TextBuffer {
    /// Those that were not decoded from another, with the names of their members.
    pub fn outermost_texts(&self) -> impl Iterator<Item = (Option<&str>, Cow<'_, str>)> {
        self.pieces.iter().filter(|piece| piece.is_outermost).map(|piece| {
            let name = match &piece.way {
                Way::Added(_, name) => name.as_deref(),
                Way::Walked(_, node) => node.map(|node| self.names.name(node)),
            };
            (name, String::from_utf8_lossy(&self.data[piece.text_start..piece.end]))
        })
    }

    /// One more text of a walk.
    pub fn push(
        &mut self,
        py: Python<'_>,
        origin: &Py<PyAny>,
        node: Option<usize>,
        value: &[u8],
        is_outermost: bool,
    ) -> PyResult<()> {
        let start = self.data.len();
        self.names.write_label(py, node, &mut self.data)?;
        self.end_piece(Way::Walked(origin.clone_ref(py), node), start, value, is_outermost);
        Ok(())
    }

    pub fn is_full(&self, pieces_max: usize) -> bool {
        self.pieces.len() >= pieces_max
    }

    fn end_piece(&mut self, way: Way, start: usize, value: &[u8], is_outermost: bool) {
        let text_start = self.data.len();
        self.data.extend_from_slice(value);
        let end = self.data.len();
        self.data.extend_from_slice(SEPARATOR);
        self.pieces.push(Piece { way, is_outermost, is_folded: false, start, text_start, end });
    }

    fn at(&self, index: usize) -> PyResult<&Piece> {
        self.pieces.get(index).ok_or_else(|| PyIndexError::new_err("there is no such piece"))
    }
}
