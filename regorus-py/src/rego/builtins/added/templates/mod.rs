//! `strings.render_template`: the part of Go's `text/template` that says what a text holds.
//!
//! Fields, variables, `if`, `with`, `range`, comments, trimming, and the functions that compare, combine, index and
//! measure. What Go has beyond it (templates in templates, `printf`, escaping, pipelines) is refused, not ignored.

mod evaluate;
mod lexer;
mod parse;
mod values;

use regorus::Value;

use super::Added;
use super::operands::{string, wrong_type};

const TEMPLATE_BYTES_MAX: usize = 64 << 10;

pub const TABLE: &[Added] = &[Added::new("strings.render_template", 2, render)];

fn render(values: &[Value]) -> Result<Value, String> {
    let template = string(values, 1)?;
    let variables = match values.get(1) {
        Some(variables @ Value::Object(_)) => variables,
        Some(other) => return Err(wrong_type(2, "object", other)),
        None => return Err(String::from("operand 2 is missing")),
    };
    if template.len() > TEMPLATE_BYTES_MAX {
        return Err(format!("a template of more than {TEMPLATE_BYTES_MAX} bytes"));
    }
    let nodes = parse::parse(template).map_err(|why| format!("template: {why}"))?;
    evaluate::render(&nodes, variables).map(Value::from).map_err(|why| format!("template: {why}"))
}
