//! From a tree and variables to a text, in a bounded number of steps.

use std::cmp::Ordering;

use regorus::Value;
use regorus::value::Object;

use super::parse::{Branch, Expression, Node};
use super::values::{Item, kind};

const STEPS_MAX: usize = 100_000;
const OUTPUT_BYTES_MAX: usize = 1 << 20;

pub fn render(nodes: &[Node], variables: &Value) -> Result<String, String> {
    let root = Item::Given(variables.clone());
    let mut state = State { out: String::new(), variables: vec![(String::new(), root.clone())], steps: 0 };
    match state.run(nodes, &root)? {
        Flow::On => Ok(state.out),
        Flow::Break | Flow::Continue => Err(String::from("break or continue outside of range")),
    }
}

#[derive(PartialEq)]
enum Flow {
    On,
    Break,
    Continue,
}

struct State {
    out: String,
    /// Innermost last; the one without a name is `$`.
    variables: Vec<(String, Item)>,
    steps: usize,
}

impl State {
    fn step(&mut self) -> Result<(), String> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(format!("more than {STEPS_MAX} steps"));
        }
        if self.out.len() > OUTPUT_BYTES_MAX {
            return Err(format!("a text of more than {OUTPUT_BYTES_MAX} bytes"));
        }
        Ok(())
    }

    fn run(&mut self, nodes: &[Node], dot: &Item) -> Result<Flow, String> {
        let outer = self.variables.len();
        let mut flow = Flow::On;
        for node in nodes {
            self.step()?;
            flow = self.node(node, dot)?;
            if flow != Flow::On {
                break;
            }
        }
        self.variables.truncate(outer);
        Ok(flow)
    }

    fn node(&mut self, node: &Node, dot: &Item) -> Result<Flow, String> {
        match node {
            Node::Text(text) => self.out.push_str(text),
            Node::Show(expression) => {
                let item = self.value(expression, dot)?;
                item.write(&mut self.out, OUTPUT_BYTES_MAX)?;
            }
            Node::Declare(name, expression) => {
                let item = self.value(expression, dot)?;
                self.variables.push((name.clone(), item));
            }
            Node::Assign(name, expression) => {
                let item = self.value(expression, dot)?;
                let variable = self.variables.iter_mut().rev().find(|(other, _)| other == name);
                variable.ok_or_else(|| format!("undefined variable \"${name}\""))?.1 = item;
            }
            Node::If(branch) => return self.choose(branch, dot, false),
            Node::With(branch) => return self.choose(branch, dot, true),
            Node::Range(branch) => return self.range(branch, dot),
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::On)
    }

    fn choose(&mut self, branch: &Branch, dot: &Item, moves_dot: bool) -> Result<Flow, String> {
        let outer = self.variables.len();
        let item = self.value(&branch.condition, dot)?;
        if let Some(name) = branch.variables.first() {
            self.variables.push((name.clone(), item.clone()));
        }
        let flow = if item.is_true() {
            self.run(&branch.then, if moves_dot { &item } else { dot })
        } else {
            self.run(&branch.otherwise, dot)
        };
        self.variables.truncate(outer);
        flow
    }

    fn range(&mut self, branch: &Branch, dot: &Item) -> Result<Flow, String> {
        let pairs: Vec<(Item, Item)> = match self.value(&branch.condition, dot)? {
            Item::Given(Value::Array(items)) => items.iter().cloned().enumerate().map(numbered).collect(),
            Item::Given(Value::Set(items)) => items.iter_sorted().cloned().enumerate().map(numbered).collect(),
            Item::Given(Value::Object(members)) => members
                .iter_sorted()
                .map(|(key, member)| (Item::Given(key.clone()), Item::Given(member.clone())))
                .collect(),
            Item::Given(Value::Null) => Vec::new(),
            other => return Err(format!("range can't iterate over a value of type {}", other.kind())),
        };
        if pairs.is_empty() {
            return self.run(&branch.otherwise, dot);
        }
        for (key, item) in pairs {
            self.step()?;
            let outer = self.variables.len();
            match branch.variables.as_slice() {
                [name] => self.variables.push((name.clone(), item.clone())),
                [first, second] => {
                    self.variables.push((first.clone(), key));
                    self.variables.push((second.clone(), item.clone()));
                }
                _ => {}
            }
            let flow = self.run(&branch.then, &item);
            self.variables.truncate(outer);
            if flow? == Flow::Break {
                break;
            }
        }
        Ok(Flow::On)
    }

    fn value(&mut self, expression: &Expression, dot: &Item) -> Result<Item, String> {
        self.step()?;
        Ok(match expression {
            Expression::Dot => dot.clone(),
            Expression::Nil => return Err(String::from("nil is not a command")),
            Expression::Boolean(value) => Item::Given(Value::Bool(*value)),
            Expression::Text(text) => Item::Given(Value::from(text.as_str())),
            Expression::Integer(number) => Item::Integer(*number),
            Expression::Variable(name) => {
                let variable = self.variables.iter().rev().find(|(other, _)| other == name);
                variable.map(|(_, item)| item.clone()).ok_or_else(|| format!("undefined variable \"${name}\""))?
            }
            Expression::Member(of, name) => member(&self.value(of, dot)?, name)?,
            Expression::Call(name, arguments) => self.call(name, arguments, dot)?,
        })
    }

    fn call(&mut self, name: &str, arguments: &[Expression], dot: &Item) -> Result<Item, String> {
        if matches!(name, "and" | "or") {
            let mut last = Err(format!("wrong number of args for {name}: want at least 1 got 0"));
            for argument in arguments {
                let item = self.value(argument, dot)?;
                let decides = item.is_true() == (name == "or");
                last = Ok(item);
                if decides {
                    break;
                }
            }
            return last;
        }
        let items = arguments.iter().map(|argument| self.value(argument, dot)).collect::<Result<Vec<_>, _>>()?;
        let boolean = |value: bool| Ok(Item::Given(Value::Bool(value)));
        match (name, items.as_slice()) {
            ("not", [item]) => boolean(!item.is_true()),
            ("len", [item]) => Ok(Item::Integer(i64::try_from(item.length()?).unwrap_or(i64::MAX))),
            ("index", [item, keys @ ..]) => keys.iter().try_fold(item.clone(), |item, key| index(&item, key)),
            ("eq", [item, others @ ..]) if !others.is_empty() => {
                let mut is_equal = false;
                for other in others {
                    is_equal |= compare(item, other)? == Ordering::Equal;
                }
                boolean(is_equal)
            }
            ("ne", [one, other]) => boolean(compare(one, other)? != Ordering::Equal),
            ("lt", [one, other]) => boolean(ordered(one, other)? == Ordering::Less),
            ("le", [one, other]) => boolean(ordered(one, other)? != Ordering::Greater),
            ("gt", [one, other]) => boolean(ordered(one, other)? == Ordering::Greater),
            ("ge", [one, other]) => boolean(ordered(one, other)? != Ordering::Less),
            ("not" | "len" | "index" | "eq" | "ne" | "lt" | "le" | "gt" | "ge", _) => {
                Err(format!("wrong number of args for {name}: got {}", items.len()))
            }
            _ => Err(format!("function {name:?} not available")),
        }
    }
}

