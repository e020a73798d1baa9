//! Texts that digits of a base spell, whatever stands between the digits, at each alignment.
//!
//! Encoders break what they write into groups and lines, and words stand before and after it. Where it begins is not
//! guessed: one pass for each alignment decodes all of a buffer, and only what is text comes out as text.

mod base;
mod base85;
mod iterator;
mod runs;
mod spelled;

pub use iterator::{DigitTexts, base85_texts, long_words, texts_in};
pub use runs::long_runs;
