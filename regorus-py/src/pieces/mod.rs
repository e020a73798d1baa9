//! What the texts of a buffer are: values with labels, words in lists. And lists of numbers, which are no texts.

mod labelled;
mod listed;
pub mod numbers;

pub use labelled::LabelledPieces;
pub use listed::ListedWords;
