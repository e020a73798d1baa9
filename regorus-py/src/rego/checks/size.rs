//! Limits on what a parsed policy is made of: what is deeper ends on the stack, in evaluation and in drop.

use regorus::unstable::{Expr, LiteralStmt, Module, Ref};

use crate::rego::complaint::Complaint;
use crate::rego::source::Source;
use crate::rego::syntax::scope::Scope;
use crate::rego::syntax::visit::{Visitor, visit_rule};

pub const RULES_MAX: usize = 500;
/// With the libraries.
pub const PROGRAM_RULES_MAX: usize = 2_000;
pub const OPERATORS_MAX: usize = 500;
/// In one rule; the engine orders them by what they need of each other, in the square of their number.
pub const STATEMENTS_MAX: usize = 500;

pub fn check(source: &Source<'_>, module: &Module) -> Result<(), Complaint> {
    if module.policy.len() > RULES_MAX {
        let message = format!("{} rules; at most {RULES_MAX} are allowed", module.policy.len());
        return Err(Complaint::about(source.path, message));
    }
    for rule in &module.policy {
        let mut operators = Operators::default();
        visit_rule(rule, &mut operators);
        if operators.count > OPERATORS_MAX {
            let message = format!("a rule with {} operators; at most {OPERATORS_MAX} are allowed", operators.count);
            return Err(source.complain(rule.span(), message));
        }
        if operators.statements > STATEMENTS_MAX {
            let message =
                format!("a rule with {} statements; at most {STATEMENTS_MAX} are allowed", operators.statements);
            return Err(source.complain(rule.span(), message));
        }
    }
    Ok(())
}

pub fn check_program(path: &str, modules: &[Ref<Module>]) -> Result<(), Complaint> {
    let rules: usize = modules.iter().map(|module| module.policy.len()).sum();
    if rules > PROGRAM_RULES_MAX {
        let message = format!("{rules} rules with the libraries; at most {PROGRAM_RULES_MAX} are allowed");
        return Err(Complaint::about(path, message));
    }
    Ok(())
}

#[derive(Default)]
struct Operators {
    count: usize,
    statements: usize,
}

impl Visitor for Operators {
    fn statement(&mut self, _statement: &LiteralStmt, _scope: &Scope<'_>) {
        self.statements += 1;
    }

    fn expression(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        if matches!(
            expression,
            Expr::UnaryExpr { .. }
                | Expr::BinExpr { .. }
                | Expr::BoolExpr { .. }
                | Expr::ArithExpr { .. }
                | Expr::AssignExpr { .. }
                | Expr::Membership { .. }
        ) {
            self.count += 1;
        }
    }
}
