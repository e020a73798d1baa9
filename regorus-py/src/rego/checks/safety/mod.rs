//! Names that nothing binds where they are needed: OPA refuses them as unsafe (Policy Language, "Negation";
//! `reorderBodyForSafety` in `v1/ast/compile.go`). The engine binds some of them by itself, and `not xs[i]` then says
//! "one of them is not", where its author means "none of them is": an allow would pass.
//!
//! A body is safe where each name in a negated statement, in an input of a call, in a comparison and in the head is
//! bound by a statement that is not negated, here or further out.

use regorus::unstable::{Expr, Rule, RuleHead};

use crate::rego::complaint::Complaint;
use crate::rego::program::{Part, Program};
use crate::rego::syntax::names::{dotted, head_reference, rule_path};
use crate::rego::syntax::shallow::shallow;
use crate::rego::syntax::visit::indices;

mod lower;
mod order;
mod term;
mod unify;

use lower::Lowering;
use order::first_unsafe;
use term::Body;

pub fn check(program: &Program<'_>) -> Result<(), Complaint> {
    for part in &program.parts {
        part.module.policy.iter().try_for_each(|rule| check_rule(program, part, rule))?;
    }
    Ok(())
}

fn check_rule(program: &Program<'_>, part: &Part<'_>, rule: &Rule) -> Result<(), Complaint> {
    let (head, bodies) = match rule {
        Rule::Spec { head, bodies, .. } => (head, bodies),
        Rule::Default { value, .. } => return check_default(part, value),
    };
    let mut in_head: Vec<&Expr> = indices(head_reference(rule)).into_iter().map(AsRef::as_ref).collect();
    let mut lowering = Lowering::new(program, part);
    let mut arguments = term::Names::new();
    match head {
        RuleHead::Compr { assign, .. } => in_head.extend(assign.iter().map(|assign| assign.value.as_ref())),
        RuleHead::Set { key, .. } => in_head.extend(key.iter().map(AsRef::as_ref)),
        RuleHead::Func { args, assign, .. } => {
            arguments = lowering.arguments(args);
            in_head.extend(assign.iter().map(|assign| assign.value.as_ref()));
        }
    }
    let check =
        |body: Body<'_>| first_unsafe(&body, &arguments).map_or(Ok(()), |name| Err(unsafe_in(part, rule, &name)));
    if bodies.is_empty() {
        check(lowering.body(None, &in_head))?;
    }
    for (index, body) in bodies.iter().enumerate() {
        let mut heads: Vec<&Expr> = body.assign.iter().map(|assign| assign.value.as_ref()).collect();
        // Other bodies than `else` share the head.
        if index == 0 || !body.is_else {
            heads.extend(&in_head);
        }
        check(lowering.body(Some(&body.query), &heads))?;
    }
    Ok(())
}

fn check_default(part: &Part<'_>, value: &Expr) -> Result<(), Complaint> {
    let mut found = None;
    shallow(value, &mut |part| {
        if matches!(part, Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } | Expr::Call { .. }) {
            found.get_or_insert(part.span());
        }
    });
    let message = "a default is a constant: write what depends on something as a rule";
    found.map_or(Ok(()), |span| Err(part.source.complain(span, message)))
}

fn unsafe_in(part: &Part<'_>, rule: &Rule, name: &term::Name<'_>) -> Complaint {
    let written = name.span.text();
    let bindable = if written == "_" { "x" } else { written };
    let message = format!(
        "var {written} is unsafe in {}: nothing binds it here. Bind it in a statement of this body without not \
         (some {bindable} in ..., {bindable} := ...), or write what must not hold as a rule and negate that",
        dotted(&rule_path(rule))
    );
    part.source.complain(name.span, message)
}
