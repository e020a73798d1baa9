//! Builtins called by themselves, to be compared with OPA's.

use std::collections::{BTreeMap, BTreeSet};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use regorus::Value;

use super::guard::call_alone;
use crate::errors::evaluation_error;
use crate::json::{engine_reader, engine_writer};
use crate::rego::evaluate::on_big_stack;
use crate::rego::failure::Failure;

const SET: &str = "$set";

/// A JSON object `{"name", "arguments"}` in each line of `calls`; an outcome in each of the answer: `{"value": …}`,
/// `{"error": "…"}`, or `{}` where the builtin is undefined. A set is `{"$set": […]}` in both directions.
#[pyfunction]
pub fn call_builtins<'py>(py: Python<'py>, calls: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let answer = py.detach(|| {
        let mut answer = Vec::new();
        for line in calls.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let outcome = on_big_stack(|| Ok(outcome(line)?)).unwrap_or_else(|failure| error(&failure.reason));
            let mut written = Vec::new();
            if let Err(reason) = engine_writer::write(&mut written, &outcome) {
                written.clear();
                engine_writer::write(&mut written, &error(&reason)).map_err(Failure::error)?;
            }
            answer.append(&mut written);
            answer.push(b'\n');
        }
        Ok(answer)
    });
    answer.map(|answer| PyBytes::new(py, &answer)).map_err(|failure| evaluation_error(py, failure))
}

fn object(name: &str, value: Value) -> Value {
    Value::from(BTreeMap::from([(Value::from(name), value)]))
}

fn error(reason: &str) -> Value {
    object("error", Value::from(reason))
}

fn outcome(line: &[u8]) -> Result<Value, Failure> {
    let call = engine_reader::read(line).map_err(|refusal| Failure::error(refusal.describe(line)))?;
    let member = |name: &str| call.as_object().ok().and_then(|members| members.get(&Value::from(name)).cloned());
    let (Some(Value::String(name)), Some(Value::Array(arguments))) = (member("name"), member("arguments")) else {
        return Err(Failure::error(String::from("a call has a name and arguments")));
    };
    let arguments: Vec<Value> = arguments.iter().map(read).collect();
    Ok(match call_alone(&name, &arguments) {
        Ok(Value::Undefined) => Value::new_object(),
        Ok(value) => object("value", written(&value)),
        Err(reason) => error(&reason.to_string()),
    })
}

fn read(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::from(items.iter().map(read).collect::<Vec<_>>()),
        Value::Object(members) => match members.get(&Value::from(SET)) {
            Some(Value::Array(items)) => Value::from(items.iter().map(read).collect::<BTreeSet<_>>()),
            _ => Value::from(
                members.iter_sorted().map(|(key, member)| (key.clone(), read(member))).collect::<BTreeMap<_, _>>(),
            ),
        },
        other => other.clone(),
    }
}

fn written(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::from(items.iter().map(written).collect::<Vec<_>>()),
        Value::Set(items) => object(SET, Value::from(items.iter_sorted().map(written).collect::<Vec<_>>())),
        Value::Object(members) => Value::from(
            members.iter_sorted().map(|(key, member)| (written(key), written(member))).collect::<BTreeMap<_, _>>(),
        ),
        other => other.clone(),
    }
}
