//! Whether a schema keeps the rules of section 3.
//!
//! The document may have been made by a policy: what is missing in it counts as empty.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regorus::Value;
use regorus::value::Object;

use super::parser::Parser;

/// Names compared with names.
const STEPS_MAX: usize = 500_000;

/// The types and directives that every schema has (sections 3.5, 3.13 and 4).
static PRELUDE: LazyLock<Option<Value>> =
    LazyLock::new(|| Parser::new(include_str!("prelude.graphql")).schema_document().ok());

pub enum Invalid {
    Rule,
    TooLarge,
}

fn member<'v>(node: &'v Value, name: &str) -> Option<&'v Value> {
    match node {
        Value::Object(members) => Object::get(members, &Value::from(name)),
        _ => None,
    }
}

fn list<'v>(node: &'v Value, name: &str) -> Vec<&'v Value> {
    match member(node, name) {
        Some(Value::Array(items)) => items.iter().collect(),
        _ => Vec::new(),
    }
}

fn text<'v>(node: &'v Value, name: &str) -> &'v str {
    match member(node, name) {
        Some(Value::String(text)) => text,
        _ => "",
    }
}

fn is(node: &Value, name: &str) -> bool {
    matches!(member(node, name), Some(Value::Bool(true)))
}

/// A type with its extensions.
struct Definition<'v> {
    name: &'v str,
    kind: &'v str,
    is_builtin: bool,
    directives: Vec<&'v Value>,
    interfaces: Vec<&'v str>,
    fields: Vec<&'v Value>,
    types: Vec<&'v str>,
    values: Vec<&'v str>,
}

impl<'v> Definition<'v> {
    fn named(node: &'v Value, is_builtin: bool) -> Self {
        Self {
            name: text(node, "Name"),
            kind: text(node, "Kind"),
            is_builtin,
            directives: Vec::new(),
            interfaces: Vec::new(),
            fields: Vec::new(),
            types: Vec::new(),
            values: Vec::new(),
        }
    }

    fn extend(&mut self, node: &'v Value) {
        let names = |items: Vec<&'v Value>| items.into_iter().filter_map(as_text);
        self.directives.extend(list(node, "Directives"));
        self.interfaces.extend(names(list(node, "Interfaces")));
        self.fields.extend(list(node, "Fields"));
        self.types.extend(names(list(node, "Types")));
        self.values.extend(list(node, "EnumValues").into_iter().map(|value| text(value, "Name")));
    }
}

fn as_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

struct Schema<'v> {
    types: BTreeMap<&'v str, Definition<'v>>,
    directives: BTreeMap<&'v str, &'v Value>,
    /// What an interface or union may stand for.
    possible: BTreeMap<&'v str, BTreeSet<&'v str>>,
    steps: usize,
}

pub fn check(document: &Value) -> Result<(), Invalid> {
    let Some(prelude) = PRELUDE.as_ref() else { return Err(Invalid::Rule) };
    let mut schema =
        Schema { types: BTreeMap::new(), directives: BTreeMap::new(), possible: BTreeMap::new(), steps: 0 };
    schema.add(prelude, true)?;
    schema.add(document, false)?;
    schema.find_possible_types();
    schema.check_roots(document)?;
    let names: Vec<&str> = schema.types.keys().copied().collect();
    for name in names {
        schema.check_type(name)?;
    }
    let directives: Vec<&Value> = schema.directives.values().copied().collect();
    for directive in directives {
        let name = text(directive, "Name");
        not_reserved(name)?;
        schema.check_arguments(&list(directive, "Arguments"), Some(name))?;
    }
    Ok(())
}

fn not_reserved(name: &str) -> Result<(), Invalid> {
    if name.starts_with("__") { Err(Invalid::Rule) } else { Ok(()) }
}

/// The name within lists.
fn named_type(reference: &Value) -> &str {
    let mut reference = reference;
    while text(reference, "NamedType").is_empty() {
        match member(reference, "Elem") {
            Some(inner) => reference = inner,
            None => return "",
        }
    }
    text(reference, "NamedType")
}

fn type_of(node: &Value) -> &Value {
    member(node, "Type").unwrap_or(&Value::Null)
}

