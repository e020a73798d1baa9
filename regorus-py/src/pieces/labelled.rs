//! The Python class of the values of a buffer by their labels.

use std::collections::HashMap;

use memchr::memmem;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::text_buffer::SEPARATOR;

type Place = (usize, usize);

#[pyclass(frozen, module = "regorus")]
pub struct LabelledPieces {
    labels: Vec<(Vec<u8>, Vec<Place>)>,
    #[pyo3(get)]
    several_lines: Vec<(usize, usize, usize)>,
}

#[pymethods]
impl LabelledPieces {
    #[new]
    fn new(py: Python<'_>, buffer: &[u8], bytes_max: usize) -> Self {
        py.detach(|| Self::of(buffer, bytes_max))
    }

    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.labels.iter().map(|(label, _)| PyBytes::new(py, label)).collect()
    }

    fn places(&self, number: usize) -> PyResult<Vec<Place>> {
        let found = self.labels.get(number).ok_or_else(|| PyIndexError::new_err("there is no such label"))?;
        Ok(found.1.clone())
    }
}

impl LabelledPieces {
    fn of(buffer: &[u8], bytes_max: usize) -> Self {
        let mut made = Self { labels: Vec::new(), several_lines: Vec::new() };
        let mut numbers: HashMap<&[u8], usize> = HashMap::new();
        let ends = memmem::find_iter(buffer, SEPARATOR).chain([buffer.len()]);
        let mut start = 0;
        for end in ends {
            let piece = &buffer[start..end];
            let label = memmem::find(piece, b": ").map(|at| &piece[..at]).filter(|label| !label.contains(&b'\n'));
            let value = label.map_or(start, |label| start + label.len() + 2);
            if let Some(label) = label
                && label.len() <= bytes_max
                && (1..=bytes_max).contains(&(end - value))
            {
                let number = *numbers.entry(label).or_insert_with(|| {
                    made.labels.push((label.to_vec(), Vec::new()));
                    made.labels.len() - 1
                });
                made.labels[number].1.push((value, end));
            }
            if piece.contains(&b'\n') {
                made.several_lines.push((start, value, end));
            }
            start = end + SEPARATOR.len();
        }
        made
    }
}
