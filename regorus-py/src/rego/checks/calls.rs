//! Calls: the engine finds unknown builtins and wrong numbers of arguments only when it reaches them, which
//! for the one deny that matters is too late.

use std::collections::BTreeSet;

use regorus::unstable::Expr;

use crate::rego::builtins::added;
use crate::rego::builtins::blocked::reason_of_block;
use crate::rego::complaint::Complaint;
use crate::rego::program::{Callee, Part, Program};
use crate::rego::syntax::names::Reference;
use crate::rego::syntax::scope::Scope;
use crate::rego::syntax::visit::{Visitor, visit_rule};

/// Checks all calls; gives the builtins that may be called.
pub fn check(program: &Program<'_>) -> Result<BTreeSet<&'static str>, Complaint> {
    let mut builtins = BTreeSet::new();
    for part in &program.parts {
        let mut calls = Calls { program, part, builtins: &mut builtins, first: None };
        part.module.policy.iter().for_each(|rule| visit_rule(rule, &mut calls));
        if let Some(complaint) = calls.first {
            return Err(complaint);
        }
    }
    Ok(builtins)
}

struct Calls<'c, 'a> {
    program: &'c Program<'a>,
    part: &'c Part<'a>,
    builtins: &'c mut BTreeSet<&'static str>,
    first: Option<Complaint>,
}

impl Calls<'_, '_> {
    fn complain(&mut self, at: &Expr, message: String) {
        if self.first.is_none() {
            self.first = Some(self.part.source.complain(at.span(), message));
        }
    }

    fn use_builtin(&mut self, at: &Expr, name: &'static str) {
        match reason_of_block(name) {
            Some(reason) => self.complain(at, format!("{name} is not available: {reason}")),
            None => {
                self.builtins.insert(name);
            }
        }
    }

    /// The engine finds only its own builtins behind `with`.
    fn not_ours(&mut self, at: &Expr, name: &str) {
        if added::find(name).is_some() {
            let message =
                format!("{name} cannot be replaced, nor replace, in `with`: call it in a function, and take that");
            self.complain(at, message);
        }
    }

    fn check_arity(&mut self, call: &Expr, name: &str, given: usize, wanted: usize) {
        // One more is the place for the result: f(x, y) for y := f(x).
        if given != wanted && given != wanted + 1 {
            let plural = if wanted == 1 { "" } else { "s" };
            self.complain(call, format!("{name} takes {wanted} argument{plural}, not {given}"));
        }
    }
}

impl Visitor for Calls<'_, '_> {
    fn expression(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        let Expr::Call { fcn, params, .. } = expression else { return };
        match self.program.callee(self.part, fcn) {
            Callee::Function(path, arity) => {
                let name = path.last().cloned().unwrap_or_default();
                self.check_arity(fcn, &name, params.len(), arity);
            }
            Callee::Builtin(name, arity) => {
                self.use_builtin(fcn, name);
                self.check_arity(fcn, name, params.len(), arity);
            }
            Callee::Unknown(name) => match reason_of_block(&name) {
                Some(reason) => self.complain(fcn, format!("{name} is not available: {reason}")),
                None if name == "print" => {} // taken out of the text
                None => self.complain(fcn, format!("unknown function {name}")),
            },
        }
    }

    fn target(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        if Reference::of(expression).is_some_and(|target| self.part.is_document(target.root)) {
            return;
        }
        match self.program.callee(self.part, expression) {
            Callee::Function(..) => {}
            Callee::Builtin(name, _) => self.not_ours(expression, name),
            Callee::Unknown(name) => self.complain(expression, format!("unknown function {name}")),
        }
    }

    fn replacement(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        if let Callee::Builtin(name, _) = self.program.callee(self.part, expression) {
            self.not_ours(expression, name);
            self.use_builtin(expression, name);
        }
    }
}