fn is_compatible(required: &Value, actual: &Value) -> bool {
    if text(required, "NamedType") != text(actual, "NamedType") {
        return false;
    }
    let inner_fits = match (member(required, "Elem"), member(actual, "Elem")) {
        (Some(required), Some(actual)) => is_compatible(required, actual),
        (Some(_), None) => false,
        (None, _) => true,
    };
    inner_fits && (!is(actual, "NonNull") || is(required, "NonNull"))
}

impl<'v> Schema<'v> {
    fn step(&mut self, count: usize) -> Result<(), Invalid> {
        self.steps += count;
        if self.steps > STEPS_MAX { Err(Invalid::TooLarge) } else { Ok(()) }
    }

    fn add(&mut self, document: &'v Value, is_builtin: bool) -> Result<(), Invalid> {
        for node in list(document, "Definitions") {
            let mut definition = Definition::named(node, is_builtin || is(node, "BuiltIn"));
            definition.extend(node);
            let name = definition.name;
            if self.types.insert(name, definition).is_some() {
                return Err(Invalid::Rule);
            }
        }
        for node in list(document, "Extensions") {
            let name = text(node, "Name");
            let definition = self.types.entry(name).or_insert_with(|| Definition::named(node, false));
            if definition.kind != text(node, "Kind") {
                return Err(Invalid::Rule);
            }
            definition.extend(node);
        }
        for node in list(document, "Directives") {
            let name = text(node, "Name");
            let is_known = self.directives.contains_key(name);
            if is_known && !matches!(name, "include" | "skip" | "deprecated" | "specifiedBy") {
                return Err(Invalid::Rule);
            }
            self.directives.insert(name, node);
        }
        Ok(())
    }

    fn find_possible_types(&mut self) {
        for definition in self.types.values() {
            match definition.kind {
                "UNION" => self.possible.entry(definition.name).or_default().extend(&definition.types),
                "INPUT_OBJECT" | "OBJECT" | "INTERFACE" => {
                    for interface in &definition.interfaces {
                        self.possible.entry(interface).or_default().insert(definition.name);
                    }
                }
                _ => {}
            }
        }
    }

    fn check_roots(&self, document: &Value) -> Result<(), Invalid> {
        let schemas = list(document, "Schema");
        if schemas.len() > 1 {
            return Err(Invalid::Rule);
        }
        for schema in schemas.into_iter().chain(list(document, "SchemaExtension")) {
            for root in list(schema, "OperationTypes") {
                if !self.types.contains_key(text(root, "Type")) {
                    return Err(Invalid::Rule);
                }
            }
        }
        Ok(())
    }

