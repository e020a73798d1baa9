//! From a pattern in Go's syntax to a syntax tree of Rust's matcher.
//!
//! As in Go, an operator repeats what stands before it whatever stands between (`a(?i)*`), and flags hold to the end
//! of their group.

use regex_syntax::hir::{Capture, Class, ClassUnicode, ClassUnicodeRange, Dot, Hir, Look, Repetition};

use super::classes::{folded, perl, posix, range};
use super::escapes::{Count, Reader};
use super::pattern::Refusal;
use super::unicode::property;

/// Go's bound of a count, and of the product of nested ones.
const COUNT_MAX: Count = 1_000;
/// Levels of a tree. Go takes 1,000.
const LEVELS_MAX: u32 = 250;
const SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

pub struct Parsed {
    pub hir: Hir,
    /// The names of the groups, from the second (the first is the whole match).
    pub groups: Vec<Option<String>>,
    /// States that counted repetitions add, about: what a byte of a text can cost.
    pub counted: u64,
}

#[derive(Clone, Copy, Default)]
struct Flags {
    fold: bool,
    multiple_lines: bool,
    dot_takes_newline: bool,
    not_greedy: bool,
}

struct Node {
    hir: Hir,
    levels: u32,
    /// The largest product of counts on a way through the tree.
    product: u64,
    size: u64,
    counted: u64,
}

impl Node {
    fn leaf(hir: Hir) -> Self {
        Self { hir, levels: 1, product: 1, size: 1, counted: 0 }
    }

    fn of(parts: Vec<Node>, join: fn(Vec<Hir>) -> Hir) -> Self {
        let levels = parts.iter().map(|part| part.levels).max().unwrap_or(0) + 1;
        let product = parts.iter().map(|part| part.product).max().unwrap_or(1);
        let size = parts.iter().map(|part| part.size).sum::<u64>().max(1);
        let counted = parts.iter().map(|part| part.counted).sum();
        Self { hir: join(parts.into_iter().map(|part| part.hir).collect()), levels, product, size, counted }
    }
}

/// An open group.
struct Group {
    capture: Option<u32>,
    flags_outside: Flags,
    alternatives: Vec<Node>,
    sequence: Vec<Node>,
}

impl Group {
    fn open(capture: Option<u32>, flags_outside: Flags) -> Self {
        Self { capture, flags_outside, alternatives: Vec::new(), sequence: Vec::new() }
    }

    fn end_alternative(&mut self) {
        let mut parts = std::mem::take(&mut self.sequence);
        let node = if parts.len() == 1 { parts.remove(0) } else { Node::of(parts, Hir::concat) };
        self.alternatives.push(node);
    }

    fn close(mut self) -> Node {
        self.end_alternative();
        if self.alternatives.len() == 1 {
            self.alternatives.remove(0)
        } else {
            Node::of(self.alternatives, Hir::alternation)
        }
    }
}

struct Parser<'p> {
    pattern: &'p str,
    reader: Reader<'p>,
    flags: Flags,
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

    fn push(&mut self, hir: Hir) {
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

    /// The characters of a range, in all cases where case does not count.
    fn characters(&self, from: u32, to: u32) -> ClassUnicode {
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

    /// `\d`, `\pL`, `\p{Greek}` and the like; None, and nothing read, where it is none of them.
    fn named_class(&mut self) -> Result<Option<ClassUnicode>, Refusal> {
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
    fn class(&mut self) -> Result<(), Refusal> {
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

    fn posix_class(&mut self) -> Result<Option<ClassUnicode>, Refusal> {
        let Some((name, after)) = self.reader.rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]")) else {
            return Ok(None);
        };
        let class = posix(name, self.flags.fold)
            .ok_or_else(|| Refusal::syntax("invalid character class range", &format!("[:{name}:]")))?;
        self.reader.rest = after;
        Ok(Some(class))
    }

    /// A character, or two with `-` between.
    fn range(&mut self, class: Reader<'p>) -> Result<ClassUnicode, Refusal> {
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

    fn class_character(&mut self, class: Reader<'p>) -> Result<u32, Refusal> {
        if self.reader.peek() == Some('\\') {
            return self.reader.escape();
        }
        self.reader.next().map(u32::from).ok_or_else(|| Refusal::syntax("missing closing ]", class.rest))
    }
}

fn check_levels(node: &Node) -> Result<(), Refusal> {
    if node.levels > LEVELS_MAX { Err(too_deep()) } else { Ok(()) }
}

fn too_deep() -> Refusal {
    Refusal::limit(&format!("a pattern nested more than {LEVELS_MAX} deep"))
}
