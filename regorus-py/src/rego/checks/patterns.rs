//! Patterns that a policy's text names: compiled when the policy is, so that one that is wrong is refused with its
//! place, and not found in the middle of a decision.
//!
//! A pattern is a string, a name that is one string (`p := "…"` in the same rule, or a rule of the module), or one of
//! a list (`patterns[_]`, `some p in patterns`). Others are compiled when they are reached.

use std::collections::HashMap;

use regorus::unstable::{Expr, Literal, LiteralStmt, Rule, RuleHead, Span};

use crate::go_regex::Patterns;
use crate::rego::builtins::added::globs;
use crate::rego::builtins::patterns::{check_glob, check_length, template_pattern};
use crate::rego::complaint::Complaint;
use crate::rego::program::{Callee, Part, Program};
use crate::rego::syntax::names::{Reference, constant_string};
use crate::rego::syntax::scope::Scope;
use crate::rego::syntax::visit::{Visitor, visit_rule};

/// Compiles the patterns of all modules.
pub fn check(program: &Program<'_>) -> Result<Patterns, Complaint> {
    let mut patterns = Patterns::default();
    for part in &program.parts {
        let mut module = Names::default();
        part.module.policy.iter().for_each(|rule| module.add_rule(rule));
        for rule in &part.module.policy {
            let mut local = Local { module: &module, names: Names::default() };
            visit_rule(rule, &mut local);
            let names = local.names;
            let mut calls =
                Calls { program, part, module: &module, local: &names, patterns: &mut patterns, first: None };
            visit_rule(rule, &mut calls);
            if let Some(complaint) = calls.first {
                return Err(complaint);
            }
        }
    }
    Ok(patterns)
}

#[derive(Clone)]
struct Text {
    text: String,
    span: Span,
}

/// The strings that an expression can be, and those in it.
#[derive(Clone, Default)]
struct Known {
    itself: Vec<Text>,
    items: Vec<Text>,
}

/// What names are; None for one that is written twice.
#[derive(Default)]
struct Names(HashMap<String, Option<Known>>);

impl Names {
    fn add(&mut self, name: &str, known: Known) {
        self.0.entry(name.to_owned()).and_modify(|found| *found = None).or_insert(Some(known));
    }

    fn add_rule(&mut self, rule: &Rule) {
        let head = match rule {
            Rule::Spec { head: RuleHead::Compr { refr, assign: Some(assign), .. }, bodies, .. }
                if bodies.is_empty() =>
            {
                Some((refr, &assign.value))
            }
            _ => None,
        };
        match head {
            Some((name, value)) if matches!(name.as_ref(), Expr::Var { .. }) => {
                self.add(name.span().text(), known(value, &|_| Known::default()));
            }
            _ => {
                let name = crate::rego::syntax::names::rule_path(rule).into_iter().next();
                self.add(&name.unwrap_or_default(), Known::default());
            }
        }
    }

    fn get(&self, name: &str) -> Option<Known> {
        self.0.get(name).map(|known| known.clone().unwrap_or_default())
    }
}

fn text_of(expression: &Expr) -> Option<Text> {
    // The engine's place of a string is that of its first character, after the quote.
    let place = |span: &Span| Span { start: span.start.saturating_sub(1), ..span.clone() };
    constant_string(expression).map(|text| Text { text: text.to_owned(), span: place(expression.span()) })
}

fn known(expression: &Expr, named: &dyn Fn(&str) -> Known) -> Known {
    let items =
        |found: &mut dyn Iterator<Item = &Expr>| Known { itself: vec![], items: found.filter_map(text_of).collect() };
    match expression {
        Expr::Var { span, .. } => named(span.text()),
        Expr::Array { items: found, .. } | Expr::Set { items: found, .. } => {
            items(&mut found.iter().map(AsRef::as_ref))
        }
        Expr::Object { fields, .. } => items(&mut fields.iter().map(|(_, _, value)| value.as_ref())),
        Expr::RefBrack { refr, .. } => Known { itself: known(refr, named).items, items: vec![] },
        other => Known { itself: text_of(other).into_iter().collect(), items: vec![] },
    }
}

/// The names of a rule's bodies.
struct Local<'m> {
    module: &'m Names,
    names: Names,
}

impl Local<'_> {
    fn known(&self, expression: &Expr) -> Known {
        known(expression, &|name| self.names.get(name).or_else(|| self.module.get(name)).unwrap_or_default())
    }
}

impl Visitor for Local<'_> {
    fn expression(&mut self, expression: &Expr, scope: &Scope<'_>) {
        if let Expr::AssignExpr { lhs, rhs, .. } = expression
            && let Expr::Var { span, .. } = lhs.as_ref()
            && scope.is_local(span.text())
        {
            let known = self.known(rhs);
            self.names.add(span.text(), known);
        }
    }

    fn statement(&mut self, statement: &LiteralStmt, _scope: &Scope<'_>) {
        if let Literal::SomeIn { value, collection, .. } = &statement.literal
            && let Expr::Var { span, .. } = value.as_ref()
        {
            let known = Known { itself: self.known(collection).items, items: vec![] };
            self.names.add(span.text(), known);
        }
    }
}

struct Calls<'c, 'a> {
    program: &'c Program<'a>,
    part: &'c Part<'a>,
    module: &'c Names,
    local: &'c Names,
    patterns: &'c mut Patterns,
    first: Option<Complaint>,
}

impl Calls<'_, '_> {
    fn texts(&self, expression: Option<&Expr>, scope: &Scope<'_>) -> Vec<Text> {
        let Some(expression) = expression else { return vec![] };
        let named = |name: &str| if scope.is_local(name) { self.local.get(name) } else { self.module.get(name) };
        known(expression, &|name| named(name).unwrap_or_default()).itself
    }

    fn check(&mut self, name: &str, texts: &[Text], mut check: impl FnMut(&mut Patterns, &str) -> Result<(), String>) {
        for Text { text, span } in texts {
            if let Err(reason) = check(self.patterns, text)
                && self.first.is_none()
            {
                self.first = Some(self.part.source.complain(span, format!("{name}: {reason}")));
            }
        }
    }
}

fn add(patterns: &mut Patterns, pattern: &str) -> Result<(), String> {
    check_length(pattern).and_then(|()| patterns.add(pattern)).map_err(crate::go_regex::Refusal::reason)
}

impl Visitor for Calls<'_, '_> {
    fn expression(&mut self, expression: &Expr, scope: &Scope<'_>) {
        let Expr::Call { fcn, params, .. } = expression else { return };
        if Reference::of(fcn).is_none_or(|name| !matches!(name.root, "regex" | "glob")) {
            return;
        }
        let Callee::Builtin(name, _) = self.program.callee(self.part, fcn) else { return };
        let texts = |index: usize| self.texts(params.get(index).map(AsRef::as_ref), scope);
        match name {
            "regex.match" | "regex.find_n" | "regex.find_all_string_submatch_n" | "regex.split" => {
                self.check(name, &texts(0), add);
            }
            "regex.replace" => self.check(name, &texts(1), add),
            "regex.template_match" => {
                let (start, end) = (texts(2), texts(3));
                if let ([start], [end]) = (&start[..], &end[..]) {
                    self.check(name, &texts(0), |patterns, template| {
                        add(patterns, &template_pattern(template, &start.text, &end.text)?)
                    });
                }
            }
            "regex.globs_match" => {
                self.check(name, &[texts(0), texts(1)].concat(), |_, pattern| globs::check(pattern));
            }
            "glob.match" => self.check(name, &texts(0), |_, pattern| check_glob(pattern)),
            _ => {}
        }
    }
}
