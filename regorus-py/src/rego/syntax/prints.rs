//! Calls of print, taken out of a policy as OPA's build does: their output has no reader here, and printing
//! a value that contains itself many times over would take all memory.

use std::ops::Range;

use regorus::unstable::{Expr, Module};

use super::names::{Reference, rule_path};
use super::rewrite::Edit;
use super::scope::Scope;
use super::visit::{Visitor, visit_rule};

/// `true` in the place of each call of print; nothing where the module has a function of that name.
pub fn edits(module: &Module, text: &str) -> Vec<Edit> {
    if module.policy.iter().any(|rule| rule_path(rule).first().is_some_and(|name| name == "print")) {
        return Vec::new();
    }
    let mut calls = PrintCalls::default();
    module.policy.iter().for_each(|rule| visit_rule(rule, &mut calls));
    calls.ranges.into_iter().filter_map(|range| without_print(text, range)).collect()
}

fn without_print(text: &str, range: Range<usize>) -> Option<Edit> {
    let mut call = text.as_bytes().get(range.clone())?.to_vec();
    call.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    call.get_mut(..4)?.copy_from_slice(b"true");
    Some(Edit { range, text: call })
}

#[derive(Default)]
struct PrintCalls {
    ranges: Vec<Range<usize>>,
}

impl Visitor for PrintCalls {
    fn expression(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        if let Expr::Call { span, fcn, .. } = expression
            && Reference::of(fcn).is_some_and(|name| name.root == "print" && name.path.is_empty())
            && let (Ok(start), Ok(end)) = (usize::try_from(span.start), usize::try_from(span.end))
        {
            self.ranges.push(start..end);
        }
    }
}
