//! Signs that words make where they stand close together, in one pass over a text (Aho and Corasick, 1975).

mod clauses;
mod search;
mod windows;

pub use search::SignSearch;
