//! A small network over the features of windows: learned numbers of each feature, summed up, then hidden units.

mod class;
mod network;

pub use class::WindowNetwork;
