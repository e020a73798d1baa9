//! Arguments by type, with OPA's words for those of another.

use regorus::Value;

/// OPA's name for the type of a value.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Set(_) => "set",
        Value::Object(_) => "object",
        Value::Undefined => "undefined",
    }
}

/// `operand 2 must be string but got number`; `position` counts from 1.
pub fn wrong_type(position: usize, wanted: &str, got: &Value) -> String {
    format!("operand {position} must be {wanted} but got {}", type_name(got))
}

pub fn string(values: &[Value], position: usize) -> Result<&str, String> {
    match values.get(position - 1) {
        Some(Value::String(string)) => Ok(string),
        Some(other) => Err(wrong_type(position, "string", other)),
        None => Err(format!("operand {position} is missing")),
    }
}
