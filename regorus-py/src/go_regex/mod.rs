//! Regular expressions with the syntax and the values of Go's `regexp` package, which OPA uses, on Rust's automata.
//!
//! Rust's own syntax differs where a policy would not notice: `\d`, `\w`, `\s` and `\b` are Unicode's there and ASCII's
//! in Go, and `&&`, `--`, `~~` and `[` work on sets within a class. So a pattern is read by the rules of Go's
//! `regexp/syntax` (what it refuses is refused), and handed to Rust's matcher as a syntax tree, not as text. Both match
//! leftmost-first in linear time.

use regex_syntax::hir::Hir;

mod brackets;
mod cache;
mod classes;
mod escapes;
mod parser;
mod pattern;
mod replacement;
mod tree;
pub mod unicode;

pub use cache::Patterns;
pub use pattern::{Pattern, Refusal};
pub use unicode::is_known_to_go;

/// The syntax tree of a pattern, and how many groups it has.
pub fn parsed(pattern: &str) -> Result<(Hir, usize), Refusal> {
    parser::parse(pattern).map(|parsed| (parsed.hir, parsed.groups.len()))
}

/// Whether Go takes the pattern.
pub fn check(pattern: &str) -> Result<(), Refusal> {
    parser::parse(pattern).map(|_| ())
}
