//! Names and references.

use std::collections::BTreeMap;

use regorus::Value;
use regorus::unstable::{Expr, Module, Ref, Rule, RuleHead, Span};

/// `root.a["b"][x]`: the root, and the constant strings that follow it up to the first part that is none.
pub struct Reference<'a> {
    pub root: &'a str,
    pub span: &'a Span,
    pub path: Vec<&'a str>,
}

impl<'a> Reference<'a> {
    /// None where `expression` is no reference with a name at its root.
    pub fn of(expression: &'a Expr) -> Option<Self> {
        let mut parts = Vec::new();
        let mut current = expression;
        let (root, span) = loop {
            match current {
                Expr::Var { span, .. } => break (span.text(), span),
                Expr::RefDot { refr, field, .. } => {
                    parts.push(Some(field.0.text()));
                    current = refr;
                }
                Expr::RefBrack { refr, index, .. } => {
                    parts.push(constant_string(index));
                    current = refr;
                }
                _ => return None,
            }
        };
        let path = parts.into_iter().rev().map_while(|part| part).collect();
        Some(Self { root, span, path })
    }
}

pub fn constant_string(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::String { value: Value::String(string), .. } | Expr::RawString { value: Value::String(string), .. } => {
            Some(string)
        }
        _ => None,
    }
}

/// The path of a package, without `data`.
pub fn package_path(module: &Module) -> Vec<String> {
    Reference::of(&module.package.refr).map_or_else(Vec::new, |reference| {
        std::iter::once(reference.root).chain(reference.path).map(str::to_owned).collect()
    })
}

/// The reference in a rule's head.
pub fn head_reference(rule: &Rule) -> &Ref<Expr> {
    match rule {
        Rule::Spec {
            head: RuleHead::Compr { refr, .. } | RuleHead::Set { refr, .. } | RuleHead::Func { refr, .. },
            ..
        }
        | Rule::Default { refr, .. } => refr,
    }
}

/// What a rule defines, within its package.
pub fn rule_path(rule: &Rule) -> Vec<String> {
    Reference::of(head_reference(rule)).map_or_else(Vec::new, |reference| {
        std::iter::once(reference.root).chain(reference.path).map(str::to_owned).collect()
    })
}

/// Number of arguments; none for a rule that is no function.
pub fn arity(rule: &Rule) -> Option<usize> {
    match rule {
        Rule::Spec { head: RuleHead::Func { args, .. }, .. } => Some(args.len()),
        Rule::Default { args, .. } if !args.is_empty() => Some(args.len()),
        _ => None,
    }
}

/// Names that imports give to documents: `import data.lib.x as y` makes `y` mean `["data", "lib", "x"]`.
pub fn imports(module: &Module) -> BTreeMap<String, Vec<String>> {
    let mut names = BTreeMap::new();
    for import in &module.imports {
        let Some(reference) = Reference::of(&import.refr) else { continue };
        if matches!(reference.root, "rego" | "future") {
            continue;
        }
        let target: Vec<String> =
            std::iter::once(reference.root).chain(reference.path.iter().copied()).map(str::to_owned).collect();
        let name = import.r#as.as_ref().map(Span::text).or(reference.path.last().copied()).unwrap_or(reference.root);
        names.insert(name.to_owned(), target);
    }
    names
}

/// `hg.p1`, `hg["p 1"]`: as Rego writes it.
pub fn dotted(path: &[String]) -> String {
    let mut text = String::new();
    for part in path {
        if is_identifier(part) {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(part);
        } else {
            text.push_str(&format!("[{}]", quoted(part)));
        }
    }
    text
}

/// A JSON string, which is also a Rego string.
pub fn quoted(string: &str) -> String {
    let mut text = Vec::new();
    crate::json::text::write_string(&mut text, string);
    String::from_utf8_lossy(&text).into_owned()
}

fn is_identifier(part: &str) -> bool {
    let mut bytes = part.bytes();
    matches!(bytes.next(), Some(first) if first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
