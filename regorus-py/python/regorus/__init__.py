"""Microsoft's regorus engine for Rego policies, strict canonical JSON, the record's quick check,
the index of where values were first seen, patterns over bytes."""

from regorus._engine import (
    ByteMatch,
    BytePattern,
    Data,
    Input,
    Policy,
    ProvenanceIndex,
    blocked_builtins,
    builtins,
    canonical_json,
    check_window,
    complete_root,
    engine_version,
    leaf_hashes,
    parse_json,
    seal_events,
)
from regorus._errors import EvaluationError, InputError, JsonError, PatternError, RegoError

__all__ = [
    "ByteMatch",
    "BytePattern",
    "Data",
    "EvaluationError",
    "Input",
    "InputError",
    "JsonError",
    "PatternError",
    "Policy",
    "ProvenanceIndex",
    "RegoError",
    "blocked_builtins",
    "builtins",
    "canonical_json",
    "check_window",
    "complete_root",
    "engine_version",
    "leaf_hashes",
    "parse_json",
    "seal_events",
]
