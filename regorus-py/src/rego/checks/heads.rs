//! Rules whose heads overlap, one with a name where the other has a variable.
//!
//! Asked for `p.b`, the engine evaluates the rule of that name alone, and not `p[x]`, which could have the same
//! place: `p.b` would lack what `p[x]` has to say, and a deny that reads it would miss. OPA takes both.

use regorus::unstable::{Expr, Ref, Rule};

use crate::rego::complaint::Complaint;
use crate::rego::program::{Part, Program};
use crate::rego::syntax::names::{constant_string, head_reference};

/// A rule with its whole path: a name, or None for what the head computes.
struct Head<'c, 'a> {
    part: &'c Part<'a>,
    rule: &'a Rule,
    path: Vec<Option<&'c str>>,
}

pub fn check(program: &Program<'_>) -> Result<(), Complaint> {
    let heads: Vec<Head<'_, '_>> = program.parts.iter().flat_map(heads_of).collect();
    let (computed, named): (Vec<_>, Vec<_>) = heads.iter().partition(|head| head.path.contains(&None));
    for (index, head) in computed.iter().enumerate() {
        let others = named.iter().chain(&computed[index + 1..]);
        if let Some(other) = others.into_iter().find(|other| overlap(&head.path, &other.path)) {
            let message = format!(
                "{} overlaps {}: the engine would leave out one of them; write both with a variable, or both with names",
                written(&head.path),
                written(&other.path),
            );
            return Err(head.part.source.complain(head_reference(head.rule).span(), message));
        }
    }
    Ok(())
}

fn heads_of<'c, 'a>(part: &'c Part<'a>) -> impl Iterator<Item = Head<'c, 'a>> {
    part.module.policy.iter().map(move |rule| {
        let package = part.package.iter().map(|name| Some(name.as_str()));
        Head { part, rule: rule.as_ref(), path: package.chain(parts(head_reference(rule))).collect() }
    })
}

fn parts(reference: &Ref<Expr>) -> Vec<Option<&str>> {
    let mut parts = Vec::new();
    let mut current = reference.as_ref();
    loop {
        match current {
            Expr::RefDot { refr, field, .. } => {
                parts.push(Some(field.0.text()));
                current = refr.as_ref();
            }
            Expr::RefBrack { refr, index, .. } => {
                parts.push(constant_string(index));
                current = refr.as_ref();
            }
            root => {
                parts.push(Some(root.span().text()));
                parts.reverse();
                return parts;
            }
        }
    }
}

/// Whether one has a name where the other computes one, and they agree before it.
fn overlap(one: &[Option<&str>], other: &[Option<&str>]) -> bool {
    for pair in one.iter().zip(other) {
        match pair {
            (Some(one), Some(other)) if one != other => return false,
            (Some(_), None) | (None, Some(_)) => return true,
            _ => {}
        }
    }
    false
}

fn written(path: &[Option<&str>]) -> String {
    let mut text = String::new();
    for part in path {
        match part {
            Some(name) if text.is_empty() => text.push_str(name),
            Some(name) => text.push_str(&format!(".{name}")),
            None => text.push_str("[…]"),
        }
    }
    text
}
