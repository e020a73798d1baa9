//! A list of the codes of characters as the text that it spells.

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

const CODES_MIN: usize = 8;
const FIRST_CODE: u32 = 9;
/// Where surrogates begin.
const PAST_CODES: u32 = 0xD800;
/// A text has one control character in so many.
const CHARACTERS_PER_CONTROL: usize = 50;

/// None where an item is no code, or too many are control characters.
pub fn text_of_codes(items: &Bound<'_, PyList>) -> Option<String> {
    if items.len() < CODES_MIN {
        return None;
    }
    let text: Option<String> = items.iter().map(|item| character(&item)).collect();
    text.filter(|text| {
        let (mut all, mut controls) = (0, 0);
        for one in text.chars() {
            all += 1;
            controls += usize::from(one < ' ' && !matches!(one, '\t' | '\n' | '\r' | '\x1b'));
        }
        controls * CHARACTERS_PER_CONTROL <= all
    })
}

fn character(item: &Bound<'_, PyAny>) -> Option<char> {
    let code = item.cast_exact::<PyInt>().ok()?.extract::<u32>().ok()?;
    if (FIRST_CODE..PAST_CODES).contains(&code) { char::from_u32(code) } else { None }
}
