//! The engine that evaluates a program. If the program has operators, or negations whose operands are evaluated first,
//! this is another engine than the one that parsed it: it reads calls and names in their place.

use regorus::Engine;

use crate::rego::builtins::guard;
use crate::rego::complaint::Complaint;
use crate::rego::parse::{new_engine, parse};
use crate::rego::program::{Part, Program};
use crate::rego::source::Source;
use crate::rego::syntax::minus::with_differences;
use crate::rego::syntax::moved::Moved;
use crate::rego::syntax::negations::with_operands_first;
use crate::rego::syntax::operators::with_calls;

/// The name of the function that calculates; `_` is appended until no text of the program contains it.
const FUNCTION: &str = "calculate__";
/// What names of operands begin with, in the same way.
const OPERANDS: &str = "operand__";

/// Returns `engine`, which has parsed `program`, or another in its place, and the places that moved. `strict`: errors of
/// operators are errors of the evaluation; otherwise the value is undefined. Call it after the checks, on a big stack.
pub fn calculating(engine: Engine, program: &Program<'_>, strict: bool) -> Result<(Engine, Moved), Complaint> {
    with_negations(engine, program, strict, Moved::default(), &unused(OPERANDS, program))
}

/// Changes the texts until nothing is left to change: a value in a `with` is copied, with the negations in it, and what
/// follows a minus is read otherwise afterwards.
fn with_negations(
    engine: Engine,
    program: &Program<'_>,
    strict: bool,
    before: Moved,
    prefix: &str,
) -> Result<(Engine, Moved), Complaint> {
    let mut moved = Moved::after(before);
    let texts = program.parts.iter().map(|part| match with_differences(part, &mut moved) {
        Some(text) => Ok(Some(text)),
        None => with_operands_first(program, part, prefix, &mut moved),
    });
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    if texts.iter().all(Option::is_none) {
        return with_operators(engine, program, strict, moved);
    }
    let sources = changed(program, &texts);
    let mut engine = new_engine();
    let modules = parse(&mut engine, &sources)?;
    let program = Program::new(sources.into_iter().zip(modules.iter().map(AsRef::as_ref)).collect());
    with_negations(engine, &program, strict, moved, &format!("{prefix}_"))
}

fn with_operators(
    engine: Engine,
    program: &Program<'_>,
    strict: bool,
    mut moved: Moved,
) -> Result<(Engine, Moved), Complaint> {
    let name = unused(FUNCTION, program);
    let texts = program.parts.iter().map(|part| with_calls(part, &name, &mut moved));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    if texts.iter().all(Option::is_none) {
        return Ok((engine, moved));
    }
    let mut engine = new_engine();
    parse(&mut engine, &changed(program, &texts))?;
    guard::install_operators(&mut engine, &name, strict)
        .map_err(|error| Complaint::about(program.parts[0].source.path, error.to_string()))?;
    Ok((engine, moved))
}

fn unused(name: &str, program: &Program<'_>) -> String {
    let mut name = String::from(name);
    while program.parts.iter().any(|part| part.source.text.contains(&name)) {
        name.push('_');
    }
    name
}

fn changed<'a>(program: &Program<'a>, texts: &'a [Option<String>]) -> Vec<Source<'a>> {
    let read = |(part, text): (&Part<'a>, &'a Option<String>)| Source {
        path: part.source.path,
        text: text.as_deref().unwrap_or(part.source.text),
    };
    program.parts.iter().zip(texts).map(read).collect()
}
