//! Every expression of a rule, with the names that are local where it stands.

use regorus::unstable::{Expr, Literal, LiteralStmt, Query, Ref, Rule, RuleHead};

use super::scope::{Scope, pattern_names};

/// What a visitor is shown.
pub trait Visitor {
    /// An expression; its parts follow by themselves. `scope` holds the names that are local here.
    fn expression(&mut self, expression: &Expr, scope: &Scope<'_>);
    /// A statement of a body, before its expressions.
    fn statement(&mut self, _statement: &LiteralStmt, _scope: &Scope<'_>) {}
    /// The target in `with target as replacement`.
    fn target(&mut self, _expression: &Expr, _scope: &Scope<'_>) {}
    /// The replacement in `with target as replacement`, which may be the bare name of a function.
    fn replacement(&mut self, _expression: &Expr, _scope: &Scope<'_>) {}
}

/// Walks over a rule by recursion: call it on a big stack.
pub fn visit_rule(rule: &Rule, visitor: &mut dyn Visitor) {
    let mut walk = Walk { visitor };
    match rule {
        Rule::Default { args, value, .. } => {
            let mut scope = Scope::default();
            args.iter().for_each(|argument| pattern_names(argument, &mut scope.names));
            walk.expression(value, &scope);
        }
        Rule::Spec { head, bodies, .. } => {
            let mut arguments = Scope::default();
            let mut head_expressions: Vec<&Ref<Expr>> = Vec::new();
            match head {
                RuleHead::Compr { refr, assign, .. } => {
                    head_expressions.extend(indices(refr));
                    head_expressions.extend(assign.iter().map(|assign| &assign.value));
                }
                RuleHead::Set { refr, key, .. } => {
                    head_expressions.extend(indices(refr));
                    head_expressions.extend(key);
                }
                RuleHead::Func { args, assign, .. } => {
                    args.iter().for_each(|argument| pattern_names(argument, &mut arguments.names));
                    head_expressions.extend(args);
                    head_expressions.extend(assign.iter().map(|assign| &assign.value));
                }
            }
            if bodies.is_empty() {
                head_expressions.iter().for_each(|expression| walk.expression(expression, &arguments));
            }
            for (index, body) in bodies.iter().enumerate() {
                let scope = walk.query(&body.query, &arguments);
                if let Some(assign) = &body.assign {
                    walk.expression(&assign.value, &scope);
                }
                // Other bodies than `else` share the head.
                if index == 0 || !body.is_else {
                    head_expressions.iter().for_each(|expression| walk.expression(expression, &scope));
                }
            }
        }
    }
}

/// The expressions in brackets of a rule's head: `a[b][c]`.
pub fn indices(reference: &Ref<Expr>) -> Vec<&Ref<Expr>> {
    let mut found = Vec::new();
    let mut current = reference;
    loop {
        match current.as_ref() {
            Expr::RefBrack { refr, index, .. } => {
                found.push(index);
                current = refr;
            }
            Expr::RefDot { refr, .. } => current = refr,
            _ => return found,
        }
    }
}

struct Walk<'v> {
    visitor: &'v mut dyn Visitor,
}

impl Walk<'_> {
    /// Walks over a body and gives the scope in it.
    fn query<'s>(&mut self, query: &'s Query, outer: &'s Scope<'s>) -> Scope<'s> {
        let scope = outer.body(query);
        for statement in &query.stmts {
            self.statement(statement, &scope);
        }
        scope
    }

    fn statement(&mut self, statement: &LiteralStmt, scope: &Scope<'_>) {
        self.visitor.statement(statement, scope);
        match &statement.literal {
            Literal::SomeVars { .. } => {}
            Literal::SomeIn { key, value, collection, .. } => {
                key.iter().for_each(|key| self.expression(key, scope));
                self.expression(value, scope);
                self.expression(collection, scope);
            }
            Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => self.expression(expr, scope),
            Literal::Every { key, value, domain, query, .. } => {
                self.expression(domain, scope);
                let names = key.iter().chain(std::iter::once(value)).map(|span| span.text().to_owned());
                let inner = scope.every(names.collect());
                self.query(query, &inner);
            }
        }
        for modifier in &statement.with_mods {
            self.visitor.target(&modifier.refr, scope);
            self.visitor.replacement(&modifier.r#as, scope);
            self.expression(&modifier.r#as, scope);
        }
    }

    fn expression(&mut self, expression: &Expr, scope: &Scope<'_>) {
        self.visitor.expression(expression, scope);
        match expression {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. }
            | Expr::Var { .. } => {}
            Expr::Array { items, .. } | Expr::Set { items, .. } => {
                items.iter().for_each(|item| self.expression(item, scope));
            }
            Expr::Object { fields, .. } => fields.iter().for_each(|(_, key, value)| {
                self.expression(key, scope);
                self.expression(value, scope);
            }),
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                let inner = self.query(query, scope);
                self.expression(term, &inner);
            }
            Expr::ObjectCompr { key, value, query, .. } => {
                let inner = self.query(query, scope);
                self.expression(key, &inner);
                self.expression(value, &inner);
            }
            Expr::Call { params, .. } => params.iter().for_each(|parameter| self.expression(parameter, scope)),
            Expr::UnaryExpr { expr, .. } => self.expression(expr, scope),
            Expr::RefDot { .. } | Expr::RefBrack { .. } => self.reference_parts(expression, scope),
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => {
                self.expression(lhs, scope);
                self.expression(rhs, scope);
            }
            Expr::Membership { key, value, collection, .. } => {
                key.iter().for_each(|key| self.expression(key, scope));
                self.expression(value, scope);
                self.expression(collection, scope);
            }
        }
    }

    /// The indices of a reference, and its root where that is no name. The reference as a whole was shown.
    fn reference_parts(&mut self, expression: &Expr, scope: &Scope<'_>) {
        let mut current = expression;
        loop {
            match current {
                Expr::RefBrack { refr, index, .. } => {
                    self.expression(index, scope);
                    current = refr;
                }
                Expr::RefDot { refr, .. } => current = refr,
                Expr::Var { .. } => return,
                root => return self.expression(root, scope),
            }
        }
    }
}
