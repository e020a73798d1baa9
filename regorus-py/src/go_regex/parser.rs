//! From a pattern in Go's syntax to a syntax tree of Rust's matcher.
//!
//! As in Go, an operator repeats what stands before it whatever stands between (`a(?i)*`), and flags hold to the end
//! of their group.

use regex_syntax::hir::{Capture, Class, Dot, Hir, Look, Repetition};

use super::escapes::{Count, Reader};
use super::pattern::Refusal;
use super::tree::{Group, LEVELS_MAX, Node, check_levels, too_deep};

/// Go's bound of a count, and of the product of nested ones.
const COUNT_MAX: Count = 1_000;

pub struct Parsed {
    pub hir: Hir,
    /// The names of the groups, from the second (the first is the whole match).
    pub groups: Vec<Option<String>>,
    /// States that counted repetitions add, about: what a byte of a text can cost.
    pub counted: u64,
}

#[derive(Clone, Copy, Default)]
pub struct Flags {
    pub fold: bool,
    pub multiple_lines: bool,
    pub dot_takes_newline: bool,
    pub not_greedy: bool,
}

pub struct Parser<'p> {
    pattern: &'p str,
    pub reader: Reader<'p>,
    pub flags: Flags,
    outer: Vec<Group>,
    group: Group,
    groups: Vec<Option<String>>,
}

pub fn parse(pattern: &str) -> Result<Parsed, Refusal> {
    let flags = Flags::default();
    let reader = Reader { rest: pattern };
    let group = Group::open(None, flags);
    let mut parser = Parser { pattern, reader, flags, outer: Vec::new(), group, groups: Vec::new() };
    parser.read()?;
    let Parser { outer, group, groups, .. } = parser;
    if !outer.is_empty() {
        return Err(Refusal::syntax("missing closing )", pattern));
    }
    let node = group.close();
    Ok(Parsed { hir: node.hir, groups, counted: node.counted })
}

impl<'p> Parser<'p> {
    fn read(&mut self) -> Result<(), Refusal> {
        // Where the operator before this one began.
        let mut repeated: Option<Reader<'p>> = None;
        while let Some(next) = self.reader.peek() {
            let before = self.reader;
            let mut is_operator = false;
            match next {
                '(' if self.reader.rest.starts_with("(?") => self.perl_group()?,
                '(' => {
                    self.reader.next();
                    self.open(None)?;
                }
                ')' => self.close()?,
                '|' => {
                    self.reader.next();
                    self.group.end_alternative();
                }
                '^' => self.look(if self.flags.multiple_lines { Look::StartLF } else { Look::Start }, 1),
                '$' => self.look(if self.flags.multiple_lines { Look::EndLF } else { Look::End }, 1),
                '.' => {
                    self.reader.next();
                    let dot = if self.flags.dot_takes_newline { Dot::AnyChar } else { Dot::AnyCharExceptLF };
                    self.push(Hir::dot(dot));
                }
                '[' => self.class()?,
                '\\' => self.escape()?,
                '*' | '+' | '?' => {
                    self.reader.next();
                    let (min, max) = (Count::from(next == '+'), (next == '?').then_some(1));
                    self.repeat(min, max, before, repeated, false)?;
                    is_operator = true;
                }
                '{' => match self.reader.counts() {
                    Some((min, max)) => {
                        self.repeat(min, max, before, repeated, true)?;
                        is_operator = true;
                    }
                    None => {
                        self.reader.next();
                        self.literal(u32::from('{'));
                    }
                },
                other => {
                    self.reader.next();
                    self.literal(u32::from(other));
                }
            }
            repeated = is_operator.then_some(before);
        }
        Ok(())
    }

    pub fn push(&mut self, hir: Hir) {
        self.group.sequence.push(Node::leaf(hir));
    }

    fn look(&mut self, look: Look, bytes: usize) {
        self.reader.rest = &self.reader.rest[bytes..];
        self.push(Hir::look(look));
    }

    fn literal(&mut self, code: u32) {
        let class = self.characters(code, code);
        self.push(Hir::class(Class::Unicode(class)));
    }

    fn open(&mut self, name: Option<&str>) -> Result<(), Refusal> {
        self.groups.push(name.map(str::to_owned));
        let index = u32::try_from(self.groups.len()).map_err(|_| Refusal::limit("too many groups"))?;
        self.enter(Some(index))
    }

