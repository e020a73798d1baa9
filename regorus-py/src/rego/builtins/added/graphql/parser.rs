//! What queries and schemas share: names, values, types, directives.

use regorus::Value;

use super::document::{Kind as Literal, Node, literal};
use super::lexer::{Kind, Lexer, Token, located};

/// Selections in selections, lists in lists.
const NESTING_MAX: usize = 40;

pub struct Parser<'t> {
    lexer: Lexer<'t>,
    peeked: Option<Token>,
    depth: usize,
}

impl<'t> Parser<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { lexer: Lexer::new(text), peeked: None, depth: 0 }
    }

    pub fn peek(&mut self) -> Result<&Token, String> {
        if self.peeked.is_none() {
            self.peeked = Some(self.lexer.next()?);
        }
        self.peeked.as_ref().ok_or_else(|| String::from("no token"))
    }

    pub fn next(&mut self) -> Result<Token, String> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.lexer.next(),
        }
    }

    pub fn is(&mut self, kind: Kind) -> Result<bool, String> {
        Ok(self.peek()?.kind == kind)
    }

    pub fn is_punctuator(&mut self, text: &'static str) -> Result<bool, String> {
        self.is(Kind::Punctuator(text))
    }

    pub fn is_keyword(&mut self, word: &str) -> Result<bool, String> {
        let token = self.peek()?;
        Ok(token.kind == Kind::Name && token.text == word)
    }

    pub fn skip(&mut self, text: &'static str) -> Result<bool, String> {
        let is_next = self.is_punctuator(text)?;
        if is_next {
            self.next()?;
        }
        Ok(is_next)
    }

    pub fn expect(&mut self, kind: Kind) -> Result<Token, String> {
        let token = self.next()?;
        if token.kind == kind {
            return Ok(token);
        }
        let message = format!("Expected {}, found {}", kind.name(), token.kind.name());
        Err(located(&message, token.line, token.column))
    }

    pub fn expect_keyword(&mut self, word: &str) -> Result<(), String> {
        let token = self.next()?;
        if token.kind == Kind::Name && token.text == word {
            return Ok(());
        }
        Err(located(&format!("Expected {word:?}, found {}", token.describe()), token.line, token.column))
    }

    pub fn unexpected<T>(token: &Token) -> Result<T, String> {
        Err(located(&format!("Unexpected {}", token.describe()), token.line, token.column))
    }

    pub fn unexpected_next<T>(&mut self) -> Result<T, String> {
        let token = self.next()?;
        Self::unexpected(&token)
    }

    pub fn name(&mut self) -> Result<String, String> {
        Ok(self.expect(Kind::Name)?.text)
    }

    /// None or more between brackets, which may be missing.
    pub fn many(
        &mut self,
        open: &'static str,
        close: &'static str,
        one: fn(&mut Self) -> Result<Value, String>,
    ) -> Result<Vec<Value>, String> {
        let mut items = Vec::new();
        if !self.skip(open)? {
            return Ok(items);
        }
        self.depth += 1;
        if self.depth > NESTING_MAX {
            let token = self.next()?;
            return Err(located(&format!("nested more than {NESTING_MAX} deep"), token.line, token.column));
        }
        while !self.is_punctuator(close)? {
            items.push(one(self)?);
        }
        self.next()?;
        self.depth -= 1;
        Ok(items)
    }

    /// At least one between brackets, which may be missing.
    pub fn some(
        &mut self,
        open: &'static str,
        close: &'static str,
        one: fn(&mut Self) -> Result<Value, String>,
    ) -> Result<Vec<Value>, String> {
        let is_there = self.is_punctuator(open)?;
        let opening = self.peek()?.clone();
        let items = self.many(open, close, one)?;
        if is_there && items.is_empty() {
            let message = format!("expected at least one definition, found {close}");
            return Err(located(&message, opening.line, opening.column + 1));
        }
        Ok(items)
    }

    pub fn directives(&mut self, is_constant: bool) -> Result<Vec<Value>, String> {
        let mut directives = Vec::new();
        while self.skip("@")? {
            let name = self.name()?;
            let arguments = self.arguments(is_constant)?;
            directives.push(
                Node::default().text("Name", &name).text("Location", "").list("Arguments", arguments).into_value(),
            );
        }
        Ok(directives)
    }

    pub fn arguments(&mut self, is_constant: bool) -> Result<Vec<Value>, String> {
        self.many("(", ")", if is_constant { Self::member::<true> } else { Self::member::<false> })
    }

    /// `name: value`
    fn member<const IS_CONSTANT: bool>(&mut self) -> Result<Value, String> {
        let name = self.name()?;
        self.expect(Kind::Punctuator(":"))?;
        let value = self.value::<IS_CONSTANT>()?;
        Ok(Node::default().text("Name", &name).node("Value", Some(value)).into_value())
    }

    fn item<const IS_CONSTANT: bool>(&mut self) -> Result<Value, String> {
        let value = self.value::<IS_CONSTANT>()?;
        Ok(Node::default().text("Name", "").node("Value", Some(value)).into_value())
    }

    pub fn value<const IS_CONSTANT: bool>(&mut self) -> Result<Value, String> {
        let token = self.peek()?.clone();
        let kind = match token.kind {
            Kind::Punctuator("[") => {
                return Ok(literal(Literal::List, "", self.many("[", "]", Self::item::<IS_CONSTANT>)?));
            }
            Kind::Punctuator("{") => {
                return Ok(literal(Literal::Object, "", self.many("{", "}", Self::member::<IS_CONSTANT>)?));
            }
            Kind::Punctuator("$") if !IS_CONSTANT => {
                return Ok(literal(Literal::Variable, &self.variable()?, Vec::new()));
            }
            Kind::Int => Literal::Int,
            Kind::Float => Literal::Float,
            Kind::String => Literal::String,
            Kind::BlockString => Literal::BlockString,
            Kind::Name => match token.text.as_str() {
                "true" | "false" => Literal::Boolean,
                "null" => Literal::Null,
                _ => Literal::Enum,
            },
            _ => return Self::unexpected(&token),
        };
        self.next()?;
        Ok(literal(kind, &token.text, Vec::new()))
    }

    pub fn variable(&mut self) -> Result<String, String> {
        self.expect(Kind::Punctuator("$"))?;
        self.name()
    }

    /// `[Name!]!`
    pub fn type_reference(&mut self) -> Result<Value, String> {
        let mut lists = 0;
        while self.skip("[")? {
            lists += 1;
            if lists > NESTING_MAX {
                return self.unexpected_next();
            }
        }
        let name = self.name()?;
        let mut inner = Node::default().text("NamedType", &name).flag("NonNull", self.skip("!")?).into_value();
        for _ in 0..lists {
            self.expect(Kind::Punctuator("]"))?;
            let is_required = self.skip("!")?;
            inner = Node::default()
                .text("NamedType", "")
                .node("Elem", Some(inner))
                .flag("NonNull", is_required)
                .into_value();
        }
        Ok(inner)
    }
}
