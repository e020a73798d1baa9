"""Microsoft's regorus engine for Rego policies, strict canonical JSON, the record's quick check,
the index of where values were first seen."""

from regorus._engine import (
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
from regorus._errors import EvaluationError, InputError, JsonError, RegoError

__all__ = [
    "Data",
    "EvaluationError",
    "Input",
    "InputError",
    "JsonError",
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
