"""Microsoft's regorus engine for Rego policies, and strict canonical JSON."""

from regorus._engine import (
    Data,
    Input,
    Policy,
    blocked_builtins,
    builtins,
    canonical_json,
    engine_version,
    parse_json,
)
from regorus._errors import EvaluationError, InputError, JsonError, RegoError

__all__ = [
    "Data",
    "EvaluationError",
    "Input",
    "InputError",
    "JsonError",
    "Policy",
    "RegoError",
    "blocked_builtins",
    "builtins",
    "canonical_json",
    "engine_version",
    "parse_json",
]
