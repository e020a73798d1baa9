//! A name that `every` gives, where a value could be bound to it: `every x in xs { x = 1 }`. The engine binds it
//! anew instead of comparing, so that the body holds whatever `xs` are, and an allow would let them pass.

use std::collections::BTreeSet;

use regorus::unstable::{AssignOp, Expr, Literal, LiteralStmt, Span};

use super::Meaning;
use crate::rego::program::Callee;
use crate::rego::syntax::scope::{Scope, pattern_names};

pub fn statement(meaning: &mut Meaning<'_, '_>, statement: &LiteralStmt, scope: &Scope<'_>) {
    match &statement.literal {
        Literal::SomeVars { vars, .. } => {
            for name in vars {
                refuse(meaning, name, scope, &BTreeSet::from([Span::text(name).to_owned()]));
            }
        }
        Literal::SomeIn { key, value, .. } => {
            key.iter().chain(std::iter::once(value)).for_each(|pattern| bound(meaning, pattern, scope));
        }
        Literal::Expr { .. } | Literal::NotExpr { .. } | Literal::Every { .. } => {}
    }
}

pub fn expression(meaning: &mut Meaning<'_, '_>, expression: &Expr, scope: &Scope<'_>) {
    match expression {
        Expr::AssignExpr { op, lhs, rhs, .. } => {
            bound(meaning, lhs, scope);
            if matches!(op, AssignOp::Eq) {
                bound(meaning, rhs, scope);
            }
        }
        Expr::Call { fcn, params, .. } => {
            let arity = match meaning.program.callee(meaning.part, fcn) {
                Callee::Function(_, arity) | Callee::Builtin(_, arity) => arity,
                Callee::Unknown(_) => return,
            };
            // f(x, y) for y = f(x)
            if let Some(output) = params.get(arity) {
                bound(meaning, output, scope);
            }
        }
        _ => {}
    }
}

fn bound(meaning: &mut Meaning<'_, '_>, pattern: &Expr, scope: &Scope<'_>) {
    let mut names = BTreeSet::new();
    pattern_names(pattern, &mut names);
    refuse(meaning, pattern.span(), scope, &names);
}

fn refuse(meaning: &mut Meaning<'_, '_>, at: &Span, scope: &Scope<'_>, names: &BTreeSet<String>) {
    if let Some(name) = names.iter().find(|name| *name != "_" && scope.is_of_every(name)) {
        meaning
            .complain(at, format!("{name} is a name of every: compare it with ==, and give other values other names"));
    }
}
