//! Writes `(0-a) + 1` for `-a + 1`, as OPA reads it. The engine reads `-(a + 1)`, and calculates neither.

use regorus::unstable::Expr;

use super::moved::{Edit, Moved};
use super::places::{one_line, place};
use super::scope::Scope;
use super::visit::{Visitor, visit_rule};
use crate::rego::program::Part;

/// Returns the text of `part` with differences in place of references and calls after a minus; None if it has none.
pub fn with_differences(part: &Part<'_>, moved: &mut Moved) -> Option<String> {
    let mut minus = Minus { text: part.source.text, edits: Vec::new() };
    part.module.policy.iter().for_each(|rule| visit_rule(rule, &mut minus));
    moved.write(&part.source, minus.edits)
}

struct Minus<'t> {
    text: &'t str,
    edits: Vec<Edit>,
}

impl Visitor for Minus<'_> {
    fn expression(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        if let Expr::UnaryExpr { expr, .. } = expression
            && let Some(edits) = self.difference(expression, first(expr))
        {
            self.edits.extend(edits);
        }
    }
}

impl Minus<'_> {
    /// None for anything else than a minus before a reference or a call: OPA refuses it.
    fn difference(&self, expression: &Expr, subtrahend: &Expr) -> Option<[Edit; 2]> {
        let is_read =
            matches!(subtrahend, Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } | Expr::Call { .. });
        let (whole, subtrahend) = (place(expression)?, place(subtrahend)?);
        let between = one_line(self.text.get(whole.start..subtrahend.start)?);
        (is_read && between.trim() == "-")
            .then(|| [Edit::insert(whole.start, String::from("(0")), Edit::insert(subtrahend.end, String::from(")"))])
    }
}

/// The first operand of an expression.
fn first(expression: &Expr) -> &Expr {
    match expression {
        Expr::ArithExpr { lhs, .. } | Expr::BinExpr { lhs, .. } | Expr::BoolExpr { lhs, .. } => first(lhs),
        Expr::Membership { key: None, value, .. } => first(value),
        _ => expression,
    }
}
