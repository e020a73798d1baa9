//! Nodes of a document: members without a value, or with an empty one, are left out.

use std::collections::BTreeMap;

use regorus::Value;

/// The kinds of values (section 2.9), by OPA's numbers.
#[derive(Clone, Copy)]
pub enum Kind {
    Variable = 0,
    Int = 1,
    Float = 2,
    String = 3,
    BlockString = 4,
    Boolean = 5,
    Null = 6,
    Enum = 7,
    List = 8,
    Object = 9,
}

#[derive(Default)]
pub struct Node(BTreeMap<Value, Value>);

impl Node {
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.0.insert(Value::from(name), Value::from(value));
        self
    }

    pub fn flag(mut self, name: &str, value: bool) -> Self {
        self.0.insert(Value::from(name), Value::Bool(value));
        self
    }

    pub fn list(mut self, name: &str, items: Vec<Value>) -> Self {
        if !items.is_empty() {
            self.0.insert(Value::from(name), Value::from(items));
        }
        self
    }

    pub fn node(mut self, name: &str, value: Option<Value>) -> Self {
        if let Some(value) = value {
            self.0.insert(Value::from(name), value);
        }
        self
    }

    pub fn into_value(self) -> Value {
        Value::from(self.0)
    }
}

pub fn literal(kind: Kind, raw: &str, children: Vec<Value>) -> Value {
    let mut node = Node::default().text("Raw", raw).list("Children", children);
    node.0.insert(Value::from("Kind"), Value::from(kind as u64));
    // A validation sets it, and nothing is validated here.
    node.0.insert(Value::from("ExpectedTypeHasDefault"), Value::Bool(false));
    node.into_value()
}
