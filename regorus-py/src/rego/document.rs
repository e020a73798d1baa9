//! Inputs and data documents: read once, shared by every policy.

use pyo3::prelude::*;
use regorus::Value;

use crate::contain::contained;
use crate::errors::input_error;
use crate::json::engine_reader;
use crate::rego::failure::Failure;

/// The input of decisions; `input.action` is the whole input once more, unless it has that member.
#[pyclass(frozen, module = "regorus")]
pub struct Input {
    pub value: Value,
}

#[pymethods]
impl Input {
    #[new]
    fn new(py: Python<'_>, text: &[u8]) -> PyResult<Self> {
        py.detach(|| read_input(text)).map(|value| Self { value }).map_err(|reason| input_error(py, reason))
    }
}

/// The documents that policies read as `data.…`.
#[pyclass(frozen, module = "regorus")]
pub struct Data {
    pub value: Value,
}

#[pymethods]
impl Data {
    #[new]
    fn new(py: Python<'_>, text: &[u8]) -> PyResult<Self> {
        py.detach(|| read_object(text, "the data"))
            .map(|value| Self { value })
            .map_err(|reason| input_error(py, reason))
    }
}

pub fn read_input(text: &[u8]) -> Result<Value, String> {
    let whole = read_object(text, "the input")?;
    let Value::Object(members) = &whole else { return Ok(whole) };
    let action = Value::from("action");
    if members.contains_key(&action) {
        return Ok(whole);
    }
    let mut with_action = members.as_ref().clone();
    with_action.insert(action, whole.clone());
    Ok(with_action.into_value())
}

fn read_object(text: &[u8], what: &str) -> Result<Value, String> {
    let value = contained(|| engine_reader::read(text))
        .map_err(|panic| Failure::panic(&*panic).reason)?
        .map_err(|refusal| refusal.describe(text))?;
    match value {
        Value::Object(_) => Ok(value),
        _ => Err(format!("{what} must be an object")),
    }
}
