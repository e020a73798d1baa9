//! `json.marshal_with_options`: JSON in lines, as Go's `json.MarshalIndent` writes it.

use regorus::Value;

use super::added::jwt::as_go_writes;
use super::guard::Guard;
use super::weight::{WEIGHT_MAX, weigh};

pub fn guard_of(name: &str) -> Option<Guard> {
    (name == "json.marshal_with_options").then_some(Guard::Instead(marshal))
}

struct Options {
    is_pretty: bool,
    prefix: String,
    indent: String,
}

fn options(value: Option<&Value>) -> Result<Options, String> {
    let Some(Value::Object(members)) = value else { return Err(String::from("operand 2 must be object")) };
    let (mut pretty, mut lines) = (None, false);
    let mut options = Options { is_pretty: false, prefix: String::new(), indent: String::from("\t") };
    for (key, member) in members.iter_sorted() {
        match (key, member) {
            (Value::String(key), Value::String(prefix)) if &**key == "prefix" => options.prefix = prefix.to_string(),
            (Value::String(key), Value::String(indent)) if &**key == "indent" => options.indent = indent.to_string(),
            (Value::String(key), Value::Bool(is_pretty)) if &**key == "pretty" => {
                pretty = Some(*is_pretty);
                continue;
            }
            _ => return Err(String::from("operand 2: an option that is unknown, or of another type")),
        }
        lines = true;
    }
    options.is_pretty = pretty.unwrap_or(lines);
    Ok(options)
}

fn marshal(values: &[Value]) -> Result<Value, String> {
    weigh(values, WEIGHT_MAX)?;
    let json = as_go_writes(values.first().unwrap_or(&Value::Null))?;
    let options = options(values.get(1))?;
    if options.is_pretty { indented(&json, &options).map(Value::from) } else { Ok(Value::from(json)) }
}

/// JSON without spaces, with a line for each of its values.
fn indented(json: &str, options: &Options) -> Result<String, String> {
    let mut out = options.prefix.clone();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&options.prefix);
        out.push_str(&options.indent.repeat(depth));
    };
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        if in_string {
            out.push(character);
            in_string = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            continue;
        }
        match character {
            '[' | '{' => {
                out.push(character);
                if let Some(end) = characters.next_if(|next| matches!(next, ']' | '}')) {
                    out.push(end);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            ']' | '}' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            other => {
                in_string = other == '"';
                out.push(other);
            }
        }
        if out.len() > WEIGHT_MAX {
            return Err(format!("a text of more than {WEIGHT_MAX} bytes"));
        }
    }
    Ok(out)
}
