//! The Python class for a compiled policy.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use regorus::Value;

use crate::errors::{evaluation_error, input_error, rego_error};
use crate::rego::compile::{Compiled, Limits, compile, reference};
use crate::rego::document::{Data, Input, read_input};
use crate::rego::entry;
use crate::rego::evaluate::{evaluate, on_big_stack, write_answer, write_value};
use crate::rego::failure::Failure;
use crate::rego::parse;
use crate::rego::source::Source;

#[pyclass(frozen, module = "regorus")]
pub struct Policy {
    compiled: Compiled,
    path: String,
    text: String,
}

/// An `Input`, or the bytes of one.
fn value_of(input: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(parsed) = input.cast::<Input>() {
        return Ok(parsed.get().value.clone());
    }
    let text = input.cast::<PyBytes>()?.as_bytes();
    input.py().detach(|| read_input(text)).map_err(|reason| input_error(input.py(), reason))
}

#[pymethods]
impl Policy {
    #[new]
    #[pyo3(signature = (source, *, path = "policy.rego", data = None, libraries = Vec::new(),
                        time_limit_milliseconds = 50, memory_limit_bytes = 64 << 20))]
    fn new(
        py: Python<'_>,
        source: &str,
        path: &str,
        data: Option<&Bound<'_, Data>>,
        libraries: Vec<(String, String)>,
        time_limit_milliseconds: u32,
        memory_limit_bytes: u64,
    ) -> PyResult<Self> {
        let limits = Limits { time_milliseconds: time_limit_milliseconds, memory_bytes: memory_limit_bytes };
        let data = data.map(|data| data.get().value.clone());
        py.detach(|| {
            let libraries: Vec<_> = libraries.iter().map(|(path, text)| Source { path, text }).collect();
            compile(Source { path, text: source }, data.as_ref(), &libraries, limits)
        })
        .map(|compiled| Self { compiled, path: path.to_owned(), text: source.to_owned() })
        .map_err(|complaint| rego_error(py, complaint))
    }

    #[getter]
    fn package(&self) -> &str {
        &self.compiled.package
    }

    #[getter]
    fn rules(&self) -> Vec<String> {
        self.compiled.rules.clone()
    }

    fn decide<'py>(&self, py: Python<'py>, input: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        self.ask(py, entry::RULE, value_of(input)?, write_answer)
    }

    fn query<'py>(&self, py: Python<'py>, rule: &str, input: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let value = value_of(input)?;
        if !self.compiled.rules.iter().any(|name| name == rule) {
            return Err(evaluation_error(py, Failure::error(format!("the policy has no rule {rule:?}"))));
        }
        self.ask(
            py,
            &reference(&format!("{}{}{rule}", self.compiled.package, if rule.starts_with('[') { "" } else { "." })),
            value,
            write_value,
        )
    }

    fn ast<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let source = Source { path: &self.path, text: &self.text };
        py.detach(|| on_big_stack(|| parse::tree(&source).map_err(Failure::error)))
            .map(|tree| PyBytes::new(py, tree.as_bytes()))
            .map_err(|failure| evaluation_error(py, failure))
    }
}

impl Policy {
    fn ask<'py>(
        &self,
        py: Python<'py>,
        rule: &str,
        input: Value,
        finish: fn(&Value) -> Result<Vec<u8>, Failure>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        py.detach(|| evaluate(&self.compiled, rule, input, finish))
            .map(|answer| PyBytes::new(py, &answer))
            .map_err(|failure| evaluation_error(py, failure))
    }
}
