//! Modules as the engine is to read them: limits of size kept, calls of print taken out, results of our builtins and
//! of walk where the engine looks for them.

use regorus::Engine;
use regorus::unstable::{Module, Ref};

use crate::rego::checks::{size, text};
use crate::rego::complaint::Complaint;
use crate::rego::entry;
use crate::rego::parse::{new_engine, parse};
use crate::rego::program::{Part, Program};
use crate::rego::source::Source;
use crate::rego::syntax::rewrite::rewritten;
use crate::rego::syntax::{outputs, prints, walks};

pub struct Parsed {
    pub engine: Engine,
    pub modules: Vec<Ref<Module>>,
    /// Where the engine reads another text than the author wrote; of the same length, line by line.
    pub rewritten: Vec<Option<String>>,
}

impl Parsed {
    /// Parses modules whose names differ, the policy first. Call it on a big stack.
    pub fn read(written: &[Source<'_>]) -> Result<Self, Complaint> {
        for (index, source) in written.iter().enumerate() {
            if source.path == entry::PATH || written[..index].iter().any(|other| other.path == source.path) {
                return Err(Complaint::about(source.path, "two modules have this name"));
            }
            text::check(source.path, source.text)?;
        }
        let mut engine = new_engine();
        let modules = parse(&mut engine, written)?;
        if let Some(first) = written.first() {
            size::check_program(first.path, &modules)?;
        }
        let rewritten = rewritten_texts(&modules, written)?;
        let mut parsed = Self { engine, modules, rewritten };
        if parsed.rewritten.iter().any(Option::is_some) {
            parsed.engine = new_engine();
            parsed.modules = parse(&mut parsed.engine, &sources(&parsed.rewritten, written))?;
        }
        Ok(parsed)
    }
}

/// The texts that the syntax trees are of.
pub fn sources<'a>(rewritten: &'a [Option<String>], written: &[Source<'a>]) -> Vec<Source<'a>> {
    let read = |(source, text): (&Source<'a>, &'a Option<String>)| Source {
        path: source.path,
        text: text.as_deref().unwrap_or(source.text),
    };
    written.iter().zip(rewritten).map(read).collect()
}

fn rewritten_texts(modules: &[Ref<Module>], sources: &[Source<'_>]) -> Result<Vec<Option<String>>, Complaint> {
    for (module, source) in modules.iter().zip(sources) {
        size::check(source, module)?;
    }
    let program = Program::new(sources.iter().copied().zip(modules.iter().map(AsRef::as_ref)).collect());
    let text_of = |part: &Part<'_>| {
        let prints = prints::edits(part.module, part.source.text);
        let edits = [prints, outputs::edits(&program, part), walks::edits(&program, part)];
        rewritten(part.source.text, edits.into_iter().flatten().collect())
    };
    Ok(program.parts.iter().map(text_of).collect())
}
