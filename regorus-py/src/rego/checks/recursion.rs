//! Rules and functions that need themselves.
//!
//! Rego forbids recursion; the engine notices it in rules while evaluating, and in functions not at all: it
//! runs out of stack, and the process dies. The graph here is of what each rule names, on the safe side: a
//! reference with a part that is not constant (`data.hg[x]`) reaches everything that it could.

use regorus::unstable::{Expr, Rule};

use crate::rego::complaint::Complaint;
use crate::rego::entry;
use crate::rego::program::{Callee, Part, Program};
use crate::rego::syntax::names::{dotted, rule_path};
use crate::rego::syntax::scope::Scope;
use crate::rego::syntax::visit::{Visitor, visit_rule};

/// Rules that need each other one after the other; each takes some stack.
pub const CHAIN_MAX: usize = 1_000;

pub fn check(program: &Program<'_>) -> Result<(), Complaint> {
    let mut nodes: Vec<Node<'_, '_>> = Vec::new();
    for part in &program.parts {
        for rule in &part.module.policy {
            let path: Vec<_> = part.package.iter().cloned().chain(rule_path(rule)).collect();
            match nodes.iter_mut().find(|node| node.path == path) {
                Some(node) => node.rules.push((part, rule)),
                None => nodes.push(Node { path, rules: vec![(part, rule)], needs: Vec::new() }),
            }
        }
    }
    let mut edges = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let mut uses = Uses { program, part: node.rules[0].0, paths: Vec::new(), reads_entry: None };
        for (part, rule) in &node.rules {
            uses.part = part;
            visit_rule(rule, &mut uses);
        }
        if let Some(complaint) = uses.reads_entry {
            return Err(complaint);
        }
        let is_needed = |other: &Node<'_, '_>| uses.paths.iter().any(|path| overlap(path, &other.path));
        edges.push(nodes.iter().enumerate().filter(|(_, other)| is_needed(other)).map(|(index, _)| index).collect());
    }
    for (node, needs) in nodes.iter_mut().zip(edges) {
        node.needs = needs;
    }
    let mut search = Search { nodes: &nodes, states: vec![State::New; nodes.len()], trail: Vec::new() };
    for index in 0..nodes.len() {
        if search.chain_from(index)? > CHAIN_MAX {
            return Err(nodes[index].complain(format!("a chain of more than {CHAIN_MAX} rules")));
        }
    }
    Ok(())
}

/// All rules of one name.
struct Node<'c, 'a> {
    path: Vec<String>,
    rules: Vec<(&'c Part<'a>, &'a Rule)>,
    needs: Vec<usize>,
}

impl Node<'_, '_> {
    fn complain(&self, message: String) -> Complaint {
        let (part, rule) = self.rules[0];
        part.source.complain(rule.span(), message)
    }
}

/// Whether one of the paths is the beginning of the other.
fn overlap(one: &[String], other: &[String]) -> bool {
    one.iter().zip(other).all(|(one, other)| one == other)
}

struct Uses<'c, 'a> {
    program: &'c Program<'a>,
    part: &'c Part<'a>,
    paths: Vec<Vec<String>>,
    reads_entry: Option<Complaint>,
}

impl Visitor for Uses<'_, '_> {
    fn expression(&mut self, expression: &Expr, scope: &Scope<'_>) {
        if let Expr::Call { fcn, .. } = expression {
            self.calls(fcn);
        } else if let Some(path) = self.program.document(self.part, expression, scope) {
            if path.first().is_some_and(|root| root == entry::PACKAGE) {
                let message = format!("the package {} is reserved", entry::PACKAGE);
                self.reads_entry = Some(self.part.source.complain(expression.span(), message));
            }
            self.paths.push(path);
        }
    }

    fn replacement(&mut self, expression: &Expr, _scope: &Scope<'_>) {
        self.calls(expression);
    }
}

impl Uses<'_, '_> {
    fn calls(&mut self, name: &Expr) {
        if let Callee::Function(path, _) = self.program.callee(self.part, name) {
            self.paths.push(path);
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    /// With the length of the longest chain from here.
    Done(usize),
}

struct Search<'n, 'c, 'a> {
    nodes: &'n [Node<'c, 'a>],
    states: Vec<State>,
    trail: Vec<usize>,
}

impl Search<'_, '_, '_> {
    fn chain_from(&mut self, index: usize) -> Result<usize, Complaint> {
        match self.states[index] {
            State::Done(length) => return Ok(length),
            State::Open => return Err(self.cycle_to(index)),
            State::New => {}
        }
        self.states[index] = State::Open;
        self.trail.push(index);
        let mut longest = 0;
        for next in &self.nodes[index].needs {
            longest = longest.max(self.chain_from(*next)?);
        }
        self.trail.pop();
        self.states[index] = State::Done(longest + 1);
        Ok(longest + 1)
    }

    fn cycle_to(&self, index: usize) -> Complaint {
        let start = self.trail.iter().position(|other| *other == index).unwrap_or(0);
        let names: Vec<_> =
            self.trail[start..].iter().chain([&index]).map(|node| dotted(&self.nodes[*node].path)).collect();
        self.nodes[index].complain(format!("recursion: {}", names.join(" needs ")))
    }
}
