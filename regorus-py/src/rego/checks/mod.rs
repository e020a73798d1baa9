//! What is refused before a policy may be evaluated.

use std::collections::BTreeSet;

use crate::rego::complaint::Complaint;
use crate::rego::program::Program;

mod calls;
mod heads;
mod meaning;
pub mod packages;
pub mod patterns;
mod recursion;
mod safety;
pub mod size;
pub mod text;

/// What does not depend on the package and the data; gives the builtins that may be called.
pub fn check(program: &Program<'_>) -> Result<BTreeSet<&'static str>, Complaint> {
    let builtins = calls::check(program)?;
    recursion::check(program)?;
    heads::check(program)?;
    meaning::check(program)?;
    safety::check(program)?;
    Ok(builtins)
}
