//! Keywords that the engine does not have: it takes their imports for any others.

use super::Meaning;
use crate::rego::syntax::names::Reference;

const KNOWN: [&str; 4] = ["contains", "every", "if", "in"];

pub fn check(meaning: &mut Meaning<'_, '_>) {
    for import in &meaning.part.module.imports {
        let Some(reference) = Reference::of(&import.refr) else { continue };
        if reference.root != "future" || reference.path.first() != Some(&"keywords") {
            continue;
        }
        if reference.path.get(1).is_some_and(|name| !KNOWN.contains(name)) {
            meaning.complain(import.refr.span(), format!("a keyword must be one of {}", KNOWN.join(", ")));
        }
    }
}
