//! Names that nothing binds where they are needed: OPA refuses them as unsafe (Policy Language, "Negation"; ast/compile.go,
//! `reorderBodyForSafety`). The engine binds some of them by itself, and `not xs[i]` then says "one of them is not",
//! where its author means "none of them is": an allow would pass.
//!
//! A body is safe where each name in a negated statement, in an input of a call, in a comparison and in the head is
//! bound by a statement that is not negated, here or further out. Which statement comes first does not matter.
//! Stricter than OPA in one place: it moves calls in negated statements out of the negation, and binds what they need.

use std::collections::BTreeSet;

use regorus::unstable::{AssignOp, Expr, Literal, LiteralStmt, Query, Ref, Rule, RuleHead, Span};

use crate::rego::complaint::Complaint;
use crate::rego::program::{Callee, Part, Program};
use crate::rego::syntax::names::head_reference;
use crate::rego::syntax::scope::{Scope, pattern_names};
use crate::rego::syntax::shallow::{closures, shallow};
use crate::rego::syntax::visit::indices;

type Names = BTreeSet<String>;

pub fn check(program: &Program<'_>) -> Result<(), Complaint> {
    for part in &program.parts {
        let mut safety = Safety { program, part, first: None };
        part.module.policy.iter().for_each(|rule| safety.rule(rule));
        if let Some(complaint) = safety.first {
            return Err(complaint);
        }
    }
    Ok(())
}

struct Safety<'c, 'a> {
    program: &'c Program<'a>,
    part: &'c Part<'a>,
    first: Option<Complaint>,
}

impl Safety<'_, '_> {
    fn rule(&mut self, rule: &Rule) {
        let (head, bodies) = match rule {
            Rule::Spec { head, bodies, .. } => (head, bodies),
            Rule::Default { value, .. } => return self.default_value(value),
        };
        let mut arguments = Names::new();
        let mut in_head: Vec<&Ref<Expr>> = indices(head_reference(rule));
        match head {
            RuleHead::Compr { assign, .. } => in_head.extend(assign.iter().map(|assign| &assign.value)),
            RuleHead::Set { key, .. } => in_head.extend(key),
            RuleHead::Func { args, assign, .. } => {
                args.iter().for_each(|argument| pattern_names(argument, &mut arguments));
                in_head.extend(assign.iter().map(|assign| &assign.value));
            }
        }
        if bodies.is_empty() {
            self.uses(&in_head, &arguments);
        }
        for (index, body) in bodies.iter().enumerate() {
            let bound = self.body(&body.query, &arguments);
            if let Some(assign) = &body.assign {
                self.uses(&[&assign.value], &bound);
            }
            // Other bodies than `else` share the head.
            if index == 0 || !body.is_else {
                self.uses(&in_head, &bound);
            }
        }
    }

