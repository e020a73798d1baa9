//! The steps to the values of a walk, and the labels that their names make.

use std::collections::HashMap;
use std::mem;

use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

/// The label of longer names, with a space between them, may be another one the next time, so that none is kept.
const KEPT_NAMES_CHARACTERS: usize = 64;
/// A name from here on may hold anything; shorter ones are the same few again and again.
const LONG_NAME_CHARACTERS: usize = 8;

/// Of what is no member of anything.
const NO_NAME: usize = 0;

#[derive(Clone, Copy)]
pub struct Node {
    parent: Option<usize>,
    /// None for the member of its name.
    position: Option<usize>,
    /// Its own, or that of the member that holds the list.
    name: usize,
}

struct Name {
    text: String,
    characters: usize,
    /// Whether a member without a text had it.
    is_known: bool,
    /// Whether a member of this name was false, and whether one was true.
    was: [bool; 2],
}

impl Name {
    fn new(text: String) -> Self {
        Self { characters: text.chars().count(), text, is_known: false, was: [false; 2] }
    }
}

pub struct Names {
    nodes: Vec<Node>,
    names: Vec<Name>,
    numbers: HashMap<String, usize>,
    /// Python's: the name, and the one above, to the bytes of the label.
    /// None when the collector of cycles has taken it.
    label: Option<Py<PyAny>>,
    labels: HashMap<(usize, Option<usize>), Vec<u8>>,
}

impl Names {
    pub fn new(label: Py<PyAny>) -> Self {
        let names = vec![Name::new(String::new())];
        Self { nodes: Vec::new(), names, numbers: HashMap::new(), label: Some(label), labels: HashMap::new() }
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.label)
    }

    pub fn clear(&mut self) {
        self.label = None;
    }

    pub fn add_member(&mut self, parent: Option<usize>, name: &str) -> usize {
        let name = self.numbers.get(name).copied().unwrap_or_else(|| {
            self.numbers.insert(name.to_owned(), self.names.len());
            self.names.push(Name::new(name.to_owned()));
            self.names.len() - 1
        });
        self.add(Node { parent, position: None, name })
    }

    pub fn add_item(&mut self, parent: Option<usize>, position: usize) -> usize {
        let name = parent.map_or(NO_NAME, |index| self.nodes[index].name);
        self.add(Node { parent, position: Some(position), name })
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The steps to a node, outermost first.
    pub fn path<'py>(&self, py: Python<'py>, node: Option<usize>) -> PyResult<Bound<'py, PyTuple>> {
        let mut steps = Vec::new();
        let mut at = node;
        while let Some(index) = at {
            let node = &self.nodes[index];
            steps.push(match node.position {
                Some(position) => position.into_pyobject(py)?.into_any(),
                None => PyString::new(py, &self.names[node.name].text).into_any(),
            });
            at = node.parent;
        }
        steps.reverse();
        PyTuple::new(py, steps)
    }

    /// Of the member, or of the one that holds the list.
    pub fn name(&self, node: usize) -> &str {
        &self.names[self.nodes[node].name].text
    }

    /// Whether a member without a text is worth a label: its name is long, or new.
    pub fn is_worth_naming(&mut self, node: Option<usize>) -> bool {
        let Some(Node { position: None, name, .. }) = node.map(|index| self.nodes[index]) else { return false };
        let name = &mut self.names[name];
        name.characters >= LONG_NAME_CHARACTERS || !mem::replace(&mut name.is_known, true)
    }

    /// Whether a member that is true or false is worth its value: no other of its name had it.
    pub fn is_new_truth(&mut self, node: Option<usize>, value: bool) -> bool {
        let Some(Node { position: None, name, .. }) = node.map(|index| self.nodes[index]) else { return false };
        let name = &mut self.names[name];
        name.is_known = true;
        !mem::replace(&mut name.was[usize::from(value)], true)
    }

    /// About how many bytes stand before the value: a long name is cut where it stands already, which Python knows.
    pub fn label_bytes(&self, node: Option<usize>) -> usize {
        node.map_or(0, |index| self.name(index).len())
    }

    /// What stands before the value in the buffer.
    pub fn write_label(&mut self, py: Python<'_>, node: Option<usize>, buffer: &mut Vec<u8>) -> PyResult<()> {
        let Some(Node { parent, name, .. }) = node.map(|index| self.nodes[index]) else { return Ok(()) };
        let above = parent.map(|index| self.nodes[index].name);
        if let Some(label) = self.labels.get(&(name, above)) {
            buffer.extend_from_slice(label);
            return Ok(());
        }
        let text = |name: usize| self.names[name].text.as_str();
        let Some(label) = &self.label else {
            return Err(PyRuntimeError::new_err("the buffer was collected"));
        };
        let label = label.bind(py).call1((text(name), above.map(text)))?;
        let label = label.cast::<PyBytes>()?.as_bytes();
        buffer.extend_from_slice(label);
        let above_characters = above.map_or(0, |above| self.names[above].characters + 1);
        if self.names[name].characters + above_characters <= KEPT_NAMES_CHARACTERS {
            self.labels.insert((name, above), label.to_vec());
        }
        Ok(())
    }
}
