//! What is refused before a policy may be evaluated.

pub mod calls;
pub mod heads;
pub mod packages;
pub mod patterns;
pub mod recursion;
pub mod size;
pub mod text;
