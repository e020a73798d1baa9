//! Go's `fmt.Sprintf`, with the arguments that OPA hands to it: 64-bit and long integers, doubles and texts.

mod flags;
mod floats;
mod integers;
mod printer;
pub mod quote;
mod term;
mod texts;

pub use printer::sprintf;
pub use term::{AMBIGUOUS, has_one_spelling};
