//! The engine's syntax tree, as far as the checks need it.

pub mod names;
pub mod prints;
pub mod scope;
pub mod visit;
