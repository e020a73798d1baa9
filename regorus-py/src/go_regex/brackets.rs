//! Classes of characters: `[…]`, `\d`, `\pL`, `[[:alpha:]]`.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir};

use super::classes::{folded, perl, posix, range};
use super::escapes::Reader;
use super::parser::Parser;
use super::pattern::Refusal;
use super::unicode::property;

const SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

impl<'p> Parser<'p> {
    /// The characters of a range, in all cases where case does not count.
    pub(super) fn characters(&self, from: u32, to: u32) -> ClassUnicode {
        let from = if SURROGATES.contains(&from) { SURROGATES.end() + 1 } else { from };
        let to = if SURROGATES.contains(&to) { SURROGATES.start() - 1 } else { to };
        match (char::from_u32(from), char::from_u32(to)) {
            (Some(from), Some(to)) if from <= to => {
                let class = range(from, to);
                if self.flags.fold { folded(&class) } else { class }
            }
            _ => ClassUnicode::empty(),
        }
    }

    /// `\d`, `\pL`, `\p{Greek}` and the like; None, and nothing read, where it is none of them.
    pub(super) fn named_class(&mut self) -> Result<Option<ClassUnicode>, Refusal> {
        let rest = self.reader.rest;
        let mut reader = self.reader;
        if !reader.take("\\") {
            return Ok(None);
        }
        let Some(letter) = reader.next() else { return Ok(None) };
        if !matches!(letter, 'p' | 'P') {
            let class = perl(letter, self.flags.fold);
            if class.is_some() {
                self.reader = reader;
            }
            return Ok(class);
        }
        let invalid = |text: &str| Refusal::syntax("invalid character class range", text);
        let name = if reader.take("{") {
            let (name, after) = reader.rest.split_once('}').ok_or_else(|| invalid(rest))?;
            reader.rest = after;
            name
        } else {
            let start = reader;
            reader.next();
            reader.since(start)
        };
        let (plain, is_inverted) = name.strip_prefix('^').map_or((name, false), |plain| (plain, true));
        let mut class = property(plain, self.flags.fold).ok_or_else(|| invalid(reader.since(self.reader)))?;
        if (letter == 'P') != is_inverted {
            class.negate();
        }
        self.reader = reader;
        Ok(Some(class))
    }

    /// `[…]`
    pub(super) fn class(&mut self) -> Result<(), Refusal> {
        let before = self.reader;
        self.reader.take("[");
        let is_negated = self.reader.take("^");
        let mut ranges: Vec<ClassUnicodeRange> = Vec::new();
        let mut is_first = true;
        while is_first || self.reader.peek() != Some(']') {
            is_first = false;
            let part = match self.posix_class()? {
                Some(class) => class,
                None => match self.named_class()? {
                    Some(class) => class,
                    None => self.range(before)?,
                },
            };
            ranges.extend(part.ranges());
        }
        self.reader.take("]");
        let mut class = ClassUnicode::new(ranges);
        if is_negated {
            class.negate();
        }
        self.push(Hir::class(Class::Unicode(class)));
        Ok(())
    }

    pub(super) fn posix_class(&mut self) -> Result<Option<ClassUnicode>, Refusal> {
        let Some((name, after)) = self.reader.rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]")) else {
            return Ok(None);
        };
        let class = posix(name, self.flags.fold)
            .ok_or_else(|| Refusal::syntax("invalid character class range", &format!("[:{name}:]")))?;
        self.reader.rest = after;
        Ok(Some(class))
    }

    /// A character, or two with `-` between.
    pub(super) fn range(&mut self, class: Reader<'p>) -> Result<ClassUnicode, Refusal> {
        let before = self.reader;
        let from = self.class_character(class)?;
        let mut to = from;
        if self.reader.rest.len() >= 2 && self.reader.rest.starts_with('-') && !self.reader.rest.starts_with("-]") {
            self.reader.take("-");
            to = self.class_character(class)?;
            if to < from {
                return Err(Refusal::syntax("invalid character class range", self.reader.since(before)));
            }
        }
        Ok(self.characters(from, to))
    }

    pub(super) fn class_character(&mut self, class: Reader<'p>) -> Result<u32, Refusal> {
        if self.reader.peek() == Some('\\') {
            return self.reader.escape();
        }
        self.reader.next().map(u32::from).ok_or_else(|| Refusal::syntax("missing closing ]", class.rest))
    }
}
