//! Who may be in which package, and that no data document hides a rule.

use regorus::Value;
use regorus::unstable::{Expr, Module};

use crate::rego::complaint::Complaint;
use crate::rego::entry;
use crate::rego::source::Source;
use crate::rego::syntax::names::dotted;

const LIBRARY_ROOT: &str = "lib";

/// A policy has a package of its own, outside those of the libraries and of the generated entry.
pub fn check_policy(path: &str, package: &[String]) -> Result<(), Complaint> {
    match package.first().map(String::as_str) {
        Some(LIBRARY_ROOT) => Err(Complaint::about(path, "the package lib is reserved for shared modules")),
        Some(entry::PACKAGE) => Err(Complaint::about(path, format!("the package {} is reserved", entry::PACKAGE))),
        Some(_) => Ok(()),
        None => Err(Complaint::about(path, "the package has no name")),
    }
}

pub fn check_library(path: &str, package: &[String]) -> Result<(), Complaint> {
    if package.len() > 1 && package.first().is_some_and(|root| root == LIBRARY_ROOT) {
        return Ok(());
    }
    Err(Complaint::about(path, format!("a shared module must be in a package lib.…, not {}", dotted(package))))
}

/// Refuses `import input`, of which the engine can only warn on standard error.
pub fn check_imports(source: &Source<'_>, module: &Module) -> Result<(), Complaint> {
    let needless = module
        .imports
        .iter()
        .find(|import| matches!(import.refr.as_ref(), Expr::Var { span, .. } if span.text() == "input"));
    match needless {
        Some(import) => Err(source.complain(import.refr.span(), "input needs no import")),
        None => Ok(()),
    }
}

/// A document at the path of a package beats its rules without a word: a deny would never be evaluated.
pub fn check_data(path: &str, package: &[String], data: &Value) -> Result<(), Complaint> {
    let mut current = data;
    for (depth, part) in package.iter().enumerate() {
        let Value::Object(members) = current else {
            return Err(hidden(path, &package[..depth]));
        };
        match members.get(&Value::from(part.as_str())) {
            Some(member) => current = member,
            None => return Ok(()),
        }
    }
    Err(hidden(path, package))
}

fn hidden(path: &str, place: &[String]) -> Complaint {
    let message = format!("the data documents have data.{}, which would hide the rules of this package", dotted(place));
    Complaint::about(path, message)
}