    fn default_value(&mut self, value: &Expr) {
        let mut found = None;
        shallow(value, &mut |part| {
            if matches!(part, Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } | Expr::Call { .. }) {
                found.get_or_insert(part.span());
            }
        });
        if let (Some(span), None) = (found, &self.first) {
            let message = "a default is a constant: write what depends on something as a rule";
            self.first = Some(self.part.source.complain(span, message));
        }
    }

    /// Checks a body and gives what is bound in it, with what is bound around it.
    fn body(&mut self, query: &Query, around: &Names) -> Names {
        let declared = Scope::default().body(query).names;
        let mut bound: Names = around.difference(&declared).cloned().collect();
        let mut left: Vec<&LiteralStmt> = query.stmts.iter().collect();
        loop {
            let before = left.len();
            left.retain(|statement| {
                if self.missing(statement, &bound).is_some() {
                    return true;
                }
                bound.extend(self.outputs(statement, &bound));
                false
            });
            if left.len() == before {
                break;
            }
        }
        if let Some((name, span)) = left.first().and_then(|statement| self.missing(statement, &bound)) {
            self.complain(name, span);
        }
        for statement in &query.stmts {
            self.within(statement, &bound);
        }
        bound
    }

    /// Bodies within a statement.
    fn within(&mut self, statement: &LiteralStmt, bound: &Names) {
        match &statement.literal {
            Literal::SomeVars { .. } => {}
            Literal::SomeIn { key, value, collection, .. } => {
                key.iter().chain([value, collection]).for_each(|part| self.closures_of(part, bound));
            }
            Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => self.closures_of(expr, bound),
            Literal::Every { key, value, domain, query, .. } => {
                self.closures_of(domain, bound);
                let mut inner = bound.clone();
                inner.extend(key.iter().chain([value]).map(|span| span.text().to_owned()));
                self.body(query, &inner);
            }
        }
        statement.with_mods.iter().for_each(|modifier| self.closures_of(&modifier.r#as, bound));
    }

    fn closures_of(&mut self, expression: &Expr, bound: &Names) {
        closures(expression, &mut |query, terms| {
            let inner = self.body(query, bound);
            self.uses(terms, &inner);
        });
    }

    /// Expressions whose names have to be bound, but for those that their own references bind.
    fn uses(&mut self, expressions: &[&Ref<Expr>], bound: &Names) {
        let mut known = bound.clone();
        expressions.iter().for_each(|one| known.extend(self.iterated(one, bound)));
        for one in expressions {
            if let Some((name, span)) = self.unbound(one, &[&known]) {
                self.complain(name, span);
            }
            self.closures_of(one, &known);
        }
    }

    /// The first name without which a statement cannot be evaluated.
    fn missing<'e>(&self, statement: &'e LiteralStmt, bound: &Names) -> Option<(&'e str, &'e Span)> {
        let replaced = statement.with_mods.iter().find_map(|modifier| self.unbound_replacement(&modifier.r#as, bound));
        replaced.or_else(|| match &statement.literal {
            Literal::SomeVars { .. } => None,
            Literal::NotExpr { expr, .. } => self.unbound(expr, &[bound]),
            Literal::SomeIn { collection: expr, .. } | Literal::Every { domain: expr, .. } => {
                self.unbound(expr, &[bound, &self.iterated(expr, bound)])
            }
            Literal::Expr { expr, .. } => {
                let iterated = self.iterated(expr, bound);
                let assigned = self.assigned(expr, &[bound, &iterated]);
                self.unbound(expr, &[bound, &iterated, &assigned])
            }
        })
    }

    /// What takes a function's place may be the bare name of another one, known here or not.
    fn unbound_replacement<'e>(&self, expression: &'e Expr, bound: &Names) -> Option<(&'e str, &'e Span)> {
        match self.program.callee(self.part, expression) {
            Callee::Function(..) | Callee::Builtin(..) => None,
            Callee::Unknown(_) if matches!(expression, Expr::RefDot { .. }) => None,
            Callee::Unknown(_) => self.unbound(expression, &[bound]),
        }
    }

    /// What a statement binds whose names are there.
    fn outputs(&self, statement: &LiteralStmt, bound: &Names) -> Names {
        match &statement.literal {
            Literal::SomeVars { .. } | Literal::NotExpr { .. } => Names::new(),
            Literal::Every { domain, .. } => self.iterated(domain, bound),
            Literal::SomeIn { key, value, collection, .. } => {
                let mut names = self.iterated(collection, bound);
                key.iter().chain([value]).for_each(|pattern| pattern_names(pattern, &mut names));
                names
            }
            Literal::Expr { expr, .. } => {
                let mut names = self.iterated(expr, bound);
                names.extend(self.assigned(expr, &[bound, &names]));
                names
            }
        }
    }

    /// Indices of references whose roots are known: `i` of `input.xs[i]`, `x` of `input.xs[[x, 1]]`.
    fn iterated(&self, expression: &Expr, bound: &Names) -> Names {
        let mut names = Names::new();
        shallow(expression, &mut |part| {
            if let Expr::RefBrack { index, .. } = part
                && root(part).is_none_or(|(name, _)| self.is_known(name, &[bound]))
            {
                pattern_names(index, &mut names);
            }
        });
        names
    }

    /// What `x := …`, `[x, 1] = [2, y]` and `f(a, x)`, for `x = f(a)`, bind. `bound` knows the indices already.
    fn assigned(&self, expression: &Expr, bound: &[&Names]) -> Names {
        let mut names = Names::new();
        match expression {
            Expr::AssignExpr { op, lhs, rhs, .. } => {
                self.unified(lhs, rhs, bound, &mut names);
                if matches!(op, AssignOp::Eq) {
                    self.unified(rhs, lhs, bound, &mut names);
                }
            }
            Expr::Call { fcn, params, .. } => {
                if let Callee::Function(_, arity) | Callee::Builtin(_, arity) = self.program.callee(self.part, fcn)
                    && let Some(output) = params.get(arity)
                    && params.iter().take(arity).all(|input| self.unbound(input, bound).is_none())
                {
                    pattern_names(output, &mut names);
                }
            }
            _ => {}
        }
        names
    }

    /// The names of `pattern`, where `value` is known; part by part where both are written out.
    fn unified(&self, pattern: &Expr, value: &Expr, bound: &[&Names], names: &mut Names) {
        match (pattern, value) {
            (Expr::Array { items, .. }, Expr::Array { items: values, .. }) => {
                items.iter().zip(values).for_each(|(item, value)| self.unified(item, value, bound, names));
            }
            (Expr::Object { fields, .. }, Expr::Object { fields: values, .. }) if fields.len() == values.len() => {
                let pairs = fields.iter().zip(values);
                pairs.for_each(|((_, _, item), (_, _, value))| self.unified(item, value, bound, names));
            }
            _ => {
                if self.unbound(value, bound).is_none() {
                    pattern_names(pattern, names);
                }
            }
        }
    }

    /// The first name in an expression, without the bodies within it, that is not bound and means nothing by itself.
    fn unbound<'e>(&self, expression: &'e Expr, bound: &[&Names]) -> Option<(&'e str, &'e Span)> {
        let (mut found, mut called) = (None, Vec::new());
        shallow(expression, &mut |part| match part {
            // What is called stands before its arguments.
            Expr::Call { fcn, .. } => called.extend(root(fcn).map(|(_, span)| std::ptr::from_ref(span))),
            Expr::Var { span, .. } => {
                let is_called = called.iter().any(|one| std::ptr::eq(*one, span));
                if found.is_none() && !is_called && !self.is_known(span.text(), bound) {
                    found = Some((span.text(), span));
                }
            }
            _ => {}
        });
        found
    }

    /// `_` is another check's.
    fn is_known(&self, name: &str, bound: &[&Names]) -> bool {
        name == "_" || bound.iter().any(|names| names.contains(name)) || self.part.has_name(name)
    }

    fn complain(&mut self, name: &str, at: &Span) {
        if self.first.is_none() {
            let message = format!(
                "var {name} is unsafe: nothing binds it here. Bind it in a statement of this body without not \
                 (some {name} in ..., {name} := ...), or write what is not to be as a rule and negate that"
            );
            self.first = Some(self.part.source.complain(at, message));
        }
    }
}

/// The name at the root of a reference; none for `f(x)[i]` and `[1, 2][i]`.
fn root(expression: &Expr) -> Option<(&str, &Span)> {
    match expression {
        Expr::Var { span, .. } => Some((span.text(), span)),
        Expr::RefDot { refr, .. } | Expr::RefBrack { refr, .. } => root(refr),
        _ => None,
    }
}
