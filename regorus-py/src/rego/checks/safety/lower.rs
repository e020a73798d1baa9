//! From the parsed rule to what OPA orders: names resolved, calls and heads as statements of their own.

use std::collections::{BTreeMap, BTreeSet};

use regorus::unstable::{AssignOp, Expr, Literal, LiteralStmt, Query, Ref, Span};

use super::term::{Body, Kind, Name, Names, Pick, Statement, Term};
use crate::rego::program::{Callee, Part, Program};
use crate::rego::syntax::scope::{Scope, pattern_names};
use crate::rego::syntax::shallow::shallow;

pub struct Lowering<'c, 'p> {
    program: &'c Program<'p>,
    part: &'c Part<'p>,
    count: usize,
    /// Names that nothing declares; one name is one variable in the whole rule.
    free: BTreeMap<String, usize>,
    /// Declared names, the innermost last.
    scopes: Vec<BTreeMap<String, usize>>,
    /// Names that a body declares anywhere: no rules, also where they stand before.
    not_rules: Vec<BTreeSet<String>>,
}

impl<'c, 'p> Lowering<'c, 'p> {
    pub fn new(program: &'c Program<'p>, part: &'c Part<'p>) -> Self {
        Self { program, part, count: 0, free: BTreeMap::new(), scopes: Vec::new(), not_rules: Vec::new() }
    }

