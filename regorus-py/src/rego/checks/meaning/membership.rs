//! `k, v in xs` where `xs` could be a set: OPA looks for a member that is both, the engine finds none.

use regorus::unstable::Expr;

use super::Meaning;

pub fn expression(meaning: &mut Meaning<'_, '_>, expression: &Expr) {
    let Expr::Membership { span, key: Some(_), collection, .. } = expression else { return };
    let has_keys = matches!(
        collection.as_ref(),
        Expr::Array { .. } | Expr::Object { .. } | Expr::ArrayCompr { .. } | Expr::ObjectCompr { .. }
    );
    if !has_keys {
        meaning.complain(span, "k, v in xs misses the members of a set: write xs[k] == v");
    }
}
