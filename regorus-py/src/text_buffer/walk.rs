//! One walk over a value: ordinary texts go to the buffer, others to who walks.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::buffer::TextBuffer;
use super::text_of_codes::text_of_codes;
use crate::json::turns::Turns;

/// Smaller numbers tell nothing.
const INTEGER_MIN: u64 = 100_000;
/// Of true and false, at most.
const TRUTH_BYTES: usize = 5;

/// A member that is true or false is written once for each name. Yields what is no ordinary text: with characters beyond ASCII, JSON in a text, a large number, what is over a limit.
#[pyclass(module = "regorus")]
pub struct TextWalk {
    buffer: Py<TextBuffer>,
    origin: Py<PyAny>,
    is_outermost: bool,
    bytes_max: usize,
    pieces_max: usize,
    left: Vec<(Py<PyAny>, Option<usize>)>,
    turns: Turns,
}

#[pymethods]
impl TextWalk {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for (value, _) in &self.left {
            visit.call(value)?;
        }
        visit.call(&self.origin)?;
        visit.call(&self.buffer)
    }

    /// The origin and the buffer stay: a cycle through them is broken in the buffer.
    fn __clear__(&mut self) {
        self.left.clear();
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// The value, and the way to it. After one that has no place in the buffer, nothing follows.
    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyTuple>)>> {
        let shared = self.buffer.clone_ref(py);
        let mut buffer = shared.try_borrow_mut(py)?;
        while let Some((value, node)) = self.left.pop() {
            self.turns.count(py);
            if let Some(other) = self.take(value.bind(py), node, &mut buffer)? {
                if buffer.is_full(self.pieces_max) {
                    self.left.clear();
                }
                return Ok(Some((other, buffer.names.path(py, node)?)));
            }
        }
        Ok(None)
    }
}

impl TextWalk {
    pub fn new(
        buffer: Py<TextBuffer>,
        value: Py<PyAny>,
        origin: Py<PyAny>,
        is_outermost: bool,
        bytes_max: usize,
        pieces_max: usize,
    ) -> Self {
        let left = vec![(value, None)];
        Self { buffer, origin, is_outermost, bytes_max, pieces_max, left, turns: Turns::default() }
    }

    /// None where it is done.
    fn take<'py>(
        &mut self,
        value: &Bound<'py, PyAny>,
        node: Option<usize>,
        buffer: &mut TextBuffer,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = value.py();
        if let Ok(text) = value.cast::<PyString>() {
            return self.take_text(text, node, buffer);
        }
        if let Some(text) = value.cast::<PyList>().ok().and_then(text_of_codes) {
            return self.take_text(&PyString::new(py, &text), node, buffer);
        }
        if let Some(digits) = large_integer(value)? {
            return self.take_text(&digits, node, buffer);
        }
        if let Ok(truth) = value.cast::<PyBool>()
            && buffer.names.is_new_truth(node, truth.is_true())
            && self.has_place(node, buffer, TRUTH_BYTES)
        {
            let written: &[u8] = if truth.is_true() { b"true" } else { b"false" };
            buffer.push(py, &self.origin, node, written, false)?; // no part of a text that several fields make
            return Ok(None);
        }
        let other = if buffer.names.is_worth_naming(node) {
            self.take_text(&PyString::new(py, ""), node, buffer)?
        } else {
            None
        };
        let first = self.left.len();
        if let Ok(members) = value.cast::<PyDict>() {
            for (name, member) in members.iter() {
                let name = name.cast::<PyString>()?.to_string_lossy();
                self.left.push((member.unbind(), Some(buffer.names.add_member(node, &name))));
            }
        } else if let Ok(items) = value.cast::<PyList>() {
            for (position, item) in items.iter().enumerate() {
                self.left.push((item.unbind(), Some(buffer.names.add_item(node, position))));
            }
        }
        self.left[first..].reverse();
        Ok(other)
    }

    fn has_place(&self, node: Option<usize>, buffer: &TextBuffer, bytes: usize) -> bool {
        buffer.size() + buffer.names.label_bytes(node) + bytes <= self.bytes_max && !buffer.is_full(self.pieces_max)
    }

    fn take_text<'py>(
        &self,
        text: &Bound<'py, PyString>,
        node: Option<usize>,
        buffer: &mut TextBuffer,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let plain = text
            .to_str()
            .ok()
            .filter(|plain| plain.is_ascii() && !is_like_json(plain) && self.has_place(node, buffer, plain.len()));
        match plain {
            Some(plain) => {
                buffer.push(text.py(), &self.origin, node, plain.as_bytes(), self.is_outermost)?;
                Ok(None)
            }
            None => Ok(Some(text.clone().into_any())),
        }
    }
}

/// Whether it begins as an object or an array does; `[masked]` does not. Space is what Python takes for space.
fn is_like_json(plain: &str) -> bool {
    let mut bytes = plain.bytes().filter(|byte| !matches!(byte, b' ' | b'\t'..=b'\r' | 0x1c..=0x1f));
    match bytes.next() {
        Some(b'{') => matches!(bytes.next(), Some(b'"' | b'}')),
        Some(b'[') => {
            matches!(bytes.next(), Some(b'"' | b'{' | b'[' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'))
        }
        _ => false,
    }
}

/// The digits of a large whole number.
fn large_integer<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyString>>> {
    if value.is_instance_of::<PyBool>() {
        return Ok(None);
    }
    if value.is_instance_of::<PyInt>() {
        return match value.extract::<i64>() {
            Ok(small) if small.unsigned_abs() < INTEGER_MIN => Ok(None),
            _ => Ok(Some(value.str()?)),
        };
    }
    match value.cast::<PyFloat>() {
        Ok(double) if double.value().abs() >= INTEGER_MIN as f64 && double.value().fract() == 0.0 => {
            Ok(Some(value.call_method0("__int__")?.str()?))
        }
        _ => Ok(None),
    }
}
