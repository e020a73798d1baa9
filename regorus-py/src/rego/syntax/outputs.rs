//! `f(x, y)` for `y = f(x)`, the older way to name a result.
//!
//! The engine knows it of its own builtins and of functions of the policy, and of no others; calls of ours are
//! written the other way round for it. `f(x,y)` and `y=f(x)` have the same length.

use regorus::unstable::{Expr, Literal, LiteralStmt, Ref};

use super::places::place;
use super::rewrite::Edit;
use super::scope::Scope;
use super::visit::{Visitor, visit_rule};
use crate::rego::builtins::added;
use crate::rego::program::{Callee, Part, Program};

pub fn edits(program: &Program<'_>, part: &Part<'_>) -> Vec<Edit> {
    let mut outputs = Outputs { program, part, edits: Vec::new() };
    part.module.policy.iter().for_each(|rule| visit_rule(rule, &mut outputs));
    outputs.edits
}

struct Outputs<'p, 'a> {
    program: &'p Program<'a>,
    part: &'p Part<'a>,
    edits: Vec<Edit>,
}

impl Visitor for Outputs<'_, '_> {
    fn expression(&mut self, _expression: &Expr, _scope: &Scope<'_>) {}

    fn statement(&mut self, statement: &LiteralStmt, _scope: &Scope<'_>) {
        let (Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. }) = &statement.literal else { return };
        let Expr::Call { fcn, params, .. } = expr.as_ref() else { return };
        if let Callee::Builtin(name, arity) = self.program.callee(self.part, fcn)
            && added::find(name).is_some()
            && params.len() == arity + 1
        {
            self.edits.extend(turned(self.part.source.text, expr, params));
        }
    }
}

/// `y=f(x)` for `f(x,y)`.
fn turned(text: &str, call: &Expr, parameters: &[Ref<Expr>]) -> Option<Edit> {
    let [.., before, output] = parameters else { return None };
    let (whole, before, output) = (place(call)?, place(before)?, place(output)?);
    let comma = before.end + text.get(before.end..output.start)?.find(',')?;
    let parts = [
        text.get(output.clone())?,
        "=",
        text.get(whole.start..comma)?,
        text.get(comma + 1..output.start)?,
        text.get(output.end..whole.end)?,
    ];
    Some(Edit { range: whole, text: parts.concat().into_bytes() })
}
