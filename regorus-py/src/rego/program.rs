//! A policy with its libraries, as the checks see them: whose name means what.

use std::collections::{BTreeMap, BTreeSet};

use regorus::unstable::{BUILTINS, Expr, Module};

use crate::rego::builtins::added;
use crate::rego::source::Source;
use crate::rego::syntax::names::{Reference, arity, imports, package_path, rule_path};
use crate::rego::syntax::scope::Scope;

/// One module with what its names mean.
pub struct Part<'a> {
    pub source: Source<'a>,
    pub module: &'a Module,
    pub package: Vec<String>,
    imports: BTreeMap<String, Vec<String>>,
    own_names: BTreeSet<String>,
}

impl Part<'_> {
    /// Whether a reference that begins with `root` reads a document, and calls nothing.
    pub fn is_document(&self, root: &str) -> bool {
        matches!(root, "input" | "data") || self.imports.contains_key(root)
    }

    /// Whether a name means something in the whole module: a document or a rule.
    pub fn has_name(&self, name: &str) -> bool {
        self.is_document(name) || self.own_names.contains(name)
    }
}

pub struct Program<'a> {
    /// The policy first.
    pub parts: Vec<Part<'a>>,
    functions: BTreeMap<Vec<String>, usize>,
}

/// What a called name is.
pub enum Callee {
    /// A function of a module: its path without `data`, and its number of arguments.
    Function(Vec<String>, usize),
    Builtin(&'static str, usize),
    Unknown(String),
}

impl<'a> Program<'a> {
    pub fn new(modules: Vec<(Source<'a>, &'a Module)>) -> Self {
        let mut functions = BTreeMap::new();
        let mut parts = Vec::new();
        for (source, module) in modules {
            let package = package_path(module);
            let mut own_names = BTreeSet::new();
            for rule in &module.policy {
                let path = rule_path(rule);
                own_names.extend(path.first().cloned());
                if let Some(arguments) = arity(rule) {
                    functions.insert(package.iter().cloned().chain(path).collect(), arguments);
                }
            }
            parts.push(Part { source, module, package, imports: imports(module), own_names });
        }
        Self { parts, functions }
    }

    /// What `name(…)` calls in `part`; the engine looks through imports, then the package, then builtins.
    pub fn callee(&self, part: &Part<'_>, name: &Expr) -> Callee {
        let Some(reference) = Reference::of(name) else {
            return Callee::Unknown(name.span().text().to_owned());
        };
        let written: Vec<String> =
            std::iter::once(reference.root).chain(reference.path.iter().copied()).map(str::to_owned).collect();
        let imported = part.imports.get(reference.root).map(|target| [target, &written[1..]].concat());
        let resolved = imported.as_ref().unwrap_or(&written);
        let own = [&part.package[..], &written[..]].concat();
        let candidates = [resolved.strip_prefix(&[String::from("data")][..]), Some(&own[..])];
        for path in candidates.into_iter().flatten() {
            if let Some(arguments) = self.functions.get(path) {
                return Callee::Function(path.to_vec(), *arguments);
            }
        }
        let joined = written.join(".");
        if let Some(ours) = added::find(&joined) {
            return Callee::Builtin(ours.name, usize::from(ours.arity));
        }
        match BUILTINS.get_key_value(joined.as_str()) {
            Some((name, (_, arguments))) => Callee::Builtin(name, usize::from(*arguments)),
            None => Callee::Unknown(joined),
        }
    }

    /// The documents that a reference reads, as a path without `data`; None for input and local names.
    pub fn document(&self, part: &Part<'_>, expression: &Expr, scope: &Scope<'_>) -> Option<Vec<String>> {
        let reference = Reference::of(expression)?;
        if scope.is_local(reference.root) {
            return None;
        }
        let rest = reference.path.iter().map(|part| (*part).to_owned());
        if reference.root == "data" {
            return Some(rest.collect());
        }
        if let Some(target) = part.imports.get(reference.root) {
            let (root, path) = target.split_first()?;
            return (root == "data").then(|| path.iter().cloned().chain(rest).collect());
        }
        part.own_names
            .contains(reference.root)
            .then(|| part.package.iter().cloned().chain([reference.root.to_owned()]).chain(rest).collect())
    }
}
