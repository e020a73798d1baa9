//! `not xs[_] == v` says "one of them is another" to the engine; to OPA `_` is unsafe, and the policy an error. Most
//! who write it mean "none of them is". `not { … }` negates a set here, which is never false, and a body in OPA, with
//! `import future.keywords`.

use regorus::unstable::{Expr, Literal, LiteralStmt};

use super::Meaning;
use crate::rego::syntax::shallow::shallow;

pub fn statement(meaning: &mut Meaning<'_, '_>, statement: &LiteralStmt) {
    let Literal::NotExpr { span, expr } = &statement.literal else { return };
    if span.text().strip_prefix("not").is_some_and(|rest| rest.trim_start().starts_with('{')) {
        meaning.complain(span, "not { is a body to OPA and a set here: write a rule for what is not to be");
    }
    let mut found = None;
    shallow(expr, &mut |part| {
        if let Expr::RefBrack { index, .. } = part
            && matches!(index.as_ref(), Expr::Var { span, .. } if span.text() == "_")
        {
            found.get_or_insert(index.span());
        }
    });
    if let Some(span) = found {
        meaning.complain(
            span,
            "var _ is unsafe: behind not, write v in xs, a comprehension, or a rule for what is not to be",
        );
    }
}
