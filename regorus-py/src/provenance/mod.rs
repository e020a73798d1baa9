//! Where the values of a call were first seen: identifiers in texts, and which of them an agent was shown, and by whom.

mod escapes;
pub mod index;
mod memory;
mod tokens;
