//! Texts that the engine reads in place of the author's, and the author's place for a place in one.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::rego::source::Source;

/// The engine counts a tab as so many columns.
const TAB_COLUMNS: u32 = 4;

/// A line and a column, as the engine counts them. Both start at 1.
pub type Place = (u32, u32);

/// An edit of a text. One of an empty range inserts; any other keeps the number of columns.
pub struct Edit {
    range: Range<usize>,
    text: String,
    /// Pieces of the author's text in `text`: where in `text`, and where in the author's.
    copies: Vec<(Range<usize>, usize)>,
}

impl Edit {
    pub fn insert(place: usize, text: String) -> Self {
        Self { range: place..place, text, copies: Vec::new() }
    }

    pub fn replace(range: Range<usize>, text: String) -> Self {
        Self { range, text, copies: Vec::new() }
    }

    pub fn insert_copies(place: usize, text: String, copies: Vec<(Range<usize>, usize)>) -> Self {
        Self { range: place..place, text, copies }
    }
}

/// The columns that were inserted, by the path of the module and the line. A second change of the same texts moves what
/// the first one moved.
#[derive(Default)]
pub struct Moved {
    lines: BTreeMap<String, BTreeMap<u32, Vec<Inserted>>>,
    before: Option<Box<Moved>>,
}

struct Inserted {
    first: u32,
    count: u32,
    /// The columns of copies, and where they were copied from.
    copies: Vec<(Range<u32>, Place)>,
}

impl Moved {
    /// For texts that were changed before.
    pub fn after(before: Self) -> Self {
        Self { lines: BTreeMap::new(), before: Some(Box::new(before)) }
    }

    /// Returns the author's place for a place of the engine.
    pub fn place(&self, path: &str, place: Place) -> Place {
        let own = self.own_place(path, place);
        self.before.as_ref().map_or(own, |before| before.place(path, own))
    }

    fn own_place(&self, path: &str, (line, column): Place) -> Place {
        let added = self.lines.get(path).and_then(|lines| lines.get(&line)).map_or(&[][..], Vec::as_slice);
        let before: Vec<_> = added.iter().filter(|inserted| inserted.first <= column).collect();
        let copies = before.iter().flat_map(|inserted| &inserted.copies);
        if let Some((columns, (line, first))) = copies.into_iter().find(|(columns, _)| columns.contains(&column)) {
            return (*line, first + (column - columns.start));
        }
        (line, column - before.iter().map(|inserted| (column - inserted.first).min(inserted.count)).sum::<u32>())
    }

    /// Returns the text of `source` with these edits; None if there are none.
    pub fn write(&mut self, source: &Source<'_>, mut edits: Vec<Edit>) -> Option<String> {
        if edits.is_empty() {
            return None;
        }
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        let places = places(source.text, &edits);
        let (mut written, mut done) = (Written::new(source.text.len() + edits.len() * 8), 0);
        let lines = self.lines.entry(source.path.to_owned()).or_default();
        for edit in edits {
            written.push(&source.text[done..edit.range.start]);
            if edit.range.is_empty() {
                let first = written.column;
                let copied = |(range, from): &(Range<usize>, usize)| {
                    Some((first + small(range.start)..first + small(range.end), *places.get(from)?))
                };
                let copies = edit.copies.iter().filter_map(copied).collect();
                let inserted = Inserted { first, count: small(edit.text.len()), copies };
                lines.entry(written.line).or_default().push(inserted);
            }
            written.push(&edit.text);
            done = edit.range.end;
        }
        written.push(&source.text[done..]);
        Some(written.text)
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The places in the author's text from which pieces are copied.
fn places(text: &str, edits: &[Edit]) -> BTreeMap<usize, Place> {
    let mut places: BTreeMap<usize, Place> =
        edits.iter().flat_map(|edit| &edit.copies).map(|(_, from)| (*from, (1, 1))).collect();
    let (mut read, mut done) = (Written::new(text.len()), 0);
    for (from, place) in &mut places {
        read.push(&text[done..*from]);
        (*place, done) = ((read.line, read.column), *from);
    }
    places
}

/// A text, and the line and the column after it, as the engine counts.
struct Written {
    text: String,
    line: u32,
    column: u32,
    /// `"` or `` ` `` in a string, `#` in a comment.
    inside: Option<char>,
    is_escaped: bool,
}

impl Written {
    fn new(capacity: usize) -> Self {
        Self { text: String::with_capacity(capacity), line: 1, column: 1, inside: None, is_escaped: false }
    }

    fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
        for character in piece.chars() {
            match character {
                '\n' => (self.line, self.column) = (self.line + 1, 1),
                '\t' => self.column += TAB_COLUMNS,
                // The engine counts the bytes of these strings.
                _ if self.inside == Some('"') => self.column += u32::try_from(character.len_utf8()).unwrap_or(1),
                _ => self.column += 1,
            }
            let is_escaped = std::mem::take(&mut self.is_escaped);
            self.inside = match (self.inside, character) {
                (None, '"' | '`' | '#') => Some(character),
                (Some('#'), '\n') => None,
                (Some('"'), '\\') => {
                    self.is_escaped = !is_escaped;
                    self.inside
                }
                (Some(quote @ ('"' | '`')), end) if quote == end && !is_escaped => None,
                (inside, _) => inside,
            };
        }
    }
}
