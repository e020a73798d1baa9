//! Writes `h := input.a; not f(h)` for `not f(input.a)`, and `h := input.a; f(1) with input.b as h` for
//! `f(1) with input.b as input.a`.
//!
//! OPA evaluates what stands below the outermost call or comparison before it negates: where `input.a` is undefined,
//! so is the statement. The engine takes it for true, and an `allow` could hold for a request without the member.
//! What `with` puts in a place is evaluated first too, in any statement.
//! What OPA evaluates first follows its `expandExprTerm` and `rewriteDynamics` (`v1/ast/compile.go`): references,
//! calls, comprehensions and operators in the operands, but no reference that `==` or `=` compares.

use std::ops::Range;

use regorus::unstable::{AssignOp, BoolOp, Expr, Literal, LiteralStmt};

use super::moved::{Edit, Moved};
use super::places::{self, one_line, place_of};
use super::scope::Scope;
use super::visit::{Visitor, visit_rule};
use crate::rego::complaint::Complaint;
use crate::rego::program::{Callee, Part, Program};

/// Returns the text of `part` in which operands of negations, and values of `with`, have names that begin with
/// `prefix`; None if it needs none.
pub fn with_operands_first(
    program: &Program<'_>,
    part: &Part<'_>,
    prefix: &str,
    moved: &mut Moved,
) -> Result<Option<String>, Complaint> {
    let (edits, blanked) = (Vec::new(), Vec::new());
    let mut negations = Negations { program, part, prefix, count: 0, edits, blanked, first: None };
    part.module.policy.iter().for_each(|rule| visit_rule(rule, &mut negations));
    match negations.first {
        Some(complaint) => Err(complaint),
        None => Ok(moved.write(&part.source, negations.edits)),
    }
}

struct Negations<'p, 'a> {
    program: &'p Program<'a>,
    part: &'p Part<'a>,
    prefix: &'p str,
    /// Of the names that were given.
    count: usize,
    edits: Vec<Edit>,
    /// What is no longer there. Negations in it are copied with it, and are changed in the next turn.
    blanked: Vec<Range<usize>>,
    first: Option<Complaint>,
}

impl Visitor for Negations<'_, '_> {
    fn expression(&mut self, _expression: &Expr, _scope: &Scope<'_>) {}

    fn statement(&mut self, statement: &LiteralStmt, scope: &Scope<'_>) {
        let Some(place) = place_of(&statement.span) else { return };
        if self.blanked.iter().any(|blanked| blanked.contains(&place.start)) {
            return;
        }
        let mut operands = Operands { part: self.part, scope, found: Vec::new() };
        if let Literal::NotExpr { expr, .. } = &statement.literal {
            operands.of_statement(expr);
        }
        let operands = operands.found;
        let values = statement.with_mods.iter().map(|modifier| &*modifier.r#as);
        let values: Vec<&Expr> = values.filter(|value| self.is_evaluated_first(value, scope)).collect();
        if operands.is_empty() && values.is_empty() {
            return;
        }
        let is_alone = scope.body_start() == Some(statement.span.start);
        match self.rewritten(statement, &place, &operands, &values, is_alone) {
            Some(edits) => self.edits.extend(edits),
            None if self.first.is_none() => {
                let message = "this statement cannot be read; put its operands in parts, with := for each";
                self.first = Some(self.part.source.complain(&statement.span, message));
            }
            None => {}
        }
    }
}

impl Negations<'_, '_> {
    /// Returns the changes for one statement; None if its text cannot be read.
    fn rewritten(
        &mut self,
        statement: &LiteralStmt,
        place: &Range<usize>,
        operands: &[&Expr],
        values: &[&Expr],
        is_alone: bool,
    ) -> Option<Vec<Edit>> {
        let text = self.part.source.text;
        let (operands, values) = (self.named(operands)?, self.named(values)?);
        let mut opening = Copy::default();
        opening.push(if is_alone { " { " } else { " " });
        for (name, range) in &values {
            opening.push(&format!("{name} := ("));
            opening.piece(text, range.clone())?;
            opening.push("); ");
        }
        let mut closing = Copy::default();
        let mut edits = Vec::new();
        let mut done = place.start;
        if let (Literal::NotExpr { expr, .. }, false) = (&statement.literal, operands.is_empty()) {
            let mut modifiers = Copy::default();
            if let (Some(first), Some(last)) = (statement.with_mods.first(), statement.with_mods.last()) {
                modifiers.push(" ");
                modifiers.take(text, place_of(&first.span)?.start..place_of(&last.span)?.end, &values)?;
            }
            let names = operands.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            let (open, close) = if operands.len() == 1 { ("", "") } else { ("[", "]") };
            opening.push(&format!("{open}{names}{close} := {open}"));
            for (index, (_, range)) in operands.iter().enumerate() {
                edits.extend(self.blank(done..range.start)?);
                edits.push(Edit::insert(range.start, String::from("(")));
                let next = if index + 1 < operands.len() { ")," } else { ")" };
                edits.push(Edit::insert(range.end, String::from(next)));
                done = range.end;
            }
            closing.push(close);
            closing.append(&modifiers);
            closing.push("; not ");
            closing.take(text, places::place(expr)?, &operands)?;
            closing.append(&modifiers);
            edits.extend(self.blank(done..place.end)?);
        } else {
            for (name, range) in &values {
                edits.extend(self.blank(range.clone())?);
                edits.push(Edit::insert(range.start, format!("({name})")));
            }
            done = place.end;
        }
        closing.push(if is_alone { " }" } else { "" });
        edits.push(closing.inserted(done));
        edits.insert(0, opening.inserted(place.start));
        Some(edits)
    }

    /// Spaces for a piece of the text, with its ends of lines; None inside for an empty piece.
    fn blank(&mut self, range: Range<usize>) -> Option<Option<Edit>> {
        let spaces = self.part.source.text.get(range.clone())?.chars().map(|character| match character {
            '\n' | '\r' | '\t' => character,
            _ => ' ',
        });
        let spaces: String = spaces.collect();
        self.blanked.push(range.clone());
        Some((!range.is_empty()).then(|| Edit::replace(range, spaces)))
    }

    /// Whether OPA evaluates what a `with` puts in the place of something, and may have no value. Functions are put as
    /// they are.
    fn is_evaluated_first(&self, value: &Expr, scope: &Scope<'_>) -> bool {
        let operands = Operands { part: self.part, scope, found: Vec::new() };
        let is_reference = matches!(value, Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. });
        let is_function = is_reference && !matches!(self.program.callee(self.part, value), Callee::Unknown(_));
        !is_function && operands.may_be_undefined(value)
    }

    /// Gives a name to each expression, and its place.
    fn named(&mut self, expressions: &[&Expr]) -> Option<Vec<(String, Range<usize>)>> {
        let mut named = Vec::with_capacity(expressions.len());
        for expression in expressions {
            self.count += 1;
            named.push((format!("{}{}", self.prefix, self.count), places::place(expression)?));
        }
        Some(named)
    }
}

/// What OPA evaluates before a negated expression, in the order of the text.
struct Operands<'e, 's> {
    part: &'s Part<'s>,
    scope: &'s Scope<'s>,
    found: Vec<&'e Expr>,
}

impl<'e> Operands<'e, '_> {
    fn of_statement(&mut self, negated: &'e Expr) {
        match negated {
            Expr::BoolExpr { op: BoolOp::Eq, lhs, rhs, .. } | Expr::AssignExpr { op: AssignOp::Eq, lhs, rhs, .. } => {
                self.of_equality(lhs);
                self.of_equality(rhs);
            }
            Expr::BoolExpr { lhs, rhs, .. } | Expr::ArithExpr { lhs, rhs, .. } | Expr::BinExpr { lhs, rhs, .. } => {
                self.of_call(lhs);
                self.of_call(rhs);
            }
            Expr::Membership { key, value, collection, .. } => {
                key.iter().for_each(|key| self.of_call(key));
                self.of_call(value);
                self.of_call(collection);
            }
            Expr::Call { params, .. } => params.iter().for_each(|parameter| self.of_call(parameter)),
            // Never false, never undefined: nothing in it has to be evaluated first.
            Expr::ArrayCompr { .. } | Expr::SetCompr { .. } | Expr::ObjectCompr { .. } => {}
            _ => self.of_equality(negated),
        }
    }

