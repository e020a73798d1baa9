//! `not { … }` negates a set here, which is never false, and a body in OPA, with `import future.keywords`.

use regorus::unstable::{Literal, LiteralStmt};

use super::Meaning;

pub fn statement(meaning: &mut Meaning<'_, '_>, statement: &LiteralStmt) {
    let Literal::NotExpr { span, .. } = &statement.literal else { return };
    if span.text().strip_prefix("not").is_some_and(|rest| rest.trim_start().starts_with('{')) {
        meaning.complain(span, "not { is a body to OPA and a set here: write a rule for what is not to be");
    }
}