    fn enter(&mut self, capture: Option<u32>) -> Result<(), Refusal> {
        let inner = Group::open(capture, self.flags);
        self.outer.push(std::mem::replace(&mut self.group, inner));
        if self.outer.len() > usize::try_from(LEVELS_MAX).unwrap_or(usize::MAX) {
            return Err(too_deep());
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Refusal> {
        self.reader.next();
        let Some(outer) = self.outer.pop() else {
            return Err(Refusal::syntax("unexpected )", self.pattern));
        };
        let group = std::mem::replace(&mut self.group, outer);
        let (capture, flags) = (group.capture, group.flags_outside);
        let mut node = group.close();
        if let Some(index) = capture {
            let sub = Box::new(node.hir);
            // Rust refuses two groups of one name, Go does not: names are kept apart.
            node.hir = Hir::capture(Capture { index, name: None, sub });
            node.levels += 1;
            node.size += 2;
        }
        check_levels(&node)?;
        self.flags = flags;
        self.group.sequence.push(node);
        Ok(())
    }

    fn repeat(
        &mut self,
        min: Count,
        max: Option<Count>,
        before: Reader<'p>,
        repeated: Option<Reader<'p>>,
        counted: bool,
    ) -> Result<(), Refusal> {
        let invalid = |reader: &Reader<'p>| Refusal::syntax("invalid repeat count", reader.since(before));
        if counted && (min > COUNT_MAX || max.is_some_and(|max| max > COUNT_MAX || min > max)) {
            return Err(invalid(&self.reader));
        }
        let is_lazy = self.reader.take("?");
        if let Some(first) = repeated {
            return Err(Refusal::syntax("invalid nested repetition operator", self.reader.since(first)));
        }
        let Some(node) = self.group.sequence.pop() else {
            return Err(Refusal::syntax("missing argument to repetition operator", self.reader.since(before)));
        };
        let most = max.unwrap_or(min);
        let (times, extra) = (u64::from(most.max(1)), u64::from(max.map_or(2, |max| max - min)));
        let product = match (counted, most, max) {
            (true, 0, Some(_)) => 1,
            (true, 1.., _) => node.product * u64::from(most),
            _ => node.product,
        };
        if counted && most >= 2 && product > u64::from(COUNT_MAX) {
            return Err(invalid(&self.reader));
        }
        let size = node.size.saturating_mul(times).saturating_add(extra);
        let counted = if most >= 2 { size } else { node.counted };
        let greedy = is_lazy == self.flags.not_greedy;
        let hir = Hir::repetition(Repetition { min, max, greedy, sub: Box::new(node.hir) });
        let node = Node { hir, levels: node.levels + 1, product, size, counted };
        check_levels(&node)?;
        self.group.sequence.push(node);
        Ok(())
    }

    /// `(?i)`, `(?i:…)`, `(?P<name>…)`, `(?<name>…)`.
    fn perl_group(&mut self) -> Result<(), Refusal> {
        let before = self.reader;
        let rest = before.rest;
        if (rest.starts_with("(?P<") && rest.len() > 4) || (rest.starts_with("(?<") && rest.len() > 3) {
            let named = |text: &str| Refusal::syntax("invalid named capture", text);
            let start = if rest.starts_with("(?P<") { 4 } else { 3 };
            let end = rest.find('>').ok_or_else(|| named(rest))?;
            let name = rest.get(start..end).unwrap_or_default();
            if name.is_empty() || !name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
                return Err(named(&rest[..=end]));
            }
            self.reader.rest = &rest[end + 1..];
            return self.open(Some(name));
        }
        self.reader.take("(?");
        let (mut flags, mut value, mut saw_flag) = (self.flags, true, false);
        while let Some(next) = self.reader.next() {
            match next {
                'i' => flags.fold = value,
                'm' => flags.multiple_lines = value,
                's' => flags.dot_takes_newline = value,
                'U' => flags.not_greedy = value,
                '-' if value => {
                    value = false;
                    saw_flag = false;
                    continue;
                }
                ':' | ')' if value || saw_flag => {
                    if next == ':' {
                        self.enter(None)?;
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            }
            saw_flag = true;
        }
        Err(Refusal::syntax("invalid or unsupported Perl syntax", self.reader.since(before)))
    }

    fn escape(&mut self) -> Result<(), Refusal> {
        let rest = self.reader.rest;
        match rest.as_bytes().get(1) {
            Some(b'A') => self.look(Look::Start, 2),
            Some(b'z') => self.look(Look::End, 2),
            Some(b'b') => self.look(Look::WordAscii, 2),
            Some(b'B') => self.look(Look::WordAsciiNegate, 2),
            Some(b'C') => return Err(Refusal::syntax("invalid escape sequence", &rest[..2])),
            Some(b'Q') => {
                let (quoted, after) = rest[2..].split_once(r"\E").unwrap_or((&rest[2..], ""));
                self.reader.rest = after;
                quoted.chars().for_each(|character| self.literal(u32::from(character)));
            }
            _ => match self.named_class()? {
                Some(class) => self.push(Hir::class(Class::Unicode(class))),
                None => {
                    let code = self.reader.escape()?;
                    self.literal(code);
                }
            },
        }
        Ok(())
    }
}