    /// A side of `==`, or a statement that is no call. References stay, with their indices evaluated first.
    fn of_equality(&mut self, side: &'e Expr) {
        match side {
            Expr::Var { .. } => {}
            Expr::RefDot { refr, .. } => self.of_equality(refr),
            Expr::RefBrack { refr, index, .. } => {
                self.of_equality(refr);
                self.of_call(index);
            }
            _ => self.of_call(side),
        }
    }

    /// An argument of a call or of an operator.
    fn of_call(&mut self, argument: &'e Expr) {
        if self.may_be_undefined(argument) {
            self.found.push(argument);
        }
    }

    /// Whether evaluating the expression can have no value, or does work that is not to be done twice.
    fn may_be_undefined(&self, expression: &Expr) -> bool {
        match expression {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. } => false,
            Expr::Var { span, .. } => !self.scope.is_local(span.text()) && self.part.has_name(span.text()),
            Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().any(|item| self.may_be_undefined(item)),
            Expr::Object { fields, .. } => {
                fields.iter().any(|(_, key, value)| self.may_be_undefined(key) || self.may_be_undefined(value))
            }
            _ => true,
        }
    }
}

/// Pieces of the author's text on one line, between others.
#[derive(Default)]
struct Copy {
    text: String,
    copies: Vec<(Range<usize>, usize)>,
}

impl Copy {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn append(&mut self, other: &Self) {
        let moved = self.text.len();
        let copies = other.copies.iter().map(|(range, from)| (range.start + moved..range.end + moved, *from));
        self.copies.extend(copies);
        self.text.push_str(&other.text);
    }

    /// Appends a piece of `text` with names in place of expressions; None if it cannot be read.
    fn take(&mut self, text: &str, range: Range<usize>, named: &[(String, Range<usize>)]) -> Option<()> {
        let mut done = range.start;
        for (name, place) in named {
            self.piece(text, done..place.start)?;
            let start = self.text.len();
            // A bracket on the next line would call a bare name.
            let is_root = text.get(place.end..)?.starts_with(['.', '[']);
            self.push(&if is_root { name.clone() } else { format!("({name})") });
            self.copies.push((start + usize::from(!is_root)..self.text.len(), place.start));
            done = place.end;
        }
        self.piece(text, done..range.end)
    }

    fn piece(&mut self, text: &str, range: Range<usize>) -> Option<()> {
        let start = self.text.len();
        let from = range.start;
        self.text.push_str(&one_line(text.get(range)?));
        self.copies.push((start..self.text.len(), from));
        Some(())
    }

    fn inserted(self, place: usize) -> Edit {
        Edit::insert_copies(place, self.text, self.copies)
    }
}
