//! Which names are local.

use std::collections::BTreeSet;

use regorus::unstable::{AssignOp, Expr, Literal, Query, Span};

/// Names bound here or further out: arguments, `some`, `:=`, `every`.
#[derive(Default)]
pub struct Scope<'a> {
    pub names: BTreeSet<String>,
    outer: Option<&'a Scope<'a>>,
}

impl Scope<'_> {
    pub fn inner(&self, names: BTreeSet<String>) -> Scope<'_> {
        Scope { names, outer: Some(self) }
    }

    pub fn is_local(&self, name: &str) -> bool {
        self.names.contains(name) || self.outer.is_some_and(|outer| outer.is_local(name))
    }
}

/// What the statements of one body declare, not counting the bodies within.
pub fn query_names(query: &Query) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for statement in &query.stmts {
        match &statement.literal {
            Literal::SomeVars { vars, .. } => names.extend(vars.iter().map(|span| Span::text(span).to_owned())),
            Literal::SomeIn { key, value, .. } => {
                key.iter().for_each(|key| pattern_names(key, &mut names));
                pattern_names(value, &mut names);
            }
            Literal::Expr { expr, .. } => {
                if let Expr::AssignExpr { op: AssignOp::ColEq, lhs, .. } = expr.as_ref() {
                    pattern_names(lhs, &mut names);
                }
            }
            Literal::NotExpr { .. } | Literal::Every { .. } => {}
        }
    }
    names
}

/// The names in a pattern such as `[x, {"a": y}]`.
pub fn pattern_names(pattern: &Expr, names: &mut BTreeSet<String>) {
    match pattern {
        Expr::Var { span, .. } => {
            names.insert(span.text().to_owned());
        }
        Expr::Array { items, .. } | Expr::Set { items, .. } => {
            items.iter().for_each(|item| pattern_names(item, names));
        }
        Expr::Object { fields, .. } => fields.iter().for_each(|(_, _, value)| pattern_names(value, names)),
        _ => {}
    }
}