fn numbered((index, value): (usize, Value)) -> (Item, Item) {
    (Item::Integer(i64::try_from(index).unwrap_or(i64::MAX)), Item::Given(value))
}

/// A missing key is an error: OPA renders nothing where a variable is missing.
fn member(item: &Item, name: &str) -> Result<Item, String> {
    match item {
        Item::Given(Value::Object(members)) => Object::get(members, &Value::from(name))
            .map(|member| Item::Given(member.clone()))
            .ok_or_else(|| format!("map has no entry for key {name:?}")),
        other => Err(format!("can't evaluate field {name} in type {}", other.kind())),
    }
}

fn index(item: &Item, key: &Item) -> Result<Item, String> {
    match (item, key) {
        (Item::Given(Value::Array(items)), Item::Integer(at)) => usize::try_from(*at)
            .ok()
            .and_then(|at| items.get(at))
            .map(|item| Item::Given(item.clone()))
            .ok_or_else(|| format!("index out of range: {at}")),
        (Item::Given(Value::Object(members)), Item::Given(key @ Value::String(_))) => {
            Ok(Item::Given(members.get(key).cloned().unwrap_or(Value::Null)))
        }
        (item, key) => Err(format!("can't index item of type {} with {}", item.kind(), key.kind())),
    }
}

fn compare(one: &Item, other: &Item) -> Result<Ordering, String> {
    match (one, other) {
        (Item::Integer(one), Item::Integer(other)) => Ok(one.cmp(other)),
        (Item::Given(Value::Bool(one)), Item::Given(Value::Bool(other))) => Ok(one.cmp(other)),
        _ => match (one.text(), other.text()) {
            (Some(one), Some(other)) => Ok(one.cmp(&other)),
            _ => Err(String::from("incompatible types for comparison")),
        },
    }
}

fn ordered(one: &Item, other: &Item) -> Result<Ordering, String> {
    match one {
        Item::Given(value @ Value::Bool(_)) => Err(format!("invalid type for comparison: {}", kind(value))),
        _ => compare(one, other),
    }
}
