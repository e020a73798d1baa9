//! The Python class of words that stand in lists.

use std::collections::{HashMap, HashSet};

use pyo3::prelude::*;

/// Lines of one word that are looked at.
pub const LINES_MAX: usize = 5000;
/// Of a label that such a line may have.
pub const LABEL_BYTES_MAX: usize = 80;
const WORD_BYTES: std::ops::RangeInclusive<usize> = 3..=8;

type Place = (usize, usize);

#[pyclass(frozen, module = "regorus")]
pub struct ListedWords {
    known: HashSet<Vec<u8>>,
}

#[pymethods]
impl ListedWords {
    #[new]
    fn new(known: HashSet<Vec<u8>>) -> Self {
        Self { known }
    }

    /// Whether so many words of a text are known.
    fn holds(&self, text: &[u8], words_min: usize) -> bool {
        let words = text.split(|byte| !byte.is_ascii_alphabetic());
        let known = words.filter(|word| self.known.contains(&word.to_ascii_lowercase()));
        known.take(words_min).count() == words_min
    }

    /// For each label, digits aside, the words known of it if so many stood in a row.
    fn search(&self, py: Python<'_>, buffer: &[u8], words_min: usize) -> Vec<Vec<Place>> {
        py.detach(|| self.found(buffer, words_min))
    }
}

impl ListedWords {
    fn found(&self, buffer: &[u8], words_min: usize) -> Vec<Vec<Place>> {
        let mut lists: Vec<Vec<Place>> = Vec::new();
        let mut numbers: HashMap<Vec<u8>, usize> = HashMap::new();
        for (label, start, word) in listed(buffer).take(LINES_MAX) {
            let label = label.iter().copied().filter(|byte| !byte.is_ascii_digit()).collect();
            let number = *numbers.entry(label).or_insert_with(|| {
                lists.push(Vec::new());
                lists.len() - 1
            });
            let words = &mut lists[number];
            if self.known.contains(&word.to_ascii_lowercase()) {
                words.push((start, start + word.len()));
            } else if words.len() < words_min {
                words.clear();
            }
        }
        lists.retain(|words| words.len() >= words_min);
        lists
    }
}

/// Lines of one word, perhaps behind a label: the label, where the word stands, and the word.
fn listed(buffer: &[u8]) -> impl Iterator<Item = (&[u8], usize, &[u8])> {
    let mut next = 0;
    buffer.split(|byte| *byte == b'\n').filter_map(move |line| {
        let start = next;
        next += line.len() + 1;
        let (label, at) = match line.iter().position(|byte| *byte == b':') {
            Some(end) if (1..=LABEL_BYTES_MAX).contains(&end) && line[end + 1..].starts_with(b" ") => {
                (&line[..end], end + 2)
            }
            Some(_) => return None,
            None => (&line[..0], 0),
        };
        let word = &line[at..];
        let is_word = WORD_BYTES.contains(&word.len()) && word.iter().all(u8::is_ascii_alphabetic);
        (is_word && label.iter().all(is_in_label)).then_some((label, start + at, word))
    })
}

fn is_in_label(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' ' | b'.' | b'-')
}
