//! Parsing, with complaints that have a place.

use std::num::NonZeroU32;

use regorus::unstable::{Module, Ref};
use regorus::{Engine, PolicyLengthConfig};

use crate::rego::complaint::Complaint;
use crate::rego::source::Source;

/// More than the bytes that are read.
const COLUMNS_MAX: NonZeroU32 = NonZeroU32::new(1 << 17).unwrap();

/// An engine that reads lines as long as the text: keys and certificates are often one line.
pub fn new_engine() -> Engine {
    let mut engine = Engine::new();
    engine.set_policy_length_config(PolicyLengthConfig { max_col: COLUMNS_MAX, ..PolicyLengthConfig::default() });
    engine
}

/// Adds the modules to `engine` and gives their syntax trees. Call it on a big stack.
pub fn parse(engine: &mut Engine, sources: &[Source<'_>]) -> Result<Vec<Ref<Module>>, Complaint> {
    for source in sources {
        add(engine, source)?;
    }
    Ok(engine.get_modules().clone())
}

pub fn add(engine: &mut Engine, source: &Source<'_>) -> Result<(), Complaint> {
    let Err(error) = engine.add_policy(source.path.to_owned(), source.text.to_owned()) else {
        return Ok(());
    };
    let mut complaint = Complaint::from_engine(source.path, source.text, &error.to_string());
    if complaint.message.contains("`if` keyword is required") {
        complaint.message = format!(
            "{}; policies are written in Rego v1: `if` stands before the body of a rule, `contains` in the head of a set",
            complaint.message
        );
    }
    Err(complaint)
}

/// The engine's syntax tree of one module as JSON. Call it on a big stack.
pub fn tree(source: &Source<'_>) -> Result<String, String> {
    let mut engine = new_engine();
    add(&mut engine, source).map_err(|complaint| complaint.message)?;
    engine.get_ast_as_json().map_err(|error| error.to_string())
}
