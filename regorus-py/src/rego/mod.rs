//! Rego policies: checked, compiled, evaluated.

pub mod builtins;
pub mod calculating;
pub mod checks;
pub mod compile;
pub mod complaint;
pub mod conformance;
pub mod document;
pub mod entry;
pub mod evaluate;
pub mod failure;
pub mod memory;
pub mod parse;
pub mod parsed;
pub mod policy;
pub mod program;
pub mod source;
pub mod syntax;
