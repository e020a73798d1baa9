//! Type system documents (section 3).

use regorus::Value;

use super::document::Node;
use super::lexer::Kind;
use super::parser::Parser;

/// Where a directive may stand (section 3.13).
const LOCATIONS: [&str; 19] = [
    "QUERY",
    "MUTATION",
    "SUBSCRIPTION",
    "FIELD",
    "FRAGMENT_DEFINITION",
    "FRAGMENT_SPREAD",
    "INLINE_FRAGMENT",
    "VARIABLE_DEFINITION",
    "SCHEMA",
    "SCALAR",
    "OBJECT",
    "FIELD_DEFINITION",
    "ARGUMENT_DEFINITION",
    "INTERFACE",
    "UNION",
    "ENUM",
    "ENUM_VALUE",
    "INPUT_OBJECT",
    "INPUT_FIELD_DEFINITION",
];

#[derive(Default)]
struct Document {
    schema: Vec<Value>,
    schema_extensions: Vec<Value>,
    directives: Vec<Value>,
    definitions: Vec<Value>,
    extensions: Vec<Value>,
}

/// A type, and whether anything stands after its name.
struct Definition {
    value: Value,
    says_something: bool,
}

impl Parser<'_> {
    pub fn schema_document(mut self) -> Result<Value, String> {
        let mut document = Document::default();
        while !self.is(Kind::End)? {
            let first = self.peek()?.clone();
            let has_description = matches!(first.kind, Kind::String | Kind::BlockString);
            let description = self.description()?;
            let token = self.peek()?.clone();
            match (token.kind, token.text.as_str()) {
                (Kind::Name, "scalar" | "type" | "interface" | "union" | "enum" | "input") => {
                    document.definitions.push(self.definition(&description)?.value);
                }
                (Kind::Name, "schema") => document.schema.push(self.schema(&description)?.value),
                (Kind::Name, "directive") => document.directives.push(self.directive_definition(&description)?),
                (Kind::Name, "extend") if has_description && !description.is_empty() => {
                    return Self::unexpected(&first);
                }
                (Kind::Name, "extend") => self.extension(&mut document)?,
                _ => return Self::unexpected(&token),
            }
        }
        Ok(Node::default()
            .list("Schema", document.schema)
            .list("SchemaExtension", document.schema_extensions)
            .list("Directives", document.directives)
            .list("Definitions", document.definitions)
            .list("Extensions", document.extensions)
            .into_value())
    }

    fn description(&mut self) -> Result<String, String> {
        let is_there = matches!(self.peek()?.kind, Kind::String | Kind::BlockString);
        if is_there { Ok(self.next()?.text) } else { Ok(String::new()) }
    }

    fn extension(&mut self, document: &mut Document) -> Result<(), String> {
        self.expect_keyword("extend")?;
        let is_schema = self.is_keyword("schema")?;
        let definition = if is_schema { self.schema("")? } else { self.definition("")? };
        if !definition.says_something {
            return self.unexpected_next();
        }
        if is_schema { &mut document.schema_extensions } else { &mut document.extensions }.push(definition.value);
        Ok(())
    }

    fn schema(&mut self, description: &str) -> Result<Definition, String> {
        self.expect_keyword("schema")?;
        let directives = self.directives(true)?;
        let operations = self.some("{", "}", |parser| {
            let token = parser.next()?;
            if !matches!(token.text.as_str(), "query" | "mutation" | "subscription") {
                return Self::unexpected(&token);
            }
            parser.expect(Kind::Punctuator(":"))?;
            let name = parser.name()?;
            Ok(Node::default().text("Operation", &token.text).text("Type", &name).into_value())
        })?;
        let says_something = !directives.is_empty() || !operations.is_empty();
        let value = Node::default()
            .text("Description", description)
            .list("Directives", directives)
            .list("OperationTypes", operations)
            .into_value();
        Ok(Definition { value, says_something })
    }

    fn definition(&mut self, description: &str) -> Result<Definition, String> {
        let keyword = self.next()?;
        let kind = match (keyword.kind, keyword.text.as_str()) {
            (Kind::Name, "scalar") => "SCALAR",
            (Kind::Name, "type") => "OBJECT",
            (Kind::Name, "interface") => "INTERFACE",
            (Kind::Name, "union") => "UNION",
            (Kind::Name, "enum") => "ENUM",
            (Kind::Name, "input") => "INPUT_OBJECT",
            _ => return Self::unexpected(&keyword),
        };
        let name = self.name()?;
        let interfaces = if matches!(kind, "OBJECT" | "INTERFACE") { self.interfaces()? } else { Vec::new() };
        let directives = self.directives(true)?;
        let fields = match kind {
            "OBJECT" | "INTERFACE" => self.some("{", "}", Self::field_definition)?,
            "INPUT_OBJECT" => self.some("{", "}", Self::input_value)?,
            _ => Vec::new(),
        };
        let types = if kind == "UNION" && self.skip("=")? { self.names_between("|")? } else { Vec::new() };
        let values = if kind == "ENUM" { self.some("{", "}", Self::enum_value)? } else { Vec::new() };
        let parts = [&interfaces, &directives, &fields, &types, &values];
        let says_something = parts.iter().any(|part| !part.is_empty());
        let value = Node::default()
            .text("Kind", kind)
            .text("Description", description)
            .text("Name", &name)
            .list("Directives", directives)
            .list("Interfaces", interfaces)
            .list("Fields", fields)
            .list("Types", types)
            .list("EnumValues", values)
            .flag("BuiltIn", false)
            .into_value();
        Ok(Definition { value, says_something })
    }

    fn interfaces(&mut self) -> Result<Vec<Value>, String> {
        if !self.is_keyword("implements")? {
            return Ok(Vec::new());
        }
        self.next()?;
        self.names_between("&")
    }

    /// `| A | B`, the first sign being optional.
    fn names_between(&mut self, sign: &'static str) -> Result<Vec<Value>, String> {
        self.skip(sign)?;
        let mut names = vec![Value::from(self.name()?)];
        while self.skip(sign)? {
            names.push(Value::from(self.name()?));
        }
        Ok(names)
    }

    fn field_definition(&mut self) -> Result<Value, String> {
        let description = self.description()?;
        let name = self.name()?;
        let arguments = self.some("(", ")", Self::input_value)?;
        self.expect(Kind::Punctuator(":"))?;
        let type_reference = self.type_reference()?;
        Ok(Node::default()
            .text("Description", &description)
            .text("Name", &name)
            .list("Arguments", arguments)
            .node("Type", Some(type_reference))
            .list("Directives", self.directives(true)?)
            .into_value())
    }

    fn input_value(&mut self) -> Result<Value, String> {
        let description = self.description()?;
        let name = self.name()?;
        self.expect(Kind::Punctuator(":"))?;
        let type_reference = self.type_reference()?;
        let default = if self.skip("=")? { Some(self.value::<true>()?) } else { None };
        Ok(Node::default()
            .text("Description", &description)
            .text("Name", &name)
            .node("DefaultValue", default)
            .node("Type", Some(type_reference))
            .list("Directives", self.directives(true)?)
            .into_value())
    }

    fn enum_value(&mut self) -> Result<Value, String> {
        let description = self.description()?;
        let name = self.name()?;
        Ok(Node::default()
            .text("Description", &description)
            .text("Name", &name)
            .list("Directives", self.directives(true)?)
            .into_value())
    }

    fn directive_definition(&mut self, description: &str) -> Result<Value, String> {
        self.expect_keyword("directive")?;
        self.expect(Kind::Punctuator("@"))?;
        let name = self.name()?;
        let arguments = self.some("(", ")", Self::input_value)?;
        let is_repeatable = self.is_keyword("repeatable")?;
        if is_repeatable {
            self.next()?;
        }
        self.expect_keyword("on")?;
        self.skip("|")?;
        let mut locations = vec![self.location()?];
        while self.skip("|")? {
            locations.push(self.location()?);
        }
        Ok(Node::default()
            .text("Description", description)
            .text("Name", &name)
            .list("Arguments", arguments)
            .list("Locations", locations)
            .flag("IsRepeatable", is_repeatable)
            .into_value())
    }

    fn location(&mut self) -> Result<Value, String> {
        let token = self.expect(Kind::Name)?;
        if LOCATIONS.contains(&token.text.as_str()) { Ok(Value::from(token.text)) } else { Self::unexpected(&token) }
    }
}
