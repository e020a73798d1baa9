//! Writes `name("..+",[a, b])` for `a + b`: the engine calculates with doubles, OPA does not (`builtins::operators`).
//!
//! `value in collection` becomes `name("in",[value , collection])`: it is undefined where one of the two is, as in OPA.
//! The engine's own operator would be false.
//!
//! A whole expression such as `(a + b) * c` becomes one call, and its operands keep their order. Lines do not move;
//! columns after an inserted text do, and `Moved` gives the author's column.

use std::collections::BTreeSet;
use std::ops::Range;

use regorus::unstable::{ArithOp, Expr, Rule};

use super::moved::{Edit, Moved};
use super::places::{one_line, place};
use super::scope::Scope;
use super::visit::{Visitor, visit_rule};
use crate::rego::builtins::operators::{IN, OPERAND};
use crate::rego::complaint::Complaint;
use crate::rego::program::Part;

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
    Ok(moved.write(&part.source, expressions.edits))
}

struct Expressions<'p, 'a> {
    part: &'p Part<'a>,
    text: &'a str,
    name: &'p str,
    /// The engine's numbers of operators that are part of a call already.
    seen: BTreeSet<u32>,
    edits: Vec<Edit>,
    first: Option<Complaint>,
}

impl Visitor for Expressions<'_, '_> {
    fn expression(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        let edits = match expression {
            Expr::ArithExpr { eidx, .. } if !self.seen.contains(eidx) => {
                let (mut steps, mut operands) = (String::new(), Vec::new());
                self.read(expression, &mut steps, &mut operands);
                self.call(expression, &steps, &operands)
            }
            Expr::Membership { value, collection, .. } => self.membership(expression, value, collection),
            _ => return,
        };
        match edits {
            Some(edits) => self.edits.extend(edits),
            None if self.first.is_none() => {
                let message = "the operators of this expression cannot be read; put it in parts, with := for each";
                self.first = Some(self.part.source.complain(expression.span(), message));
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
    fn call(&self, expression: &Expr, steps: &str, operands: &[Option<Range<usize>>]) -> Option<Vec<Edit>> {
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
        let mut edits = self.around(&whole, steps);
        for (index, gap) in gaps.iter().enumerate() {
            let is_between = index > 0 && index < operands.len();
            match (is_between, &gap.operators[..]) {
                (true, [at]) => edits.push(Edit::replace(*at..at + 1, String::from(","))),
                (false, []) => {}
                _ => return None,
            }
            edits.extend(gap.open.iter().chain(&gap.close).map(|at| Edit::replace(*at..at + 1, String::from(" "))));
        }
        Some(edits)
    }
}

impl Expressions<'_, '_> {
    /// The beginning and the end of a call in place of an expression.
    fn around(&self, whole: &Range<usize>, steps: &str) -> Vec<Edit> {
        // not(a)+b
        let is_after_word = self.text[..whole.start].ends_with(|last: char| last == '_' || last.is_alphanumeric());
        let space = if is_after_word { " " } else { "" };
        vec![
            Edit::insert(whole.start, format!("{space}{}(\"{steps}\",[", self.name)),
            Edit::insert(whole.end, String::from("])")),
        ]
    }

    /// Returns the edits that write `value in collection` as a call; None if its text cannot be read.
    fn membership(&self, expression: &Expr, value: &Expr, collection: &Expr) -> Option<Vec<Edit>> {
        let mut edits = self.around(&place(expression)?, IN);
        let between = place(value)?.end..place(collection)?.start;
        let at = between.start + one_line(self.text.get(between.clone())?).find(IN)?;
        edits.push(Edit::replace(at..at + IN.len(), String::from(", ")));
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
