//! The exceptions of `regorus/_errors.py`, raised from here.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::rego::complaint::Complaint;
use crate::rego::failure::Failure;

static JSON_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static INPUT_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static PATTERN_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static REGO_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static EVALUATION_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

pub fn json_error(py: Python<'_>, message: String) -> PyErr {
    raise(py, &JSON_ERROR, "JsonError", (message,))
}

pub fn input_error(py: Python<'_>, reason: String) -> PyErr {
    raise(py, &INPUT_ERROR, "InputError", (reason,))
}

pub fn pattern_error(py: Python<'_>, reason: String) -> PyErr {
    raise(py, &PATTERN_ERROR, "PatternError", (reason,))
}

pub fn rego_error(py: Python<'_>, complaint: Complaint) -> PyErr {
    let Complaint { message, path, place, snippet } = complaint;
    let (line, column) = place.map_or((None, None), |(line, column)| (Some(line), Some(column)));
    raise(py, &REGO_ERROR, "RegoError", (message, path, line, column, snippet))
}

pub fn evaluation_error(py: Python<'_>, failure: Failure) -> PyErr {
    raise(py, &EVALUATION_ERROR, "EvaluationError", (failure.reason, failure.kind.name()))
}

fn raise<'py, A>(py: Python<'py>, class: &PyOnceLock<Py<PyType>>, name: &str, arguments: A) -> PyErr
where
    A: pyo3::call::PyCallArgs<'py>,
{
    match class.import(py, "regorus._errors", name).and_then(|class| class.call1(arguments)) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
