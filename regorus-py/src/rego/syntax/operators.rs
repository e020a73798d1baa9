//! Writes `name("..+",[a, b])` for `a + b`: the engine calculates with doubles, OPA does not (`builtins::operators`).
//!
//! A whole expression such as `(a + b) * c` becomes one call, and its operands keep their order. Lines do not move;
//! columns after an inserted text do, and `Moved` gives the author's column.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use regorus::unstable::{ArithOp, Expr, Rule};

use super::outputs::place;
use super::scope::Scope;
use super::visit::{Visitor, visit_rule};
use crate::rego::builtins::operators::OPERAND;
use crate::rego::complaint::Complaint;
use crate::rego::program::Part;

/// The engine counts a tab as so many columns.
const TAB_COLUMNS: u32 = 4;

/// The columns that were inserted, by the path of the module and the line: the first one, and how many.
#[derive(Default)]
pub struct Moved(BTreeMap<String, BTreeMap<u32, Vec<(u32, u32)>>>);

impl Moved {
    /// Returns the author's column for a column of the engine. Lines and columns start at 1.
    pub fn column(&self, path: &str, line: u32, column: u32) -> u32 {
        let added = self.0.get(path).and_then(|lines| lines.get(&line)).map_or(&[][..], Vec::as_slice);
        let before = added.iter().filter(|(first, _)| *first < column);
        column - before.map(|(first, count)| (column - first).min(*count)).sum::<u32>()
    }
}

/// Returns the text of `part` with calls of `name` in place of its operators; None if it has no operator.
pub fn with_calls(part: &Part<'_>, name: &str, moved: &mut Moved) -> Result<Option<String>, Complaint> {
    let text = part.source.text;
    let mut expressions = Expressions { part, text, name, seen: BTreeSet::new(), edits: Vec::new(), first: None };
    // The value of a default rule is written out: no call may stand there.
    for rule in part.module.policy.iter().filter(|rule| !matches!(rule.as_ref(), Rule::Default { .. })) {
        visit_rule(rule, &mut expressions);
    }
    if let Some(complaint) = expressions.first {
        return Err(complaint);
    }
    let mut edits = expressions.edits;
    if edits.is_empty() {
        return Ok(None);
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut written, mut done) = (Written::new(text.len() + edits.len() * 8), 0);
    let lines = moved.0.entry(part.source.path.to_owned()).or_default();
    for (range, put) in edits {
        written.push(&text[done..range.start]);
        if range.is_empty() {
            let count = u32::try_from(put.len()).unwrap_or(u32::MAX);
            lines.entry(written.line).or_default().push((written.column, count));
        }
        written.push(&put);
        done = range.end;
    }
    written.push(&text[done..]);
    Ok(Some(written.text))
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

struct Expressions<'p, 'a> {
    part: &'p Part<'a>,
    text: &'a str,
    name: &'p str,
    /// The engine's numbers of operators that are part of a call already.
    seen: BTreeSet<u32>,
    edits: Vec<(Range<usize>, String)>,
    first: Option<Complaint>,
}

impl Visitor for Expressions<'_, '_> {
    fn expression(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        let Expr::ArithExpr { span, eidx, .. } = expression else { return };
        if self.seen.contains(eidx) {
            return;
        }
        let (mut steps, mut operands) = (String::new(), Vec::new());
        self.read(expression, &mut steps, &mut operands);
        match self.call(expression, &steps, &operands) {
            Some(edits) => self.edits.extend(edits),
            None if self.first.is_none() => {
                let message = "the operators of this expression cannot be read; put it in parts, with := for each";
                self.first = Some(self.part.source.complain(span, message));
            }
            None => {}
        }
    }
}

impl Expressions<'_, '_> {
    /// Collects the steps of an expression in postfix notation, and the places of its operands.
    fn read(&mut self, expression: &Expr, steps: &mut String, operands: &mut Vec<Option<Range<usize>>>) {
        if let Expr::ArithExpr { op, lhs, rhs, eidx, .. } = expression {
            self.seen.insert(*eidx);
            self.read(lhs, steps, operands);
            self.read(rhs, steps, operands);
            steps.push(match op {
                ArithOp::Add => '+',
                ArithOp::Sub => '-',
                ArithOp::Mul => '*',
                ArithOp::Div => '/',
                ArithOp::Mod => '%',
            });
        } else {
            steps.push(OPERAND);
            operands.push(place(expression));
        }
    }

    /// Returns the edits that write an expression as a call; None if its text cannot be read.
    fn call(
        &self,
        expression: &Expr,
        steps: &str,
        operands: &[Option<Range<usize>>],
    ) -> Option<Vec<(Range<usize>, String)>> {
        let whole = place(expression)?;
        let mut gaps = Vec::with_capacity(operands.len() + 1);
        let mut start = whole.start;
        for operand in operands {
            let operand = operand.as_ref()?;
            gaps.push(Gap::read(self.text, start..operand.start)?);
            start = operand.end;
        }
        gaps.push(Gap::read(self.text, start..whole.end)?);
        // Parentheses around an operand alone stay.
        for index in 0..operands.len() {
            let kept = gaps[index].open.len().min(gaps[index + 1].close.len());
            let open = gaps[index].open.len() - kept;
            gaps[index].open.truncate(open);
            gaps[index + 1].close.drain(..kept);
        }
        // not(a)+b
        let is_after_word = self.text[..whole.start].ends_with(|last: char| last == '_' || last.is_alphanumeric());
        let space = if is_after_word { " " } else { "" };
        let mut edits = vec![
            (whole.start..whole.start, format!("{space}{}(\"{steps}\",[", self.name)),
            (whole.end..whole.end, String::from("])")),
        ];
        for (index, gap) in gaps.iter().enumerate() {
            let is_between = index > 0 && index < operands.len();
            match (is_between, &gap.operators[..]) {
                (true, [at]) => edits.push((*at..at + 1, String::from(","))),
                (false, []) => {}
                _ => return None,
            }
            edits.extend(gap.open.iter().chain(&gap.close).map(|at| (*at..at + 1, String::from(" "))));
        }
        Some(edits)
    }
}

/// The places of operators and parentheses before, between or after operands.
#[derive(Default)]
struct Gap {
    close: Vec<usize>,
    operators: Vec<usize>,
    open: Vec<usize>,
}

impl Gap {
    /// None if the text has anything but operators, parentheses, white space and comments.
    fn read(text: &str, range: Range<usize>) -> Option<Self> {
        let mut gap = Self::default();
        let mut is_comment = false;
        for (at, byte) in text.get(range.clone())?.bytes().enumerate().map(|(index, byte)| (range.start + index, byte))
        {
            match byte {
                b'\n' => is_comment = false,
                _ if is_comment => {}
                b'#' => is_comment = true,
                b'(' => gap.open.push(at),
                b')' => gap.close.push(at),
                b'+' | b'-' | b'*' | b'/' | b'%' => gap.operators.push(at),
                _ if byte.is_ascii_whitespace() => {}
                _ => return None,
            }
        }
        Some(gap)
    }
}
