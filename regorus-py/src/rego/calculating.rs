//! The engine that evaluates a program. If the program has operators, this is another engine than the one that parsed
//! it: it reads calls in place of the operators.

use regorus::Engine;

use crate::rego::builtins::guard;
use crate::rego::complaint::Complaint;
use crate::rego::parse::{add, new_engine};
use crate::rego::program::Program;
use crate::rego::source::Source;
use crate::rego::syntax::operators::{Moved, with_calls};

/// The name of the function; `_` is appended until no text of the program contains it.
const NAME: &str = "calculate__";

/// Returns `engine`, which has parsed `program`, or another in its place, and the columns that moved. `strict`: errors of
/// operators are errors of the evaluation; otherwise the value is undefined. Call it after the checks, on a big stack.
pub fn calculating(engine: Engine, program: &Program<'_>, strict: bool) -> Result<(Engine, Moved), Complaint> {
    let mut name = String::from(NAME);
    while program.parts.iter().any(|part| part.source.text.contains(&name)) {
        name.push('_');
    }
    let mut moved = Moved::default();
    let texts = program.parts.iter().map(|part| with_calls(part, &name, &mut moved));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    if texts.iter().all(Option::is_none) {
        return Ok((engine, moved));
    }
    let mut engine = new_engine();
    for (part, text) in program.parts.iter().zip(&texts) {
        add(&mut engine, &Source { path: part.source.path, text: text.as_deref().unwrap_or(part.source.text) })?;
    }
    guard::install_operators(&mut engine, &name, strict)
        .map_err(|error| Complaint::about(program.parts[0].source.path, error.to_string()))?;
    Ok((engine, moved))
}
