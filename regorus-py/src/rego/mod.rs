//! Rego policies: checked, compiled, evaluated.

pub mod compile;
pub mod complaint;
pub mod document;
pub mod entry;
pub mod evaluate;
pub mod failure;
pub mod memory;
pub mod policy;
