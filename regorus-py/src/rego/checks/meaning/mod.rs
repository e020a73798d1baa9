//! What the engine would read otherwise than OPA, without a word: refused.

mod every;
mod imports;
mod membership;
mod negation;
mod numbers;
mod walks;

use regorus::unstable::{Expr, LiteralStmt, Span};

use crate::rego::complaint::Complaint;
use crate::rego::program::{Callee, Part, Program};
use crate::rego::syntax::scope::Scope;
use crate::rego::syntax::visit::{Visitor, visit_rule};

pub fn check(program: &Program<'_>) -> Result<(), Complaint> {
    for part in &program.parts {
        let mut meaning = Meaning { program, part, walk: None, first: None };
        imports::check(&mut meaning);
        part.module.policy.iter().for_each(|rule| visit_rule(rule, &mut meaning));
        if let Some(complaint) = meaning.first {
            return Err(complaint);
        }
    }
    Ok(())
}

struct Meaning<'c, 'a> {
    program: &'c Program<'a>,
    part: &'c Part<'a>,
    /// The number of the expression that is a statement, where that is a call of `walk` with its output.
    walk: Option<u32>,
    first: Option<Complaint>,
}

impl Meaning<'_, '_> {
    fn complain(&mut self, at: &Span, message: impl Into<String>) {
        if self.first.is_none() {
            self.first = Some(self.part.source.complain(at, message));
        }
    }

    /// The builtin that `expression` calls, with the number of its arguments.
    fn builtin(&self, name: &Expr) -> Option<(&'static str, usize)> {
        match self.program.callee(self.part, name) {
            Callee::Builtin(name, arity) => Some((name, arity)),
            Callee::Function(..) | Callee::Unknown(_) => None,
        }
    }
}

impl Visitor for Meaning<'_, '_> {
    fn statement(&mut self, statement: &LiteralStmt, scope: &Scope<'_>) {
        walks::statement(self, statement);
        every::statement(self, statement, scope);
        negation::statement(self, statement);
    }

    fn expression(&mut self, expression: &Expr, scope: &Scope<'_>) {
        walks::expression(self, expression);
        every::expression(self, expression, scope);
        membership::expression(self, expression);
        numbers::expression(self, expression);
    }

    fn target(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        walks::replaced(self, expression);
    }

    fn replacement(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        walks::replaced(self, expression);
    }
}
