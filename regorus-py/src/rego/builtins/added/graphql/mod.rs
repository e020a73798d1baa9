//! `graphql.*`: documents of GraphQL (October 2021) as values, in the shape that OPA gives them.
//!
//! Queries and schemas are parsed, and schemas checked. Whether a query is valid for a schema is not answered here:
//! that takes the twenty-eight rules of section 5, and a yes that is wrong would let something pass.

mod document;
mod lexer;
mod parser;
mod query;
mod schema;
mod validity;

use regorus::Value;

use super::Added;
use super::operands::string;
use parser::Parser;

const DOCUMENT_BYTES_MAX: usize = 64 << 10;

pub const TABLE: &[Added] = &[
    Added::new("graphql.parse_query", 1, parse_query),
    Added::new("graphql.parse_schema", 1, parse_schema),
    Added::new("graphql.schema_is_valid", 1, schema_is_valid),
];

fn checked(text: &str) -> Result<&str, String> {
    if text.len() > DOCUMENT_BYTES_MAX {
        return Err(format!("a document of more than {DOCUMENT_BYTES_MAX} bytes"));
    }
    Ok(text)
}

fn parse_query(values: &[Value]) -> Result<Value, String> {
    Parser::new(checked(string(values, 1)?)?).query_document()
}

fn parse_schema(values: &[Value]) -> Result<Value, String> {
    Parser::new(checked(string(values, 1)?)?).schema_document()
}

fn schema_is_valid(values: &[Value]) -> Result<Value, String> {
    let document = match values.first() {
        Some(Value::String(text)) => Parser::new(checked(text)?).schema_document(),
        Some(document @ Value::Object(_)) => Ok(document.clone()),
        _ => return Ok(Value::Bool(false)),
    };
    let Ok(document) = document else { return Ok(Value::Bool(false)) };
    match validity::check(&document) {
        Ok(()) => Ok(Value::Bool(true)),
        Err(validity::Invalid::Rule) => Ok(Value::Bool(false)),
        Err(validity::Invalid::TooLarge) => Err(String::from("the schema is too large")),
    }
}
