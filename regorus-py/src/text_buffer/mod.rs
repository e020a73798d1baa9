//! All texts of one value in one buffer, each with the way to it: what is looked at in every call.

mod buffer;
mod names;
mod text_of_codes;
mod walk;

pub use buffer::{SEPARATOR, TextBuffer};
