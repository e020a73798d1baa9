//! `walk` gives a value for each node, which the engine knows in one place only: `walk(x, [path, value])` as a
//! statement. Anywhere else it finds no node, and a deny would miss.

use regorus::unstable::{Expr, Literal, LiteralStmt};

use super::Meaning;
use crate::rego::syntax::walks::NAME;

const MESSAGE: &str = "walk gives many values: write walk(x, [path, value]) as a statement of its own, without not, with \
                       names that mean nothing else";

pub fn statement(meaning: &mut Meaning<'_, '_>, statement: &LiteralStmt) {
    meaning.walk = match &statement.literal {
        Literal::Expr { expr, .. } => match expr.as_ref() {
            Expr::Call { params, eidx, .. } if params.len() == 2 => Some(*eidx),
            _ => None,
        },
        _ => None,
    };
}

pub fn expression(meaning: &mut Meaning<'_, '_>, expression: &Expr) {
    let Expr::Call { fcn, eidx, .. } = expression else { return };
    if meaning.walk != Some(*eidx) && is_walk(meaning, fcn) {
        meaning.complain(fcn.span(), MESSAGE);
    }
}

/// In `with`, as what is replaced or replaces.
pub fn replaced(meaning: &mut Meaning<'_, '_>, expression: &Expr) {
    if is_walk(meaning, expression) {
        meaning.complain(expression.span(), "walk can be no part of with");
    }
}

fn is_walk(meaning: &Meaning<'_, '_>, name: &Expr) -> bool {
    meaning.builtin(name).is_some_and(|(name, _)| name == NAME)
}
