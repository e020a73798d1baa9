//! The expressions of one body, without those of the bodies within it.

use regorus::unstable::{Expr, Literal, Query, Ref};

/// Shows `expression` and its parts. Call it on a big stack.
pub fn shallow<'a>(expression: &'a Expr, show: &mut dyn FnMut(&'a Expr)) {
    show(expression);
    match expression {
        Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().for_each(|item| shallow(item, show)),
        Expr::Object { fields, .. } => fields.iter().for_each(|(_, key, value)| {
            shallow(key, show);
            shallow(value, show);
        }),
        Expr::Call { fcn, params, .. } => {
            shallow(fcn, show);
            params.iter().for_each(|parameter| shallow(parameter, show));
        }
        Expr::UnaryExpr { expr, .. } => shallow(expr, show),
        Expr::RefDot { refr, .. } => shallow(refr, show),
        Expr::RefBrack { refr, index, .. } => {
            shallow(refr, show);
            shallow(index, show);
        }
        Expr::BinExpr { lhs, rhs, .. }
        | Expr::BoolExpr { lhs, rhs, .. }
        | Expr::ArithExpr { lhs, rhs, .. }
        | Expr::AssignExpr { lhs, rhs, .. } => {
            shallow(lhs, show);
            shallow(rhs, show);
        }
        Expr::Membership { key, value, collection, .. } => {
            key.iter().for_each(|key| shallow(key, show));
            shallow(value, show);
            shallow(collection, show);
        }
        Expr::String { .. }
        | Expr::RawString { .. }
        | Expr::Number { .. }
        | Expr::Bool { .. }
        | Expr::Null { .. }
        | Expr::Var { .. }
        | Expr::ArrayCompr { .. }
        | Expr::SetCompr { .. }
        | Expr::ObjectCompr { .. } => {}
    }
}

/// Shows each comprehension of `expression` that lies in no other: its body, and what it collects.
pub fn closures<'a>(expression: &'a Expr, show: &mut dyn FnMut(&'a Query, &[&'a Ref<Expr>])) {
    shallow(expression, &mut |part| match part {
        Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => show(query, &[term]),
        Expr::ObjectCompr { key, value, query, .. } => show(query, &[key, value]),
        _ => {}
    });
}

/// Whether a statement of the body itself has the name.
pub fn mentions(query: &Query, name: &str) -> bool {
    let mut found = false;
    let mut look = |expression: &Expr| found |= matches!(expression, Expr::Var { span, .. } if span.text() == name);
    for statement in &query.stmts {
        match &statement.literal {
            Literal::SomeVars { .. } => {}
            Literal::SomeIn { collection, .. } => shallow(collection, &mut look),
            Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => shallow(expr, &mut look),
            Literal::Every { domain, .. } => shallow(domain, &mut look),
        }
    }
    found
}
