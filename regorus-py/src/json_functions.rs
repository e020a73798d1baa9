//! The Python functions for JSON.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::contain::contained;
use crate::errors::json_error;
use crate::json::python_reader::{self, ReadError};
use crate::json::python_writer;
use crate::rego::failure::Failure;

#[pyfunction]
pub fn parse_json<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match contained(|| python_reader::read(py, text)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(ReadError::Refused(refusal))) => Err(json_error(py, refusal.describe(text))),
        Ok(Err(ReadError::Python(error))) => Err(error),
        Err(panic) => Err(json_error(py, Failure::panic(&*panic).reason)),
    }
}

#[pyfunction]
pub fn canonical_json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = value.py();
    match contained(|| python_writer::write(value)) {
        Ok(Ok(text)) => Ok(PyBytes::new(py, &text)),
        Ok(Err(unwritable)) => Err(json_error(py, unwritable.describe())),
        Err(panic) => Err(json_error(py, Failure::panic(&*panic).reason)),
    }
}
