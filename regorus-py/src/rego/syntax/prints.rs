//! Calls of print, taken out of a policy as OPA's build does: their output has no reader here, and printing
//! a value that contains itself many times over would take all memory.

use regorus::unstable::{Expr, Module};

use super::names::{Reference, rule_path};
use super::scope::Scope;
use super::visit::{Visitor, visit_rule};

/// The text with `true` in the place of each call of print, every other character where it was; None where
/// there is no such call.
pub fn without_prints(module: &Module, text: &str) -> Option<String> {
    let mut calls = PrintCalls::default();
    if module.policy.iter().any(|rule| rule_path(rule).first().is_some_and(|name| name == "print")) {
        return None;
    }
    module.policy.iter().for_each(|rule| visit_rule(rule, &mut calls));
    if calls.ranges.is_empty() {
        return None;
    }
    calls.ranges.sort_unstable();
    let mut bytes = text.as_bytes().to_vec();
    let mut done = 0;
    for (start, end) in calls.ranges {
        if start < done {
            continue; // within the call before
        }
        done = end;
        let call = bytes.get_mut(start..end)?;
        call.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        call.get_mut(..4)?.copy_from_slice(b"true");
    }
    String::from_utf8(bytes).ok()
}

#[derive(Default)]
struct PrintCalls {
    ranges: Vec<(usize, usize)>,
}

impl Visitor for PrintCalls {
    fn expression(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        if let Expr::Call { span, fcn, .. } = expression
            && Reference::of(fcn).is_some_and(|name| name.root == "print" && name.path.is_empty())
            && let (Ok(start), Ok(end)) = (usize::try_from(span.start), usize::try_from(span.end))
        {
            self.ranges.push((start, end));
        }
    }
}
