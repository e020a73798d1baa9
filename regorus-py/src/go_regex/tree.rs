//! What has been read of a pattern: its nodes with their sizes, and the groups that are open.

use regex_syntax::hir::Hir;

use super::parser::Flags;
use super::pattern::Refusal;

/// Levels of a tree. Go takes 1,000.
pub const LEVELS_MAX: u32 = 250;

pub struct Node {
    pub hir: Hir,
    pub levels: u32,
    /// The largest product of counts on a way through the tree.
    pub product: u64,
    pub size: u64,
    pub counted: u64,
}

impl Node {
    pub fn leaf(hir: Hir) -> Self {
        Self { hir, levels: 1, product: 1, size: 1, counted: 0 }
    }

    pub fn of(parts: Vec<Node>, join: fn(Vec<Hir>) -> Hir) -> Self {
        let levels = parts.iter().map(|part| part.levels).max().unwrap_or(0) + 1;
        let product = parts.iter().map(|part| part.product).max().unwrap_or(1);
        let size = parts.iter().map(|part| part.size).sum::<u64>().max(1);
        let counted = parts.iter().map(|part| part.counted).sum();
        Self { hir: join(parts.into_iter().map(|part| part.hir).collect()), levels, product, size, counted }
    }
}

/// An open group.
pub struct Group {
    pub capture: Option<u32>,
    pub flags_outside: Flags,
    pub alternatives: Vec<Node>,
    pub sequence: Vec<Node>,
}

impl Group {
    pub fn open(capture: Option<u32>, flags_outside: Flags) -> Self {
        Self { capture, flags_outside, alternatives: Vec::new(), sequence: Vec::new() }
    }

    pub fn end_alternative(&mut self) {
        let mut parts = std::mem::take(&mut self.sequence);
        let node = if parts.len() == 1 { parts.remove(0) } else { Node::of(parts, Hir::concat) };
        self.alternatives.push(node);
    }

    pub fn close(mut self) -> Node {
        self.end_alternative();
        if self.alternatives.len() == 1 {
            self.alternatives.remove(0)
        } else {
            Node::of(self.alternatives, Hir::alternation)
        }
    }
}

pub fn check_levels(node: &Node) -> Result<(), Refusal> {
    if node.levels > LEVELS_MAX { Err(too_deep()) } else { Ok(()) }
}

pub fn too_deep() -> Refusal {
    Refusal::limit(&format!("a pattern nested more than {LEVELS_MAX} deep"))
}
