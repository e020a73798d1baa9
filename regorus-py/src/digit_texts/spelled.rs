//! At which alignments digits spell a text, told before they are decoded.
//!
//! Any two neighbouring digits hold a byte for each place in a group, and an alignment reads some of these bytes. They
//! are made and looked at in loops without branches, which the compiler turns into instructions for many at once.

use memchr::memchr_iter;

use super::runs::{MAGICS, PRINTABLE_MIN, is_printable};

/// Three bytes in a row: in which of so many digits each begins, and how far that one is moved to the left and the next
/// to the right to make it; `made` makes it of all digits and the next ones.
pub struct Group {
    pub digits: usize,
    pub alignments: usize,
    pub firsts: [usize; 3],
    pub lefts: [u32; 3],
    pub rights: [u32; 3],
    pub made: [fn(&[u8]) -> Vec<u8>; 3],
}

pub fn made<const LEFT: u32, const RIGHT: u32>(values: &[u8]) -> Vec<u8> {
    values.iter().zip(from(values, 1)).map(|(one, next)| one << LEFT | next >> RIGHT).collect()
}

/// What is looked at between two looks whether something was seen; a multiple of the digits of each group.
const BLOCK_DIGITS: usize = 6144;

/// The alignments, a bit for each, that have a run of printable bytes, or what is packed.
pub fn alignments_of_texts(values: &[u8], group: &Group) -> u8 {
    let digits = Digits { values, group };
    (0..values.len()).step_by(BLOCK_DIGITS).fold(0, |found, start| {
        let end = values.len().min(start + BLOCK_DIGITS + 4 * group.digits);
        let bytes = group.made.map(|made| made(&values[start..end]));
        let found = digits.with_runs(found, start, &bytes);
        (0..3).fold(found, |found, place| digits.with_packed(found, start, &bytes, place))
    })
}

struct Digits<'a> {
    values: &'a [u8],
    group: &'a Group,
}

impl Digits<'_> {
    /// A run holds three whole groups, wherever it begins.
    fn with_runs(&self, found: u8, start: usize, bytes: &[Vec<u8>; 3]) -> u8 {
        let [one, two, three] = [0, 1, 2].map(|place| from(&bytes[place], self.group.firsts[place]));
        let groups = one.iter().zip(two).zip(three);
        let groups: Vec<u8> =
            groups.map(|((one, two), three)| is_text(*one) & is_text(*two) & is_text(*three)).collect();
        let [second, third] = [1, 2].map(|number| from(&groups, number * self.group.digits));
        let in_row = groups.iter().zip(second).zip(third).map(|((one, two), three)| one & two & three);
        let likely: Vec<u8> = in_row.collect();
        self.with(found, memchr_iter(1, &likely).map(|digit| start + digit), |digit| self.is_run(digit))
    }

    /// Whether these groups and what is printable beside them are enough.
    fn is_run(&self, digit: usize) -> bool {
        let (shift, first) = (digit % self.group.digits, 3 * (digit / self.group.digits));
        let is_in_run = |byte: &usize| self.byte(shift, *byte).is_some_and(|byte| is_printable(&byte));
        let before = (0..first).rev().take_while(is_in_run).take(PRINTABLE_MIN).count();
        before + (first..).take_while(is_in_run).take(PRINTABLE_MIN).count() >= PRINTABLE_MIN
    }

    /// What is packed begins at this place of a group.
    fn with_packed(&self, found: u8, start: usize, bytes: &[Vec<u8>; 3], place: usize) -> u8 {
        let next = (place + 1) % 3;
        let to_next = (self.group.firsts[next] + self.group.digits - self.group.firsts[place]) % self.group.digits;
        let begins = |(one, other): (&u8, &u8)| {
            MAGICS.iter().fold(0, |seen, magic| seen | u8::from(*one == magic[0]) & u8::from(*other == magic[1]))
        };
        let begins = bytes[place].iter().zip(from(&bytes[next], to_next)).map(begins);
        let likely: Vec<u8> = begins.collect();
        let groups = memchr_iter(1, &likely).filter_map(|digit| (start + digit).checked_sub(self.group.firsts[place]));
        self.with(found, groups, |digit| {
            let (shift, first) = (digit % self.group.digits, 3 * (digit / self.group.digits) + place);
            let is_there = |(number, byte): (usize, &u8)| self.byte(shift, first + number) == Some(*byte);
            MAGICS.iter().any(|magic| magic.iter().enumerate().all(is_there))
        })
    }

    /// And the alignments of groups that are one; of each alignment, the first such group is enough.
    fn with(&self, found: u8, groups: impl Iterator<Item = usize>, is_one: impl Fn(usize) -> bool) -> u8 {
        groups.fold(found, |found, digit| {
            let alignment = 1 << (digit % self.group.alignments);
            if found & alignment == 0 && is_one(digit) { found | alignment } else { found }
        })
    }

    /// The byte of this number at the alignment.
    fn byte(&self, shift: usize, number: usize) -> Option<u8> {
        let (group, place) = (number / 3, number % 3);
        let digit = shift + group * self.group.digits + self.group.firsts[place];
        let pair = self.values.get(digit..digit + 2)?;
        Some(pair[0] << self.group.lefts[place] | pair[1] >> self.group.rights[place])
    }
}

fn from(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(at..).unwrap_or_default()
}

/// 1 where it is printable, without a branch.
fn is_text(byte: u8) -> u8 {
    let is_space = u8::from(byte == b'\t') | u8::from(byte == b'\n') | u8::from(byte == b'\r');
    u8::from(byte.wrapping_sub(b' ') <= b'~' - b' ') | is_space
}
