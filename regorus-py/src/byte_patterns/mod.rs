//! Regular expressions over bytes with the syntax of RE2 and Go, for what is looked for in every call.
//!
//! The bytes are taken for UTF-8, as RE2 takes them: `.` and `[^x]` match a character, and nothing that is no character.
//! Matching is leftmost-first and takes linear time.

mod found;
mod pattern;
mod set;

pub use found::ByteMatch;
pub use pattern::BytePattern;
pub use set::{PatternSet, SetMatches};
