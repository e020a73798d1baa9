//! From pieces to a tree.

use super::lexer::{Piece, Word, pieces, words};

/// Blocks in blocks, and parentheses in parentheses.
const NESTING_MAX: usize = 32;

pub enum Node {
    Text(String),
    Show(Expression),
    Declare(String, Expression),
    Assign(String, Expression),
    If(Branch),
    With(Branch),
    Range(Branch),
    Break,
    Continue,
}

/// A condition with what it declares, and what follows.
pub struct Branch {
    pub variables: Vec<String>,
    pub condition: Expression,
    pub then: Vec<Node>,
    pub otherwise: Vec<Node>,
}

pub enum Expression {
    Dot,
    Nil,
    Boolean(bool),
    Text(String),
    Integer(i64),
    Variable(String),
    Member(Box<Expression>, String),
    Call(String, Vec<Expression>),
}

pub fn parse(template: &str) -> Result<Vec<Node>, String> {
    let pieces = pieces(template)?;
    let mut parser = Parser { pieces: pieces.into_iter(), depth: 0 };
    match parser.block()? {
        (nodes, End::Text) => Ok(nodes),
        (_, End::End) => Err(String::from("unexpected {{end}}")),
        (_, End::Else(_)) => Err(String::from("unexpected {{else}}")),
    }
}

/// What ended a list of nodes.
enum End {
    Text,
    End,
    Else(Vec<Word>),
}

struct Parser<'t> {
    pieces: std::vec::IntoIter<Piece<'t>>,
    depth: usize,
}

impl Parser<'_> {
    fn block(&mut self) -> Result<(Vec<Node>, End), String> {
        let mut nodes = Vec::new();
        while let Some(piece) = self.pieces.next() {
            let words = match piece {
                Piece::Text(text) => {
                    nodes.push(Node::Text(text.to_owned()));
                    continue;
                }
                Piece::Action(action) if action.trim().is_empty() => {
                    return Err(String::from("missing value for command"));
                }
                Piece::Action(action) => words(action)?,
            };
            match words.split_first() {
                None => {} // a comment
                Some((Word::Name(name), rest)) => match name.as_str() {
                    "end" if rest.is_empty() => return Ok((nodes, End::End)),
                    "else" => return Ok((nodes, End::Else(rest.to_vec()))),
                    "if" => nodes.push(Node::If(self.branch(rest, "if")?)),
                    "with" => nodes.push(Node::With(self.branch(rest, "with")?)),
                    "range" => nodes.push(Node::Range(self.branch(rest, "range")?)),
                    "break" if rest.is_empty() => nodes.push(Node::Break),
                    "continue" if rest.is_empty() => nodes.push(Node::Continue),
                    "define" | "template" | "block" => return Err(format!("{name} is not available")),
                    _ => nodes.push(Node::Show(expression(&words)?)),
                },
                Some((Word::Variable(name), [Word::Declare, rest @ ..])) => {
                    nodes.push(Node::Declare(name.clone(), expression(rest)?));
                }
                Some((Word::Variable(name), [Word::Assign, rest @ ..])) => {
                    nodes.push(Node::Assign(name.clone(), expression(rest)?));
                }
                Some(_) => nodes.push(Node::Show(expression(&words)?)),
            }
        }
        Ok((nodes, End::Text))
    }

    fn branch(&mut self, head: &[Word], kind: &str) -> Result<Branch, String> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(format!("blocks are nested more than {NESTING_MAX} deep"));
        }
        let (variables, condition) = match head {
            [Word::Variable(key), Word::Comma, Word::Variable(item), Word::Declare, rest @ ..] if kind == "range" => {
                (vec![key.clone(), item.clone()], rest)
            }
            [Word::Variable(item), Word::Declare, rest @ ..] => (vec![item.clone()], rest),
            rest => (Vec::new(), rest),
        };
        let condition = expression(condition)?;
        let (then, end) = self.block()?;
        let otherwise = match end {
            End::Text => return Err(String::from("unexpected EOF")),
            End::End => Vec::new(),
            End::Else(words) => self.otherwise(&words, kind)?,
        };
        self.depth -= 1;
        Ok(Branch { variables, condition, then, otherwise })
    }

    fn otherwise(&mut self, words: &[Word], kind: &str) -> Result<Vec<Node>, String> {
        match words.split_first() {
            None => match self.block()? {
                (nodes, End::End) => Ok(nodes),
                (_, End::Else(_)) => Err(String::from("expected end; found {{else}}")),
                (_, End::Text) => Err(String::from("unexpected EOF")),
            },
            // Shares its end with the first.
            Some((Word::Name(name), rest)) if name == kind && kind == "if" => {
                Ok(vec![Node::If(self.branch(rest, "if")?)])
            }
            Some((Word::Name(name), rest)) if name == kind && kind == "with" => {
                Ok(vec![Node::With(self.branch(rest, "with")?)])
            }
            Some(_) => Err(String::from("unexpected word after else")),
        }
    }
}

fn expression(words: &[Word]) -> Result<Expression, String> {
    let mut reader = Reader { words, at: 0, depth: 0 };
    let expression = reader.command()?;
    if reader.at < words.len() {
        return Err(format!("unexpected {:?} in operand", words[reader.at]));
    }
    Ok(expression)
}

struct Reader<'w> {
    words: &'w [Word],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.at)
    }

    /// A call, or one operand.
    fn command(&mut self) -> Result<Expression, String> {
        let Some(Word::Name(name)) = self.peek().cloned() else { return self.operand() };
        if matches!(name.as_str(), "true" | "false" | "nil") {
            return self.operand();
        }
        self.at += 1;
        let mut arguments = Vec::new();
        while self.peek().is_some_and(|word| *word != Word::Close) {
            arguments.push(self.operand()?);
        }
        Ok(Expression::Call(name, arguments))
    }

    fn operand(&mut self) -> Result<Expression, String> {
        let word = self.peek().cloned().ok_or("missing value for command")?;
        self.at += 1;
        let mut operand = match word {
            Word::Name(name) => match name.as_str() {
                "true" => Expression::Boolean(true),
                "false" => Expression::Boolean(false),
                "nil" => Expression::Nil,
                _ => Expression::Call(name, Vec::new()),
            },
            Word::Variable(name) => Expression::Variable(name),
            Word::Field(name) => Expression::Member(Box::new(Expression::Dot), name),
            Word::Dot => Expression::Dot,
            Word::Text(text) => Expression::Text(text),
            Word::Integer(number) => Expression::Integer(number),
            Word::Open => {
                self.depth += 1;
                if self.depth > NESTING_MAX {
                    return Err(format!("parentheses are nested more than {NESTING_MAX} deep"));
                }
                let inner = self.command()?;
                if self.peek() != Some(&Word::Close) {
                    return Err(String::from("unclosed left paren"));
                }
                self.at += 1;
                self.depth -= 1;
                inner
            }
            other => return Err(format!("unexpected {other:?} in command")),
        };
        while let Some(Word::Member(name)) = self.peek().cloned() {
            self.at += 1;
            operand = Expression::Member(Box::new(operand), name);
        }
        Ok(operand)
    }
}
