//! `walk(x,y)` for `y=walk(x)` and `y:=walk(x)`: the engine goes through the nodes in the first form only, and finds
//! none in the others. The text keeps its length.

use std::collections::BTreeSet;
use std::ops::Range;

use regorus::unstable::{AssignOp, Expr, Literal, LiteralStmt};

use super::places::place;
use super::rewrite::Edit;
use super::scope::{Scope, pattern_names};
use super::visit::{Visitor, visit_rule};
use crate::rego::program::{Callee, Part, Program};

pub const NAME: &str = "walk";

pub fn edits(program: &Program<'_>, part: &Part<'_>) -> Vec<Edit> {
    let mut walks = Walks { program, part, edits: Vec::new() };
    part.module.policy.iter().for_each(|rule| visit_rule(rule, &mut walks));
    walks.edits
}

struct Walks<'p, 'a> {
    program: &'p Program<'a>,
    part: &'p Part<'a>,
    edits: Vec<Edit>,
}

impl Walks<'_, '_> {
    fn is_walk(&self, expression: &Expr) -> bool {
        matches!(expression, Expr::Call { fcn, params, .. }
            if params.len() == 1 && matches!(self.program.callee(self.part, fcn), Callee::Builtin(NAME, _)))
    }

    /// Whether `:=` in this place gives names that something else has: without `:=` they would mean that.
    fn hides(&self, pattern: &Expr, scope: &Scope<'_>) -> bool {
        let mut names = BTreeSet::new();
        pattern_names(pattern, &mut names);
        names.iter().any(|name| name != "_" && (self.part.has_name(name) || scope.is_used_around(name)))
    }
}

impl Visitor for Walks<'_, '_> {
    fn expression(&mut self, _expression: &Expr, _scope: &Scope<'_>) {}

    fn statement(&mut self, statement: &LiteralStmt, scope: &Scope<'_>) {
        let Literal::Expr { expr, .. } = &statement.literal else { return };
        let Expr::AssignExpr { op, lhs, rhs, .. } = expr.as_ref() else { return };
        let text = self.part.source.text;
        let edit = match op {
            AssignOp::ColEq if self.is_walk(rhs) && !self.hides(lhs, scope) => turned(text, lhs, ":=", rhs, true),
            AssignOp::Eq if self.is_walk(rhs) => turned(text, lhs, "=", rhs, true),
            AssignOp::Eq if self.is_walk(lhs) => turned(text, lhs, "=", rhs, false),
            _ => None,
        };
        self.edits.extend(edit);
    }
}

/// None where something else than the operator stands between, as a bracket or a comment.
fn turned(text: &str, lhs: &Expr, operator: &str, rhs: &Expr, walk_is_right: bool) -> Option<Edit> {
    let (left, right): (Range<usize>, Range<usize>) = (place(lhs)?, place(rhs)?);
    let between = text.get(left.end..right.start)?;
    if between.trim() != operator {
        return None;
    }
    let (walk, output) = if walk_is_right { (&right, &left) } else { (&left, &right) };
    let call = text.get(walk.clone())?.strip_suffix(')')?;
    let spaces = between.replacen(operator, &" ".repeat(operator.len() - 1), 1);
    let text = format!("{call},{spaces}{})", text.get(output.clone())?);
    Some(Edit { range: left.start..right.end, text: text.into_bytes() })
}
