//! Which names `left = right` binds (OPA's `v1/ast/unify.go`).

use std::collections::BTreeMap;

use super::term::{Names, Pick, Term};

/// `safe` are the names that are bound already.
pub fn unify(safe: &Names, left: &Term<'_>, right: &Term<'_>) -> Names {
    let mut unifier = Unifier { safe, unified: Names::new(), unknown: BTreeMap::new() };
    unifier.unify(left, right);
    unifier.unified
}

struct Unifier<'s> {
    safe: &'s Names,
    unified: Names,
    /// Names that are bound once all of theirs are.
    unknown: BTreeMap<usize, Names>,
}

impl Unifier<'_> {
    fn unify(&mut self, left: &Term<'_>, right: &Term<'_>) {
        match (left, right) {
            (Term::Name(one), Term::Name(two)) => {
                if self.is_safe(two.id) {
                    self.mark(one.id);
                } else if self.is_safe(one.id) {
                    self.mark(two.id);
                } else {
                    self.unknown.entry(one.id).or_default().insert(two.id);
                    self.unknown.entry(two.id).or_default().insert(one.id);
                }
            }
            (Term::Name(name), items @ (Term::Array(_) | Term::Object(_)))
            | (items @ (Term::Array(_) | Term::Object(_)), Term::Name(name)) => self.unify_all(name.id, items),
            (Term::Name(name), other) | (other, Term::Name(name)) => {
                if self.has_value(other) {
                    self.mark(name.id);
                }
            }
            (Term::Array(one), Term::Array(two)) => {
                if one.len() == two.len() {
                    one.iter().zip(two).for_each(|(one, two)| self.unify(one, two));
                }
            }
            (Term::Object(one), Term::Object(two)) => {
                if one.len() == two.len() {
                    for (key, _, value) in one {
                        if let Some((_, _, other)) = two.iter().find(|(other, _, _)| other == key) {
                            self.unify(value, other);
                        }
                    }
                }
            }
            // Not `{"a": x} = {… | …}`.
            (Term::Array(_), Term::Comprehension(_) | Term::Reference(..)) | (Term::Object(_), Term::Reference(..)) => {
                self.mark_values(left, right);
            }
            (Term::Comprehension(_) | Term::Reference(..), Term::Array(_) | Term::Object(_)) => {
                self.mark_values(right, left);
            }
            _ => {}
        }
    }

    fn is_safe(&self, name: usize) -> bool {
        self.safe.contains(&name) || self.unified.contains(&name)
    }

    fn has_value(&self, term: &Term<'_>) -> bool {
        !matches!(term, Term::Reference(Some(root), _) if !self.safe.contains(&root.id))
    }

    fn unify_all(&mut self, name: usize, items: &Term<'_>) {
        if self.is_safe(name) {
            return self.mark_all(items);
        }
        let open: Names = items.names(Pick::PATTERN).into_iter().filter(|name| !self.is_safe(*name)).collect();
        if open.is_empty() {
            self.mark(name);
        } else {
            self.unknown.entry(name).or_default().extend(open);
        }
    }

    /// The names of `items`, where `other` has a value.
    fn mark_values(&mut self, items: &Term<'_>, other: &Term<'_>) {
        if self.has_value(other) {
            self.mark_all(items);
        }
    }

    fn mark_all(&mut self, items: &Term<'_>) {
        items.names(Pick::PATTERN).into_iter().for_each(|name| self.mark(name));
    }

    fn mark(&mut self, name: usize) {
        self.unified.insert(name);
        let mut next = self.unknown.remove(&name).unwrap_or_default();
        for (dependant, needed) in &mut self.unknown {
            if needed.remove(&name) && needed.is_empty() {
                next.insert(*dependant);
            }
        }
        for other in next {
            if !self.unified.contains(&other) {
                self.mark(other);
            }
        }
    }
}
