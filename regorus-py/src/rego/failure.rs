//! Why an evaluation gave no answer.

use std::any::Any;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    Error,
    TimeLimit,
    MemoryLimit,
    Panic,
}

impl FailureKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::TimeLimit => "time_limit",
            Self::MemoryLimit => "memory_limit",
            Self::Panic => "panic",
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    pub reason: String,
    pub kind: FailureKind,
}

impl Failure {
    pub fn error(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), kind: FailureKind::Error }
    }

    pub fn time(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), kind: FailureKind::TimeLimit }
    }

    pub fn memory(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), kind: FailureKind::MemoryLimit }
    }

    /// What `catch_unwind` caught.
    pub fn panic(payload: &(dyn Any + Send)) -> Self {
        let what = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        Self { reason: format!("the engine failed: {what}"), kind: FailureKind::Panic }
    }
}
