//! What is learned of the features of windows: a weight of each, and a small network that sums up numbers of each.

mod class;
mod features;
mod network;

pub use class::WindowNetwork;
pub use features::FeatureWeights;