    /// Declares the arguments of a function and gives their variables.
    pub fn arguments<'a>(&mut self, arguments: impl IntoIterator<Item = &'a Ref<Expr>>) -> Names {
        self.scopes.push(BTreeMap::new());
        self.declare_patterns(arguments)
    }

    /// A body with what it collects: a head or what a comprehension gives.
    pub fn body<'a>(&mut self, query: Option<&'a Query>, heads: &[&'a Expr]) -> Body<'a> {
        let mut body = Body::new();
        self.scopes.push(BTreeMap::new());
        let mut names = BTreeSet::new();
        query.iter().for_each(|query| declared(query, &mut names));
        self.not_rules.push(names);
        for statement in query.iter().flat_map(|query| &query.stmts) {
            self.statement(statement, &mut body);
        }
        for head in heads {
            let term = self.term(head, &[], &mut body);
            self.named(head.span(), term, &[], &mut body);
        }
        self.not_rules.pop();
        self.scopes.pop();
        body
    }

    /// Declares a name in the innermost scope. What stands before means another variable.
    fn declare(&mut self, name: &str) -> usize {
        let id = self.next();
        self.scopes.last_mut().map_or(id, |scope| *scope.entry(name.to_owned()).or_insert(id))
    }

    /// Declares the names of patterns and gives their variables.
    fn declare_patterns<'a>(&mut self, patterns: impl IntoIterator<Item = &'a Ref<Expr>>) -> Names {
        let mut names = BTreeSet::new();
        patterns.into_iter().for_each(|pattern| pattern_names(pattern, &mut names));
        names.iter().map(|name| self.declare(name)).collect()
    }

    /// `some i in xs[i]`
    fn refuse_own_names<'a>(&mut self, own: &Names, start: usize, collection: &Term<'a>, body: &mut Body<'a>) {
        let mut found = None;
        let mut look = |name: &Name<'a>| {
            if own.contains(&name.id) {
                found.get_or_insert(*name);
            }
        };
        body[start..].iter().for_each(|statement| statement.visit(Pick::OPEN, &mut look));
        collection.visit(Pick::OPEN, &mut look);
        if let Some(name) = found {
            let unbound = Term::Name(Name { id: self.next(), ..name });
            body.push(Statement { kind: Kind::Not(vec![unbound]), with: Vec::new() });
        }
    }

    fn next(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    fn name<'a>(&mut self, span: &'a Span) -> Term<'a> {
        let text = span.text();
        let id = if text == "_" {
            self.next()
        } else if let Some(id) = self.scopes.iter().rev().find_map(|scope| scope.get(text)) {
            *id
        } else if self.part.has_name(text) && !self.not_rules.iter().any(|names| names.contains(text)) {
            return Term::Reference(None, Vec::new());
        } else if let Some(id) = self.free.get(text) {
            *id
        } else {
            let id = self.next();
            self.free.insert(text.to_owned(), id);
            id
        };
        Term::Name(Name { id, span, is_generated: false })
    }

    fn generated<'a>(&mut self, span: &'a Span) -> Name<'a> {
        Name { id: self.next(), span, is_generated: true }
    }

    /// A new name for a term.
    fn named<'a>(&mut self, span: &'a Span, right: Term<'a>, with: &[Name<'a>], body: &mut Body<'a>) -> Name<'a> {
        let name = self.generated(span);
        let kind = Kind::Equal { left: Term::Name(name), right, assigns: false };
        body.push(Statement { kind, with: with.to_vec() });
        name
    }

    fn statement<'a>(&mut self, statement: &'a LiteralStmt, body: &mut Body<'a>) {
        let mut with = Vec::new();
        for modifier in &statement.with_mods {
            let replacement = modifier.r#as.as_ref();
            if !self.is_function(replacement) {
                let needed = Term::Set(self.needed(replacement));
                with.push(self.named(replacement.span(), needed, &[], body));
            }
        }
        let kind = match &statement.literal {
            Literal::SomeVars { vars, .. } => {
                vars.iter().for_each(|span| {
                    self.declare(span.text());
                });
                return;
            }
            Literal::SomeIn { span, key, value, collection } => {
                let declared = self.declare_patterns(key.iter().chain([value]));
                let start = body.len();
                let collection = self.term(collection, &with, body);
                self.refuse_own_names(&declared, start, &collection, body);
                let index = match key {
                    Some(key) => self.term(key, &with, body),
                    None => Term::Name(self.generated(span)),
                };
                let left = self.term(value, &with, body);
                let right = self.indexed(span, collection, index, &with, body);
                Kind::Equal { left, right, assigns: false }
            }
            Literal::Expr { expr, .. } => self.expression(expr, &with, body),
            Literal::NotExpr { expr, .. } => Kind::Not(self.needed(expr)),
            Literal::Every { key, value, domain, query, .. } => {
                let own = key.iter().chain([value]).map(|span| span.text().to_owned());
                self.not_rules.push(own.clone().collect());
                let term = self.term(domain, &with, body);
                let domain = self.named(domain.span(), term, &with, body);
                self.scopes.push(BTreeMap::new());
                own.for_each(|name| {
                    self.declare(&name);
                });
                let inner = self.body(Some(query), &[]);
                let names = self.scopes.pop().unwrap_or_default().into_values().collect();
                self.not_rules.pop();
                Kind::Every { domain, names, body: inner }
            }
        };
        body.push(Statement { kind, with });
    }

    /// What takes a function's place may be the bare name of another one, known here or not.
    fn is_function(&self, replacement: &Expr) -> bool {
        match self.program.callee(self.part, replacement) {
            Callee::Function(..) | Callee::Builtin(..) => true,
            Callee::Unknown(_) => matches!(replacement, Expr::RefDot { .. }),
        }
    }

    fn expression<'a>(&mut self, expression: &'a Expr, with: &[Name<'a>], body: &mut Body<'a>) -> Kind<'a> {
        if let Expr::AssignExpr { op, lhs, rhs, .. } = expression {
            let right = self.term(rhs, with, body);
            let assigns = matches!(op, AssignOp::ColEq);
            if assigns {
                self.declare_patterns([lhs]);
            }
            return Kind::Equal { left: self.term(lhs, with, body), right, assigns };
        }
        match self.call(expression, with, body) {
            Some((inputs, outputs)) => Kind::Call { inputs, outputs },
            None => Kind::Term(self.term(expression, with, body)),
        }
    }

    /// The inputs and outputs of what is a call to OPA; operators are.
    fn call<'a>(
        &mut self,
        expression: &'a Expr,
        with: &[Name<'a>],
        body: &mut Body<'a>,
    ) -> Option<(Vec<Term<'a>>, Vec<Term<'a>>)> {
        let mut arity = usize::MAX;
        let operands: Vec<&'a Expr> = match expression {
            Expr::Call { fcn, params, .. } => {
                if let Callee::Function(_, count) | Callee::Builtin(_, count) = self.program.callee(self.part, fcn) {
                    arity = count;
                }
                params.iter().map(AsRef::as_ref).collect()
            }
            Expr::UnaryExpr { expr, .. } => vec![expr],
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => vec![lhs, rhs],
            Expr::Membership { key, value, collection, .. } => {
                key.iter().chain([value, collection]).map(AsRef::as_ref).collect()
            }
            _ => return None,
        };
        let mut inputs: Vec<Term<'a>> = operands.into_iter().map(|operand| self.term(operand, with, body)).collect();
        let outputs = inputs.split_off(arity.min(inputs.len()));
        Some((inputs, outputs))
    }

    fn term<'a>(&mut self, expression: &'a Expr, with: &[Name<'a>], body: &mut Body<'a>) -> Term<'a> {
        match expression {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. } => Term::Constant,
            Expr::Var { span, .. } => self.name(span),
            Expr::Array { items, .. } => Term::Array(items.iter().map(|item| self.term(item, with, body)).collect()),
            Expr::Set { items, .. } => Term::Set(items.iter().map(|item| self.term(item, with, body)).collect()),
            Expr::Object { fields, .. } => {
                let field = |(_, key, value): &'a (Span, Ref<Expr>, Ref<Expr>)| {
                    (key.span().text(), self.term(key, with, body), self.term(value, with, body))
                };
                Term::Object(fields.iter().map(field).collect())
            }
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                Term::Comprehension(self.body(Some(query), &[term]))
            }
            Expr::ObjectCompr { key, value, query, .. } => Term::Comprehension(self.body(Some(query), &[key, value])),
            Expr::RefDot { span, refr, .. } => {
                let root = self.term(refr, with, body);
                self.indexed(span, root, Term::Constant, with, body)
            }
            Expr::RefBrack { span, refr, index, .. } => {
                let root = self.term(refr, with, body);
                let index = self.term(index, with, body);
                self.indexed(span, root, index, with, body)
            }
            Expr::Call { .. }
            | Expr::UnaryExpr { .. }
            | Expr::BinExpr { .. }
            | Expr::BoolExpr { .. }
            | Expr::ArithExpr { .. }
            | Expr::AssignExpr { .. }
            | Expr::Membership { .. } => {
                let output = self.generated(expression.span());
                if let Some((inputs, mut outputs)) = self.call(expression, with, body) {
                    outputs.push(Term::Name(output));
                    body.push(Statement { kind: Kind::Call { inputs, outputs }, with: with.to_vec() });
                }
                Term::Name(output)
            }
        }
    }

    /// `root[index]`
    fn indexed<'a>(
        &mut self,
        span: &'a Span,
        root: Term<'a>,
        index: Term<'a>,
        with: &[Name<'a>],
        body: &mut Body<'a>,
    ) -> Term<'a> {
        match root {
            Term::Constant => Term::Reference(None, vec![index]),
            Term::Name(name) => Term::Reference(Some(name), vec![index]),
            Term::Reference(root, mut indices) => {
                indices.push(index);
                Term::Reference(root, indices)
            }
            literal => Term::Reference(Some(self.named(span, literal, with, body)), vec![index]),
        }
    }

    /// Every name of an expression that binds none, and its comprehensions: what is negated, and what `with` puts in.
    /// Stricter than OPA, which moves calls out of the negation and indices out of `with`, and binds what they need.
    fn needed<'a>(&mut self, expression: &'a Expr) -> Vec<Term<'a>> {
        let (mut found, mut called) = (Vec::new(), Vec::new());
        shallow(expression, &mut |part| match part {
            // What is called stands before its arguments.
            Expr::Call { fcn, .. } => called.extend(root(fcn).map(std::ptr::from_ref)),
            Expr::Var { span, .. } => {
                if !called.iter().any(|one| std::ptr::eq(*one, span)) {
                    found.push(self.name(span));
                }
            }
            Expr::ArrayCompr { .. } | Expr::SetCompr { .. } | Expr::ObjectCompr { .. } => {
                found.push(self.term(part, &[], &mut Body::new()));
            }
            _ => {}
        });
        found
    }
}

/// What a body declares, with the bodies of `every` in it.
fn declared(query: &Query, names: &mut BTreeSet<String>) {
    names.extend(Scope::default().body(query).names.iter().cloned());
    for statement in &query.stmts {
        if let Literal::Every { query, .. } = &statement.literal {
            declared(query, names);
        }
    }
}

/// The name at the root of a reference; none for `f(x)[i]` and `[1, 2][i]`.
fn root(expression: &Expr) -> Option<&Span> {
    match expression {
        Expr::Var { span, .. } => Some(span),
        Expr::RefDot { refr, .. } | Expr::RefBrack { refr, .. } => root(refr),
        _ => None,
    }
}