    fn kind_of(&self, name: &str) -> Option<&'v str> {
        self.types.get(name).map(|definition| definition.kind)
    }

    fn check_type(&mut self, name: &'v str) -> Result<(), Invalid> {
        let Some(definition) = self.types.get(name) else { return Ok(()) };
        let (kind, is_builtin) = (definition.kind, definition.is_builtin);
        let (fields, directives) = (definition.fields.clone(), definition.directives.clone());
        let (interfaces, types, values) =
            (definition.interfaces.clone(), definition.types.clone(), definition.values.clone());
        let is_input = kind == "INPUT_OBJECT";
        for field in &fields {
            not_reserved(text(field, "Name"))?;
            let type_name = named_type(type_of(field));
            let Some(field_kind) = self.kind_of(type_name) else {
                return Err(Invalid::Rule);
            };
            self.check_arguments(&list(field, "Arguments"), None)?;
            let location = if is_input { "INPUT_FIELD_DEFINITION" } else { "FIELD_DEFINITION" };
            self.check_directives(&list(field, "Directives"), location, None)?;
            let is_misplaced = match kind {
                "OBJECT" | "INTERFACE" => field_kind == "INPUT_OBJECT",
                "INPUT_OBJECT" => !matches!(field_kind, "SCALAR" | "ENUM" | "INPUT_OBJECT"),
                _ => false,
            };
            if is_misplaced {
                return Err(Invalid::Rule);
            }
        }
        for member in &types {
            match self.kind_of(member) {
                None => return Err(Invalid::Rule),
                Some("OBJECT") => {}
                Some(_) => return Err(Invalid::Rule),
            }
        }
        for interface in &interfaces {
            self.check_implements(&fields, &interfaces, interface)?;
        }
        if matches!(kind, "OBJECT" | "INTERFACE" | "INPUT_OBJECT") && fields.is_empty() {
            return Err(Invalid::Rule);
        }
        if kind == "ENUM"
            && (values.is_empty() || values.iter().any(|value| matches!(*value, "true" | "false" | "null")))
        {
            return Err(Invalid::Rule);
        }
        let mut seen = BTreeSet::new();
        if fields.iter().any(|field| !seen.insert(text(field, "Name"))) {
            return Err(Invalid::Rule);
        }
        if !is_builtin {
            not_reserved(name)?;
        }
        self.check_directives(&directives, kind, None)
    }

    fn check_arguments(&mut self, arguments: &[&Value], directive: Option<&str>) -> Result<(), Invalid> {
        for argument in arguments {
            not_reserved(text(argument, "Name"))?;
            let name = named_type(type_of(argument));
            match self.kind_of(name) {
                None => return Err(Invalid::Rule),
                Some("SCALAR" | "ENUM" | "INPUT_OBJECT") => {}
                Some(_) => return Err(Invalid::Rule),
            }
            self.check_directives(&list(argument, "Directives"), "ARGUMENT_DEFINITION", directive)?;
        }
        Ok(())
    }

    fn check_directives(&mut self, directives: &[&Value], location: &str, within: Option<&str>) -> Result<(), Invalid> {
        for directive in directives {
            let name = text(directive, "Name");
            not_reserved(name)?;
            if within == Some(name) {
                return Err(Invalid::Rule);
            }
            let Some(definition) = self.directives.get(name).copied() else {
                return Err(Invalid::Rule);
            };
            let locations = list(definition, "Locations");
            self.step(locations.len())?;
            if !locations.into_iter().filter_map(as_text).any(|other| other == location) {
                return Err(Invalid::Rule);
            }
        }
        Ok(())
    }

    fn check_implements(
        &mut self,
        fields: &[&'v Value],
        interfaces: &[&str],
        interface_name: &str,
    ) -> Result<(), Invalid> {
        let Some(interface) = self.types.get(interface_name).filter(|interface| interface.kind == "INTERFACE") else {
            return Err(Invalid::Rule);
        };
        let (required_fields, ancestors) = (interface.fields.clone(), interface.interfaces.clone());
        for required in required_fields {
            self.step(fields.len() + 1)?;
            let Some(found) = fields.iter().find(|field| text(field, "Name") == text(required, "Name")) else {
                return Err(Invalid::Rule);
            };
            if !self.is_covariant(type_of(required), type_of(found)) {
                return Err(Invalid::Rule);
            }
            self.check_same_arguments(&list(required, "Arguments"), &list(found, "Arguments"))?;
        }
        for ancestor in ancestors {
            self.step(interfaces.len() + 1)?;
            if !interfaces.contains(&ancestor) {
                return Err(Invalid::Rule);
            }
        }
        Ok(())
    }

    fn check_same_arguments(&mut self, required: &[&Value], found: &[&Value]) -> Result<(), Invalid> {
        self.step(2 * required.len().saturating_mul(found.len()))?;
        for argument in required {
            let same = found.iter().find(|other| text(other, "Name") == text(argument, "Name"));
            if !same.is_some_and(|same| is_compatible(type_of(argument), type_of(same))) {
                return Err(Invalid::Rule);
            }
        }
        let is_new = |argument: &&&Value| !required.iter().any(|other| text(other, "Name") == text(argument, "Name"));
        let is_required =
            |argument: &&Value| is(type_of(argument), "NonNull") && member(argument, "DefaultValue").is_none();
        if found.iter().filter(is_new).any(is_required) {
            return Err(Invalid::Rule);
        }
        Ok(())
    }

    fn is_covariant(&self, required: &Value, actual: &Value) -> bool {
        if is(required, "NonNull") && !is(actual, "NonNull") {
            return false;
        }
        let name = text(required, "NamedType");
        if !name.is_empty() {
            let other = text(actual, "NamedType");
            return name == other || self.possible.get(name).is_some_and(|possible| possible.contains(other));
        }
        match (member(required, "Elem"), member(actual, "Elem")) {
            (Some(required), Some(actual)) => self.is_covariant(required, actual),
            _ => false,
        }
    }
}
