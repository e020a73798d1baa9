//! Builtin functions: which are blocked, and which run behind a guard.
//!
//! No timer runs inside a builtin, and the memory limit is looked at only after it: what could take seconds
//! or gigabytes from small arguments is refused by its arguments.

pub mod added;
pub mod blocked;
pub mod catalogue;
pub mod dates;
pub mod guard;
pub mod numbers;
pub mod paths;
pub mod patterns;
pub mod queries;
pub mod structures;
pub mod texts;
pub mod weight;
