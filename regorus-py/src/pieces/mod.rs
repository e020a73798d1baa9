//! What the texts of a buffer are: values with labels, words in lists.

mod labelled;
mod listed;

pub use labelled::LabelledPieces;
pub use listed::{LABEL_BYTES_MAX, LINES_MAX, ListedWords};
