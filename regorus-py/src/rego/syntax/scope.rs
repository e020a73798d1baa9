//! Which names are local.

use std::collections::BTreeSet;

use regorus::unstable::{AssignOp, Expr, Literal, Query, Span};

use super::shallow::mentions;

/// Names bound here or further out: arguments, `some`, `:=`, `every`.
#[derive(Default)]
pub struct Scope<'a> {
    pub names: BTreeSet<String>,
    /// The body that this is the scope of; none for arguments and for the names of `every`.
    query: Option<&'a Query>,
    is_of_every: bool,
    outer: Option<&'a Scope<'a>>,
}

impl<'a> Scope<'a> {
    /// The names of a body.
    pub fn body<'s>(&'s self, query: &'s Query) -> Scope<'s> {
        Scope { names: query_names(query), query: Some(query), is_of_every: false, outer: Some(self) }
    }

    /// The names that `every` gives to its body.
    pub fn every(&self, names: BTreeSet<String>) -> Scope<'_> {
        Scope { names, query: None, is_of_every: true, outer: Some(self) }
    }

    /// Where the body begins: at its brace, or at its only statement.
    pub fn body_start(&self) -> Option<u32> {
        self.query.map(|query| query.span.start)
    }

    pub fn is_local(&self, name: &str) -> bool {
        self.outwards().any(|scope| scope.names.contains(name))
    }

    /// Whether an `every` here or further out has given the name.
    pub fn is_of_every(&self, name: &str) -> bool {
        self.outwards().any(|scope| scope.is_of_every && scope.names.contains(name))
    }

    /// Whether something around this body could have bound the name.
    pub fn is_used_around(&self, name: &str) -> bool {
        let mut around = self.outwards().skip(1);
        around.any(|scope| scope.names.contains(name) || scope.query.is_some_and(|query| mentions(query, name)))
    }

    fn outwards<'s>(&'s self) -> impl Iterator<Item = &'s Scope<'a>> {
        std::iter::successors(Some(self), |scope| scope.outer)
    }
}

/// What the statements of one body declare, not counting the bodies within.
fn query_names(query: &Query) -> BTreeSet<String> {
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
