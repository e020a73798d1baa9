//! Builtin functions: which are blocked, and which run behind a guard.
//!
//! No timer runs inside a builtin, and the memory limit is looked at only after it: what could take seconds
//! or gigabytes from small arguments is refused by its arguments.

pub mod added;
pub mod alone;
pub mod blocked;
pub mod cases;
pub mod catalogue;
pub mod dates;
pub mod equal;
mod go_float;
pub mod go_glob;
pub mod guard;
pub mod indent;
pub mod layouts;
pub mod numbers;
pub mod operators;
pub mod order;
pub mod paths;
pub mod patterns;
pub mod queries;
pub mod structures;
pub mod texts;
pub mod versions;
pub mod weight;
pub mod yaml;
