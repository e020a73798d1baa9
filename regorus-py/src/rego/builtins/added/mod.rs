//! Builtins of OPA that the engine does not have, each with OPA's arguments, results and messages.
//!
//! A builtin here is a plain function over values. Its arguments are weighed before it runs, so that none of
//! them takes longer than reading what it was given; those that could take more say so and stop by themselves.

pub mod address;
pub mod aws;
pub mod certificates;
pub mod encodings;
pub mod globs;
pub mod graphql;
pub mod graphs;
pub mod hashes;
pub mod identifiers;
pub mod jwt;
pub mod lists;
pub mod networks;
pub mod operands;
pub mod templates;
pub mod uris;

use regorus::Value;

use super::operators;
use super::weight::{WEIGHT_MAX, weigh};

/// A builtin that is ours.
#[derive(Clone, Copy)]
pub struct Added {
    pub name: &'static str,
    pub arity: u8,
    /// Bytes that its arguments may weigh together.
    pub weight_max: usize,
    pub work: fn(&[Value]) -> Result<Value, String>,
}

impl Added {
    pub const fn new(name: &'static str, arity: u8, work: fn(&[Value]) -> Result<Value, String>) -> Self {
        Self { name, arity, weight_max: WEIGHT_MAX, work }
    }

    pub const fn weighing(self, weight_max: usize) -> Self {
        Self { weight_max, ..self }
    }

    pub fn call(&self, values: &[Value]) -> Result<Value, String> {
        weigh(values, self.weight_max)?;
        (self.work)(values)
    }
}

const TABLES: [&[Added]; 13] = [
    aws::TABLE,
    certificates::TABLE,
    globs::TABLE,
    graphql::TABLE,
    graphs::TABLE,
    hashes::TABLE,
    identifiers::TABLE,
    jwt::TABLE,
    lists::TABLE,
    networks::TABLE,
    operators::TABLE,
    templates::TABLE,
    uris::TABLE,
];

/// The builtin of that name, where it is one of ours.
pub fn find(name: &str) -> Option<&'static Added> {
    TABLES.into_iter().flatten().find(|added| added.name == name)
}

pub fn all() -> impl Iterator<Item = &'static Added> {
    TABLES.into_iter().flatten()
}
