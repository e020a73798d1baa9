//! `graph.reachable_paths`, within a budget: fourteen nodes can have more paths than memory.

use std::collections::BTreeSet;

use regorus::Value;
use regorus::value::Object;

use super::Added;
use super::operands::wrong_type;

/// Steps of the search, each of which copies the path so far at most once.
const STEPS_MAX: usize = 5_000;
const DEPTH_MAX: usize = 256;

pub const TABLE: &[Added] = &[Added::new("graph.reachable_paths", 2, reachable_paths)];

fn neighbours(edges: &Value) -> Vec<&Value> {
    match edges {
        Value::Array(items) => items.iter().collect(),
        Value::Set(items) => items.iter_sorted().collect(),
        _ => Vec::new(),
    }
}

fn reachable_paths(values: &[Value]) -> Result<Value, String> {
    let graph = match values.first() {
        Some(Value::Object(graph)) => graph,
        Some(other) => return Err(wrong_type(1, "object", other)),
        None => return Err(String::from("operand 1 is missing")),
    };
    let starts = match values.get(1) {
        Some(starts @ (Value::Array(_) | Value::Set(_))) => neighbours(starts),
        Some(other) => return Err(wrong_type(2, "one of {array, set}", other)),
        None => return Err(String::from("operand 2 is missing")),
    };
    let mut search = Search { graph, found: BTreeSet::new(), steps: 0 };
    for start in starts {
        let Some(edges) = graph.get(start) else { continue };
        let next = neighbours(edges);
        if next.is_empty() {
            search.found.insert(Value::from(vec![start.clone()]));
        }
        for neighbour in next {
            search.follow(neighbour, &mut vec![start.clone()], &mut BTreeSet::from([start.clone()]))?;
        }
    }
    Ok(Value::from(search.found))
}

struct Search<'a> {
    graph: &'a Object,
    found: BTreeSet<Value>,
    steps: usize,
}

impl Search<'_> {
    fn step(&mut self, path: &[Value]) -> Result<(), String> {
        self.steps += 1;
        if self.steps > STEPS_MAX || path.len() > DEPTH_MAX {
            return Err(format!("more than {STEPS_MAX} steps, or paths longer than {DEPTH_MAX}; use graph.reachable"));
        }
        Ok(())
    }

    /// Like OPA's, a search that marks the nodes of its own path; the start may be on it twice.
    fn follow(&mut self, node: &Value, path: &mut Vec<Value>, reached: &mut BTreeSet<Value>) -> Result<(), String> {
        self.step(path)?;
        let Some(edges) = self.graph.get(node) else {
            self.found.insert(Value::from(path.clone()));
            return Ok(());
        };
        path.push(node.clone());
        let next = neighbours(edges);
        if next.is_empty() {
            self.found.insert(Value::from(path.clone()));
        }
        let is_new = !next.is_empty() && reached.insert(node.clone());
        for neighbour in next {
            if reached.contains(neighbour) {
                self.step(path)?;
                self.found.insert(Value::from(path.clone()));
            } else {
                self.follow(neighbour, path, reached)?;
            }
        }
        if is_new {
            reached.remove(node);
        }
        path.pop();
        Ok(())
    }
}
