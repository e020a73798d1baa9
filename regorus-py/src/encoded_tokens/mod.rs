//! Tokens in hexadecimal and base64 (RFC 4648), and what they encode where it is a text or a container.

mod bases;
mod content;
mod tokens;

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::detached::detached;

/// The kind of a container by its first bytes; None: none that is known.
#[pyfunction]
pub fn container_of(data: &[u8]) -> Option<&'static str> {
    content::container_of(data)
}

/// The text that these bytes are in UTF-8 or UTF-16; None where they are no text.
#[pyfunction]
pub fn as_text<'py>(py: Python<'py>, data: &[u8]) -> Option<Bound<'py, PyString>> {
    detached(py, data.len(), || content::as_text(data)).map(|text| PyString::new(py, &text))
}

/// What one token encodes, with 0x before it or without; None where it is none.
#[pyfunction]
pub fn from_hexadecimal(token: &[u8]) -> Option<Cow<'static, [u8]>> {
    bases::from_hexadecimal(token).map(Cow::Owned)
}

/// What one token encodes, in both alphabets, padded or not, broken into lines or not; None where it is none.
#[pyfunction]
pub fn from_base64(token: &[u8]) -> Option<Cow<'static, [u8]>> {
    bases::from_base64(token).map(Cow::Owned)
}

/// From where to where each token stands, in which base, and what it encodes.
#[pyfunction]
pub fn encoded_tokens<'py>(py: Python<'py>, text: &[u8]) -> Vec<(usize, usize, &'static str, Bound<'py, PyBytes>)> {
    let found = detached(py, text.len(), || tokens::encoded(text));
    found.into_iter().map(|(start, end, base, data)| (start, end, base, PyBytes::new(py, &data))).collect()
}
