//! Executable documents (section 2.2).

use regorus::Value;

use super::document::Node;
use super::lexer::{Kind, located};
use super::parser::Parser;

impl Parser<'_> {
    pub fn query_document(mut self) -> Result<Value, String> {
        let (mut operations, mut fragments) = (Vec::new(), Vec::new());
        while !self.is(Kind::End)? {
            let token = self.peek()?.clone();
            match (token.kind, token.text.as_str()) {
                (Kind::Punctuator("{"), _) | (Kind::Name, "query" | "mutation" | "subscription") => {
                    operations.push(self.operation()?);
                }
                (Kind::Name, "fragment") => fragments.push(self.fragment_definition()?),
                _ => return Self::unexpected(&token),
            }
        }
        Ok(Node::default().list("Operations", operations).list("Fragments", fragments).into_value())
    }

    fn operation(&mut self) -> Result<Value, String> {
        let node = Node::default();
        if self.is_punctuator("{")? {
            let selections = self.selections()?;
            return Ok(node.text("Operation", "query").text("Name", "").list("SelectionSet", selections).into_value());
        }
        let operation = self.name()?;
        let name = if self.is(Kind::Name)? { self.name()? } else { String::new() };
        let node = node
            .text("Operation", &operation)
            .text("Name", &name)
            .list("VariableDefinitions", self.variable_definitions()?)
            .list("Directives", self.directives(false)?);
        Ok(node.list("SelectionSet", self.selections()?).into_value())
    }

    fn variable_definitions(&mut self) -> Result<Vec<Value>, String> {
        self.many("(", ")", |parser| {
            let variable = parser.variable()?;
            parser.expect(Kind::Punctuator(":"))?;
            let type_reference = parser.type_reference()?;
            let default = if parser.skip("=")? { Some(parser.value::<true>()?) } else { None };
            let directives = parser.directives(false)?;
            Ok(Node::default()
                .text("Variable", &variable)
                .node("Type", Some(type_reference))
                .node("DefaultValue", default)
                .list("Directives", directives)
                .flag("Used", false)
                .into_value())
        })
    }

    fn selections(&mut self) -> Result<Vec<Value>, String> {
        if !self.is_punctuator("{")? {
            let token = self.next()?;
            return Err(located(&format!("Expected {{, found {}", token.kind.name()), token.line, token.column));
        }
        self.some("{", "}", Self::selection)
    }

    fn selection(&mut self) -> Result<Value, String> {
        if self.skip("...")? { self.fragment() } else { self.field() }
    }

    fn field(&mut self) -> Result<Value, String> {
        let alias = self.name()?;
        let name = if self.skip(":")? { self.name()? } else { alias.clone() };
        let node = Node::default()
            .text("Alias", &alias)
            .text("Name", &name)
            .list("Arguments", self.arguments(false)?)
            .list("Directives", self.directives(false)?);
        let selections = if self.is_punctuator("{")? { self.selections()? } else { Vec::new() };
        Ok(node.list("SelectionSet", selections).into_value())
    }

    /// After the dots.
    fn fragment(&mut self) -> Result<Value, String> {
        if self.is(Kind::Name)? && !self.is_keyword("on")? {
            let name = self.name()?;
            return Ok(Node::default().text("Name", &name).list("Directives", self.directives(false)?).into_value());
        }
        let condition = if self.is_keyword("on")? {
            self.next()?;
            self.name()?
        } else {
            String::new()
        };
        let node = Node::default().text("TypeCondition", &condition).list("Directives", self.directives(false)?);
        Ok(node.list("SelectionSet", self.selections()?).into_value())
    }

    fn fragment_definition(&mut self) -> Result<Value, String> {
        self.expect_keyword("fragment")?;
        if self.is_keyword("on")? {
            return self.unexpected_next();
        }
        let name = self.name()?;
        let variables = self.variable_definitions()?;
        self.expect_keyword("on")?;
        let condition = self.name()?;
        let directives = self.directives(false)?;
        Ok(Node::default()
            .text("Name", &name)
            .list("VariableDefinition", variables)
            .text("TypeCondition", &condition)
            .list("Directives", directives)
            .list("SelectionSet", self.selections()?)
            .into_value())
    }
}
