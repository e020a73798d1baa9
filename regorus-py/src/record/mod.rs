//! The record's quick check: events in a chain, and their hashes in a tree. What it stands for is written in Python
//! (`headgate.audit.chain_verifier`, `headgate.evidence.merkle`) and compared with it there.

pub mod block;
pub mod header;
pub mod seal;
pub mod time_text;
pub mod tree;
pub mod window;
