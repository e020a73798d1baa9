//! Texts of several places read as one: what is short enough to be a part of something, side by side.

mod edges;
mod lines;

pub use lines::{CREDENTIAL_CHARACTERS_MAX, ENDS_MAX, LINES_CHARACTERS_MAX};

use std::borrow::Cow;
use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::byte_patterns::BytePattern;
use crate::text_buffer::TextBuffer;

/// What of a text may go on in another: all of a short one, else its beginning and its end.
#[pyfunction]
pub fn edges_of(text: &Bound<'_, PyString>) -> String {
    edges::edges_of(&text.to_string_lossy()).into_owned()
}

/// All in one, and then a line from each beginning of a credential to each end of a piece after it.
#[pyfunction]
pub fn joined_lines(pieces: Vec<String>, beginnings: &Bound<'_, BytePattern>, least_end: usize) -> PyResult<String> {
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    Ok(lines::joined_lines(&pieces, beginnings.get().regex(beginnings.py())?, least_end))
}

/// The edges of all texts that were not decoded from others, up to so many characters, in lines as `joined_lines`
/// makes them: first all in their order, then those whose names differ in a number only. None where there is one text.
#[pyfunction]
pub fn joined_fields(
    py: Python<'_>,
    buffers: Vec<PyRef<'_, TextBuffer>>,
    beginnings: &Bound<'_, BytePattern>,
    characters_max: usize,
) -> PyResult<Option<String>> {
    let mut in_order = Vec::new();
    let mut by_name: Vec<Vec<usize>> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut left = characters_max;
    let texts = buffers.iter().flat_map(|buffer| buffer.outermost_texts());
    for (name, text) in texts.filter(|(_, text)| !text.is_empty()) {
        let short = match text {
            Cow::Borrowed(text) => edges::edges_of(text),
            Cow::Owned(text) => Cow::Owned(edges::edges_of(&text).into_owned()),
        };
        let Some(less) = left.checked_sub(short.chars().count()) else { break };
        left = less;
        if let Some(name) = name {
            let number = *numbers.entry(name.replace(|one: char| one.is_ascii_digit(), "")).or_insert_with(|| {
                by_name.push(Vec::new());
                by_name.len() - 1
            });
            by_name[number].push(in_order.len());
        }
        in_order.push(short);
    }
    if in_order.len() < 2 {
        return Ok(None);
    }
    let all: Vec<&str> = in_order.iter().map(AsRef::as_ref).collect();
    let groups = by_name.iter().filter(|group| (2..all.len()).contains(&group.len()));
    let groups: Vec<Vec<&str>> = groups.map(|group| group.iter().map(|index| all[*index]).collect()).collect();
    let regex = beginnings.get().regex(py)?;
    Ok(py.detach(|| {
        let lines = std::iter::once(&all).chain(&groups).map(|texts| lines::joined_lines(texts, regex, 0));
        Some(lines.collect::<Vec<_>>().join("\n"))
    }))
}
