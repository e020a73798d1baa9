//! The engine's syntax tree, as far as the checks need it.

pub mod minus;
pub mod moved;
pub mod names;
pub mod negations;
pub mod operators;
pub mod outputs;
pub mod places;
pub mod prints;
pub mod rewrite;
pub mod scope;
pub mod shallow;
pub mod visit;
pub mod walks;
