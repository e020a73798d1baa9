//! Whether the statements of a body can be ordered so that each finds its names bound (OPA's
//! `reorderBodyForSafety` in `v1/ast/compile.go`). The order in which they are written does not matter.

use super::term::{Kind, Name, Names, Pick, Statement, Term};
use super::unify::unify;

/// The first name that no order binds. `around` are the names that are bound outside.
pub fn first_unsafe<'a>(body: &[Statement<'a>], around: &Names) -> Option<Name<'a>> {
    let own: Vec<Names> = body.iter().map(|statement| names(|show| statement.visit(Pick::OPEN, show))).collect();
    let all: Names = own.iter().flatten().copied().collect();
    let enclosed: Vec<Names> =
        body.iter().map(|statement| &(&names(|show| statement.visit_closures(show)) & &all) - around).collect();
    let mut safe = &all & around;
    let mut left: Vec<usize> = (0..body.len()).collect();
    let mut order = Vec::new();
    loop {
        let before = left.len();
        left.retain(|&index| {
            let outputs = &body[index].outputs(&safe) - &safe;
            let closed_over = &enclosed[index] - &safe;
            let needed = own[index].iter().chain(&closed_over);
            let mut missing = needed.filter(|name| !safe.contains(name) && !outputs.contains(name));
            // `x = [x | …]` binds nothing.
            if missing.next().is_some() || !closed_over.is_empty() && closed_over == outputs {
                return true;
            }
            safe.extend(outputs);
            order.push(index);
            false
        });
        if left.len() == before {
            break;
        }
    }
    if let Some(name) = unbound(body, &left, &safe, &all) {
        return Some(name);
    }
    let mut known = around.clone();
    for index in order {
        let mut found = None;
        body[index].closures(&mut |inner, names| {
            if found.is_none() {
                found =
                    names.map_or_else(|| first_unsafe(inner, &known), |names| first_unsafe(inner, &(&known | names)));
            }
        });
        if found.is_some() {
            return found;
        }
        known.extend(&own[index]);
    }
    None
}

/// The name to report of the statements that are left: one that the author wrote.
fn unbound<'a>(body: &[Statement<'a>], left: &[usize], safe: &Names, all: &Names) -> Option<Name<'a>> {
    let mut found: Option<Name<'a>> = None;
    for &index in left {
        let outputs = body[index].outputs(safe);
        let mut look = |name: &Name<'a>| {
            let is_open = !safe.contains(&name.id) && all.contains(&name.id) && !outputs.contains(&name.id);
            if is_open && found.is_none_or(|found| found.is_generated && !name.is_generated) {
                found = Some(*name);
            }
        };
        body[index].visit(Pick::OPEN, &mut look);
        body[index].visit_closures(&mut look);
    }
    // What only closes over its own outputs has no other.
    found.or_else(|| {
        let mut any = None;
        body[*left.first()?].visit(Pick::OPEN, &mut |name| {
            if !safe.contains(&name.id) {
                any.get_or_insert(*name);
            }
        });
        any
    })
}

fn names<'a>(visit: impl FnOnce(&mut dyn FnMut(&Name<'a>))) -> Names {
    let mut names = Names::new();
    visit(&mut |name| {
        names.insert(name.id);
    });
    names
}

impl Statement<'_> {
    /// What it binds where `safe` are bound.
    fn outputs(&self, safe: &Names) -> Names {
        let mut found = Names::new();
        if self.with.iter().any(|name| !safe.contains(&name.id)) {
            return found;
        }
        match &self.kind {
            Kind::Not(_) | Kind::Every { .. } => {}
            Kind::Term(term) => iterated(term, safe, &mut found),
            Kind::Equal { left, right, assigns } => {
                iterated(left, safe, &mut found);
                iterated(right, safe, &mut found);
                let mut known = &found | safe;
                if *assigns {
                    known = &known - &left.names(Pick::OPEN);
                }
                found.extend(unify(&known, left, right));
            }
            Kind::Call { inputs, outputs } => {
                inputs.iter().chain(outputs).for_each(|term| iterated(term, safe, &mut found));
                let mut needed = inputs.iter().flat_map(|input| input.names(Pick::OUTPUT));
                if needed.all(|name| safe.contains(&name) || found.contains(&name)) {
                    outputs.iter().for_each(|output| found.extend(output.names(Pick::OUTPUT)));
                }
            }
        }
        found
    }
}

/// Indices of references whose roots are bound: `i` of `input.xs[i]`, `x` of `input.xs[[x, 1]]`.
fn iterated(term: &Term<'_>, safe: &Names, found: &mut Names) {
    match term {
        Term::Constant | Term::Name(_) | Term::Comprehension(_) => {}
        Term::Reference(root, indices) => {
            if root.is_none_or(|root| safe.contains(&root.id)) {
                for index in indices {
                    found.extend(index.names(Pick::INDICES));
                    iterated(index, safe, found);
                }
            }
        }
        Term::Array(items) | Term::Set(items) => items.iter().for_each(|item| iterated(item, safe, found)),
        Term::Object(fields) => fields.iter().for_each(|(_, key, value)| {
            iterated(key, safe, found);
            iterated(value, safe, found);
        }),
    }
}
