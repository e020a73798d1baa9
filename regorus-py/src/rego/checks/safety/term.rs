//! Bodies as OPA sees them when it checks their safety: names are resolved, and each nested call is a statement of its
//! own that binds a generated name (`expandExpr` in `v1/ast/compile.go`).

use std::collections::BTreeSet;

use regorus::unstable::Span;

pub type Names = BTreeSet<usize>;

/// One occurrence of a variable. Each `_` is another one, and so is each generated name.
#[derive(Clone, Copy)]
pub struct Name<'a> {
    pub id: usize,
    /// Where it stands, or the expression that a generated name stands for.
    pub span: &'a Span,
    pub is_generated: bool,
}

pub enum Term<'a> {
    /// A literal, a document or a rule.
    Constant,
    Name(Name<'a>),
    /// A root, none for a constant, and the indices.
    Reference(Option<Name<'a>>, Vec<Term<'a>>),
    Array(Vec<Term<'a>>),
    Set(Vec<Term<'a>>),
    /// Each key with its text.
    Object(Vec<(&'a str, Term<'a>, Term<'a>)>),
    Comprehension(Body<'a>),
}

pub enum Kind<'a> {
    Term(Term<'a>),
    /// `left = right`, or `left := right`.
    Equal {
        left: Term<'a>,
        right: Term<'a>,
        assigns: bool,
    },
    Call {
        inputs: Vec<Term<'a>>,
        outputs: Vec<Term<'a>>,
    },
    Every {
        domain: Name<'a>,
        names: Names,
        body: Body<'a>,
    },
    /// All that has to be bound.
    Not(Vec<Term<'a>>),
}

pub struct Statement<'a> {
    pub kind: Kind<'a>,
    /// The replacements of `with`.
    pub with: Vec<Name<'a>>,
}

pub type Body<'a> = Vec<Statement<'a>>;

/// Which names of a term are shown.
#[derive(Clone, Copy)]
pub struct Pick {
    pub roots: bool,
    pub keys: bool,
    pub sets: bool,
    pub closures: bool,
}

impl Pick {
    pub const OPEN: Self = Self { roots: true, keys: true, sets: true, closures: false };
    pub const INDICES: Self = Self { roots: false, ..Self::OPEN };
    pub const PATTERN: Self = Self { keys: false, ..Self::INDICES };
    pub const OUTPUT: Self = Self { sets: false, ..Self::PATTERN };
    const EVERYTHING: Self = Self { closures: true, ..Self::OPEN };
}

impl<'a> Term<'a> {
    pub fn visit(&self, pick: Pick, show: &mut dyn FnMut(&Name<'a>)) {
        match self {
            Self::Constant => {}
            Self::Name(name) => show(name),
            Self::Reference(root, indices) => {
                if pick.roots {
                    root.iter().for_each(&mut *show);
                }
                indices.iter().for_each(|index| index.visit(pick, show));
            }
            Self::Array(items) => items.iter().for_each(|item| item.visit(pick, show)),
            Self::Set(items) => {
                if pick.sets {
                    items.iter().for_each(|item| item.visit(pick, show));
                }
            }
            Self::Object(fields) => fields.iter().for_each(|(_, key, value)| {
                if pick.keys {
                    key.visit(pick, show);
                }
                value.visit(pick, show);
            }),
            Self::Comprehension(body) => {
                if pick.closures {
                    body.iter().for_each(|statement| statement.visit(pick, show));
                }
            }
        }
    }

    pub fn names(&self, pick: Pick) -> Names {
        let mut names = Names::new();
        self.visit(pick, &mut |name| {
            names.insert(name.id);
        });
        names
    }

    /// Shows each comprehension that lies in no other.
    pub fn closures<'s>(&'s self, show: &mut dyn FnMut(&'s Body<'a>)) {
        match self {
            Self::Constant | Self::Name(_) => {}
            Self::Reference(_, items) | Self::Array(items) | Self::Set(items) => {
                items.iter().for_each(|item| item.closures(show));
            }
            Self::Object(fields) => fields.iter().for_each(|(_, key, value)| {
                key.closures(show);
                value.closures(show);
            }),
            Self::Comprehension(body) => show(body),
        }
    }
}

impl<'a> Statement<'a> {
    fn terms(&self) -> Vec<&Term<'a>> {
        match &self.kind {
            Kind::Term(term) => vec![term],
            Kind::Equal { left, right, .. } => vec![left, right],
            Kind::Call { inputs, outputs } => inputs.iter().chain(outputs).collect(),
            Kind::Every { .. } => Vec::new(),
            Kind::Not(terms) => terms.iter().collect(),
        }
    }

    pub fn visit(&self, pick: Pick, show: &mut dyn FnMut(&Name<'a>)) {
        self.with.iter().for_each(&mut *show);
        self.terms().iter().for_each(|term| term.visit(pick, show));
        if let Kind::Every { domain, body, .. } = &self.kind {
            show(domain);
            if pick.closures {
                body.iter().for_each(|statement| statement.visit(pick, show));
            }
        }
    }

    /// Shows each body within, with the names that only it has.
    pub fn closures<'s>(&'s self, show: &mut dyn FnMut(&'s Body<'a>, Option<&'s Names>)) {
        match &self.kind {
            Kind::Every { names, body, .. } => show(body, Some(names)),
            _ => self.terms().iter().for_each(|term| term.closures(&mut |body| show(body, None))),
        }
    }

    /// Every name in the bodies within.
    pub fn visit_closures(&self, show: &mut dyn FnMut(&Name<'a>)) {
        self.closures(&mut |body, _| body.iter().for_each(|statement| statement.visit(Pick::EVERYTHING, show)));
    }
}
