//! `yaml.marshal`: OPA indents lists in objects, the engine does not. Texts are the engine's.

use regorus::Value;

use super::guard::{Guard, engines_own};
use super::weight::{WEIGHT_MAX, weigh};

const STEP: usize = 2;

pub fn guard_of(name: &str) -> Option<Guard> {
    (name == "yaml.marshal").then_some(Guard::Instead(marshal))
}

fn marshal(values: &[Value]) -> Result<Value, String> {
    weigh(values, WEIGHT_MAX)?;
    let mut out = String::new();
    write(&mut out, values.first().unwrap_or(&Value::Null), 0)?;
    out.push('\n');
    Ok(Value::from(out))
}

fn scalar(value: &Value) -> Result<String, String> {
    match engines_own("yaml.marshal", std::slice::from_ref(value)) {
        Ok(Value::String(written)) => Ok(written.trim_end_matches('\n').to_owned()),
        _ => Err(String::from("a value that YAML cannot hold")),
    }
}

fn line(out: &mut String, indent: usize) {
    out.push('\n');
    out.push_str(&" ".repeat(indent));
}

fn list<'v>(out: &mut String, items: impl Iterator<Item = &'v Value>, indent: usize) -> Result<(), String> {
    for (index, item) in items.enumerate() {
        if index > 0 {
            line(out, indent);
        }
        out.push_str("- ");
        write(out, item, indent + STEP)?;
    }
    Ok(())
}

/// The first line follows what is there, the others begin at `indent`.
fn write(out: &mut String, value: &Value, indent: usize) -> Result<(), String> {
    if out.len() > WEIGHT_MAX {
        return Err(format!("a text of more than {WEIGHT_MAX} bytes"));
    }
    match value {
        Value::Array(items) if items.is_empty() => out.push_str("[]"),
        Value::Set(items) if items.is_empty() => out.push_str("[]"),
        Value::Object(members) if members.is_empty() => out.push_str("{}"),
        Value::Array(items) => list(out, items.iter(), indent)?,
        Value::Set(items) => list(out, items.iter_sorted(), indent)?,
        Value::Object(members) => {
            for (index, (key, member)) in members.iter_sorted().enumerate() {
                let Value::String(name) = key else { return Err(String::from("a key that is no string")) };
                if members.len() > 1 && name.contains(|character: char| character.is_numeric()) {
                    return Err(String::from("keys with digits, which OPA has in another order"));
                }
                if index > 0 {
                    line(out, indent);
                }
                out.push_str(&scalar(key)?);
                out.push(':');
                let is_block = match member {
                    Value::Array(items) => !items.is_empty(),
                    Value::Set(items) => !items.is_empty(),
                    Value::Object(members) => !members.is_empty(),
                    _ => false,
                };
                if is_block {
                    line(out, indent + STEP);
                } else {
                    out.push(' ');
                }
                write(out, member, indent + STEP)?;
            }
        }
        other => out.push_str(&scalar(other)?),
    }
    Ok(())
}
